/* SPDX-License-Identifier: Apache-2.0 */
/* Searches over a space that is read from text: what each asks for. */
#include "check.h"

#include "sim/explore/sweep.h"

enum { MOST = 1000 };

static const char text[] = "base: custom_example\n"
                           "models: [alexnet]\n"
                           "vary:\n"
                           "  units.array.rows: [8, 16, 32, 64]\n"
                           "  units.array.cols: [8, 16, 32, 64, 128]\n"
                           "  clock: {from: 500MHz, to: 1500MHz, by: 100MHz}\n"
                           "  software.fusion: [none, elementwise]\n"
                           "objectives: [min time_s, min area_mm2]\n";
enum { POINTS = 4 * 5 * 11 * 2 };

struct asked {
    uint64_t numbers[MOST], count, batches, most_batches; /* most_batches 0: as many as come */
    unsigned seen[POINTS];
};

/* Two objectives that pull at the number of the point from both ends. */
static bool answer(void *context, const uint64_t *numbers, size_t count, struct ll_answer *outcomes)
{
    struct asked *asked = context;
    for (size_t i = 0; i < count; i++) {
        assert_true(numbers[i] < POINTS && asked->count < MOST);
        asked->seen[numbers[i]]++;
        asked->numbers[asked->count++] = numbers[i];
        bool valid = numbers[i] % 7 != 0;
        outcomes[i] =
            (struct ll_answer){.valid = valid,
                               .violation = valid ? 0 : INFINITY,
                               .objectives = {(double)(numbers[i] % 44), 100 - (double)(numbers[i] / 10)}};
    }
    return ++asked->batches != asked->most_batches;
}

static struct ll_space *space_of(const char *search)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    struct ll_diags diags = {0};
    char whole[2048];
    snprintf(whole, sizeof whole, "%ssearch: %s\n", text, search);
    struct ll_space *space = ll_space_parse(whole, strlen(whole), "toy.yaml", folders, &diags);
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n", diags.kept[i].message);
    assert_non_null(space);
    assert_int_equal(space->point_count, POINTS);
    ll_diags_release(&diags);
    return space;
}

static struct asked ask_all(const char *search)
{
    struct asked asked = {0};
    struct ll_space *space = space_of(search);
    assert_true(ll_search(space, answer, &asked));
    ll_space_free(space);
    return asked;
}

static const char *const kinds[] = {"random", "latin", "evolve", "refine"};

static void no_search_asks_twice_nor_for_more_than_it_may(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        char search[64];
        snprintf(search, sizeof search, "{kind: %s, points: 150, seed: 5}", kinds[k]);
        struct asked asked = ask_all(search);
        assert_true(asked.count <= 150 && asked.count >= 120);
        for (size_t i = 0; i < POINTS; i++)
            assert_true(asked.seen[i] <= 1);
    }
}

static void a_seed_repeats_and_another_does_not(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        char search[3][64];
        for (int s = 0; s < 3; s++)
            snprintf(search[s], sizeof search[s], "{kind: %s, points: 100, seed: %d}", kinds[k], s / 2);
        struct asked first = ask_all(search[0]), again = ask_all(search[1]), other = ask_all(search[2]);
        assert_memory_equal(first.numbers, again.numbers, sizeof first.numbers);
        assert_memory_not_equal(first.numbers, other.numbers, sizeof first.numbers);
    }
}

static void a_search_that_may_ask_for_everything_does(void **state)
{
    (void)state;
    static const char *const all[] = {"grid", "{kind: random, points: 900}", "{kind: evolve, points: 900}",
                                      "{kind: refine, points: 900}"};
    for (size_t k = 0; k < 4; k++) {
        struct asked asked = ask_all(all[k]);
        for (size_t i = 0; i < POINTS; i++)
            assert_int_equal(asked.seen[i], 1);
    }
}

static void who_answers_may_stop_a_search(void **state)
{
    (void)state;
    for (size_t k = 0; k < 4; k++) {
        char search[64];
        snprintf(search, sizeof search, "{kind: %s, points: 200}", kinds[k]);
        struct ll_space *space = space_of(search);
        struct asked asked = {.most_batches = 1};
        assert_false(ll_search(space, answer, &asked));
        assert_int_equal(asked.batches, 1);
        ll_space_free(space);
    }
}

static void searches_that_learn_do_not_divide(void **state)
{
    (void)state;
    assert_true(ll_search_divides(LL_SEARCH_GRID) && ll_search_divides(LL_SEARCH_RANDOM) &&
                ll_search_divides(LL_SEARCH_LATIN));
    assert_false(ll_search_divides(LL_SEARCH_EVOLVE) || ll_search_divides(LL_SEARCH_REFINE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_search_asks_twice_nor_for_more_than_it_may),
        cmocka_unit_test(a_seed_repeats_and_another_does_not),
        cmocka_unit_test(a_search_that_may_ask_for_everything_does),
        cmocka_unit_test(who_answers_may_stop_a_search),
        cmocka_unit_test(searches_that_learn_do_not_divide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
