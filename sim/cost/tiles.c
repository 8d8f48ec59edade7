/* SPDX-License-Identifier: Apache-2.0 */
/* A block that stays and what streams past it share the room of a level:
 *
 *       | block that stays (m x n of C, say) | piece of A, m x k' | piece of B, k' x n |    k' as fits
 *
 * The other half of the level, where it has two buffers, takes the next tile meanwhile. The plain bound lets
 * all of the work overlap but its first piece; tile by tile the first load, the last store, and the
 * difference between large and small tiles show as well. */
#include "sim/cost/tiles.h"

#include "sim/cost/bypass.h"
#include "sim/cost/stage.h"
#include "sim/cost/task.h"
#include "sim/cost/traffic.h"
#include "tracer/base/str.h"

#include <inttypes.h>
#include <math.h>

/* A loop over `size` in steps of `step`. */
static void set_loop(struct ll_tile_nest *nest, int d, double size, double step)
{
    double rounds = fmax(1, size / step);
    nest->whole[d] = (uint64_t)rounds;
    nest->edge[d] = rounds - floor(rounds);
}

/* How much of the dimension that streams fits beside the block that stays. */
static double piece(const struct ll_problem *p, const struct ll_tiling *t, double room)
{
    double m = (double)t->block.m, n = (double)t->block.n, k = (double)t->block.k;
    const double *e = p->element;
    double stays = 0, line = 1, size = 1, least = 1;
    switch (t->stays) {
    case LL_OPERAND_A:
        stays = m * k * e[LL_OPERAND_A], line = m * e[LL_OPERAND_C] + k * e[LL_OPERAND_B];
        size = (double)p->dims.n, least = n;
        break;
    case LL_OPERAND_B:
        stays = k * n * e[LL_OPERAND_B], line = k * e[LL_OPERAND_A] + n * e[LL_OPERAND_C];
        size = (double)p->dims.m, least = m;
        break;
    default:
        stays = m * n * e[LL_OPERAND_C], line = m * e[LL_OPERAND_A] + n * e[LL_OPERAND_B];
        size = (double)p->dims.k, least = k;
        break;
    }
    double fits = line > 0 ? floor((room - stays) / line) : size;
    return fmin(size, fmax(least, fits));
}

/* Loops over tiles, `rounds` times. */
static void nest_of_loops(const struct ll_problem *p, const struct ll_mapping_loops *loops, double rounds,
                          struct ll_tile_nest *nest, struct ll_explain *why)
{
    const uint64_t whole[LL_DIM_COUNT] = {p->dims.m, p->dims.n, p->dims.k};
    set_loop(nest, 0, rounds, 1);
    for (int i = 0; i < LL_DIM_COUNT; i++)
        set_loop(nest, i + 1, (double)whole[loops->order[i]], (double)loops->tile[loops->order[i]]);
    nest->gathers = loops->order[LL_DIM_COUNT - 1] == LL_DIM_K;
    ll_say(
        why,
        "tiles of %" PRIu64 " x %" PRIu64 " x %" PRIu64 ", loops over %s, %s, %s from the outside in, %.10g "
        "times: %.10g * %.10g * %.10g * %.10g = %.10g tiles",
        loops->tile[LL_DIM_M], loops->tile[LL_DIM_N], loops->tile[LL_DIM_K], ll_dim_name(loops->order[0]),
        ll_dim_name(loops->order[1]), ll_dim_name(loops->order[2]), rounds,
        (double)nest->whole[0] + nest->edge[0], (double)nest->whole[1] + nest->edge[1],
        (double)nest->whole[2] + nest->edge[2], (double)nest->whole[3] + nest->edge[3], ll_tile_volume(nest));
}

/* The same loops, those that run once outermost, where they matter as little. */
static struct ll_mapping_loops running_last(const struct ll_problem *p, const struct ll_mapping_loops *loops)
{
    const uint64_t whole[LL_DIM_COUNT] = {p->dims.m, p->dims.n, p->dims.k};
    struct ll_mapping_loops sorted = *loops;
    int count = 0;
    for (int runs = 0; runs < 2; runs++)
        for (int i = 0; i < LL_DIM_COUNT; i++)
            if ((loops->tile[loops->order[i]] < whole[loops->order[i]]) == runs)
                sorted.order[count++] = loops->order[i];
    return sorted;
}

/* Around the block that stays, loops over blocks; within, what streams past in pieces. */
static struct ll_mapping_loops loops_of_blocks(const struct ll_problem *p, const struct ll_tiling *t,
                                               double room)
{
    static const enum ll_dim orders[LL_OPERAND_COUNT][LL_DIM_COUNT] = {
        {LL_DIM_M, LL_DIM_K, LL_DIM_N}, {LL_DIM_K, LL_DIM_N, LL_DIM_M}, {LL_DIM_M, LL_DIM_N, LL_DIM_K}};
    const enum ll_dim *order = orders[t->stays];
    struct ll_mapping_loops loops = {.tile = {t->block.m, t->block.n, t->block.k},
                                     .order = {order[0], order[1], order[2]}};
    loops.tile[order[2]] = (uint64_t)piece(p, t, room);
    return loops;
}

bool ll_outer_tiles(const struct ll_machine *machine, const struct ll_task *task, const struct ll_way *way,
                    const struct ll_mapping_loops *searched, struct ll_tile_nest *nest,
                    struct ll_explain *why)
{
    if (machine->level_count < 2)
        return false;
    const struct ll_level *memory = &machine->levels[machine->level_count - 2];
    uint64_t instances = ll_level_instances(memory, way->units_used);
    double room = ll_level_room(memory);
    *nest = (struct ll_tile_nest){.whole = {1, 1, 1, 1}, .single = memory->buffering == LL_BUFFER_SINGLE};
    if (!task->is_product) {
        set_loop(nest, 0, ll_work_bytes(task->work), room * (double)instances);
        return true;
    }
    struct ll_problem p = task->problem;
    double shares = 1;
    p.toll = ll_level_toll(&machine->levels[machine->level_count - 1]);
    if (memory->scope != LL_SCOPE_DEVICE) {
        p.dims = way->share;
        shares = way->shares / (double)way->units_used;
    }
    double rounds = shares * (double)task->steps * (double)p.dims.batch;
    if (searched) {
        struct ll_mapping_loops running = running_last(&p, searched);
        nest_of_loops(&p, &running, rounds, nest, why);
        return true;
    }
    ll_bind_blocks(machine, task, way, machine->level_count - 2, &p.toll);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++)
        if (p.toll.roomless[i]) {
            p.toll.free[i] = true;
            p.element[i] = 0;
        }
    struct ll_problem blocked = task->problem;
    blocked.dims = p.dims;
    blocked.toll = p.toll;
    struct ll_tiling t = ll_tile(&blocked, room);
    struct ll_mapping_loops loops = loops_of_blocks(&p, &t, room);
    nest_of_loops(&p, &loops, rounds, nest, why);
    return true;
}

static struct ll_stage stage_of(const struct ll_cost *cost, uint64_t l)
{
    const struct ll_intake intake = {.first_s = cost->level_first_s[l], .pieces = cost->level_pieces[l]};
    return ll_stage_of(&intake, cost->level_bytes[l], cost->level_s[l]);
}

/* Computing, until the last unit is done, which has waited for the first pieces of others. */
static double computing_s(const struct ll_machine *machine, const struct ll_cost *cost,
                          struct ll_explain *why)
{
    double others_s = 0;
    uint64_t last = 0;
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        last = stage_of(cost, l).others_s > others_s ? l : last;
        others_s = fmax(others_s, stage_of(cost, l).others_s);
    }
    if (others_s > 0)
        ll_say(
            why,
            "further in, computing, behind the first pieces of other units, out of %s: %.10g + min((%.10g - "
            "1) * %.10g, %.10g - %.10g) = %.10g s",
            machine->levels[last].name, cost->compute_s, cost->level_pieces[last], cost->level_first_s[last],
            cost->level_s[last], cost->level_first_s[last], cost->compute_s + others_s);
    return cost->compute_s + others_s;
}

/* The unit and all levels but the outermost: their first pieces, then the slowest. */
static double inside_s(const struct ll_machine *machine, const struct ll_cost *cost)
{
    double first_s = cost->compute_first_s, rest_s = computing_s(machine, cost, NULL) - cost->compute_first_s;
    for (uint64_t l = 0; l + 1 < machine->level_count; l++) {
        first_s += cost->level_first_s[l];
        rest_s = fmax(rest_s, cost->level_s[l] - cost->level_first_s[l]);
    }
    return first_s + rest_s;
}

/* A tile is loaded from the outermost memory, worked on inside, stored. */
static void tell_stages(const struct ll_machine *machine, const struct ll_cost *cost, double store_s,
                        double load_s, double work_s, struct ll_explain *why)
{
    uint64_t outer = machine->level_count - 1;
    const char *name = machine->levels[outer].name;
    if (store_s > 0)
        ll_say(why, "%s, what is stored of it: %.10g * %.10g / %.10g = %.10g s", name, cost->level_s[outer],
               cost->level_written[outer], cost->level_bytes[outer], store_s);
    if (store_s > 0)
        ll_say(why, "%s, what is loaded of it: %.10g * (1 - %.10g / %.10g) = %.10g s", name,
               cost->level_s[outer], cost->level_written[outer], cost->level_bytes[outer], load_s);
    double whole_s = computing_s(machine, cost, why), first_s = cost->compute_first_s;
    struct ll_str firsts = {0};
    ll_str_addf(&firsts, "%.10g", cost->compute_first_s);
    for (uint64_t l = 0; l < outer; l++) {
        bool slower = cost->level_s[l] - cost->level_first_s[l] > whole_s - first_s;
        whole_s = slower ? cost->level_s[l] : whole_s;
        first_s = slower ? cost->level_first_s[l] : first_s;
        ll_str_addf(&firsts, " + %.10g", cost->level_first_s[l]);
    }
    ll_say(why, "further in, first pieces and the rest of the slowest: %s + %.10g - %.10g = %.10g s",
           firsts.failed ? "" : firsts.text, whole_s, first_s, work_s);
    why->failed |= firsts.failed;
    ll_str_release(&firsts);
}

double ll_tiled_s(const struct ll_machine *machine, const struct ll_cost *cost,
                  const struct ll_tile_nest *nest, struct ll_explain *why)
{
    uint64_t outer = machine->level_count - 1;
    struct ll_timing timing;
    double waits_s = 0, bytes = cost->level_bytes[outer];
    double written = bytes > 0 ? cost->level_written[outer] / bytes : 0;
    double store_s = cost->level_s[outer] * written, load_s = cost->level_s[outer] - store_s;
    double work_s = inside_s(machine, cost), tiles = ll_tile_volume(nest);
    for (uint64_t l = 0; l < machine->level_count; l++)
        waits_s += cost->level_wait_s[l];
    ll_cost_time(machine, cost, NULL, &timing, NULL);
    double apart_s = cost->apart_s + cost->gap_s;
    double tiled_s = apart_s + waits_s + ll_pipeline_s(nest, load_s, work_s, store_s);
    double time_s = fmax(timing.time_s, tiled_s);
    if (why)
        tell_stages(machine, cost, store_s, load_s, work_s, why);
    ll_say(why,
           "tile by tile, were all tiles alike and nothing waited for: (%.10g + %.10g + %.10g) / %.10g + "
           "(1 - 1 / %.10g) * max(%.10g, max(%.10g, %.10g)) = %.10g s",
           load_s, work_s, store_s, tiles, tiles, load_s, work_s, store_s,
           (load_s + work_s + store_s) / tiles + (1 - 1 / tiles) * fmax(load_s, fmax(work_s, store_s)));
    ll_say(
        why,
        "tile by tile, edges, latencies and gaps as they are, at least the plain bound: max(%.10g, %.10g) = "
        "%.10g s",
        timing.time_s, tiled_s, time_s);
    return time_s;
}
