/* SPDX-License-Identifier: Apache-2.0 */
/* The convolutions and products of a trace's first complete step as a topology of SCALE-Sim: convolutions, of
 * which products are a kind, so that one file has all of them. SCALE-Sim knows neither batches nor padding.
 * An image alone is a layer as it is, its padding part of it; several images, and the gradients of a
 * convolution, are the product that computes them. Where a product stands for several, as in the steps of a
 * recurrent layer, or a convolution has groups, there is a row for each; a depthwise convolution is one row
 * whose name has DP. */
#include "tracer/convert/convert.h"
#include "tracer/convert/scalesim.h"
#include "tracer/ir/ops.h"
#include "tracer/ir/profile.h"

#include <ctype.h>
#include <inttypes.h>

/* Names hold no commas, and DP only where it means depthwise. */
static void add_name(struct ll_str *out, const struct ll_trace *trace, uint32_t op, bool depthwise)
{
    const struct ll_form *form = &trace->forms[trace->ops[op].form];
    ll_str_addf(out, "%s%" PRIu32 "_", depthwise ? "DP" : "op", op);
    for (const char *at = trace->strings[form->scope]; *at; at++) {
        char plain = isalnum((unsigned char)*at) ? *at : '_';
        ll_str_add_bytes(out, plain == 'P' ? "p" : &plain, 1);
    }
    ll_str_addf(out, "_%s, ", trace->strings[form->kind_name]);
}

static void add_row(struct ll_str *out, const uint64_t numbers[8])
{
    for (int i = 0; i < 8; i++)
        ll_str_addf(out, "%" PRIu64 ", ", numbers[i]);
    ll_str_add(out, "\n");
}

/* An image of m x k under n filters of 1 x k, once for each of the batch. */
static bool add_product(struct ll_export *export, uint32_t op, const struct ll_gemm *gemm)
{
    const uint64_t numbers[] = {gemm->m, gemm->k, 1, gemm->k, 1, gemm->n, 1, 1};
    bool goes_on = true;
    for (uint64_t i = 0; goes_on && i < gemm->batch; i++) {
        add_name(&export->out, export->trace, op, false);
        add_row(&export->out, numbers);
        goes_on = ll_export_spill(export);
    }
    return goes_on;
}

/* The side that SCALE-Sim makes as many windows of: the image's own, or, with its padding, or without what no
 * window reaches, that which they cover. */
static uint64_t side(uint64_t in, uint64_t kernel, uint64_t stride, uint64_t out)
{
    bool same = in >= kernel && ll_scalesim_windows(in, kernel, stride) == out;
    return same ? in : ll_add(ll_mul(out - 1, stride), kernel);
}

static bool add_conv(struct ll_export *export, uint32_t op, const struct ll_conv *conv)
{
    bool depthwise = conv->groups > 1 && conv->groups == conv->in_c;
    if (conv->pass != LL_CONV_FORWARD || conv->batch != 1 || (conv->groups > 1 && !depthwise)) {
        const struct ll_gemm gemm = ll_conv_as_gemm(conv);
        return add_product(export, op, &gemm);
    }
    const uint64_t numbers[] = {side(conv->in_h, conv->kernel_h, conv->stride_h, conv->out_h),
                                side(conv->in_w, conv->kernel_w, conv->stride_w, conv->out_w),
                                conv->kernel_h,
                                conv->kernel_w,
                                conv->in_c,
                                conv->out_c / conv->groups,
                                conv->stride_h,
                                conv->stride_w};
    add_name(&export->out, export->trace, op, depthwise);
    add_row(&export->out, numbers);
    return ll_export_spill(export);
}

static bool add_layer(struct ll_export *export, uint32_t op, const struct ll_work *work)
{
    struct ll_gemm gemm = work->gemm;
    if (work->kind == LL_WORK_CONV)
        return add_conv(export, op, &work->conv);
    if (work->kind == LL_WORK_SEQUENCE) {
        gemm = work->sequence.step;
        gemm.batch = ll_mul(gemm.batch, work->sequence.steps);
    }
    return add_product(export, op, &gemm);
}

/* Whether the op multiplies matrices, and its work. */
static bool is_layer(const struct ll_trace *trace, uint32_t op, struct ll_work *work)
{
    const struct ll_op_view *view = &trace->forms[trace->ops[op].form].view;
    return view->kind != LL_OP_COUNT && ll_op_lower(view, work) && work->flops > 0 && ll_is_product(work);
}

bool ll_export_SCALESIM(struct ll_export *export)
{
    const struct ll_trace *trace = export->trace;
    bool goes_on = ll_export_ready(export);
    const struct ll_step step = ll_trace_typical_step(trace);
    uint32_t first = step.first_op,
             end = trace->step_count ? first + step.op_count : (uint32_t)trace->op_count;
    ll_str_add(&export->out, "Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, "
                             "Num Filter, Stride Height, Stride Width,\n");
    bool any = false;
    struct ll_work work;
    for (uint32_t op = first; goes_on && op < end; op++)
        if (is_layer(trace, op, &work)) {
            any = true;
            goes_on = add_layer(export, op, &work);
        }
    if (goes_on && !any)
        return ll_complain(export->diags, (struct ll_place){0},
                           "a topology has products and convolutions alone, and a step has neither");
    return goes_on;
}
