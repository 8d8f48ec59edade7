/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are hashed by a width that is written here, so that no machine's sizes or order of bytes enter a
 * key. */
#include "sim/explore/key.h"

#include "sim/machine/node.h"

#include <stdio.h>
#include <string.h>

bool ll_hash_file(const char *path, uint64_t *hash)
{
    unsigned char bytes[1 << 14];
    FILE *file = fopen(path, "rb");
    if (!file)
        return false;
    *hash = LL_HASH_START;
    for (size_t length; (length = fread(bytes, 1, sizeof bytes, file)) > 0;)
        *hash = ll_hash_bytes(*hash, bytes, length);
    bool whole = !ferror(file);
    fclose(file);
    return whole;
}

static uint64_t hash_rules(uint64_t hash, const struct ll_rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = ll_hash_text(hash, rules[i].name ? rules[i].name : "");
        hash = ll_hash_text(hash, rules[i].text);
    }
    return ll_hash_number(hash, count, 8);
}

static uint64_t hash_objectives(uint64_t hash, const struct ll_space *space)
{
    for (size_t i = 0; i < space->objective_count; i++)
        hash = ll_hash_text(hash, space->objectives[i].text);
    return hash;
}

bool ll_base_key(const struct ll_space *space, const uint64_t *workload_hashes, uint64_t *key)
{
    struct ll_str machine = {0};
    struct ll_json json = {.out = &machine};
    ll_machine_json(space->machine, &json);
    bool whole = !machine.failed;
    uint64_t hash = ll_hash_text(LL_HASH_START, ll_code_mark);
    hash = ll_hash_bytes(hash, machine.text, whole ? machine.length : 0);
    for (size_t w = 0; w < space->workload_count; w++)
        hash = ll_hash_number(hash, workload_hashes[w], 8);
    hash = hash_rules(hash, space->couplings, space->coupling_count);
    hash = hash_rules(hash, space->definitions, space->definition_count);
    hash = hash_rules(hash, space->constraints, space->constraint_count);
    *key = hash_objectives(hash, space);
    ll_str_release(&machine);
    return whole;
}

/* A named part is what it says, not how it is called. */
static uint64_t hash_node(uint64_t hash, const struct ll_node *node)
{
    if (node->key)
        hash = ll_hash_text(hash, node->key);
    if (node->text)
        return ll_hash_text(hash, node->text);
    for (const struct ll_node *child = node->first; child; child = child->next)
        hash = hash_node(hash, child);
    return ll_hash_number(hash, node->count, 8);
}

uint64_t ll_point_key(const struct ll_space *space, uint64_t base_key, uint64_t number)
{
    uint32_t point[LL_MOST_AXES];
    uint64_t hash = base_key;
    ll_space_point(space, number, point);
    for (size_t a = 0; a < space->axis_count; a++) {
        hash = ll_hash_text(hash, space->axes[a].path);
        hash = hash_node(hash, space->axes[a].values[point[a]].node);
    }
    return hash;
}

uint64_t ll_space_hash(const struct ll_space *space)
{
    uint64_t hash = LL_HASH_START;
    for (size_t a = 0; a < space->axis_count; a++) {
        hash = ll_hash_text(hash, space->axes[a].path);
        for (uint32_t i = 0; i < space->axes[a].value_count; i++) {
            hash = ll_hash_text(hash, space->axes[a].values[i].text);
            if (space->axes[a].target == LL_AXIS_PART)
                hash = hash_node(hash, space->axes[a].values[i].node);
        }
        hash = ll_hash_number(hash, space->axes[a].value_count, 4);
    }
    for (size_t w = 0; w < space->workload_count; w++)
        hash = ll_hash_text(hash, space->workloads[w].name);
    hash = hash_objectives(hash, space);
    hash = ll_hash_number(hash, space->search.kind, 4);
    hash = space->search.prune ? ll_hash_text(hash, "prune") : hash;
    if (space->search.kind == LL_SEARCH_LATIN) /* its points depend on how many there are */
        hash = ll_hash_number(hash, space->search.points, 8);
    return space->search.kind == LL_SEARCH_GRID ? hash : ll_hash_number(hash, space->search.seed, 8);
}
