/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/phonemes.h"

#include "tracer/base/diag.h"

#include <inttypes.h>

struct reading {
    const struct ll_text *text;
    struct ll_map *names;
    struct ll_diags *diags;
    int32_t *labels;
    uint64_t count, latest; /* latest: the sample that the phoneme before this one begins with */
};

static struct ll_place place_of(const struct reading *r, const struct ll_line *line, struct ll_words word)
{
    return (struct ll_place){
        .file = r->text->name, .line = line->number, .column = (uint64_t)(word.text - line->words.text) + 1};
}

/* The number of a sample; false after a complaint. */
static bool take_sample(const struct reading *r, const struct ll_line *line, struct ll_words word,
                        uint64_t least, uint64_t *sample)
{
    enum { MOST_DIGITS = 18 };
    bool is_number = word.length <= MOST_DIGITS;
    *sample = 0;
    for (size_t i = 0; is_number && i < word.length; i++) {
        is_number = word.text[i] >= '0' && word.text[i] <= '9';
        *sample = *sample * 10 + (uint64_t)(word.text[i] - '0');
    }
    if (!is_number)
        return ll_complain(r->diags, place_of(r, line, word), "`%.*s`: expected the number of a sample",
                           ll_words_shown(word), word.text);
    return *sample >= least ||
           ll_complain(r->diags, place_of(r, line, word),
                       "sample %" PRIu64 ": expected %" PRIu64 " or later; phonemes come one after the other",
                       *sample, least);
}

static bool take_line(struct reading *r, const struct ll_line *line)
{
    struct ll_words rest = line->words, begin, end, name, more;
    uint64_t first, behind;
    if (!ll_next_word(&rest, &begin))
        return true;
    if (!ll_next_word(&rest, &end) || !ll_next_word(&rest, &name) || ll_next_word(&rest, &more))
        return ll_complain(
            r->diags, place_of(r, line, begin),
            "expected three words: the samples a phoneme begins with and ends before, its name");
    if (!take_sample(r, line, begin, r->latest, &first) || !take_sample(r, line, end, first, &behind))
        return false;
    r->latest = first;
    uint32_t number = ll_map_intern(r->names, name.text, name.length, NULL);
    if (number == LL_NO_ID)
        return ll_complain(r->diags, place_of(r, line, name), "%s", ll_status_text(LL_NO_MEMORY));
    r->labels[r->count++] = (int32_t)number;
    return true;
}

bool ll_phonemes_parse(const struct ll_text *text, struct ll_map *names, struct ll_arena *arena,
                       struct ll_phonemes *phonemes, struct ll_diags *diags)
{
    enum { LEAST_LINE = 6 }; /* "0 0 a" and what ends it */
    struct reading r = {.text = text, .names = names, .diags = diags};
    struct ll_place place = {.file = text->name};
    if (!ll_text_check(text, diags))
        return false;
    r.labels = ll_alloc(arena, text->size / LEAST_LINE + 1, sizeof *r.labels);
    if (!r.labels)
        return ll_complain(diags, place, "%s", ll_status_text(LL_NO_MEMORY));
    bool good = true;
    for (struct ll_line line = {0}; ll_next_line(text, &line);)
        good &= take_line(&r, &line);
    *phonemes = (struct ll_phonemes){r.labels, r.count};
    return good && (r.count > 0 || ll_complain(diags, place, "there is no phoneme in it"));
}

uint64_t ll_phonemes_frames(const struct ll_phonemes *phonemes)
{
    uint64_t frames = phonemes->count;
    for (uint64_t i = 1; i < phonemes->count; i++)
        frames += phonemes->labels[i] == phonemes->labels[i - 1];
    return frames;
}
