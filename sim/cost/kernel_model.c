/* SPDX-License-Identifier: Apache-2.0 */
/* How long a kernel takes in each of a unit's configurations, and which configuration is chosen.
 *
 * It follows one configuration from its number of units to its stages and compares it with the others. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "sim/cost/cost_parts.h"
#include "sim/cost/gemm_kernels.h"
#include "sim/cost/kernel_parts.h"
#include "sim/cost/linear.h"
#include "sim/cost/outline.h"
#include "tracer/base/num.h"

/* The kernel configurations of a unit and their stages. The best configuration is the fastest, or the one
 * that costs least by the software's objective, given the cache state where that may decide
 * (ll_cost_is_reuse_sensitive). The minimum of functions that do not increase in any resource does not
 * increase either, so the choice keeps the model monotonic.
 *
 * Where a level has separate ports, the blocking with the least time on them may move more bytes than
 * another. A budget of time within which moving data costs nothing (struct ll_spare) selects other blockings:
 *
 *       the least energy among equal times:  the budget is the time of the slowest stage
 *       the least energy:                    the budget is infinite at first, then shrinks as long as the
 *                                            static power that is saved pays for it */

struct ll_employed ll_kernel_employ(const struct ll_kernel_timing *s)
{
    struct ll_employed e = {.grain = s->machine->software.grain,
                            .bytes = ll_work_bytes(s->op),
                            .most = ll_partition_most_units(s->kernel, s->op, s->all)};
    double work = fmax((double)s->op->flops, e.bytes) / (double)s->task.steps;
    e.worth = e.grain > 0 ? floor(work / e.grain) : (double)e.most;
    e.count = e.worth >= (double)e.most ? e.most : e.worth > 1 ? (uint64_t)e.worth : 1;
    return e;
}

uint64_t ll_kernel_time_units(const struct ll_kernel_timing *s)
{
    return ll_kernel_employ(s).count;
}

/* Seconds on lanes, in cycles of the unit that computes. */
static double in_cycles(const struct ll_kernel_timing *s, double lanes_s)
{
    return lanes_s * s->unit.clock_hz * s->unit.efficiency;
}

/* Cycles are never fewer than the peak rate allows, but of a rate such as 1 / 6 they are rounded. */
static double utilization_of(double flops, double could)
{
    assert(flops <= could * (1 + 1e-9) || could == 0);
    return could > 0 ? flops / fmax(could, flops) : 0;
}

struct ll_computing ll_compute(const struct ll_kernel_timing *s, const struct ll_kernel_config *way)
{
    double rate = s->unit.clock_hz * s->unit.efficiency;
    struct ll_computing c = {.after = in_cycles(s, s->lanes.after_s),
                             .casting = in_cycles(s, s->cast_s),
                             .meanwhile = in_cycles(s, s->lanes.meanwhile_s),
                             .parts =
                                 ll_partition(s->kernel, s->op, &s->task, way->units_used, way->at_work)};
    c.begin_s = ll_rows_begin_s(s->kernel, s->task.work, c.parts.units);
    c.busiest = way->cycles * (c.parts.imbalance * s->rows) + c.begin_s * rate;
    c.cycles = fmax(c.busiest, c.meanwhile);
    return c;
}

static void time_compute(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                         struct ll_cost *cost)
{
    double steps = (double)s->task.steps, rate = s->unit.clock_hz * s->unit.efficiency;
    double one_unit = ll_unit_flops_per_cycle(&s->unit, s->task.dtype);
    const struct ll_computing c = ll_compute(s, way);
    cost->units_used = c.parts.units;
    cost->compute_cycles = steps * c.cycles + (c.after + c.casting);
    cost->compute_s = cost->compute_cycles / rate;
    cost->compute_first_s = fmin(steps * way->first.cycles, cost->compute_cycles) / rate;
    double made = way->made > 0 ? way->made : 1;
    if (s->task.skips_a) /* the work's FLOPs have the zeros of a, which nobody multiplies */
        made *= (double)s->task.work->a_nonzero / 100;
    cost->utilization = utilization_of(made * (double)s->task.work->flops - s->lanes.flops,
                                       (double)s->all * one_unit * cost->compute_cycles);
}

/* How long the arithmetic of a way takes within the board's power, of full_s at the full clock. The first
 * piece is over before a board could tell, and keeps its time, which is the same whichever way. */
static double powered_s(const struct ll_kernel_timing *s, const struct ll_kernel_config *way, double full_s)
{
    const struct ll_draw draw = {
        .dtype = s->task.dtype, .macs = (double)s->task.steps * way->macs, .memory_j = way->memory_j};
    return ll_power_s(s->machine, &draw, full_s);
}

double ll_kernel_share(const struct ll_machine *machine, const struct ll_kernel *kernel, uint64_t level)
{
    bool outermost = level + 1 == machine->level_count && kernel->dram_efficiency > 0;
    return outermost ? kernel->dram_efficiency : kernel->bandwidth_efficiency;
}

double ll_share_of_level(const struct ll_kernel_timing *s, uint64_t l)
{
    const struct ll_gemm_kernels *gemm = &s->unit.matrix.gemm;
    if (!s->by_library)
        return ll_kernel_share(s->machine, s->kernel, l);
    return l + 1 == s->machine->level_count ? gemm->dram_efficiency : l == 0 ? gemm->bandwidth_efficiency : 1;
}

double ll_finest_bytes(const struct ll_level *level, const struct ll_kernel_config *way)
{
    double bytes = 0;
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        bytes += ll_level_holds(level, i) ? way->first.bytes[i] : 0;
    return bytes;
}

struct ll_level_feed ll_feed_of(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                                uint64_t l, const struct ll_cost *cost)
{
    const struct ll_level *level = &s->machine->levels[l];
    double count = (double)s->unit.count, used = (double)cost->units_used;
    /* A library's tiles go around the clusters in turn, and any number of them draws all the bandwidth, as
     * the choice among its kernels has it. */
    uint64_t instances = ll_level_instances(level, s->by_library ? s->unit.count : cost->units_used);
    struct ll_level_feed feed = {.slowdown = ll_gather_slowdown(s->machine, s->task.work, l),
                                 .pieces = fmax(1, used / (double)instances),
                                 .least_bytes = ll_held_bytes(level, s->task.work),
                                 .instances = instances};
    double kernel = ll_share_of_level(s, l);
    feed.share = level->efficiency * kernel / feed.slowdown;
    feed.one_Bps = level->bandwidth_Bps * feed.share;
    feed.all_Bps = feed.one_Bps * (double)feed.instances;
    if (level->unit_Bps > 0)
        feed.all_Bps = fmin(feed.all_Bps, level->unit_Bps * feed.share * count);
    feed.nodes_Bps = ll_numa_Bps(level, cost->units_used) * kernel;
    feed.all_Bps = fmin(feed.all_Bps, feed.nodes_Bps);
    feed.finest_bytes = ll_finest_bytes(level, way);
    feed.first_bytes = fmin(feed.finest_bytes, feed.least_bytes / used); /* of one unit */
    return feed;
}

/* How often an op waits for a level: once, or for near levels once in each step of a sequence. */
static double wait_s(const struct ll_kernel_timing *s, uint64_t l)
{
    double times = l < s->near_levels ? (double)s->task.steps : 1;
    return times * ll_numa_latency_s(&s->machine->levels[l]);
}

/* The price of a level's traffic for tensor cores: a written byte has its own; on its way out of the units
 * the result takes the epilogue's time, not that of the operands. */
static double library_crossing_bytes(const struct ll_kernel_timing *s, uint64_t l, const struct ll_cost *cost)
{
    double price = cost->level_price[l], bytes = cost->level_bytes[l];
    if (l + 1 == s->machine->level_count)
        return price + (s->unit.matrix.gemm.write_cost - 1) * cost->level_written[l] -
               s->quantizing.warm * (double)s->task.work->a_bytes;
    return l == 0 && bytes > 0 ? price * (1 - cost->level_of[l][LL_OPERAND_C] / bytes) : price;
}

double ll_crossing_bytes(const struct ll_kernel_timing *s, uint64_t l, const struct ll_cost *cost)
{
    if (s->by_library)
        return library_crossing_bytes(s, l, cost);
    if (s->task.is_gemm)
        return cost->level_price[l];
    struct ll_port_cost toll = ll_level_port_cost(&s->machine->levels[l]);
    return ll_port_cost_price(&toll, cost->level_bytes[l], cost->level_written[l]);
}

static void time_levels(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                        struct ll_cost *cost)
{
    for (uint64_t l = 0; l < s->machine->level_count; l++) {
        const struct ll_level_feed feed = ll_feed_of(s, way, l, cost);
        cost->level_s[l] = ll_crossing_bytes(s, l, cost) / feed.all_Bps;
        cost->level_pieces[l] = feed.pieces;
        cost->level_first_s[l] = fmin(feed.first_bytes / feed.one_Bps, cost->level_s[l]);
        cost->level_wait_s[l] = cost->level_bytes[l] > 0 && !s->by_library ? wait_s(s, l) : 0;
    }
}

void ll_kernel_time_start(struct ll_kernel_timing *s)
{
    const struct ll_unit_model *model = ll_unit_model(s->unit.model);
    double full = s->machine->units[s->unit_index].efficiency;
    if (s->by_library) {
        /* The efficiency slows the multiplications alone, not the steps and tiles around them. First pieces and
         * their latencies are in the figures. */
        struct ll_gemm_kernels *gemm = &s->unit.matrix.gemm;
        const struct ll_linear_kernel *linear = s->task.linear;
        gemm->efficiency *= s->unit.efficiency / full;
        if (linear) {
            gemm->efficiency = ll_unit_share(&s->unit, linear->efficiency);
            gemm->tile_cycles = linear->tile_cycles;
            gemm->min_step_cycles =
                linear->min_step_cycles > 0 ? linear->min_step_cycles : gemm->min_step_cycles;
        }
        s->unit.efficiency = 1;
        s->unit.clock_hz *= s->unit.matrix.gemm.boost;
    } else if (model->first && s->task.is_gemm)
        model->first(&s->unit, &s->task, &s->first);
    if (s->task.linear)
        s->quantizing = ll_quantize(s->machine, &s->unit, &s->task);
    s->near_levels = ll_private_levels(s->machine);
    s->lanes = ll_epilogue_of(s->machine, &s->task, &s->unit, full, s->machine->software.grain > 0);
    s->cast_s = ll_cast_s(s->machine, s->kernel, &s->task);
    s->rows = ll_rows_imbalance(s->kernel, s->task.work, &s->unit);
}

/* Energy of each operand once out of the outermost memory: the energy of a multiply-accumulate on tensor
 * cores contains all that happens on the chip. */
static double outermost_j(const struct ll_kernel_timing *s)
{
    return ll_work_bytes(s->task.work) * ll_machine_level_j(s->machine, s->machine->level_count - 1);
}

/* The cycles of the model's way; none at all of a GEMM of nothing. */
static bool ask_cycles(const struct ll_kernel_timing *s, uint32_t index, struct ll_kernel_config *way)
{
    if (ll_is_gemm(s->task.work) && !s->task.is_gemm) {
        *way = (struct ll_kernel_config){.units_used = 1};
        return true;
    }
    const struct ll_unit_model *model = ll_unit_model(s->unit.model);
    if (s->by_library)
        ll_gemm_config(&s->unit, &s->task, index, way);
    else if (!model->way(&s->unit, &s->task, index, way))
        return false;
    if (model->first && !s->by_library)
        way->first = s->first;
    return true;
}

/* The rest of a way. */
static void ask_operands(const struct ll_kernel_timing *s, uint32_t index, struct ll_kernel_config *way)
{
    const struct ll_unit_model *model = ll_unit_model(s->unit.model);
    if (ll_is_gemm(s->task.work) && !s->task.is_gemm)
        return;
    if (model->operands && !s->by_library)
        model->operands(&s->unit, &s->task, index, way);
    if (s->machine->energy.limit_w > 0 && way->macs > 0)
        way->memory_j = s->by_library ? outermost_j(s) : ll_memory_j(s->machine, &s->task, way);
}

static void keep_traffic(const struct ll_traffic *traffic, uint64_t levels, struct ll_cost *cost)
{
    memcpy(cost->level_bytes, traffic->bytes, levels * sizeof *traffic->bytes);
    memcpy(cost->level_written, traffic->written, levels * sizeof *traffic->written);
    memcpy(cost->level_price, traffic->price, levels * sizeof *traffic->price);
    memcpy(cost->level_of, traffic->of, levels * sizeof *traffic->of);
}

/* By group of stages (cost_parts.h): how long moving may take, behind a first piece, before it counts. */
struct ll_spare {
    double s[LL_MAX_LEVELS + 1];
};
static const struct ll_spare nothing_to_spare;

static bool spares(const struct ll_spare *spare)
{
    double most_s = 0;
    for (uint32_t g = 0; g <= LL_MAX_LEVELS; g++)
        most_s = fmax(most_s, spare->s[g]);
    return most_s > 0;
}

/* How long bytes of a GEMM take out of each level, as time_levels counts; of machines whose tiles nobody
 * searches for, and without time to spare, nothing. */
static struct ll_paces paces_of(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                                const struct ll_cost *cost, const struct ll_spare *spare, bool any_of_equals)
{
    struct ll_paces paces = {.serial = s->kernel->serial, .any_of_equals = any_of_equals};
    if (s->machine->software.mapping != LL_MAPPED_SEARCH && !spares(spare))
        return paces;
    paces.computing =
        (struct ll_stage){.whole_s = powered_s(s, way, cost->compute_s), .first_s = cost->compute_first_s};
    paces.dropping_s = ll_dropping_s(s->machine, cost->units_used, s->found);
    for (uint64_t l = 0; l < s->machine->level_count; l++) {
        struct ll_level_feed feed = ll_feed_of(s, way, l, cost);
        paces.s_per_byte[l] = 1 / feed.all_Bps;
        paces.intake[l] = (struct ll_intake){.first_s = feed.first_bytes / feed.one_Bps,
                                             .pieces = feed.pieces,
                                             .wait_s = wait_s(s, l),
                                             .line_bytes = ll_line_inside(s->machine, l),
                                             .saved_bytes = s->found ? s->found->saved_bytes[l] : 0};
        double spare_s = spare->s[ll_stage_group(s->machine, l)];
        paces.budget[l] = spare_s > 0 ? (spare_s + paces.intake[l].first_s) / paces.s_per_byte[l] : 0;
    }
    return paces;
}

/* What a way asks at least, each level blocked for alone, so that it takes the least time, or moves the
 * fewest bytes: of the near levels; of the far ones, what is asked whichever way. */
static struct ll_paces alone(bool by_bytes)
{
    struct ll_paces paces = {.apart = true};
    for (uint64_t l = 0; by_bytes && l < LL_MAX_LEVELS; l++)
        paces.budget[l] = INFINITY;
    return paces;
}

/* The traffic out of the far levels whichever way; that of the near ones is filled in way by way. */
struct least {
    struct ll_paces paces;
    struct ll_traffic traffic;
    struct ll_nested nested;
};

static void find_far(const struct ll_kernel_timing *s, bool by_bytes, struct least *least)
{
    least->paces = alone(by_bytes);
    least->traffic = (struct ll_traffic){0};
    ll_far_traffic(s->machine, &s->task, &least->paces, &least->traffic, &least->nested);
}

static void least_traffic(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                          struct least *least, struct ll_cost *cost)
{
    struct ll_nested nested;
    ll_private_traffic(s->machine, &s->task, way, &least->paces, &least->traffic, &nested);
    keep_traffic(&least->traffic, s->machine->level_count, cost);
}

/* Whether bytes and the time that they take may want different blockings: a level has ports of its own, and
 * no search knows what it costs. */
static bool ports_differ(const struct ll_machine *machine)
{
    struct ll_levels near = ll_to_nest(machine, LL_SCOPE_UNIT), far = ll_to_nest(machine, LL_SCOPE_DEVICE);
    for (uint64_t l = 0; machine->energy_given && l < machine->level_count; l++) {
        struct ll_port_cost toll = ll_level_port_cost(&machine->levels[l]);
        bool searched = (l >= near.first && l < near.end) || (l >= far.first && l < far.end);
        if ((toll.read > 0 || toll.write > 0) && !searched)
            return true;
    }
    return false;
}

/* Of two searches the one that has a choice comes behind what it depends on; where both have one, the near
 * levels' comes first, without the far ones. */
static void all_traffic(const struct ll_kernel_timing *s, const struct ll_spare *spare, bool any_of_equals,
                        struct ll_chosen *chosen, struct ll_cost *cost)
{
    struct ll_traffic *traffic = &chosen->traffic;
    const struct ll_kernel_config *way = &chosen->way;
    *traffic = (struct ll_traffic){0}; /* of levels that are not known yet: nothing */
    chosen->paces = paces_of(s, way, cost, spare, any_of_equals);
    if (ll_nest_chooses(s->machine, LL_SCOPE_UNIT) && !ll_nest_chooses(s->machine, LL_SCOPE_DEVICE))
        ll_far_traffic(s->machine, &s->task, &chosen->paces, traffic, &chosen->far);
    ll_private_traffic(s->machine, &s->task, way, &chosen->paces, traffic, &chosen->near);
    ll_far_traffic(s->machine, &s->task, &chosen->paces, traffic, &chosen->far);
    keep_traffic(traffic, s->machine->level_count, cost);
}

/* The same, of which the far levels' is known, where nothing is searched and there is no time to spare. */
static void rest_of_traffic(const struct ll_kernel_timing *s, const struct least *far,
                            struct ll_chosen *chosen, struct ll_cost *cost)
{
    chosen->paces = paces_of(s, &chosen->way, cost, &nothing_to_spare, false);
    chosen->traffic = far->traffic;
    chosen->far.first = chosen->far.end = 0;
    ll_private_traffic(s->machine, &s->task, &chosen->way, &chosen->paces, &chosen->traffic, &chosen->near);
    keep_traffic(&chosen->traffic, s->machine->level_count, cost);
}

/* Whether all stages overlap, and far ones take as long whichever way. */
static bool overlaps_all(const struct ll_machine *machine)
{
    for (uint64_t l = 0; l < machine->level_count; l++)
        if (machine->levels[l].buffering == LL_BUFFER_SINGLE || ll_level_waits(machine, l) ||
            machine->levels[l].numa_given)
            return false;
    return true;
}

/* What ways are compared by: what the software wants least; of equals the longest of what depends on the way,
 * behind first pieces, which is computing or a near level; then what it asks of the innermost level. */
struct pace {
    struct ll_merit merit;
    double time_s, computing_s, near_s, bytes;
    double all_near_s; /* all near levels, one after the other */
    double others_s;   /* what computing waits for the first pieces of other units, out of near levels */
};
static const struct pace no_pace = {
    {INFINITY, INFINITY}, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};

static bool is_less(const struct pace *a, const struct pace *b)
{
    if (a->merit.first != b->merit.first || a->merit.second != b->merit.second)
        return ll_is_better(a->merit, b->merit);
    double a_s = fmax(a->computing_s, a->near_s), b_s = fmax(b->computing_s, b->near_s);
    return a_s != b_s ? a_s < b_s : a->bytes < b->bytes;
}

/* The ways that no bound rules out, each as fast as it may be at most, and on how many units. */
enum { MOST_RIVALS = 64 };
struct rivals {
    struct rival {
        struct pace pace;
        uint64_t units_used;
    } at[MOST_RIVALS];
    uint32_t count; /* more than have room: nobody knows the rest */
};

/* The op by a way of which cycles and traffic are known. Of one that takes longer than the least, where time
 * alone is asked for, nobody asks for the energy. */
static struct pace pace_with(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                             const struct pace *least, struct ll_cost *cost)
{
    struct ll_timing timing;
    struct pace pace = {.bytes = way->unit_bytes};
    time_levels(s, way, cost);
    for (uint64_t l = 0; l < s->near_levels; l++) {
        double rest_s = cost->level_s[l] - cost->level_first_s[l];
        pace.near_s = fmax(pace.near_s, rest_s);
        pace.all_near_s += rest_s;
        pace.others_s =
            fmax(pace.others_s, fmin((cost->level_pieces[l] - 1) * cost->level_first_s[l], rest_s));
    }
    cost->compute_s = powered_s(s, way, cost->compute_s);
    pace.computing_s = cost->compute_s - cost->compute_first_s;
    ll_cost_time(s->machine, cost, s->found, &timing);
    pace.time_s = timing.time_s;
    bool loses = s->machine->software.objective == LL_OBJECTIVE_TIME && timing.time_s > least->merit.first;
    pace.merit = loses ? (struct ll_merit){timing.time_s, INFINITY}
                       : ll_cost_merit(s->machine, s->op, cost, s->found, timing.time_s);
    return pace;
}

/* Of each group of stages, how long the slowest takes behind its first piece. */
static struct ll_spare slowest_of(const struct ll_kernel_timing *s, const struct ll_cost *cost)
{
    struct ll_spare slowest = {{0}};
    double others_s = 0;
    for (uint64_t l = 0; l < s->machine->level_count; l++) {
        double left = fmax(0, cost->level_bytes[l] - (s->found ? s->found->saved_bytes[l] : 0));
        double whole_s = left > 0 ? cost->level_s[l] * (left / cost->level_bytes[l]) : 0;
        double first_s = fmin(cost->level_first_s[l], whole_s), rest_s = whole_s - first_s;
        uint32_t group = ll_stage_group(s->machine, l);
        slowest.s[group] = fmax(slowest.s[group], rest_s);
        if (group == 0)
            others_s = fmax(others_s, fmin(fmax(0, cost->level_pieces[l] - 1) * first_s, rest_s));
    }
    slowest.s[0] = fmax(slowest.s[0], cost->compute_s - cost->compute_first_s + others_s);
    return slowest;
}

/* The op by a way of which cycles are known, with so much time to spare. */
static struct pace pace_by(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                           const struct ll_spare *spare, const struct ll_cost *computed,
                           struct ll_spare *slowest)
{
    struct ll_cost cost = *computed;
    struct ll_chosen chosen;
    chosen.way = *way;
    all_traffic(s, spare, true, &chosen, &cost);
    struct pace pace = pace_with(s, way, &no_pace, &cost);
    if (slowest)
        *slowest = slowest_of(s, &cost);
    return pace;
}

/* The best time to spare in a group, of which all above is no better than *best. */
static void spare_in(const struct ll_kernel_timing *s, const struct ll_kernel_config *way, uint32_t group,
                     const struct ll_cost *computed, struct pace *best, struct ll_spare *spare)
{
    enum {
        TRIES = 64
    }; /* there are hardly ever as many blockings between the two that are the least in one */
    struct ll_spare tried = *spare, slowest, floor;
    tried.s[group] = 0;
    pace_by(s, way, &tried, computed, &floor);
    tried.s[group] = INFINITY;
    for (int i = 0; i < TRIES && tried.s[group] > floor.s[group]; i++) {
        struct pace pace = pace_by(s, way, &tried, computed, &slowest);
        if (is_less(&pace, best)) {
            *best = pace;
            *spare = tried;
        }
        if (ll_machine_static_w(s->machine) == 0 && s->machine->software.objective == LL_OBJECTIVE_ENERGY)
            return;
        tried.s[group] = fmin(tried.s[group], slowest.s[group]) * (1 - 1e-9);
    }
}

/* How much time the blockings have to spare, and the op with that. */
static struct ll_spare best_spare(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                                  const struct ll_cost *computed, struct pace *best)
{
    struct ll_spare spare = nothing_to_spare, slowest;
    *best = pace_by(s, way, &spare, computed, &slowest);
    if (s->machine->software.objective != LL_OBJECTIVE_TIME) {
        for (uint32_t g = 0; g <= ll_stage_group(s->machine, s->machine->level_count - 1); g++)
            spare_in(s, way, g, computed, best, &spare);
        return spare;
    }
    struct pace pace = pace_by(s, way, &slowest, computed, NULL);
    if (!is_less(&pace, best))
        return nothing_to_spare;
    *best = pace;
    return slowest;
}

/* The least that levels move, by what takes the least time and by the fewest bytes: where ports differ, the
 * blockings do; where less energy is searched than the least time takes, the tiles do. */
struct far {
    struct least by_time, by_bytes;
    bool ports_differ, differ;
};

/* The op by this way, at least; *cost: computed. */
static struct pace least_pace(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                              const struct pace *least, struct far *far, struct ll_cost *cost)
{
    double full_s = cost->compute_s;
    least_traffic(s, way, &far->by_time, cost);
    struct pace pace = pace_with(s, way, least, cost);
    if (far->differ) {
        least_traffic(s, way, &far->by_bytes, cost);
        pace.merit = ll_cost_merit(s->machine, s->op, cost, s->found, pace.time_s);
    }
    cost->compute_s = full_s;
    return pace;
}

/* A way of which cycles are known, and what computing takes at the full clock. */
struct trial {
    uint32_t index;
    struct ll_kernel_config way;
    struct ll_cost cost; /* without levels, which are filled later */
};

/* The op by this way. Infinite as soon as it cannot be better than `least`: one that computes longer than
 * that takes is no rival next to whatever earlier ops left either. */
static struct pace pace_of(const struct ll_kernel_timing *s, struct trial *trial, struct far *far,
                           const struct pace *least, struct rivals *rivals)
{
    struct ll_kernel_config *way = &trial->way;
    struct ll_cost *cost = &trial->cost;
    const double most_s = s->machine->software.objective == LL_OBJECTIVE_TIME ? least->time_s : INFINITY;
    if (cost->compute_s > most_s)
        return no_pace;
    ask_operands(s, trial->index, way);
    if (powered_s(s, way, cost->compute_s) > most_s)
        return no_pace;
    struct pace pace = least_pace(s, way, least, far, cost);
    if (rivals->count < MOST_RIVALS)
        rivals->at[rivals->count] = (struct rival){pace, cost->units_used};
    rivals->count++;
    if ((s->machine->software.mapping != LL_MAPPED_SEARCH && !far->differ) || !is_less(&pace, least))
        return pace;
    if (!far->ports_differ)
        return pace_by(s, way, &nothing_to_spare, cost, NULL);
    best_spare(s, way, cost, &pace);
    return pace;
}

/* The next way from *index on that makes sense; false behind the last. */
static bool next_trial(const struct ll_kernel_timing *s, uint32_t count, uint32_t *index, struct trial *trial)
{
    const uint32_t series = (uint32_t)ll_max(1, ll_unit_model(s->unit.model)->series);
    while (*index < count && !ask_cycles(s, *index, &trial->way))
        *index += series - *index % series;
    if (*index >= count)
        return false;
    trial->index = (*index)++;
    memset(&trial->cost, 0, offsetof(struct ll_cost, level_bytes));
    trial->cost.serial = s->kernel->serial;
    trial->cost.unit = s->unit_index;
    trial->cost.made = s->made;
    trial->cost.zeros = s->task.zeros;
    time_compute(s, &trial->way, &trial->cost);
    return true;
}

/* The index of the best way; of equals the one that asks for least, the first of these. Where a bound rules
 * ways out, that which computes the shortest is tried first: hardly any other one is then looked at. */
static uint32_t best_way(const struct ll_kernel_timing *s, uint32_t count, struct far *far,
                         struct pace *least, struct rivals *rivals)
{
    enum { AT_ONCE = 16 };
    struct trial trials[AT_ONCE];
    const struct ll_software *software = &s->machine->software;
    const bool by_time = software->objective == LL_OBJECTIVE_TIME,
               searched = software->mapping == LL_MAPPED_SEARCH;
    bool frugal = s->machine->energy_given && !by_time;
    uint32_t best = 0, index = 0, ready;
    rivals->count = 0;
    far->ports_differ = s->task.is_gemm && ports_differ(s->machine);
    far->differ = far->ports_differ || (s->task.is_gemm && frugal && searched);
    find_far(s, false, &far->by_time);
    if (far->differ)
        find_far(s, true, &far->by_bytes);
    do {
        uint32_t first = 0;
        for (ready = 0; ready < AT_ONCE && next_trial(s, count, &index, &trials[ready]); ready++)
            if (by_time && !searched && !far->differ &&
                trials[ready].cost.compute_s < trials[first].cost.compute_s)
                first = ready;
        for (uint32_t i = 0; i < ready; i++) {
            struct trial *trial = &trials[i == 0 ? first : i <= first ? i - 1 : i];
            struct pace pace = pace_of(s, trial, far, least, rivals);
            bool sooner = trial->index < best && !is_less(least, &pace);
            if (!is_less(&pace, least) && !sooner)
                continue;
            best = trial->index;
            *least = pace;
        }
    } while (ready == AT_ONCE);
    return best;
}

/* Whether more units would have smaller first pieces, because there is less to move than all of theirs. */
static bool shrinks_pieces(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                           uint64_t most)
{
    for (uint64_t l = 0; l < s->machine->level_count; l++) {
        const struct ll_level *level = &s->machine->levels[l];
        double held = ll_held_bytes(level, s->task.work);
        if (held > 0 && ll_finest_bytes(level, way) * (double)most > held)
            return true;
    }
    return false;
}

/* What computing waits at most for the first pieces of other units, out of far levels. */
static double far_others_s(const struct ll_kernel_timing *s, const struct ll_cost *cost)
{
    double most_s = 0;
    for (uint64_t l = s->near_levels; l < s->machine->level_count; l++)
        most_s = fmax(most_s, (cost->level_pieces[l] - 1) * cost->level_first_s[l]);
    return most_s;
}

/* Whether one way takes no longer than another one, whatever is left of the far levels' time, F, and of what
 * the first pieces of other units take out of them, O, at most most_s. On as many units both are the same:
 *
 *       longest = max(computing + max(O, others), near, F)
 *       time = (1 - serial) * longest + serial * (computing + all near + F) + what is the same for both
 *
 * On fewer units no O is longer, and on more no first piece is. Where less than all of the time counts, as
 * energy does, it takes no longer in anything. */
static bool never_loses(const struct ll_kernel_timing *s, const struct ll_kernel_config *way,
                        const struct rival *one, const struct rival *other, double most_s)
{
    const struct pace *a = &one->pace, *b = &other->pace;
    bool fewer = one->units_used<other->units_used, more = one->units_used> other->units_used;
    bool sooner = !more && a->computing_s <= b->computing_s && a->others_s <= b->others_s;
    double least_s = fmax(b->computing_s + b->others_s, b->near_s);
    return (sooner || a->computing_s + fmax(most_s, a->others_s) <= least_s) && a->near_s <= least_s &&
           (s->kernel->serial == 0 || a->computing_s + a->all_near_s <= b->computing_s + b->all_near_s) &&
           (!fewer || !shrinks_pieces(s, way, other->units_used));
}

/* The choice is the best whatever earlier ops left of the far levels if all stages overlap and no other way
 * ever wins. */
static enum ll_reuse_sensitivity reuse_sensitivity_of(const struct ll_kernel_timing *s, uint32_t count,
                                                      const struct ll_kernel_config *way,
                                                      const struct pace *pace, const struct rivals *rivals,
                                                      const struct ll_cost *cost)
{
    if (s->machine->software.mapping == LL_MAPPED_SEARCH && s->task.is_gemm)
        return LL_REUSE_MATTERS;
    if (count == 1)
        return LL_REUSE_MATTERS_NEVER;
    const struct rival chosen = {*pace, cost->units_used};
    const double most_s = far_others_s(s, cost);
    bool settled = overlaps_all(s->machine) && rivals->count <= MOST_RIVALS;
    for (uint32_t i = 0; settled && i < rivals->count; i++)
        settled = never_loses(s, way, &chosen, &rivals->at[i], most_s);
    return settled ? LL_REUSE_MATTERS_NEAR : LL_REUSE_MATTERS;
}

bool ll_kernel_time_tiles(const struct ll_kernel_timing *s, const struct ll_chosen *chosen,
                          struct ll_tile_nest *nest)
{
    if ((ll_is_gemm(s->task.work) && !s->task.is_gemm) || s->by_library)
        return false;
    const struct ll_mapping_loops *searched = chosen->traffic.nested ? &chosen->traffic.tiles : NULL;
    return ll_outer_tiles(s->machine, &s->task, &chosen->way, searched, nest);
}

bool ll_kernel_time_keeps(const struct ll_kernel_timing *s, const struct ll_cost *alone)
{
    if (s->by_library)
        return false; /* choosing again is as fast as comparing */
    uint32_t count = ll_unit_model(s->unit.model)->way_count(&s->unit, &s->task);
    struct rivals rivals;
    struct ll_cost stages = *alone;
    struct ll_timing timing;
    stages.apart_s = stages.gap_s = stages.apart_bytes = 0;
    stages.overlay = (struct ll_correction){0};
    stages.table = (struct ll_tabled){0};
    ll_cost_time(s->machine, &stages, s->found, &timing);
    struct ll_merit merit = ll_cost_merit(s->machine, s->op, &stages, s->found, timing.time_s);
    const double better = 1 - 1e-12;
    const struct pace kept = {.merit = {merit.first * better, merit.second * better},
                              .time_s = timing.time_s * better};
    struct pace least = kept;
    struct far far;
    best_way(s, count, &far, &least, &rivals);
    return memcmp(&least, &kept, sizeof kept) == 0;
}

bool ll_kernel_time_is_within(const struct ll_kernel_timing *s, double time_s)
{
    if (s->by_library)
        return true; /* costing it takes no longer than asking */
    uint32_t count = ll_unit_model(s->unit.model)->way_count(&s->unit, &s->task);
    struct rivals rivals;
    struct pace least = no_pace;
    least.merit.first = least.time_s = time_s;
    struct far far;
    best_way(s, count, &far, &least, &rivals);
    return isfinite(least.bytes);
}

double ll_near_Bps(const struct ll_kernel_timing *s, const struct ll_cost *cost)
{
    static const struct ll_kernel_config no_pieces;
    const struct ll_level_feed feed = ll_feed_of(s, &no_pieces, 0, cost);
    return feed.all_Bps;
}

/* What the choice among a library's kernels depends on: traffic out of the outermost level is the same for
 * all. */
static struct ll_gemm_feed library_feed(const struct ll_kernel_timing *s, struct least *least)
{
    static const struct ll_kernel_config no_pieces;
    uint64_t last = s->machine->level_count - 1;
    double steps = (double)s->task.steps, left = 1;
    struct ll_cost all = {.units_used = s->unit.count};
    find_far(s, false, least);
    keep_traffic(&least->traffic, s->machine->level_count, &all);
    const struct ll_level_feed feed = ll_feed_of(s, &no_pieces, last, &all);
    if (s->found && all.level_bytes[last] > 0)
        left = fmax(0, 1 - s->found->saved_bytes[last] / all.level_bytes[last]);
    return (struct ll_gemm_feed){
        .machine = s->machine,
        .draw = {s->task.dtype, ll_gemm_macs(&s->task.problem.dims), outermost_j(s) / steps},
        .near_Bps = ll_near_Bps(s, &all),
        .outermost_s = left * ll_crossing_bytes(s, last, &all) / feed.all_Bps / steps};
}

/* A GEMM on tensor cores by the fastest of the library's kernels. */
static void time_library(const struct ll_kernel_timing *s, struct ll_cost *cost, struct ll_chosen *chosen)
{
    struct least far;
    const struct ll_gemm_feed feed = library_feed(s, &far);
    const struct ll_gemm_choice choice = ll_gemm_choose(&s->unit, &s->task, &feed);
    chosen->index = choice.index;
    ask_cycles(s, chosen->index, &chosen->way);
    ask_operands(s, chosen->index, &chosen->way);
    time_compute(s, &chosen->way, cost);
    chosen->full_s = cost->compute_s;
    cost->serial = 0;
    cost->partly_overlaps = true;
    cost->reuse_sensitivity = choice.settled ? LL_REUSE_MATTERS_NEVER : LL_REUSE_MATTERS;
    if (s->machine->software.mapping == LL_MAPPED_SEARCH)
        all_traffic(s, &nothing_to_spare, false, chosen, cost);
    else
        rest_of_traffic(s, &far, chosen, cost);
    time_levels(s, &chosen->way, cost);
    double reduce_s = ll_gemm_reduce_s(&s->unit, &s->task, choice.index, ll_near_Bps(s, cost));
    cost->around_s = (double)s->task.steps * (s->unit.matrix.gemm.start_s + reduce_s) + s->quantizing.time_s;
    cost->stream_s = s->task.linear ? s->task.linear->stream_s : 0;
    cost->compute_s = powered_s(s, &chosen->way, cost->compute_s);
}

void ll_kernel_time(const struct ll_kernel_timing *s, struct ll_cost *cost, struct ll_chosen *chosen)
{
    if (s->by_library) {
        time_library(s, cost, chosen);
        return;
    }
    uint32_t count = ll_unit_model(s->unit.model)->way_count(&s->unit, &s->task);
    struct pace least = no_pace;
    struct rivals rivals;
    struct far far;
    const struct ll_kernel_config *way = &chosen->way;
    chosen->index = count > 1 ? best_way(s, count, &far, &least, &rivals) : 0;
    ask_cycles(s, chosen->index, &chosen->way);
    ask_operands(s, chosen->index, &chosen->way);
    time_compute(s, way, cost);
    chosen->full_s = cost->compute_s;
    bool chooses = s->task.is_gemm && ports_differ(s->machine);
    const struct ll_spare spare = chooses ? best_spare(s, way, cost, &least) : nothing_to_spare;
    if (count > 1 && !chooses && s->machine->software.mapping != LL_MAPPED_SEARCH)
        rest_of_traffic(s, &far.by_time, chosen, cost);
    else
        all_traffic(s, &spare, false, chosen, cost);
    ll_rows_reread(s->machine, s->kernel, s->task.work, s->unit.count, cost);
    time_levels(s, way, cost);
    cost->compute_s = powered_s(s, way, cost->compute_s);
    cost->reuse_sensitivity = reuse_sensitivity_of(s, count, way, &least, &rivals, cost);
}

/* --- outlines --- */

bool ll_kernel_has_outline(const struct ll_kernel_timing *s)
{
    const struct ll_epilogue *lanes = &s->lanes;
    return !s->by_library && !s->task.linear && s->task.work->kind != LL_WORK_SEQUENCE &&
           lanes->after_s == 0 && lanes->meanwhile_s == 0 && s->cast_s == 0 &&
           ll_rows_begin_s(s->kernel, s->task.work, 1) == 0;
}

/* The cycles of a configuration. False where the outline does not say all of it. */
static bool outline_cycles(const struct ll_kernel_timing *s, uint32_t index,
                           const struct ll_kernel_config *way, struct ll_candidate *candidate)
{
    const struct ll_computing c = ll_compute(s, way);
    const double steps = (double)s->task.steps, cycles = steps * c.cycles + (c.after + c.casting);
    *candidate = (struct ll_candidate){.index = index,
                                       .units_used = c.parts.units,
                                       .cycles = cycles,
                                       .first_cycles = fmin(steps * way->first.cycles, cycles),
                                       .unit_bytes = way->unit_bytes};
    return way->wait_cycles == 0 && way->array_j == 0 && way->made == 0;
}

bool ll_kernel_outline(const struct ll_kernel_timing *s, struct ll_arena *arena, struct ll_outline *outline)
{
    const struct ll_unit_model *model = ll_unit_model(s->unit.model);
    const uint32_t series = (uint32_t)ll_max(1, model->series), ways = model->way_count(&s->unit, &s->task);
    struct ll_kernel_config way;
    uint32_t room = 0;
    *outline = (struct ll_outline){.served = true,
                                   .unit = s->unit_index,
                                   .near_levels = s->near_levels,
                                   .efficiency = s->unit.efficiency,
                                   .unit_count = (double)s->unit.count,
                                   .serial = s->kernel->serial,
                                   .made = s->made,
                                   .zeros = s->task.zeros,
                                   .launch_overhead_s = s->kernel->launch_overhead_s,
                                   .launch_overlap = s->kernel->launch_overlap,
                                   .ways = ways};
    for (uint32_t index = 0; index < ways && outline->served;) {
        if (!ask_cycles(s, index, &way)) {
            index += series - index % series;
            continue;
        }
        if (outline->count == room) {
            room = room ? 2 * room : 4;
            struct ll_candidate *more = ll_alloc(arena, room, sizeof *more);
            if (!more)
                return false;
            if (outline->count > 0)
                memcpy(more, outline->candidates, outline->count * sizeof *more);
            outline->candidates = more;
        }
        outline->served = outline_cycles(s, index, &way, &outline->candidates[outline->count++]);
        index++;
    }
    return true;
}

/* The traffic of a configuration, as best_way and ll_kernel_time find it. False when memory ran out. */
static bool outline_traffic(const struct ll_kernel_timing *s, struct ll_arena *arena,
                            struct ll_outline *outline, struct ll_chosen *chosen, struct ll_cost *cost)
{
    struct least least;
    if (outline->ways == 1) {
        all_traffic(s, &nothing_to_spare, false, chosen, cost);
        ll_rows_reread(s->machine, s->kernel, s->task.work, s->unit.count, cost);
        return true;
    }
    if (outline->far) {
        least.paces = alone(false);
        least.traffic = *outline->far;
    } else {
        find_far(s, false, &least);
        outline->far = ll_copy(arena, &least.traffic, sizeof least.traffic);
    }
    least_traffic(s, &chosen->way, &least, cost);
    double once_bytes[LL_MAX_LEVELS];
    memcpy(once_bytes, cost->level_bytes, sizeof once_bytes);
    ll_rows_reread(s->machine, s->kernel, s->task.work, s->unit.count, cost);
    outline->served = memcmp(once_bytes, cost->level_bytes, sizeof once_bytes) == 0;
    return outline->far;
}

bool ll_kernel_outline_levels(const struct ll_kernel_timing *s, struct ll_arena *arena,
                              struct ll_outline *outline, uint32_t candidate)
{
    struct ll_candidate *c = &outline->candidates[candidate];
    struct ll_chosen chosen = {.index = c->index};
    struct ll_cost cost = {.units_used = c->units_used};
    struct ll_outline_level *levels = ll_alloc(arena, s->machine->level_count, sizeof *levels);
    ask_cycles(s, c->index, &chosen.way);
    ask_operands(s, c->index, &chosen.way);
    c->unit_bytes = chosen.way.unit_bytes;
    if (!levels || !outline_traffic(s, arena, outline, &chosen, &cost))
        return false;
    for (uint64_t l = 0; l < s->machine->level_count; l++) {
        const struct ll_level_feed feed = ll_feed_of(s, &chosen.way, l, &cost);
        levels[l] = (struct ll_outline_level){.bytes = cost.level_bytes[l],
                                              .written = cost.level_written[l],
                                              .crossing_bytes = ll_crossing_bytes(s, l, &cost),
                                              .share = feed.share,
                                              .instances = (double)feed.instances,
                                              .pieces = feed.pieces,
                                              .first_bytes = feed.first_bytes,
                                              .waits = l < s->near_levels ? (double)s->task.steps : 1};
        memcpy(levels[l].of, cost.level_of[l], sizeof levels[l].of);
    }
    c->levels = levels;
    return outline->served;
}
