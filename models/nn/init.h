/* SPDX-License-Identifier: Apache-2.0 */
/* First contents of variables. */
#ifndef LL_MODELS_NN_INIT_H
#define LL_MODELS_NN_INIT_H

#include "models/nn/nn.h"
#include "tracer/base/pool.h"

/* Normal weights that keep the size of what passes a product over so many inputs; gain 2 makes up for the
 * half that a ReLU behind it cuts off (He et al., 2015). */
struct ll_init ll_init_keeping_size(uint64_t inputs, double gain);

/* Fills `data` with the variable's first contents: elements of its type, each a pure function of the seed,
 * the variable's name and the element's number, so the same for any number of threads. */
void ll_init_fill(const struct ll_value *variable, uint64_t seed, struct ll_pool *pool, void *data);

/* Random ops of a network: every step draws anew, every run the same, at any number of threads.
 *
 * A number is a pure function of the seed, the op's stream, the step and the element (tracer/base/random.h).
 * Seed and stream are attributes and the same in each step; the step is a scalar that one `add` op advances,
 * in the network's real type: floats can tell 2^24 steps apart. */

struct ll_chance {
    struct ll_value *step;  /* of this step: 1, 2, ... */
    uint64_t seed, streams; /* streams: how many ops draw so far */
};

/* Adds the counter to the network; once a network, before the ops that draw. */
struct ll_chance ll_chance_begin(struct ll_nn *nn, uint64_t seed);

/* Normal numbers of deviation one, or uniform ones from 0 to 1, of this shape. */
struct ll_value *ll_random_normal(struct ll_nn *nn, struct ll_chance *chance, const struct ll_shape *shape);
struct ll_value *ll_random_uniform(struct ll_nn *nn, struct ll_chance *chance, const struct ll_shape *shape);

/* x with a share of `keep` of its elements over keep, the others zero (Srivastava et al., 2014, scaled when
 * training, so that inference needs no op). Its second result is what x was multiplied with. */
struct ll_value *ll_dropout_layer(struct ll_nn *nn, const char *name, struct ll_value *x, double keep,
                                  struct ll_chance *chance);

#endif
