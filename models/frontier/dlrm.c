/* SPDX-License-Identifier: Apache-2.0 */
/* Deep learning recommendation (Naumov et al., 2019) as MLPerf trains it on Criteo's terabyte of clicks:
 * will this user click on that? 13 numbers go through three layers, 26 categories each have a table of
 * embeddings; what these 27 vectors of f features have to do with each other is what the layers on top
 * read.
 *
 *   dot      products of all pairs, and the numbers' vector: 351 + f          (MLPerf training 0.7 to 2.1)
 *   cross    x0 (V W x + b) + x, three times, of all 27 f, by matrices of rank 512 (DCN-V2, Wang et
 *            al., 2021; MLPerf training from 3.0 on, where a category has up to 100 values, whose embeddings
 *            are added)
 *
 * With R rows of all tables and 13, 512, 256, f features below, 1024, 1024, 512, 256, 1 above:
 *
 *     parameters       R f + sums over layers of inputs x outputs + outputs     24,036,595,969 of `dot`
 *     forward FLOPs    2 of each weight of a layer, and 2 x 27^2 f for the pairs, of a sample
 *
 * Here clicks lie within kinds of the first two categories; samples that are scored are others than those
 * that are learned. */
#include "models/feed.h"
#include "models/frontier/decoder.h"
#include "models/nn/layers.h"
#include "models/nn/nn.h"
#include "models/nn/runner.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

enum { INTERACTION, ROWS, BAG, FACTORS, WIDTH, RANK, KINDS, DTYPE, RATE, PARAMS };
enum {
    DOT,
    CROSS,
    UNSEEN_BATCHES = 4,
    NUMBERS = 13,
    TABLES = 26,
    VECTORS = TABLES + 1,
    CROSSES = 3,
    MEETINGS = VECTORS * (VECTORS - 1) / 2
};

static const char *const interactions[] = {"dot", "cross", NULL};
static const struct ll_model_param params[PARAMS] = {
    [INTERACTION] = {"interaction", DOT, DOT, CROSS, "how embeddings meet"},
    [ROWS] = {"rows", 1 << 30, 1, 1 << 30, "of a table, at most"},
    [BAG] = {"bag", 0, 0, 1 << 16, "values of each category, whose embeddings are added; 0: as in MLPerf"},
    [FACTORS] = {"factors", 128, 1, 1 << 12, "features of an embedding"},
    [WIDTH] = {"width", 1024, 8, 1 << 16,
               "features of the layers on top, a multiple of 8; below half of it at most"},
    [RANK] = {"rank", 512, 1, 1 << 16, "of the matrices of a cross layer"},
    [KINDS] = {"kinds", 4, 2, 1 << 16, "of values that are made up"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [RATE] = {"rate", 100000, 1, 10000000, "of learning, in millionths"},
};
static const char *const *const words[PARAMS] = {[INTERACTION] = interactions, [DTYPE] = ll_decoder_dtypes};

/* Values of each category: of Criteo's data with indices below 40 million, as the reference of MLPerf
 * training 0.7 makes them, and those of its data of several values, with how many a sample has. */
static const struct category {
    uint64_t dot_rows, cross_rows, cross_bag;
} categories[TABLES] = {
    {39884406, 40000000, 3},
    {39043, 39060, 2},
    {17289, 17295, 1},
    {7420, 7424, 2},
    {20263, 20265, 6},
    {3, 3, 1},
    {7120, 7122, 1},
    {1543, 1543, 1},
    {63, 63, 1},
    {38532951, 40000000, 7},
    {2953546, 3067956, 3},
    {403346, 405282, 8},
    {10, 10, 1},
    {2208, 2209, 6},
    {11938, 11938, 9},
    {155, 155, 5},
    {4, 4, 1},
    {976, 976, 1},
    {14, 14, 1},
    {39979771, 40000000, 12},
    {25641295, 40000000, 100},
    {39664984, 40000000, 27},
    {585935, 590152, 10},
    {12972, 12973, 3},
    {108, 108, 1},
    {36, 36, 1},
};

struct dlrm {
    struct ll_nn *nn;
    uint64_t batch, factors, width, rank, kinds, seed;
    uint64_t rows[TABLES], bags[TABLES];
    bool crosses, narrow, held; /* narrow, held: as of ncf.c */
    struct ll_value *clicks;    /* of the program that is evaluated: above 0 for a click */
    uint32_t program;
};

/* A draw of sample n of a part. */
static uint64_t drawn(const struct dlrm *m, enum ll_data_part part, uint64_t n, uint64_t what)
{
    return ll_random_bits(ll_random_key(ll_random_key(m->seed, part), n), what);
}

/* Value i of a category of sample n: those of one bag are of one kind. */
static uint64_t value_of(const struct dlrm *m, enum ll_data_part part, uint64_t n, unsigned table, uint64_t i)
{
    const uint64_t first = NUMBERS + table * ((uint64_t)1 << 32), rows = m->rows[table];
    const uint64_t value = drawn(m, part, n, first) % rows, kind = value % m->kinds;
    if (i == 0)
        return value;
    return kind + m->kinds * (drawn(m, part, n, first + i) % ((rows - kind - 1) / m->kinds + 1));
}

static bool clicks(const struct dlrm *m, enum ll_data_part part, uint64_t n)
{
    return value_of(m, part, n, 0, 0) % m->kinds == value_of(m, part, n, 1, 0) % m->kinds;
}

struct feed {
    const struct dlrm *model;
    enum ll_data_part part;
    unsigned table;
};

static void fill_numbers(void *context, uint64_t step, float *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->model->batch * NUMBERS; i++) {
        const uint64_t n = step * feed->model->batch + i / NUMBERS;
        data[i] = (float)(drawn(feed->model, feed->part, n, i % NUMBERS) % 1024) / 1024;
    }
}

static void fill_values(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    const uint64_t bag = feed->model->bags[feed->table];
    for (uint64_t i = 0; i < feed->model->batch * bag; i++)
        data[i] = (int32_t)value_of(feed->model, feed->part, step * feed->model->batch + i / bag, feed->table,
                                    i % bag);
}

static void fill_clicks(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->model->batch; i++)
        data[i] = clicks(feed->model, feed->part, step * feed->model->batch + i);
}

static struct feed *feed_of(const struct dlrm *m, enum ll_data_part part, unsigned table)
{
    const struct feed feed = {m, part, table};
    struct feed *copy = ll_copy(&m->nn->arena, &feed, sizeof feed);
    if (!copy)
        ll_nn_fail(m->nn, "memory ran out");
    return copy;
}

/* --- the network --- */

static struct ll_value *dense(const struct dlrm *m, const char *name, unsigned number, struct ll_value *x,
                              uint64_t units, enum ll_activation activation)
{
    struct ll_nn *nn = m->nn;
    if (nn->trouble)
        return &nn->nothing;
    ll_nn_push_numbered(nn, name, number);
    const double gain = activation == LL_RELU ? 2 : 1;
    x = ll_dense_layer(nn, "dense", x,
                       &(struct ll_dense_options){.units = units,
                                                  .activation = activation,
                                                  .init = ll_init_fan_in(x->shape.dim[1], gain),
                                                  .narrow = m->narrow,
                                                  .held = m->held});
    ll_nn_pop(nn);
    return x;
}

/* The sum of the embeddings of a category's values, [batch, factors]; tables keep 32 bits, as in mixed
 * precision. */
static struct ll_value *embedded(const struct dlrm *m, enum ll_data_part part, unsigned table)
{
    struct ll_nn *nn = m->nn;
    const uint64_t bag = m->bags[table];
    struct feed *feed = feed_of(m, part, table);
    if (!feed)
        return &nn->nothing;
    ll_nn_push_numbered(nn, "category", table);
    struct ll_shape indices = ll_nn_shape(nn, bag > 1 ? 2 : 1, (uint64_t[]){m->batch, bag},
                                          (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN});
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){m->rows[table], m->factors},
                                        (enum ll_role[]){LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN});
    shape.dtype = (uint8_t)(ll_dtype_bytes(nn->real) < ll_dtype_bytes(LL_F32) ? LL_F32 : nn->real);
    struct ll_value *rows =
        ll_nn_variable(nn, "embeddings", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.1, NULL});
    rows = ll_nn_gather(nn, rows, ll_feed_indices(nn, "values", &indices, fill_values, feed));
    if (bag > 1)
        rows = ll_sum_over(nn, rows, 1, 1);
    if (rows->shape.dtype != nn->real && !nn->trouble)
        rows = ll_as_real(nn, rows);
    ll_nn_pop(nn);
    return rows;
}

/* Places below the diagonal of a square of VECTORS rows. */
static void fill_pairs(void *context, uint64_t step, int32_t *data)
{
    (void)context;
    (void)step;
    for (int32_t row = 0; row < VECTORS; row++)
        for (int32_t column = 0; column < row; column++)
            *data++ = row * VECTORS + column;
}

/* Products of all pairs of vectors[batch, VECTORS, factors], each once: [batch, MEETINGS]. */
static struct ll_value *pairs(const struct dlrm *m, struct ll_value *vectors)
{
    struct ll_nn *nn = m->nn;
    const uint64_t meetings = MEETINGS;
    struct ll_shape lines = ll_nn_shape(nn, 2, (uint64_t[]){VECTORS * VECTORS, m->batch},
                                        (enum ll_role[]){LL_ROLE_CHANNEL, LL_ROLE_BATCH}),
                    list = ll_nn_shape(nn, 1, &meetings, NULL);
    struct ll_value *products = ll_nn_transpose(nn, ll_matmul_transposed(nn, vectors, vectors), 120);
    struct ll_value *places = ll_feed_indices(nn, "pairs", &list, fill_pairs, NULL);
    return ll_nn_transpose(nn, ll_nn_gather(nn, ll_nn_reshape(nn, products, &lines), places), 10);
}

/* x0 (V W x + b) + x, for each of the layers. */
static struct ll_value *crossed(const struct dlrm *m, struct ll_value *first)
{
    struct ll_nn *nn = m->nn;
    struct ll_value *x = first;
    for (unsigned i = 0; i < CROSSES && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "cross", i);
        const struct ll_dense_options low = {.units = m->rank,
                                             .bias = LL_NO_BIAS,
                                             .init = ll_init_fan_in(x->shape.dim[1], 1),
                                             .narrow = m->narrow,
                                             .held = m->held};
        struct ll_value *y = ll_dense_layer(nn, "low", x, &low);
        y = ll_dense_layer(nn, "high", y,
                           &(struct ll_dense_options){.units = x->shape.dim[1],
                                                      .init = ll_init_fan_in(m->rank, 0.1),
                                                      .narrow = m->narrow,
                                                      .held = m->held});
        x = ll_add_of(nn, ll_mul_of(nn, first, y), x);
        ll_nn_pop(nn);
    }
    return x;
}

/* One number for each sample, [batch, 1]. */
static struct ll_value *net(const struct dlrm *m, enum ll_data_part part)
{
    struct ll_nn *nn = m->nn;
    struct ll_shape shape =
        ll_nn_shape(nn, 2, (uint64_t[]){m->batch, NUMBERS}, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_value *vectors[VECTORS], *x = &nn->nothing;
    struct feed *feed = feed_of(m, part, 0);
    if (feed)
        x = ll_feed_floats(nn, "numbers", &shape, fill_numbers, feed);
    const uint64_t below[] = {m->width / 2, m->width / 4, m->factors},
                   above[] = {m->width, m->width, m->width / 2, m->width / 4};
    for (unsigned i = 0; i < sizeof below / sizeof *below; i++)
        x = dense(m, "bottom", i, x, below[i], LL_RELU);
    vectors[0] = x;
    for (unsigned i = 0; i < TABLES; i++)
        vectors[i + 1] = embedded(m, part, i);
    ll_nn_push(nn, "interaction");
    struct ll_value *all = ll_nn_concat(nn, vectors, VECTORS, 1);
    if (m->crosses) {
        x = crossed(m, all);
    } else {
        struct ll_shape apart = ll_nn_shape(nn, 3, (uint64_t[]){m->batch, VECTORS, m->factors},
                                            (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_CHANNEL, LL_ROLE_HIDDEN});
        struct ll_value *both[] = {x, pairs(m, ll_nn_reshape(nn, all, &apart))};
        x = ll_nn_concat(nn, both, 2, 1);
    }
    ll_nn_pop(nn);
    for (unsigned i = 0; i < sizeof above / sizeof *above; i++)
        x = dense(m, "top", i, x, above[i], LL_RELU);
    return dense(m, "top", sizeof above / sizeof *above, x, 1, LL_LINEAR);
}

/* The mean logistic loss: the focal loss with neither weights nor focus is half of it. */
static struct ll_value *loss_of(struct dlrm *m, struct ll_value *logits)
{
    struct ll_nn *nn = m->nn;
    struct feed *feed = feed_of(m, LL_LEARNED, 0);
    struct ll_shape shape = ll_nn_shape(nn, 1, &m->batch, (enum ll_role[]){LL_ROLE_BATCH});
    if (!feed)
        return &nn->nothing;
    struct ll_value *labels = ll_feed_indices(nn, "clicks", &shape, fill_clicks, feed);
    ll_nn_push(nn, "loss");
    struct ll_value *half = ll_nn_do1(nn, LL_OP_MEAN, ll_focal_loss(nn, logits, labels, 0.5, 0));
    struct ll_value *loss = ll_nn_mul_scalar(nn, half, "two", 2);
    ll_nn_pop(nn);
    return loss;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    const struct ll_optimizer sgd = {.kind = LL_SGD, .rate = (double)values[RATE] * 1e-6};
    struct dlrm *m = ll_alloc(&nn->arena, 1, sizeof *m);
    if (!m) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    *m = (struct dlrm){.nn = nn,
                       .batch = build->batch,
                       .factors = (uint64_t)values[FACTORS],
                       .width = (uint64_t)values[WIDTH],
                       .rank = (uint64_t)values[RANK],
                       .kinds = (uint64_t)values[KINDS],
                       .seed = build->seed,
                       .crosses = values[INTERACTION] == CROSS,
                       .narrow = ll_decoder_narrow(values[DTYPE]),
                       .held = ll_decoder_narrow(values[DTYPE]) && !build->train};
    for (unsigned i = 0; i < TABLES; i++) {
        const struct category *c = &categories[i];
        m->rows[i] = ll_min(m->crosses ? c->cross_rows : c->dot_rows, (uint64_t)values[ROWS]);
        m->bags[i] = values[BAG] ? (uint64_t)values[BAG] : m->crosses ? c->cross_bag : 1;
    }
    if (m->width % 8 != 0)
        ll_nn_fail(nn, "-p width=N is no multiple of 8");
    nn->real = ll_decoder_real(values[DTYPE], nn->real);
    ll_nn_drive(nn, &(struct ll_driver){.context = m});
    struct ll_value *logits = net(m, LL_LEARNED);
    if (!build->train)
        return logits;
    struct ll_value *loss = loss_of(m, logits);
    if (!nn->trouble)
        ll_minimise(nn, loss, &sgd);
    if (build->evaluate && !nn->trouble) {
        m->program = ll_nn_begin_program(nn);
        m->clicks = net(m, LL_HELD_BACK);
        ll_nn_keep(m->clicks);
    }
    return loss;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct dlrm *m = context;
    uint64_t right = 0;
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, m->program, step);
        for (uint64_t i = 0; i < m->batch; i++)
            right +=
                (ll_runner_element(runner, m->clicks, i) > 0) == clicks(m, LL_HELD_BACK, step * m->batch + i);
    }
    ll_scores_add(scores, (struct ll_score){"clicks", "share of unseen samples that are judged rightly",
                                            (double)right / (double)(UNSEEN_BATCHES * m->batch), false});
    return true;
}

const struct ll_model ll_model_dlrm = {
    .name = "dlrm",
    .suite = "frontier",
    .doc = "recommendation by embeddings that meet (MLPerf's DLRM, DLRM-DCNv2)",
    .default_batch = 65536,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .recipe = {.steps = 1500,
               .batch = 128,
               .settings = {{"rows", "24"}, {"factors", "8"}, {"width", "64"}, {"rate", "500000"}}},
    .evaluate = evaluate,
};
