/* SPDX-License-Identifier: Apache-2.0 */
/* From frame to frame through a file that may be damaged, cut off or hostile.
 *
 * The walk gives the content of every frame that is whole, in order, and complains about all else: which
 * frame, where, how much is lost. It keeps one frame in memory. One thread at a time. */
#ifndef LL_TRACER_FORMAT_WALK_H
#define LL_TRACER_FORMAT_WALK_H

#include "tracer/base/diag.h"
#include "tracer/format/format.h"
#include "tracer/format/reader.h"
#include "tracer/ir/trace.h"

/* A whole frame. Its columns are valid until the next one is asked for. */
struct ll_frame {
    uint32_t number;
    uint64_t offset;        /* of its head in the file */
    uint64_t bytes;         /* in the file, with its head */
    uint64_t kind;          /* enum ll_frame_kind, or another that is to be skipped */
    struct ll_view columns; /* still to be taken */
};

struct ll_walk {
    struct ll_view file; /* all bytes */
    const char *name;    /* of the file, for complaints */
    struct ll_diags *diags;
    struct ll_version version; /* of the file: {0} until the header or a head was seen */
    struct ll_codec *codec;
    uint8_t *content;          /* what the frame given last holds, unpacked */
    uint64_t content_capacity; /* bytes that `content` has room for */
    uint64_t content_bytes;    /* unpacked bytes of all frames so far */

    const uint8_t *at;            /* where the walk stands */
    uint32_t next_number;         /* number of the next frame, if none is missing */
    struct ll_index_entry *index; /* NULL when the file has none */
    uint64_t index_count;

    uint64_t frames;      /* whole ones given */
    uint64_t lost_frames; /* complete but damaged, or missing in the row of numbers */
    uint64_t lost_bytes;  /* bytes that belong to no whole frame */
};

/* LL_OK, or why nothing can be read: LL_NOT_OURS, LL_DAMAGED (cut off inside its header), LL_TOO_NEW,
 * LL_NO_MEMORY; these are complained about too. The bytes stay the caller's. Close in any case. */
enum ll_status ll_walk_open(struct ll_walk *walk, const void *bytes, uint64_t size, const char *name,
                            struct ll_diags *diags);
void ll_walk_close(struct ll_walk *walk);

/* The next whole frame. LL_OK with *found false at the end of the file; LL_TOO_NEW where a frame says so;
 * LL_NO_MEMORY. */
enum ll_status ll_walk_next(struct ll_walk *walk, struct ll_frame *frame, bool *found);

/* A complaint about the file. Always false. */
bool ll_walk_complain(struct ll_walk *walk, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Says that what the frame holds cannot be used, and counts it as lost. Always false. */
bool ll_walk_refuse(struct ll_walk *walk, const struct ll_frame *frame, const char *why);

/* The number of ops by the index; LL_NO_FIT when the file has none. */
uint64_t ll_walk_indexed_ops(const struct ll_walk *walk);

/* The trace builder of the reader.
 *
 * A trace in the making: the contents of whole frames go in, in order, holes and all.
 *
 * What a hole takes with it is decided here. Numbers of tensors stay as they were recorded; a tensor that a
 * lost op made is taken for one that the model brought, on a storage of its own, and its looks follow from
 * the first op that reads it. Ops close ranks: those that are left are numbered anew. A lost definition takes
 * with it the definitions and ops that refer to it, nothing else. One thread at a time; private to
 * tracer/format. */

/* Numbers of the file to places in the trace; LL_NONE for what is lost. */
struct ll_places {
    uint32_t *at;
    uint64_t count, capacity;
};

/* Where a number of the file stands in the trace. */
static inline uint32_t ll_build_place(const struct ll_places *places, uint64_t number)
{
    return number < places->count ? places->at[number] : LL_NONE;
}

/* Ops without a hole between them. */
struct ll_stretch {
    uint64_t file_op;
    uint32_t op;
};

struct ll_trace_build {
    struct ll_walk *walk;
    const struct ll_frame *frame; /* the one at work */
    struct ll_trace *trace;
    struct ll_block block; /* the columns of that frame */
    enum ll_status status; /* LL_NO_MEMORY once it ran out; nothing more is done then */

    /* Of steps, of all else; what each may be, by the bytes so far (ll_growth_limit). Files whose writers did
     * not count the steps that ops reach are whole all the same. */
    uint64_t step_weight, weight, weight_limit;
    uint64_t fact_capacity, string_capacity, desc_capacity, signature_capacity, links_capacity;
    uint64_t op_capacity, tensor_capacity, step_capacity;
    struct ll_places strings, descs, signatures,
        edges; /* where the definitions of the file are in the trace */

    uint64_t next_op, next_tensor; /* numbers in the file */
    struct ll_stretch *stretches;  /* in order; a hole begins the next one */
    uint64_t stretch_count, stretch_capacity;
    bool *step_recorded;  /* by step: its record was read */
    struct ll_step *cuts; /* steps that replace the recorded ones; first ops as numbered in the file */
    uint64_t cut_count, cut_capacity;
    uint64_t recorded_capacity;
    bool timeline_lost; /* a part of it is missing */
    bool ended;         /* the end frame was read */
    uint64_t total_ops; /* by the end frame */
};

/* Each takes a frame of its kind from build->block. False when the frame cannot be used as a whole (then it
 * was complained about and counted as lost) or memory ran out (build->status). */
bool ll_build_definitions(struct ll_trace_build *build);
bool ll_build_ops(struct ll_trace_build *build);
bool ll_build_timeline(struct ll_trace_build *build);

/* All frames were read: a timeline that contradicts itself, or of which parts are missing, is complained
 * about and left out. */
void ll_build_finish_timeline(struct ll_trace_build *build);

/* The sum of the values, sticky at LL_NO_FIT. */
uint64_t ll_build_sum(const uint64_t *values, uint64_t count);

/* Counts `count` items of this weight towards the growth limit, before anything is decoded or allocated for
 * them. False when that is too much: charging then refuses the frame, affording (against the sum in *so_far)
 * is silent. */
bool ll_build_afford(const struct ll_trace_build *build, uint64_t *so_far, uint64_t count,
                     uint64_t weight_each);
bool ll_build_charge(struct ll_trace_build *build, uint64_t count, uint64_t weight_each);

/* Complains that the frame is lost, unless memory ran out. Always false. */
bool ll_build_refuse(struct ll_trace_build *build, const char *why);

/* How many of the trace's ops have a smaller number than this one of the file. */
uint32_t ll_build_ops_before(const struct ll_trace_build *build, uint64_t file_op);

/* Always false, and sets the status. */
bool ll_build_no_memory(struct ll_trace_build *build);

/* Makes room for steps up to this one; false when it cannot be afforded or memory ran out. */
bool ll_build_reach_step(struct ll_trace_build *build, uint64_t step);

#endif
