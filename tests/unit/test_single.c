/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops recorded by hand, against measured rows of the same shape: the simulator has one opinion,
 * whether it is asked by a trace (`leadline sim`) or by a row of data (`leadline validate`). */
#include "check.h"
#include "dry_model.h"

#include "models/model.h"
#include "sim/replay/replay.h"
#include "sim/validate/predict.h"

#include <math.h>

enum { MOST_SETTINGS = 12 };

/* An op of both worlds: the model and its settings, the row's op and dims, both of one dtype. */
struct shape {
    const char *model, *op, *row_dtype, *dims;
    struct ll_setting settings[MOST_SETTINGS];
    double apart; /* the relative difference there may be */
};

static const struct shape shapes[] = {
    {.model = "gemm",
     .op = "gemm",
     .row_dtype = "fp16_tc",
     .dims = "m=1760;n=128;k=1760",
     .settings = {{"m", "1760"}, {"n", "128"}, {"k", "1760"}, {"dtype", "f16"}}},
    /* Rows that tell transpositions are of matrices stored column by column. */
    {.model = "gemm",
     .op = "gemm",
     .row_dtype = "fp32",
     .dims = "m=35;n=700;k=2048;ta=N;tb=T",
     .settings = {{"m", "700"}, {"n", "35"}, {"k", "2048"}, {"ta", "T"}}},
    {.model = "gemm",
     .op = "gemm",
     .row_dtype = "fp32",
     .dims = "m=512;n=1500;k=2816;ta=T;tb=N",
     .settings = {{"m", "1500"}, {"n", "512"}, {"k", "2816"}, {"tb", "T"}}},
    {.model = "bmm",
     .op = "bmm",
     .row_dtype = "fp32",
     .dims = "b=96;m=128;n=100;k=64",
     .settings = {{"b", "96"}, {"m", "128"}, {"n", "100"}, {"k", "64"}}},
    {.model = "conv2d",
     .op = "conv2d_fwd",
     .row_dtype = "fp32",
     .dims = "b=16;c=3;h=224;w=112;k=64;r=7;s=5;stride_h=2;stride_w=1;pad_h=3;pad_w=2",
     .settings = {{"b", "16"},
                  {"c", "3"},
                  {"h", "224"},
                  {"w", "112"},
                  {"k", "64"},
                  {"r", "7"},
                  {"s", "5"},
                  {"stride_h", "2"},
                  {"stride_w", "1"},
                  {"pad_h", "3"},
                  {"pad_w", "2"}}},
    {.model = "softmax",
     .op = "softmax",
     .row_dtype = "fp32",
     .dims = "b=4096;h=1000",
     .settings = {{"b", "4096"}, {"h", "1000"}}},
    /* The trace has a gain and an offset for each column, which rows say nothing of: 3 KiB more on 1.5 MiB.
     */
    {.model = "layernorm",
     .op = "layernorm",
     .row_dtype = "fp16",
     .dims = "b=512;h=768",
     .settings = {{"b", "512"}, {"h", "768"}, {"dtype", "f16"}},
     .apart = 4e-3},
    {.model = "elementwise",
     .op = "relu",
     .row_dtype = "fp32",
     .dims = "b=512;h=768",
     .settings = {{"op", "relu"}, {"b", "512"}, {"h", "768"}}},
    {.model = "elementwise",
     .op = "ew_add",
     .row_dtype = "fp32",
     .dims = "b=512;h=768",
     .settings = {{"op", "add"}, {"b", "512"}, {"h", "768"}}},
};

static struct ll_trace *record(const struct shape *shape)
{
    return dry_model(shape->model, false, 0, shape->settings, settings_in(shape->settings, MOST_SETTINGS));
}

static double simulated_s(const struct shape *shape, const struct ll_machine *machine)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_trace *trace = record(shape);
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    assert_non_null(prepared);
    const struct ll_result *result = ll_replay(prepared, machine, &arena, &diags);
    assert_non_null(result);
    double time_s = result->time_s;
    ll_arena_release(&arena);
    ll_trace_free(trace);
    return time_s;
}

static double predicted_s(const struct shape *shape, const struct ll_machine *machine)
{
    const struct ll_measured row = {.op = shape->op, .dtype = shape->row_dtype, .dims = shape->dims};
    struct ll_measured_works works = {0};
    struct ll_predicted predicted;
    const char *trouble = ll_measured_works(&row, NULL, &works);
    assert_null(trouble);
    assert_true(ll_predict(machine, &works, &predicted, &trouble));
    ll_measured_works_release(&works);
    return predicted.time_s;
}

/* Rows were measured by repeating them, so that caches hold what fits; a trace of one op finds them empty.
 * These are too small to hold anything. */
static void a_trace_and_a_row_of_one_shape_take_the_same_time(void **state)
{
    static const char *const machines[] = {
        "hwconfigs/devices/tpu_v2.yaml", "hwconfigs/devices/xeon_e5_2680v4.yaml",
        "hwconfigs/devices/v100_sxm_32gb.yaml+pytorch", "hwconfigs/devices/t4.yaml+archive/frameworks_2020"};
    const struct ll_override small = {"l2.size", "64KiB"};
    struct ll_diags diags = {0};
    (void)state;
    for (size_t m = 0; m < sizeof machines / sizeof *machines; m++) {
        struct ll_machine *machine = ll_machine_read(machines[m], NULL, &small, m < 2 ? 0 : 1, &diags);
        assert_non_null(machine);
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            assert_near(simulated_s(&shapes[i], machine), predicted_s(&shapes[i], machine), shapes[i].apart);
        ll_machine_free(machine);
    }
}

/* Of 512 x 768 numbers read and written to either of two blocks, 4.5 MiB: a cache of 48 MiB holds all of them
 * from run to run, one of 1 MiB none. The way of 3 MiB to and from the memory at the 231 GB/s of copies, 13.6
 * us, and its latency of 0.28 us take the place of the way out of the cache, less than a third of that. */
static void a_cache_that_holds_all_spares_the_memory(void **state)
{
    static const struct shape relu = {.op = "relu", .row_dtype = "fp32", .dims = "b=512;h=768"};
    const struct ll_override small[] = {{"software.op_overhead", "0s"}, {"l2.size", "1MiB"}};
    struct ll_diags diags = {0};
    (void)state;
    struct ll_machine *holds = ll_machine_read("hwconfigs/devices/l4.yaml+pytorch", NULL, small, 1, &diags);
    struct ll_machine *drops = ll_machine_read("hwconfigs/devices/l4.yaml+pytorch", NULL, small, 2, &diags);
    assert_true(holds && drops);
    double drops_s = predicted_s(&relu, drops), holds_s = predicted_s(&relu, holds), way_s = 3145728 / 231e9;
    assert_true(drops_s >= way_s && drops_s < 1.1 * way_s && holds_s < way_s / 3);
    ll_machine_free(holds);
    ll_machine_free(drops);
}

/* Neither powers of negative numbers nor their roots are any. */
static void what_is_computed_is_a_number(void **state)
{
    static const char *const ops[] = {"add", "sub", "mul", "pow", "sqrt", "tanh", "gelu"};
    (void)state;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const struct ll_setting settings[] = {{"op", ops[i]}, {"b", "3"}, {"h", "40"}};
        struct ll_diags diags = {0};
        struct ll_run_report report;
        const struct ll_run_options options = {
            .train = true, .steps = 1, .settings = settings, .setting_count = 3};
        assert_true(ll_model_run(ll_model_find("elementwise"), &options, &report, &diags));
        assert_true(isfinite(report.last_loss));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_trace_and_a_row_of_one_shape_take_the_same_time),
                                       cmocka_unit_test(a_cache_that_holds_all_spares_the_memory),
                                       cmocka_unit_test(what_is_computed_is_a_number)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
