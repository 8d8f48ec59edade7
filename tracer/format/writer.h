/* SPDX-License-Identifier: Apache-2.0 */
/* Frames into a file: what is written stays readable, whatever happens next.
 *
 * Frames are collected and then go to the file by one write. A killed program thus leaves whole frames and at
 * most one torn at the end; when the disk is full the torn piece is cut off again. One thread at a time. */
#ifndef LL_TRACER_FORMAT_WRITER_H
#define LL_TRACER_FORMAT_WRITER_H

#include "tracer/base/diag.h"
#include "tracer/format/format.h"

struct ll_writer;

/* Begins a file (tracer/base/file.h has the rule for all that are written). Where none was, it stands there
 * from the beginning. A file of before is replaced when the new one is closed whole; on trouble, what was
 * recorded until then stays beside it as PATH.part. NULL and *status on trouble. */
struct ll_writer *ll_writer_open(const char *path, enum ll_status *status);

/* The same into memory alone; to be ended by ll_writer_take, or by ll_writer_close that throws it away. */
struct ll_writer *ll_writer_open_memory(enum ll_status *status);

/* Adds a frame: content as in format.h, op_count for the index, weight of what the content makes in memory
 * (LL_WEIGHT_*). Nothing is written before ll_writer_flush. */
void ll_writer_add(struct ll_writer *writer, const struct ll_bytes *content, uint64_t op_count,
                   uint64_t weight);

/* Writes what was added. The first trouble met, now or earlier; after one nothing more is written. */
enum ll_status ll_writer_flush(struct ll_writer *writer);

/* Writes what was added, if `whole` the index behind it, closes, frees. The first trouble met. */
enum ll_status ll_writer_close(struct ll_writer *writer, bool whole);

/* As ll_writer_close, for a writer into memory: the file's bytes become the caller's, whatever the trouble.
 */
enum ll_status ll_writer_take(struct ll_writer *writer, bool whole, struct ll_bytes *bytes);

#endif
