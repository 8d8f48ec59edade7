/* SPDX-License-Identifier: Apache-2.0 */
/* Stories of a small vocabulary: whatever is accepted has its words alone. */
#include "models/data/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_words(const int32_t *words, uint64_t count, int32_t least, int32_t most)
{
    for (uint64_t i = 0; i < count; i++)
        if (words[i] < least || words[i] > most)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ll_story_sizes sizes = {12, 3, 4};
    struct ll_text text = {"stories", (const char *)data, size};
    struct ll_map words = {0};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_stories stories = {.count = 0};
    bool good = ll_stories_read(&text, sizes, &words, &arena, &stories, &diags);
    if (good != (diags.count == 0))
        abort();
    check_words(stories.sentences, stories.count * 3 * 4, 0, 11);
    check_words(stories.questions, stories.count * 4, 0, 11);
    check_words(stories.answers, stories.count, 1, 11);
    ll_map_release(&words);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return 0;
}
