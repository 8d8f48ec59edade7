/* SPDX-License-Identifier: Apache-2.0 */
/* Attention as all of its operators of ONNX are recorded, and what they share. Private to
 * tracer/convert/onnx: attention.c for those of the standard, contrib.c for those of com.microsoft. */
#ifndef LL_TRACER_CONVERT_ONNX_ATTENTION_H
#define LL_TRACER_CONVERT_ONNX_ATTENTION_H

#include "tracer/convert/onnx/onnx.h"

struct onnx_attention {
    struct ll_imported q, k, v; /* in any dimensions */
    uint64_t batch, heads, kv_heads, queries, keys, size, value_size;
    bool causal;             /* a query sees itself and what came before */
    bool last;               /* queries are the last of the keys */
    uint64_t window;         /* keys that it sees, itself among them; 0: all */
    struct onnx_value *mask; /* NULL: none; joined with scores[batch, heads, queries, keys] by broadcasting */
    bool capped;             /* scores pass a hyperbolic tangent */
    int64_t scores;          /* which output the scores are, -1 for none */
};

/* Records it at the node at work: one op where it only looks back, else as its definition says. *y has the
 * elements of the result, heads behind sequences. False after a complaint. */
bool onnx_attend(struct onnx *o, const struct onnx_attention *a, struct ll_imported *y);

/* Keys or values of a->keys tokens and `size` features behind those of a cache (NULL: none): what *now is
 * then, and output `at` of the node. False after a complaint. */
bool onnx_append(struct onnx *o, struct onnx_value *past, struct ll_imported *now,
                 const struct onnx_attention *a, uint64_t size, uint32_t at);

/* Rotary positions: of x[..., features] the first `turned` features are turned in pairs by an angle of their
 * position along an axis; where these are not all, they are cut out and joined again. False after a
 * complaint. */
bool onnx_rotate(struct onnx *o, struct ll_imported x, uint64_t turned, int64_t axis,
                 struct ll_imported *out);

#endif
