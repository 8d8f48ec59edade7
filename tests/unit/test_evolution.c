/* SPDX-License-Identifier: Apache-2.0 */
/* Searches against whole grids of 50,000 points that are cheap to compute. */
#include "check.h"
#include "hypervolume.h"

#include "sim/explore/sweep.h"
#include "sim/explore/findings.h"

enum { POINTS = 50000, ASKED = POINTS / 20, DIMENSIONS = 5, SEEDS = 10 };
static const uint64_t sizes[DIMENSIONS] = {10, 10, 10, 10, 5};
static const bool ordered[DIMENSIONS] = {true, true, true, true, false};
static const struct ll_index_grid grid = {DIMENSIONS, sizes, ordered};

struct problem {
    const char *name;
    size_t objectives;
    void (*values)(const uint32_t *point, double *values);
    bool ratios; /* judged by logarithms: where values span decades, the ends alone would decide */
};

/* ZDT1 (Zitzler, Deb and Thiele, 2000) on a grid: a convex front. */
static void convex(const uint32_t *p, double *values)
{
    double x = p[0] / 9.0, g = 1 + 9 * (p[1] / 9.0 + p[2] / 9.0 + p[3] / 9.0 + p[4] / 4.0) / 4;
    values[0] = x;
    values[1] = g * (1 - sqrt(x / g));
}

/* ZDT2: a front that curves inwards. */
static void concave(const uint32_t *p, double *values)
{
    double x = p[0] / 9.0, g = 1 + 9 * (p[1] / 9.0 + p[2] / 9.0 + p[3] / 9.0 + p[4] / 4.0) / 4;
    values[0] = x;
    values[1] = g * (1 - x / g * (x / g));
}

/* DTLZ2 (Deb, Thiele, Laumanns and Zitzler, 2002): an eighth of a sphere. */
static void sphere(const uint32_t *p, double *values)
{
    double a = p[0] / 9.0 * acos(0), b = p[1] / 9.0 * acos(0), g = 1;
    g += (p[2] / 9.0 - 0.5) * (p[2] / 9.0 - 0.5) + (p[3] / 9.0 - 0.3) * (p[3] / 9.0 - 0.3) +
         abs((int)p[4] - 2);
    values[0] = g * cos(a) * cos(b);
    values[1] = g * cos(a) * sin(b);
    values[2] = g * sin(a);
}

/* Like an accelerator: an array whose edges do not divide the work, a buffer that saves traffic, a memory of
 * five kinds, and a clock. Time, area, energy. */
static void design(const uint32_t *p, double *values)
{
    static const double bandwidth[] = {25, 100, 300, 600, 1200}, price[] = {4, 10, 60, 90, 260},
                        picojoules[] = {60, 40, 12, 10, 7};
    double rows = pow(2, p[0]), columns = pow(2, p[1]), buffer = pow(2, p[2]), clock = 0.4 + 0.2 * p[3];
    double compute = 0, traffic = 0;
    const double m[] = {784, 196, 3136, 1000}, n[] = {64, 512, 256, 90}, k[] = {576, 4608, 64, 2048};
    for (int i = 0; i < 4; i++) {
        compute += ceil(k[i] / rows) * ceil(n[i] / columns) * (m[i] + rows + columns) / clock;
        traffic += m[i] * n[i] * k[i] / sqrt(buffer * 1024 / 3) * 2 + m[i] * n[i] + n[i] * k[i];
    }
    values[0] = fmax(compute, traffic / bandwidth[p[4]]);
    values[1] = rows * columns * 0.0008 * clock + buffer * 0.002 + price[p[4]];
    values[2] = traffic * picojoules[p[4]] + 4e8 * clock * clock + values[0] * values[1] * 40;
}

/* The same without energy, so that there are two. */
static void fast_and_small(const uint32_t *p, double *values)
{
    double three[3];
    design(p, three);
    values[0] = three[0];
    values[1] = three[1];
}

struct trial {
    const struct problem *problem;
    double *values; /* of what was asked for */
    unsigned char *seen;
    size_t count;
    uint64_t hash;
    double limit; /* of the second objective, a constraint; 0: none */
};

static uint64_t number_of(const uint32_t *point)
{
    uint64_t number = 0;
    for (size_t d = 0; d < DIMENSIONS; d++) {
        assert_true(point[d] < sizes[d]);
        number = number * sizes[d] + point[d];
    }
    return number;
}

static bool answer(void *context, const uint32_t *points, size_t count, double *objectives,
                   double *violations)
{
    struct trial *trial = context;
    size_t k = trial->problem->objectives;
    for (size_t i = 0; i < count; i++) {
        uint64_t number = number_of(&points[i * DIMENSIONS]);
        assert_int_equal(trial->seen[number]++, 0);
        trial->problem->values(&points[i * DIMENSIONS], &objectives[i * k]);
        violations[i] = trial->limit > 0 ? fmax(0, objectives[i * k + 1] / trial->limit - 1) : 0;
        memcpy(&trial->values[trial->count * k], &objectives[i * k], k * sizeof(double));
        if (violations[i] > 0)
            trial->values[trial->count * k] = NAN;
        trial->count++;
        trial->hash = trial->hash * 1099511628211u + number;
    }
    return true;
}

static struct trial trial_of(const struct problem *problem)
{
    return (struct trial){.problem = problem,
                          .values = calloc(POINTS * problem->objectives, sizeof(double)),
                          .seen = calloc(POINTS, 1)};
}

static void release(struct trial *trial)
{
    free(trial->values);
    free(trial->seen);
}

static double *all_values(const struct problem *problem, double limit)
{
    double *values = calloc(POINTS * problem->objectives, sizeof *values);
    for (uint64_t i = 0; i < POINTS; i++) {
        uint32_t point[DIMENSIONS];
        uint64_t rest = i;
        for (size_t d = DIMENSIONS; d-- > 0; rest /= sizes[d])
            point[d] = (uint32_t)(rest % sizes[d]);
        problem->values(point, &values[i * problem->objectives]);
        if (limit > 0 && values[i * problem->objectives + 1] > limit)
            values[i * problem->objectives] = NAN;
    }
    return values;
}

/* A tenth beyond the worst values of the front itself: a harder judge than the worst of all points. */
static void reference_of(const double *values, size_t k, double *reference)
{
    uint64_t *front = calloc(POINTS, sizeof *front), count;
    assert_int_equal(ll_pareto_front(values, POINTS, k, front, &count), LL_OK);
    for (size_t j = 0; j < k; j++) {
        double low = INFINITY, high = -INFINITY;
        for (uint64_t i = 0; i < count; i++) {
            low = fmin(low, values[front[i] * k + j]);
            high = fmax(high, values[front[i] * k + j]);
        }
        reference[j] = high + 0.1 * (high - low);
    }
    free(front);
}

/* The volume as it is judged. */
static double volume_of(const struct problem *problem, const double *values, uint64_t count,
                        const double *reference)
{
    size_t k = problem->objectives;
    double *judged = calloc(count * k, sizeof *judged), edge[3];
    for (uint64_t i = 0; i < count * k; i++)
        judged[i] = problem->ratios ? log(values[i]) : values[i];
    for (size_t j = 0; j < k; j++)
        edge[j] = problem->ratios ? log(reference[j]) : reference[j];
    double volume = hypervolume(judged, count, k, edge);
    free(judged);
    return volume;
}

/* The least part of the whole grid's volume that a search with a twentieth of the points reaches. */
static double least_part(const struct problem *problem, double limit, double refined)
{
    double *all = all_values(problem, limit), reference[3], least = 1, sum = 0;
    reference_of(all, problem->objectives, reference);
    double whole = volume_of(problem, all, POINTS, reference);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct trial trial = trial_of(problem);
        trial.limit = limit;
        struct ll_breeding breeding = {
            .seed = seed, .evaluations = ASKED, .objectives = problem->objectives, .refined = refined};
        assert_int_equal(ll_evolve(&grid, &breeding, answer, &trial), LL_OK);
        assert_int_equal(trial.count, ASKED);
        double part = volume_of(problem, trial.values, ASKED, reference) / whole;
        least = fmin(least, part);
        sum += part / SEEDS;
        release(&trial);
    }
    print_message("%s%s: %.2f %% of the volume on average, %.2f %% at least\n", problem->name,
                  limit > 0 ? " with a limit" : "", 100 * sum, 100 * least);
    free(all);
    return least;
}

static const struct problem problems[] = {{"convex", 2, convex, false},
                                          {"concave", 2, concave, false},
                                          {"sphere", 3, sphere, false},
                                          {"fast and small", 2, fast_and_small, true},
                                          {"fast, small and frugal", 3, design, true}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static void a_twentieth_of_the_points_finds_nearly_all_of_the_volume(void **state)
{
    (void)state;
    for (size_t i = 0; i < PROBLEMS; i++)
        assert_true(least_part(&problems[i], 0, 0.5) >= 0.95);
}

static void constraints_are_held_and_cost_no_volume(void **state)
{
    (void)state;
    assert_true(least_part(&problems[3], 40, 0.5) >= 0.95);
    assert_true(least_part(&problems[4], 40, 0.5) >= 0.95);
}

static void a_seed_asks_for_the_same_points_and_another_for_others(void **state)
{
    (void)state;
    uint64_t hashes[3];
    for (size_t i = 0; i < 3; i++) {
        struct trial trial = trial_of(&problems[4]);
        struct ll_breeding breeding = {.seed = i / 2, .evaluations = 500, .objectives = 3, .refined = 0.5};
        assert_int_equal(ll_evolve(&grid, &breeding, answer, &trial), LL_OK);
        hashes[i] = trial.hash;
        release(&trial);
    }
    assert_true(hashes[0] == hashes[1]);
    assert_true(hashes[0] != hashes[2]);
}

static void a_search_as_long_as_the_grid_asks_for_every_point_once(void **state)
{
    (void)state;
    struct trial trial = trial_of(&problems[0]);
    const uint64_t small[DIMENSIONS] = {3, 1, 7, 2, 5};
    const struct ll_index_grid little = {DIMENSIONS, small, ordered};
    struct ll_breeding breeding = {.seed = 1, .evaluations = 10000, .objectives = 2, .refined = 0.5};
    assert_int_equal(ll_evolve(&little, &breeding, answer, &trial), LL_OK);
    assert_int_equal(trial.count, 3 * 7 * 2 * 5);
    release(&trial);
}

static bool stop(void *context, const uint32_t *points, size_t count, double *objectives, double *violations)
{
    (void)points, (void)count, (void)objectives, (void)violations;
    return ++*(int *)context < 3;
}

static void who_answers_may_end_the_search(void **state)
{
    (void)state;
    int asked = 0;
    struct ll_breeding breeding = {.seed = 1, .evaluations = 10000, .objectives = 2, .refined = 0.5};
    assert_int_equal(ll_evolve(&grid, &breeding, stop, &asked), LL_OK);
    assert_int_equal(asked, 3);
}

static void breeding_beats_drawing_by_lot(void **state)
{
    (void)state;
    const struct problem *problem = &problems[4];
    double *all = all_values(problem, 0), reference[3], drawn[3 * ASKED];
    reference_of(all, 3, reference);
    struct ll_shuffle shuffle = ll_shuffle_of(POINTS, 1);
    for (uint64_t i = 0; i < ASKED; i++)
        memcpy(&drawn[3 * i], &all[3 * ll_shuffle_at(&shuffle, i)], 3 * sizeof(double));
    double part = volume_of(problem, drawn, ASKED, reference) / volume_of(problem, all, POINTS, reference);
    print_message("by lot: %.2f %%\n", 100 * part);
    assert_true(part < least_part(problem, 0, 0.5));
    free(all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_twentieth_of_the_points_finds_nearly_all_of_the_volume),
        cmocka_unit_test(constraints_are_held_and_cost_no_volume),
        cmocka_unit_test(a_seed_asks_for_the_same_points_and_another_for_others),
        cmocka_unit_test(a_search_as_long_as_the_grid_asks_for_every_point_once),
        cmocka_unit_test(who_answers_may_end_the_search),
        cmocka_unit_test(breeding_beats_drawing_by_lot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
