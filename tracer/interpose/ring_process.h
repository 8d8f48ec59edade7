/* SPDX-License-Identifier: Apache-2.0 */
/* One process's file, seen from the reader: its page, its log, where its rings are. Inner to this room. */
#ifndef LL_INTERPOSE_RING_PROCESS_H
#define LL_INTERPOSE_RING_PROCESS_H

#include "tracer/base/map.h"
#include "tracer/interpose/decode_primitive.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_reader.h"

struct ll_followed_process {
    char *path;                         /* in the arena of the reader */
    int file;                           /* kept open, as somebody may take its name away; -1: it is not */
    const struct ll_ring_process *page; /* mapped; LL_RING_RINGS_AT bytes */
    uint64_t pid, parent_pid, started_ns;
    uint64_t log_read; /* words of the log that were looked at */
    bool log_damaged, page_damaged;
    uint64_t damaged, late;
    bool is_followed[LL_RING_SLOTS];
    struct ll_ring_fact *facts; /* these lists on the heap, their texts in the arena */
    uint64_t fact_count, fact_capacity;
    struct ll_ring_library *libraries;
    uint64_t library_count, library_capacity;
    uint64_t *seen_ticks; /* of each */
    uint64_t seen_capacity, replacements;
    struct ll_map places; /* of primitives in the log; ids index described */
    struct ll_described **described;
    uint64_t described_capacity;
};

/* Maps the file at path, and keeps it open if asked to; false when it is none of ours (yet), or is not long
 * enough. */
bool ll_followed_open(struct ll_followed_process *followed, struct ll_arena *arena, const char *path,
                      bool keeps);
void ll_followed_release(struct ll_followed_process *followed);

/* Unmaps such a ring, or another part of the file. */
void ll_followed_unmap(void *part, uint64_t bytes);

/* Reads what the log gained. */
void ll_followed_read_log(struct ll_followed_process *followed, struct ll_arena *arena);

/* Which of the libraries that lay at an address one after the other was there: how many lay there before. */
uint32_t ll_followed_mapping(const struct ll_followed_process *followed, uint64_t address, uint64_t ticks);

/* The primitive described at this place of the log, kept from the first time on; NULL when there is none. */
const struct ll_described *ll_followed_primitive(struct ll_followed_process *followed, struct ll_arena *arena,
                                                 uint64_t place);

/* Maps the ring of a slot when it has one that was not followed before; its bytes of words go to *bytes. NULL
 * when there is none. */
struct ll_ring *ll_followed_ring(struct ll_followed_process *followed, unsigned slot, uint64_t *bytes);

#endif
