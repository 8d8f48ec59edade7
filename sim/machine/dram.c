/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/machine/dram.h"

#include "tracer/base/num.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const struct ll_dram presets[] = {
#define LL_DRAM(words, rate, bits, transfers, burst, group_count, bank_count, row, command_wires, cl, cwl,   \
                rcd, rp, ras, ccd_s, ccd_l, rrd_s, rrd_l, faw, wr, wtr_s, wtr_l, rtp, rfc, refi, where)      \
    {words,                                                                                                  \
     where,                                                                                                  \
     rate * 1e6,                                                                                             \
     bits,                                                                                                   \
     transfers,                                                                                              \
     burst,                                                                                                  \
     group_count,                                                                                            \
     bank_count,                                                                                             \
     row,                                                                                                    \
     command_wires,                                                                                          \
     {cl, cwl, rcd, rp, ras, ccd_s, ccd_l, rrd_s, rrd_l, faw, wr, wtr_s, wtr_l, rtp, rfc, refi}},
#include "sim/machine/dram_presets.def"
#undef LL_DRAM
};

const struct ll_dram *ll_dram_presets(size_t *count)
{
    *count = sizeof presets / sizeof *presets;
    return presets;
}

const struct ll_dram *ll_dram_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++)
        if (!strcmp(presets[i].name, name))
            return &presets[i];
    return NULL;
}

uint32_t ll_dram_burst_bytes(const struct ll_dram *dram)
{
    return dram->bus_bits / 8 * dram->burst_transfers;
}

double ll_dram_clock_hz(const struct ll_dram *dram)
{
    return dram->transfers_hz * dram->burst_cycles / dram->burst_transfers;
}

double ll_dram_channel_Bps(const struct ll_dram *dram)
{
    return dram->transfers_hz * dram->bus_bits / 8;
}

/* How many pieces an access touches on average. Accesses begin at multiples of `step`, hence anywhere in a
 * piece that is a multiple of the common divisor g of both; of the piece / g places so many touch one more
 * piece that the average is (bytes - g) / piece + 1, with bytes rounded up to a multiple of g. */
static double pieces(uint64_t bytes, uint64_t step, uint64_t piece)
{
    uint64_t g = ll_common_divisor(step, piece);
    double covered = (double)g * ceil((double)bytes / (double)g);
    return (covered - (double)g) / (double)piece + 1;
}

/* How many bank groups, each in a bank of its own, an access meets in each of its channels. */
static double groups_met(const struct ll_dram *dram, uint64_t channels, const struct ll_dram_pattern *p,
                         double *blocks)
{
    uint64_t step = p->stride ? p->stride : p->bytes;
    *blocks = fmin((double)channels, pieces(p->bytes, step, LL_DRAM_BLOCK_BYTES));
    return fmin(pieces(p->bytes, step, LL_DRAM_ATOM_BYTES) / *blocks, dram->groups);
}

/* One activation for each bank that an access meets, or for each row's worth of bytes if that is more. In a
 * sweep the accesses to come find rows open: with r rows open over all channels, which hold r row_bytes in a
 * piece, as many accesses as the piece has strides meet r (1 - 1/r)^n of them not at all. */
static double activates_of(const struct ll_dram *dram, double banks_met, double bursts,
                           const struct ll_dram_pattern *p)
{
    double rows = fmax(banks_met, bursts * ll_dram_burst_bytes(dram) / dram->row_bytes);
    double strides = (double)p->stride / dram->row_bytes;
    return p->stride ? strides * -expm1(-rows / strides) : rows;
}

/* A sweep whose steps are shorter than a burst reads each burst once. */
static double bursts_of(const struct ll_dram *dram, const struct ll_dram_pattern *p)
{
    uint32_t burst_bytes = ll_dram_burst_bytes(dram);
    double touched = pieces(p->bytes, p->stride ? p->stride : p->bytes, burst_bytes);
    return p->stride ? fmin(touched, (double)p->stride / burst_bytes) : touched;
}

/* Writes from one turn to writing to the next one: a window of them is collected, and when it is full those
 * of the accesses that come until the next one reads go along; the window of reads is full by then. An
 * access has so many bursts in a channel. Of rows that are drawn nothing is taken to go along: what opening
 * them adds is more than the terms here say. */
static double writes_together(const struct ll_dram_pattern *p, double bursts)
{
    double along = p->stride ? fmax(1, bursts) * p->write_share / (1 - p->write_share) : 0;
    return LL_DRAM_WINDOW + along;
}

/* For each round of writes the wires turn twice. From read to write they lose cl + turn - cwl, from write to
 * read cwl + wtr; the group that was written to first has waited for the others by then. Rows that are not
 * open are opened after the turn. */
static double turn_cycles(const struct ll_dram *dram, const struct ll_dram_pattern *p, double rows_a_burst,
                          double bursts)
{
    const struct ll_dram_cycles *c = &dram->cycles;
    double waited = ((double)dram->groups - 1) * c->ccd_s;
    double turns = c->cl + LL_DRAM_TURN_CYCLES + fmax(c->wtr_s, c->wtr_l - waited);
    double opening = 2 * ((double)c->rp + c->rcd) * fmin(1, rows_a_burst);
    return p->write_share < 1 ? p->write_share * (turns + opening) / writes_together(p, bursts) : 0;
}

/* From opening a row to opening the next one in its bank. */
static double row_cycles(const struct ll_dram *dram, double write_share)
{
    const struct ll_dram_cycles *c = &dram->cycles;
    double read = fmax(c->ras, (double)c->rcd + c->rtp);
    double write = fmax(c->ras, (double)c->rcd + c->cwl + dram->burst_cycles + c->wr);
    return read + write_share * (write - read) + c->rp;
}

static double busy_banks(const struct ll_dram *dram, double waiting)
{
    double banks = (double)dram->groups * dram->banks, sum = banks + waiting - 0.5;
    return sum - sqrt(sum * sum - 2 * banks * waiting);
}

void ll_dram_estimate(const struct ll_dram *dram, uint64_t channels, const struct ll_dram_pattern *p,
                      struct ll_dram_estimate *e)
{
    const struct ll_dram_cycles *c = &dram->cycles;
    assert(channels > 0 && p->bytes > 0 && (!p->stride || p->stride >= p->bytes));
    double share = 1 / (double)channels, burst = dram->burst_cycles, blocks;
    double groups = groups_met(dram, channels, p, &blocks);
    e->bursts = bursts_of(dram, p);
    e->activates = activates_of(dram, groups * blocks, e->bursts, p);
    double rows_a_burst = e->activates / e->bursts;
    double waiting = fmax(LL_DRAM_WINDOW * rows_a_burst, p->stride ? dram->groups : groups);
    e->channels_met = blocks;
    e->groups_met = groups;
    e->waiting = waiting;
    e->activate_apart = fmax(c->rrd_s, c->faw / 4.0);
    e->row_cycles = row_cycles(dram, p->write_share);
    e->busy_banks = busy_banks(dram, waiting);
    e->data_cycles = e->bursts * burst * share;
    e->activate_cycles = e->activates * e->activate_apart * share;
    e->bank_cycles = e->activates * e->row_cycles / e->busy_banks * share;
    double row_commands = 2 * e->activates;
    e->command_cycles = (dram->wires > 1 ? fmax(e->bursts, row_commands) : e->bursts + row_commands) * share;
    e->turn_cycles = e->bursts * turn_cycles(dram, p, rows_a_burst, e->bursts / blocks) * share;
    e->refresh_share = ((double)c->rfc + c->rtp + c->rp + c->rcd - burst) / c->refi;
    double most = fmax(fmax(e->data_cycles, e->activate_cycles), fmax(e->bank_cycles, e->command_cycles));
    double pace = most + e->turn_cycles;
    double least = (double)p->bytes / ll_dram_burst_bytes(dram) * burst * share;
    e->efficiency = least / pace * (1 - e->refresh_share);
}

double ll_dram_stream_efficiency(const struct ll_dram *dram)
{
    struct ll_dram_pattern stream = {.bytes = LL_DRAM_BLOCK_BYTES, .stride = LL_DRAM_BLOCK_BYTES};
    struct ll_dram_estimate e;
    ll_dram_estimate(dram, 1, &stream, &e);
    return e.efficiency;
}

/* Milliwatts of a device in each state, and the clock and cycles at which they were measured. */
struct currents {
    const char *name, *source;
    double devices, clock_hz, ras, rp, burst;
    double activates_mw, standby_mw, down_mw, active_mw, reads_mw, writes_mw, refreshes_mw, self_mw;
};

static const struct currents published[] = {
#define LL_DRAM_CURRENTS(words, count, MHz, ras, rp, burst, i0, i2n, i2p, i3n, i4r, i4w, i5, i6, where)      \
    {words, where, count, (MHz)*1e6, ras, rp, burst, i0, i2n, i2p, i3n, i4r, i4w, i5, i6},
#include "sim/machine/dram_power.def"
#undef LL_DRAM_CURRENTS
};

static const struct {
    const char *name, *source;
    double byte_j;
} whole_bytes[] = {
#define LL_DRAM_BYTE(words, pj, where) {words, where, (pj)*1e-12},
#include "sim/machine/dram_power.def"
#undef LL_DRAM_BYTE
};

/* Energies of commands by the clock of the currents; refresh by the cycles of the preset. */
static void energy_by_currents(const struct ll_dram *dram, const struct currents *c,
                               struct ll_dram_energy *energy)
{
    double w = c->devices * 1e-3, cycle_s = 1 / c->clock_hz, bytes = ll_dram_burst_bytes(dram);
    double burst_s = c->burst * cycle_s;
    double refresh_w = w * (c->refreshes_mw - c->active_mw) * dram->cycles.rfc / dram->cycles.refi;
    *energy = (struct ll_dram_energy){
        .read_j = w * (c->reads_mw - c->active_mw) * burst_s / bytes,
        .write_j = w * (c->writes_mw - c->active_mw) * burst_s / bytes,
        .activate_j = w * cycle_s *
                      (c->activates_mw * (c->ras + c->rp) - c->active_mw * c->ras - c->standby_mw * c->rp),
        .active_w = w * c->active_mw + refresh_w,
        .rest_w = {w * c->standby_mw + refresh_w, w * c->down_mw + refresh_w, w * c->self_mw},
        .source = c->source};
}

bool ll_dram_energy(const struct ll_dram *dram, struct ll_dram_energy *energy)
{
    *energy = (struct ll_dram_energy){0};
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (!strcmp(published[i].name, dram->name)) {
            energy_by_currents(dram, &published[i], energy);
            return true;
        }
    for (size_t i = 0; i < sizeof whole_bytes / sizeof *whole_bytes; i++)
        if (!strcmp(whole_bytes[i].name, dram->name)) {
            energy->byte_j = whole_bytes[i].byte_j;
            energy->source = whole_bytes[i].source;
            return true;
        }
    return false;
}

double ll_dram_stream_j(const struct ll_dram *dram, enum ll_dram_rest rest)
{
    struct ll_dram_energy energy;
    if (!ll_dram_energy(dram, &energy))
        return 0;
    if (energy.byte_j > 0)
        return energy.byte_j;
    double Bps = ll_dram_channel_Bps(dram) * ll_dram_stream_efficiency(dram);
    return energy.read_j + energy.activate_j / dram->row_bytes +
           (energy.active_w - energy.rest_w[rest]) / Bps;
}
