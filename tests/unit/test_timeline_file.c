/* SPDX-License-Identifier: Apache-2.0 */
/* Timelines on their way to a file, and what they show of simulated ops. */
#include "check.h"

#include "convert.h"
#include "dry_model.h"
#include "scene.h"
#include "toy_trace.h"
#include "tracer/convert/timeline/timeline.h"

#include <math.h>

/* How often a text has these words. */
static int count_of(const struct ll_str *text, const char *words)
{
    int count = 0;
    for (const char *at = text->text; at && (at = strstr(at, words)); at++)
        count++;
    return count;
}

static void put(struct ll_timeline_file *t, uint64_t begin_ns, uint64_t end_ns, const char *name)
{
    const struct ll_timeline_slice slice = {
        .begin_ns = begin_ns, .end_ns = end_ns, .name = name, .category = "c"};
    assert_true(ll_timeline_slice(t, &slice));
}

/* a and c follow one another, b overlaps a; v, which takes no time, lies within a. The counter goes up by
 * what a has and down with it, while c takes over at the same nanosecond. */
static bool draw(struct ll_export *export)
{
    struct ll_timeline_file *t = ll_timeline_open(export);
    assert_non_null(t);
    ll_timeline_process(t, "p");
    ll_timeline_track(t, "unit");
    uint32_t bytes = ll_timeline_counter(t, &(struct ll_timeline_counter){"held", "bytes", 1, NULL});
    put(t, 0, 1000, "a");
    ll_timeline_add(t, bytes, 0, 7);
    ll_timeline_add(t, bytes, 1000, -7);
    put(t, 500, 1500, "b");
    put(t, 600, 600, "v");
    put(t, 1000, 2000, "c");
    ll_timeline_add(t, bytes, 1000, 7);
    ll_timeline_add(t, bytes, 2000, -7);
    return ll_timeline_close(t);
}

static void what_overlaps_lies_on_a_track_beside(void **state)
{
    (void)state;
    struct ll_str text = exported(draw, &(struct ll_trace){0});
    assert_int_equal(count_of(&text, "\"ph\":\"X\""), 4);
    assert_int_equal(count_of(&text, "\"name\":\"unit (2)\""), 1);
    assert_int_equal(count_of(&text, "\"name\":\"unit (3)\""), 0);
    assert_non_null(strstr(text.text, "\"name\":\"b\",\"pid\":1,\"tid\":2,\"ts\":0.5,\"dur\":1,"));
    assert_non_null(strstr(text.text, "\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,"));
    ll_str_release(&text);
}

static void changes_at_one_time_are_one(void **state)
{
    (void)state;
    struct ll_str text = exported(draw, &(struct ll_trace){0});
    assert_int_equal(count_of(&text, "\"ph\":\"C\""), 2);
    assert_non_null(
        strstr(text.text, "\"name\":\"held (bytes)\",\"pid\":1,\"tid\":1,\"ts\":0,\"args\":{\"bytes\":7}"));
    assert_non_null(strstr(text.text, "\"ts\":2,\"args\":{\"bytes\":0}"));
    ll_str_release(&text);
}

/* The n-th send meets the n-th receive: rank 0 sends twice to rank 1, which sends once. */
static const struct {
    enum ll_op_kind kind;
    uint32_t rank;
    double start_s;
} lines[] = {{LL_OP_SEND, 0, 0}, {LL_OP_RECEIVE, 1, 0}, {LL_OP_SEND, 1, 2},
             {LL_OP_SEND, 0, 1}, {LL_OP_RECEIVE, 1, 1}, {LL_OP_RECEIVE, 0, 2}};
enum { LINES = sizeof lines / sizeof *lines };

static void line_at(const struct ll_op_schedule *schedule, uint32_t op, struct ll_scheduled *scheduled)
{
    (void)schedule;
    scheduled->start_s = lines[op].start_s;
    scheduled->time_s = scheduled->active_s = 1;
    scheduled->process = lines[op].rank;
}

static void messages_go_from_send_to_receive(void **state)
{
    (void)state;
    static const char *const ranks[] = {"rank 0", "rank 1"}, *const tracks[] = {"link"};
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    const struct ll_shape shape = toy_matrix(10, 10);
    uint32_t weight = toy_bring(toy, shape, LL_WEIGHT),
             desc = ll_recorder_desc(toy->recorder, "made", &shape, LL_ACTIVATION);
    for (unsigned i = 0; i < LINES; i++) {
        const struct ll_attr attr = {.key = LL_ATTR_PEER, .count = lines[i].rank == 0 ? 1 : -1};
        ll_recorder_op(toy->recorder, &(struct ll_record){.kind = lines[i].kind,
                                                          .phase = LL_PHASE_FORWARD,
                                                          .scope = toy->scope,
                                                          .thread = lines[i].rank,
                                                          .inputs = &weight,
                                                          .input_count = 1,
                                                          .outputs = &desc,
                                                          .output_count = 1,
                                                          .attrs = &attr,
                                                          .attr_count = 1});
    }
    ll_recorder_facts(toy->recorder, &(struct ll_fact){"ranks", "2"}, 1);
    struct ll_trace *trace = toy_close(toy, path);
    const struct ll_op_schedule schedule = {.name = "x",
                                            .processes = ranks,
                                            .process_count = 2,
                                            .tracks = tracks,
                                            .track_count = 1,
                                            .op_count = LINES,
                                            .static_w = NAN,
                                            .at = line_at};
    struct ll_str text = exported_as(ll_export_TIMELINE, trace, &schedule);
    assert_int_equal(count_of(&text, "\"ph\":\"s\",\"name\":\"message\""), 3);
    assert_int_equal(count_of(&text, "\"ph\":\"f\",\"name\":\"message\""), 3);
    /* The receive of rank 1 that begins with its send is drawn a nanosecond later. */
    assert_non_null(strstr(text.text, "\"ph\":\"f\",\"name\":\"message\",\"pid\":2,\"tid\":2,\"ts\":0.001,"));
    ll_str_release(&text);
    ll_trace_free(trace);
}

/* What power counters integrate is the energy that a step is said to take. */
static void ops_share_the_energy_of_a_step(void **state)
{
    (void)state;
    static const char yaml[] =
        "name: small\nclock: 1GHz\nunits:\n  - {name: array, model: matrix, macs: {f32: 64}}\n"
        "  - {name: simd, model: vector, lanes: 64, flops: {f32: 2, i32: 2}}\n"
        "memory:\n  - {name: sram, size: 256KiB, bandwidth: 64B/cycle}\n"
        "  - {name: dram, size: 16GiB, bandwidth: 100GB/s}\n"
        "software: {op_overhead: 1us, queue: 16}\nhost: {bandwidth: 10GB/s}\n"
        "energy: {mac_pj: {f32: 2}, on_chip_pj: 1, off_chip_pj: 30, host_pj: 40, static_w: 5}\n";
    struct scene scene = open_scene(dry_model("alexnet", true, 1, NULL, 0), yaml);
    play(&scene);
    assert_non_null(scene.result);
    const struct ll_prepared *prepared = scene.result->prepared;
    double sum_j = 5 * scene.result->time_s * (double)prepared->steps;
    for (uint32_t op = prepared->first_op; op < prepared->end_op; op++)
        sum_j += ll_replay_energy_j(scene.result, op);
    assert_near(sum_j / (double)prepared->steps, scene.result->energy_j, 1e-9 * scene.result->energy_j);
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_overlaps_lies_on_a_track_beside),
        cmocka_unit_test(changes_at_one_time_are_one),
        cmocka_unit_test(messages_go_from_send_to_receive),
        cmocka_unit_test(ops_share_the_energy_of_a_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
