/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution cores: a pixel's channels are multiplied with some kernels at once, as in NVDLA's core (NVIDIA,
 * "NVDLA Hardware Architectural Specification", unit description, nvdla.org). An atomic operation is a dot
 * product of c channels with each of k kernels, and takes a cycle; a stripe is a row of pixels for which the
 * same k * c weights stay, since the next ones take as long to load:
 *
 *       cycles = groups * taps * ceil(C / c) * ceil(K / k) * max(pixels, least stripe) * (c k / multipliers)
 *
 * A layer of few channels leaves most of a dot product idle, so images are packed. By strides, the s_y s_x
 * pixels of a stride become channels of one pixel, and taps are those of a filter of stride 1:
 *
 *       C' = C s_y s_x,   taps = ceil(R / s_y) ceil(S / s_x),  or R S / (s_y s_x) where these need not be
 * whole
 *
 * By lines, a line of the filter becomes channels, and N = 4 or 2 lines together where they fit:
 *
 *       C' = N C S,   taps = ceil(R / N),     N C S <= c  and  N s_x C <= c
 *
 * Winograd's F(2 x 2, 3 x 3) multiplies 16 times for 4 outputs where a convolution does 36 times (Lavin and
 * Gray, CVPR 2016). In blocks, an atomic operation takes 4 x 4 inputs of c / 16 channels:
 *
 *       cycles = groups * ceil(P / 4) ceil(Q / 4) 4 * batch * ceil(C / (c / 16)) * ceil(K / k)
 *
 * Several units share kernels and pixels evenly. From the innermost memory the data of a pixel come for
 * each tap and each k kernels, weights once for each stripe. */
#include "sim/cost/conv_core.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

enum { WINOGRAD_TAPS = 9, WINOGRAD_POINTS = 16, WINOGRAD_OUTPUTS = 4, BLOCK_SIDE = 4 };

/* A layer as the core has it; of what is no forward convolution, its GEMM as a layer of 1 x 1 filters. */
struct layer {
    const struct ll_conv *conv;      /* NULL: a GEMM */
    double pixels;                   /* rows of the GEMM of a group */
    double channels, kernels;        /* of a group, packed */
    double taps;                     /* of a filter, packed; may be fractional */
    uint64_t lines;                  /* that are packed together; 0: none are */
    bool strides, winograd;          /* whether strides are packed; whether it is convolved by Winograd */
    double stored[LL_OPERAND_COUNT]; /* elements that memory has of an operand, over those of the work's */
};

static double up(double number, uint64_t to)
{
    return ceil(number / (double)to) * (double)to;
}

static double multipliers(const struct ll_conv_core *core)
{
    return core->multipliers ? (double)core->multipliers : (double)core->channels * (double)core->kernels;
}

/* Lines of a filter that are joined to channels of one pixel: as many as fit of 1, 2 and 4; 0: none fit. */
static uint64_t lines_together(const struct ll_conv_core *core, const struct ll_conv *conv)
{
    uint64_t channels = conv->in_c / conv->groups, line = ll_mul(channels, conv->kernel_w);
    if (core->packing != LL_PACKING_LINES || channels > core->image_channels || conv->groups > 1 ||
        conv->dilation_h > 1 || conv->dilation_w > 1)
        return 0;
    for (uint64_t lines = 4; lines > 1; lines /= 2)
        if (ll_mul(lines, line) <= core->channels &&
            ll_mul(lines, ll_mul(conv->stride_w, channels)) <= core->channels)
            return lines;
    return 1;
}

static void pack_lines(const struct ll_conv *conv, struct layer *layer)
{
    layer->channels *= (double)layer->lines * (double)conv->kernel_w;
    layer->taps = ceil((double)conv->kernel_h / (double)layer->lines);
}

static void pack_strides(const struct ll_conv_core *core, const struct ll_conv *conv, struct layer *layer)
{
    double high = (double)conv->kernel_h / (double)conv->stride_h,
           wide = (double)conv->kernel_w / (double)conv->stride_w;
    layer->channels *= (double)conv->stride_h * (double)conv->stride_w;
    layer->taps = core->whole_taps ? ceil(high) * ceil(wide) : high * wide;
}

/* Atomic operations of one group, for so many pixels and kernels. */
static double atoms_direct(const struct ll_conv_core *core, const struct layer *layer, double pixels,
                           double kernels)
{
    return layer->taps * ceil(layer->channels / (double)core->channels) *
           ceil(kernels / (double)core->kernels) * fmax(pixels, (double)core->least_stripe);
}

/* The same by Winograd: of whole blocks, or in proportion. */
static double atoms_winograd(const struct ll_conv_core *core, const struct layer *layer, double pixels,
                             double kernels)
{
    if (core->winograd == LL_CORE_WINOGRAD_EXACT)
        return atoms_direct(core, layer, pixels, kernels) * WINOGRAD_POINTS /
               (WINOGRAD_TAPS * WINOGRAD_OUTPUTS);
    const struct ll_conv *conv = layer->conv;
    double blocks = (double)(ll_ceil_div(conv->out_h, BLOCK_SIDE) * ll_ceil_div(conv->out_w, BLOCK_SIDE)),
           share = pixels / ((double)conv->out_h * (double)conv->out_w);
    double each = (double)core->channels / WINOGRAD_POINTS;
    return ceil(blocks * share) * BLOCK_SIDE * ceil(layer->channels / each) *
           ceil(kernels / (double)core->kernels);
}

static bool may_winograd(const struct ll_conv_core *core, const struct ll_conv *conv)
{
    return core->winograd != LL_CORE_WINOGRAD_NONE && conv->kernel_h == 3 && conv->kernel_w == 3 &&
           conv->stride_h == 1 && conv->stride_w == 1 && conv->dilation_h <= 1 && conv->dilation_w <= 1;
}

/* What memory has of an operand's channels, over what the work has. */
static double stored_channels(const struct ll_conv_core *core, double channels)
{
    return up(channels, core->memory_channels) / channels;
}

static void store_gemm(const struct ll_conv_core *core, struct layer *layer)
{
    double along_k = stored_channels(core, layer->channels);
    layer->stored[LL_OPERAND_A] = layer->stored[LL_OPERAND_B] = along_k;
    layer->stored[LL_OPERAND_C] = stored_channels(core, layer->kernels);
}

static void store_conv(const struct ll_conv_core *core, struct layer *layer)
{
    const struct ll_conv *conv = layer->conv;
    double channels = (double)conv->in_c / (double)conv->groups;
    double padded = stored_channels(core, channels);
    layer->stored[LL_OPERAND_A] = layer->stored[LL_OPERAND_B] = layer->lines > 0 ? 1 : padded;
    if (layer->strides) {
        double folded = up(layer->channels, core->memory_channels) / channels;
        double high = (double)ll_ceil_div(conv->in_h, conv->stride_h) / (double)conv->in_h,
               wide = (double)ll_ceil_div(conv->in_w, conv->stride_w) / (double)conv->in_w;
        double taps = (double)ll_ceil_div(conv->kernel_h, conv->stride_h) *
                      (double)ll_ceil_div(conv->kernel_w, conv->stride_w);
        /* Pixels between windows come along, which the work leaves out. */
        layer->stored[LL_OPERAND_A] = folded * high * wide / ll_share_in_windows(conv);
        layer->stored[LL_OPERAND_B] = folded * taps / ((double)conv->kernel_h * (double)conv->kernel_w);
    }
    if (layer->winograd)
        layer->stored[LL_OPERAND_B] *= (double)WINOGRAD_POINTS / WINOGRAD_TAPS;
    layer->stored[LL_OPERAND_C] = stored_channels(core, layer->kernels);
}

static struct layer layer_of(const struct ll_conv_core *core, const struct ll_task *task)
{
    const struct ll_work *work = task->work;
    const struct ll_gemm *d = &task->problem.dims;
    struct layer layer = {
        .pixels = (double)d->m, .channels = (double)d->k, .kernels = (double)d->n, .taps = 1};
    if (work->kind != LL_WORK_CONV || work->conv.pass != LL_CONV_FORWARD) {
        store_gemm(core, &layer);
        return layer;
    }
    const struct ll_conv *conv = layer.conv = &work->conv;
    layer.channels = (double)(conv->in_c / conv->groups);
    layer.taps = (double)conv->kernel_h * (double)conv->kernel_w;
    layer.lines = lines_together(core, conv);
    layer.strides = core->packing == LL_PACKING_STRIDE && (conv->stride_h > 1 || conv->stride_w > 1);
    if (layer.lines > 0)
        pack_lines(conv, &layer);
    else if (layer.strides)
        pack_strides(core, conv, &layer);
    layer.winograd = layer.lines == 0 && may_winograd(core, conv) &&
                     atoms_winograd(core, &layer, layer.pixels, layer.kernels) <
                         atoms_direct(core, &layer, layer.pixels, layer.kernels);
    store_conv(core, &layer);
    return layer;
}

/* --- operands in memory --- */

/* Each image is a GEMM of its own, with weights that come for it. */
static void part_images(const struct ll_conv *conv, struct ll_task *task)
{
    struct ll_gemm *d = &task->problem.dims;
    assert(d->m % conv->batch == 0);
    d->m /= conv->batch;
    d->batch *= conv->batch;
    task->unit_pass[LL_OPERAND_B] *= (double)conv->batch;
}

void ll_conv_core_pack(const struct ll_unit *unit, struct ll_task *task)
{
    if (unit->model != LL_UNIT_CONV_CORE || !task->is_gemm)
        return;
    const struct ll_conv_core *core = &unit->conv_core;
    const struct layer layer = layer_of(core, task);
    for (enum ll_operand i = 0; i < LL_OPERAND_COUNT; i++) {
        task->problem.element[i] *= layer.stored[i];
        task->unit_pass[i] *= layer.stored[i];
    }
    if (core->image_by_image && layer.conv)
        part_images(layer.conv, task);
}

/* --- ways --- */

static uint32_t way_count(const struct ll_unit *unit, const struct ll_task *task)
{
    return ll_counts_at_work(unit, task);
}

/* The part of one instance, and its cycles. */
struct plan {
    struct layer layer;
    uint64_t count;
    struct ll_split split;
    double atoms, cycles;
    double stripes; /* for which weights come, of a part's pixels */
};

static struct plan plan_of(const struct ll_unit *unit, const struct ll_task *task, uint32_t index)
{
    const struct ll_conv_core *core = &unit->conv_core;
    struct plan plan = {.layer = layer_of(core, task), .count = ll_count_at_work(unit, task, index)};
    plan.split = ll_split_evenly(&task->problem.dims, plan.count);
    const struct ll_gemm *share = &plan.split.share;
    double pixels = (double)share->m, kernels = (double)share->n;
    double each = plan.layer.winograd ? atoms_winograd(core, &plan.layer, pixels, kernels)
                                      : atoms_direct(core, &plan.layer, pixels, kernels);
    plan.atoms = (double)share->batch * each;
    plan.stripes = core->stripe > 0 ? ceil(pixels / (double)core->stripe) : 1;
    double atom = (double)core->channels * (double)core->kernels;
    plan.cycles = plan.atoms * atom / (multipliers(core) * core->macs[task->dtype]) + core->fill_cycles;
    return plan;
}

static bool core_way(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                     struct ll_kernel_config *way)
{
    const struct ll_conv_core *core = &unit->conv_core;
    const struct plan plan = plan_of(unit, task, index);
    double made = plan.layer.winograd ? (double)WINOGRAD_POINTS / (WINOGRAD_TAPS * WINOGRAD_OUTPUTS) : 1;
    *way = (struct ll_kernel_config){
        .units_used = plan.count,
        .at_work = (double)plan.count,
        .cycles = plan.cycles,
        .any_tile = true,
        .share = plan.split.share,
        .shares = (double)plan.split.used,
        .macs = ll_gemm_macs(&task->problem.dims) * made,
        .made = made,
    };
    double passes[LL_OPERAND_COUNT] = {ceil((double)plan.split.share.n / (double)core->kernels), plan.stripes,
                                       1};
    way->unit_bytes = ll_unit_bytes(task, &plan.split.share, way->shares, passes, way->asked_bytes);
    return true;
}

/* An atomic operation. */
static void core_first(const struct ll_unit *unit, const struct ll_task *task, struct ll_first_piece *first)
{
    const struct ll_conv_core *core = &unit->conv_core;
    const double *element = task->problem.element;
    const struct ll_gemm *d = &task->problem.dims;
    double channels = fmin((double)core->channels, (double)d->k),
           kernels = fmin((double)core->kernels, (double)d->n);
    first->cycles = 1 + core->fill_cycles;
    first->bytes[LL_OPERAND_A] = channels * element[LL_OPERAND_A];
    first->bytes[LL_OPERAND_B] = channels * kernels * element[LL_OPERAND_B];
    first->bytes[LL_OPERAND_C] = kernels * element[LL_OPERAND_C];
}

/* --- explain --- */

static void explain_layer(const struct ll_conv_core *core, const struct layer *layer, struct ll_explain *why)
{
    const struct ll_conv *conv = layer->conv;
    if (layer->lines > 0) {
        ll_say(why, "channels, of so many lines of a filter: %" PRIu64 " * %" PRIu64 " * %" PRIu64 " = %.10g",
               layer->lines, conv->in_c, conv->kernel_w, layer->channels);
        ll_say(why, "taps: ceil(%" PRIu64 " / %" PRIu64 ") = %.10g", conv->kernel_h, layer->lines,
               layer->taps);
    }
    if (layer->strides)
        ll_say(why, "channels, of all pixels of a stride: %" PRIu64 " * %" PRIu64 " * %" PRIu64 " = %.10g",
               conv->in_c / conv->groups, conv->stride_h, conv->stride_w, layer->channels);
    if (core->image_by_image && conv && conv->batch > 1)
        ll_say(why, "%" PRIu64 " images, one after the other, each with weights that come for it",
               conv->batch);
}

static void explain_atoms(const struct ll_conv_core *core, const struct plan *plan, struct ll_explain *why)
{
    const struct layer *layer = &plan->layer;
    const struct ll_gemm *share = &plan->split.share;
    if (layer->winograd && core->winograd == LL_CORE_WINOGRAD_BLOCKS)
        ll_say(why,
               "atomic operations, by Winograd in blocks of 4 x 4 outputs: %" PRIu64 " * ceil(ceil(%" PRIu64
               " / 4) * ceil(%" PRIu64 " / 4) * %" PRIu64 " / (%" PRIu64 " * %" PRIu64
               ")) * 4 * ceil(%.10g * 16 / %" PRIu64 ") * ceil(%" PRIu64 " / %" PRIu64 ") = %.10g",
               share->batch, layer->conv->out_h, layer->conv->out_w, share->m, layer->conv->out_h,
               layer->conv->out_w, layer->channels, core->channels, share->n, core->kernels, plan->atoms);
    else
        ll_say(why,
               "atomic operations: %" PRIu64 " * %.10g * ceil(%.10g / %" PRIu64 ") * ceil(%" PRIu64
               " / %" PRIu64 ") * max(%" PRIu64 ", %" PRIu64 ")%s = %.10g",
               share->batch, layer->taps, layer->channels, core->channels, share->n, core->kernels, share->m,
               core->least_stripe, layer->winograd ? " * 16 / 36" : "", plan->atoms);
}

static void core_explain(const struct ll_unit *unit, const struct ll_task *task, uint32_t index,
                         const struct ll_kernel_config *way, struct ll_explain *why)
{
    const struct ll_conv_core *core = &unit->conv_core;
    const struct plan plan = plan_of(unit, task, index);
    ll_say(why, "%s, %" PRIu64 " channels times %" PRIu64 " kernels at once", unit->name, core->channels,
           core->kernels);
    explain_layer(core, &plan.layer, why);
    explain_atoms(core, &plan, why);
    ll_say(why, "cycles: %.10g * %" PRIu64 " * %" PRIu64 " / (%.10g * %.10g) + %.10g = %.10g cycles",
           plan.atoms, core->channels, core->kernels, multipliers(core), core->macs[task->dtype],
           core->fill_cycles, way->cycles);
    ll_say(why, "memory has of a, b and c so many times as many elements: %.10g, %.10g, %.10g",
           plan.layer.stored[LL_OPERAND_A], plan.layer.stored[LL_OPERAND_B], plan.layer.stored[LL_OPERAND_C]);
}

const struct ll_unit_model ll_cost_CONV_CORE = {
    .products = true,
    .way_count = way_count,
    .way = core_way,
    .first = core_first,
    .explain = core_explain,
};
