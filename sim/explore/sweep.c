/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps: a search proposes points, the evaluator answers, the store remembers. The last section runs them;
 * the others are the searches, one function per row of searches.def: grid, random, Latin hypercube, NSGA-II
 * evolution, refinement.
 *
 * The first section draws points without repetition; the second breeds generations; the third adapts both to
 * a space. */
#include "sim/explore/sweep.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/findings.h"
#include "tracer/base/clock.h"
#include "tracer/base/diag.h"
#include "tracer/base/map.h"
#include "tracer/base/random.h"

enum { ROUNDS = 4 };

struct ll_shuffle ll_shuffle_of(uint64_t count, uint64_t seed)
{
    assert(count >= 1 && count <= UINT64_C(1) << 62);
    unsigned half_bits = 1;
    while (half_bits < 31 && count > UINT64_C(1) << 2 * half_bits)
        half_bits++;
    return (struct ll_shuffle){.count = count, .key = ll_random_mix(seed + 1), .half_bits = half_bits};
}

/* Both halves swap, one mixed into the other: whatever the mixing, no two numbers become one. */
static uint64_t network(const struct ll_shuffle *shuffle, uint64_t number)
{
    uint64_t mask = (UINT64_C(1) << shuffle->half_bits) - 1;
    uint64_t left = number >> shuffle->half_bits, right = number & mask;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t mixed = left ^ (ll_random_bits(ll_random_key(shuffle->key, round), right) & mask);
        left = right;
        right = mixed;
    }
    return left << shuffle->half_bits | right;
}

uint64_t ll_shuffle_at(const struct ll_shuffle *shuffle, uint64_t i)
{
    assert(i < shuffle->count);
    do
        i = network(shuffle, i);
    while (i >= shuffle->count);
    return i;
}

void ll_latin_point(const uint64_t *sizes, size_t dimensions, uint64_t samples, uint64_t seed, uint64_t i,
                    uint32_t *point)
{
    assert(i < samples);
    for (size_t d = 0; d < dimensions; d++) {
        uint64_t key = ll_random_key(seed, d);
        struct ll_shuffle strata = ll_shuffle_of(samples, key);
        uint64_t stratum = ll_shuffle_at(&strata, i);
        uint64_t low = stratum * sizes[d] / samples, high = (stratum + 1) * sizes[d] / samples;
        uint64_t step = high > low + 1 ? ll_random_bits(key, i) % (high - low) : 0;
        point[d] = (uint32_t)(low + step);
        assert(point[d] < sizes[d]);
    }
}

/* One generation after the other: the first is a Latin hypercube; each later one is bred from the best of all
 * before it and from the neighbours of the front. All points that were ever asked for are kept, by number of
 * their first mention; a population is a list of such numbers. */

enum { LEAST_POPULATION = 24, MOST_POPULATION = 200, GENERATIONS = 40, TRIES = 24 };
#define CROSSED 0.9 /* of the children have two parents */

struct evolution {
    const struct ll_index_grid *grid;
    const struct ll_breeding *breeding;
    uint64_t key, drawn;      /* random numbers */
    struct ll_shuffle others; /* points in an order of chance, for when breeding finds nothing new */
    uint64_t other;           /* the next of them */
    struct ll_map seen;       /* points, as bytes of their indices; its ids are their numbers */
    uint32_t *points;         /* by number */
    double *objectives, *violations;
    size_t count;
    size_t population_size;
    uint64_t *population, *front; /* numbers */
    size_t population_count, front_count;
    uint32_t *ranks; /* of the population, and what room its choice takes */
    double *crowding;
    bool failed;
};

static uint64_t bits(struct evolution *evolution)
{
    return ll_random_bits(evolution->key, evolution->drawn++);
}

static uint64_t below(struct evolution *evolution, uint64_t bound)
{
    return bits(evolution) % bound;
}

static bool chance(struct evolution *evolution, double part)
{
    return ll_random_fine_unit(bits(evolution)) < part;
}

static uint32_t *point_of(const struct evolution *evolution, uint64_t number)
{
    return evolution->points + number * evolution->grid->dimensions;
}

/* Takes the point behind the last one, if it was never seen, as the next to be asked for. */
static bool take(struct evolution *evolution)
{
    bool fresh = false;
    size_t length = evolution->grid->dimensions * sizeof *evolution->points;
    if (ll_map_intern(&evolution->seen, point_of(evolution, evolution->count), length, &fresh) == LL_NO_ID)
        evolution->failed = true;
    evolution->count += fresh;
    return fresh;
}

static uint32_t other_value(struct evolution *evolution, size_t d, uint32_t value)
{
    uint64_t size = evolution->grid->sizes[d];
    return size > 1 ? (uint32_t)((value + 1 + below(evolution, size - 1)) % size) : value;
}

/* A value at most `reach` steps away, where steps mean something. */
static uint32_t near_value(struct evolution *evolution, size_t d, uint32_t value, uint64_t reach)
{
    if (!evolution->grid->ordered[d])
        return other_value(evolution, d, value);
    uint64_t step = 1 + below(evolution, reach), last = evolution->grid->sizes[d] - 1;
    bool up = value < step || (value + step <= last && chance(evolution, 0.5));
    uint64_t moved = up ? value + step : value - step;
    return (uint32_t)(moved < last ? moved : last);
}

/* One step from a point of the front; farther with each try that found nothing new. */
static void make_neighbour(struct evolution *evolution, uint32_t *child, uint64_t try)
{
    size_t dimensions = evolution->grid->dimensions;
    uint64_t number = evolution->front[below(evolution, evolution->front_count)];
    memcpy(child, point_of(evolution, number), dimensions * sizeof *child);
    for (uint64_t changes = 1 + try / 8; changes > 0; changes--) {
        size_t d = below(evolution, dimensions);
        child[d] = near_value(evolution, d, child[d], 1 + try / 6);
    }
}

/* The better of two by lot: of the lower rank, at equality the lonelier. */
static uint64_t parent(struct evolution *evolution)
{
    uint64_t a = below(evolution, evolution->population_count),
             b = below(evolution, evolution->population_count);
    bool first = evolution->ranks[a] != evolution->ranks[b]
                     ? evolution->ranks[a] < evolution->ranks[b]
                     : evolution->crowding[a] >= evolution->crowding[b];
    return evolution->population[first ? a : b];
}

static void breed(struct evolution *evolution, uint32_t *child, uint64_t try)
{
    size_t dimensions = evolution->grid->dimensions;
    const uint32_t *mother = point_of(evolution, parent(evolution));
    const uint32_t *father = point_of(evolution, parent(evolution));
    bool crossed = chance(evolution, CROSSED);
    double changed = (double)(1 + try / 8) / (double)dimensions;
    for (size_t d = 0; d < dimensions; d++) {
        child[d] = crossed && chance(evolution, 0.5) ? father[d] : mother[d];
        if (chance(evolution, changed))
            child[d] = near_value(evolution, d, child[d], 1 + evolution->grid->sizes[d] / 8);
    }
}

/* The next point in an order of chance that was not seen; false when there is none any more. */
static bool take_other(struct evolution *evolution)
{
    while (evolution->other < evolution->others.count && !evolution->failed) {
        uint64_t number = ll_shuffle_at(&evolution->others, evolution->other++);
        uint32_t *point = point_of(evolution, evolution->count);
        for (size_t d = evolution->grid->dimensions; d-- > 0; number /= evolution->grid->sizes[d])
            point[d] = (uint32_t)(number % evolution->grid->sizes[d]);
        if (take(evolution))
            return true;
    }
    return false;
}

static bool make_child(struct evolution *evolution)
{
    bool refine = evolution->front_count > 0 && chance(evolution, evolution->breeding->refined);
    for (uint64_t try = 0; try < TRIES && !evolution->failed; try++) {
        uint32_t *child = point_of(evolution, evolution->count);
        if (refine)
            make_neighbour(evolution, child, try);
        else
            breed(evolution, child, try);
        if (take(evolution))
            return true;
    }
    return take_other(evolution);
}

/* How many more may be asked for in a generation. */
static size_t generation_size(const struct evolution *evolution)
{
    uint64_t left = evolution->breeding->evaluations - evolution->count;
    return left < evolution->population_size ? (size_t)left : evolution->population_size;
}

static void make_first(struct evolution *evolution)
{
    size_t size = generation_size(evolution);
    for (size_t i = 0; i < size && !evolution->failed; i++) {
        ll_latin_point(evolution->grid->sizes, evolution->grid->dimensions, size, evolution->key, i,
                       point_of(evolution, evolution->count));
        if (!take(evolution) && !take_other(evolution))
            return;
    }
}

static void make_next(struct evolution *evolution)
{
    for (size_t size = generation_size(evolution); size > 0 && make_child(evolution); size--)
        ;
}

/* Values of listed points in the order of the list; owned by the caller. */
static double *gather(const struct evolution *evolution, const uint64_t *numbers, size_t count)
{
    size_t objectives = evolution->breeding->objectives;
    double *values = calloc(count * objectives + 1, sizeof *values);
    for (size_t i = 0; values && i < count; i++)
        memcpy(&values[i * objectives], &evolution->objectives[numbers[i] * objectives],
               objectives * sizeof *values);
    return values;
}

/* The front of what was the front and of the points from `begin` on that hold the constraints. */
static void extend_front(struct evolution *evolution, size_t begin)
{
    for (size_t number = begin; number < evolution->count; number++)
        if (evolution->violations[number] == 0)
            evolution->front[evolution->front_count++] = number;
    size_t count = evolution->front_count;
    uint64_t *kept = calloc(count + 1, sizeof *kept), kept_count = 0;
    double *values = gather(evolution, evolution->front, count);
    if (!kept || !values ||
        ll_pareto_front(values, count, evolution->breeding->objectives, kept, &kept_count))
        evolution->failed = true;
    for (size_t i = 0; i < kept_count; i++)
        evolution->front[i] = evolution->front[kept[i]];
    evolution->front_count = (size_t)kept_count;
    free(values);
    free(kept);
}

struct candidate {
    uint64_t place;
    uint32_t rank;
    double crowding;
};

static int by_fitness(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->crowding != y->crowding)
        return x->crowding > y->crowding ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* The crowding of each candidate in its own front. */
static bool crowd(const double *values, size_t objectives, struct candidate *all, size_t count)
{
    uint64_t *members = calloc(count + 1, sizeof *members);
    double *distances = calloc(count + 1, sizeof *distances);
    bool done = members && distances;
    for (uint32_t rank = 0, left = (uint32_t)count; done && left > 0; rank++) {
        size_t found = 0;
        for (size_t i = 0; i < count; i++)
            if (all[i].rank == rank)
                members[found++] = i;
        done = !ll_pareto_crowding(values, objectives, members, found, distances);
        for (size_t m = 0; m < found; m++)
            all[members[m]].crowding = distances[m];
        left -= (uint32_t)found;
    }
    free(distances);
    free(members);
    return done;
}

static bool judge(struct evolution *evolution, struct candidate *all, size_t count)
{
    size_t objectives = evolution->breeding->objectives;
    double *values = gather(evolution, evolution->population, count),
           *broken = calloc(count + 1, sizeof *broken);
    uint32_t *ranks = calloc(count + 1, sizeof *ranks);
    for (size_t i = 0; broken && i < count; i++)
        broken[i] = evolution->violations[evolution->population[i]];
    bool done = values && broken && ranks && !ll_pareto_ranks(values, broken, count, objectives, ranks);
    for (size_t i = 0; done && i < count; i++)
        all[i] = (struct candidate){.place = i, .rank = ranks[i]};
    done = done && crowd(values, objectives, all, count);
    free(ranks);
    free(broken);
    free(values);
    return done;
}

/* Of the population and the points from `begin` on, the best become the population. */
static void select_best(struct evolution *evolution, size_t begin)
{
    size_t count = evolution->population_count + evolution->count - begin;
    for (size_t number = begin; number < evolution->count; number++)
        evolution->population[evolution->population_count++] = number;
    struct candidate *all = calloc(count + 1, sizeof *all);
    uint64_t *chosen = calloc(count + 1, sizeof *chosen);
    evolution->failed |= !all || !chosen || !judge(evolution, all, count);
    if (!evolution->failed) {
        qsort(all, count, sizeof *all, by_fitness);
        evolution->population_count = count < evolution->population_size ? count : evolution->population_size;
        for (size_t i = 0; i < evolution->population_count; i++) {
            chosen[i] = evolution->population[all[i].place];
            evolution->ranks[i] = all[i].rank;
            evolution->crowding[i] = all[i].crowding;
        }
        memcpy(evolution->population, chosen, evolution->population_count * sizeof *chosen);
    }
    free(chosen);
    free(all);
}

static void live(struct evolution *evolution, ll_evolution_ask *ask, void *context)
{
    size_t objectives = evolution->breeding->objectives;
    while (!evolution->failed && evolution->count < evolution->breeding->evaluations) {
        size_t begin = evolution->count;
        if (begin == 0)
            make_first(evolution);
        else
            make_next(evolution);
        if (evolution->count == begin || evolution->failed ||
            !ask(context, point_of(evolution, begin), evolution->count - begin,
                 &evolution->objectives[begin * objectives], &evolution->violations[begin]))
            return;
        extend_front(evolution, begin);
        select_best(evolution, begin);
    }
}

/* A fortieth of what may be asked for, so that there are about as many generations, within bounds. */
static size_t population_for(const struct ll_breeding *breeding)
{
    uint64_t wanted = breeding->population ? breeding->population : breeding->evaluations / GENERATIONS;
    if (!breeding->population)
        wanted = wanted < LEAST_POPULATION  ? LEAST_POPULATION
                 : wanted > MOST_POPULATION ? MOST_POPULATION
                                            : wanted;
    return (size_t)wanted;
}

static uint64_t point_count(const struct ll_index_grid *grid)
{
    const uint64_t most = UINT64_C(1) << 62;
    uint64_t count = 1;
    for (size_t d = 0; d < grid->dimensions; d++)
        count = count > most / grid->sizes[d] ? most : count * grid->sizes[d];
    return count;
}

static bool make_room(struct evolution *evolution)
{
    size_t most = (size_t)evolution->breeding->evaluations, size = 2 * evolution->population_size + 1;
    evolution->points = calloc((most + 1) * evolution->grid->dimensions + 1, sizeof *evolution->points);
    evolution->objectives = calloc(most * evolution->breeding->objectives + 1, sizeof *evolution->objectives);
    evolution->violations = calloc(most + 1, sizeof *evolution->violations);
    evolution->front = calloc(most + 1, sizeof *evolution->front);
    evolution->population = calloc(size, sizeof *evolution->population);
    evolution->ranks = calloc(size, sizeof *evolution->ranks);
    evolution->crowding = calloc(size, sizeof *evolution->crowding);
    return evolution->points && evolution->objectives && evolution->violations && evolution->front &&
           evolution->population && evolution->ranks && evolution->crowding;
}

static void release(struct evolution *evolution)
{
    ll_map_release(&evolution->seen);
    free(evolution->points);
    free(evolution->objectives);
    free(evolution->violations);
    free(evolution->front);
    free(evolution->population);
    free(evolution->ranks);
    free(evolution->crowding);
}

enum ll_status ll_evolve(const struct ll_index_grid *grid, const struct ll_breeding *breeding,
                         ll_evolution_ask *ask, void *context)
{
    assert(breeding->objectives >= 1);
    assert(breeding->refined >= 0 && breeding->refined <= 1 && grid->dimensions > 0);
    struct ll_breeding bounded = *breeding;
    uint64_t all = point_count(grid);
    bounded.evaluations = breeding->evaluations < all ? breeding->evaluations : all;
    struct evolution evolution = {.grid = grid,
                                  .breeding = &bounded,
                                  .key = ll_random_mix(breeding->seed + 1),
                                  .others = ll_shuffle_of(all, breeding->seed),
                                  .population_size = population_for(breeding)};
    evolution.failed = !make_room(&evolution);
    if (!evolution.failed)
        live(&evolution, ask, context);
    release(&evolution);
    return evolution.failed ? LL_NO_MEMORY : LL_OK;
}

/* Searches that divide ask for what they propose, in order. */

enum { BATCH = 1024 };

static bool propose_all(const struct ll_space *space, ll_ask *ask, void *context)
{
    uint64_t numbers[BATCH];
    struct ll_answer *outcomes = calloc(BATCH, sizeof *outcomes);
    struct ll_proposals proposals = ll_proposals_of(space);
    bool going = outcomes != NULL;
    for (uint64_t first = 0; going && first < proposals.count; first += BATCH) {
        const size_t count = proposals.count - first < BATCH ? proposals.count - first : BATCH;
        going = ll_proposals_at(&proposals, first, count, numbers) && ask(context, numbers, count, outcomes);
    }
    ll_proposals_release(&proposals);
    free(outcomes);
    return going;
}

bool ll_search_GRID(const struct ll_space *space, ll_ask *ask, void *context)
{
    return propose_all(space, ask, context);
}

bool ll_search_RANDOM(const struct ll_space *space, ll_ask *ask, void *context)
{
    return propose_all(space, ask, context);
}

bool ll_search_LATIN(const struct ll_space *space, ll_ask *ask, void *context)
{
    return propose_all(space, ask, context);
}

/* Evolution and refinement over the axes of a space. */

struct asked {
    const struct ll_space *space;
    ll_ask *ask;
    void *context;
    bool ended; /* by who answers, or for want of memory */
};

static void take_answers(const struct ll_space *space, const struct ll_answer *outcomes, size_t count,
                         double *objectives, double *violations)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(&objectives[i * space->objective_count], outcomes[i].objectives,
               space->objective_count * sizeof *objectives);
        violations[i] = outcomes[i].valid ? 0 : fmax(outcomes[i].violation, 1e-12);
    }
}

static bool answer(void *context, const uint32_t *points, size_t count, double *objectives,
                   double *violations)
{
    struct asked *asked = context;
    const struct ll_space *space = asked->space;
    uint64_t *numbers = calloc(count, sizeof *numbers);
    struct ll_answer *outcomes = calloc(count, sizeof *outcomes);
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = ll_space_number(space, &points[i * space->axis_count]);
    asked->ended = !numbers || !outcomes || !asked->ask(asked->context, numbers, count, outcomes);
    if (!asked->ended)
        take_answers(space, outcomes, count, objectives, violations);
    free(outcomes);
    free(numbers);
    return !asked->ended;
}

static bool evolve(const struct ll_space *space, double refined, ll_ask *ask, void *context)
{
    uint64_t sizes[LL_MOST_AXES];
    bool ordered[LL_MOST_AXES];
    for (size_t a = 0; a < space->axis_count; a++) {
        sizes[a] = space->axes[a].value_count;
        ordered[a] = space->axes[a].ordered;
    }
    struct ll_index_grid grid = {space->axis_count, sizes, ordered};
    struct ll_breeding breeding = {.seed = space->search.seed,
                                   .evaluations = space->search.points,
                                   .objectives = space->objective_count,
                                   .refined = refined};
    struct asked asked = {space, ask, context, false};
    return ll_evolve(&grid, &breeding, answer, &asked) == LL_OK && !asked.ended;
}

bool ll_search_EVOLVE(const struct ll_space *space, ll_ask *ask, void *context)
{
    return evolve(space, 0.5, ask, context);
}

bool ll_search_REFINE(const struct ll_space *space, ll_ask *ask, void *context)
{
    return evolve(space, 1, ask, context);
}

bool ll_search_divides(enum ll_search_kind kind)
{
    assert(kind < LL_SEARCH_COUNT);
    static const bool divides[] = {
#define LL_SEARCH(word, name, help, divided) divided,
#include "sim/explore/searches.def"
#undef LL_SEARCH
    };
    return divides[kind];
}

bool ll_search(const struct ll_space *space, ll_ask *ask, void *context)
{
    assert(space->search.kind < LL_SEARCH_COUNT);
    static bool (*const searches[])(const struct ll_space *, ll_ask *, void *) = {
#define LL_SEARCH(word, ...) ll_search_##word,
#include "sim/explore/searches.def"
#undef LL_SEARCH
    };
    return searches[space->search.kind](space, ask, context);
}

/* A sweep: the search proposes points, the store answers those that it has, the evaluator the others; batches
 * are committed as they are done, in shards or among processes. */

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
    uint64_t rows;                 /* of the store, at the beginning */
    struct ll_proposals proposals; /* of a search that divides, and who gets which */
    struct ll_deal deal;
    uint64_t numbers[BATCH];
    struct ll_answer outcomes[BATCH];
};

uint64_t ll_sweep_search_total(const struct ll_space *space)
{
    uint64_t most = space->search.points;
    return most && most < space->point_count ? most : space->point_count;
}

static bool sweep_make_room(struct run *run, size_t count)
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

/* The points of the batch that are not known yet; how many. */
static size_t pick(struct run *run, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct ll_sweep *sweep = run->sweep;
    size_t picked = 0;
    for (size_t i = 0; i < count; i++) {
        outcomes[i] = (struct ll_answer){.violation = INFINITY};
        uint64_t key = ll_evaluator_key(sweep->evaluator, numbers[i]);
        if (run->rows > 0 && ll_store_find(sweep->store, numbers[i], key, &outcomes[i])) {
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
    const double before_s = ll_cpu_s();
    const bool evaluated = ll_evaluate(sweep->evaluator, evaluations, count, run->diags);
    sweep->state.evaluating_cpu_s += ll_cpu_s() - before_s;
    if (!evaluated || ll_memory_ran_out() || /* what lacks something would be believed for ever */
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
        sweep->state.left_out += evaluations[i].verdict == LL_VERDICT_PRUNED;
    }
    if (sweep->progress)
        sweep->progress(sweep->context, &sweep->state);
    return true;
}

/* Evaluates and keeps what is not known of these points. */
static bool work_through(struct run *run, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct ll_sweep *sweep = run->sweep;
    const bool learns = !ll_search_divides(sweep->space->search.kind);
    size_t picked = pick(run, numbers, count, outcomes), length;
    for (size_t first = 0; first < picked; first += length) {
        length = picked - first < run->slice ? picked - first : run->slice;
        /* Processes that learn together stop together: the others wait for the answers. */
        if ((!(sweep->crew && learns) && is_stopped(sweep)) ||
            !evaluate_slice(run, run->evaluations + first, length))
            return false;
    }
    for (size_t i = 0; i < picked; i++) {
        assert(run->places[i] < count);
        outcomes[run->places[i]] = run->evaluations[i].outcome;
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

/* The front changes between batches alone, so that what is left out depends on the search, not on threads. */
static void learn(struct run *run, const struct ll_answer *outcomes, size_t count)
{
    for (size_t i = 0; run->sweep->space->search.prune && i < count; i++)
        if (outcomes[i].valid && !ll_archive_add(&run->front, outcomes[i].objectives))
            return; /* no memory: what is there proves less, and is right */
}

static void tell_progress(struct run *run, uint64_t proposed)
{
    struct ll_sweep *sweep = run->sweep;
    sweep->state.proposed += proposed;
    if (sweep->progress)
        sweep->progress(sweep->context, &sweep->state);
}

/* Of a search that learns, a process of a crew has every so many-th point; all get all answers. */
static bool answer_together(struct run *run, const uint64_t *numbers, size_t count,
                            struct ll_answer *outcomes)
{
    const struct ll_sweep *sweep = run->sweep;
    const size_t size = sweep->crew->size,
                 first = (sweep->crew->rank + size - sweep->state.proposed % size) % size;
    size_t own = 0;
    uint64_t *mine = calloc(count, sizeof *mine);
    struct ll_answer *found = calloc(count, sizeof *found);
    for (size_t i = first; mine && i < count; i += size)
        mine[own++] = numbers[i];
    const bool room =
        (mine && found) ||
        ll_complain(run->diags, (struct ll_place){.file = sweep->space->path}, "memory ran out");
    const bool right = room && (own == 0 || is_stopped(sweep) || work_through(run, mine, own, found));
    memset(outcomes, 0, count * sizeof *outcomes);
    for (size_t i = 0; right && i < own && !is_stopped(sweep); i++)
        outcomes[first + i * size] = found[i];
    free(mine);
    free(found);
    return right && exchange(run, count, outcomes);
}

static bool sweep_answer(void *context, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct run *run = context;
    const struct ll_sweep *sweep = run->sweep;
    if (!sweep_make_room(run, count))
        return false;
    if (sweep->crew ? !answer_together(run, numbers, count, outcomes)
                    : is_stopped(sweep) || !work_through(run, numbers, count, outcomes))
        return false;
    learn(run, outcomes, count);
    tell_progress(run, count);
    return true;
}

/* --- searches that divide --- */

static uint64_t sharers(const struct ll_sweep *sweep)
{
    return sweep->crew ? sweep->crew->size : sweep->shards;
}

/* The points that were gathered. */
static bool answer_gathered(struct run *run, size_t count)
{
    if (is_stopped(run->sweep) || !work_through(run, run->numbers, count, run->outcomes))
        return false;
    learn(run, run->outcomes, count);
    tell_progress(run, count * sharers(run->sweep));
    return true;
}

static bool work_piece(struct run *run, const struct ll_deal_piece *piece)
{
    size_t gathered = 0;
    for (uint64_t round = piece->first_round; round < piece->end_round; round++) {
        uint64_t first, left = ll_deal_block(&run->deal, piece->lane, round, &first), length;
        for (; left > 0; left -= length, first += length) {
            length = left < BATCH - gathered ? left : BATCH - gathered;
            if (!ll_proposals_at(&run->proposals, first, length, run->numbers + gathered))
                return ll_complain(run->diags, (struct ll_place){.file = run->sweep->space->path},
                                   "memory ran out");
            gathered += length;
            if (gathered == BATCH && !answer_gathered(run, gathered))
                return false;
            gathered %= BATCH;
        }
    }
    return gathered == 0 || answer_gathered(run, gathered);
}

/* Takes pieces until there are none, or the next one might be too much. *number is the one to begin with. */
static bool take_pieces(struct run *run, uint64_t *number, uint64_t most)
{
    const struct ll_sweep *sweep = run->sweep;
    const struct ll_sweep_crew *crew = sweep->crew;
    struct ll_deal_piece piece;
    while (ll_deal_next(&run->deal, *number, &piece)) {
        if (!work_piece(run, &piece))
            return false;
        if (most - ll_min(sweep->state.evaluated, most) < ll_deal_next_most(&run->deal, &piece))
            return true;
        *number = crew->size + crew->take(crew->context);
    }
    return true;
}

static bool work_pieces(struct run *run)
{
    struct ll_sweep *sweep = run->sweep;
    run->proposals = ll_proposals_of(sweep->space);
    run->deal = ll_deal_of(run->proposals.count, sharers(sweep));
    if (!sweep_make_room(run, BATCH))
        return false;
    if (!sweep->crew) {
        const struct ll_deal_piece all = ll_deal_lane(&run->deal, sweep->shard);
        return work_piece(run, &all);
    }
    uint64_t number = sweep->crew->rank;
    double nothing = 0;
    const uint64_t left = run->proposals.count - ll_min(run->rows, run->proposals.count);
    if (!take_pieces(run, &number, ll_deal_limit(left, sweep->crew->size)) && !is_stopped(sweep))
        return false;
    /* What all have left to others is there for whoever comes. */
    sweep->crew->add_up(sweep->crew->context, &nothing, 1);
    number = sweep->crew->size + sweep->crew->take(sweep->crew->context);
    return !is_stopped(sweep) && take_pieces(run, &number, UINT64_MAX);
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
    assert(sweep->shards > 0 && sweep->shard < sweep->shards && (!sweep->crew || sweep->shards == 1));
    struct run *run = calloc(1, sizeof *run);
    sweep->state = (struct ll_sweep_state){.total = ll_sweep_search_total(sweep->space)};
    if (!run)
        return ll_complain(diags, (struct ll_place){.file = sweep->space->path}, "memory ran out");
    run->sweep = sweep;
    run->diags = diags;
    run->front.objectives = sweep->space->objective_count;
    run->slice = FIRST_SLICE;
    ll_evaluator_prune(sweep->evaluator, sweep->space->search.prune ? &run->front : NULL);
    size_t before = diags->count;
    bool done =
        (!sweep->store || ll_store_rows(sweep->store, &run->rows, diags)) && mark(sweep, false, diags);
    done =
        done && (ll_search_divides(sweep->space->search.kind) ? work_pieces(run)
                                                              : ll_search(sweep->space, sweep_answer, run));
    sweep->state.stopped |= is_stopped(sweep);
    if (!done && !sweep->state.stopped && diags->count == before)
        ll_complain(diags, (struct ll_place){.file = sweep->space->path}, "memory ran out");
    ll_evaluator_prune(sweep->evaluator, NULL);
    ll_archive_release(&run->front);
    ll_proposals_release(&run->proposals);
    free(run->evaluations);
    free(run->measured);
    free(run->places);
    free(run);
    return done && diags->count == before && (sweep->state.stopped || mark(sweep, true, diags));
}
