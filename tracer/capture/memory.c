/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

enum {
    LOOKS_A_ROW = 64
}; /* to find that a stretch lies between a region's rows takes far less than to cut */

struct ll_region_node {
    struct ll_region region;
    uint64_t priority; /* random: the node of the greatest is the root of its subtree */
    uint64_t most_end; /* the greatest end of a stretch in this subtree */
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
    free(regions->reached);
    *regions = (struct ll_regions){0};
}

uint64_t ll_stretch_end(const struct ll_stretch_of_memory *at)
{
    assert(at->rows <= 1 || at->stride_bytes >= at->row_bytes); /* runs do not overlap */
    return at->rows ? at->address + (at->rows - 1) * at->stride_bytes + at->row_bytes : at->address;
}

/* Nodes. */

static struct ll_region_node *node_of(struct ll_regions *regions, uint32_t node)
{
    assert(node > 0 && node <= regions->node_count);
    return &regions->nodes[node];
}

static void sum_up(struct ll_regions *regions, uint32_t tree)
{
    struct ll_region_node *node = node_of(regions, tree);
    uint64_t left = node->left ? node_of(regions, node->left)->most_end : 0;
    uint64_t right = node->right ? node_of(regions, node->right)->most_end : 0;
    node->most_end = ll_max(ll_stretch_end(&node->region.at), ll_max(left, right));
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
    sum_up(regions, node);
    assert(node_of(regions, node)->most_end >= region->at.address);
    return node;
}

/* Its stretch becomes none, so that nobody takes it for what it was. */
static void free_node(struct ll_regions *regions, uint32_t node)
{
    node_of(regions, node)->region.at = (struct ll_stretch_of_memory){0};
    node_of(regions, node)->left = regions->free_node;
    regions->free_node = node;
}

/* All that begins before `address` goes left. A treap is about as deep as twice the logarithm of its size, so
 * recursion is safe, here and below. */
static void split(struct ll_regions *regions, uint32_t tree, uint64_t address, uint32_t *left,
                  uint32_t *right)
{
    *left = *right = 0;
    if (!tree)
        return;
    struct ll_region_node *node = node_of(regions, tree);
    if (node->region.at.address < address) {
        split(regions, node->right, address, &node->right, right);
        *left = tree;
    } else {
        split(regions, node->left, address, left, &node->left);
        *right = tree;
    }
    sum_up(regions, tree);
}

/* All of `left` begins before all of `right`. */
static uint32_t join(struct ll_regions *regions, uint32_t left, uint32_t right)
{
    assert(left == 0 || left != right);
    if (!left || !right)
        return left ? left : right;
    struct ll_region_node *a = node_of(regions, left), *b = node_of(regions, right);
    uint32_t top = a->priority > b->priority ? left : right;
    if (top == left)
        a->right = join(regions, a->right, right);
    else
        b->left = join(regions, left, b->left);
    sum_up(regions, top);
    return top;
}

/* The node that begins at an address; 0 when none does. Regions are disjoint, so no two begin there. */
static uint32_t node_at(const struct ll_regions *regions, uint64_t address)
{
    uint32_t tree = regions->root;
    while (tree && regions->nodes[tree].region.at.address != address)
        tree = regions->nodes[tree].region.at.address < address ? regions->nodes[tree].right
                                                                : regions->nodes[tree].left;
    return tree;
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
    node = node_at(regions, at->address);
    struct ll_region *region = node ? &node_of(regions, node)->region : NULL;
    if (!region || !ll_stretch_is(&region->at, at))
        return NULL;
    *found = node;
    return region;
}

/* The region that begins at exactly this address, or NULL; likewise. */
static const struct ll_region *regions_from(const struct ll_regions *regions, uint64_t address)
{
    uint32_t node = node_at(regions, address);
    return node ? &regions->nodes[node].region : NULL;
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
    assert(op != LL_NONE);
    assert(*list <= regions->reader_count);
    for (uint32_t at = *list; at; at = regions->readers[at].next)
        if (regions->readers[at].thread == thread) {
            regions->readers[at].op = op;
            return;
        }
    uint32_t place = new_reader(regions, (struct ll_reader){op, thread, *list});
    if (place)
        *list = place;
}

/* Empties a list into another one, in which the last op of each thread stays. */
static void readers_move(struct ll_regions *regions, uint32_t *from, uint32_t *to)
{
    for (uint32_t at = *from; at; at = regions->readers[at].next) {
        struct ll_reader reader = regions->readers[at];
        for (uint32_t there = *to; there; there = regions->readers[there].next)
            if (regions->readers[there].thread == reader.thread)
                reader.op = (uint32_t)ll_max(reader.op, regions->readers[there].op);
        ll_readers_add(regions, to, reader.op, reader.thread);
    }
    ll_readers_clear(regions, from);
}

void ll_readers_clear(struct ll_regions *regions, uint32_t *list)
{
    while (*list) {
        uint32_t place = *list;
        *list = regions->readers[place].next;
        regions->readers[place].next = regions->free_reader;
        regions->free_reader = place;
    }
    assert(*list == 0);
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

/* Cutting one stretch by another.
 *
 * Seen with the stride as the length of a line, a stretch is a rectangle: `rows` lines high and `row_bytes`
 * wide, with its first byte as origin. Another stretch of the same stride is one rectangle in that plane,
 * or two where its rows go on at the beginning of the next line; a run is at most the end of a line, whole
 * lines and the beginning of one. What two rectangles share is a rectangle, what is left of one of them at
 * most four, so that cutting takes constant time however many rows there are. Only where both have rows
 * apart, at different strides, are the rows of the one that has fewer gone through one by one. */

/* The node; 0 when memory ran out. */
static uint32_t put_whole(struct ll_regions *regions, const struct ll_region *region)
{
    uint32_t left, right, node = new_node(regions, region);
    if (!node)
        return 0;
    split(regions, regions->root, region->at.address, &left, &right);
    regions->root = join(regions, join(regions, left, node), right);
    return node;
}

static void add_reached(struct ll_regions *regions, uint32_t node)
{
    if (ll_grow(&regions->reached, &regions->reached_capacity, regions->reached_count + 1,
                sizeof *regions->reached))
        regions->reached[regions->reached_count++] = node;
    else
        regions->failed = true;
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

void ll_regions_put(struct ll_regions *regions, const struct ll_region *region)
{
    assert(region->at.rows > 0 && region->at.row_bytes > 0);
    regions->changes++;
    if (region->at.rows > 0)
        put_whole(regions, region);
}

static void add_piece(struct ll_regions *regions, struct ll_region_list *pieces,
                      const struct ll_region *region)
{
    if (ll_grow(&pieces->items, &pieces->capacity, pieces->count + 1, sizeof *pieces->items))
        pieces->items[pieces->count++] = *region;
    else
        regions->failed = true;
}

/* A region that is out of the map; its parts go back there, and those inside of the other stretch are
 * reached. */
struct cutting {
    struct ll_regions *regions;
    const struct ll_region *region;
};

enum side { OUTSIDE, INSIDE };

/* A part of the region, with readers of its own. */
static void give(const struct cutting *cutting, enum side side, struct ll_stretch_of_memory at)
{
    struct ll_region part = *cutting->region;
    if (at.rows == 0)
        return;
    part.at = at;
    part.readers = copy_readers(cutting->regions, part.readers);
    uint32_t node = put_whole(cutting->regions, &part);
    if (node && side == INSIDE)
        add_reached(cutting->regions, node);
}

static struct ll_stretch_of_memory run_of(uint64_t begin, uint64_t end)
{
    return begin < end ? ll_stretch(begin, 1, end - begin, end - begin) : ll_stretch(begin, 0, 0, 0);
}

/* Rows [from, to) of a stretch. */
static struct ll_stretch_of_memory rows_of(const struct ll_stretch_of_memory *at, uint64_t from, uint64_t to)
{
    return ll_stretch(at->address + from * at->stride_bytes, from < to ? to - from : 0, at->row_bytes,
                      at->stride_bytes);
}

struct row_range {
    uint64_t from, to;
};

/* The rows of a stretch that share bytes with a run. */
static struct row_range rows_in(const struct ll_stretch_of_memory *at, uint64_t begin, uint64_t end)
{
    uint64_t first_end = at->address + at->row_bytes;
    uint64_t from = begin < first_end ? 0 : (begin - first_end) / at->stride_bytes + 1;
    uint64_t to = end <= at->address ? 0 : (end - at->address - 1) / at->stride_bytes + 1;
    from = ll_min(from, at->rows);
    return (struct row_range){from, ll_max(ll_min(to, at->rows), from)};
}

/* The run becomes what lies before the rows, the rows, what lies between them and what lies behind. */
static void cut_run(const struct cutting *cutting, const struct ll_stretch_of_memory *run,
                    const struct ll_stretch_of_memory *by)
{
    uint64_t begin = run->address, end = ll_stretch_end(run);
    struct row_range rows = rows_in(by, begin, end);
    if (rows.from == rows.to) {
        give(cutting, OUTSIDE, *run);
        return;
    }
    struct ll_stretch_of_memory first = rows_of(by, rows.from, rows.from + 1),
                                last = rows_of(by, rows.to - 1, rows.to);
    bool cuts_first = first.address<begin, cuts_last = ll_stretch_end(&last)> end;
    give(cutting, OUTSIDE, run_of(begin, first.address));
    give(cutting, OUTSIDE, run_of(ll_stretch_end(&last), end));
    give(cutting, OUTSIDE,
         ll_stretch(ll_stretch_end(&first), rows.to - rows.from - 1, by->stride_bytes - by->row_bytes,
                    by->stride_bytes));
    if (cuts_first || (cuts_last && rows.to - rows.from == 1))
        give(cutting, INSIDE, run_of(ll_max(first.address, begin), ll_min(ll_stretch_end(&first), end)));
    if (cuts_last && rows.to - rows.from > 1)
        give(cutting, INSIDE, run_of(last.address, end));
    rows.from += cuts_first;
    rows.to -= cuts_last && rows.to > rows.from;
    give(cutting, INSIDE, rows_of(by, rows.from, rows.to));
}

/* Rows before and behind stay; the first and the last that the run reaches it may cut. */
static void cut_by_run(const struct cutting *cutting, const struct ll_stretch_of_memory *at,
                       const struct ll_stretch_of_memory *run)
{
    struct row_range rows = rows_in(at, run->address, ll_stretch_end(run));
    give(cutting, OUTSIDE, rows_of(at, 0, rows.from));
    give(cutting, OUTSIDE, rows_of(at, rows.to, at->rows));
    if (rows.from == rows.to)
        return;
    const struct ll_stretch_of_memory first = rows_of(at, rows.from, rows.from + 1),
                                      last = rows_of(at, rows.to - 1, rows.to);
    bool cuts_first = first.address<run->address, cuts_last = ll_stretch_end(&last)> ll_stretch_end(run);
    if (cuts_first || (cuts_last && rows.to - rows.from == 1))
        cut_run(cutting, &first, run);
    if (cuts_last && rows.to - rows.from > 1)
        cut_run(cutting, &last, run);
    bool one = rows.to - rows.from == 1;
    rows.from += cuts_first || (cuts_last && one);
    rows.to -= cuts_last && !one;
    give(cutting, INSIDE, rows_of(at, rows.from, rows.to));
}

/* Lines [top, bottom) and bytes [left, right) of each, counted from the origin of the plane. */
struct rectangle {
    int64_t top, bottom, left, right;
};

/* The second stretch in the plane of the first, which has the same stride; true where that takes two. */
static bool place_in(const struct ll_stretch_of_memory *plane, const struct ll_stretch_of_memory *at,
                     struct rectangle placed[2])
{
    int64_t stride = (int64_t)plane->stride_bytes, distance = (int64_t)(at->address - plane->address);
    int64_t top = distance / stride - (distance % stride < 0), left = distance - top * stride;
    int64_t right = left + (int64_t)at->row_bytes, bottom = top + (int64_t)at->rows;
    placed[0] = (struct rectangle){top, bottom, left, right < stride ? right : stride};
    placed[1] = (struct rectangle){top + 1, bottom + 1, 0, right - stride};
    return right > stride;
}

static struct rectangle common_of(const struct rectangle *a, const struct rectangle *b)
{
    return (struct rectangle){
        a->top > b->top ? a->top : b->top, a->bottom < b->bottom ? a->bottom : b->bottom,
        a->left > b->left ? a->left : b->left, a->right < b->right ? a->right : b->right};
}

static bool is_empty(const struct rectangle *it)
{
    return it->top >= it->bottom || it->left >= it->right;
}

static struct ll_stretch_of_memory stretch_in(const struct ll_stretch_of_memory *plane,
                                              const struct rectangle *it)
{
    return ll_stretch(plane->address + (uint64_t)(it->top * (int64_t)plane->stride_bytes + it->left),
                      (uint64_t)(it->bottom - it->top), (uint64_t)(it->right - it->left),
                      plane->stride_bytes);
}

/* What is left of a rectangle goes on to be cut by the next one, or is outside. */
static void cut_rectangle(const struct cutting *cutting, const struct ll_stretch_of_memory *plane,
                          const struct rectangle *it, const struct rectangle *by, unsigned count)
{
    if (is_empty(it))
        return;
    if (count == 0) {
        give(cutting, OUTSIDE, stretch_in(plane, it));
        return;
    }
    struct rectangle common = common_of(it, by);
    if (is_empty(&common)) {
        cut_rectangle(cutting, plane, it, by + 1, count - 1);
        return;
    }
    give(cutting, INSIDE, stretch_in(plane, &common));
    const struct rectangle rest[] = {{it->top, common.top, it->left, it->right},
                                     {common.bottom, it->bottom, it->left, it->right},
                                     {common.top, common.bottom, it->left, common.left},
                                     {common.top, common.bottom, common.right, it->right}};
    for (unsigned i = 0; i < 4; i++)
        cut_rectangle(cutting, plane, &rest[i], by + 1, count - 1);
}

/* At different strides. Of a stretch that has no more rows than the other, each row is a run that is cut.
 * Else each row of the other one reaches some of its rows, of which the first and the last may be reached
 * by others too. */
static void cut_row_by_row(const struct cutting *cutting, const struct ll_stretch_of_memory *at,
                           const struct ll_stretch_of_memory *by)
{
    struct row_range mine = rows_in(at, by->address, ll_stretch_end(by)),
                     others = rows_in(by, at->address, ll_stretch_end(at));
    bool by_mine = mine.to - mine.from <= others.to - others.from;
    cutting->regions->walked += by_mine ? mine.to - mine.from : others.to - others.from;
    give(cutting, OUTSIDE, rows_of(at, 0, mine.from));
    give(cutting, OUTSIDE, rows_of(at, mine.to, at->rows));
    uint64_t next = mine.from; /* rows before it are done */
    for (uint64_t i = others.from; !by_mine && i < others.to; i++) {
        uint64_t begin = by->address + i * by->stride_bytes;
        struct row_range reached = rows_in(at, begin, begin + by->row_bytes);
        uint64_t from = ll_max(reached.from, next), to = ll_min(reached.to, mine.to);
        if (from >= to)
            continue;
        const struct ll_stretch_of_memory first = rows_of(at, from, from + 1), last = rows_of(at, to - 1, to);
        give(cutting, OUTSIDE, rows_of(at, next, from));
        cut_run(cutting, &first, by);
        give(cutting, INSIDE, rows_of(at, from + 1, to - 1));
        if (to - from > 1)
            cut_run(cutting, &last, by);
        next = to;
    }
    for (; by_mine && next < mine.to; next++) {
        const struct ll_stretch_of_memory row = rows_of(at, next, next + 1);
        cut_run(cutting, &row, by);
    }
    give(cutting, OUTSIDE, rows_of(at, next, mine.to));
}

static void cut(const struct cutting *cutting, const struct ll_stretch_of_memory *by)
{
    const struct ll_stretch_of_memory *at = &cutting->region->at;
    if (at->rows == 1) {
        cut_run(cutting, at, by);
    } else if (by->rows == 1) {
        cut_by_run(cutting, at, by);
    } else if (at->stride_bytes == by->stride_bytes) {
        struct rectangle placed[2], whole = {.bottom = (int64_t)at->rows, .right = (int64_t)at->row_bytes};
        cut_rectangle(cutting, at, &whole, placed, place_in(at, by, placed) ? 2 : 1);
    } else {
        cut_row_by_row(cutting, at, by);
    }
}

/* Whether two stretches share a byte. */
static bool overlap(struct ll_regions *regions, const struct ll_stretch_of_memory *a,
                    const struct ll_stretch_of_memory *b)
{
    struct row_range rows = rows_in(a, b->address, ll_stretch_end(b)),
                     others = rows_in(b, a->address, ll_stretch_end(a));
    if (rows.from == rows.to || others.from == others.to || a->rows == 1 || b->rows == 1)
        return rows.from < rows.to && others.from < others.to;
    if (a->stride_bytes == b->stride_bytes) {
        struct rectangle placed[2], whole = {.bottom = (int64_t)a->rows, .right = (int64_t)a->row_bytes};
        bool two = place_in(a, b, placed);
        struct rectangle common = common_of(&whole, &placed[0]), more = common_of(&whole, &placed[1]);
        return !is_empty(&common) || (two && !is_empty(&more));
    }
    if (rows.to - rows.from > others.to - others.from)
        return overlap(regions, b, a);
    for (uint64_t i = rows.from; i < rows.to; i++) {
        uint64_t begin = a->address + i * a->stride_bytes;
        struct row_range reached = rows_in(b, begin, begin + a->row_bytes);
        regions->walked++;
        if (reached.from < reached.to)
            return true;
    }
    return false;
}

/* The nodes, in the order of their addresses, that share a byte with the stretch. */
static void find_overlapping(struct ll_regions *regions, uint32_t tree, const struct ll_stretch_of_memory *at,
                             uint64_t *looks)
{
    if (!tree || node_of(regions, tree)->most_end <= at->address)
        return;
    find_overlapping(regions, node_of(regions, tree)->left, at, looks);
    const struct ll_stretch_of_memory *there = &node_of(regions, tree)->region.at;
    if (there->address >= ll_stretch_end(at))
        return;
    ++*looks;
    if (overlap(regions, there, at))
        add_reached(regions, tree);
    find_overlapping(regions, node_of(regions, tree)->right, at, looks);
}

/* Whether all of a stretch, which shares bytes with another, is known to lie in that one. */
static bool lies_in(const struct ll_stretch_of_memory *at, const struct ll_stretch_of_memory *other)
{
    uint64_t end = ll_stretch_end(at);
    if (at->rows > 1 && other->rows > 1 && at->stride_bytes == other->stride_bytes) {
        struct rectangle placed[2];
        place_in(other, at, placed);
        return placed[0].top >= 0 && placed[0].bottom <= (int64_t)other->rows &&
               placed[0].left + (int64_t)at->row_bytes <= (int64_t)other->row_bytes;
    }
    struct row_range rows = rows_in(other, at->address, end);
    uint64_t begin = other->address + rows.from * other->stride_bytes;
    return rows.to - rows.from == 1 && at->address >= begin && end <= begin + other->row_bytes;
}

/* Cuts what lies in the stretch at its borders: until the next change those are the regions that are
 * reached, in the order i = 0, 1, ... reached_count - 1. They may be changed in place, but for where they
 * lie. */
static void regions_reach(struct ll_regions *regions, const struct ll_stretch_of_memory *at)
{
    uint64_t looks = 0;
    regions->reached_count = 0;
    if (at->rows == 0)
        return;
    if (ll_regions_at(regions, at)) {
        add_reached(regions, node_at(regions, at->address));
        return;
    }
    find_overlapping(regions, regions->root, at, &looks);
    uint64_t met = regions->reached_count, kept = 0;
    regions->walked += met + looks / LOOKS_A_ROW;
    for (uint64_t i = 0; i < met; i++) {
        uint32_t node = regions->reached[i];
        if (lies_in(&node_of(regions, node)->region.at, at)) {
            regions->reached[kept++] = node;
            continue;
        }
        struct ll_region region = take_node(regions, node);
        regions->changes++;
        cut(&(struct cutting){regions, &region}, at);
        ll_readers_clear(regions, &region.readers);
    }
    uint64_t parts = regions->reached_count - met;
    for (uint64_t i = 0; i < parts; i++)
        regions->reached[kept + i] = regions->reached[met + i];
    regions->reached_count = kept + parts;
}

static struct ll_region *regions_reached(const struct ll_regions *regions, uint64_t i)
{
    return &regions->nodes[regions->reached[i]].region;
}

/* Takes them out of the map. */
static void regions_drop_reached(struct ll_regions *regions)
{
    regions->changes++;
    for (uint64_t i = 0; i < regions->reached_count; i++) {
        struct ll_region region = take_node(regions, regions->reached[i]);
        ll_readers_clear(regions, &region.readers);
    }
    regions->reached_count = 0;
}

void ll_regions_take(struct ll_regions *regions, const struct ll_stretch_of_memory *at,
                     struct ll_region_list *pieces)
{
    regions_reach(regions, at);
    regions->changes++;
    for (uint64_t i = 0; i < regions->reached_count; i++) {
        struct ll_region region = take_node(regions, regions->reached[i]);
        add_piece(regions, pieces, &region);
    }
    regions->reached_count = 0;
}

enum {
    VIEWS = 4096,          /* entries of the cache of views */
    VIEW_INPUTS = 6,       /* views of more tensors are made anew each time */
    MOST_PIECES = 64,      /* what is read of more becomes one, .. */
    MOST_PIECES_COARSE = 8 /* .. and where memory is told coarsely of more than these */
};

/* A view that was made: of these tensors, in this shape, at this place. Tensors are written once, so it never
 * grows stale; another one may take its entry. */
struct ll_view_entry {
    struct ll_stretch_of_memory at;
    uint32_t desc, count;
    uint32_t of[VIEW_INPUTS];
    uint32_t tensor;
    uint32_t unused; /* zero */
};

void ll_memory_release(struct ll_memory *memory)
{
    ll_regions_release(&memory->regions);
    ll_regions_release(&memory->allocations);
    ll_regions_release(&memory->holes);
    ll_region_list_release(&memory->parts);
    free(memory->views);
    free(memory->tensors);
    memory->views = NULL;
    memory->tensors = NULL;
}

/* Pieces. */

/* Regions that lie in the stretch, as pieces of it, until the map changes. */
static void reach(struct ll_memory *memory, const struct ll_stretch_of_memory *at)
{
    regions_reach(&memory->regions, at);
}

static uint64_t piece_count(const struct ll_memory *memory)
{
    return memory->regions.reached_count;
}

static struct ll_region *piece_of(const struct ll_memory *memory, uint64_t i)
{
    return regions_reached(&memory->regions, i);
}

static uint64_t bytes_of(const struct ll_stretch_of_memory *at)
{
    return at->rows * at->row_bytes;
}

static bool covered(const struct ll_memory *memory, const struct ll_stretch_of_memory *at)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < piece_count(memory); i++)
        bytes += bytes_of(&piece_of(memory, i)->at);
    return bytes == bytes_of(at);
}

/* The one tensor that the pieces are, whole and in this shape; LL_NONE when they are not. */
static uint32_t whole_tensor(const struct ll_memory *memory, const struct ll_stretch_of_memory *at,
                             uint32_t desc)
{
    const struct ll_region *first = piece_count(memory) ? piece_of(memory, 0) : NULL;
    for (uint64_t i = 0; i < piece_count(memory); i++)
        if (piece_of(memory, i)->tensor != first->tensor)
            return LL_NONE;
    bool whole = first && first->desc == desc && ll_stretch_is(&first->whole, at);
    return whole && covered(memory, at) ? first->tensor : LL_NONE;
}

static int by_number(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return left < right ? -1 : left > right;
}

/* The distinct tensors of the pieces, in order; how many, 0 when memory ran out. Bytes that nobody made have
 * none. */
static uint32_t distinct_tensors(struct ll_memory *memory)
{
    uint64_t count = piece_count(memory);
    if (!ll_grow(&memory->tensors, &memory->tensor_capacity, count, sizeof *memory->tensors))
        return 0;
    for (uint64_t i = 0; i < count; i++)
        memory->tensors[i] = piece_of(memory, i)->tensor;
    qsort(memory->tensors, count, sizeof *memory->tensors, by_number);
    uint32_t kept = 0;
    for (uint64_t i = 0; i < count && memory->tensors[i] != LL_NONE; i++)
        if (kept == 0 || memory->tensors[i] != memory->tensors[kept - 1])
            memory->tensors[kept++] = memory->tensors[i];
    return kept < LL_MAX_OP_REFS ? kept : LL_MAX_OP_REFS;
}

/* Whether nobody made any of the pieces: what is known of them is who has read them. */
static bool made_by_nobody(const struct ll_memory *memory)
{
    for (uint64_t i = 0; i < piece_count(memory); i++)
        if (piece_of(memory, i)->tensor != LL_NONE)
            return false;
    return true;
}

/* Views. */

static uint32_t make_view(struct ll_memory *memory, uint32_t desc, uint32_t count, uint32_t thread)
{
    uint32_t view = ll_recorder_op(memory->recorder, &(struct ll_record){.kind = LL_OP_SEEN_AS,
                                                                         .scope = memory->scope,
                                                                         .thread = thread,
                                                                         .inputs = memory->tensors,
                                                                         .input_count = count,
                                                                         .outputs = &desc,
                                                                         .output_count = 1});
    memory->op_count++;
    memory->views_made++;
    return view;
}

static uint64_t hash_of(const struct ll_view_entry *entry)
{
    const unsigned char *bytes = (const unsigned char *)entry;
    uint64_t hash = 0, word;
    for (size_t i = 0; i + sizeof word <= sizeof *entry; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash = ll_random_mix(hash ^ word);
    }
    return hash;
}

/* The pieces at hand as one tensor. */
static uint32_t view_pieces(struct ll_memory *memory, const struct ll_stretch_of_memory *at, uint32_t desc,
                            uint32_t thread)
{
    uint32_t count = distinct_tensors(memory);
    if (!memory->views)
        memory->views = calloc(VIEWS, sizeof *memory->views);
    if (count == 0 || !memory->views)
        return LL_NONE;
    if (count > VIEW_INPUTS)
        return make_view(memory, desc, count, thread);
    struct ll_view_entry wanted = {.at = *at, .desc = desc, .count = count};
    memcpy(wanted.of, memory->tensors, count * sizeof *wanted.of);
    struct ll_view_entry *entry = &memory->views[hash_of(&wanted) % VIEWS];
    wanted.tensor = entry->tensor;
    if (memcmp(entry, &wanted, sizeof wanted) != 0) {
        wanted.tensor = make_view(memory, desc, count, thread);
        *entry = wanted;
    }
    return entry->tensor;
}

/* Reading. */

static struct ll_region region_of(const struct ll_stretch_of_memory *at,
                                  const struct ll_stretch_of_memory *whole, uint32_t tensor, uint32_t desc,
                                  uint32_t writer)
{
    return (struct ll_region){
        .at = *at, .whole = *whole, .tensor = tensor, .desc = desc, .writer = writer, .brought = LL_NONE};
}

/* Bytes of the stretch that no piece holds become regions like this one: somebody may overwrite them. */
static void fill_holes(struct ll_memory *memory, const struct ll_stretch_of_memory *at,
                       struct ll_region region)
{
    struct ll_stretch_of_memory all = ll_stretch(at->address, 1, ll_stretch_end(at) - at->address, 0);
    region.at = *at;
    region.readers = 0;
    ll_regions_put(&memory->holes, &region);
    for (uint64_t i = 0; i < piece_count(memory); i++) {
        memory->parts.count = 0;
        ll_regions_take(&memory->holes, &piece_of(memory, i)->at, &memory->parts);
    }
    memory->parts.count = 0;
    ll_regions_take(&memory->holes, &all, &memory->parts);
    for (uint64_t i = 0; i < memory->parts.count; i++)
        ll_regions_put(&memory->regions, &memory->parts.items[i]);
    memory->regions.failed |= memory->holes.failed;
}

/* What all the pieces were brought as. */
static uint32_t brought_pieces(const struct ll_memory *memory)
{
    const struct ll_region *first = piece_count(memory) ? piece_of(memory, 0) : NULL;
    for (uint64_t i = 1; i < piece_count(memory); i++)
        if (piece_of(memory, i)->brought != first->brought)
            return LL_NONE;
    return first ? first->brought : LL_NONE;
}

/* The last op that wrote or read one of the pieces. */
static uint32_t last_op_of(const struct ll_memory *memory)
{
    uint64_t last = 0; /* its number and one */
    for (uint64_t i = 0; i < piece_count(memory); i++) {
        const struct ll_region *piece = piece_of(memory, i);
        last = piece->writer == LL_NONE ? last : ll_max(last, piece->writer + UINT64_C(1));
        for (uint32_t reader = piece->readers; reader; reader = memory->regions.readers[reader].next)
            last = ll_max(last, memory->regions.readers[reader].op + UINT64_C(1));
    }
    return last ? (uint32_t)(last - 1) : LL_NONE;
}

/* The pieces at hand become one, of the tensor that they are seen as. Whoever overwrites a part of it waits
 * for the readers of all parts; the op that reads it now waits for all who wrote them. */
static void merge_pieces(struct ll_memory *memory, const struct ll_stretch_of_memory *at, uint32_t tensor,
                         uint32_t desc)
{
    struct ll_region region = region_of(at, at, tensor, desc, last_op_of(memory));
    region.brought = brought_pieces(memory);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        readers_move(&memory->regions, &piece_of(memory, i)->readers, &region.readers);
    regions_drop_reached(&memory->regions);
    ll_regions_put(&memory->regions, &region);
}

/* The stretch, which nobody wrote, becomes a tensor; the pieces at hand keep their readers. */
static uint32_t bring(struct ll_memory *memory, const struct ll_stretch_of_memory *at, uint32_t desc)
{
    uint32_t tensor = ll_recorder_tensor(memory->recorder, desc);
    struct ll_region region = region_of(at, at, tensor, desc, LL_NONE);
    if (tensor == LL_NONE)
        return LL_NONE;
    region.brought = tensor;
    if (piece_count(memory) == 0) {
        ll_regions_put(&memory->regions, &region);
        return tensor;
    }
    bool whole = covered(memory, at);
    for (uint64_t i = 0; i < piece_count(memory); i++) {
        struct ll_region *piece = piece_of(memory, i);
        region.at = piece->at;
        region.readers = piece->readers;
        *piece = region;
    }
    if (!whole)
        fill_holes(memory, at, region);
    return tensor;
}

uint32_t ll_memory_brought(struct ll_memory *memory, struct ll_touch *touch, bool *updated)
{
    const struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    *updated = exact && exact->tensor != exact->brought;
    if (exact)
        return exact->brought;
    reach(memory, &touch->at);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        *updated |= piece_of(memory, i)->tensor != piece_of(memory, i)->brought;
    return brought_pieces(memory);
}

uint32_t ll_memory_read(struct ll_memory *memory, struct ll_touch *touch, uint32_t desc, uint32_t thread)
{
    assert(desc != LL_NONE);
    const struct ll_stretch_of_memory *at = &touch->at;
    const struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact && exact->desc == desc && ll_stretch_is(&exact->whole, at))
        return exact->tensor;
    reach(memory, at);
    if (made_by_nobody(memory))
        return bring(memory, at, desc);
    uint32_t tensor = whole_tensor(memory, at, desc);
    if (tensor == LL_NONE)
        tensor = view_pieces(memory, at, desc, thread);
    if (tensor != LL_NONE && piece_count(memory) > (memory->coarse ? MOST_PIECES_COARSE : MOST_PIECES)) {
        merge_pieces(memory, at, tensor, desc);
        return memory->regions.failed ? LL_NONE : tensor;
    }
    if (tensor != LL_NONE && !covered(memory, at))
        fill_holes(memory, at, region_of(at, at, LL_NONE, LL_NONE, LL_NONE));
    return memory->regions.failed ? LL_NONE : tensor;
}

void ll_memory_was_read(struct ll_memory *memory, struct ll_touch *touch, uint32_t op, uint32_t thread)
{
    assert(op != LL_NONE);
    struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact) {
        ll_readers_add(&memory->regions, &exact->readers, op, thread);
        return;
    }
    reach(memory, &touch->at);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        ll_readers_add(&memory->regions, &piece_of(memory, i)->readers, op, thread);
}

/* Writing. */

static void wait_for(struct ll_memory *memory, struct ll_waits *waits, uint32_t op)
{
    for (uint64_t i = 0; i < waits->count; i++)
        if (waits->ops[i] == op)
            return;
    if (op == LL_NONE || waits->count >= LL_MAX_OP_REFS)
        return;
    if (ll_grow(&waits->ops, &waits->capacity, waits->count + 1, sizeof *waits->ops))
        waits->ops[waits->count++] = op;
    else
        memory->regions.failed = true;
}

static void wait_for_region(struct ll_memory *memory, const struct ll_region *region, bool updated,
                            struct ll_waits *waits)
{
    for (uint32_t reader = region->readers; reader; reader = memory->regions.readers[reader].next)
        wait_for(memory, waits, memory->regions.readers[reader].op);
    if (!region->readers && !updated)
        wait_for(memory, waits, region->writer);
}

void ll_memory_overwrite(struct ll_memory *memory, struct ll_touch *touch, bool updated,
                         struct ll_waits *waits)
{
    const struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact) {
        wait_for_region(memory, exact, updated, waits);
        return;
    }
    reach(memory, &touch->at);
    for (uint64_t i = 0; i < piece_count(memory); i++)
        wait_for_region(memory, piece_of(memory, i), updated, waits);
}

static void forget(struct ll_memory *memory, const struct ll_stretch_of_memory *at)
{
    reach(memory, at);
    regions_drop_reached(&memory->regions);
}

void ll_memory_was_written(struct ll_memory *memory, struct ll_touch *touch, uint32_t op, uint32_t tensor,
                           uint32_t desc, bool updated)
{
    assert(op != LL_NONE);
    assert(tensor != LL_NONE && desc != LL_NONE);
    struct ll_region region = region_of(&touch->at, &touch->at, tensor, desc, op);
    struct ll_region *exact = ll_regions_touched(&memory->regions, touch);
    if (exact) {
        region.brought = updated ? exact->brought : LL_NONE;
        ll_readers_clear(&memory->regions, &exact->readers);
        *exact = region;
        return;
    }
    reach(memory, &touch->at);
    region.brought = updated ? brought_pieces(memory) : LL_NONE;
    regions_drop_reached(&memory->regions);
    ll_regions_put(&memory->regions, &region);
}

/* Allocations are regions of a map of their own. */

void ll_memory_allocated(struct ll_memory *memory, uint64_t address, uint64_t size_bytes)
{
    struct ll_stretch_of_memory at = ll_stretch(address, 1, size_bytes, size_bytes);
    if (at.rows == 0 || ll_add(address, size_bytes) >= INT64_MAX)
        return;
    memory->parts.count = 0;
    ll_regions_take(&memory->allocations, &at, &memory->parts);
    struct ll_region region = region_of(&at, &at, LL_NONE, LL_NONE, LL_NONE);
    ll_regions_put(&memory->allocations, &region);
    forget(memory, &at);
}

void ll_memory_freed(struct ll_memory *memory, uint64_t address)
{
    const struct ll_region *found = regions_from(&memory->allocations, address);
    if (!found)
        return;
    struct ll_stretch_of_memory at = found->at;
    memory->parts.count = 0;
    ll_regions_take(&memory->allocations, &at, &memory->parts);
    forget(memory, &at);
}
