/* SPDX-License-Identifier: Apache-2.0 */
/* From frame to frame through a file that may be damaged, cut off or hostile.
 *
 * The walk gives the content of every frame that is whole, in order, and complains about all else: which
 * frame, where, how much is lost. It keeps one frame in memory. One thread at a time. */
#ifndef LL_TRACER_FORMAT_WALK_H
#define LL_TRACER_FORMAT_WALK_H

#include "tracer/base/diag.h"
#include "tracer/format/format.h"

/* A whole frame. Its columns are valid until the next one is asked for. */
struct ll_frame {
    uint32_t number;
    uint64_t offset;        /* of its head in the file */
    uint64_t bytes;         /* in the file, with its head */
    uint64_t kind;          /* enum ll_frame_kind, or another that is to be skipped */
    struct ll_view columns; /* still to be taken */
};

struct ll_walk {
    struct ll_view file;
    const char *name;
    struct ll_diags *diags;
    struct ll_version version; /* of the file: {0} until the header or a head was seen */
    struct ll_codec *codec;
    uint8_t *content;
    uint64_t content_capacity, content_bytes; /* of all frames so far */

    const uint8_t *at;
    uint32_t next_number;
    struct ll_index_entry *index; /* NULL when the file has none */
    uint64_t index_count;

    uint64_t frames;      /* whole ones given */
    uint64_t lost_frames; /* complete but damaged, or missing in the row of numbers */
    uint64_t lost_bytes;
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

#endif
