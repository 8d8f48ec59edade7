/* SPDX-License-Identifier: Apache-2.0 */
/* The input pipeline: data (models/data) as the input ops of a network.
 *
 * Each function adds one host_input op in the input phase, whatever phase the network is in, under the scope
 * of the input's name, and returns what it loads; memory that runs out is the network's trouble. Arguments
 * are copied; what they point to (a set of images, buckets, a context) outlives the network's last step.
 * Data comes before each step, outside of its time, in the runner's thread; in a dry run it does not come at
 * all. */
#ifndef LL_MODELS_FEED_H
#define LL_MODELS_FEED_H

#include "models/data/text.h"
#include "models/data/images.h"
#include "models/nn/nn.h"

/* Images[batch, height, width, channels] from -1 to 1, and their class numbers [batch], i32: step s brings
 * the samples from s * batch on, of both the same. */
struct ll_value *ll_feed_images(struct ll_nn *nn, uint64_t batch, const struct ll_images *images);
struct ll_value *ll_feed_labels(struct ll_nn *nn, uint64_t batch, const struct ll_images *images);

/* Batches of sentences of one bucket, as models/data/text.h lays them out: word numbers [steps, batch] of
 * the sentences and of their translations, i32, and which of the latter count, real, [steps, batch]. Those
 * are bucket.source, bucket.target + 1 and bucket.target steps. The batch's step is that of the network,
 * whatever the batch says. */
struct ll_value *ll_feed_source(struct ll_nn *nn, const struct ll_batch *batch);
struct ll_value *ll_feed_target(struct ll_nn *nn, const struct ll_batch *batch);
struct ll_value *ll_feed_target_weights(struct ll_nn *nn, const struct ll_batch *batch);

/* What `fill` writes before each step, all elements of this shape: floats, widened where the shape is
 * double: its type is f32 or f64, as ll_nn_shape gives it. Step 0 is the first; a step may come again. */
typedef void ll_fill_floats(void *context, uint64_t step, float *data);
struct ll_value *ll_feed_floats(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                ll_fill_floats *fill, void *context);

/* The same for numbers of words or classes, i32, whatever the shape's type. */
typedef void ll_fill_indices(void *context, uint64_t step, int32_t *data);
struct ll_value *ll_feed_indices(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                 ll_fill_indices *fill, void *context);

/* The same for bytes, u8, whatever the shape's type. */
typedef void ll_fill_bytes(void *context, uint64_t step, uint8_t *data);
struct ll_value *ll_feed_bytes(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                               ll_fill_bytes *fill, void *context);

#endif
