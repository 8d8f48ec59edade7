/* SPDX-License-Identifier: Apache-2.0 */
/* Sounds: whatever is accepted has a rate that cepstra take, and as many samples as it says, none of them
 * louder than possible. */
#include "models/data/speech.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_sound sound = {0};
    bool good = ll_sound_parse(data, size, "sound", &arena, &sound, &diags);
    if (good != (diags.count == 0))
        abort();
    if (good &&
        (sound.rate_Hz < LL_LEAST_RATE_HZ || sound.rate_Hz > LL_MOST_RATE_HZ || sound.count > size / 2))
        abort();
    for (uint64_t i = 0; i < sound.count; i++)
        if (!(sound.samples[i] >= -1 && sound.samples[i] <= 1))
            abort();
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return 0;
}
