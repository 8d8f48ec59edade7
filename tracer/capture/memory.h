/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors from the memory that calls touch.
 *
 * A program outside tells addresses, a trace has tensors that are written once. Here each write makes its
 * bytes a new tensor; what is read is the tensor that lies there, or, where the bytes are parts of several or
 * are looked at in another shape, a new tensor that an op `seen_as` makes of these at no cost. What nobody
 * wrote the program brought. Memory that was allocated anew has no past.
 *
 * One thread at a time; {.recorder = recorder} to begin with. */
#ifndef LL_TRACER_CAPTURE_MEMORY_H
#define LL_TRACER_CAPTURE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/num.h"
#include "tracer/record/recorder.h"

/* Which bytes hold what: disjoint stretches of addresses, each with the tensor that lies there, who wrote
 * it and who has read it since.
 *
 * A stretch is one run of bytes, or rows that lie apart at one distance, as those of a matrix with a
 * leading dimension or the elements of a strided vector do: one region however many rows there are, and
 * what lies between its rows is never mistaken for part of it. Whatever reaches into a region cuts it into
 * a few such stretches (regions.c says how).
 *
 * A treap keyed by address, each node of which knows where its subtree ends: finding takes O(log n), and so
 * much for each region met whose first and last bytes lie around the place. One thread at a time; {0} to
 * begin with. */

/* rows runs of row_bytes, stride_bytes apart; one run has stride_bytes == row_bytes. Runs do not overlap,
 * and end below 2^63. */
struct ll_stretch_of_memory {
    uint64_t address, rows, row_bytes, stride_bytes;
};

struct ll_region {
    struct ll_stretch_of_memory at;
    struct ll_stretch_of_memory whole; /* of its tensor, of which cutting may have left only a part here */
    uint32_t tensor, desc;             /* LL_NONE where nobody made it, and it was read as part of more */
    uint32_t writer;                   /* op; LL_NONE when no recorded op wrote it */
    uint32_t readers;                  /* since then: a list for ll_readers_*, 0 when empty */
    uint32_t brought; /* the tensor that the program brought, if ops have at most updated it; else LL_NONE */
};

/* Who has read: the last op of each thread, for those before it are done when it is. */
struct ll_reader {
    uint32_t op, thread;
    uint32_t next; /* in the list */
};

enum { LL_REGIONS_FOUND_BITS = 12, LL_REGIONS_FOUND = 1 << LL_REGIONS_FOUND_BITS };

struct ll_region_node;
struct ll_regions {
    struct ll_region_node *nodes; /* 0 is none */
    uint64_t node_capacity;
    uint32_t node_count, free_node, root; /* nodes made; a list of free ones, by left; 0: none */
    struct ll_reader *readers;            /* lists of readers, linked by next; 0 is none */
    uint64_t reader_capacity;
    uint32_t reader_count, free_reader;
    uint64_t dice;     /* counts the draws of priorities, so that equal events make equal treaps */
    uint64_t changes;  /* of the map: how often something was put or taken */
    uint64_t walked;   /* regions met and rows gone through one by one: what taking took */
    uint32_t *reached; /* nodes, for ll_regions_reached */
    uint64_t reached_count, reached_capacity;
    uint32_t found[LL_REGIONS_FOUND]; /* nodes that were asked for, by address: most are asked for again */
    bool failed;                      /* memory ran out; what is in the map may then be too little */
};

/* A stretch and where it was found, for whoever comes back to it; {.at = stretch} to begin with. */
struct ll_touch {
    struct ll_stretch_of_memory at;
    struct ll_region *region;
    uint64_t when; /* it was looked for: one more than the map's changes then */
};

/* A list of regions that grows; {0} to begin with, freed by ll_region_list_release. */
struct ll_region_list {
    struct ll_region *items;
    uint64_t count, capacity;
};
void ll_region_list_release(struct ll_region_list *pieces);

/* Frees all regions; there are none then, as in {0}. */
void ll_regions_release(struct ll_regions *regions);

/* The region that lies at exactly this stretch, or NULL; valid until the map changes. */
struct ll_region *ll_regions_at(struct ll_regions *regions, const struct ll_stretch_of_memory *at);

/* The same, looked for again only when the map has changed since. */
static inline struct ll_region *ll_regions_touched(struct ll_regions *regions, struct ll_touch *touch)
{
    if (touch->when != regions->changes + 1) {
        touch->region = ll_regions_at(regions, &touch->at);
        touch->when = regions->changes + 1;
    }
    return touch->region;
}

/* Takes what lies in the stretch out of the map, cut at its borders, and appends it to `pieces`. The pieces
 * own their lists of readers. */
void ll_regions_take(struct ll_regions *regions, const struct ll_stretch_of_memory *at,
                     struct ll_region_list *pieces);

/* Puts a region where there is none. */
void ll_regions_put(struct ll_regions *regions, const struct ll_region *region);

/* Enters a reader; one of the same thread gives way. */
void ll_readers_add(struct ll_regions *regions, uint32_t *list, uint32_t op, uint32_t thread);

/* Empties a list. */
void ll_readers_clear(struct ll_regions *regions, uint32_t *list);

/* The stretch as one run where it is one, so that equal stretches have equal numbers. */
static inline struct ll_stretch_of_memory ll_stretch(uint64_t address, uint64_t rows, uint64_t row_bytes,
                                                     uint64_t stride_bytes)
{
    bool apart = rows > 1 && stride_bytes > row_bytes;
    if (rows == 0 || row_bytes == 0)
        return (struct ll_stretch_of_memory){.address = address};
    if (!apart)
        return (struct ll_stretch_of_memory){address, 1, ll_mul(rows, row_bytes), ll_mul(rows, row_bytes)};
    return (struct ll_stretch_of_memory){address, rows, row_bytes, stride_bytes};
}

/* Whether both are the same runs. */
static inline bool ll_stretch_is(const struct ll_stretch_of_memory *a, const struct ll_stretch_of_memory *b)
{
    return a->address == b->address && a->rows == b->rows && a->row_bytes == b->row_bytes &&
           a->stride_bytes == b->stride_bytes;
}

/* The first address behind it. */
uint64_t ll_stretch_end(const struct ll_stretch_of_memory *at);

struct ll_view_entry;
struct ll_memory {
    struct ll_recorder *recorder;
    struct ll_regions regions, allocations; /* what lies where; which stretches an allocator gave out */
    struct ll_regions holes;                /* scratch: what of a stretch no piece holds */
    struct ll_region_list parts;            /* scratch */
    struct ll_view_entry *views;            /* a table of views that were made lately, to be used again */
    uint32_t *tensors;                      /* scratch: distinct ones of the pieces */
    uint64_t tensor_capacity;
    uint32_t scope;    /* of `seen_as` */
    uint64_t op_count; /* ops recorded so far, by whomever: the next one's number */
    uint64_t views_made;
    bool coarse; /* stretches are whole runs, and what is read of some pieces becomes one */
};

/* Ops that an op must wait for, gathered and then handed to the recorder in the order of their reasons. */
struct ll_waits {
    uint32_t *ops;
    uint64_t count, capacity;
};

/* Frees all that is known of the memory, which is not used again. */
void ll_memory_release(struct ll_memory *memory);

/* The tensor of this look that lies in the stretch. May record `seen_as`. LL_NONE when the recorder has
 * stopped or memory ran out. */
uint32_t ll_memory_read(struct ll_memory *memory, struct ll_touch *touch, uint32_t desc, uint32_t thread);

/* Who must have been done before the stretch is overwritten: those that have read it since it was written, or
 * who wrote it where nobody has; after `updated`, when the op reads it first, readers alone. Each once. */
void ll_memory_overwrite(struct ll_memory *memory, struct ll_touch *touch, bool updated,
                         struct ll_waits *waits);

/* What the op (by its number) has read, and the tensor that it has written there; `updated` as before. */
void ll_memory_was_read(struct ll_memory *memory, struct ll_touch *touch, uint32_t op, uint32_t thread);
void ll_memory_was_written(struct ll_memory *memory, struct ll_touch *touch, uint32_t op, uint32_t tensor,
                           uint32_t desc, bool updated);

/* The tensor that the program brought to the stretch, where ops have done no more than update it, as they do
 * weights, and *updated says whether they have; LL_NONE where something was made since, or parts have come
 * from elsewhere. */
uint32_t ll_memory_brought(struct ll_memory *memory, struct ll_touch *touch, bool *updated);

/* Memory comes and goes; either way the stretch forgets what was there. */
void ll_memory_allocated(struct ll_memory *memory, uint64_t address, uint64_t size_bytes);
void ll_memory_freed(struct ll_memory *memory, uint64_t address);

#endif
