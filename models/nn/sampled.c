/* SPDX-License-Identifier: Apache-2.0 */
/* The logits of the right class and of the samples, each less the logarithm of how often its class was to be
 * expected among the samples; then softmax over 1 + samples classes, of which the first is the right one. */
#include "models/nn/sampled.h"

#include "models/nn/formula.h"

#include <float.h>

struct candidates {
    struct ll_value *classes, *expected_labels, *expected;
};

static struct candidates draw(struct ll_nn *nn, const struct ll_sampled_softmax *softmax,
                              struct ll_value *labels)
{
    struct ll_attr attrs[] = {
        ll_attr_of_count(LL_ATTR_SEED, (int64_t)softmax->chance->seed),
        ll_attr_of_count(LL_ATTR_STREAM, (int64_t)softmax->chance->streams++),
        ll_attr_of_count(LL_ATTR_SAMPLES, (int64_t)softmax->samples),
        ll_attr_of_count(LL_ATTR_RANGE, (int64_t)softmax->biases->shape.dim[0]),
    };
    struct ll_value *classes =
        ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_LOG_UNIFORM_SAMPLE,
                                          .input_count = 2,
                                          .inputs = (struct ll_value *[]){softmax->chance->step, labels},
                                          .attr_count = sizeof attrs / sizeof *attrs,
                                          .attrs = attrs});
    if (!classes->producer)
        return (struct candidates){classes, classes, classes};
    struct ll_value **outputs = classes->producer->outputs;
    return (struct candidates){outputs[0], outputs[1], outputs[2]};
}

/* [n] seen as [n, 1]. */
static struct ll_value *as_column(struct ll_nn *nn, struct ll_value *x)
{
    struct ll_shape column = x->shape;
    column.dim[column.rank++] = 1;
    return ll_seen_as(nn, x, &column);
}

/* Rows without a chance where the sample is the right class: as far below all others as floats go. */
static struct ll_value *remove_hits(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels,
                                    struct ll_value *samples)
{
    struct ll_value *hits = ll_as_real(nn, ll_nn_do2(nn, LL_OP_EQUAL, as_column(nn, labels), samples));
    return ll_add_of(nn, logits, ll_scaled(nn, hits, "lowest", -(double)FLT_MAX));
}

/* The targets of a batch: the first class is right, the samples behind it are not. */
static struct ll_value *first_class(struct ll_nn *nn, uint64_t batch, uint64_t samples)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    struct ll_shape right = ll_nn_shape(nn, 2, (uint64_t[]){batch, 1}, roles);
    struct ll_shape others = ll_nn_shape(nn, 2, (uint64_t[]){batch, samples}, roles);
    return ll_joined(nn, (struct ll_value *[]){ll_filled(nn, "ones", &right, 1), ll_zeros(nn, &others)}, 2,
                     1);
}

struct ll_value *ll_sampled_softmax_loss(struct ll_nn *nn, const struct ll_sampled_softmax *softmax,
                                         struct ll_value *x, struct ll_value *labels)
{
    const uint64_t batch = labels->shape.dim[0], samples = softmax->samples;
    ll_nn_push(nn, "sampled_softmax");
    struct candidates drawn = draw(nn, softmax, labels);
    struct ll_value *all = ll_joined(nn, (struct ll_value *[]){labels, drawn.classes}, 2, 0);
    struct ll_value *weights = ll_gathered(nn, softmax->weights, all);
    struct ll_value *biases = ll_gathered(nn, softmax->biases, all);
    struct ll_value *right = ll_sum_over(nn, ll_mul_of(nn, x, ll_sliced(nn, weights, 0, 0, batch)), 1, 1);
    right = ll_add_of(nn, right, ll_sliced(nn, biases, 0, 0, batch));
    right = ll_sub_of(nn, right, ll_nn_do1(nn, LL_OP_LOG, drawn.expected_labels));
    struct ll_value *others = ll_matmul_transposed(nn, x, ll_sliced(nn, weights, 0, batch, samples));
    others = ll_nn_do2(nn, LL_OP_BIAS_ADD, others, ll_sliced(nn, biases, 0, batch, samples));
    others = remove_hits(nn, others, labels, drawn.classes);
    others = ll_sub_of(nn, others, ll_nn_do1(nn, LL_OP_LOG, drawn.expected));
    struct ll_value *logits = ll_joined(nn, (struct ll_value *[]){as_column(nn, right), others}, 2, 1);
    struct ll_value *loss = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT_DENSE, logits, first_class(nn, batch, samples));
    ll_nn_pop(nn);
    return loss;
}
