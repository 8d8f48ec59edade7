/* SPDX-License-Identifier: Apache-2.0 */
/* Which ops run on in the kernel of another, of traces of three. */
#include "check.h"

#include "toy_trace.h"

#include "sim/replay/replay.h"

enum { LARGE = 256, SMALL = 8 };

/* An activation of something large, an op that knows nothing of it, an activation of the first one's result.
 */
static struct ll_trace *record_apart(uint64_t between)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, toy_matrix(LARGE, LARGE), LL_ACTIVATION);
    uint32_t other = toy_bring(toy, toy_matrix(between, between), LL_ACTIVATION);
    ll_recorder_step_begin(toy->recorder);
    uint32_t y = toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &x, 1, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &other, 1, NULL, 0, LL_ACTIVATION, NULL);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &y, 1, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* Frees the trace. */
static void fuse_trace(struct ll_trace *trace, uint32_t count, struct ll_fused *fused)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    const struct ll_prepared *prepared = ll_prepare(trace, &arena, &diags);
    assert_non_null(prepared);
    for (uint32_t seq = 0; seq < count; seq++)
        fused[seq] = ll_fused_as(prepared, LL_FUSION_ELEMENTWISE, seq);
    ll_trace_free(trace);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
}

static void fuse(uint64_t between, struct ll_fused fused[3])
{
    fuse_trace(record_apart(between), 3, fused);
}

/* An update, whose result is of that class, and an activation of what it made. */
static struct ll_trace *record_update(enum ll_memory_class memory)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t w = toy_bring(toy, toy_matrix(LARGE, LARGE), memory);
    uint32_t g = toy_bring(toy, toy_matrix(LARGE, LARGE), LL_GRADIENT);
    ll_recorder_step_begin(toy->recorder);
    uint32_t made = toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){w, g}, 2, NULL, 0, memory, NULL);
    toy_op(toy, LL_OP_RELU, LL_PHASE_UPDATE, &made, 1, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* The next step begins with them. The op that follows takes them from registers all the same, its operand 0;
 * the result of the update is its operand 2. */
static void weights_and_the_state_of_an_optimizer_are_stored_whoever_reads_them_next(void **state)
{
    (void)state;
    static const enum ll_memory_class classes[] = {LL_WEIGHT, LL_OPTIMIZER, LL_ACTIVATION, LL_GRADIENT};
    for (int i = 0; i < 4; i++) {
        struct ll_fused fused[2];
        fuse_trace(record_update(classes[i]), 2, fused);
        assert_true(fused[1].follows);
        assert_int_equal(fused[1].held, 1);
        assert_int_equal(fused[0].held, i < 2 ? 0 : 1 << 2);
    }
}

/* As an activation follows its normalisation, whose running averages stand between them. Nobody else reads
 * what is passed on: the first op's result is held too, its operand 1. */
static void a_small_op_between_two_does_not_part_them(void **state)
{
    (void)state;
    struct ll_fused fused[3];
    fuse(SMALL, fused);
    assert_false(fused[1].follows);
    assert_true(fused[2].follows);
    assert_int_equal(fused[2].leader, 0);
    assert_int_equal(fused[2].held, 1);
    assert_int_equal(fused[0].held, 1 << 1);
}

static void a_large_op_between_two_parts_them(void **state)
{
    (void)state;
    struct ll_fused fused[3];
    fuse(LARGE, fused);
    for (int i = 0; i < 3; i++) {
        assert_false(fused[i].follows);
        assert_int_equal(fused[i].held, 0);
    }
}

/* A kernel that another op can go on in is one of the device, which computes or moves; a library's GEMM
 * ends with its own kernel where only chains are joined. */
static void what_runs_no_kernel_leads_nothing(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < LL_WORK_COUNT; kind++) {
        const struct ll_work work = {.kind = kind};
        bool multiplies = kind == LL_WORK_GEMM || kind == LL_WORK_CONV || kind == LL_WORK_SEQUENCE ||
                          kind == LL_WORK_ATTENTION || kind == LL_WORK_EXPERTS;
        bool none = kind == LL_WORK_NOTHING || kind == LL_WORK_HOST || kind == LL_WORK_SWAP ||
                    kind == LL_WORK_WAIT || kind == LL_WORK_COLLECTIVE;
        assert_false(ll_fusion_leads(LL_FUSION_NONE, &work));
        assert_int_equal(ll_fusion_leads(LL_FUSION_ELEMENTWISE, &work), !none);
        assert_int_equal(ll_fusion_leads(LL_FUSION_CHAINS, &work), !none && !multiplies);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_small_op_between_two_does_not_part_them),
        cmocka_unit_test(a_large_op_between_two_parts_them),
        cmocka_unit_test(weights_and_the_state_of_an_optimizer_are_stored_whoever_reads_them_next),
        cmocka_unit_test(what_runs_no_kernel_leads_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
