/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a mapping: what ports have to do in each period, where elements wait, what comes before the
 * first cycle and goes behind the last. */
#include "sim/array/nest_parts.h"

#include <math.h>
#include <string.h>

/* What a port does for one way of an operand: `real` of `allowed` cycles in each period. */
struct duty {
    enum ll_operand operand;
    enum ll_array_way way;
    int place;
    double real, allowed, period, count;
};

struct timing {
    struct ll_array_walk *w;
    bool doubled[LL_OPERAND_COUNT]
                [LL_ARRAY_STORES + 1]; /* by place: the next tile comes while one is in use */
    /* Cycles until what a boundary moves is there, by place inside, the ends of both ports; and whether a port
     * serves both inputs. */
    double begins[LL_OPERAND_COUNT][LL_ARRAY_STORES + 1][2];
    bool both[LL_OPERAND_COUNT][LL_ARRAY_STORES + 1][2];
};

/* Loops at the outer end of what a place keeps that the operand indexes alone, or does not. */
static double outermost_loops(const struct ll_array_walk *w, enum ll_operand o, int place, bool indexed)
{
    const struct ll_array_chain *chain = &w->chain[o];
    double all = 1;
    int least = place > 0 ? chain->lasting[place - 1] : 0;
    for (int i = chain->lasting[place] - 1; i >= least; i--) {
        uint8_t dim = w->mapping->loop[i].dim;
        bool in = ll_array_indexes(w, o, dim), window = w->problem->windows[o] >> dim & 1;
        if (indexed ? !in || window : in)
            break;
        all *= (double)w->mapping->loop[i].by;
    }
    return all;
}

/* What each store holds, and where a second tile has room: a tile counts without the loops at its outer end,
 * for it is used up piece by piece. */
static void find_buffers(struct timing *t)
{
    struct ll_array_walk *w = t->w;
    static const enum ll_operand order[] = {LL_OPERAND_C, LL_OPERAND_B, LL_OPERAND_A};
    double needed[LL_ARRAY_STORES] = {0}, each[LL_OPERAND_COUNT][LL_ARRAY_STORES + 1];
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
        for (int i = 1; i <= w->chain[o].count; i++) {
            uint8_t s = w->chain[o].store[i - 1];
            double bits = ll_array_held_bits(w, o, i);
            each[o][i] = floor(bits / outermost_loops(w, o, i, true)) / w->array->store[s].size_bits;
            needed[s] += each[o][i];
            w->cost->held_bits[s] += ll_array_room_bits(w, o, i);
        }
    for (int k = 0; k < LL_OPERAND_COUNT; k++)
        for (int i = 1; i <= w->chain[order[k]].count; i++) {
            uint8_t s = w->chain[order[k]].store[i - 1];
            bool room = needed[s] <= 0.5, some = each[order[k]][i] <= 1 - needed[s];
            t->doubled[order[k]][i] = room || some;
            if (!room && some)
                needed[s] += each[order[k]][i];
        }
    w->cost->fits = true;
    for (uint8_t s = 0; s < w->array->stores; s++)
        w->cost->fits &= w->cost->held_bits[s] <= w->array->store[s].size_bits;
}

static double whole_cycles(const struct ll_array_walk *w, uint8_t s, double cycles)
{
    return w->array->store[s].coalesces || w->array->rules.steady ? cycles : ceil(cycles - 1e-9);
}

/* All that a port does. */
static int duties_of(struct timing *t, uint8_t s, const struct ll_array_port *port,
                     struct duty duties[LL_OPERAND_COUNT * LL_ARRAY_WAYS])
{
    const struct ll_array_walk *w = t->w;
    int count = 0;
    for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++) {
        int place = 0;
        for (int i = 1; i <= w->chain[o].count; i++)
            place = w->chain[o].store[i - 1] == s ? i : place;
        for (enum ll_array_way way = 0; place && way < LL_ARRAY_WAYS; way++) {
            const struct ll_array_moves *m = &w->cost->moves[o][s][way];
            bool inner = way == LL_ARRAY_READ || way == LL_ARRAY_UPDATE;
            int from = inner ? place - 1 : place;
            if (!(port->serves[o] >> way & 1) || m->transfers == 0 || m->amount == 0)
                continue;
            double real = whole_cycles(w, s, m->amount * m->bits / port->width_bits);
            double window =
                t->doubled[o][from] ? m->period : floor(m->period / outermost_loops(w, o, from, false));
            duties[count++] = (struct duty){o, way, place, real, window, m->period, m->transfers};
        }
    }
    return count;
}

/* Cycles among the first x in which some of the first `count` windows is open, which are sorted by period and
 * open at the beginning of each period. */
static double open_cycles(const struct duty *duties, int count, double x)
{
    if (count == 0 || x <= 0)
        return 0;
    const struct duty *d = &duties[count - 1];
    double whole = floor(x / d->period), rest = x - whole * d->period;
    double of_period = 0;
    if (whole > 0)
        of_period = d->allowed + open_cycles(duties, count - 1, d->period) -
                    open_cycles(duties, count - 1, fmin(d->allowed, d->period));
    double of_rest = rest <= d->allowed ? rest
                                        : d->allowed + open_cycles(duties, count - 1, rest) -
                                              open_cycles(duties, count - 1, d->allowed);
    return whole * of_period + of_rest;
}

static double window_union(const struct duty *duties, int count)
{
    struct duty sorted[LL_OPERAND_COUNT * LL_ARRAY_WAYS];
    for (int i = 0; i < count; i++) {
        int at = i;
        if (duties[i].period == duties[i].allowed)
            return duties[i].period * duties[i].count;
        for (; at > 0 && sorted[at - 1].period > duties[i].period; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = duties[i];
    }
    const struct duty *longest = &sorted[count - 1];
    return open_cycles(sorted, count, longest->period) * longest->count;
}

/* Cycles that elements wait for a port. */
static double port_stall(const struct duty *duties, int count)
{
    double longer = 0, shorter = 0, windows = 0;
    if (count == 1)
        return (duties->real - duties->allowed) * (duties->count - 1);
    for (int i = 0; i < count; i++) {
        double stall = (duties[i].real - duties[i].allowed) * (duties[i].count - 1);
        longer += fmax(0, stall);
        shorter += fmin(0, stall);
        windows += duties[i].allowed * (duties[i].count - 1);
    }
    return longer + fmax(0, shorter + windows - window_union(duties, count));
}

/* The steady state: each port for all its words, or computing, whichever is slowest. */
static void time_steady(struct timing *t)
{
    struct ll_array_walk *w = t->w;
    for (uint8_t s = 0; s < w->array->stores; s++)
        for (int p = 0; p < w->array->store[s].ports; p++) {
            double cycles = 0;
            for (enum ll_operand o = 0; o < LL_OPERAND_COUNT; o++)
                for (enum ll_array_way way = 0; way < LL_ARRAY_WAYS; way++)
                    if (w->array->store[s].port[p].serves[o] >> way & 1)
                        cycles += w->cost->moves[o][s][way].words * w->cost->moves[o][s][way].bits /
                                  w->array->store[s].port[p].width_bits;
            w->cost->busy_cycles[s] = fmax(w->cost->busy_cycles[s], cycles);
        }
    for (uint8_t s = 0; s < w->array->stores; s++) {
        double stall = ceil(w->cost->busy_cycles[s] - 1e-9) - w->cost->compute_cycles;
        if (stall > w->cost->stall_cycles) {
            w->cost->stall_cycles = stall;
            w->cost->slowest = s;
        }
    }
}

static void time_ports(struct timing *t)
{
    struct ll_array_walk *w = t->w;
    for (uint8_t s = 0; s < w->array->stores; s++)
        for (int p = 0; p < w->array->store[s].ports; p++) {
            struct duty duties[LL_OPERAND_COUNT * LL_ARRAY_WAYS];
            int count = duties_of(t, s, &w->array->store[s].port[p], duties);
            double busy = 0;
            for (int i = 0; i < count; i++)
                busy += duties[i].real * duties[i].count;
            w->cost->busy_cycles[s] = fmax(w->cost->busy_cycles[s], busy);
            double stall = count > 0 ? port_stall(duties, count) : 0;
            if (stall > w->cost->stall_cycles) {
                w->cost->stall_cycles = stall;
                w->cost->slowest = s;
            }
        }
}

/* Whether what a duty moves is on the way in before the first cycle, or out behind the last. */
static bool at_the_ends(const struct duty *d)
{
    return d->operand == LL_OPERAND_C ? d->way == LL_ARRAY_UPDATE || d->way == LL_ARRAY_DRAIN
                                      : d->way == LL_ARRAY_READ || d->way == LL_ARRAY_FILL;
}

/* The least cycles of what is moved once: what the first cycle needs. */
static double least_cycles(const struct ll_array_walk *w, const struct duty *d,
                           const struct ll_array_port *port)
{
    const struct ll_array_chain *chain = &w->chain[d->operand];
    if (w->array->rules.loads_in_turn)
        return ceil(ll_array_held_bits(w, d->operand, 1) / port->width_bits - 1e-9);
    bool inner = d->way == LL_ARRAY_READ || d->way == LL_ARRAY_UPDATE;
    int place = inner ? d->place - 1 : d->place;
    double words = place > 0 ? chain->tile[place - 1] * chain->beside[place - 1] : chain->tile[0];
    return ceil(words * w->problem->operand[d->operand].bits / port->width_bits - 1e-9);
}

/* Shortens what is moved once by the cycles in which the port is idle while elements multiply. In turn: the
 * longest first, and with each further one all before it, too. */
static void shorten(const struct ll_array_walk *w, const struct ll_array_port *port, struct duty **once,
                    int count, double idle)
{
    if (idle <= 0)
        return;
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && once[j]->real > once[j - 1]->real; j--) {
            struct duty *swapped = once[j];
            once[j] = once[j - 1];
            once[j - 1] = swapped;
        }
    bool in_turn = w->array->rules.loads_in_turn;
    for (int i = 0; i < count && idle > 0; i++) {
        int together = in_turn ? i + 1 : 1;
        double each = once[i]->real - least_cycles(w, once[i], port);
        each = in_turn ? each : fmax(0, each);
        bool all = idle >= each * together;
        each = all ? each : idle / together;
        idle -= each * together;
        for (int j = in_turn ? 0 : i; j <= i; j++)
            once[j]->real -= each;
    }
}

/* What a port adds to the ends of each boundary. */
static void begin_port(struct timing *t, uint8_t s, const struct ll_array_port *port)
{
    const struct ll_array_walk *w = t->w;
    struct duty duties[LL_OPERAND_COUNT * LL_ARRAY_WAYS], *once[LL_OPERAND_COUNT * LL_ARRAY_WAYS];
    int count = duties_of(t, s, port, duties), singles = 0;
    double demand_bits = 0;
    bool serves_both = port->serves[LL_OPERAND_A] && port->serves[LL_OPERAND_B];
    for (int i = 0; i < count; i++) {
        const struct ll_array_moves *m = &w->cost->moves[duties[i].operand][s][duties[i].way];
        if (!at_the_ends(&duties[i]))
            continue;
        if (duties[i].count == 1)
            once[singles++] = &duties[i];
        else
            demand_bits += floor(m->amount * m->bits / m->period + 1e-9);
    }
    double computing = w->cycles + w->cost->stall_cycles;
    double idle = fmax(0, (port->width_bits - demand_bits) / port->width_bits * computing);
    shorten(w, port, once, singles, idle);
    for (int i = 0; i < count; i++) {
        const struct duty *d = &duties[i];
        bool inner = d->way == LL_ARRAY_READ || d->way == LL_ARRAY_UPDATE;
        int boundary = inner ? d->place - 1 : d->place;
        if (!at_the_ends(d))
            continue;
        t->begins[d->operand][boundary][inner] = d->real;
        t->both[d->operand][boundary][inner] = serves_both;
    }
}

/* Until both inputs are there: boundaries of one input follow one another; those of both meet where a port
 * serves both. */
static double load_cycles(const struct timing *t)
{
    const struct ll_array_walk *w = t->w;
    double shared[2] = {0, 0}, half[2] = {0, 0}, alone[2] = {0, 0};
    for (enum ll_operand o = LL_OPERAND_A; o <= LL_OPERAND_B; o++)
        for (int i = 1; i < w->chain[o].count; i++) {
            double cycles = fmax(t->begins[o][i][0], t->begins[o][i][1]);
            bool one = t->both[o][i][0], other = t->both[o][i][1];
            if (one && other)
                shared[o] += cycles;
            else if (one || other)
                half[o] = cycles;
            else
                alone[o] += cycles;
        }
    double first = shared[0] + fmax(shared[1] + half[1] + alone[1], half[0] + alone[0]);
    double second = shared[1] + fmax(shared[0] + half[0] + alone[0], half[1] + alone[1]);
    return fmin(first, second);
}

static void time_ends(struct timing *t)
{
    struct ll_array_walk *w = t->w;
    for (uint8_t s = 0; s < w->array->stores; s++)
        for (int p = 0; p < w->array->store[s].ports; p++)
            begin_port(t, s, &w->array->store[s].port[p]);
    w->cost->load_cycles = load_cycles(t);
    w->cost->drain_cycles = 0;
    for (int i = 1; i < w->chain[LL_OPERAND_C].count; i++)
        w->cost->drain_cycles += fmax(t->begins[LL_OPERAND_C][i][0], t->begins[LL_OPERAND_C][i][1]);
}

void ll_array_time(struct ll_array_walk *w)
{
    struct timing t = {.w = w};
    struct ll_array_cost *cost = w->cost;
    double elements = 1;
    cost->slowest = w->array->stores;
    cost->stall_cycles = cost->load_cycles = cost->drain_cycles = 0;
    memset(cost->busy_cycles, 0, sizeof cost->busy_cycles);
    find_buffers(&t);
    cost->compute_cycles = w->cycles;
    if (w->array->rules.steady) {
        time_steady(&t);
    } else {
        time_ports(&t);
        time_ends(&t);
    }
    if (w->array->rules.serial_apart)
        cost->compute_cycles *= ll_array_cycles_each(w->array);
    cost->cycles = cost->compute_cycles + cost->stall_cycles + cost->load_cycles + cost->drain_cycles;
    for (uint8_t s = 0; s < w->array->stores && !w->array->rules.loads_in_turn; s++)
        if (cost->busy_cycles[s] > cost->cycles) { /* no port does more than it can */
            cost->stall_cycles += cost->busy_cycles[s] - cost->cycles;
            cost->cycles = cost->busy_cycles[s];
            cost->slowest = s;
        }
    for (int a = 0; a < w->array->axes; a++)
        elements *= (double)w->array->axis[a];
    cost->utilization = w->problem->macs / (elements * cost->cycles);
}
