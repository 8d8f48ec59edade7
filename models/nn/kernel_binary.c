/* SPDX-License-Identifier: Apache-2.0 */
/* Two inputs of which either may repeat along some dimensions. Neighbouring dimensions along which both do
 * the same are one; what is left is planes of lines along which each input runs or stands still. */
#include "models/nn/kernel.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { GRAIN = 1 << 16 };

/* Of the result's dimensions, joined, two at least: how long, and how far each input goes with a step along
 * it, which along the last one is 1, or 0 where it stands still. */
struct joined {
    unsigned rank;
    uint64_t dim[LL_MAX_RANK], a_step[LL_MAX_RANK], b_step[LL_MAX_RANK];
    const void *a, *b;
    void *out;
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
    for (; j.rank < 2; j.rank++) {
        dim[j.rank] = 1;
        a_steps[j.rank] = b_steps[j.rank] = 0;
    }
    for (unsigned i = 0; i < j.rank; i++) {
        j.dim[i] = dim[j.rank - 1 - i];
        j.a_step[i] = a_steps[j.rank - 1 - i];
        j.b_step[i] = b_steps[j.rank - 1 - i];
    }
    return j;
}

/* Some whole lines of a plane, or a part of one line. */
struct lines {
    uint64_t a, b; /* where the inputs stand at the beginning */
    uint64_t rows, count;
};

/* Those that begin with an element of the result. */
static struct lines lines_from(const struct joined *j, uint64_t element, uint64_t end)
{
    uint64_t index[LL_MAX_RANK], left = end - element;
    struct lines lines = {.rows = 1};
    for (unsigned i = j->rank; i-- > 0; element /= j->dim[i]) {
        index[i] = element % j->dim[i];
        lines.a += index[i] * j->a_step[i];
        lines.b += index[i] * j->b_step[i];
    }
    const unsigned last = j->rank - 1;
    lines.count = ll_min(left, j->dim[last] - index[last]);
    if (lines.count == j->dim[last])
        lines.rows = ll_min(left / lines.count, j->dim[last - 1] - index[last - 1]);
    return lines;
}

static void over_elements(const struct ll_kernel_call *call, ll_pool_body *body)
{
    struct joined j = join(call);
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, body, &j);
}

/* The result may lie where an input of its shape does. */
#define LL_LINES(element, first, second, result)                                                             \
    for (uint64_t row = 0; row < at.rows; row++, as += a_step, bs += b_step, out += at.count)                \
    LL_ALONG(k, at.count, const element a = first, b = second; out[k] = result)

/* A loop from what becomes of two elements a and b. */
#define LL_LOOP(NAME, element, type, result)                                                                 \
    LL_FAST static void NAME(void *context, uint64_t begin, uint64_t end, uint64_t chunk)                    \
    {                                                                                                        \
        const struct joined *j = context;                                                                    \
        const uint64_t a_step = j->a_step[j->rank - 2], b_step = j->b_step[j->rank - 2];                     \
        const bool a_runs = j->a_step[j->rank - 1] != 0, b_runs = j->b_step[j->rank - 1] != 0;               \
        struct lines at;                                                                                     \
        (void)chunk;                                                                                         \
        for (uint64_t i = begin; i < end; i += at.rows * at.count) {                                         \
            at = lines_from(j, i, end);                                                                      \
            const element *as = (const element *)j->a + at.a, *bs = (const element *)j->b + at.b;            \
            type *out = (type *)j->out + i;                                                                  \
            if (a_runs && b_runs)                                                                            \
                LL_LINES(element, as[k], bs[k], result);                                                     \
            else if (a_runs)                                                                                 \
                LL_LINES(element, as[k], *bs, result);                                                       \
            else                                                                                             \
                LL_LINES(element, *as, bs[k], result);                                                       \
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
