/* SPDX-License-Identifier: Apache-2.0 */
/* A trace written anew is what the one who writes it says, and nothing else. */
#include "check.h"

#include "loop.h"
#include "tracer/transform/rewrite.h"

#include <stdlib.h>

static struct ll_trace *recorded(unsigned layers, unsigned steps)
{
    static const struct ll_fact facts[] = {
        {"model", "perceptron"}, {"batch", "32"}, {"native", "yes"}, {"host.cpu", "any"}};
    struct loop loop;
    enum ll_status status;
    loop_begin(&loop, ll_recorder_open_memory(facts, 4, &status), layers, false);
    for (unsigned i = 0; i < steps; i++)
        loop_step(&loop);
    struct ll_trace *trace = ll_recorder_take(loop.recorder, &status);
    assert_non_null(trace);
    return trace;
}

static uint64_t flops_of(const struct ll_trace *trace)
{
    uint64_t flops = 0;
    for (uint64_t op = 0; op < trace->op_count; op++)
        flops += trace->signatures[trace->ops[op].signature].flops;
    return flops;
}

static void assert_whole(const struct ll_trace *trace, const char *trouble)
{
    struct ll_arena arena = {0};
    if (trouble)
        print_error("%s\n", trouble);
    assert_non_null(trace);
    assert_null(ll_trace_check(trace, &arena));
    ll_arena_release(&arena);
}

static void what_is_kept_as_a_whole_stays_the_same(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_rewrite rewrite;
    struct ll_trace *old = recorded(4, 3);
    ll_rewrite_begin(&rewrite, old, &(struct ll_fact){"batch", "64"}, 1);
    for (uint32_t op = 0; op < old->op_count; op++)
        ll_rewrite_keep(&rewrite, op);
    struct ll_trace *new = ll_rewrite_end(&rewrite, &trouble);
    assert_whole(new, trouble);
    assert_int_equal(new->op_count, old->op_count);
    assert_int_equal(new->tensor_count, old->tensor_count);
    assert_int_equal(new->storage_count, old->storage_count);
    assert_int_equal(new->step_count, old->step_count);
    assert_int_equal(new->signature_count, old->signature_count);
    assert_int_equal(flops_of(new), flops_of(old));
    for (uint64_t i = 0; i < old->op_count; i++)
        assert_string_equal(new->strings[new->signatures[new->ops[i].signature].scope],
                            old->strings[old->signatures[old->ops[i].signature].scope]);
    assert_string_equal(ll_trace_fact(new, "batch"), "64");
    assert_string_equal(ll_trace_fact(new, "model"), "perceptron");
    assert_string_equal(ll_trace_fact(new, "native"), "no");
    assert_null(ll_trace_fact(new, "host.cpu"));
    ll_trace_free(old);
    ll_trace_free(new);
}

static void what_was_no_whole_step_has_not_become_one(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_rewrite rewrite;
    struct ll_trace *old = recorded(4, 3);
    old->steps[0].complete = false;
    ll_rewrite_begin(&rewrite, old, NULL, 0);
    for (uint32_t op = 0; op < old->op_count; op++)
        ll_rewrite_keep(&rewrite, op);
    struct ll_trace *new = ll_rewrite_end(&rewrite, &trouble);
    if (new) {
        assert_int_equal(new->step_count, 3);
        assert_false(new->steps[0].complete);
        assert_true(new->steps[1].complete &&new->steps[2].complete);
    } else {
        fail_msg("%s", trouble);
    }
    ll_trace_free(old);
    ll_trace_free(new);
}

/* Dependencies say whether tensors were followed: each op waits for the same ops as before. */
static void ops_wait_for_what_they_waited_for(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_rewrite rewrite;
    struct ll_arena arena = {0};
    struct ll_trace *old = recorded(4, 2);
    ll_rewrite_begin(&rewrite, old, NULL, 0);
    for (uint32_t op = 0; op < old->op_count; op++)
        ll_rewrite_keep(&rewrite, op);
    struct ll_trace *new = ll_rewrite_end(&rewrite, &trouble);
    assert_whole(new, trouble);
    const struct ll_deps *a = ll_trace_deps(old, &arena), *b = ll_trace_deps(new, &arena);
    assert_memory_equal(a->first, b->first, (old->op_count + 1) * sizeof *a->first);
    assert_memory_equal(a->ops, b->ops, a->first[old->op_count] * sizeof *a->ops);
    ll_arena_release(&arena);
    ll_trace_free(old);
    ll_trace_free(new);
}

/* Every update first sums its gradient over eight devices. */
static void an_exchange_put_before_an_op_is_what_the_op_reads(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_rewrite rewrite;
    struct ll_record record;
    struct ll_trace *old = recorded(3, 1);
    uint64_t updates = 0;
    ll_rewrite_begin(&rewrite, old, NULL, 0);
    for (uint32_t op = 0; op < old->op_count; op++) {
        const struct ll_op_signature *signature = &old->signatures[old->ops[op].signature];
        if (signature->phase == LL_PHASE_UPDATE && signature->view.kind == LL_OP_MOMENTUM) {
            uint32_t gradient = ll_op_input(old, op, 2);
            const struct ll_exchange_place place = {ll_rewrite_string(&rewrite, signature->scope),
                                                    LL_PHASE_COMM, 8, 2};
            uint32_t sum =
                ll_rewrite_exchange(&rewrite, LL_OP_ALL_REDUCE, ll_rewrite_tensor(&rewrite, gradient),
                                    ll_rewrite_desc(&rewrite, old->tensors[gradient].desc), &place);
            ll_rewrite_redirect(&rewrite, gradient, sum);
            updates++;
        }
        assert_true(ll_rewrite_record(&rewrite, op, &record));
        ll_rewrite_put(&rewrite, op, &record);
    }
    struct ll_trace *new = ll_rewrite_end(&rewrite, &trouble);
    assert_whole(new, trouble);
    assert_true(updates > 0);
    assert_int_equal(new->op_count, old->op_count + updates);
    for (uint32_t op = 0; op < new->op_count; op++) {
        const struct ll_op_view *view = &new->signatures[new->ops[op].signature].view;
        if (view->kind != LL_OP_MOMENTUM)
            continue;
        uint32_t from = new->tensors[ll_op_input(new, op, 2)].producer;
        const struct ll_op_view *sum = &new->signatures[new->ops[from].signature].view;
        assert_int_equal(sum->kind, LL_OP_ALL_REDUCE);
        assert_int_equal(ll_attr_count(sum, LL_ATTR_DEVICES, 0), 8);
        assert_int_equal(ll_attr_count(sum, LL_ATTR_STRIDE, 0), 2);
    }
    ll_trace_free(old);
    ll_trace_free(new);
}

static void reading_what_was_left_out_is_trouble(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_rewrite rewrite;
    struct ll_trace *old = recorded(2, 1);
    ll_rewrite_begin(&rewrite, old, NULL, 0);
    for (uint32_t op = 1; op < old->op_count; op++)
        ll_rewrite_keep(&rewrite, op);
    assert_null(ll_rewrite_end(&rewrite, &trouble));
    assert_string_equal(trouble, "an op reads what an op wrote that was left out");
    ll_trace_free(old);
}

static void what_the_op_table_refuses_is_trouble(void **state)
{
    (void)state;
    const char *trouble;
    struct ll_rewrite rewrite;
    struct ll_record record;
    struct ll_trace *old = recorded(2, 1);
    const struct ll_shape odd = {.dtype = LL_F32, .rank = 1, .dim = {7}};
    ll_rewrite_begin(&rewrite, old, NULL, 0);
    for (uint32_t op = 0; op < old->op_count; op++) {
        uint32_t wrong = ll_rewrite_new_desc(&rewrite, "odd", &odd, LL_ACTIVATION);
        if (!ll_rewrite_record(&rewrite, op, &record))
            continue;
        if (record.kind == LL_OP_RELU)
            record.outputs = &wrong;
        ll_rewrite_put(&rewrite, op, &record);
    }
    assert_null(ll_rewrite_end(&rewrite, &trouble));
    assert_string_equal(trouble, "the outputs do not have the shapes that this op gives");
    ll_trace_free(old);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_kept_as_a_whole_stays_the_same),
        cmocka_unit_test(what_was_no_whole_step_has_not_become_one),
        cmocka_unit_test(ops_wait_for_what_they_waited_for),
        cmocka_unit_test(an_exchange_put_before_an_op_is_what_the_op_reads),
        cmocka_unit_test(reading_what_was_left_out_is_trouble),
        cmocka_unit_test(what_the_op_table_refuses_is_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
