/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed attention (DeepSeek-AI, DeepSeek-V4, 2026, section 2.3; decoder.h).
 *
 * A token has one vector that is key and value of all heads. A query sees those of a window; before these,
 * entries that a compressor made of `ratio` tokens each by a softmax over them: entries of few tokens overlap
 * by two and are chosen by an indexer, which compresses keys of its own; entries of many tokens are seen all.
 * Both parts share one softmax. Results are projected in groups of heads, then together.
 *
 * Few new tokens are one op on all that they see. Of many, the window is one op and the entries another,
 * whose results a kernel adds up in place: blocks of `ratio` queries see the entries before them and their
 * own, half a block too much for an average query. FLOPs as in that section: 4 heads head (min(s, window) +
 * min(s / ratio, top k)) for a token that has s with itself; an indexer's 2 heads (head + 1) s / ratio. */
#include <assert.h>
#include <math.h>

#include "models/llm/decoder.h"

/* Entries of a sequence of so many tokens. */
static uint64_t entries_of(const struct ll_llm_layer *l, uint64_t tokens)
{
    return l->ratio > 0 ? tokens / l->ratio : 0;
}

/* Entries of `width` features, of n [rows, hidden], put into the memory of group `number`; NULL where a
 * sequence has none yet. Tokens that do not fill an entry wait in a state. */
struct compressor {
    struct ll_value *x; /* [rows, 2 parts width]: what is added up, and its weights */
    uint64_t width, parts;
    const char *memory, *state;
};

static struct compressor compressor_of(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                       const char *name, struct ll_value *n, uint64_t width)
{
    const bool indexes = name[0] == 'i';
    struct compressor c = {.width = width,
                           .parts = l->index_topk > 0 ? 2 : 1,
                           .memory = indexes ? "index_entries" : "entries",
                           .state = indexes ? "index_state" : "state"};
    ll_nn_push(d->nn, name);
    c.x = ll_llm_dense(d, n,
                       &(struct ll_llm_matrix){"values_weights", 2 * c.parts * width, LL_ROLE_HIDDEN,
                                               LL_ROLE_PLAIN, false, true});
    struct ll_value *pieces[] = {c.x, ll_llm_line(d, "places", l->ratio * c.parts * width, LL_ROLE_PLAIN),
                                 ll_llm_line(d, "norm", width, LL_ROLE_PLAIN)};
    c.x = ll_llm_seen(d, pieces, 3, 2, (uint64_t[]){d->rows, 2 * c.parts * width},
                      (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_PLAIN});
    ll_nn_pop(d->nn);
    return c;
}

/* [count, entries, width] of a group: those that were there, and those that its new tokens complete. */
static struct ll_value *compressed_of(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                      const struct compressor *c, uint32_t number)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN},
                              wide[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_PLAIN};
    const struct ll_llm_group *g = &d->groups[number];
    const uint64_t all = entries_of(l, g->past + g->tokens), made = all - entries_of(l, g->past);
    const uint64_t waiting = c->parts * l->ratio, features = 2 * c->parts * c->width;
    struct ll_value *x = ll_llm_rows_of(d, c->x, g);
    if (d->remembers) { /* the last tokens stay until their entry is made */
        uint64_t kept = ll_min(g->tokens, waiting);
        struct ll_value *last = ll_llm_seen(d, &x, 1, 3, (uint64_t[]){g->count, kept, features}, roles);
        struct ll_value *state = ll_llm_remembered(d, c->state, number, last, 1, waiting);
        x = made > 0 ? x : state;
    }
    if (all == 0)
        return NULL;
    if (made == 0)
        return ll_llm_kept(d, c->memory, number, d->cache, 3, (uint64_t[]){g->count, all, c->width}, roles);
    struct ll_value *y = ll_llm_seen(d, &x, 1, 3, (uint64_t[]){g->count * made, 2 * waiting, c->width}, wide);
    y = ll_sum_over(d->nn, y, 1, 1);
    y = ll_llm_seen(d, &y, 1, 3, (uint64_t[]){g->count, made, c->width}, roles);
    return ll_llm_remembered(d, c->memory, number, y, 1, all);
}

/* The indexer's choice for a group that has more entries than a query sees. */
static void choose(struct ll_llm_decoder *d, const struct ll_llm_layer *l, uint32_t number,
                   struct ll_value *q, struct ll_value *weights, struct ll_value *entries)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_PLAIN, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    const struct ll_llm_group *g = &d->groups[number];
    const uint64_t each = g->tokens >= l->ratio ? l->ratio : 1, blocks = g->tokens / each;
    if (!entries || d->nn->trouble || entries->shape.dim[1] <= l->index_topk)
        return;
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)l->index_topk);
    struct ll_value *rows = ll_llm_rows_of(d, q, g);
    struct ll_value *inputs[] = {
        ll_llm_seen(d, &rows, 1, 4, (uint64_t[]){g->count, l->index_heads * each, blocks, l->index_head},
                    roles),
        entries, ll_llm_rows_of(d, weights, g)};
    ll_llm_op(d, LL_OP_SPARSE_INDEX, 3, inputs, &attr, 1);
}

/* Entries that a query sees at most. */
static uint64_t most_entries(const struct ll_llm_layer *l, uint64_t entries)
{
    return l->index_topk > 0 ? ll_min(entries, l->index_topk) : entries;
}

/* Few new tokens: one op on the window and the entries. */
static struct ll_value *together(struct ll_llm_decoder *d, const struct ll_llm_layer *l, uint32_t number,
                                 struct ll_value *q, struct ll_value *window, struct ll_value *entries)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN},
                              cache[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    const struct ll_llm_group *g = &d->groups[number];
    const struct ll_attr attr = ll_attr_of_count(LL_ATTR_SIZE, (int64_t)l->head);
    struct ll_value *pieces[] = {window, entries}, *rows = ll_llm_rows_of(d, q, g);
    if (d->nn->trouble)
        return q;
    const uint64_t seen = ll_llm_keys_of(l, g) + (entries ? most_entries(l, entries->shape.dim[1]) : 0);
    struct ll_value *inputs[] = {
        ll_llm_seen(d, &rows, 1, 4, (uint64_t[]){g->count, l->heads, g->tokens, l->head}, roles),
        ll_llm_seen(d, pieces, entries ? 2 : 1, 3, (uint64_t[]){g->count, seen, l->head}, cache)};
    return ll_llm_op(d, LL_OP_LATENT_ATTENTION, 2, inputs, &attr, 1);
}

/* Attention of `blocks` blocks of `each` tokens to keys [count, keys, head], of which one sees `most`. */
static struct ll_value *of_blocks(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *q,
                                  struct ll_value *keys, const struct ll_llm_group *g, uint64_t blocks,
                                  uint64_t each, uint64_t most)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_HEADS, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    if (d->nn->trouble)
        return q;
    const uint64_t count = keys->shape.dim[1];
    struct ll_attr attrs[] = {ll_attr_of_real(LL_ATTR_SCALE, 1 / sqrt((double)l->head)),
                              ll_attr_of_count(LL_ATTR_GROUPS, (int64_t)(l->heads * each)),
                              ll_attr_of_count(LL_ATTR_WINDOW, (int64_t)most - 1)};
    struct ll_value *k = ll_llm_seen(d, &keys, 1, 4, (uint64_t[]){g->count, 1, count, l->head}, roles);
    struct ll_value *inputs[] = {
        ll_llm_seen(d, &q, 1, 4, (uint64_t[]){g->count, 1, blocks * l->heads * each, l->head}, roles), k, k};
    return ll_llm_op(d, LL_OP_CAUSAL_ATTENTION, 3, inputs, attrs, count > most ? 3 : 2);
}

/* Many new tokens: the window, whole blocks of queries on entries, and those that are left. */
static struct ll_value *apart(struct ll_llm_decoder *d, const struct ll_llm_layer *l, uint32_t number,
                              struct ll_value *q, struct ll_value *window, struct ll_value *entries)
{
    const struct ll_llm_group *g = &d->groups[number];
    struct ll_value *rows = ll_llm_rows_of(d, q, g), *y[3];
    uint32_t count = 1;
    y[0] = of_blocks(d, l, rows, window, g, g->tokens, 1, l->window);
    if (entries && !d->nn->trouble) {
        const uint64_t all = entries->shape.dim[1], blocks = g->tokens / l->ratio,
                       left = g->tokens % l->ratio;
        if (blocks > 0)
            y[count++] = of_blocks(d, l, rows, entries, g, blocks, l->ratio, most_entries(l, all));
        if (left > 0)
            y[count++] = of_blocks(d, l, rows, entries, g, 1, left, most_entries(l, all));
    }
    return ll_llm_seen(d, y, count, 2, (uint64_t[]){g->count * g->tokens, l->heads * l->head},
                       (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
}

/* Queries [rows, heads head], with what each layer keeps for a sink of each head. */
static struct ll_value *queries(struct ll_llm_decoder *d, const struct ll_llm_layer *l,
                                struct ll_value *latent)
{
    struct ll_value *q = ll_llm_dense(
        d, latent,
        &(struct ll_llm_matrix){"query", l->heads * l->head, LL_ROLE_PLAIN, LL_ROLE_HEADS, false, false});
    struct ll_value *pieces[] = {ll_llm_turned(d, q, l->heads, l->head),
                                 ll_llm_line(d, "sinks", l->heads, LL_ROLE_HEADS)};
    return ll_llm_seen(d, pieces, 2, 2, (uint64_t[]){d->rows, l->heads * l->head},
                       (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
}

struct ll_value *ll_llm_compressed(struct ll_llm_decoder *d, const struct ll_llm_layer *l, struct ll_value *n)
{
    static const enum ll_role roles[] = {LL_ROLE_BATCH, LL_ROLE_SEQUENCE, LL_ROLE_PLAIN};
    const struct ll_llm_matrix down[] = {
        {"query_latent", l->q_rank, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false},
        {"key_value", l->head, LL_ROLE_HIDDEN, LL_ROLE_PLAIN, false, false}};
    struct ll_value *parts[2], *y[LL_LLM_MOST_GROUPS], *index_q = NULL, *index_weights = NULL;
    struct compressor of_keys = {0}, of_index = {0};
    ll_llm_dense_parts(d, "down", n, down, 2, parts);
    struct ll_value *latent = ll_llm_norm(d, "query_norm", parts[0]);
    struct ll_value *q = queries(d, l, latent);
    struct ll_value *kv = ll_llm_turned(d, ll_llm_norm(d, "key_value_norm", parts[1]), 1, l->head);
    if (l->ratio > 0)
        of_keys = compressor_of(d, l, "compressor", n, l->head);
    if (l->index_topk > 0) {
        of_index = compressor_of(d, l, "indexer", n, l->index_head);
        index_q = ll_llm_dense(d, latent,
                               &(struct ll_llm_matrix){"index_query", l->index_heads * l->index_head,
                                                       LL_ROLE_PLAIN, LL_ROLE_PLAIN, false, false});
        index_weights = ll_llm_dense(d, n,
                                     &(struct ll_llm_matrix){"index_weights", l->index_heads, LL_ROLE_HIDDEN,
                                                             LL_ROLE_PLAIN, false, true});
    }
    for (uint32_t i = 0; i < d->group_count; i++) {
        const struct ll_llm_group *g = &d->groups[i];
        struct ll_value *rows = ll_llm_rows_of(d, kv, g), *entries = NULL;
        rows = ll_llm_seen(d, &rows, 1, 3, (uint64_t[]){g->count, g->tokens, l->head}, roles);
        struct ll_value *window = ll_llm_remembered(d, "window", i, rows, 1, ll_llm_keys_of(l, g));
        if (l->ratio > 0)
            entries = compressed_of(d, l, &of_keys, i);
        if (l->index_topk > 0)
            choose(d, l, i, index_q, index_weights, compressed_of(d, l, &of_index, i));
        y[i] = ll_llm_absorbs(d) ? together(d, l, i, q, window, entries) : apart(d, l, i, q, window, entries);
    }
    struct ll_value *all = ll_llm_all_rows(d, y, l->heads * l->head, LL_ROLE_HEADS);
    all =
        ll_llm_by_head(d, "output_down", all, l->out_groups, l->heads / l->out_groups * l->head, l->out_rank);
    all = ll_llm_seen(d, &all, 1, 2, (uint64_t[]){d->rows, l->out_groups * l->out_rank},
                      (const enum ll_role[]){LL_ROLE_BATCH, LL_ROLE_HEADS});
    return ll_llm_dense(
        d, all,
        &(struct ll_llm_matrix){"output", d->llm->hidden, LL_ROLE_HEADS, LL_ROLE_HIDDEN, false, false});
}
