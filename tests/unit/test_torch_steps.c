/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls of a profile make a step, and how much of the device's time is theirs. */
#include "check.h"
#include "kineto.h"

static void expect_steps(const char *events, uint64_t steps, uint64_t flops)
{
    struct conversion c = import_fine(events);
    assert_int_equal(c.trace->step_count, steps);
    for (uint64_t i = 0; i < c.trace->step_count; i++)
        assert_true(c.trace->steps[i].complete && c.trace->steps[i].op_count > 0);
    assert_int_equal(all_flops(c.trace), flops);
    end_conversion(&c);
}

/* profiler.step() at the end opens one more; what runs before the first mark, behind the last, or on another
 * thread at these times is in no step. Events come in any order. */
static void what_no_mark_holds_is_no_step(void **state)
{
    (void)state;
    expect_steps(
        STEP(1, 100, 100) "," ADDMM(115, 40) "," STEP(2, 200, 100) "," ADDMM(215, 40) "," STEP(3, 300, 5), 2,
        2 * ADDMM_FLOPS);
    expect_steps(
        STEP(2, 200, 100) "," ADDMM(215, 40) "," ADDMM(115, 40) "," STEP(3, 300, 5) "," STEP(1, 100, 100), 2,
        2 * ADDMM_FLOPS);
    expect_steps(ADDMM(10, 40) "," STEP(1, 100, 100) "," ADDMM(115, 40) "," STEP(2, 200, 100) "," ADDMM(
                     215, 40) "," ADDMM(310, 40),
                 2, 2 * ADDMM_FLOPS);
    expect_steps(STEP(0, 1, 4) "," STEP(1, 100, 100) "," ADDMM(115, 40), 1, ADDMM_FLOPS);
    struct conversion c = import_fine(
        ADDMM(10, 40) "," STEP(1, 100, 100) "," ADDMM(115, 40) "," STEP(2, 200, 100) "," ADDMM(215, 40));
    assert_true(warned(&c, "1 call outside of the marked steps is left out"));
    end_conversion(&c);
}

#define RELU(time) OP("aten::relu", time, 5, TAKES("[32,32]", "'float'"))
#define EXP(time) OP("aten::exp", time, 5, TAKES("[32,32]", "'float'"))

/* Marks of one name on two threads are one step, and so is what another thread does in its time. */
static void marks_on_several_threads_are_one(void **state)
{
    (void)state;
    struct conversion c =
        import_fine(STEP(1, 100, 100) "," EVENT("user_annotation", "ProfilerStep#1", 8, 102, 90, "") "," RELU(
            110) "," EVENT("cpu_op", "aten::exp", 8, 150, 5,
                           TAKES("[32,32]", "'float'")) "," STEP(2, 200, 100) "," RELU(210) "," EXP(250));
    assert_int_equal(c.trace->step_count, 2);
    assert_int_equal(c.trace->steps[0].op_count, 2);
    assert_int_equal(c.trace->steps[1].op_count, 2);
    end_conversion(&c);
}

static void steps_that_differ_are_named(void **state)
{
    (void)state;
    struct conversion c = import_fine(
        STEP(7, 100, 100) "," RELU(110) "," EXP(120) "," STEP(8, 200, 100) "," RELU(210) "," EXP(220) "," STEP(
            9, 300, 100) "," EXP(310) "," EXP(320) "," EXP(330) "," STEP(10, 400,
                                                                         100) "," RELU(410) "," EXP(420));
    assert_int_equal(c.trace->step_count, 4);
    assert_true(warned(&c, "unlike the other steps: ProfilerStep#9 (3 calls); ProfilerStep#7 has 2 calls"));
    end_conversion(&c);
    c = import_fine(STEP(1, 100, 100) "," RELU(110) "," STEP(2, 200, 100) "," RELU(210) "," STEP(
        3, 300, 100) "," EXP(310));
    assert_true(warned(&c, "ProfilerStep#3 (1 call, others or of other shapes); ProfilerStep#1 has 1 call"));
    end_conversion(&c);
}

/* The last one is but the beginning of the one before; where another is like it, it is whole. */
static void a_step_recorded_in_part_is_left_out(void **state)
{
    (void)state;
    struct conversion c = import_fine(STEP(1, 100, 100) "," RELU(110) "," EXP(120) "," STEP(
        2, 200, 100) "," RELU(210) "," EXP(220) "," STEP(3, 300, 100) "," RELU(310));
    assert_int_equal(c.trace->step_count, 2);
    assert_int_equal(c.trace->op_count, 4);
    assert_true(warned(&c, "ProfilerStep#3 is left out: recorded in part"));
    end_conversion(&c);
    c = import_fine(STEP(1, 100, 100) "," RELU(110) "," STEP(2, 200, 100) "," RELU(210) "," EXP(220) "," STEP(
        3, 300, 100) "," RELU(310));
    assert_int_equal(c.trace->step_count, 3);
    end_conversion(&c);
}

/* Of 100 us that kernels took, 80 are those of the product, found by its number or by the call that started
 * them; the others keep their time, and what ran before is no part of it. */
static void coverage_is_the_share_of_the_devices_time(void **state)
{
    static const char *const rows[] = {
        OP("aten::mm", 100, 50, "'External id':3," TAKES("[8,8],[8,8]", "'float','float'")) "," KERNEL(
            "gemm", 400, 80, "'External id':3") "," KERNEL("other", 500, 20, "'External id':99"),
        OP("aten::mm", 100, 50, TAKES("[8,8],[8,8]", "'float','float'")) "," EVENT("cuda_runtime", "cudaLaunchKernel", 7, 120, 5, "'correlation':5") "," EVENT(
            "cuda_runtime", "cudaGraphLaunch",
            7, 220, 5,
            "'correlation':6") "," KERNEL("gemm", 400, 80,
                                          "'correlation':5") "," KERNEL("a", 500, 15,
                                                                        "'correlation':6") "," KERNEL("b",
                                                                                                      520, 5,
                                                                                                      "'corre"
                                                                                                      "lation"
                                                                                                      "':6") "," KERNEL("earlier",
                                                                                                                        90,
                                                                                                                        900,
                                                                                                                        "'correlation':1")};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct conversion c = import_fine(rows[i]);
        assert_string_equal(ll_trace_fact(c.trace, "coverage"), "1.000000");
        assert_true(warned(&c, "of unknown meaning (20 % of the recorded device time)"));
        assert_int_equal(c.trace->ops[1].duration_ns + c.trace->ops[c.trace->op_count - 1].duration_ns,
                         i == 0 ? 40000 : 20000);
        assert_int_equal(c.trace->ops[0].duration_ns, 80000);
        assert_string_equal(ll_trace_fact(c.trace, "memory.unknown"), "yes");
        end_conversion(&c);
    }
    struct conversion c = import_fine(ADDMM(10, 40));
    assert_null(ll_trace_fact(c.trace, "coverage"));
    end_conversion(&c);
}

/* PyTorch 1.9: other categories, "Input dims", threads as texts, whole microseconds, no "Concrete Inputs". */
static void profiles_of_old_versions_are_read(void **state)
{
    (void)state;
    struct conversion c = import_fine(
        "{'ph':'X','cat':'Operator','name':'aten::mm','tid':'24572','ts':10,'dur':5,'args':{'External id':2,"
        "'Input dims':[[8,8],[8,8]],'Input type':['float','float']}},"
        "{'ph':'X','cat':'Operator','name':'aten::relu','tid':'31','ts':12,'dur':2,'args':{'External id':3,"
        "'Input dims':[[8,8]],'Input type':['float']}},"
        "{'ph':'X','cat':'Kernel','name':'gemm','tid':'stream 7','ts':30,'dur':9,'args':{'external id':2}}");
    assert_int_equal(c.trace->op_count, 2);
    assert_string_equal(ll_trace_fact(c.trace, "coverage"), "1.000000");
    end_conversion(&c);
}

/* A kernel moves all that it is given once, the last as what it writes: (8 * 128 + 8 * 128) * 4 bytes. */
static void compiled_kernels_move_their_bytes(void **state)
{
    static const char *const rows[] = {
        ADDMM(5, 40) "," OP("triton_poi_fused_relu_0", 100, 20,
                            TAKES("[8,128],[8,128],[]", "'float','float','Scalar'")),
        ADDMM(5, 40) "," OP("_my_kernel", 100, 20,
                            "'kernel_backend':'triton'," TAKES("[8,128],[8,128]", "'float','float'"))};
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct conversion c = import_events(rows[i], i == 1);
        assert_non_null(c.trace);
        assert_int_equal(c.trace->op_count, 3);
        const struct ll_op_signature *signature = &c.trace->signatures[c.trace->ops[2].signature];
        assert_int_equal(signature->view.kind, LL_OP_FOREIGN);
        assert_int_equal(signature->bytes_read + signature->bytes_written, 2 * 8 * 128 * 4);
        assert_true(warned(&c, i ? "_my_kernel" : "triton_poi_fused_relu_0"));
        end_conversion(&c);
    }
    struct conversion c = import_events(rows[1], false);
    assert_null(c.trace);
    assert_true(complained(&c, "_my_kernel: nobody knows this operator"));
    end_conversion(&c);
    c = import_fine(
        ADDMM(5, 40) "," OP("triton_poi_fused_relu_0", 100, 20, "")); /* as PyTorch 2.0 writes it */
    assert_int_equal(c.trace->op_count, 2);
    assert_true(warned(&c, "1 call is left out, whose sizes are not in the file: triton_poi_fused_relu_0"));
    end_conversion(&c);
}

/* x[8,64] w[64,128] and what is added to it: 2 * 8 * 64 * 128 FLOP, as the shapes say. */
static void templates_for_products_are_products(void **state)
{
    (void)state;
    struct conversion c =
        import_fine(OP("triton_tem_fused_addmm_1", 5, 9,
                       TAKES("[8,64],[64,128],[128],[8,128]", "'float','float','float','float'")));
    assert_int_equal(all_flops(c.trace), 2 * 8 * 64 * 128);
    assert_false(warned(&c, "unknown"));
    end_conversion(&c);
    c = import_fine(OP("triton_tem_fused_addmm_2", 5, 9,
                       TAKES("[128],[8,64],[64,128],[8,128]", "'float','float','float','float'")));
    assert_int_equal(all_flops(c.trace), 2 * 8 * 64 * 128);
    end_conversion(&c);
    c = import_fine(OP("triton_tem_fused_convolution_1", 5, 9,
                       TAKES("[8,4,9,9],[6,4,3,3],[8,6,7,7]", "'float','float','float'")));
    assert_int_equal(all_flops(c.trace), 0);
    assert_true(warned(&c, "triton_tem_fused_convolution_1"));
    end_conversion(&c);
}

/* 32 heads of queries on 8 of keys: 4 * 32 * 128 * 1024 * 64 FLOP in products. */
static void fewer_heads_of_keys_are_as_many_products(void **state)
{
    (void)state;
    struct conversion c = import_fine(OP("aten::_scaled_dot_product_flash_attention", 2, 40,
                                         TAKES("[1,32,128,64],[1,8,1024,64],[1,8,1024,64]",
                                               "'c10::BFloat16','c10::BFloat16','c10::BFloat16'")));
    assert_true(class_flops(c.trace, LL_CLASS_MATRIX) == 4.0 * 32 * 128 * 1024 * 64);
    end_conversion(&c);
}

/* cat of 24 elements that were bf16 before. */
static void lists_of_tensors_have_the_type_that_was_seen(void **state)
{
    (void)state;
    struct conversion c = import_fine(OP("aten::exp", 2, 4, TAKES("[4,4]", "'c10::BFloat16'")) "," OP(
        "aten::exp", 12, 4,
        TAKES("[2,4]",
              "'c10::BFloat16'")) "," OP("aten::cat", 20, 4,
                                         TAKES("[[4,4],[2,4]],[]",
                                               "'TensorList','Scalar'") ",'Concrete Inputs':['','0']"));
    const struct ll_op_signature *signature = &c.trace->signatures[c.trace->ops[2].signature];
    assert_int_equal(signature->view.kind, LL_OP_CONCAT);
    assert_int_equal(signature->bytes_read, 24 * 2);
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_no_mark_holds_is_no_step),
        cmocka_unit_test(marks_on_several_threads_are_one),
        cmocka_unit_test(steps_that_differ_are_named),
        cmocka_unit_test(a_step_recorded_in_part_is_left_out),
        cmocka_unit_test(coverage_is_the_share_of_the_devices_time),
        cmocka_unit_test(profiles_of_old_versions_are_read),
        cmocka_unit_test(compiled_kernels_move_their_bytes),
        cmocka_unit_test(templates_for_products_are_products),
        cmocka_unit_test(fewer_heads_of_keys_are_as_many_products),
        cmocka_unit_test(lists_of_tensors_have_the_type_that_was_seen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
