/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of the towers that look, which stand beside a language model in one configuration and are left
 * out of what is recorded. Linear layers have in x out weights, and biases where it is said. */
#include "models/llm/tower.h"

#include <string.h>

#include "tracer/base/num.h"

/* A whole number of the tower's configuration; LL_NO_FIT, which stays so in sums, where it is missing. */
static uint64_t count_of(struct ll_key *tower, const char *key)
{
    const struct ll_key *value = ll_key_in(tower, key);
    bool good = value && value->token == LL_JSON_NUMBER && value->number >= 0 && value->number <= 0x1p32;
    return good ? (uint64_t)value->number : LL_NO_FIT;
}

static uint64_t product(uint64_t a, uint64_t b)
{
    return ll_mul(a, b);
}

/* A linear layer, with biases. */
static uint64_t linear(uint64_t from, uint64_t to)
{
    return ll_add(product(from, to), to);
}

static uint64_t sum_of(const uint64_t *terms, size_t count)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum = ll_add(sum, terms[i]);
    return sum;
}
#define SUM(...)                                                                                             \
    sum_of((const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/* Llama 4: a ViT whose linear layers but that of patches have biases, a class, norms before and behind; two
 * matrices on what is shuffled together, one to the features of tokens. */
static uint64_t llama4(struct ll_key *t, uint64_t hidden)
{
    const uint64_t h = count_of(t, "hidden_size"), f = count_of(t, "intermediate_size"),
                   patch = count_of(t, "patch_size"), image = count_of(t, "image_size"),
                   inner = count_of(t, "projector_input_dim"), out = count_of(t, "projector_output_dim");
    if (!ll_fits(patch) || patch == 0)
        return LL_NO_FIT;
    const uint64_t places = ll_add(product(image / patch, image / patch), 1);
    const uint64_t layer = SUM(product(4, linear(h, h)), linear(h, f), linear(f, h), product(4, h));
    return SUM(product(count_of(t, "num_hidden_layers"), layer),
               product(product(3, product(patch, patch)), h), h, product(places, h), product(4, h),
               product(f, inner), product(inner, out), product(count_of(t, "vision_output_dim"), hidden));
}

/* Gemma 4: no biases, a table of places for each direction, norms around both parts and of queries and
 * keys. */
static uint64_t gemma4(struct ll_key *t, uint64_t hidden)
{
    const uint64_t h = count_of(t, "hidden_size"), f = count_of(t, "intermediate_size"),
                   patch = count_of(t, "patch_size"), heads = count_of(t, "num_attention_heads"),
                   head = count_of(t, "head_dim"), places = count_of(t, "position_embedding_size");
    const uint64_t layer = SUM(product(product(4, h), product(heads, head)), product(3, product(h, f)),
                               product(4, h), product(2, head));
    return SUM(product(count_of(t, "num_hidden_layers"), layer),
               product(product(3, product(patch, patch)), h), product(product(2, places), h),
               product(h, hidden));
}

/* Qwen3-VL and Qwen3.5: biases everywhere; a merger of neighbouring patches at the end, and one for each
 * layer whose features go deeper, which norms what it has merged. */
static uint64_t qwen3_vl(struct ll_key *t)
{
    const uint64_t h = count_of(t, "hidden_size"), f = count_of(t, "intermediate_size"),
                   patch = count_of(t, "patch_size"), side = count_of(t, "spatial_merge_size"),
                   merged = product(product(side, side), h), out = count_of(t, "out_hidden_size");
    const uint64_t pixels = product(product(3, count_of(t, "temporal_patch_size")), product(patch, patch)),
                   layer =
                       SUM(product(4, h), linear(h, product(3, h)), linear(h, h), linear(h, f), linear(f, h)),
                   merger = ll_add(linear(merged, merged), linear(merged, out));
    const struct ll_key *deep = ll_key_in(t, "deepstack_visual_indexes");
    uint64_t deeper = 0;
    for (const struct ll_key *item = deep ? deep->child : NULL; item; item = item->next)
        deeper = SUM(deeper, product(2, merged), merger);
    return SUM(linear(pixels, h), product(count_of(t, "num_position_embeddings"), h),
               product(count_of(t, "depth"), layer), product(2, h), merger, deeper);
}

uint64_t ll_llm_tower_parameters(const char *family, struct ll_key *tower, uint64_t hidden)
{
    if (strcmp(family, "llama4") == 0)
        return llama4(tower, hidden);
    if (strcmp(family, "gemma4") == 0)
        return gemma4(tower, hidden);
    if (strncmp(family, "qwen3_vl", 8) == 0 || strncmp(family, "qwen3_5", 7) == 0)
        return qwen3_vl(tower);
    return LL_NO_FIT;
}
