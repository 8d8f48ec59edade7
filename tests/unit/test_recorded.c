/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines of profiles, replayed as they were and with changes. Times are microseconds, counted by hand. */
#include <math.h>

#include "check.h"
#include "kineto.h"
#include "sim/replay/recorded.h"
#include "tracer/ir/timeline.h"

#define CALL(name, time, duration, number)                                                                   \
    EVENT("cuda_runtime", name, 7, time, duration, "'correlation':" #number)
#define RUN(name, stream, time, duration, number)                                                            \
    EVENT("kernel", name, 0, time, duration, "'device':0,'stream':" #stream ",'correlation':" #number)

/* Two kernels behind each other on stream 7, then the host waits for them and launches a third; one kernel
 * was launched before the recording. From launch to kernel it is 10 us at least. */
#define STORY                                                                                                \
    RUN("early", 7, 80, 15, 1)                                                                               \
    "," CALL("cudaLaunchKernel", 100, 5, 2) "," CALL("cudaLaunchKernel", 110, 5, 3) "," RUN(                 \
        "long_gemm", 7, 110, 100, 2) "," RUN("softmax", 7, 212, 20,                                          \
                                             3) "," CALL("cudaDeviceSynchronize", 120, 114,                  \
                                                         4) "," CALL("cudaLaunchKernel", 240, 5,             \
                                                                     5) "," RUN("last", 7, 252, 8, 5)

struct replayed {
    struct conversion c;
    struct ll_arena arena;
    const struct ll_timeline_replay *replay;
};

static struct replayed replay(const char *events, struct ll_timeline_change *changes, uint64_t count)
{
    struct replayed r = {.c = import_fine(events)};
    assert_non_null(r.c.trace->timeline);
    r.replay = ll_timeline_replay(r.c.trace->timeline, changes, count, &r.arena);
    assert_non_null(r.replay);
    return r;
}

static void end(struct replayed *r)
{
    ll_arena_release(&r->arena);
    end_conversion(&r->c);
}

static void assert_us(double time_s, double us)
{
    assert_true(fabs(time_s * 1e6 - us) < 1e-6);
}

/* From 110 to 260; 100 + 20 + 8 of it busy. */
static void what_is_not_changed_is_what_was_recorded(void **state)
{
    (void)state;
    struct replayed r = replay(STORY, NULL, 0);
    assert_us(r.replay->span_s, 150);
    assert_us(r.replay->recorded_span_s, 150);
    assert_us(r.replay->replayed[0].busy_s, 128);
    assert_us(r.replay->replayed[0].idle_s, 22);
    assert_us(r.replay->launch_s, 10);
    assert_int_equal(r.replay->replayed[0].event_count, 3);
    assert_int_equal(r.replay->replayed[0].unlaunched_count, 1);
    assert_us(r.replay->replayed[0].unlaunched_s, 15);
    double path_s = 0;
    for (uint64_t i = 0; i < r.replay->piece_count; i++)
        path_s += r.replay->path[i].time_s;
    assert_us(path_s, 150);
    end(&r);
}

/* The first kernel ends 50 us sooner, and so begins and ends all that waited for it: the second, the host,
 * the third. With 10 us it is over before the second can have been launched: that begins at 120 + 2, where
 * it waited 2 us for the stream, and ends at 142, 90 sooner. */
static void what_waits_for_a_faster_kernel_comes_sooner(void **state)
{
    (void)state;
    struct ll_timeline_change half = {.pattern = "gemm", .factor = 0.5};
    struct replayed r = replay(STORY, &half, 1);
    assert_int_equal(half.count, 1);
    assert_us(half.time_s, 100);
    assert_us(r.replay->span_s, 100);
    assert_us(r.replay->replayed[0].busy_s, 78);
    end(&r);
    struct ll_timeline_change tenth = {.pattern = "long*m", .factor = 0.1};
    r = replay(STORY, &tenth, 1);
    assert_us(r.replay->span_s, 150 - 90);
    end(&r);
    struct ll_timeline_change twice = {.pattern = "?oftma", .factor = 2};
    r = replay(STORY, &twice, 1);
    assert_us(r.replay->span_s, 170);
    end(&r);
}

/* Without the second kernel and its launch the host, which did nothing else meanwhile, waits for the
 * first: it returns at 110 + 100 + 2 (as long behind it as before) and launches 6 us later, 12 us before
 * the last one. */
static void what_is_dropped_is_gone(void **state)
{
    (void)state;
    struct ll_timeline_change drop = {.pattern = "softmax", .drop = true};
    struct replayed r = replay(STORY, &drop, 1);
    assert_us(r.replay->span_s, 150 - 22);
    assert_int_equal(r.replay->replayed[0].event_count, 2);
    assert_us(r.replay->replayed[0].busy_s, 108);
    end(&r);
}

/* A stream that waits for an event of another, told by numbers or by the order of calls alone: NCCL begins
 * behind the gemm, and copies beside it are no communication. 10 of its 40 us lie beside the second gemm. */
static void streams_wait_for_each_other(void **state)
{
    (void)state;
#define EXCHANGE                                                                                             \
    CALL("cudaLaunchKernel", 100, 2, 1)                                                                      \
    "," CALL("cudaEventRecord", 104, 1, 2) "," CALL("cudaStreamWaitEvent", 106, 1, 3) "," CALL(              \
        "cudaLaunchKernel", 108, 2,                                                                          \
        4) "," CALL("cudaLaunchKernel", 112, 2,                                                              \
                    5) "," RUN("gemm_a", 7, 120, 100, 1) "," RUN("ncclDevKernel_AllReduce_Sum", 20, 221, 40, \
                                                                 4) "," RUN("gemm_b", 7, 221, 10, 5)
    static const char *const rows[] = {EXCHANGE,
                                       EXCHANGE "," EVENT("cuda_sync", "Stream Wait Event", 7, 106, 1,
                                                          "'device':0,'stream':20,'correlation':3,'wait_on_"
                                                          "stream':7,'wait_on_cuda_event_record_corr_id':2")};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_timeline_change half = {.pattern = "gemm_a", .factor = 0.5};
        struct replayed r = replay(rows[i], &half, 1);
        assert_us(r.replay->recorded[0].span_s, 141);
        assert_us(r.replay->recorded[0].exchange_s, 40);
        assert_us(r.replay->recorded[0].exposed_exchange_s, 30);
        assert_us(r.replay->span_s, 91);
        end(&r);
    }
}

/* 700 kernels of 100 us, of which 600 are launched at once, 2 us each; then the queue has no more room,
 * and each launch returns 1 us after a kernel is over. Of kernels of 10 us the host waits less, too: 700 x
 * 10 us, where the launches alone took 11,412 us in the recording. */
static void a_full_queue_holds_the_host_back(void **state)
{
    (void)state;
    struct ll_str text = {0};
    for (int i = 0; i < 700; i++) {
        ll_str_addf(&text,
                    "%s{'ph':'X','cat':'cuda_runtime','name':'cudaLaunchKernel','tid':1,'ts':%d,'dur':%d,"
                    "'args':{'correlation':%d}},",
                    i ? "," : "", i < 600 ? 2 * i : 1412 + 100 * (i - 600), i < 600 ? 2 : 99, i + 1);
        ll_str_addf(&text,
                    "{'ph':'X','cat':'kernel','name':'gemm','tid':7,'ts':%d,'dur':100,"
                    "'args':{'device':0,'stream':7,'correlation':%d}}",
                    10 + 100 * i, i + 1);
    }
    struct ll_timeline_change tenth = {.pattern = "gemm", .factor = 0.1};
    struct replayed r = replay(text.text, &tenth, 1);
    assert_us(r.replay->recorded_span_s, 70000);
    assert_int_equal(r.c.trace->timeline->wait_count, 100);
    assert_us(r.replay->span_s, 7000);
    end(&r);
    ll_str_release(&text);
}

static void patterns_match_parts_of_names(void **state)
{
    (void)state;
    assert_true(ll_pattern_matches("flash*", "void pytorch_flash::flash_fwd_kernel<128>(Params)"));
    assert_true(ll_pattern_matches("fwd*128", "void pytorch_flash::flash_fwd_kernel<128>(Params)"));
    assert_true(ll_pattern_matches("*", "a"));
    assert_true(ll_pattern_matches("a?c", "xabcx"));
    assert_false(ll_pattern_matches("a?c", "ac"));
    assert_false(ll_pattern_matches("", "a"));
    assert_false(ll_pattern_matches("bwd", "void pytorch_flash::flash_fwd_kernel<128>(Params)"));
}

/* Overlaps count once; what another covers is not exposed. */
static void unions_count_overlaps_once(void **state)
{
    (void)state;
    struct ll_stretch_ns a[] = {{30, 40}, {0, 10}, {5, 20}, {35, 36}}, b[] = {{8, 12}, {38, 50}, {10, 11}};
    assert_true(ll_union_ns(a, 4, NULL, 0) == 30);
    struct ll_stretch_ns c[] = {{30, 40}, {0, 10}, {5, 20}, {35, 36}};
    assert_true(ll_union_ns(c, 4, b, 3) == 30 - 4 - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_changed_is_what_was_recorded),
        cmocka_unit_test(what_waits_for_a_faster_kernel_comes_sooner),
        cmocka_unit_test(what_is_dropped_is_gone),
        cmocka_unit_test(streams_wait_for_each_other),
        cmocka_unit_test(a_full_queue_holds_the_host_back),
        cmocka_unit_test(patterns_match_parts_of_names),
        cmocka_unit_test(unions_count_overlaps_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
