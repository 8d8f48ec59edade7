/* SPDX-License-Identifier: Apache-2.0 */
/* Layers whose norms come first (tower.h): Xiong et al., 2020, "On Layer Normalization in the Transformer
 * Architecture". */
#include "models/frontier/tower.h"

#include <assert.h>
#include <math.h>

#include "models/nn/layers.h"

static const double deviation = 0.02;

static struct ll_value *dense(struct ll_decoder *d, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_role from, enum ll_role to, bool biased)
{
    return ll_decoder_dense(d, name, x, &(struct ll_decoder_dense){units, from, to, biased, deviation});
}

/* Keys or values of a memory's tokens that were computed before. */
static struct ll_value *kept(struct ll_decoder *d, const char *name, uint64_t tokens)
{
    struct ll_shape shape = ll_nn_shape(d->nn, 2, (uint64_t[]){d->batch * tokens, d->sizes.hidden},
                                        (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
    return ll_nn_variable(d->nn, name, &shape, LL_ACTIVATION, (struct ll_init){LL_INIT_CONSTANT, 0, NULL});
}

struct asked {
    struct ll_value *queries, *keys, *values;
};

/* Of rows x about themselves, in one GEMM where all have biases. */
static struct asked ask_itself(struct ll_decoder *d, const struct ll_tower *t, struct ll_value *x)
{
    const uint64_t hidden = d->sizes.hidden;
    if (!t->bias_of_keys)
        return (struct asked){dense(d, "query", x, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, true),
                              dense(d, "key", x, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, false),
                              dense(d, "value", x, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, true)};
    struct ll_value *const *parts = ll_nn_split(
        d->nn, dense(d, "query_key_value", x, 3 * hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, true), 1, 3);
    return (struct asked){parts[0], parts[1], parts[2]};
}

/* Of rows x about a memory. */
static struct asked ask_memory(struct ll_decoder *d, const struct ll_tower *t, struct ll_value *x,
                               struct ll_value *memory, bool decodes)
{
    const uint64_t hidden = d->sizes.hidden;
    struct ll_value *queries = dense(d, "query", x, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, true);
    if (decodes)
        return (struct asked){queries, kept(d, "keys", t->kept), kept(d, "values", t->kept)};
    return (struct asked){queries,
                          dense(d, "key", memory, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, t->bias_of_keys),
                          dense(d, "value", memory, hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS, true)};
}

/* x + what the answers to its questions make. */
static struct ll_value *attended(struct ll_decoder *d, struct ll_value *x, struct asked asked)
{
    struct ll_value *y = ll_decoder_attend(d, asked.queries, asked.keys, asked.values);
    return ll_add_of(d->nn, x, dense(d, "output", y, d->sizes.hidden, LL_ROLE_HEADS, LL_ROLE_HIDDEN, true));
}

/* The same of a memory, all of which is seen, and which no pass adds to. */
static struct ll_value *attended_memory(struct ll_decoder *d, const struct ll_tower *t, struct ll_value *x,
                                        struct ll_value *memory)
{
    const struct ll_decoder before = *d;
    const bool decodes = !d->train && d->pass == LL_PASS_DECODE;
    d->sees_all = true;
    d->pass = LL_PASS_FORWARD;
    x = attended(d, x, ask_memory(d, t, ll_layer_norm(d->nn, "norm", x, t->epsilon), memory, decodes));
    d->sees_all = before.sees_all;
    d->pass = before.pass;
    return x;
}

/* Hendrycks and Gimpel, 2016, section 2. */
static struct ll_value *quick_gelu(struct ll_nn *nn, struct ll_value *x)
{
    static const double steepness = 1.702;
    struct ll_value *share = ll_nn_do1(nn, LL_OP_SIGMOID, ll_nn_mul_scalar(nn, x, "steepness", steepness));
    return ll_mul_of(nn, x, share);
}

static struct ll_value *fed_forward(struct ll_decoder *d, const struct ll_tower *t, struct ll_value *x)
{
    struct ll_value *y = dense(d, "input", ll_layer_norm(d->nn, "norm", x, t->epsilon), d->sizes.ffn_hidden,
                               LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN, true);
    y = t->quick_gelu ? quick_gelu(d->nn, y) : ll_nn_do1(d->nn, LL_OP_GELU, y);
    y = dense(d, "output", y, d->sizes.hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN, true);
    return ll_add_of(d->nn, x, y);
}

struct ll_value *ll_tower_layer(struct ll_decoder *d, const struct ll_tower *tower, struct ll_value *x,
                                struct ll_value *memory)
{
    assert(d->sizes.hidden > 0 && d->sizes.ffn_hidden > 0);
    if (d->nn->trouble)
        return &d->nn->nothing;
    ll_nn_push(d->nn, "attention");
    x = attended(d, x, ask_itself(d, tower, ll_layer_norm(d->nn, "norm", x, tower->epsilon)));
    ll_nn_pop(d->nn);
    if (memory || tower->kept) {
        ll_nn_push(d->nn, "memory_attention");
        x = attended_memory(d, tower, x, memory);
        ll_nn_pop(d->nn);
    }
    ll_nn_push(d->nn, "feed_forward");
    x = fed_forward(d, tower, x);
    ll_nn_pop(d->nn);
    return x;
}

struct ll_value *ll_tower_layers(struct ll_decoder *d, const struct ll_tower *tower, struct ll_value *x,
                                 struct ll_value *memory)
{
    for (unsigned i = 0; i < d->sizes.layers && !d->nn->trouble; i++) {
        ll_nn_push_numbered(d->nn, "layer", i);
        x = ll_tower_layer(d, tower, x, memory);
        ll_nn_pop(d->nn);
    }
    return x;
}

struct ll_value *ll_tower_table(struct ll_decoder *d, const char *name, uint64_t rows, enum ll_role role)
{
    struct ll_shape shape =
        ll_nn_shape(d->nn, 2, (uint64_t[]){rows, d->sizes.hidden}, (enum ll_role[]){role, LL_ROLE_HIDDEN});
    return ll_nn_variable(d->nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, deviation, NULL});
}

/* Squares of images as [batch, squares, hidden]. */
static struct ll_value *squares(struct ll_decoder *d, struct ll_value *images, uint64_t patch, uint64_t count,
                                bool biased)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_nn *nn = d->nn;
    if (nn->trouble)
        return &nn->nothing;
    struct ll_conv_options options = ll_conv_of(images->shape.dim[3], patch, patch, d->sizes.hidden, 1);
    options.padding = LL_VALID;
    options.bias = biased ? LL_BIAS : LL_NO_BIAS;
    if (images->shape.dtype != nn->real)
        images = ll_as_real(nn, images);
    struct ll_value *x = ll_conv_layer(nn, "patches", images, &options);
    struct ll_shape line = ll_nn_shape(nn, 3, (uint64_t[]){d->batch, count, d->sizes.hidden}, roles);
    return ll_nn_reshape(nn, x, &line);
}

struct ll_value *ll_tower_patches(struct ll_decoder *d, struct ll_value *images, uint64_t patch, bool biased)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_nn *nn = d->nn;
    struct ll_value *x = squares(d, images, patch, d->steps - 1, biased);
    struct ll_shape first = ll_nn_shape(nn, 3, (uint64_t[]){d->batch, 1, d->sizes.hidden}, roles);
    struct ll_value *own = ll_nn_broadcast(nn, ll_tower_table(d, "class", 1, LL_ROLE_PLAIN), &first);
    x = ll_nn_concat(nn, (struct ll_value *[]){own, x}, 2, 1);
    return ll_decoder_rows(d, ll_add_of(nn, x, ll_tower_table(d, "positions", d->steps, LL_ROLE_SEQUENCE)));
}

struct ll_value *ll_tower_squares(struct ll_decoder *d, struct ll_value *images, uint64_t patch)
{
    struct ll_value *x = squares(d, images, patch, d->steps, true);
    return ll_decoder_rows(d, ll_add_of(d->nn, x, ll_tower_sines(d)));
}

struct ll_value *ll_tower_sines(struct ll_decoder *d)
{
    const uint64_t half = d->sizes.hidden / 2;
    struct ll_nn *nn = d->nn;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){d->steps, d->sizes.hidden},
                                        (enum ll_role[]){LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN});
    double *list = ll_alloc(&nn->arena, ll_elements(&shape), sizeof *list);
    if (!list) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    for (uint64_t i = 0; i < ll_elements(&shape); i++) {
        const uint64_t column = i % d->sizes.hidden;
        const double angle =
            (double)(i / d->sizes.hidden) * pow(10000, -(double)(column % half) / fmax(1, (double)half - 1));
        list[i] = column < half ? sin(angle) : cos(angle);
    }
    const bool frozen = nn->frozen;
    nn->frozen = true;
    struct ll_value *table =
        ll_nn_variable(nn, "positions", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_LIST, 0, list});
    nn->frozen = frozen;
    return table;
}

struct ll_value *ll_tower_first(struct ll_decoder *d, struct ll_value *rows)
{
    if (d->nn->trouble)
        return &d->nn->nothing;
    return ll_decoder_rows(d, ll_nn_slice(d->nn, ll_decoder_sequences(d, rows), 1, 0, 1));
}
