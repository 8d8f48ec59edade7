/* SPDX-License-Identifier: Apache-2.0 */
/* Data (models/data) as the input ops of a network. */
#ifndef LL_MODELS_FEED_H
#define LL_MODELS_FEED_H

#include "models/data/buckets.h"
#include "models/data/images.h"
#include "models/nn/nn.h"

/* Images[batch, height, width, channels] from -1 to 1, and their class numbers [batch]; every step brings new
 * ones. A set that they are drawn from outlives the network's last step. */
struct ll_value *ll_feed_images(struct ll_nn *nn, uint64_t batch, const struct ll_images *images);
struct ll_value *ll_feed_labels(struct ll_nn *nn, uint64_t batch, const struct ll_images *images);

/* Batches of sentences of one bucket, as models/data/buckets.h lays them out: word numbers [steps, batch] of
 * the sentences and of their translations, and which of the latter count, [steps, batch]. The batch's step is
 * that of the network; its buckets outlive the network's last step. */
struct ll_value *ll_feed_source(struct ll_nn *nn, const struct ll_batch *batch);
struct ll_value *ll_feed_target(struct ll_nn *nn, const struct ll_batch *batch);
struct ll_value *ll_feed_target_weights(struct ll_nn *nn, const struct ll_batch *batch);

/* What `fill` writes before each step: floats of this shape, widened where the network is double. The context
 * outlives the network's last step. */
typedef void ll_fill_floats(void *context, uint64_t step, float *data);
struct ll_value *ll_feed_floats(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                ll_fill_floats *fill, void *context);

/* The same for numbers of words or classes, i32. */
typedef void ll_fill_indices(void *context, uint64_t step, int32_t *data);
struct ll_value *ll_feed_indices(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                                 ll_fill_indices *fill, void *context);

/* The same for bytes, u8. */
typedef void ll_fill_bytes(void *context, uint64_t step, uint8_t *data);
struct ll_value *ll_feed_bytes(struct ll_nn *nn, const char *name, const struct ll_shape *shape,
                               ll_fill_bytes *fill, void *context);

#endif
