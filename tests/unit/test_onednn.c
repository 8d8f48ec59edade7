/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's verbose logs: lines, shapes, steps. */
#include "check.h"
#include "convert.h"

/* ResNet-18 at batch 1 makes 3.628147 GFLOP (captured at the calls and counted); its last layer went to BLAS.
 */
static void a_real_onednn_log_has_its_flops_and_times(void **state)
{
    (void)state;
    struct conversion c = import_whole_file(ll_import_ONEDNN, "tests/peers/resnet18_forward.onednn.csv");
    assert_int_equal(c.trace->op_count, 79);
    assert_near(class_flops(c.trace, LL_CLASS_CONV), 3.628147e9 - 2 * 512 * 1000, 1e-6);
    assert_int_equal(c.trace->ops[0].duration_ns, 7281980); /* the first line's 7.28198 ms */
    assert_int_equal(ll_edge_of(c.trace, 1, 0), LL_EDGE_ORDER);
    end_conversion(&c);
}

/* Lines that oneDNN 2.6.3 wrote of the calls in tests/unit/test_meaning.c: the same ops, FLOPs and bytes. */
static void onednn_logs_tell_what_recorded_calls_tell(void **state)
{
    static const struct {
        const char *line, *kind;
        uint64_t flops, bytes_read, bytes_written;
    } rows[] = {
        {"matmul,gemm:jit,undef,src_f32::blocked:abc:f0 wei_f32::blocked:abc:f0 dst_f32::blocked:abc:f0,,,"
         "4x32x64:1x64x48:4x32x48",
         "matmul", 786432, 45056, 24576},
        {"matmul,gemm:jit,undef,src_u8::blocked:abc:f0 wei_s8::blocked:abc:f0 dst_s32::blocked:abc:f0,,,"
         "4x32x64:4x64x48:4x32x48",
         "batch_matmul", 786432, 20480, 24576},
        {"matmul,gemm:jit,undef,src_u8::blocked:ab:f0 wei_s8::blocked:ab:f0 dst_f32::blocked:ab:f0,,,"
         "32x64:64x48:32x48",
         "matmul", 196608, 5120, 6144},
        {"matmul,gemm:jit,undef,src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 dst_f32::blocked:abcd:f0,,,"
         "2x3x32x64:1x3x64x48:2x3x32x48",
         "batch_matmul", 1179648, 86016, 36864},
        {"matmul,gemm:jit,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,"
         "attr-post-ops:sum ,,32x64:64x48:32x48",
         "matmul_add", 196608, 26624, 6144},
        {"eltwise,jit:avx2,forward_inference,data_f32::blocked:ab:f0 diff_undef::undef::f0,,"
         "alg:eltwise_gelu_erf alpha:0 beta:0,2x64",
         "eltwise", 128, 512, 512},
        {"reduction,jit:avx2,undef,src_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,alg:reduction_mean p:0 "
         "eps:0,"
         "2x64:1x64",
         "reduction", 64, 512, 256},
        {"reorder,jit:uni,undef,src_f32::blocked:ab:f0 dst_s8::blocked:ab:f0,,,2x64", "reorder", 0, 512, 128},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "onednn_verbose,exec,cpu,%s,0.5\n", rows[i].line);
        struct conversion c = import_choosing(ll_import_ONEDNN, text, NULL, NULL);
        if (!c.trace)
            fail_msg("%s", c.diags.kept[0].message);
        const struct ll_op_signature *signature = &c.trace->signatures[c.trace->ops[0].signature];
        assert_string_equal(c.trace->strings[signature->kind_name], rows[i].kind);
        assert_int_equal(signature->flops, rows[i].flops);
        assert_int_equal(signature->bytes_read, rows[i].bytes_read);
        assert_int_equal(signature->bytes_written, rows[i].bytes_written);
        end_conversion(&c);
    }
}

static void sizes_that_a_onednn_log_does_not_tell_are_refused(void **state)
{
    (void)state;
    struct conversion c =
        import_choosing(ll_import_ONEDNN,
                        "onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:ab:f0 "
                        "wei_f32::blocked:ab:f0 dst_f32::blocked:ab:f0,,,*x64:64x48:*x48,0.5\n",
                        NULL, NULL);
    assert_null(c.trace);
    assert_true(complained(&c, "known at run time alone"));
    end_conversion(&c);
}

static void onednn_logs_of_all_versions_are_read(void **state)
{
    static const char text[] =
        "noise of the program\n"
        "dnnl_verbose,info,DNNL v1.4.0\n"
        "dnnl_verbose,create:cache_miss,cpu,convolution,jit,forward,src_f32::blocked:abcd:f0,,,mb1,0.1\n"
        "dnnl_verbose,exec,cpu,inner_product,gemm:jit,backward_weights,src_f32::blocked:ab:f0 "
        "wei_f32::blocked:ab:f0 "
        "bia_undef::undef::f0 dst_f32::blocked:ab:f0,,,mb64ic1024oc512,0.5\n"
        "onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_bf16::blocked:abc:f0 wei_bf16::blocked:abc:f0 "
        "dst_bf16::blocked:abc:f0,,,4x8x16:4x16x32:4x8x32,0.25\n"
        "onednn_verbose,v1,1693530.5,primitive,exec,cpu,eltwise,jit:avx2,forward_training,data:f32::blocked:"
        "ab::f0 "
        "diff:undef::undef:::,attr-scratchpad:user,alg:eltwise_relu alpha:0 beta:0,8x16,0.125\n"
        "onednn_verbose,v1,primitive,exec,cpu,pooling,jit,backward_data,diff_src:f32::blocked:abcd::f0 "
        "diff_dst:f32::blocked:abcd::f0,,alg:pooling_max,mb2ic8_ih8oh4kh2sh2dh0ph0_iw8ow4kw2sw2dw0pw0,0.5\n";
    static const enum ll_op_kind kinds[] = {LL_OP_MATMUL, LL_OP_BATCH_MATMUL, LL_OP_RELU,
                                            LL_OP_MAX_POOL_GRAD};
    (void)state;
    struct conversion c = import_choosing(ll_import_ONEDNN, text, NULL, NULL);
    if (!c.trace)
        fail_msg("%s", c.diags.kept[0].message);
    assert_int_equal(c.trace->op_count, 4);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(c.trace->signatures[c.trace->ops[i].signature].view.kind, kinds[i]);
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].flops, 2 * 64 * 1024 * 512);
    assert_int_equal(c.trace->signatures[c.trace->ops[1].signature].flops, 2 * 4 * 8 * 16 * 32);
    assert_int_equal(c.trace->signatures[c.trace->ops[1].signature].bytes_read,
                     2 * (4 * 8 * 16 + 4 * 16 * 32));
    assert_int_equal(c.trace->ops[2].start_ns - c.trace->ops[1].start_ns, 250000);
    end_conversion(&c);
}

/* A layer repeated three times is three steps over one set of weights. */
static void a_repeated_log_is_steps_over_the_same_weights(void **state)
{
    static const char layer[] =
        "onednn_verbose,exec,cpu,convolution,jit,forward,src_f32::blocked:abcd:f0 wei_f32::blocked:abcd:f0 "
        "bia_f32::blocked:a:f0 dst_f32::blocked:abcd:f0,,alg:convolution_direct,"
        "mb1_g2ic4oc8_ih5oh5kh3sh1dh0ph1_iw5ow5kw3sw1dw0pw1,0.5\n"
        "onednn_verbose,exec,cpu,softmax,ref,forward,src_f32::blocked:ab:f0,,axis:1,8x5,0.1\n";
    struct ll_str text = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        ll_str_add(&text, layer);
    struct conversion c = import_choosing(ll_import_ONEDNN, text.text, NULL, NULL);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->step_count, 3);
    assert_int_equal(c.trace->op_count, 9); /* with the biases */
    assert_int_equal(c.trace->signatures[c.trace->ops[0].signature].flops, 2 * 25 * 8 * 9 * 2);
    assert_int_equal(ll_op_input(c.trace, 3, 1), ll_op_input(c.trace, 0, 1));
    assert_int_equal(ll_op_input(c.trace, 7, 1), ll_op_input(c.trace, 1, 1));
    end_conversion(&c);
    ll_str_release(&text);
}

static void unknown_primitives_are_refused_by_name_and_line(void **state)
{
    static const char text[] =
        "onednn_verbose,exec,cpu,shuffle,ref,forward,data_f32::blocked:ab:f0,,,8x5,0.5\n";
    (void)state;
    struct conversion c = import_choosing(ll_import_ONEDNN, text, NULL, NULL);
    assert_null(c.trace);
    assert_true(complained(&c, "shuffle: nobody knows this primitive"));
    assert_int_equal(c.diags.kept[0].place.line, 1);
    end_conversion(&c);
    c = import_choosing(ll_import_ONEDNN, "nothing\n", NULL, NULL);
    assert_true(complained(&c, "no line of it is about a primitive"));
    end_conversion(&c);
}

#define PRODUCT(attributes, problem)                                                                         \
    "onednn_verbose,exec,cpu,matmul,gemm:jit,undef,src_f32::blocked:ab:f0 wei_f32::blocked:ab:f0 "           \
    "dst_f32::blocked:ab:f0," attributes ",," problem ",0.5\n"

/* Of four equal layers each can read what the one before it made: no log tells them from four steps. */
static void equal_layers_are_no_steps(void **state)
{
    static const char layers[] = PRODUCT("", "32x64:64x64:32x64") PRODUCT("", "32x64:64x64:32x64")
        PRODUCT("", "32x64:64x64:32x64") PRODUCT("", "32x64:64x64:32x64");
    (void)state;
    struct conversion c = import_choosing(ll_import_ONEDNN, layers, NULL, NULL);
    assert_non_null(c.trace);
    assert_int_equal(c.trace->step_count, 1);
    assert_int_not_equal(ll_op_input(c.trace, 0, 1), ll_op_input(c.trace, 1, 1));
    end_conversion(&c);
    c = import_choosing(ll_import_ONEDNN, layers, "steps", "2");
    assert_non_null(c.trace);
    assert_int_equal(c.trace->step_count, 2);
    assert_int_equal(ll_op_input(c.trace, 0, 1), ll_op_input(c.trace, 2, 1));
    end_conversion(&c);
    c = import_choosing(ll_import_ONEDNN, layers, "steps", "3");
    assert_null(c.trace);
    assert_true(complained(&c, "-p steps=3: the 4 calls in it do not repeat themselves so often"));
    end_conversion(&c);
}

static void shapes_of_a_product_are_checked(void **state)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {PRODUCT("", "3x4:5x4:3x5"),
         "expected as many rows of the second matrix as the first has columns, 4, not 5"},
        {PRODUCT("", "3x4:4x5:3x9"), "`3x4:4x5:3x9`: expected a result of 3 rows and 5 columns"},
        {PRODUCT("", "2x3x4:3x4x5:2x3x5"), "expected as many matrices on both sides, or one"},
        {PRODUCT("", "2x3x4:2x4x5:1x3x5"), "expected a result of 3 rows and 5 columns"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct conversion c = import_choosing(ll_import_ONEDNN, rows[i].text, NULL, NULL);
        assert_null(c.trace);
        assert_true(complained(&c, rows[i].words));
        assert_int_equal(c.diags.kept[0].place.line, 1);
        end_conversion(&c);
    }
}

/* As recorded calls have them, a sum among them; the numbers of each do not count. */
static void operations_behind_a_primitive_are_counted(void **state)
{
    static const struct {
        const char *text;
        uint64_t posts;
        enum ll_op_kind kind;
    } rows[] = {
        {PRODUCT("", "3x4:4x5:3x5"), 0, LL_OP_MATMUL},
        {PRODUCT("attr-scratchpad:user ", "3x4:4x5:3x5"), 0, LL_OP_MATMUL},
        {PRODUCT("attr-post-ops:eltwise_relu ", "3x4:4x5:3x5"), 1, LL_OP_MATMUL},
        {PRODUCT("attr-scratchpad:user attr-post-ops:binary_add:f32:2 ", "3x4:4x5:3x5"), 1, LL_OP_MATMUL},
        {PRODUCT("attr-post-ops:sum:1+eltwise_clip:0:1e+06 attr-scales:src0:0:f32 ", "3x4:4x5:3x5"), 2,
         LL_OP_MATMUL_ADD},
        {PRODUCT("post_ops:'eltwise_relu;sum;';", "3x4:4x5:3x5"), 2, LL_OP_MATMUL_ADD},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct conversion c = import_choosing(ll_import_ONEDNN, rows[i].text, NULL, NULL);
        assert_non_null(c.trace);
        assert_int_equal(c.trace->op_count, 1);
        const struct ll_op_view *product = op_of_kind(c.trace, rows[i].kind, 0);
        assert_non_null(product);
        assert_int_equal(ll_attr_count(product, LL_ATTR_POST_OPS, 0), rows[i].posts);
        end_conversion(&c);
    }
}

#define PRIMITIVE(what) "onednn_verbose,v1,primitive,exec,cpu," what ",0.5\n"
#define PARTITION(what, time)                                                                                \
    "onednn_verbose,v1,graph,exec,cpu,100002," what ",fpm:strict,k,dnnl_backend," time "\n"
#define QUERIES "in0_f32:0:strided:undef:1x16x384x64:393216s24576s64s1"

/* Counted by hand: attention is two products of each score, all heads; a convolution of a volume has a
 * product for each of its 27 taps; of 4-bit weights two are a byte. */
static void primitives_of_version_3_have_their_work(void **state)
{
    static const struct {
        const char *line, *kind;
        uint64_t flops, bytes_read, bytes_written;
    } rows[] = {
        {PRIMITIVE(
             "sdpa,ocl,undef,query:f16::blocked:abcd::f0 key:f16::blocked:abdc::f0 val:f16::blocked:abcd::f0 "
             "dst:f16::blocked:abcd::f0,attr-scratchpad:user ,alg:softmax_accurate,"
             "1x32x384x128:1x32x128x512:1x32x512x128"),
         "causal_attention", UINT64_C(4) * 32 * 384 * 512 * 128, 2 * 32 * 128 * (384 + 2 * 512),
         2 * 32 * 384 * 128 + 4 * 32 * 384},
        /* four heads share their keys, which are read once */
        {PRIMITIVE(
             "sdpa,ocl,undef,query:f16::blocked:abcd::f0 key:f16::blocked:abdc::f0 val:f16::blocked:abcd::f0 "
             "dst:f16::blocked:abcd::f0,,,1x32x384x128:1x8x128x512:1x8x512x128"),
         "causal_attention", UINT64_C(4) * 32 * 384 * 512 * 128, 2 * 128 * (32 * 384 + 2 * 8 * 512),
         2 * 32 * 384 * 128 + 4 * 32 * 384},
        {PARTITION("sdp,sdp_fusion," QUERIES " in1_f32:1:strided:undef:1x16x384x64:1s1 "
                   "out0_f32:5:strided:undef:1x16x384x64:1s1",
                   "1.2"),
         "causal_attention", UINT64_C(4) * 16 * 384 * 384 * 64, 4 * 16 * 64 * 3 * 384,
         4 * 16 * 384 * 64 + 4 * 16 * 384},
        {PARTITION(
             "matmul_post_ops,a;b,,in0_f32:0:strided:undef:32x64:64s1 in1_s8:1:strided:constant:48x64:1s1 "
             "out0_f32:5:strided:undef:32x48:1s1",
             "1.2"),
         "matmul", 2 * 32 * 48 * 64, 4 * 32 * 64 + 48 * 64, 4 * 32 * 48},
        {PRIMITIVE("group_normalization,simple:any,forward_inference,src:f32::blocked:abcd::f0 "
                   "dst:f32::blocked:abcd::f0 stats:undef::undef:::,,flags:CH,g32mb1ic320ih64iw64"),
         "group_norm", 7 * 320 * 64 * 64, 4 * (320 * 64 * 64 + 2 * 320), 4 * 320 * 64 * 64},
        {PRIMITIVE("convolution,jit,backward_weights,src:f32::blocked:aBcde16b::f0 wei:f32::blocked:A::f0 "
                   "bia:undef::undef::: dst:f32::blocked:aBcde16b::f0,,alg:convolution_direct,mb2_ic16oc32_"
                   "id8od8kd3sd1dd0pd1_ih16oh16kh3sh1dh0ph1_iw16ow16kw3sw1dw0pw1"),
         "conv2d_filter_grad", 2 * 2 * 8 * 16 * 16 * 32 * 16 * 27, 4 * 2 * 8 * 16 * 16 * (3 * 16 + 32),
         4 * 27 * 16 * 32},
        {PRIMITIVE(
             "pooling,jit,forward,src:f32::blocked:abcde::f0 dst:f32::blocked:abcde::f0,,alg:pooling_max,"
             "mb2ic8_id8od4kd2sd2_ih8oh4kh2sh2dh0ph0_iw8ow4kw2sw2dw0pw0"),
         "max_pool", 8 * 2 * 8 * 4 * 4 * 4, 4 * 2 * 8 * 8 * 8 * 8, 4 * 2 * 8 * 4 * 4 * 4},
        {PRIMITIVE(
             "matmul,jit,undef,src:bf16::blocked:ab::f0 wei:s4::blocked:ab::f0 dst:bf16::blocked:ab::f0,,,"
             "32x4096:4096x11008"),
         "matmul", UINT64_C(2) * 32 * 4096 * 11008, 2 * 32 * 4096 + 4096 * 11008 / 2, 2 * 32 * 11008},
        {PRIMITIVE("matmul,jit,undef,src:bf16::blocked:ab::f0 wei:f4_e2m1::blocked:ab::f0 "
                   "dst:bf16::blocked:ab::f0,,,32x4096:4096x11008"),
         "matmul", UINT64_C(2) * 32 * 4096 * 11008, 2 * 32 * 4096 + 4096 * 11008 / 2, 2 * 32 * 11008},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct conversion c = import_choosing(ll_import_ONEDNN, rows[i].line, NULL, NULL);
        if (!c.trace)
            fail_msg("%s", c.diags.kept[0].message);
        const struct ll_op_signature *signature = &c.trace->signatures[c.trace->ops[0].signature];
        assert_string_equal(c.trace->strings[signature->kind_name], rows[i].kind);
        assert_int_equal(signature->flops, rows[i].flops);
        assert_int_equal(signature->bytes_read, rows[i].bytes_read);
        assert_int_equal(signature->bytes_written, rows[i].bytes_written);
        end_conversion(&c);
    }
}

static void what_a_line_does_not_tell_is_refused(void **state)
{
    static const char *const rows[][2] = {
        {PRIMITIVE(
             "matmul,jit,undef,src:bf16::blocked:ab::f0 wei:f3_e1m1::blocked:ab::f0 dst:bf16::blocked:ab::f0,"
             ",,32x4096:4096x11008"),
         "`wei:f3_e1m1::blocked:ab::f0`: elements of such a type are not known"},
        {PRIMITIVE(
             "sdpa,ocl,undef,query:f16::blocked:abcd::f0 key:s8::blocked:abdc::f0 val:s8::blocked:abcd::f0 "
             "dst:f16::blocked:abcd::f0,,,1x32x384x128:1x32x128x512:1x32x512x128"),
         "keys and values of another type than the queries are not known"},
        {PARTITION("convolution_post_ops,c," QUERIES " out0_f32:5:strided:undef:1x2:1s1", "1"),
         "what this part of a graph computes its line does not tell"},
        {PARTITION("sdp,s," QUERIES " in1_f32:1:strided:undef:5x7:1s1 out0_f32:5:strided:undef:1x2:1s1", "1"),
         "none of its tensors has as many features as the queries"},
        {PRIMITIVE(
             "pooling,jit,forward,src:f32::blocked:abcde::f0 dst:f32::blocked:abcde::f0,,alg:pooling_max,"
             "mb2ic8_id8od4kd2sd2_ih8oh4kh2sh2dh1ph0_iw8ow4kw2sw2dw0pw0"),
         "windows of three dimensions with holes are not known"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct conversion c = import_choosing(ll_import_ONEDNN, rows[i][0], NULL, NULL);
        assert_null(c.trace);
        assert_true(complained(&c, rows[i][1]));
        end_conversion(&c);
    }
}

/* The two products before the first partition are its own and fit into its time, the one before the second is
 * not enough for an attention. */
static void what_a_partition_consists_of_counts_once(void **state)
{
    static const char text[] = PRODUCT("", "3x4:4x5:3x5") PRODUCT("", "3x4:4x5:3x5") PARTITION(
        "sdp,s," QUERIES " in1_f32:1:strided:undef:1x16x384x64:1s1 out0_f32:5:strided:undef:1x2:1s1", "1.2")
        PRODUCT("", "3x4:4x5:3x5") PARTITION("sdp,s," QUERIES " in1_f32:1:strided:undef:1x16x384x64:1s1 "
                                             "out0_f32:5:strided:undef:1x2:1s1",
                                             "1.2");
    (void)state;
    struct conversion c = import_choosing(ll_import_ONEDNN, text, "steps", "1");
    assert_non_null(c.trace);
    assert_int_equal(c.trace->op_count, 4);
    assert_int_equal(c.trace->signatures[c.trace->ops[3].signature].view.kind, LL_OP_CAUSAL_ATTENTION);
    assert_true(complained(&c, "1 line of graphs passed over"));
    end_conversion(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_onednn_log_has_its_flops_and_times),
        cmocka_unit_test(onednn_logs_tell_what_recorded_calls_tell),
        cmocka_unit_test(sizes_that_a_onednn_log_does_not_tell_are_refused),
        cmocka_unit_test(onednn_logs_of_all_versions_are_read),
        cmocka_unit_test(a_repeated_log_is_steps_over_the_same_weights),
        cmocka_unit_test(unknown_primitives_are_refused_by_name_and_line),
        cmocka_unit_test(equal_layers_are_no_steps),
        cmocka_unit_test(shapes_of_a_product_are_checked),
        cmocka_unit_test(operations_behind_a_primitive_are_counted),
        cmocka_unit_test(primitives_of_version_3_have_their_work),
        cmocka_unit_test(what_a_line_does_not_tell_is_refused),
        cmocka_unit_test(what_a_partition_consists_of_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
