/* SPDX-License-Identifier: Apache-2.0 */
/* The workload that a calibration measures tries everything, and says of each op why it is there. */
#include "check.h"

#include "models/micro/micro.h"
#include "tracer/format/reader.h"

#include <unistd.h>

static struct ll_trace *recorded(void)
{
    char path[] = "micro.XXXXXX";
    int file = mkstemp(path);
    struct ll_diags diags = {0};
    enum ll_status status =
        ll_micro_record(&(struct ll_micro_options){.threads = 1, .steps = 2, .quick = true, .path = path});
    if (status == LL_NO_LIBRARY)
        exit(77);
    assert_int_equal(status, LL_OK);
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    assert_non_null(trace);
    ll_diags_release(&diags);
    close(file);
    unlink(path);
    return trace;
}

static bool is_tried(const struct ll_trace *trace, enum ll_op_kind kind, const char *how)
{
    char scope[128];
    snprintf(scope, sizeof scope, "%s/%s", how, ll_op_name(kind));
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind == kind && strcmp(trace->strings[signature->scope], scope) == 0)
            return true;
    }
    return false;
}

static void every_kind_that_runs_here_is_tried_cold_and_warm(void **state)
{
    struct ll_trace *trace = recorded();
    (void)state;
    for (int kind = 0; kind < ll_op_count(); kind++) {
        if (!ll_op_runs_natively((enum ll_op_kind)kind) || kind == LL_OP_RESHAPE || kind == LL_OP_HOST_INPUT)
            continue; /* a view takes no time, input comes with the ops that need it */
        if (!is_tried(trace, (enum ll_op_kind)kind, "cold") ||
            !is_tried(trace, (enum ll_op_kind)kind, "warm"))
            fail_msg("%s is not tried: models/micro/micro.def has no row for it",
                     ll_op_name((enum ll_op_kind)kind));
    }
    assert_int_equal(trace->step_count, 2);
    assert_string_equal(ll_trace_fact(trace, "model"), "micro");
    assert_non_null(ll_trace_fact(trace, "blas.core"));
    ll_trace_free(trace);
}

static bool is_rate(struct ll_figure figure)
{
    return isfinite(figure.value) && figure.value > 0 && isfinite(figure.spread) && figure.spread >= 0;
}

/* How large they are is the machine's matter, and that of who else computes here. */
static void probes_find_figures(void **state)
{
    struct ll_streams streams = ll_probe_streams(NULL, 1, 1 << 14);
    (void)state;
    assert_true(is_rate(streams.read) && is_rate(streams.triad));
    assert_true(streams.read.typical > 0 && streams.read.typical <= streams.read.value);
    double rounds_Bps = ll_probe_rounds(NULL, 1 << 14);
    assert_true(isfinite(rounds_Bps) && rounds_Bps > 0);
    assert_true(is_rate(ll_probe_latency(1 << 14)));
    assert_true(is_rate(ll_probe_clock()));
    assert_true(is_rate(ll_probe_vector_f32()) && is_rate(ll_probe_vector_f64()));
    assert_near(ll_probe_invalidation(NULL, 1 << 14, 0), 0, 0);
    struct ll_pool *pool = ll_pool_new(2);
    for (int away = 0; away < 2; away++) {
        double line_s = ll_probe_invalidation(pool, 1 << 14, (uint64_t)away << 16);
        assert_true(line_s >= 0 && line_s < 1);
    }
    ll_pool_free(pool);
}

static const char *fact(const struct ll_facts *facts, const char *key)
{
    for (uint64_t i = 0; i < facts->count; i++)
        if (strcmp(facts->items[i].key, key) == 0)
            return facts->items[i].value;
    return NULL;
}

/* Two looks of five see what is rare; in two of them memory ran out before there were any times. */
static void what_most_looks_see_counts_rate_by_rate(void **state)
{
    struct ll_looks looks = ll_looks_at("l3", 64, 16, 1024);
    static const double seen[] = {4e9, 90e9, 3e9, 80e9, 5e9}, timed[] = {4e9, 3e9, 80e9},
                        rested[] = {5e9, 3e9, 90e9};
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    (void)state;
    looks.count = 5;
    looks.timed = 3;
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < LL_LOOK_ROUNDS; j++)
            looks.rounds[i][j] = seen[i] + j;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < LL_PROBE_TIMES; j++)
            looks.times[i][j] = timed[i];
        for (int j = 0; j < LL_LOOK_RESTS; j++)
            looks.rests[i][j] = rested[i];
    }
    ll_looks_facts(&looks, &facts);
    assert_int_equal(facts.count, 3);
    assert_string_equal(fact(&facts, "probe.l3.rounds"),
                        "16=5e+09 24=5e+09 32=5e+09 40=5e+09 48=5e+09 56=5e+09 64=5e+09 80=5e+09 96=5e+09 "
                        "128=5e+09 1024=5e+09");
    assert_string_equal(fact(&facts, "probe.l3.times"),
                        "8=4e+09 8=4e+09 8=4e+09 8=4e+09 8=4e+09 8=4e+09 8=4e+09 8=4e+09");
    assert_string_equal(
        fact(&facts, "probe.l3.rests"),
        "0.002=5e+09 0.004=5e+09 0.008=5e+09 0.016=5e+09 0.032=5e+09 0.064=5e+09 0.128=5e+09");
    ll_arena_release(&arena);
}

/* A host without such a cache, and looks that never came. */
static void no_looks_tell_nothing(void **state)
{
    struct ll_looks none = {.level = "l3"};
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    (void)state;
    ll_look_at_shared(&none, NULL);
    ll_look_at_rounds(&none, NULL);
    ll_looks_facts(&none, &facts);
    assert_int_equal(none.count, 0);
    assert_int_equal(facts.count, 0);
    ll_arena_release(&arena);
}

/* A look of a cache as small as that of any core; more than there is room for do not count. */
static void looks_find_rates(void **state)
{
    struct ll_looks looks = ll_looks_at("l3", 1 << 14, 1 << 12, 1 << 18);
    struct ll_pool *pool = ll_pool_new(1);
    (void)state;
    assert_non_null(pool);
    ll_look_at_shared(&looks, pool);
    assert_int_equal(looks.count, 1);
    assert_int_equal(looks.timed, 1);
    assert_int_equal(looks.round_bytes[0], 1 << 12);
    for (size_t i = 0; i < looks.round_count; i++)
        assert_true(isfinite(looks.rounds[0][i]) && looks.rounds[0][i] > 0);
    assert_true(looks.times[0][0] > 0 && looks.rests[0][0] > 0);
    looks.count = LL_LOOKS;
    ll_look_at_shared(&looks, pool);
    assert_int_equal(looks.count, LL_LOOKS);
    ll_pool_free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_that_runs_here_is_tried_cold_and_warm),
        cmocka_unit_test(probes_find_figures),
        cmocka_unit_test(what_most_looks_see_counts_rate_by_rate),
        cmocka_unit_test(no_looks_tell_nothing),
        cmocka_unit_test(looks_find_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
