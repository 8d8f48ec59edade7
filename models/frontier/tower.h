/* SPDX-License-Identifier: Apache-2.0 */
/* Towers of transformer layers whose norms come first, as those that look, listen and read are built:
 * vision transformers, CLIP, Whisper. Activations are rows [batch positions, features] of a decoder
 * (decoder.h) whose sizes say how wide a layer is; whether tokens see those behind them is the decoder's
 * `sees_all`. */
#ifndef LL_FRONTIER_TOWER_H
#define LL_FRONTIER_TOWER_H

#include "models/frontier/decoder.h"

struct ll_tower {
    double epsilon;    /* of the norms */
    bool quick_gelu;   /* x sigmoid(1.702 x) between the two halves of a feed-forward layer, else GELU */
    bool bias_of_keys; /* keys have biases, as queries and values do */
    uint64_t kept;     /* tokens of a memory whose keys and values a decoding pass finds as they were kept */
};

/* x + attention(norm(x)), with a memory also + attention of what that gives, normed, to the memory's rows,
 * and + what is fed forward of the sum, normed: with h features, 12 h^2 + 13 h weights where keys have
 * biases and the feed-forward layer is of 4 h; a memory adds 4 h^2 + 6 h. `memory`: rows [batch n,
 * features]; NULL: none. */
struct ll_value *ll_tower_layer(struct ll_decoder *decoder, const struct ll_tower *tower, struct ll_value *x,
                                struct ll_value *memory);

/* All layers of the decoder's sizes, in scopes "layer0" and so on. */
struct ll_value *ll_tower_layers(struct ll_decoder *decoder, const struct ll_tower *tower, struct ll_value *x,
                                 struct ll_value *memory);

/* A weight [rows, features] that starts as small normal numbers: positions, tokens. */
struct ll_value *ll_tower_table(struct ll_decoder *decoder, const char *name, uint64_t rows,
                                enum ll_role role);

/* Images [batch, height, width, channels], of any type of real numbers, cut into squares of `patch`
 * pixels, each a row of `hidden` features; in front of each image's a token of the network's own, "class";
 * learned positions are added: rows [batch (1 + squares), hidden], where the decoder's steps are 1 +
 * squares. Weights "patches", perhaps with biases. */
struct ll_value *ll_tower_patches(struct ll_decoder *decoder, struct ll_value *images, uint64_t patch,
                                  bool biased);

/* The same without a token of the network's own, with biases, sines added: rows [batch squares, hidden]. */
struct ll_value *ll_tower_squares(struct ll_decoder *decoder, struct ll_value *images, uint64_t patch);

/* Sines of positions, then their cosines (Vaswani et al., 2017, section 3.5): a weight "positions" [steps,
 * hidden] that no step trains. An even number of features. */
struct ll_value *ll_tower_sines(struct ll_decoder *decoder);

/* The first row of each sequence: [batch, features]. */
struct ll_value *ll_tower_first(struct ll_decoder *decoder, struct ll_value *rows);

#endif
