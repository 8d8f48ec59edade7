/* SPDX-License-Identifier: Apache-2.0 */
/* ParaDnn's fully connected networks (generated.h): as many layers of one width as asked for.
 *
 *   input I, dense N and ReLU, L - 1 times dense N and ReLU, dense O
 *
 * L layers in all have nodes; biases everywhere. I N + (L - 1) N^2 + N O + L N + O parameters and
 * 2 (I N + (L - 1) N^2 + N O) FLOP forward a sample: with 4 layers of 32 nodes, 2000 inputs and 200 outputs
 * 73,800 and 147,000 or so, with 128 of 8192, 8000 and 1000 8,597,603,304 and 17.19 GFLOP. */
#include "models/feed.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"
#include "models/paradnn/generated.h"

enum { LAYERS, NODES, INPUT, OUTPUT, DTYPE, RATE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [LAYERS] = {"layers", 8, 1, 4096, "that have nodes"},
    [NODES] = {"nodes", 1024, 1, 1 << 24, "of each layer"},
    [INPUT] = {"input", 2000, 1, 1 << 30, "numbers that a sample is"},
    [OUTPUT] = {"output", 1000, 2, 1 << 30, "classes to tell apart"},
    [DTYPE] = LL_PARADNN_DTYPE,
    [RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

static const char *const *const words[PARAMS] = {[DTYPE] = ll_paradnn_dtypes};

static struct ll_value *dense(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_activation activation)
{
    return ll_dense_layer(nn, name, x,
                          &(struct ll_dense_options){
                              .units = units,
                              .activation = activation,
                              .init = ll_init_keeping_size(x->shape.dim[1], activation == LL_RELU ? 2 : 1)});
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    uint64_t layers = (uint64_t)build->params[LAYERS], nodes = (uint64_t)build->params[NODES];
    const struct ll_images samples = {
        1, (uint64_t)build->params[INPUT], 1, (uint64_t)build->params[OUTPUT], build->seed, LL_LEARNED, NULL};
    ll_paradnn_begin(nn, build->params[DTYPE]);
    struct ll_value *x = ll_flatten(nn, ll_feed_images(nn, build->batch, &samples));
    ll_nn_push(nn, "hidden");
    for (uint64_t i = 0; i < layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", (unsigned)i + 1);
        x = dense(nn, "dense", x, nodes, LL_RELU);
        ll_nn_pop(nn);
    }
    ll_nn_pop(nn);
    struct ll_value *logits = ll_paradnn_logits(nn, dense(nn, "output", x, samples.classes, LL_LINEAR));
    if (!build->train)
        return logits;
    struct ll_value *loss = ll_paradnn_loss(nn, logits, &samples);
    ll_paradnn_minimise(nn, loss, build->params[RATE]);
    return loss;
}

const struct ll_model ll_model_paradnn_fc = {
    .name = "paradnn_fc",
    .suite = "paradnn",
    .doc = "fully connected networks of any depth and width",
    .default_batch = 64,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
};
