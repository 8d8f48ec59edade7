/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of llama.c that a mixture of experts has, too. Rows are [batch steps, hidden]. */
#ifndef LL_FRONTIER_LLAMA_H
#define LL_FRONTIER_LLAMA_H

#include "models/frontier/decoder.h"

/* Rows over the root of their mean square, by the weight "NAME/scale" (Zhang and Sennrich, 2019). */
struct ll_value *ll_llama_norm(struct ll_decoder *decoder, const char *name, struct ll_value *rows);

/* The rows of words; x + attention(norm(x)), under the name "attention"; the logits of what comes out of the
 * last layer. */
struct ll_value *ll_llama_embedding(struct ll_decoder *decoder, struct ll_value *numbers);
struct ll_value *ll_llama_attention(struct ll_decoder *decoder, struct ll_value *x);
struct ll_value *ll_llama_head(struct ll_decoder *decoder, struct ll_value *x);

/* The deviation that weights start with whose product is added to what goes on to the next layer. */
double ll_llama_deviation(const struct ll_decoder *decoder);

#endif
