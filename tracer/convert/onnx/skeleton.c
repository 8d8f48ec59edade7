/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a network without reading its weights.
 *
 * A file of which only the structure is read: what lies in large constants stays as it was allocated, zeros,
 * whose memory the system need not even provide. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracer/convert/onnx/onnx.h"

/* Fields of onnx.proto that lead to constants, and those of a constant that hold its elements. */
enum { MODEL_GRAPH = 7, GRAPH_TENSOR = 5 };
enum {
    TENSOR_FLOATS = 4,
    TENSOR_INT32S = 5,
    TENSOR_INT64S = 7,
    TENSOR_RAW = 9,
    TENSOR_DOUBLES = 10,
    TENSOR_UINT64S = 11
};

struct skeleton {
    int file;
    uint8_t *bytes;
    uint64_t size;
    uint64_t begin, end; /* what was read last, at its place */
    bool failed;
};

enum { WINDOW = 1 << 16, LARGE_CONSTANT = 1 << 16, READ_AHEAD = 64 };

/* Reads a stretch of the file to its place. */
static void fetch(struct skeleton *s, uint64_t begin, uint64_t end)
{
    end = ll_min(end, s->size);
    while (begin < end && !s->failed) {
        ssize_t got = pread(s->file, s->bytes + begin, end - begin, (off_t)begin);
        s->failed = got <= 0;
        begin += got > 0 ? (uint64_t)got : 0;
    }
}

/* Makes sure that a key and a length at this place have been read. */
static void look_at(struct skeleton *s, uint64_t at)
{
    if (at >= s->begin && ll_min(s->size, at + READ_AHEAD) <= s->end)
        return;
    s->begin = at;
    s->end = ll_min(s->size, at + WINDOW);
    fetch(s, s->begin, s->end);
}

/* Whether elements of a constant are kept in this field. */
static bool holds_elements(uint64_t number)
{
    return number == TENSOR_RAW || number == TENSOR_FLOATS || number == TENSOR_INT32S ||
           number == TENSOR_INT64S || number == TENSOR_DOUBLES || number == TENSOR_UINT64S;
}

enum message { IN_MODEL, IN_GRAPH, IN_TENSOR };

/* The fields of a message from `at` to `end`. What is no graph and no constant is read whole. */
static void walk_message(struct skeleton *s, uint64_t at, uint64_t end, enum message message)
{
    while (at < end && !s->failed) {
        uint64_t key, length = 0;
        look_at(s, at);
        struct ll_wire wire = {s->bytes + at, s->bytes + ll_min(end, at + READ_AHEAD)};
        if (!ll_wire_varint(&wire, &key) || ((key & 7) == LL_WIRE_BYTES && !ll_wire_varint(&wire, &length)))
            break; /* whoever reads it says so */
        if ((key & 7) == LL_WIRE_VARINT && !ll_wire_varint(&wire, &length))
            break;
        uint64_t inside = (uint64_t)(wire.at - s->bytes), number = key >> 3;
        length = (key & 7) == LL_WIRE_BYTES     ? length
                 : (key & 7) == LL_WIRE_FIXED64 ? 8
                 : (key & 7) == LL_WIRE_FIXED32 ? 4
                                                : 0;
        if (length > end - inside)
            break;
        at = inside + length;
        if (message == IN_MODEL && number == MODEL_GRAPH)
            walk_message(s, inside, at, IN_GRAPH);
        else if (message == IN_GRAPH && number == GRAPH_TENSOR)
            walk_message(s, inside, at, IN_TENSOR);
        else if (message != IN_TENSOR || !holds_elements(number) || length < LARGE_CONSTANT)
            fetch(s, ll_max(inside, ll_min(at, s->end)), at);
    }
    if (at < end)
        fetch(s, at, end);
}

bool ll_onnx_open(const char *path, struct ll_arena *arena, struct ll_input_file *input,
                  enum ll_status *status)
{
    struct skeleton s = {.file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    struct stat there;
    static const char onnx[] = "onnx";
    uint8_t head[4096];
    *status = LL_OK;
    if (s.file < 0)
        return false;
    ssize_t got = pread(s.file, head, sizeof head, 0);
    const char *format = got > 0 ? ll_format_detect(head, (uint64_t)got) : NULL;
    bool ours = format && strcmp(format, onnx) == 0 && fstat(s.file, &there) == 0 && S_ISREG(there.st_mode);
    s.size = ours ? (uint64_t)there.st_size : 0;
    s.bytes = ours ? ll_alloc(arena, s.size + 1, 1) : NULL;
    if (s.bytes) {
        walk_message(&s, 0, s.size, IN_MODEL);
        *status = s.failed ? LL_SHORTENED : LL_OK;
        *input = (struct ll_input_file){.path = path, .bytes = s.bytes, .size = s.size};
    }
    close(s.file);
    return s.bytes != NULL;
}
