/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation (Ioffe and Szegedy, 2015) over n rows of channels, the variance being the biased one:
 *
 *     y = gamma (x - mean) r + beta           r = 1 / sqrt(variance + epsilon)
 *     dbeta = sum dy                          dgamma = r sum dy (x - mean)
 *     dx = gamma r (dy - dbeta / n - (x - mean) r dgamma / n)
 *
 * Rows are cut into blocks. A block gives its mean and its sum of squared distances from that, in cache, and
 * two of them are joined without cancellation (Chan, Golub and LeVeque, 1983):
 *
 *     d = mean_b - mean_a      mean = mean_a + d n_b / n      m = m_a + m_b + d^2 n_a n_b / n */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "models/nn/kernel.h"

enum { BLOCKS = 64, LEAST_ROWS = 64, GRAIN = 1 << 15 };

struct norm {
    const real *x, *dy, *mean, *variance, *gamma, *beta;
    real *out, *partial; /* for each block two lines of channels */
    real *scale, *shift; /* y = scale (x - mean) + shift, dx = scale dy + slope (x - mean) + shift */
    real *slope;
    uint64_t rows, channels, block_rows;
    double epsilon;
};

/* Lines of channels: two a block and three of coefficients. */
#ifndef LL_DOUBLE
uint64_t ll_norm_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    const struct ll_shape *x = &op->in[0];
    return ll_mul(2 * BLOCKS + 3, ll_mul(x->dim[x->rank - 1], ll_dtype_bytes((enum ll_dtype)x->dtype)));
}
#endif

static struct norm norm_of(const struct ll_kernel_call *call)
{
    const struct ll_shape *x = &call->op->in[0];
    uint64_t channels = x->dim[x->rank - 1], rows = channels ? ll_elements(x) / channels : 0;
    real *lines = call->workspace;
    return (struct norm){
        .out = call->out[0],
        .scale = lines,
        .shift = lines + channels,
        .slope = lines + 2 * channels,
        .partial = lines + 3 * channels,
        .rows = rows,
        .channels = channels,
        .block_rows = ll_max(LEAST_ROWS, ll_ceil_div(rows, BLOCKS)),
        .epsilon = ll_attr_real(call->op, LL_ATTR_EPSILON, 1e-5),
    };
}

static void over_blocks(const struct ll_kernel_call *call, struct norm *n, ll_pool_body *body)
{
    ll_pool_run(call->pool, n->rows, n->block_rows, body, n);
}

static void over_rows(const struct ll_kernel_call *call, struct norm *n, ll_pool_body *body)
{
    ll_pool_run(call->pool, n->rows, ll_max(1, GRAIN / ll_max(1, n->channels)), body, n);
}

static LL_INLINE void add_row(const real *restrict x, real *restrict sum, uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += x[c];
}

static LL_INLINE void add_squares(const real *restrict x, const real *restrict mean, real *restrict sum,
                                  uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += (x[c] - mean[c]) * (x[c] - mean[c]);
}

/* Chunk: a block, of which two lines become the mean and the sum of squares around it. */
LL_FAST static void block_moments(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct norm *n = context;
    const uint64_t channels = n->channels;
    real *mean = n->partial + chunk * 2 * channels, *squares = mean + channels;
    memset(mean, 0, 2 * channels * sizeof(real));
    for (uint64_t row = begin; row < end; row++)
        add_row(n->x + row * channels, mean, channels);
    for (uint64_t c = 0; c < channels; c++)
        mean[c] /= (real)(end - begin);
    for (uint64_t row = begin; row < end; row++)
        add_squares(n->x + row * channels, mean, squares, channels);
}

static void join_moments(const struct norm *n, real *mean, real *variance)
{
    for (uint64_t c = 0; c < n->channels; c++) {
        double all_mean = 0, all_squares = 0, seen = 0;
        for (uint64_t begin = 0; begin < n->rows; begin += n->block_rows) {
            const real *block = n->partial + begin / n->block_rows * 2 * n->channels + c;
            double rows = (double)ll_min(n->block_rows, n->rows - begin), all = seen + rows;
            double distance = (double)block[0] - all_mean;
            all_mean += distance * rows / all;
            all_squares += (double)block[n->channels] + distance * distance * seen * rows / all;
            seen = all;
        }
        mean[c] = (real)all_mean;
        variance[c] = (real)(all_squares / seen);
    }
}

static double inverse_root(const struct norm *n, uint64_t c)
{
    return 1 / sqrt((double)n->variance[c] + n->epsilon);
}

LL_FAST static void normalise(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct norm *n = context;
    const real *scale = n->scale, *mean = n->mean, *beta = n->beta;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = n->x + row * n->channels;
        real *restrict out = n->out + row * n->channels;
        for (uint64_t c = 0; c < n->channels; c++)
            out[c] = scale[c] * (x[c] - mean[c]) + beta[c];
    }
}

/* With mean and variance known. */
static void apply(const struct ll_kernel_call *call, struct norm *n)
{
    for (uint64_t c = 0; c < n->channels; c++)
        n->scale[c] = (real)((double)n->gamma[c] * inverse_root(n, c));
    over_rows(call, n, normalise);
}

LL_KERNEL(BATCH_NORM)
{
    struct norm n = norm_of(call);
    n.x = call->in[0];
    n.gamma = call->in[1];
    n.beta = call->in[2];
    over_blocks(call, &n, block_moments);
    join_moments(&n, call->out[1], call->out[2]);
    n.mean = call->out[1];
    n.variance = call->out[2];
    apply(call, &n);
}

LL_KERNEL(BATCH_NORM_FIXED)
{
    struct norm n = norm_of(call);
    n.x = call->in[0];
    n.gamma = call->in[1];
    n.beta = call->in[2];
    n.mean = call->in[3];
    n.variance = call->in[4];
    apply(call, &n);
}

static LL_INLINE void add_products(const real *restrict dy, const real *restrict x, const real *restrict mean,
                                   real *restrict sum, uint64_t channels)
{
    for (uint64_t c = 0; c < channels; c++)
        sum[c] += dy[c] * (x[c] - mean[c]);
}

/* Chunk: a block, of which two lines become the sums of dy and of dy (x - mean). */
LL_FAST static void block_sums(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct norm *n = context;
    const uint64_t channels = n->channels;
    real *plain = n->partial + chunk * 2 * channels, *weighed = plain + channels;
    memset(plain, 0, 2 * channels * sizeof(real));
    for (uint64_t row = begin; row < end; row++) {
        const real *dy = n->dy + row * channels;
        add_row(dy, plain, channels);
        add_products(dy, n->x + row * channels, n->mean, weighed, channels);
    }
}

/* dgamma, dbeta, and the coefficients of dx. */
static void join_sums(const struct norm *n, real *dgamma, real *dbeta)
{
    for (uint64_t c = 0; c < n->channels; c++) {
        double plain = 0, weighed = 0, root = inverse_root(n, c), scale = (double)n->gamma[c] * root;
        for (uint64_t begin = 0; begin < n->rows; begin += n->block_rows) {
            const real *block = n->partial + begin / n->block_rows * 2 * n->channels + c;
            plain += (double)block[0];
            weighed += (double)block[n->channels];
        }
        dbeta[c] = (real)plain;
        dgamma[c] = (real)(weighed * root);
        n->scale[c] = (real)scale;
        n->shift[c] = (real)(-scale * plain / (double)n->rows);
        n->slope[c] = (real)(-scale * root * root * weighed / (double)n->rows);
    }
}

LL_FAST static void spread(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct norm *n = context;
    const real *scale = n->scale, *shift = n->shift, *slope = n->slope, *mean = n->mean;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = n->x + row * n->channels, *dy = n->dy + row * n->channels;
        real *restrict dx = n->out + row * n->channels;
        for (uint64_t c = 0; c < n->channels; c++)
            dx[c] = scale[c] * dy[c] + slope[c] * (x[c] - mean[c]) + shift[c];
    }
}

static struct norm gradient_of(const struct ll_kernel_call *call)
{
    struct norm n = norm_of(call);
    n.dy = call->in[0];
    n.x = call->in[1];
    n.gamma = call->in[2];
    n.mean = call->in[3];
    n.variance = call->in[4];
    over_blocks(call, &n, block_sums);
    join_sums(&n, call->out[1], call->out[2]);
    return n;
}

LL_KERNEL(BATCH_NORM_GRAD)
{
    struct norm n = gradient_of(call);
    over_rows(call, &n, spread);
}

/* Mean and variance do not depend on x: dx is dy, scaled. */
LL_FAST static void scale(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct norm *n = context;
    for (uint64_t row = begin; row < end; row++) {
        const real *dy = n->dy + row * n->channels, *factor = n->scale;
        real *restrict dx = n->out + row * n->channels;
        for (uint64_t c = 0; c < n->channels; c++)
            dx[c] = factor[c] * dy[c];
    }
}

LL_KERNEL(BATCH_NORM_FIXED_GRAD)
{
    struct norm n = gradient_of(call);
    over_rows(call, &n, scale);
}

/* Layer normalisation (Ba, Kiros and Hinton, 2016) of rows of n features, and the same without the mean
 * (Zhang and Sennrich, 2019: m is 0 there and no sum of g is taken off):
 *
 *     y = gamma h + beta          h = (x - m) r          r = 1 / sqrt(sum (x - m)^2 / n + epsilon)
 *     dx = r (g - sum g / n - h sum (g h) / n)           g = gamma dy
 *     dgamma = sum over rows of dy h                     dbeta = sum over rows of dy
 *
 * A row stays in cache while it is read three times. What is summed over rows is summed block by block, and
 * the blocks in order. */

enum { LAYER_NORM_BLOCKS = 64, LAYER_NORM_LEAST_ROWS = 16, LAYER_NORM_GRAIN = 1 << 14 };

struct layers {
    const real *x, *dy, *gamma, *beta;
    real *out, *partial; /* of each block a line for dgamma and one for dbeta */
    uint64_t rows, length, block_rows;
    double epsilon;
    bool centred; /* the mean is taken off */
};

#ifndef LL_DOUBLE
uint64_t ll_layer_norm_workspace(const struct ll_op_view *op, unsigned threads)
{
    const struct ll_shape *gamma = &op->in[2];
    (void)threads;
    return ll_mul(2 * LAYER_NORM_BLOCKS, ll_size_bytes(gamma));
}
#endif

static struct layers layers_of(const struct ll_kernel_call *call, bool centred)
{
    const struct ll_shape *x = &call->op->in[0];
    uint64_t length = x->dim[x->rank - 1], rows = length ? ll_elements(x) / length : 0;
    return (struct layers){
        .out = call->out[0],
        .partial = call->workspace,
        .rows = rows,
        .length = length,
        .block_rows = ll_max(LAYER_NORM_LEAST_ROWS, ll_ceil_div(rows, LAYER_NORM_BLOCKS)),
        .epsilon = ll_attr_real(call->op, LL_ATTR_EPSILON, 1e-5),
        .centred = centred,
    };
}

static LL_INLINE real mean_of(const real *x, uint64_t length)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < length; i++)
        sum += (double)x[i];
    return (real)(sum / (double)length);
}

/* The factor r of a row around m. */
static LL_INLINE real inverse_spread(const real *x, real m, uint64_t length, double epsilon)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (uint64_t i = 0; i < length; i++)
        sum += (double)((x[i] - m) * (x[i] - m));
    return (real)(1 / sqrt(sum / (double)length + epsilon));
}

LL_FAST static void layer_norm_normalise(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct layers *l = context;
    const uint64_t length = l->length;
    const real *gamma = l->gamma, *beta = l->beta;
    for (uint64_t row = begin; row < end; row++) {
        const real *x = l->x + row * length;
        real *restrict y = l->out + row * length;
        const real m = l->centred ? mean_of(x, length) : 0, r = inverse_spread(x, m, length, l->epsilon);
        for (uint64_t i = 0; i < length; i++)
            y[i] = gamma[i] * ((x[i] - m) * r);
        for (uint64_t i = 0; beta && i < length; i++)
            y[i] += beta[i];
    }
}

static void run_normalise(const struct ll_kernel_call *call, bool centred)
{
    struct layers l = layers_of(call, centred);
    l.x = call->in[0];
    l.gamma = call->in[1];
    l.beta = call->op->input_count > 2 ? call->in[2] : NULL;
    ll_pool_run(call->pool, l.rows, ll_max(1, LAYER_NORM_GRAIN / ll_max(1, l.length)), layer_norm_normalise,
                &l);
}

LL_KERNEL(LAYER_NORM)
{
    run_normalise(call, true);
}

LL_KERNEL(RMS_NORM)
{
    run_normalise(call, false);
}

/* One row: dx, and what it adds to the sums for gamma and beta. */
static LL_INLINE void flow_back(const struct layers *l, uint64_t row, real *restrict dgamma,
                                real *restrict dbeta)
{
    const uint64_t length = l->length;
    const real *x = l->x + row * length, *dy = l->dy + row * length, *gamma = l->gamma;
    real *restrict dx = l->out + row * length;
    const real m = l->centred ? mean_of(x, length) : 0, r = inverse_spread(x, m, length, l->epsilon);
    double plain = 0, weighed = 0;
#pragma omp simd reduction(+ : plain, weighed)
    for (uint64_t i = 0; i < length; i++) {
        const real g = gamma[i] * dy[i];
        plain += (double)g;
        weighed += (double)(g * ((x[i] - m) * r));
    }
    const real shift = l->centred ? (real)(plain / (double)length) : 0;
    const real slope = (real)(weighed / (double)length);
    for (uint64_t i = 0; i < length; i++) {
        const real h = (x[i] - m) * r;
        dx[i] = r * (gamma[i] * dy[i] - shift - h * slope);
        dgamma[i] += dy[i] * h;
        dbeta[i] += dy[i];
    }
}

/* Chunk: a block of rows. */
LL_FAST static void block_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    const struct layers *l = context;
    real *dgamma = l->partial + chunk * 2 * l->length, *dbeta = dgamma + l->length;
    memset(dgamma, 0, 2 * l->length * sizeof(real));
    for (uint64_t row = begin; row < end; row++)
        flow_back(l, row, dgamma, dbeta);
}

/* One of the two lines of all blocks. */
static void join(const struct layers *l, uint64_t line, real *out)
{
    for (uint64_t i = 0; i < l->length; i++) {
        double sum = 0;
        for (uint64_t begin = 0; begin < l->rows; begin += l->block_rows)
            sum += (double)l->partial[(begin / l->block_rows * 2 + line) * l->length + i];
        out[i] = (real)sum;
    }
}

static void run_back(const struct ll_kernel_call *call, bool centred)
{
    struct layers l = layers_of(call, centred);
    l.dy = call->in[0];
    l.x = call->in[1];
    l.gamma = call->in[2];
    ll_pool_run(call->pool, l.rows, l.block_rows, block_back, &l);
    join(&l, 0, call->out[1]);
    if (call->op->output_count > 2)
        join(&l, 1, call->out[2]);
}

LL_KERNEL(LAYER_NORM_GRAD)
{
    run_back(call, true);
}

LL_KERNEL(RMS_NORM_GRAD)
{
    run_back(call, false);
}

/* Group normalisation (Wu and He, 2018): as that of rows, but a mean and a factor are those of a group of
 * channels at all places of a sample, and gamma and beta are each channel's own. A thread has whole samples;
 * what their channels add to dgamma and dbeta is added up in their order. */

struct grouped {
    const real *x, *dy, *gamma, *beta;
    real *out, *partial;                      /* of each sample a line for dgamma and one for dbeta */
    uint64_t samples, places, channels, each; /* each: channels of a group */
    double epsilon;
};

#ifndef LL_DOUBLE
uint64_t ll_group_norm_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    return ll_mul(ll_mul(2, op->in[1].dim[0]), ll_size_bytes(&op->in[2]));
}
#endif

static struct grouped grouped_of(const struct ll_kernel_call *call)
{
    const struct ll_shape *x = &call->op->in[0];
    const uint64_t channels = x->dim[x->rank - 1], samples = x->rank > 1 ? x->dim[0] : 1,
                   groups = (uint64_t)ll_attr_count(call->op, LL_ATTR_GROUPS, 1);
    assert(groups > 0 && channels % groups == 0);
    return (struct grouped){.out = call->out[0],
                            .partial = call->workspace,
                            .samples = samples,
                            .places = samples > 0 && channels > 0 ? ll_elements(x) / (samples * channels) : 0,
                            .channels = channels,
                            .each = channels / groups,
                            .epsilon = ll_attr_real(call->op, LL_ATTR_EPSILON, 1e-5)};
}

/* Sums of a group, which begins at x and whose places are g->channels apart: mean, and factor around it. */
struct spread {
    real mean, factor;
};

static LL_INLINE struct spread spread_of(const struct grouped *g, const real *x)
{
    const double count = (double)g->places * (double)g->each;
    double sum = 0, squares = 0;
    for (uint64_t p = 0; p < g->places; p++)
        for (uint64_t c = 0; c < g->each; c++)
            sum += (double)x[p * g->channels + c];
    const real mean = (real)(sum / count);
    for (uint64_t p = 0; p < g->places; p++)
        for (uint64_t c = 0; c < g->each; c++) {
            const real far = x[p * g->channels + c] - mean;
            squares += (double)(far * far);
        }
    return (struct spread){mean, (real)(1 / sqrt(squares / count + g->epsilon))};
}

LL_FAST static void group_normalise(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct grouped *g = context;
    for (uint64_t n = begin; n < end; n++)
        for (uint64_t first = 0; first < g->channels; first += g->each) {
            const real *x = g->x + n * g->places * g->channels + first;
            real *restrict y = g->out + n * g->places * g->channels + first;
            const struct spread s = spread_of(g, x);
            for (uint64_t p = 0; p < g->places; p++)
                for (uint64_t c = 0; c < g->each; c++)
                    y[p * g->channels + c] =
                        g->gamma[first + c] * ((x[p * g->channels + c] - s.mean) * s.factor) +
                        (g->beta ? g->beta[first + c] : 0);
        }
}

LL_KERNEL(GROUP_NORM)
{
    struct grouped g = grouped_of(call);
    g.x = call->in[0];
    g.gamma = call->in[1];
    g.beta = call->op->input_count > 2 ? call->in[2] : NULL;
    ll_pool_run(call->pool, g.samples, 1, group_normalise, &g);
}

/* One group: dx, and what it adds to its channels' sums. */
static LL_INLINE void group_flows_back(const struct grouped *g, uint64_t n, uint64_t first,
                                       real *restrict dgamma, real *restrict dbeta)
{
    const uint64_t at = n * g->places * g->channels + first;
    const real *x = g->x + at, *dy = g->dy + at, *gamma = g->gamma + first;
    real *restrict dx = g->out + at;
    const struct spread s = spread_of(g, x);
    const double count = (double)g->places * (double)g->each;
    double plain = 0, weighed = 0;
    for (uint64_t p = 0; p < g->places; p++)
        for (uint64_t c = 0; c < g->each; c++) {
            const real h = (x[p * g->channels + c] - s.mean) * s.factor, flow = dy[p * g->channels + c];
            plain += (double)(gamma[c] * flow);
            weighed += (double)(gamma[c] * flow * h);
            dgamma[first + c] += flow * h;
            dbeta[first + c] += flow;
        }
    const real shift = (real)(plain / count), slope = (real)(weighed / count);
    for (uint64_t p = 0; p < g->places; p++)
        for (uint64_t c = 0; c < g->each; c++) {
            const real h = (x[p * g->channels + c] - s.mean) * s.factor;
            dx[p * g->channels + c] = s.factor * (gamma[c] * dy[p * g->channels + c] - shift - h * slope);
        }
}

LL_FAST static void groups_flow_back(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct grouped *g = context;
    for (uint64_t n = begin; n < end; n++) {
        real *dgamma = g->partial + n * 2 * g->channels, *dbeta = dgamma + g->channels;
        memset(dgamma, 0, 2 * g->channels * sizeof(real));
        for (uint64_t first = 0; first < g->channels; first += g->each)
            group_flows_back(g, n, first, dgamma, dbeta);
    }
}

LL_KERNEL(GROUP_NORM_GRAD)
{
    struct grouped g = grouped_of(call);
    g.dy = call->in[0];
    g.x = call->in[1];
    g.gamma = call->in[2];
    ll_pool_run(call->pool, g.samples, 1, groups_flow_back, &g);
    for (uint64_t c = 0; c < 2 * g.channels; c++) {
        double sum = 0;
        for (uint64_t n = 0; n < g.samples; n++)
            sum += (double)g.partial[n * 2 * g.channels + c];
        ((real *)call->out[1 + (c >= g.channels)])[c % g.channels] = (real)sum;
    }
}

/* Local response normalisation over neighbouring channels (Krizhevsky et al., 2012, section 3.3, with
 * TensorFlow's convention for alpha):
 *
 *     s_c = bias + alpha sum_{|j - c| <= radius} x_j^2          y_c = x_c s_c^-beta
 *     dx_c = dy_c s_c^-beta - 2 alpha beta x_c sum_{|j - c| <= radius} dy_j y_j / s_j */

enum { PIXELS = 64 };

#ifndef LL_DOUBLE
/* For each thread the sums s and one more line of channels. */
uint64_t ll_lrn_workspace(const struct ll_op_view *op, unsigned threads)
{
    uint64_t channels = op->in[0].dim[op->in[0].rank - 1];
    return ll_mul(threads, ll_mul(2 * channels, ll_dtype_bytes((enum ll_dtype)op->in[0].dtype)));
}
#endif

struct normalisation {
    const real *x, *dy, *y;
    real *out, *scratch;
    int64_t channels, radius;
    real bias, alpha, beta;
};

static struct normalisation normalisation_of(const struct ll_kernel_call *call)
{
    const struct ll_shape *shape = &call->op->in[0];
    return (struct normalisation){
        .out = call->out[0],
        .scratch = call->workspace,
        .channels = (int64_t)shape->dim[shape->rank - 1],
        .radius = ll_attr_count(call->op, LL_ATTR_RADIUS, 0),
        .bias = (real)ll_attr_real(call->op, LL_ATTR_BIAS, 1),
        .alpha = (real)ll_attr_real(call->op, LL_ATTR_ALPHA, 1),
        .beta = (real)ll_attr_real(call->op, LL_ATTR_BETA, 0.5),
    };
}

/* sum_c = start + the terms of the channels around c, one neighbour after the other. */
static LL_INLINE void window_sums(const real *restrict term, real *restrict sum, real start, int64_t channels,
                                  int64_t radius)
{
    for (int64_t c = 0; c < channels; c++)
        sum[c] = start;
    for (int64_t j = -radius; j <= radius; j++) {
        int64_t from = j < 0 ? -j : 0, to = j > 0 ? channels - j : channels;
        for (int64_t c = from; c < to; c++)
            sum[c] += term[c + j];
    }
}

/* s^-beta; square roots are much cheaper than a power, and AlexNet's beta is 3/4. */
static LL_INLINE real damped(real s, real beta)
{
    return beta == (real)0.75 ? 1 / (LL_SQRT(s) * LL_SQRT(LL_SQRT(s))) : (real)pow((double)s, -(double)beta);
}

static LL_INLINE void sums_of_squares(const struct normalisation *n, const real *x, real *restrict term,
                                      real *restrict sum)
{
    for (int64_t c = 0; c < n->channels; c++)
        term[c] = n->alpha * x[c] * x[c];
    window_sums(term, sum, n->bias, n->channels, n->radius);
}

LL_FAST static void lrn_normalise(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct normalisation *n = context;
    real *term = n->scratch + ll_pool_worker() * 2 * (uint64_t)n->channels, *sum = term + n->channels;
    const real beta = n->beta;
    for (uint64_t pixel = begin; pixel < end; pixel++) {
        const real *x = n->x + pixel * (uint64_t)n->channels;
        real *restrict y = n->out + pixel * (uint64_t)n->channels;
        sums_of_squares(n, x, term, sum);
        for (int64_t c = 0; c < n->channels; c++)
            y[c] = x[c] * damped(sum[c], beta);
    }
}

LL_FAST static void normalise_grad(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct normalisation *n = context;
    real *restrict term = n->scratch + ll_pool_worker() * 2 * (uint64_t)n->channels,
                   *sum = term + n->channels;
    const real beta = n->beta, factor = -2 * n->alpha * n->beta;
    for (uint64_t pixel = begin; pixel < end; pixel++) {
        uint64_t first = pixel * (uint64_t)n->channels;
        const real *x = n->x + first, *dy = n->dy + first, *y = n->y + first;
        real *restrict dx = n->out + first;
        sums_of_squares(n, x, term, sum);
        for (int64_t c = 0; c < n->channels; c++) {
            dx[c] = dy[c] * damped(sum[c], beta);
            term[c] = dy[c] * y[c] / sum[c];
        }
        window_sums(term, sum, 0, n->channels, n->radius);
        for (int64_t c = 0; c < n->channels; c++)
            dx[c] += factor * x[c] * sum[c];
    }
}

static uint64_t pixels_of(const struct normalisation *n, const struct ll_shape *shape)
{
    return n->channels ? ll_elements(shape) / (uint64_t)n->channels : 0;
}

LL_KERNEL(LRN)
{
    struct normalisation n = normalisation_of(call);
    n.x = call->in[0];
    ll_pool_run(call->pool, pixels_of(&n, &call->op->in[0]), PIXELS, lrn_normalise, &n);
}

LL_KERNEL(LRN_GRAD)
{
    struct normalisation n = normalisation_of(call);
    n.dy = call->in[0];
    n.x = call->in[1];
    n.y = call->in[2];
    ll_pool_run(call->pool, pixels_of(&n, &call->op->in[0]), PIXELS, normalise_grad, &n);
}
