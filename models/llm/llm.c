/* SPDX-License-Identifier: Apache-2.0 */
/* Language models of today: one decoder whose layers a configuration file describes (config.h), recorded at
 * full size as kernels on devices have them, or, small, in ops that are computed here (computed.h).
 *
 *     x = embedding of tokens;   of each layer x += mixer(norm(x)), x += feed forward(norm(x));
 *     logits = head(norm(x))
 *
 * Parameters are exact. FLOPs of a step with T new tokens, of which A are asked for the next one, h features
 * and V tokens in the vocabulary:
 *
 *     2 T W + 2 A h V + attention,
 *
 * W being the weights that a token is multiplied with (of experts those that it goes to), attention 2 (d + e)
 * a head and token that is seen, of d features of keys and e of values. In prefill the last token of a
 * sequence is asked for, in decode all, in training all. Layers for multi-token prediction, and towers that
 * look or listen, are left out. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/feed.h"
#include "models/llm/computed.h"
#include "models/llm/decoder.h"
#include "models/model.h"
#include "models/nn/layers.h"
#include "models/nn/training.h"
#include "tracer/base/file.h"

enum {
    LLM_CONFIG,
    LLM_PASS,
    LLM_BATCH,
    LLM_TOKENS,
    LLM_CONTEXT,
    LLM_CHUNK,
    LLM_SPECULATE,
    LLM_DTYPE,
    LLM_WEIGHTS,
    LLM_KV_DTYPE,
    LLM_LAYERS,
    LLM_KV_HEADS,
    LLM_OPS,
    LLM_RATE,
    LLM_VOCABULARY,
    LLM_DENSE_LAYERS,
    LLM_CLIP,
    LLM_PARAMS
};

enum { PREFILL, DECODE, MIXED };
static const char *const passes[] = {"prefill", "decode", "mixed", NULL};
static const char *const dtypes[] = {"bf16", "f16", "f32", NULL};
static const char *const op_words[] = {"kernels", "computed", NULL};
static const char *const cache_dtypes[] = {"auto", "bf16", "f16", "fp8", "f32", NULL};

/* How weights are stored: as the configuration says, or otherwise; and the format whose blocks share scales,
 * to which weights that are learned here can be rounded. */
static const struct {
    const char *name;
    struct ll_llm_formats formats;
    enum ll_numeric blocks;
} weights[] = {
    {"auto", {0, LL_EXPERTS_BF16}, LL_NUMERIC_NONE},
    {"16bit", {0, LL_EXPERTS_BF16}, LL_NUMERIC_NONE},
    {"fp8", {1 + LL_LINEAR_FP8, LL_EXPERTS_FP8}, LL_NUMERIC_NONE},
    {"fp8_block", {1 + LL_LINEAR_FP8_BLOCK, LL_EXPERTS_FP8_BLOCK}, LL_NUMERIC_FP8_BLOCK},
    {"nvfp4", {1 + LL_LINEAR_NVFP4, LL_EXPERTS_NVFP4}, LL_NUMERIC_NVFP4},
    {"mxfp4", {1 + LL_LINEAR_MXFP4, LL_EXPERTS_W4A8_MXFP4_MXFP8}, LL_NUMERIC_MXFP4},
    {"mxfp4_experts", {0, LL_EXPERTS_W4A16_MXFP4}, LL_NUMERIC_NONE},
    {"int8", {1 + LL_LINEAR_INT8, LL_EXPERTS_FP8}, LL_NUMERIC_NONE},
    {"int4", {1 + LL_LINEAR_INT4_WO, LL_EXPERTS_INT4_WO}, LL_NUMERIC_INT4_G128},
};
static const char *const weight_words[] = {"auto",  "16bit",         "fp8",  "fp8_block", "nvfp4",
                                           "mxfp4", "mxfp4_experts", "int8", "int4",      NULL};

static const struct ll_model_param params[LLM_PARAMS] = {
    [LLM_CONFIG] = {"config", 0, 0, 0, "a model's config.json, or the name of one that comes along"},
    [LLM_PASS] = {"pass", 0, 0, 2,
                  "what an inference does: new tokens of prompts, one more token each, or both at once"},
    [LLM_BATCH] = {"batch", 1, 1, 1 << 20, "sequences; in a mixed pass those that decode"},
    [LLM_TOKENS] = {"tokens", 0, 0, 1 << 24,
                    "new tokens of a sequence; 0: 1024 of a prompt, 1 when decoding, 4096 to learn from"},
    [LLM_CONTEXT] =
        {"context", 0, 0, 0,
         "tokens of a sequence that were there before: a number, a list of one for each sequence, or a "
         "file with one a line"},
    [LLM_CHUNK] = {"chunk", 0, 0, 1 << 24, "tokens of a prompt that a mixed pass also reads; 0: 512"},
    [LLM_SPECULATE] = {"speculate", 0, 0, 64,
                       "tokens that were guessed ahead, and are checked when decoding"},
    [LLM_DTYPE] = {"dtype", 0, 0, 2, "of activations, and of weights that are not quantized"},
    [LLM_WEIGHTS] = {"weights", 0, 0, 8, "how weights are stored; auto: as the configuration says"},
    [LLM_KV_DTYPE] = {"kv_dtype", 0, 0, 4, "of keys and values in the cache; auto: as activations"},
    [LLM_KV_HEADS] = {"kv_heads", 0, 0, 1 << 12,
                      "at least so many key heads, each of the model's stored as often as that takes: what "
                      "devices do that share its GEMMs and are more; 0: the model's"},
    [LLM_LAYERS] = {"layers", 0, 0, 1 << 12, "the first so many; 0: all"},
    [LLM_OPS] = {"ops", 0, 0, 1,
                 "kernels as devices have them, which are only recorded, or ops that are computed here, with "
                 "-p dtype=f32"},
    [LLM_RATE] = {"rate", 100, 1, 1000000, "of learning, in millionths"},
    [LLM_VOCABULARY] = {"vocabulary", 0, 0, 1 << 24,
                        "tokens there are, with those that a table is padded by; 0: the model's"},
    [LLM_DENSE_LAYERS] = {"dense_layers", 0, 0, 1 << 12,
                          "layers without experts, which come first; 0: the model's"},
    [LLM_CLIP] =
        {"clip", 0, 0, 1 << 30,
         "thousandths of the norm of all gradients beyond which they are scaled down; 0: they are not"},
};
static const char *const *const words[LLM_PARAMS] = {
    [LLM_CONFIG] = ll_any_text, [LLM_PASS] = passes,          [LLM_CONTEXT] = ll_any_text,
    [LLM_DTYPE] = dtypes,       [LLM_WEIGHTS] = weight_words, [LLM_KV_DTYPE] = cache_dtypes,
    [LLM_OPS] = op_words};

/* --- matrices, norms, views --- */

struct ll_value *ll_llm_op(struct ll_llm_decoder *d, enum ll_op_kind kind, uint32_t count,
                           struct ll_value *const *inputs, const struct ll_attr *attrs, uint32_t attr_count)
{
    return ll_nn_do(
        d->nn,
        &(struct ll_nn_call){
            .kind = kind, .input_count = count, .inputs = inputs, .attr_count = attr_count, .attrs = attrs});
}

struct ll_value *ll_llm_seen(struct ll_llm_decoder *d, struct ll_value *const *pieces, uint32_t count,
                             unsigned rank, const uint64_t *dims, const enum ll_role *roles)
{
    if (d->nn->trouble)
        return &d->nn->nothing;
    struct ll_shape shape = ll_nn_shape(d->nn, rank, dims, roles);
    shape.dtype = pieces[0]->shape.dtype;
    bool alike = count == 1 && shape.rank == pieces[0]->shape.rank &&
                 memcmp(shape.dim, pieces[0]->shape.dim, sizeof shape.dim) == 0;
    if (alike)
        return pieces[0];
    return ll_nn_do(d->nn, &(struct ll_nn_call){.kind = LL_OP_SEEN_AS,
                                                .input_count = count,
                                                .inputs = pieces,
                                                .given_count = 1,
                                                .given = &shape});
}

struct ll_value *ll_llm_part(struct ll_llm_decoder *d, struct ll_value *x, unsigned axis, uint64_t begin,
                             uint64_t size)
{
    struct ll_nn *nn = d->nn;
    if (nn->trouble || (begin == 0 && size == x->shape.dim[axis]))
        return x;
    struct ll_shape shape = x->shape;
    shape.dim[axis] = size;
    const struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_AXIS, axis),
                                    ll_attr_of_count(LL_ATTR_BEGIN, (int64_t)begin),
                                    ll_attr_of_count(LL_ATTR_SIZE, (int64_t)size)};
    return ll_nn_do(nn, &(struct ll_nn_call){.kind = LL_OP_SEEN_AS,
                                             .input_count = 1,
                                             .inputs = &x,
                                             .attr_count = 3,
                                             .attrs = attrs,
                                             .given_count = 1,
                                             .given = &shape});
}

struct ll_value *ll_llm_line(struct ll_llm_decoder *d, const char *name, uint64_t size, enum ll_role role)
{
    struct ll_shape shape = ll_nn_shape(d->nn, 1, &size, &role);
    return ll_nn_variable(d->nn, name, &shape, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 0, NULL});
}

/* A weight as a quantized linear layer stores it: its type, and the scales that its elements share. */
static void store(const struct ll_llm_decoder *d, bool whole, struct ll_shape *shape)
{
    static const struct {
        enum ll_dtype dtype;
        enum ll_scales scales;
    } stored[LL_LINEAR_FORMAT_COUNT] = {[LL_LINEAR_FP8] = {LL_F8, LL_SCALES_NONE},
                                        [LL_LINEAR_FP8_BLOCK] = {LL_F8, LL_SCALES_F32_SQUARE},
                                        [LL_LINEAR_MXFP8] = {LL_F8, LL_SCALES_E8M0},
                                        [LL_LINEAR_NVFP4] = {LL_F4, LL_SCALES_E4M3},
                                        [LL_LINEAR_MXFP4] = {LL_F4, LL_SCALES_E8M0},
                                        [LL_LINEAR_INT8] = {LL_INT8, LL_SCALES_NONE},
                                        [LL_LINEAR_INT8_WO] = {LL_INT8, LL_SCALES_NONE},
                                        [LL_LINEAR_INT4_WO] = {LL_INT4, LL_SCALES_F16}};
    if (whole || d->train || d->formats.linear == 0)
        return;
    shape->dtype = (uint8_t)stored[d->formats.linear - 1].dtype;
    shape->scales = (uint8_t)stored[d->formats.linear - 1].scales;
}

struct ll_value *ll_llm_dense(struct ll_llm_decoder *d, struct ll_value *x, const struct ll_llm_matrix *m)
{
    struct ll_nn *nn = d->nn;
    if (nn->trouble)
        return &nn->nothing;
    assert(x->shape.rank == 2 && m->units > 0);
    struct ll_shape shape =
        ll_nn_shape(nn, 2, (uint64_t[]){x->shape.dim[1], m->units}, (const enum ll_role[]){m->from, m->to});
    store(d, m->whole, &shape);
    const struct ll_attr format = ll_attr_of_count(LL_ATTR_FORMAT, d->formats.linear);
    ll_nn_push(nn, m->name);
    struct ll_value *inputs[2] = {
        x, ll_nn_variable(nn, "weights", &shape, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL})};
    bool quantized = shape.dtype != nn->real;
    struct ll_value *y = ll_llm_op(d, LL_OP_MATMUL, 2, inputs, &format, quantized ? 1 : 0);
    if (m->biased)
        y = ll_nn_do2(nn, LL_OP_BIAS_ADD, y, ll_llm_line(d, "biases", m->units, m->to));
    ll_nn_pop(nn);
    return y;
}

void ll_llm_dense_parts(struct ll_llm_decoder *d, const char *name, struct ll_value *x,
                        const struct ll_llm_matrix *matrices, uint32_t count, struct ll_value **parts)
{
    struct ll_llm_matrix all = matrices[0];
    uint64_t begin = 0;
    if (count == 1) {
        parts[0] = ll_llm_dense(d, x, &matrices[0]);
        return;
    }
    all.name = name;
    all.units = 0;
    for (uint32_t i = 0; i < count; i++) {
        all.units += matrices[i].units;
        all.biased |= matrices[i].biased;
        if (matrices[i].biased != matrices[0].biased)
            all.biased = false;
    }
    struct ll_value *y = ll_llm_dense(d, x, &all);
    for (uint32_t i = 0; i < count; i++) {
        parts[i] = ll_llm_part(d, y, 1, begin, matrices[i].units);
        begin += matrices[i].units;
        if (matrices[i].biased && !all.biased) {
            ll_nn_push(d->nn, matrices[i].name);
            parts[i] = ll_nn_do2(d->nn, LL_OP_BIAS_ADD, parts[i],
                                 ll_llm_line(d, "biases", matrices[i].units, matrices[i].to));
            ll_nn_pop(d->nn);
        }
    }
}

struct ll_value *ll_llm_norm(struct ll_llm_decoder *d, const char *name, struct ll_value *x)
{
    struct ll_nn *nn = d->nn;
    if (nn->trouble)
        return &nn->nothing;
    const unsigned last = x->shape.rank - 1u;
    const struct ll_attr epsilon = ll_attr_of_real(LL_ATTR_EPSILON, d->llm->epsilon);
    ll_nn_push(nn, name);
    struct ll_value *inputs[] = {
        x, ll_llm_line(d, "scale", x->shape.dim[last], (enum ll_role)x->shape.role[last])};
    struct ll_value *y = ll_llm_op(d, LL_OP_RMS_NORM, 2, inputs, &epsilon, 1);
    ll_nn_pop(nn);
    return y;
}

/* A norm of hidden features, as the model has them. What scales or shifts nothing is no weight. */
static struct ll_value *hidden_norm(struct ll_llm_decoder *d, const char *name, struct ll_value *x)
{
    static const enum ll_role role = LL_ROLE_HIDDEN;
    const enum ll_llm_norm norm = d->llm->norm;
    const struct ll_attr epsilon = ll_attr_of_real(LL_ATTR_EPSILON, d->llm->epsilon);
    if (norm == LL_LLM_RMS_NORM || d->nn->trouble)
        return ll_llm_norm(d, name, x);
    const uint64_t features = x->shape.dim[x->shape.rank - 1u];
    const struct ll_shape line = ll_nn_shape(d->nn, 1, &features, &role);
    ll_nn_push(d->nn, name);
    struct ll_value *inputs[] = {x,
                                 norm == LL_LLM_LAYER_NORM_BARE
                                     ? ll_filled(d->nn, "ones", &line, 1)
                                     : ll_llm_line(d, "scale", features, LL_ROLE_HIDDEN),
                                 norm == LL_LLM_LAYER_NORM ? ll_llm_line(d, "shift", features, LL_ROLE_HIDDEN)
                                                           : ll_zeros(d->nn, &line)};
    struct ll_value *y = ll_llm_op(d, LL_OP_LAYER_NORM, 3, inputs, &epsilon, 1);
    ll_nn_pop(d->nn);
    return y;
}

/* --- sequences of a step --- */

static bool add_sequence(struct ll_llm_decoder *d, uint64_t count, uint64_t tokens, uint64_t past)
{
    uint32_t i = 0;
    while (i < d->group_count && (d->groups[i].tokens != tokens || d->groups[i].past != past))
        i++;
    if (i == LL_LLM_MOST_GROUPS) {
        ll_nn_fail(d->nn,
                   "sequences of more than %d different lengths; expected fewer, as lengths rounded to "
                   "multiples",
                   LL_LLM_MOST_GROUPS);
        return false;
    }
    if (i == d->group_count)
        d->groups[d->group_count++] = (struct ll_llm_group){.tokens = tokens, .past = past};
    d->groups[i].count += count;
    return true;
}

/* Reads a number that commas, blanks and ends of lines may follow; false at what is none. */
static bool next_length(const char **at, uint64_t *length)
{
    char *end;
    *at += strspn(*at, ", \t\r\n");
    errno = 0;
    unsigned long long value = strtoull(*at, &end, 10);
    if (end == *at || **at == '-' || errno || value > 1u << 24)
        return false;
    *at = end;
    *length = value;
    return true;
}

/* Sequences that decode or go on: as many as the batch, each with what was before it. A list gives one for
 * each sequence; one that is shorter than the batch goes on from its start. */
static bool add_sequences(struct ll_llm_decoder *d, uint64_t batch, uint64_t tokens, const char *context,
                          uint64_t otherwise)
{
    struct ll_contents text = {context, context ? strlen(context) : 0};
    if (!context)
        return add_sequence(d, batch, tokens, otherwise);
    if (*context == '\0' || context[strspn(context, "0123456789, ")] != '\0') {
        enum ll_status status = ll_read_whole(context, 1 << 24, &d->nn->arena, &text);
        if (status != LL_OK) {
            ll_nn_fail(d->nn, "-p context=%s: expected a number, a list of numbers, or a file of them; %s",
                       context, ll_status_text(status));
            return false;
        }
    }
    const char *at = text.bytes;
    for (uint64_t i = 0; i < batch; i++) {
        uint64_t past;
        if (!next_length(&at, &past)) {
            ll_nn_fail(d->nn,
                       "-p context: expected whole numbers from 0 to 2^24, of which there is one at least");
            return false;
        }
        at += strspn(at, ", \t\r\n");
        bool single = *at == '\0' && i == 0;
        if (!add_sequence(d, single ? batch : 1, tokens, past))
            return false;
        if (single)
            break;
        at = *at == '\0' ? text.bytes : at;
    }
    return true;
}

static void set_sequences(struct ll_llm_decoder *d, const struct ll_build *build)
{
    enum { PROMPT = 1024, LESSON = 4096, CONTEXT = 1024, CHUNK = 512 };
    const int64_t *values = build->params;
    const char *context = ll_build_text(build, LLM_CONTEXT);
    const uint64_t batch = build->batch, speculated = 1 + (uint64_t)values[LLM_SPECULATE];
    int64_t pass = values[LLM_PASS];
    uint64_t tokens = (uint64_t)values[LLM_TOKENS];
    if (build->train || build->measure)
        add_sequence(d, batch, tokens > 0 ? tokens : LESSON, 0);
    else if (pass == PREFILL)
        add_sequences(d, batch, tokens > 0 ? tokens : PROMPT, context, 0);
    else
        add_sequences(d, batch, tokens > 0 ? tokens : speculated, context, CONTEXT);
    if (!build->train && !build->measure && pass == MIXED)
        add_sequence(d, 1, values[LLM_CHUNK] > 0 ? (uint64_t)values[LLM_CHUNK] : CHUNK, 0);
    if (build->train && context)
        ll_nn_fail(d->nn, "what is learned from has no context; expected --infer with -p context");
    if (pass == PREFILL && values[LLM_SPECULATE] > 0)
        ll_nn_fail(d->nn,
                   "guessed tokens are checked when decoding; expected -p pass=decode with -p speculate");
    for (uint32_t i = 0; i < d->group_count; i++) {
        struct ll_llm_group *g = &d->groups[i];
        g->first = d->rows;
        d->rows += g->count * g->tokens;
        d->sequences += g->count;
    }
}

/* --- the whole --- */

static void no_tokens(void *context, uint64_t step, int32_t *data)
{
    (void)context;
    (void)step;
    (void)data;
}

static struct ll_value *fed(struct ll_llm_decoder *d, const char *name)
{
    static const enum ll_role role = LL_ROLE_BATCH;
    struct ll_shape shape = ll_nn_shape(d->nn, 1, &d->rows, &role);
    return ll_feed_indices(d->nn, name, &shape, no_tokens, d);
}

/* The two parts of a layer: what each adds to x, [rows, hidden]. */
static struct ll_value *mixer_part(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *x)
{
    struct ll_value *y = ll_llm_mixed(d, l, hidden_norm(d, "norm", x));
    return l->norms > 0 ? hidden_norm(d, "norm_behind", y) : y;
}

static struct ll_value *ffn_part(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *x)
{
    /* Where dense and expert parts stand side by side, each has norms of its own. */
    static const char *const names[] = {"norm_behind", "dense_norm", "experts_norm", "experts_norm_behind"};
    struct ll_value *y = ll_llm_fed(d, l, hidden_norm(d, "norm", x));
    for (unsigned i = 1; i < l->norms; i++)
        y = hidden_norm(d, names[i - 1], y);
    return y;
}

typedef struct ll_value *part_of_layer(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                       struct ll_value *x);

/* Several residual streams (Xie et al., Manifold-Constrained Hyper-Connections, 2025): [rows, streams
 * hidden]. A matrix of all streams says with which weights a part reads them, how they mix and where its
 * result goes. */
static struct ll_value *mix_weights(struct ll_llm_decoder *d, struct ll_value *x, uint64_t units,
                                    uint64_t scales)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    ll_nn_push(d->nn, "streams");
    struct ll_value *y =
        ll_llm_dense(d, x, &(struct ll_llm_matrix){"mix", units, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, true, true});
    struct ll_value *pieces[] = {y, ll_llm_line(d, "scale", scales, LL_ROLE_PLAIN)};
    y = ll_nn_do1(d->nn, LL_OP_SIGMOID,
                  ll_llm_seen(d, pieces, 2, 2, (uint64_t[]){x->shape.dim[0], units}, roles));
    ll_nn_pop(d->nn);
    return y;
}

/* The streams added up by their weights: [rows, hidden]. */
static struct ll_value *streams_read(struct ll_llm_decoder *d, struct ll_value *x, struct ll_value *shares)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_HIDDEN};
    struct ll_value *pieces[] = {x, shares};
    struct ll_value *apart =
        ll_llm_seen(d, pieces, 2, 3, (uint64_t[]){x->shape.dim[0], d->llm->streams, d->llm->hidden}, roles);
    return ll_sum_over(d->nn, apart, 1, 1);
}

/* x after a part of a layer. */
static struct ll_value *after(struct ll_llm_decoder *d, const struct ll_llm_layer *l, part_of_layer *part,
                              struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_HIDDEN},
                              flat[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    const uint64_t streams = d->llm->streams, hidden = d->llm->hidden;
    if (streams == 0)
        return ll_add_of(d->nn, x, part(d, l, x));
    struct ll_value *shares = mix_weights(d, x, (2 + streams) * streams, 3);
    struct ll_value *pieces[] = {part(d, l, streams_read(d, x, shares)), shares};
    struct ll_value *y = ll_llm_seen(d, pieces, 2, 3, (uint64_t[]){d->rows, 1, hidden}, roles);
    x = ll_llm_seen(d, &x, 1, 3, (uint64_t[]){d->rows, streams, hidden}, roles);
    x = ll_add_of(d->nn, x, y);
    return ll_llm_seen(d, &x, 1, 2, (uint64_t[]){d->rows, streams * hidden}, flat);
}

/* Embeddings of the layers' own (Gemma 3n): of each token and layer a line of a second table, added to a
 * projection of the usual embedding; a layer adds what a gated part makes of its own. Training, each layer
 * has its part of the table and of the projection for itself. */
struct layer_inputs {
    struct ll_value *tokens, *embedded; /* [rows]; [rows, hidden] */
    struct ll_value *scale;             /* of the norm that all share */
    struct ll_value *all;               /* [rows, layers features]; NULL when training */
};

static struct ll_value *layer_table(struct ll_llm_decoder *d, struct ll_value *tokens, uint64_t features)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_PLAIN};
    struct ll_shape shape = ll_nn_shape(d->nn, 2, (uint64_t[]){d->llm->layer_vocabulary, features}, roles);
    return ll_nn_gather(d->nn,
                        ll_nn_variable(d->nn, "layer_tokens", &shape, LL_WEIGHT,
                                       (struct ll_init){LL_INIT_NORMAL, 0.02, NULL}),
                        tokens);
}

/* The second table's lines and the projection of the embeddings, for `layers` layers of so many features. */
static struct ll_value *joined(struct ll_llm_decoder *d, const struct layer_inputs *in, uint64_t layers,
                               uint64_t features)
{
    static const enum ll_role apart[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN},
                              together[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN};
    const struct ll_attr epsilon = ll_attr_of_real(LL_ATTR_EPSILON, 1e-6);
    struct ll_value *own = layer_table(d, in->tokens, layers * features);
    struct ll_value *y = ll_llm_dense(d, in->embedded,
                                      &(struct ll_llm_matrix){"layer_projection", layers * features,
                                                              LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false});
    if (layers > 1)
        y = ll_llm_seen(d, &y, 1, 3, (uint64_t[]){d->rows, layers, features}, apart);
    y = ll_llm_op(d, LL_OP_RMS_NORM, 2, (struct ll_value *[]){y, in->scale}, &epsilon, 1);
    if (layers > 1)
        y = ll_llm_seen(d, &y, 1, 2, (uint64_t[]){d->rows, layers * features}, together);
    return ll_add_of(d->nn, y, own);
}

static struct layer_inputs layer_inputs_of(struct ll_llm_decoder *d, struct ll_value *tokens,
                                           struct ll_value *x)
{
    const uint64_t features = d->llm->layers[0].layer_input;
    struct layer_inputs in = {.tokens = tokens, .embedded = x};
    if (features == 0)
        return in;
    ll_nn_push(d->nn, "embedding");
    in.scale = ll_llm_line(d, "layer_norm/scale", features, LL_ROLE_PLAIN);
    if (!d->train)
        in.all = joined(d, &in, d->llm->layer_count, features);
    ll_nn_pop(d->nn);
    return in;
}

static struct ll_value *with_layer_input(struct ll_llm_decoder *d, const struct layer_inputs *in, uint64_t i,
                                         struct ll_value *x)
{
    const uint64_t features = d->llm->layers[i].layer_input;
    if (features == 0)
        return x;
    ll_nn_push(d->nn, "layer_input");
    struct ll_value *own =
        in->all ? ll_llm_part(d, in->all, 1, i * features, features) : joined(d, in, 1, features);
    struct ll_value *gate = ll_llm_dense(
        d, x, &(struct ll_llm_matrix){"gate", features, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false});
    struct ll_value *y = ll_llm_dense(
        d, ll_nn_do2(d->nn, LL_OP_SILU_MUL, gate, own),
        &(struct ll_llm_matrix){"up", d->llm->hidden, LL_ROLE_PLAIN, LL_ROLE_HIDDEN, false, false});
    x = ll_add_of(d->nn, x, ll_llm_norm(d, "norm", y));
    ll_nn_pop(d->nn);
    return x;
}

/* x and what both parts of a layer make of it, which read it through one norm or one each. */
static struct ll_value *side_by_side(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                     struct ll_value *x)
{
    ll_nn_push(d->nn, "attention");
    struct ll_value *n = hidden_norm(d, "norm", x), *y = ll_llm_mixed(d, l, n);
    ll_nn_pop(d->nn);
    ll_nn_push(d->nn, "feed_forward");
    n = l->one_norm ? n : hidden_norm(d, "norm", x);
    y = ll_add_of(d->nn, y, ll_llm_fed(d, l, n));
    ll_nn_pop(d->nn);
    return ll_add_of(d->nn, x, y);
}

static struct ll_value *layer_of(struct ll_llm_decoder *d, const struct layer_inputs *in, uint64_t i,
                                 struct ll_value *x)
{
    const struct ll_llm_layer *l = &d->llm->layers[i];
    if (l->parallel)
        return side_by_side(d, l, x);
    if (l->mixer != LL_MIXER_NONE) {
        ll_nn_push(d->nn, "attention");
        x = after(d, l, mixer_part, x);
        ll_nn_pop(d->nn);
    }
    if (l->dense > 0 || l->experts > 0 || l->dense_linear) {
        ll_nn_push(d->nn, "feed_forward");
        x = after(d, l, ffn_part, x);
        ll_nn_pop(d->nn);
    }
    return with_layer_input(d, in, i, x);
}

/* The embeddings as the first state of all streams; the last state of these as one. */
static struct ll_value *streams_begun(struct ll_llm_decoder *d, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    const uint64_t streams = d->llm->streams;
    struct ll_value *copies[64];
    assert(streams <= 64);
    for (uint64_t i = 0; i < streams; i++)
        copies[i] = x;
    x = ll_nn_concat(d->nn, copies, (uint32_t)streams, 1);
    return ll_llm_seen(d, &x, 1, 2, (uint64_t[]){d->rows, streams * d->llm->hidden}, roles);
}

/* Rows whose next token is asked for: [sequences, hidden] of the last of each, or all. */
static struct ll_value *asked(struct ll_llm_decoder *d, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    if (!d->asks_last || d->nn->trouble)
        return x;
    struct ll_value *pieces[LL_LLM_MOST_GROUPS];
    uint64_t rows = 0;
    for (uint32_t i = 0; i < d->group_count; i++) {
        const struct ll_llm_group *g = &d->groups[i];
        pieces[i] = d->group_count > 1 ? ll_llm_part(d, x, 0, g->first, g->count * g->tokens) : x;
        rows += g->count;
    }
    return rows == d->rows
               ? x
               : ll_llm_seen(d, pieces, d->group_count, 2, (uint64_t[]){rows, x->shape.dim[1]}, roles);
}

/* Embeddings of places. */
static struct ll_value *positions_of(struct ll_llm_decoder *d)
{
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN};
    struct ll_shape shape = ll_nn_shape(d->nn, 2, (uint64_t[]){d->llm->positions, d->llm->hidden}, roles);
    return ll_nn_variable(d->nn, "positions", &shape, LL_WEIGHT,
                          (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
}

static struct ll_value *net(struct ll_llm_decoder *d)
{
    static const enum ll_role roles[] = {LL_ROLE_VOCABULARY, LL_ROLE_HIDDEN};
    const struct ll_llm *llm = d->llm;
    struct ll_nn *nn = d->nn;
    struct ll_value *tokens = fed(d, "tokens");
    struct ll_shape table = ll_nn_shape(nn, 2, (uint64_t[]){llm->vocabulary, llm->hidden}, roles);
    ll_nn_push(nn, "embedding");
    struct ll_value *embedding =
        ll_nn_variable(nn, "tokens", &table, LL_WEIGHT, (struct ll_init){LL_INIT_NORMAL, 0.02, NULL});
    struct ll_value *x = ll_nn_gather(nn, embedding, tokens);
    if (llm->positions > 0)
        x = ll_add_of(nn, x, ll_nn_gather(nn, positions_of(d), fed(d, "places")));
    if (llm->embedding_norm)
        x = hidden_norm(d, "norm", x);
    ll_nn_pop(nn);
    const struct layer_inputs in = layer_inputs_of(d, tokens, x);
    x = llm->streams > 0 ? streams_begun(d, x) : x;
    for (uint64_t i = 0; i < llm->layer_count && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", (unsigned)i);
        x = layer_of(d, &in, i, x);
        ll_nn_pop(nn);
    }
    ll_nn_push(nn, "head");
    x = asked(d, x);
    x = llm->streams > 0 ? streams_read(d, x, mix_weights(d, x, llm->streams, 1)) : x;
    x = hidden_norm(d, "norm", x);
    struct ll_value *logits =
        llm->tied ? ll_matmul_transposed(nn, x, embedding)
                  : ll_llm_dense(d, x,
                                 &(struct ll_llm_matrix){"tokens", llm->vocabulary, LL_ROLE_HIDDEN,
                                                         LL_ROLE_VOCABULARY, llm->head_biased, true});
    ll_nn_pop(nn);
    return logits;
}

static bool read_config(struct ll_nn *nn, const struct ll_build *build, struct ll_llm *llm)
{
    const char *name = ll_build_text(build, LLM_CONFIG), *known;
    struct ll_contents text;
    if (!name)
        name = "llama3.1-8b";
    known = ll_llm_known(name);
    if (known)
        return ll_llm_read(name, known, strlen(known), &nn->arena, llm, build->diags);
    enum { MOST_BYTES = 1 << 24 };
    enum ll_status status = ll_read_whole(name, MOST_BYTES, &nn->arena, &text);
    if (status == LL_OK)
        return ll_llm_read(name, text.bytes, text.length, &nn->arena, llm, build->diags);
    struct ll_str all = {0};
    for (size_t i = 0; i < ll_llm_known_count(); i++)
        ll_str_addf(&all, "%s%s", i ? ", " : "", ll_llm_known_name(i));
    ll_complain(build->diags, (struct ll_place){.file = name},
                "%s; expected a model's config.json, or one of %s", ll_status_text(status),
                all.failed ? "those that come along" : all.text);
    ll_str_release(&all);
    return false;
}

/* Key heads of attention stored several times. */
static void copy_heads(struct ll_nn *nn, struct ll_llm *llm, uint64_t heads)
{
    struct ll_llm_layer *layers = ll_copy(&nn->arena, llm->layers, llm->layer_count * sizeof *layers);
    if (!layers) {
        ll_nn_fail(nn, "memory ran out");
        return;
    }
    for (uint64_t i = 0; i < llm->layer_count; i++) {
        struct ll_llm_layer *l = &layers[i];
        if (l->mixer == LL_MIXER_ATTENTION && l->kv_heads < heads && l->heads % heads == 0)
            l->kv_heads = heads;
    }
    llm->layers = layers;
}

/* The one length that all sequences have, of a context that is a number. */
static uint64_t single_length(struct ll_nn *nn, const char *context)
{
    uint64_t length = 0;
    if (context && (!next_length(&context, &length) || *context != '\0'))
        ll_nn_fail(nn,
                   "sequences of one length are computed here; expected -p context=N with -p ops=computed");
    return length;
}

/* The same layers in ops that are computed here. */
static struct ll_value *build_computed(struct ll_nn *nn, const struct ll_build *build,
                                       const struct ll_llm *llm, const struct ll_llm_formats *formats)
{
    static const int64_t reals[] = {2, 1, 0}; /* by number of ll_decoder_dtypes */
    enum { PROMPT = 1024, LESSON = 4096, TASK = 26 };
    const int64_t *values = build->params;
    const bool infers = !build->train && !build->measure;
    const uint64_t tokens = (uint64_t)values[LLM_TOKENS],
                   past = single_length(nn, ll_build_text(build, LLM_CONTEXT));
    const char *unknown = ll_llm_not_computed(llm);
    if (unknown)
        ll_nn_fail(nn, "%s: not computed here; expected -p ops=kernels", unknown);
    const bool quantized = formats->linear > 0 || formats->expert != LL_EXPERTS_BF16;
    if ((infers && quantized) || values[LLM_KV_DTYPE] > 0)
        ll_nn_fail(nn, "quantized weights and caches are not computed here; expected -p weights=16bit and no "
                       "-p kv_dtype with -p ops=computed");
    const enum ll_numeric rounded =
        quantized && values[LLM_WEIGHTS] > 0 ? weights[values[LLM_WEIGHTS]].blocks : LL_NUMERIC_NONE;
    if (quantized && values[LLM_WEIGHTS] > 0 && rounded == LL_NUMERIC_NONE)
        ll_nn_fail(nn, "of weights that are rounded while they are learned blocks share scales; expected -p "
                       "weights=fp8_block, nvfp4, mxfp4 or int4 with -p ops=computed");
    if (values[LLM_CLIP] > 0)
        ll_nn_fail(nn, "gradients are not clipped there; expected no -p clip with -p ops=computed");
    if (values[LLM_PASS] == MIXED)
        ll_nn_fail(nn, "a mixed pass is not computed here; expected -p pass=prefill or decode with -p "
                       "ops=computed");
    if (nn->trouble)
        return &nn->nothing;
    const bool decodes = infers && values[LLM_PASS] == DECODE;
    const uint64_t fresh = tokens > 0 ? tokens
                           : decodes  ? 1 + (uint64_t)values[LLM_SPECULATE]
                           : infers   ? PROMPT
                                      : LESSON;
    const struct ll_decoder_options options = {.sizes = {.layers = llm->layer_count,
                                                         .hidden = llm->hidden,
                                                         .heads = 1, /* each layer has its own */
                                                         .kv_heads = 1,
                                                         .head = 1,
                                                         .seq = fresh,
                                                         .vocabulary = llm->vocabulary},
                                               .pass = decodes  ? LL_PASS_DECODE
                                                       : infers ? LL_PASS_PREFILL
                                                                : LL_PASS_FORWARD,
                                               .dtype = reals[values[LLM_DTYPE]],
                                               .context = infers ? past + fresh : 0,
                                               .tokens = infers ? fresh : 0,
                                               .task_vocabulary = ll_min(TASK, llm->vocabulary),
                                               .fused = true,
                                               .rounds = rounded != LL_NUMERIC_NONE,
                                               .rounded = rounded,
                                               .rate = (double)values[LLM_RATE] * 1e-6,
                                               .net = llm};
    return ll_decoder_build(nn, build, &options, ll_llm_computed);
}

/* Another number of dense layers before those with experts, each like one of the model's. */
static void set_dense_layers(struct ll_nn *nn, struct ll_llm *llm, uint64_t dense)
{
    uint64_t first = 0;
    while (first < llm->layer_count && llm->layers[first].experts == 0)
        first++;
    struct ll_llm_layer *layers = ll_copy(&nn->arena, llm->layers, llm->layer_count * sizeof *layers);
    if (first == 0 || first == llm->layer_count || !layers) {
        ll_nn_fail(
            nn, layers ? "-p dense_layers is for models whose first layers have no experts, and others have"
                       : "memory ran out");
        return;
    }
    for (uint64_t i = 0; i < llm->layer_count; i++)
        layers[i] = llm->layers[i < dense ? 0 : first];
    llm->layers = layers;
}

static struct ll_value *build_llm(struct ll_nn *nn, const struct ll_build *build)
{
    static const enum ll_dtype reals[] = {LL_BF16, LL_F16, LL_F32},
                               caches[] = {LL_F32, LL_BF16, LL_F16, LL_F8, LL_F32};
    struct ll_llm_decoder *d = ll_alloc(&nn->arena, 1, sizeof *d);
    struct ll_llm *llm = ll_alloc(&nn->arena, 1, sizeof *llm);
    const int64_t *values = build->params;
    if (!d || !llm || !read_config(nn, build, llm)) {
        ll_nn_fail(nn, d && llm ? "its configuration cannot be read" : "memory ran out");
        return &nn->nothing;
    }
    if (values[LLM_KV_HEADS] > 0)
        copy_heads(nn, llm, (uint64_t)values[LLM_KV_HEADS]);
    if (values[LLM_DENSE_LAYERS] > 0)
        set_dense_layers(nn, llm, (uint64_t)values[LLM_DENSE_LAYERS]);
    if (values[LLM_VOCABULARY] > 0)
        llm->vocabulary = (uint64_t)values[LLM_VOCABULARY];
    if (values[LLM_LAYERS] > 0)
        llm->layer_count = ll_min(llm->layer_count, (uint64_t)values[LLM_LAYERS]);
    const struct ll_llm_formats *formats =
        values[LLM_WEIGHTS] > 0 ? &weights[values[LLM_WEIGHTS]].formats : &llm->formats;
    if (values[LLM_OPS] > 0)
        return build_computed(nn, build, llm, formats);
    nn->real = reals[values[LLM_DTYPE]];
    *d = (struct ll_llm_decoder){
        .nn = nn,
        .llm = llm,
        .train = build->train,
        .remembers = !build->train && !build->measure,
        .asks_last = !build->train && !build->measure && values[LLM_PASS] == PREFILL,
        .cache = values[LLM_KV_DTYPE] > 0 ? caches[values[LLM_KV_DTYPE]] : nn->real,
        .formats = *formats,
    };
    set_sequences(d, build);
    struct ll_value *labels = build->train && !nn->trouble ? fed(d, "next_tokens") : NULL;
    struct ll_value *logits = nn->trouble ? &nn->nothing : net(d);
    if (!labels || nn->trouble)
        return logits;
    struct ll_value *loss = ll_decoder_loss(nn, logits, labels);
    const struct ll_optimizer adam = {.kind = LL_ADAM,
                                      .rate = (double)values[LLM_RATE] * 1e-6,
                                      .beta1 = 0.9,
                                      .beta2 = 0.95,
                                      .epsilon = 1e-8,
                                      .clip = values[LLM_CLIP] > 0 ? LL_CLIP_GLOBAL_NORM : LL_CLIP_NONE,
                                      .clip_norm = (double)values[LLM_CLIP] * 1e-3,
                                      .clips_in_place = true};
    ll_minimise(nn, loss, &adam);
    return loss;
}

const struct ll_model ll_model_llm = {
    .name = "llm",
    .suite = "llm",
    .doc = "language model by its config.json: Llama, Qwen3, Mixtral, DeepSeek-V3, gpt-oss, Llama 4, Gemma, "
           "Nemotron-H, ... (with --dry-run, or small with -p ops=computed)",
    .default_batch = 1,
    .inference_batch = 1,
    .params = params,
    .param_count = LLM_PARAMS,
    .words = words,
    .batch_param = "batch",
    .infers = true,
    .build = build_llm,
    .recipe = {.steps = 600,
               .batch = 16,
               .settings = {{"config", "tiny"},
                            {"ops", "computed"},
                            {"dtype", "f32"},
                            {"tokens", "32"},
                            {"rate", "2000"}}},
    .evaluate = ll_decoder_evaluate,
};
