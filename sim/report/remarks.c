/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/remarks.h"

#include "sim/cost/cost_parts.h"
#include "sim/replay/infeed.h"
#include "sim/report/human.h"

/* Of the time of a step. */
static const double WORTH_A_LINE = 0.05;

/* Where many steps would wait for their input; or where only the first of those that are here does. */
static void infeed_line(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    const struct ll_result *result = report->result;
    struct ll_infeed infeed = {0};
    struct ll_human host, device, step;
    struct ll_str line = {0};
    if (!ll_infeed_of(result, &infeed))
        return;
    bool at_first = !report->parallel && infeed.step_s < result->time_s * (1 - WORTH_A_LINE);
    if (infeed.share >= WORTH_A_LINE)
        ll_str_addf(&line, "infeed %.0f %%: the host takes %s for a step's input, the device %s for the rest",
                    100 * infeed.share, ll_si(&host, infeed.prepare_s + infeed.transfer_s, "s"),
                    ll_si(&device, infeed.device_s, "s"));
    else if (at_first)
        ll_str_addf(
            &line,
            "the first step waits %s for its input, which no earlier step hides; in a longer run a step "
            "takes %s",
            ll_si(&host, infeed.prepare_s + infeed.transfer_s, "s"), ll_si(&step, infeed.step_s, "s"));
    if (line.length > 0)
        ll_end_line(&line, width, out);
}

/* A unit that computes products and nothing else. */
static const struct ll_unit *unit_for_products(const struct ll_machine *machine)
{
    for (uint64_t i = 0; i < machine->unit_count; i++)
        if (machine->units[i].model != LL_UNIT_VECTOR)
            return &machine->units[i];
    return NULL;
}

/* Whether some unit that is made for products takes an op of this kind. */
static bool is_taken(const struct ll_machine *machine, enum ll_op_kind kind)
{
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        if (unit->model != LL_UNIT_VECTOR && (!unit->runs_listed || unit->runs[kind]))
            return true;
    }
    return false;
}

/* Products on lanes, beside units that were made for them: a list of `runs` that forgets the gradients. */
static void stray_line(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    const struct ll_unit *unit = unit_for_products(result->machine);
    struct ll_str line = {0};
    double share = 0;
    for (size_t i = 0; unit && i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (!ll_class_is_product(kind->op_class) || is_taken(result->machine, kind->op_kind))
            continue;
        ll_str_addf(&line, "%s%s", share > 0 ? ", " : "", kind->kind);
        share += kind->share;
    }
    if (share >= WORTH_A_LINE && !line.failed) {
        struct ll_str all = {0};
        ll_str_addf(&all,
                    "%.0f %% of the time: %s, which %s does not list in its `runs`, so that lanes do them",
                    100 * share, line.text, unit->name);
        ll_end_line(&all, width, out);
    }
    ll_str_release(&line);
}

/* Whether some unit that is made for products computes in this type, or in a wider one for it. */
static bool is_multiplied(const struct ll_machine *machine, enum ll_dtype dtype)
{
    for (uint64_t i = 0; i < machine->unit_count; i++) {
        const struct ll_unit *unit = &machine->units[i];
        if (unit->model != LL_UNIT_VECTOR && ll_unit_flops_per_cycle(unit, ll_computed_on(unit, dtype)) > 0)
            return true;
    }
    return false;
}

bool ll_say_lanes_for_type(const struct ll_result *result, struct ll_str *out)
{
    const struct ll_unit *unit = unit_for_products(result->machine);
    enum ll_dtype dtype = result->prepared->dtype, computed;
    double share = 0;
    for (size_t i = 0; i < result->kind_count; i++) {
        const struct ll_kind_result *kind = &result->kinds[i];
        if (ll_class_is_product(kind->op_class) && is_taken(result->machine, kind->op_kind))
            share += kind->share;
    }
    if (!unit || is_multiplied(result->machine, dtype) || share < WORTH_A_LINE)
        return false;
    ll_computed_peak_flops(result->machine, dtype, &computed);
    ll_str_addf(out,
                "%.0f %% of the time: products of %s, for which %s has no rate (`macs`), so that lanes do "
                "them in %s",
                100 * share, ll_dtype_name(dtype), unit->name, ll_dtype_name(computed));
    return true;
}

void ll_report_lanes_for_type(const struct ll_result *result, const char *machine, unsigned width,
                              struct ll_str *out)
{
    struct ll_str line = {0};
    ll_str_addf(&line, "%s%s", machine ? machine : "", machine ? ", " : "");
    if (ll_say_lanes_for_type(result, &line))
        ll_end_line(&line, width, out);
    ll_str_release(&line);
}

/* The innermost memory of the whole device, before the outermost, that all data of the trace fit into. */
static const struct ll_level *holds_all_data(const struct ll_result *result)
{
    const struct ll_machine *machine = result->machine;
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        const struct ll_level *level = &machine->levels[l];
        if (level->scope == LL_SCOPE_DEVICE && ll_level_holds_all(level) &&
            result->footprint->peak_bytes <= level->size_bytes)
            return level;
    }
    return NULL;
}

/* One step that waits for what any further one would find on the chip. */
static void cold_line(const struct ll_result *result, unsigned width, struct ll_str *out)
{
    const struct ll_machine *machine = result->machine;
    const struct ll_level *inside = holds_all_data(result),
                          *outermost = &machine->levels[machine->level_count - 1];
    struct ll_str line = {0};
    double share = result->shares[LL_BOUND_LEVEL + machine->level_count - 1];
    if (!inside || result->prepared->steps > 1 || share < WORTH_A_LINE)
        return;
    ll_str_addf(
        &line,
        "all data fit into %s, into which this one step loads them from %s: further steps, of a recording "
        "with more of them (--steps), find them there",
        inside->name, outermost->name);
    ll_end_line(&line, width, out);
}

void ll_report_remarks(const struct ll_report *report, unsigned width, struct ll_str *out)
{
    infeed_line(report, width, out);
    stray_line(report->result, width, out);
    ll_report_lanes_for_type(report->result, NULL, width, out);
    if (!report->parallel)
        cold_line(report->result, width, out);
}
