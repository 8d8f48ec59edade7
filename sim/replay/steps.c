/* SPDX-License-Identifier: Apache-2.0 */
/* Equal steps are replayed once, to the bit as if each had been.
 *
 * Steps are equal when their ops have the same signatures, find the same in caches, and wait for ops that
 * lie as far back. Such a step runs like the one two before, only later, as soon as all that it depends on
 * does: ops that it may wait for, streams and the software's queue. Times are sums of doubles, so "later"
 * has to be exact. Between two powers of two, B and 2 B, doubles are the multiples of u = 2^-52 B. There
 *
 *       fl(x + s + t) = fl(x + t) + s         for x, x + s + t in B .. 2 B, and s a multiple of 2 u
 *
 * since whether half of u is rounded up or down depends on whether the result is an even multiple. So when
 * all times of a step were looked at between B and 2 B, and are those of the step two before and s, the next
 * ones follow up to 2 B. (Two steps, since s may be an odd multiple from one to the next.) Twenty thousand
 * steps pass fourteen powers of two, behind each of which some are replayed.
 *
 * Sums over ops are added up by the same law, each between powers of two of its own. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/replay/replay.h"
#include "sim/replay/replay_parts.h"

/* Fewer equal steps are replayed sooner than compared, fewer periods sooner than added up. */
enum { PERIOD = 2, LEAST_STEPS = 8, LEAST_PERIODS = 8 };

/* --- which steps are equal --- */

/* Whether an op of a step is like that of the step before, for any machine whose caches keep no history. */
static bool is_alike(const struct ll_prepared *prepared, uint32_t before, uint32_t op)
{
    const struct ll_op *a = &prepared->trace->ops[before], *b = &prepared->trace->ops[op];
    const struct ll_deps *deps = prepared->deps;
    if (a->signature != b->signature)
        return false;
    const uint64_t kind = prepared->works[a->signature].kind;
    const uint32_t *repeat = &prepared->repeats[op - prepared->first_op];
    if (kind == LL_WORK_WAIT
            ? a->duration_ns != b->duration_ns
            : kind != LL_WORK_COLLECTIVE && (*repeat == LL_NONE || *repeat != repeat[(int64_t)before - op]))
        return false;
    const uint64_t count = deps->first[before + 1] - deps->first[before];
    if (deps->first[op + 1] - deps->first[op] != count)
        return false;
    for (uint64_t i = 0; i < count; i++)
        if (deps->ops[deps->first[op] + i] - deps->ops[deps->first[before] + i] != op - before)
            return false;
    return true;
}

/* The same of two steps, of which one follows the other. Raises *reach to how far back ops wait. */
static bool steps_are_alike(const struct ll_prepared *prepared, const struct ll_step *before,
                            const struct ll_step *step, uint32_t *reach)
{
    const struct ll_deps *deps = prepared->deps;
    if (step->op_count == 0 || before->op_count != step->op_count ||
        before->first_op + before->op_count != step->first_op || before->first_op < prepared->first_op ||
        step->first_op + step->op_count > prepared->end_op)
        return false;
    for (uint32_t i = 0; i < step->op_count; i++)
        if (!is_alike(prepared, before->first_op + i, step->first_op + i))
            return false;
    for (uint32_t op = step->first_op; op < step->first_op + step->op_count; op++)
        if (deps->first[op + 1] > deps->first[op] && op - deps->ops[deps->first[op]] > *reach)
            *reach = op - deps->ops[deps->first[op]]; /* they are sorted */
    return true;
}

bool ll_find_equal_steps(struct ll_prepared *prepared, struct ll_arena *arena)
{
    const struct ll_trace *trace = prepared->trace;
    struct ll_equal_steps *equal = NULL, now = {0};
    uint64_t capacity = 0, count = 0;
    bool right = true;
    for (uint64_t i = 1; right && i <= trace->step_count; i++) {
        if (i < trace->step_count &&
            steps_are_alike(prepared, &trace->steps[i - 1], &trace->steps[i], &now.reach)) {
            now.last = (uint32_t)i;
            continue;
        }
        if (now.last - now.first + 1 >= LEAST_STEPS) {
            right = ll_grow(&equal, &capacity, count + 1, sizeof *equal);
            if (right)
                equal[count++] = now;
        }
        now = (struct ll_equal_steps){.first = (uint32_t)i, .last = (uint32_t)i};
    }
    prepared->equal_steps = right ? ll_copy(arena, equal, count * sizeof *equal) : NULL;
    prepared->equal_step_count = count;
    free(equal);
    return prepared->equal_steps != NULL;
}

/* --- how a step went --- */

static struct ll_step_mark *mark_of(struct ll_turnover *turnover, uint32_t step)
{
    return &turnover->marks[step % (PERIOD + 1)];
}

/* The power of two that is at most this, which is positive. */
static double binade_of(double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(1, exponent - 1);
}

static bool op_is_shifted(const struct ll_placed *placed, uint32_t from, uint32_t to, double shift_s)
{
    const struct ll_op_result *a = &placed->ops[from], *b = &placed->ops[to];
    const struct ll_op_parts *p = &placed->parts[from], *q = &placed->parts[to];
    return b->start_s == a->start_s + shift_s && b->time_s == a->time_s && b->active_s == a->active_s &&
           b->taken_s == a->taken_s && (b->lead_s == a->lead_s || b->lead_s == a->lead_s + shift_s) &&
           b->launch_s == a->launch_s && b->unit == a->unit && b->bound == a->bound &&
           b->origin == a->origin && placed->costs[from] == placed->costs[to] &&
           p->overhead_s == q->overhead_s && p->exposed_s == q->exposed_s &&
           p->taken_level == q->taken_level &&
           (p->waited_for == q->waited_for ? p->waited_for == LL_NONE
                                           : p->waited_for + (to - from) == q->waited_for);
}

/* By how much the step is later than the one two before, all of it, with all times between two powers of two;
 * 0: it is not. */
static double shift_of(struct ll_turnover *turnover, const struct ll_placed *placed, uint32_t step)
{
    const struct ll_prepared *prepared = turnover->prepared;
    const struct ll_step *steps = prepared->trace->steps;
    const struct ll_step_mark *before = mark_of(turnover, step - PERIOD), *now = mark_of(turnover, step);
    const uint32_t from = steps[step - PERIOD].first_op - prepared->first_op,
                   to = steps[step].first_op - prepared->first_op;
    const double shift_s = placed->ops[to].start_s - placed->ops[from].start_s;
    if (!(before->low_s > 0) || !(shift_s > 0))
        return 0;
    const double binade_s = binade_of(before->low_s), even_s = binade_s * 0x1p-51;
    if (now->reach_s >= 2 * binade_s || before->reach_s >= 2 * binade_s || fmod(shift_s, even_s) != 0)
        return 0;
    for (uint32_t i = 0; i < steps[step].op_count; i++)
        if (!op_is_shifted(placed, from + i, to + i, shift_s))
            return 0;
    return shift_s;
}

/* --- whether the next steps follow --- */

/* Whether what an end has become in two steps goes on so: it is later by the shift, or stays where nobody
 * looks at it. */
static bool end_goes_on(double before_s, double now_s, double shift_s)
{
    return now_s == before_s + shift_s || now_s == before_s;
}

static bool all_goes_on(struct ll_turnover *turnover, uint32_t step, double shift_s)
{
    const struct ll_step_mark *before = mark_of(turnover, step - PERIOD), *now = mark_of(turnover, step);
    const double low_s = fmin(mark_of(turnover, step - 1)->low_s, now->low_s);
    bool right = now->end_s == before->end_s + shift_s;
    right &= turnover->queues ? now->started_s == before->started_s + shift_s
                              : now->started_s == before->started_s;
    for (unsigned i = 0; i < LL_STREAM_COUNT; i++) {
        /* A stream whose end stays has not been used, and equal steps do not use it. */
        const uint32_t ops = PERIOD * turnover->prepared->trace->steps[step].op_count;
        right &= end_goes_on(before->stream_end_s[i], now->stream_end_s[i], shift_s);
        right &= now->stream_end_s[i] == before->stream_end_s[i]
                     ? now->stream_last[i] == before->stream_last[i]
                     : now->stream_last[i] == before->stream_last[i] + ops;
    }
    for (unsigned l = 0; l < LL_MAX_LINKS; l++) {
        right &= end_goes_on(before->taken_end_s[l], now->taken_end_s[l], shift_s);
        right &= now->taken_end_s[l] != before->taken_end_s[l] || now->taken_end_s[l] <= low_s;
    }
    return right;
}

void ll_turnover_begin(struct ll_turnover *turnover, const struct ll_prepared *prepared,
                       const struct ll_machine *machine)
{
    const struct ll_trace *trace = prepared->trace;
    *turnover = (struct ll_turnover){.prepared = prepared, .queues = machine->software.queue > 0};
    turnover->least_steps = ll_max(1, machine->host.buffered_steps) + 1;
    turnover->queue = machine->software.queue;
    while (turnover->step < trace->step_count && trace->steps[turnover->step].first_op < prepared->first_op)
        turnover->step++;
}

/* How many steps in a row must have gone like those before them: all that the next one may look at, by what
 * its ops wait for, by the software's queue, and by the host's buffers. */
static uint64_t steps_needed(struct ll_turnover *turnover, const struct ll_equal_steps *equal, uint32_t step)
{
    const uint64_t reach = equal->reach / turnover->prepared->trace->steps[step].op_count;
    const uint32_t queued = mark_of(turnover, step)->queued_count - mark_of(turnover, step - 1)->queued_count;
    const uint64_t queue = queued > 0 ? turnover->queue / queued : 0;
    return ll_max(ll_max(reach, queue) + 2, turnover->least_steps) + 1;
}

uint32_t ll_turnover_end_step(struct ll_turnover *turnover, struct ll_placed *placed)
{
    const struct ll_prepared *prepared = turnover->prepared;
    const uint32_t step = turnover->step++;
    while (turnover->equal < prepared->equal_step_count && prepared->equal_steps[turnover->equal].last < step)
        turnover->equal++;
    struct ll_step_mark *mark = mark_of(turnover, step);
    *mark = (struct ll_step_mark){.end_s = placed->end_s,
                                  .started_s = placed->started_s,
                                  .low_s = placed->low_s,
                                  .queued_count = placed->queued_count,
                                  .reach_s = fmax(placed->reach_s, placed->end_s)};
    memcpy(mark->stream_end_s, placed->stream_end_s, sizeof mark->stream_end_s);
    memcpy(mark->stream_last, placed->stream_last, sizeof mark->stream_last);
    memcpy(mark->taken_end_s, placed->taken_end_s, sizeof mark->taken_end_s);
    placed->low_s = INFINITY;
    placed->reach_s = 0;
    if (turnover->equal == prepared->equal_step_count ||
        step < prepared->equal_steps[turnover->equal].first + PERIOD ||
        prepared->equal_steps[turnover->equal].last - step < PERIOD * LEAST_PERIODS) {
        turnover->same = 0;
        return 0;
    }
    const struct ll_equal_steps *equal = &prepared->equal_steps[turnover->equal];
    const double shift_s = shift_of(turnover, placed, step);
    turnover->same = shift_s == 0 ? 0 : shift_s == turnover->shift_s ? turnover->same + 1 : 1;
    turnover->shift_s = shift_s;
    const uint64_t needed = steps_needed(turnover, equal, step);
    if (turnover->same < needed || !all_goes_on(turnover, step, shift_s))
        return 0;
    turnover->kept_steps = (uint32_t)needed; /* fewer than have been replayed */
    const double binade_s = binade_of(mark_of(turnover, step - PERIOD)->low_s);
    const double reach_s = fmax(mark->reach_s, mark_of(turnover, step - 1)->reach_s);
    const double room = floor((2 * binade_s - reach_s) / shift_s) - 1;
    const double periods = fmin(room, (double)((equal->last - step) / PERIOD));
    return periods < LEAST_PERIODS ? 0 : (uint32_t)periods;
}

/* --- leaving steps out --- */

/* An op of the replay, later by so much, so many ops further on. */
static void shift_op(struct ll_placed *placed, uint32_t from, uint32_t ops, double shift_s, bool queues)
{
    const uint32_t to = from + ops;
    placed->ops[to] = placed->ops[from];
    placed->ops[to].start_s += shift_s;
    if (!queues && placed->ops[to].lead_s != 0)
        placed->ops[to].lead_s += shift_s;
    placed->costs[to] = placed->costs[from];
    placed->parts[to] = placed->parts[from];
    if (placed->parts[to].waited_for != LL_NONE)
        placed->parts[to].waited_for += ops;
}

/* Ends that have moved go on. */
static void shift_ends(struct ll_turnover *turnover, struct ll_placed *placed, uint32_t step, uint32_t ops,
                       double shift_s)
{
    const struct ll_step_mark *before = mark_of(turnover, step - PERIOD);
    for (unsigned i = 0; i < LL_STREAM_COUNT; i++)
        if (placed->stream_end_s[i] != before->stream_end_s[i]) {
            placed->stream_end_s[i] += shift_s;
            placed->stream_last[i] += ops;
        }
    for (unsigned l = 0; l < LL_MAX_LINKS; l++)
        if (placed->taken_end_s[l] != before->taken_end_s[l])
            placed->taken_end_s[l] += shift_s;
    placed->end_s += shift_s;
    placed->started_s += turnover->queues ? shift_s : 0;
}

void ll_turnover_skip(struct ll_turnover *turnover, struct ll_placed *placed, uint32_t periods, bool all_ops,
                      const bool *on_device)
{
    const struct ll_prepared *prepared = turnover->prepared;
    const uint32_t step = turnover->step - 1, op_count = prepared->trace->steps[step].op_count,
                   period_ops = PERIOD * op_count, skipped = periods * period_ops,
                   end = prepared->trace->steps[step].first_op + op_count - prepared->first_op;
    const double shift_s = turnover->shift_s, all_s = periods * shift_s; /* exact: below 2 B, and of 2 u */
    uint32_t queued = 0;
    for (uint32_t i = 0; i < period_ops; i++)
        queued += on_device[i];
    if (all_ops) {
        for (uint32_t i = 0; i < skipped; i++) {
            placed->begun_s[end + i] = placed->active_s;
            shift_op(placed, end + i - period_ops, period_ops, shift_s, turnover->queues);
            placed->active_s += on_device[i % period_ops] ? placed->ops[end + i].active_s : 0;
        }
        for (uint32_t i = 0; i < periods * queued; i++, placed->queued_count++)
            placed->queued[placed->queued_count] = placed->queued[placed->queued_count - queued] + period_ops;
    } else { /* those that later ones may look at */
        const uint32_t kept = (uint32_t)ll_min(skipped, turnover->kept_steps * (uint64_t)op_count);
        const uint32_t kept_queued = (uint32_t)ll_min(periods * (uint64_t)queued,
                                                      (turnover->kept_steps / PERIOD + 1) * (uint64_t)queued);
        for (uint32_t i = 0; i < kept; i++)
            shift_op(placed, end - 1 - i, skipped, all_s, turnover->queues);
        const uint32_t later = periods * queued;
        for (uint32_t i = placed->queued_count; i-- > placed->queued_count - kept_queued;)
            placed->queued[i + later] = placed->queued[i] + skipped;
        placed->queued_count += later;
    }
    shift_ends(turnover, placed, step, skipped, all_s);
    turnover->step += PERIOD * periods;
    turnover->same = 0;
}

/* --- sums --- */

void ll_terms_add(struct ll_terms *terms, double *sum, double term)
{
    assert(term >= 0);
    if (term == 0)
        return;
    if (!ll_grow(&terms->at, &terms->capacity, terms->count + 1, sizeof *terms->at)) {
        terms->failed = true;
        return;
    }
    terms->at[terms->count] = (struct ll_term){sum, terms->count, term};
    terms->count++;
}

static int by_sum(const void *left, const void *right)
{
    const struct ll_term *a = left, *b = right;
    if (a->sum != b->sum)
        return a->sum < b->sum ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static double add_once(double sum, const struct ll_term *terms, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        sum += terms[i].term;
    return sum;
}

/* The sum with all terms, one after the other, added so many times. Once, or twice, from one even multiple
 * of u to another one adds what it adds up to the next power of two. */
static double add_often(double sum, const struct ll_term *terms, uint64_t count, uint64_t times)
{
    double before = 0, before_that = 0;
    while (times > 0) {
        before_that = before;
        before = sum;
        sum = add_once(sum, terms, count);
        times--;
        const double binade = sum > 0 ? binade_of(sum) : 0, even = binade * 0x1p-51;
        for (int runs = 1; runs <= 2; runs++) {
            const double from = runs == 1 ? before : before_that, gain = sum - from;
            if (from < binade || from <= 0 || fmod(gain, even) != 0)
                continue;
            const double room = gain > 0 ? floor((2 * binade - sum) / gain) - 1 : (double)times;
            const uint64_t more = room < 1 ? 0 : (uint64_t)fmin(room, (double)(times / (uint64_t)runs));
            sum += (double)more * gain;
            times -= more * (uint64_t)runs;
            if (more > 0)
                before = before_that = 0;
            break;
        }
    }
    return sum;
}

bool ll_terms_sum(struct ll_terms *terms, uint64_t times)
{
    if (terms->count > 0 && !terms->failed)
        qsort(terms->at, terms->count, sizeof *terms->at, by_sum);
    for (uint64_t i = 0, end; i < terms->count && !terms->failed; i = end) {
        for (end = i + 1; end < terms->count && terms->at[end].sum == terms->at[i].sum;)
            end++;
        *terms->at[i].sum = add_often(*terms->at[i].sum, &terms->at[i], end - i, times);
    }
    free(terms->at);
    return !terms->failed;
}
