/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/data.h"

#include "sim/cli/command.h"
#include "tracer/base/file.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 }; /* of a data file */

static bool add_file(const char *path, struct ll_arena *arena, struct ll_diags *diags,
                     struct ll_measured_rows *rows)
{
    struct ll_contents text = {0};
    size_t count = 0;
    enum ll_status status = ll_read_whole(path, MOST_BYTES, arena, &text);
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    const struct ll_measured *more = ll_measured_read(text.bytes, text.length, path, arena, diags, &count);
    if (!more)
        return false;
    if (!ll_grow(&rows->at, &rows->capacity, rows->count + count, sizeof *rows->at))
        return ll_complain(diags, (struct ll_place){.file = path}, "memory ran out");
    memcpy(rows->at + rows->count, more, count * sizeof *more);
    rows->count += count;
    return true;
}

bool ll_read_rows(const char *const *paths, size_t path_count, struct ll_arena *arena,
                  struct ll_measured_rows *rows)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    bool good = diags != NULL;
    for (size_t i = 0; diags && i < path_count; i++)
        good &= add_file(paths[i], arena, diags, rows);
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    return good;
}
