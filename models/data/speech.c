/* SPDX-License-Identifier: Apache-2.0 */
/* Speech to recognise: phoneme files, folders laid out as TIMIT's, utterances of one stream, and greedy
 * decoding. */
#define _POSIX_C_SOURCE 200809L
#include "models/data/speech.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "models/data/part.h"
#include "models/data/spectra.h"
#include "tracer/base/diag.h"
#include "tracer/base/random.h"

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

/* First the names of all files, folder after folder; sorted by what stands before their endings, X.phn comes
 * right before X.wav. Then the pairs. */

static const char said_ending[] = ".phn", sound_ending[] = ".wav";
enum { ENDING = sizeof said_ending - 1 };

struct names {
    const char **at;
    uint64_t count, capacity;
};

struct utterances_reading {
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct names folders, files;
    struct ll_map phonemes;
};

static bool complain(struct utterances_reading *r, const char *file, enum ll_status status)
{
    return ll_complain(r->diags, (struct ll_place){.file = file}, "%s", ll_status_text(status));
}

static bool ends_with(const char *path, const char *ending)
{
    size_t length = strlen(path);
    return length > ENDING && strcasecmp(path + length - ENDING, ending) == 0;
}

static bool add(struct names *names, const char *name)
{
    if (!ll_grow(&names->at, &names->capacity, names->count + 1, sizeof *names->at))
        return false;
    names->at[names->count++] = name;
    return true;
}

static bool take_entry(struct utterances_reading *r, const char *folder, const char *name)
{
    struct stat about;
    const char *path = ll_format(r->arena, "%s/%s", folder, name);
    bool good = path != NULL;
    if (good && lstat(path, &about) == 0 && S_ISDIR(about.st_mode))
        good = add(&r->folders, path);
    else if (good && (ends_with(path, said_ending) || ends_with(path, sound_ending)))
        good = add(&r->files, path);
    return good || complain(r, folder, LL_NO_MEMORY);
}

static bool take_folder(struct utterances_reading *r, const char *folder)
{
    DIR *entries = opendir(folder);
    bool good = true;
    if (!entries)
        return complain(r, folder, ll_status_of(errno, LL_CANNOT_OPEN));
    for (struct dirent *entry; good && (entry = readdir(entries));)
        if (entry->d_name[0] != '.')
            good = take_entry(r, folder, entry->d_name);
    closedir(entries);
    return good;
}

/* The folders that are found lengthen the list. */
static bool take_folders(struct utterances_reading *r, const char *first)
{
    bool good = add(&r->folders, first) || complain(r, first, LL_NO_MEMORY);
    for (uint64_t i = 0; i < r->folders.count; i++)
        good &= take_folder(r, r->folders.at[i]);
    return good;
}

/* Of what stands before the endings; 0 when it is the same. */
static int compare_stems(const char *a, const char *b)
{
    size_t a_length = strlen(a) - ENDING, b_length = strlen(b) - ENDING;
    int order = memcmp(a, b, a_length < b_length ? a_length : b_length);
    return order ? order : (a_length > b_length) - (a_length < b_length);
}

static int compare(const void *a, const void *b)
{
    const char *left = *(const char *const *)a, *right = *(const char *const *)b;
    int order = compare_stems(left, right);
    if (order == 0)
        order = strcasecmp(left, right);
    return order ? order : strcmp(left, right);
}

/* What is heard of a sound, and how many frames it is. False after a complaint. */
static bool hear(struct utterances_reading *r, struct ll_utterance *utterance)
{
    struct ll_arena scratch = {0};
    struct ll_sound sound;
    bool good = ll_sound_load(utterance->name, &scratch, &sound, r->diags);
    struct ll_cepstra *cepstra = good ? ll_cepstra_new(&scratch, sound.rate_Hz) : NULL;
    uint64_t frames = cepstra ? ll_cepstra_frames(cepstra, sound.count) : 0;
    float *features = ll_alloc(r->arena, frames * LL_FEATURES, sizeof *features);
    if (good && (!cepstra || !features))
        good = complain(r, utterance->name, LL_NO_MEMORY);
    else if (good && frames == 0)
        good = ll_complain(r->diags, (struct ll_place){.file = utterance->name},
                           "%" PRIu64 " samples, less than the 25 ms that a frame needs", sound.count);
    if (good)
        ll_cepstra_of(cepstra, sound.samples, sound.count, features);
    utterance->frames = frames;
    utterance->features = features;
    ll_arena_release(&scratch);
    return good;
}

static bool take_pair(struct utterances_reading *r, const char *said, const char *sound,
                      struct ll_utterance *utterance)
{
    struct ll_arena scratch = {0};
    struct ll_text text;
    *utterance = (struct ll_utterance){.name = sound};
    bool good = hear(r, utterance);
    good &= ll_text_load(said, &scratch, &text, r->diags) &&
            ll_phonemes_parse(&text, &r->phonemes, r->arena, &utterance->said, r->diags);
    ll_arena_release(&scratch);
    uint64_t needed = good ? ll_phonemes_frames(&utterance->said) : 0;
    return good && (needed <= utterance->frames ||
                    ll_complain(r->diags, (struct ll_place){.file = said},
                                "its phonemes need %" PRIu64 " frames; %s has %" PRIu64 " of 5 ms", needed,
                                sound, utterance->frames));
}

static bool take_pairs(struct utterances_reading *r, struct ll_utterance *utterances, uint64_t *count)
{
    const struct names *files = &r->files;
    bool good = true;
    for (uint64_t i = 0; i < files->count; i++) {
        const char *said = files->at[i], *sound = i + 1 < files->count ? files->at[i + 1] : NULL;
        if (ends_with(said, sound_ending))
            continue;
        if (sound && ends_with(sound, sound_ending) && compare_stems(said, sound) == 0)
            good &= take_pair(r, said, sound, &utterances[(*count)++]);
        else
            good = ll_complain(r->diags, (struct ll_place){.file = said},
                               "the sound that goes with it, of this name but for .wav, is missing");
    }
    return good;
}

static void measure(struct ll_utterances *set)
{
    set->longest = set->at;
    for (uint64_t i = 0; i < set->count; i++) {
        const struct ll_utterance *one = &set->at[i];
        set->most_labels = one->said.count > set->most_labels ? one->said.count : set->most_labels;
        set->longest = one->frames > set->longest->frames ? one : set->longest;
    }
}

static bool read_all(struct utterances_reading *r, const char *folder, struct ll_utterances *set)
{
    if (!take_folders(r, folder))
        return false;
    if (r->files.count > 0)
        qsort(r->files.at, r->files.count, sizeof *r->files.at, compare);
    struct ll_utterance *utterances = ll_alloc(r->arena, r->files.count, sizeof *utterances);
    *set = (struct ll_utterances){.at = utterances};
    if (!utterances)
        return complain(r, folder, LL_NO_MEMORY);
    if (!take_pairs(r, utterances, &set->count))
        return false;
    set->phonemes = r->phonemes.count;
    measure(set);
    return set->count >= LL_ONE_HELD_BACK_OF ||
           ll_complain(r->diags, (struct ll_place){.file = folder},
                       "%" PRIu64
                       " utterances, X.wav with X.phn; expected at least %d, so that one is held back",
                       set->count, LL_ONE_HELD_BACK_OF);
}

bool ll_utterances_read(struct ll_utterances *set, const char *folder, struct ll_arena *arena,
                        struct ll_diags *diags)
{
    struct utterances_reading r = {.arena = arena, .diags = diags};
    bool good = read_all(&r, folder, set);
    free(r.folders.at);
    free(r.files.at);
    ll_map_release(&r.phonemes);
    return good;
}

void ll_speech_of_utterances(struct ll_speech *speech, const struct ll_utterances *spoken, uint64_t seed)
{
    *speech = (struct ll_speech){.seed = seed, .most_labels = spoken->most_labels, .spoken = spoken};
}

bool ll_speech_of_tones(struct ll_speech *speech, uint64_t kinds, uint64_t most_labels, uint64_t seed,
                        struct ll_arena *arena)
{
    *speech = (struct ll_speech){.seed = seed, .most_labels = most_labels};
    for (uint64_t part = 0; part < LL_PART_COUNT; part++)
        speech->tones[part] = (struct ll_tones){ll_random_key(seed, part), kinds, most_labels};
    speech->cepstra = ll_cepstra_new(arena, LL_TONES_RATE_HZ);
    if (speech->cepstra)
        speech->sound = ll_alloc(arena, ll_cepstra_samples(speech->cepstra, most_labels * LL_FRAMES_A_TONE),
                                 sizeof(float));
    return speech->sound != NULL;
}

static const struct ll_utterance *utterance_of(const struct ll_speech *speech, enum ll_data_part part,
                                               uint64_t i)
{
    return &speech->spoken->at[ll_data_part_choose(part, speech->spoken->count, speech->seed, i)];
}

uint64_t ll_speech_labels(const struct ll_speech *speech, enum ll_data_part part, uint64_t i, int32_t *labels)
{
    if (!speech->spoken)
        return ll_tones_labels(&speech->tones[part], i, labels);
    const struct ll_phonemes *said = &utterance_of(speech, part, i)->said;
    memcpy(labels, said->labels, said->count * sizeof *labels);
    return said->count;
}

uint64_t ll_speech_frames(const struct ll_speech *speech, enum ll_data_part part, uint64_t i)
{
    return speech->spoken ? utterance_of(speech, part, i)->frames : ll_tones_frames(&speech->tones[part], i);
}

void ll_speech_features(const struct ll_speech *speech, enum ll_data_part part, uint64_t i, float *features)
{
    if (!speech->spoken) {
        ll_tones_speak(&speech->tones[part], i, speech->cepstra, speech->sound, features);
        return;
    }
    const struct ll_utterance *utterance = utterance_of(speech, part, i);
    memcpy(features, utterance->features, utterance->frames * LL_FEATURES * sizeof *features);
}

static uint64_t best_of(const float *logits, uint64_t count)
{
    uint64_t best = 0;
    for (uint64_t i = 1; i < count; i++)
        best = logits[i] > logits[best] ? i : best;
    return best;
}

uint64_t ll_decode_greedily(const float *logits, uint64_t frames, uint64_t stride, uint64_t classes,
                            int32_t *labels)
{
    uint64_t count = 0, blank = classes - 1, before = blank;
    for (uint64_t t = 0; t < frames; t++) {
        uint64_t best = best_of(logits + t * stride, classes);
        if (best != before && best != blank)
            labels[count++] = (int32_t)best;
        before = best;
    }
    return count;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* row[j]: the distance of the first i of a from the first j of b (Wagner and Fischer, 1974). */
uint64_t ll_edit_distance(const int32_t *a, uint64_t a_count, const int32_t *b, uint64_t b_count,
                          uint64_t *row)
{
    for (uint64_t j = 0; j <= b_count; j++)
        row[j] = j;
    for (uint64_t i = 1; i <= a_count; i++) {
        uint64_t diagonal = row[0];
        row[0] = i;
        for (uint64_t j = 1; j <= b_count; j++) {
            uint64_t above = row[j], replaced = diagonal + (a[i - 1] != b[j - 1]);
            row[j] = least(replaced, least(above, row[j - 1]) + 1);
            diagonal = above;
        }
    }
    return row[b_count];
}
