/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/validate/bench_results.h"
#include "sim/validate/row.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <string.h>

static const char header[] = "source,hardware,op,dtype,dims,time_s,notes\n";

/* What was asked for last; released at the end. */
static struct ll_measured_works held;

static const char *works_of(const char *op, const char *dtype, const char *dims)
{
    const struct ll_measured row = {.op = op, .dtype = dtype, .dims = dims, .time_s = 1};
    return ll_measured_works(&row, NULL, &held);
}

static struct ll_measured_works good_works(const char *op, const char *dtype, const char *dims)
{
    assert_null(works_of(op, dtype, dims));
    assert_false(held.failed);
    return held;
}

static int release(void **state)
{
    (void)state;
    ll_measured_works_release(&held);
    return 0;
}

static void expect_bytes(const struct ll_work *work, uint64_t a, uint64_t b, uint64_t c)
{
    assert_int_equal(work->a_bytes, a);
    assert_int_equal(work->b_bytes, b);
    assert_int_equal(work->c_bytes, c);
}

static void a_product_has_two_mnk_flops(void **state)
{
    (void)state;
    struct ll_measured_works works = good_works("gemm", "fp16_tc", "m=3;n=5;k=7");
    assert_int_equal(works.count, 1);
    assert_string_equal(works.family, "gemm");
    assert_int_equal(works.at[0].work.flops, 2 * 3 * 5 * 7);
    assert_int_equal(works.at[0].work.dtype, LL_F16);
    expect_bytes(&works.at[0].work, 2 * 21, 2 * 35, 2 * 15);
    works = good_works("bmm", "fp32", "b=4;m=3;n=5;k=7");
    assert_int_equal(works.at[0].work.flops, 4 * 2 * 3 * 5 * 7);
    expect_bytes(&works.at[0].work, 4 * 4 * 21, 4 * 4 * 35, 4 * 4 * 15);
}

/* nvfp4 has a scale of a byte for 16 elements; results have 16 bits. BLAS's int8 is no such layer. */
static void a_quantized_layer_stores_scales(void **state)
{
    (void)state;
    struct ll_measured_works works = good_works("gemm", "nvfp4", "m=32;n=64;k=128");
    assert_int_equal(works.at[0].work.linear, 1 + LL_LINEAR_NVFP4);
    assert_int_equal(works.at[0].work.dtype, LL_F4);
    expect_bytes(&works.at[0].work, 32 * 128 * 9 / 16, 64 * 128 * 9 / 16, 2 * 32 * 64);
    works = good_works("gemm", "int8_wo", "m=32;n=64;k=128");
    assert_int_equal(works.at[0].work.dtype, LL_BF16);
    expect_bytes(&works.at[0].work, 2 * 32 * 128, 64 * 128, 2 * 32 * 64);
    assert_int_equal(good_works("gemm", "int8", "m=3;n=5;k=7;ta=N;tb=T").at[0].work.linear, 0);
}

static void a_batch_of_one_product_is_a_batch(void **state)
{
    (void)state;
    assert_int_equal(good_works("bmm", "fp32", "b=1;m=3;n=5;k=7").at[0].kind, LL_OP_BATCH_MATMUL);
    assert_int_equal(good_works("bmm", "fp32", "b=2;m=3;n=5;k=7").at[0].kind, LL_OP_BATCH_MATMUL);
    assert_int_equal(good_works("gemm", "fp32", "m=3;n=5;k=7").at[0].kind, LL_OP_MATMUL);
}

static uint64_t lines_of(const char *op, const char *dims)
{
    return good_works(op, "fp32", dims).at[0].work.along_k;
}

/* The columns of BLAS are our rows: its m x n is n x m, its B comes first. What it does not transpose of B,
 * and what it transposes of A, runs along k. */
static void a_product_of_blas_lies_row_by_row(void **state)
{
    (void)state;
    struct ll_measured_works works = good_works("gemm", "fp32", "m=3;n=5;k=7;ta=N;tb=T");
    const struct ll_gemm *d = &works.at[0].work.gemm;
    assert_true(d->m == 5 && d->n == 3 && d->k == 7);
    expect_bytes(&works.at[0].work, 4 * 35, 4 * 21, 4 * 15);
    assert_int_equal(lines_of("gemm", "m=3;n=5;k=7;ta=N;tb=T"), 0);
    assert_int_equal(lines_of("gemm", "m=3;n=5;k=7;ta=N;tb=N"), LL_LINES_OF_A);
    assert_int_equal(lines_of("gemm", "m=3;n=5;k=7;ta=T;tb=T"), LL_LINES_OF_B);
    assert_int_equal(lines_of("gemm", "m=3;n=5;k=7"), LL_LINES_OF_A | LL_LINES_OF_B);
    assert_int_equal(lines_of("bmm", "b=2;m=3;n=5;k=7"), LL_LINES_OF_A);
}

/* (7 + 2 - 3) / 2 + 1 = 4 rows, (9 - 3) / 2 + 1 = 4 columns. */
static void a_convolution_knows_its_three_products(void **state)
{
    (void)state;
    const char *dims = "b=2;c=6;h=7;w=9;k=8;r=3;s=3;stride_h=2;stride_w=2;pad_h=1;pad_w=0;groups=2";
    uint64_t flops = 2 * (2 * 4 * 4) * 8 * (3 * 3 * 3), x = 2 * 6 * 7 * 9, w = 3 * 3 * 3 * 8,
             y = 2 * 8 * 4 * 4;
    struct ll_measured_works works = good_works("conv2d_fwd", "fp16_math32", dims);
    assert_int_equal(works.at[0].work.dtype, LL_F32);
    assert_int_equal(works.at[0].work.flops, flops);
    expect_bytes(&works.at[0].work, 2 * x, 2 * w, 2 * y);
    works = good_works("conv2d_bwd", "fp32", dims);
    assert_int_equal(works.count, 2);
    assert_int_equal(works.at[0].work.flops + works.at[1].work.flops, 2 * flops);
    expect_bytes(&works.at[0].work, 4 * y, 4 * w, 4 * x);
    expect_bytes(&works.at[1].work, 4 * x, 4 * y, 4 * w);
}

/* Four gates; with an input projection there is one more product over all steps. */
static void a_recurrent_layer_is_a_sequence_of_products(void **state)
{
    (void)state;
    struct ll_measured_works works =
        good_works("rnn_fwd", "fp32", "type=lstm;hidden=10;batch=3;steps=7;skip_input=1");
    assert_int_equal(works.count, 1);
    assert_int_equal(works.at[0].work.kind, LL_WORK_SEQUENCE);
    assert_int_equal(works.at[0].work.sequence.steps, 7);
    assert_int_equal(works.at[0].work.flops, 7 * 2 * 3 * 40 * 10);
    expect_bytes(&works.at[0].work, 4 * 7 * 30, 4 * 400, 4 * 7 * 3 * 40);
    works = good_works("rnn_fwd", "fp32", "type=gru;hidden=10;batch=3;steps=7");
    assert_int_equal(works.count, 2);
    assert_int_equal(works.at[1].work.flops, 2 * 21 * 30 * 10);
    works = good_works("rnn_bwd_weights", "fp32", "type=vanilla;hidden=10;batch=3;steps=7;skip_input=1");
    assert_int_equal(works.at[0].work.flops, 2 * 21 * 10 * 10);
}

/* Two layers of 10 in both directions over 6 numbers: the second reads 20. */
static void recurrent_layers_may_be_several_and_go_both_ways(void **state)
{
    (void)state;
    const char *dims = "type=lstm;hidden=10;batch=3;steps=7;input=6;layers=2;bidirectional=1";
    struct ll_measured_works works = good_works("rnn_fwd", "fp32", dims);
    uint64_t flops = 0;
    assert_int_equal(works.count, 8);
    for (uint64_t i = 0; i < works.count; i++)
        flops += works.at[i].work.flops;
    assert_int_equal(flops, 2 * 21 * 40 * (2 * (6 + 10) + 2 * (20 + 10)));
    works = good_works("rnn_bwd_weights", "fp32", dims);
    assert_int_equal(works.count, 4);
    assert_int_equal(works.at[0].work.flops, 2 * 21 * 40 * 16);
    assert_int_equal(works.at[3].work.flops, 2 * 21 * 40 * 30);
    assert_int_equal(
        good_works("rnn_fwd", "fp32", "type=gru;hidden=10;batch=3;steps=7;skip_input=1;layers=2").count, 3);
    assert_non_null(works_of("rnn_fwd", "fp32", "type=gru;hidden=10;batch=3;steps=7;layers=1001"));
}

/* Taps 2 apart reach 5: 9 - 5 + 1 = 5 rows; 9 - 3 + 1 = 7 columns. */
static void taps_may_lie_apart(void **state)
{
    (void)state;
    const char *dims = "b=1;c=1;h=9;w=9;k=1;r=3;s=3;dilation_h=2;dilation_w=1";
    struct ll_work work = good_works("conv2d_fwd", "fp32", dims).at[0].work;
    assert_int_equal(work.flops, 2 * 5 * 7 * 9);
    assert_int_equal(work.conv.dilation_h, 2);
    assert_non_null(works_of("conv2d_fwd", "fp32", "b=1;c=1;h=9;w=9;k=1;r=3;s=3;dilation_h=5"));
}

static void element_by_element_every_operand_passes_once(void **state)
{
    (void)state;
    struct ll_measured_works works = good_works("ew_pow_scalar", "fp32", "b=3;h=5;nin=1");
    assert_string_equal(works.family, "elementwise");
    expect_bytes(&works.at[0].work, 60, 0, 60);
    assert_int_equal(works.at[0].work.flops, 15);
    works = good_works("ew_add", "fp16", "shape=3x5;n=15;nin=2");
    expect_bytes(&works.at[0].work, 60, 0, 30);
    works = good_works("ew_add", "fp16", "b=3;h=5");
    expect_bytes(&works.at[0].work, 60, 0, 30);
    works = good_works("silu_mul", "fp16", "b=3;h=5");
    expect_bytes(&works.at[0].work, 60, 0, 30);
    works = good_works("relu_bwd", "fp16", "n=15;nin=1"); /* dy beside what the forward op has */
    expect_bytes(&works.at[0].work, 60, 0, 30);
    works = good_works("relu_bwd", "fp16", "n=15;nin=2");
    expect_bytes(&works.at[0].work, 90, 0, 30);
    works = good_works("layernorm", "fp32", "b=3;h=5");
    assert_string_equal(works.family, "norm");
    assert_int_equal(works.at[0].work.flops, 7 * 15);
    works = good_works("layernorm_bwd", "fp32", "b=3;h=5");
    assert_int_equal(works.at[0].work.vector.row, 5);
    expect_bytes(&works.at[0].work, 2 * 60, 0, 60);
    works = good_works("attention_fwd", "fp16", "b=2;heads=3;seq=5;dim=4;causal=1");
    assert_string_equal(works.family, "attention");
    assert_int_equal(works.at[0].work.flops, 2 * 2 * 2 * 3 * 5 * 3 * 4); /* a row sees 3 keys in the mean */
    expect_bytes(&works.at[0].work, 240, 480, 240);
    works = good_works("attention_bwd", "fp16", "b=2;heads=3;seq=5;dim=4");
    assert_int_equal(works.at[0].work.flops, 5 * 2 * 2 * 3 * 5 * 5 * 4);
    expect_bytes(&works.at[0].work, 3 * 240, 480, 3 * 240);
    works = good_works("maxpool_bwd", "fp32", "b=1;c=2;h=4;w=4;oh=2;ow=2;r=2;s=2");
    expect_bytes(&works.at[0].work, 4 * (32 + 2 * 8), 0, 4 * 32);
}

/* So that a machine file can tell what its kernels do well. */
static void each_op_is_run_by_kernels_of_its_own(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        enum ll_op_kind kind;
        uint64_t flops;
    } ops[] = {
        {"softmax", LL_OP_SOFTMAX, 5},
        {"layernorm", LL_OP_LAYER_NORM, 7},
        {"rmsnorm", LL_OP_RMS_NORM, 4},
        {"relu", LL_OP_RELU, 1},
        {"gelu", LL_OP_GELU, 10},
        {"tanh", LL_OP_TANH, 6},
        {"relu_bwd", LL_OP_RELU_GRAD, 1},
        {"ew_add_scalar", LL_OP_ADD, 1},
        {"ew_pow", LL_OP_POW, 1},
        {"ew_mul_add_scalar", LL_OP_MUL, 2},
        {"ew_mul_scalar", LL_OP_MUL, 1},
        {"ew_step", LL_OP_GREATER, 1},
        {"silu", LL_OP_SIGMOID, 5},
        {"elu", LL_OP_ELU, 4},
        {"exp", LL_OP_EXP, 1},
        {"gelu_bwd", LL_OP_GELU_GRAD, 16},
        {"tanh_bwd", LL_OP_TANH_GRAD, 3},
        {"softmax_bwd", LL_OP_SOFTMAX_GRAD, 4},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct ll_measured_works works = good_works(ops[i].op, "fp32", "b=3;h=4");
        assert_int_equal(works.count, 1);
        assert_int_equal(works.at[0].kind, ops[i].kind);
        assert_int_equal(works.at[0].work.flops, 12 * ops[i].flops);
    }
    assert_int_equal(good_works("silu_mul", "fp32", "b=3;h=4").at[0].kind, LL_OP_SILU_MUL);
    assert_int_equal(good_works("softmax", "fp32", "b=3;h=4").at[0].work.vector.row, 4);
    assert_int_equal(good_works("softmax", "fp32", "n=12;b=3;h=4").at[0].work.vector.row, 4);
}

/* Sixteen devices on two nodes are eight a node, however the row says it. */
static void exchanges_tell_who_takes_part(void **state)
{
    (void)state;
    struct ll_measured_works works = good_works("allreduce", "fp32", "bytes=4096;devices=16;nodes=2");
    assert_int_equal(works.at[0].collective, LL_COLLECTIVE_ALL_REDUCE);
    assert_int_equal(works.at[0].work.a_bytes, 4096);
    assert_int_equal(works.at[0].devices, 16);
    assert_int_equal(works.at[0].node_devices, 8);
    works = good_works("sendrecv", "fp32", "bytes=4096;devices=2;devices_per_node=1");
    assert_int_equal(works.at[0].collective, LL_COLLECTIVE_SEND_RECEIVE);
    assert_int_equal(works.at[0].node_devices, 1);
    static const struct {
        const char *op;
        enum ll_collective collective;
    } others[] = {{"allgather", LL_COLLECTIVE_ALL_GATHER},
                  {"reducescatter", LL_COLLECTIVE_REDUCE_SCATTER},
                  {"alltoall", LL_COLLECTIVE_ALL_TO_ALL},
                  {"broadcast", LL_COLLECTIVE_BROADCAST}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        works = good_works(others[i].op, "int8", "bytes=4096;devices=8;nodes=1");
        assert_int_equal(works.at[0].collective, others[i].collective);
        assert_int_equal(works.at[0].work.a_bytes, 4096);
        assert_string_equal(works.family, others[i].op);
    }
    assert_non_null(works_of("allreduce", "fp32", "bytes=4096;devices=16;nodes=3"));
    assert_non_null(works_of("allreduce", "fp32", "bytes=4096;devices=2;nodes=4"));
}

/* Of four queries the first sees one key and the last four, in a window of one before its own two at most:
 * 10 and 7 in all. */
static void served_attention_sees_what_its_mask_lets_through(void **state)
{
    (void)state;
    static const char shape[] = "b=2;q=4;kv=4;heads=6;kv_heads=2;d=64;causal=1;window=%s;kv_dtype=%s",
                      decode[] = "b=2;q=1;kv=100;heads=6;kv_heads=2;d=64;causal=1;window=9;kv_dtype=bfloat16";
    char dims[128];
    snprintf(dims, sizeof dims, shape, "0", "bfloat16");
    struct ll_measured_works works = good_works("attention", "bf16", dims);
    assert_string_equal(works.family, "attention_prefill");
    assert_int_equal(works.at[0].work.flops, 2 * 128 * (2 * 6) * 10);
    expect_bytes(&works.at[0].work, 2 * 2 * 4 * 6 * 64, 2 * 2 * 4 * 2 * 128, 2 * 2 * 4 * 6 * 64);
    snprintf(dims, sizeof dims, shape, "NaN", "fp8");
    assert_int_equal(good_works("attention", "bf16", dims).at[0].work.b_bytes, 2 * 4 * 2 * 128);
    snprintf(dims, sizeof dims, shape, "1", "bfloat16");
    assert_int_equal(good_works("attention", "bf16", dims).at[0].work.flops, 2 * 128 * (2 * 6) * 7);
    works = good_works("attention", "bf16", decode);
    assert_string_equal(works.family, "attention_decode");
    assert_int_equal(works.at[0].work.flops, 2 * 128 * (2 * 6) * 10);
    assert_int_equal(works.at[0].work.b_bytes, 2 * 2 * 10 * 2 * 128);
    works = good_works("mla_context", "bf16", "b=1;q=3;kv=3;heads=2;tp=64;kv_dtype=bfloat16");
    assert_int_equal(works.at[0].work.flops, 2 * (192 + 128) * (2 * 3) * 2);
    assert_int_equal(works.at[0].work.b_bytes, 2 * 3 * 576);
    assert_int_equal(
        good_works("mla_generation", "bf16", "b=1;q=1;kv=9;heads=2;tp=64;kv_dtype=fp8").at[0].work.b_bytes,
        9 * 576);
}

/* Twenty rows over four experts, two of them here, each cut in two. */
static void experts_are_those_of_one_device(void **state)
{
    (void)state;
    struct ll_measured_works works =
        good_works("moe", "bf16", "tokens=10;hidden=8;inter=6;topk=2;experts=4;tp=2;ep=2;dist=balanced");
    const struct ll_experts *e = &works.at[0].work.experts;
    assert_int_equal(e->rows, 10);
    assert_int_equal(e->touched, 2);
    assert_int_equal(e->tiles[0], 2);
    assert_int_equal(e->local_tokens, 5);
    assert_int_equal(works.at[0].work.flops, 2 * 3 * 10 * 8 * 3);
    expect_bytes(&works.at[0].work, 2 * 10 * 8, 2 * 3 * 2 * 8 * 3, 2 * 10 * 8);
    works = good_works("moe", "w4a8_mxfp4_mxfp8",
                       "tokens=10;hidden=64;inter=64;topk=2;experts=4;tp=1;ep=1;dist=power_law_1.2");
    assert_int_equal(works.at[0].work.dtype, LL_F8);
    assert_int_equal(works.at[0].work.experts.rows, 20);
}

/* One function because it is one table. */
static void what_is_no_work_says_why(void **state)
{
    (void)state;
    static const char cut[] =
        "no rule here cuts this model into pieces: tp, pp or cp, or dp beside devices, is above 1";
    static const char *const wrong[][4] = {
        {"fft", "fp32", "m=1;n=1;k=1", "no rule turns this op into work"},
        {"spmm", "fp32", "m=1;n=1;k=1", "sparse GEMMs are not simulated"},
        {"e2e_infer", "fp32", "model=x;batch=1", "the network is not among those that can be built"},
        {"e2e_train", "fp32", "model=vgg16;batch=4;devices=8",
         "the batch is smaller than the number of devices"},
        {"gemm", "fp4", "m=1;n=1;k=1", LL_UNKNOWN_ELEMENTS},
        {"gemm", "f99", "m=1;n=1;k=1", LL_UNKNOWN_ELEMENTS},
        {"gemm", "fp32", "m=1;n=1;k=1;transs_a=1",
         "a dimension stands there that its op, or its model, has not: see the row"},
        {"softmax", "fp32", "b=3;h=5;nin=7",
         "a dimension stands there that its op, or its model, has not: see the row"},
        {"silu_mul", "fp16", "b=3;h=5;nin=3",
         "a dimension stands there that its op, or its model, has not: see the row"},
        {"e2e_infer", "fp32", "model=vgg16;batch=4;hidden=64",
         "a dimension stands there that its op, or its model, has not: see the row"},
        {"e2e_train", "fp32", "model=vgg16;batch=4;layers=3;mode=train",
         "a dimension stands there that its op, or its model, has not: see the row"},
        {"e2e_train", "fp32", "model=paradnn_fc;batch=4;input=8;nodes=8;layers=2;output=8;image=9",
         "a dimension stands there that its op, or its model, has not: see the row"},
        {"gemm", "fp32", "m=1;n=1", "a dimension is missing or impossible"},
        {"gemm", "fp32", "m=1;n=0;k=1", "a dimension is missing or impossible"},
        {"gemm", "fp32", "m=1;n=-1;k=1", "a dimension is missing or impossible"},
        {"gemm", "fp32", "m=1x;n=1;k=1", "a dimension is missing or impossible"},
        {"gemm", "fp32", "m=1;n=1;k=1;ta=N;tb=X",
         "a dimension is neither N nor T (ta, tb), or neither 0 nor 1 (bias and the like)"},
        {"gemm", "fp32", "m=1;n=1;k=1;ta=N;tb=",
         "a dimension is neither N nor T (ta, tb), or neither 0 nor 1 (bias and the like)"},
        {"gemm", "fp32", "m=1;n=1;k=1;ta=n;tb=N",
         "a dimension is neither N nor T (ta, tb), or neither 0 nor 1 (bias and the like)"},
        {"gemm", "fp32", "m=1;n=1;k=1;bias=yes",
         "a dimension is neither N nor T (ta, tb), or neither 0 nor 1 (bias and the like)"},
        {"rnn_fwd", "fp32", "type=lstm;hidden=8;batch=1;steps=2;skip_input=7",
         "a dimension is neither N nor T (ta, tb), or neither 0 nor 1 (bias and the like)"},
        {"rnn_fwd", "fp32", "type=lstm;hidden=8;batch=1;steps=2;skip_input=1;input=4",
         "an input that no weights project is as wide as hidden"},
        {"e2e_infer", "fp32", "model=vgg16;batch=4;mode=train",
         "mode, recompute, seqpar, sharding, act_ckpt or fusion says what its op has not: see the row"},
        {"e2e_bwd", "fp32", "model=vgg16;batch=4;mode=",
         "mode, recompute, seqpar, sharding, act_ckpt or fusion says what its op has not: see the row"},
        {"e2e_infer", "fp32", "model=vgg16;batch=4;tp=2", cut},
        {"e2e_train", "fp32", "model=vgg16;batch=8;devices=2;dp=4", cut},
        {"e2e_infer", "fp32", "model=vgg16;batch=4;tp=0", "a dimension is missing or impossible"},
        {"e2e_infer", "fp32", "model=vgg16;batch=4;devices=0", "a dimension is missing or impossible"},
        {"relu", "fp32", "n=8;b=3;h=4", "n is not b times h"},
        {"softmax", "fp32", "n=8;b=3;h=4", "n is not b times h"},
        {"ew_add", "fp32", "n=8;nin=0", "a dimension is missing or impossible"},
        {"maxpool_fwd", "fp32", "b=1;c=1;h=8;w=8;oh=400;ow=4;r=2;s=2",
         "more comes out of the pooling than its windows find places for"},
        {"maxpool_fwd", "fp32", "b=1;c=1;h=8;w=8;oh=4;ow=8;r=2;s=2;stride_h=2;stride_w=2",
         "more comes out of the pooling than its windows find places for"},
        {"avgpool_bwd", "fp32", "b=1;c=1;h=8;w=8;oh=5;ow=4;r=2;s=2;stride_h=2;stride_w=2;pad_h=0;pad_w=0",
         "more comes out of the pooling than its windows find places for"},
        {"avgpool_fwd", "fp32", "b=1;c=1;h=8;w=8;oh=3;ow=4;r=2;s=2;stride_h=2;stride_w=2",
         "less comes out of the pooling than its windows find places for"},
        {"maxpool_fwd", "fp32", "b=1;c=1;h=8;w=8;oh=4;ow=4;r=2;s=2;stride_h=2;stride_w=0",
         "a dimension is missing or impossible"},
        {"gemm", "fp32", "m=99999999999999999999;n=1;k=1", "a dimension is missing or impossible"},
        {"gemm", "fp32", "m=1000000000000;n=1000000000000;k=1", "a size does not fit in 64 bits"},
        {"rnn_fwd", "fp32", "type=x;hidden=1;batch=1;steps=1",
         "the recurrent cell is neither vanilla, lstm nor gru"},
        {"conv2d_fwd", "fp32", "b=1;c=1;h=2;w=2;k=1;r=3;s=3", "the filter is larger than the padded image"},
        {"conv2d_fwd", "fp32", "b=1;c=3;h=2;w=2;k=1;r=1;s=1;groups=2",
         "the channels are no multiple of the groups"},
        {"conv2d_fwd", "fp32", "b=1;c=1;h=2;w=2;k=1;r=1;s=1;stride_h=0",
         "a dimension is missing or impossible"},
        {"attention", "bf16", "b=1;q=4;kv=3;heads=2;kv_heads=2;d=64;causal=1;window=0;kv_dtype=bfloat16",
         "heads are no multiple of kv_heads, or there are fewer keys than queries"},
        {"attention", "bf16", "b=1;q=4;kv=4;heads=3;kv_heads=2;d=64;causal=1;window=0;kv_dtype=bfloat16",
         "heads are no multiple of kv_heads, or there are fewer keys than queries"},
        {"attention", "bf16", "b=1;q=4;kv=4;heads=2;kv_heads=2;d=64;causal=1;window=0;kv_dtype=int4",
         "the cache's kv_dtype is neither bf16 nor fp8"},
        {"attention", "bf16", "b=1;q=4;kv=4;heads=2;kv_heads=2;d=64;causal=no;window=0;kv_dtype=bf16",
         "causal is neither 0 nor 1"},
        {"attention", "bf16", "b=1;q=4;kv=4;heads=2;kv_heads=2;d=64;causal=2;window=0;kv_dtype=bf16",
         "causal is neither 0 nor 1"},
        {"allreduce", "bf16", "bytes=4096;devices=8;nodes=3", "its devices are not evenly spread over nodes"},
        {"allreduce", "bf16", "bytes=4096;devices=8;nodes=2;devices_per_node=8",
         "its devices are not evenly spread over nodes"},
        {"mla_context", "bf16", "b=1;q=4;kv=3;heads=2;tp=64;kv_dtype=bfloat16",
         "there are fewer keys than queries"},
        {"moe", "bf16", "tokens=1;hidden=8;inter=6;topk=2;experts=4;tp=1;ep=1;dist=power_law_x",
         "dist, how tokens spread over experts, is neither balanced nor power_law_A"},
        {"moe", "bf16", "tokens=1;hidden=8;inter=6;topk=5;experts=4;tp=1;ep=1;dist=balanced",
         "fewer experts than devices or than a token has, or more than 4096"},
        {"moe", "fp5", "tokens=1;hidden=8;inter=6;topk=2;experts=4;tp=1;ep=1;dist=balanced",
         "no format of experts has the name of its dtype"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *why = works_of(wrong[i][0], wrong[i][1], wrong[i][2]);
        assert_non_null(why);
        assert_string_equal(why, wrong[i][3]);
    }
}

static void expect_complaint(const char *text, uint64_t line, uint64_t column, const char *message)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    size_t count;
    assert_null(ll_measured_read(text, strlen(text), "d.csv", &arena, &diags, &count));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, message);
    assert_int_equal(diags.kept[0].place.line, line);
    assert_int_equal(diags.kept[0].place.column, column);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static void rows_are_read_and_wrong_ones_have_a_place(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    size_t count;
    char text[512];
    snprintf(text, sizeof text, "%ss,NVIDIA T4,gemm,fp32,m=1;n=2,0.5,\"a, b\"\n", header);
    const struct ll_measured *rows = ll_measured_read(text, strlen(text), "d.csv", &arena, &diags, &count);
    assert_int_equal(count, 1);
    assert_string_equal(rows[0].hardware, "NVIDIA T4");
    assert_string_equal(rows[0].dims, "m=1;n=2");
    assert_string_equal(rows[0].notes, "a, b");
    assert_true(rows[0].time_s == 0.5);
    assert_int_equal(rows[0].line, 2);
    ll_arena_release(&arena);
    snprintf(text, sizeof text, "%ss,h,gemm,fp32,m=1,soon,n\n", header);
    expect_complaint(text, 2, 19, "`soon` is no time in seconds: expected a number above zero");
    snprintf(text, sizeof text, "%ss,h,gemm,fp32,m=1,-1,n\n", header);
    expect_complaint(text, 2, 19, "`-1` is no time in seconds: expected a number above zero");
    snprintf(text, sizeof text, "%ss,h,gemm,fp32,m=1,1 s,n\n", header);
    expect_complaint(text, 2, 19, "`1 s` is no time in seconds: expected a number above zero");
    snprintf(text, sizeof text, "%ss,h,gemm,fp32,m=1;n=2;mm=3;m=4,1,n\n", header);
    expect_complaint(text, 2, 15, "`m` stands twice in `m=1;n=2;mm=3;m=4`");
    snprintf(text, sizeof text, "%ss,h,gemm\n", header);
    expect_complaint(text, 2, 0, "expected 7 fields, not 3");
    expect_complaint("a,b\n", 1, 0, "expected the header source,hardware,op,dtype,dims,time_s,notes");
    expect_complaint("", 1, 0, "expected the header source,hardware,op,dtype,dims,time_s,notes");
    expect_complaint(header, 0, 0, "no row stands behind the header");
}

static void all_wrong_rows_are_found_at_once(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    size_t count;
    char text[512];
    snprintf(text, sizeof text,
             "%ss,h,gemm,fp32,m=1,-1,n\ns,h,gemm,fp32,m=1,1,n\ns,h\ns,h,gemm,fp32,m=1,fast,n\n", header);
    assert_null(ll_measured_read(text, strlen(text), "d.csv", &arena, &diags, &count));
    assert_int_equal(diags.count, 3);
    assert_int_equal(diags.kept[2].place.line, 5);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

static void rows_without_a_time_are_kept(void **state)
{
    (void)state;
    static const char *const none[] = {"0", "nan", "", "inf", "0.0"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        struct ll_arena arena = {0};
        struct ll_diags diags = {0};
        size_t count;
        char text[256];
        snprintf(text, sizeof text, "%ss,h,gemm,fp32,m=1;n=2,%s,n\ns,h,gemm,fp32,m=1;n=2,0.5,n\n", header,
                 none[i]);
        const struct ll_measured *rows =
            ll_measured_read(text, strlen(text), "d.csv", &arena, &diags, &count);
        assert_int_equal(count, 2);
        assert_true(rows[0].time_s == 0);
        assert_true(rows[1].time_s == 0.5);
        ll_arena_release(&arena);
    }
}

/* --- results of benchmarks --- */

static struct ll_arena bench_arena;

/* The results of a text; complaints in *diags. */
static struct ll_bench_results results_of(const char *text, struct ll_diags *diags)
{
    struct ll_bench_results results = {0};
    assert_true(ll_bench_is(text, strlen(text)));
    assert_true(ll_bench_read(text, strlen(text), "file", &bench_arena, diags, &results) ==
                (diags->count == 0));
    return results;
}

static int release_bench(void **state)
{
    (void)state;
    ll_arena_release(&bench_arena);
    return 0;
}

/* One test of 512 tokens that takes 0.25 s, in each way in which llama-bench writes it. */
static void a_test_of_llama_bench_is_the_same_in_all_forms(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "[{\"gpu_info\": \"G\", \"n_prompt\": 512, \"n_gen\": 0, \"avg_ns\": 250000000, \"avg_ts\": 2048.0}]",
        "{\"gpu_info\": \"G\", \"n_prompt\": 512, \"n_gen\": 0, \"avg_ns\": 250000000, \"avg_ts\": 2048}\n",
        "build_commit,gpu_info,n_prompt,n_gen,avg_ns,avg_ts\n\"a\",\"G\",\"512\",\"0\",\"250000000\",\"2048."
        "0\"\n",
        "INSERT INTO test (gpu_info, n_prompt, n_gen, avg_ns, avg_ts) VALUES ('G', '512', '0', '250000000', "
        "'2048');\n",
        "| model | test | t/s |\n| --- | ---: | ---: |\n| llama 7B Q4_0 | pp 512 | 2048.00 \u00b1 9.12 |\n",
        "| model | test | t/s |\n|---|---|---|\n| llama 7B Q4_0 | pp512 | 2048.00 \u00b1 9.12 |\n\nbuild: "
        "1\n"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct ll_diags diags = {0};
        const struct ll_bench_results results = results_of(forms[i], &diags);
        assert_int_equal(diags.count, 0);
        assert_int_equal(results.count, 1);
        const struct ll_bench_result *r = results.at;
        assert_int_equal(r->kind, LL_BENCH_LLAMA);
        assert_true(r->number[LL_BENCH_PROMPT_TOKENS] == 512 && r->number[LL_BENCH_NEW_TOKENS] == 0);
        assert_true(r->number[LL_BENCH_TEST_RATE] == 2048);
        assert_true(i > 3 || fabs(r->number[LL_BENCH_TEST_TIME] - 0.25) < 1e-12);
        assert_true(i > 3 ? strcmp(r->text[LL_BENCH_MODEL_TYPE], "llama 7B Q4_0") == 0
                          : strcmp(r->text[LL_BENCH_GPU], "G") == 0);
    }
}

static void a_test_may_read_and_make_tokens_behind_others(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    const struct ll_bench_results results =
        results_of("| model | test | t/s |\n| m | pp512+tg128 @ d4096 | 10 |\n| m | tg64 | 5 |\n", &diags);
    assert_int_equal(results.count, 2);
    assert_true(results.at[0].number[LL_BENCH_PROMPT_TOKENS] == 512);
    assert_true(results.at[0].number[LL_BENCH_NEW_TOKENS] == 128);
    assert_true(results.at[0].number[LL_BENCH_DEPTH] == 4096);
    assert_true(results.at[1].number[LL_BENCH_PROMPT_TOKENS] == 0);
    assert_true(results.at[1].number[LL_BENCH_NEW_TOKENS] == 64);
}

static void a_value_that_old_builds_do_not_name_is_passed_over(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    const struct ll_bench_results results = results_of(
        "build_commit,build_number,cuda,metal,n_prompt,n_gen,avg_ts\n\"a\",1,1,0,0,512,0,99\n", &diags);
    assert_int_equal(results.count, 1);
    assert_true(results.at[0].number[LL_BENCH_PROMPT_TOKENS] == 512);
    assert_true(results.at[0].number[LL_BENCH_TEST_RATE] == 99);
}

/* As a file and as printed: 4 requests of 10 tokens in and 5 out each. */
static void a_servers_result_has_its_load_and_times_in_seconds(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "{\"backend\": \"vllm\", \"request_rate\": \"inf\", \"max_concurrency\": 2, \"completed\": 4, "
        "\"total_input_tokens\": 40, \"total_output_tokens\": 20, \"mean_ttft_ms\": 50, \"p99_tpot_ms\": 8, "
        "\"input_lens\": [9, 11, 10, 10], \"generated_texts\": [\"a\"], \"request_goodput\": null}",
        "============ Serving Benchmark Result ============\nBackend:   vllm\nTraffic request rate:  inf\n"
        "Max request concurrency:  2\nSuccessful requests:   4\nTotal input tokens:  40\n"
        "Total generated tokens:  20\nMean TTFT (ms):   50.00\nP99 TPOT (ms):  8.00\n=====\n"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct ll_diags diags = {0};
        const struct ll_bench_results results = results_of(forms[i], &diags);
        assert_int_equal(results.count, 1);
        const struct ll_bench_result *r = results.at;
        assert_int_equal(r->kind, LL_BENCH_SERVER);
        assert_true(isinf(r->number[LL_BENCH_RATE]) && r->number[LL_BENCH_CONCURRENCY] == 2);
        assert_true(r->number[LL_BENCH_REQUESTS] == 4 && r->number[LL_BENCH_INPUT_TOTAL] == 40);
        assert_true(fabs(r->number[LL_BENCH_TTFT] - 0.05) < 1e-12);
        assert_true(fabs(r->number[LL_BENCH_TPOT_P99] - 0.008) < 1e-12);
        assert_true(isnan(r->number[LL_BENCH_TPOT]));
        assert_int_equal(r->input_count, i == 0 ? 4 : 0);
    }
}

static void both_logs_of_loadgen_say_the_same(void **state)
{
    (void)state;
    static const char *const forms[] = {
        "=====\nMLPerf Results Summary\n=====\nScenario : Server\nMode     : PerformanceOnly\n"
        "Completed samples per second    : 81.5\nCompleted tokens per second: 24450\nResult is : VALID\n"
        "Mean latency (ns)                : 2000000000\ntarget_qps : 83.5\n",
        ":::MLLOG {\"key\": \"effective_scenario\", \"value\": \"Server\", \"metadata\": {\"pid\": 1}}\n"
        ":::MLLOG {\"key\": \"effective_test_mode\", \"value\": \"PerformanceOnly\"}\n"
        ":::MLLOG {\"key\": \"result_completed_samples_per_sec\", \"value\": 81.5}\n"
        ":::MLLOG {\"key\": \"result_completed_tokens_per_second\", \"value\": 24450}\n"
        ":::MLLOG {\"key\": \"result_validity\", \"value\": \"VALID\"}\n"
        ":::MLLOG {\"key\": \"result_mean_latency_ns\", \"value\": 2000000000}\n"
        ":::MLLOG {\"key\": \"effective_target_qps\", \"value\": 83.5}\n"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct ll_diags diags = {0};
        const struct ll_bench_results results = results_of(forms[i], &diags);
        assert_int_equal(results.count, 1);
        const struct ll_bench_result *r = results.at;
        assert_int_equal(r->kind, LL_BENCH_LOADGEN);
        assert_string_equal(r->text[LL_BENCH_SCENARIO], "Server");
        assert_string_equal(r->text[LL_BENCH_VALIDITY], "VALID");
        assert_true(r->number[LL_BENCH_TOKENS_PER_S] == 24450 && r->number[LL_BENCH_TARGET_RATE] == 83.5);
        assert_true(r->number[LL_BENCH_LATENCY] == 2);
    }
}

static void what_no_run_has_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{\"total_output_tokens\": 20, \"completed\": 4}",                             /* nothing went in */
        "{\"total_output_tokens\": 20, \"total_input_tokens\": 4, \"completed\": 4}",  /* no times */
        "{\"total_output_tokens\": 20, \"total_input_tokens\": 4, \"completed\": -4}", /* fewer than none */
        "[{\"avg_ts\": 12}]",                                                          /* of what? */
        "| model | test | t/s |\n| m | xx512 | 10 |\n",                                /* an unknown test */
        "| model | test | t/s |\n| m | pp512 |\n",                                     /* a column lacks */
        "MLPerf Results Summary\nScenario : Server\n", /* nothing was measured */
        "|PP|TG|B|T_PP s|\n|1|1|1|2|\n",
        "[]  \"avg_ts\""};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ll_diags *diags = calloc(1, sizeof *diags);
        assert_non_null(diags);
        results_of(texts[i], diags);
        assert_int_equal(diags->count, 1);
        ll_diags_release(diags);
        free(diags);
    }
    assert_false(ll_bench_is(header, strlen(header)));
    assert_false(ll_bench_is("", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_test_of_llama_bench_is_the_same_in_all_forms, release_bench),
        cmocka_unit_test_teardown(a_test_may_read_and_make_tokens_behind_others, release_bench),
        cmocka_unit_test_teardown(a_value_that_old_builds_do_not_name_is_passed_over, release_bench),
        cmocka_unit_test_teardown(a_servers_result_has_its_load_and_times_in_seconds, release_bench),
        cmocka_unit_test_teardown(both_logs_of_loadgen_say_the_same, release_bench),
        cmocka_unit_test_teardown(what_no_run_has_is_refused, release_bench),
        cmocka_unit_test(a_product_has_two_mnk_flops),
        cmocka_unit_test(a_quantized_layer_stores_scales),
        cmocka_unit_test(a_batch_of_one_product_is_a_batch),
        cmocka_unit_test(a_product_of_blas_lies_row_by_row),
        cmocka_unit_test(a_convolution_knows_its_three_products),
        cmocka_unit_test(a_recurrent_layer_is_a_sequence_of_products),
        cmocka_unit_test(recurrent_layers_may_be_several_and_go_both_ways),
        cmocka_unit_test(taps_may_lie_apart),
        cmocka_unit_test(element_by_element_every_operand_passes_once),
        cmocka_unit_test(each_op_is_run_by_kernels_of_its_own),
        cmocka_unit_test(exchanges_tell_who_takes_part),
        cmocka_unit_test(served_attention_sees_what_its_mask_lets_through),
        cmocka_unit_test(experts_are_those_of_one_device),
        cmocka_unit_test(what_is_no_work_says_why),
        cmocka_unit_test(rows_are_read_and_wrong_ones_have_a_place),
        cmocka_unit_test(rows_without_a_time_are_kept),
        cmocka_unit_test(all_wrong_rows_are_found_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
