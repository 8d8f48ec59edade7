/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/stories.h"

#include "tracer/base/num.h"
#include "tracer/base/random.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
