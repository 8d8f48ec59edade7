/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/tbd.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Table IV; 0 where it prints nothing. Of the processor it has the cache and the bandwidth of one socket, but
 * 28 cores, which are two sockets or a socket's threads. */
static const struct printed {
    const char *name, *machine, *unit; /* the unit whose instances are multiprocessors or cores */
    double multiprocessors, cores, clock_MHz, memory_GB, cache_MB, bandwidth_GBps;
} printed[] = {
    {LL_TBD_TITAN, "titan_xp", "fma", 30, 3840, 1582, 12, 3, 547.6},
    {LL_TBD_P4000, "quadro_p4000", "fma", 14, 1792, 1480, 8, 2, 243},
    {"Xeon E5-2680", "xeon_e5_2680v4", "fma", 0, 28, 2900, 128, 35, 76.8},
};
enum { DEVICES = sizeof printed / sizeof *printed, TITAN = 0, P4000 = 1 };

/* What follows from clock, bus and lanes: 2 x cores x clock, and twice the memory's clock over its bus. */
static const double printed_peaks[DEVICES] = {12.15, 5.304, NAN};
static const struct {
    size_t device;
    double memory_MHz, bus_bits;
} buses[] = {{TITAN, 5705, 384}, {P4000, 3802, 256}};
static const double peak_ratio = 2.291, share = 1e-3, rounding = 2e-3;

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < DEVICES; i++)
        ll_study_plan_target(plan,
                             &(struct ll_target){.name = printed[i].name, .machine = printed[i].machine});
}

static const struct ll_machine *machine_of(const struct ll_evidence *evidence, const char *name)
{
    for (uint64_t i = 0; i < evidence->plan->target_count; i++)
        if (strcmp(evidence->plan->targets[i].name, name) == 0)
            return evidence->machines[i];
    return NULL;
}

static const struct ll_unit *unit_of(const struct ll_machine *machine, const char *name)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (strcmp(machine->units[i].name, name) == 0)
            return &machine->units[i];
    return NULL;
}

/* The same columns of a machine file. Cores of a GPU are lanes; a processor's are its units. */
static struct printed described(const struct ll_machine *machine, const struct printed *row)
{
    const struct ll_unit *unit = unit_of(machine, row->unit);
    const struct ll_level *outermost = &machine->levels[machine->level_count - 1];
    double count = unit ? (double)unit->count : NAN;
    double lanes = unit && row->multiprocessors > 0 ? unit->matrix.macs[LL_F32] : 1;
    const struct ll_level *cache = machine->level_count > 1 ? outermost - 1 : outermost;
    return (struct printed){.multiprocessors = row->multiprocessors > 0 ? count : 0,
                            .cores = count * lanes,
                            .clock_MHz = machine->clock_hz * 1e-6,
                            .memory_GB = (double)outermost->size_bytes / 0x1p30,
                            .cache_MB = (double)cache->size_bytes / 0x1p20,
                            .bandwidth_GBps = outermost->bandwidth_Bps * 1e-9};
}

static void put_row(struct ll_sheet *sheet, const char *name, const char *source, const struct printed *row,
                    double peak)
{
    ll_put_text(sheet, name);
    ll_put_text(sheet, source);
    ll_put_number(sheet, row->multiprocessors > 0 ? row->multiprocessors : NAN);
    ll_put_number(sheet, row->cores);
    ll_put_number(sheet, row->clock_MHz);
    ll_put_number(sheet, row->memory_GB);
    ll_put_number(sheet, row->cache_MB);
    ll_put_number(sheet, row->bandwidth_GBps);
    ll_put_number(sheet, peak);
}

static void judge_same(const char *name, const char *what, double found, double expected,
                       struct ll_outcome *outcome)
{
    ll_between(outcome, (struct ll_measured_value){found, 1, ""}, expected * (1 - share),
               expected * (1 + share), "%s: %s of the machine file, as printed", name, what);
}

static void judge_row(const struct printed *row, const struct printed *found, struct ll_outcome *outcome)
{
    if (row->multiprocessors > 0) {
        judge_same(row->name, "multiprocessors", found->multiprocessors, row->multiprocessors, outcome);
        judge_same(row->name, "cores", found->cores, row->cores, outcome);
    }
    judge_same(row->name, "clock (MHz)", found->clock_MHz, row->clock_MHz, outcome);
    judge_same(row->name, "memory (GB)", found->memory_GB, row->memory_GB, outcome);
    judge_same(row->name, "last cache (MB)", found->cache_MB, row->cache_MB, outcome);
    judge_same(row->name, "bandwidth (GB/s)", found->bandwidth_GBps, row->bandwidth_GBps, outcome);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"device", LL_TEXT_COLUMN}, {"source", LL_TEXT_COLUMN},
                                                       {"multiprocessors", 0},     {"cores", 0},
                                                       {"clock (MHz)", 0},         {"memory (GB)", 0},
                                                       {"last cache (MB)", 0},     {"bandwidth (GB/s)", 1},
                                                       {"f32 peak (TFLOP/s)", 3}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL,
                                          "The devices as the paper prints them, and as their "
                                          "machine files describe them.",
                                          columns, sizeof columns / sizeof *columns);
    double peaks[DEVICES], cores = NAN; /* those of the last, the processor */
    char text[32];
    for (size_t i = 0; i < DEVICES; i++) {
        const struct ll_machine *machine = machine_of(evidence, printed[i].name);
        struct printed found = described(machine, &printed[i]);
        cores = found.cores;
        peaks[i] = ll_machine_peak_flops(machine, LL_F32) * 1e-12;
        put_row(sheet, printed[i].name, "printed", &printed[i], printed_peaks[i]);
        put_row(sheet, printed[i].name, machine->stem, &found, peaks[i]);
        judge_row(&printed[i], &found, outcome);
        if (isfinite(printed_peaks[i]))
            judge_same(printed[i].name, "f32 peak (TFLOP/s)", peaks[i], printed_peaks[i], outcome);
    }
    for (size_t i = 0; i < sizeof buses / sizeof *buses; i++)
        ll_between(
            outcome,
            (struct ll_measured_value){2 * buses[i].memory_MHz * buses[i].bus_bits / 8 * 1e-3, 1, " GB/s"},
            printed[buses[i].device].bandwidth_GBps * (1 - rounding),
            printed[buses[i].device].bandwidth_GBps * (1 + rounding),
            "%s: bandwidth as printed, twice the memory's clock over its bus", printed[buses[i].device].name);
    ll_between(outcome, (struct ll_measured_value){peaks[TITAN] / peaks[P4000], 3, ""},
               peak_ratio * (1 - share), peak_ratio * (1 + share),
               "peak of the TITAN Xp over that of the P4000");
    snprintf(text, sizeof text, "%.0f", cores);
    ll_inform(outcome, text, "28", "Xeon E5-2680: cores of a socket, whose cache and bandwidth are printed");
    ll_note(outcome,
            "Peaks are 2 x cores x clock. The table's row of the processor mixes a socket's last cache "
            "and bandwidth with 28 cores; its machine file is a socket.");
}

const struct ll_study ll_study_TT4 = {
    .id = "T-T4",
    .paper = "TBD, table IV",
    .title = "The hardware",
    .doc = "Two GPUs and the processor of their host: what the table prints, and what follows from it.",
    .plan = plan,
    .judge = judge,
};
