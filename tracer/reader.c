/* SPDX-License-Identifier: Apache-2.0 */
/* The walk brings the frames that are whole, the build makes a trace of them, the check has the last word. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/reader.h"

#include "tracer/build.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool build_frame(struct ll_trace_build *build, const struct ll_frame *frame)
{
    static bool (*const builders[])(struct ll_trace_build *) = {
        [LL_FRAME_FACTS] = ll_build_facts, [LL_FRAME_DEFINITIONS] = ll_build_definitions,
        [LL_FRAME_OPS] = ll_build_ops,     [LL_FRAME_STEPS] = ll_build_steps,
        [LL_FRAME_END] = ll_build_end,     [LL_FRAME_CUTS] = ll_build_cuts,
    };
    if (frame->kind >= sizeof builders / sizeof builders[0] || !builders[frame->kind])
        return true; /* of a newer minor version */
    build->frame = frame;
    build->weight_limit = ll_growth_limit(frame->offset + frame->bytes);
    if (!ll_block_open(&build->block, frame->columns))
        return ll_build_refuse(build, "its columns do not fill it");
    return builders[frame->kind](build);
}

static enum ll_status build_all(struct ll_trace_build *build)
{
    for (;;) {
        struct ll_frame frame;
        bool found;
        enum ll_status status = ll_walk_next(build->walk, &frame, &found);
        if (status != LL_OK)
            return status;
        if (!found)
            return ll_build_finish(build) ? LL_OK : build->status;
        build_frame(build, &frame);
        if (build->status != LL_OK)
            return build->status;
    }
}

/* What the walk and the build let through obeys ll_trace_check; this holds them to it. */
static enum ll_status check(struct ll_trace *trace, struct ll_walk *walk)
{
    struct ll_arena arena = {0};
    const char *trouble = ll_trace_check(trace, &arena);
    if (trouble)
        ll_walk_complain(walk, "the trace contradicts itself: %s", trouble);
    ll_arena_release(&arena);
    return trouble ? LL_DAMAGED : LL_OK;
}

bool ll_trace_begins(const void *bytes, size_t size)
{
    struct ll_view view = {bytes, (const uint8_t *)bytes + size};
    struct ll_version version;
    return ll_take_header(&view, &version);
}

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
        if (*status == LL_OK)
            *status = check(trace, &walk);
        ll_build_release(&build);
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
