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

#include "tracer/capture/regions.h"
#include "tracer/record/recorder.h"

struct ll_view_entry;
struct ll_memory {
    struct ll_recorder *recorder;
    struct ll_regions regions, allocations;
    struct ll_regions holes;     /* scratch: what of a stretch no piece holds */
    struct ll_region_list parts; /* scratch */
    struct ll_view_entry *views;
    uint32_t *tensors; /* scratch: distinct ones of the pieces */
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
