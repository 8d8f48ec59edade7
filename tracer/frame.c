/* SPDX-License-Identifier: Apache-2.0 */
/* Level 1: the columns have done the modelling already, higher levels gain little for much time. The frame
 * states its content's size, so that unpacking needs no window and nothing is taken on trust. */
#include "tracer/frame.h"

#include "tracer/base/arena.h"
#include "tracer/base/num.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { LEVEL = 1 };

struct ll_codec {
    ZSTD_CCtx *packer;
    ZSTD_DCtx *unpacker;
};

/* What an error of the library means for what it was to unpack. */
static enum ll_status status_of(size_t code)
{
    if (ZSTD_getErrorCode(code) != ZSTD_error_memory_allocation)
        return LL_DAMAGED;
    ll_note_no_memory();
    return LL_NO_MEMORY;
}

struct ll_codec *ll_codec_new(void)
{
    struct ll_codec *codec = calloc(1, sizeof *codec);
    if (!codec)
        return NULL;
    codec->packer = ZSTD_createCCtx();
    codec->unpacker = ZSTD_createDCtx();
    if (!codec->packer || !codec->unpacker ||
        ZSTD_isError(ZSTD_CCtx_setParameter(codec->packer, ZSTD_c_compressionLevel, LEVEL)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(codec->packer, ZSTD_c_checksumFlag, 1))) {
        ll_note_no_memory();
        ll_codec_free(codec);
        return NULL;
    }
    return codec;
}

void ll_codec_free(struct ll_codec *codec)
{
    if (!codec)
        return;
    ZSTD_freeCCtx(codec->packer);
    ZSTD_freeDCtx(codec->unpacker);
    free(codec);
}

void ll_frame_pack(struct ll_codec *codec, const void *content, uint64_t size, struct ll_bytes *out)
{
    size_t most = ZSTD_compressBound(size);
    if (out->failed || !ll_grow(&out->data, &out->capacity, ll_add(out->size, most), 1)) {
        out->failed = true;
        return;
    }
    size_t packed = ZSTD_compress2(codec->packer, out->data + out->size, most, content, size);
    if (ZSTD_isError(packed)) {
        status_of(packed);
        out->failed = true;
    } else
        out->size += packed;
}

enum ll_status ll_frame_unpack(struct ll_codec *codec, struct ll_view stored, uint8_t *content, uint64_t size)
{
    size_t stored_size = (size_t)(stored.end - stored.at);
    if (ZSTD_getFrameContentSize(stored.at, stored_size) != size ||
        ZSTD_findFrameCompressedSize(stored.at, stored_size) != stored_size)
        return LL_DAMAGED;
    size_t unpacked = ZSTD_decompressDCtx(codec->unpacker, content, size, stored.at, stored_size);
    return unpacked == size ? LL_OK : status_of(unpacked);
}

bool ll_is_packed(const void *stored, uint64_t size)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    return size >= sizeof magic && memcmp(stored, magic, sizeof magic) == 0;
}

/* Room for what comes doubles, so the memory taken follows from what was really unpacked. */
static enum ll_status unpack_all(ZSTD_DCtx *unpacker, ZSTD_inBuffer in, uint64_t most_bytes,
                                 ZSTD_outBuffer *out)
{
    uint64_t capacity = 0;
    size_t left = 1;
    while (in.pos < in.size || left > 0) {
        if (out->pos >= most_bytes)
            return LL_FILE_TOO_LONG;
        if (!ll_grow(&out->dst, &capacity, out->pos + ZSTD_DStreamOutSize(), 1))
            return LL_NO_MEMORY;
        out->size = ll_min(capacity, most_bytes);
        size_t before = out->pos;
        left = ZSTD_decompressStream(unpacker, out, &in);
        if (ZSTD_isError(left))
            return status_of(left);
        if (in.pos == in.size && left > 0 && out->pos == before)
            return LL_DAMAGED;
    }
    return LL_OK;
}

enum ll_status ll_unpack_file(const void *stored, uint64_t size, uint64_t most_bytes, struct ll_arena *arena,
                              struct ll_contents *content)
{
    ZSTD_DCtx *unpacker = ZSTD_createDCtx();
    ZSTD_outBuffer out = {NULL, 0, 0};
    enum ll_status status = LL_NO_MEMORY;
    if (!unpacker)
        ll_note_no_memory();
    else
        status = unpack_all(unpacker, (ZSTD_inBuffer){stored, size, 0}, most_bytes, &out);
    ZSTD_freeDCtx(unpacker);
    if (status == LL_OK) {
        *content = (struct ll_contents){ll_copy_text(arena, out.dst, out.pos), out.pos};
        status = content->bytes ? LL_OK : LL_NO_MEMORY;
    }
    free(out.dst);
    return status;
}
