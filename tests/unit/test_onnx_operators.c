/* SPDX-License-Identifier: Apache-2.0 */
/* What the same name or the same input of an operator can mean. */
#include "check.h"
#include "onnx_model.h"

static struct conversion imported(struct onnx_model *m, bool allow_opaque)
{
    struct ll_str bytes = end_model(m, 13);
    struct conversion c = {.importer = ll_import_ONNX, .allow_opaque = allow_opaque};
    add_file(&c, "small.onnx", &bytes);
    convert(&c);
    ll_str_release(&bytes);
    return c;
}

/* Field 7 of a node is its domain. */
static void an_operator_of_another_domain_is_not_the_standard_one(void **state)
{
    static const struct {
        const char *domain;
        bool known;
    } rows[] = {{"", true}, {"ai.onnx", true}, {"com.microsoft", true}, {"com.x", false}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int opaque = 0; opaque < 2; opaque++) {
            struct onnx_model m = {0};
            put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
            begin_node(&m, "Relu", "x", "a");
            begin_node(&m, "Relu", "a", "y");
            ll_wire_put_text(&m.node, 7, rows[i].domain);
            struct conversion c = imported(&m, opaque);
            assert_int_equal(c.trace != NULL, rows[i].known || opaque);
            if (c.trace)
                assert_int_equal(op_of_kind(c.trace, LL_OP_FOREIGN, 0) == NULL, rows[i].known);
            else
                assert_true(complained(&c, "operator `com.x.Relu` has no rule here; 1 of them"));
            end_conversion(&c);
        }
}

static void node_real(struct onnx_model *m, const char *name, float value)
{
    struct ll_str attr = {0};
    ll_wire_put_text(&attr, 1, name);
    ll_wire_put_varint(&attr, 2 << 3 | 5);
    ll_str_add_bytes(&attr, (const char *)&value, sizeof value); /* little-endian, as here */
    ll_wire_put_bytes(&m->node, 5, attr.text, attr.length);
    ll_str_release(&attr);
}

static void a_bias_times_zero_is_not_added(void **state)
{
    (void)state;
    for (int zero = 0; zero < 2; zero++) {
        struct onnx_model m = {0};
        put_info(&m, 11, "x", ONNX_FLOAT, DIMS(3, 4));
        put_weight(&m, "w", DIMS(4, 5));
        put_weight(&m, "b", DIMS(5));
        begin_node(&m, "Gemm", "x w b", "y");
        node_real(&m, "beta", zero ? 0 : 0.5F);
        struct conversion c = imported(&m, false);
        assert_non_null(c.trace);
        assert_int_equal(op_of_kind(c.trace, LL_OP_BIAS_ADD, 0) == NULL, zero);
        assert_string_equal(ll_trace_fact(c.trace, "parameters"), "25");
        end_conversion(&c);
    }
}

/* A choice by sign: with slopes above 1 the larger of x and its product is another one. */
static void slopes_by_channel_are_one_op(void **state)
{
    (void)state;
    struct onnx_model m = {0};
    put_info(&m, 11, "x", ONNX_FLOAT, DIMS(2, 3, 4, 5));
    put_weight(&m, "slope", DIMS(3, 1, 1));
    begin_node(&m, "PRelu", "x slope", "y");
    struct conversion c = imported(&m, false);
    assert_non_null(c.trace);
    const struct ll_op_view *op = op_of_kind(c.trace, LL_OP_PRELU, 0);
    assert_non_null(op);
    assert_null(op_of_kind(c.trace, LL_OP_MUL, 0));
    assert_null(op_of_kind(c.trace, LL_OP_MAXIMUM, 0));
    assert_int_equal(ll_elements(&op->out[0]), 2 * 3 * 4 * 5);
    assert_int_equal(ll_elements(&op->in[1]), 3);
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_of_another_domain_is_not_the_standard_one),
        cmocka_unit_test(a_bias_times_zero_is_not_added),
        cmocka_unit_test(slopes_by_channel_are_one_op),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
