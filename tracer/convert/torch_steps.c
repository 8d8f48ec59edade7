/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that nothing marks are what the calls repeat from the first to the last, but equal layers of one
 * network repeat as well. An execution graph tells them apart: a step reads the weights of the one before
 * it, a layer has its own. A profile knows no tensors; there, what makes as many elements as it begins
 * with may be a layer whose result the next one reads, and all is one step. */
#include "tracer/convert/torch_steps.h"

#include "tracer/base/hash.h"
#include "tracer/convert/period.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_shape(uint64_t hash, const struct ll_shape *shape)
{
    return ll_hash_bytes(hash, shape->dim, shape->rank * sizeof *shape->dim);
}

/* What a recorded operator looks like: its name and the shapes that it takes. */
static uint64_t look_of(const struct ll_torch_node *node)
{
    uint64_t look = ll_hash_text(LL_HASH_START, node->name);
    for (uint32_t i = 0; i < node->input_count; i++)
        for (uint32_t t = 0; node->inputs[i].kind == LL_TORCH_TENSORS && t < node->inputs[i].count; t++)
            look = hash_shape(look, &node->inputs[i].tensors[t].shape);
    return look;
}

static bool is_weight(const struct ll_torch_leaf *leaf, uint32_t argument)
{
    return argument < 32 && leaf->row->weights >> argument & 1;
}

/* The first tensor of an argument; NULL when it is none. */
static struct ll_torch_tensor *tensor_of(const struct ll_torch_leaf *leaf, uint32_t argument)
{
    const struct ll_torch_value *value =
        argument < leaf->node->input_count ? &leaf->node->inputs[argument] : NULL;
    bool there = value && value->kind == LL_TORCH_TENSORS && value->count > 0 && !value->tensors->absent;
    return there ? value->tensors : NULL;
}

/* Whether the second stretch reads a weight of the first one. */
static bool share_weights(const struct ll_torch_leaf *leaves, uint64_t period)
{
    for (uint64_t i = 0; i < period; i++)
        for (uint32_t a = 0; a < leaves[i].node->input_count; a++) {
            const struct ll_torch_tensor *first = tensor_of(&leaves[i], a),
                                         *second = tensor_of(&leaves[i + period], a);
            if (is_weight(&leaves[i], a) && first && second && first->storage == second->storage)
                return true;
        }
    return false;
}

static bool computes(const struct ll_torch_leaf *leaf)
{
    bool any = false;
    for (uint32_t a = 0; !any && a < leaf->node->input_count; a++)
        any = tensor_of(leaf, a) != NULL;
    return any && leaf->row->kind != LL_OP_SEEN_AS;
}

/* So many elements a call makes, by what it takes: a product those of its outer dimensions, a convolution its
 * image's with other channels, which is right where nothing else changes; all else as many as it reads. */
static uint64_t elements_made(const struct ll_torch_leaf *leaf)
{
    ll_aten_rule ll_aten_LINEAR, ll_aten_CONVOLUTION, ll_aten_ADDMM;
    bool product = leaf->row->kind == LL_OP_MATMUL || leaf->row->kind == LL_OP_BATCH_MATMUL;
    bool turned = leaf->row->rule == ll_aten_LINEAR, conv = leaf->row->rule == ll_aten_CONVOLUTION;
    uint32_t x = leaf->row->rule == ll_aten_ADDMM;
    const struct ll_torch_tensor *a = tensor_of(leaf, x), *b = tensor_of(leaf, x + 1);
    uint64_t most = 0;
    if ((product || conv || x) && a && b && a->shape.rank >= 2 && b->shape.rank >= 2) {
        uint64_t inner = a->shape.dim[conv ? 1 : a->shape.rank - 1u];
        uint64_t outer = b->shape.dim[conv || turned ? 0 : b->shape.rank - 1u];
        return ll_mul(ll_elements(&a->shape) / ll_max(inner, 1), outer);
    }
    for (uint32_t i = 0; i < leaf->node->input_count; i++)
        if (tensor_of(leaf, i))
            most = ll_max(most, ll_elements(&tensor_of(leaf, i)->shape));
    return most;
}

/* Whether what the stretch makes could be what it begins with. */
static bool may_feed_itself(const struct ll_torch_leaf *leaves, uint64_t period)
{
    uint64_t first = 0, last = period;
    while (first < period && !computes(&leaves[first]))
        first++;
    while (last > first && !computes(&leaves[last - 1]))
        last--;
    if (first == last)
        return true;
    uint64_t made = elements_made(&leaves[last - 1]);
    for (uint32_t a = 0; a < leaves[first].node->input_count; a++) {
        const struct ll_torch_tensor *read = tensor_of(&leaves[first], a);
        if (read && !is_weight(&leaves[first], a) && ll_elements(&read->shape) == made)
            return true;
    }
    return false;
}

/* Whether it goes forwards and backwards, which no layer does by itself. */
static bool goes_both_ways(const struct ll_torch_leaf *leaves, uint64_t period)
{
    bool forward = false, backward = false;
    for (uint64_t i = 0; i < period; i++) {
        forward = forward || leaves[i].phase == LL_PHASE_FORWARD;
        backward = backward || leaves[i].phase == LL_PHASE_BACKWARD;
    }
    return forward && backward;
}

bool ll_torch_period(struct ll_import *import, const struct ll_torch_leaf *leaves, uint64_t count,
                     enum ll_torch_file file, uint64_t *period)
{
    uint64_t *looks = calloc(count + 1, sizeof *looks);
    bool chosen = false;
    if (!looks)
        return ll_import_no_memory(import);
    for (uint64_t i = 0; i < count; i++)
        looks[i] = look_of(leaves[i].node);
    bool right = ll_period_of_steps(import, looks, count, period, &chosen);
    free(looks);
    if (!right || chosen || *period == count)
        return right;
    bool steps = file == LL_TORCH_GRAPH
                     ? share_weights(leaves, *period)
                     : goes_both_ways(leaves, *period) || !may_feed_itself(leaves, *period);
    *period = steps ? *period : count;
    return true;
}

void ll_torch_keep_step(struct ll_torch_kept *kept)
{
    ll_map_release(&kept->looks);
    kept->read_count = 0;
}

/* The slot of the storage of what looks so, the next one of this step; *is_new where no step before had
 * it. */
static uint64_t *next_place(struct ll_torch_kept *kept, uint64_t look, bool *is_new)
{
    bool is_first = false;
    uint32_t at = ll_map_intern(&kept->looks, &look, sizeof look, &is_first);
    if (at == LL_NO_ID ||
        !ll_grow(&kept->counts, &kept->count_capacity, (uint64_t)at + 1, sizeof *kept->counts))
        return NULL;
    kept->counts[at] = is_first ? 0 : kept->counts[at] + 1;
    const uint64_t key[] = {look, kept->counts[at]};
    at = ll_map_intern(&kept->places, key, sizeof key, is_new);
    if (at == LL_NO_ID ||
        !ll_grow(&kept->storages, &kept->storage_capacity, (uint64_t)at + 1, sizeof *kept->storages))
        return NULL;
    return &kept->storages[at];
}

/* For the backward call that reads it. Biases and averages are read by none. */
static bool note_read(struct ll_torch_kept *kept, const struct ll_torch_tensor *tensor, uint32_t argument)
{
    if (tensor->shape.rank < 2 && argument != 1)
        return true;
    if (!ll_grow(&kept->read, &kept->read_capacity, kept->read_count + 1, sizeof *kept->read))
        return false;
    kept->read[kept->read_count++] = (struct ll_torch_read){tensor->shape, tensor->storage, false};
    return true;
}

/* The same tensor, or that with its two dimensions exchanged. */
static bool is_same(const struct ll_shape *a, const struct ll_shape *b)
{
    if (a->rank != b->rank)
        return false;
    bool turned = a->rank == 2 && a->dim[0] == b->dim[1] && a->dim[1] == b->dim[0];
    return turned || memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

/* Backwards, the last one of such a shape comes first. */
static void find_read(struct ll_torch_kept *kept, struct ll_torch_tensor *tensor)
{
    for (uint64_t i = kept->read_count; i-- > 0;) {
        struct ll_torch_read *read = &kept->read[i];
        if (read->taken || !is_same(&read->shape, &tensor->shape))
            continue;
        read->taken = true;
        tensor->storage = read->storage;
        return;
    }
}

static bool keep_tensor(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf, uint32_t argument,
                        struct ll_torch_tensor *tensor)
{
    uint64_t look = ll_hash_text(LL_HASH_START, leaf->node->name);
    bool is_new = false;
    look = hash_shape(ll_hash_bytes(look, &argument, sizeof argument), &tensor->shape);
    uint64_t *storage = next_place(kept, look, &is_new);
    if (!storage)
        return false;
    if (is_new)
        *storage = tensor->storage;
    tensor->storage = *storage;
    return leaf->phase == LL_PHASE_UPDATE || note_read(kept, tensor, argument);
}

bool ll_torch_keep(struct ll_torch_kept *kept, const struct ll_torch_leaf *leaf)
{
    bool all = leaf->phase == LL_PHASE_UPDATE, fine = true;
    for (uint32_t a = 0; a < leaf->node->input_count; a++) {
        const struct ll_torch_value *value = &leaf->node->inputs[a];
        for (uint32_t t = 0; fine && value->kind == LL_TORCH_TENSORS && t < value->count; t++) {
            if (value->tensors[t].absent || !(all || is_weight(leaf, a)))
                continue;
            if (leaf->phase == LL_PHASE_BACKWARD)
                find_read(kept, &value->tensors[t]);
            else
                fine = keep_tensor(kept, leaf, a, &value->tensors[t]);
        }
    }
    return fine;
}

void ll_torch_keep_release(struct ll_torch_kept *kept)
{
    ll_map_release(&kept->places);
    ll_map_release(&kept->looks);
    free(kept->storages);
    free(kept->counts);
    free(kept->read);
    *kept = (struct ll_torch_kept){0};
}
