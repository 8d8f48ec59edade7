/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/accesses.h"

#include "sim/cli/command.h"
#include "tracer/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = 64 };

struct ll_access_file {
    const char *path, *part;
    FILE *stream;
    int error; /* the first one, as errno */
};

struct ll_access_file *ll_access_file_open(const char *path, struct ll_arena *arena)
{
    if (!ll_may_replace(path))
        return NULL;
    struct ll_access_file *file = ll_alloc(arena, 1, sizeof *file);
    const char *part = file ? ll_path_beside(arena, path) : NULL;
    FILE *stream = part ? fopen(part, "w") : NULL;
    if (!stream) {
        ll_failed("%s: %s", path, part ? strerror(errno) : "memory ran out");
        return NULL;
    }
    *file = (struct ll_access_file){.path = path, .part = part, .stream = stream};
    return file;
}

void ll_access_file_add(void *context, uint64_t address, uint64_t bytes, bool write)
{
    struct ll_access_file *file = context;
    for (uint64_t at = address; at < address + bytes && !file->error; at += LINE_BYTES)
        if (fprintf(file->stream, "%s 0x%" PRIx64 "\n", write ? "ST" : "LD", at) < 0)
            file->error = errno;
}

bool ll_access_file_is_well(const struct ll_access_file *file)
{
    return !file->error;
}

bool ll_access_file_close(struct ll_access_file *file, bool done)
{
    if (fclose(file->stream) != 0 && !file->error)
        file->error = errno;
    enum ll_status kept = ll_path_keep(file->part, file->path, done && !file->error);
    if (file->error)
        ll_failed("%s: %s", file->path, strerror(file->error));
    else if (kept != LL_OK)
        ll_failed("%s: %s", file->path, ll_status_text(kept));
    return !file->error && kept == LL_OK;
}
