/* SPDX-License-Identifier: Apache-2.0 */
/* Diffusion transformers of two streams: squares of the latent image and tokens of a text, each with
 * weights of its own, attend to all of both (Esser et al., Stable Diffusion 3, 2024, section 4). FLUX.1
 * (Black Forest Labs, 2024) goes on with layers that take both as one sequence, whose attention and feed-
 * forward part read the same and share their last matrix. The time, the pooled text and, of flux-dev, the
 * guidance set how each layer normalises and how much it adds. With h features of heads of d, n squares of
 * p pixels of c channels, m tokens of e features, a pooled text of q, L layers of two streams and S of one:
 *
 *     parameters       p^2 c h + h   e h + h   (256 + h + 2) h   (q + h + 2) h, with guidance (256 + h + 2) h
 *                      L (36 h^2 + 30 h)   S (15 h^2 + 11 h)   2 h^2 + 2 h   p^2 c (h + 1)
 *                      norms of queries and keys 4 d and 2 d a layer; the last layer of Stable Diffusion 3,
 *                      whose text nobody reads, 23 h^2 + 20 h
 *     forward FLOPs    L (24 h^2 (n + m) + 4 (n + m)^2 h + 24 h^2) of two streams, S (24 h^2 (n + m) +
 *                      4 (n + m)^2 h + 6 h^2) of one, and the ends
 *
 * 2,028,328,000 of sd3-medium, 8,056,627,520 of sd3.5-large, 11,901,408,320 of flux-dev, 11,891,178,560 of
 * flux-schnell, as their published weights have. Texts come encoded. Inputs are random numbers. */
#include "models/frontier/joint.h"

#include "models/feed.h"
#include "models/frontier/decoder.h"
#include "models/nn/layers.h"
#include "tracer/base/random.h"

enum { SINES = 256 };

static const struct preset {
    uint64_t layers, singles, hidden, heads, text, text_features, pooled;
    bool norms, guided, rotary; /* norms of queries and keys; a guidance; places turn them, else are added */
} presets[LL_JOINT_PRESETS] = {{24, 0, 1536, 24, 154, 4096, 2048, false, false, false},
                               {38, 0, 2432, 38, 154, 4096, 2048, true, false, false},
                               {19, 38, 3072, 24, 512, 4096, 768, true, true, true},
                               {19, 38, 3072, 24, 512, 4096, 768, true, false, true}};

/* The decoder comes first: it is the network's driver's context. */
struct joint {
    struct ll_decoder decoder;
    struct ll_nn *nn;
    const struct preset *preset;
    uint64_t squares, text, inner; /* tokens of either stream; numbers of a square */
    struct ll_value *unit, *nothing, *state;
};

enum { IMAGE, WORDS, STREAMS };

static void fill_numbers(void *context, uint64_t step, float *data)
{
    const uint64_t count = *(const uint64_t *)context, key = ll_random_key(7, step);
    for (uint64_t i = 0; i < count; i++)
        data[i] = (float)(ll_random_bits(key, i) % 2001) * 1e-3f - 1;
}

static struct ll_value *fed(struct joint *m, const char *name, uint64_t rows, uint64_t features)
{
    struct ll_shape shape =
        ll_nn_shape(m->nn, 2, (uint64_t[]){rows, features}, (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HIDDEN});
    const uint64_t count = ll_elements(&shape);
    uint64_t *copy = ll_copy(&m->nn->arena, &count, sizeof count);
    if (copy)
        return ll_feed_floats(m->nn, name, &shape, fill_numbers, copy);
    ll_nn_fail(m->nn, "memory ran out");
    return &m->nn->nothing;
}

static struct ll_value *dense(struct joint *m, const char *name, struct ll_value *x, uint64_t units,
                              enum ll_role from, enum ll_role to)
{
    return ll_decoder_dense(&m->decoder, name, x, &(struct ll_decoder_dense){units, from, to, true, 0.02});
}

static struct ll_value *silu(struct ll_nn *nn, struct ll_value *x)
{
    return ll_mul_of(nn, x, ll_nn_do1(nn, LL_OP_SIGMOID, x));
}

/* Two layers with a silu between, of an input of so many features a sample. */
static struct ll_value *embedded(struct joint *m, const char *name, uint64_t features)
{
    const uint64_t hidden = m->decoder.sizes.hidden;
    struct ll_value *x = fed(m, name, m->decoder.batch, features);
    ll_nn_push(m->nn, name);
    x = silu(m->nn, dense(m, "input", x, hidden, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN));
    x = dense(m, "output", x, hidden, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN);
    ll_nn_pop(m->nn);
    return x;
}

/* So many vectors [batch, 1, hidden] that the state sets. */
static void set(struct joint *m, unsigned count, struct ll_value **vectors)
{
    struct ll_nn *nn = m->nn;
    const uint64_t hidden = m->decoder.sizes.hidden;
    struct ll_value *all = dense(m, "modulation", m->state, count * hidden, LL_ROLE_HIDDEN, LL_ROLE_HIDDEN);
    struct ll_shape each = ll_nn_shape(nn, 3, (uint64_t[]){m->decoder.batch, 1, hidden},
                                       (enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN});
    for (unsigned i = 0; i < count; i++)
        vectors[i] = ll_nn_reshape(nn, ll_nn_slice(nn, all, 1, i * hidden, hidden), &each);
}

/* norm(x) (1 + scale) + shift, of rows of sequences of so many tokens; x + gate y. */
static struct ll_value *modulated(struct joint *m, uint64_t tokens, struct ll_value *x,
                                  struct ll_value *shift, struct ll_value *scale)
{
    struct ll_nn *nn = m->nn;
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, 1e-6);
    struct ll_value *inputs[] = {x, m->unit, m->nothing};
    x = ll_nn_do(
        nn,
        &(struct ll_nn_call){
            .kind = LL_OP_LAYER_NORM, .input_count = 3, .inputs = inputs, .attr_count = 1, .attrs = &attr});
    m->decoder.steps = tokens;
    struct ll_value *factor = ll_add_of(nn, scale, ll_constant(nn, "one", 1));
    x = ll_add_of(nn, ll_mul_of(nn, ll_decoder_sequences(&m->decoder, x), factor), shift);
    return ll_decoder_rows(&m->decoder, x);
}

static struct ll_value *gated(struct joint *m, uint64_t tokens, struct ll_value *x, struct ll_value *y,
                              struct ll_value *gate)
{
    m->decoder.steps = tokens;
    y = ll_mul_of(m->nn, ll_decoder_sequences(&m->decoder, y), gate);
    return ll_add_of(m->nn, x, ll_decoder_rows(&m->decoder, y));
}

/* The two streams as one sequence, rows, texts first; a part of one. */
static struct ll_value *joined(struct joint *m, struct ll_value *const streams[STREAMS])
{
    struct ll_decoder *d = &m->decoder;
    struct ll_value *parts[2];
    d->steps = m->text;
    parts[0] = ll_decoder_sequences(d, streams[WORDS]);
    d->steps = m->squares;
    parts[1] = ll_decoder_sequences(d, streams[IMAGE]);
    d->steps = m->text + m->squares;
    return ll_decoder_rows(d, ll_nn_concat(m->nn, parts, 2, 1));
}

static struct ll_value *part_of(struct joint *m, struct ll_value *x, int stream)
{
    m->decoder.steps = m->text + m->squares;
    x = ll_nn_slice(m->nn, ll_decoder_sequences(&m->decoder, x), 1, stream == IMAGE ? m->text : 0,
                    stream == IMAGE ? m->squares : m->text);
    return ll_decoder_rows(&m->decoder, x);
}

/* Each head's features over the root of their mean square, by weights that all heads share. */
static struct ll_value *head_norm(struct joint *m, const char *name, struct ll_value *x)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_PLAIN}, role = LL_ROLE_PLAIN;
    const struct ll_decoder_sizes *s = &m->decoder.sizes;
    struct ll_nn *nn = m->nn;
    if (!m->preset->norms || nn->trouble)
        return x;
    const struct ll_shape flat = x->shape, line = ll_nn_shape(nn, 1, &s->head, &role),
                          apart = ll_nn_shape(nn, 3, (uint64_t[]){flat.dim[0], s->heads, s->head}, roles);
    struct ll_attr attr = ll_attr_of_real(LL_ATTR_EPSILON, 1e-6);
    struct ll_value *inputs[] = {
        ll_nn_reshape(nn, x, &apart),
        ll_nn_variable(nn, name, &line, LL_WEIGHT, (struct ll_init){LL_INIT_CONSTANT, 1, NULL})};
    x = ll_nn_do(
        nn, &(struct ll_nn_call){
                .kind = LL_OP_RMS_NORM, .input_count = 2, .inputs = inputs, .attr_count = 1, .attrs = &attr});
    return ll_nn_reshape(nn, x, &flat);
}

/* Queries, keys and values of n, of one GEMM. */
static void ask(struct joint *m, struct ll_value *n, struct ll_value *qkv[3])
{
    const uint64_t hidden = m->decoder.sizes.hidden;
    struct ll_value *all = dense(m, "query_key_value", n, 3 * hidden, LL_ROLE_HIDDEN, LL_ROLE_HEADS);
    struct ll_value *const *parts = ll_nn_split(m->nn, all, 1, 3);
    qkv[0] = head_norm(m, "query_norm", parts[0]);
    qkv[1] = head_norm(m, "key_norm", parts[1]);
    qkv[2] = parts[2];
}

static struct ll_value *fed_forward(struct joint *m, uint64_t tokens, struct ll_value *x,
                                    struct ll_value *const v[3])
{
    const uint64_t hidden = m->decoder.sizes.hidden;
    ll_nn_push(m->nn, "feed_forward");
    struct ll_value *y = dense(m, "input", modulated(m, tokens, x, v[0], v[1]), 4 * hidden, LL_ROLE_HIDDEN,
                               LL_ROLE_FFN_HIDDEN);
    y = dense(m, "output", ll_nn_do1(m->nn, LL_OP_GELU, y), hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN);
    x = gated(m, tokens, x, y, v[2]);
    ll_nn_pop(m->nn);
    return x;
}

/* A layer of two streams: vectors are shift, scale and gate of attention, then of the feed-forward part. Of
 * the last one whose text nobody reads, the text only asks and answers. */
static void two_streams(struct joint *m, struct ll_value *streams[STREAMS], bool text_ends)
{
    static const char *const names[STREAMS] = {"image", "text"};
    const uint64_t tokens[STREAMS] = {m->squares, m->text}, hidden = m->decoder.sizes.hidden;
    struct ll_value *v[STREAMS][6], *qkv[STREAMS][3], *all[3];
    for (int i = 0; i < STREAMS; i++) {
        ll_nn_push(m->nn, names[i]);
        set(m, i == WORDS && text_ends ? 2 : 6, v[i]);
        ask(m, modulated(m, tokens[i], streams[i], v[i][0], v[i][1]), qkv[i]);
        ll_nn_pop(m->nn);
    }
    for (int k = 0; k < 3; k++)
        all[k] = joined(m, (struct ll_value *[]){qkv[IMAGE][k], qkv[WORDS][k]});
    struct ll_value *y = ll_decoder_attend(&m->decoder, all[0], all[1], all[2]);
    for (int i = 0; i < (text_ends ? WORDS : STREAMS); i++) {
        ll_nn_push(m->nn, names[i]);
        struct ll_value *out = dense(m, "output", part_of(m, y, i), hidden, LL_ROLE_HEADS, LL_ROLE_HIDDEN);
        streams[i] = gated(m, tokens[i], streams[i], out, v[i][2]);
        streams[i] = fed_forward(m, tokens[i], streams[i], v[i] + 3);
        ll_nn_pop(m->nn);
    }
}

/* A layer of one: attention and feed-forward part side by side, and one matrix of both. */
static struct ll_value *one_stream(struct joint *m, struct ll_value *x)
{
    struct ll_decoder *d = &m->decoder;
    const uint64_t tokens = m->text + m->squares, hidden = d->sizes.hidden;
    struct ll_value *v[3], *qkv[3], *both[2];
    set(m, 3, v);
    struct ll_value *n = modulated(m, tokens, x, v[0], v[1]);
    ask(m, n, qkv);
    both[0] = ll_decoder_attend(d, qkv[0], qkv[1], qkv[2]);
    both[1] =
        ll_nn_do1(m->nn, LL_OP_GELU, dense(m, "input", n, 4 * hidden, LL_ROLE_HIDDEN, LL_ROLE_FFN_HIDDEN));
    struct ll_value *y = ll_nn_concat(m->nn, both, 2, 1);
    return gated(m, tokens, x, dense(m, "output", y, hidden, LL_ROLE_FFN_HIDDEN, LL_ROLE_HIDDEN), v[2]);
}

/* Squares with what their places add, where places do not turn queries and keys. */
static struct ll_value *placed(struct joint *m, struct ll_value *x)
{
    const uint64_t hidden = m->decoder.sizes.hidden;
    struct ll_shape shape = ll_nn_shape(m->nn, 2, (uint64_t[]){m->squares, hidden},
                                        (enum ll_role[]){LL_ROLE_SEQUENCE, LL_ROLE_HIDDEN});
    if (m->preset->rotary)
        return x;
    m->decoder.steps = m->squares;
    x = ll_add_of(m->nn, ll_decoder_sequences(&m->decoder, x), ll_filled(m->nn, "places", &shape, 0.1));
    return ll_decoder_rows(&m->decoder, x);
}

static struct ll_value *net(struct joint *m, uint64_t layers)
{
    struct ll_nn *nn = m->nn;
    struct ll_decoder *d = &m->decoder;
    const uint64_t hidden = d->sizes.hidden;
    const struct preset *preset = m->preset;
    struct ll_shape line = ll_nn_shape(nn, 1, &hidden, (enum ll_role[]){LL_ROLE_HIDDEN});
    struct ll_value *streams[STREAMS], *v[2];
    m->unit = ll_filled(nn, "unit", &line, 1);
    m->nothing = ll_filled(nn, "nothing", &line, 0);
    ll_nn_push(nn, "embedding");
    streams[IMAGE] = placed(m, dense(m, "squares", fed(m, "noised", d->batch * m->squares, m->inner), hidden,
                                     LL_ROLE_PLAIN, LL_ROLE_HIDDEN));
    streams[WORDS] = dense(m, "words", fed(m, "texts", d->batch * m->text, preset->text_features), hidden,
                           LL_ROLE_HIDDEN, LL_ROLE_HIDDEN);
    m->state = ll_add_of(nn, embedded(m, "time", SINES), embedded(m, "pooled", preset->pooled));
    if (preset->guided)
        m->state = ll_add_of(nn, m->state, embedded(m, "guidance", SINES));
    m->state = silu(nn, m->state);
    ll_nn_pop(nn);
    for (unsigned i = 0; i < layers && !nn->trouble; i++) {
        ll_nn_push_numbered(nn, "layer", i);
        two_streams(m, streams, preset->singles == 0 && i + 1 == layers);
        ll_nn_pop(nn);
    }
    if (preset->singles > 0) {
        const uint64_t singles = layers == preset->layers ? preset->singles : 2 * layers;
        struct ll_value *x = joined(m, streams);
        for (unsigned i = 0; i < singles && !nn->trouble; i++) {
            ll_nn_push_numbered(nn, "layer", (unsigned)layers + i);
            x = one_stream(m, x);
            ll_nn_pop(nn);
        }
        streams[IMAGE] = part_of(m, x, IMAGE);
    }
    ll_nn_push(nn, "head");
    set(m, 2, v);
    struct ll_value *y = dense(m, "output", modulated(m, m->squares, streams[IMAGE], v[0], v[1]), m->inner,
                               LL_ROLE_HIDDEN, LL_ROLE_PLAIN);
    ll_nn_pop(nn);
    return y;
}

struct ll_value *ll_joint_build(struct ll_nn *nn, const struct ll_build *build,
                                const struct ll_joint_settings *settings,
                                const struct ll_optimizer *optimizer)
{
    const struct preset *preset = &presets[settings->preset];
    struct joint *m = ll_alloc(&nn->arena, 1, sizeof *m);
    if (!m) {
        ll_nn_fail(nn, "memory ran out");
        return &nn->nothing;
    }
    const uint64_t layers = settings->layers ? settings->layers : preset->layers,
                   side = settings->image / settings->patch;
    struct ll_decoder_sizes sizes = {.layers = layers,
                                     .hidden = settings->hidden ? settings->hidden : preset->hidden,
                                     .heads = settings->heads ? settings->heads : preset->heads};
    m->text = settings->text ? settings->text : preset->text;
    m->squares = side * side;
    sizes.seq = m->squares + m->text;
    sizes.kv_heads = sizes.heads;
    sizes.head = sizes.hidden / sizes.heads;
    m->decoder =
        ll_decoder_begin(nn, build, &(struct ll_decoder_options){.sizes = sizes, .dtype = settings->dtype});
    m->decoder.sees_all = true;
    m->decoder.rotary_base = preset->rotary ? 10000 : 0;
    m->nn = nn;
    m->preset = preset;
    m->inner = ll_mul(ll_mul(settings->patch, settings->patch), settings->channels);
    if (settings->image % settings->patch != 0)
        ll_nn_fail(nn, "-p image=N is no multiple of -p patch=N");
    if (sizes.hidden % sizes.heads != 0 || sizes.head % 2 != 0)
        ll_nn_fail(nn, "features cannot be shared out evenly among heads, and these among two halves");
    if (build->evaluate)
        ll_nn_fail(nn, "what sd3 and flux take out is not scored; expected `leadline record dit --train`, or "
                       "-p preset=s");
    ll_nn_drive(nn, &(struct ll_driver){.context = m});
    if (nn->trouble)
        return &nn->nothing;
    struct ll_value *found = net(m, layers);
    if (!build->train || nn->trouble)
        return found;
    ll_nn_push(nn, "loss");
    struct ll_value *left = ll_sub_of(nn, found, fed(m, "noise", m->decoder.batch * m->squares, m->inner));
    struct ll_value *loss = ll_nn_do1(nn, LL_OP_MEAN, ll_nn_do1(nn, LL_OP_SQUARE, left));
    ll_nn_pop(nn);
    if (nn->trouble)
        return loss;
    ll_nn_keep(loss);
    ll_minimise(nn, loss, optimizer);
    return loss;
}
