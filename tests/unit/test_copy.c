/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/transform/rewrite.h"
#include "tracer/format/reader.h"

#include <stdio.h>
#include <unistd.h>

static struct ll_trace *read_trace(const char *path)
{
    struct ll_diags diags = {0};
    enum ll_status status;
    struct ll_trace *trace = ll_trace_read(path, &diags, &status);
    assert_non_null(trace);
    assert_int_equal(diags.count, 0);
    ll_diags_release(&diags);
    return trace;
}

static void expect_same_ops(const struct ll_trace *one, const struct ll_trace *other)
{
    assert_int_equal(one->op_count, other->op_count);
    assert_int_equal(one->tensor_count, other->tensor_count);
    assert_int_equal(one->storage_count, other->storage_count);
    for (uint32_t i = 0; i < one->op_count; i++) {
        const struct ll_op *a = &one->ops[i], *b = &other->ops[i];
        const struct ll_op_signature *signature = &one->signatures[a->signature],
                                     *again = &other->signatures[b->signature];
        assert_string_equal(one->strings[signature->kind_name], other->strings[again->kind_name]);
        assert_string_equal(one->strings[signature->scope], other->strings[again->scope]);
        assert_int_equal(signature->phase, again->phase);
        assert_int_equal(signature->flops, again->flops);
        assert_int_equal(a->step, b->step);
        assert_int_equal(a->thread, b->thread);
        assert_int_equal(a->first_output, b->first_output);
        assert_int_equal(a->start_ns, b->start_ns);
        assert_int_equal(a->duration_ns, b->duration_ns);
        const struct ll_op_edges *links = &one->edges[a->edges], *others = &other->edges[b->edges];
        assert_int_equal(links->input_count, others->input_count);
        assert_int_equal(links->control_count, others->control_count);
        assert_int_equal(links->gap_count, others->gap_count);
        for (uint32_t k = 0; k < links->input_count; k++)
            assert_int_equal(ll_op_input(one, i, k), ll_op_input(other, i, k));
        for (uint32_t k = 0; k < links->control_count; k++)
            assert_int_equal(links->controls[k], others->controls[k]);
    }
    for (uint64_t i = 0; i < one->tensor_count; i++) {
        const struct ll_tensor_desc *a = &one->descs[one->tensors[i].desc],
                                    *b = &other->descs[other->tensors[i].desc];
        assert_string_equal(one->strings[a->name], other->strings[b->name]);
        assert_int_equal(a->memory, b->memory);
        assert_memory_equal(&a->shape, &b->shape, sizeof a->shape);
        assert_int_equal(one->tensors[i].storage, other->tensors[i].storage);
    }
}

/* The steps of the second one have times. */
static void what_is_written_is_read_again(void **state)
{
    (void)state;
    static const char *const paths[] = {"traces/alexnet_infer_b1.llt", "traces/alexnet_train_b8.llt"};
    char path[] = "copy_XXXXXX";
    close(mkstemp(path));
    for (size_t p = 0; p < 2; p++) {
        struct ll_trace *trace = read_trace(paths[p]);
        struct ll_fact fact = {"model", "another"};
        trace->steps[0].wall_ns = 12345;
        assert_int_equal(ll_trace_write(trace, &fact, 1, path), LL_OK);
        struct ll_trace *again = read_trace(path);
        expect_same_ops(trace, again);
        assert_int_equal(again->fact_count, 1);
        assert_string_equal(ll_trace_fact(again, "model"), "another");
        assert_int_equal(again->step_count, trace->step_count);
        for (uint64_t i = 0; i < trace->step_count; i++) {
            assert_int_equal(again->steps[i].first_op, trace->steps[i].first_op);
            assert_int_equal(again->steps[i].op_count, trace->steps[i].op_count);
            assert_int_equal(again->steps[i].wall_ns, trace->steps[i].wall_ns);
            assert_int_equal(again->steps[i].complete, trace->steps[i].complete);
        }
        ll_trace_free(again);
        ll_trace_free(trace);
    }
    unlink(path);
}

static void what_cannot_be_written_leaves_what_was_there(void **state)
{
    (void)state;
    struct ll_trace *trace = read_trace("traces/alexnet_infer_b1.llt");
    assert_int_not_equal(ll_trace_write(trace, NULL, 0, "no_such_folder/t.llt"), LL_OK);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_again),
        cmocka_unit_test(what_cannot_be_written_leaves_what_was_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
