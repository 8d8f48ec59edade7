/* SPDX-License-Identifier: Apache-2.0 */
/* The search for a mapping: unrollings, then orders, then stores. */
#include "sim/array/search.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "tracer/base/num.h"

/* Unrollings that are searched, those of fewest passes first; points of an operand's front; evaluations of
 * all unrollings together. */
enum {
    MOST_UNROLLINGS = 8,
    MOST_POINTS = 24,
    FEW_POINTS = 12,
    MOST_STEPS = 6,
    MOST_EVALUATIONS = 2000000,
    MOST_PRIMES = 64
};

struct unrolling {
    struct ll_array_unroll unroll[LL_ARRAY_AXES * 2];
    uint8_t count;
    double passes; /* temporal iterations that are left */
};

/* One operand's choice of stores under an order: its energy, and the room that it takes. */
struct point {
    uint8_t holds[LL_ARRAY_STORES];
    bool keeps[LL_ARRAY_STORES];
    double energy_j, bits[LL_ARRAY_STORES];
};

struct front {
    struct point point[MOST_POINTS];
    uint8_t count;
};

struct search {
    const struct ll_array *array;
    const struct ll_array_problem *problem;
    const struct ll_array_limits *limits;
    enum ll_array_aim aim;
    struct ll_array_found *found;
    double second; /* by which equals are told apart */
    struct unrolling unrollings[MOST_UNROLLINGS];
    int unrolling_count;
    struct ll_array_loop factor[MOST_PRIMES]; /* of what is left to run in time */
    int factors;
    struct ll_array_mapping tried;
    struct front front[LL_OPERAND_COUNT];
    uint64_t limit;          /* evaluations after which the next unrolling is tried */
    bool any, cut, keep_all; /* each store keeps all that it holds */
    bool partial;            /* something was left out but for want of evaluations */
};

/* --- objectives --- */

static double outermost_bits(const struct search *s, const struct ll_array_cost *cost)
{
    double bits = 0;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++) {
            const struct ll_array_moves *m = &cost->moves[o][s->array->stores - 1][way];
            bits += m->words * m->bits;
        }
    return bits;
}

static void judge(struct search *s, const struct ll_array_cost *cost)
{
    double aims[] = {[LL_ARRAY_TIME] = cost->cycles,
                     [LL_ARRAY_ENERGY] = cost->energy_j,
                     [LL_ARRAY_EDP] = cost->energy_j * cost->cycles,
                     [LL_ARRAY_TRAFFIC] = outermost_bits(s, cost)};
    double first = aims[s->aim], second = s->aim == LL_ARRAY_TIME ? cost->energy_j : cost->cycles;
    if (s->any && (first > s->found->objective || (first == s->found->objective && second >= s->second)))
        return;
    s->any = true;
    s->found->objective = first;
    s->second = second;
    s->found->mapping = s->tried;
    s->found->cost = *cost;
}

/* --- unrollings --- */

static bool may_unroll(const struct search *s, int way, uint8_t dim, uint8_t axis)
{
    const struct ll_array_limits *l = s->limits;
    return !l || l->ways == 0 || l->over[way][dim] >> axis & 1;
}

static double passes_of(const struct ll_array_problem *problem, const struct unrolling *u)
{
    double passes = 1, along[LL_ARRAY_DIMS];
    for (int d = 0; d < LL_ARRAY_DIMS; d++)
        along[d] = 1;
    for (int i = 0; i < u->count; i++)
        along[u->unroll[i].dim] *= u->unroll[i].by;
    for (int d = 0; d < problem->dims; d++)
        passes *= ceil((double)problem->of[d] / along[d] - 1e-9);
    return passes;
}

static bool same_unrolling(const struct unrolling *one, const struct unrolling *other)
{
    if (one->count != other->count)
        return false;
    for (int i = 0; i < one->count; i++)
        if (one->unroll[i].dim != other->unroll[i].dim || one->unroll[i].axis != other->unroll[i].axis ||
            one->unroll[i].by != other->unroll[i].by)
            return false;
    return true;
}

/* Keeps those with fewest passes, the first of equals. */
static void keep_unrolling(struct search *s, struct unrolling u)
{
    u.passes = passes_of(s->problem, &u);
    int at = s->unrolling_count;
    for (int i = 0; i < s->unrolling_count; i++)
        if (same_unrolling(&s->unrollings[i], &u))
            return;
    while (at > 0 && s->unrollings[at - 1].passes > u.passes)
        at--;
    s->partial = s->partial || s->unrolling_count == MOST_UNROLLINGS;
    if (at == MOST_UNROLLINGS)
        return;
    int last = s->unrolling_count < MOST_UNROLLINGS ? s->unrolling_count++ : MOST_UNROLLINGS - 1;
    for (int i = last; i > at; i--)
        s->unrollings[i] = s->unrollings[i - 1];
    s->unrollings[at] = u;
}

static uint64_t left_of(const struct search *s, const struct unrolling *u, uint8_t dim)
{
    double left = (double)s->problem->of[dim];
    for (int i = 0; i < u->count; i++)
        left = u->unroll[i].dim == dim ? ceil(left / u->unroll[i].by - 1e-9) : left;
    return (uint64_t)left;
}

static void unroll_axis(struct search *s, int way, uint8_t axis, struct unrolling u);

/* One loop over the axis, or, where it leaves room, a second one. */
static void unroll_dims(struct search *s, int way, uint8_t axis, const struct unrolling *u, uint64_t room,
                        bool again)
{
    for (uint8_t d = 0; d < s->problem->dims; d++) {
        uint64_t by = ll_min(left_of(s, u, d), room);
        if (by <= 1 || !may_unroll(s, way, d, axis))
            continue;
        struct unrolling next = *u;
        next.unroll[next.count++] = (struct ll_array_unroll){d, axis, (double)by};
        if (again && room / by > 1)
            unroll_dims(s, way, axis, &next, room / by, false);
        unroll_axis(s, way, (uint8_t)(axis + 1), next);
    }
}

static void unroll_axis(struct search *s, int way, uint8_t axis, struct unrolling u)
{
    if (axis == s->array->axes) {
        keep_unrolling(s, u);
        return;
    }
    unroll_dims(s, way, axis, &u, s->array->axis[axis], s->array->axes <= 3);
    unroll_axis(s, way, (uint8_t)(axis + 1), u);
}

/* Loops that are given over axes. False where none is. */
static bool unroll_given(struct search *s)
{
    struct unrolling u = {.count = 0};
    for (uint8_t a = 0; s->limits && s->limits->any && a < s->array->axes; a++)
        for (uint8_t d = 0; d < s->problem->dims; d++)
            if (s->limits->unrolled[a][d] > 1)
                u.unroll[u.count++] = (struct ll_array_unroll){d, a, (double)s->limits->unrolled[a][d]};
    if (u.count > 0)
        keep_unrolling(s, u);
    return u.count > 0;
}

/* --- factors --- */

/* Prime factors of what is left of each dimension; the two smallest of one dimension merge while there are
 * too many, smallest products first. */
static void find_factors(struct search *s, const struct unrolling *u)
{
    s->factors = 0;
    for (uint8_t d = 0; d < s->problem->dims; d++) {
        uint64_t left = left_of(s, u, d);
        for (uint64_t p = 2; left > 1; p += p == 2 ? 1 : 2) {
            if (p * p > left)
                p = left;
            for (; left % p == 0 && s->factors < MOST_PRIMES; left /= p)
                s->factor[s->factors++] = (struct ll_array_loop){d, p};
        }
    }
    while (s->factors > LL_ARRAY_FACTORS) {
        int one = -1, other = -1;
        uint64_t least = UINT64_MAX;
        for (int i = 0; i < s->factors; i++)
            for (int j = i + 1; j < s->factors; j++)
                if (s->factor[i].dim == s->factor[j].dim && s->factor[i].by * s->factor[j].by < least) {
                    least = s->factor[i].by * s->factor[j].by;
                    one = i;
                    other = j;
                }
        if (one < 0)
            return; /* a factor of each dimension */
        s->partial = true;
        s->factor[one].by = least;
        s->factor[other] = s->factor[--s->factors];
    }
}

/* --- stores --- */

/* Of equal energies the one that takes more room may be the faster one: it is loaded less often. */
static bool is_worse(const struct search *s, const struct point *one, const struct point *other)
{
    bool worse = s->aim == LL_ARRAY_ENERGY ? one->energy_j >= other->energy_j
                                           : one->energy_j > other->energy_j * (1 + 1e-12);
    for (int i = 0; i < s->array->stores && worse; i++)
        worse = one->bits[i] >= other->bits[i];
    return worse;
}

static void keep_point(struct search *s, struct front *front, const struct point *p)
{
    int kept = 0;
    for (int i = 0; i < front->count; i++)
        if (is_worse(s, p, &front->point[i]))
            return;
    for (int i = 0; i < front->count; i++)
        if (!is_worse(s, &front->point[i], p))
            front->point[kept++] = front->point[i];
    front->count = (uint8_t)kept;
    int at = kept;
    int most = s->aim == LL_ARRAY_ENERGY ? MOST_POINTS : FEW_POINTS;
    while (at > 0 && front->point[at - 1].energy_j > p->energy_j)
        at--;
    s->partial = s->partial || kept == most;
    if (at == most)
        return;
    int last = kept < most ? front->count++ : most - 1;
    for (int i = last; i > at; i--)
        front->point[i] = front->point[i - 1];
    front->point[at] = *p;
}

/* All ways to divide the loops of the order among the stores of an operand, from the innermost on. */
static void divide(struct search *s, enum ll_operand o, int store, uint8_t held)
{
    const struct ll_array *array = s->array;
    struct ll_array_mapping *m = &s->tried;
    if (store == array->stores - 1) {
        struct point p;
        m->keeps[o][store] = true;
        m->holds[o][store] = m->loops;
        p.energy_j = ll_array_operand_j(array, s->problem, m, o, p.bits);
        memcpy(p.keeps, m->keeps[o], sizeof p.keeps);
        memcpy(p.holds, m->holds[o], sizeof p.holds);
        s->found->evaluated++;
        for (int i = 0; i < array->stores; i++)
            if (p.bits[i] > array->store[i].size_bits)
                return;
        keep_point(s, &s->front[o], &p);
        return;
    }
    bool limited = s->limits && s->limits->any;
    bool must = limited && s->limits->keep[o][store];
    bool must_not = !array->store[store].holds[o] || (limited && s->limits->pass[o][store]);
    if (must_not || !(must || s->keep_all)) {
        m->keeps[o][store] = false;
        m->holds[o][store] = held;
        divide(s, o, store + 1, held);
    }
    for (uint8_t h = held; !must_not && h <= m->loops; h++) {
        m->keeps[o][store] = true;
        m->holds[o][store] = h;
        divide(s, o, store + 1, h);
    }
    m->keeps[o][store] = false;
}

static bool has_room(const struct search *s, const struct point *const p[LL_OPERAND_COUNT])
{
    for (int i = 0; i < s->array->stores; i++)
        if (p[0]->bits[i] + p[1]->bits[i] + p[2]->bits[i] > s->array->store[i].size_bits)
            return false;
    return true;
}

static bool respects(const struct search *s, const struct ll_array_mapping *m);

static void try_points(struct search *s, const struct point *const p[LL_OPERAND_COUNT])
{
    struct ll_array_cost cost;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        memcpy(s->tried.keeps[o], p[o]->keeps, sizeof p[o]->keeps);
        memcpy(s->tried.holds[o], p[o]->holds, sizeof p[o]->holds);
    }
    if (!respects(s, &s->tried))
        return;
    ll_array_evaluate(s->array, s->problem, &s->tried, &cost);
    if (cost.fits)
        judge(s, &cost);
}

static double iterations(const struct search *s)
{
    double all = 1;
    for (int i = 0; i < s->tried.loops; i++)
        all *= (double)s->tried.loop[i].by;
    return all;
}

/* Joins the fronts. What can be no better than the best is left out: leakage only adds energy, and no
 * mapping takes fewer cycles than its loops have iterations. Where time counts, only points that are near the
 * least energies together are looked at. */
static void join(struct search *s)
{
    double least = s->aim == LL_ARRAY_ENERGY ? 1 : s->aim == LL_ARRAY_EDP ? iterations(s) : 0;
    double mac_j = s->problem->macs * s->array->mac_j;
    int most = s->aim == LL_ARRAY_ENERGY ? 3 * MOST_POINTS : MOST_STEPS;
    s->partial = s->partial || s->front[0].count + s->front[1].count + s->front[2].count - 3 > most;
    for (int a = 0; a < s->front[0].count; a++)
        for (int b = 0; b < s->front[1].count && a + b <= most; b++)
            for (int c = 0; c < s->front[2].count && a + b + c <= most; c++) {
                const struct point *const p[] = {&s->front[0].point[a], &s->front[1].point[b],
                                                 &s->front[2].point[c]};
                s->found->evaluated++;
                double energy_j = mac_j + p[0]->energy_j + p[1]->energy_j + p[2]->energy_j;
                if (s->any && energy_j * least > s->found->objective * (1 + 1e-12))
                    break;
                if (has_room(s, p))
                    try_points(s, p);
            }
}

/* --- orders --- */

static void try_order(struct search *s)
{
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        s->front[o].count = 0;
        divide(s, o, 0, 0);
        if (s->front[o].count == 0)
            return;
    }
    join(s);
}

/* Whether factor i may come next: it was not used, nor is an equal one before it left. */
static bool is_next(const struct search *s, uint32_t used, int i)
{
    for (int j = 0; j < i; j++)
        if (!(used >> j & 1) && s->factor[j].dim == s->factor[i].dim && s->factor[j].by == s->factor[i].by)
            return false;
    return !(used >> i & 1);
}

/* All orders of the factors, from the innermost loop on, as long as there are evaluations left: what comes
 * next shares them evenly, so that where they do not suffice some of all kinds of order are looked at. */
static void try_orders(struct search *s, uint32_t used, uint64_t until)
{
    struct ll_array_mapping *m = &s->tried;
    uint64_t left = 0;
    if (m->loops == s->factors) {
        try_order(s);
        return;
    }
    for (int i = 0; i < s->factors; i++)
        left += is_next(s, used, i);
    for (int i = 0, tried = 0; i < s->factors; i++) {
        if (!is_next(s, used, i))
            continue;
        if (tried++ > 0 && s->found->evaluated >= until) {
            s->cut = true;
            return;
        }
        uint64_t here = s->found->evaluated, more = until > here ? until - here : 0;
        m->loop[m->loops++] = s->factor[i];
        try_orders(s, used | 1u << i, here + more / left--);
        m->loops--;
    }
}

/* Whether the loops of stores are those, and in that order, which the limits want. */
static bool respects(const struct search *s, const struct ll_array_mapping *m)
{
    const struct ll_array_limits *l = s->limits;
    if (!l || !l->any)
        return true;
    int from = 0;
    for (int store = 0; store < s->array->stores; store++) {
        int to = from;
        uint64_t by[LL_ARRAY_DIMS];
        for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
            to = m->keeps[o][store] && m->holds[o][store] > to ? m->holds[o][store] : to;
        for (int d = 0; d < LL_ARRAY_DIMS; d++)
            by[d] = 1;
        for (int i = from; i < to; i++)
            by[m->loop[i].dim] *= m->loop[i].by;
        for (int d = 0; d < s->problem->dims; d++)
            if (l->factor[store][d] > 0 && l->factor[store][d] != by[d])
                return false;
        for (int i = from, k = 0; i < to && k < l->ordered[store]; k++) {
            bool runs = by[l->order[store][k]] > 1;
            if (runs && m->loop[i].dim != l->order[store][k])
                return false;
            while (runs && i < to && m->loop[i].dim == l->order[store][k])
                i++;
        }
        from = to;
    }
    return true;
}

/* What loops make more than a dimension has, the one over its last axis lacks in the mean. */
static void even_out(const struct search *s, const struct unrolling *u, struct ll_array_unroll *unroll)
{
    for (int i = 0; i < u->count; i++) {
        uint8_t dim = u->unroll[i].dim;
        double all = (double)left_of(s, u, dim);
        bool last = true;
        for (int k = 0; k < u->count; k++) {
            all *= u->unroll[k].dim == dim ? u->unroll[k].by : 1;
            last = last && (u->unroll[k].dim != dim || u->unroll[k].axis <= u->unroll[i].axis);
        }
        unroll[i] = u->unroll[i];
        unroll[i].by *= last ? fmin(1, (double)s->problem->of[dim] / all) : 1;
    }
}

/* All orders and stores under each unrolling. */
static void try_unrollings(struct search *s)
{
    for (int i = 0; i < s->unrolling_count; i++) {
        const struct unrolling *u = &s->unrollings[i];
        if (s->aim == LL_ARRAY_TIME && s->any && u->passes > s->found->objective)
            continue;
        memset(&s->tried, 0, sizeof s->tried);
        find_factors(s, u);
        s->tried.unrolls = u->count;
        even_out(s, u, s->tried.unroll);
        try_orders(s, 0, s->found->evaluated + MOST_EVALUATIONS / (uint64_t)s->unrolling_count);
    }
}

/* Points are told apart by energy and room, not by time. So where time counts, mappings in which no store is
 * passed by are looked at first. */
bool ll_array_search(const struct ll_array *array, const struct ll_array_problem *problem,
                     const struct ll_array_limits *limits, enum ll_array_aim aim,
                     struct ll_array_found *found)
{
    struct search s = {.array = array, .problem = problem, .limits = limits, .aim = aim, .found = found};
    memset(found, 0, sizeof *found);
    found->objective = INFINITY;
    if (!unroll_given(&s))
        for (int way = 0; way == 0 || (limits && way < limits->ways); way++)
            unroll_axis(&s, way, 0, (struct unrolling){.count = 0});
    for (int pass = aim == LL_ARRAY_ENERGY; pass < 2; pass++) {
        s.keep_all = pass == 0;
        try_unrollings(&s);
    }
    found->cut = s.cut;
    found->complete = !s.cut && !s.partial;
    found->bound = ll_array_least(array, problem);
    found->bound_of_objective = aim == LL_ARRAY_TIME     ? found->bound.cycles
                                : aim == LL_ARRAY_ENERGY ? found->bound.energy_j
                                : aim == LL_ARRAY_EDP    ? found->bound.cycles * found->bound.energy_j
                                                         : 0;
    return s.any;
}
