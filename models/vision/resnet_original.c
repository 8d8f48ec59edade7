/* SPDX-License-Identifier: Apache-2.0 */
#include "models/vision/resnet_original.h"

#include "models/nn/formula.h"

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

static struct ll_value *unit(struct ll_nn *nn, const struct ll_resnet *net, struct ll_value *x,
                             uint64_t channels, uint64_t stride)
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
            x = unit(nn, net, x, net->channels << stage, stage > 0 && i == 0 ? 2 : 1);
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
