/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/idx.h"

#include "tracer/base/file.h"
#include "tracer/base/num.h"

#include <inttypes.h>

enum { BYTES = 8, HEAD = 4 };
static const uint64_t most_bytes = UINT64_C(1) << 34;

bool ll_idx_parse(const void *bytes, size_t size, const char *name, struct ll_idx *idx,
                  struct ll_diags *diags)
{
    const uint8_t *at = bytes;
    struct ll_place place = {.file = name};
    if (size < HEAD || at[0] != 0 || at[1] != 0)
        return ll_complain(diags, place, "this is not an IDX file: it does not begin with two zeros");
    if (at[2] != BYTES)
        return ll_complain(diags, place, "elements of type 0x%02x: expected bytes, type 0x08", at[2]);
    if (at[3] < 1 || at[3] > LL_IDX_RANK || size < HEAD + 4u * at[3])
        return ll_complain(diags, place, "%u dimensions: expected from 1 to %d, four bytes each", at[3],
                           LL_IDX_RANK);
    *idx = (struct ll_idx){.rank = at[3], .bytes = at + HEAD + 4u * at[3]};
    uint64_t elements = 1;
    for (unsigned i = 0; i < idx->rank; i++) {
        const uint8_t *d = at + HEAD + 4 * i;
        idx->dim[i] = (uint64_t)d[0] << 24 | (uint64_t)d[1] << 16 | (uint64_t)d[2] << 8 | d[3];
        elements = ll_mul(elements, idx->dim[i]);
    }
    uint64_t left = size - HEAD - 4u * idx->rank;
    if (elements != left)
        return ll_complain(diags, place, "%" PRIu64 " bytes of elements: its dimensions ask for %" PRIu64,
                           left, elements);
    return true;
}

bool ll_idx_load(const char *folder, const char *const *names, struct ll_arena *arena, struct ll_idx *idx,
                 struct ll_diags *diags)
{
    const char *first = names[0];
    for (; *names; names++) {
        struct ll_contents contents;
        const char *path = ll_format(arena, "%s/%s", folder, *names);
        enum ll_status status = path ? ll_read_whole(path, most_bytes, arena, &contents) : LL_NO_MEMORY;
        if (status == LL_OK)
            return ll_idx_parse(contents.bytes, contents.length, path, idx, diags);
        if (status != LL_NO_FILE)
            return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    }
    return ll_complain(diags, (struct ll_place){.file = folder}, "there is no %s in this folder", first);
}
