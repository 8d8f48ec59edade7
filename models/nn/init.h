/* SPDX-License-Identifier: Apache-2.0 */
/* First contents of variables. */
#ifndef LL_MODELS_NN_INIT_H
#define LL_MODELS_NN_INIT_H

#include "models/nn/nn.h"
#include "tracer/base/pool.h"

/* Normal weights of variance gain / inputs (fan-in): LeCun initialisation with gain 1; Kaiming initialisation
 * (He et al., 2015) with gain 2, which makes up for the half that a ReLU behind the GEMM cuts off. */
struct ll_init ll_init_fan_in(uint64_t inputs, double gain);

/* Fills `data` with the variable's first contents: elements of its type, each a pure function of the seed,
 * the variable's name and the element's number, so the same for any number of threads. */
void ll_init_fill(const struct ll_value *variable, uint64_t seed, struct ll_pool *pool, void *data);

/* Random ops of a network: every step draws anew, every run the same, at any number of threads.
 *
 * A number is a pure function of the seed, the op's stream, the step and the element (tracer/base/random.h).
 * Seed and stream are attributes and the same in each step; the step is a scalar that one `add` op advances,
 * in the network's real type: floats can tell 2^24 steps apart. */

struct ll_rng {
    struct ll_value *step;  /* of this step: 1, 2, ... */
    uint64_t seed, streams; /* streams: how many ops draw so far */
};

/* Adds the counter to the network; once a network, before the ops that draw. */
struct ll_rng ll_rng_begin(struct ll_nn *nn, uint64_t seed);

/* Normal numbers of deviation one, or uniform ones from 0 to 1, of this shape. */
struct ll_value *ll_random_normal(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape);
struct ll_value *ll_random_uniform(struct ll_nn *nn, struct ll_rng *rng, const struct ll_shape *shape);

/* x with a share of `keep` of its elements over keep, the others zero (Srivastava et al., 2014, scaled when
 * training, so that inference needs no op). Its second result is what x was multiplied with. */
struct ll_value *ll_dropout_layer(struct ll_nn *nn, const char *name, struct ll_value *x, double keep,
                                  struct ll_rng *rng);

#endif
