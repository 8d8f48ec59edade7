/* SPDX-License-Identifier: Apache-2.0 */
/* Single ops as workloads: what the files of this folder share.
 *
 * An inference is the op alone on operands that are there already. A training step adds the least that sends
 * gradients back to the operands: half the sum of the result's squares as a loss, whose gradient is the
 * result itself. Nothing is updated, so every step repeats the first. */
#ifndef LL_SINGLE_SINGLE_H
#define LL_SINGLE_SINGLE_H

#include "models/model.h"
#include "models/nn/nn.h"

enum { LL_SINGLE_OPERANDS = 4 };

struct ll_single {
    struct ll_nn *nn;
    const struct ll_build *build;
    struct ll_value *operands[LL_SINGLE_OPERANDS]; /* that gradients are wanted of */
    size_t count;
};

/* The words of a parameter `dtype`: the type of all operands, f32 being the first. Others than f32 can be
 * recorded, not computed. */
extern const char *const ll_single_dtypes[];

/* Begins a single op whose elements are of the dtype with this number. */
struct ll_single ll_single_begin(struct ll_nn *nn, const struct ll_build *build, int64_t dtype);

/* An operand of normal numbers, of deviation one; roles may be NULL. */
struct ll_value *ll_single_operand(struct ll_single *single, const char *name, enum ll_memory_class memory,
                                   unsigned rank, const uint64_t *dims, const enum ll_role *roles);

/* What the model's build function returns: the result, or the loss when training. */
struct ll_value *ll_single_end(struct ll_single *single, struct ll_value *result);

/* A parameter that counts something. */
static inline uint64_t ll_single_count(const struct ll_single *single, size_t param)
{
    return (uint64_t)single->build->params[param];
}

/* The row of `dtype` in a model's table of parameters, and its words in that of words. */
#define LL_SINGLE_DTYPE                                                                                      \
    {                                                                                                        \
        "dtype", 0, 0, 5, "type of all operands; all but f32 with --dry-run"                                 \
    }

#endif
