/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured kernels: what they answer (sim/cost/kernel_table.h), and the rows that they are made of
 * (sim/validate/table.h). Expected ratios are those of the formula, by hand. */
#include "check.h"
#include "toy_machine.h"

#include "sim/cost/cost.h"
#include "sim/validate/predict.h"
#include "sim/validate/table.h"

struct trial {
    struct ll_machine *machine;
    struct ll_arena arena;
    struct ll_diags diags;
};

static void begin(struct trial *t)
{
    *t = (struct trial){.machine = ll_toy_machine(LL_TOY_MACHINE)};
    assert_non_null(t->machine);
}

static void end(struct trial *t)
{
    ll_diags_release(&t->diags);
    ll_machine_free(t->machine);
    ll_arena_release(&t->arena);
}

static struct ll_work product(uint64_t m, uint64_t n, uint64_t k)
{
    return (struct ll_work){.kind = LL_WORK_GEMM,
                            .dtype = LL_BF16,
                            .flops = 2 * m * n * k,
                            .a_bytes = 2 * m * k,
                            .b_bytes = 2 * k * n,
                            .c_bytes = 2 * m * n,
                            .gemm = {1, m, n, k}};
}

static struct ll_kernel_point point(uint64_t m, double ratio, unsigned fold)
{
    return (struct ll_kernel_point){LL_OP_MATMUL, product(m, 64, 64), ratio, fold};
}

static void give(struct trial *t, const struct ll_kernel_point *points, size_t count)
{
    t->machine->table = ll_kernel_table_new(t->machine, points, count, &t->arena);
    assert_non_null(t->machine->table);
}

static struct ll_kernel_ratio ask(const struct trial *t, uint64_t m)
{
    const struct ll_work work = product(m, 64, 64);
    return ll_kernel_table_ask(t->machine, LL_OP_MATMUL, &work);
}

/* Halfway between two, an octave from each: (ln 2 + ln 8) / (1 + 1 + 1/16) = ln 16 * 16 / 33. The bytes of an
 * element are the same everywhere. */
static void between_points_it_is_their_mean_and_at_one_its_own(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    give(&t, (struct ll_kernel_point[]){point(64, 2, 0), point(256, 8, 0)}, 2);
    assert_near(ask(&t, 64).ratio, 2, 1e-12);
    assert_int_equal(ask(&t, 64).origin, LL_TIME_MEASURED);
    assert_near(ask(&t, 128).ratio, pow(16, 16.0 / 33), 1e-9);
    assert_int_equal(ask(&t, 128).origin, LL_TIME_INTERPOLATED);
    assert_int_equal(ll_kernel_table_points(t.machine->table), 2);
    end(&t);
}

/* An octave beyond the last of several far apart: weight 1 beside 1/16, and 1/81 of one three octaves away.
 * */
static void beyond_them_it_decays_to_the_model(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    give(&t, (struct ll_kernel_point[]){point(64, 4, 0)}, 1);
    assert_near(ask(&t, 128).ratio, pow(4, 16.0 / 17), 1e-9);
    assert_near(ask(&t, 256).ratio, pow(4, 0.5), 1e-9); /* two octaves: 1/16 beside 1/16 */
    assert_int_equal(ask(&t, 128).origin, LL_TIME_MODELLED);
    double before = 4;
    for (uint64_t m = 65; m <= 1 << 20; m += m / 64) {
        double ratio = ask(&t, m).ratio;
        assert_true(ratio > 1 && ratio < before); /* no step: an octave is 44 of these */
        assert_true(ratio > before * 0.97);
        before = ratio;
    }
    assert_true(before < 1.001);
    end(&t);
}

static void kernels_of_other_types_or_kinds_say_nothing(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    struct ll_work other = product(64, 64, 64), shape = {.kind = LL_WORK_VECTOR, .dtype = LL_F32};
    other.dtype = LL_INT8;
    shape.vector.elements = 100;
    give(&t, (struct ll_kernel_point[]){point(64, 4, 0), {LL_OP_RELU, shape, 3, 0}}, 2);
    assert_near(ll_kernel_table_ask(t.machine, LL_OP_MATMUL, &other).ratio, 0, 1e-12);
    assert_near(ll_kernel_table_ask(t.machine, LL_OP_RELU, &shape).ratio, 3, 1e-12);
    assert_near(ll_kernel_table_ask(t.machine, LL_OP_TANH, &shape).ratio, 0, 1e-12);
    end(&t);
}

static void what_is_left_out_is_not_heard(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    give(&t, (struct ll_kernel_point[]){point(64, 2, 3), point(256, 8, 1)}, 2);
    t.machine->table_leaves = LL_LEAVE_SHAPE;
    assert_near(ask(&t, 64).ratio, pow(8, 0.5), 1e-9); /* of the other, two octaves away */
    t.machine->table_leaves = LL_LEAVE_FOLD + 1;
    assert_near(ask(&t, 256).ratio, pow(2, 0.5), 1e-9);
    assert_near(ask(&t, 64).ratio, 2, 1e-12);
    t.machine->table_leaves = LL_LEAVE_FOLD + 2;
    assert_near(ask(&t, 256).ratio, 8, 1e-12);
    end(&t);
}

static void points_of_one_shape_are_their_geometric_mean_in_any_order(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    give(&t, (struct ll_kernel_point[]){point(64, 2, 0), point(128, 5, 0), point(64, 8, 0)}, 3);
    uint64_t digest = ll_kernel_table_digest(t.machine->table);
    assert_near(ask(&t, 64).ratio, 4, 1e-12);
    double between = ask(&t, 90).ratio;
    give(&t, (struct ll_kernel_point[]){point(128, 5, 0), point(64, 2, 0), point(64, 8, 0)}, 3);
    assert_true(ask(&t, 90).ratio == between);
    assert_true(ll_kernel_table_digest(t.machine->table) == digest);
    give(&t, (struct ll_kernel_point[]){point(128, 5, 0), point(64, 2, 0), point(64, 9, 0)}, 3);
    assert_true(ll_kernel_table_digest(t.machine->table) != digest);
    end(&t);
}

/* The array does 2 * 8 * 16 FLOPs a cycle of 1 ns. */
static void no_measurement_beats_the_peak(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    const struct ll_work work = product(1024, 1024, 1024);
    struct ll_cost cost;
    struct ll_timing timing;
    const char *trouble;
    const struct ll_kernel_point points[] = {{LL_OP_MATMUL, work, 1e-3, 0}};
    give(&t, points, 1);
    assert_true(ll_cost_op(t.machine, LL_OP_MATMUL, &work, &cost, &trouble));
    ll_cost_time(t.machine, &cost, NULL, &timing);
    assert_near(timing.time_s, 2.0 * 1024 * 1024 * 1024 / 256e9, 1e-9);
    assert_true(timing.exposed_s <= timing.time_s && timing.origin == LL_TIME_MEASURED);
    end(&t);
}

static struct ll_measured row(const char *hardware, const char *op, const char *dims, double time_s)
{
    static uint64_t line = 1;
    return (struct ll_measured){"test", hardware, op, "bf16", dims, "", time_s, ++line};
}

/* Both rows of the table are met; a third between them is closer than the model was. */
static void a_machine_takes_as_long_as_its_rows_say(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    struct ll_measured rows[] = {row("Toy", "gemm", "m=64;n=64;k=64", 1e-3),
                                 row("toy", "gemm", "m=256;n=64;k=64", 5e-3),
                                 row("toy", "layernorm", "b=64;h=512", 2e-3)};
    const struct ll_kernel_table *table =
        ll_measured_table(rows, 3, "t.csv", t.machine, NULL, &t.arena, &t.diags);
    assert_non_null(table);
    t.machine->table = table;
    for (size_t i = 0; i < 3; i++) {
        struct ll_measured_works works = {0};
        struct ll_predicted predicted;
        const char *trouble;
        assert_null(ll_measured_works(&rows[i], t.machine, &works));
        assert_true(ll_predict(t.machine, &works, &predicted, &trouble));
        assert_near(predicted.time_s, rows[i].time_s, 1e-9);
        ll_measured_works_release(&works);
    }
    /* As rows to be scored they are predicted by the others of their group, the norm by the model. */
    const struct ll_machine *machines[] = {t.machine};
    const struct ll_validation *v = ll_validate(rows, 3, machines, 1, NULL, NULL, NULL, &t.arena);
    assert_non_null(v);
    assert_int_equal(v->overall.ours.points, 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(fabs(v->predictions[i].time_s / rows[i].time_s - 1) > 1e-3);
    assert_true(v->predictions[2].time_s == v->predictions[2].model_s);
    end(&t);
}

static void rows_that_are_no_kernels_of_the_machine_are_refused_by_line(void **state)
{
    (void)state;
    static const struct {
        struct ll_measured row;
        const char *says;
    } wrong[] = {
        {{"test", "Another", "gemm", "bf16", "m=64;n=64;k=64", "", 1, 2}, "is no machine that is known"},
        {{"test", "Toy", "gemm", "bf16", "m=64;n=64;k=64", "", 0, 2}, "no time stands here"},
        {{"test", "Toy", "gemm", "bf16", "m=64;n=64", "", 1, 2}, "a dimension is missing"},
        {{"test", "Toy", "fc_bwd", "bf16", "m=64;n=64;k=64", "", 1, 2}, "more than one kernel"},
        {{"test", "Toy", "allreduce", "bf16", "bytes=64;devices=2;nodes=1", "", 1, 2},
         "an exchange between devices"},
        {{"test", "Toy", "e2e_infer", "bf16", "model=resnet50;batch=1", "", 1, 2}, "a step of a network"},
    };
    struct trial t;
    begin(&t);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ll_diags diags = {0};
        assert_null(ll_measured_table(&wrong[i].row, 1, "t.csv", t.machine, NULL, &t.arena, &diags));
        assert_int_equal(diags.count, 1);
        assert_int_equal(diags.kept[0].place.line, 2);
        assert_non_null(strstr(diags.kept[0].message, wrong[i].says));
        ll_diags_release(&diags);
    }
    end(&t);
}

static void repeats_agree_and_contradictions_are_refused(void **state)
{
    (void)state;
    struct trial t;
    begin(&t);
    struct ll_measured rows[] = {row("Toy", "gemm", "m=64;n=64;k=64", 1e-3),
                                 row("Toy", "gemm", "m=64;n=64;k=64", 1.2e-3)};
    assert_non_null(ll_measured_table(rows, 2, "t.csv", t.machine, NULL, &t.arena, &t.diags));
    rows[1].time_s = 1.3e-3;
    assert_null(ll_measured_table(rows, 2, "t.csv", t.machine, NULL, &t.arena, &t.diags));
    assert_int_equal(t.diags.count, 1);
    assert_int_equal(t.diags.kept[0].place.line, rows[1].line);
    end(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_points_it_is_their_mean_and_at_one_its_own),
        cmocka_unit_test(beyond_them_it_decays_to_the_model),
        cmocka_unit_test(kernels_of_other_types_or_kinds_say_nothing),
        cmocka_unit_test(what_is_left_out_is_not_heard),
        cmocka_unit_test(points_of_one_shape_are_their_geometric_mean_in_any_order),
        cmocka_unit_test(no_measurement_beats_the_peak),
        cmocka_unit_test(a_machine_takes_as_long_as_its_rows_say),
        cmocka_unit_test(rows_that_are_no_kernels_of_the_machine_are_refused_by_line),
        cmocka_unit_test(repeats_agree_and_contradictions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
