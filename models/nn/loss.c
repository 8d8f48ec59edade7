/* SPDX-License-Identifier: Apache-2.0 */
#include "models/nn/loss.h"

#include "models/nn/formula.h"

struct ll_value *ll_softmax_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels)
{
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, logits, labels);
    struct ll_value *mean = ll_nn_do1(nn, LL_OP_MEAN, each);
    ll_nn_pop(nn);
    return mean;
}

struct ll_value *ll_ctc_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                             struct ll_value *lengths, struct ll_value *times)
{
    struct ll_value *inputs[] = {logits, labels, lengths, times};
    ll_nn_push(nn, "loss");
    struct ll_value *each =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_CTC_LOSS, .input_count = 4, .inputs = inputs});
    struct ll_value *mean = ll_nn_do1(nn, LL_OP_MEAN, each);
    ll_nn_pop(nn);
    return mean;
}

struct ll_value *ll_accuracy(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels)
{
    ll_nn_push(nn, "accuracy");
    struct ll_value *hit = ll_nn_do2(nn, LL_OP_EQUAL, ll_nn_do1(nn, LL_OP_ARGMAX, logits), labels);
    struct ll_value *one_or_zero = ll_as_real(nn, hit);
    struct ll_value *share = ll_nn_do1(nn, LL_OP_MEAN, one_or_zero);
    ll_nn_keep(share);
    ll_nn_pop(nn);
    return share;
}

struct ll_value *ll_focal_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                               double alpha, double gamma)
{
    struct ll_attr attrs[] = {ll_attr_of_real(LL_ATTR_ALPHA, alpha), ll_attr_of_real(LL_ATTR_GAMMA, gamma)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_FOCAL_LOSS,
                                             .input_count = 2,
                                             .inputs = (struct ll_value *[]){logits, labels},
                                             .attr_count = 2,
                                             .attrs = attrs});
}

struct ll_value *ll_smooth_l1(struct ll_nn *nn, struct ll_value *x, double limit)
{
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_LIMIT, limit);
    return ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_SMOOTH_L1, .input_count = 1, .inputs = &x, .attr_count = 1, .attrs = &attr});
}
