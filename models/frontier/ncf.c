/* SPDX-License-Identifier: Apache-2.0 */
/* Neural collaborative filtering (He et al., 2017) as NVIDIA trains it on MovieLens 20m: does this user like
 * that item? Two pairs of embeddings, one multiplied and one joined and put through three layers, are joined
 * again for one number. With u users, i items, f factors and layers of 4 f, 2 f and f:
 *
 *     parameters       (u + i) 3 f + (4 f)^2 + 4 f + 8 f^2 + 2 f + 2 f^2 + f + 2 f + 1 = 31,832,577
 *     forward FLOPs    2 ((4 f)^2 + 8 f^2 + 2 f^2 + 2 f) of a pair
 *
 * Here users and items are of a few kinds, and likes lie within a kind; one pair in sixteen is held back. */
#include "models/feed.h"
#include "models/frontier/decoder.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/runner.h"
#include "tracer/base/random.h"

enum { USERS, ITEMS, FACTORS, KINDS, DTYPE, RATE, PARAMS };
enum { UNSEEN_BATCHES = 4 };

static const struct ll_model_param params[PARAMS] = {
    [USERS] = {"users", 138493, 1, 1 << 28, "whose likes are known"},
    [ITEMS] = {"items", 26744, 1, 1 << 28, "that they may like"},
    [FACTORS] = {"factors", 64, 1, 1 << 12,
                 "features that are multiplied; the joined ones are twice as many"},
    [KINDS] = {"kinds", 4, 2, 1 << 16, "of users and items that are made up"},
    [DTYPE] = {"dtype", 0, 0, 4, "of weights and activations; all but f32 with --dry-run"},
    [RATE] = {"rate", 4500, 1, 1000000, "of learning, in millionths"},
};
static const char *const *const words[PARAMS] = {[DTYPE] = ll_decoder_dtypes};

struct ncf {
    uint64_t batch, users, items, kinds, seed;
    bool narrow, held;      /* GEMMs with weights are of 8 bits; their weights are held in them */
    struct ll_value *likes; /* of the program that is evaluated: one number a pair, above 0 for a like */
    uint32_t program;
};

/* Pair n of a part: those that are held back are never learned. */
struct pair {
    uint64_t user, item;
    bool likes;
};

static struct pair pair_of(const struct ncf *ncf, enum ll_data_part part, uint64_t n)
{
    struct pair pair;
    uint64_t key = ll_random_key(ll_random_key(ncf->seed, part), n), draw = 0;
    bool held_back;
    do {
        pair.user = ll_random_bits(key, 2 * draw) % ncf->users;
        pair.item = ll_random_bits(key, 2 * draw + 1) % ncf->items;
        held_back = ll_random_bits(ncf->seed, pair.user * ncf->items + pair.item) % LL_ONE_HELD_BACK_OF == 0;
    } while (held_back != (part == LL_HELD_BACK) && ++draw < 100 * LL_ONE_HELD_BACK_OF);
    pair.likes = pair.user % ncf->kinds == pair.item % ncf->kinds;
    return pair;
}

struct feed {
    const struct ncf *ncf;
    enum ll_data_part part;
};

static void fill_users(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->ncf->batch; i++)
        data[i] = (int32_t)pair_of(feed->ncf, feed->part, step * feed->ncf->batch + i).user;
}

static void fill_items(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->ncf->batch; i++)
        data[i] = (int32_t)pair_of(feed->ncf, feed->part, step * feed->ncf->batch + i).item;
}

static void fill_likes(void *context, uint64_t step, int32_t *data)
{
    const struct feed *feed = context;
    for (uint64_t i = 0; i < feed->ncf->batch; i++)
        data[i] = pair_of(feed->ncf, feed->part, step * feed->ncf->batch + i).likes;
}

static struct ll_value *numbers(struct ll_nn *nn, const struct ncf *ncf, enum ll_data_part part,
                                const char *name, ll_fill_indices *fill)
{
    struct feed *feed = ll_alloc(&nn->arena, 1, sizeof *feed);
    if (!feed) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    *feed = (struct feed){ncf, part};
    struct ll_shape shape = ll_nn_shape(nn, 1, &ncf->batch, (enum ll_role[]){LL_ROLE_BATCH});
    return ll_feed_indices(nn, name, &shape, fill, feed);
}

/* Tables keep 32 bits where layers have fewer, as with automatic mixed precision. */
static struct ll_value *embedded(struct ll_nn *nn, const char *name, struct ll_value *indices, uint64_t rows,
                                 uint64_t features)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){rows, features}, roles);
    shape.dtype = (uint8_t)(ll_dtype_bytes(nn->real) < ll_dtype_bytes(LL_F32) ? LL_F32 : nn->real);
    const struct ll_init init = {LL_INIT_NORMAL, 0.1, NULL};
    return ll_nn_gather(nn, ll_nn_variable(nn, name, &shape, LL_WEIGHT, init), indices);
}

static struct ll_value *narrowed(struct ll_nn *nn, struct ll_value *x)
{
    return x->shape.dtype == nn->real ? x : ll_as_real(nn, x);
}

/* One number for each pair, [batch, 1]. */
static struct ll_value *net(struct ll_nn *nn, const struct ncf *ncf, enum ll_data_part part, uint64_t factors)
{
    static const char *const names[] = {"layer0", "layer1", "layer2"};
    struct ll_value *user = numbers(nn, ncf, part, "users", fill_users);
    struct ll_value *item = numbers(nn, ncf, part, "items", fill_items);
    ll_nn_push(nn, "embedding");
    struct ll_value *items = embedded(nn, "items_multiplied", item, ncf->items, factors);
    struct ll_value *product =
        ll_mul_of(nn, embedded(nn, "users_multiplied", user, ncf->users, factors), items);
    struct ll_value *joined[] = {embedded(nn, "users_joined", user, ncf->users, 2 * factors),
                                 embedded(nn, "items_joined", item, ncf->items, 2 * factors)};
    struct ll_value *x = narrowed(nn, ll_nn_concat(nn, joined, 2, 1));
    ll_nn_pop(nn);
    for (size_t i = 0; i < sizeof names / sizeof *names && !nn->trouble; i++)
        x = ll_dense_layer(nn, names[i], x,
                           &(struct ll_dense_options){.units = (4 * factors) >> i,
                                                      .activation = LL_RELU,
                                                      .init = ll_init_fan_in(x->shape.dim[1], 2),
                                                      .narrow = ncf->narrow,
                                                      .held = ncf->held});
    struct ll_value *both[] = {narrowed(nn, product), x};
    x = ll_nn_concat(nn, both, 2, 1);
    if (nn->trouble)
        return &nn->nothing;
    return ll_dense_layer(nn, "output", x,
                          &(struct ll_dense_options){.units = 1,
                                                     .init = ll_init_fan_in(x->shape.dim[1], 1),
                                                     .narrow = ncf->narrow,
                                                     .held = ncf->held});
}

/* The mean logistic loss: the focal loss with neither weights nor focus is half of it. */
static struct ll_value *loss_of(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels)
{
    ll_nn_push(nn, "loss");
    struct ll_value *half = ll_nn_do1(nn, LL_OP_MEAN, ll_focal_loss(nn, logits, labels, 0.5, 0));
    struct ll_value *loss = ll_nn_mul_scalar(nn, half, "two", 2);
    ll_nn_pop(nn);
    return loss;
}

/* A sample is one user with one item. Adam has the betas of the MLPerf reference (0.25, 0.5). */
static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const int64_t *values = build->params;
    const uint64_t factors = (uint64_t)values[FACTORS];
    const struct ll_optimizer adam = {
        .kind = LL_ADAM, .rate = (double)values[RATE] * 1e-6, .beta1 = 0.25, .beta2 = 0.5, .epsilon = 1e-8};
    struct ncf *ncf = ll_alloc(&nn->arena, 1, sizeof *ncf);
    if (!ncf) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    *ncf = (struct ncf){.batch = build->batch,
                        .users = (uint64_t)values[USERS],
                        .items = (uint64_t)values[ITEMS],
                        .kinds = (uint64_t)values[KINDS],
                        .seed = build->seed,
                        .narrow = ll_decoder_narrow(values[DTYPE]),
                        .held = ll_decoder_narrow(values[DTYPE]) && !build->train};
    nn->real = ll_decoder_real(values[DTYPE], nn->real);
    ll_nn_drive(nn, &(struct ll_driver){.context = ncf});
    struct ll_value *logits = net(nn, ncf, LL_LEARNED, factors);
    if (!build->train)
        return logits;
    struct ll_value *loss = loss_of(nn, logits, numbers(nn, ncf, LL_LEARNED, "likes", fill_likes));
    if (!nn->trouble)
        ll_minimise(nn, loss, &adam);
    if (build->evaluate && !nn->trouble) {
        ncf->program = ll_nn_begin_program(nn);
        ncf->likes = net(nn, ncf, LL_HELD_BACK, factors);
        ll_nn_keep(ncf->likes);
    }
    return loss;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct ncf *ncf = context;
    uint64_t right = 0;
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, ncf->program, step);
        for (uint64_t i = 0; i < ncf->batch; i++)
            right += (ll_runner_element(runner, ncf->likes, i) > 0) ==
                     pair_of(ncf, LL_HELD_BACK, step * ncf->batch + i).likes;
    }
    ll_scores_add(scores, (struct ll_score){"pairs", "share of unseen pairs that are judged rightly",
                                            (double)right / (double)(UNSEEN_BATCHES * ncf->batch), false});
    return true;
}

const struct ll_model ll_model_ncf = {
    .name = "ncf",
    .suite = "frontier",
    .doc = "recommendation by embeddings (neural collaborative filtering)",
    .default_batch = 1 << 20,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
    .recipe = {.steps = 600,
               .batch = 256,
               .settings = {{"users", "40"}, {"items", "30"}, {"factors", "8"}, {"rate", "3000"}}},
    .evaluate = evaluate,
};
