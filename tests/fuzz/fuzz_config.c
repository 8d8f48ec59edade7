/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a model's config.json: a list of layers, each of a size, or complaints. */
#include "models/llm/config.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_arena arena = {0};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_llm llm = {0};
    if (!diags)
        return 0;
    bool read = ll_llm_read("fuzz", (const char *)data, size, &arena, &llm, diags);
    if (read != (diags->count == 0) || (read && (llm.layer_count == 0 || llm.hidden == 0)))
        abort();
    ll_diags_release(diags);
    free(diags);
    ll_arena_release(&arena);
    return 0;
}
