/* SPDX-License-Identifier: Apache-2.0 */
/* Damage of every kind: what survives is true, and what does not is said. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include "loop.h"
#include "tracer/format/format.h"
#include "tracer/format/reader.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A file in memory and the trace that it holds. */
static struct {
    uint8_t bytes[1 << 16];
    uint64_t size;
    struct ll_trace *trace;
    uint64_t frame_at[64]; /* where heads begin, and where the last frame ends */
    uint64_t frame_count;
} whole;

static const char *file_name(pid_t writer)
{
    static char path[64];
    snprintf(path, sizeof path, "damage-%ld.llt", (long)writer);
    return path;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Steps apart enough that each has frames of its own. */
static void record_file(const char *path, unsigned steps, long pause_ms)
{
    static const struct ll_fact facts[] = {{"model", "perceptron"}, {"mode", "train"}};
    static struct loop loop;
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open(path, facts, 2, &status);
    assert_non_null(recorder);
    loop_begin(&loop, recorder, 2, true);
    for (unsigned i = 0; i < steps; i++) {
        sleep_ms(pause_ms);
        loop_step(&loop);
    }
    assert_int_equal(ll_recorder_close(recorder), LL_OK);
}

static void find_frames(void)
{
    struct ll_view in = {whole.bytes + LL_HEADER_BYTES, whole.bytes + whole.size};
    struct ll_head head;
    for (whole.frame_count = 0; ll_take_head(&in, &head); whole.frame_count++) {
        whole.frame_at[whole.frame_count] = (uint64_t)(in.at - whole.bytes) - LL_HEAD_BYTES;
        in.at += head.stored_bytes;
    }
    whole.frame_at[whole.frame_count] = (uint64_t)(in.at - whole.bytes);
}

static int record_whole(void **state)
{
    (void)state;
    record_file(file_name(getpid()), 6, 101);
    FILE *file = fopen(file_name(getpid()), "rb");
    if (!file)
        return -1;
    whole.size = fread(whole.bytes, 1, sizeof whole.bytes, file);
    fclose(file);
    unlink(file_name(getpid()));
    struct ll_diags diags = {0};
    enum ll_status status;
    whole.trace = ll_trace_parse(whole.bytes, whole.size, "whole", &diags, &status);
    find_frames();
    bool good = whole.trace && diags.count == 0 && whole.frame_count >= 14;
    ll_diags_release(&diags);
    return good ? 0 : -1;
}

static int free_whole(void **state)
{
    (void)state;
    ll_trace_free(whole.trace);
    return 0;
}

/* The op of the whole trace that began at this time: no two begin at once. */
static uint32_t twin_of(const struct ll_op *op)
{
    for (uint32_t i = 0; i < whole.trace->op_count; i++)
        if (whole.trace->ops[i].start_ns == op->start_ns)
            return i;
    fail_msg("an op that was never recorded");
    return 0;
}

static void descs_agree(const struct ll_trace *trace, uint32_t desc, uint32_t true_desc)
{
    const struct ll_tensor_desc *a = &trace->descs[desc], *b = &whole.trace->descs[true_desc];
    assert_string_equal(trace->strings[a->name], whole.trace->strings[b->name]);
    assert_int_equal(a->memory, b->memory);
    assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
}

/* An input is made by the op that truly made it, or by none when that one is lost. */
static void inputs_agree(const struct ll_trace *trace, uint32_t op, uint32_t twin)
{
    const struct ll_op_signature *signature = &trace->signatures[trace->ops[op].signature];
    for (uint32_t i = 0; i < signature->view.input_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[ll_op_input(trace, op, i)];
        const struct ll_tensor *true_tensor = &whole.trace->tensors[ll_op_input(whole.trace, twin, i)];
        descs_agree(trace, tensor->desc, true_tensor->desc);
        if (tensor->producer != LL_NONE) {
            assert_int_not_equal(true_tensor->producer, LL_NONE);
            assert_int_equal(twin_of(&trace->ops[tensor->producer]), true_tensor->producer);
        } else if (true_tensor->producer != LL_NONE) {
            for (uint64_t k = 0; k < trace->op_count; k++)
                assert_int_not_equal(trace->ops[k].start_ns,
                                     whole.trace->ops[true_tensor->producer].start_ns);
        }
    }
    const struct ll_op_edges *links = &trace->edges[trace->ops[op].edges];
    for (uint32_t i = 0; i < links->control_count; i++) {
        uint32_t control = twin_of(&trace->ops[op - links->controls[i]]);
        const struct ll_op_edges *true_links = &whole.trace->edges[whole.trace->ops[twin].edges];
        assert_int_equal(twin - control, true_links->controls[0]); /* the loop has one at most */
    }
}

/* Every op that is left is one of the whole trace, unchanged. */
static void survivors_are_true(const struct ll_trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        uint32_t twin = twin_of(&trace->ops[i]);
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        const struct ll_op_signature *true_signature =
            &whole.trace->signatures[whole.trace->ops[twin].signature];
        assert_string_equal(trace->strings[signature->kind_name],
                            whole.trace->strings[true_signature->kind_name]);
        assert_string_equal(trace->strings[signature->scope], whole.trace->strings[true_signature->scope]);
        assert_int_equal(signature->phase, true_signature->phase);
        assert_int_equal(signature->flops, true_signature->flops);
        assert_int_equal(trace->ops[i].duration_ns, whole.trace->ops[twin].duration_ns);
        assert_int_equal(trace->ops[i].step, whole.trace->ops[twin].step);
        inputs_agree(trace, i, twin);
    }
    for (uint64_t i = 0; i < trace->step_count; i++)
        if (trace->steps[i].complete)
            assert_int_equal(trace->steps[i].op_count, whole.trace->steps[i].op_count);
}

/* Reads damaged bytes: there is a complaint, what is left is true, and losses add up where the total is
 * known. */
static struct ll_trace *read_damaged(const uint8_t *bytes, uint64_t size, bool end_is_there)
{
    struct ll_diags diags = {0};
    enum ll_status status;
    uint8_t *copy = malloc(size ? size : 1); /* exact, so that a read past the end is seen */
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    struct ll_trace *trace = ll_trace_parse(copy, size, "damaged", &diags, &status);
    free(copy);
    assert_true(diags.count > 0);
    assert_true((trace != NULL) == (status == LL_OK));
    if (trace) {
        survivors_are_true(trace);
        assert_true(trace->lost_bytes > 0 || trace->lost_frames > 0 || !trace->closed);
        if (end_is_there)
            assert_int_equal(trace->op_count + trace->lost_ops, whole.trace->op_count);
    }
    ll_diags_release(&diags);
    return trace;
}

static void every_flipped_bit_is_seen(void **state)
{
    (void)state;
    for (uint64_t bit = 0; bit < 8 * whole.size; bit++) {
        whole.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        struct ll_trace *trace = read_damaged(whole.bytes, whole.size, true);
        assert_non_null(trace);
        ll_trace_free(trace);
        whole.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void at_every_length_the_rest_is_read_and_the_loss_is_said(void **state)
{
    (void)state;
    uint64_t ops_before = 0;
    for (uint64_t size = 0; size < whole.size; size++) {
        struct ll_trace *trace = read_damaged(whole.bytes, size, false);
        assert_true((trace != NULL) == (size >= LL_HEADER_BYTES));
        if (!trace)
            continue;
        assert_true(trace->op_count >= ops_before); /* more bytes never tell less */
        ops_before = trace->op_count;
        ll_trace_free(trace);
    }
    assert_int_equal(ops_before, whole.trace->op_count);
}

/* The file without frames `from` to `to`. */
static void cut_out(uint64_t from, uint64_t to)
{
    static uint8_t bytes[sizeof whole.bytes];
    uint64_t hole = whole.frame_at[from], behind = whole.frame_at[to + 1];
    memcpy(bytes, whole.bytes, hole);
    memcpy(bytes + hole, whole.bytes + behind, whole.size - behind);
    struct ll_trace *trace = read_damaged(bytes, whole.size - (behind - hole), true);
    assert_non_null(trace);
    assert_int_equal(trace->lost_frames, to - from + 1);
    ll_trace_free(trace);
}

static void any_frames_can_be_missing(void **state)
{
    (void)state;
    for (uint64_t from = 0; from < whole.frame_count; from++)
        for (uint64_t to = from; to < whole.frame_count; to++)
            cut_out(from, to);
}

/* Zeros, noise and pieces of itself written over the file. */
static void overwritten_stretches_are_holes(void **state)
{
    (void)state;
    static uint8_t bytes[sizeof whole.bytes];
    uint64_t random = ll_seed(977);
    for (int round = 0; round < 2000; round++) {
        memcpy(bytes, whole.bytes, whole.size);
        uint64_t length = 1 + ll_random(&random) % 600, at = ll_random(&random) % (whole.size - length);
        uint64_t from = ll_random(&random) % (whole.size - length);
        for (uint64_t i = 0; i < length; i++)
            bytes[at + i] = round % 3 == 0   ? 0
                            : round % 3 == 1 ? (uint8_t)ll_random(&random)
                                             : whole.bytes[from + i];
        if (memcmp(bytes, whole.bytes, whole.size) != 0)
            ll_trace_free(read_damaged(bytes, whole.size, false));
    }
}

static void what_a_killed_recorder_wrote_can_be_read(void **state)
{
    (void)state;
    uint64_t random = ll_seed(4711);
    uint64_t most_ops = 0;
    for (int round = 0; round < 8; round++) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            record_file(file_name(getpid()), 1000000, 0), _exit(0);
        sleep_ms(60 + (long)(ll_random(&random) % 200));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        struct ll_diags diags = {0};
        enum ll_status status;
        struct ll_trace *trace = ll_trace_read(file_name(child), &diags, &status);
        assert_non_null(trace);
        assert_false(trace->closed);
        assert_true(diags.count > 0);
        assert_int_equal(trace->lost_ops, 0);
        for (uint64_t i = 0; i + 1 < trace->step_count; i++)
            assert_true(trace->steps[i].complete);
        most_ops = trace->op_count > most_ops ? trace->op_count : most_ops;
        ll_diags_release(&diags);
        ll_trace_free(trace);
        unlink(file_name(child));
    }
    assert_true(most_ops > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_flipped_bit_is_seen),
        cmocka_unit_test(at_every_length_the_rest_is_read_and_the_loss_is_said),
        cmocka_unit_test(any_frames_can_be_missing),
        cmocka_unit_test(overwritten_stretches_are_holes),
        cmocka_unit_test(what_a_killed_recorder_wrote_can_be_read),
    };
    return cmocka_run_group_tests(tests, record_whole, free_whole);
}
