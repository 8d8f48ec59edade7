/* SPDX-License-Identifier: Apache-2.0 */
/* The timed mode of dynamic memory: every command of every channel at its cycle.
 *
 * Reads and writes are pushed in, as fast as they can be taken; each is cut into bursts, which wait in the
 * window of their channel (LL_DRAM_WINDOW reads, as many writes). A channel then issues, always at the
 * earliest cycle that the timings allow, a column access to an open row, or else what opens one: rows stay
 * open until another row of the bank is wanted (open page, first ready, first come). Writes are collected and
 * drained together. Refresh comes on time and closes all rows. Channels are independent: the time of all is
 * that of the last one.
 *
 * The layout of addresses is that of sim/machine/dram.h, and hashed as controllers do, so that no stride
 * falls on one channel or bank alone: a round of channels begins at a place drawn from its number, bank
 * groups and banks are exclusive-ored with the bits above them (Zhang, Zhu and Zhang, MICRO 2000).
 *
 * A memory belongs to one thread. */
#ifndef LL_SIM_MEMORY_DRAM_H
#define LL_SIM_MEMORY_DRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/machine/dram.h"

enum ll_dram_kind {
    LL_DRAM_ACTIVATE,
    LL_DRAM_PRECHARGE,
    LL_DRAM_PRECHARGE_ALL,
    LL_DRAM_READ,
    LL_DRAM_WRITE,
    LL_DRAM_REFRESH,
    LL_DRAM_KINDS
};

/* Where a burst lies: its channel, the bank among all of the channel (the group is bank % groups), row, and
 * column among the row's bursts. */
struct ll_dram_spot {
    uint32_t channel, bank, column;
    uint64_t row;
};

struct ll_dram_command {
    enum ll_dram_kind kind;
    uint64_t cycle;
    struct ll_dram_spot spot; /* of a command to all banks: the channel alone */
};

/* Hears of each command; of one channel in the order of cycles. */
typedef void ll_dram_listener(void *context, const struct ll_dram_command *command);

struct ll_dram_result {
    uint64_t bursts, reads, writes;
    uint64_t hits;             /* bursts whose row was open */
    uint64_t misses;           /* bursts whose bank was closed */
    uint64_t conflicts;        /* bursts whose bank had another row open */
    uint64_t refreshes, turns; /* refreshes of a channel; changes between reading and writing */
    uint64_t cycles;           /* until the last data of the last channel */
    double time_s;
    double moved_Bps;     /* whole bursts */
    double refresh_share; /* part of all channels' time that refreshes take */
};

struct ll_dram_timed;

/* A channel takes 10 kB here. */
enum { LL_DRAM_MOST_CHANNELS = 4096 };

/* channels is at least 1, at most LL_DRAM_MOST_CHANNELS. The listener may be NULL. NULL when memory ran
 * out; free with ll_dram_timed_free. */
struct ll_dram_timed *ll_dram_timed_new(const struct ll_dram *dram, uint32_t channels,
                                        ll_dram_listener *listener, void *context);
void ll_dram_timed_free(struct ll_dram_timed *timed);

/* Reads or writes bytes [address, address + bytes); bytes is at least 1. */
void ll_dram_timed_access(struct ll_dram_timed *timed, uint64_t address, uint64_t bytes, bool write);

/* Issues all that still waits, and sums up. Nothing is pushed afterwards. */
void ll_dram_timed_finish(struct ll_dram_timed *timed, struct ll_dram_result *result);

/* Where a burst at this address lies. Pure. */
struct ll_dram_spot ll_dram_locate(const struct ll_dram *dram, uint32_t channels, uint64_t address);

/* Plays so many accesses of a pattern and gives the share of the peak at which their own bytes went, like
 * `efficiency` of ll_dram_estimate. Rows are drawn from a table of 2^34 bytes, writes come at even intervals.
 * False when memory ran out. */
bool ll_dram_play(const struct ll_dram *dram, uint32_t channels, const struct ll_dram_pattern *pattern,
                  uint64_t accesses, struct ll_dram_result *result, double *efficiency);

/* Inside the room: one channel of a dynamic memory. It belongs to whoever made it; starts with
 * ll_channel_start. */

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
    uint64_t order; /* when the burst that is served next was pushed, as a number of pushes */
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
