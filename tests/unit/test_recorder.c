/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded is what is read. */
#include "check.h"

#include "loop.h"
#include "tracer/reader.h"

#include <stdlib.h>
#include <unistd.h>

static const struct ll_fact facts[] = {{"model", "perceptron"}, {"mode", "train"}, {"batch", "32"}};

static char *temporary(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/leadline-test-%ld.llt", (long)getpid());
    return path;
}

static struct ll_trace *record_loop(unsigned layers, unsigned steps, bool timed, struct loop *loop)
{
    enum ll_status status;
    const char *path = temporary();
    struct ll_recorder *recorder = ll_recorder_open(path, facts, 3, &status);
    assert_non_null(recorder);
    loop_begin(loop, recorder, layers, timed);
    for (unsigned i = 0; i < steps; i++)
        loop_step(loop);
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct ll_diags diags = {0};
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n", diags.kept[i].message);
    assert_int_equal(diags.count, 0);
    assert_int_equal(status, LL_OK);
    ll_diags_release(&diags);
    unlink(path);
    return trace;
}

static void a_recorded_loop_is_read_back_whole(void **state)
{
    (void)state;
    struct loop loop;
    struct ll_trace *trace = record_loop(5, 7, true, &loop);
    assert_true(trace->closed);
    assert_int_equal(trace->lost_ops + trace->lost_bytes + trace->lost_frames, 0);
    assert_int_equal(trace->op_count, loop.ops);
    assert_int_equal(trace->step_count, 7);
    assert_string_equal(ll_trace_fact(trace, "model"), "perceptron");
    assert_null(ll_trace_fact(trace, "no such fact"));
    for (uint64_t i = 0; i < 7; i++) {
        assert_true(trace->steps[i].complete);
        assert_int_equal(trace->steps[i].op_count, loop.ops / 7);
        assert_true(trace->steps[i].wall_ns > 0);
    }
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_loop_is_read_back_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
