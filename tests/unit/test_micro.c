/* SPDX-License-Identifier: Apache-2.0 */
/* The workload that a calibration measures tries everything, and says of each op why it is there. */
#include "check.h"

#include "models/micro/micro.h"
#include "models/micro/probe.h"
#include "tracer/reader.h"

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
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        if (form->view.kind == kind && strcmp(trace->strings[form->scope], scope) == 0)
            return true;
    }
    return false;
}

static void every_kind_that_runs_here_is_tried_cold_and_warm(void **state)
{
    struct ll_trace *trace = recorded();
    (void)state;
    for (int kind = 0; kind < LL_OP_COUNT; kind++) {
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
    assert_true(is_rate(ll_probe_latency(1 << 14)));
    assert_true(is_rate(ll_probe_clock()));
    assert_true(is_rate(ll_probe_vector_f32()) && is_rate(ll_probe_vector_f64()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_that_runs_here_is_tried_cold_and_warm),
        cmocka_unit_test(probes_find_figures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
