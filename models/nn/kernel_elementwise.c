/* SPDX-License-Identifier: Apache-2.0 */
/* Element by element, of one input or of two that match: a line a kind says what happens to an element.
 * Where there are two, x is what flows in and y what the forward op gave (a GELU's gradient: what it was
 * given). The last section holds the updates of optimizers. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/elementary.h"
#include "models/nn/kernel.h"

enum { GRAIN = 1 << 16 };

struct operands {
    const real *x, *y;
    real *out;
    real limit;
};

static void over_elements(const struct ll_kernel_call *call, ll_pool_body *body)
{
    struct operands operands = {.x = call->in[0],
                                .y = call->op->input_count > 1 ? call->in[1] : call->in[0],
                                .out = call->out[0],
                                .limit = (real)ll_attr_real(call->op, LL_ATTR_LIMIT, INFINITY)};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GRAIN, body, &operands);
}

/* y is read in any case: a loop that reads it only sometimes has a branch. */
#define LL_ELEMENTWISE(WORD, result)                                                                         \
    LL_FAST static void loop_##WORD(void *context, uint64_t begin, uint64_t end, uint64_t chunk)             \
    {                                                                                                        \
        const struct operands *o = context;                                                                  \
        const real limit = o->limit, *xs = o->x, *ys = o->y;                                                 \
        real *restrict out = o->out;                                                                         \
        (void)chunk, (void)limit;                                                                            \
        for (uint64_t i = begin; i < end; i++) {                                                             \
            const real x = xs[i], y = ys[i];                                                                 \
            (void)x, (void)y;                                                                                \
            out[i] = result;                                                                                 \
        }                                                                                                    \
    }                                                                                                        \
    LL_KERNEL(WORD)                                                                                          \
    {                                                                                                        \
        over_elements(call, loop_##WORD);                                                                    \
    }

LL_ELEMENTWISE(NEG, -x)
LL_ELEMENTWISE(ABS, x < 0 ? -x : x)
LL_ELEMENTWISE(SIGN, x > 0 ? (real)1 : x < 0 ? (real)-1 : (real)0)
LL_ELEMENTWISE(FLOOR, (real)floor((double)x))
LL_ELEMENTWISE(SQUARE, x *x)
LL_ELEMENTWISE(SQRT, LL_SQRT(x))
LL_ELEMENTWISE(SQRT_GRAD, x / (2 * y))
LL_ELEMENTWISE(EXP, ll_exp(x))
LL_ELEMENTWISE(LOG, ll_log(x))
LL_ELEMENTWISE(SIGMOID, ll_sigmoid(x))
LL_ELEMENTWISE(SIGMOID_GRAD, x *y *(1 - y))
LL_ELEMENTWISE(TANH, ll_tanh(x))
LL_ELEMENTWISE(TANH_GRAD, x *(1 - y * y))
LL_ELEMENTWISE(GELU, x *ll_normal_below(x))
LL_ELEMENTWISE(GELU_GRAD, x *(ll_normal_below(y) + y * ll_normal_density(y)))
LL_ELEMENTWISE(RELU, x > 0 ? x : 0)
LL_ELEMENTWISE(RELU_GRAD, y > 0 ? x : 0)
LL_ELEMENTWISE(RELU_CLIPPED, x > 0 ? x < limit ? x : limit : 0)
LL_ELEMENTWISE(RELU_CLIPPED_GRAD, ((y > 0) & (y < limit)) ? x : 0)
LL_ELEMENTWISE(SMOOTH_L1, ((x < 0 ? -x : x) < limit) ? x *x / (2 * limit) : (x < 0 ? -x : x) - limit / 2)
LL_ELEMENTWISE(SMOOTH_L1_GRAD, x *((y < -limit) ? (real)-1 : (y > limit) ? (real)1 : y / limit))

/* Two inputs of which either may repeat along some dimensions. Neighbouring dimensions along which both do
 * the same are one; what is left is planes of lines along which each input runs or stands still. */

enum { BINARY_GRAIN = 1 << 16 };

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

static void binary_over_elements(const struct ll_kernel_call *call, ll_pool_body *body)
{
    struct joined j = join(call);
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), BINARY_GRAIN, body, &j);
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
        binary_over_elements(call, loop_##WORD);                                                             \
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
    binary_over_elements(call, same && *exponent == 2   ? squares
                               : same && *exponent == 1 ? first_powers
                                                        : powers);
}

LL_LOOP(equal_reals, real, uint8_t, a == b)
LL_LOOP(equal_indices, int32_t, uint8_t, a == b)

LL_KERNEL(EQUAL)
{
    binary_over_elements(call, call->op->in[0].dtype == LL_I32 ? equal_indices : equal_reals);
}

LL_KERNEL(BIAS_ADD)
{
    LL_REAL(ll_kernel_ADD)(call);
}

/* Gated activations (Shazeer, 2020) with the SiLU, s(g) being the logistic function:
 *
 *     y = g s(g) x        dx = dy g s(g)        dg = dy x s(g) (1 + g (1 - s(g)))                          */

enum { GATED_GRAIN = 1 << 15 };

struct gated {
    const real *dy, *gate, *x;
    real *out, *dx; /* out: y, or what flows into the gate */
};

LL_FAST static void forward(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct gated *o = context;
    const real *gate = o->gate, *x = o->x;
    real *restrict y = o->out;
    for (uint64_t i = begin; i < end; i++)
        y[i] = gate[i] * ll_sigmoid(gate[i]) * x[i];
}

LL_KERNEL(SILU_MUL)
{
    assert(ll_elements(&call->op->in[0]) == ll_elements(&call->op->in[1]));
    struct gated operands = {.gate = call->in[0], .x = call->in[1], .out = call->out[0]};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GATED_GRAIN, forward, &operands);
}

LL_FAST static void backward(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct gated *o = context;
    const real *dy = o->dy, *gate = o->gate, *x = o->x;
    real *restrict dgate = o->out, *restrict dx = o->dx;
    for (uint64_t i = begin; i < end; i++) {
        const real g = gate[i], s = ll_sigmoid(g);
        dx[i] = dy[i] * (g * s);
        dgate[i] = dy[i] * x[i] * s * (1 + g * (1 - s));
    }
}

LL_KERNEL(SILU_MUL_GRAD)
{
    struct gated operands = {
        .dy = call->in[0], .gate = call->in[1], .x = call->in[2], .out = call->out[0], .dx = call->out[1]};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), GATED_GRAIN, backward, &operands);
}

/* Element by element, where the inputs are neither one nor two of a kind. */

enum { ELEMENTWISE_GRAIN = 1 << 16, BLOCK = 1 << 10 };

/* Chunk: rows of the first input, each times its factor. */
LL_FAST static void scale_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t length = ll_elements(&call->op->in[0]) / call->op->in[0].dim[0];
    for (uint64_t row = begin; row < end; row++) {
        const real *x = (const real *)call->in[0] + row * length, scale = ((const real *)call->in[1])[row];
        real *restrict out = (real *)call->out[0] + row * length;
        for (uint64_t i = 0; i < length; i++)
            out[i] = x[i] * scale;
    }
}

LL_KERNEL(SOFTMAX_XENT_GRAD)
{
    struct ll_kernel_call job = *call;
    uint64_t rows = call->op->in[0].dim[0], length = rows ? ll_elements(&call->op->in[0]) / rows : 0;
    ll_pool_run(call->pool, rows, ll_max(1, ELEMENTWISE_GRAIN / ll_max(1, length)), scale_rows, &job);
}

/* A block at a time, so that the sum stays near. */
LL_FAST static void add_all(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    for (uint64_t at = begin, count; at < end; at += count) {
        real *restrict out = (real *)call->out[0] + at;
        count = ll_min(end - at, BLOCK);
        memcpy(out, (const real *)call->in[0] + at, count * sizeof *out);
        for (uint32_t k = 1; k < call->op->input_count; k++) {
            const real *x = (const real *)call->in[k] + at;
            for (uint64_t i = 0; i < count; i++)
                out[i] += x[i];
        }
    }
}

LL_KERNEL(ADD_N)
{
    assert(call->op->input_count > 0);
    struct ll_kernel_call job = *call;
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), ELEMENTWISE_GRAIN, add_all, &job);
}

LL_FAST static void choose(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    const uint8_t *condition = call->in[0];
    const real *a = call->in[1], *b = call->in[2];
    real *restrict out = call->out[0];
    for (uint64_t i = begin; i < end; i++) {
        const real x = a[i], y = b[i];
        out[i] = condition[i] ? x : y;
    }
}

/* Chunk: elements of rows, each of which has one condition. */
static void choose_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    const uint64_t row = ll_elements(&call->op->out[0]) / ll_elements(&call->op->in[0]);
    const uint8_t *condition = call->in[0];
    real *out = call->out[0];
    for (uint64_t i = begin, count; i < end; i += count) {
        count = ll_min(end - i, row - i % row);
        memcpy(out + i, (const real *)call->in[condition[i / row] ? 1 : 2] + i, count * sizeof *out);
    }
}

LL_KERNEL(SELECT)
{
    struct ll_kernel_call job = *call;
    bool by_rows = call->op->in[0].rank < call->op->in[1].rank;
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), ELEMENTWISE_GRAIN, by_rows ? choose_rows : choose,
                &job);
}

/* Chunk: elements that become real. */
LL_FAST static void cast(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    real *restrict out = call->out[0];
    if (call->op->in[0].dtype == call->op->out[0].dtype) {
        memcpy(&out[begin], (const real *)call->in[0] + begin, (end - begin) * sizeof *out);
        return;
    }
    for (uint64_t i = begin; i < end; i++)
        out[i] = call->op->in[0].dtype == LL_I32 ? (real)((const int32_t *)call->in[0])[i]
                                                 : (real)((const uint8_t *)call->in[0])[i];
}

LL_KERNEL(CAST)
{
    struct ll_kernel_call job = *call;
    assert(call->op->in[0].dtype == LL_I32 || call->op->in[0].dtype == LL_BOOL ||
           call->op->in[0].dtype == LL_U8 || call->op->in[0].dtype == call->op->out[0].dtype);
    assert(ll_size_bytes(&call->op->out[0]) == ll_elements(&call->op->in[0]) * sizeof(real));
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), ELEMENTWISE_GRAIN, cast, &job);
}

LL_KERNEL(RESHAPE)
{
    assert(call->out[0] == call->in[0]);
    (void)call;
}

/* Weights and their state change in place, in one pass over memory. */

enum { UPDATE_GRAIN = 1 << 15 };

struct update {
    real *w, *m, *v;
    const real *g;
    real rate, momentum, decay, beta1, beta2, epsilon;
};

static real attr(const struct ll_kernel_call *call, enum ll_attr_key key)
{
    return (real)ll_attr_real(call->op, key, 0);
}

/* w -= rate g */
LL_FAST static void sgd(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate;
    real *restrict w = u->w;
    for (uint64_t i = begin; i < end; i++)
        w[i] -= rate * g[i];
}

/* v = momentum v + g + decay w;  w -= rate v */
LL_FAST static void momentum(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate, keep = u->momentum, decay = u->decay;
    real *restrict w = u->w, *restrict v = u->v;
    for (uint64_t i = begin; i < end; i++) {
        v[i] = keep * v[i] + (g[i] + decay * w[i]);
        w[i] -= rate * v[i];
    }
}

/* m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2;  w -= rate m / (sqrt(v) + epsilon) */
LL_FAST static void adam(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate, beta1 = u->beta1, beta2 = u->beta2, epsilon = u->epsilon;
    real *restrict w = u->w, *restrict m = u->m, *restrict v = u->v;
    for (uint64_t i = begin; i < end; i++) {
        real first = beta1 * m[i] + (1 - beta1) * g[i];
        real second = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
        m[i] = first;
        v[i] = second;
        w[i] -= rate * first / (LL_SQRT(second) + epsilon);
    }
}

/* v = decay v + (1 - decay) g^2;  m = momentum m + rate g / sqrt(v + epsilon);  w -= m (as TensorFlow has it)
 */
LL_FAST static void rmsprop(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, rate = u->rate, decay = u->decay, keep = u->momentum, epsilon = u->epsilon;
    real *restrict w = u->w, *restrict m = u->m, *restrict v = u->v;
    for (uint64_t i = begin; i < end; i++) {
        v[i] += (g[i] * g[i] - v[i]) * (1 - decay);
        m[i] = keep * m[i] + rate * g[i] / LL_SQRT(v[i] + epsilon);
        w[i] -= m[i];
    }
}

LL_KERNEL(RMSPROP)
{
    struct update update = {
        .w = call->out[0],
        .v = call->out[1],
        .m = call->out[2],
        .g = call->in[3],
        .rate = attr(call, LL_ATTR_LEARNING_RATE),
        .decay = attr(call, LL_ATTR_DECAY),
        .momentum = attr(call, LL_ATTR_MOMENTUM),
        .epsilon = attr(call, LL_ATTR_EPSILON),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), UPDATE_GRAIN, rmsprop, &update);
}

/* w -= (1 - decay) (w - g) */
LL_FAST static void moving_average(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct update *u = context;
    const real *g = u->g, share = 1 - u->decay;
    real *restrict w = u->w;
    for (uint64_t i = begin; i < end; i++)
        w[i] -= share * (w[i] - g[i]);
}

LL_KERNEL(MOVING_AVERAGE)
{
    assert(call->out[0] == call->in[0]);
    struct update update = {.w = call->out[0], .g = call->in[1], .decay = attr(call, LL_ATTR_DECAY)};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), UPDATE_GRAIN, moving_average, &update);
}

LL_KERNEL(SGD)
{
    assert(call->out[0] == call->in[0]);
    struct update update = {.w = call->out[0], .g = call->in[1], .rate = attr(call, LL_ATTR_LEARNING_RATE)};
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), UPDATE_GRAIN, sgd, &update);
}

LL_KERNEL(MOMENTUM)
{
    assert(call->out[0] == call->in[0] && call->out[1] == call->in[1]);
    struct update update = {
        .w = call->out[0],
        .v = call->out[1],
        .g = call->in[2],
        .rate = attr(call, LL_ATTR_LEARNING_RATE),
        .momentum = attr(call, LL_ATTR_MOMENTUM),
        .decay = attr(call, LL_ATTR_DECAY),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), UPDATE_GRAIN, momentum, &update);
}

/* Kingma and Ba, 2015, with the bias corrections drawn into the rate as at the end of their section 2; the
 * fifth input holds the powers beta1^t and beta2^t, the sixth, if there is one, a factor of the rate. */
LL_KERNEL(ADAM)
{
    assert(call->out[0] == call->in[0] && call->out[1] == call->in[1] && call->out[2] == call->in[2]);
    const real *powers = call->in[4];
    const real factor = call->op->input_count > 5 ? *(const real *)call->in[5] : 1;
    struct update update = {
        .w = call->out[0],
        .m = call->out[1],
        .v = call->out[2],
        .g = call->in[3],
        .rate = factor * attr(call, LL_ATTR_LEARNING_RATE) * LL_SQRT(1 - powers[1]) / (1 - powers[0]),
        .beta1 = attr(call, LL_ATTR_BETA1),
        .beta2 = attr(call, LL_ATTR_BETA2),
        .epsilon = attr(call, LL_ATTR_EPSILON),
    };
    ll_pool_run(call->pool, ll_elements(&call->op->out[0]), UPDATE_GRAIN, adam, &update);
}
