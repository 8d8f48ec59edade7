/* SPDX-License-Identifier: Apache-2.0 */
/* The platforms: what is printed, what follows from it, and what our machine files have. */
#include "sim/study/paradnn.h"
#include "tracer/base/plain.h"

#include <math.h>

/* Table 3. */
static const struct printed {
    const char *name, *machine;
    double memory_bytes, bandwidth_Bps, flops;
    enum ll_dtype dtype;
} printed[] = {
    {"Skylake", "n1_standard_32", 120e9, 16.6e9, 2e12, LL_F32},
    {"V100", "v100_paradnn", 16e9, 900e9, 125e12, LL_F16},
    {"TPU v2", "tpu_v2", 64e9, 2400e9, 180e12, LL_BF16},
    {"TPU v3", "tpu_v3", 128e9, 3600e9, 420e12, LL_BF16},
};
enum { PRINTED = sizeof printed / sizeof *printed };

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < PRINTED; i++)
        ll_study_plan_target(plan,
                             &(struct ll_target){.name = printed[i].name, .machine = printed[i].machine});
}

static void judge_machine(const struct ll_machine *machine, const struct printed *row, struct ll_sheet *sheet,
                          struct ll_outcome *outcome)
{
    const struct ll_level *memory = &machine->levels[machine->level_count - 1];
    double flops = ll_machine_peak_flops(machine, row->dtype);
    const double ours[] = {(double)memory->size_bytes * 1e-9, memory->bandwidth_Bps * 1e-9, flops * 1e-12};
    const double theirs[] = {row->memory_bytes * 1e-9, row->bandwidth_Bps * 1e-9, row->flops * 1e-12};
    static const char *const what[] = {"memory", "bandwidth", "peak"}, *const units[] = {" GB", " GB/s",
                                                                                         " TFLOP/s"};
    for (int i = 0; i < 3; i++) {
        double tolerance = i == 0 ? 0.075 : 0.03; /* 16 GiB are 17.2 GB */
        ll_put_text(sheet, row->name);
        ll_put_text(sheet, what[i]);
        ll_put_number(sheet, theirs[i]);
        ll_put_number(sheet, ours[i]);
        ll_between(outcome, (struct ll_measured_value){ours[i], 1, units[i]}, theirs[i] * (1 - tolerance),
                   theirs[i] * (1 + tolerance), "%s: %s of the machine file", row->name, what[i]);
    }
}

/* Quotients of printed numbers, and what the paper or public traces say of them. */
static void inform_derived(struct ll_outcome *outcome)
{
    const struct printed *v2 = &printed[2], *v3 = &printed[3];
    const struct {
        double value;
        const char *published, *format, *claim;
    } of[] = {
        {2 * 32 * 16 * 2e9 * 1e-12, "2 TFLOP/s", "%.3f TFLOP/s", "Skylake: 2 x 32 x 16 x 2 GHz"},
        {v2->flops / v2->bandwidth_Bps, "75", "%.1f FLOP/B", "ridge of a TPU v2, by the table"},
        {v3->flops / v3->bandwidth_Bps, "117", "%.1f FLOP/B", "ridge of a TPU v3, by the table"},
        {v3->flops / v2->flops, "2.3", "%.2f", "TPU v3 over TPU v2, by the table"},
        {8 * 281.25 * 1.073741824, "2415.8 GB/s", "%.1f GB/s",
         "8 x 281.25 GiB/s, and what the profiler of the public traces divides by"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char text[32];
        ll_snprintf(text, sizeof text, of[i].format, of[i].value);
        ll_inform(outcome, text, of[i].published, "%s", of[i].claim);
    }
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"platform", LL_TEXT_COLUMN}, {"quantity", LL_TEXT_COLUMN}, {"printed", 1}, {"ours", 1}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "GB, GB/s and TFLOP/s that the paper prints, and ours.", columns, 4);
    for (size_t i = 0; i < PRINTED; i++)
        judge_machine(evidence->machines[i], &printed[i], sheet, outcome);
    inform_derived(outcome);
    ll_note(outcome,
            "Google later says 123 TFLOP/s a chip of a TPU v3, 492 a board, which our machine file has; 420, "
            "which the paper prints, were public at its time. Studies of the paper's figures use 420 "
            "(tpu_v3_paradnn). 900 GB/s a chip confirm the paper's estimate of 3600.");
}

const struct ll_study ll_study_PT3 = {
    .id = "P-T3",
    .paper = "ParaDnn, table 3",
    .title = "The platforms",
    .doc =
        "Memory, bandwidth and peak of a Skylake, a V100, a TPU v2 and a TPU v3, and what follows from them.",
    .plan = plan,
    .judge = judge,
};
