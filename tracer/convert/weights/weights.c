/* SPDX-License-Identifier: Apache-2.0 */
/* A pass through the weights of a language model, of which a file tells names, types and sizes but no graph.
 *
 * Names tell what a tensor is for (llama.cpp's and Hugging Face's); sizes tell what it reads: the newest rows
 * of its width. Layers follow each other by their numbers, tensors in them in the order of a decoder: norm,
 * queries, keys, values, attention, projection, norm, router, gate, up, down. Packed weights are unpacked by
 * the names of what lies beside them. Attention needs the number of heads, which safetensors do not hold. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/map.h"
#include "tracer/convert/weights/weights.h"

/* What a tensor is for: part of a name, and its place in a layer. The first that is found counts. */
enum role {
    EMBED,
    NORM_BEFORE,
    QKV,
    QUERY,
    KEY,
    VALUE,
    HEAD_NORM,
    PROJECTION,
    NORM_BEHIND,
    ROUTER,
    GATE,
    UP,
    GATE_UP,
    DOWN,
    OTHER,
    NORM_LAST,
    HEAD
};

static const struct {
    const char *part;
    enum role role;
} names[] = {{"token_embd", EMBED},
             {"embed_tokens", EMBED},
             {"tok_embeddings", EMBED},
             {"wte.", EMBED},
             {"word_embeddings.", EMBED},
             {"lm_head", HEAD},
             {"attn_q_norm", HEAD_NORM},
             {"attn_k_norm", HEAD_NORM},
             {"q_a_layernorm", OTHER},
             {"kv_a_layernorm", OTHER},
             {"q_a_proj", QKV},
             {"kv_a_proj", QKV},
             {"q_b_proj", OTHER},
             {"kv_b_proj", OTHER},
             {"q_norm", HEAD_NORM},
             {"k_norm", HEAD_NORM},
             {"attn_norm", NORM_BEFORE},
             {"input_layernorm", NORM_BEFORE},
             {"post_attention_layernorm", NORM_BEHIND},
             {"ffn_norm", NORM_BEHIND},
             {"post_attention_norm", NORM_BEHIND},
             {"output_norm", NORM_LAST},
             {"model.norm", NORM_LAST},
             {"attn_qkv", QKV},
             {"qkv_proj", QKV},
             {"attn_q.", QUERY},
             {"q_proj", QUERY},
             {"attn_k.", KEY},
             {"k_proj", KEY},
             {"attn_v.", VALUE},
             {"v_proj", VALUE},
             {"attn_output", PROJECTION},
             {"o_proj", PROJECTION},
             {"ffn_gate_inp", ROUTER},
             {"mlp.gate.", ROUTER},
             {"router", ROUTER},
             {"block_sparse_moe.gate.", ROUTER},
             {"gate_up_proj", GATE_UP},
             {"ffn_gate", GATE},
             {"gate_proj", GATE},
             {".w1.", GATE},
             {"ffn_up", UP},
             {"up_proj", UP},
             {".w3.", UP},
             {"ffn_down", DOWN},
             {"down_proj", DOWN},
             {".w2.", DOWN}};

/* A tensor with what its name says. */
struct part {
    const struct ll_stored *stored;
    struct ll_shape shape; /* unpacked */
    enum role role;
    uint64_t layer; /* of its number; 0 before all layers, UINT64_MAX behind them */
    bool expert;    /* one of several, which stand in a tensor or one by one */
    bool vector;    /* of a norm or a bias */
    uint64_t place; /* in the file */
};

enum { WIDTHS = 32 };

struct pass {
    struct ll_import *import;
    const struct ll_stored_model *model;
    uint64_t tokens, context, top_k;
    struct ll_imported hidden;         /* between layers */
    struct ll_imported newest[WIDTHS]; /* rows by width, the newest last */
    unsigned count;
    struct ll_imported q, k, v, gate, up, shares, chosen; /* of the layer at work; tensor is LL_NONE: none */
    struct ll_shape up_weights;
    const char *layer;
    bool silent; /* attention was left out */
};

static bool contains(const char *text, const char *part)
{
    return strstr(text, part) != NULL;
}

static bool ends(const char *name, const char *ending)
{
    size_t length = strlen(name), size = strlen(ending);
    return length >= size && strcmp(name + length - size, ending) == 0;
}

/* The number between dots; false where there is none. */
static bool number_in(const char *name, const char *behind, uint64_t *number)
{
    const char *at = behind ? strstr(name, behind) : name;
    for (at = at && behind ? at + strlen(behind) - 1 : at; at && *at; at = strchr(at + 1, '.'))
        if (*at == '.' && at[1] >= '0' && at[1] <= '9') {
            *number = 0;
            for (at++; *at >= '0' && *at <= '9'; at++)
                *number = ll_add(ll_mul(*number, 10), (uint64_t)(*at - '0'));
            return *at == '.' && *number < UINT32_MAX;
        }
    return false;
}

static const struct ll_stored *beside(const struct pass *p, const struct ll_map *by_name, const char *name,
                                      size_t length, const char *ending)
{
    char other[1024];
    if (length + strlen(ending) >= sizeof other)
        return NULL;
    memcpy(other, name, length);
    memcpy(other + length, ending, strlen(ending));
    uint32_t id = ll_map_find(by_name, other, length + strlen(ending));
    return id == LL_NO_ID ? NULL : &p->model->tensors[id];
}

/* What only scales others is no weight of its own. */
static bool scales_others(const char *name)
{
    static const char *const endings[] = {".weight_scale_inv",
                                          ".weight_scale",
                                          ".weight_scale_2",
                                          ".input_scale",
                                          ".scales",
                                          ".qzeros",
                                          ".g_idx",
                                          "_scales",
                                          ".weight_shape",
                                          ".zero_point",
                                          ".weight_zero_point",
                                          ".input_scale_2",
                                          "rope_freqs.weight"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (ends(name, endings[i]))
            return true;
    return false;
}

/* The elements of packed weights, by what lies beside them: FP8 in blocks, two of 4 bits in a byte, eight in
 * an integer (whose rows are inputs), blocks of 32 in 16 bytes. */
static struct ll_shape unpacked(const struct pass *p, const struct ll_map *by_name, const struct ll_stored *t)
{
    struct ll_shape shape = t->shape;
    size_t length = strlen(t->name);
    unsigned last = shape.rank ? shape.rank - 1u : 0;
    if (ends(t->name, ".weight") && beside(p, by_name, t->name, length - 7, ".weight_scale_inv"))
        shape.scales = LL_SCALES_F32_SQUARE;
    if (ends(t->name, ".weight") && shape.dtype == LL_U8 && shape.rank == 2 &&
        beside(p, by_name, t->name, length - 7, ".weight_scale_2")) {
        shape = (struct ll_shape){.rank = 2,
                                  .dtype = LL_F4,
                                  .scales = LL_SCALES_E4M3,
                                  .dim = {shape.dim[0], ll_mul(2, shape.dim[1])}};
    } else if (ends(t->name, ".weight_packed") && shape.rank == 2) {
        shape = (struct ll_shape){.rank = 2,
                                  .dtype = LL_INT4,
                                  .scales = LL_SCALES_F16,
                                  .dim = {shape.dim[0], ll_mul(shape.dtype == LL_U8 ? 2 : 8, shape.dim[1])}};
    } else if (ends(t->name, ".qweight") && shape.rank == 2) {
        const struct ll_stored *scales = beside(p, by_name, t->name, length - 8, ".scales");
        uint64_t out = scales && scales->shape.rank == 2 ? scales->shape.dim[1] : shape.dim[1];
        shape = (struct ll_shape){.rank = 2,
                                  .dtype = LL_INT4,
                                  .scales = LL_SCALES_F16,
                                  .dim = {out, out ? ll_mul(8, ll_elements(&shape)) / out : 0}};
    } else if (ends(t->name, "_blocks") && shape.rank == 4) {
        shape = (struct ll_shape){
            .rank = 3,
            .dtype = LL_F4,
            .scales = LL_SCALES_E8M0,
            .dim = {shape.dim[0], shape.dim[1], ll_mul(2, ll_mul(shape.dim[2], shape.dim[last]))}};
    }
    return shape;
}

static int compare_parts(const void *one, const void *other)
{
    const struct part *a = one, *b = other;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    if (a->role != b->role)
        return a->role < b->role ? -1 : 1;
    if (a->vector != b->vector)
        return a->vector ? 1 : -1; /* a bias is behind what it is added to */
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Names and shapes, sorted into the order of a pass; *count of them. NULL when memory ran out. */
static struct part *arrange(struct pass *p, uint64_t *count)
{
    struct ll_map by_name = {0};
    struct part *parts = ll_alloc(&p->import->arena, (size_t)p->model->count, sizeof *parts);
    bool right = parts != NULL;
    for (uint64_t i = 0; i < p->model->count && right; i++) {
        bool is_new;
        uint32_t id =
            ll_map_intern(&by_name, p->model->tensors[i].name, strlen(p->model->tensors[i].name), &is_new);
        right = id != LL_NO_ID && is_new && id == i;
        if (id != LL_NO_ID && !is_new)
            ll_complain(p->import->diags, (struct ll_place){.file = p->import->inputs[0].path},
                        "there are two tensors `%.100s`", p->model->tensors[i].name);
    }
    *count = 0;
    for (uint64_t i = 0; i < p->model->count && right; i++) {
        const struct ll_stored *t = &p->model->tensors[i];
        if (scales_others(t->name))
            continue;
        struct part part = {.stored = t, .shape = unpacked(p, &by_name, t), .role = OTHER, .place = i};
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (contains(t->name, names[n].part)) {
                part.role = names[n].role;
                break;
            }
        if (strcmp(t->name, "output.weight") == 0)
            part.role = HEAD;
        uint64_t expert;
        part.layer = part.role == EMBED ? 0 : UINT64_MAX;
        if (number_in(t->name, NULL, &part.layer))
            part.layer = ll_add(part.layer, 1);
        part.expert = contains(t->name, "_exps") || number_in(t->name, ".experts.", &expert) ||
                      (part.shape.rank == 3 && contains(t->name, "experts"));
        part.vector = part.shape.rank < 2 || ends(t->name, ".bias") || ends(t->name, "_bias");
        parts[(*count)++] = part;
    }
    ll_map_release(&by_name);
    if (right)
        qsort(parts, *count, sizeof *parts, compare_parts);
    return right ? parts : NULL;
}

static bool refuse(struct pass *p, const char *trouble)
{
    return !trouble || ll_complain(p->import->diags, (struct ll_place){.file = p->import->inputs[0].path},
                                   "`%.100s`: %s", p->layer, trouble);
}

static bool emit(struct pass *p, const struct ll_import_op *op, struct ll_imported *out)
{
    struct ll_imported outs[LL_MAX_OUTPUTS];
    struct ll_import_op whole = *op;
    whole.scope = p->layer;
    whole.memory = LL_ACTIVATION;
    const char *trouble = ll_import_record(p->import, &whole, outs);
    if (!trouble)
        *out = outs[0];
    return refuse(p, trouble);
}

static bool emit_on(struct pass *p, enum ll_op_kind kind, const struct ll_imported *in, uint32_t count,
                    const struct ll_shape *given, struct ll_imported *out)
{
    const struct ll_import_op op = {
        .kind = kind, .in = in, .in_count = count, .given = given, .given_count = given != NULL};
    return emit(p, &op, out);
}

static struct ll_imported weight(struct pass *p, const struct part *part, const struct ll_shape *shape)
{
    return ll_import_tensor(p->import, part->stored->name, shape, LL_WEIGHT);
}

/* Rows are the newest of their width from now on. */
static void make_newest(struct pass *p, struct ll_imported rows)
{
    if (p->count == WIDTHS) {
        memmove(p->newest, p->newest + 1, (WIDTHS - 1) * sizeof *p->newest);
        p->count--;
    }
    p->newest[p->count++] = rows;
}

/* The newest rows of this width; where there are none, something that came from elsewhere. */
static struct ll_imported rows_of(struct pass *p, uint64_t width)
{
    for (unsigned i = p->count; i-- > 0;)
        if (p->newest[i].shape.dim[1] == width)
            return p->newest[i];
    const struct ll_shape rows = {.rank = 2, .dtype = LL_BF16, .dim = {p->tokens, width}};
    const struct ll_imported made = ll_import_tensor(p->import, "rows", &rows, LL_INPUT);
    make_newest(p, made);
    return made;
}

/* Rows times the transposed matrix. */
static bool multiply(struct pass *p, const struct part *part, struct ll_imported x, struct ll_imported *y)
{
    const struct ll_shape matrix = {.rank = 2,
                                    .dtype = part->shape.dtype,
                                    .scales = part->shape.scales,
                                    .dim = {part->shape.dim[0], part->shape.dim[1]}};
    const struct ll_attr turned = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    const struct ll_imported in[2] = {x, weight(p, part, &matrix)};
    const struct ll_import_op op = {
        .kind = LL_OP_MATMUL, .in = in, .in_count = 2, .attrs = &turned, .attr_count = 1};
    if (!emit(p, &op, y))
        return false;
    make_newest(p, *y);
    return true;
}

/* Adds what a layer's half makes to what goes through all layers. */
static bool add_up(struct pass *p, struct ll_imported y)
{
    const struct ll_imported in[2] = {p->hidden, y};
    if (p->hidden.tensor == LL_NONE || p->hidden.shape.dim[1] != y.shape.dim[1]) {
        p->hidden = y;
        return true;
    }
    if (!emit_on(p, LL_OP_ADD, in, 2, NULL, &p->hidden))
        return false;
    make_newest(p, p->hidden);
    return true;
}

static bool embed(struct pass *p, const struct part *part)
{
    const struct ll_shape table = {.rank = 2,
                                   .dtype = part->shape.dtype,
                                   .scales = part->shape.scales,
                                   .dim = {part->shape.dim[0], part->shape.dim[1]}},
                          list = {.rank = 1, .dtype = LL_I32, .dim = {p->tokens}};
    struct ll_shape rows = {.rank = 2, .dtype = LL_BF16, .dim = {p->tokens, part->shape.dim[1]}};
    const struct ll_imported in[2] = {weight(p, part, &table),
                                      ll_import_tensor(p->import, "tokens", &list, LL_INPUT)};
    struct ll_imported y;
    if (!emit_on(p, LL_OP_GATHER, in, 2, NULL, &y))
        return false;
    if (y.shape.dtype != LL_BF16 && !emit_on(p, LL_OP_DEQUANTIZE, (struct ll_imported[]){y}, 1, &rows, &y))
        return false;
    p->hidden = y;
    make_newest(p, y);
    return true;
}

/* A norm's factors or a bias, on the newest rows of that width; what fits nowhere only lies in memory. */
static bool apply_vector(struct pass *p, const struct part *part)
{
    const struct ll_shape list = {.rank = 1, .dtype = part->shape.dtype, .dim = {ll_elements(&part->shape)}};
    const struct ll_imported factors = weight(p, part, &list);
    bool bias = ends(part->stored->name, "bias"), norm = contains(part->stored->name, "norm");
    unsigned at = p->count;
    while (at > 0 && p->newest[at - 1].shape.dim[1] != list.dim[0])
        at--;
    if (at == 0 || (!bias && !norm) || part->role == HEAD_NORM || part->expert)
        return true;
    const struct ll_imported in[2] = {norm && part->role != OTHER && p->hidden.tensor != LL_NONE &&
                                              p->hidden.shape.dim[1] == list.dim[0]
                                          ? p->hidden
                                          : p->newest[at - 1],
                                      factors};
    struct ll_imported y;
    if (!emit_on(p, bias ? LL_OP_BIAS_ADD : LL_OP_RMS_NORM, in, 2, NULL, &y))
        return false;
    make_newest(p, y);
    if (bias && part->role == QUERY)
        p->q = y;
    if (bias && part->role == KEY)
        p->k = y;
    if (bias && part->role == VALUE)
        p->v = y;
    return true;
}

/* Queries to all that came before: the new keys and values take their place in a cache. */
static bool attend(struct pass *p)
{
    const struct ll_stored_model *m = p->model;
    uint64_t kv = m->kv_heads ? m->kv_heads : m->heads, key = m->key, keys = ll_add(p->context, p->tokens);
    if (p->q.tensor == LL_NONE || p->k.tensor == LL_NONE || p->v.tensor == LL_NONE)
        return true;
    key = key ? key : m->heads ? p->q.shape.dim[1] / m->heads : 0;
    uint64_t size = m->value ? m->value : key;
    if (m->heads == 0 || kv == 0 || m->heads % kv != 0 || p->q.shape.dim[1] != ll_mul(m->heads, key) ||
        p->k.shape.dim[1] != ll_mul(kv, key) || p->v.shape.dim[1] != ll_mul(kv, size)) {
        p->silent = true;
        return true;
    }
    const uint64_t widths[2] = {key, size};
    struct ll_imported in[3], part[2];
    for (unsigned i = 0; i < 2; i++) {
        const struct ll_shape cache = {.rank = 4, .dtype = LL_BF16, .dim = {1, kv, keys, widths[i]}},
                              now = {.rank = 4, .dtype = LL_BF16, .dim = {1, kv, p->tokens, widths[i]}};
        const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 2},
                                         {.key = LL_ATTR_BEGIN, .count = (int64_t)p->context}};
        const struct ll_import_op op = {
            .kind = LL_OP_KV_CACHE_UPDATE, .in = part, .in_count = 2, .attrs = attrs, .attr_count = 2};
        part[0] = ll_import_tensor(p->import, i ? "values" : "keys", &cache, LL_WORKSPACE);
        if (!emit_on(p, LL_OP_SEEN_AS, i ? &p->v : &p->k, 1, &now, &part[1]) || !emit(p, &op, &in[1 + i]))
            return false;
    }
    const struct ll_shape q = {.rank = 4,
                               .dtype = LL_BF16,
                               .dim = {1, kv, ll_mul(p->tokens, m->heads / kv), key}},
                          rows = {.rank = 2, .dtype = LL_BF16, .dim = {p->tokens, ll_mul(m->heads, size)}};
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_GROUPS, .count = (int64_t)(m->heads / kv)},
                                     {.key = LL_ATTR_WINDOW, .count = (int64_t)m->window}};
    const struct ll_import_op op = {
        .kind = LL_OP_CAUSAL_ATTENTION, .in = in, .in_count = 3, .attrs = attrs, .attr_count = 2};
    struct ll_imported y;
    if (!emit_on(p, LL_OP_SEEN_AS, &p->q, 1, &q, &in[0]) || !emit(p, &op, &y) ||
        !emit_on(p, LL_OP_SEEN_AS, (struct ll_imported[]){y}, 1, &rows, &y))
        return false;
    make_newest(p, y);
    return true;
}

/* The best experts of each token, by the router's rows. */
static bool route(struct pass *p, const struct part *part)
{
    struct ll_imported y, outs[LL_MAX_OUTPUTS];
    const struct ll_attr k = {.key = LL_ATTR_SIZE, .count = (int64_t)p->top_k};
    if (!multiply(p, part, rows_of(p, part->shape.dim[1]), &y) || !emit_on(p, LL_OP_SOFTMAX, &y, 1, NULL, &y))
        return false;
    if (p->top_k == 0 || p->top_k > part->shape.dim[0])
        return refuse(p, "how many experts a token goes to is not in the file; say -p top_k=N");
    const struct ll_import_op op = {
        .kind = LL_OP_TOP_K, .in = &y, .in_count = 1, .attrs = &k, .attr_count = 1, .scope = p->layer};
    const char *trouble = ll_import_record(p->import, &op, outs);
    p->shares = outs[0];
    p->chosen = outs[1];
    return refuse(p, trouble);
}

/* All experts of a layer at once, when the last of their matrices is there: down[experts, hidden, inner]. */
static bool run_experts(struct pass *p, const struct part *down, uint64_t experts, bool gated)
{
    const struct ll_shape *shape = &down->shape;
    uint64_t hidden = shape->dim[shape->rank - 2u], inner = shape->dim[shape->rank - 1u];
    const struct ll_shape up = {.rank = 3,
                                .dtype = shape->dtype,
                                .scales = shape->scales,
                                .dim = {experts, hidden, gated ? ll_mul(2, inner) : inner}},
                          second = {.rank = 3,
                                    .dtype = shape->dtype,
                                    .scales = shape->scales,
                                    .dim = {experts, inner, hidden}};
    struct ll_imported y;
    if (p->shares.tensor == LL_NONE)
        return refuse(p, "there are experts, but no router that chooses among them");
    const struct ll_imported in[5] = {rows_of(p, hidden), p->shares, p->chosen,
                                      ll_import_tensor(p->import, "experts.up", &up, LL_WEIGHT),
                                      ll_import_tensor(p->import, "experts.down", &second, LL_WEIGHT)};
    return emit_on(p, LL_OP_EXPERTS, in, 5, NULL, &y) && add_up(p, y);
}

static bool step_matrix(struct pass *p, const struct part *part)
{
    struct ll_imported y, pair[2];
    const struct ll_shape *shape = &part->shape;
    struct ll_imported x = rows_of(p, shape->dim[1]);
    if (part->role == PROJECTION) {
        if (!attend(p))
            return false;
        x = rows_of(p, shape->dim[1]);
    }
    if (part->role == DOWN && p->gate.tensor != LL_NONE && p->up.tensor != LL_NONE) {
        pair[0] = p->gate;
        pair[1] = p->up;
        if (!emit_on(p, LL_OP_SILU_MUL, pair, 2, NULL, &x))
            return false;
    }
    if (!multiply(p, part, x, &y))
        return false;
    if (part->role == GATE_UP || part->role == QKV) { /* parts lie side by side */
        uint64_t kv = p->model->kv_heads ? p->model->kv_heads : p->model->heads,
                 all = ll_add(p->model->heads, ll_mul(2, kv));
        uint64_t head = all ? shape->dim[0] / all : 0;
        const uint64_t widths[3] = {ll_mul(p->model->heads, head), ll_mul(kv, head), ll_mul(kv, head)},
                       half = shape->dim[0] / 2;
        struct ll_imported *const to[3] = {part->role == QKV ? &p->q : &p->gate,
                                           part->role == QKV ? &p->k : &p->up, &p->v};
        for (unsigned i = 0; i < (part->role == QKV ? (head ? 3u : 0u) : 2u); i++) {
            const struct ll_shape rows = {
                .rank = 2, .dtype = y.shape.dtype, .dim = {p->tokens, part->role == QKV ? widths[i] : half}};
            if (!emit_on(p, LL_OP_SEEN_AS, &y, 1, &rows, to[i]))
                return false;
            make_newest(p, *to[i]);
        }
        return true;
    }
    struct ll_imported *const kept = part->role == QUERY   ? &p->q
                                     : part->role == KEY   ? &p->k
                                     : part->role == VALUE ? &p->v
                                     : part->role == GATE  ? &p->gate
                                     : part->role == UP    ? &p->up
                                                           : NULL;
    if (kept)
        *kept = y;
    return (part->role != PROJECTION && part->role != DOWN) || add_up(p, y);
}

static void begin_layer(struct pass *p)
{
    p->q.tensor = p->k.tensor = p->v.tensor = p->gate.tensor = p->up.tensor = p->shares.tensor = LL_NONE;
}

/* Experts one by one are run with the first of their last matrices; those in a tensor with it. */
static bool step_expert(struct pass *p, const struct part *parts, uint64_t count, uint64_t at)
{
    const struct part *part = &parts[at];
    uint64_t experts = 0;
    bool gated = false;
    if (part->role != DOWN ||
        (at > 0 && parts[at - 1].layer == part->layer && parts[at - 1].role == DOWN && parts[at - 1].expert))
        return true;
    for (uint64_t i = 0; i < count; i++) {
        if (parts[i].layer != part->layer || !parts[i].expert || parts[i].vector)
            continue;
        experts += parts[i].role == DOWN ? (parts[i].shape.rank == 3 ? parts[i].shape.dim[0] : 1) : 0;
        gated |= parts[i].role == GATE || parts[i].role == GATE_UP;
    }
    return run_experts(p, part, experts, gated);
}

static bool walk(struct pass *p, const struct part *parts, uint64_t count)
{
    bool head = false;
    const struct part *table = NULL;
    begin_layer(p);
    for (uint64_t i = 0; i < count; i++) {
        const struct part *part = &parts[i];
        p->layer = part->stored->name;
        if (i > 0 && part->layer != parts[i - 1].layer)
            begin_layer(p);
        head |= part->role == HEAD;
        table = part->role == EMBED && !part->vector ? part : table;
        bool right = part->vector            ? apply_vector(p, part)
                     : part->expert          ? step_expert(p, parts, count, i)
                     : part->shape.rank != 2 ? true
                     : part->role == EMBED   ? embed(p, part)
                     : part->role == ROUTER  ? route(p, part)
                                             : step_matrix(p, part);
        if (!right)
            return false;
    }
    struct ll_imported y; /* a model without a head of its own multiplies with its table */
    return head || !table || multiply(p, table, rows_of(p, table->shape.dim[1]), &y);
}

bool ll_stored_record(struct ll_import *import, struct ll_stored_model *model, const char *format)
{
    struct pass p = {.import = import, .model = model, .hidden.tensor = LL_NONE};
    uint64_t count = 0, parameters = 0;
    double bits = 0;
    if (!ll_import_count(import, "tokens", 1, 1 << 24, 1, &p.tokens) ||
        !ll_import_count(import, "context", 0, 1 << 24, 0, &p.context) ||
        !ll_import_count(import, "heads", 1, 1 << 16, model->heads, &model->heads) ||
        !ll_import_count(import, "kv_heads", 1, 1 << 16, model->kv_heads, &model->kv_heads) ||
        !ll_import_count(import, "top_k", 1, 1 << 16, model->top_k, &p.top_k))
        return false;
    struct part *parts = arrange(&p, &count);
    if (!parts)
        return import->diags->count == 0 && ll_import_no_memory(import);
    if (count == 0)
        return ll_complain(import->diags, (struct ll_place){.file = import->inputs[0].path},
                           "there is no tensor in it");
    for (uint64_t i = 0; i < count; i++) {
        parameters = ll_add(parameters, ll_elements(&parts[i].shape));
        bits += parts[i].stored->bits * (double)ll_elements(&parts[i].stored->shape);
    }
    ll_facts_add(&import->facts, "model", "%s", model->name ? model->name : ll_import_stem(import, format));
    ll_facts_add(&import->facts, "mode", "infer");
    ll_facts_add(&import->facts, "parameters", "%" PRIu64, parameters);
    ll_facts_add(&import->facts, "imported.format", "%s", format);
    ll_facts_add(&import->facts, "imported.weight_bytes", "%.0f", bits / 8);
    if (!ll_import_begin(import))
        return false;
    bool done = walk(&p, parts, count);
    if (done && p.silent && import->notes)
        ll_complain(import->notes, (struct ll_place){.file = import->inputs[0].path},
                    "attention is left out: how many heads there are is not in the file; say -p heads=N and "
                    "-p kv_heads=N");
    return done && import->status == LL_OK;
}
