/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of numbers as bytes and back, and the block of columns in a frame.
 *
 * The encoder makes room for the worst case once and then writes unchecked; the decoder runs unchecked while
 * a whole varint certainly fits into what is left, eight values at a time where all are of one byte, and
 * checks each byte of the rest. Differences wrap around in 64 bits, hence nothing is out of range. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/format/format.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "tracer/base/arena.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"

enum { VARINT_MAX = 10 };

void ll_bytes_release(struct ll_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct ll_bytes){0};
}

static bool make_room(struct ll_bytes *out, uint64_t more)
{
    uint64_t needed;
    if (out->failed || __builtin_add_overflow(out->size, more, &needed) ||
        !ll_grow(&out->data, &out->capacity, needed, 1))
        out->failed = true;
    assert(out->failed || out->capacity - out->size >= more);
    return !out->failed;
}

void ll_put_bytes(struct ll_bytes *out, const void *bytes, uint64_t size)
{
    assert(bytes || size == 0);
    if (size == 0 || !make_room(out, size))
        return;
    memcpy(out->data + out->size, bytes, size);
    out->size += size;
}

static inline uint8_t *write_varint(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

void ll_put_varint(struct ll_bytes *out, uint64_t value)
{
    if (make_room(out, VARINT_MAX))
        out->size = (uint64_t)(write_varint(out->data + out->size, value) - out->data);
}

/* Little-endian, whatever the machine. */
static void put_u16(struct ll_bytes *out, uint16_t value)
{
    ll_put_bytes(out, (const uint8_t[]){(uint8_t)value, (uint8_t)(value >> 8)}, 2);
}

static void write_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static void put_u32(struct ll_bytes *out, uint32_t value)
{
    uint8_t bytes[4];
    write_u32(bytes, value);
    ll_put_bytes(out, bytes, sizeof bytes);
}

/* Value i as it is coded: itself, or its difference to the one before. */
static inline uint64_t coded(const uint64_t *values, uint64_t i, bool delta)
{
    if (!delta)
        return values[i];
    return ll_zigzag(values[i] - (i ? values[i - 1] : 0));
}

static uint64_t count_runs(const uint64_t *values, uint64_t count, bool delta)
{
    uint64_t runs = 0, before = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t value = coded(values, i, delta);
        runs += i == 0 || value != before;
        before = value;
    }
    return runs;
}

static uint8_t *write_runs(uint8_t *at, const uint64_t *values, uint64_t count, bool delta)
{
    for (uint64_t i = 0, end; i < count; i = end) {
        uint64_t value = coded(values, i, delta);
        for (end = i + 1; end < count && coded(values, end, delta) == value;)
            end++;
        at = write_varint(write_varint(at, value), end - i);
    }
    return at;
}

static uint8_t *write_each(uint8_t *at, const uint64_t *values, uint64_t count, bool delta)
{
    if (!delta)
        for (uint64_t i = 0; i < count; i++)
            at = write_varint(at, values[i]);
    else
        for (uint64_t i = 0; i < count; i++)
            at = write_varint(at, coded(values, i, true));
    return at;
}

/* Tag, encoding and count; returns where the size is to be put once it is known. */
static uint64_t put_column_head(struct ll_bytes *out, uint64_t tag, unsigned encoding, uint64_t count)
{
    uint8_t encoding_byte = (uint8_t)encoding;
    ll_put_varint(out, tag);
    ll_put_bytes(out, &encoding_byte, 1);
    ll_put_varint(out, count);
    put_u32(out, 0);
    return out->size - 4;
}

static void finish_column(struct ll_bytes *out, uint64_t size_at)
{
    uint64_t size = out->size - size_at - 4;
    if (size > UINT32_MAX)
        out->failed = true;
    if (!out->failed)
        write_u32(out->data + size_at, (uint32_t)size);
}

void ll_put_column(struct ll_bytes *out, uint64_t tag, enum ll_encoding encoding, const uint64_t *values,
                   uint64_t count)
{
    assert(encoding == LL_PLAIN || encoding == LL_DELTA);
    if (count == 0)
        return;
    bool delta = encoding == LL_DELTA, runs = count_runs(values, count, delta) <= count / 4;
    uint64_t size_at = put_column_head(out, tag, encoding | (runs ? LL_RUNS : 0u), count), most;
    if (__builtin_mul_overflow(count, VARINT_MAX, &most) || !make_room(out, most)) {
        out->failed = true;
        return;
    }
    uint8_t *at = out->data + out->size;
    at = runs ? write_runs(at, values, count, delta) : write_each(at, values, count, delta);
    assert((uint64_t)(at - out->data) <= out->size + most); /* the room that was made was enough */
    out->size = (uint64_t)(at - out->data);
    finish_column(out, size_at);
}

void ll_put_raw(struct ll_bytes *out, uint64_t tag, const void *bytes, uint64_t size)
{
    if (size == 0)
        return;
    uint64_t size_at = put_column_head(out, tag, LL_RAW, size);
    ll_put_bytes(out, bytes, size);
    finish_column(out, size_at);
}

/* Reads up to ten bytes; the tenth holds only the 64th bit. */
static inline bool read_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    uint64_t sum = 0;
    const uint8_t *p = *at;
    for (unsigned shift = 0; shift < 70 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1)
            return false;
        sum |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *at = p;
            *value = sum;
            return true;
        }
    }
    return false;
}

bool ll_take_varint(struct ll_view *in, uint64_t *value)
{
    assert(in->at <= in->end);
    return read_varint(&in->at, in->end, value);
}

bool ll_take_u16(struct ll_view *in, uint16_t *value)
{
    if (in->end - in->at < 2)
        return false;
    *value = (uint16_t)(in->at[0] | in->at[1] << 8);
    in->at += 2;
    assert(in->at <= in->end);
    return true;
}

static bool take_u32(struct ll_view *in, uint32_t *value)
{
    if (in->end - in->at < 4)
        return false;
    *value = (uint32_t)in->at[0] | (uint32_t)in->at[1] << 8 | (uint32_t)in->at[2] << 16 |
             (uint32_t)in->at[3] << 24;
    in->at += 4;
    return true;
}

bool ll_take_column(struct ll_view *in, struct ll_column *column)
{
    assert(in->at <= in->end);
    uint32_t size;
    if (!ll_take_varint(in, &column->tag) || in->at == in->end)
        return false;
    column->encoding = *in->at++;
    if (!ll_take_varint(in, &column->count) || !take_u32(in, &size) || size > in->end - in->at)
        return false;
    column->bytes = (struct ll_view){in->at, in->at + size};
    in->at += size;
    if (column->encoding == LL_RAW)
        return column->count == size;
    return column->encoding & LL_RUNS || column->count <= size;
}

static bool read_runs(struct ll_view in, uint64_t *values, uint64_t count)
{
    while (count > 0) {
        uint64_t value, length;
        if (!ll_take_varint(&in, &value) || !ll_take_varint(&in, &length) || length == 0 || length > count)
            return false;
        for (uint64_t i = 0; i < length; i++)
            *values++ = value;
        count -= length;
    }
    return in.at == in.end;
}

/* True when the eight bytes at p are varints of one byte each. */
static inline bool eight_short(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, 8);
    return (word & 0x8080808080808080u) == 0;
}

static bool read_each(struct ll_view in, uint64_t *values, uint64_t count)
{
    uint64_t i = 0;
    while (i < count) {
        while (count - i >= 8 && in.end - in.at >= 8 && eight_short(in.at)) {
            for (int k = 0; k < 8; k++)
                values[i++] = *in.at++;
        }
        if (i < count && !read_varint(&in.at, in.end, &values[i++]))
            return false;
    }
    return in.at == in.end;
}

bool ll_column_values(const struct ll_column *column, uint64_t *values)
{
    if (column->encoding > (LL_DELTA | LL_RUNS))
        return false;
    bool runs = column->encoding & LL_RUNS;
    if (!(runs ? read_runs : read_each)(column->bytes, values, column->count))
        return false;
    if (column->encoding & LL_DELTA) {
        uint64_t sum = 0;
        for (uint64_t i = 0; i < column->count; i++)
            values[i] = sum += ll_unzigzag(values[i]);
    }
    return true;
}

enum { KEEP_VALUES = 65536 }; /* a larger buffer is not kept for the next frame */

uint64_t ll_block_count(const struct ll_block *block, unsigned tag)
{
    assert(tag > 0 && tag < LL_BLOCK_TAGS);
    return block->columns[tag].count;
}

const uint64_t *ll_block_numbers(struct ll_block *block, unsigned tag, uint64_t count)
{
    assert(tag > 0 && tag < LL_BLOCK_TAGS);
    const struct ll_column *column = &block->columns[tag];
    if (column->count != count)
        return NULL;
    if (block->capacity[tag] > KEEP_VALUES && count <= KEEP_VALUES) {
        free(block->values[tag]);
        block->values[tag] = NULL;
        block->capacity[tag] = 0;
    }
    if (!ll_grow(&block->values[tag], &block->capacity[tag], count ? count : 1, sizeof(uint64_t)))
        return NULL;
    if (!count)
        return block->values[tag];
    return ll_column_values(column, block->values[tag]) ? block->values[tag] : NULL;
}

bool ll_block_bytes(const struct ll_block *block, unsigned tag, struct ll_view *bytes)
{
    assert(tag > 0 && tag < LL_BLOCK_TAGS);
    *bytes = block->columns[tag].bytes;
    return !bytes->at || block->columns[tag].encoding == LL_RAW;
}

/* The bytes of a trace file: CRC-32C, zstd frames, and the skippable frames (header, head, padding, index).
 * The only file that includes zstd. */

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
    return calloc(1, sizeof(struct ll_codec));
}

/* A codec packs or unpacks, seldom both: each side is made when it is first wanted. */
static bool make_packer(struct ll_codec *codec)
{
    if (codec->packer)
        return true;
    codec->packer = ZSTD_createCCtx();
    if (codec->packer &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(codec->packer, ZSTD_c_compressionLevel, LEVEL)) &&
        !ZSTD_isError(ZSTD_CCtx_setParameter(codec->packer, ZSTD_c_checksumFlag, 1)))
        return true;
    ll_note_no_memory();
    ZSTD_freeCCtx(codec->packer);
    codec->packer = NULL;
    return false;
}

static bool make_unpacker(struct ll_codec *codec)
{
    if (!codec->unpacker)
        codec->unpacker = ZSTD_createDCtx();
    if (!codec->unpacker)
        ll_note_no_memory();
    return codec->unpacker != NULL;
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
    if (out->failed || !make_packer(codec) ||
        !ll_grow(&out->data, &out->capacity, ll_add(out->size, most), 1)) {
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
    if (!make_unpacker(codec))
        return LL_NO_MEMORY;
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
    put_u32(out, magic);
    put_u32(out, size);
    return begin;
}

/* The sum over all since `begin`. */
static void put_crc(struct ll_bytes *out, uint64_t begin)
{
    if (!out->failed)
        put_u32(out, ll_crc32c(out->data + begin, out->size - begin));
}

/* A header or head may grow in a newer minor version, but not beyond this: a search for heads in damaged
 * bytes must not sum over the whole file at each of them. */
enum { FIXED_MOST = 256 };

/* Opens a skippable frame of ours: `in` is moved past it, `inside` is what it holds without its CRC. */
static bool take_skippable(struct ll_view *in, uint32_t magic, uint32_t most, struct ll_view *inside)
{
    struct ll_view view = *in;
    uint32_t found, size, crc;
    if (!take_u32(&view, &found) || found != magic || !take_u32(&view, &size) || size < 4 || size > most ||
        size > view.end - view.at)
        return false;
    const uint8_t *end = view.at + size;
    struct ll_view tail = {end - 4, end};
    if (!take_u32(&tail, &crc) || crc != ll_crc32c(in->at, (size_t)(end - 4 - in->at)))
        return false;
    *inside = (struct ll_view){view.at, end - 4};
    in->at = end;
    return true;
}

void ll_put_header(struct ll_bytes *out)
{
    uint64_t begin = open_skippable(out, LL_MAGIC_HEADER, LL_HEADER_BYTES - LL_SKIPPABLE_BYTES);
    ll_put_bytes(out, LL_FILE_WORD, sizeof LL_FILE_WORD);
    put_u16(out, LL_FORMAT_MAJOR);
    put_u16(out, LL_FORMAT_MINOR);
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
    put_u16(out, head->version.major);
    put_u16(out, head->version.minor);
    put_u32(out, head->number);
    put_u32(out, head->stored_bytes);
    put_u32(out, head->content_bytes);
    put_u32(out, head->stored_crc);
    put_crc(out, begin);
}

bool ll_take_head(struct ll_view *in, struct ll_head *head)
{
    struct ll_view view = *in, inside;
    if (!take_skippable(&view, LL_MAGIC_HEAD, FIXED_MOST, &inside))
        return false;
    bool whole = ll_take_u16(&inside, &head->version.major) && ll_take_u16(&inside, &head->version.minor) &&
                 take_u32(&inside, &head->number) && take_u32(&inside, &head->stored_bytes) &&
                 take_u32(&inside, &head->content_bytes) && take_u32(&inside, &head->stored_crc);
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
    if (!take_u32(&view, &magic) || magic != LL_MAGIC_PADDING || !take_u32(&view, &size) ||
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
        assert(i == 0 || entries[i].offset > entries[i - 1].offset); /* frames follow each other */
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
        put_u32(out, (uint32_t)(size + LL_SKIPPABLE_BYTES));
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
    if (!take_u32(&tail, &size) || size > left)
        return 0;
    struct ll_view begin = {file.end - size, file.end};
    return take_u32(&begin, &magic) && magic == LL_MAGIC_INDEX ? size : 0;
}

/* Writing a trace file: frames are collected, appended with one write, and cut off again where the disk is
 * full. At the end the index is added, and the file replaces the one before. */

struct ll_writer {
    int file; /* -1 when the frames stay in memory */
    struct ll_arena arena;
    const char *path,
        *part; /* part: what is written until it is whole, while a file of before stands at path */
    enum ll_status status; /* the first trouble; nothing is written after it */
    struct ll_codec *codec;
    struct ll_bytes waiting, packed;  /* frames not yet written; the data of one */
    uint64_t written_bytes, op_count; /* of the file so far; in all frames */
    uint64_t content_bytes, weight;   /* of all frames so far: what ll_growth_limit is about */
    struct ll_index_entry *index;     /* an entry for each frame */
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
    const char *path = writer->path, *part = ll_path_beside(&writer->arena, path);
    if (!part)
        return LL_NO_MEMORY;
    bool is_first = access(path, F_OK) != 0;
    writer->file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->file < 0)
        return ll_status_of(errno, LL_CANNOT_OPEN);
    bool begun = write_all(writer->file, &writer->waiting);
    enum ll_status status = begun ? LL_OK : ll_status_of(errno, LL_CANNOT_OPEN);
    if (is_first || !begun) {
        enum ll_status kept = ll_path_keep(part, path, begun);
        status = status == LL_OK ? kept : status;
    } else if (part != path) {
        writer->part = part;
    }
    if (status != LL_OK)
        close(writer->file);
    writer->written_bytes = writer->waiting.size;
    writer->waiting.size = 0;
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
    ll_arena_release(&writer->arena);
    free(writer->index);
    free(writer);
}

struct ll_writer *ll_writer_open(const char *path, enum ll_status *status)
{
    struct ll_writer *writer = calloc(1, sizeof *writer);
    *status = LL_NO_MEMORY;
    if (!writer)
        return NULL;
    writer->codec = ll_codec_new();
    writer->path = ll_format(&writer->arena, "%s", path);
    ll_put_header(&writer->waiting);
    if (writer->codec && writer->path && !writer->waiting.failed)
        *status = make_file(writer);
    if (*status == LL_OK)
        return writer;
    free_writer(writer);
    return NULL;
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
    assert(ll_growth_limit(bytes + zeros) >= needed); /* the reader will not refuse the frame */
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

/* Compresses the content, pads where the reader would otherwise find more content or weight than bytes of
 * file allow, then puts head and data into the buffer and an entry into the index. */
void ll_writer_add(struct ll_writer *writer, const struct ll_bytes *content, uint64_t op_count,
                   uint64_t weight)
{
    assert(op_count <= LL_MAX_FRAME_OPS);
    assert(writer->written_bytes >= LL_HEADER_BYTES);
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

/* All or nothing: what could not be written whole is cut off again. */
enum ll_status ll_writer_flush(struct ll_writer *writer)
{
    if (writer->status == LL_OK && write_all(writer->file, &writer->waiting)) {
        writer->written_bytes += writer->waiting.size;
    } else if (writer->status == LL_OK) {
        writer->status = ll_status_of(errno, LL_CANNOT_WRITE);
        cut_off(writer);
    }
    writer->waiting.size = 0;
    return writer->status;
}

enum ll_status ll_writer_close(struct ll_writer *writer, bool whole)
{
    ll_writer_flush(writer);
    if (whole && writer->status == LL_OK) {
        ll_put_index(&writer->waiting, writer->index, writer->index_count);
        if (writer->waiting.failed)
            writer->status = LL_NO_MEMORY;
        ll_writer_flush(writer);
    }
    if (close(writer->file) != 0 && writer->status == LL_OK)
        writer->status = ll_status_of(errno, LL_CANNOT_WRITE);
    if (writer->part)
        settle(writer, whole);
    enum ll_status status = writer->status;
    free_writer(writer);
    return status;
}
