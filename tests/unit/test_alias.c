/* SPDX-License-Identifier: Apache-2.0 */
/* Whose memory a result takes over: by the row of its kind, or by the attribute in_place. */
#include "check.h"

#include "tracer/ops.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_take_over_what_the_row_or_the_attribute_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
