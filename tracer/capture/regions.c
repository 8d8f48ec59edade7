/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/regions.h"

#include "tracer/base/arena.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

#include <assert.h>
#include <stdlib.h>

struct ll_region_node {
    struct ll_region region;
    uint64_t priority;
    uint32_t left, right;
};

void ll_region_list_release(struct ll_region_list *pieces)
{
    free(pieces->items);
    *pieces = (struct ll_region_list){0};
}

void ll_regions_release(struct ll_regions *regions)
{
    free(regions->nodes);
    free(regions->readers);
    *regions = (struct ll_regions){0};
}

uint64_t ll_stretch_end(const struct ll_stretch_of_memory *at)
{
    return at->rows ? at->address + (at->rows - 1) * at->stride_bytes + at->row_bytes : at->address;
}

/* Nodes. */

static struct ll_region_node *node_of(struct ll_regions *regions, uint32_t node)
{
    return &regions->nodes[node];
}

/* 0 when memory ran out. */
static uint32_t new_node(struct ll_regions *regions, const struct ll_region *region)
{
    uint32_t node = regions->free_node;
    if (node) {
        regions->free_node = node_of(regions, node)->left;
    } else {
        uint64_t needed = (uint64_t)regions->node_count + 2;
        if (!ll_grow(&regions->nodes, &regions->node_capacity, needed, sizeof *regions->nodes)) {
            regions->failed = true;
            return 0;
        }
        node = ++regions->node_count;
    }
    *node_of(regions, node) =
        (struct ll_region_node){.region = *region, .priority = ll_random_bits(1, regions->dice++)};
    return node;
}

/* Its stretch becomes none, so that nobody takes it for what it was. */
static void free_node(struct ll_regions *regions, uint32_t node)
{
    node_of(regions, node)->region.at = (struct ll_stretch_of_memory){0};
    node_of(regions, node)->left = regions->free_node;
    regions->free_node = node;
}

/* All that begins before `address` goes left. */
static void split(struct ll_regions *regions, uint32_t tree, uint64_t address, uint32_t *left,
                  uint32_t *right)
{
    while (tree) {
        struct ll_region_node *node = node_of(regions, tree);
        if (node->region.at.address < address) {
            *left = tree;
            left = &node->right;
            tree = node->right;
        } else {
            *right = tree;
            right = &node->left;
            tree = node->left;
        }
    }
    *left = *right = 0;
}

/* All of `left` lies before all of `right`. */
static uint32_t join(struct ll_regions *regions, uint32_t left, uint32_t right)
{
    uint32_t root = 0, *place = &root;
    while (left && right) {
        struct ll_region_node *a = node_of(regions, left), *b = node_of(regions, right);
        if (a->priority > b->priority) {
            *place = left;
            place = &a->right;
            left = a->right;
        } else {
            *place = right;
            place = &b->left;
            right = b->left;
        }
    }
    *place = left ? left : right;
    return root;
}

/* The last node that begins at or before an address; 0 when none does. */
static uint32_t last_until(const struct ll_regions *regions, uint64_t address)
{
    uint32_t found = 0;
    for (uint32_t tree = regions->root; tree;) {
        const struct ll_region_node *node = &regions->nodes[tree];
        bool until = node->region.at.address <= address;
        found = until ? tree : found;
        tree = until ? node->right : node->left;
    }
    return found;
}

/* Whether nothing lies between the first and the last byte of the stretch. */
static bool is_alone(const struct ll_regions *regions, const struct ll_stretch_of_memory *at)
{
    uint32_t node = last_until(regions, ll_stretch_end(at) - 1);
    return !node || ll_stretch_end(&regions->nodes[node].region.at) <= at->address;
}

/* The high bits of a product with the golden ratio: addresses at equal distances spread evenly (Knuth, 1973,
 * 6.4). */
static uint32_t entry_of(uint64_t address)
{
    return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> (64 - LL_REGIONS_FOUND_BITS));
}

struct ll_region *ll_regions_at(struct ll_regions *regions, const struct ll_stretch_of_memory *at)
{
    if (at->rows == 0)
        return NULL;
    uint32_t *found = &regions->found[entry_of(at->address)], node = *found;
    if (node && ll_stretch_is(&node_of(regions, node)->region.at, at))
        return &node_of(regions, node)->region;
    node = last_until(regions, at->address);
    struct ll_region *region = node ? &node_of(regions, node)->region : NULL;
    if (!region || !ll_stretch_is(&region->at, at))
        return NULL;
    *found = node;
    return region;
}

const struct ll_region *ll_regions_from(const struct ll_regions *regions, uint64_t address)
{
    uint32_t node = last_until(regions, address);
    return node && regions->nodes[node].region.at.address == address ? &regions->nodes[node].region : NULL;
}

/* Readers. */

static uint32_t new_reader(struct ll_regions *regions, struct ll_reader reader)
{
    uint32_t place = regions->free_reader;
    if (place) {
        regions->free_reader = regions->readers[place].next;
    } else {
        uint64_t needed = (uint64_t)regions->reader_count + 2;
        if (!ll_grow(&regions->readers, &regions->reader_capacity, needed, sizeof *regions->readers)) {
            regions->failed = true;
            return 0;
        }
        place = ++regions->reader_count;
    }
    regions->readers[place] = reader;
    return place;
}

void ll_readers_add(struct ll_regions *regions, uint32_t *list, uint32_t op, uint32_t thread)
{
    for (uint32_t at = *list; at; at = regions->readers[at].next)
        if (regions->readers[at].thread == thread) {
            regions->readers[at].op = op;
            return;
        }
    uint32_t place = new_reader(regions, (struct ll_reader){op, thread, *list});
    if (place)
        *list = place;
}

void ll_readers_clear(struct ll_regions *regions, uint32_t *list)
{
    while (*list) {
        uint32_t place = *list;
        *list = regions->readers[place].next;
        regions->readers[place].next = regions->free_reader;
        regions->free_reader = place;
    }
}

static uint32_t copy_readers(struct ll_regions *regions, uint32_t list)
{
    uint32_t copy = 0;
    for (uint32_t at = list; at; at = regions->readers[at].next) {
        struct ll_reader reader = regions->readers[at];
        reader.next = copy;
        uint32_t place = new_reader(regions, reader);
        copy = place ? place : copy;
    }
    return copy;
}

/* Putting and cutting. */

static void put_whole(struct ll_regions *regions, const struct ll_region *region)
{
    uint32_t left, right, node = new_node(regions, region);
    if (!node)
        return;
    split(regions, regions->root, region->at.address, &left, &right);
    regions->root = join(regions, join(regions, left, node), right);
}

/* Takes a node out and returns its region. */
static struct ll_region take_node(struct ll_regions *regions, uint32_t node)
{
    struct ll_region region = node_of(regions, node)->region;
    uint32_t left, middle, right;
    split(regions, regions->root, region.at.address, &left, &right);
    split(regions, right, region.at.address + 1, &middle, &right);
    assert(middle == node);
    free_node(regions, node);
    regions->root = join(regions, left, right);
    return region;
}

/* A part of a region with readers of its own. */
static void put_part(struct ll_regions *regions, const struct ll_region *region, uint64_t address,
                     uint64_t bytes)
{
    struct ll_region part = *region;
    part.at = ll_stretch(address, 1, bytes, bytes);
    part.readers = copy_readers(regions, region->readers);
    put_whole(regions, &part);
}

static void put_rows_apart(struct ll_regions *regions, struct ll_region region)
{
    regions->walked += region.at.rows;
    for (uint64_t row = 0; row < region.at.rows; row++)
        put_part(regions, &region, region.at.address + row * region.at.stride_bytes, region.at.row_bytes);
    ll_readers_clear(regions, &region.readers);
}

void ll_regions_put(struct ll_regions *regions, const struct ll_region *region)
{
    regions->changes++;
    if (region->at.rows > 1 && !is_alone(regions, &region->at))
        put_rows_apart(regions, *region);
    else if (region->at.rows > 0)
        put_whole(regions, region);
}

/* Sees to it that no region reaches across the address, and that none with rows apart lies around it. */
static void cut(struct ll_regions *regions, uint64_t address)
{
    uint32_t node;
    while ((node = last_until(regions, address)) != 0) {
        const struct ll_region *found = &node_of(regions, node)->region;
        if (found->at.address == address || ll_stretch_end(&found->at) <= address)
            return;
        struct ll_region region = take_node(regions, node);
        if (region.at.rows > 1) {
            put_rows_apart(regions, region);
            continue;
        }
        uint64_t bytes = address - region.at.address;
        put_part(regions, &region, region.at.address, bytes);
        put_part(regions, &region, address, region.at.row_bytes - bytes);
        ll_readers_clear(regions, &region.readers);
        return;
    }
}

static void add_piece(struct ll_regions *regions, struct ll_region_list *pieces,
                      const struct ll_region *region)
{
    if (ll_grow(&pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items))
        pieces->items[pieces->count++] = *region;
    else
        regions->failed = true;
}

/* In the order of addresses, leaving the nodes free. A treap is about as deep as twice the logarithm of its
 * size, so recursion is safe. */
static void add_all(struct ll_regions *regions, uint32_t tree, struct ll_region_list *pieces)
{
    if (!tree)
        return;
    add_all(regions, node_of(regions, tree)->left, pieces);
    add_piece(regions, pieces, &node_of(regions, tree)->region);
    uint32_t right = node_of(regions, tree)->right;
    free_node(regions, tree);
    add_all(regions, right, pieces);
}

static void take_run(struct ll_regions *regions, uint64_t begin, uint64_t end, struct ll_region_list *pieces)
{
    uint32_t left, middle, right;
    cut(regions, begin);
    cut(regions, end);
    split(regions, regions->root, begin, &left, &right);
    split(regions, right, end, &middle, &right);
    regions->root = join(regions, left, right);
    add_all(regions, middle, pieces);
}

void ll_regions_take(struct ll_regions *regions, const struct ll_stretch_of_memory *at,
                     struct ll_region_list *pieces)
{
    struct ll_region *exact = ll_regions_at(regions, at);
    if (at->rows == 0)
        return;
    regions->changes++;
    if (exact) {
        struct ll_region region = take_node(regions, last_until(regions, at->address));
        add_piece(regions, pieces, &region);
        return;
    }
    if (is_alone(regions, at))
        return;
    regions->walked += at->rows;
    for (uint64_t row = 0; row < at->rows; row++) {
        uint64_t begin = at->address + row * at->stride_bytes;
        take_run(regions, begin, begin + at->row_bytes, pieces);
    }
}
