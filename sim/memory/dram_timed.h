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
#ifndef LL_SIM_MEMORY_DRAM_TIMED_H
#define LL_SIM_MEMORY_DRAM_TIMED_H

#include "sim/machine/dram.h"

#include <stdbool.h>
#include <stdint.h>

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
    uint64_t misses;           /* whose bank was closed */
    uint64_t conflicts;        /* whose bank had another row open */
    uint64_t refreshes, turns; /* refreshes of a channel; changes between reading and writing */
    uint64_t cycles;           /* until the last data of the last channel */
    double time_s;
    double moved_Bps;     /* whole bursts */
    double refresh_share; /* of all channels' time */
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

#endif
