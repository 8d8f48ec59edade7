/* SPDX-License-Identifier: Apache-2.0 */
/* First the names of all files, folder after folder; sorted by what stands before their endings, X.phn comes
 * right before X.wav. Then the pairs. */
#define _POSIX_C_SOURCE 200809L
#include "models/data/utterances.h"

#include "models/data/cepstra.h"
#include "models/data/part.h"
#include "models/data/sound.h"
#include "tracer/base/diag.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

static const char said_ending[] = ".phn", sound_ending[] = ".wav";
enum { ENDING = sizeof said_ending - 1 };

struct names {
    const char **at;
    uint64_t count, capacity;
};

struct reading {
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct names folders, files;
    struct ll_map phonemes;
};

static bool complain(struct reading *r, const char *file, enum ll_status status)
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

static bool take_entry(struct reading *r, const char *folder, const char *name)
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

static bool take_folder(struct reading *r, const char *folder)
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
static bool take_folders(struct reading *r, const char *first)
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
static bool hear(struct reading *r, struct ll_utterance *utterance)
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

static bool take_pair(struct reading *r, const char *said, const char *sound, struct ll_utterance *utterance)
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

static bool take_pairs(struct reading *r, struct ll_utterance *utterances, uint64_t *count)
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

static bool read_all(struct reading *r, const char *folder, struct ll_utterances *set)
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
    struct reading r = {.arena = arena, .diags = diags};
    bool good = read_all(&r, folder, set);
    free(r.folders.at);
    free(r.files.at);
    ll_map_release(&r.phonemes);
    return good;
}
