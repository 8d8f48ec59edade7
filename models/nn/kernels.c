/* SPDX-License-Identifier: Apache-2.0 */
/* Binds the op table's rows to their kernels. A NATIVE row without a kernel does not link. */
#define LL_ALL_OP_KINDS /* op_table.def is bound here */
#include "models/nn/kernel.h"

#include <assert.h>
#include <stddef.h>

#define LL_OP(word, name, op_class, shape, flops, bytes, storage, work, gradient, runs)                      \
    LL_DECLARE_##runs(word)
#define LL_DECLARE_NATIVE(word) ll_kernel ll_kernel_##word##_f32, ll_kernel_##word##_f64;
#define LL_DECLARE_TRACED(word)
#include "tracer/ir/op_table.def"
#undef LL_OP

static const struct {
    ll_kernel *f32, *f64;
} kernels[LL_OP_NONE] = {
#define LL_OP(word, name, op_class, shape, flops, bytes, storage, work, gradient, runs) LL_BIND_##runs(word)
#define LL_BIND_NATIVE(word) [LL_OP_##word] = {ll_kernel_##word##_f32, ll_kernel_##word##_f64},
#define LL_BIND_TRACED(word)
#include "tracer/ir/op_table.def"
#undef LL_OP
};

/* Kinds that need scratch memory; the others need none. */
static ll_workspace *const workspaces[LL_OP_NONE] = {
    [LL_OP_MATMUL] = ll_matmul_workspace,
    [LL_OP_CONV2D] = ll_conv_workspace,
    [LL_OP_CONV2D_DATA] = ll_conv_data_workspace,
    [LL_OP_CONV2D_FILTER] = ll_conv_filter_workspace,
    [LL_OP_SUM] = ll_reduce_workspace,
    [LL_OP_MEAN] = ll_reduce_workspace,
    [LL_OP_L2_LOSS] = ll_reduce_workspace,
    [LL_OP_BIAS_GRAD] = ll_reduce_workspace,
    [LL_OP_LRN] = ll_lrn_workspace,
    [LL_OP_LRN_GRAD] = ll_lrn_workspace,
    [LL_OP_BATCH_NORM] = ll_norm_workspace,
    [LL_OP_BATCH_NORM_GRAD] = ll_norm_workspace,
    [LL_OP_BATCH_NORM_FIXED] = ll_norm_workspace,
    [LL_OP_LAYER_NORM_GRAD] = ll_layer_norm_workspace,
    [LL_OP_RMS_NORM_GRAD] = ll_layer_norm_workspace,
    [LL_OP_GROUP_NORM_GRAD] = ll_group_norm_workspace,
    [LL_OP_BATCH_NORM_FIXED_GRAD] = ll_norm_workspace,
    [LL_OP_CTC_LOSS] = ll_ctc_workspace,
    [LL_OP_TOP_K] = ll_rank_workspace,
    [LL_OP_CAUSAL_ATTENTION] = ll_attention_workspace,
    [LL_OP_LATENT_ATTENTION] = ll_attention_workspace,
    [LL_OP_ROUTE] = ll_route_workspace,
    [LL_OP_STATE_SPACE_SCAN] = ll_scan_workspace,
    [LL_OP_STATE_SPACE_SCAN_GRAD] = ll_scan_workspace,
    [LL_OP_GATED_DELTA_RULE] = ll_scan_workspace,
    [LL_OP_GATED_DELTA_RULE_GRAD] = ll_scan_workspace,
    [LL_OP_CAUSAL_CONV_GRAD] = ll_causal_conv_workspace,
    [LL_OP_NMS] = ll_nms_workspace,
    [LL_OP_BOX_SAMPLE] = ll_box_sample_workspace,
    [LL_OP_LOG_UNIFORM_SAMPLE] = ll_sampler_workspace,
};

ll_kernel *ll_kernel_of(enum ll_op_kind kind, enum ll_dtype real_type)
{
    assert(kind < LL_OP_NONE && (real_type == LL_F32 || real_type == LL_F64));
    return real_type == LL_F32 ? kernels[kind].f32 : kernels[kind].f64;
}

uint64_t ll_kernel_workspace(const struct ll_op_view *op, unsigned threads)
{
    assert(op->kind < LL_OP_NONE);
    return workspaces[op->kind] ? workspaces[op->kind](op, threads) : 0;
}
