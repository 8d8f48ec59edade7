/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a trace file: frames are collected, appended with one write, and cut off again where the disk is
 * full. At the end the index is added, and the file replaces the one before. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/format/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/arena.h"
#include "tracer/base/file.h"
#include "tracer/format/format.h"

struct ll_writer {
    int file; /* -1 when the frames stay in memory */
    struct ll_arena arena;
    const char *path,
        *part; /* part: what is written until it is whole, while a file of before stands at path */
    struct ll_bytes kept;
    enum ll_status status;
    struct ll_codec *codec;
    struct ll_bytes waiting, packed; /* frames not yet written; the data of one */
    uint64_t written_bytes, op_count;
    uint64_t content_bytes, weight; /* of all frames so far: what ll_growth_limit is about */
    struct ll_index_entry *index;
    uint64_t index_count, index_capacity;
};

/* All of the bytes, or false with the reason in errno. */
static bool write_all(int file, const struct ll_bytes *bytes)
{
    for (uint64_t done = 0; done < bytes->size;) {
        errno = 0;
        ssize_t written = write(file, bytes->data + done, bytes->size - done);
        if (written > 0)
            done += (uint64_t)written;
        else if (errno != EINTR)
            return false;
    }
    return true;
}

/* Begins the file, with the header in it. Where none was before it stands in its place from now on, so that
 * what is recorded can be read whatever happens; else beside the one of before. */
static enum ll_status make_file(struct ll_writer *writer)
{
    const char *path = writer->path, *part = path ? ll_path_beside(&writer->arena, path) : NULL;
    if (!part)
        return LL_NO_MEMORY;
    bool is_first = access(path, F_OK) != 0;
    writer->file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->file < 0)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    bool begun = write_all(writer->file, &writer->kept);
    enum ll_status status = begun ? LL_OK : ll_status_of(errno, LL_CANNOT_OPEN);
    if (is_first || !begun) {
        enum ll_status kept = ll_path_keep(part, path, begun);
        status = status == LL_OK ? kept : status;
    } else if (part != path) {
        writer->part = part;
    }
    if (status != LL_OK)
        close(writer->file);
    return status;
}

/* Puts what was written beside the file of before in its place; when it is not whole, the file of before
 * stays, and what there is stays as PATH.part. */
static void settle(struct ll_writer *writer, bool whole)
{
    const char *rest = writer->op_count ? ll_format(&writer->arena, "%s.part", writer->path) : NULL;
    if (whole && writer->status == LL_OK)
        writer->status = ll_path_keep(writer->part, writer->path, true);
    else if (!rest || rename(writer->part, rest) != 0)
        unlink(writer->part);
}

static void free_writer(struct ll_writer *writer)
{
    ll_codec_free(writer->codec);
    ll_bytes_release(&writer->waiting);
    ll_bytes_release(&writer->packed);
    ll_bytes_release(&writer->kept);
    ll_arena_release(&writer->arena);
    free(writer->index);
    free(writer);
}

/* With the header in `kept` and no file yet; NULL when memory ran out. */
static struct ll_writer *make_writer(void)
{
    struct ll_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->file = -1;
    writer->codec = ll_codec_new();
    ll_put_header(&writer->kept);
    writer->written_bytes = writer->kept.size;
    if (writer->codec && !writer->kept.failed)
        return writer;
    free_writer(writer);
    return NULL;
}

struct ll_writer *ll_writer_open(const char *path, enum ll_status *status)
{
    struct ll_writer *writer = make_writer();
    *status = LL_NO_MEMORY;
    if (!writer)
        return NULL;
    writer->path = ll_format(&writer->arena, "%s", path);
    *status = make_file(writer);
    ll_bytes_release(&writer->kept);
    if (*status == LL_OK)
        return writer;
    free_writer(writer);
    return NULL;
}

struct ll_writer *ll_writer_open_memory(enum ll_status *status)
{
    struct ll_writer *writer = make_writer();
    *status = writer ? LL_OK : LL_NO_MEMORY;
    return writer;
}

/* Zeros where the frames so far weigh more than the bytes so far allow. */
static void pad(struct ll_writer *writer, uint64_t frame_bytes)
{
    uint64_t needed = ll_max(writer->content_bytes, writer->weight);
    uint64_t bytes = writer->written_bytes + writer->waiting.size + frame_bytes;
    uint64_t limit = ll_growth_limit(bytes);
    if (needed <= limit)
        return;
    uint64_t per_byte = ll_growth_limit(1) - ll_growth_limit(0);
    uint64_t zeros = ll_ceil_div(needed - limit, per_byte);
    if (zeros > UINT32_MAX)
        writer->status = LL_TOO_LARGE;
    else
        ll_put_padding(&writer->waiting, (uint32_t)zeros);
}

static bool add_to_index(struct ll_writer *writer, uint64_t kind, uint64_t op_count)
{
    if (writer->index_count == UINT32_MAX ||
        !ll_grow(&writer->index, &writer->index_capacity, writer->index_count + 1, sizeof *writer->index))
        return false;
    uint64_t offset = writer->written_bytes + writer->waiting.size;
    writer->index[writer->index_count++] = (struct ll_index_entry){kind, offset, op_count};
    return true;
}

void ll_writer_add(struct ll_writer *writer, const struct ll_bytes *content, uint64_t op_count,
                   uint64_t weight)
{
    if (writer->status != LL_OK)
        return;
    struct ll_bytes *packed = &writer->packed;
    packed->size = 0;
    if (!content->failed)
        ll_frame_pack(writer->codec, content->data, content->size, packed);
    if (content->failed || packed->failed) {
        writer->status = LL_NO_MEMORY;
        return;
    }
    if (content->size > LL_MAX_CONTENT_BYTES || packed->size > UINT32_MAX) {
        writer->status = LL_TOO_LARGE;
        return;
    }
    writer->content_bytes += content->size;
    writer->weight += weight;
    writer->op_count += op_count;
    pad(writer, LL_HEAD_BYTES + packed->size);
    const struct ll_head head = {
        .version = {LL_FORMAT_MAJOR, LL_FORMAT_MINOR},
        .number = (uint32_t)writer->index_count,
        .stored_bytes = (uint32_t)packed->size,
        .content_bytes = (uint32_t)content->size,
        .stored_crc = ll_crc32c(packed->data, packed->size),
    };
    if (!add_to_index(writer, content->data[0], op_count)) /* a kind is a varint of one byte */
        writer->status = LL_NO_MEMORY;
    ll_put_head(&writer->waiting, &head);
    ll_put_bytes(&writer->waiting, packed->data, packed->size);
    if (writer->waiting.failed)
        writer->status = LL_NO_MEMORY;
}

/* Takes back a torn frame. What is no ordinary file cannot be cut: there a reader skips the frame. */
static void cut_off(const struct ll_writer *writer)
{
    int failed = ftruncate(writer->file, (off_t)writer->written_bytes);
    (void)failed;
}

static void keep(struct ll_writer *writer)
{
    ll_put_bytes(&writer->kept, writer->waiting.data, writer->waiting.size);
    if (writer->kept.failed)
        writer->status = LL_NO_MEMORY;
    else
        writer->written_bytes = writer->kept.size;
}

/* All or nothing: what could not be written whole is cut off again. */
enum ll_status ll_writer_flush(struct ll_writer *writer)
{
    if (writer->status == LL_OK && writer->file < 0) {
        keep(writer);
    } else if (writer->status == LL_OK && write_all(writer->file, &writer->waiting)) {
        writer->written_bytes += writer->waiting.size;
    } else if (writer->status == LL_OK) {
        writer->status = ll_status_of(errno, LL_CANNOT_WRITE);
        cut_off(writer);
    }
    writer->waiting.size = 0;
    return writer->status;
}

static void finish(struct ll_writer *writer, bool whole)
{
    ll_writer_flush(writer);
    if (!whole || writer->status != LL_OK)
        return;
    ll_put_index(&writer->waiting, writer->index, writer->index_count);
    if (writer->waiting.failed)
        writer->status = LL_NO_MEMORY;
    ll_writer_flush(writer);
}

enum ll_status ll_writer_close(struct ll_writer *writer, bool whole)
{
    finish(writer, whole);
    if (writer->file >= 0 && close(writer->file) != 0 && writer->status == LL_OK)
        writer->status = ll_status_of(errno, LL_CANNOT_WRITE);
    if (writer->part)
        settle(writer, whole);
    enum ll_status status = writer->status;
    free_writer(writer);
    return status;
}

enum ll_status ll_writer_take(struct ll_writer *writer, bool whole, struct ll_bytes *bytes)
{
    finish(writer, whole);
    *bytes = writer->kept;
    writer->kept = (struct ll_bytes){0};
    enum ll_status status = writer->status;
    free_writer(writer);
    return status;
}
