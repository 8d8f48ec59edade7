/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "toy_machine.h"

#include "sim/validate/predict.h"
#include "sim/validate/tune.h"

#include <math.h>
#include <string.h>

enum { ROWS = 60 };

static const char extra[] = "software: {op_overhead: 4us}\naliases: [A Toy]\n";

/* Element-wise ops from launch-bound to large, as a machine with other numbers would run them. */
struct trial {
    struct ll_machine *machine;
    struct ll_measured rows[ROWS];
    char dims[ROWS][32];
    struct ll_arena arena;
    const struct ll_machine_number *numbers[2];
};

static const struct ll_machine_number *number(struct trial *t, const char *path)
{
    size_t count;
    const struct ll_machine_number *all = ll_machine_numbers(t->machine, &t->arena, &count);
    assert_non_null(all);
    for (size_t i = 0; i < count; i++)
        if (strcmp(all[i].path, path) == 0)
            return &all[i];
    fail_msg("no number %s", path);
    return NULL;
}

static void begin(struct trial *t, double bandwidth_factor, double overhead_s)
{
    char text[2048];
    struct ll_measured_works works = {0};
    const char *trouble;
    snprintf(text, sizeof text, "%s%s", LL_TOY_MACHINE, extra);
    *t = (struct trial){.machine = ll_toy_machine(text)};
    assert_non_null(t->machine);
    t->numbers[0] = number(t, "memory.ram.bandwidth");
    t->numbers[1] = number(t, "software.op_overhead");
    struct ll_machine real = *t->machine;
    ll_number_set(&real, t->numbers[0], bandwidth_factor * ll_number_get(t->machine, t->numbers[0]));
    ll_number_set(&real, t->numbers[1], overhead_s);
    for (size_t i = 0; i < ROWS; i++) {
        struct ll_predicted predicted;
        snprintf(t->dims[i], sizeof t->dims[i], "n=%.0f", 16 * pow(1.25, (double)i));
        t->rows[i] = (struct ll_measured){.source = "test",
                                          .hardware = "a toy",
                                          .op = "relu",
                                          .dtype = "bf16",
                                          .dims = t->dims[i],
                                          .time_s = 1};
        assert_null(ll_measured_works(&t->rows[i], NULL, &works));
        assert_true(ll_predict(&real, &works, &predicted, &trouble));
        t->rows[i].time_s = predicted.time_s;
    }
    ll_measured_works_release(&works);
}

static void end(struct trial *t)
{
    ll_arena_release(&t->arena);
    ll_machine_free(t->machine);
}

static struct ll_tuning tuned(struct trial *t, struct ll_pool *pool, size_t row_count)
{
    struct ll_tuning tuning;
    const struct ll_tuning_task task = {.rows = t->rows,
                                        .row_count = row_count,
                                        .machine = t->machine,
                                        .numbers = t->numbers,
                                        .number_count = 2,
                                        .folds = 4};
    bool done = ll_tune(&task, pool, &t->arena, &tuning);
    assert_int_equal(done, row_count >= 4);
    return tuning;
}

static void numbers_that_made_the_times_are_found_again(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 0.6, 9e-6);
    struct ll_tuning tuning = tuned(&t, NULL, ROWS);
    double bandwidth = ll_number_get(t.machine, t.numbers[0]);
    assert_int_equal(tuning.rows, ROWS);
    assert_true(tuning.before.mape > 0.3);
    assert_true(tuning.held_out.mape < 0.02);
    assert_true(fabs(tuning.tuned[0].after / bandwidth - 0.6) < 0.01);
    assert_true(fabs(tuning.tuned[1].after - 9e-6) < 0.2e-6);
    for (size_t i = 0; i < 2; i++) {
        assert_true(tuning.tuned[i].matters);
        assert_true(tuning.tuned[i].low <= tuning.tuned[i].high);
    }
    end(&t);
}

static void any_number_of_threads_fits_the_same(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 0.7, 2e-6);
    struct ll_pool *pool = ll_pool_new(3);
    assert_non_null(pool);
    struct ll_tuning one = tuned(&t, NULL, ROWS), three = tuned(&t, pool, ROWS);
    for (size_t i = 0; i < 2; i++)
        assert_memory_equal(&one.tuned[i], &three.tuned[i], sizeof one.tuned[i]);
    assert_true(one.held_out.mape == three.held_out.mape);
    ll_pool_free(pool);
    end(&t);
}

static void a_number_that_no_row_follows_stays(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 0.6, 4e-6);
    t.numbers[1] = number(&t, "units.array.efficiency"); /* it multiplies matrices */
    struct ll_tuning tuning = tuned(&t, NULL, ROWS);
    assert_false(tuning.tuned[1].matters);
    assert_true(tuning.tuned[1].after == tuning.tuned[1].before);
    end(&t);
}

static void fewer_rows_than_folds_are_no_fit(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 1, 4e-6);
    struct ll_tuning tuning = tuned(&t, NULL, 3);
    assert_int_equal(tuning.rows, 3);
    end(&t);
}

/* Twins in other folds would tell each row's time: what was not seen would look as good as what was. */
/* Sizes go up by a quarter, so that there are fewer powers of two than sizes. */
static void rows_of_one_block_of_shapes_are_in_one_fold(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 0.6, 9e-6);
    enum { DIFFERENT = 12 };
    for (size_t i = 0; i < DIFFERENT; i++)
        t.rows[i].time_s *= i % 2 ? 1.5 : 0.7;
    struct ll_tuning once = tuned(&t, NULL, DIFFERENT);
    for (size_t i = DIFFERENT; i < ROWS; i++)
        t.rows[i] = t.rows[i % DIFFERENT];
    struct ll_tuning again = tuned(&t, NULL, ROWS);
    assert_int_equal(again.rows, ROWS);
    assert_true(once.different >= 4 && once.different < DIFFERENT);
    assert_int_equal(again.different, once.different);
    assert_true(fabs(again.held_out.mape - once.held_out.mape) < 1e-9);
    assert_true(fabs(again.tuned[0].low - once.tuned[0].low) <= 1e-9 * once.tuned[0].low);
    for (size_t i = 0; i < ROWS; i++)
        t.rows[i] = t.rows[i % 3]; /* of fewer than there are folds */
    const struct ll_tuning_task task = {.rows = t.rows,
                                        .row_count = ROWS,
                                        .machine = t.machine,
                                        .numbers = t.numbers,
                                        .number_count = 2,
                                        .folds = 4};
    assert_false(ll_tune(&task, NULL, &t.arena, &again));
    assert_in_range(again.different, 1, 3);
    end(&t);
}

/* Rows of a memory twice as fast want more than all of this one's bandwidth. */
static void a_number_says_that_it_ended_at_its_bound(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 2, 4e-6);
    t.numbers[0] = number(&t, "memory.ram.efficiency");
    struct ll_tuning tuning = tuned(&t, NULL, ROWS);
    assert_true(tuning.tuned[0].after == 1);
    assert_int_equal(tuning.tuned[0].bound, 1);
    assert_int_equal(tuning.tuned[1].bound, 0);
    end(&t);
}

/* Rows that are refused elsewhere are no rows to fit on: of several devices, and without a time. */
static void rows_that_cannot_be_scored_are_not_fitted(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 0.6, 9e-6);
    for (size_t i = 0; i < 4; i++) {
        t.rows[i].hardware = "8x a toy";
        t.rows[i].time_s = 100;
    }
    t.rows[4].time_s = 0;
    struct ll_tuning tuning = tuned(&t, NULL, ROWS);
    assert_int_equal(tuning.rows, ROWS - 5);
    assert_int_equal(tuning.unscored, 4);
    assert_non_null(strstr(tuning.why, "several devices"));
    assert_int_equal(tuning.untimed, 1);
    assert_true(tuning.held_out.mape < 0.02);
    end(&t);
}

/* As YAML over the machine itself; the folder of machines is not needed. */
static void the_file_says_what_moved_and_why(void **state)
{
    (void)state;
    struct trial t;
    begin(&t, 0.6, 9e-6);
    struct ll_tuning tuning = tuned(&t, NULL, ROWS);
    struct ll_str yaml = {0};
    ll_tuning_yaml(&tuning, "toy", "Toy, \"fitted\"", "d.csv", NULL, &yaml);
    assert_non_null(strstr(yaml.text, "inherits: \"toy\"\nname: \"Toy, \\\"fitted\\\"\"\n"
                                      "memory: [{name: ram, bandwidth: "));
    assert_non_null(strstr(yaml.text, "\nsoftware: {op_overhead: "));
    assert_non_null(
        strstr(yaml.text, "\n  software.op_overhead: \"fitted on d.csv, 60 rows, cross-validated MAPE "));
    ll_str_release(&yaml);
    end(&t);
}

/* Half of the rows take twice as long: a table of their neighbours halves nothing but their error. */
static void a_table_is_made_of_families_that_it_helps(void **state)
{
    (void)state;
    struct trial t;
    struct ll_tuning tuning;
    struct ll_str csv = {0};
    begin(&t, 1, 4e-6);
    for (size_t i = 0; i < ROWS; i++)
        t.rows[i].time_s *= 1 + (double)i / ROWS;
    for (size_t i = 1; i < ROWS; i += 2) { /* and these say nothing of one another */
        t.rows[i].op = "tanh";
        t.rows[i].dtype = "int8";
        t.rows[i].time_s *= i % 4 == 1 ? 0.1 : 10;
    }
    const struct ll_tuning_task task = {.rows = t.rows,
                                        .row_count = ROWS,
                                        .machine = t.machine,
                                        .numbers = t.numbers,
                                        .number_count = 1,
                                        .folds = 4,
                                        .table = true};
    assert_true(ll_tune(&task, NULL, &t.arena, &tuning));
    assert_int_equal(tuning.family_count, 2);
    assert_true(tuning.families[0].better && tuning.families[0].with < tuning.families[0].without / 2);
    assert_false(tuning.families[1].better);
    assert_int_equal(tuning.table_count, ROWS / 2);
    ll_tuning_table_csv(&tuning, &csv);
    assert_non_null(strstr(csv.text, "\ntest,a toy,relu,bf16,n=16,"));
    assert_null(strstr(csv.text, "tanh"));
    ll_str_release(&csv);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_made_of_families_that_it_helps),
        cmocka_unit_test(numbers_that_made_the_times_are_found_again),
        cmocka_unit_test(any_number_of_threads_fits_the_same),
        cmocka_unit_test(a_number_that_no_row_follows_stays),
        cmocka_unit_test(fewer_rows_than_folds_are_no_fit),
        cmocka_unit_test(rows_of_one_block_of_shapes_are_in_one_fold),
        cmocka_unit_test(a_number_says_that_it_ended_at_its_bound),
        cmocka_unit_test(rows_that_cannot_be_scored_are_not_fitted),
        cmocka_unit_test(the_file_says_what_moved_and_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
