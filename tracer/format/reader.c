/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a trace file. The first section walks from frame to frame through a file that may be damaged; the
 * second gives each frame to the builder. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/format/reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/base/arena.h"
#include "tracer/base/str.h"
#include "tracer/format/format.h"
#include "tracer/format/walk.h"
#include "tracer/ir/trace.h"

/* At each place stands a head, padding, the index, or something wrong. After something wrong the next whole
 * head is searched byte by byte: its CRC makes it unmistakable. Frame numbers then tell how many frames lay
 * in the hole, and the index, where there is one, what they held. */

bool ll_walk_complain(struct ll_walk *walk, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    ll_vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return ll_complain(walk->diags, (struct ll_place){.file = walk->name}, "%s", message);
}

static uint64_t offset_of(const struct ll_walk *walk, const uint8_t *at)
{
    assert(at >= walk->file.at && at <= walk->file.end);
    return (uint64_t)(at - walk->file.at);
}

static uint64_t bytes_left(const struct ll_walk *walk)
{
    assert(walk->at <= walk->file.end);
    return (uint64_t)(walk->file.end - walk->at);
}

/* What the index says of a frame, for a complaint: " (128 ops from op 4096)", or nothing. Nothing either
 * where the complaint is only counted: summing the index for each of millions would take hours. */
static const char *describe(const struct ll_walk *walk, uint32_t number, char text[static 64])
{
    text[0] = '\0';
    if (number >= walk->index_count || walk->diags->kept_count == LL_DIAG_LIMIT)
        return text;
    uint64_t first_op = 0, op_count = walk->index[number].op_count;
    for (uint32_t i = 0; i < number; i++)
        first_op += walk->index[i].op_count;
    if (walk->index[number].kind == LL_FRAME_OPS)
        snprintf(text, 64, " (%" PRIu64 " ops from op %" PRIu64 ")", op_count, first_op);
    else if (walk->index[number].kind == LL_FRAME_DEFINITIONS)
        snprintf(text, 64, " (definitions)");
    return text;
}

bool ll_walk_refuse(struct ll_walk *walk, const struct ll_frame *frame, const char *why)
{
    assert(frame->bytes <= (uint64_t)(walk->file.end - walk->file.at));
    char held[64];
    walk->lost_frames++;
    walk->lost_bytes += frame->bytes;
    return ll_walk_complain(walk, "frame %" PRIu32 " at byte %" PRIu64 "%s is lost: %s", frame->number,
                            frame->offset, describe(walk, frame->number, held), why);
}

static enum ll_status check_version(struct ll_walk *walk, struct ll_version version)
{
    walk->version = version;
    if (version.major <= LL_FORMAT_MAJOR)
        return LL_OK;
    ll_walk_complain(walk, "trace format %d.%d: this program reads up to %d.x", version.major, version.minor,
                     LL_FORMAT_MAJOR);
    return LL_TOO_NEW;
}

/* Where the next whole head or the index begins, at or after `from`; the end of the file when nowhere. */
static const uint8_t *find_frame(const struct ll_walk *walk, const uint8_t *from)
{
    uint64_t index_bytes = walk->index ? ll_index_bytes(walk->file) : 0;
    const uint8_t *end = walk->file.end - index_bytes;
    for (const uint8_t *at = from; at < end; at++) {
        struct ll_view view = {at, walk->file.end};
        struct ll_head head;
        if (at[0] == (LL_MAGIC_HEAD & 0xFF) && ll_take_head(&view, &head))
            return at;
    }
    assert(from <= walk->file.end);
    return end;
}

/* The header is only the file's face: when it is damaged but frames of ours follow, these are read. */
static enum ll_status open_header(struct ll_walk *walk)
{
    struct ll_view view = {walk->at, walk->file.end};
    struct ll_version version;
    if (ll_take_header(&view, &version)) {
        walk->at = view.at;
        return check_version(walk, version);
    }
    const uint8_t *next = find_frame(walk, walk->at);
    if (next < walk->file.end) {
        ll_walk_complain(walk, "the header of the file is damaged; the frames behind it are read");
        walk->lost_bytes += (uint64_t)(next - walk->at);
        walk->at = next;
        return LL_OK;
    }
    struct ll_bytes header = {0};
    ll_put_header(&header);
    uint64_t size = bytes_left(walk);
    bool ours = !header.failed && size > 0 && size < header.size && memcmp(walk->at, header.data, size) == 0;
    ll_bytes_release(&header);
    ll_walk_complain(walk, ours ? "the file is cut off inside its header" : "this is not a Leadline trace");
    return ours ? LL_DAMAGED : LL_NOT_OURS;
}

static void open_index(struct ll_walk *walk)
{
    uint64_t size = ll_index_bytes(walk->file);
    if (size > 0)
        ll_take_index((struct ll_view){walk->file.end - size, walk->file.end}, &walk->index,
                      &walk->index_count);
}

enum ll_status ll_walk_open(struct ll_walk *walk, const void *bytes, uint64_t size, const char *name,
                            struct ll_diags *diags)
{
    assert(bytes || size == 0);
    static const uint8_t nothing;
    const uint8_t *begin = size ? bytes : &nothing; /* an empty file may have no address */
    *walk = (struct ll_walk){.file = {begin, begin + size}, .name = name, .diags = diags, .at = begin};
    walk->codec = ll_codec_new();
    if (!walk->codec)
        return LL_NO_MEMORY;
    open_index(walk);
    return open_header(walk);
}

void ll_walk_close(struct ll_walk *walk)
{
    ll_codec_free(walk->codec);
    free(walk->content);
    free(walk->index);
}

/* Frames that are missing between the last one and this. */
static void count_missing(struct ll_walk *walk, uint32_t number)
{
    assert(number >= walk->next_number);
    if (number == walk->next_number)
        return;
    uint32_t missing = number - walk->next_number;
    walk->lost_frames += missing;
    ll_walk_complain(walk, "%" PRIu32 " frame%s missing before frame %" PRIu32, missing,
                     missing == 1 ? " is" : "s are", number);
}

static enum ll_status unpack(struct ll_walk *walk, const struct ll_head *head, struct ll_frame *frame,
                             bool *whole)
{
    struct ll_view stored = {walk->at - head->stored_bytes, walk->at};
    uint64_t size = head->content_bytes;
    *whole = false;
    if (ll_crc32c(stored.at, head->stored_bytes) != head->stored_crc)
        return ll_walk_refuse(walk, frame, "its checksum is wrong"), LL_OK;
    if (size == 0 || size > LL_MAX_CONTENT_BYTES ||
        walk->content_bytes + size > ll_growth_limit(offset_of(walk, walk->at)))
        return ll_walk_refuse(walk, frame, "it claims to unpack to more than a file of this size may"), LL_OK;
    if (!ll_grow(&walk->content, &walk->content_capacity, size, 1))
        return LL_NO_MEMORY;
    walk->content_bytes += size;
    if (ll_frame_unpack(walk->codec, stored, walk->content, size) != LL_OK)
        return ll_walk_refuse(walk, frame, "it does not unpack"), LL_OK;
    frame->columns = (struct ll_view){walk->content, walk->content + size};
    *whole = ll_take_varint(&frame->columns, &frame->kind);
    if (!*whole)
        ll_walk_refuse(walk, frame, "it has no kind");
    return LL_OK;
}

/* A whole head stands at walk->at; `data` is where what it announces begins. */
static enum ll_status take_frame(struct ll_walk *walk, const struct ll_head *head, const uint8_t *data,
                                 struct ll_frame *frame, bool *whole)
{
    *whole = false;
    *frame = (struct ll_frame){.number = head->number, .offset = offset_of(walk, walk->at)};
    enum ll_status status = check_version(walk, head->version);
    if (status != LL_OK)
        return status;
    if (head->stored_bytes > (uint64_t)(walk->file.end - data)) {
        ll_walk_complain(walk, "frame %" PRIu32 " at byte %" PRIu64 " is cut off by the end of the file",
                         frame->number, frame->offset);
        walk->lost_bytes += bytes_left(walk);
        walk->at = walk->file.end;
        return LL_OK;
    }
    frame->bytes = (uint64_t)(data - walk->at) + head->stored_bytes;
    walk->at += frame->bytes;
    if (head->number < walk->next_number)
        return ll_walk_refuse(walk, frame, "a frame of this number was there before"), LL_OK;
    count_missing(walk, head->number);
    walk->next_number = head->number + 1;
    status = unpack(walk, head, frame, whole);
    walk->frames += *whole;
    return status;
}

static void skip_damage(struct ll_walk *walk)
{
    const uint8_t *next = find_frame(walk, walk->at + 1);
    uint64_t lost = (uint64_t)(next - walk->at);
    ll_walk_complain(walk, "%" PRIu64 " bytes at byte %" PRIu64 " are no frame and are lost", lost,
                     offset_of(walk, walk->at));
    walk->lost_bytes += lost;
    walk->at = next;
}

/* The end of the file: were all frames there that the index knows of, and was there an index? */
static void check_end(struct ll_walk *walk)
{
    if (!walk->index)
        ll_walk_complain(walk,
                         "the index is missing or damaged: the recording did not end normally, the file was "
                         "cut off, or bytes follow its end");
    else if (walk->index_count > walk->next_number)
        count_missing(walk, (uint32_t)walk->index_count);
}

enum ll_status ll_walk_next(struct ll_walk *walk, struct ll_frame *frame, bool *found)
{
    uint64_t index_bytes = walk->index ? ll_index_bytes(walk->file) : 0;
    *found = false;
    while (bytes_left(walk) > index_bytes) {
        struct ll_view view = {walk->at, walk->file.end - index_bytes};
        struct ll_head head;
        if (ll_take_head(&view, &head)) {
            enum ll_status status = take_frame(walk, &head, view.at, frame, found);
            if (status != LL_OK || *found)
                return status;
        } else if (ll_take_padding(&view)) {
            walk->at = view.at;
        } else {
            skip_damage(walk);
        }
    }
    check_end(walk);
    walk->at = walk->file.end;
    return LL_OK;
}

uint64_t ll_walk_indexed_ops(const struct ll_walk *walk)
{
    if (!walk->index)
        return LL_NO_FIT;
    uint64_t ops = 0;
    for (uint64_t i = 0; i < walk->index_count; i++)
        ops = ll_add(ops, walk->index[i].op_count);
    return ops;
}

static bool build_facts(struct ll_trace_build *build);

static bool build_steps(struct ll_trace_build *build);

static bool build_cuts(struct ll_trace_build *build);

static bool build_end(struct ll_trace_build *build);

/* The walk brings the frames that are whole, the build makes a trace of them, the check has the last word. */

/* Takes the columns that `in` consists of; they stay in its bytes. False when they do not fill it exactly or
 * a tag comes twice. */
static bool block_open(struct ll_block *block, struct ll_view in)
{
    assert(in.at <= in.end);
    memset(block->columns, 0, sizeof block->columns);
    while (in.at < in.end) {
        struct ll_column column;
        if (!ll_take_column(&in, &column))
            return false;
        if (column.tag >= LL_BLOCK_TAGS)
            continue;
        if (block->columns[column.tag].bytes.at)
            return false;
        block->columns[column.tag] = column;
    }
    return true;
}

/* Frees what was decoded; the bytes are the caller's. It is {0} again. */
static void block_release(struct ll_block *block)
{
    for (int tag = 0; tag < LL_BLOCK_TAGS; tag++)
        free(block->values[tag]);
    *block = (struct ll_block){0};
}

static bool build_frame(struct ll_trace_build *build, const struct ll_frame *frame)
{
    static bool (*const builders[])(struct ll_trace_build *) = {
        [LL_FRAME_FACTS] = build_facts,
        [LL_FRAME_DEFINITIONS] = ll_build_definitions,
        [LL_FRAME_OPS] = ll_build_ops,
        [LL_FRAME_STEPS] = build_steps,
        [LL_FRAME_END] = build_end,
        [LL_FRAME_CUTS] = build_cuts,
        [LL_FRAME_TIMELINE] = ll_build_timeline,
    };
    if (frame->kind >= sizeof builders / sizeof builders[0] || !builders[frame->kind])
        return true; /* of a newer minor version */
    build->frame = frame;
    assert(frame->offset >= LL_HEADER_BYTES || build->walk->lost_bytes > 0);
    build->weight_limit = ll_growth_limit(frame->offset + frame->bytes);
    if (!block_open(&build->block, frame->columns))
        return ll_build_refuse(build, "its columns do not fill it");
    return builders[frame->kind](build);
}

static bool build_finish(struct ll_trace_build *build);

static enum ll_status build_all(struct ll_trace_build *build)
{
    for (;;) {
        struct ll_frame frame;
        bool found;
        enum ll_status status = ll_walk_next(build->walk, &frame, &found);
        if (status != LL_OK)
            return status;
        if (!found)
            return build_finish(build) ? LL_OK : build->status;
        build_frame(build, &frame);
        if (build->status != LL_OK)
            return build->status;
    }
}

/* What the walk and the build let through obeys ll_trace_check: with assertions this holds them to it. */
static enum ll_status check(struct ll_trace *trace, struct ll_walk *walk)
{
#ifdef NDEBUG
    (void)trace;
    (void)walk;
    return LL_OK;
#else
    struct ll_arena arena = {0};
    const char *trouble = ll_trace_check(trace, &arena);
    if (trouble)
        ll_walk_complain(walk, "the trace contradicts itself: %s", trouble);
    ll_arena_release(&arena);
    return trouble ? LL_DAMAGED : LL_OK;
#endif
}

bool ll_trace_begins(const void *bytes, size_t size)
{
    struct ll_view view = {bytes, (const uint8_t *)bytes + size};
    struct ll_version version;
    return ll_take_header(&view, &version);
}

static void build_release(struct ll_trace_build *build);

struct ll_trace *ll_trace_parse(const void *bytes, size_t size, const char *name, struct ll_diags *diags,
                                enum ll_status *status)
{
    struct ll_walk walk;
    struct ll_trace *trace = calloc(1, sizeof *trace);
    *status = ll_walk_open(&walk, bytes, size, name, diags);
    if (!trace)
        *status = LL_NO_MEMORY;
    if (*status == LL_OK) {
        struct ll_trace_build build = {.walk = &walk, .trace = trace};
        trace->file_bytes = size;
        *status = build_all(&build);
        assert(*status != LL_OK || trace->op_count <= build.next_op); /* lost ops close ranks */
        if (*status == LL_OK)
            *status = check(trace, &walk);
        build_release(&build);
    }
    ll_walk_close(&walk);
    if (*status == LL_OK)
        return trace;
    ll_trace_free(trace);
    return NULL;
}

/* All bytes of an open file, on the heap. A device is no file: some never end. */
static enum ll_status read_all(int file, struct ll_bytes *bytes)
{
    struct stat what;
    if (fstat(file, &what) == 0 && (S_ISCHR(what.st_mode) || S_ISBLK(what.st_mode)))
        return LL_NOT_OURS;
    for (;;) {
        if (!ll_grow(&bytes->data, &bytes->capacity, bytes->size + 65536, 1))
            return LL_NO_MEMORY;
        ssize_t got = read(file, bytes->data + bytes->size, bytes->capacity - bytes->size);
        if (got == 0)
            return LL_OK;
        if (got > 0)
            bytes->size += (uint64_t)got;
        else if (errno != EINTR)
            return ll_status_of(errno, LL_CANNOT_READ);
    }
}

struct ll_trace *ll_trace_read(const char *path, struct ll_diags *diags, enum ll_status *status)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        *status = ll_status_of(errno, LL_CANNOT_OPEN);
        return NULL;
    }
    struct ll_bytes bytes = {0};
    struct ll_trace *trace = NULL;
    *status = read_all(file, &bytes);
    close(file);
    if (*status == LL_OK)
        trace = ll_trace_parse(bytes.data, bytes.size, path, diags, status);
    ll_bytes_release(&bytes);
    return trace;
}

/* A text of the file; NULL when it holds a NUL (or memory ran out). */
static const char *take_text(struct ll_trace_build *build, struct ll_view *text, uint64_t size)
{
    char *copy = memchr(text->at, '\0', size)
                     ? NULL
                     : ll_copy_text(&build->trace->arena, (const char *)text->at, size);
    text->at += size;
    return copy;
}

/* Each takes a frame of its kind from build->block. False when the frame cannot be used as a whole (then it
 * was complained about and counted as lost) or memory ran out (build->status). */
static bool build_facts(struct ll_trace_build *build)
{
    struct ll_block *block = &build->block;
    struct ll_trace *trace = build->trace;
    struct ll_view text;
    uint64_t count = ll_block_count(block, LL_FACTS_KEY_SIZE);
    if (!ll_block_bytes(block, LL_FACTS_TEXT, &text))
        return ll_build_refuse(build, "its text is of another encoding");
    uint64_t text_bytes = (uint64_t)(text.end - text.at);
    if (!ll_build_charge(build, count, LL_WEIGHT_FACT) || !ll_build_charge(build, text_bytes, 1))
        return false;
    const uint64_t *key_sizes = ll_block_numbers(block, LL_FACTS_KEY_SIZE, count);
    const uint64_t *value_sizes = ll_block_numbers(block, LL_FACTS_VALUE_SIZE, count);
    if (!key_sizes || !value_sizes ||
        ll_add(ll_build_sum(key_sizes, count), ll_build_sum(value_sizes, count)) != text_bytes)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_grow(&trace->facts, &build->fact_capacity, trace->fact_count + count, sizeof *trace->facts))
        return ll_build_no_memory(build);
    for (uint64_t i = 0; i < count; i++) {
        struct ll_fact fact;
        fact.key = take_text(build, &text, key_sizes[i]);
        fact.value = take_text(build, &text, value_sizes[i]);
        if (fact.key && fact.value)
            trace->facts[trace->fact_count++] = fact;
    }
    return true;
}

bool ll_build_reach_step(struct ll_trace_build *build, uint64_t step)
{
    struct ll_trace *trace = build->trace;
    if (step < trace->step_count)
        return true;
    uint64_t more = step - trace->step_count + 1;
    if (step >= LL_NONE || !ll_build_afford(build, &build->step_weight, more, LL_WEIGHT_STEP))
        return false;
    if (!ll_grow(&trace->steps, &build->step_capacity, step + 1, sizeof *trace->steps) ||
        !ll_grow(&build->step_recorded, &build->recorded_capacity, step + 1, sizeof *build->step_recorded))
        return ll_build_no_memory(build);
    memset(trace->steps + trace->step_count, 0, more * sizeof *trace->steps);
    memset(build->step_recorded + trace->step_count, 0, more * sizeof *build->step_recorded);
    trace->step_count = step + 1;
    return true;
}

/* The columns of a frame of steps. */
struct steps {
    const uint64_t *first_op, *ops, *start, *wall, *recording;
    uint64_t first, count;
};

/* What the frame claims, before any of it is decoded. */
static bool find_steps(struct ll_trace_build *build, struct steps *steps)
{
    const uint64_t *first = ll_block_numbers(&build->block, LL_STEPS_FIRST, 1);
    steps->count = ll_block_count(&build->block, LL_STEPS_FIRST_OP);
    steps->first = first ? *first : 0;
    return (first && steps->count > 0 && steps->count <= LL_MAX_COLUMN_VALUES) ||
           ll_build_refuse(build, "its columns do not fit together");
}

static bool decode_steps(struct ll_trace_build *build, struct steps *steps)
{
    struct ll_block *block = &build->block;
    steps->first_op = ll_block_numbers(block, LL_STEPS_FIRST_OP, steps->count);
    steps->ops = ll_block_numbers(block, LL_STEPS_OPS, steps->count);
    steps->start = ll_block_numbers(block, LL_STEPS_START, steps->count);
    steps->wall = ll_block_numbers(block, LL_STEPS_WALL, steps->count);
    steps->recording = ll_block_numbers(block, LL_STEPS_RECORDING, steps->count);
    return (steps->first_op && steps->ops && steps->start && steps->wall && steps->recording) ||
           ll_build_refuse(build, "its columns do not fit together");
}

/* False when step i of the frame cannot be. */
static bool take_step(const struct steps *steps, uint64_t i, struct ll_step *step)
{
    *step = (struct ll_step){(uint32_t)steps->first_op[i],
                             (uint32_t)steps->ops[i],
                             steps->start[i],
                             steps->wall[i],
                             steps->recording[i],
                             false};
    return steps->ops[i] < LL_NONE && steps->first_op[i] < LL_NONE &&
           ll_fits(ll_add(steps->start[i], steps->wall[i]));
}

static bool build_steps(struct ll_trace_build *build)
{
    struct steps steps;
    if (!find_steps(build, &steps))
        return false;
    if (!ll_build_reach_step(build, ll_add(steps.first, steps.count - 1)))
        return ll_build_refuse(build, "it holds more steps than a file of this size may");
    if (!decode_steps(build, &steps))
        return false;
    for (uint64_t i = 0; i < steps.count; i++) {
        struct ll_step step;
        if (!take_step(&steps, i, &step))
            continue;
        build->step_recorded[steps.first + i] = true;
        build->trace->steps[steps.first + i] = step;
    }
    return true;
}

/* Cuts come in a row without gap, or not at all. */
static bool build_cuts(struct ll_trace_build *build)
{
    struct steps steps;
    if (!find_steps(build, &steps) || !ll_build_charge(build, steps.count, LL_WEIGHT_STEP) ||
        !decode_steps(build, &steps))
        return false;
    const uint64_t *partial = ll_block_numbers(&build->block, LL_STEPS_PARTIAL, steps.count);
    if (!partial)
        return ll_build_refuse(build, "its columns do not fit together");
    if (!ll_grow(&build->cuts, &build->cut_capacity, build->cut_count + steps.count, sizeof *build->cuts))
        return ll_build_no_memory(build);
    uint64_t next = build->cut_count ? (uint64_t)build->cuts[build->cut_count - 1].first_op +
                                           build->cuts[build->cut_count - 1].op_count
                                     : 0;
    for (uint64_t i = 0; i < steps.count; i++) {
        struct ll_step *cut = &build->cuts[build->cut_count];
        if (!take_step(&steps, i, cut) || cut->first_op != next || steps.first + i != build->cut_count)
            return ll_build_refuse(build, "its steps do not follow one another");
        cut->complete = partial[i] == 0;
        next += cut->op_count;
        build->cut_count++;
    }
    return true;
}

static bool build_end(struct ll_trace_build *build)
{
    const uint64_t *totals = ll_block_numbers(&build->block, LL_END_TOTALS, 3);
    if (!totals)
        return ll_build_refuse(build, "its columns do not fit together");
    build->ended = true;
    build->total_ops = totals[0];
    return true;
}

/* A desc for tensors of which nothing is known: of no size. */
static bool give_looks(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint32_t lost = LL_NONE;
    for (uint64_t i = 0; i < trace->tensor_count; i++) {
        if (trace->tensors[i].desc != LL_NONE)
            continue;
        if (lost == LL_NONE) {
            lost = (uint32_t)trace->desc_count;
            if (!ll_grow(&trace->strings, &build->string_capacity, trace->string_count + 1,
                         sizeof *trace->strings) ||
                !ll_grow(&trace->descs, &build->desc_capacity, trace->desc_count + 1, sizeof *trace->descs))
                return ll_build_no_memory(build);
            trace->strings[trace->string_count++] = "lost";
            trace->descs[trace->desc_count++] = (struct ll_tensor_desc){
                .name = (uint32_t)(trace->string_count - 1), .memory = LL_WORKSPACE, .shape = {.rank = 1}};
        }
        trace->tensors[i].desc = lost;
    }
    return true;
}

/* A step that was not recorded gets its times from its ops. */
static void time_by_ops(const struct ll_trace *trace, struct ll_step *step)
{
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (uint64_t i = step->first_op; i < (uint64_t)step->first_op + step->op_count; i++) {
        begin_ns = ll_min(begin_ns, trace->ops[i].start_ns);
        end_ns = ll_max(end_ns, trace->ops[i].start_ns + trace->ops[i].duration_ns);
    }
    step->start_ns = step->op_count ? begin_ns : 0;
    step->wall_ns = step->op_count ? end_ns - begin_ns : 0;
}

/* The ops of a step stand one after the other, steps in order. */
static void count_steps(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint64_t op = 0;
    for (uint64_t i = 0; i < trace->step_count; i++) {
        struct ll_step *step = &trace->steps[i];
        uint32_t recorded = step->op_count;
        step->first_op = (uint32_t)op;
        while (op < trace->op_count && trace->ops[op].step == i)
            op++;
        step->op_count = (uint32_t)op - step->first_op;
        step->complete = build->step_recorded[i] && recorded == step->op_count;
        if (!build->step_recorded[i])
            time_by_ops(trace, step);
    }
}

/* Gives the ops to the cuts instead of the steps; ops that are lost leave their step incomplete. False when
 * memory ran out. */
static bool cut(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    uint32_t last_op = ll_build_ops_before(build, build->next_op);
    const struct ll_step *last = &build->cuts[build->cut_count - 1];
    if (build->next_op > (uint64_t)last->first_op + last->op_count)
        return true; /* they do not reach to the end: what was recorded stays */
    if (!ll_grow(&trace->steps, &build->step_capacity, build->cut_count, sizeof *trace->steps))
        return ll_build_no_memory(build);
    trace->step_count = build->cut_count;
    for (uint64_t i = 0; i < build->cut_count; i++) {
        const struct ll_step *cut = &build->cuts[i];
        uint32_t first = ll_build_ops_before(build, cut->first_op);
        uint32_t end = i + 1 < build->cut_count ? ll_build_ops_before(build, cut[1].first_op) : last_op;
        trace->steps[i] = *cut;
        trace->steps[i].first_op = first;
        trace->steps[i].op_count = end - first;
        trace->steps[i].complete = cut->complete && end - first == cut->op_count;
        for (uint32_t op = first; op < end; op++)
            trace->ops[op].step = (uint32_t)i;
    }
    return true;
}

/* Fills what only the end tells: steps, looks of tensors that nobody knows, losses. False when it cannot be
 * afforded or memory ran out. */
static bool build_finish(struct ll_trace_build *build)
{
    struct ll_trace *trace = build->trace;
    if (!give_looks(build))
        return false;
    count_steps(build);
    if (build->cut_count && !cut(build))
        return false;
    uint64_t total = build->ended ? build->total_ops : ll_walk_indexed_ops(build->walk);
    if (!ll_fits(total) || total < build->next_op)
        total = build->next_op;
    trace->lost_ops = total - trace->op_count;
    trace->lost_bytes = build->walk->lost_bytes;
    trace->lost_frames = build->walk->lost_frames;
    trace->closed = build->walk->index; /* what comes last */
    ll_build_finish_timeline(build);
    return true;
}

/* Frees what building took; the trace stays the caller's. */
static void build_release(struct ll_trace_build *build)
{
    block_release(&build->block);
    free(build->strings.at);
    free(build->descs.at);
    free(build->signatures.at);
    free(build->edges.at);
    free(build->stretches);
    free(build->step_recorded);
    free(build->cuts);
}
