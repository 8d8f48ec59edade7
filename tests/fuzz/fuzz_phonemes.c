/* SPDX-License-Identifier: Apache-2.0 */
/* Phonemes: whatever is accepted has some, each with a number that has a name. */
#include "models/data/speech.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_text text = {"phonemes", (const char *)data, size};
    struct ll_map names = {0};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_phonemes phonemes = {0};
    bool good = ll_phonemes_parse(&text, &names, &arena, &phonemes, &diags);
    if (good != (diags.count == 0))
        abort();
    if (good && (phonemes.count == 0 || ll_phonemes_frames(&phonemes) < phonemes.count))
        abort();
    for (uint64_t i = 0; good && i < phonemes.count; i++)
        if (phonemes.labels[i] < 0 || phonemes.labels[i] >= (int32_t)names.count)
            abort();
    ll_map_release(&names);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return 0;
}
