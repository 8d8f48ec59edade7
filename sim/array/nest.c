/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator of mappings on arrays: words, accesses, cycles and energy of one mapping.
 *
 * For each operand its stores form a chain, from the multipliers outwards. A store that holds the
 * innermost h loops keeps a tile,
 *
 *       tile = product over ranks of (1 + sum of step * (iterations held - 1)),
 *
 * with the loops that are unrolled over axes which it serves. Loops directly outside of these that the
 * operand does not index leave the tile as it is; with them, a tile lasts
 *
 *       period = product of the loops held and of those,      transfers = all cycles / period.
 *
 * Across a boundary a lower instance moves one tile in each period, the upper one as many as there are
 * distinct tiles beside each other: copies are multicast, sums of several elements are reduced on their
 * way.
 *
 * Results: a store gets one update for each transfer from inside; what meets a sum that is there already
 * is read first. When a tile leaves before its sum is whole, it comes back later, at the width of a sum.
 *
 * The stall formulas are those of Mei et al. (ZigZag, IEEE TC 70, 2021, section IV; "A uniform latency
 * model for DNN accelerators with diverse architectures and dataflows", DATE 2022): of each port, each way
 * of an operand needs `real` cycles of a window of `allowed` ones in each period. Counting by scalars,
 * blocks and networks follows Timeloop (Parashar et al., ISPASS 2019), hops AccelForge's mesh. */
#include "sim/array/nest_parts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/base/num.h"

const struct ll_array_rules ll_array_rules_leadline = {
    .latches = true, .drains_are_read = true, .halo_stays = true, .halo_shared = true, .gated = false};
const struct ll_array_rules ll_array_rules_timeloop = {
    .latches_behind_network = true, .halo_stays = true, .spans = true, .steady = true};
const struct ll_array_rules ll_array_rules_zigzag = {.latches = true,
                                                     .drains_are_read = true,
                                                     .sums_start_read = true,
                                                     .halo_shared = true,
                                                     .loads_in_turn = true,
                                                     .serial_apart = true,
                                                     .floors = true,
                                                     .gated = true};

/* --- problems --- */

void ll_array_prepare(struct ll_array_problem *problem)
{
    problem->macs = 1;
    for (int d = 0; d < problem->dims; d++)
        problem->macs *= (double)problem->of[d];
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        const struct ll_array_operand *operand = &problem->operand[o];
        problem->indexes[o] = problem->windows[o] = 0;
        for (int r = 0; r < operand->ranks; r++)
            for (int t = 0; t < operand->rank[r].terms; t++) {
                problem->indexes[o] |= 1u << operand->rank[r].dim[t];
                problem->windows[o] |= (uint32_t)(operand->rank[r].terms > 1) << operand->rank[r].dim[t];
            }
    }
}

/* A rank of one dimension. */
static void index_by(struct ll_array_operand *operand, uint8_t dim)
{
    operand->rank[operand->ranks++] = (struct ll_array_rank){.terms = 1, .dim = {dim}, .step = {1}};
}

static uint8_t add_dim(struct ll_array_problem *problem, const char *name, uint64_t of)
{
    assert(problem->dims < LL_ARRAY_DIMS && strlen(name) < sizeof *problem->name);
    problem->of[problem->dims] = of;
    memcpy(problem->name[problem->dims], name, strlen(name) + 1);
    return problem->dims++;
}

struct ll_array_problem ll_array_gemm(uint64_t batch, uint64_t m, uint64_t n, uint64_t k)
{
    struct ll_array_problem problem = {.dims = 0};
    uint8_t b = add_dim(&problem, "B", batch), of_m = add_dim(&problem, "M", m),
            of_n = add_dim(&problem, "N", n), of_k = add_dim(&problem, "K", k);
    const uint8_t sides[LL_OPERAND_COUNT][2] = {{of_m, of_k}, {of_k, of_n}, {of_m, of_n}};
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        index_by(&problem.operand[o], b);
        index_by(&problem.operand[o], sides[o][0]);
        index_by(&problem.operand[o], sides[o][1]);
    }
    ll_array_prepare(&problem);
    return problem;
}

struct ll_array_problem ll_array_conv(const struct ll_conv *conv)
{
    static const char *const names[LL_LOOP_COUNT] = {"G", "B", "K", "C", "OY", "OX", "FY", "FX"};
    const uint64_t of[LL_LOOP_COUNT] = {conv->groups,
                                        conv->batch,
                                        conv->out_c / conv->groups,
                                        conv->in_c / conv->groups,
                                        conv->out_h,
                                        conv->out_w,
                                        conv->kernel_h,
                                        conv->kernel_w};
    const uint64_t steps[2][2] = {{ll_max(1, conv->stride_h), ll_max(1, conv->dilation_h)},
                                  {ll_max(1, conv->stride_w), ll_max(1, conv->dilation_w)}};
    static const uint8_t image[] = {LL_LOOP_G, LL_LOOP_B, LL_LOOP_C},
                         filter[] = {LL_LOOP_G, LL_LOOP_K, LL_LOOP_C, LL_LOOP_FY, LL_LOOP_FX},
                         result[] = {LL_LOOP_G, LL_LOOP_B, LL_LOOP_K, LL_LOOP_OY, LL_LOOP_OX};
    struct ll_array_problem problem = {.dims = 0};
    for (int d = 0; d < LL_LOOP_COUNT; d++)
        add_dim(&problem, names[d], of[d]);
    for (size_t i = 0; i < sizeof image; i++)
        index_by(&problem.operand[LL_OPERAND_A], image[i]);
    for (size_t i = 0; i < sizeof filter; i++)
        index_by(&problem.operand[LL_OPERAND_B], filter[i]);
    for (size_t i = 0; i < sizeof result; i++)
        index_by(&problem.operand[LL_OPERAND_C], result[i]);
    struct ll_array_operand *a = &problem.operand[LL_OPERAND_A];
    for (int i = 0; i < 2; i++)
        a->rank[a->ranks++] =
            (struct ll_array_rank){.terms = 2,
                                   .dim = {i ? LL_LOOP_OX : LL_LOOP_OY, i ? LL_LOOP_FX : LL_LOOP_FY},
                                   .step = {steps[i][0], steps[i][1]},
                                   .extent = i ? conv->in_w : conv->in_h};
    ll_array_prepare(&problem);
    return problem;
}

/* --- tiles --- */

/* Words of a tile with so many iterations of each dimension. */
static double words_of(const struct ll_array_walk *w, enum ll_operand o, const double by[LL_ARRAY_DIMS])
{
    const struct ll_array_operand *operand = &w->problem->operand[o];
    double words = 1;
    for (int r = 0; r < operand->ranks; r++) {
        const struct ll_array_rank *rank = &operand->rank[r];
        double all = 1, span = 1;
        for (int t = 0; t < rank->terms; t++) {
            all *= by[rank->dim[t]];
            span += (double)rank->step[t] * (by[rank->dim[t]] - 1);
        }
        double side = rank->terms == 1 && !w->array->rules.spans ? all
                      : w->array->rules.spans                    ? span
                                                                 : floor(fmin(all, span) + 1e-9);
        words *= rank->extent > 0 ? fmin(side, (double)rank->extent) : side;
    }
    return words;
}

static void by_loops(const struct ll_array_walk *w, uint8_t held, double by[LL_ARRAY_DIMS])
{
    for (int i = 0; i < held; i++)
        by[w->mapping->loop[i].dim] *= (double)w->mapping->loop[i].by;
}

static void by_axes(const struct ll_array_walk *w, uint32_t axes, double by[LL_ARRAY_DIMS])
{
    for (int i = 0; i < w->mapping->unrolls; i++)
        if (axes >> w->mapping->unroll[i].axis & 1)
            by[w->mapping->unroll[i].dim] *= w->by[i];
}

static void ones(double by[LL_ARRAY_DIMS])
{
    for (int d = 0; d < LL_ARRAY_DIMS; d++)
        by[d] = 1;
}

/* Distinct tiles side by side along axes of which `outer` has all and `inner` some. Where windows overlap,
 * the words of both count once. */
static double tiles_beside(const struct ll_array_walk *w, enum ll_operand o, uint32_t inner, uint32_t outer)
{
    double within[LL_ARRAY_DIMS], all[LL_ARRAY_DIMS], many = 1;
    if (!w->array->rules.halo_shared) {
        for (int i = 0; i < w->mapping->unrolls; i++)
            if ((outer & ~inner) >> w->mapping->unroll[i].axis & 1 &&
                ll_array_indexes(w, o, w->mapping->unroll[i].dim))
                many *= w->by[i];
        return many;
    }
    ones(within);
    ones(all);
    by_axes(w, inner, within);
    by_axes(w, outer, all);
    return words_of(w, o, all) / words_of(w, o, within);
}

static double product_of(const struct ll_array_walk *w, int from, int to)
{
    double all = 1;
    for (int i = from; i < to; i++)
        all *= (double)w->mapping->loop[i].by;
    return all;
}

/* Loops held and those directly outside that the operand does not index. */
static uint8_t lasting(const struct ll_array_walk *w, enum ll_operand o, uint8_t held)
{
    while (held < w->mapping->loops &&
           (w->mapping->loop[held].by == 1 || !ll_array_indexes(w, o, w->mapping->loop[held].dim)))
        held++;
    return held;
}

/* Whether the innermost store of an operand feeds several elements. */
static bool network_inside(const struct ll_array_walk *w, uint32_t axes)
{
    double many = 1;
    for (int i = 0; i < w->mapping->unrolls; i++)
        many *= axes >> w->mapping->unroll[i].axis & 1 ? w->by[i] : 1;
    return many > 1;
}

static void find_chain(struct ll_array_walk *w, enum ll_operand o)
{
    struct ll_array_chain *chain = &w->chain[o];
    const struct ll_array *array = w->array;
    double each = ll_array_port_cycles_each(array);
    chain->count = 0;
    chain->held[0] = 0;
    chain->axes[0] = 0;
    for (uint8_t s = 0; s < array->stores; s++) {
        if (!w->mapping->keeps[o][s])
            continue;
        chain->store[chain->count++] = s;
        chain->held[chain->count] = w->mapping->holds[o][s];
        chain->axes[chain->count] = array->store[s].serves;
    }
    chain->held[chain->count] = w->mapping->loops;
    bool latched =
        o != LL_OPERAND_C &&
        (array->rules.latches || (array->rules.latches_behind_network && network_inside(w, chain->axes[1])));
    for (int i = 0; i <= chain->count; i++) {
        double by[LL_ARRAY_DIMS];
        ones(by);
        by_loops(w, chain->held[i], by);
        by_axes(w, chain->axes[i], by);
        chain->tile[i] = words_of(w, o, by);
        chain->lasting[i] = i > 0 || latched ? lasting(w, o, chain->held[i]) : 0;
        chain->period[i] = each * product_of(w, 0, chain->lasting[i]);
        if (i < chain->count)
            chain->beside[i] = tiles_beside(w, o, chain->axes[i], chain->axes[i + 1]);
    }
}

/* --- words --- */

/* Whether loops that a result is summed over run outside: further than `held` loops, or over axes that are
 * not served. */
bool ll_array_is_partial(const struct ll_array_walk *w, uint8_t held, uint32_t axes)
{
    for (int i = held; i < w->mapping->loops; i++)
        if (w->mapping->loop[i].by > 1 && !ll_array_indexes(w, LL_OPERAND_C, w->mapping->loop[i].dim))
            return true;
    for (int i = 0; i < w->mapping->unrolls; i++)
        if (!(axes >> w->mapping->unroll[i].axis & 1) && w->by[i] > 1 &&
            !ll_array_indexes(w, LL_OPERAND_C, w->mapping->unroll[i].dim))
            return true;
    return false;
}

/* Of all words that tiles of place i have, transfer by transfer, those that are new: where the innermost loop
 * outside moves a window by less than its width, the rest is there already. */
static double new_words(const struct ll_array_walk *w, enum ll_operand o, int i)
{
    const struct ll_array_chain *chain = &w->chain[o];
    double transfers = w->cycles / chain->period[i], words = chain->tile[i] * transfers;
    uint8_t next = chain->held[i];
    while (next < w->mapping->loops && w->mapping->loop[next].by == 1)
        next++;
    if (!w->array->rules.halo_stays || next >= w->mapping->loops)
        return words;
    const struct ll_array_loop *loop = &w->mapping->loop[next];
    if (!(w->problem->windows[o] >> loop->dim & 1))
        return words;
    double by[LL_ARRAY_DIMS];
    ones(by);
    by_loops(w, chain->held[i], by);
    by_axes(w, chain->axes[i], by);
    double tile = words_of(w, o, by);
    by[loop->dim] *= (double)loop->by;
    double together = words_of(w, o, by), apart = tile * (double)loop->by;
    return words * (fmin(together, apart) / apart);
}

static struct ll_array_moves *moves_of(const struct ll_array_walk *w, enum ll_operand o, int i,
                                       enum ll_array_way way)
{
    return &w->cost->moves[o][w->chain[o].store[i - 1]][way];
}

static void set_moves(const struct ll_array_walk *w, enum ll_operand o, int place, enum ll_array_way way,
                      double amount, double period, double words, double bits)
{
    *moves_of(w, o, place, way) = (struct ll_array_moves){
        .words = words, .bits = bits, .amount = amount, .transfers = w->cycles / period, .period = period};
}

/* Inputs come inwards: each boundary between place i and the store outside of it. */
static void count_input(const struct ll_array_walk *w, enum ll_operand o)
{
    const struct ll_array_chain *chain = &w->chain[o];
    double bits = w->problem->operand[o].bits;
    for (int i = 0; i < chain->count; i++) {
        double words = new_words(w, o, i);
        if (i > 0)
            set_moves(w, o, i, LL_ARRAY_FILL, chain->tile[i], chain->period[i], words, bits);
        set_moves(w, o, i + 1, LL_ARRAY_READ, chain->tile[i] * chain->beside[i], chain->period[i],
                  words * chain->beside[i], bits);
    }
}

/* Words of the result that an instance of place i ever sees. */
static double distinct_words(const struct ll_array_walk *w, int i)
{
    double by[LL_ARRAY_DIMS];
    ones(by);
    by_loops(w, w->mapping->loops, by);
    by_axes(w, w->chain[LL_OPERAND_C].axes[i], by);
    return words_of(w, LL_OPERAND_C, by);
}

/* Results go outwards, and partial sums come back. */
static void count_result(const struct ll_array_walk *w)
{
    const enum ll_operand o = LL_OPERAND_C;
    const struct ll_array_chain *chain = &w->chain[o];
    const struct ll_array_operand *operand = &w->problem->operand[o];
    bool from_zero = !w->array->rules.sums_start_read;
    for (int i = 0; i < chain->count; i++) {
        double drained = chain->tile[i] * (w->cycles / chain->period[i]);
        bool again = ll_array_is_partial(w, chain->lasting[i], chain->axes[i + 1]);
        double bits = again ? operand->sum_bits : operand->bits;
        double back = !again ? 0 : from_zero ? fmax(0, drained - distinct_words(w, i)) : drained;
        double outer = drained * chain->beside[i];
        double back_outer = !again ? 0 : from_zero ? fmax(0, outer - distinct_words(w, i + 1)) : outer;
        if (i > 0) {
            set_moves(w, o, i, LL_ARRAY_DRAIN, chain->tile[i], chain->period[i], drained, bits);
            if (again)
                set_moves(w, o, i, LL_ARRAY_FILL, chain->tile[i], chain->period[i], back, operand->sum_bits);
        }
        double amount = chain->tile[i] * chain->beside[i];
        set_moves(w, o, i + 1, LL_ARRAY_UPDATE, amount, chain->period[i], outer, bits);
        if (again)
            set_moves(w, o, i + 1, LL_ARRAY_READ, amount, chain->period[i], back_outer, operand->sum_bits);
    }
}

static void walk_all(struct ll_array_walk *w, bool whole)
{
    const struct ll_array_mapping *mapping = w->mapping;
    w->cycles = ll_array_port_cycles_each(w->array) * product_of(w, 0, mapping->loops);
    for (int i = 0; i < mapping->unrolls; i++)
        w->by[i] = !whole                   ? mapping->unroll[i].by
                   : w->array->rules.floors ? fmax(1, floor(mapping->unroll[i].by + 1e-9))
                                            : ceil(mapping->unroll[i].by - 1e-9);
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        memset(w->cost->moves[o], 0, w->array->stores * sizeof *w->cost->moves[o]);
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        find_chain(w, o);
    count_input(w, LL_OPERAND_A);
    count_input(w, LL_OPERAND_B);
    count_result(w);
}

/* --- energy --- */

static const struct ll_array_port *port_of(const struct ll_array_store *store, enum ll_operand o,
                                           enum ll_array_way way)
{
    for (int p = 0; p < store->ports; p++)
        if (store->port[p].serves[o] >> way & 1)
            return &store->port[p];
    return NULL;
}

/* Accesses at full width of one instance. */
static double accesses_of(const struct ll_array_store *store, enum ll_operand o, enum ll_array_way way,
                          const struct ll_array_moves *m)
{
    const struct ll_array_port *port = port_of(store, o, way);
    double width = port && store->width_bits == 0 ? port->width_bits : store->width_bits;
    double least = port && store->width_bits == 0 ? port->min_bits : store->min_bits;
    if (m->words == 0)
        return 0;
    if (width == 0)
        return m->words;
    double tiles = m->words / m->amount;
    if (store->coalesces)
        return ceil(m->words * m->bits / width - 1e-9);
    return tiles * ceil(m->amount * m->bits / least - 1e-9) * (least / width);
}

static double access_j(const struct ll_array *array, const struct ll_array_store *store,
                       enum ll_array_way way)
{
    switch (way) {
    case LL_ARRAY_READ:
        return store->read_j;
    case LL_ARRAY_DRAIN:
        return array->rules.drains_are_read ? store->read_j : 0;
    case LL_ARRAY_FILL:
        return store->write_j;
    default:
        return store->update_j;
    }
}

/* Bits times hops of one transfer between an upper instance and all that it serves, on a mesh: copies go from
 * element to element, distinct words each to their own (AccelForge, symbolic network model). */
static double bit_hops(const struct ll_array_walk *w, enum ll_operand o, uint32_t between, double bits)
{
    double hops = 0, stride[LL_ARRAY_AXES];
    for (int a = 0; a < LL_ARRAY_AXES; a++)
        stride[a] = 1;
    for (int i = 0; i < w->mapping->unrolls; i++) {
        const struct ll_array_unroll *u = &w->mapping->unroll[i];
        double n = w->by[i];
        if (!(between >> u->axis & 1))
            continue;
        bool distinct = ll_array_indexes(w, o, u->dim);
        hops = hops * n + (distinct ? n * (n - 1) / 2 : n - 1) * stride[u->axis] * bits;
        bits *= distinct ? n : 1;
        stride[u->axis] *= n;
    }
    return hops;
}

static double used_instances(const struct ll_array_walk *w, uint32_t serves)
{
    double used = 1;
    for (int i = 0; i < w->mapping->unrolls; i++)
        used *= serves >> w->mapping->unroll[i].axis & 1 ? 1 : w->by[i];
    return used;
}

/* Instances whose accesses are told apart. */
static double accessed_instances(const struct ll_array_store *store, double used)
{
    return store->cluster > 1 ? fmin(used, ceil(store->instances / store->cluster - 1e-9)) : used;
}

static void count_network(const struct ll_array_walk *w, enum ll_operand o)
{
    const struct ll_array_chain *chain = &w->chain[o];
    for (int i = 0; i < chain->count && w->array->hop_j > 0; i++) {
        const struct ll_array_moves *in = moves_of(w, o, i + 1, LL_ARRAY_READ),
                                    *out = moves_of(w, o, i + 1, LL_ARRAY_UPDATE);
        uint32_t between = chain->axes[i + 1] & ~chain->axes[i];
        double upper = used_instances(w, chain->axes[i + 1]);
        for (int k = 0; k < 2; k++) {
            const struct ll_array_moves *m = k ? out : in;
            if (m->words > 0)
                w->cost->network_j += bit_hops(w, o, between, chain->tile[i] * m->bits) *
                                      (m->words / m->amount) * upper * w->array->hop_j;
        }
    }
}

/* Accesses, the energy of them, of arithmetic and of hops; leakage needs the cycles. */
static void count_energy(struct ll_array_walk *w)
{
    struct ll_array_cost *cost = w->cost;
    const struct ll_array *array = w->array;
    cost->network_j = 0;
    for (uint8_t s = 0; s < array->stores; s++) {
        const struct ll_array_store *store = &array->store[s];
        cost->used[s] = used_instances(w, store->serves);
        cost->store_j[s] = cost->held_bits[s] = 0;
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++) {
                struct ll_array_moves *m = &cost->moves[o][s][way];
                m->accesses = accesses_of(store, o, way, m) * accessed_instances(store, cost->used[s]);
                m->energy_j = m->accesses * access_j(array, store, way);
                cost->store_j[s] += m->energy_j;
            }
    }
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        count_network(w, o);
        for (int i = 0; i < w->chain[o].count; i++)
            cost->tile_words[o][w->chain[o].store[i]] = w->chain[o].tile[i + 1];
    }
    cost->mac_j = w->problem->macs * array->mac_j;
}

/* Bits that an operand has in a store: its result at full width while sums are not whole outside of it. */
double ll_array_held_bits(const struct ll_array_walk *w, enum ll_operand o, int place)
{
    const struct ll_array_chain *chain = &w->chain[o];
    const struct ll_array_operand *operand = &w->problem->operand[o];
    bool partial = o == LL_OPERAND_C && place < chain->count &&
                   ll_array_is_partial(w, chain->lasting[place], chain->axes[place + 1]);
    return chain->tile[place] * (partial ? operand->sum_bits : operand->bits);
}

/* Bits that it takes of the store's room: sums are wide as long as something is added to them there. */
double ll_array_room_bits(const struct ll_array_walk *w, enum ll_operand o, int place)
{
    const struct ll_array_chain *chain = &w->chain[o];
    const struct ll_array_operand *operand = &w->problem->operand[o];
    bool adding = o == LL_OPERAND_C && ll_array_is_partial(w, chain->lasting[place - 1], chain->axes[place]);
    return chain->tile[place] * (adding ? operand->sum_bits : operand->bits);
}

double ll_array_operand_j(const struct ll_array *array, const struct ll_array_problem *problem,
                          const struct ll_array_mapping *mapping, enum ll_operand o,
                          double held[LL_ARRAY_STORES])
{
    struct ll_array_cost cost; /* of which only this operand's moves are looked at */
    struct ll_array_walk w = {.array = array, .problem = problem, .mapping = mapping, .cost = &cost};
    double sum_j = 0;
    w.cycles = ll_array_port_cycles_each(array) * product_of(&w, 0, mapping->loops);
    for (int i = 0; i < mapping->unrolls; i++)
        w.by[i] = mapping->unroll[i].by;
    find_chain(&w, o);
    cost.network_j = 0;
    for (int i = 0; i < w.chain[o].count; i++)
        memset(cost.moves[o][w.chain[o].store[i]], 0, sizeof cost.moves[o][w.chain[o].store[i]]);
    if (o == LL_OPERAND_C)
        count_result(&w);
    else
        count_input(&w, o);
    count_network(&w, o);
    for (uint8_t s = 0; s < array->stores; s++)
        held[s] = 0;
    for (int i = 1; i <= w.chain[o].count; i++) {
        uint8_t s = w.chain[o].store[i - 1];
        double used = accessed_instances(&array->store[s], used_instances(&w, array->store[s].serves));
        held[s] = ll_array_room_bits(&w, o, i);
        for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++)
            sum_j += accesses_of(&array->store[s], o, way, &cost.moves[o][s][way]) * used *
                     access_j(array, &array->store[s], way);
    }
    return sum_j + cost.network_j;
}

static void add_leakage(const struct ll_array *array, struct ll_array_cost *cost)
{
    cost->leak_j = 0;
    cost->energy_j = cost->mac_j + cost->network_j;
    for (uint8_t s = 0; s < array->stores; s++) {
        const struct ll_array_store *store = &array->store[s];
        double leak_j =
            store->leak_j * cost->cycles * (array->rules.gated ? cost->used[s] : store->instances);
        cost->leak_j += leak_j;
        cost->store_j[s] += leak_j;
        cost->energy_j += cost->store_j[s];
    }
}

static bool divides_evenly(const struct ll_array_mapping *mapping)
{
    for (int i = 0; i < mapping->unrolls; i++)
        if (mapping->unroll[i].by != floor(mapping->unroll[i].by))
            return false;
    return true;
}

void ll_array_evaluate(const struct ll_array *array, const struct ll_array_problem *problem,
                       const struct ll_array_mapping *mapping, struct ll_array_cost *cost)
{
    struct ll_array_walk w = {.array = array, .problem = problem, .mapping = mapping, .cost = cost};
    assert(array->stores > 0 && array->stores <= LL_ARRAY_STORES && mapping->loops <= LL_ARRAY_LOOPS);
    walk_all(&w, false);
    count_energy(&w);
    if (!divides_evenly(mapping)) {
        struct ll_array_cost whole;
        struct ll_array_walk by_whole = {
            .array = array, .problem = problem, .mapping = mapping, .cost = &whole};
        memset(whole.held_bits, 0, sizeof whole.held_bits);
        walk_all(&by_whole, true);
        ll_array_time(&by_whole);
        memcpy(cost->held_bits, whole.held_bits, sizeof cost->held_bits);
        memcpy(cost->busy_cycles, whole.busy_cycles, sizeof cost->busy_cycles);
        cost->compute_cycles = whole.compute_cycles;
        cost->stall_cycles = whole.stall_cycles;
        cost->load_cycles = whole.load_cycles;
        cost->drain_cycles = whole.drain_cycles;
        cost->cycles = whole.cycles;
        cost->utilization = whole.utilization;
        cost->slowest = whole.slowest;
        cost->fits = whole.fits;
    } else {
        ll_array_time(&w);
    }
    add_leakage(array, cost);
}

/* --- checks --- */

static const char *check_unrolls(const struct ll_array *array, const struct ll_array_mapping *mapping)
{
    double along[LL_ARRAY_AXES];
    for (int a = 0; a < LL_ARRAY_AXES; a++)
        along[a] = 1;
    for (int i = 0; i < mapping->unrolls; i++) {
        if (mapping->unroll[i].axis >= array->axes)
            return "a loop is unrolled over an axis that the array does not have";
        along[mapping->unroll[i].axis] *= ceil(mapping->unroll[i].by - 1e-9);
    }
    for (int a = 0; a < array->axes; a++)
        if (along[a] > (double)array->axis[a])
            return "loops unrolled over an axis are more than its elements";
    return NULL;
}

static const char *check_loops(const struct ll_array_problem *problem, const struct ll_array_mapping *mapping)
{
    double covered[LL_ARRAY_DIMS];
    for (int d = 0; d < LL_ARRAY_DIMS; d++)
        covered[d] = 1;
    for (int i = 0; i < mapping->loops; i++)
        covered[mapping->loop[i].dim] *= (double)mapping->loop[i].by;
    for (int i = 0; i < mapping->unrolls; i++)
        covered[mapping->unroll[i].dim] *= mapping->unroll[i].by;
    for (int d = 0; d < problem->dims; d++)
        if (covered[d] < (double)problem->of[d] * (1 - 1e-9))
            return "loops of a dimension do not make up its size";
    return NULL;
}

static const char *check_stores(const struct ll_array *array, const struct ll_array_mapping *mapping)
{
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        uint8_t held = 0;
        if (!mapping->keeps[o][array->stores - 1])
            return "the outermost store keeps all operands";
        for (uint8_t s = 0; s < array->stores; s++) {
            if (!mapping->keeps[o][s])
                continue;
            if (!array->store[s].holds[o])
                return "a store keeps an operand that it does not hold";
            if (mapping->holds[o][s] < held || mapping->holds[o][s] > mapping->loops)
                return "a store holds fewer loops than one further in";
            held = mapping->holds[o][s];
        }
    }
    return NULL;
}

bool ll_array_mapping_check(const struct ll_array *array, const struct ll_array_problem *problem,
                            const struct ll_array_mapping *mapping, const char **why)
{
    *why = check_loops(problem, mapping);
    if (!*why)
        *why = check_unrolls(array, mapping);
    if (!*why)
        *why = check_stores(array, mapping);
    return *why == NULL;
}

/* --- bounds --- */

struct ll_array_bound ll_array_least(const struct ll_array *array, const struct ll_array_problem *problem)
{
    const struct ll_array_mapping all = {.loops = 0};
    struct ll_array_walk w = {.array = array, .problem = problem, .mapping = &all};
    const struct ll_array_store *outermost = &array->store[array->stores - 1];
    struct ll_array_bound bound = {.energy_j = problem->macs * array->mac_j};
    double elements = 1, by[LL_ARRAY_DIMS], busy[LL_ARRAY_PORTS] = {0};
    for (int a = 0; a < array->axes; a++)
        elements *= (double)array->axis[a];
    for (int d = 0; d < problem->dims; d++)
        by[d] = (double)problem->of[d];
    bound.cycles = problem->macs / elements * ll_array_cycles_each(array);
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        enum ll_array_way way = o == LL_OPERAND_C ? LL_ARRAY_UPDATE : LL_ARRAY_READ;
        double bits = words_of(&w, o, by) * problem->operand[o].bits;
        const struct ll_array_port *port = port_of(outermost, o, way);
        double width = outermost->width_bits > 0 ? outermost->width_bits : port ? port->width_bits : bits;
        bound.energy_j += bits / width * access_j(array, outermost, way);
        if (port)
            busy[port - outermost->port] += bits / port->width_bits;
    }
    for (int p = 0; p < outermost->ports; p++)
        bound.cycles = fmax(bound.cycles, busy[p]);
    return bound;
}
