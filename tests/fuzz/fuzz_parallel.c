/* SPDX-License-Identifier: Apache-2.0 */
/* Up to four texts, divided by NUL: sentences, their translations, and the vocabularies of both. Whatever is
 * accepted has words of its vocabularies alone, and fills batches with them. */
#include "models/data/text.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_WORDS = 40, BATCH = 3 };

static const struct ll_bucket sizes[] = {{3, 4}, {6, 9}};

/* The first text of these bytes; nameless where nothing is left. */
static struct ll_text cut(const char **bytes, size_t *size, const char *name)
{
    struct ll_text text = {0};
    if (!*bytes)
        return text;
    const char *end = memchr(*bytes, '\0', *size);
    text = (struct ll_text){name, *bytes, end ? (size_t)(end - *bytes) : *size};
    *size -= end ? text.size + 1 : *size;
    *bytes = end ? end + 1 : NULL;
    return text;
}

static void check_words(const int32_t *words, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (words[i] < 0 || words[i] >= MOST_WORDS)
            abort();
}

static void fill_batches(const struct ll_corpus *corpus)
{
    struct ll_arena arena = {0};
    struct ll_buckets buckets;
    int32_t words[10 * BATCH];
    float weights[9 * BATCH];
    if (ll_buckets_sort(&buckets, corpus, sizes, 2, &arena))
        for (uint32_t i = 0; i < 2 * LL_PART_COUNT; i++) {
            struct ll_batch batch = {&buckets, i / 2, (enum ll_data_part)(i % 2), BATCH, 1, 2};
            if (buckets.of[batch.bucket][batch.part].count == 0)
                continue;
            ll_batch_source(&batch, words);
            check_words(words, sizes[batch.bucket].source * BATCH);
            ll_batch_target(&batch, words);
            check_words(words, (sizes[batch.bucket].target + 1) * BATCH);
            ll_batch_weights(&batch, weights);
        }
    ll_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    struct ll_corpus corpus = {0};
    struct ll_diags diags = {0};
    struct ll_parallel_text text;
    text.source = cut(&bytes, &size, "source.txt");
    text.target = cut(&bytes, &size, "target.txt");
    text.source_vocabulary = cut(&bytes, &size, "source.vocabulary");
    text.target_vocabulary = cut(&bytes, &size, "target.vocabulary");
    bool good = ll_corpus_parse(&corpus, &text, MOST_WORDS, &diags);
    if (good != (diags.count == 0))
        abort();
    check_words(corpus.words, corpus.word_count);
    if (good)
        fill_batches(&corpus);
    ll_corpus_release(&corpus);
    ll_diags_release(&diags);
    return 0;
}
