/* SPDX-License-Identifier: Apache-2.0 */
/* What is recorded is what is read. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "loop.h"
#include "sim/memory/footprint.h"
#include "tracer/base/clock.h"
#include "tracer/format/format.h"
#include "tracer/ir/profile.h"
#include "tracer/format/reader.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct ll_fact facts[] = {{"model", "perceptron"}, {"mode", "train"}, {"batch", "32"}};

static const char *path_of(pid_t writer)
{
    static char path[64];
    snprintf(path, sizeof path, "recorder-%ld.llt", (long)writer);
    return path;
}

static struct ll_recorder *open_recorder(void)
{
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open(path_of(getpid()), facts, 3, &status);
    assert_non_null(recorder);
    assert_int_equal(status, LL_OK);
    return recorder;
}

/* Reads the file and removes it; it must be whole. */
static struct ll_trace *read_whole(pid_t writer)
{
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read(path_of(writer), &diags, &status);
    for (size_t i = 0; i < diags.kept_count; i++)
        print_error("%s\n", diags.kept[i].message);
    assert_int_equal(diags.count, 0);
    assert_int_equal(status, LL_OK);
    assert_true(trace->closed);
    assert_int_equal(trace->lost_ops + trace->lost_bytes + trace->lost_frames, 0);
    unlink(path_of(writer));
    return trace;
}

static struct ll_trace *record_loop(struct loop *loop, unsigned layers, unsigned steps, bool timed)
{
    loop_begin(loop, open_recorder(), layers, timed);
    for (unsigned i = 0; i < steps; i++)
        loop_step(loop);
    assert_int_equal(ll_recorder_close(loop->recorder), LL_OK);
    return read_whole(getpid());
}

static void a_recorded_loop_is_read_back_whole(void **state)
{
    (void)state;
    struct loop loop;
    struct ll_trace *trace = record_loop(&loop, 5, 7, true);
    assert_int_equal(trace->op_count, loop.ops);
    assert_int_equal(trace->step_count, 7);
    assert_string_equal(ll_trace_fact(trace, "model"), "perceptron");
    assert_string_equal(ll_trace_fact(trace, "batch"), "32");
    assert_null(ll_trace_fact(trace, "no such fact"));
    for (uint64_t i = 0; i < 7; i++) {
        assert_true(trace->steps[i].complete);
        assert_int_equal(trace->steps[i].op_count, loop.ops / 7);
        assert_true(trace->steps[i].wall_ns > 0);
    }
    ll_trace_free(trace);
}

static void assert_same_signature(const struct ll_trace *a, const struct ll_op_signature *x,
                                  const struct ll_trace *b, const struct ll_op_signature *y)
{
    const struct ll_op_view *v = &x->view, *w = &y->view;
    assert_int_equal(v->kind, w->kind);
    assert_int_equal(x->phase, y->phase);
    assert_string_equal(a->strings[x->scope], b->strings[y->scope]);
    assert_string_equal(a->strings[x->kind_name], b->strings[y->kind_name]);
    assert_int_equal(v->input_count, w->input_count);
    assert_int_equal(v->output_count, w->output_count);
    assert_int_equal(v->attr_count, w->attr_count);
    assert_memory_equal(x->inputs, y->inputs, v->input_count * sizeof *x->inputs);
    assert_memory_equal(x->outputs, y->outputs, v->output_count * sizeof *x->outputs);
    assert_memory_equal(x->aliases, y->aliases, v->output_count * sizeof *x->aliases);
    assert_memory_equal(v->attrs, w->attrs, v->attr_count * sizeof *v->attrs);
    assert_int_equal(x->flops, y->flops);
    assert_int_equal(x->bytes_read, y->bytes_read);
    assert_int_equal(x->bytes_written, y->bytes_written);
}

static void assert_same_op(const struct ll_op *x, const struct ll_op *y)
{
    assert_int_equal(x->signature, y->signature);
    assert_int_equal(x->edges, y->edges);
    assert_int_equal(x->step, y->step);
    assert_int_equal(x->thread, y->thread);
    assert_int_equal(x->first_output, y->first_output);
}

static void assert_same_links(const struct ll_op_edges *x, const struct ll_op_edges *y)
{
    assert_int_equal(x->input_count, y->input_count);
    assert_int_equal(x->control_count, y->control_count);
    assert_int_equal(x->storage_count, y->storage_count);
    assert_int_equal(x->gap_count, y->gap_count);
    assert_memory_equal(x->inputs, y->inputs, x->input_count * sizeof *x->inputs);
    assert_memory_equal(x->controls, y->controls, x->control_count * sizeof *x->controls);
}

static void a_recorder_into_memory_gives_the_trace_that_a_file_gives(void **state)
{
    (void)state;
    struct loop loop;
    enum ll_status status;
    struct ll_trace *filed = record_loop(&loop, 5, 7, false);
    loop_begin(&loop, ll_recorder_open_memory(facts, 3, &status), 5, false);
    for (unsigned i = 0; i < 7; i++)
        loop_step(&loop);
    struct ll_trace *taken = ll_recorder_take(loop.recorder, &status);
    assert_int_equal(status, LL_OK);
    assert_true(taken->closed);
    assert_int_equal(taken->op_count, filed->op_count);
    assert_int_equal(taken->step_count, 7);
    assert_int_equal(taken->file_bytes, 0);
    assert_string_equal(ll_trace_fact(taken, "batch"), "32");
    assert_memory_equal(taken->tensors, filed->tensors, filed->tensor_count * sizeof *filed->tensors);
    assert_memory_equal(taken->descs, filed->descs, filed->desc_count * sizeof *filed->descs);
    for (uint64_t i = 0; i < filed->op_count; i++)
        assert_same_op(&taken->ops[i], &filed->ops[i]);
    assert_int_equal(taken->signature_count, filed->signature_count);
    for (uint64_t i = 0; i < filed->signature_count; i++)
        assert_same_signature(taken, &taken->signatures[i], filed, &filed->signatures[i]);
    assert_int_equal(taken->edges_count, filed->edges_count);
    for (uint64_t i = 0; i < filed->edges_count; i++)
        assert_same_links(&taken->edges[i], &filed->edges[i]);
    struct ll_arena arena = {0};
    assert_null(ll_trace_check(taken, &arena));
    ll_arena_release(&arena);
    ll_trace_free(filed);
    ll_trace_free(taken);
}

static void a_recorder_into_memory_says_what_stopped_it(void **state)
{
    (void)state;
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open_memory(facts, 3, &status);
    struct ll_shape endless = {.dtype = LL_F32, .rank = 2, .dim = {UINT64_MAX, 2}};
    assert_int_equal(ll_recorder_desc(recorder, "x", &endless, LL_ACTIVATION), LL_NONE);
    assert_null(ll_recorder_take(recorder, &status));
    assert_int_equal(status, LL_TOO_LARGE);
    recorder = ll_recorder_open_memory(facts, 3, &status);
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
}

/* Forms and links of the first two steps are all: weights differ in where they come from only there. */
static void a_loop_that_repeats_itself_adds_no_definitions(void **state)
{
    (void)state;
    struct loop loop;
    struct ll_trace *few = record_loop(&loop, 5, 3, true), *many = record_loop(&loop, 5, 30, true);
    assert_int_equal(few->signature_count, many->signature_count);
    assert_int_equal(few->edges_count, many->edges_count);
    assert_int_equal(few->string_count, many->string_count);
    assert_int_equal(few->desc_count, many->desc_count);
    ll_trace_free(few);
    ll_trace_free(many);
}

static void more_ops_than_a_frame_holds_are_no_matter(void **state)
{
    (void)state;
    struct loop loop;
    struct ll_trace *trace = record_loop(&loop, 60, 100, true);
    assert_true(loop.ops > 50000);
    assert_int_equal(trace->op_count, loop.ops);
    for (uint64_t i = 1; i < trace->op_count; i++) /* the loop's own times, to the nanosecond */
        assert_in_range(trace->ops[i].start_ns - trace->ops[i - 1].start_ns - trace->ops[i - 1].duration_ns,
                        150, 209);
    ll_trace_free(trace);
}

static void a_dry_run_has_no_times_and_equals_another(void **state)
{
    (void)state;
    struct loop loop;
    struct ll_trace *one = record_loop(&loop, 3, 4, false), *other = record_loop(&loop, 3, 4, false);
    assert_int_equal(one->op_count, other->op_count);
    for (uint64_t i = 0; i < one->op_count;
         i++) { /* not as bytes: what lies between the members is anyone's */
        const struct ll_op *a = &one->ops[i], *b = &other->ops[i];
        assert_true(a->signature == b->signature && a->edges == b->edges && a->step == b->step);
        assert_true(a->thread == b->thread && a->first_output == b->first_output);
    }
    assert_memory_equal(one->tensors, other->tensors, one->tensor_count * sizeof *one->tensors);
    for (uint64_t i = 0; i < one->step_count; i++)
        assert_int_equal(one->steps[i].start_ns + one->steps[i].wall_ns + one->steps[i].recording_ns, 0);
    for (uint64_t i = 0; i < one->op_count; i++)
        assert_int_equal(one->ops[i].start_ns + one->ops[i].duration_ns, 0);
    ll_trace_free(one);
    ll_trace_free(other);
}

/* A million equal ops of a dry run shrink to almost nothing; the file is padded so that what it unpacks to
 * stays in proportion to it. */
static void a_monotonous_dry_run_is_padded_and_read(void **state)
{
    (void)state;
    struct ll_recorder *recorder = open_recorder();
    struct ll_shape shape = {.dtype = LL_F32, .rank = 1, .dim = {8}};
    uint32_t desc = ll_recorder_desc(recorder, "x", &shape, LL_ACTIVATION);
    uint32_t x = ll_recorder_tensor(recorder, desc), scope = ll_recorder_string(recorder, "");
    for (int i = 0; i < 1000000; i++)
        x = ll_recorder_op(recorder, &(struct ll_record){.kind = LL_OP_RELU,
                                                         .scope = scope,
                                                         .inputs = &x,
                                                         .input_count = 1,
                                                         .outputs = &desc,
                                                         .output_count = 1});
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct ll_trace *trace = read_whole(getpid());
    assert_int_equal(trace->op_count, 1000000);
    assert_int_equal(trace->step_count, 1); /* the ops stood outside of any */
    assert_in_range(trace->file_bytes, 100000, 1000000);
    ll_trace_free(trace);
}

/* Steps take room in the reader as ops do: many short ones, with nothing between some of them, are read whole
 * as well. */
static void many_short_steps_are_read_whole(void **state)
{
    (void)state;
    enum { STEPS = 20000, OPS = 50, EMPTY = 2000000 };
    struct ll_recorder *recorder = open_recorder();
    struct ll_shape shape = {.dtype = LL_F32, .rank = 1, .dim = {8}};
    uint32_t desc = ll_recorder_desc(recorder, "x", &shape, LL_ACTIVATION);
    uint32_t x = ll_recorder_tensor(recorder, desc), scope = ll_recorder_string(recorder, "");
    const struct ll_record relu = {.kind = LL_OP_RELU,
                                   .scope = scope,
                                   .inputs = &x,
                                   .input_count = 1,
                                   .outputs = &desc,
                                   .output_count = 1};
    for (int i = 0; i < STEPS + EMPTY; i++) {
        ll_recorder_step_begin(recorder);
        for (int op = i < STEPS || i == STEPS + EMPTY - 1 ? 0 : OPS; op < OPS; op++)
            x = ll_recorder_op(recorder, &relu);
        ll_recorder_step_end(recorder);
    }
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct ll_trace *trace = read_whole(getpid());
    assert_int_equal(trace->op_count, OPS * (STEPS + 1));
    assert_int_equal(trace->step_count, STEPS + EMPTY);
    for (uint64_t i = 0; i < trace->step_count; i++)
        assert_true(trace->steps[i].complete);
    ll_trace_free(trace);
}

/* Writes one byte of a file anew. */
static void damage(const char *path, long at)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_true(fputc(byte ^ 1, file) != EOF);
    assert_int_equal(fclose(file), 0);
}

/* Behind a hole a weight comes from nowhere, which makes it no second one. */
static void a_hole_adds_neither_parameters_nor_memory(void **state)
{
    (void)state;
    struct loop loop;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *whole = record_loop(&loop, 5, 3000, false);
    loop_begin(&loop, open_recorder(), 5, false);
    for (unsigned i = 0; i < 3000; i++)
        loop_step(&loop);
    assert_int_equal(ll_recorder_close(loop.recorder), LL_OK);
    damage(path_of(getpid()), (long)whole->file_bytes / 2);
    struct ll_trace *holed = ll_trace_read(path_of(getpid()), &diags, &status);
    unlink(path_of(getpid()));
    assert_non_null(holed);
    assert_in_range(holed->lost_ops, 1, whole->op_count / 2);
    const struct ll_profile *all = ll_profile(whole, &arena), *left = ll_profile(holed, &arena);
    assert_int_equal(left->parameters, all->parameters);
    struct ll_footprint most, least;
    assert_true(ll_footprint(whole, &most) && ll_footprint(holed, &least));
    assert_int_equal(least.peak_bytes, most.peak_bytes);
    ll_trace_free(whole);
    ll_trace_free(holed);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
}

static void what_a_dimension_means_and_attributes_are_kept(void **state)
{
    (void)state;
    struct loop loop;
    struct ll_trace *trace = record_loop(&loop, 2, 1, true);
    bool seen = false;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        if (signature->view.kind != LL_OP_MOMENTUM)
            continue;
        seen = true;
        assert_near(ll_attr_real(&signature->view, LL_ATTR_LEARNING_RATE, 0), 0.01, 0);
        assert_near(ll_attr_real(&signature->view, LL_ATTR_MOMENTUM, 0), 0.9, 0);
        assert_int_equal(signature->phase, LL_PHASE_UPDATE);
        const struct ll_tensor_desc *weight = &trace->descs[signature->inputs[0]];
        assert_int_equal(weight->memory, LL_WEIGHT);
        assert_int_equal(weight->shape.role[0], LL_ROLE_HIDDEN);
        const struct ll_tensor *before = &trace->tensors[ll_op_input(trace, (uint32_t)i, 0)];
        const struct ll_tensor *after = &trace->tensors[ll_op_output(trace, (uint32_t)i, 0)];
        assert_int_equal(before->storage, after->storage); /* updated in place */
    }
    assert_true(seen);
    ll_trace_free(trace);
}

static void times_of_another_clock_make_the_times_of_the_steps(void **state)
{
    (void)state;
    struct loop loop;
    loop_begin(&loop, open_recorder(), 2, true);
    loop.now_ns = 1000; /* long before the recorder was opened */
    loop_step(&loop);
    uint64_t end_ns = loop.now_ns;
    loop_step(&loop);
    assert_int_equal(ll_recorder_close(loop.recorder), LL_OK);
    struct ll_trace *trace = read_whole(getpid());
    assert_int_equal(trace->ops[0].start_ns, 0);
    assert_int_equal(trace->steps[0].start_ns, 0);
    assert_in_range(trace->steps[0].wall_ns, end_ns - 1000 - 210, end_ns - 1000);
    assert_true(trace->steps[1].start_ns > trace->steps[0].wall_ns);
    ll_trace_free(trace);
}

/* How large it is, tests/bench says: a number that depends on the day is no test. */
/* Two ops with a pause of ten milliseconds between them. */
static void a_pause_is_no_part_of_a_step(void **state)
{
    (void)state;
    const uint64_t pause_ns = 10000000;
    struct ll_recorder *recorder = open_recorder();
    struct ll_shape shape = {.rank = 1, .dtype = LL_F32, .dim = {4}};
    uint32_t desc = ll_recorder_desc(recorder, "x", &shape, LL_ACTIVATION);
    uint32_t input = ll_recorder_tensor(recorder, desc);
    struct ll_record record = {.kind = LL_OP_RELU,
                               .phase = LL_PHASE_FORWARD,
                               .scope = ll_recorder_string(recorder, ""),
                               .inputs = &input,
                               .input_count = 1,
                               .outputs = &desc,
                               .output_count = 1,
                               .duration_ns = 1};
    uint64_t begin_ns = ll_now_ns(), first_ns;
    ll_recorder_step_begin(recorder);
    record.start_ns = first_ns = ll_now_ns();
    ll_recorder_op(recorder, &record);
    nanosleep(&(struct timespec){.tv_nsec = (long)pause_ns}, NULL);
    ll_recorder_pause(recorder, pause_ns);
    record.start_ns = ll_now_ns();
    ll_recorder_op(recorder, &record);
    ll_recorder_step_end(recorder);
    uint64_t end_ns = ll_now_ns();
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct ll_trace *trace = read_whole(getpid());
    assert_true(trace->steps[0].wall_ns + pause_ns <= end_ns - begin_ns);
    assert_int_equal(trace->ops[1].start_ns - trace->ops[0].start_ns, record.start_ns - first_ns - pause_ns);
    ll_trace_free(trace);
}

static void the_cost_of_recording_is_measured_in_every_step(void **state)
{
    (void)state;
    struct loop loop;
    enum { STEPS = 5, FIRST_OP_NS = 1000000 };
    loop_begin(&loop, open_recorder(), 60, true);
    for (int i = 0; i < STEPS; i++) {
        loop.now_ns = ll_now_ns();
        while (ll_now_ns() < loop.now_ns + FIRST_OP_NS) /* ops that lie in the future have another clock */
            ;
        loop_step(&loop);
    }
    assert_int_equal(ll_recorder_close(loop.recorder), LL_OK);
    struct ll_trace *trace = read_whole(getpid());
    assert_int_equal(trace->step_count, STEPS);
    for (uint64_t i = 0; i < trace->step_count; i++)
        assert_true(trace->steps[i].recording_ns > 0);
    ll_trace_free(trace);
}

static void an_op_that_ran_elsewhere_costs_its_step_nothing(void **state)
{
    (void)state;
    struct loop loop;
    loop_begin(&loop, open_recorder(), 2, true);
    loop.now_ns = 1000; /* long before the recorder was opened */
    loop_step(&loop);
    assert_int_equal(ll_recorder_close(loop.recorder), LL_OK);
    struct ll_trace *trace = read_whole(getpid());
    assert_int_equal(trace->steps[0].recording_ns, 0);
    ll_trace_free(trace);
}

/* The child may write one frame of ops, but not two: 16384 ops are some 60 kB. */
static int record_on_a_full_disk(void)
{
    struct loop loop;
    enum ll_status status;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000});
    struct ll_recorder *recorder = ll_recorder_open(path_of(getpid()), facts, 3, &status);
    if (!recorder)
        return 1;
    loop_begin(&loop, recorder, 60, true);
    for (unsigned i = 0; i < 100; i++)
        loop_step(&loop);
    struct ll_record nothing = {.kind = LL_OP_RELU};
    if (ll_recorder_status(recorder) != LL_DISK_FULL || ll_recorder_op(recorder, &nothing) != LL_NONE ||
        ll_recorder_string(recorder, "x") != LL_NONE)
        return 2;
    return ll_recorder_close(recorder) == LL_DISK_FULL ? 0 : 3;
}

static void a_full_disk_stops_the_recording_and_keeps_what_is_there(void **state)
{
    (void)state;
    int result;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(record_on_a_full_disk());
    waitpid(child, &result, 0);
    assert_true(WIFEXITED(result));
    assert_int_equal(WEXITSTATUS(result), 0);
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read(path_of(child), &diags, &status);
    assert_non_null(trace);
    assert_false(trace->closed);
    assert_int_equal(trace->op_count, 16384);
    assert_int_equal(trace->lost_bytes, 0); /* the torn frame was cut off */
    assert_int_equal(diags.count, 1);
    ll_trace_free(trace);
    ll_diags_release(&diags);
    unlink(path_of(child));
}

static void where_no_file_can_be_made_the_old_one_stays(void **state)
{
    (void)state;
    enum ll_status status;
    assert_null(ll_recorder_open("no/such/folder/a.llt", facts, 3, &status));
    assert_int_equal(status, LL_NO_FILE);
    assert_null(ll_recorder_open("/dev/full", facts, 3, &status));
    assert_int_equal(status, LL_DISK_FULL);
    struct ll_recorder *recorder = ll_recorder_open("/dev/null", facts, 3, &status);
    assert_non_null(recorder);
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
    struct stat info;
    assert_int_equal(stat("/dev/null", &info), 0);
    assert_true(S_ISCHR(info.st_mode));
}

static void a_text_too_long_for_a_file_stops_the_recorder(void **state)
{
    (void)state;
    static char text[LL_MAX_TEXT_BYTES + 2];
    memset(text, 'a', LL_MAX_TEXT_BYTES + 1);
    struct ll_recorder *recorder = open_recorder();
    assert_int_not_equal(ll_recorder_string(recorder, text + 1), LL_NONE);
    assert_int_equal(ll_recorder_string(recorder, text), LL_NONE);
    assert_int_equal(ll_recorder_close(recorder), LL_TOO_LARGE);
    unlink(path_of(getpid()));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_recorded_loop_is_read_back_whole),
        cmocka_unit_test(a_recorder_into_memory_gives_the_trace_that_a_file_gives),
        cmocka_unit_test(a_recorder_into_memory_says_what_stopped_it),
        cmocka_unit_test(a_loop_that_repeats_itself_adds_no_definitions),
        cmocka_unit_test(more_ops_than_a_frame_holds_are_no_matter),
        cmocka_unit_test(a_dry_run_has_no_times_and_equals_another),
        cmocka_unit_test(a_monotonous_dry_run_is_padded_and_read),
        cmocka_unit_test(many_short_steps_are_read_whole),
        cmocka_unit_test(a_hole_adds_neither_parameters_nor_memory),
        cmocka_unit_test(what_a_dimension_means_and_attributes_are_kept),
        cmocka_unit_test(times_of_another_clock_make_the_times_of_the_steps),
        cmocka_unit_test(a_pause_is_no_part_of_a_step),
        cmocka_unit_test(the_cost_of_recording_is_measured_in_every_step),
        cmocka_unit_test(an_op_that_ran_elsewhere_costs_its_step_nothing),
        cmocka_unit_test(a_full_disk_stops_the_recording_and_keeps_what_is_there),
        cmocka_unit_test(where_no_file_can_be_made_the_old_one_stays),
        cmocka_unit_test(a_text_too_long_for_a_file_stops_the_recorder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
