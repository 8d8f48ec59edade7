/* SPDX-License-Identifier: Apache-2.0 */
/* Results so long that threads share them, cut within lines and planes: random ops are too short for that. */
#include "check.h"

#include "models/nn/kernel.h"

#include <stdlib.h>

enum { RANK = 3 };

/* How many numbers a shape of three dimensions has. */
static uint64_t count_of(const uint64_t *dim)
{
    return dim[0] * dim[1] * dim[2];
}

static float *numbers(uint64_t count)
{
    float *data = malloc(count * sizeof *data);
    assert_non_null(data);
    for (uint64_t i = 0; i < count; i++)
        data[i] = (float)(i % 1009);
    return data;
}

/* Which of the input's elements meets element i of the result. */
static uint64_t met(const uint64_t *dim, const uint64_t *in, uint64_t i)
{
    uint64_t at[RANK] = {i / (dim[1] * dim[2]), i / dim[2] % dim[1], i % dim[2]}, element = 0;
    for (unsigned d = 0; d < RANK; d++)
        element = element * in[d] + (in[d] == 1 ? 0 : at[d]);
    return element;
}

static void check_product(const uint64_t *dim, const uint64_t *repeated)
{
    struct ll_shape in[] = {{.rank = RANK, .dtype = LL_F32}, {.rank = RANK, .dtype = LL_F32}}, out = {0};
    struct ll_op_view op = {.kind = LL_OP_MUL, .input_count = 2, .in = in, .out = &out};
    memcpy(in[0].dim, dim, RANK * sizeof *dim);
    memcpy(in[1].dim, repeated, RANK * sizeof *dim);
    assert_null(ll_op_infer(&op));
    float *a = numbers(count_of(dim)), *b = numbers(count_of(repeated)), *y = numbers(count_of(dim));
    struct ll_pool *pool = ll_pool_new(2);
    ll_kernel_of(LL_OP_MUL, LL_F32)(
        &(struct ll_kernel_call){&op, (const void *[]){a, b}, (void *[]){y}, pool, NULL, NULL});
    for (uint64_t i = 0; i < count_of(dim); i++)
        assert_true(y[i] == a[i] * b[met(dim, repeated, i)]);
    ll_pool_free(pool);
    free(a);
    free(b);
    free(y);
}

static void what_repeats_meets_its_elements_wherever_chunks_begin(void **state)
{
    (void)state;
    static const uint64_t dims[][RANK] = {{3, 7, 9001}, {301, 29, 23}, {2, 5, 70001}};
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
        for (unsigned kept = 0; kept < 1u << RANK; kept++) {
            uint64_t repeated[RANK];
            for (unsigned d = 0; d < RANK; d++)
                repeated[d] = kept >> d & 1 ? dims[k][d] : 1;
            check_product(dims[k], repeated);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_repeats_meets_its_elements_wherever_chunks_begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
