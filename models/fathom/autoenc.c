/* SPDX-License-Identifier: Apache-2.0 */
/* Fathom's autoenc (Adolf et al., 2016): a variational autoencoder (Kingma and Welling, 2014) of digits, as
 * the suite's code has it: one layer on either side, all of it linear, pixels standardised one by one, Adam.
 *
 *     mu = x W1 + b1      log variance = x Wl + bl      z = mu + sqrt(exp(log variance)) e,  e ~ N(0, 1)
 *     x' = z W2 + b2
 *     loss = mean over the batch of (1/2 sum of (x' - x)^2 - 1/2 sum of (1 + log variance - mu^2 - variance))
 *
 * Both sums are over one digit. The code sums the first over the whole batch, so that the second hardly
 * counts: then digits come back better, but what is decoded from normal numbers alone is the mean of all
 * digits; the ops are the same. e is drawn at inference, too. 784 pixels, 200 hidden: 471,584 parameters,
 * 940,800 FLOP forward a sample. */
#include "models/feed.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "models/nn/runner.h"

#include "models/data/images.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGE, HIDDEN };

static const struct ll_model_param params[] = {
    [IMAGE] = {"image", 28, 4, 512, "height and width of a digit, in pixels"},
    [HIDDEN] = {"hidden", 200, 1, 100000, "numbers that a digit becomes"},
};

enum { SEEN_DIGITS = 2048, UNSEEN_DIGITS = 256, FIRST_UNSEEN = 1 << 20 };
enum { RECONSTRUCTION = 1, DRAWING = 2 };
enum { UNSEEN = 1 << 30 }; /* steps from here on bring unseen digits */

/* Digits as they are, and what standardises a pixel. The driver's context. */
struct source {
    uint64_t batch, pixels, image, seed;
    bool made_up, ready;
    struct ll_arena arena;
    struct ll_idx files[2]; /* seen, unseen */
    float *digits[2];       /* [count, pixels], from 0 to 1 */
    uint64_t counts[2];
    float *mean, *scale; /* [pixels] */
    struct ll_value *input, *output, *drawn;
};

static void release(void *context)
{
    struct source *source = context;
    ll_arena_release(&source->arena);
    free(source);
}

static bool load(struct source *source, const struct ll_build *build)
{
    static const char *const names[2][3] = {{"train-images-idx3-ubyte", "train-images.idx3-ubyte", NULL},
                                            {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte", NULL}};
    for (int i = 0; i < 2; i++) {
        struct ll_idx *idx = &source->files[i];
        if (!ll_idx_load(build->data, names[i], &source->arena, idx, build->diags))
            return false;
        if (idx->rank != 3 || idx->dim[0] == 0 || idx->dim[1] != source->image ||
            idx->dim[2] != source->image)
            return ll_complain(build->diags, (struct ll_place){.file = build->data},
                               "%s: expected pictures of %d by %d pixels (-p image=N)", names[i][0],
                               (int)source->image, (int)source->image);
    }
    return true;
}

static struct source *open_source(const struct ll_build *build)
{
    struct source *source = calloc(1, sizeof *source);
    if (!source)
        return NULL;
    source->batch = build->batch;
    source->image = (uint64_t)build->params[IMAGE];
    source->pixels = source->image * source->image;
    source->seed = build->seed;
    source->made_up = !build->data;
    source->counts[0] = SEEN_DIGITS;
    source->counts[1] = UNSEEN_DIGITS;
    if (source->made_up || build->measure || load(source, build))
        return source;
    release(source);
    return NULL;
}

static void make_ready_part(struct source *source, int part)
{
    if (!source->made_up)
        source->counts[part] = source->files[part].dim[0];
    uint64_t count = source->counts[part], pixels = source->pixels;
    float *digits = source->digits[part] = ll_alloc(&source->arena, count * pixels, sizeof *digits);
    for (uint64_t i = 0; digits && i < count; i++)
        if (source->made_up)
            ll_digit_draw(source->seed, i + (part ? FIRST_UNSEEN : 0), source->image, digits + i * pixels);
        else
            for (uint64_t p = 0; p < pixels; p++)
                digits[i * pixels + p] = (float)source->files[part].bytes[i * pixels + p] / 255;
}

/* Mean and deviation of each pixel over the digits that are seen; one that hardly ever
 * changes is not scaled. */
static void standardise(struct source *source)
{
    uint64_t count = source->counts[0];
    for (uint64_t p = 0; p < source->pixels; p++) {
        double sum = 0, squares = 0;
        for (uint64_t i = 0; i < count; i++) {
            double value = (double)source->digits[0][i * source->pixels + p];
            sum += value;
            squares += value * value;
        }
        double mean = sum / (double)count, variance = squares / (double)count - mean * mean;
        source->mean[p] = (float)mean;
        source->scale[p] = variance > 1e-3 ? (float)sqrt(variance) : 1;
    }
}

/* Before the first step that is computed: a dry run needs no digits. False when memory ran out. */
static bool make_ready(struct source *source)
{
    if (source->ready)
        return true;
    source->mean = ll_alloc(&source->arena, source->pixels, sizeof *source->mean);
    source->scale = ll_alloc(&source->arena, source->pixels, sizeof *source->scale);
    make_ready_part(source, 0);
    make_ready_part(source, 1);
    source->ready = source->mean && source->scale && source->digits[0] && source->digits[1];
    if (source->ready)
        standardise(source);
    return source->ready;
}

static void fill_digits(void *context, uint64_t step, float *data)
{
    struct source *source = context;
    int part = step >= UNSEEN;
    memset(data, 0, source->batch * source->pixels * sizeof *data);
    if (!make_ready(source))
        return;
    for (uint64_t i = 0; i < source->batch; i++) {
        uint64_t sample = ((step % UNSEEN) * source->batch + i) % source->counts[part];
        const float *digit = source->digits[part] + sample * source->pixels;
        float *x = data + i * source->pixels;
        for (uint64_t p = 0; p < source->pixels; p++)
            x[p] = (digit[p] - source->mean[p]) / source->scale[p];
    }
}

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units)
{
    return ll_dense_layer(nn, name, x,
                          &(struct ll_dense_options){.units = units,
                                                     .init = ll_init_fan_in(x->shape.dim[1], 1),
                                                     .bias = LL_BIAS_BY_ADD});
}

/* What one pass through the network gives. */
struct pass {
    struct ll_value *x, *mu, *log_variance, *output;
};

static struct pass forward(struct ll_nn *nn, const struct ll_build *build, struct source *source)
{
    uint64_t hidden = (uint64_t)build->params[HIDDEN];
    struct ll_shape digits = ll_nn_shape(nn, 2, (uint64_t[]){build->batch, source->pixels},
                                         (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SPATIAL});
    struct ll_rng rng = ll_rng_begin(nn, build->seed);
    struct pass pass = {.x = ll_feed_floats(nn, "digits", &digits, fill_digits, source)};
    pass.mu = dense(nn, "mu", pass.x, hidden);
    pass.log_variance = dense(nn, "log_variance", pass.x, hidden);
    ll_nn_push(nn, "sample");
    struct ll_value *noise = ll_random_normal(nn, &rng, &pass.mu->shape);
    struct ll_value *deviation = ll_nn_do1(nn, LL_OP_SQRT, ll_nn_do1(nn, LL_OP_EXP, pass.log_variance));
    struct ll_value *z = ll_add_of(nn, pass.mu, ll_mul_of(nn, deviation, noise));
    ll_nn_pop(nn);
    pass.output = dense(nn, "decoder", z, source->pixels);
    return pass;
}

static struct ll_value *loss_of(struct ll_nn *nn, const struct pass *pass)
{
    ll_nn_push(nn, "loss");
    struct ll_value *two = ll_constant(nn, "two", 2);
    struct ll_value *error = ll_nn_do2(nn, LL_OP_POW, ll_sub_of(nn, pass->output, pass->x), two);
    struct ll_value *missed = ll_nn_mul_scalar(nn, ll_sum_over(nn, error, 1, 1), "half", 0.5);
    struct ll_value *spread = ll_add_of(nn, pass->log_variance, ll_constant(nn, "one", 1));
    spread = ll_sub_of(nn, spread, ll_nn_do1(nn, LL_OP_SQUARE, pass->mu));
    spread = ll_sub_of(nn, spread, ll_nn_do1(nn, LL_OP_EXP, pass->log_variance));
    struct ll_value *surprise = ll_nn_mul_scalar(nn, ll_sum_over(nn, spread, 1, 1), "minus_half", -0.5);
    struct ll_value *loss = ll_nn_do1(nn, LL_OP_MEAN, ll_add_of(nn, missed, surprise));
    ll_nn_pop(nn);
    return loss;
}

/* Unseen digits and what becomes of them; digits from normal numbers alone. */
static void add_evaluation(struct ll_nn *nn, const struct ll_build *build, struct source *source)
{
    ll_nn_begin_program(nn);
    struct pass pass = forward(nn, build, source);
    ll_nn_keep(source->input = pass.x);
    ll_nn_keep(source->output = pass.output);
    ll_nn_begin_program(nn);
    struct ll_rng rng = ll_rng_begin(nn, build->seed + 1);
    struct ll_shape z = ll_nn_shape(nn, 2, (uint64_t[]){build->batch, (uint64_t)build->params[HIDDEN]}, NULL);
    ll_nn_keep(source->drawn = dense(nn, "decoder", ll_random_normal(nn, &rng, &z), source->pixels));
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct source *source = open_source(build);
    if (!source) {
        ll_nn_fail(nn, build->diags->count ? "its data cannot be used" : "memory ran out");
        return &nn->nothing;
    }
    ll_nn_drive(nn, &(struct ll_driver){.context = source, .release = release});
    struct pass pass = forward(nn, build, source);
    if (!build->train)
        return pass.output;
    struct ll_value *loss = loss_of(nn, &pass);
    ll_minimise(
        nn, loss,
        &(struct ll_optimizer){.kind = LL_ADAM, .rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8});
    if (build->evaluate)
        add_evaluation(nn, build, source);
    return loss;
}

/* A row of pixels as a picture again. */
static void restore(const struct source *source, const float *x, float *picture)
{
    for (uint64_t p = 0; p < source->pixels; p++)
        picture[p] = x[p] * source->scale[p] + source->mean[p];
}

/* Three rows: unseen digits, what became of them, digits that were drawn. */
static bool draw(const struct source *source, struct ll_runner *runner, struct ll_scores *scores)
{
    struct ll_arena arena = {0};
    uint64_t columns = source->batch < 16 ? source->batch : 16;
    const struct ll_value *rows[] = {source->input, source->output, source->drawn};
    float *pictures = ll_alloc(&arena, 3 * columns * source->pixels, sizeof *pictures);
    const char *path = ll_format(&arena, "%s/digits.pgm", scores->folder);
    for (uint64_t i = 0; pictures && i < 3 * columns; i++) {
        const float *x = ll_runner_data(runner, rows[i / columns]);
        restore(source, x + i % columns * source->pixels, pictures + i * source->pixels);
    }
    enum ll_status status =
        pictures && path ? ll_picture_write_grid(path, pictures, source->image, columns, 3) : LL_NO_MEMORY;
    if (status != LL_OK)
        ll_complain(scores->diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    ll_arena_release(&arena);
    return status == LL_OK;
}

static bool evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct source *source = context;
    double missed = 0, all = 0;
    ll_runner_run(runner, RECONSTRUCTION, UNSEEN);
    ll_runner_run(runner, DRAWING, 0);
    if (ll_runner_status(runner) != LL_OK)
        return true; /* there are no digits; who runs the model says why */
    const float *x = ll_runner_data(runner, source->input), *y = ll_runner_data(runner, source->output);
    for (uint64_t i = 0; i < source->batch * source->pixels; i++) { /* of pixels as they are */
        double scale = (double)source->scale[i % source->pixels];
        missed += (double)(y[i] - x[i]) * (double)(y[i] - x[i]) * scale * scale;
        all += (double)x[i] * (double)x[i] * scale * scale;
    }
    ll_scores_add(scores, (struct ll_score){"explained", "share of unseen digits' variance that comes back",
                                            1 - missed / all, false});
    return !scores->folder || draw(source, runner, scores);
}

const struct ll_model ll_model_autoenc = {
    .name = "autoenc",
    .suite = "fathom",
    .doc = "variational autoencoder of digits",
    .data = "a folder with MNIST's train-images-idx3-ubyte and t10k-images-idx3-ubyte",
    .default_batch = 128,
    .params = params,
    .param_count = sizeof params / sizeof *params,
    .build = build,
    .recipe = {.steps = 1500, .batch = 128, .settings = {{"hidden", "40"}}},
    .shows = true,
    .evaluate = evaluate,
};
