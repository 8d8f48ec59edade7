/* SPDX-License-Identifier: Apache-2.0 */
/* Two inputs of which either may repeat along some dimensions. Neighbouring dimensions along which both do
 * the same are one; what is left is lines along which each input runs or stands still. */
#include "models/nn/kernel.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 16 };

/* Of the result's dimensions, joined: how long, and how far each input goes with a step along it. */
struct joined {
    unsigned rank;
    uint64_t dim[LL_MAX_RANK], a_step[LL_MAX_RANK], b_step[LL_MAX_RANK];
    const void *a, *b;
    void *out;
    uint64_t line; /* length of the last dimension */
    bool a_runs, b_runs;
};

/* The input's dimension that meets dimension i of the result; 1 where it has none. */
static uint64_t met(const struct ll_shape *in, const struct ll_shape *out, unsigned i)
{
    unsigned missing = (unsigned)(out->rank - in->rank);
    return i < missing ? 1 : in->dim[i - missing];
}

/* From the last dimension to the first; those of length 1 do not count. */
static struct joined join(const struct ll_kernel_call *call)
{
    const struct ll_shape *a = &call->op->in[0], *b = &call->op->in[1], *out = &call->op->out[0];
    struct joined j = {.a = call->in[0], .b = call->in[1], .out = call->out[0]};
    uint64_t a_step = 1, b_step = 1, dim[LL_MAX_RANK], a_steps[LL_MAX_RANK], b_steps[LL_MAX_RANK];
    for (unsigned i = out->rank; i-- > 0;) {
        uint64_t a_dim = met(a, out, i), b_dim = met(b, out, i);
        if (out->dim[i] == 1)
            continue;
        bool a_repeats = a_dim == 1, b_repeats = b_dim == 1;
        if (j.rank > 0 && a_repeats == (a_steps[j.rank - 1] == 0) &&
            b_repeats == (b_steps[j.rank - 1] == 0)) {
            dim[j.rank - 1] *= out->dim[i];
        } else {
            dim[j.rank] = out->dim[i];
            a_steps[j.rank] = a_repeats ? 0 : a_step;
            b_steps[j.rank++] = b_repeats ? 0 : b_step;
        }
        a_step *= a_dim;
        b_step *= b_dim;
    }
    for (unsigned i = 0; i < j.rank; i++) {
        j.dim[i] = dim[j.rank - 1 - i];
        j.a_step[i] = a_steps[j.rank - 1 - i];
        j.b_step[i] = b_steps[j.rank - 1 - i];
    }
    if (j.rank == 0)
        j.dim[j.rank++] = 1;
    j.line = j.dim[j.rank - 1];
    j.a_runs = j.a_step[j.rank - 1] != 0;
    j.b_runs = j.b_step[j.rank - 1] != 0;
    return j;
}

struct start {
    uint64_t a, b;
};

/* Where the inputs stand at the beginning of a line of the result. */
LL_INLINE struct start start_of(const struct joined *j, uint64_t line)
{
    struct start at = {0, 0};
    for (unsigned i = j->rank - 1; i-- > 0; line /= j->dim[i]) {
        at.a += line % j->dim[i] * j->a_step[i];
        at.b += line % j->dim[i] * j->b_step[i];
    }
    return at;
}

static void over_elements(const struct ll_kernel_call *call, ll_pool_body *body)
{
    struct joined j = join(call);
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, body, &j);
}

#define LL_LINE(element, first, second, result)                                                              \
    for (uint64_t k = 0; k < count; k++) {                                                                   \
        const element a = first, b = second;                                                                 \
        out[k] = result;                                                                                     \
    }

/* A loop from what becomes of two elements a and b. */
#define LL_LOOP(NAME, element, type, result)                                                                 \
    LL_FAST static void NAME(void *context, uint64_t begin, uint64_t end, uint64_t chunk)                    \
    {                                                                                                        \
        const struct joined *j = context;                                                                    \
        (void)chunk;                                                                                         \
        for (uint64_t i = begin, count; i < end; i += count) {                                               \
            uint64_t first = i % j->line;                                                                    \
            struct start at = start_of(j, i / j->line);                                                      \
            const element *as = (const element *)j->a + at.a + (j->a_runs ? first : 0);                      \
            const element *bs = (const element *)j->b + at.b + (j->b_runs ? first : 0);                      \
            type *restrict out = (type *)j->out + i;                                                         \
            count = ll_min(end - i, j->line - first);                                                        \
            if (j->a_runs && j->b_runs)                                                                      \
                LL_LINE(element, as[k], bs[k], result)                                                       \
            else if (j->a_runs)                                                                              \
                LL_LINE(element, as[k], *bs, result)                                                         \
            else                                                                                             \
                LL_LINE(element, *as, bs[k], result)                                                         \
        }                                                                                                    \
    }

#define LL_BINARY(WORD, type, result)                                                                        \
    LL_LOOP(loop_##WORD, real, type, result)                                                                 \
    LL_KERNEL(WORD)                                                                                          \
    {                                                                                                        \
        over_elements(call, loop_##WORD);                                                                    \
    }

LL_BINARY(ADD, real, a + b)
LL_BINARY(SUB, real, a - b)
LL_BINARY(MUL, real, a *b)
LL_BINARY(DIV, real, a / b)
LL_BINARY(MAXIMUM, real, a > b ? a : b)
LL_BINARY(MINIMUM, real, a < b ? a : b)
LL_BINARY(LESS, uint8_t, a < b)
LL_BINARY(GREATER, uint8_t, a > b)

LL_LOOP(powers, real, real, b == 2 ? a * a : b == 1 ? a : (real)pow((double)a, (double)b))
LL_LOOP(squares, real, real, ((void)b, a *a))
LL_LOOP(first_powers, real, real, ((void)b, a))

/* Losses have squares, their gradients first powers: these are worth loops of their own. */
LL_KERNEL(POW)
{
    const real *exponent = call->in[1];
    bool same = ll_elements(&call->op->in[1]) == 1;
    over_elements(call, same && *exponent == 2 ? squares : same && *exponent == 1 ? first_powers : powers);
}

LL_LOOP(equal_reals, real, uint8_t, a == b)
LL_LOOP(equal_indices, int32_t, uint8_t, a == b)

LL_KERNEL(EQUAL)
{
    over_elements(call, call->op->in[0].dtype == LL_I32 ? equal_indices : equal_reals);
}

LL_KERNEL(BIAS_ADD)
{
    LL_REAL(ll_kernel_ADD)(call);
}
