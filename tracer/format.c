/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed parts of the file, each put and taken side by side. */
#include "tracer/format.h"

#include "tracer/crc.h"

#include <stdlib.h>
#include <string.h>

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
