/* SPDX-License-Identifier: Apache-2.0 */
/* What detectors do beside convolving. */
#include "models/micro/recipes.h"

static void do_with(struct ll_bench *bench, enum ll_op_kind kind, uint32_t count,
                    struct ll_value *const *inputs, uint32_t attr_count, const struct ll_attr *attrs)
{
    ll_nn_do(
        bench->nn,
        &(struct ll_nn_call){
            .kind = kind, .input_count = count, .inputs = inputs, .attr_count = attr_count, .attrs = attrs});
}

/* So many boxes of four numbers. */
static uint64_t boxes_of(uint64_t elements)
{
    return ll_max(2, elements / 4);
}

static struct ll_value *some_boxes(struct ll_bench *bench, uint64_t count)
{
    return ll_bench_noise(bench, "boxes", 3, (uint64_t[]){1, count, 4});
}

/* Images of 64 channels, twice as high and wide as before or half. */
void ll_recipe_enlarged(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t side = 2;
    while (side < 28 && 4 * (side + 2) * (side + 2) * 64 <= elements)
        side += 2;
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_KERNEL_H, 2),
                                    ll_attr_of_count(LL_ATTR_KERNEL_W, 2)};
    side = kind == LL_OP_UPSAMPLE_GRAD ? 2 * side : side;
    uint64_t batch = ll_max(1, elements / (4 * side * side * 64));
    struct ll_value *x = ll_bench_noise(bench, "image", 4, (uint64_t[]){batch, side, side, 64});
    do_with(bench, kind, 1, &x, 2, attrs);
}

/* Regions of 7 by 7 bins and 64 channels, from images of 14 by 14. */
void ll_recipe_regions(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    enum { SIZE = 7, SIDE = 14, CHANNELS = 64 };
    uint64_t count = ll_max(1, elements / (SIZE * SIZE * CHANNELS));
    uint64_t pooled[] = {count, SIZE, SIZE, CHANNELS};
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, SIZE), ll_attr_of_real(LL_ATTR_SCALE, 4)};
    struct ll_value *x = ll_bench_noise(bench, "image", 4, (uint64_t[]){1, SIDE, SIDE, CHANNELS});
    struct ll_value *forward[] = {x, some_boxes(bench, count)};
    if (kind == LL_OP_ROI_POOL) {
        do_with(bench, kind, 2, forward, 2, attrs);
        return;
    }
    struct ll_value *backward[] = {ll_bench_noise(bench, "pooled", 4, pooled),
                                   ll_bench_indices(bench, 4, pooled, SIDE * SIDE)};
    ll_nn_do(bench->nn,
             &(struct ll_nn_call){
                 .kind = kind, .input_count = 2, .inputs = backward, .given_count = 1, .given = &x->shape});
}

void ll_recipe_decoded(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t count = boxes_of(elements);
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_HEIGHT, 10),
                                    ll_attr_of_count(LL_ATTR_WIDTH, 10)};
    struct ll_value *inputs[] = {ll_bench_noise(bench, "anchors", 2, (uint64_t[]){count, 4}),
                                 some_boxes(bench, count)};
    do_with(bench, kind, 2, inputs, 2, attrs);
}

/* At most 128 are kept. */
void ll_recipe_suppressed(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, 128),
                                    ll_attr_of_real(LL_ATTR_OVERLAP, 0.7)};
    struct ll_value *boxes = some_boxes(bench, boxes_of(elements));
    do_with(bench, kind, 1, &boxes, 2, attrs);
}

/* Half of them, eight truths, two classes. */
void ll_recipe_boxes_sampled(struct ll_bench *bench, enum ll_op_kind kind, uint64_t elements)
{
    uint64_t count = boxes_of(elements);
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_SIZE, (int64_t)(count / 2)),
                                    ll_attr_of_count(LL_ATTR_CLASSES, 3)};
    struct ll_value *inputs[] = {some_boxes(bench, count),
                                 ll_bench_real(bench, "truth", 3, (uint64_t[]){1, 8, 5}),
                                 ll_bench_real(bench, "scalar", 0, NULL)};
    do_with(bench, kind, 3, inputs, 2, attrs);
}
