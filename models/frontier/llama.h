/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of llama.c that a mixture of experts has, too (Touvron et al., 2023). Rows are [batch steps,
 * hidden], sizes those of the decoder. Each function adds ops to the decoder's network, and weights that
 * start anew: a part is made once in its scope. Trouble is the network's (nn.h). */
#ifndef LL_FRONTIER_LLAMA_H
#define LL_FRONTIER_LLAMA_H

#include "models/frontier/decoder.h"

/* Rows over the root of their mean square (Zhang and Sennrich, 2019, equation 4), by the weight "NAME/scale"
 * [hidden]: x / sqrt(mean(x^2) + 1e-5) scale, rows again. */
struct ll_value *ll_llama_norm(struct ll_decoder *decoder, const char *name, struct ll_value *rows);

/* What follows the attention of a layer: rows to rows, x itself added. */
typedef struct ll_value *ll_llama_part(struct ll_decoder *decoder, struct ll_value *x);

/* A whole net of words, whose numbers are [batch steps]: their rows of a table [vocabulary, hidden]; layers
 * of attention, queries of all heads, keys and values of key_heads alone, turned by their positions where the
 * decoder says so (ll_decoder_attend), and of what is given to follow it; the logits of those rows alone
 * whose next word is asked for (ll_decoder_asked), [rows, vocabulary]. */
struct ll_value *ll_llama_net(struct ll_decoder *decoder, struct ll_value *numbers,
                              ll_llama_part *feed_forward);

/* The deviation that weights start with whose product is added to what goes on to the next layer: 0.02 over
 * the root of 2 layers, of which each adds twice (Radford et al., 2019, section 2.3, for GPT-2). Pure. */
double ll_llama_deviation(const struct ll_decoder *decoder);

#endif
