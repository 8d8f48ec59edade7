/* SPDX-License-Identifier: Apache-2.0 */
#include "models/paradnn/generated.h"

#include "models/feed.h"
#include "models/nn/formula.h"
#include "models/nn/optim.h"

static const enum ll_dtype dtypes[] = {LL_F32, LL_BF16, LL_F16};
const char *const ll_paradnn_dtypes[] = {"f32", "bf16", "f16", NULL};

void ll_paradnn_begin(struct ll_nn *nn, int64_t dtype)
{
    if (dtypes[dtype] != LL_F32)
        nn->real = dtypes[dtype];
}

struct ll_value *ll_paradnn_logits(struct ll_nn *nn, struct ll_value *logits)
{
    bool narrow = nn->real != nn->master;
    nn->real = nn->master;
    return narrow ? ll_as_real(nn, logits) : logits;
}

/* Class numbers as rows: the host's work, like whatever comes before the first op of the device. */
static struct ll_value *one_hot(struct ll_nn *nn, struct ll_value *labels, uint64_t classes)
{
    enum ll_phase phase = nn->phase;
    struct ll_attr depth = ll_attr_of_count(LL_ATTR_DEPTH, (int64_t)classes);
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){labels->shape.dim[0], classes},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_CLASSES});
    nn->phase = LL_PHASE_INPUT;
    ll_nn_push(nn, "labels");
    struct ll_value *rows = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_ONE_HOT,
                                                              .input_count = 1,
                                                              .inputs = &labels,
                                                              .attr_count = 1,
                                                              .attrs = &depth,
                                                              .given_count = 1,
                                                              .given = &shape});
    ll_nn_pop(nn);
    nn->phase = phase;
    return rows;
}

struct ll_value *ll_paradnn_loss(struct ll_nn *nn, struct ll_value *logits, const struct ll_images *samples)
{
    struct ll_value *labels = ll_feed_labels(nn, logits->shape.dim[0], samples);
    struct ll_value *rows = one_hot(nn, labels, samples->classes);
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT_DENSE, logits, rows);
    struct ll_value *loss = ll_nn_do1(nn, LL_OP_MEAN, each);
    ll_nn_pop(nn);
    return loss;
}

void ll_paradnn_minimise(struct ll_nn *nn, struct ll_value *loss, int64_t rate)
{
    ll_minimise(
        nn, loss,
        &(struct ll_optimizer){
            .kind = LL_RMSPROP, .rate = (double)rate / 1000, .momentum = 0.9, .decay = 0.9, .epsilon = 1});
}
