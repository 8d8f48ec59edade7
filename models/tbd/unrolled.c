/* SPDX-License-Identifier: Apache-2.0 */
#include "models/tbd/unrolled.h"

#include "models/nn/formula.h"

#include <math.h>

struct ll_value *ll_unrolled_build(struct ll_nn *nn, const struct ll_build *build,
                                   const struct ll_translator *translator)
{
    const int64_t *values = build->params;
    const struct ll_translation_sizes sizes = {
        .letters = (uint64_t)values[LETTERS],
        .vocabulary = ll_min((uint64_t)values[SOURCE_WORDS], (uint64_t)values[TARGET_WORDS]),
        .source = (uint64_t)values[SOURCE],
        .target = (uint64_t)values[TARGET],
        .padding = (uint64_t)values[PADDING],
    };
    struct ll_translation *t = ll_translation_begin(nn, build, LL_TIME_FIRST, &sizes);
    return ll_translation_build(nn, build, t, translator);
}

void ll_unrolled_minimise(struct ll_nn *nn, const struct ll_build *build, struct ll_value *loss,
                          enum ll_clip clip)
{
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = (double)build->params[RATE] * 1e-6,
                                      .beta1 = 0.9,
                                      .beta2 = 0.999,
                                      .epsilon = 1e-8,
                                      .clip = clip,
                                      .clip_norm = 1};
    if (!nn->trouble)
        ll_minimise(nn, loss, &adam);
}

struct ll_init ll_uniform_init(uint64_t inputs)
{
    return (struct ll_init){LL_INIT_UNIFORM, sqrt(3 / (double)inputs), NULL};
}

struct ll_value *ll_word_embedding(struct ll_nn *nn, const char *name, uint64_t words, uint64_t features)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){words, features}, roles);
    return ll_nn_variable(nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_UNIFORM, 1, NULL});
}

struct ll_value **ll_embedded_steps(struct ll_nn *nn, struct ll_value *table, struct ll_value *words)
{
    return ll_unstacked(nn, ll_gathered(nn, table, words));
}

struct ll_value *ll_as_memory(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps)
{
    return ll_transposed(nn, ll_stacked(nn, outputs, (uint32_t)steps), 102);
}

struct ll_value *ll_as_rows(struct ll_nn *nn, struct ll_value *const *outputs, uint64_t steps)
{
    return ll_joined(nn, outputs, (uint32_t)steps, 0);
}

static struct ll_value *spread(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *state)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    const uint64_t batch = state->shape.dim[0], features = state->shape.dim[1];
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1), ll_attr_of_count(LL_ATTR_AXES, 1)};
    struct ll_shape each = ll_nn_shape(nn, 3, (uint64_t[]){batch, beam->width, features}, roles);
    struct ll_shape rows = ll_nn_shape(nn, 2, (uint64_t[]){batch * beam->width, features},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_value *copies = ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_TILE,
                                                                .input_count = 1,
                                                                .inputs = &state,
                                                                .attr_count = 2,
                                                                .attrs = attrs,
                                                                .given_count = 1,
                                                                .given = &each});
    return ll_seen_as(nn, copies, &rows);
}

/* Of each part of the state what `change` makes of it. */
static void
change_state(struct ll_nn *nn, const struct ll_beam *beam, struct ll_decoder_state *state, uint64_t layers,
             struct ll_value *(*change)(struct ll_nn *nn, const struct ll_beam *beam, struct ll_value *part))
{
    for (uint64_t i = 0; i < layers; i++) {
        state->layers[i].c = change(nn, beam, state->layers[i].c);
        state->layers[i].h = change(nn, beam, state->layers[i].h);
    }
    state->beside = change(nn, beam, state->beside);
}

void ll_decoder_spread(struct ll_nn *nn, const struct ll_beam *beam, struct ll_decoder_state *state,
                       uint64_t layers)
{
    change_state(nn, beam, state, layers, spread);
}

void ll_decoder_follow(struct ll_nn *nn, const struct ll_beam *beam, struct ll_decoder_state *state,
                       uint64_t layers)
{
    change_state(nn, beam, state, layers, ll_beam_follow);
}

struct ll_value *ll_product_with(struct ll_nn *nn, const char *name, struct ll_value *x, uint64_t units)
{
    static const enum ll_role roles[] = {LL_ROLE_HIDDEN, LL_ROLE_HIDDEN};
    const uint64_t inputs = x->shape.dim[1];
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){inputs, units}, roles);
    ll_nn_push(nn, name);
    struct ll_value *weights = ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, ll_uniform_init(inputs));
    struct ll_value *y = ll_nn_do2(nn, LL_OP_MATMUL, x, weights);
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_counted_losses(struct ll_nn *nn, struct ll_translation *t, struct ll_value *logits,
                                   struct ll_value **counted)
{
    struct ll_shape rows = ll_nn_shape(nn, 1, logits->shape.dim, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *labels = ll_seen_as(nn, ll_translation_written(nn, t, LL_LEARNED), &rows);
    struct ll_value *weights = ll_seen_as(nn, ll_translation_weights(nn, t, LL_LEARNED), &rows);
    struct ll_value *losses = ll_mul_of(nn, ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, logits, labels), weights);
    *counted = weights;
    return ll_sum_over(nn, losses, 0, 1);
}
