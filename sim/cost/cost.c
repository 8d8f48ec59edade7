/* SPDX-License-Identifier: Apache-2.0 */
/* The order of a cost: which unit, which way on it, what crosses each level, how long each stage takes.
 *
 * A unit may offer several ways (the tiles of a menu). The fastest is taken by what depends on the way: its
 * cycles and its traffic out of the near levels. The rest is the same for all ways, so the choice is also the
 * best for the op as a whole, whatever earlier ops saved at the far levels; and since the least of several
 * times, each of which more of anything only shortens, is shortened too, it cannot make a better machine
 * slower. Without double buffering that does not hold, and each way of the unit is one of the op's. Two
 * things come after the choice: what fusion holds in registers is saved at near levels too, and what a
 * kernel's `serial` adds is less where earlier ops saved something. */
#include "sim/cost/cost.h"

#include "sim/cost/cast.h"
#include "sim/cost/choice.h"
#include "sim/cost/from_host.h"
#include "sim/cost/layout.h"
#include "sim/cost/seen.h"
#include "sim/cost/power.h"
#include "sim/cost/rows.h"
#include "sim/cost/scatter.h"
#include "sim/cost/skip.h"
#include "sim/cost/start.h"
#include "sim/cost/task.h"
#include "sim/cost/tiles.h"
#include "sim/cost/traffic.h"
#include "sim/cost/variants.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What is sized up: an op, as a task for a unit of a machine, as many of them as the software employs. */
struct sized {
    const struct ll_machine *machine;
    const struct ll_kernel *kernel;
    struct ll_unit unit; /* count: how many are employed; efficiency: with the kernel's */
    uint64_t all;        /* how many there are */
    uint64_t busiest;    /* how many work, in the way of the task that most work in; at least 1 */
    struct ll_task task;
    const struct ll_work *op; /* what was asked for, of which the task may be a variant */
};

/* How many of the unit's instances the software employs: with a grain, one for each grain of work (of one
 * step of a sequence). It looks at FLOPs and bytes only, as thread pools do: were it to look at time, a
 * memory with more bandwidth could make an op slower. */
static uint64_t employed(const struct sized *s, struct ll_explain *why)
{
    const struct ll_task *task = &s->task;
    double grain = s->kernel->grain > 0 ? s->kernel->grain : s->machine->software.grain,
           bytes = ll_work_bytes(s->op);
    double work = fmax((double)s->op->flops, bytes) / (double)task->steps;
    uint64_t most = ll_layout_most_units(s->kernel, s->op, s->all);
    double worth = grain > 0 ? floor(work / grain) : (double)most;
    if (worth >= (double)most)
        return most;
    uint64_t count = worth > 1 ? (uint64_t)worth : 1;
    ll_say(why, "%s: max(%" PRIu64 " FLOP, %.10g B) / %" PRIu64 " / grain of %.10g: %" PRIu64 " of %" PRIu64,
           s->unit.name, s->op->flops, bytes, task->steps, grain, count, most);
    return count;
}

/* What the kernel does beyond, or short of, the ideal. */
static void tell_kernel(const struct sized *s, struct ll_explain *why)
{
    const struct ll_kernel *k = s->kernel;
    if (!k->name)
        return;
    ll_say(why, "kernel %s, share of the peak rate: %.10g * %.10g = %.10g", k->name,
           s->unit.efficiency / k->compute, k->compute, s->unit.efficiency);
    if (k->memory < 1)
        ll_say(why, "kernel %s, share of every bandwidth: %.10g", k->name, k->memory);
    double passes = ll_rows_passes(k, s->task.work), work = ll_rows_work(k, s->task.work);
    if (work > 1 || passes > 1)
        ll_say(why, "kernel %s: %.10g operations a FLOP, operands moved %.10g times", k->name, work, passes);
}

/* Cycles of what a sequence computes beside its products (gates, activations), at the full rate. */
static double cycles_beside(const struct sized *s, double flops_per_cycle, struct ll_explain *why)
{
    double steps = (double)s->task.steps, flops = (double)s->task.work->flops;
    double products = 2 * steps * ll_gemm_macs(&s->task.problem.dims);
    if (!s->task.is_product || flops <= products)
        return 0;
    double cycles = (flops - products) / flops_per_cycle;
    ll_say(why, "beside the products: (%.10g - %.10g) / %.10g = %.10g cycles", flops, products,
           flops_per_cycle, cycles);
    return cycles;
}

/* Casting, in cycles of the unit that then computes. */
static double casting_cycles(const struct sized *s, struct ll_explain *why)
{
    double casting_s = ll_cast_s(s->machine, s->kernel, &s->task, why);
    double cycles = casting_s * s->unit.clock_hz * s->unit.efficiency;
    if (cycles > 0)
        ll_say(why, "casting, of the clock of %s: %.10g * (%.10g * %.10g) = %.10g cycles", s->unit.name,
               casting_s, s->unit.clock_hz, s->unit.efficiency, cycles);
    return cycles;
}

/* Finding the place of each element of the result. */
static double index_cycles(const struct sized *s, double flops_per_cycle, struct ll_explain *why)
{
    const struct ll_work *work = s->task.work;
    uint64_t elements = work->kind == LL_WORK_VECTOR   ? work->vector.elements
                        : work->kind == LL_WORK_REDUCE ? work->reduce.out_elements
                                                       : 0;
    if (s->kernel->index == 0 || elements == 0)
        return 0;
    double cycles = (double)elements * s->kernel->index / flops_per_cycle;
    ll_say(why, "kernel %s, finding places: %" PRIu64 " * %.10g / %.10g = %.10g cycles", s->kernel->name,
           elements, s->kernel->index, flops_per_cycle, cycles);
    return cycles;
}

static void time_compute(const struct sized *s, const struct ll_way *way, struct ll_cost *cost,
                         struct ll_explain *why)
{
    double steps = (double)s->task.steps, rate = s->unit.clock_hz * s->unit.efficiency;
    double one_unit = ll_unit_flops_per_cycle(&s->unit, s->task.dtype);
    double all_units = (double)s->unit.count * one_unit;
    double beside =
        cycles_beside(s, all_units, why) + casting_cycles(s, why) + index_cycles(s, all_units, why);
    struct ll_layout layout = ll_layout_of(s->kernel, &s->task, way->units_used, way->at_work, why);
    cost->units_used = ll_min(way->units_used, layout.units);
    double work = layout.imbalance * ll_rows_work(s->kernel, s->task.work) *
                  ll_rows_imbalance(s->kernel, s->task.work, &s->unit, why);
    double cycles = way->cycles * work + layout.layout_s * rate;
    if (cycles != way->cycles)
        ll_say(why,
               "the busiest unit, and laying out in its clock: %.10g * %.10g + %.10g * (%.10g * %.10g) = "
               "%.10g cycles",
               way->cycles, work, layout.layout_s, s->unit.clock_hz, s->unit.efficiency, cycles);
    cost->compute_cycles = steps * cycles + beside;
    cost->compute_s = cost->compute_cycles / rate;
    cost->compute_first_s = fmin(steps * way->first_cycles, cost->compute_cycles) / rate;
    double could = (double)s->all * one_unit * cost->compute_cycles;
    cost->utilization = could > 0 ? (double)s->task.work->flops / could : 0;
    ll_say(why, "compute: (%" PRIu64 " * %.10g + %.10g) / (%.10g * %.10g) = %.10g s", s->task.steps, cycles,
           beside, s->unit.clock_hz, s->unit.efficiency, cost->compute_s);
    ll_say(why, "compute, first piece: min(%" PRIu64 " * %.10g, %.10g) / (%.10g * %.10g) = %.10g s",
           s->task.steps, way->first_cycles, cost->compute_cycles, s->unit.clock_hz, s->unit.efficiency,
           cost->compute_first_s);
}

/* How long the arithmetic of a way takes within the board's power. The first piece is over before a board
 * could tell, and keeps its time, which is the same whichever way. */
static double powered_s(const struct sized *s, const struct ll_way *way, const struct ll_cost *cost,
                        struct ll_explain *why)
{
    struct ll_draw draw = {s->task.dtype, (double)s->task.steps * way->macs, ll_work_bytes(s->task.work)};
    return ll_power_s(s->machine, &draw, cost->compute_s, why);
}

double ll_kernel_share(const struct ll_machine *machine, const struct ll_kernel *kernel, uint64_t level)
{
    bool far = level + 1 == machine->level_count && kernel->far > 0;
    return far ? kernel->far : kernel->memory;
}

/* What a level offers: the bandwidth of one instance, how many there are, and for how many units' first
 * pieces each has to provide. */
struct feed {
    double slowdown, share, one_Bps, all_Bps, units, least_bytes, first_bytes;
    uint64_t instances;
};

static struct feed feed_of(const struct sized *s, const struct ll_way *way, uint64_t l,
                           const struct ll_cost *cost, struct ll_explain *why)
{
    const struct ll_level *level = &s->machine->levels[l];
    double count = (double)s->unit.count, busiest = (double)s->busiest;
    struct feed feed = {.slowdown = ll_scatter_slowdown(level, s->task.work, why),
                        .units = busiest / (double)ll_level_instances(level, s->busiest),
                        .least_bytes = ll_held_bytes(level, s->task.work),
                        .instances = ll_level_instances(level, cost->units_used)};
    feed.share = level->efficiency * ll_kernel_share(s->machine, s->kernel, l) / feed.slowdown;
    feed.one_Bps = level->bandwidth_Bps * feed.share;
    feed.all_Bps = feed.one_Bps * (double)feed.instances;
    if (level->unit_Bps > 0)
        feed.all_Bps = fmin(feed.all_Bps, level->unit_Bps * feed.share * count);
    feed.first_bytes = fmin(way->first_bytes, feed.least_bytes / busiest); /* of one unit */
    return feed;
}

static void time_levels(const struct sized *s, const struct ll_way *way, uint64_t first, uint64_t end,
                        struct ll_cost *cost, struct ll_explain *why)
{
    uint64_t count = s->unit.count, near = ll_near_levels(s->machine);
    for (uint64_t l = first; l < end; l++) {
        const struct ll_level *level = &s->machine->levels[l];
        double again = ll_layout_rewriting(s->kernel, &s->task, l);
        struct feed feed = feed_of(s, way, l, cost, why);
        double bytes = cost->level_price[l];
        if (again > 1)
            ll_say(why,
                   "%s, the result is moved %.10g times more: %.10g * (1 + %.10g * %" PRIu64
                   " / %.10g) = %.10g B",
                   level->name, s->kernel->rewrites, bytes, s->kernel->rewrites, s->task.work->c_bytes,
                   ll_work_bytes(s->task.work), bytes * again);
        cost->level_s[l] = bytes * again / feed.all_Bps;
        cost->level_first_s[l] = feed.first_bytes * feed.units / feed.one_Bps;
        if (bytes > cost->level_bytes[l])
            ll_say(why,
                   "%s reads %.10g B and writes %.10g B, which through its ports takes as long as %.10g B "
                   "would through both",
                   level->name, cost->level_bytes[l] - cost->level_written[l], cost->level_written[l], bytes);
        cost->level_wait_s[l] =
            cost->level_bytes[l] > 0 ? (l < near ? (double)s->task.steps : 1) * level->latency_s : 0;
        if (feed.slowdown > 1)
            ll_say(why, "%s, efficiency: %.10g * %.10g / %.10g = %.10g", level->name, level->efficiency,
                   ll_kernel_share(s->machine, s->kernel, l), feed.slowdown, feed.share);
        if (feed.all_Bps < feed.one_Bps * (double)feed.instances)
            ll_say(why, "%s, what units draw: %.10g / (%.10g * %.10g * %" PRIu64 ") = %.10g s", level->name,
                   bytes * again, level->unit_Bps, feed.share, count, cost->level_s[l]);
        else
            ll_say(why, "%s: %.10g / (%.10g * %.10g * %" PRIu64 ") = %.10g s", level->name, bytes * again,
                   level->bandwidth_Bps, feed.share, feed.instances, cost->level_s[l]);
        if (cost->level_first_s[l] > 0)
            ll_say(why,
                   "%s, first piece: min(%.10g, %.10g / %" PRIu64 ") * %.10g / (%.10g * %.10g) = %.10g s",
                   level->name, way->first_bytes, feed.least_bytes, s->busiest, feed.units,
                   level->bandwidth_Bps, feed.share, cost->level_first_s[l]);
    }
}

/* The model's way, or none at all for a product of nothing. */
static bool ask_way(const struct sized *s, uint32_t index, struct ll_way *way, struct ll_explain *why)
{
    if (!ll_is_product(s->task.work) || s->task.is_product)
        return ll_unit_model(s->unit.model)->way(&s->unit, &s->task, index, way, why);
    *way = (struct ll_way){.units_used = 1};
    ll_say(why, "an empty product: nothing is computed");
    return true;
}

static void keep_traffic(const struct ll_traffic *traffic, uint64_t first, uint64_t end, struct ll_cost *cost)
{
    for (uint64_t l = first; l < end; l++) {
        cost->level_bytes[l] = traffic->bytes[l];
        cost->level_written[l] = traffic->written[l];
        cost->level_price[l] = traffic->price[l];
        memcpy(cost->level_of[l], traffic->of[l], sizeof traffic->of[l]);
    }
}

/* How long bytes of a product take out of each level, as time_levels counts. */
static struct ll_paces paces_of(const struct sized *s, const struct ll_way *way, const struct ll_cost *cost)
{
    struct ll_paces paces = {.compute_s = powered_s(s, way, cost, NULL) - cost->compute_first_s};
    for (uint64_t l = 0; l < s->machine->level_count; l++) {
        struct feed feed = feed_of(s, way, l, cost, NULL);
        paces.s_per_byte[l] = ll_layout_rewriting(s->kernel, &s->task, l) / feed.all_Bps;
        paces.first_s[l] = feed.first_bytes * feed.units / feed.one_Bps;
    }
    return paces;
}

static void near_traffic(const struct sized *s, const struct ll_way *way, struct ll_cost *cost,
                         struct ll_explain *why)
{
    struct ll_traffic traffic;
    struct ll_paces paces = paces_of(s, way, cost);
    ll_near_traffic(s->machine, &s->task, way, &paces, &traffic, why);
    keep_traffic(&traffic, 0, ll_near_levels(s->machine), cost);
}

static void far_traffic(const struct sized *s, const struct ll_way *way, struct ll_cost *cost,
                        struct ll_explain *why)
{
    struct ll_traffic traffic;
    struct ll_paces paces = paces_of(s, way, cost);
    ll_far_traffic(s->machine, &s->task, &paces, &traffic, why);
    keep_traffic(&traffic, ll_near_levels(s->machine), s->machine->level_count, cost);
}

static bool overlaps_all(const struct ll_machine *machine)
{
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (machine->levels[l].buffering == LL_BUFFER_SINGLE)
            return false;
    return true;
}

/* Where some stages do not overlap, the far ones may hide more or less of the near ones: then all of them
 * are asked. */
static double whole_pace(const struct sized *s, const struct ll_way *way, struct ll_cost *cost)
{
    struct ll_timing timing;
    near_traffic(s, way, cost, NULL);
    far_traffic(s, way, cost, NULL);
    time_levels(s, way, 0, s->machine->level_count, cost, NULL);
    ll_seen_apply(s->machine, s->kernel, s->task.work, cost, NULL);
    cost->compute_s = powered_s(s, way, cost, NULL);
    ll_cost_time(s->machine, cost, NULL, &timing, NULL);
    return timing.time_s;
}

/* First pieces are for all that work. Whatever the way, these are as many: ways are compared by what comes
 * behind the first pieces. */
static uint64_t most_at_work(const struct sized *s)
{
    const struct ll_unit_model *model = ll_unit_model(s->unit.model);
    if (model->first_units && s->task.is_product)
        return model->first_units(&s->unit, &s->task);
    uint32_t count = model->way_count(&s->unit, &s->task);
    uint64_t most = 1;
    for (uint32_t i = 0; i < count && most < s->unit.count; i++) {
        struct ll_way way;
        if (ask_way(s, i, &way, NULL))
            most = ll_max(most, way.units_used);
    }
    return most;
}

/* What ways are compared by: how long the stages that depend on the way take beyond the first piece, then
 * what they ask of the innermost level. */
struct pace {
    double time_s, bytes;
};

static bool is_less(const struct pace *a, const struct pace *b)
{
    return a->time_s < b->time_s || (a->time_s == b->time_s && a->bytes < b->bytes);
}

/* No less than `least` as soon as that much is known. */
static struct pace pace_of(const struct sized *s, uint32_t index, const struct pace *least)
{
    struct ll_way way;
    struct ll_cost cost = {.serial = s->kernel->serial};
    uint64_t near = ll_near_levels(s->machine);
    if (!ask_way(s, index, &way, NULL))
        return (struct pace){INFINITY, INFINITY};
    time_compute(s, &way, &cost, NULL);
    bool whole = !overlaps_all(s->machine) || s->kernel->serial > 0, seen = s->kernel->seen_count > 0;
    double computing_s = powered_s(s, &way, &cost, NULL);
    struct pace pace = {computing_s - (whole ? 0 : cost.compute_first_s), way.unit_bytes};
    if (!is_less(&pace, least) && !seen)
        return pace;
    if (whole || seen) {
        pace.time_s = whole_pace(s, &way, &cost);
        return pace;
    }
    near_traffic(s, &way, &cost, NULL);
    time_levels(s, &way, 0, near, &cost, NULL);
    for (uint64_t l = 0; l < near; l++)
        pace.time_s = fmax(pace.time_s, cost.level_s[l] - cost.level_first_s[l]);
    return pace;
}

/* The index of the fastest way; of equals the one that asks for least, the first of these. */
static uint32_t fastest_way(const struct sized *s)
{
    uint32_t count = ll_unit_model(s->unit.model)->way_count(&s->unit, &s->task), best = 0;
    struct pace least = {INFINITY, INFINITY};
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        struct pace pace = pace_of(s, i, &least);
        if (!is_less(&pace, &least))
            continue;
        best = i;
        least = pace;
    }
    return best;
}

/* The way once more, tile by tile. */
static void follow_tiles(const struct sized *s, const struct ll_way *way, const struct ll_cost *cost,
                         struct ll_bounds *bounds, struct ll_explain *why)
{
    struct ll_tile_nest nest;
    struct ll_timing timing;
    ll_cost_time(s->machine, cost, NULL, &timing, NULL);
    bounds->bound_s = bounds->pipelined_s = timing.time_s;
    if (ll_is_product(s->task.work) && !s->task.is_product)
        return;
    if (ll_outer_tiles(s->machine, &s->task, way, &nest, why))
        bounds->pipelined_s = ll_tiled_s(s->machine, cost, &nest, why);
}

/* Everything that follows from a way, with its reasons; bounds only for who asks. */
static void follow_way(const struct sized *s, uint32_t index, struct ll_cost *cost, struct ll_bounds *bounds,
                       struct ll_explain *why)
{
    struct ll_way way;
    ask_way(s, index, &way, why);
    time_compute(s, &way, cost, why);
    near_traffic(s, &way, cost, why);
    far_traffic(s, &way, cost, why);
    ll_rows_again(s->machine, s->kernel, s->task.work, s->unit.count, cost, why);
    time_levels(s, &way, 0, s->machine->level_count, cost, why);
    ll_seen_apply(s->machine, s->kernel, s->task.work, cost, why);
    cost->compute_s = powered_s(s, &way, cost, why);
    if (bounds)
        follow_tiles(s, &way, cost, bounds, why);
}

/* What dependent steps cost beside their work: the device waits for each, however far ahead the host is. */
static double steps_s(const struct sized *s, struct ll_explain *why)
{
    double each_s = s->machine->software.step_overhead_s, all_s = (double)s->task.steps * each_s;
    if (s->task.work->kind != LL_WORK_SEQUENCE || each_s == 0)
        return 0;
    ll_say(why, "between steps: %" PRIu64 " * %.10g = %.10g s", s->task.steps, each_s, all_s);
    return all_s;
}

/* Who does it: the unit, the kernel that drives it, the type in which it computes. */
struct doer {
    const struct ll_machine *machine;
    const struct ll_kernel *kernel;
    const struct ll_work *work; /* of the op */
    uint32_t unit;
    enum ll_dtype dtype;
};

/* The kernel of a variant: products between passes are those of a library, which do not pay for windows. */
static struct ll_kernel kernel_of(const struct doer *doer, const struct ll_variant *variant)
{
    struct ll_kernel kernel = *doer->kernel;
    if (variant->transform && !variant->transform->fused)
        kernel.serial = kernel.rewrites = 0;
    return kernel;
}

/* What is moved before and behind the work proper, by kernels that do nothing else; the seconds it takes. */
static double pass_apart(const struct doer *doer, const struct ll_variant *variant, struct ll_cost *cost,
                         struct ll_explain *why)
{
    if (variant->apart_bytes == 0)
        return 0;
    double share = doer->kernel->memory * (variant->apart_share > 0 ? variant->apart_share : 1);
    double memory_Bps = ll_machine_memory_Bps(doer->machine) * share, start_s = variant->apart_start_s;
    double passes_s = variant->apart_bytes / memory_Bps + start_s;
    if (start_s > 0)
        ll_say(why, "passes apart: %.10g / %.10g + %.10g = %.10g s", variant->apart_bytes, memory_Bps,
               start_s, passes_s);
    else
        ll_say(why, "passes apart: %.10g / %.10g = %.10g s", variant->apart_bytes, memory_Bps, passes_s);
    cost->apart_bytes = variant->apart_bytes;
    cost->apart_s += passes_s;
    return passes_s;
}

/* Whichever is the fastest on an empty machine. */
static const uint32_t fastest = UINT32_MAX;

/* The unit's way that is asked for, or the next one that there is; where one is the best whatever earlier ops
 * left, that is all there are. */
static uint32_t take_way(const struct sized *s, uint32_t asked, struct ll_cost *cost)
{
    struct ll_way way;
    uint32_t count = ll_unit_model(s->unit.model)->way_count(&s->unit, &s->task);
    bool several = count > 1 && !overlaps_all(s->machine);
    uint32_t taken = several && asked != fastest ? asked % count : fastest_way(s);
    for (uint32_t i = 0; several && i < count && !ask_way(s, taken, &way, NULL); i++)
        taken = (taken + 1) % count;
    cost->ways = several ? count : 1;
    cost->way = several ? taken : 0;
    return taken;
}

static void cost_variant(const struct doer *doer, const struct ll_variant *variant, uint32_t way,
                         struct ll_cost *cost, struct ll_bounds *bounds, struct ll_explain *why)
{
    const struct ll_machine *machine = doer->machine;
    const struct ll_unit *unit = &machine->units[doer->unit];
    const struct ll_work *work = &variant->work;
    const struct ll_kernel kernel = kernel_of(doer, variant);
    struct sized s = {machine, &kernel, *unit, unit->count, 1, ll_task_of(work, doer->dtype), doer->work};
    const struct ll_software *software = &machine->software;
    s.unit.efficiency *= s.kernel->compute * variant->rate;
    ll_variant_lends(variant, &s.unit, &s.task, why);
    ll_say(why, "%s of %s runs on %s, computed in %s", ll_work_name((enum ll_work_kind)work->kind),
           ll_dtype_name((enum ll_dtype)work->dtype), s.unit.name, ll_dtype_name(doer->dtype));
    ll_lay_in_tiles(&s.task, software->layout_rows, software->layout_columns, why);
    if (variant->skips)
        ll_skip_zeros(&s.task, unit, why);
    tell_kernel(&s, why);
    *cost = (struct ll_cost){
        .unit = doer->unit, .clock_hz = s.unit.clock_hz, .serial = kernel.serial, .zeros = s.task.zeros};
    ll_cost_start(machine, &kernel, variant->overhead_s, cost, why);
    cost->apart_s = steps_s(&s, why);
    cost->gap_s = software->gap_s;
    s.unit.count = employed(&s, why);
    cost->overhead_s += ll_layout_barrier_s(machine->software.barrier_s, s.unit.count, why);
    s.busiest = most_at_work(&s);
    follow_way(&s, take_way(&s, way, cost), cost, bounds, why);
    double passes_s = pass_apart(doer, variant, cost, why);
    if (bounds) {
        bounds->bound_s += passes_s;
        bounds->pipelined_s += passes_s;
    }
}

/* Whether a way ends sooner than another, alone; of equals, whether it leaves the device sooner. */
static bool ends_sooner(const struct ll_timing *a, const struct ll_timing *b)
{
    double a_s = ll_timing_alone_s(a), b_s = ll_timing_alone_s(b);
    return a_s < b_s || (a_s == b_s && a->time_s < b->time_s);
}

/* The fastest on an empty machine, the first of equals. */
static uint32_t fastest_variant(const struct doer *doer, const struct ll_variant *variants, uint32_t count)
{
    uint32_t best = 0;
    struct ll_timing least = {.time_s = INFINITY};
    for (uint32_t i = 0; count > 1 && i < count; i++) {
        struct ll_cost cost;
        struct ll_timing timing;
        cost_variant(doer, &variants[i], fastest, &cost, NULL, NULL);
        ll_cost_time(doer->machine, &cost, NULL, &timing, NULL);
        if (!ends_sooner(&timing, &least))
            continue;
        least = timing;
        best = i;
    }
    return best;
}

static void tell_variant(const struct ll_variant *variant, struct ll_explain *why)
{
    const struct ll_gemm *d = &variant->work.gemm;
    if (variant->name && variant->work.kind == LL_WORK_GEMM)
        ll_say(why, "convolution by %s: %" PRIu64 " products of %" PRIu64 " x %" PRIu64 " x %" PRIu64,
               variant->name, d->batch, d->m, d->n, d->k);
    else if (variant->name)
        ll_say(why, "convolution by %s", variant->name);
}

/* Ways are numbered as the variants, over and over, each time with the unit's next way. */
static bool cost_op(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                    uint32_t way, struct ll_cost *cost, struct ll_bounds *bounds, struct ll_explain *why,
                    const char **trouble)
{
    assert(kind < LL_OP_COUNT && work->kind < LL_WORK_COUNT && machine->level_count > 0);
    *cost = (struct ll_cost){.unit = LL_NO_UNIT, .ways = 1};
    *trouble = NULL;
    if (work->kind == LL_WORK_WAIT) /* only the recording knows how long */
        return true;
    if (work->kind == LL_WORK_NOTHING) {
        ll_say(why, "a view, no traffic and no time: 0 = 0 s");
        return true;
    }
    if (work->kind == LL_WORK_COLLECTIVE) {
        *trouble = "devices exchange data here, which one device alone cannot be asked about";
        return false;
    }
    if (work->kind == LL_WORK_SWAP) {
        ll_host_swaps(&machine->host, work, cost, why);
        return true;
    }
    if (work->kind == LL_WORK_HOST) {
        ll_host_sends(&machine->host, kind, work, cost, why);
        return true;
    }
    struct doer doer = {.machine = machine, .kernel = ll_machine_kernel(machine, kind, work), .work = work};
    doer.unit = ll_choose_unit(machine, kind, work, &doer.dtype);
    if (doer.unit == LL_NO_UNIT) {
        *trouble = "no unit of this machine runs such work in this dtype or a wider one";
        return false;
    }
    struct ll_variant variants[LL_MOST_VARIANTS];
    uint32_t count = (uint32_t)ll_variants(&machine->software, work, variants);
    uint32_t taken = way == fastest ? fastest_variant(&doer, variants, count) : way % count;
    const struct ll_variant *variant = &variants[taken];
    tell_variant(variant, why);
    cost_variant(&doer, variant, way == fastest ? fastest : way / count, cost, bounds, why);
    cost->way = taken + count * cost->way;
    cost->ways *= count;
    if (variant->name && variant->work.flops > 0)
        cost->utilization *= (double)work->flops / (double)variant->work.flops;
    return true;
}

bool ll_cost_op(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                struct ll_cost *cost, struct ll_explain *why, const char **trouble)
{
    struct ll_bounds bounds; /* an explanation tells of them too */
    return cost_op(machine, kind, work, fastest, cost, why ? &bounds : NULL, why, trouble);
}

void ll_cost_way(const struct ll_machine *machine, enum ll_op_kind kind, const struct ll_work *work,
                 uint32_t way, struct ll_cost *cost, struct ll_explain *why)
{
    struct ll_bounds bounds;
    const char *trouble;
    cost_op(machine, kind, work, way, cost, why ? &bounds : NULL, why, &trouble);
}

struct ll_bounds ll_cost_bounds(const struct ll_machine *machine, enum ll_op_kind kind,
                                const struct ll_work *work)
{
    struct ll_bounds bounds = {0};
    struct ll_cost cost;
    const char *trouble;
    cost_op(machine, kind, work, fastest, &cost, &bounds, NULL, &trouble);
    return bounds;
}
