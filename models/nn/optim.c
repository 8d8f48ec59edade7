/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of an op must not change from step to step, so that a trace's forms repeat: Adam's powers of
 * beta1 and beta2 are a tensor of two elements that one `mul` op advances each step. */
#include "models/nn/optim.h"

#include "models/nn/gradient.h"

#include <stdlib.h>
#include <string.h>

/* What all weights share: Adam's powers. */
struct update {
    const struct ll_optimizer *optimizer;
    struct ll_value *powers;
};

static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL}, one = {LL_INIT_CONSTANT, 1, NULL};

/* A variable of the weight's shape, named after it: "conv1/weights/momentum". */
static struct ll_value *state_of(struct ll_nn *nn, const struct ll_value *weight, const char *suffix)
{
    const char *slash = strrchr(weight->name, '/');
    const char *name = ll_format(&nn->arena, "%s/%s", slash ? slash + 1 : weight->name, suffix);
    return ll_nn_variable(nn, name ? name : suffix, &weight->shape, LL_OPTIMIZER, zero);
}

static void do_update(struct ll_nn *nn, enum ll_op_kind kind, uint32_t input_count,
                      struct ll_value *const *inputs, uint32_t attr_count, const struct ll_attr *attrs)
{
    ll_nn_do(nn, &(struct ll_call){.kind = kind,
                                   .input_count = input_count,
                                   .inputs = inputs,
                                   .attr_count = attr_count,
                                   .attrs = attrs});
}

static void update_SGD(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                       struct ll_value *gradient)
{
    struct ll_attr rate = ll_attr_of_real(LL_ATTR_LEARNING_RATE, update->optimizer->rate);
    do_update(nn, LL_OP_SGD, 2, (struct ll_value *[]){weight, gradient}, 1, &rate);
}

static void update_MOMENTUM(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                            struct ll_value *gradient)
{
    struct ll_attr attrs[] = {
        ll_attr_of_real(LL_ATTR_LEARNING_RATE, update->optimizer->rate),
        ll_attr_of_real(LL_ATTR_MOMENTUM, update->optimizer->momentum),
    };
    struct ll_value *inputs[] = {weight, state_of(nn, weight, "momentum"), gradient};
    do_update(nn, LL_OP_MOMENTUM, 3, inputs, 2, attrs);
}

static void update_ADAM(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                        struct ll_value *gradient)
{
    struct ll_attr attrs[] = {
        ll_attr_of_real(LL_ATTR_LEARNING_RATE, update->optimizer->rate),
        ll_attr_of_real(LL_ATTR_BETA1, update->optimizer->beta1),
        ll_attr_of_real(LL_ATTR_BETA2, update->optimizer->beta2),
        ll_attr_of_real(LL_ATTR_EPSILON, update->optimizer->epsilon),
    };
    struct ll_value *inputs[] = {weight, state_of(nn, weight, "m"), state_of(nn, weight, "v"), gradient,
                                 update->powers};
    do_update(nn, LL_OP_ADAM, 5, inputs, 4, attrs);
}

/* Both powers start at one and are multiplied before their first use. */
static void advance_powers(struct ll_nn *nn, struct update *update)
{
    const struct ll_optimizer *optimizer = update->optimizer;
    double *betas = ll_copy(&nn->arena, (double[]){optimizer->beta1, optimizer->beta2}, 2 * sizeof *betas);
    struct ll_shape shape = ll_nn_shape(nn, 1, (uint64_t[]){2}, NULL);
    ll_nn_push(nn, "adam");
    struct ll_value *powers = ll_nn_variable(nn, "powers", &shape, LL_OPTIMIZER, one);
    struct ll_init list = betas ? (struct ll_init){LL_INIT_LIST, 0, betas} : one;
    struct ll_value *factors = ll_nn_variable(nn, "betas", &shape, LL_OPTIMIZER, list);
    update->powers = ll_nn_do2(nn, LL_OP_MUL, powers, factors);
    ll_nn_carry(nn, powers, update->powers);
    ll_nn_pop(nn);
    if (!betas)
        ll_nn_fail(nn, "memory ran out");
}

static const struct {
    void (*begin)(struct ll_nn *nn, struct update *update); /* NULL: nothing to do */
    void (*update)(struct ll_nn *nn, const struct update *update, struct ll_value *weight,
                   struct ll_value *gradient);
} kinds[] = {
    [LL_SGD] = {NULL, update_SGD},
    [LL_MOMENTUM] = {NULL, update_MOMENTUM},
    [LL_ADAM] = {advance_powers, update_ADAM},
};

static void update_all(struct ll_nn *nn, const struct ll_optimizer *optimizer, struct ll_value **weights,
                       struct ll_value **gradients, size_t count)
{
    struct update update = {optimizer, NULL};
    const char *scope = nn->scope;
    enum ll_phase phase = nn->phase;
    nn->phase = LL_PHASE_UPDATE;
    if (kinds[optimizer->kind].begin)
        kinds[optimizer->kind].begin(nn, &update);
    for (size_t i = 0; i < count; i++) {
        const char *slash = strrchr(weights[i]->name, '/');
        nn->scope =
            slash ? ll_copy_text(&nn->arena, weights[i]->name, (size_t)(slash - weights[i]->name)) : "";
        if (!nn->scope)
            ll_nn_fail(nn, "memory ran out");
        else if (gradients[i]) {
            if (!weights[i]->gradient)
                weights[i]->gradient = gradients[i];
            kinds[optimizer->kind].update(nn, &update, weights[i], gradients[i]);
        }
    }
    nn->phase = phase;
    nn->scope = scope;
}

void ll_minimise(struct ll_nn *nn, struct ll_value *loss, const struct ll_optimizer *optimizer)
{
    struct ll_value **weights = calloc(nn->value_count + 1, sizeof(struct ll_value *));
    struct ll_value **gradients = calloc(nn->value_count + 1, sizeof(struct ll_value *));
    size_t count = 0;
    for (uint64_t i = 0; weights && i < nn->value_count; i++)
        if (!nn->values[i]->producer && nn->values[i]->memory == LL_WEIGHT)
            weights[count++] = nn->values[i];
    if (weights && gradients) {
        ll_nn_gradients(nn, loss, weights, count, gradients);
        update_all(nn, optimizer, weights, gradients, count);
    } else
        ll_nn_fail(nn, "memory ran out");
    free(weights);
    free(gradients);
}
