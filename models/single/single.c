/* SPDX-License-Identifier: Apache-2.0 */
#include "models/single/single.h"

#include "models/nn/gradient.h"

static const enum ll_dtype dtypes[] = {LL_F32, LL_TF32, LL_F16, LL_BF16, LL_F8, LL_INT8, LL_F4, LL_INT4};
const char *const ll_single_dtypes[] = {"f32", "tf32", "f16", "bf16", "f8", "int8", "f4", "int4", NULL};

struct ll_single ll_single_begin(struct ll_nn *nn, const struct ll_build *build, int64_t dtype)
{
    if (dtypes[dtype] != LL_F32)
        nn->real = dtypes[dtype];
    return (struct ll_single){.nn = nn, .build = build};
}

struct ll_value *ll_single_operand(struct ll_single *single, const char *name, enum ll_memory_class memory,
                                   unsigned rank, const uint64_t *dims, const enum ll_role *roles)
{
    struct ll_shape shape = ll_nn_shape(single->nn, rank, dims, roles);
    struct ll_value *value =
        ll_nn_variable(single->nn, name, &shape, memory, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
    single->operands[single->count++] = value;
    return value;
}

struct ll_value *ll_single_end(struct ll_single *single, struct ll_value *result)
{
    struct ll_value *gradients[LL_SINGLE_OPERANDS] = {NULL};
    if (!single->build->train)
        return result;
    struct ll_value *loss = ll_nn_do1(single->nn, LL_OP_L2_LOSS, result);
    ll_nn_gradients(single->nn, loss, single->operands, single->count, gradients);
    for (size_t i = 0; i < single->count; i++) {
        single->operands[i]->gradient = gradients[i];
        if (!gradients[i])
            ll_nn_fail(single->nn, "nobody knows its gradient; record it with --infer");
    }
    return loss;
}
