/* SPDX-License-Identifier: Apache-2.0 */
/* The trace file, as a drawing. README.md says it in words, enough to write a reader of one's own.
 *
 *     +--------+------+-----------+------+-----------+-- ... --+------+-----------+-------+
 *     | header | head | zstd data | head | zstd data |         | head | zstd data | index |
 *     +--------+------+-----------+------+-----------+-- ... --+------+-----------+-------+
 *       24 B     32 B   a frame ...                                     end frame
 *
 * Header, heads, padding and index are skippable frames of zstd (RFC 8878, 3.1.2), so that `zstd -t` takes
 * the file for what it is, a row of independent zstd frames. Each of ours ends with the CRC-32C of all that
 * is before it; a head carries the CRC of its data too. All fixed numbers are little-endian.
 *
 *     header   magic 50   size 16   "LLTRACE\0"   major u16   minor u16   crc u32
 *     head     magic 51   size 24   major u16   minor u16   number u32   stored u32   content u32
 *              crc of the stored bytes u32   crc u32
 *     index    magic 52   size   frames (varint), for each: kind, bytes since the one before, ops (varints)
 *              size of this whole frame u32   crc u32
 *     padding  magic 53   size   zeros
 *     data     a zstd frame of `stored` bytes; inside, `content` bytes: the kind (varint), then columns
 *
 * Frames are numbered from zero without gap: a hole shows. Data of an unknown kind and columns of an unknown
 * tag are skipped; a change that an old reader must not overlook raises the major version. */
#ifndef LL_TRACER_FORMAT_FORMAT_H
#define LL_TRACER_FORMAT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/diag.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"

/* Columns of numbers as few bytes: varints, differences, runs. Pure, no I/O.
 *
 * A column stands in a block as
 *     tag (varint)   encoding (1 byte)   number of values (varint)   size (4 bytes, low first)   bytes
 * so that a reader can skip what it does not know. The encodings:
 *     plain   each value a varint: seven bits a byte, low ones first, top bit set on all but the last
 *     delta   the difference to the value before (to 0 at first), as zigzag (0, -1, 1, -2 are 0, 1, 2, 3)
 *     runs    pairs of a value and how often it comes; with delta, runs of differences
 *     raw     the bytes as they are
 * A decoder never reads past the end that it is given and refuses what does not fit exactly. */

enum ll_encoding { LL_PLAIN = 0, LL_DELTA = 1, LL_RUNS = 2, LL_RAW = 4 };

/* Bytes that grow; {0} to begin with. When memory runs out `failed` is set and nothing more is added: check
 * once at the end. Freed with ll_bytes_release. */
struct ll_bytes {
    uint8_t *data;
    uint64_t size, capacity;
    bool failed;
};

/* Frees the bytes; it is {0} again. */
void ll_bytes_release(struct ll_bytes *bytes);

/* As they are; as a varint. */
void ll_put_bytes(struct ll_bytes *out, const void *bytes, uint64_t size);
void ll_put_varint(struct ll_bytes *out, uint64_t value);

/* Adds a column; with `encoding` plain or delta, and runs of it where they are much fewer than the values.
 * Nothing is added for no values: an absent column is an empty one. */
void ll_put_column(struct ll_bytes *out, uint64_t tag, enum ll_encoding encoding, const uint64_t *values,
                   uint64_t count);
void ll_put_raw(struct ll_bytes *out, uint64_t tag, const void *bytes, uint64_t size);

/* What is still to be read; `at` moves up to `end`. Taking returns false where the bytes end too early. */
struct ll_view {
    const uint8_t *at, *end;
};

/* A varint of more than 64 bits is refused as well. */
bool ll_take_varint(struct ll_view *in, uint64_t *value);
bool ll_take_u16(struct ll_view *in, uint16_t *value);

/* A column as it lies in the block. count is not more than the bytes allow, except for runs: there it is
 * only claimed, and whoever allocates for it bounds it first. For raw columns it is the size. */
struct ll_column {
    uint64_t tag, count;
    unsigned encoding; /* enum ll_encoding, combined */
    struct ll_view bytes;
};

/* The next column; false where its frame or its size is not whole. */
bool ll_take_column(struct ll_view *in, struct ll_column *column);

/* Writes column->count values. False when the bytes are not exactly that many values; then `values` holds
 * anything. Not for raw columns. */
bool ll_column_values(const struct ll_column *column, uint64_t *values);

/* Small differences of either sign become small numbers, and back. */
static inline uint64_t ll_zigzag(uint64_t difference)
{
    return difference << 1 ^ (0 - (difference >> 63));
}

/* What ll_zigzag made this number from. */
static inline uint64_t ll_unzigzag(uint64_t coded)
{
    return coded >> 1 ^ (0 - (coded & 1));
}

/* The columns of one frame, found by tag and decoded on demand. One thread at a time; {0} to begin with. */

enum { LL_BLOCK_TAGS = 32 }; /* tags from 1 to 31; columns of others are skipped */

struct ll_block {
    struct ll_column columns[LL_BLOCK_TAGS]; /* all zero where absent */
    uint64_t *values[LL_BLOCK_TAGS];         /* decoded; kept from frame to frame */
    uint64_t capacity[LL_BLOCK_TAGS];
};

/* How many values a column claims. The caller has charged for them before it decodes. */
uint64_t ll_block_count(const struct ll_block *block, unsigned tag);

/* The values of a column, valid until the block is opened again. NULL when it has not exactly `count` values,
 * or when memory ran out. */
const uint64_t *ll_block_numbers(struct ll_block *block, unsigned tag, uint64_t count);

/* The bytes of a raw column; empty when absent. False when it is of another encoding. */
bool ll_block_bytes(const struct ll_block *block, unsigned tag, struct ll_view *bytes);

enum { LL_FORMAT_MAJOR = 1, LL_FORMAT_MINOR = 5 };

/* Skippable frames: four bytes of magic, four of size. */
#define LL_MAGIC_HEADER 0x184D2A50u
#define LL_MAGIC_HEAD 0x184D2A51u
#define LL_MAGIC_INDEX 0x184D2A52u
#define LL_MAGIC_PADDING 0x184D2A53u
#define LL_FILE_WORD "LLTRACE" /* with its NUL */
enum { LL_SKIPPABLE_BYTES = 8, LL_HEADER_BYTES = 24, LL_HEAD_BYTES = 32, LL_INDEX_TAIL_BYTES = 8 };

/* What data is in a frame. */
enum ll_frame_kind {
    LL_FRAME_FACTS = 1,   /* the header's keys and values */
    LL_FRAME_DEFINITIONS, /* strings, descs, forms and links that are new since the last such frame */
    LL_FRAME_OPS,         /* ops and the tensors that were brought between them */
    LL_FRAME_STEPS,       /* steps that have ended */
    LL_FRAME_END,         /* the recording ended normally; how many there are of everything */
    LL_FRAME_CUTS,    /* steps found when all was recorded: they replace those of LL_FRAME_STEPS; since 1.1 */
    LL_FRAME_TIMELINE /* part of what devices did when (tracer/ir/timeline.h); since 1.5 */
};

/* Columns of each kind of frame; LL_FRAME_CUTS has those of LL_FRAME_STEPS. A list of lists is flattened: a
 * column of lengths, a column of items. */
enum ll_facts_tag { LL_FACTS_KEY_SIZE = 1, LL_FACTS_VALUE_SIZE, LL_FACTS_TEXT };

enum ll_definitions_tag {
    LL_DEF_FIRST = 1, /* number of the first string, desc, form, links */
    LL_DEF_STRING_SIZE,
    LL_DEF_TEXT,
    LL_DEF_DESC_NAME, /* names are strings of the file, also those of dtypes, roles, classes, kinds, phases,
                         keys */
    LL_DEF_DESC_MEMORY,
    LL_DEF_DESC_DTYPE,
    LL_DEF_DESC_RANK,
    LL_DEF_DESC_DIM,
    LL_DEF_DESC_ROLE,
    LL_DEF_FORM_KIND,
    LL_DEF_FORM_PHASE,
    LL_DEF_FORM_SCOPE,
    LL_DEF_FORM_INPUTS, /* how many */
    LL_DEF_FORM_OUTPUTS,
    LL_DEF_FORM_ATTRS,
    LL_DEF_FORM_INPUT, /* desc */
    LL_DEF_FORM_OUTPUT,
    LL_DEF_FORM_ALIAS, /* 0: storage of its own; i + 1: that of input i */
    LL_DEF_FORM_ATTR_KEY,
    LL_DEF_FORM_ATTR_VALUE, /* a count as zigzag, a real as the bits of its double */
    LL_DEF_FORM_FLOPS,
    LL_DEF_FORM_READ,
    LL_DEF_FORM_WRITTEN,
    LL_DEF_LINKS_INPUTS, /* how many */
    LL_DEF_LINKS_CONTROLS,
    LL_DEF_LINKS_INPUT, /* 2 distance, or 2 number + 1 for a tensor that no op made */
    LL_DEF_LINKS_CONTROL,
    LL_DEF_LINKS_STORAGE, /* how many of the controls are there for a storage; since 1.1, absent for none */
    LL_DEF_LINKS_GAPS,    /* how many for a gap; the same */
    LL_DEF_DESC_ZEROS, /* kept, of, along, unstructured, scales (struct ll_shape), 8 bits each from the lowest;
                           since 1.2 (unstructured since 1.3, scales since 1.4), absent where all are 0 */
    LL_DEF_TAGS
};

enum ll_ops_tag {
    LL_OPS_FIRST = 1, /* number of the first op, of the first tensor; base: start of the first op in ns */
    LL_OPS_FORM,
    LL_OPS_LINKS,
    LL_OPS_STEP,
    LL_OPS_THREAD,
    LL_OPS_OUTPUTS,        /* how many: known from the signature, unless the signature is lost */
    LL_OPS_GAP,            /* zigzag: start minus the end of the last op in this track */
    LL_OPS_DURATION,       /* ns */
    LL_OPS_BROUGHT_BEFORE, /* for each tensor that no op made: how many ops of this frame came before it */
    LL_OPS_BROUGHT_DESC
};

enum ll_steps_tag {
    LL_STEPS_FIRST = 1, /* number of the first step */
    LL_STEPS_FIRST_OP,
    LL_STEPS_OPS,
    LL_STEPS_START,
    LL_STEPS_WALL,
    LL_STEPS_RECORDING,
    LL_STEPS_PARTIAL /* of cuts alone: 1 for what is no whole step */
};

enum ll_end_tag { LL_END_TOTALS = 1 /* ops, tensors, steps */ };

/* Numbers that may be LL_NO_PART are stored plus one, modulo 2^32. */
enum ll_timeline_tag {
    LL_TIMELINE_FIRST =
        1, /* names, tracks, calls, events, waits before these; ranks; whether launches are told */
    LL_TIMELINE_NAME_SIZE,
    LL_TIMELINE_TEXT,
    LL_TIMELINE_TRACK_NAME,
    LL_TIMELINE_TRACK_RANK,
    LL_TIMELINE_TRACK_HOST,
    LL_TIMELINE_CALL_START, /* ns */
    LL_TIMELINE_CALL_DURATION,
    LL_TIMELINE_CALL_NAME,
    LL_TIMELINE_CALL_TRACK,
    LL_TIMELINE_CALL_KIND,
    LL_TIMELINE_EVENT_START,
    LL_TIMELINE_EVENT_DURATION,
    LL_TIMELINE_EVENT_BYTES,
    LL_TIMELINE_EVENT_NAME,
    LL_TIMELINE_EVENT_TRACK,
    LL_TIMELINE_EVENT_CALLER,
    LL_TIMELINE_EVENT_CALL,
    LL_TIMELINE_EVENT_KIND,
    LL_TIMELINE_EVENT_GROUP,
    LL_TIMELINE_EVENT_ORDER,
    LL_TIMELINE_WAIT_EVENT,
    LL_TIMELINE_WAIT_CALL,
    LL_TIMELINE_WAIT_AFTER
};

/* A gap is counted from the end of the last op of this frame in the same track, which is the thread modulo
 * this; from the frame's base at first. */
enum { LL_TRACKS = 64 };

/* What one of each may be. The recorder keeps to it, the reader refuses more. */
enum {
    LL_MAX_FRAME_OPS = 65536,
    LL_MAX_TEXT_BYTES = 65535,
    LL_MAX_CONTENT_BYTES = 64 << 20, /* of a frame */
    LL_MAX_COLUMN_VALUES = 8 << 20
};

/* A small file must not grow without end. Of the first n bytes of a file, frames may unpack to, and the trace
 * may fill, so many bytes. The writer pads where it would not be so (a million equal ops of a dry run). */
static inline uint64_t ll_growth_limit(uint64_t file_bytes)
{
    return ll_add(64 << 20, ll_mul(256, file_bytes));
}

/* What things count for, about what they take in memory. A ref is an input, output or control. */
enum {
    LL_WEIGHT_FACT = 32,
    LL_WEIGHT_STRING = 16, /* and its bytes */
    LL_WEIGHT_DESC = 96,
    LL_WEIGHT_FORM = 160,
    LL_WEIGHT_FORM_REF = 96,
    LL_WEIGHT_ATTR = 16,
    LL_WEIGHT_LINKS = 48,
    LL_WEIGHT_LINKS_REF = 8,
    LL_WEIGHT_OP = 64,
    LL_WEIGHT_OP_REF = 8,
    LL_WEIGHT_TENSOR = 24,
    LL_WEIGHT_STEP = 64,
    LL_WEIGHT_PART = 64 /* of a timeline: a name, beside its bytes, a track, a call, an event, a wait */
};

struct ll_version {
    uint16_t major, minor;
};

struct ll_head {
    struct ll_version version;
    uint32_t number, stored_bytes, content_bytes, stored_crc;
};

struct ll_index_entry {
    uint64_t kind, offset, op_count;
};

/* Skippable frames, each whole, as drawn above. */
void ll_put_header(struct ll_bytes *out);
void ll_put_head(struct ll_bytes *out, const struct ll_head *head);
void ll_put_padding(struct ll_bytes *out, uint32_t zeros);
void ll_put_index(struct ll_bytes *out, const struct ll_index_entry *entries, uint64_t count);

/* These say whether `in` begins with such a frame, whole and unharmed, and move past it. */
bool ll_take_header(struct ll_view *in, struct ll_version *version);
bool ll_take_head(struct ll_view *in, struct ll_head *head);
bool ll_take_padding(struct ll_view *in);

/* The entries of an index frame that fills `in` exactly, on the heap (NULL when empty), owned by the caller.
 * False when it is none, is damaged, or memory ran out. */
bool ll_take_index(struct ll_view in, struct ll_index_entry **entries, uint64_t *count);

/* Size of the index frame at the very end of `file`, 0 when the last bytes do not look like one's tail. */
uint64_t ll_index_bytes(struct ll_view file);

/* CRC-32C (Castagnoli, RFC 3720 appendix B.4): finds every error of up to 32 bits in a row. Pure. */

/* Of the empty text: 0. */
uint32_t ll_crc32c(const void *bytes, size_t size);

/* Blocks of bytes as zstd frames, each compressed on its own and carrying zstd's checksum of its content.
 * The only file that knows zstd. A codec keeps the working memory between frames; one thread at a time. */

struct ll_codec;

/* NULL when memory ran out. */
struct ll_codec *ll_codec_new(void);
void ll_codec_free(struct ll_codec *codec);

/* Adds the frame to `out`; on trouble (out of memory) out is marked failed. */
void ll_frame_pack(struct ll_codec *codec, const void *content, uint64_t size, struct ll_bytes *out);

/* Unpacks exactly one frame of exactly `size` bytes of content, nothing before, nothing behind: LL_OK,
 * LL_DAMAGED or LL_NO_MEMORY. Never writes past content + size; takes no memory that depends on the input. */
enum ll_status ll_frame_unpack(struct ll_codec *codec, struct ll_view stored, uint8_t *content,
                               uint64_t size);

/* Whether bytes begin as a file that zstd has compressed. */
bool ll_is_packed(const void *stored, uint64_t size);

/* Unpacks such a file, of any number of frames, whose content is at most so many bytes, into the arena.
 * LL_OK, LL_DAMAGED, LL_FILE_TOO_LONG or LL_NO_MEMORY. */
enum ll_status ll_unpack_file(const void *stored, uint64_t size, uint64_t most_bytes, struct ll_arena *arena,
                              struct ll_contents *content);

/* Frames into a file: what is written stays readable, whatever happens next.
 *
 * Frames are collected and then go to the file by one write. A killed program thus leaves whole frames and at
 * most one torn at the end; when the disk is full the torn piece is cut off again. One thread at a time. */

struct ll_writer;

/* Begins a file (tracer/base/file.h has the rule for all that are written). Where none was, it stands there
 * from the beginning. A file of before is replaced when the new one is closed whole; on trouble, what was
 * recorded until then stays beside it as PATH.part. NULL and *status on trouble. */
struct ll_writer *ll_writer_open(const char *path, enum ll_status *status);

/* Adds a frame: content as in format.h, op_count for the index, weight of what the content makes in memory
 * (LL_WEIGHT_*). Nothing is written before ll_writer_flush. */
void ll_writer_add(struct ll_writer *writer, const struct ll_bytes *content, uint64_t op_count,
                   uint64_t weight);

/* Writes what was added. The first trouble met, now or earlier; after one nothing more is written. */
enum ll_status ll_writer_flush(struct ll_writer *writer);

/* Writes what was added, if `whole` the index behind it, closes, frees. The first trouble met. */
enum ll_status ll_writer_close(struct ll_writer *writer, bool whole);

#endif
