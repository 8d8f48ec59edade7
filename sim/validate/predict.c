/* SPDX-License-Identifier: Apache-2.0 */
/* The predicted time of a measured row's work on a machine, as the row was measured: repeated on the same
 * operands, on several devices, with so many threads; beside it the time of a plain roofline. */
#include "sim/validate/predict.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"
#include "sim/cost/gemm_kernels.h"
#include "sim/cost/linear.h"
#include "sim/memory/residency.h"
#include "sim/network/network.h"
#include "sim/replay/replay.h"

#include <math.h>
#include <stdlib.h>

/* The datasheet's bandwidth of the level that holds tensors. */
static double datasheet_Bps(const struct ll_machine *machine)
{
    return ll_machine_memory_Bps(machine) / machine->levels[machine->level_count - 1].efficiency;
}

double ll_work_operand_bytes(const struct ll_work *work)
{
    return (double)work->a_bytes + (double)work->b_bytes + (double)work->c_bytes;
}

double ll_work_roofline_s(const struct ll_machine *machine, const struct ll_work *work)
{
    double bytes = ll_work_operand_bytes(work);
    enum ll_dtype computed;
    double peak = ll_computed_peak_flops(machine, (enum ll_dtype)work->dtype, &computed);
    double flops_s = peak > 0 ? (double)work->flops / peak : 0;
    return fmax(flops_s, bytes / datasheet_Bps(machine));
}

/* How much of an element-wise op's traffic a fusing stack leaves out: one operand comes from registers, and
 * the result takes the place of the leader's. */
static void save_held(const struct ll_work *work, const struct ll_cost *cost, uint64_t level_count,
                      struct ll_warm_bytes *left)
{
    double moved = (double)work->a_bytes + (double)work->c_bytes;
    double held = moved > 0 ? fmin(1, 2 * (double)work->c_bytes / moved) : 0;
    for (uint64_t l = 0; l < level_count; l++)
        left->saved_bytes[l] = held * cost->level_bytes[l];
}

/* A row of one op was measured by repeating it on the same operands. A cache in front of the outermost memory
 * then has what it keeps of them from the run before. Results alternate between two blocks, since the next
 * one is asked for while the last is still held. */
static void save_repeated(const struct ll_machine *machine, const struct ll_work *work,
                          const struct ll_cost *cost, struct ll_warm_bytes *left)
{
    uint64_t outermost = machine->level_count - 1;
    if (outermost == 0 || !machine->levels[outermost - 1].cache_given)
        return;
    struct ll_level cache = machine->levels[outermost - 1];
    cache.size_bytes = ll_mul(cache.size_bytes, ll_machine_instances(machine, outermost - 1));
    uint64_t bytes = ll_add(ll_add(work->a_bytes, work->b_bytes), ll_mul(2, work->c_bytes));
    double kept = ll_level_keeps(&cache, bytes, (struct ll_round){.bytes = bytes});
    left->saved_bytes[outermost] = bytes > 0 ? cost->level_bytes[outermost] * kept / (double)bytes : 0;
}

/* The same where all operands but the left one rotate. What else passes through the cache leaves of it all
 * as long as one call's operands take up less than two fifths of the cache, nothing from four fifths on:
 * fitted, as tensor.gemm, on the GEMMs of aiconfigurator. */
static void save_activations(const struct ll_machine *machine, const struct ll_work *work,
                             const struct ll_cost *cost, struct ll_warm_bytes *left)
{
    uint64_t outermost = machine->level_count - 1;
    enum ll_dtype computed = (enum ll_dtype)work->dtype;
    if (work->linear > 0)
        ll_choose_unit(machine, LL_OP_MATMUL, work, &computed);
    const struct ll_linear_kernel *linear = ll_linear_kernel_of(machine, work, computed);
    if (outermost == 0 || !machine->levels[outermost - 1].cache_given || work->kind != LL_WORK_GEMM ||
        (linear && linear->quantize_bandwidth > 0)) /* what is quantized first is found anyway */
        return;
    double size = (double)machine->levels[outermost - 1].size_bytes *
                  (double)ll_machine_instances(machine, outermost - 1);
    double share = fmax(0, fmin(1, 2 - ll_work_operand_bytes(work) / size / 0.4));
    left->saved_bytes[outermost] = fmin(cost->level_bytes[outermost], share * (double)work->a_bytes);
}

/* Layers one behind the other: a memory in front of the outermost one that software fills with activations
 * has what the layer before left, and keeps the result for the next, as much of both as fits. The first layer
 * of a network that is run again and again takes its image from outside. */
static void save_chained(const struct ll_machine *machine, const struct ll_cost *cost, double weights_left,
                         bool from_outside, struct ll_warm_bytes *left)
{
    uint64_t outermost = machine->level_count - 1;
    const struct ll_level *memory = outermost > 0 ? &machine->levels[outermost - 1] : NULL;
    if (!memory || memory->cache_given || memory->scope != LL_SCOPE_DEVICE ||
        !ll_level_holds(memory, LL_OPERAND_A) || !ll_level_holds(memory, LL_OPERAND_C))
        return;
    const double *of = cost->level_of[outermost];
    double operands = of[LL_OPERAND_A] + of[LL_OPERAND_B] + of[LL_OPERAND_C];
    double bytes = operands > 0 ? (from_outside ? 0 : of[LL_OPERAND_A]) + of[LL_OPERAND_C]
                                : cost->level_bytes[outermost];
    double *saved = &left->saved_bytes[outermost];
    *saved += fmin(fmax(0, bytes - *saved), (double)memory->size_bytes);
    *saved += weights_left * of[LL_OPERAND_B];
}

/* Of a network's weights, the share that stays from one inference to the next in a memory that keeps them:
 * they share it with the largest layer's operands. */
static double weights_that_stay(const struct ll_machine *machine, const struct ll_measured_works *works)
{
    double weights = 0, most = 0, size = 0;
    for (uint64_t i = 0; i < works->count; i++) {
        const struct ll_work *work = &works->at[i].work;
        double times = (double)works->at[i].times;
        weights += ll_is_gemm(work) ? times * (double)work->b_bytes : 0;
        most = fmax(most, (double)work->a_bytes + (double)work->c_bytes);
    }
    if (machine->level_count > 1 && machine->levels[machine->level_count - 2].keeps_weights)
        size = (double)machine->levels[machine->level_count - 2].size_bytes;
    return weights > 0 ? fmin(1, fmax(0, size - most) / weights) : 0;
}

/* The smallest group of the network that holds so many devices, as bridged pairs on one bus do four; 0: none
 * does. */
static uint64_t holding_group(const struct ll_net *net, uint64_t devices)
{
    for (uint64_t level = 1; level <= ll_net_levels(net); level++)
        if (ll_net_group(net, level) >= devices)
            return ll_net_group(net, level);
    return 0;
}

/* Where the devices are that take part, node by node; where one network joins them all, a device may be a
 * node itself. */
struct layout {
    uint64_t in_node, group;
};

static uint64_t member(const struct layout *layout, uint64_t i)
{
    return ll_add(ll_mul(i / layout->in_node, layout->group), i % layout->in_node);
}

/* False when there are not so many devices. */
static bool lay_out(const struct ll_net *net, const struct ll_measured_part *part, struct layout *layout)
{
    bool alone = part->node_devices == 1 && ll_net_group(net, 1) == ll_net_devices(net);
    layout->in_node = part->node_devices ? part->node_devices : ll_net_group(net, 1);
    layout->group = alone ? 1 : holding_group(net, layout->in_node);
    return layout->group > 0 && member(layout, part->devices - 1) < ll_net_devices(net);
}

/* Bytes that each device of a ring sends, as a part of those that a row gives. */
static double ring_share(const struct ll_measured_part *part)
{
    double n = (double)part->devices;
    switch (part->collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case LL_COLLECTIVE_ALL_GATHER:
    case LL_COLLECTIVE_REDUCE_SCATTER:
    case LL_COLLECTIVE_ALL_TO_ALL:
        return (n - 1) / n;
    default:
        return 1;
    }
}

/* The links into a level that the devices of one group which it joins use, of those that take part: a message
 * uses one, and so does a device by itself. */
static double links_into(const struct ll_net *net, const struct layout *layout,
                         const struct ll_measured_part *part, uint64_t level)
{
    uint64_t links = 1, devices = ll_min(ll_min(layout->in_node, part->devices), ll_net_group(net, level));
    for (uint64_t i = 1; part->collective != LL_COLLECTIVE_SEND_RECEIVE && i < devices; i++)
        links += ll_net_rail(net, level, member(layout, i)) != ll_net_rail(net, level, member(layout, i - 1));
    return (double)links;
}

/* What rings would have each device send over the slowest links of the datasheet on the way, as many rings as
 * a group has links, without latency: those of the outermost level, or for a single node of the level that
 * joins so many. */
static double wire_s(const struct ll_net *net, const struct layout *layout,
                     const struct ll_measured_part *part)
{
    const struct ll_machine *machine = ll_net_machine(net);
    bool one_node = part->node_devices == 0 || part->devices <= part->node_devices;
    uint64_t l = one_node ? 0 : machine->network_count - 1, joined = machine->networks[0].devices;
    while (one_node && joined < part->devices && l + 1 < machine->network_count)
        joined = ll_mul(joined, machine->networks[++l].devices);
    const struct ll_network *level = &machine->networks[l];
    double Bps = level->bandwidth_Bps * links_into(net, layout, part, l);
    Bps = level->group_port_Bps > 0 ? fmin(Bps, level->group_port_Bps) : Bps;
    return ring_share(part) * (double)part->work.a_bytes / Bps;
}

/* Why it could not be told how long an exchange takes; NULL: it was. */
static const char *exchange(const struct ll_net *net, const struct layout *layout,
                            const struct ll_measured_part *part, struct ll_exchanged *done)
{
    struct ll_solver *solver = ll_solver_new(net);
    uint64_t *members = calloc(part->devices, sizeof *members);
    for (uint64_t i = 0; members && i < part->devices; i++)
        members[i] = member(layout, i);
    struct ll_exchange among = {.collective = part->collective,
                                .bytes = (double)part->work.a_bytes,
                                .members = members,
                                .size = part->devices,
                                .groups = 1,
                                .integers = part->integers,
                                .by_library = part->by_library,
                                .eager = part->eager};
    int result = solver && members ? ll_exchange_by_software(solver, &among, done) : LL_EXCHANGE_NO_MEMORY;
    free(members);
    ll_solver_free(solver);
    return result == LL_EXCHANGE_DONE     ? NULL
           : result == LL_EXCHANGE_NO_WAY ? "the machine's devices have no way to exchange this"
                                          : "memory ran out";
}

/* An exchange between devices, by the machine's network. False when it does not reach so many. */
static bool predict_collective(const struct ll_machine *machine, const struct ll_measured_part *part,
                               struct ll_predicted *p, const char **trouble)
{
    struct ll_exchanged done = {0};
    struct layout layout = {0};
    struct ll_net *net = ll_net_new(machine, trouble);
    if (net && !lay_out(net, part, &layout))
        *trouble = "the machine describes no network of so many devices";
    else if (net)
        *trouble = exchange(net, &layout, part, &done);
    p->time_s += (double)part->times * done.time_s;
    p->overhead_s += (double)part->times * done.overhead_s;
    p->bytes += (double)part->times * (double)part->work.a_bytes;
    p->roofline_s += *trouble ? 0 : (double)part->times * wire_s(net, &layout, part);
    ll_net_free(net);
    return !*trouble;
}

/* Beside the prediction: when the software has started the last op, and the input's way. */
struct coming {
    double started_s, host_s;
};

/* The op that many times, one after the other, each when it was begun and the one before it has ended; as
 * sim/replay does for a trace. A queue is taken to be longer than a row's parts. */
static void append(const struct ll_machine *machine, const struct ll_timing *timing, double times,
                   struct ll_predicted *p, struct coming *coming)
{
    double work_s = timing->time_s, start_s = timing->overhead_s,
           begin_s = start_s - timing->behind_s + timing->more_s;
    if (machine->software.queue == 0) {
        p->time_s += times * ll_timing_alone_s(timing);
        return;
    }
    double device_bound_s = fmax(p->time_s, coming->started_s + begin_s) + times * work_s;
    coming->started_s += times * start_s;
    p->time_s = fmax(device_bound_s, coming->started_s - timing->behind_s + timing->more_s + work_s);
}

/* Whether the software joins an element-wise op to what is before it. */
static bool joins(const struct ll_machine *machine, const struct ll_measured_part *part,
                  const struct ll_measured_part *before)
{
    return before && !part->apart && ll_fusion_joins(machine->software.fusion, part->kind) &&
           ll_fusion_leads(machine->software.fusion, &before->work);
}

/* The last part that goes through the same pipeline of layers (`fusion: layers`), whose result is the one
 * that leaves it; the part itself where none follows. */
static uint64_t pipeline_end(const struct ll_machine *machine, const struct ll_measured_works *works,
                             uint64_t i)
{
    if (machine->software.fusion == LL_FUSION_LAYERS)
        while (i + 1 < works->count && joins(machine, &works->at[i + 1], &works->at[i]))
            i++;
    return i;
}

/* What a part that follows in a pipeline would move by itself, of a level's bytes: neither what the part
 * before hands on, nor what it hands on. */
static double pipeline_share(const struct ll_measured_works *works, uint64_t i, uint64_t end)
{
    const struct ll_work *work = &works->at[i].work;
    double held = (double)works->at[i - 1].work.c_bytes + (i < end ? (double)work->c_bytes : 0);
    return fmax(0, 1 - held / fmax(1, ll_work_operand_bytes(work)));
}

/* The first part of a pipeline moves what all of them do beside what they hand on: its own result is not
 * written, the last one's is, and operands of the others come along. The others move nothing. False when no
 * unit runs one of them. */
static bool save_pipeline(const struct ll_machine *machine, const struct ll_measured_works *works, uint64_t i,
                          struct ll_cost *cost, struct ll_warm_bytes *left, const char **trouble)
{
    const uint64_t end = pipeline_end(machine, works, i);
    bool follows = i > 0 && joins(machine, &works->at[i], &works->at[i - 1]);
    for (uint64_t l = 0; l < machine->level_count; l++)
        left->saved_bytes[l] = follows ? cost->level_bytes[l] : i < end ? cost->level_of[l][LL_OPERAND_C] : 0;
    if (follows)
        cost->compute_s = cost->compute_first_s = 0;
    double unit_s[LL_MAX_UNITS] = {[0] = 0};
    unit_s[cost->unit] = cost->compute_s;
    for (uint64_t j = i + 1; !follows && j <= end; j++) {
        struct ll_cost next;
        if (!ll_cost_op(machine, works->at[j].kind, &works->at[j].work, &next, trouble))
            return false;
        unit_s[next.unit] += next.compute_s;
        cost->compute_s = fmax(cost->compute_s, unit_s[next.unit]);
        for (uint64_t l = 0; l < machine->level_count; l++)
            left->saved_bytes[l] -= pipeline_share(works, j, end) * next.level_bytes[l];
    }
    return true;
}

/* As a replay does: the unit's way and its blocks are those that suit what is found, which may not be those
 * that suit an empty machine. */
static void cost_after_reuse(const struct ll_machine *machine, const struct ll_measured_part *part,
                             const struct ll_warm_bytes *left, struct ll_cost *cost)
{
    const struct ll_cost alone = *cost;
    if (ll_cost_is_reuse_sensitive(machine, cost, left))
        ll_cost_algorithm(machine, part->kind, &part->work, alone.way,
                          &(struct ll_cache_context){left, &alone}, cost);
}

/* Adds a part's time; false when no unit runs it. */
static bool predict_part(const struct ll_machine *machine, const struct ll_measured_works *works, uint64_t i,
                         enum ll_measured_repeats repeats, struct ll_predicted *p, struct coming *coming,
                         const char **trouble)
{
    const struct ll_measured_part *part = &works->at[i], *before = i > 0 ? part - 1 : NULL;
    struct ll_cost cost;
    struct ll_timing timing;
    struct ll_warm_bytes left = {0};
    double times = (double)part->times;
    bool follows = joins(machine, part, before);
    if (part->work.kind == LL_WORK_COLLECTIVE)
        return predict_collective(machine, part, p, trouble);
    if (!ll_cost_op(machine, part->kind, &part->work, &cost, trouble))
        return false;
    if (repeats == LL_REPEATS_SAME)
        save_repeated(machine, &part->work, &cost, &left);
    else if (repeats == LL_REPEATS_ACTIVATIONS)
        save_activations(machine, &part->work, &cost, &left);
    if (machine->software.fusion == LL_FUSION_LAYERS && cost.unit != LL_NO_UNIT &&
        !save_pipeline(machine, works, i, &cost, &left, trouble))
        return false;
    if (machine->software.fusion != LL_FUSION_LAYERS && follows)
        save_held(&part->work, &cost, machine->level_count, &left);
    if (repeats == LL_REPEATS_CHAINED || repeats == LL_REPEATS_RESIDENT)
        save_chained(machine, &cost, repeats == LL_REPEATS_RESIDENT ? weights_that_stay(machine, works) : 0,
                     repeats == LL_REPEATS_RESIDENT && i == 0, &left);
    cost_after_reuse(machine, part, &left, &cost);
    cost.gap_s = follows ? 0 : cost.gap_s;
    ll_cost_time(machine, &cost, &left, &timing);
    if (part->work.kind == LL_WORK_HOST) {
        coming->host_s += timing.time_s;
        return true;
    }
    if (follows)
        timing.overhead_s = timing.behind_s = timing.more_s = 0;
    append(machine, &timing, times, p, coming);
    p->flops += times * (double)part->work.flops;
    p->bytes += times * ll_work_operand_bytes(&part->work);
    p->roofline_s += times * ll_work_roofline_s(machine, &part->work);
    p->overhead_s += times * (timing.overhead_s + timing.more_s);
    return true;
}

/* A machine of which so many cores work: each thread has a core of its own as long as there are any, and what
 * cores share is shared by fewer. Shares all texts and lists with the machine; free it. */
static struct ll_machine *with_threads(const struct ll_machine *machine, uint64_t threads)
{
    struct ll_machine *some = malloc(sizeof *some);
    if (!some)
        return NULL;
    *some = *machine;
    for (uint64_t u = 0; u < some->unit_count; u++)
        if (some->units[u].count > threads)
            some->units[u].count = threads;
    return some;
}

static bool predict_parts(const struct ll_machine *machine, const struct ll_measured_works *works,
                          struct ll_predicted *predicted, const char **trouble)
{
    struct coming coming = {0};
    *predicted = (struct ll_predicted){0};
    *trouble = NULL;
    bool repeated =
        works->count == 1 || works->repeats == LL_REPEATS_CHAINED || works->repeats == LL_REPEATS_RESIDENT;
    enum ll_measured_repeats repeats = repeated ? works->repeats : LL_REPEATS_COLD;
    for (uint64_t i = 0; i < works->count; i++)
        if (!predict_part(machine, works, i, repeats, predicted, &coming, trouble))
            return false;
    predicted->time_s =
        fmax(predicted->time_s, coming.started_s); /* the mark that ends a measurement is behind */
    predicted->time_s =
        fmax(predicted->time_s, coming.host_s); /* one step computes while the next one's input comes */
    return true;
}

bool ll_predict(const struct ll_machine *machine, const struct ll_measured_works *works,
                struct ll_predicted *predicted, const char **trouble)
{
    if (works->threads == 0)
        return predict_parts(machine, works, predicted, trouble);
    struct ll_machine *some = with_threads(machine, works->threads);
    *trouble = "memory ran out";
    bool done = some && predict_parts(some, works, predicted, trouble);
    free(some);
    return done;
}
