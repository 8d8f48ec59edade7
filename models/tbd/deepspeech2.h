/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of deepspeech2.c: the network. */
#ifndef LL_TBD_DEEPSPEECH2_H
#define LL_TBD_DEEPSPEECH2_H

#include "models/nn/nn.h"

#include <stdbool.h>

struct ll_deepspeech2_sizes {
    uint64_t bins, channels, layers, hidden, classes;
    bool gated;    /* else plain recurrent layers */
    bool stepwise; /* products and normalisation of each step by itself */
    bool train;    /* normalise by the batch, else by averages */
};

/* How many steps the convolutions leave of so many frames, at least 31. */
uint64_t ll_deepspeech2_steps(uint64_t frames);

/* Logits [steps, batch, classes] of spectrograms [batch, frames, bins, 1]. */
struct ll_value *ll_deepspeech2_forward(struct ll_nn *nn, const struct ll_deepspeech2_sizes *sizes,
                                        struct ll_value *spectrograms);

#endif
