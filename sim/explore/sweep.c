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

/* Points by lot: without repetition, or as a Latin hypercube. */

enum { BATCH = 1024 };

/* Number i of a sample of so many. */
typedef uint64_t drawing(const struct ll_space *space, const struct ll_shuffle *shuffle, uint64_t count,
                         uint64_t i);

static uint64_t by_lot(const struct ll_space *space, const struct ll_shuffle *shuffle, uint64_t count,
                       uint64_t i)
{
    (void)space, (void)count;
    return ll_shuffle_at(shuffle, i);
}

static uint64_t by_latin(const struct ll_space *space, const struct ll_shuffle *shuffle, uint64_t count,
                         uint64_t i)
{
    (void)shuffle;
    uint64_t sizes[LL_MOST_AXES];
    uint32_t point[LL_MOST_AXES];
    for (size_t a = 0; a < space->axis_count; a++)
        sizes[a] = space->axes[a].value_count;
    ll_latin_point(sizes, space->axis_count, count, space->search.seed, i, point);
    return ll_space_number(space, point);
}

/* What is drawn, and what was drawn already: a Latin hypercube may meet a point twice. */
struct drawn {
    struct ll_map seen;
    uint64_t numbers[BATCH];
    struct ll_answer outcomes[BATCH];
    size_t count;
};

/* False when memory ran out. */
static bool take_drawn(struct drawn *drawn, uint64_t number)
{
    bool fresh = false;
    uint32_t id = ll_map_intern(&drawn->seen, &number, sizeof number, &fresh);
    if (fresh)
        drawn->numbers[drawn->count++] = number;
    return id != LL_NO_ID;
}

static bool ask_now(struct drawn *drawn, ll_ask *ask, void *context)
{
    uint64_t count = drawn->count;
    drawn->count = 0;
    return ask(context, drawn->numbers, count, drawn->outcomes);
}

/* What was drawn before is drawn anew, by lot, so that as many are asked for as are wanted. */
static bool ask_for(const struct ll_space *space, drawing *draw, ll_ask *ask, void *context)
{
    uint64_t all = space->point_count, wanted = space->search.points;
    uint64_t count = wanted && wanted < all ? wanted : all;
    struct ll_shuffle shuffle = ll_shuffle_of(all, space->search.seed);
    struct drawn *drawn = calloc(1, sizeof *drawn);
    bool going = drawn != NULL;
    for (uint64_t i = 0; going && i < count + all && drawn->seen.count < count; i++) {
        going = take_drawn(drawn, i < count ? draw(space, &shuffle, count, i)
                                            : by_lot(space, &shuffle, all, i - count));
        if (going && drawn->count == BATCH)
            going = ask_now(drawn, ask, context);
    }
    going = going && (drawn->count == 0 || ask_now(drawn, ask, context));
    if (drawn)
        ll_map_release(&drawn->seen);
    free(drawn);
    return going;
}

bool ll_search_RANDOM(const struct ll_space *space, ll_ask *ask, void *context)
{
    return ask_for(space, by_lot, ask, context);
}

bool ll_search_LATIN(const struct ll_space *space, ll_ask *ask, void *context)
{
    return ask_for(space, by_latin, ask, context);
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

enum { SEARCH_BATCH = 1024 };

/* A walk over all points: like counting, but with the digits in another order. */
struct walk {
    size_t order[LL_MOST_AXES]; /* the axes, the slowest first */
    uint32_t point[LL_MOST_AXES];
};

/* How much lasts when an axis turns: nothing with another program, of what outlines say least with another
 * memory or software, that of other units when one of them varies; all outlines with another clock, which most
 * of a machine is read again for, and with what else there is. */
enum { WEIGHTS = 5 };
static int weight_of(const struct ll_space_axis *axis)
{
    bool unit = !strncmp(axis->path, "units.", 6);
    if (axis->target == LL_AXIS_MODEL || axis->target == LL_AXIS_PLAN)
        return 0;
    if (!axis->keeps_outlines)
        return unit ? 2 : 1;
    return unit || !strcmp(axis->path, "clock") ? 3 : 4;
}

static struct walk begin(const struct ll_space *space)
{
    struct walk walk = {{0}, {0}};
    size_t count = 0;
    for (int weight = 0; weight < WEIGHTS; weight++)
        for (size_t a = 0; a < space->axis_count; a++)
            if (weight_of(&space->axes[a]) == weight)
                walk.order[count++] = a;
    return walk;
}

/* Where the walk comes to a point. */
static uint64_t place_of(const struct ll_space *space, const struct walk *walk, uint64_t number)
{
    uint32_t point[LL_MOST_AXES];
    uint64_t place = 0;
    ll_space_point(space, number, point);
    for (size_t i = 0; i < space->axis_count; i++)
        place = place * space->axes[walk->order[i]].value_count + point[walk->order[i]];
    return place;
}

static int by_place(const void *left, const void *right)
{
    const struct ll_turn *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

void ll_space_turns(const struct ll_space *space, const struct ll_evaluation *evaluations, size_t count,
                    struct ll_turn *turns)
{
    const struct walk walk = begin(space);
    for (size_t i = 0; i < count; i++)
        turns[i] = (struct ll_turn){place_of(space, &walk, evaluations[i].number), i};
    qsort(turns, count, sizeof *turns, by_place);
}

static void step(const struct ll_space *space, struct walk *walk)
{
    for (size_t i = space->axis_count; i-- > 0;) {
        size_t a = walk->order[i];
        if (++walk->point[a] < space->axes[a].value_count)
            return;
        walk->point[a] = 0;
    }
}

bool ll_search_GRID(const struct ll_space *space, ll_ask *ask, void *context)
{
    uint64_t most = space->search.points, count = space->point_count;
    uint64_t numbers[SEARCH_BATCH];
    struct walk walk = begin(space);
    struct ll_answer *outcomes = calloc(SEARCH_BATCH, sizeof *outcomes);
    bool going = outcomes != NULL;
    if (most && most < count)
        count = most;
    for (uint64_t first = 0; going && first < count; first += SEARCH_BATCH) {
        size_t length = 0;
        for (; first + length < count && length < SEARCH_BATCH; step(space, &walk))
            numbers[length++] = ll_space_number(space, walk.point);
        going = ask(context, numbers, length, outcomes);
    }
    free(outcomes);
    return going;
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
    assert(shards <= 1 || shard < shards);
    return shards <= 1 || ll_random_bits(number, 0) % shards == shard;
}

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
        sweep->state.left_out += evaluations[i].verdict == LL_VERDICT_PRUNED;
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
    for (size_t i = 0; i < picked; i++) {
        assert(run->places[i] < count);
        outcomes[run->places[i]] = run->evaluations[i].outcome;
    }
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

static bool sweep_answer(void *context, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct run *run = context;
    struct ll_sweep *sweep = run->sweep;
    if (!sweep_make_room(run, count))
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
    assert(sweep->shards > 0 && sweep->shard < sweep->shards && (!sweep->crew || sweep->shards == 1));
    struct run run = {.sweep = sweep,
                      .diags = diags,
                      .front = {.objectives = sweep->space->objective_count},

                      .slice = FIRST_SLICE,
                      .taken = NO_PIECE};
    ll_evaluator_prune(sweep->evaluator, sweep->space->search.prune ? &run.front : NULL);
    sweep->state = (struct ll_sweep_state){.total = ll_sweep_search_total(sweep->space)};
    size_t before = diags->count;
    bool done = mark(sweep, false, diags) && ll_search(sweep->space, sweep_answer, &run);
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
