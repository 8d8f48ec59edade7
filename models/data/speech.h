/* SPDX-License-Identifier: Apache-2.0 */
/* Sounds from files: RIFF WAVE (Microsoft and IBM, 1991) and NIST SPHERE (as TIMIT comes in), one channel of
 * uncompressed 16-bit samples. What is read was written by anybody. A reader stops at the first mistake,
 * since what follows it cannot be told, and is one thread's. */
#ifndef LL_MODELS_DATA_SPEECH_H
#define LL_MODELS_DATA_SPEECH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/data/part.h"
#include "models/data/text.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/map.h"

struct ll_sound {
    uint64_t rate_Hz; /* from LL_LEAST_RATE_HZ to LL_MOST_RATE_HZ below */
    uint64_t count;
    const float *samples; /* from -1 to 1 */
};

/* The samples of a file's bytes, copied into the arena; `name` is for complaints. False after a complaint:
 * another format, a header that promises more bytes than there are, compressed samples, more than one
 * channel, other than 16 bits, a rate out of bounds, no memory. The sound is then as it was. */
bool ll_sound_parse(const void *bytes, size_t size, const char *name, struct ll_arena *arena,
                    struct ll_sound *sound, struct ll_diags *diags);

/* What speech recognisers hear: mel-frequency cepstral coefficients (Davis and Mermelstein, 1980).
 *
 * Every 5 ms, 25 ms of sound become 26 numbers: coefficients 1 to 12 of the cosine transform of the
 * logarithms of 26 mel-spaced bands of the power spectrum, the logarithm of the energy, and how fast each of
 * the 13 changes (the slope of a line through five frames). Then each of the 26 is standardised over the
 * utterance: mean 0, variance 1, or all 0 where it never changes. Bands are triangles from 100 Hz to half
 * the rate, evenly spaced in mel, 1127 ln(1 + f / 700) (O'Shaughnessy, 1987). Thread-safe after it is made.
 */

enum { LL_CEPSTRA = 12, LL_FEATURES = 2 * (LL_CEPSTRA + 1) };
enum { LL_LEAST_RATE_HZ = 8000, LL_MOST_RATE_HZ = 48000 };

/* Tables for one rate of samples; in an arena. */
struct ll_cepstra;

/* Lives in the arena. NULL when memory ran out; the rate is within the bounds above. */
struct ll_cepstra *ll_cepstra_new(struct ll_arena *arena, uint64_t rate_Hz);

/* How many frames so many samples are, 0 where they are less than a window of 25 ms; and how many samples so
 * many frames (at least 1) need at least. */
uint64_t ll_cepstra_frames(const struct ll_cepstra *cepstra, uint64_t samples);
uint64_t ll_cepstra_samples(const struct ll_cepstra *cepstra, uint64_t frames);

/* Writes features[ll_cepstra_frames(count), LL_FEATURES] of samples from -1 to 1. */
void ll_cepstra_of(const struct ll_cepstra *cepstra, const float *samples, uint64_t count, float *features);

/* Fourier transform in place of `count` (a power of two) complex numbers: x_k becomes
 * sum_n x_n exp(-2 pi i k n / count) (Cooley and Tukey, 1965). Pure. */
void ll_fourier(double *real, double *imaginary, uint64_t count);

/* Speech that nobody spoke: a phoneme is a pair of tones, held for 50 to 95 ms, its pitch and loudness never
 * quite the same, with noise around it; its sound goes through the cepstra below as speech would. Utterance
 * i of a seed is always the same one. Thread-safe. */

/* Frames of 5 ms for each phoneme that an utterance may have, so that all of them fit; different pairs of
 * tones; samples a second. */
enum { LL_FRAMES_A_TONE = 20, LL_MOST_TONES = 64, LL_TONES_RATE_HZ = 16000 };

struct ll_tones {
    uint64_t seed;
    uint64_t kinds;       /* of phonemes: from 2 to LL_MOST_TONES */
    uint64_t most_labels; /* of an utterance, at least 1 */
};

/* Writes the phonemes of an utterance, each from 0 to kinds - 1, and returns how many they are: at least
 * half as many as there may be. No two alike follow each other. */
uint64_t ll_tones_labels(const struct ll_tones *tones, uint64_t sample, int32_t *labels);

/* How many frames it has: at most LL_FRAMES_A_TONE for each of most_labels. */
uint64_t ll_tones_frames(const struct ll_tones *tones, uint64_t sample);

/* Writes features[frames, LL_FEATURES]; cepstra at LL_TONES_RATE_HZ. `sound` has room for the samples of
 * these frames (ll_cepstra_samples), and then holds them, about -0.6 to 0.6. */
void ll_tones_speak(const struct ll_tones *tones, uint64_t sample, const struct ll_cepstra *cepstra,
                    float *sound, float *features);

/* Spectrograms of speech that nobody spoke: utterances as loudness over frequency bins, a frame every
 * 10 ms. A label is two bumps among the bins, one in each half, held for 100 to 160 ms, never quite in place,
 * with noise around; silence goes before and behind. Utterance i of a part is always the same one.
 * Thread-safe. */

/* Frames of silence on each side; the most that a label is held. */
enum { LL_SILENT_FRAMES = 12, LL_SPECTRUM_FRAMES_A_TONE = 16 };

struct ll_spectra {
    struct ll_tones tones[LL_PART_COUNT];
    uint64_t bins;
};

/* Of so many kinds of tones, from 2 to LL_MOST_TONES, and as many labels as fit into so many frames, one at
 * least. */
struct ll_spectra ll_spectra_of(uint64_t kinds, uint64_t frames, uint64_t bins, uint64_t seed);

/* How many labels an utterance of so many frames has at most; 0 when not even one fits. */
uint64_t ll_spectra_most_labels(uint64_t frames);

/* Writes what an utterance says, at most ll_spectra_most_labels of its frames, and returns how many labels
 * that is. */
uint64_t ll_spectra_labels(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                           int32_t *labels);

/* Its frames of 10 ms, and features[frames, bins], which the second writes: silence about 0, a label about
 * 1. */
uint64_t ll_spectra_frames(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i);
void ll_spectra_features(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                         float *features);

/* What is said in a sound, as TIMIT has it (Garofolo et al., 1993): a phoneme a line, the sample that it
 * begins with, the one that it ends before, its name.
 *
 *     0 3050 h#
 *     3050 4559 sh
 *
 * Phonemes are numbered as they first come, from 0. What is read was written by anybody. */

struct ll_phonemes {
    const int32_t *labels; /* [count], in the arena */
    uint64_t count;        /* at least 1 */
};

/* Reads phonemes into the arena; their numbers are those of the map, which grows, also where this fails.
 * Blank lines do not count. False after complaints: what is no text, all lines that are no phoneme, phonemes
 * that do not come one after the other, none at all. One thread at a time, of the map and the arena. */
bool ll_phonemes_parse(const struct ll_text *text, struct ll_map *names, struct ll_arena *arena,
                       struct ll_phonemes *phonemes, struct ll_diags *diags);

/* How many frames it takes to say them: one each, and one between two that are alike, since CTC tells these
 * apart by a blank (Graves et al., 2006, section 3.1). Pure. */
uint64_t ll_phonemes_frames(const struct ll_phonemes *phonemes);

/* Speech that somebody spoke, as TIMIT lays it out (Garofolo et al., 1993): a folder, and folders in it, of
 * sounds X.wav and what is said in them, X.phn beside (above). Endings may be in capitals, a
 * sound without phonemes is left alone, a link to a folder is not followed.
 *
 * Utterances come in the order of their names, in two parts (part.h), whatever order the file system has. A
 * set is made by one thread; then any may read it. */

struct ll_utterance {
    const char *name;      /* of the sound's file */
    uint64_t frames;       /* of 5 ms, at least as many as it takes to say the phonemes */
    const float *features; /* [frames, LL_FEATURES] */
    struct ll_phonemes said;
};

struct ll_utterances {
    const struct ll_utterance *at;
    uint64_t count;                 /* at least sixteen */
    uint64_t phonemes, most_labels; /* different ones; of an utterance */
    const struct ll_utterance *longest;
};

/* Reads them into the arena. False after complaints about everything that is wrong: files that cannot be
 * read or are none, phonemes without a sound or more than fit into it, less than sixteen utterances. */
bool ll_utterances_read(struct ll_utterances *set, const char *folder, struct ll_arena *arena,
                        struct ll_diags *diags);

/* Speech to recognise, utterance after utterance without end: spoken (above) or made of tones. Utterance i of
 * a part and a seed is always the same one. One thread at a time. */

struct ll_speech {
    uint64_t seed, most_labels;         /* the latter of an utterance */
    const struct ll_utterances *spoken; /* NULL: nobody spoke, it is tones */
    struct ll_tones tones[LL_PART_COUNT];
    struct ll_cepstra *cepstra; /* for tones */
    float *sound;               /* of the tone that is heard: why one thread at a time */
};

/* Makes it of spoken utterances, a set that outlives it; what a part holds follows from the seed. */
void ll_speech_of_utterances(struct ll_speech *speech, const struct ll_utterances *spoken, uint64_t seed);

/* Of so many kinds of tones, from 2 to LL_MOST_TONES, at most so many labels in an utterance, one at least;
 * memory is the arena's. False when it ran out. */
bool ll_speech_of_tones(struct ll_speech *speech, uint64_t kinds, uint64_t most_labels, uint64_t seed,
                        struct ll_arena *arena);

/* Writes what utterance i of a part says, labels[most_labels] counted from 0, and returns how many there are,
 * at least one of tones. */
uint64_t ll_speech_labels(const struct ll_speech *speech, enum ll_data_part part, uint64_t i,
                          int32_t *labels);

/* How many frames of 5 ms it takes, and features[frames, LL_FEATURES], which the second writes.
 */
uint64_t ll_speech_frames(const struct ll_speech *speech, enum ll_data_part part, uint64_t i);
void ll_speech_features(const struct ll_speech *speech, enum ll_data_part part, uint64_t i, float *features);

/* From what a network says of each frame to labels, and how wrong they are. Pure and thread-safe. */

/* The class of the largest logit of each frame, repeated ones merged, blanks (the last class) dropped: best
 * path decoding (Graves et al., 2006, section 3.2). Frames are `stride` floats apart, logits of `classes`
 * classes with the blank; labels has room for one a frame. Returns how many there are. */
uint64_t ll_ctc_greedy_decode(const float *logits, uint64_t frames, uint64_t stride, uint64_t classes,
                              int32_t *labels);

/* How many labels must be inserted, deleted or replaced to make one list of the other (Levenshtein, 1966),
 * by the recurrence of Wagner and Fischer (1974). `row` is scratch memory of b_count + 1 numbers. */
uint64_t ll_edit_distance(const int32_t *a, uint64_t a_count, const int32_t *b, uint64_t b_count,
                          uint64_t *row);

#endif
