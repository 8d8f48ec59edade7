/* SPDX-License-Identifier: Apache-2.0 */
/* What decoder-only language models share: tokens, attention with a memory of keys and values, the loss, and
 * the three passes of an inference (decoder.h).
 *
 * Heads that share keys ask together: with g of them a key, the queries of a key's heads are one matrix of
 * steps x g rows, so that attention is a batch of plain GEMMs at any g. */
#include <assert.h>
#include <math.h>

#include "models/feed.h"
#include "models/frontier/decoder.h"
#include "models/nn/nn.h"
#include "models/nn/layers.h"
#include "models/nn/runner.h"
#include "tracer/base/random.h"

enum { UNSEEN_BATCHES = 4 };

static const struct ll_init zero = {LL_INIT_CONSTANT, 0, NULL};
/* Of 8 bits is only what GEMMs read and make, as NVIDIA's Transformer Engine has it. */
static const struct {
    enum ll_dtype real, product;
} dtypes[] = {{LL_F32, LL_F32}, {LL_F16, LL_F16}, {LL_BF16, LL_BF16}, {LL_BF16, LL_F8}, {LL_TF32, LL_TF32}};
const char *const ll_decoder_dtypes[] = {"f32", "f16", "bf16", "f8", "tf32", NULL};
const char *const ll_decoder_passes[] = {"forward", "prefill", "decode", NULL};

enum ll_dtype ll_decoder_real(int64_t dtype, enum ll_dtype standard)
{
    assert(dtype >= 0 && (size_t)dtype < sizeof dtypes / sizeof *dtypes);
    return dtype == 0 ? standard : dtypes[dtype].real;
}

bool ll_decoder_narrow(int64_t dtype)
{
    assert(dtype >= 0 && (size_t)dtype < sizeof dtypes / sizeof *dtypes);
    return dtypes[dtype].product == LL_F8;
}

/* Token i of sequence n of a batch: the tokens of its first fourth over and over. */
static int32_t token_of(const struct ll_decoder *d, enum ll_data_part part, uint64_t step, uint64_t n,
                        uint64_t i)
{
    assert(part <= LL_HELD_BACK && d->task_vocabulary > 0);
    uint64_t period = ll_max(1, d->sizes.seq / 4);
    uint64_t key = ll_random_key(ll_random_key(d->seed, part), step * d->batch + n);
    return (int32_t)(ll_random_bits(key, i % period) % d->task_vocabulary);
}

/* The argument of an input op: tokens from `shift` on. */
struct feed {
    const struct ll_decoder *decoder;
    enum ll_data_part part;
    uint64_t shift;
};

static void fill_tokens(void *context, uint64_t step, int32_t *tokens)
{
    const struct feed *feed = context;
    const struct ll_decoder *d = feed->decoder;
    for (uint64_t n = 0; n < d->batch; n++)
        for (uint64_t i = 0; i < d->steps; i++)
            tokens[n * d->steps + i] =
                token_of(d, feed->part, step, n, d->context - d->steps + i + feed->shift);
}

static struct ll_value *tokens_from(struct ll_decoder *d, const char *name, uint64_t shift)
{
    struct feed *feed = ll_alloc(&d->nn->arena, 1, sizeof *feed);
    if (!feed) {
        ll_nn_fail(d->nn, "memory ran out");
        return &d->nn->nothing;
    }
    *feed = (struct feed){d, d->part, shift};
    uint64_t rows = d->batch * d->steps;
    struct ll_shape shape = ll_nn_shape(d->nn, 1, &rows, (enum ll_role[]){LL_ROLE_BATCH});
    return ll_feed_indices(d->nn, name, &shape, fill_tokens, feed);
}

struct ll_value *ll_decoder_sequences(struct ll_decoder *d, struct ll_value *rows)
{
    assert(d->nn->trouble || rows->shape.rank == 2);
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    uint64_t steps = d->steps, features = rows->shape.dim[1];
    struct ll_shape shape = ll_nn_shape(d->nn, 3, (uint64_t[]){d->batch, steps, features}, roles);
    return ll_nn_reshape(d->nn, rows, &shape);
}

struct ll_value *ll_decoder_rows(struct ll_decoder *d, struct ll_value *sequences)
{
    assert(d->nn->trouble || sequences->shape.rank == 3);
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    const uint64_t *dim = sequences->shape.dim;
    struct ll_shape shape = ll_nn_shape(d->nn, 2, (uint64_t[]){dim[0] * dim[1], dim[2]}, roles);
    return ll_nn_reshape(d->nn, sequences, &shape);
}

struct ll_value *ll_decoder_asked(struct ll_decoder *d, struct ll_value *rows)
{
    if (d->train || d->pass != LL_PASS_PREFILL || d->nn->trouble)
        return rows;
    return ll_decoder_rows(d, ll_nn_slice(d->nn, ll_decoder_sequences(d, rows), 1, d->steps - 1, 1));
}

struct ll_value *ll_decoder_table(struct ll_decoder *d)
{
    assert(d->sizes.vocabulary > 0 && d->sizes.hidden > 0);
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(d->nn, 2, (uint64_t[]){d->sizes.vocabulary, d->sizes.hidden}, roles);
    return ll_nn_variable(d->nn, "tokens", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
}

struct ll_value *ll_decoder_rounded(struct ll_decoder *d, struct ll_value *weights)
{
    if (d->rounded == LL_NUMERIC_NONE)
        return weights;
    return ll_nn_quantized(d->nn, weights, ll_numeric_dtype(d->rounded), ll_numeric_scales(d->rounded, true));
}

struct ll_value *ll_decoder_dense(struct ll_decoder *d, const char *name, struct ll_value *rows,
                                  const struct ll_decoder_dense *dense)
{
    struct ll_nn *nn = d->nn;
    if (nn->trouble)
        return &nn->nothing;
    struct ll_shape shape = ll_nn_shape(nn, 2, (uint64_t[]){rows->shape.dim[1], dense->units},
                                        (enum ll_role[]){dense->from, dense->to});
    shape.dtype = (uint8_t)d->held;
    struct ll_init init = {LL_INIT_NORMAL, dense->deviation, NULL};
    ll_nn_push(nn, name);
    struct ll_value *weights = ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, init);
    if (dense->to != LL_ROLE_EXPERTS && dense->to != LL_ROLE_VOCABULARY)
        weights = ll_decoder_rounded(d, weights);
    struct ll_value *inputs[] = {rows, weights};
    struct ll_value *y = ll_weight_gemm(
        nn, &(struct ll_nn_call){.kind = LL_OP_MATMUL, .input_count = 2, .inputs = inputs}, d->narrow);
    if (dense->biased) {
        struct ll_shape line = ll_nn_shape(nn, 1, &dense->units, &dense->to);
        y = ll_nn_do2(nn, LL_OP_BIAS_ADD, y, ll_nn_variable(nn, "biases", &line, LL_WEIGHT, zero));
    }
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_decoder_dropped(struct ll_decoder *d, struct ll_value *x)
{
    bool drops = d->train && d->dropout > 0;
    return drops ? ll_dropout_layer(d->nn, "dropout", x, 1 - d->dropout, &d->rng) : x;
}

/* A view of other dimensions. */
static struct ll_value *seen_as(struct ll_nn *nn, struct ll_value *x, unsigned rank, const uint64_t *dims,
                                const enum ll_role *roles)
{
    struct ll_shape shape = ll_nn_shape(nn, rank, dims, roles);
    return ll_nn_reshape(nn, x, &shape);
}

/* Rows [batch steps, kv_heads each features] as [batch, kv_heads, steps each, features], whatever their steps
 * and features. Of one step they lie so already. */
static struct ll_value *by_heads(struct ll_decoder *d, struct ll_value *rows, uint64_t each)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HEADS, LL_ROLE_PLAIN,
                                         LL_ROLE_PLAIN},
                              together[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    const struct ll_decoder_sizes *s = &d->sizes;
    const uint64_t steps = rows->shape.dim[0] / d->batch, features = rows->shape.dim[1] / s->kv_heads / each;
    if (steps > 1)
        rows = ll_nn_transpose(
            d->nn, seen_as(d->nn, rows, 5, (uint64_t[]){d->batch, steps, s->kv_heads, each, features}, apart),
            2134);
    return seen_as(d->nn, rows, 4, (uint64_t[]){d->batch, s->kv_heads, steps * each, features}, together);
}

struct ll_value *ll_decoder_placed(struct ll_decoder *d, struct ll_value *rows, uint64_t heads,
                                   uint64_t features)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HEADS, LL_ROLE_PLAIN};
    if (d->rotary_base <= 0 || d->nn->trouble)
        return rows;
    struct ll_shape flat = rows->shape;
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, 1),
                              ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)(d->context - d->steps)),
                              ll_attr_of_real(LL_ATTR_BASE, d->rotary_base)};
    struct ll_value *x = seen_as(d->nn, rows, 4, (uint64_t[]){d->batch, d->steps, heads, features}, apart);
    x = ll_nn_do(d->nn,
                 &(struct ll_nn_call){
                     .kind = LL_OP_ROTARY, .input_count = 1, .inputs = &x, .attr_count = 3, .attrs = attrs});
    return ll_nn_reshape(d->nn, x, &flat);
}

/* What by_heads did, undone. */
static struct ll_value *as_rows(struct ll_decoder *d, struct ll_value *x, uint64_t each)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN,
                                         LL_ROLE_PLAIN},
                              rows[] = {LL_ROLE_BATCH, LL_ROLE_HEADS};
    const struct ll_decoder_sizes *s = &d->sizes;
    const uint64_t features = x->shape.dim[3];
    if (d->steps > 1)
        x = ll_nn_transpose(
            d->nn, seen_as(d->nn, x, 5, (uint64_t[]){d->batch, s->kv_heads, d->steps, each, features}, apart),
            2134);
    return seen_as(d->nn, x, 2, (uint64_t[]){d->batch * d->steps, s->kv_heads * each * features}, rows);
}

bool ll_decoder_remembers(const struct ll_decoder *d)
{
    return !d->train && d->pass != LL_PASS_FORWARD;
}

struct ll_value *ll_decoder_remembered(struct ll_decoder *d, const char *name, struct ll_value *x,
                                       unsigned axis)
{
    struct ll_shape shape = x->shape;
    if (d->nn->trouble)
        return x;
    shape.dim[axis] = d->context;
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis),
                              ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)(d->context - d->steps))};
    struct ll_value *inputs[] = {ll_nn_variable(d->nn, name, &shape, LL_ACTIVATION, zero), x};
    return ll_nn_do(d->nn, &(struct ll_nn_call){.kind = LL_OP_KV_CACHE_UPDATE,
                                                .input_count = 2,
                                                .inputs = inputs,
                                                .attr_count = 2,
                                                .attrs = attrs});
}

/* What hides tokens: as much less of a score as each pair has; of tokens that see all others nothing. */
static struct ll_value *hiding(struct ll_decoder *d)
{
    static const enum ll_role role = LL_ROLE_PLAIN;
    struct ll_shape line = ll_nn_shape(d->nn, 1, &d->context, &role);
    if (d->hiding)
        return d->hiding;
    d->hiding = d->sees_all || d->steps == 1 ? ll_filled(d->nn, "hiding", &line, 0)
                                             : ll_causal_bias(d->nn, d->context);
    if (d->steps > 1 && d->steps < d->context)
        d->hiding = ll_nn_slice(d->nn, d->hiding, 0, d->context - d->steps, d->steps);
    return d->hiding;
}

/* Shares by an op a step, as frameworks do it whose models are written out; nothing is hidden of another
 * sequence. */
static struct ll_value *shares_of(struct ll_decoder *d, struct ll_value *scores)
{
    struct ll_nn *nn = d->nn;
    scores = ll_div_of(nn, scores, ll_constant(nn, "root", sqrt((double)d->sizes.head)));
    return ll_nn_do1(nn, LL_OP_SOFTMAX, d->eager ? ll_add_of(nn, scores, hiding(d)) : scores);
}

/* Grouped-query attention of q [batch, kv_heads, steps each, head] to k and v [batch, kv_heads, tokens, ...]:
 * the queries of all heads that share keys are rows of one matrix, so scores and results are batched GEMMs
 * over [batch, kv_heads]. Fused, it is one op; else scores, masked softmax and result, with the softmax in
 * several ops where `eager` asks for them. `apart`: keys are those of another sequence. */
static struct ll_value *attend_by_heads(struct ll_decoder *d, struct ll_value *q, struct ll_value *k,
                                        struct ll_value *v, bool apart)
{
    struct ll_nn *nn = d->nn;
    const uint64_t each = d->sizes.heads / d->sizes.kv_heads;
    struct ll_attr attrs[] = {ll_attr_of_real(LL_ATTR_SCALE, 1 / sqrt((double)d->sizes.head)),
                              ll_attr_of_count(LL_ATTR_GROUPS, (int64_t)each),
                              ll_attr_of_count(LL_ATTR_AFTER, (int64_t)k->shape.dim[2])};
    if (d->fused) {
        if (d->window > 0 && k->shape.dim[2] > d->window)
            attrs[2] = ll_attr_of_count(LL_ATTR_WINDOW, (int64_t)d->window - 1);
        struct ll_value *y =
            ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_CAUSAL_ATTENTION,
                                              .input_count = 3,
                                              .inputs = (struct ll_value *[]){q, k, v},
                                              .attr_count = attrs[2].key == LL_ATTR_WINDOW ? 3 : 2,
                                              .attrs = attrs});
        return as_rows(d, y, each);
    }
    struct ll_value *scores = ll_matmul_transposed(nn, q, k);
    struct ll_value *shares = d->eager || apart
                                  ? shares_of(d, scores)
                                  : ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_CAUSAL_SOFTMAX,
                                                                      .input_count = 1,
                                                                      .inputs = &scores,
                                                                      .attr_count = d->sees_all ? 3 : 2,
                                                                      .attrs = attrs});
    return as_rows(d, ll_nn_do2(nn, LL_OP_BATCH_MATMUL, ll_decoder_dropped(d, shares), v), each);
}

struct ll_value *ll_decoder_attend(struct ll_decoder *d, struct ll_value *queries, struct ll_value *keys,
                                   struct ll_value *values)
{
    const struct ll_decoder_sizes *s = &d->sizes;
    assert(s->heads % s->kv_heads == 0);
    struct ll_value *q =
        by_heads(d, ll_decoder_placed(d, queries, s->heads, s->head), s->heads / s->kv_heads);
    struct ll_value *k = by_heads(d, ll_decoder_placed(d, keys, s->kv_heads, s->head), 1),
                    *v = by_heads(d, values, 1);
    if (ll_decoder_remembers(d)) {
        k = ll_decoder_remembered(d, "keys", k, 2);
        v = ll_decoder_remembered(d, "values", v, 2);
    }
    return attend_by_heads(d, q, k, v, d->sees_all && keys->shape.dim[0] != queries->shape.dim[0]);
}

struct ll_value *ll_decoder_attend_to(struct ll_decoder *d, struct ll_value *queries, struct ll_value *keys,
                                      struct ll_value *values)
{
    const struct ll_decoder_sizes *s = &d->sizes;
    assert(s->heads % s->kv_heads == 0);
    return attend_by_heads(d, by_heads(d, queries, s->heads / s->kv_heads), by_heads(d, keys, 1),
                           by_heads(d, values, 1), false);
}

/* Tokens that are read of each sequence, the last, and tokens of a sequence. */
static void set_tokens(struct ll_decoder *d, const struct ll_decoder_options *options)
{
    enum { CONTEXT_ELSE = 1024 };
    bool whole = !ll_decoder_remembers(d) || (d->pass == LL_PASS_PREFILL && options->tokens == 0);
    d->context = whole ? d->sizes.seq : CONTEXT_ELSE;
    if (ll_decoder_remembers(d) && options->context > 0)
        d->context = options->context;
    d->steps = whole ? d->context : ll_max(1, options->tokens);
}

/* What settings may not be together, each with what to set instead. */
static void check(struct ll_nn *nn, const struct ll_decoder *d, const struct ll_decoder_options *options)
{
    const struct ll_decoder_sizes *s = &d->sizes;
    if (s->heads % s->kv_heads != 0)
        ll_nn_fail(nn, "heads that ask must be shared out evenly among those that answer");
    if (d->train && d->fused && d->dropout > 0)
        ll_nn_fail(nn, "attention as one op drops nothing; expected -p dropout=0 with -p fused=1");
    if (d->train && d->pass != LL_PASS_FORWARD)
        ll_nn_fail(nn, "prefill and decode are inferences; expected --infer with -p pass");
    if (!ll_decoder_remembers(d) && (options->context > 0 || options->tokens > 0))
        ll_nn_fail(nn, "context and tokens are for prefill and decode; expected -p seq=N, or -p pass=decode");
    if (d->steps > d->context)
        ll_nn_fail(nn, "more new tokens than there are; expected -p tokens=N of at most -p context=N");
    if (d->task_vocabulary > s->vocabulary)
        ll_nn_fail(nn, "-p task_vocabulary=N is larger than -p vocabulary=N");
}

/* Sets up what all parts of a decoder read. Everything built after this computes in the dtype of the
 * options. */
struct ll_decoder ll_decoder_begin(struct ll_nn *nn, const struct ll_build *build,
                                   const struct ll_decoder_options *options)
{
    assert(options->dropout >= 0 && options->dropout < 1);
    assert(options->sizes.heads > 0 && options->sizes.kv_heads > 0);
    nn->real = ll_decoder_real(options->dtype, nn->real);
    struct ll_decoder d = {
        .nn = nn,
        .sizes = options->sizes,
        .pass = options->pass,
        .batch = build->batch,
        .seed = build->seed,
        .task_vocabulary = options->task_vocabulary,
        .dropout = options->dropout,
        .train = build->train,
        .fused = options->fused,
        .eager = options->eager,
        .rounded = options->rounds ? options->rounded : LL_NUMERIC_NONE,
        .narrow = ll_decoder_narrow(options->dtype),
        .held = ll_decoder_narrow(options->dtype) && !build->train ? LL_F8 : nn->real,
        .net = options->net,
    };
    set_tokens(&d, options);
    if (d.eager && (d.fused || d.sizes.heads != d.sizes.kv_heads))
        ll_nn_fail(nn, "-p eager=1 has an op for each step of attention; expected -p fused=0 and as many "
                       "kv_heads as heads");
    if (d.train && d.dropout > 0)
        d.rng = ll_rng_begin(nn, build->seed);
    return d;
}

/* The same network on tokens that were held back. */
static void add_evaluation(struct ll_decoder *d, ll_decoder_net *net)
{
    d->program = ll_nn_begin_program(d->nn);
    d->part = LL_HELD_BACK;
    d->train = false;
    d->pass = LL_PASS_FORWARD;
    d->guesses = ll_nn_do1(d->nn, LL_OP_ARGMAX, net(d, tokens_from(d, "tokens", 0)));
    ll_nn_keep(d->guesses);
}

/* In 32 bits everybody takes their softmax. */
static struct ll_value *widened(struct ll_nn *nn, struct ll_value *logits)
{
    if (nn->trouble || ll_dtype_bytes((enum ll_dtype)logits->shape.dtype) >= ll_dtype_bytes(LL_F32))
        return logits;
    ll_nn_push(nn, "loss");
    struct ll_value *y = ll_cast_to(nn, logits, LL_F32);
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_decoder_loss(struct ll_nn *nn, struct ll_value *logits, struct ll_value *labels)
{
    return ll_softmax_loss(nn, widened(nn, logits), labels);
}

static struct ll_decoder_sizes sizes_of(const struct ll_build *build, const struct ll_decoder_sizes *preset)
{
    struct ll_decoder_sizes sizes = {
        .layers = ll_decoder_size(build, LL_DECODER_LAYERS, preset->layers),
        .hidden = ll_decoder_size(build, LL_DECODER_HIDDEN, preset->hidden),
        .ffn_hidden = ll_decoder_size(build, LL_DECODER_FFN_HIDDEN, preset->ffn_hidden),
        .heads = ll_decoder_size(build, LL_DECODER_HEADS, preset->heads),
        .kv_heads = preset->kv_heads,
        .seq = ll_decoder_size(build, LL_DECODER_SEQ, preset->seq),
        .vocabulary = ll_decoder_size(build, LL_DECODER_VOCABULARY, preset->vocabulary),
    };
    sizes.head = sizes.hidden / sizes.heads;
    return sizes;
}

struct ll_decoder_options ll_decoder_options_of(const struct ll_build *build,
                                                const struct ll_decoder_sizes *preset)
{
    const int64_t *values = build->params;
    return (struct ll_decoder_options){.sizes = sizes_of(build, preset),
                                       .pass = (enum ll_decoder_pass)values[LL_DECODER_PASS],
                                       .dtype = values[LL_DECODER_DTYPE],
                                       .context = (uint64_t)values[LL_DECODER_CONTEXT],
                                       .tokens = (uint64_t)values[LL_DECODER_TOKENS],
                                       .task_vocabulary = (uint64_t)values[LL_DECODER_TASK_VOCABULARY],
                                       .fused = values[LL_DECODER_FUSED] != 0,
                                       .eager = values[LL_DECODER_EAGER] != 0,
                                       .rate = (double)values[LL_DECODER_RATE] * 1e-6};
}

/* Inference returns the logits of the tokens that are asked for; training adds the mean cross entropy with
 * the next tokens and Adam with the betas that GPT-3 was trained with. */
struct ll_value *ll_decoder_build(struct ll_nn *nn, const struct ll_build *build,
                                  const struct ll_decoder_options *options, ll_decoder_net *net)
{
    struct ll_decoder *d = ll_alloc(&nn->arena, 1, sizeof *d);
    if (!d) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    *d = ll_decoder_begin(nn, build, options);
    check(nn, d, options);
    ll_nn_drive(nn, &(struct ll_driver){.context = d});
    if (nn->trouble)
        return &nn->nothing;
    const struct ll_optimizer adam = {
        .kind = LL_ADAM, .rate = options->rate, .beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8};
    struct ll_value *tokens = tokens_from(d, "tokens", 0), *labels = NULL;
    if (d->train)
        labels = tokens_from(d, "next_tokens", 1);
    struct ll_value *logits = net(d, tokens);
    if (!d->train || nn->trouble)
        return logits;
    struct ll_value *loss = ll_decoder_loss(nn, logits, labels);
    ll_minimise(nn, loss, &adam);
    if (build->evaluate && !nn->trouble)
        add_evaluation(d, net);
    return loss;
}

/* Counts the guesses where the sequence repeats itself, since only there the next token can be known. */
bool ll_decoder_evaluate(void *context, struct ll_runner *runner, struct ll_scores *scores)
{
    const struct ll_decoder *d = context;
    uint64_t right = 0, asked = 0, period = ll_max(1, d->sizes.seq / 4);
    for (uint64_t step = 0; step < UNSEEN_BATCHES; step++) {
        ll_runner_run(runner, d->program, step);
        const int32_t *guesses = ll_runner_data(runner, d->guesses);
        for (uint64_t n = 0; n < d->batch; n++)
            for (uint64_t i = period - 1; i < d->steps; i++, asked++)
                right += guesses[n * d->steps + i] == token_of(d, LL_HELD_BACK, step, n, i + 1);
    }
    ll_scores_add(scores,
                  (struct ll_score){"tokens", "share of unseen tokens guessed where a sequence repeats",
                                    (double)right / (double)asked, false});
    return true;
}
