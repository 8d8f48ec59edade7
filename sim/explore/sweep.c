/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep: the search proposes points, the store answers those that it has, the evaluator the others; batches
 * are committed as they are done, in shards or among processes. */
#include "sim/explore/sweep.h"

#include "sim/explore/pareto.h"
#include "tracer/base/clock.h"
#include "tracer/base/random.h"
#include "tracer/base/diag.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_PIECE UINT64_MAX

/* Points that a process takes at once: a transaction of its database, or so few that a generation serves all.
 */
enum { PIECE = 64, PIECE_OF_LEARNING = 8 };

/* Points are evaluated and stored a slice at a time, which grows until it takes as long as one would wait for
 * a sweep to stop, or lose by a kill. */
enum { FIRST_SLICE = 32, MOST_SLICE = 1024, SLICE_NS = 500000000 };

struct run {
    struct ll_sweep *sweep;
    struct ll_diags *diags;
    struct ll_evaluation *evaluations; /* of a batch: what has to be evaluated */
    struct ll_readings *measured;
    size_t *places; /* in the batch */
    uint64_t capacity;
    struct ll_archive front; /* of what is known, where points may be left out */
    size_t slice;
    uint64_t piece, taken; /* with a crew: the piece that comes, and the one that is ours */
};

bool ll_in_shard(uint64_t number, uint64_t shard, uint64_t shards)
{
    return shards <= 1 || ll_random_bits(number, 0) % shards == shard;
}

uint64_t ll_sweep_search_total(const struct ll_space *space)
{
    uint64_t most = space->search.points;
    return most && most < space->point_count ? most : space->point_count;
}

static bool make_room(struct run *run, size_t count)
{
    size_t workloads = run->sweep->space->workload_count;
    if (count <= run->capacity)
        return true;
    free(run->evaluations);
    free(run->measured);
    free(run->places);
    run->capacity = 0;
    run->evaluations = calloc(count, sizeof *run->evaluations);
    run->measured = calloc(count * workloads, sizeof *run->measured);
    run->places = calloc(count, sizeof *run->places);
    if (!run->evaluations || !run->measured || !run->places)
        return ll_complain(run->diags, (struct ll_place){.file = run->sweep->space->path}, "memory ran out");
    for (size_t i = 0; i < count; i++)
        run->evaluations[i].measured = run->measured + i * workloads;
    run->capacity = count;
    return true;
}

/* The points of the batch that are of this shard and not known yet; how many. */
static size_t pick(struct run *run, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct ll_sweep *sweep = run->sweep;
    size_t picked = 0;
    for (size_t i = 0; i < count; i++) {
        outcomes[i] = (struct ll_answer){.violation = INFINITY};
        if (!ll_in_shard(numbers[i], sweep->shard, sweep->shards))
            continue;
        uint64_t key = ll_evaluator_key(sweep->evaluator, numbers[i]);
        if (sweep->store && ll_store_find(sweep->store, numbers[i], key, &outcomes[i])) {
            sweep->state.known++;
            sweep->state.valid += outcomes[i].valid;
            continue;
        }
        run->evaluations[picked].number = numbers[i];
        run->evaluations[picked].key = key;
        run->places[picked++] = i;
    }
    return picked;
}

static bool is_stopped(const struct ll_sweep *sweep)
{
    return sweep->stop && *sweep->stop;
}

static bool evaluate_slice(struct run *run, struct ll_evaluation *evaluations, size_t count)
{
    struct ll_sweep *sweep = run->sweep;
    uint64_t start_ns = ll_now_ns();
    if (!ll_evaluate(sweep->evaluator, evaluations, count, run->diags) ||
        ll_memory_ran_out() || /* what lacks something would be believed for ever */
        (sweep->store && !ll_store_add(sweep->store, evaluations, count, run->diags)))
        return false;
    uint64_t passed_ns = ll_now_ns() - start_ns;
    if (passed_ns > SLICE_NS)
        run->slice = run->slice > 1 ? run->slice / 2 : 1;
    else if (passed_ns < SLICE_NS / 4 && run->slice < MOST_SLICE)
        run->slice *= 2;
    sweep->state.evaluated += count;
    for (size_t i = 0; i < count; i++) {
        sweep->state.valid += evaluations[i].outcome.valid;
        sweep->state.left_out += evaluations[i].verdict == LL_VERDICT_BEATEN;
    }
    if (sweep->progress)
        sweep->progress(sweep->context, &sweep->state);
    return true;
}

/* Evaluates and keeps what is not known of these points. Who works with others goes on to the end of them:
 * the others wait for the answers. */
static bool work_through(struct run *run, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct ll_sweep *sweep = run->sweep;
    size_t picked = pick(run, numbers, count, outcomes), length;
    for (size_t first = 0; first < picked; first += length) {
        length = picked - first < run->slice ? picked - first : run->slice;
        if ((!sweep->crew && is_stopped(sweep)) || !evaluate_slice(run, run->evaluations + first, length))
            return false;
    }
    for (size_t i = 0; i < picked; i++)
        outcomes[run->places[i]] = run->evaluations[i].outcome;
    return true;
}

/* The pieces of a batch that this process takes; the outcomes of the others are not touched. */
static bool take_pieces(struct run *run, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    const struct ll_sweep_crew *crew = run->sweep->crew;
    size_t whole = ll_search_divides(run->sweep->space->search.kind) ? PIECE : PIECE_OF_LEARNING;
    for (size_t begin = 0; begin < count; begin += whole, run->piece++) {
        size_t size = count - begin < whole ? count - begin : whole;
        if (run->taken == NO_PIECE)
            run->taken = crew->take(crew->context);
        if (run->taken != run->piece || is_stopped(run->sweep))
            continue;
        if (!work_through(run, numbers + begin, size, outcomes + begin))
            return false;
        run->taken = NO_PIECE;
    }
    return true;
}

/* Brings everybody the outcomes of all: what others did is zero here, and the sum is what they found. Whether
 * anybody was stopped goes along, for then all must stop. */
static bool exchange(struct run *run, size_t count, struct ll_answer *outcomes)
{
    struct ll_sweep *sweep = run->sweep;
    size_t width = 2 + sweep->space->objective_count;
    double *values = calloc(count * width + 1, sizeof *values);
    if (!values)
        return ll_complain(run->diags, (struct ll_place){.file = sweep->space->path}, "memory ran out");
    for (size_t i = 0; i < count; i++) {
        values[i * width] = outcomes[i].valid;
        values[i * width + 1] = outcomes[i].violation;
        memcpy(&values[i * width + 2], outcomes[i].objectives, (width - 2) * sizeof *values);
    }
    values[count * width] = is_stopped(sweep);
    sweep->crew->add_up(sweep->crew->context, values, count * width + 1);
    for (size_t i = 0; i < count; i++) {
        outcomes[i].valid = values[i * width] > 0;
        outcomes[i].violation = values[i * width + 1];
        memcpy(outcomes[i].objectives, &values[i * width + 2], (width - 2) * sizeof *values);
    }
    sweep->state.stopped = values[count * width] > 0;
    free(values);
    return !sweep->state.stopped;
}

static bool answer_together(struct run *run, const uint64_t *numbers, size_t count,
                            struct ll_answer *outcomes)
{
    memset(outcomes, 0, count * sizeof *outcomes);
    if (!take_pieces(run, numbers, count, outcomes))
        return false;
    return ll_search_divides(run->sweep->space->search.kind) || exchange(run, count, outcomes);
}

/* The front changes between batches alone, so that what is left out depends on the search, not on threads. */
static void learn(struct run *run, const struct ll_answer *outcomes, size_t count)
{
    for (size_t i = 0; run->sweep->space->search.prune && i < count; i++)
        if (outcomes[i].valid && !ll_archive_add(&run->front, outcomes[i].objectives))
            return; /* no memory: what is there proves less, and is right */
}

static bool answer(void *context, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct run *run = context;
    struct ll_sweep *sweep = run->sweep;
    if (!make_room(run, count))
        return false;
    if (sweep->crew ? !answer_together(run, numbers, count, outcomes)
                    : is_stopped(sweep) || !work_through(run, numbers, count, outcomes))
        return false;
    learn(run, outcomes, count);
    sweep->state.proposed += count;
    if (sweep->progress)
        sweep->progress(sweep->context, &sweep->state);
    return !(sweep->crew && ll_search_divides(sweep->space->search.kind) && is_stopped(sweep));
}

/* Which part of the sweep this is: a shard, or what this process of several did. */
static bool mark(struct ll_sweep *sweep, bool finished, struct ll_diags *diags)
{
    const struct ll_sweep_crew *crew = sweep->crew;
    if (!sweep->store)
        return true;
    return crew ? ll_store_mark(sweep->store, crew->rank, crew->size, finished, diags)
                : ll_store_mark(sweep->store, sweep->shard, sweep->shards, finished, diags);
}

bool ll_sweep_run(struct ll_sweep *sweep, struct ll_diags *diags)
{
    struct run run = {.sweep = sweep,
                      .diags = diags,
                      .front = {.objectives = sweep->space->objective_count},

                      .slice = FIRST_SLICE,
                      .taken = NO_PIECE};
    ll_evaluator_prune(sweep->evaluator, sweep->space->search.prune ? &run.front : NULL);
    sweep->state = (struct ll_sweep_state){.total = ll_sweep_search_total(sweep->space)};
    size_t before = diags->count;
    bool done = mark(sweep, false, diags) && ll_search(sweep->space, answer, &run);
    sweep->state.stopped |= is_stopped(sweep);
    if (!done && !sweep->state.stopped && diags->count == before)
        ll_complain(diags, (struct ll_place){.file = sweep->space->path}, "memory ran out");
    ll_evaluator_prune(sweep->evaluator, NULL);
    ll_archive_release(&run.front);
    free(run.evaluations);
    free(run.measured);
    free(run.places);
    return done && diags->count == before && (sweep->state.stopped || mark(sweep, true, diags));
}
