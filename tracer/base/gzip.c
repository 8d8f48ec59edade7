/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/base/file.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "tracer/base/num.h"

enum { LEVEL = 6, WINDOW_BITS = 15, GZIP = 16, MEMORY_LEVEL = 8, PIECE = 3 << 16 };

/* Text of many equal lines becomes a few hundred times shorter, and what is short may be anything; deflate's
 * bound is 1032 times, which a file reaches only by being made for it. */
#define ALWAYS_FINE (UINT64_C(256) << 20)
#define FINE_RATIO 250

/* zlib asks the system itself. */
static enum ll_status no_memory(void)
{
    ll_note_no_memory();
    return LL_NO_MEMORY;
}

bool ll_is_gzipped(const char *bytes, size_t length)
{
    return length >= 2 && memcmp(bytes, "\x1f\x8b", 2) == 0;
}

/* Hands the stream more of the input, whose lengths are larger than zlib's. */
static void feed(z_stream *stream, const char **at, size_t *left)
{
    size_t now = *left < PIECE ? *left : PIECE;
    stream->next_in = (Bytef *)(uintptr_t)*at;
    stream->avail_in = (uInt)now;
    *at += now;
    *left -= now;
}

static bool is_padding(const z_stream *stream, const char *at, size_t left)
{
    for (uInt i = 0; i < stream->avail_in; i++)
        if (stream->next_in[i])
            return false;
    for (size_t i = 0; i < left; i++)
        if (at[i])
            return false;
    return true;
}

/* Unpacks to `to`, or into nothing where that is NULL; *length says how many bytes came out. */
static enum ll_status run_inflate(z_stream *stream, const char *at, size_t left, uint64_t most_bytes,
                                  char *to, uint64_t *length)
{
    static const enum ll_status damaged = LL_GZIP_DAMAGED;
    char piece[1 << 15];
    for (*length = 0;;) {
        if (stream->avail_in == 0)
            feed(stream, &at, &left);
        bool hungry = stream->avail_in == 0;
        uint64_t room = to ? most_bytes - *length : sizeof piece;
        uInt given = (uInt)(room < PIECE ? room : PIECE);
        stream->next_out = to && room ? (Bytef *)to + *length : (Bytef *)piece;
        stream->avail_out = given ? given : sizeof piece;
        uInt before = stream->avail_out;
        int status = inflate(stream, Z_NO_FLUSH);
        uint64_t made = before - stream->avail_out;
        *length += made;
        if (status == Z_MEM_ERROR)
            return no_memory();
        if ((status != Z_OK && status != Z_STREAM_END) || (hungry && made == 0 && status != Z_STREAM_END))
            return damaged;
        if (*length > most_bytes)
            return LL_GZIP_TOO_LONG;
        if (status == Z_OK)
            continue;
        if (is_padding(stream, at, left))
            return LL_OK;
        if (inflateReset(stream) != Z_OK) /* another member follows; what is none is found there */
            return damaged;
    }
}

static enum ll_status unpack(const char *bytes, size_t length, uint64_t most_bytes, char *to, uint64_t *made)
{
    z_stream stream = {.zalloc = NULL};
    if (inflateInit2(&stream, WINDOW_BITS + GZIP) != Z_OK)
        return no_memory();
    enum ll_status status = run_inflate(&stream, bytes, length, most_bytes, to, made);
    inflateEnd(&stream);
    return status;
}

enum ll_status ll_gunzip(const char *bytes, size_t length, uint64_t most_bytes, struct ll_arena *arena,
                         struct ll_contents *text)
{
    uint64_t honest = ll_add(ALWAYS_FINE, ll_mul(length, FINE_RATIO)), made = 0, again = 0;
    enum ll_status status = unpack(bytes, length, ll_min(most_bytes, honest), NULL, &made);
    if (status != LL_OK)
        return status;
    char *to = made < SIZE_MAX ? ll_alloc(arena, made + 1, 1) : NULL;
    if (!to)
        return no_memory();
    status = unpack(bytes, length, made, to, &again);
    if (status == LL_OK)
        *text = (struct ll_contents){to, made};
    return status;
}

/* Runs the stream until its input is used up, or, at the end, until all has come out. */
static bool run_deflate(z_stream *stream, char *piece, bool end, struct ll_str *out)
{
    int status;
    do {
        status = deflate(stream, end ? Z_FINISH : Z_NO_FLUSH);
        if (stream->avail_out == 0 || status == Z_STREAM_END) {
            ll_str_add_bytes(out, piece, PIECE - stream->avail_out);
            stream->next_out = (Bytef *)piece;
            stream->avail_out = PIECE;
        }
    } while (status == Z_OK && (end || stream->avail_in > 0));
    return status == (end ? Z_STREAM_END : Z_OK);
}

bool ll_gzip(const void *bytes, size_t length, struct ll_str *out)
{
    char *piece = malloc(PIECE);
    z_stream stream = {.next_out = (Bytef *)piece, .avail_out = PIECE};
    if (!piece || deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY_LEVEL,
                               Z_DEFAULT_STRATEGY) != Z_OK) {
        no_memory();
        free(piece);
        return false;
    }
    const char *at = bytes;
    bool done = true;
    for (size_t left = length; done && left > 0;) {
        feed(&stream, &at, &left);
        done = run_deflate(&stream, piece, false, out);
    }
    done = done && run_deflate(&stream, piece, true, out);
    deflateEnd(&stream);
    free(piece);
    return done && !out->failed;
}
