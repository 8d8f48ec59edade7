/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays: the whole of an op is one loop nest (sim/array/nest.h), from registers to the outermost memory,
 * whose mapping the machine's file gives or the search finds. So neither kernel configurations nor
 * blockings of levels apply: cycles, bytes and energy are the nest's.
 *
 *       time = (cycles in which elements multiply or wait for a port + loading + draining) / clock
 *
 * What a level moves is what its inner side reads and updates. Energy that bytes out of levels do not tell
 * (registers, hops, reads and writes that differ) is `array_j`, and where it is taken `array_parts`. */
#include "sim/cost/cost_parts.h"

#include <math.h>
#include <string.h>

#include "sim/array/choose.h"
#include "sim/array/machine.h"
#include "sim/array/notation.h"

/* A nest and what it is repeated for. */
struct nest {
    struct ll_array array;
    struct ll_array_problem problem;
    struct ll_array_found found;
    double steps;
    bool given, fits;
};

static void find_nest(const struct ll_machine *machine, uint64_t u, const struct ll_work *work,
                      enum ll_dtype dtype, struct nest *n)
{
    const struct ll_unit *unit = &machine->units[u];
    struct ll_task task = ll_task_of(work, dtype);
    if (unit->sum_bytes > 0)
        ll_sum_in(&task, unit->sum_bytes);
    const struct ll_gemm *dims = &task.problem.dims;
    bool forward = work->kind == LL_WORK_CONV && work->conv.pass == LL_CONV_FORWARD;
    n->array = ll_array_of(machine, u, dtype);
    n->problem = forward ? ll_array_conv(&work->conv) : ll_array_gemm(dims->batch, dims->m, dims->n, dims->k);
    n->steps = (double)task.steps;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        n->problem.operand[o].bits =
            forward ? (double)ll_dtype_bits((enum ll_dtype)work->dtype) : 8 * task.problem.element[o];
    n->problem.operand[LL_OPERAND_C].sum_bits =
        fmax(8 * task.sum_bytes, n->problem.operand[LL_OPERAND_C].bits);
    n->fits =
        ll_array_choose(machine, u, &n->array, &n->problem, ll_array_aim_of(machine), &n->found, &n->given);
}

/* Bytes of one level and by operand, as traffic.c counts them. */
static void take_level(const struct ll_machine *machine, uint64_t l, const struct nest *n,
                       struct ll_cost *cost)
{
    uint64_t s = n->array.stores - machine->level_count + l;
    double times = n->steps * n->found.cost.used[s];
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        const struct ll_array_moves *m = n->found.cost.moves[o][s];
        double read = times * m[LL_ARRAY_READ].words * m[LL_ARRAY_READ].bits / 8;
        double updated = times * m[LL_ARRAY_UPDATE].words * m[LL_ARRAY_UPDATE].bits / 8;
        cost->level_of[l][o] = read + updated;
        cost->level_bytes[l] += read + updated;
        cost->level_written[l] += updated;
    }
    cost->level_price[l] = cost->level_bytes[l];
    cost->level_pieces[l] = 1;
}

/* What is known of bytes already is taken out of the levels between which they go, so that the sums of both
 * are the nest's. */
static void leave_out_bytes(const struct ll_machine *machine, const struct ll_cost *cost,
                            double level_j[LL_MAX_LEVELS])
{
    for (uint64_t l = 0; l < machine->level_count; l++) {
        level_j[l] -= cost->level_bytes[l] * ll_machine_level_j(machine, l);
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
            int inside = ll_destination_level(machine, l, o);
            if (inside != LL_CATCHER_UNIT)
                level_j[inside] -= cost->level_of[l][o] * ll_machine_level_j(machine, (uint64_t)inside);
        }
    }
}

static void take_energy(const struct ll_machine *machine, const struct nest *n, struct ll_cost *cost)
{
    const struct ll_array_cost *nest = &n->found.cost;
    struct ll_array_energy *parts = &cost->array_parts;
    uint64_t inside = n->array.stores - machine->level_count;
    for (uint64_t s = 0; s < n->array.stores; s++)
        *(s < inside ? &parts->registers_j : &parts->level_j[s - inside]) += n->steps * nest->store_j[s];
    parts->hops_j = n->steps * nest->network_j;
    leave_out_bytes(machine, cost, parts->level_j);
    cost->array_j = parts->registers_j + parts->hops_j;
    for (uint64_t l = 0; l < machine->level_count; l++)
        cost->array_j += parts->level_j[l];
}

static const char *array_whole(const struct ll_machine *machine, uint64_t u, const struct ll_work *work,
                               enum ll_dtype dtype, struct ll_cost *cost)
{
    const struct ll_unit *unit = &machine->units[u];
    struct nest n;
    find_nest(machine, u, work, dtype, &n);
    if (!n.fits)
        return n.given
                   ? "the tiles of the mapping that is given for such work are larger than the array's stores"
                   : "no mapping of such work fits the stores of the array and its limits";
    const struct ll_array_cost *nest = &n.found.cost;
    double cycle_s = 1 / unit->clock_hz, multiplying = n.steps * nest->compute_cycles / unit->efficiency;
    double busy = multiplying + n.steps * nest->stall_cycles;
    uint64_t inside = n.array.stores - machine->level_count;
    cost->units_used = unit->count;
    cost->clock_hz = unit->clock_hz;
    cost->made = 1;
    cost->compute_cycles = multiplying;
    cost->compute_s = busy * cycle_s;
    cost->apart_s = n.steps * (nest->load_cycles + nest->drain_cycles) * cycle_s;
    cost->utilization =
        n.problem.macs * n.steps / unit->array.macs[dtype] /
        (ll_unit_arithmetic(unit).elements * (double)unit->count * (busy + cost->apart_s / cycle_s));
    cost->mappings = n.found.evaluated;
    cost->mapped_in_part = !n.found.complete;
    cost->mapping_gap_s = n.steps * fmax(0, nest->cycles - n.found.bound.cycles) * cycle_s;
    cost->mapping_gap_j = n.steps * fmax(0, nest->energy_j - n.found.bound.energy_j);
    for (uint64_t l = 0; l < machine->level_count; l++) {
        take_level(machine, l, &n, cost);
        cost->level_s[l] = fmin(n.steps * nest->busy_cycles[inside + l] * cycle_s, cost->compute_s);
        if (nest->slowest == inside + l) {
            cost->level_s[l] = cost->compute_s;
            cost->compute_s = cost->compute_cycles * cycle_s;
        }
    }
    if (machine->energy_given)
        take_energy(machine, &n, cost);
    return NULL;
}

static void explain_store(const struct nest *n, int s, struct ll_explain *why)
{
    static const char *const ways[] = {"read", "filled", "updated", "drained"};
    const struct ll_array_cost *cost = &n->found.cost;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++) {
            const struct ll_array_moves *m = &cost->moves[o][s][way];
            if (m->words > 0)
                ll_say(why,
                       "%s, words of the %s %s by an instance: %.10g a transfer, of which there are %.10g; "
                       "%.10g in all",
                       n->array.store[s].name, ll_array_operand_name(o), ways[way], m->amount, m->transfers,
                       m->words);
        }
}

static void array_whole_explain(const struct ll_machine *machine, uint64_t u, const struct ll_work *work,
                                enum ll_dtype dtype, struct ll_explain *why)
{
    struct nest n;
    struct ll_str text = {0};
    find_nest(machine, u, work, dtype, &n);
    const struct ll_array_cost *cost = &n.found.cost;
    ll_explain_group(why, "kernel");
    ll_array_mapping_print(&n.array, &n.problem, &n.found.mapping, &text);
    ll_say(why, "mapping, %s: %s", n.given ? "as the machine's file gives it" : "found by the search",
           text.text ? text.text : "");
    if (!n.given)
        ll_say(why, "mappings that were looked at: %.10g = %.10g", (double)n.found.evaluated,
               (double)n.found.evaluated);
    ll_explain_group(why, "compute");
    ll_say(why,
           "cycles of multiplying, of waiting for ports, until the first data is there, behind the last: "
           "%.10g + %.10g + "
           "%.10g + %.10g = %.10g cycles",
           cost->compute_cycles, cost->stall_cycles, cost->load_cycles, cost->drain_cycles, cost->cycles);
    for (int s = 0; s < n.array.stores; s++)
        explain_store(&n, s, why);
    ll_str_release(&text);
}

const struct ll_unit_model ll_cost_ARRAY = {
    .products = true, .whole = array_whole, .whole_explain = array_whole_explain};
