/* SPDX-License-Identifier: Apache-2.0 */
#include "models/vision/resnet.h"

#include "models/nn/formula.h"
#include "models/nn/init.h"

/* He et al., 2015, table 1. */
bool ll_resnet_plan(struct ll_nn *nn, int64_t depth, struct ll_resnet_plan *plan)
{
    static const struct {
        int64_t depth;
        struct ll_resnet_plan plan;
    } known[] = {
        {18, {{2, 2, 2, 2}, false}},  {34, {{3, 4, 6, 3}, false}},  {50, {{3, 4, 6, 3}, true}},
        {101, {{3, 4, 23, 3}, true}}, {152, {{3, 8, 36, 3}, true}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].depth == depth) {
            *plan = known[i].plan;
            return true;
        }
    ll_nn_fail(nn, "there is no residual network of %d layers; there are those of 18, 34, 50, 101 and 152",
               (int)depth);
    return false;
}

static struct ll_value *convolve(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t kernel,
                                 uint64_t stride, uint64_t filters)
{
    return ll_conv_layer(nn, name, x,
                         &(struct ll_conv_options){
                             .kernel = kernel,
                             .stride = stride,
                             .filters = filters,
                             .padding = LL_HALF,
                             .bias = LL_NO_BIAS,
                             .init = ll_init_keeping_size(kernel * kernel * ll_max(1, x->shape.dim[3]), 2),
                         });
}

struct ll_value *ll_resnet_activated(struct ll_nn *nn, const struct ll_resnet *net, const char *name,
                                     struct ll_value *x)
{
    return ll_nn_do1(nn, LL_OP_RELU, ll_batch_norm_layer(nn, name, x, &net->norm));
}

struct ll_value *ll_resnet_stem(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *images)
{
    struct ll_batch_norm_options data = net->norm;
    data.unscaled = true;
    ll_nn_push(nn, "stem");
    if (!net->plain_stem)
        images = ll_batch_norm_layer(nn, "data", images, &data);
    struct ll_value *x = convolve(nn, "conv", images, 7, 2, net->channels);
    if (!net->plain_stem)
        x = ll_resnet_activated(nn, net, "norm", x);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_HALF);
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *unit(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *x,
                             uint64_t channels, uint64_t stride, bool first)
{
    bool bottleneck = net->plan.bottleneck;
    uint64_t result = bottleneck ? 4 * channels : channels;
    struct ll_value *a = ll_resnet_activated(nn, net, "norm1", x), *y = a;
    y = convolve(nn, "conv1", y, bottleneck ? 1 : 3, bottleneck ? 1 : stride, channels);
    y = ll_resnet_activated(nn, net, "norm2", y);
    y = convolve(nn, "conv2", y, 3, bottleneck ? stride : 1, channels);
    if (bottleneck)
        y = convolve(nn, "conv3", ll_resnet_activated(nn, net, "norm3", y), 1, 1, result);
    struct ll_value *by = first ? convolve(nn, "shortcut", a, 1, stride, result) : x;
    return ll_add_of(nn, y, by);
}

struct ll_value *ll_resnet_stage(struct ll_nn *nn, const struct ll_resnet *net, unsigned stage,
                                 struct ll_value *x)
{
    ll_nn_push_numbered(nn, "stage", stage + 1);
    for (unsigned i = 0; i < net->plan.units[stage]; i++) {
        ll_nn_push_numbered(nn, "unit", i + 1);
        x = unit(nn, net, x, net->channels << stage, stage > 0 && i == 0 ? 2 : 1, i == 0);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    return x;
}

static struct ll_value *conv_norm(struct ll_nn *nn, const struct ll_resnet *net, const char *name,
                                  struct ll_value *x, uint64_t kernel, uint64_t stride, uint64_t filters,
                                  enum ll_activation activation)
{
    return ll_conv_norm_layer(nn, name, x,
                              &(struct ll_conv_options){.kernel = kernel,
                                                        .stride = stride,
                                                        .filters = filters,
                                                        .padding = LL_HALF,
                                                        .activation = activation},
                              &net->norm);
}

static struct ll_value *resnet_original_unit(struct ll_nn *nn, const struct ll_resnet *net,
                                             struct ll_value *x, uint64_t channels, uint64_t stride)
{
    bool bottleneck = net->plan.bottleneck;
    uint64_t result = bottleneck ? 4 * channels : channels;
    struct ll_value *y = x, *by = x;
    if (bottleneck)
        y = conv_norm(nn, net, "conv1", y, 1, 1, channels, LL_RELU);
    y = conv_norm(nn, net, bottleneck ? "conv2" : "conv1", y, 3, stride, channels, LL_RELU);
    y = conv_norm(nn, net, bottleneck ? "conv3" : "conv2", y, bottleneck ? 1 : 3, 1, result, LL_LINEAR);
    if (stride > 1 || x->shape.dim[3] != result)
        by = conv_norm(nn, net, "shortcut", x, 1, stride, result, LL_LINEAR);
    return ll_nn_do1(nn, LL_OP_RELU, ll_add_of(nn, y, by));
}

static struct ll_value *stages(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *x)
{
    for (unsigned stage = 0; stage < LL_RESNET_STAGES; stage++) {
        ll_nn_push_numbered(nn, "stage", stage + 1);
        for (unsigned i = 0; i < net->plan.units[stage]; i++) {
            ll_nn_push_numbered(nn, "unit", i + 1);
            x = resnet_original_unit(nn, net, x, net->channels << stage, stage > 0 && i == 0 ? 2 : 1);
            ll_nn_pop(nn);
        }
        ll_nn_pop(nn);
    }
    return x;
}

struct ll_value *ll_resnet_original(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *images)
{
    struct ll_value *x = conv_norm(nn, net, "stem", images, 7, 2, net->channels, LL_RELU);
    x = ll_max_pool_layer(nn, "pool", x, 3, 2, LL_HALF);
    return ll_global_average_pool(nn, "pool_all", stages(nn, net, x));
}
