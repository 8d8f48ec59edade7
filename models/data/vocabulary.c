/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/vocabulary.h"

#include "tracer/base/diag.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const specials[LL_SPECIAL_WORDS] = {"_PAD", "_GO", "_EOS", "_UNK"};

bool ll_vocabulary_begin(struct ll_vocabulary *vocabulary)
{
    for (int i = 0; i < LL_SPECIAL_WORDS; i++)
        if (ll_vocabulary_add(vocabulary, (struct ll_words){specials[i], strlen(specials[i])}) != i)
            return false;
    return true;
}

int32_t ll_vocabulary_add(struct ll_vocabulary *vocabulary, struct ll_words word)
{
    uint32_t number = ll_map_intern(&vocabulary->words, word.text, word.length, NULL);
    return number == LL_NO_ID ? -1 : (int32_t)number;
}

int32_t ll_vocabulary_find(const struct ll_vocabulary *vocabulary, struct ll_words word)
{
    uint32_t number = ll_map_find(&vocabulary->words, word.text, word.length);
    return number == LL_NO_ID || number < LL_SPECIAL_WORDS ? LL_WORD_UNKNOWN : (int32_t)number;
}

struct ll_words ll_vocabulary_word(const struct ll_vocabulary *vocabulary, int32_t number)
{
    bool known = number >= 0 && (uint32_t)number < vocabulary->words.count;
    const struct ll_map_entry *entry =
        &vocabulary->words.entries[known ? (uint32_t)number : (uint32_t)LL_WORD_UNKNOWN];
    return (struct ll_words){entry->bytes, entry->length};
}

void ll_vocabulary_release(struct ll_vocabulary *vocabulary)
{
    ll_map_release(&vocabulary->words);
}

static bool is_special(struct ll_words word, uint64_t line)
{
    const char *special = specials[line - 1];
    return word.length == strlen(special) && memcmp(word.text, special, word.length) == 0;
}

/* One line of a vocabulary: a single word that was not there before. */
static bool read_line(struct ll_vocabulary *vocabulary, const struct ll_text *text,
                      const struct ll_line *line, struct ll_diags *diags)
{
    struct ll_place place = {.file = text->name, .line = line->number, .column = 1};
    struct ll_words rest = line->words, word, more;
    uint32_t count = vocabulary->words.count;
    if (!ll_next_word(&rest, &word))
        return ll_complain(diags, place, "expected a word");
    if (ll_next_word(&rest, &more)) {
        place.column += (uint64_t)(more.text - line->words.text);
        return ll_complain(diags, place, "`%.*s`: expected one word a line", ll_words_shown(more), more.text);
    }
    if (line->number <= LL_SPECIAL_WORDS && !is_special(word, line->number))
        return ll_complain(diags, place,
                           "`%.*s`: expected %s; a vocabulary begins with _PAD, _GO, _EOS, _UNK",
                           ll_words_shown(word), word.text, specials[line->number - 1]);
    int32_t number = ll_vocabulary_add(vocabulary, word);
    if (number < 0)
        return ll_complain(diags, place, "%s", ll_status_text(LL_NO_MEMORY));
    return (uint32_t)number == count ||
           ll_complain(diags, place, "`%.*s`: this word stands further up already", ll_words_shown(word),
                       word.text);
}

bool ll_vocabulary_read(struct ll_vocabulary *vocabulary, const struct ll_text *text, uint64_t most,
                        struct ll_diags *diags)
{
    struct ll_place end = {.file = text->name};
    bool good = true;
    for (struct ll_line line = {0}; ll_next_line(text, &line); end.line = line.number)
        good &= read_line(vocabulary, text, &line, diags);
    if (end.line <= LL_SPECIAL_WORDS)
        good =
            ll_complain(diags, end, "the file ends here; expected _PAD, _GO, _EOS, _UNK and a word at least");
    if (end.line > most)
        good = ll_complain(diags, end, "there are %" PRIu64 " words; the model has room for %" PRIu64,
                           end.line, most);
    return good;
}

struct counted {
    uint32_t id;
    uint64_t count;
};

static int by_count(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

/* Numbers each different word of the text, and counts it. */
static bool count_words(const struct ll_text *text, struct ll_map *words, struct counted **counted)
{
    uint64_t capacity = 0;
    for (struct ll_line line = {0}; ll_next_line(text, &line);)
        for (struct ll_words rest = line.words, word; ll_next_word(&rest, &word);) {
            bool is_new = false;
            uint32_t id = ll_map_intern(words, word.text, word.length, &is_new);
            if (id == LL_NO_ID || !ll_grow(counted, &capacity, (uint64_t)id + 1, sizeof **counted))
                return false;
            (*counted)[id] = (struct counted){id, is_new ? 1 : (*counted)[id].count + 1};
        }
    return true;
}

bool ll_vocabulary_build(struct ll_vocabulary *vocabulary, const struct ll_text *text, uint64_t most)
{
    struct ll_map words = {0};
    struct counted *counted = NULL;
    bool good = ll_vocabulary_begin(vocabulary) && count_words(text, &words, &counted);
    if (good && words.count > 0)
        qsort(counted, words.count, sizeof *counted, by_count);
    for (uint32_t i = 0; good && i < words.count && vocabulary->words.count < most; i++) {
        const struct ll_map_entry *entry = &words.entries[counted[i].id];
        good = ll_vocabulary_add(vocabulary, (struct ll_words){entry->bytes, entry->length}) >= 0;
    }
    free(counted);
    ll_map_release(&words);
    return good;
}
