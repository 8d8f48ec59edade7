/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "tracer/transform/rescale.h"

#include <stdlib.h>

static void words_and_numbers_are_factors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double factor;
        bool right;
    } cases[] = {{"keep", 1, true}, {"drop", 0, true}, {"0.25", 0.25, true}, {"1e6", 1e6, true},
                 {"-1", 0, false},  {"", 0, false},    {"half", 0, false},   {"nan", 0, false},
                 {"inf", 0, false}, {"2x", 0, false},  {"2e6", 0, false},    {"Drop", 0, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double factor;
        assert_int_equal(ll_gaps_parse(cases[i].text, &factor), cases[i].right);
        if (cases[i].right)
            assert_true(factor == cases[i].factor);
    }
}

/* Of a product the recorded time is a measurement, which a factor of gaps has nothing to do with. */
static void only_what_waits_is_scaled(void **state)
{
    (void)state;
    struct ll_op_signature signatures[] = {
        {.view.kind = LL_OP_GAP}, {.view.kind = LL_OP_MATMUL}, {.view.kind = LL_OP_OPAQUE}};
    struct ll_op ops[] = {{.signature = 0, .duration_ns = 1001},
                          {.signature = 1, .duration_ns = 1000},
                          {.signature = 2, .duration_ns = 10},
                          {.signature = 0, .duration_ns = UINT64_MAX}};
    struct ll_trace trace = {.signatures = signatures, .signature_count = 3, .ops = ops, .op_count = 4};
    assert_true(ll_gaps_scale(&trace, 1));
    assert_null(ll_trace_fact(&trace, "gaps"));
    assert_true(ll_gaps_scale(&trace, 0.25));
    assert_int_equal(ops[0].duration_ns, 250);
    assert_int_equal(ops[1].duration_ns, 1000);
    assert_int_equal(ops[2].duration_ns, 3); /* 2.5 */
    assert_string_equal(ll_trace_fact(&trace, "gaps"), "0.25");
    assert_true(ll_gaps_scale(&trace, 1e6));
    assert_int_equal(ops[3].duration_ns, 9000000000000000000u);
    assert_true(ll_gaps_scale(&trace, 0));
    assert_int_equal(ops[3].duration_ns, 0);
    free(trace.facts);
    ll_arena_release(&trace.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_numbers_are_factors),
        cmocka_unit_test(only_what_waits_is_scaled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
