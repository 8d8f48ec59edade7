/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that a profile does not tell.
 *
 * PyTorch before 2.1 writes the shapes of tensors and nothing of other arguments: how far a convolution
 * strides, what a pool's windows are. What comes out of an operator is not written either, but it is read by
 * the next one, and its gradient by the operator's own way back. So the result of a convolution with images
 * [n, c, h, w] and filters [k, c / groups, ...] is the first tensor [n, k, ...] that another call takes and
 * that some stride and padding lead to:
 *
 *     out = (in + 2 padding - dilation (kernel - 1) - 1) / stride + 1, rounded down
 *
 * Whichever of these lead there, as many products are computed. The window of a pool is not known from
 * shapes: the smallest one that leaves nothing out is taken, and said. Numbers that change no count (the axis
 * of a softmax, a factor) stay as PyTorch has them when they are not given. */
#include "tracer/convert/torch_steps.h"

#include <string.h>

enum { LOOK_AHEAD = 64 /* calls, until somebody takes a result */, MOST_STRIDE = 64, MOST_DILATION = 32 };

ll_aten_rule ll_aten_CONVOLUTION, ll_aten_CONV_BACKWARD, ll_aten_BATCH_NORM, ll_aten_MAX_POOL,
    ll_aten_MAX_POOL_BACKWARD, ll_aten_AVERAGE_POOL, ll_aten_AVERAGE_BACKWARD, ll_aten_ADAPTIVE_POOL,
    ll_aten_RESIZE, ll_aten_LAYER_NORM, ll_aten_LAYER_BACKWARD, ll_aten_EMBEDDING, ll_aten_INDEX_SELECT,
    ll_aten_TOP_K, ll_aten_EMBEDDING_BACKWARD, ll_aten_REDUCE, ll_aten_JOIN;

static const char nobody_takes[] =
    "its numbers are not in the file (no \"Concrete Inputs\"), and no later call takes its result";
static const char not_told[] = "its numbers are not in the file (no \"Concrete Inputs\")";
static const char window_assumed[] = "windows of pools (the smallest that leave nothing out)";
static const char mode_assumed[] = "that batch normalization infers (nothing goes backwards)";
static const char gradient_assumed[] = "which gradients convolutions compute";
static const char rows_assumed[] = "that layer normalization is over the last dimension";

struct search {
    struct ll_import *import;
    const struct ll_torch_nodes *nodes;
    const struct ll_torch_leaf *leaves;
    uint64_t count, at;
    struct ll_torch_node *node;
};

static const struct ll_shape *shape_at(const struct ll_torch_node *node, uint32_t argument)
{
    const struct ll_torch_value *value = argument < node->input_count ? &node->inputs[argument] : NULL;
    bool there = value && value->kind == LL_TORCH_TENSORS && !value->list && !value->tensors->absent;
    return there ? &value->tensors->shape : NULL;
}

/* Writes numbers where an argument told none. */
static void tell(const struct search *s, uint32_t argument, bool list, const int64_t *numbers, uint32_t count)
{
    struct ll_torch_value *value = argument < s->node->input_count ? &s->node->inputs[argument] : NULL;
    if (!value || !value->untold)
        return;
    double *told = ll_alloc(&s->import->arena, count, sizeof *told);
    if (!told) {
        ll_import_no_memory(s->import);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        told[i] = (double)numbers[i];
    *value = (struct ll_torch_value){.kind = LL_TORCH_NUMBERS, .list = list, .count = count, .numbers = told};
}

static void tell_one(const struct search *s, uint32_t argument, int64_t number)
{
    tell(s, argument, false, &number, 1);
}

static bool is_untold(const struct search *s, uint32_t argument)
{
    return argument < s->node->input_count && s->node->inputs[argument].untold;
}

/* Whether a shape may be what came out of the call; the second is what the call takes. */
typedef bool may_be(const struct search *s, const struct ll_shape *taken);

/* Whether a node lies within the call. */
static bool lies_within(const struct search *s, uint64_t node)
{
    const uint64_t place = s->leaves[s->at].place;
    while (node != UINT64_MAX && node > place)
        node = s->nodes->at[node].parent;
    return node == place;
}

/* The shape of the result, where a later call of its thread takes it; NULL: none does. Within the call only
 * what changes its result tells: its helpers take its arguments. */
static const struct ll_shape *find_result(const struct search *s, may_be *fits)
{
    uint64_t looked = 0;
    for (uint64_t i = s->leaves[s->at].place + 1; i < s->nodes->count && looked < LOOK_AHEAD; i++) {
        const struct ll_torch_node *node = &s->nodes->at[i];
        size_t length = strlen(node->name);
        bool changes = length > 0 && node->name[length - 1] == '_';
        if (node->thread != s->node->thread || node->input_count == 0 || (!changes && lies_within(s, i)))
            continue;
        looked++;
        for (uint32_t a = 0; a < node->input_count; a++)
            for (uint32_t t = 0; node->inputs[a].kind == LL_TORCH_TENSORS && t < node->inputs[a].count; t++)
                if (!node->inputs[a].tensors[t].absent && fits(s, &node->inputs[a].tensors[t].shape))
                    return &node->inputs[a].tensors[t].shape;
    }
    return NULL;
}

static bool same_dims(const struct ll_shape *a, const struct ll_shape *b)
{
    return a && b && a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* --- Windows that slide --- */

struct slide {
    int64_t stride, pad, dilation;
};

/* Stride, padding and dilation that lead from so many places to so many, the least dilation first, then the
 * padding that keeps the size, none, and others up to half of the window. */
static bool solve(uint64_t in, uint64_t out, uint64_t kernel, struct slide *slide)
{
    if (in == 0 || out == 0 || kernel == 0 || in > LL_ATEN_MOST || out > LL_ATEN_MOST)
        return false;
    for (uint64_t dilation = 1; dilation <= MOST_DILATION; dilation++) {
        uint64_t reach = ll_add(ll_mul(dilation, kernel - 1), 1), half = reach / 2;
        for (uint64_t i = 0; i <= half + 1 && reach <= LL_ATEN_MOST; i++) {
            uint64_t pad = i == 0 ? (reach - 1) / 2 : i - 1, wide = in + 2 * pad;
            if (wide < reach)
                continue;
            uint64_t least = (wide - reach) / out + 1,
                     stride = out == 1 ? ll_max(1, ll_min(least, kernel)) : 0;
            for (uint64_t s = 1; out > 1 && stride == 0 && s <= MOST_STRIDE; s++)
                stride = (wide - reach) / s + 1 == out ? s : 0;
            if (stride == 0 || (wide - reach) / stride + 1 != out)
                continue;
            *slide = (struct slide){(int64_t)stride, (int64_t)pad, (int64_t)dilation};
            return true;
        }
        if (kernel == 1)
            break; /* dilation changes nothing */
    }
    return false;
}

/* The dimensions of images behind their channels, and of filters, as PyTorch has them. */
static uint32_t sides(const struct ll_shape *image)
{
    return image->rank > 2 ? image->rank - 2u : 0;
}

static bool solve_all(const struct ll_shape *image, const struct ll_shape *filter, const struct ll_shape *out,
                      struct slide slides[LL_MAX_RANK])
{
    for (uint32_t i = 0; i < sides(image); i++)
        if (!solve(image->dim[2 + i], out->dim[2 + i], filter->dim[2 + i], &slides[i]))
            return false;
    return true;
}

static bool is_of(const struct ll_shape *image, const struct ll_shape *filter, const struct ll_shape *out)
{
    struct slide slides[LL_MAX_RANK];
    return out->rank == image->rank && out->dim[0] == image->dim[0] && out->dim[1] == filter->dim[0] &&
           solve_all(image, filter, out, slides);
}

static bool is_convolved(const struct search *s, const struct ll_shape *taken)
{
    return is_of(shape_at(s->node, 0), shape_at(s->node, 1), taken);
}

/* The gradient of the result, which the way back of the same convolution takes: all that look like it must
 * agree. */
static const struct ll_shape *find_gradient(const struct search *s)
{
    ll_aten_rule *const back = ll_aten_CONV_BACKWARD;
    const struct ll_shape *found = NULL;
    for (uint64_t i = s->at + 1; i < s->count; i++) {
        const struct ll_torch_node *node = s->leaves[i].node;
        const struct ll_shape *dy = shape_at(node, 0);
        if (s->leaves[i].row->rule != back || !dy || !same_dims(shape_at(node, 1), shape_at(s->node, 0)) ||
            !same_dims(shape_at(node, 2), shape_at(s->node, 1)))
            continue;
        if (found && !same_dims(found, dy))
            return NULL;
        found = dy;
    }
    return found && is_convolved(s, found) ? found : NULL;
}

/* Whether somebody around the call, or called by it, is named after transposed convolutions. */
static bool is_transposed(const struct search *s)
{
    uint64_t place = s->leaves[s->at].place;
    for (uint64_t outer = place; outer != UINT64_MAX; outer = s->nodes->at[outer].parent)
        if (strstr(s->nodes->at[outer].name, "transpose"))
            return true;
    for (uint64_t i = place + 1; i < s->nodes->count && i <= place + LOOK_AHEAD; i++)
        if (strstr(s->nodes->at[i].name, "transpose") && lies_within(s, i))
            return true;
    return false;
}

/* What a transposed convolution makes of its image is what another convolution makes that image of. */
static bool grows(const struct ll_shape *image, const struct ll_shape *filter, const struct ll_shape *out,
                  struct slide slides[LL_MAX_RANK])
{
    bool right = out->rank == image->rank && out->dim[0] == image->dim[0] &&
                 image->dim[1] == filter->dim[0] && filter->dim[1] > 0 && out->dim[1] % filter->dim[1] == 0;
    for (uint32_t i = 0; right && i < sides(image); i++)
        right = solve(out->dim[2 + i], image->dim[2 + i], filter->dim[2 + i], &slides[i]);
    return right;
}

static bool is_grown(const struct search *s, const struct ll_shape *taken)
{
    struct slide slides[LL_MAX_RANK];
    const struct ll_shape *bias = shape_at(s->node, 2);
    return (!bias || (taken->rank > 1 && ll_elements(bias) == taken->dim[1])) &&
           grows(shape_at(s->node, 0), shape_at(s->node, 1), taken, slides);
}

/* Arguments from `first` on: stride, padding, dilation, transposed, output padding, groups. */
static const char *tell_convolution(const struct search *s, uint32_t first, const struct ll_shape *image,
                                    const struct ll_shape *filter, const struct ll_shape *out,
                                    bool transposed)
{
    struct slide slides[LL_MAX_RANK];
    int64_t strides[LL_MAX_RANK], pads[LL_MAX_RANK], dilations[LL_MAX_RANK], more[LL_MAX_RANK] = {0};
    const uint32_t count = sides(image);
    if (!out || !(transposed ? grows(image, filter, out, slides) : solve_all(image, filter, out, slides)))
        return nobody_takes;
    for (uint32_t i = 0; i < count; i++) {
        const struct slide *slide = &slides[i];
        int64_t reach = slide->dilation * ((int64_t)filter->dim[2 + i] - 1) + 1;
        strides[i] = slide->stride;
        pads[i] = slide->pad;
        dilations[i] = slide->dilation;
        if (transposed)
            more[i] = (int64_t)out->dim[2 + i] -
                      (((int64_t)image->dim[2 + i] - 1) * slide->stride - 2 * slide->pad + reach);
    }
    uint64_t parts = transposed ? out->dim[1] : image->dim[1];
    tell(s, first, true, strides, count);
    tell(s, first + 1, true, pads, count);
    tell(s, first + 2, true, dilations, count);
    tell_one(s, first + 3, transposed);
    tell(s, first + 4, true, more, count);
    tell_one(s, first + 5, (int64_t)(parts / filter->dim[1]));
    return NULL;
}

/* Images and filters that a convolution can have; the groups follow from their channels. */
static bool can_convolve(const struct ll_shape *image, const struct ll_shape *filter)
{
    return image && filter && image->rank == filter->rank && image->rank > 2 && filter->dim[1] > 0 &&
           image->dim[1] % filter->dim[1] == 0 && filter->dim[0] > 0 &&
           filter->dim[0] % ll_max(1, image->dim[1] / filter->dim[1]) == 0;
}

static const char *tell_conv(const struct search *s)
{
    const struct ll_shape *image = shape_at(s->node, 0), *filter = shape_at(s->node, 1);
    bool transposed = is_transposed(s);
    if (transposed && image && filter && image->rank == filter->rank && image->rank > 2)
        return tell_convolution(s, 3, image, filter, find_result(s, is_grown), true);
    if (transposed || !can_convolve(image, filter))
        return not_told;
    const struct ll_shape *out = find_result(s, is_convolved);
    return tell_convolution(s, 3, image, filter, out ? out : find_gradient(s), false);
}

/* Whether a later call of the step takes a gradient that looks like the image: then it was computed. */
static bool wants_image(const struct search *s, const struct ll_shape *image)
{
    for (uint64_t i = s->at + 1; i < s->count && s->leaves[i].phase == LL_PHASE_BACKWARD; i++)
        for (uint32_t a = 0; a < s->leaves[i].node->input_count; a++)
            if (same_dims(shape_at(s->leaves[i].node, a), image))
                return true;
    return false;
}

/* Whether the convolution that this is the way back of had a bias: the last one of this image and filter. */
static bool had_bias(const struct search *s)
{
    ll_aten_rule *const forward = ll_aten_CONVOLUTION;
    for (uint64_t i = s->at; i-- > 0;)
        if (s->leaves[i].row->rule == forward &&
            same_dims(shape_at(s->leaves[i].node, 0), shape_at(s->node, 1)) &&
            same_dims(shape_at(s->leaves[i].node, 1), shape_at(s->node, 2)))
            return shape_at(s->leaves[i].node, 2) != NULL;
    return false;
}

/* convolution_backward(dy, x, weight, bias sizes, stride, ..., groups, which gradients are wanted) */
static const char *tell_conv_back(const struct search *s, const char **assumed)
{
    const struct ll_shape *dy = shape_at(s->node, 0), *image = shape_at(s->node, 1),
                          *filter = shape_at(s->node, 2);
    if (!dy || !image || !filter || image->rank != filter->rank || image->rank < 3)
        return not_told;
    bool transposed = is_transposed(s) || !can_convolve(image, filter) || !is_of(image, filter, dy);
    if (is_untold(s, 10)) {
        const int64_t wanted[] = {wants_image(s, image), 1, had_bias(s)};
        tell(s, 10, true, wanted, 3);
        *assumed = gradient_assumed;
    }
    return tell_convolution(s, 4, image, filter, dy, transposed) ? not_told : NULL;
}

/* The smallest windows that leave nothing out, side by side or overlapping. */
static const char *tell_windows(const struct search *s, uint32_t first, const struct ll_shape *image,
                                const struct ll_shape *out, const char **assumed)
{
    int64_t kernel[2], stride[2], pad[2] = {0, 0}, one[2] = {1, 1};
    if (!image || !out || image->rank < 3 || out->rank != image->rank)
        return nobody_takes;
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t from = image->dim[image->rank - 2u + i], to = out->dim[image->rank - 2u + i];
        if (to == 0 || to > from || from > LL_ATEN_MOST)
            return nobody_takes;
        stride[i] = (int64_t)(to == 1 ? from : from % to == 0 ? from / to : (from - 1) / (to - 1));
        kernel[i] = (int64_t)from - ((int64_t)to - 1) * stride[i];
        stride[i] = kernel[i] < 1 ? 1 : stride[i];
        kernel[i] = (int64_t)from - ((int64_t)to - 1) * stride[i];
    }
    tell(s, first, true, kernel, 2);
    tell(s, first + 1, true, stride, 2);
    tell(s, first + 2, true, pad, 2);
    if (s->leaves[s->at].row->rule == ll_aten_MAX_POOL ||
        s->leaves[s->at].row->rule == ll_aten_MAX_POOL_BACKWARD)
        tell(s, first + 3, true, one, 2);
    *assumed = window_assumed;
    return NULL;
}

/* As many images and channels, not more places. */
static bool is_pooled(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *image = shape_at(s->node, 0);
    bool right = image && taken->rank == image->rank && taken->rank >= 3;
    for (uint32_t i = 0; right && i < taken->rank; i++)
        right = i + 2u < taken->rank ? taken->dim[i] == image->dim[i]
                                     : taken->dim[i] > 0 && taken->dim[i] <= image->dim[i];
    return right;
}

static bool is_resized(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *image = shape_at(s->node, 0);
    return image && taken->rank == 4 && image->rank == 4 && taken->dim[0] == image->dim[0] &&
           taken->dim[1] == image->dim[1] && !same_dims(taken, image);
}

static const char *tell_size(const struct search *s, may_be *fits)
{
    const struct ll_shape *out = find_result(s, fits);
    if (!out)
        return nobody_takes;
    const int64_t size[] = {(int64_t)ll_min(out->dim[out->rank - 2u], LL_ATEN_MOST),
                            (int64_t)ll_min(out->dim[out->rank - 1u], LL_ATEN_MOST)};
    tell(s, 1, true, size, 2);
    return NULL;
}

static bool is_backward(enum ll_op_kind kind)
{
    return kind == LL_OP_RESIZE_NEAREST_GRAD || kind == LL_OP_RESIZE_LINEAR_GRAD;
}

/* Backwards (dy, size of dy, size of x, ...): whoever goes on takes the gradient of x. */
static const char *tell_resized(const struct search *s)
{
    const struct ll_shape *out = find_result(s, is_resized);
    int64_t size[4];
    if (!out)
        return nobody_takes;
    for (uint32_t i = 0; i < 4; i++)
        size[i] = (int64_t)ll_min(out->dim[i], LL_ATEN_MOST);
    tell(s, 2, true, size, 4);
    return NULL;
}

/* --- Rows and sums --- */

/* What dimensions of x a shape lacks, or has as one, if it is x without them; 0: it is something else. */
static uint32_t reduced(const struct ll_shape *x, const struct ll_shape *taken)
{
    uint32_t marked = 0, at = 0;
    bool kept = taken->rank == x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (at < taken->rank && taken->dim[at] == x->dim[i]) {
            at++;
            continue;
        }
        if (kept && taken->dim[at] != 1)
            return 0;
        at += kept;
        marked |= 1u << i;
    }
    return at == taken->rank ? marked : 0;
}

static bool is_reduced(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *x = shape_at(s->node, 0);
    return x && reduced(x, taken) != 0;
}

/* sum(x) has two arguments, sum(x, dimensions, ...) more; norms name the power first. */
static const char *tell_dims(const struct search *s)
{
    uint32_t argument = s->leaves[s->at].row->kind == LL_OP_L2_LOSS ? 2 : 1, count = 0;
    const struct ll_shape *x = shape_at(s->node, 0);
    int64_t dims[LL_MAX_RANK];
    if (!x || x->rank < 2 || s->node->input_count <= argument + 1 || !is_untold(s, argument))
        return NULL;
    const struct ll_shape *out = find_result(s, is_reduced);
    if (!out)
        return nobody_takes;
    for (uint32_t marked = reduced(x, out), i = 0; i < x->rank; i++)
        if (marked >> i & 1)
            dims[count++] = i;
    tell(s, argument, true, dims, count);
    return NULL;
}

/* As many dimensions as the weight has. */
static const char *tell_rows(const struct search *s, uint32_t argument, uint32_t weight, const char **assumed)
{
    const struct ll_shape *x = shape_at(s->node, argument - 1), *w = shape_at(s->node, weight);
    int64_t dims[LL_MAX_RANK];
    uint32_t count = w && w->rank > 0 ? w->rank : 1;
    if (!x || x->rank < count)
        return not_told;
    for (uint32_t i = 0; i < count; i++)
        dims[i] = (int64_t)ll_min(x->dim[x->rank - count + i], LL_ATEN_MOST);
    tell(s, argument, true, dims, count);
    *assumed = w ? NULL : rows_assumed;
    return NULL;
}

/* The table that the same numbers were looked up in. */
static const char *tell_table(const struct search *s)
{
    ll_aten_rule *const forward = ll_aten_EMBEDDING;
    const struct ll_shape *dy = shape_at(s->node, 0), *numbers = shape_at(s->node, 1);
    for (uint64_t i = s->at; dy && dy->rank > 0 && i-- > 0;) {
        const struct ll_shape *table = shape_at(s->leaves[i].node, 0);
        if (s->leaves[i].row->rule != forward || !table || table->rank != 2 ||
            table->dim[1] != dy->dim[dy->rank - 1u] || !same_dims(shape_at(s->leaves[i].node, 1), numbers))
            continue;
        tell_one(s, 2, (int64_t)ll_min(table->dim[0], LL_ATEN_MOST));
        return NULL;
    }
    return not_told;
}

/* x with as many as the numbers in one place. */
static uint32_t selected_axis(const struct ll_shape *x, uint64_t numbers, const struct ll_shape *taken)
{
    uint32_t axis = x->rank;
    if (taken->rank != x->rank)
        return x->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        if (taken->dim[i] == x->dim[i])
            continue;
        if (axis < x->rank || taken->dim[i] != numbers)
            return x->rank;
        axis = i;
    }
    return axis;
}

static bool is_selected(const struct search *s, const struct ll_shape *taken)
{
    const struct ll_shape *x = shape_at(s->node, 0), *numbers = shape_at(s->node, 2);
    return x && numbers && selected_axis(x, ll_elements(numbers), taken) < x->rank;
}

static const char *tell_axis(const struct search *s)
{
    const struct ll_shape *x = shape_at(s->node, 0), *numbers = shape_at(s->node, 2);
    if (!x || !numbers || x->rank < 2)
        return NULL;
    const struct ll_shape *out = find_result(s, is_selected);
    if (!out)
        return nobody_takes;
    tell_one(s, 1, selected_axis(x, ll_elements(numbers), out));
    return NULL;
}

/* Tensors that are joined differ in one dimension alone; of equal ones as much is moved along any. */
static const char *tell_joint(const struct search *s)
{
    const struct ll_torch_value *list = s->node->input_count > 0 ? &s->node->inputs[0] : NULL;
    uint32_t axis = 0;
    for (uint32_t t = 1; list && list->kind == LL_TORCH_TENSORS && t < list->count; t++) {
        const struct ll_shape *first = &list->tensors[0].shape, *other = &list->tensors[t].shape;
        for (uint32_t i = 0; other->rank == first->rank && i < first->rank; i++)
            axis = first->dim[i] != other->dim[i] ? i : axis;
    }
    tell_one(s, 1, axis);
    return NULL;
}

const char *ll_torch_tell(struct ll_import *import, const struct ll_torch_nodes *nodes,
                          const struct ll_torch_leaf *leaves, uint64_t count, uint64_t at, bool training,
                          const char **assumed)
{
    const struct search s = {import, nodes, leaves, count, at, leaves[at].node};
    ll_aten_rule *const rule = leaves[at].row->rule;
    const struct ll_shape *x = shape_at(s.node, 0);
    *assumed = NULL;
    if (rule == ll_aten_CONVOLUTION)
        return is_untold(&s, 3) || is_untold(&s, 4) || is_untold(&s, 5) ? tell_conv(&s) : NULL;
    if (rule == ll_aten_CONV_BACKWARD)
        return is_untold(&s, 4) || is_untold(&s, 5) ? tell_conv_back(&s, assumed) : NULL;
    if (rule == ll_aten_MAX_POOL || rule == ll_aten_AVERAGE_POOL)
        return is_untold(&s, 1) ? tell_windows(&s, 1, x, find_result(&s, is_pooled), assumed) : NULL;
    if (rule == ll_aten_MAX_POOL_BACKWARD || rule == ll_aten_AVERAGE_BACKWARD)
        return is_untold(&s, 2) ? tell_windows(&s, 2, shape_at(s.node, 1), x, assumed) : NULL;
    if (rule == ll_aten_ADAPTIVE_POOL)
        return is_untold(&s, 1) ? tell_size(&s, is_pooled) : NULL;
    if (rule == ll_aten_RESIZE && is_untold(&s, 1))
        return is_backward(leaves[at].row->kind) ? tell_resized(&s) : tell_size(&s, is_resized);
    if (rule == ll_aten_BATCH_NORM && is_untold(&s, 5)) {
        tell_one(&s, 5, training);
        *assumed = training ? NULL : mode_assumed;
    }
    if (rule == ll_aten_LAYER_NORM)
        return is_untold(&s, 1) ? tell_rows(&s, 1, 2, assumed) : NULL;
    if (rule == ll_aten_LAYER_BACKWARD)
        return is_untold(&s, 2) ? tell_rows(&s, 2, 5, assumed) : NULL;
    if (rule == ll_aten_EMBEDDING_BACKWARD)
        return is_untold(&s, 2) ? tell_table(&s) : NULL;
    if (rule == ll_aten_INDEX_SELECT)
        return is_untold(&s, 1) ? tell_axis(&s) : NULL;
    if (rule == ll_aten_TOP_K)
        return is_untold(&s, 1) ? not_told : NULL;
    if (rule == ll_aten_REDUCE)
        return tell_dims(&s);
    return rule == ll_aten_JOIN && is_untold(&s, 1) ? tell_joint(&s) : NULL;
}
