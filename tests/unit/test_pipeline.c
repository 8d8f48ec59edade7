/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost_parts.h"

#include <math.h>

/* The dumb twin: walks all tiles, with an array of what each of the last two did. */
struct twin {
    double loaded, worked[2], stored[2]; /* the latest and the one before */
};

static void run_tile(struct twin *t, double load_s, double work_s, double store_s, bool single)
{
    double free_in = t->worked[single ? 0 : 1], free_out = t->stored[single ? 0 : 1];
    t->loaded = fmax(t->loaded, free_in) + load_s;
    double worked = fmax(fmax(t->loaded, t->worked[0]), free_out) + work_s;
    double stored = fmax(worked, t->stored[0]) + store_s;
    t->worked[1] = t->worked[0];
    t->worked[0] = worked;
    t->stored[1] = t->stored[0];
    t->stored[0] = stored;
}

static double extent(const struct ll_tile_nest *nest, int d, uint64_t i)
{
    return i < nest->whole[d] ? 1 : nest->edge[d];
}

static uint64_t rounds(const struct ll_tile_nest *nest, int d)
{
    return nest->whole[d] + (nest->edge[d] > 0);
}

static double twin_s(const struct ll_tile_nest *nest, double load_s, double work_s, double store_s)
{
    struct twin t = {0};
    double volume = 0, results = 0;
    for (int pass = 0; pass < 2; pass++)
        for (uint64_t a = 0; a < rounds(nest, 0); a++)
            for (uint64_t b = 0; b < rounds(nest, 1); b++)
                for (uint64_t c = 0; c < rounds(nest, 2); c++)
                    for (uint64_t d = 0; d < rounds(nest, 3); d++) {
                        double result = extent(nest, 0, a) * extent(nest, 1, b) * extent(nest, 2, c);
                        double tile = result * extent(nest, 3, d);
                        if (!nest->gathers)
                            result = tile;
                        else if (d + 1 < rounds(nest, 3))
                            result = 0;
                        if (pass == 0) {
                            volume += tile;
                            results += result;
                        } else
                            run_tile(&t, load_s * tile / volume, work_s * tile / volume,
                                     store_s * result / results, nest->single);
                    }
    return t.stored[0];
}

static struct ll_tile_nest random_nest(struct dice *dice)
{
    struct ll_tile_nest nest = {.gathers = roll_between(dice, 0, 1), .single = roll_between(dice, 0, 1)};
    for (int d = 0; d < LL_TILE_LOOPS; d++) {
        nest.whole[d] = roll_size(dice, 6);
        nest.edge[d] = roll_between(dice, 0, 1) ? roll_real(dice, 0.1, 0.9) : 0;
    }
    return nest;
}

static void the_recurrence_equals_a_walk_over_all_tiles(void **state)
{
    (void)state;
    uint64_t first = ll_seed(1);
    for (uint64_t seed = first; seed < first + 2000; seed++) {
        struct dice dice = {seed};
        struct ll_tile_nest nest = random_nest(&dice);
        double load_s = roll_real(&dice, 0, 1), work_s = roll_real(&dice, 0, 1),
               store_s = roll_real(&dice, 0, 1);
        double time_s = ll_pipeline_s(&nest, load_s, work_s, store_s);
        assert_near(time_s, twin_s(&nest, load_s, work_s, store_s), 1e-12);
        assert_true(time_s >= fmax(load_s, fmax(work_s, store_s)) * (1 - 1e-12));
        assert_true(time_s <= (load_s + work_s + store_s) * (1 + 1e-12));
    }
}

/* The closed form in the header: 1000 tiles, one second of loading, two of work, half a one of storing. */
static void equal_tiles_go_at_the_pace_of_the_slowest_stage(void **state)
{
    (void)state;
    struct ll_tile_nest nest = {.whole = {10, 10, 5, 2}};
    assert_near(ll_pipeline_s(&nest, 1000, 2000, 500), 3.5 + 999 * 2, 1e-12);
    assert_near(ll_pipeline_s(&nest, 2000, 1000, 500), 3.5 + 999 * 2, 1e-12);
    assert_near(ll_pipeline_s(&nest, 1000, 500, 2000), 3.5 + 999 * 2, 1e-12);
}

static void with_one_buffer_nothing_loads_during_work(void **state)
{
    (void)state;
    struct ll_tile_nest nest = {.whole = {1, 1, 1, 1000}, .single = true};
    assert_near(ll_pipeline_s(&nest, 1000, 2000, 0), 3000, 1e-12);
}

static void a_single_tile_is_loaded_worked_on_and_stored_in_turn(void **state)
{
    (void)state;
    struct ll_tile_nest nest = {.whole = {1, 1, 1, 1}};
    assert_near(ll_pipeline_s(&nest, 1, 2, 4), 7, 0);
}

static void a_trillion_tiles_take_no_longer_to_count(void **state)
{
    (void)state;
    struct ll_tile_nest nest = {.whole = {UINT64_C(1) << 40, 1, 1, 1}};
    assert_near(ll_pipeline_s(&nest, 1, 2, 1), 2, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_recurrence_equals_a_walk_over_all_tiles),
        cmocka_unit_test(equal_tiles_go_at_the_pace_of_the_slowest_stage),
        cmocka_unit_test(with_one_buffer_nothing_loads_during_work),
        cmocka_unit_test(a_single_tile_is_loaded_worked_on_and_stored_in_turn),
        cmocka_unit_test(a_trillion_tiles_take_no_longer_to_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
