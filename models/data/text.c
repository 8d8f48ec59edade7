/* SPDX-License-Identifier: Apache-2.0 */
/* Text: vocabularies, lines and words, sentences with their translations, made-up sentences, and batches of
 * about one length. */
#include "models/data/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tracer/base/diag.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"
#include "tracer/base/random.h"

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

static const uint64_t most_bytes = UINT64_C(1) << 32;

bool ll_text_load(const char *path, struct ll_arena *arena, struct ll_text *text, struct ll_diags *diags)
{
    struct ll_contents contents = {0};
    enum ll_status status = ll_read_whole(path, most_bytes, arena, &contents);
    *text = (struct ll_text){path, contents.bytes, contents.length};
    return status == LL_OK ||
           ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
}

bool ll_next_line(const struct ll_text *text, struct ll_line *line)
{
    if (text->size == 0)
        return false; /* there may be no bytes to point to */
    const char *at = text->bytes, *end = text->bytes + text->size;
    if (line->number > 0) {
        at = memchr(line->words.text, '\n', (size_t)(end - line->words.text));
        at = at ? at + 1 : end;
    }
    if (at == end)
        return false;
    const char *feed = memchr(at, '\n', (size_t)(end - at));
    line->words = (struct ll_words){at, (size_t)((feed ? feed : end) - at)};
    line->number++;
    if (feed && line->words.length > 0 && feed[-1] == '\r')
        line->words.length--;
    return true;
}

int ll_words_shown(struct ll_words words)
{
    size_t length = words.length < 40 ? words.length : 40;
    while (length > 0 && length < words.length && ((unsigned char)words.text[length] & 0xc0) == 0x80)
        length--;
    return (int)length;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

bool ll_next_word(struct ll_words *rest, struct ll_words *word)
{
    const char *at = rest->text, *end = rest->text + rest->length;
    while (at < end && is_blank(*at))
        at++;
    const char *begin = at;
    while (at < end && !is_blank(*at))
        at++;
    *word = (struct ll_words){begin, (size_t)(at - begin)};
    *rest = (struct ll_words){at, (size_t)(end - at)};
    return word->length > 0;
}

/* How many bytes the character at the front of these has, 0 when it is none: an encoding that is too long, a
 * surrogate, beyond U+10FFFF, or cut off. */
static size_t character_bytes(const unsigned char *at, size_t left)
{
    static const struct {
        unsigned char first, last, low, high; /* of the first byte; of the second */
        size_t bytes;
    } forms[] = {
        {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
        {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
        {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    if (at[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (at[0] < forms[i].first || at[0] > forms[i].last)
            continue;
        bool good = left >= forms[i].bytes && at[1] >= forms[i].low && at[1] <= forms[i].high;
        for (size_t j = 2; good && j < forms[i].bytes; j++)
            good = at[j] >= 0x80 && at[j] <= 0xbf;
        return good ? forms[i].bytes : 0;
    }
    return 0;
}

static bool check_line(const struct ll_text *text, const struct ll_line *line, struct ll_diags *diags)
{
    const unsigned char *at = (const unsigned char *)line->words.text, *end = at + line->words.length;
    struct ll_place place = {.file = text->name, .line = line->number, .column = 1};
    for (size_t bytes; at < end; at += bytes, place.column += bytes) {
        bytes = character_bytes(at, (size_t)(end - at));
        if (bytes == 0)
            return ll_complain(diags, place, "byte %02x is not UTF-8; expected plain text", at[0]);
        if ((*at < 0x20 && !is_blank((char)*at)) || *at == 0x7f)
            return ll_complain(diags, place, "control character %02x; expected plain text", at[0]);
    }
    return true;
}

bool ll_text_check(const struct ll_text *text, struct ll_diags *diags)
{
    bool good = true;
    for (struct ll_line line = {0}; ll_next_line(text, &line);)
        good &= check_line(text, &line, diags);
    return good;
}

static bool add_word(struct ll_corpus *corpus, int32_t word)
{
    if (!ll_grow(&corpus->words, &corpus->word_capacity, corpus->word_count + 1, sizeof *corpus->words))
        return false;
    corpus->words[corpus->word_count++] = word;
    return true;
}

/* The words from `first` on, of which the last target_words are the translation. */
static bool add_pair(struct ll_corpus *corpus, uint64_t first, uint64_t target_words)
{
    if (!ll_grow(&corpus->pairs, &corpus->pair_capacity, corpus->pair_count + 1, sizeof *corpus->pairs))
        return false;
    corpus->pairs[corpus->pair_count++] =
        (struct ll_pair){first, corpus->word_count - first - target_words, target_words};
    return true;
}

static bool add_sentence(struct ll_corpus *corpus, const struct ll_vocabulary *vocabulary,
                         struct ll_words sentence)
{
    for (struct ll_words word; ll_next_word(&sentence, &word);)
        if (!add_word(corpus, ll_vocabulary_find(vocabulary, word)))
            return false;
    return true;
}

static bool add_lines(struct ll_corpus *corpus, struct ll_words source, struct ll_words target)
{
    uint64_t first = corpus->word_count;
    if (!add_sentence(corpus, &corpus->source, source))
        return false;
    uint64_t middle = corpus->word_count;
    if (!add_sentence(corpus, &corpus->target, target))
        return false;
    if (middle > first && corpus->word_count > middle)
        return add_pair(corpus, first, corpus->word_count - middle);
    corpus->word_count = first;
    return true;
}

/* Where the shorter text ends, when there is one. */
static bool check_as_long(const struct ll_text *ended, uint64_t lines, const struct ll_text *longer,
                          struct ll_line *line, struct ll_diags *diags)
{
    while (ll_next_line(longer, line))
        ;
    return line->number == lines ||
           ll_complain(diags, (struct ll_place){.file = ended->name, .line = lines},
                       "the file ends here; expected %" PRIu64 " lines, as many as %s has", line->number,
                       longer->name);
}

static bool parse_vocabulary(struct ll_vocabulary *vocabulary, const struct ll_text *words,
                             const struct ll_text *text, uint64_t most, struct ll_diags *diags)
{
    if (words->name)
        return ll_text_check(words, diags) && ll_vocabulary_read(vocabulary, words, most, diags);
    return ll_vocabulary_build(vocabulary, text, most) ||
           ll_complain(diags, (struct ll_place){.file = text->name}, "%s", ll_status_text(LL_NO_MEMORY));
}

static bool parse_lines(struct ll_corpus *corpus, const struct ll_text *source, const struct ll_text *target,
                        struct ll_diags *diags)
{
    struct ll_line left = {0}, right = {0};
    bool more_left = ll_next_line(source, &left), more_right = ll_next_line(target, &right);
    while (more_left && more_right) {
        if (!add_lines(corpus, left.words, right.words))
            return ll_complain(diags, (struct ll_place){.file = source->name, .line = left.number}, "%s",
                               ll_status_text(LL_NO_MEMORY));
        more_left = ll_next_line(source, &left);
        more_right = ll_next_line(target, &right);
    }
    return more_left ? check_as_long(target, right.number, source, &left, diags)
                     : check_as_long(source, left.number, target, &right, diags);
}

bool ll_corpus_parse(struct ll_corpus *corpus, const struct ll_parallel_text *text, uint64_t most_words,
                     struct ll_diags *diags)
{
    bool good = ll_text_check(&text->source, diags);
    good &= ll_text_check(&text->target, diags);
    good &= parse_vocabulary(&corpus->source, &text->source_vocabulary, &text->source, most_words, diags);
    good &= parse_vocabulary(&corpus->target, &text->target_vocabulary, &text->target, most_words, diags);
    if (!good || !parse_lines(corpus, &text->source, &text->target, diags))
        return false;
    return corpus->pair_count > 0 || ll_complain(diags, (struct ll_place){.file = text->source.name},
                                                 "there is no sentence that has a translation");
}

/* A file that may be missing leaves the text without a name. */
static bool load(const char *folder, const char *name, bool optional, struct ll_arena *arena,
                 struct ll_text *text, struct ll_diags *diags)
{
    const char *path = ll_format(arena, "%s/%s", folder, name);
    if (!path)
        return ll_complain(diags, (struct ll_place){.file = folder}, "%s", ll_status_text(LL_NO_MEMORY));
    return (optional && access(path, F_OK) != 0) || ll_text_load(path, arena, text, diags);
}

bool ll_corpus_read(struct ll_corpus *corpus, const char *folder, uint64_t most_words, struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_parallel_text text = {0};
    bool good = load(folder, "source.txt", false, &arena, &text.source, diags);
    good &= load(folder, "target.txt", false, &arena, &text.target, diags);
    good &= load(folder, "source.vocabulary", true, &arena, &text.source_vocabulary, diags);
    good &= load(folder, "target.vocabulary", true, &arena, &text.target_vocabulary, diags);
    good = good && ll_corpus_parse(corpus, &text, most_words, diags);
    ll_arena_release(&arena);
    return good;
}

/* The words a, b, ... z, aa, ab, ... */
static bool add_letters(struct ll_vocabulary *vocabulary, uint64_t letters)
{
    for (uint64_t i = 0; i < letters; i++) {
        char text[16];
        size_t at = sizeof text;
        for (uint64_t rest = i + 1; rest > 0; rest = (rest - 1) / 26)
            text[--at] = (char)('a' + (rest - 1) % 26);
        if (ll_vocabulary_add(vocabulary, (struct ll_words){text + at, sizeof text - at}) < 0)
            return false;
    }
    return true;
}

static bool add_reversed(struct ll_corpus *corpus, const struct ll_reversal *reversal, uint64_t pair)
{
    uint64_t key = ll_random_key(reversal->seed, pair), first = corpus->word_count;
    uint64_t length =
        reversal->shortest + ll_random_bits(key, 0) % (reversal->longest - reversal->shortest + 1);
    for (uint64_t i = 0; i < length; i++)
        if (!add_word(corpus, LL_SPECIAL_WORDS + (int32_t)(ll_random_bits(key, 1 + i) % reversal->letters)))
            return false;
    for (uint64_t i = length; i-- > 0;)
        if (!add_word(corpus, corpus->words[first + i]))
            return false;
    return add_pair(corpus, first, length);
}

bool ll_corpus_reverse(struct ll_corpus *corpus, const struct ll_reversal *reversal)
{
    if (!ll_vocabulary_begin(&corpus->source) || !ll_vocabulary_begin(&corpus->target) ||
        !add_letters(&corpus->source, reversal->letters) || !add_letters(&corpus->target, reversal->letters))
        return false;
    for (uint64_t i = 0; i < reversal->pairs; i++)
        if (!add_reversed(corpus, reversal, i))
            return false;
    return true;
}

void ll_corpus_release(struct ll_corpus *corpus)
{
    ll_vocabulary_release(&corpus->source);
    ll_vocabulary_release(&corpus->target);
    free(corpus->words);
    free(corpus->pairs);
    *corpus = (struct ll_corpus){0};
}

enum { LENGTHS, WORDS, MOST_DRAWS = 1000 };

static uint64_t key_of(const struct ll_reversals *r, int stream, enum ll_data_part part, uint64_t step)
{
    uint64_t key = ll_random_key(r->seed, (uint64_t)stream * LL_PART_COUNT + (uint64_t)part);
    return ll_random_key(key, step);
}

/* Words are taken off one by one, from a random sentence or the next one that has two. */
void ll_reversals_lengths(const struct ll_reversals *r, enum ll_data_part part, uint64_t step,
                          int32_t *lengths)
{
    uint64_t key = key_of(r, LENGTHS, part, step);
    assert(r->missing <= r->batch * (r->longest - 1));
    for (uint64_t i = 0; i < r->batch; i++)
        lengths[i] = (int32_t)r->longest;
    for (uint64_t n = 0; n < r->missing; n++) {
        uint64_t i = ll_random_bits(key, n) % r->batch;
        while (lengths[i] == 1)
            i = (i + 1) % r->batch;
        lengths[i]--;
    }
}

void ll_reversals_words(const struct ll_reversals *r, enum ll_data_part part, uint64_t step, uint64_t i,
                        uint64_t length, int32_t *words)
{
    assert(r->letters > 0);
    uint64_t key = ll_random_key(key_of(r, WORDS, part, step), i), drawn = 0;
    for (int draw = 0; draw < MOST_DRAWS; draw++) {
        uint64_t hash = 0;
        for (uint64_t t = 0; t < length; t++) {
            words[t] = (int32_t)(LL_SPECIAL_WORDS + ll_random_bits(key, drawn++) % r->letters);
            hash = ll_random_key(hash, (uint64_t)words[t]);
        }
        if ((hash % LL_ONE_HELD_BACK_OF == 0) == (part == LL_HELD_BACK))
            return;
    }
}

enum { CHOICE, DRAW }; /* streams of the seed */

uint64_t ll_bucket_words(const struct ll_bucket *size)
{
    uint64_t source = size->source - 1, target = size->target - 2;
    return source < target ? source : target;
}

static bool fits(const struct ll_bucket *size, const struct ll_pair *pair)
{
    return pair->source_words < size->source && pair->target_words + 1 < size->target;
}

/* The first bucket that the pair fits into; the count when there is none. */
static uint32_t bucket_of(const struct ll_buckets *buckets, const struct ll_pair *pair)
{
    uint32_t i = 0;
    while (i < buckets->count && !fits(&buckets->sizes[i], pair))
        i++;
    return i;
}

/* By the words of the sentence, so that no sentence that is held back is learned elsewhere. */
static enum ll_data_part part_of(const struct ll_corpus *corpus, const struct ll_pair *pair)
{
    uint64_t hash = 0;
    for (uint64_t i = 0; i < pair->source_words; i++)
        hash = ll_random_key(hash, (uint64_t)corpus->words[pair->first + i]);
    return hash % LL_ONE_HELD_BACK_OF == 0 ? LL_HELD_BACK : LL_LEARNED;
}

bool ll_buckets_sort(struct ll_buckets *buckets, const struct ll_corpus *corpus,
                     const struct ll_bucket *sizes, uint32_t count, struct ll_arena *arena)
{
    assert(count <= LL_MAX_BUCKETS);
    uint64_t counts[LL_MAX_BUCKETS + 1][LL_PART_COUNT] = {0};
    *buckets = (struct ll_buckets){.corpus = corpus, .count = count};
    memcpy(buckets->sizes, sizes, count * sizeof *sizes);
    for (uint64_t i = 0; i < corpus->pair_count; i++)
        counts[bucket_of(buckets, &corpus->pairs[i])][part_of(corpus, &corpus->pairs[i])]++;
    buckets->too_long = counts[count][LL_LEARNED] + counts[count][LL_HELD_BACK];
    for (uint32_t i = 0; i < count * LL_PART_COUNT; i++) {
        uint32_t bucket = i / LL_PART_COUNT, part = i % LL_PART_COUNT;
        buckets->of[bucket][part].pairs = ll_alloc(arena, counts[bucket][part], sizeof(uint64_t));
        if (!buckets->of[bucket][part].pairs)
            return false;
    }
    for (uint64_t i = 0; i < corpus->pair_count; i++) {
        uint32_t bucket = bucket_of(buckets, &corpus->pairs[i]);
        enum ll_data_part part = part_of(corpus, &corpus->pairs[i]);
        if (bucket < count)
            buckets->of[bucket][part].pairs[buckets->of[bucket][part].count++] = i;
    }
    return true;
}

uint32_t ll_buckets_choose(const struct ll_buckets *buckets, uint64_t seed, uint64_t step)
{
    assert(buckets->count > 0);
    uint64_t total = 0;
    for (uint32_t i = 0; i < buckets->count; i++)
        total += buckets->of[i][LL_LEARNED].count;
    assert(total > 0);
    uint64_t drawn = ll_random_bits(ll_random_key(seed, CHOICE), step) % total;
    uint32_t bucket = 0;
    while (drawn >= buckets->of[bucket][LL_LEARNED].count)
        drawn -= buckets->of[bucket++][LL_LEARNED].count;
    return bucket;
}

const struct ll_pair *ll_batch_pair(const struct ll_batch *batch, uint64_t i)
{
    const uint64_t count = batch->buckets->of[batch->bucket][batch->part].count;
    assert(count > 0);
    uint64_t number = batch->step * batch->size + i;
    if (batch->part == LL_LEARNED)
        number = ll_random_bits(ll_random_key(batch->seed, DRAW), number);
    return &batch->buckets->corpus
                ->pairs[batch->buckets->of[batch->bucket][batch->part].pairs[number % count]];
}

void ll_batch_source(const struct ll_batch *batch, int32_t *words)
{
    const uint64_t steps = batch->buckets->sizes[batch->bucket].source;
    for (uint64_t i = 0; i < batch->size; i++) {
        const struct ll_pair *pair = ll_batch_pair(batch, i);
        const int32_t *sentence = batch->buckets->corpus->words + pair->first;
        for (uint64_t t = 0; t < steps; t++)
            words[(steps - 1 - t) * batch->size + i] = t < pair->source_words ? sentence[t] : LL_WORD_PAD;
    }
}

void ll_batch_target(const struct ll_batch *batch, int32_t *words)
{
    const uint64_t steps = batch->buckets->sizes[batch->bucket].target + 1;
    for (uint64_t i = 0; i < batch->size; i++) {
        const struct ll_pair *pair = ll_batch_pair(batch, i);
        const int32_t *sentence = batch->buckets->corpus->words + pair->first + pair->source_words;
        for (uint64_t t = 0; t < steps; t++)
            words[t * batch->size + i] = t == 0                        ? LL_WORD_GO
                                         : t <= pair->target_words     ? sentence[t - 1]
                                         : t == pair->target_words + 1 ? LL_WORD_EOS
                                                                       : LL_WORD_PAD;
    }
}

void ll_batch_weights(const struct ll_batch *batch, float *weights)
{
    for (uint64_t i = 0; i < batch->size; i++) {
        const struct ll_pair *pair = ll_batch_pair(batch, i);
        for (uint64_t t = 0; t < batch->buckets->sizes[batch->bucket].target; t++)
            weights[t * batch->size + i] = t <= pair->target_words ? 1 : 0;
    }
}

enum { MOST_WORD = 64 };

struct reading {
    const struct ll_text *text;
    struct ll_story_sizes sizes;
    struct ll_map *words;
    struct ll_diags *diags;
    int32_t *story; /* [story_count, sentence]: statements of the story so far */
    uint64_t story_count, story_capacity;
    int32_t *numbers; /* of all questions: sentences, question, answer */
    uint64_t count, capacity;
};

/* Of something in this line, which begins at `at`. */
static struct ll_place place_of(const struct reading *r, const struct ll_line *line, const char *at)
{
    return (struct ll_place){
        .file = r->text->name, .line = line->number, .column = (uint64_t)(at - line->words.text) + 1};
}

static bool complain_no_memory(struct reading *r)
{
    return ll_complain(r->diags, (struct ll_place){.file = r->text->name}, "memory ran out");
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '\'' || (unsigned char)c >= 0x80;
}

/* Cuts the next word off, its letters small, punctuation around it left out; *length 0 when none is left.
 * False after a complaint. */
static bool next_word(struct reading *r, const struct ll_line *line, struct ll_words *rest,
                      char word[MOST_WORD], size_t *length)
{
    *length = 0;
    while (rest->length > 0 && !is_letter(*rest->text)) {
        rest->text++;
        rest->length--;
    }
    for (; rest->length > 0 && is_letter(*rest->text); rest->text++, rest->length--) {
        if (*length == MOST_WORD)
            return ll_complain(r->diags, place_of(r, line, rest->text - *length),
                               "a word has more than %d letters", MOST_WORD);
        char c = *rest->text;
        word[(*length)++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    return true;
}

/* The number of a word that stands at `at`, from 1 on; 0 after a complaint. */
static int32_t number_of(struct reading *r, const struct ll_line *line, const char *word, size_t length,
                         const char *at)
{
    uint32_t id = ll_map_intern(r->words, word, length, NULL);
    if (id == LL_NO_ID)
        return complain_no_memory(r);
    if (id + 1 < r->sizes.vocabulary)
        return (int32_t)id + 1;
    return ll_complain(r->diags, place_of(r, line, at),
                       "`%.*s` is one word more than a vocabulary of %" PRIu64 " has, of which one fills up",
                       (int)length, word, r->sizes.vocabulary);
}

/* Words of a sentence into a row of numbers, filled up with zeros. False after a complaint. */
static bool take_sentence(struct reading *r, const struct ll_line *line, struct ll_words rest, int32_t *row)
{
    char word[MOST_WORD];
    size_t length;
    for (uint64_t i = 0;; i++) {
        if (!next_word(r, line, &rest, word, &length))
            return false;
        if (length == 0)
            return i > 0 ||
                   ll_complain(r->diags, place_of(r, line, rest.text), "there is no word in this sentence");
        if (i == r->sizes.sentence)
            return ll_complain(r->diags, place_of(r, line, rest.text - length),
                               "this sentence has more than %" PRIu64 " words", r->sizes.sentence);
        if (!(row[i] = number_of(r, line, word, length, rest.text - length)))
            return false;
    }
}

static bool take_statement(struct reading *r, const struct ll_line *line, struct ll_words rest)
{
    uint64_t size = r->sizes.sentence;
    if (!ll_grow(&r->story, &r->story_capacity, (r->story_count + 1) * size, sizeof *r->story))
        return complain_no_memory(r);
    int32_t *row = r->story + r->story_count++ * size;
    memset(row, 0, size * sizeof *row);
    return take_sentence(r, line, rest, row);
}

/* How many numbers a question has with all that stands before it. */
static uint64_t numbers_each(const struct ll_story_sizes *sizes)
{
    return (sizes->memory + 1) * sizes->sentence + 1;
}

static bool take_question(struct reading *r, const struct ll_line *line, struct ll_words question,
                          struct ll_words answer)
{
    uint64_t size = r->sizes.sentence, memory = r->sizes.memory, each = numbers_each(&r->sizes);
    uint64_t kept = ll_min(memory, r->story_count);
    char word[MOST_WORD];
    size_t length;
    if (!ll_grow(&r->numbers, &r->capacity, (r->count + 1) * each, sizeof *r->numbers))
        return complain_no_memory(r);
    int32_t *row = r->numbers + r->count++ * each;
    memset(row, 0, each * sizeof *row);
    if (kept > 0)
        memcpy(row, r->story + (r->story_count - kept) * size, kept * size * sizeof *row);
    if (!take_sentence(r, line, question, row + memory * size) || !next_word(r, line, &answer, word, &length))
        return false;
    if (length == 0)
        return ll_complain(r->diags, place_of(r, line, answer.text),
                           "behind the tab there must be an answer");
    row[each - 1] = number_of(r, line, word, length, answer.text - length);
    return row[each - 1] != 0;
}

static bool take_line(struct reading *r, const struct ll_line *line)
{
    struct ll_words rest = line->words;
    uint64_t number = 0;
    size_t digits = 0;
    for (; rest.length > 0 && *rest.text >= '0' && *rest.text <= '9' && digits < 9; digits++) {
        number = number * 10 + (uint64_t)(*rest.text++ - '0');
        rest.length--;
    }
    if (digits == 0 || rest.length == 0 || *rest.text != ' ')
        return ll_complain(r->diags, place_of(r, line, rest.text),
                           "a line of a story begins with its number and a blank");
    if (number == 1)
        r->story_count = 0;
    const char *tab = memchr(rest.text, '\t', rest.length);
    if (!tab)
        return take_statement(r, line, rest);
    struct ll_words question = {rest.text, (size_t)(tab - rest.text)};
    struct ll_words answer = {tab + 1, rest.length - question.length - 1};
    const char *end = memchr(answer.text, '\t', answer.length);
    if (end)
        answer.length = (size_t)(end - answer.text);
    return take_question(r, line, question, answer);
}

/* The questions' numbers, each kind on its own. */
static bool set_apart(struct reading *r, struct ll_arena *arena, struct ll_stories *stories)
{
    uint64_t size = r->sizes.sentence, memory = r->sizes.memory, each = numbers_each(&r->sizes);
    int32_t *sentences = ll_alloc(arena, r->count * memory * size, sizeof *sentences);
    int32_t *questions = ll_alloc(arena, r->count * size, sizeof *questions);
    int32_t *answers = ll_alloc(arena, r->count, sizeof *answers);
    if (!sentences || !questions || !answers)
        return complain_no_memory(r);
    for (uint64_t i = 0; i < r->count; i++) {
        const int32_t *row = r->numbers + i * each;
        memcpy(sentences + i * memory * size, row, memory * size * sizeof *row);
        memcpy(questions + i * size, row + memory * size, size * sizeof *row);
        answers[i] = row[each - 1];
    }
    *stories = (struct ll_stories){r->sizes, r->count, sentences, questions, answers};
    return true;
}

bool ll_stories_read(const struct ll_text *text, struct ll_story_sizes sizes, struct ll_map *words,
                     struct ll_arena *arena, struct ll_stories *stories, struct ll_diags *diags)
{
    struct reading r = {.text = text, .sizes = sizes, .words = words, .diags = diags};
    struct ll_line line = {0};
    bool good = ll_text_check(text, diags);
    for (bool is_text = good; is_text && ll_next_line(text, &line);)
        good &= line.words.length == 0 || take_line(&r, &line);
    if (good && r.count == 0)
        good = ll_complain(diags, (struct ll_place){.file = text->name}, "there is no question in it");
    good = good && set_apart(&r, arena, stories);
    free(r.story);
    free(r.numbers);
    return good;
}

enum { PEOPLE = 4, PLACES = 6, TURNS = 5 };
static const char *const people[PEOPLE] = {"Mary", "John", "Daniel", "Sandra"};
static const char *const places[PLACES] = {"bathroom", "hallway", "garden", "office", "bedroom", "kitchen"};
static const char *const moves[] = {"moved to", "went to", "journeyed to", "travelled to", "went back to"};

/* Two moves and a question, five times over. */
static void write_story(uint64_t key, struct ll_str *text)
{
    uint64_t drawn = 0, where[PEOPLE];
    unsigned line = 1;
    memset(where, 0xff, sizeof where);
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < 2; i++, line++) {
            uint64_t who = ll_random_bits(key, drawn++) % PEOPLE,
                     place = ll_random_bits(key, drawn++) % PLACES;
            const char *how = moves[ll_random_bits(key, drawn++) % (sizeof moves / sizeof *moves)];
            ll_str_addf(text, "%u %s %s the %s.\n", line, people[who], how, places[place]);
            where[who] = place;
        }
        uint64_t who = ll_random_bits(key, drawn++) % PEOPLE;
        while (where[who] == UINT64_MAX)
            who = (who + 1) % PEOPLE;
        ll_str_addf(text, "%u Where is %s? \t%s\t1\n", line++, people[who], places[where[who]]);
    }
}

void ll_stories_write(uint64_t seed, uint64_t count, struct ll_str *text)
{
    for (uint64_t i = 0; i < count; i++)
        write_story(ll_random_key(seed, i), text);
}
