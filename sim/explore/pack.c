/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/explore/pack.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

enum { LEVEL = 6, WINDOW_BITS = 15, GZIP = 16, MEMORY_LEVEL = 8, PIECE = 3 << 16 /* threes make fours */ };

static void add_base64(struct ll_str *out, const unsigned char *bytes, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[1024];
    size_t used = 0;
    for (size_t i = 0; i < length; i += 3) {
        size_t here = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (here > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (here > 2 ? bytes[i + 2] : 0);
        text[used++] = digits[bits >> 18];
        text[used++] = digits[bits >> 12 & 63];
        text[used++] = '=';
        text[used++] = '=';
        if (here > 1)
            text[used - 2] = digits[bits >> 6 & 63];
        if (here > 2)
            text[used - 1] = digits[bits & 63];
        if (used == sizeof text || i + 3 >= length) {
            ll_str_add_bytes(out, text, used);
            used = 0;
        }
    }
}

/* Runs the stream until its input is used up, or, at the end, until all has come out. */
static bool run(z_stream *stream, unsigned char *piece, bool end, struct ll_str *out)
{
    int status;
    do {
        status = deflate(stream, end ? Z_FINISH : Z_NO_FLUSH);
        if (stream->avail_out == 0 || status == Z_STREAM_END) {
            add_base64(out, piece, PIECE - stream->avail_out);
            stream->next_out = piece;
            stream->avail_out = PIECE;
        }
    } while (status == Z_OK && (end || stream->avail_in > 0));
    return status == (end ? Z_STREAM_END : Z_OK);
}

bool ll_pack(const void *bytes, size_t length, struct ll_str *out)
{
    unsigned char *piece = malloc(PIECE);
    z_stream stream = {.next_out = piece, .avail_out = PIECE};
    if (!piece || deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_BITS + GZIP, MEMORY_LEVEL,
                               Z_DEFAULT_STRATEGY) != Z_OK) {
        free(piece);
        return false;
    }
    const unsigned char *at = bytes;
    bool done = true;
    for (size_t left = length; done && left > 0;) {
        size_t now = left < PIECE ? left : PIECE;
        stream.next_in = (Bytef *)(uintptr_t)at;
        stream.avail_in = (uInt)now;
        done = run(&stream, piece, false, out);
        at += now;
        left -= now;
    }
    done = done && run(&stream, piece, true, out);
    deflateEnd(&stream);
    free(piece);
    return done && !out->failed;
}
