/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: one channel of a dynamic memory. It belongs to whoever made it; starts with
 * ll_channel_start. */
#ifndef LL_SIM_MEMORY_DRAM_CHANNEL_H
#define LL_SIM_MEMORY_DRAM_CHANNEL_H

#include "sim/memory/dram_timed.h"

#define LL_NO_ROW UINT64_MAX
#define LL_NO_SLOT UINT8_MAX

/* A burst that waits. Those of a bank and direction are chained, oldest first. */
struct ll_waiting {
    uint64_t row, order;
    uint32_t column;
    uint8_t next;
};

/* What waits for a bank in one direction, and what is to be done for it next. */
struct ll_bank_queue {
    uint8_t first, last;
    uint8_t hit;    /* the oldest that wants the open row */
    uint8_t passed; /* how often a younger one went before the first */
    uint8_t slot;   /* of the burst that is served next */
    uint8_t kind;   /* enum ll_dram_kind */
    uint64_t ready; /* the cycle from which on the bank allows it */
    uint64_t order; /* of that burst */
};

/* Cycles before which a command may not come. */
struct ll_bank {
    uint64_t open_row, activate, precharge, column;
    bool fresh;    /* activated, and no column was accessed yet */
    bool conflict; /* closed for the sake of another row */
    struct ll_bank_queue lines[2];
};

struct ll_group {
    uint64_t activate, column[2];
};

struct ll_channel {
    const struct ll_dram *dram;
    uint32_t index;
    ll_dram_listener *listener;
    void *context;
    uint64_t now;          /* the cycle of the last command */
    uint64_t wires[2];     /* for rows, for columns: free from here on */
    uint64_t activates[4]; /* the last four, a ring */
    uint32_t activate_count;
    uint64_t activate, column[2]; /* of the channel as a whole; 0 reads, 1 writes */
    uint64_t refresh_due, last_data;
    uint64_t order; /* of the next burst */
    bool draining;
    bool last_write;
    uint64_t wanted[2]; /* banks for which something waits, a bit each */
    uint32_t waiting_count[2];
    uint8_t free_slot[2];
    struct ll_waiting slots[2][LL_DRAM_WINDOW];
    struct ll_group groups[LL_DRAM_MOST_BANKS];
    struct ll_bank banks[LL_DRAM_MOST_BANKS];
    struct ll_dram_result sum; /* of this channel */
    uint64_t refresh_cycles;
};

/* Makes channel `index` of them idle, with all banks closed; every command it issues is told to the listener,
 * if there is one. */
void ll_channel_start(struct ll_channel *channel, const struct ll_dram *dram, uint32_t index,
                      ll_dram_listener *listener, void *context);

/* Lets a burst wait, after making room for it. */
void ll_channel_push(struct ll_channel *channel, const struct ll_dram_spot *spot, bool write);

/* Issues all that waits. */
void ll_channel_finish(struct ll_channel *channel);

#endif
