/* SPDX-License-Identifier: Apache-2.0 */
/* Whose memory a result takes over: by the row of its kind, or by the attribute in_place. */
#include "check.h"

#include "tracer/ir/ops.h"
#include "tracer/ir/work.h"

enum { NONE = -1, UNSAID = -1 };

static void results_take_over_what_the_row_or_the_attribute_says(void **state)
{
    (void)state;
    static const struct {
        enum ll_op_kind kind;
        uint32_t inputs;
        int64_t in_place;
        int expected[2]; /* of results 0 and 1 */
    } cases[] = {
        {LL_OP_RELU, 1, UNSAID, {NONE, NONE}},
        {LL_OP_RELU, 1, 0, {0, NONE}},
        {LL_OP_ADD, 2, 1, {1, NONE}},
        {LL_OP_ADD, 2, 2, {NONE, NONE}}, /* it has no third input */
        {LL_OP_TOP_K, 1, 0, {0, NONE}},
        {LL_OP_RESHAPE, 1, UNSAID, {0, NONE}},
        {LL_OP_MOMENTUM, 3, UNSAID, {0, 1}},
        {LL_OP_MOMENTUM, 3, 2, {2, 1}},
        {LL_OP_ALL_REDUCE, 2, UNSAID, {NONE, NONE}},
        {LL_OP_ALL_REDUCE, 2, 0, {0, 1}}, /* each its own */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct ll_attr attr = {.key = LL_ATTR_IN_PLACE, .count = cases[i].in_place};
        const struct ll_op_view op = {.kind = cases[i].kind,
                                      .input_count = cases[i].inputs,
                                      .output_count = 2,
                                      .attr_count = cases[i].in_place != UNSAID,
                                      .attrs = &attr};
        for (uint32_t output = 0; output < 2; output++)
            if ((int)ll_op_alias(&op, output) != cases[i].expected[output])
                fail_msg("%s, in_place %d: result %d is over input %d, expected %d", ll_op_name(op.kind),
                         (int)cases[i].in_place, (int)output, (int)ll_op_alias(&op, output),
                         cases[i].expected[output]);
    }
}

/* What is written over what was read needs no fetching. */
static void work_says_whether_it_is_in_place(void **state)
{
    (void)state;
    const struct ll_attr over = {.key = LL_ATTR_IN_PLACE, .count = 0};
    struct ll_shape in[] = {{.rank = 1, .dtype = LL_F32, .dim = {8}},
                            {.rank = 1, .dtype = LL_F32, .dim = {8}}},
                    out[] = {in[0], in[0]};
    struct ll_work work;
    for (uint32_t attrs = 0; attrs < 2; attrs++) {
        const struct ll_op_view add = {.kind = LL_OP_ADD,
                                       .input_count = 2,
                                       .output_count = 1,
                                       .in = in,
                                       .out = out,
                                       .attr_count = attrs,
                                       .attrs = &over};
        assert_true(ll_op_lower(&add, &work));
        assert_int_equal(work.in_place, attrs);
    }
    const struct ll_op_view sgd = {
        .kind = LL_OP_SGD, .input_count = 2, .output_count = 1, .in = in, .out = out};
    assert_true(ll_op_lower(&sgd, &work));
    assert_int_equal(work.in_place, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_take_over_what_the_row_or_the_attribute_says),
        cmocka_unit_test(work_says_whether_it_is_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
