/* SPDX-License-Identifier: Apache-2.0 */
/* GEMMs of few bits and in groups, and optimizers over lists, out of profiles: FLOPs are counted by hand. */
#include "check.h"
#include "kineto.h"

static void expect_flops(const char *events, uint64_t flops, uint64_t ops, enum ll_op_kind kind)
{
    struct conversion c = import_fine(events);
    uint64_t of_kind = 0;
    for (uint64_t i = 0; i < c.trace->op_count; i++)
        of_kind += c.trace->signatures[c.trace->ops[i].signature].view.kind == kind;
    assert_int_equal(all_flops(c.trace), flops);
    assert_int_equal(of_kind, ops);
    end_conversion(&c);
}

/* 2 m n k, whatever the types: 8 x 64 by 64 x 128; 4 bits: 64 x 128 / 2 bytes. */
static void products_of_few_bits_are_products(void **state)
{
    (void)state;
    const uint64_t flops = 2 * 8 * 64 * 128;
    expect_flops(
        OP("aten::_scaled_mm", 10, 5,
           TAKES("[8,64],[64,128],[],[]", "'c10::Float8_e4m3fn','c10::Float8_e4m3fn','float','float'")),
        flops, 1, LL_OP_MATMUL);
    expect_flops(OP("aten::_weight_int4pack_mm", 10, 5,
                    TAKES("[8,64],[16,4,16,4],[],[2,128,2]",
                          "'c10::BFloat16','unsigned char','Scalar','c10::BFloat16'")),
                 flops, 1, LL_OP_MATMUL);
    expect_flops(
        OP("aten::_weight_int4pack_mm", 10, 5,
           TAKES("[8,64],[16,1,32,2],[],[2,128,2]", "'c10::BFloat16','int','Scalar','c10::BFloat16'")),
        flops, 1, LL_OP_MATMUL);
    expect_flops(OP("aten::_weight_int8pack_mm", 10, 5,
                    TAKES("[8,64],[128,64],[128]", "'c10::BFloat16','signed char','c10::BFloat16'")),
                 flops, 1, LL_OP_MATMUL);
}

/* 2 x 12 rows x 64 x 128, in 4 groups of 3 rows; of 13 rows 2 x 13 x 64 x 128. */
static void grouped_products_are_batches_where_groups_can_be_equal(void **state)
{
    (void)state;
    expect_flops(OP("aten::_grouped_mm", 10, 5,
                    TAKES("[12,64],[4,64,128],[4]", "'c10::BFloat16','c10::BFloat16','int'")),
                 2 * 12 * 64 * 128, 1, LL_OP_BATCH_MATMUL);
    expect_flops(OP("aten::_scaled_grouped_mm", 10, 5,
                    TAKES("[13,64],[4,64,128],[13],[4,128],[4]",
                          "'c10::Float8_e4m3fn','c10::Float8_e4m3fn','float','float','int'")),
                 2 * 13 * 64 * 128, 1, LL_OP_COMPUTATION);
}

/* Two weights of 100 and 20 elements: 12 FLOP each of Adam (op table), 1 each of an addition, 2 of
 * addcmul. */
static void optimizers_go_over_lists(void **state)
{
    (void)state;
#define LIST "[[100],[20]]"
    expect_flops(OP("aten::_fused_adamw_", 10, 5,
                    TAKES(LIST "," LIST "," LIST "," LIST ",[],[[],[]]",
                          "'TensorList','TensorList','TensorList','TensorList','','TensorList'")),
                 12 * 120, 2, LL_OP_ADAM);
    expect_flops(OP("aten::_fused_sgd_", 10, 5, TAKES(LIST "," LIST ",[]", "'TensorList','TensorList',''")),
                 2 * 120, 2, LL_OP_SGD);
    expect_flops(OP("aten::_foreach_add_", 10, 5, TAKES(LIST "," LIST, "'TensorList','TensorList'")), 120, 2,
                 LL_OP_ADD);
    expect_flops(OP("aten::_foreach_sqrt", 10, 5, TAKES(LIST, "'TensorList'")), 120, 2, LL_OP_SQRT);
    expect_flops(OP("aten::_foreach_addcmul_", 10, 5,
                    TAKES(LIST "," LIST "," LIST, "'TensorList','TensorList','TensorList'")),
                 240, 2, LL_OP_MUL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_few_bits_are_products),
        cmocka_unit_test(grouped_products_are_batches_where_groups_can_be_equal),
        cmocka_unit_test(optimizers_go_over_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
