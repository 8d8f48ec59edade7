/* SPDX-License-Identifier: Apache-2.0 */
/* A language model's layers (config.h) in ops that are computed here.
 *
 * Heads are moved to where a batched GEMM reads them, scores and their softmax are ops of their own unless
 * the decoder is fused, and experts compute batches of rows that were gathered for them. So a small model
 * learns; at any size it is recorded dry. llm.c records the same layers as kernels on devices have them,
 * which read heads and columns where they lie. GPT, Llama, Mixtral and BERT are rows of this table
 * (named.c, bert.c). Trouble is the network's (nn.h). One thread at a time. */
#ifndef LL_MODELS_LLM_COMPUTED_H
#define LL_MODELS_LLM_COMPUTED_H

#include "models/frontier/decoder.h"
#include "models/llm/config.h"

/* The part of a model that cannot be computed here, as a sentence's end ("..., which is not computed
 * here"), or NULL. Static storage. */
const char *ll_llm_not_computed(const struct ll_llm *llm);

/* A net of tokens (decoder.h), whose settings are a struct ll_llm: embeddings, layers, and the logits of
 * those rows whose next token is asked for, [rows, vocabulary]. */
struct ll_value *ll_llm_computed(struct ll_decoder *decoder, struct ll_value *tokens);

/* The layers alone, x and result [rows, hidden]. */
struct ll_value *ll_llm_computed_layers(struct ll_decoder *decoder, const struct ll_llm *llm,
                                        struct ll_value *x);

/* Norm "NAME" of x [rows, hidden], and x times "NAME/weights" plus "NAME/biases", [rows, units], as layers
 * have them. */
struct ll_value *ll_llm_computed_norm(struct ll_decoder *decoder, const struct ll_llm *llm, const char *name,
                                      struct ll_value *x);
struct ll_value *ll_llm_computed_dense(struct ll_decoder *decoder, const char *name, struct ll_value *x,
                                       uint64_t units, enum ll_role from, enum ll_role to, bool biased);

/* What a recurrent mixer (Mamba-2, gated delta rule, short convolution) makes of n [rows, hidden], before the
 * matrix that leads back to hidden features (computed_recurrent.c). */
struct ll_value *ll_llm_computed_recurrent(struct ll_decoder *decoder, const struct ll_llm *llm,
                                           const struct ll_llm_layer *layer, struct ll_value *n);

/* What latent attention makes of n [rows, hidden], likewise (computed_latent.c). */
struct ll_value *ll_llm_computed_latent(struct ll_decoder *decoder, const struct ll_llm *llm,
                                        const struct ll_llm_layer *layer, struct ll_value *n);

/* x [..., features] over the root of its mean square, by a weight "NAME/scale" of its last dimension. */
struct ll_value *ll_llm_computed_rms_norm(struct ll_decoder *decoder, const char *name, struct ll_value *x,
                                          double epsilon, enum ll_role role);

/* A layer of attention with the heads of these sizes, and of a dense part of ffn_hidden features inside. */
struct ll_llm_layer ll_llm_layer_of(const struct ll_decoder_sizes *sizes);

/* So many layers, all like this one, in the network's arena. False when memory ran out, which is its
 * trouble. */
bool ll_llm_repeat(struct ll_nn *nn, uint64_t count, const struct ll_llm_layer *layer, struct ll_llm *llm);

#endif
