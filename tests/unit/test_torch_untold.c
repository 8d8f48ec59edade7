/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that older profiles do not tell, found by their shapes. */
#include "check.h"
#include "kineto.h"

#define CONV(time, image, filter)                                                                            \
    OP("aten::convolution", time, 5,                                                                         \
       TAKES(image "," filter ",[],[],[],[],[],[],[]", "'float','float','','','','','','',''"))
#define TAKE(name, time, shape) OP(name, time, 5, TAKES(shape, "'float'"))

/* 2 * 32 * 64 * 112 * 112 * 3 * 7 * 7 = 7.55 GFLOP, whoever takes the result. */
static void a_convolution_is_found_by_who_takes_its_result(void **state)
{
    static const char *const rows[] = {
        CONV(10, "[32,3,224,224]", "[64,3,7,7]") "," TAKE("aten::relu_", 20, "[32,64,112,112]"),
        CONV(10, "[32,3,224,224]", "[64,3,7,7]") "," TAKE("aten::threshold", 20, "[5,5]") "," OP(
            "aten::convolution_backward", 90, 5,
            TAKES("[32,64,112,112],[32,3,224,224],[64,3,7,7],[],[],[],[],[],[],[],[]",
                  "'float','float','float','','','','','','','',''"))};
    (void)state;
    struct conversion c = import_fine(rows[0]);
    assert_true(class_flops(c.trace, LL_CLASS_CONV) == 2.0 * 32 * 64 * 112 * 112 * 3 * 7 * 7);
    assert_int_equal(ll_attr_count(op_of_kind(c.trace, LL_OP_CONV2D, 0), LL_ATTR_STRIDE_H, 0), 2);
    assert_int_equal(ll_attr_count(op_of_kind(c.trace, LL_OP_CONV2D, 0), LL_ATTR_PAD_TOP, 0), 3);
    end_conversion(&c);
    c = import_events(rows[1], true);
    assert_true(op_of_kind(c.trace, LL_OP_CONV2D, 0)->out[0].dim[1] == 112);
    assert_non_null(op_of_kind(c.trace, LL_OP_CONV2D_FILTER, 0));
    assert_null(op_of_kind(c.trace, LL_OP_CONV2D_DATA, 0)); /* nobody takes the image's gradient */
    assert_true(warned(&c, "which gradients convolutions compute"));
    end_conversion(&c);
}

static void what_nobody_takes_is_refused_by_name(void **state)
{
    static const char *const rows[] = {
        CONV(10, "[32,3,224,224]", "[64,3,7,7]"),
        CONV(10, "[32,3,224,224]", "[64,3,7,7]") "," TAKE("aten::relu", 20, "[32,64,224,999]"),
        CONV(10, "[32,3,224,224]", "[64,3,7,7]") "," TAKE("aten::relu", 20, "[32,48,112,112]"),
        OP("aten::max_pool2d_with_indices", 10, 5,
           TAKES("[2,3,8,8],[],[],[],[],[]", "'float','','','','',''")),
        OP("aten::topk", 10, 5, TAKES("[2,3],[],[],[],[]", "'float','','','',''")),
        OP("aten::sum", 10, 5, TAKES("[2,3],[],[],[]", "'float','','',''"))};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct conversion c = import_events(rows[i], false);
        assert_null(c.trace);
        assert_true(complained(&c, i < 3 ? "aten::convolution: its numbers are not in the file"
                                         : ": its numbers are not in the file"));
        end_conversion(&c);
    }
}

/* Of every convolution that PyTorch can have with these sizes, what is found leads to the result and computes
 * as much; the law is its own formula of the output size. */
static void whatever_is_found_leads_to_the_result(void **state)
{
    (void)state;
    unsigned found = 0;
    for (unsigned in = 5; in < 40; in += 7)
        for (unsigned kernel = 1; kernel <= 5; kernel += 2)
            for (unsigned stride = 1; stride <= 4; stride++)
                for (unsigned pad = 0; pad <= kernel / 2; pad++)
                    for (unsigned groups = 1; groups <= 6; groups += 5) {
                        unsigned out = (in + 2 * pad - kernel) / stride + 1;
                        struct ll_str text = {0};
                        ll_str_addf(&text,
                                    OP("aten::convolution", 10, 5,
                                       TAKES("[2,6,%u,%u],[12,%u,%u,%u],[],[],[],[],[],[],[]",
                                             "'float','float','','','','','','',''")) ",",
                                    in, in, 6 / groups, kernel, kernel);
                        ll_str_addf(&text, TAKE("aten::relu", 20, "[2,12,%u,%u]"), out, out);
                        struct conversion c = import_fine(text.text);
                        const struct ll_op_view *conv = op_of_kind(c.trace, LL_OP_CONV2D, 0);
                        assert_int_equal(conv->out[0].dim[1], out);
                        assert_int_equal(conv->out[0].dim[2], out);
                        assert_true(class_flops(c.trace, LL_CLASS_CONV) ==
                                    2.0 * 2 * 12 * out * out * (6 / groups) * kernel * kernel);
                        found++;
                        end_conversion(&c);
                        ll_str_release(&text);
                    }
    assert_true(found > 100);
}

static void pools_sums_and_others_are_found(void **state)
{
    (void)state;
    struct conversion c =
        import_fine(OP("aten::max_pool2d_with_indices", 10, 5,
                       TAKES("[2,3,55,55],[],[],[],[],[]",
                             "'float','','','','',''")) "," TAKE("aten::relu", 20, "[2,3,27,27]"));
    const struct ll_op_view *pool = op_of_kind(c.trace, LL_OP_MAX_POOL, 0);
    assert_int_equal(pool->out[0].dim[1], 27);
    assert_int_equal(ll_attr_count(pool, LL_ATTR_KERNEL_H, 0), 3); /* 55 = 26 * 2 + 3 */
    assert_true(warned(&c, "windows of pools"));
    end_conversion(&c);
    c = import_fine(OP("aten::sum", 10, 5,
                       TAKES("[2,3,4],[],[],[]", "'float','','',''")) "," TAKE("aten::relu", 20, "[2,1,4]"));
    assert_int_equal(op_of_kind(c.trace, LL_OP_SUM, 0)->out[0].dim[0], 2);
    assert_int_equal(ll_elements(&op_of_kind(c.trace, LL_OP_SUM, 0)->out[0]), 8);
    end_conversion(&c);
    c = import_fine(OP("aten::native_layer_norm", 10, 5,
                       TAKES("[2,3,4],[],[3,4],[3,4],[]", "'float','','float','float',''")));
    assert_int_equal(op_of_kind(c.trace, LL_OP_LAYER_NORM, 0)->in[0].dim[1], 12);
    end_conversion(&c);
    c = import_fine(
        OP("aten::conv_transpose2d", 9, 9, TAKES("[2,6,5,5],[6,4,3,3]", "'float','float'")) "," CONV(
            10, "[2,6,5,5]", "[6,4,3,3]") "," TAKE("aten::relu", 20, "[2,4,10,10]"));
    assert_int_equal(op_of_kind(c.trace, LL_OP_CONV2D_DATA, 0)->out[0].dim[1], 10);
    assert_true(class_flops(c.trace, LL_CLASS_CONV) == 2.0 * 2 * 6 * 5 * 5 * 4 * 3 * 3);
    end_conversion(&c);
}

/* tests/peers/untold: training steps of a small residual network, of one with pools, groups and dilation, and
 * of one that goes up again by transposed convolutions and resizing, as PyTorch 1.13 wrote their execution
 * graphs; and the same calls as a profile of that version has them, shapes without numbers. */
static void whole_networks_compute_as_much_as_their_graphs(void **state)
{
    static const char *const names[] = {"resnet", "vgg", "unet"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char graph[128], profile[128];
        snprintf(graph, sizeof graph, "tests/peers/untold/%s.graph.json.gz", names[i]);
        snprintf(profile, sizeof profile, "tests/peers/untold/%s.profile.json.gz", names[i]);
        struct conversion told = import_whole_file(ll_import_TORCH_GRAPH, graph),
                          untold = import_whole_file(ll_import_TORCH_PROFILE, profile);
        for (unsigned class = LL_CLASS_MATRIX; class <= LL_CLASS_CONV; class ++)
            assert_true(class_flops(told.trace, class) > 0 &&
                        class_flops(told.trace, class) == class_flops(untold.trace, class));
        end_conversion(&told);
        end_conversion(&untold);
    }
}

/* Its bias is added by a helper; that alone is not the convolution. */
static void helpers_of_a_product_are_not_the_product(void **state)
{
    (void)state;
    struct conversion c = import_events(
        OP("aten::convolution", 10, 30, TAKES("[1,3,8,8,8],[4,3,3,3,3],[4]", "'float','float','float'") ",'Concrete Inputs':['','','']") "," OP(
            "aten::slow_conv3d_forward", 12, 9,
            TAKES("[1,3,8,8,8],[4,3,3,3,3]",
                  "'float','float'") ",'Concrete Inputs':['','']") "," OP("aten::add_", 25, 3,
                                                                          TAKES(
                                                                              "[1,4,6,6,6],[1,4,1,1,1]",
                                                                              "'float','float'") ",'Concrete "
                                                                                                 "Inputs':[''"
                                                                                                 ",'']"),
        false);
    assert_null(c.trace);
    assert_true(complained(&c, "aten::convolution: "));
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_is_found_by_who_takes_its_result),
        cmocka_unit_test(what_nobody_takes_is_refused_by_name),
        cmocka_unit_test(whatever_is_found_leads_to_the_result),
        cmocka_unit_test(pools_sums_and_others_are_found),
        cmocka_unit_test(whole_networks_compute_as_much_as_their_graphs),
        cmocka_unit_test(helpers_of_a_product_are_not_the_product),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
