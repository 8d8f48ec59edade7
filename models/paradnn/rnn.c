/* SPDX-License-Identifier: Apache-2.0 */
/* ParaDnn's recurrent networks (generated.h): language models of stacked cells as wide as a word's vector,
 * unrolled over whole sentences.
 *
 *   words, a row of the embedding [V, E] each; L cells of E units, one above the other, word after word;
 *   from all states logits = h W + b of V words; the mean cross entropy of the words that count
 *
 *   rnn    h' = tanh([x h] W + b)
 *   lstm   Hochreiter and Schmidhuber, 1997, nothing added to the forget gate
 *   gru    [r u] = sigmoid([x h] G + b)     c = tanh([x, r h] C + b)     h' = c + u (h - c)
 *          (Cho et al., 2014)
 *
 * g products a cell, 1, 4 and 3: V E + L (2 E g E + g E) + E V + V parameters, T (L 4 g E^2 + 2 E V) FLOP
 * forward for a sentence of T words. One plain cell of 100, 10 words of 2: 20,502 and 404,000; 13 of 900, 90
 * words of 1024: 22,915,924, with lstm 86,131,024, with gru 65,059,324 parameters.
 *
 * Sentences count upwards from a word drawn by chance, in steps of one; of each a part drawn by chance
 * counts. */
#include "models/feed.h"
#include "models/nn/formula.h"
#include "models/nn/init.h"
#include "models/nn/layers.h"
#include "models/paradnn/generated.h"

#include "tracer/base/random.h"

enum { CELL, LAYERS, EMBED, LENGTH, VOCAB, DTYPE, RATE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [CELL] = {"cell", 0, 0, 2, "of each layer"},
    [LAYERS] = {"layers", 5, 1, 1024, "of cells"},
    [EMBED] = {"embed", 500, 1, 65536, "numbers that a word is, and units of each cell"},
    [LENGTH] = {"length", 50, 1, 10000, "words of a sentence"},
    [VOCAB] = {"vocab", 512, 2, 1 << 28, "different words"},
    [DTYPE] = LL_PARADNN_DTYPE,
    [RATE] = {"rate", 100, 1, 100000, "learning rate, in thousandths"},
};

enum cell_kind { RNN, LSTM, GRU };
static const char *const cells[] = {"rnn", "lstm", "gru", NULL};
static const char *const *const words[PARAMS] = {[CELL] = cells, [DTYPE] = ll_paradnn_dtypes};

/* One layer: its weights, and its state after the last word. */
struct cell {
    struct ll_linear gates, candidate; /* of rnn the candidate alone, of gru both */
    struct ll_lstm lstm;
    struct ll_lstm_state state;
};

static void begin(struct ll_nn *nn, enum cell_kind kind, uint64_t units, struct cell *cell)
{
    struct ll_init init = ll_init_keeping_size(2 * units, 1);
    if (kind == LSTM) {
        cell->lstm = ll_lstm_begin(nn, "lstm", units, units, init);
        cell->lstm.unbiased = true;
    } else
        cell->candidate = ll_linear_begin(nn, "candidate", 2 * units, units, init);
    if (kind == GRU)
        cell->gates = ll_linear_begin(nn, "gates", 2 * units, 2 * units, init);
}

static struct ll_value *tanh_of(struct ll_nn *nn, const struct ll_linear *linear, struct ll_value *x,
                                struct ll_value *h)
{
    return ll_nn_do1(nn, LL_OP_TANH, ll_linear_apply(nn, linear, 2, (struct ll_value *[]){x, h}));
}

static struct ll_value *advance_gru(struct ll_nn *nn, const struct cell *cell, struct ll_value *x)
{
    struct ll_value *h = cell->state.h;
    struct ll_value *both = ll_linear_apply(nn, &cell->gates, 2, (struct ll_value *[]){x, h});
    struct ll_value *const *gates = ll_parted(nn, ll_nn_do1(nn, LL_OP_SIGMOID, both), 1, 2);
    struct ll_value *c = tanh_of(nn, &cell->candidate, x, ll_mul_of(nn, gates[0], h));
    return ll_add_of(nn, c, ll_mul_of(nn, gates[1], ll_sub_of(nn, h, c)));
}

/* What the cell puts out for its next word. */
static struct ll_value *advance(struct ll_nn *nn, enum cell_kind kind, struct cell *cell, struct ll_value *x)
{
    if (kind == LSTM)
        cell->state = ll_lstm_step(nn, &cell->lstm, x, cell->state);
    else if (kind == GRU)
        cell->state.h = advance_gru(nn, cell, x);
    else
        cell->state.h = tanh_of(nn, &cell->candidate, x, cell->state.h);
    return cell->state.h;
}

/* The states of the uppermost layer as one stack, all words of all sentences below each other. */
static struct ll_value *unroll(struct ll_nn *nn, enum cell_kind kind, struct cell *stack, uint64_t layers,
                               struct ll_value *x)
{
    uint64_t length = x->shape.dim[0];
    struct ll_shape rows = ll_nn_shape(nn, 2, (uint64_t[]){ll_mul(length, x->shape.dim[1]), x->shape.dim[2]},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct ll_value *const *heard = ll_unstacked(nn, x);
    struct ll_value **steps = ll_alloc(&nn->arena, length, sizeof(struct ll_value *));
    if (!steps)
        ll_nn_fail(nn, "memory ran out");
    for (uint64_t t = 0; t < length && !nn->trouble; t++) {
        steps[t] = heard[t];
        for (uint64_t i = 0; i < layers; i++) {
            ll_nn_push_numbered(nn, "layer", (unsigned)i + 1);
            steps[t] = advance(nn, kind, &stack[i], steps[t]);
            ll_nn_pop(nn);
        }
    }
    return nn->trouble ? &nn->nothing : ll_seen_as(nn, ll_stacked(nn, steps, (uint32_t)length), &rows);
}

/* The weights of each layer, and its state before the first word: zeros. */
static struct cell *make_cells(struct ll_nn *nn, enum cell_kind kind, uint64_t layers, uint64_t batch,
                               uint64_t units)
{
    struct ll_shape state =
        ll_nn_shape(nn, 2, (uint64_t[]){batch, units}, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    struct cell *stack = ll_alloc(&nn->arena, layers, sizeof *stack);
    if (!stack)
        ll_nn_fail(nn, "memory ran out");
    for (uint64_t i = 0; i < layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", (unsigned)i + 1);
        begin(nn, kind, units, &stack[i]);
        stack[i].state = (struct ll_lstm_state){ll_zeros(nn, &state), ll_zeros(nn, &state)};
        ll_nn_pop(nn);
    }
    return stack;
}

/* Where words come from. */
struct source {
    uint64_t batch, length, vocab, seed;
};

static uint64_t drawn(const struct source *source, uint64_t step, uint64_t sentence, uint64_t what)
{
    return ll_random_bits(ll_random_key(source->seed, step * source->batch + sentence), what);
}

static void fill_words(const struct source *source, uint64_t step, uint64_t ahead, int32_t *data)
{
    for (uint64_t t = 0; t < source->length; t++)
        for (uint64_t i = 0; i < source->batch; i++)
            data[t * source->batch + i] =
                (int32_t)((drawn(source, step, i, 0) % source->vocab + t + ahead) % source->vocab);
}

static void fill_inputs(void *context, uint64_t step, int32_t *data)
{
    fill_words(context, step, 0, data);
}

static void fill_targets(void *context, uint64_t step, int32_t *data)
{
    fill_words(context, step, 1, data);
}

/* One where a word counts, zero behind the end of its sentence. */
static void fill_counts(void *context, uint64_t step, float *data)
{
    const struct source *source = context;
    for (uint64_t t = 0; t < source->length; t++)
        for (uint64_t i = 0; i < source->batch; i++)
            data[t * source->batch + i] = t <= drawn(source, step, i, 1) % source->length ? 1.0f : 0.0f;
}

/* The mean over the words that count. */
static struct ll_value *loss_of(struct ll_nn *nn, struct ll_value *logits, struct source *source)
{
    uint64_t rows = ll_mul(source->batch, source->length);
    struct ll_shape shape = ll_nn_shape(nn, 1, &rows, (enum ll_role[]){LL_ROLE_BATCH});
    struct ll_value *targets = ll_feed_indices(nn, "targets", &shape, fill_targets, source);
    struct ll_value *counts = ll_feed_floats(nn, "counts", &shape, fill_counts, source);
    ll_nn_push(nn, "loss");
    struct ll_value *each = ll_nn_do2(nn, LL_OP_SOFTMAX_XENT, logits, targets);
    struct ll_value *sum = ll_nn_do1(nn, LL_OP_SUM, ll_mul_of(nn, each, counts));
    struct ll_value *loss = ll_div_of(nn, sum, ll_nn_do1(nn, LL_OP_SUM, counts));
    ll_nn_pop(nn);
    return loss;
}

static struct ll_value *forward(struct ll_nn *nn, struct ll_value *indices, const struct ll_build *build)
{
    enum cell_kind kind = (enum cell_kind)build->params[CELL];
    uint64_t layers = (uint64_t)build->params[LAYERS], units = (uint64_t)build->params[EMBED];
    struct ll_shape table = ll_nn_shape(nn, 2, (uint64_t[]){(uint64_t)build->params[VOCAB], units},
                                        (enum ll_role[]){LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN});
    struct ll_value *embedding =
        ll_nn_weight(nn, "embedding", &table, (struct ll_init){LL_INIT_NORMAL, 1, NULL});
    struct cell *stack = make_cells(nn, kind, layers, build->batch, units);
    struct ll_value *h = unroll(nn, kind, stack, layers, ll_gathered(nn, embedding, indices));
    struct ll_linear output =
        ll_linear_begin(nn, "output", units, table.dim[0], ll_init_keeping_size(units, 1));
    ll_nn_push(nn, "output");
    h = ll_paradnn_logits(nn, ll_linear_apply(nn, &output, 1, &h));
    ll_nn_pop(nn);
    return h;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    const struct source drawn_from = {build->batch, (uint64_t)build->params[LENGTH],
                                      (uint64_t)build->params[VOCAB], build->seed};
    struct source *source = ll_copy(&nn->arena, &drawn_from, sizeof drawn_from);
    struct ll_shape sentences = ll_nn_shape(nn, 2, (uint64_t[]){drawn_from.length, build->batch},
                                            (enum ll_role[]){LL_ROLE_SEQUENCE, LL_ROLE_BATCH});
    if (!source)
        ll_nn_fail(nn, "memory ran out");
    struct ll_value *indices = ll_feed_indices(nn, "words", &sentences, fill_inputs, source);
    ll_paradnn_begin(nn, build->params[DTYPE]);
    struct ll_value *logits = forward(nn, indices, build);
    if (!build->train || nn->trouble)
        return logits;
    struct ll_value *loss = loss_of(nn, logits, source);
    ll_paradnn_minimise(nn, loss, build->params[RATE]);
    return loss;
}

const struct ll_model ll_model_paradnn_rnn = {
    .name = "paradnn_rnn",
    .suite = "paradnn",
    .doc = "language models of plain recurrent, LSTM or GRU cells",
    .default_batch = 16,
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .build = build,
};
