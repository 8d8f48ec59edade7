/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks of the recorded program as nanoseconds of ll_now_ns. Inner to this room.
 *
 * Where the processor counts cycles of a constant rate from one start on all its cores, programs read that
 * counter; else they read the same clock as we do. The rate is measured against ll_now_ns, over an ever
 * longer time. */
#ifndef LL_TRACER_INTERPOSE_RING_PROCESS_H
#define LL_TRACER_INTERPOSE_RING_PROCESS_H

#include "tracer/base/arena.h"
#include "tracer/base/map.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/decode.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_reader.h"

struct ll_ring_clock_line {
    enum ll_ring_clock clock;
    uint64_t base_ticks, base_ns; /* two readings of the same moment */
    double ns_per_tick;
    uint64_t measured_ns; /* over so long a time */
};

/* The clock that programs of this machine should read, its two readings now, and its rate over some ten
 * milliseconds, which this takes. */
void ll_ring_clock_choose(struct ll_ring_clock_line *line);

/* From a control file: takes at least ten milliseconds from the time that the file was made. */
void ll_ring_clock_begin(struct ll_ring_clock_line *line, const struct ll_ring_control *control);

/* Measures the rate again when twice as much time has passed as at the last measurement. */
void ll_ring_clock_refine(struct ll_ring_clock_line *line);

/* Ticks of that clock, now. */
uint64_t ll_ring_clock_now(const struct ll_ring_clock_line *line);

/* Pure; ticks before the base are moments before base_ns, never below 0. */
uint64_t ll_ring_clock_ns(const struct ll_ring_clock_line *line, uint64_t ticks);
uint64_t ll_ring_clock_duration_ns(const struct ll_ring_clock_line *line, uint64_t ticks);

/* Forms of records: what a call's record says but for its times and addresses.
 *
 * A program in a loop makes the same calls in the same order, so the record after one is probably of the form
 * that came after it the time before. Then nothing is decoded: the record's times and addresses go into the
 * call that was decoded then. Inner to this room; one thread at a time; {.decode = ...}
 * to begin with. */

/* The words of a call's record, at least LL_RING_CALL_WORDS, and the process that wrote them. */
struct ll_ring_record {
    uint32_t process;
    unsigned count;
    const uint64_t *words;
    uint32_t mapping; /* of the place that calls: see struct ll_call */
};

/* Decodes a record. False when it is nonsense. */
typedef bool ll_ring_decode(void *context, const struct ll_ring_record *record, struct ll_call *call);

struct ll_ring_form;
struct ll_ring_forms {
    ll_ring_decode *decode;
    void *context; /* of decode */
    struct ll_arena arena;
    struct ll_map keys;
    struct ll_ring_form **forms; /* by id of their key */
    uint64_t capacity;
};

/* The call of a record. `before` is the form of the record before it in its ring, 0 at first; it becomes this
 * one's. Decodes what has no form yet; what finds no room keeps none. All of the call but its duration is
 * set. False when the record is nonsense. */
bool ll_ring_form_call(struct ll_ring_forms *forms, uint32_t *before, const struct ll_ring_record *record,
                       struct ll_call *call);

/* Forgets all forms; empty and usable afterwards, with the same decoder. */
void ll_ring_forms_release(struct ll_ring_forms *forms);

/* One process's file, seen from the reader: its page, its log, where its rings are. Inner to this room. */

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
