/* SPDX-License-Identifier: Apache-2.0 */
#include "models/feed.h"

#include <assert.h>
#include <string.h>

/* Where float data goes that is to become data of this shape: into its second half, if that is double. */
static float *narrow_of(const struct ll_shape *shape, void *data)
{
    assert(shape->dtype == LL_F32 || shape->dtype == LL_F64);
    return (float *)data + (shape->dtype == LL_F64 ? ll_elements(shape) : 0);
}

/* Makes doubles of the floats there, from the front: none is overwritten before it is read. */
static void widen(const struct ll_shape *shape, void *data)
{
    const float *narrow = narrow_of(shape, data);
    for (uint64_t i = 0; shape->dtype == LL_F64 && i < ll_elements(shape); i++) {
        double wide = (double)narrow[i];
        memcpy((double *)data + i, &wide, sizeof wide);
    }
}

static void fill_images(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    ll_image_pixels(feed->context, step * shape->dim[0], shape->dim[0], narrow_of(shape, data));
    widen(shape, data);
}

static void fill_labels(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    ll_image_labels(feed->context, step * shape->dim[0], shape->dim[0], data);
}

static struct ll_value *add_input(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                  struct ll_feed feed)
{
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_INPUT;
    ll_nn_push(nn, name);
    struct ll_value *value = ll_nn_do(
        nn, &(struct ll_nn_call){.kind = LL_OP_HOST_INPUT, .given_count = 1, .given = shape, .feed = feed});
    ll_nn_pop(nn);
    nn->phase = phase;
    return value;
}

/* The network's own copy of what a feed is told. */
static void *own(struct ll_nn *nn, const void *context, size_t size)
{
    void *copy = ll_copy(&nn->arena, context, size);
    if (!copy)
        ll_nn_fail(nn, "memory ran out");
    return copy;
}

struct ll_value *ll_feed_images(struct ll_nn *nn, uint64_t batch, const struct ll_images *images)
{
    assert(batch > 0 && images->channels > 0);
    struct ll_shape shape =
        ll_nn_shape(nn, 4, (uint64_t[]){batch, images->height, images->width, images->channels},
                    (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL, LL_ROLE_SPATIAL, LL_ROLE_CHANNEL});
    return add_input(nn, "images", &shape,
                     (struct ll_feed){.fill = fill_images, .context = own(nn, images, sizeof *images)});
}

struct ll_value *ll_feed_labels(struct ll_nn *nn, uint64_t batch, const struct ll_images *images)
{
    assert(batch > 0 && images->classes > 0);
    struct ll_shape shape = ll_nn_shape(nn, 1, &batch, (enum ll_role[]){LL_ROLE_BATCH});
    shape.dtype = LL_I32;
    return add_input(nn, "labels", &shape,
                     (struct ll_feed){.fill = fill_labels, .context = own(nn, images, sizeof *images)});
}

static struct ll_batch batch_of(const struct ll_feed *feed, uint64_t step)
{
    struct ll_batch batch = *(const struct ll_batch *)feed->context;
    batch.step = step;
    return batch;
}

static void fill_source(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)shape;
    struct ll_batch batch = batch_of(feed, step);
    ll_batch_source(&batch, data);
}

static void fill_target(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    (void)shape;
    struct ll_batch batch = batch_of(feed, step);
    ll_batch_target(&batch, data);
}

static void fill_weights(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    struct ll_batch batch = batch_of(feed, step);
    ll_batch_weights(&batch, narrow_of(shape, data));
    widen(shape, data);
}

static struct ll_value *add_batch(struct ll_nn *nn, const char *name, const struct ll_batch *batch,
                                  uint64_t steps, enum ll_dtype dtype,
                                  void (*fill)(const struct ll_feed *feed, uint64_t step,
                                               const struct ll_shape *shape, void *data))
{
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){steps, batch->size},
                                        (enum ll_role[]){LL_ROLE_SEQUENCE, LL_ROLE_BATCH});
    shape.dtype = (uint8_t)dtype;
    return add_input(nn, name, &shape,
                     (struct ll_feed){.fill = fill, .context = own(nn, batch, sizeof *batch)});
}

struct ll_value *ll_feed_source(struct ll_nn *nn, const struct ll_batch *batch)
{
    assert(batch->bucket < batch->buckets->count);
    uint64_t steps = batch->buckets->sizes[batch->bucket].source;
    return add_batch(nn, "source", batch, steps, LL_I32, fill_source);
}

struct ll_value *ll_feed_target(struct ll_nn *nn, const struct ll_batch *batch)
{
    assert(batch->bucket < batch->buckets->count);
    uint64_t steps = batch->buckets->sizes[batch->bucket].target + 1;
    return add_batch(nn, "target", batch, steps, LL_I32, fill_target);
}

struct ll_value *ll_feed_target_weights(struct ll_nn *nn, const struct ll_batch *batch)
{
    assert(batch->bucket < batch->buckets->count);
    uint64_t steps = batch->buckets->sizes[batch->bucket].target;
    return add_batch(nn, "target_weights", batch, steps, nn->real, fill_weights);
}

struct floats {
    ll_fill_floats *fill;
    void *context;
};

static void fill_floats(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    const struct floats *floats = feed->context;
    floats->fill(floats->context, step, narrow_of(shape, data));
    widen(shape, data);
}

struct ll_value *ll_feed_floats(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                ll_fill_floats *fill, void *context)
{
    struct floats *floats = own(nn, &(struct floats){fill, context}, sizeof *floats);
    return add_input(nn, name, shape, (struct ll_feed){.fill = fill_floats, .context = floats});
}

struct indices {
    ll_fill_indices *fill;
    void *context;
};

static void fill_indices(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    const struct indices *indices = feed->context;
    (void)shape;
    indices->fill(indices->context, step, data);
}

struct ll_value *ll_feed_indices(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                 ll_fill_indices *fill, void *context)
{
    struct indices *indices = ll_copy(&nn->arena, &(struct indices){fill, context}, sizeof *indices);
    struct ll_shape own = *shape;
    own.dtype = LL_I32;
    if (!indices)
        ll_nn_fail(nn, "memory ran out");
    return add_input(nn, name, &own, (struct ll_feed){.fill = fill_indices, .context = indices});
}

struct bytes {
    ll_fill_bytes *fill;
    void *context;
};

static void fill_bytes(const struct ll_feed *feed, uint64_t step, const struct ll_shape *shape, void *data)
{
    const struct bytes *bytes = feed->context;
    (void)shape;
    bytes->fill(bytes->context, step, data);
}

struct ll_value *ll_feed_bytes(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                               ll_fill_bytes *fill, void *context)
{
    struct bytes *bytes = own(nn, &(struct bytes){fill, context}, sizeof *bytes);
    struct ll_shape small = *shape;
    small.dtype = LL_U8;
    return add_input(nn, name, &small, (struct ll_feed){.fill = fill_bytes, .context = bytes});
}
