/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic memory: presets of timings, how much of its peak a pattern of accesses can have, and what it takes.
 *
 * A memory has channels that know nothing of each other. A channel has banks in groups; a bank has one open
 * row at a time, and another one costs precharge and activation, which other banks hide if they have work.
 * Here is the simple mode: a closed form of averages. The timed mode, which plays every command, is
 * sim/memory/dram.h; tests/property/prop_dram.c says how well they agree.
 *
 * Both lay addresses out alike: blocks of LL_DRAM_BLOCK_BYTES go to the channels in turn, atoms of
 * LL_DRAM_ATOM_BYTES within a channel to the bank groups in turn, then come the columns of a row, the banks
 * of a group, the rows. Pure and thread-safe; presets are static. */
#ifndef LL_SIM_MACHINE_DRAM_H
#define LL_SIM_MACHINE_DRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LL_DRAM_BLOCK_BYTES = 256, /* next to each other in one channel */
    LL_DRAM_ATOM_BYTES = 64,   /* next to each other in one row */
    LL_DRAM_WINDOW = 64,       /* reads, and as many writes, that a channel's scheduler sees */
    LL_DRAM_TURN_CYCLES = 2,   /* the data wires rest between a read and a write */
    LL_DRAM_MOST_BANKS = 64,   /* of a channel */
};

/* What must lie between commands, in cycles, as the standards name it: `_s` in different bank groups, `_l` in
 * the same. */
struct ll_dram_cycles {
    uint32_t cl, cwl;      /* read, write to their first data */
    uint32_t rcd, rp, ras; /* activate to column, precharge to activate, activate to precharge */
    uint32_t ccd_s, ccd_l, rrd_s, rrd_l; /* column to column, activate to activate */
    uint32_t faw;                        /* holds four activates at most */
    uint32_t wr, wtr_s, wtr_l, rtp;      /* last data written to precharge, to read; read to precharge */
    uint32_t rfc, refi;                  /* a refresh takes, every so often */
};

struct ll_dram {
    const char *name, *source;
    double transfers_hz;                    /* of one data pin */
    uint32_t bus_bits;                      /* of one channel */
    uint32_t burst_transfers, burst_cycles; /* of one column access */
    uint32_t groups, banks;                 /* bank groups, banks of each: powers of two */
    uint32_t row_bytes;                     /* of one bank */
    uint32_t wires; /* sets of command wires: 1, or 2 with one for the commands to rows */
    struct ll_dram_cycles cycles;
};

/* The presets, in the order of dram_presets.def; *count of them. */
const struct ll_dram *ll_dram_presets(size_t *count);

/* A preset by its name, or NULL. */
const struct ll_dram *ll_dram_find(const char *name);

/* Bytes that one column access moves. */
uint32_t ll_dram_burst_bytes(const struct ll_dram *dram);

/* Of the commands. */
double ll_dram_clock_hz(const struct ll_dram *dram);

/* The peak of one channel: every transfer carries data. */
double ll_dram_channel_Bps(const struct ll_dram *dram);

/* Accesses of `bytes` each, at least 1. The next one begins `stride` bytes further on, at least `bytes`
 * (equal: a stream); or, with stride 0, at any row of a table whose rows have `bytes`. A share of them are
 * writes. */
struct ll_dram_pattern {
    uint64_t bytes, stride;
    double write_share;
};

/* Averages over one access of a pattern, of one channel's cycles: what it asks of each resource. */
struct ll_dram_estimate {
    double bursts, activates;
    double channels_met, groups_met; /* that it touches, and bank groups of each of these */
    double waiting;                  /* rows that the scheduler of a channel sees */
    double activate_apart;           /* cycles between activations */
    double row_cycles;               /* from opening a row to opening the next in the same bank */
    double busy_banks;               /* as many rows are on their way at a time */
    double data_cycles;              /* the data wires */
    double activate_cycles;          /* activations, as often as allowed */
    double bank_cycles;              /* rows of the banks that the scheduler keeps busy */
    double command_cycles;           /* the command wires */
    double turn_cycles;              /* turning them around, while nothing else moves */
    double refresh_share;            /* of all time */
    double efficiency;               /* asked bytes over what the peak moves in that time */
};

/* Channels are at least 1. With c channels, w the window, g bank groups, b banks, of which rows that are
 * drawn keep busy(q) = q + b - 1/2 - sqrt((q + b - 1/2)^2 - 2 q b) busy when q of them wait (Baskett and
 * Smith, CACM 1976), at least those of the groups that are met, or where it strides of all groups,
 *
 *     data     = bursts * burst / c
 *     activate = activates * max(rrd_s, faw / 4) / c
 *     bank     = activates * (ras + rp) / busy(w * activates / bursts) / c
 *     command  = (bursts + 2 * activates) / c, or the larger of both with wires for each
 *     turn     = write_share * bursts / together * (cl + turn + wtr + 2 * (rp + rcd) * opened) / c
 *     time     = (max(data, activate, bank, command) + turn) / (1 - (rfc + rtp + rp + rcd - burst) / refi)
 *
 * where together is w, in a sweep w + n * write_share / (1 - write_share) with n bursts of an access in a
 * channel, wtr is the larger of wtr_s and of what is left of wtr_l after (g - 1) * ccd_s, opened is
 * activates / bursts and at most 1, ras is at least rcd + rtp, of writes rcd + cwl + burst + wr, and the
 * last factor what refresh leaves: it closes all rows, and the first one must be opened again. Where all is
 * written, no turn is needed. */
void ll_dram_estimate(const struct ll_dram *dram, uint64_t channels, const struct ll_dram_pattern *pattern,
                      struct ll_dram_estimate *estimate);

/* A stream of reads: what `efficiency` is where a machine file leaves it to the preset. */
double ll_dram_stream_efficiency(const struct ll_dram *dram);

/* What a channel that moves nothing does: it stands with its rows closed, is powered down, or refreshes
 * itself. */
enum ll_dram_rest { LL_DRAM_STANDBY, LL_DRAM_POWER_DOWN, LL_DRAM_SELF_REFRESH, LL_DRAM_RESTS };

/* What a channel takes. Of a preset without published currents `byte_j` alone is known, and of some
 * nothing. */
struct ll_dram_energy {
    double read_j, write_j; /* of a byte on its way, beside the standby */
    double activate_j;      /* of opening and closing a row */
    double active_w;        /* while it moves data: standby with open rows, and refresh */
    double rest_w[LL_DRAM_RESTS];
    double byte_j; /* of a byte in all, where currents are not published; 0: they are */
    const char *source;
};

/* With supply voltages V and the currents I of a data sheet, of all devices of a channel, times in cycles
 * (Micron, Technical Note TN-41-01, 2007, which DRAMsim3 follows):
 *
 *     activate = V * (I0 * (ras + rp) - I3N * ras - I2N * rp)
 *     read     = V * (I4R - I3N) * burst           write = V * (I4W - I3N) * burst
 *     refresh  = V * (I5 - I3N) * rfc / refi       active = V * I3N + refresh
 *     rest     = V * I2N + refresh, V * I2P + refresh, or V * I6
 *
 * False of a preset of which nothing is published. Pure. */
bool ll_dram_energy(const struct ll_dram *dram, struct ll_dram_energy *energy);

/* A byte of a stream of reads, beside what the channel takes at rest: moving it, its share of opening a row,
 * and what standing active for its time takes more than that rest. 0 where nothing is published. Pure. */
double ll_dram_stream_j(const struct ll_dram *dram, enum ll_dram_rest rest);

#endif
