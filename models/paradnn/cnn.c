/* SPDX-License-Identifier: Apache-2.0 */
/* ParaDnn's convolutional networks (generated.h): residual networks with four groups of n blocks, residual or
 * bottleneck, of any width (He et al., 2015).
 *
 *   images of any size
 *   conv 7/2 F, normalise, ReLU, pool 3/2                              1/4 of the image
 *   group g = 1, 2, 3, 4: n blocks of f = F 2^(g-1), the first with stride 2 in all but the first group
 *       residual     relu(x + conv 3 f, conv 3 f)          normalised each, a ReLU between
 *       bottleneck   relu(x + conv 1 f, conv 3 f, conv 1 4f)
 *       in the first block of each group a conv 1 and normalisation take the place of x
 *   mean of windows of 7x7, dense O
 *
 * An image of 200 pixels is 7x7 behind the last group and 1x1 behind the mean, one of 300 10x10 and 4x4. The
 * averages of the normalisations are never updated. 16 filters, images of 200 and 500 classes: residual
 * blocks, one a group, 374,244 parameters and 0.131 GFLOP, bottlenecks 762,884 and 0.192. */
#include "models/feed.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"
#include "models/paradnn/generated.h"

enum { BLOCK, BLOCKS, FILTERS, IMAGE, OUTPUT, DTYPE, RATE, PARAMS };
enum { COLOURS = 3, GROUPS = 4, WINDOW = 7 };

static const struct ll_model_param params[PARAMS] = {
    [BLOCK] = {"block", 0, 0, 1, "of two convolutions or of three"},
    [BLOCKS] = {"blocks", 3, 1, 256, "of each group"},
    [FILTERS] = {"filters", 64, 1, 65536, "of the first convolution; the others follow"},
    [IMAGE] = {"image", 200, 193, 4096, "height and width of an image, in pixels"},
    [OUTPUT] = {"output", 1000, 2, 1 << 30, "classes to tell apart"},
    [DTYPE] = LL_PARADNN_DTYPE,
    [RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

static const char *const blocks[] = {"bottleneck", "residual", NULL};
static const char *const *const words[PARAMS] = {[BLOCK] = blocks, [DTYPE] = ll_paradnn_dtypes};

struct net {
    bool train, residual;
};

static struct ll_value *conv_norm(struct ll_nn *nn, const struct net *net, const char *name,
                                  struct ll_value *x, const struct ll_conv_options *conv, bool silent)
{
    struct ll_conv_options padded = *conv;
    padded.padding = LL_HALF;
    return ll_conv_norm_layer(
        nn, name, x, &padded,
        &(struct ll_batch_norm_options){
            .train = net->train, .still = true, .silent = silent, .epsilon = 1e-5, .decay = 0.9});
}

static struct ll_value *block(struct ll_nn *nn, const struct net *net, struct ll_value *x, uint64_t filters,
                              uint64_t stride, bool projects)
{
    const struct ll_conv_options narrow = {.kernel = 1, .filters = filters, .activation = LL_RELU},
                                 wide = {.kernel = 3,
                                         .filters = filters,
                                         .stride = stride,
                                         .activation = LL_RELU},
                                 last = {.kernel = net->residual ? 3 : 1,
                                         .filters = net->residual ? filters : 4 * filters},
                                 shortcut = {.kernel = 1, .filters = last.filters, .stride = stride};
    struct ll_value *by = projects ? conv_norm(nn, net, "shortcut", x, &shortcut, false) : x;
    if (!net->residual)
        x = conv_norm(nn, net, "conv1", x, &narrow, false);
    x = conv_norm(nn, net, net->residual ? "conv1" : "conv2", x, &wide, false);
    x = conv_norm(nn, net, net->residual ? "conv2" : "conv3", x, &last, true);
    return ll_nn_do1(nn, LL_OP_RELU, ll_add_of(nn, x, by));
}

static struct ll_value *group(struct ll_nn *nn, const struct net *net, struct ll_value *x, uint64_t count,
                              uint64_t filters, uint64_t stride)
{
    for (uint64_t i = 0; i < count && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "block", (unsigned)i + 1);
        x = block(nn, net, x, filters, i == 0 ? stride : 1, i == 0);
        ll_nn_pop(nn);
    }
    return x;
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *x, const struct ll_build *build)
{
    const struct net net = {build->train, build->params[BLOCK] == 1};
    const struct ll_conv_options stem = {
        .kernel = 7, .filters = (uint64_t)build->params[FILTERS], .stride = 2, .activation = LL_RELU};
    x = conv_norm(nn, &net, "stem", x, &stem, false);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_SAME);
    for (unsigned g = 0; g < GROUPS; g++) {
        ll_nn_push_numbered(nn, "group", g + 1);
        x = group(nn, &net, x, (uint64_t)build->params[BLOCKS], stem.filters << g, g == 0 ? 1 : 2);
        ll_nn_pop(nn);
    }
    x = ll_flatten(nn, ll_avg_pool_layer(nn, "mean", x, WINDOW, 1, LL_VALID));
    return ll_dense_layer(nn, "output", x,
                          &(struct ll_dense_options){.units = (uint64_t)build->params[OUTPUT],
                                                     .init = ll_init_keeping_size(x->shape.dim[1], 1)});
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    uint64_t size = (uint64_t)build->params[IMAGE];
    const struct ll_images samples = {size,        size,       COLOURS, (uint64_t)build->params[OUTPUT],
                                      build->seed, LL_LEARNED, NULL};
    ll_paradnn_begin(nn, build->params[DTYPE]);
    struct ll_value *images = ll_feed_images(nn, build->batch, &samples);
    struct ll_value *logits = ll_paradnn_logits(nn, forward(nn, images, build));
    if (!build->train)
        return logits;
    struct ll_value *loss = ll_paradnn_loss(nn, logits, &samples);
    ll_paradnn_minimise(nn, loss, build->params[RATE]);
    return loss;
}

const struct ll_model ll_model_paradnn_cnn = {
    .name = "paradnn_cnn",
    .suite = "paradnn",
    .doc = "residual networks of any depth and width",
    .default_batch = 64,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
};
