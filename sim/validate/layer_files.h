/* SPDX-License-Identifier: Apache-2.0 */
/* Layers of a language model measured one by one on a server's card, as measured rows: files whose headers
 * are
 *
 *       layer,tokens,time_us                                  layers that work on each token
 *       layer,sequences,time_us                               those that work on one token of each sequence
 *       prefill_chunk,kv_prefill,n_decode,kv_decode,time_us   attention: a chunk of a prompt behind
 *                                                             kv_prefill tokens, and so many sequences
 *                                                             that decode, kv_decode tokens each
 *
 * with microseconds of one layer in one call (LLMServingSim's profiler writes such files). A layer's name
 * means a shape (layer_names.def). Attention of prompts and of sequences that decode in one call is two
 * kernels here, so such rows are left out. */
#ifndef LL_SIM_VALIDATE_LAYER_FILES_H
#define LL_SIM_VALIDATE_LAYER_FILES_H

#include "tracer/convert/csv/csv.h"

/* Of one device, in elements. */
struct ll_layer_sizes {
    uint64_t hidden, qkv, attended, inner, gate_up, vocabulary, experts;
    uint64_t heads, kv_heads, head; /* of attention, and elements of a head */
    /* Of the first layer with experts: how many of them a token has, features in which they work and inside of
     * one, before `tensor` devices share it; inside of the shared one, on a device. 0: there are none. */
    uint64_t top_k, expert_hidden, expert, tensor, shared, shared_gate_up, one;
};

/* Whether a file begins with one of these headers. */
bool ll_is_layer_file(const char *text);

/* The rows of such a file, as measured on `hardware`, in this dtype; *left_out counts those that no kernel
 * stands for. NULL after complaints. Rows live in the arena. */
const struct ll_measured *ll_layer_rows(const char *text, size_t length, const char *file,
                                        const struct ll_layer_sizes *sizes, const char *hardware,
                                        const char *dtype, struct ll_arena *arena, struct ll_diags *diags,
                                        size_t *count, size_t *left_out);

#endif
