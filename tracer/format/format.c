/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a trace file: CRC-32C, zstd frames, and the skippable frames (header, head, padding, index).
 * The only file that includes zstd. */
#include "tracer/format/format.h"

#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "tracer/base/arena.h"
#include "tracer/base/num.h"

/* Eight bytes at a time: table[k][b] is what byte b does to the sum when k more bytes follow it, and the sum
 * is linear, so eight look-ups are xored together (Kounavis and Berry, 2005). The tables are computed once,
 * by whichever thread comes first. */

enum { SLICES = 8 };

static uint32_t table[SLICES][256];
static once_flag table_made = ONCE_FLAG_INIT;

static void make_table(void)
{
    const uint32_t polynomial = 0x82F63B78u; /* 0x1EDC6F41, lowest bit first */
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t sum = byte;
        for (int bit = 0; bit < 8; bit++)
            sum = sum & 1 ? sum >> 1 ^ polynomial : sum >> 1;
        table[0][byte] = sum;
    }
    for (uint32_t byte = 0; byte < 256; byte++)
        for (int k = 1; k < SLICES; k++)
            table[k][byte] = table[k - 1][byte] >> 8 ^ table[0][table[k - 1][byte] & 0xFF];
}

uint32_t ll_crc32c(const void *bytes, size_t size)
{
    call_once(&table_made, make_table);
    const unsigned char *p = bytes;
    uint32_t sum = UINT32_MAX;
    for (; size >= SLICES; p += SLICES, size -= SLICES) {
        sum ^= (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        sum = table[7][sum & 0xFF] ^ table[6][sum >> 8 & 0xFF] ^ table[5][sum >> 16 & 0xFF] ^
              table[4][sum >> 24] ^ table[3][p[4]] ^ table[2][p[5]] ^ table[1][p[6]] ^ table[0][p[7]];
    }
    for (; size; p++, size--)
        sum = sum >> 8 ^ table[0][(sum ^ *p) & 0xFF];
    return ~sum;
}

/* Level 1: the columns have done the modelling already, higher levels gain little for much time. The frame
 * states its content's size, so that unpacking needs no window and nothing is taken on trust. */

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

/* The fixed parts of the file, each put and taken side by side. */

static uint64_t open_skippable(struct ll_bytes *out, uint32_t magic, uint32_t size)
{
    uint64_t begin = out->size;
    ll_put_u32(out, magic);
    ll_put_u32(out, size);
    return begin;
}

/* The sum over all since `begin`. */
static void put_crc(struct ll_bytes *out, uint64_t begin)
{
    if (!out->failed)
        ll_put_u32(out, ll_crc32c(out->data + begin, out->size - begin));
}

/* A header or head may grow in a newer minor version, but not beyond this: a search for heads in damaged
 * bytes must not sum over the whole file at each of them. */
enum { FIXED_MOST = 256 };

/* Opens a skippable frame of ours: `in` is moved past it, `inside` is what it holds without its CRC. */
static bool take_skippable(struct ll_view *in, uint32_t magic, uint32_t most, struct ll_view *inside)
{
    struct ll_view view = *in;
    uint32_t found, size, crc;
    if (!ll_take_u32(&view, &found) || found != magic || !ll_take_u32(&view, &size) || size < 4 ||
        size > most || size > view.end - view.at)
        return false;
    const uint8_t *end = view.at + size;
    struct ll_view tail = {end - 4, end};
    if (!ll_take_u32(&tail, &crc) || crc != ll_crc32c(in->at, (size_t)(end - 4 - in->at)))
        return false;
    *inside = (struct ll_view){view.at, end - 4};
    in->at = end;
    return true;
}

void ll_put_header(struct ll_bytes *out)
{
    uint64_t begin = open_skippable(out, LL_MAGIC_HEADER, LL_HEADER_BYTES - LL_SKIPPABLE_BYTES);
    ll_put_bytes(out, LL_FILE_WORD, sizeof LL_FILE_WORD);
    ll_put_u16(out, LL_FORMAT_MAJOR);
    ll_put_u16(out, LL_FORMAT_MINOR);
    put_crc(out, begin);
}

/* A newer minor version may have appended to the header, as to a head. */
bool ll_take_header(struct ll_view *in, struct ll_version *version)
{
    struct ll_view view = *in, inside;
    if (!take_skippable(&view, LL_MAGIC_HEADER, FIXED_MOST, &inside) || inside.end - inside.at < 12 ||
        memcmp(inside.at, LL_FILE_WORD, sizeof LL_FILE_WORD) != 0)
        return false;
    inside.at += sizeof LL_FILE_WORD;
    *in = view;
    return ll_take_u16(&inside, &version->major) && ll_take_u16(&inside, &version->minor);
}

void ll_put_head(struct ll_bytes *out, const struct ll_head *head)
{
    uint64_t begin = open_skippable(out, LL_MAGIC_HEAD, LL_HEAD_BYTES - LL_SKIPPABLE_BYTES);
    ll_put_u16(out, head->version.major);
    ll_put_u16(out, head->version.minor);
    ll_put_u32(out, head->number);
    ll_put_u32(out, head->stored_bytes);
    ll_put_u32(out, head->content_bytes);
    ll_put_u32(out, head->stored_crc);
    put_crc(out, begin);
}

bool ll_take_head(struct ll_view *in, struct ll_head *head)
{
    struct ll_view view = *in, inside;
    if (!take_skippable(&view, LL_MAGIC_HEAD, FIXED_MOST, &inside))
        return false;
    bool whole = ll_take_u16(&inside, &head->version.major) && ll_take_u16(&inside, &head->version.minor) &&
                 ll_take_u32(&inside, &head->number) && ll_take_u32(&inside, &head->stored_bytes) &&
                 ll_take_u32(&inside, &head->content_bytes) && ll_take_u32(&inside, &head->stored_crc);
    if (whole)
        *in = view;
    return whole;
}

void ll_put_padding(struct ll_bytes *out, uint32_t zeros)
{
    static const uint8_t zero[256];
    open_skippable(out, LL_MAGIC_PADDING, zeros);
    for (uint32_t left = zeros, piece; left; left -= piece) {
        piece = left < sizeof zero ? left : (uint32_t)sizeof zero;
        ll_put_bytes(out, zero, piece);
    }
}

bool ll_take_padding(struct ll_view *in)
{
    struct ll_view view = *in;
    uint32_t magic, size;
    if (!ll_take_u32(&view, &magic) || magic != LL_MAGIC_PADDING || !ll_take_u32(&view, &size) ||
        size > view.end - view.at)
        return false;
    for (const uint8_t *end = view.at + size; view.at < end; view.at++)
        if (*view.at != 0)
            return false;
    *in = view;
    return true;
}

void ll_put_index(struct ll_bytes *out, const struct ll_index_entry *entries, uint64_t count)
{
    struct ll_bytes inside = {0};
    ll_put_varint(&inside, count);
    for (uint64_t i = 0; i < count; i++) {
        ll_put_varint(&inside, entries[i].kind);
        ll_put_varint(&inside, entries[i].offset - (i ? entries[i - 1].offset : 0));
        ll_put_varint(&inside, entries[i].op_count);
    }
    uint64_t size = inside.size + LL_INDEX_TAIL_BYTES;
    if (inside.failed || size > UINT32_MAX - LL_SKIPPABLE_BYTES) {
        out->failed = true;
    } else {
        uint64_t begin = open_skippable(out, LL_MAGIC_INDEX, (uint32_t)size);
        ll_put_bytes(out, inside.data, inside.size);
        ll_put_u32(out, (uint32_t)(size + LL_SKIPPABLE_BYTES));
        put_crc(out, begin);
    }
    ll_bytes_release(&inside);
}

static bool take_entries(struct ll_view *inside, struct ll_index_entry *entries, uint64_t count)
{
    uint64_t offset = 0, distance;
    for (uint64_t i = 0; i < count; i++) {
        if (!ll_take_varint(inside, &entries[i].kind) || !ll_take_varint(inside, &distance) ||
            !ll_take_varint(inside, &entries[i].op_count))
            return false;
        entries[i].offset = offset = ll_add(offset, distance);
    }
    return inside->end - inside->at == 4; /* the frame's size stands here too */
}

bool ll_take_index(struct ll_view in, struct ll_index_entry **entries, uint64_t *count)
{
    struct ll_view inside;
    *entries = NULL;
    if (!take_skippable(&in, LL_MAGIC_INDEX, UINT32_MAX, &inside) || in.at != in.end ||
        !ll_take_varint(&inside, count) || *count > (uint64_t)(inside.end - inside.at) / 3)
        return false;
    *entries = *count ? calloc(*count, sizeof **entries) : NULL;
    if ((*count && !*entries) || !take_entries(&inside, *entries, *count)) {
        free(*entries);
        *entries = NULL;
        return false;
    }
    return true;
}

uint64_t ll_index_bytes(struct ll_view file)
{
    uint32_t size, magic;
    uint64_t left = (uint64_t)(file.end - file.at);
    if (left < LL_SKIPPABLE_BYTES + LL_INDEX_TAIL_BYTES)
        return 0;
    struct ll_view tail = {file.end - LL_INDEX_TAIL_BYTES, file.end};
    if (!ll_take_u32(&tail, &size) || size > left)
        return 0;
    struct ll_view begin = {file.end - size, file.end};
    return ll_take_u32(&begin, &magic) && magic == LL_MAGIC_INDEX ? size : 0;
}
