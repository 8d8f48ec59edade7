/* SPDX-License-Identifier: Apache-2.0 */
/* Sound: files in WAVE and SPHERE, speech made of tones, spectrograms, and mel cepstra. */
#define _POSIX_C_SOURCE 200809L
#include "models/data/speech.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "models/data/part.h"
#include "tracer/base/diag.h"
#include "tracer/base/file.h"
#include "tracer/base/random.h"

static const uint64_t most_bytes = UINT64_C(1) << 30;

/* What a header says, and where the samples lie. */
struct pcm {
    uint64_t rate_Hz, channels, bits;
    const uint8_t *bytes;
    uint64_t size;
    bool big_endian;
};

static bool take(const struct pcm *pcm, struct ll_place place, struct ll_arena *arena, struct ll_sound *sound,
                 struct ll_diags *diags)
{
    if (pcm->channels != 1 || pcm->bits != 16)
        return ll_complain(diags, place, "%" PRIu64 " channels of %" PRIu64 " bits: expected 1 of 16",
                           pcm->channels, pcm->bits);
    if (pcm->rate_Hz < LL_LEAST_RATE_HZ || pcm->rate_Hz > LL_MOST_RATE_HZ)
        return ll_complain(diags, place, "%" PRIu64 " samples a second: expected from %d to %d", pcm->rate_Hz,
                           LL_LEAST_RATE_HZ, LL_MOST_RATE_HZ);
    uint64_t count = pcm->size / 2;
    float *samples = ll_alloc(arena, count + 1, sizeof *samples);
    if (!samples)
        return ll_complain(diags, place, "memory ran out");
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *at = pcm->bytes + 2 * i;
        unsigned bits = pcm->big_endian ? at[0] * 256u + at[1] : at[1] * 256u + at[0];
        samples[i] = (float)((int)bits - (bits >= 32768 ? 65536 : 0)) / 32768;
    }
    *sound = (struct ll_sound){pcm->rate_Hz, count, samples};
    return true;
}

static uint32_t little_endian(const uint8_t *at, unsigned bytes)
{
    uint32_t value = 0;
    while (bytes-- > 0)
        value = value << 8 | at[bytes];
    return value;
}

/* Chunks: four letters, the size, so many bytes and one more if that is odd. "fmt " comes before "data". */
static bool read_wave(const uint8_t *bytes, size_t size, struct ll_place place, struct pcm *pcm,
                      struct ll_diags *diags)
{
    enum { HEAD = 12, CHUNK = 8, FORMAT = 16, UNCOMPRESSED = 1 };
    bool has_format = false;
    for (size_t at = HEAD; size >= CHUNK && at <= size - CHUNK;) {
        const uint8_t *chunk = bytes + at;
        uint64_t length = little_endian(chunk + 4, 4), left = size - at - CHUNK;
        if (length > left)
            return ll_complain(diags, place, "a chunk of %" PRIu64 " bytes: %" PRIu64 " are left", length,
                               left);
        if (memcmp(chunk, "fmt ", 4) == 0) {
            has_format = length >= FORMAT && little_endian(chunk + CHUNK, 2) == UNCOMPRESSED;
            if (!has_format)
                return ll_complain(diags, place, "its samples are compressed: expected format 1 (PCM)");
            pcm->channels = little_endian(chunk + CHUNK + 2, 2);
            pcm->rate_Hz = little_endian(chunk + CHUNK + 4, 4);
            pcm->bits = little_endian(chunk + CHUNK + 14, 2);
        }
        if (memcmp(chunk, "data", 4) == 0 && has_format) {
            pcm->bytes = chunk + CHUNK;
            pcm->size = length;
            return true;
        }
        length += length % 2;
        at = length > left ? size : at + CHUNK + (size_t)length;
    }
    return ll_complain(diags, place, "it has no \"fmt \" chunk with a \"data\" chunk behind it");
}

/* A line of the header: its end, or that of the header. */
static const char *end_of_line(const char *line, const char *end)
{
    const char *found = memchr(line, '\n', (size_t)(end - line));
    return found ? found : end;
}

/* The value of "NAME -TYPE VALUE"; NULL when this is another line. Types: i, a number; sN, N letters. */
static const char *value_of(const char *line, const char *end, const char *name)
{
    size_t length = strlen(name);
    if ((size_t)(end - line) <= length + 1 || memcmp(line, name, length) != 0 || line[length] != ' ')
        return NULL;
    const char *type_end = memchr(line + length + 1, ' ', (size_t)(end - line) - length - 1);
    return type_end ? type_end + 1 : NULL;
}

static bool begins(const char *text, const char *end, const char *with)
{
    return (size_t)(end - text) >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

/* A number of at most nine digits; else 0, which is none of the numbers looked for. */
static uint64_t number_of(const char *text, const char *end)
{
    uint64_t number = 0;
    for (int digits = 0; text < end && *text >= '0' && *text <= '9'; text++, digits++)
        number = digits < 9 ? number * 10 + (uint64_t)(*text - '0') : 0;
    return number;
}

static bool read_line(const char *line, const char *end, struct pcm *pcm)
{
    static const char *const names[] = {"sample_rate", "channel_count", "sample_sig_bits"};
    uint64_t *const numbers[] = {&pcm->rate_Hz, &pcm->channels, &pcm->bits};
    const char *value;
    for (int i = 0; i < 3; i++)
        if ((value = value_of(line, end, names[i])))
            *numbers[i] = number_of(value, end);
    if ((value = value_of(line, end, "sample_byte_format")))
        pcm->big_endian = begins(value, end, "10");
    value = value_of(line, end, "sample_coding");
    return !value || (end - value == 3 && begins(value, end, "pcm"));
}

/* "NIST_1A", a line with the size of the header, lines of it, "end_head"; then the samples. */
static bool read_sphere(const uint8_t *bytes, size_t size, struct ll_place place, struct pcm *pcm,
                        struct ll_diags *diags)
{
    enum { FIRST_LINES = 16 };
    const char *text = (const char *)bytes;
    const char *digits = text + 8;
    while (digits < text + FIRST_LINES && *digits == ' ')
        digits++;
    uint64_t head = number_of(digits, text + FIRST_LINES);
    if (head < FIRST_LINES || head > size)
        return ll_complain(diags, place,
                           "a header of %" PRIu64 " bytes: expected from %d to %zu, all there are", head,
                           FIRST_LINES, size);
    *pcm = (struct pcm){.channels = 1, .bits = 16, .bytes = bytes + head, .size = size - head};
    const char *stop = text + head;
    for (const char *line = text + FIRST_LINES, *end; line < stop; line = end < stop ? end + 1 : stop) {
        end = end_of_line(line, stop);
        if (begins(line, end, "end_head"))
            break;
        if (!read_line(line, end, pcm))
            return ll_complain(diags, place, "its samples are compressed: expected sample_coding pcm");
    }
    return true;
}

bool ll_sound_parse(const void *bytes, size_t size, const char *name, struct ll_arena *arena,
                    struct ll_sound *sound, struct ll_diags *diags)
{
    struct ll_place place = {.file = name};
    struct pcm pcm = {0};
    bool is_wave =
        size >= 12 && memcmp(bytes, "RIFF", 4) == 0 && memcmp((const char *)bytes + 8, "WAVE", 4) == 0;
    bool is_sphere = size >= 16 && memcmp(bytes, "NIST_1A\n", 8) == 0;
    if (!is_wave && !is_sphere)
        return ll_complain(diags, place, "this is not a sound file: expected RIFF WAVE or NIST SPHERE");
    return (is_wave ? read_wave(bytes, size, place, &pcm, diags)
                    : read_sphere(bytes, size, place, &pcm, diags)) &&
           take(&pcm, place, arena, sound, diags);
}

/* The same of a file of at most 1 GiB; one that cannot be read is a complaint, too. */
static bool sound_load(const char *path, struct ll_arena *arena, struct ll_sound *sound,
                       struct ll_diags *diags)
{
    struct ll_contents contents;
    enum ll_status status = ll_read_whole(path, most_bytes, arena, &contents);
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    return ll_sound_parse(contents.bytes, contents.length, path, arena, sound, diags);
}

enum { LEAST_FRAMES = 10, FRAME_CHOICES = 10, TONES_A_SIDE = 8 };

/* Streams of an utterance's chances. */
enum stream { COUNT, KIND, LENGTH, PITCH, LOUDNESS, NOISE };

static uint64_t bits(const struct ll_tones *tones, uint64_t sample, enum stream stream, uint64_t i)
{
    return ll_random_bits(ll_random_key(ll_random_key(tones->seed, sample), stream), i);
}

/* Uniform from -1 to 1. */
static double jitter(const struct ll_tones *tones, uint64_t sample, enum stream stream, uint64_t i)
{
    return 2 * ll_random_fine_unit(bits(tones, sample, stream, i)) - 1;
}

/* How many these are; and what phoneme i is, by the one before it (the first one follows nothing). */
static uint64_t tones_count(const struct ll_tones *tones, uint64_t sample)
{
    uint64_t least = (tones->most_labels + 1) / 2;
    return least + bits(tones, sample, COUNT, 0) % (tones->most_labels - least + 1);
}

static uint64_t tone_frames(const struct ll_tones *tones, uint64_t sample, uint64_t i)
{
    return LEAST_FRAMES + bits(tones, sample, LENGTH, i) % FRAME_CHOICES;
}

static uint64_t tones_after(const struct ll_tones *tones, uint64_t sample, uint64_t i, uint64_t kind)
{
    uint64_t chance = bits(tones, sample, KIND, i);
    return i == 0 ? chance % tones->kinds : (kind + 1 + chance % (tones->kinds - 1)) % tones->kinds;
}

uint64_t ll_tones_labels(const struct ll_tones *tones, uint64_t sample, int32_t *labels)
{
    uint64_t count = tones_count(tones, sample), kind = 0;
    for (uint64_t i = 0; i < count; i++)
        labels[i] = (int32_t)(kind = tones_after(tones, sample, i, kind));
    return count;
}

uint64_t ll_tones_frames(const struct ll_tones *tones, uint64_t sample)
{
    uint64_t frames = 0;
    for (uint64_t i = tones_count(tones, sample); i-- > 0;)
        frames += tone_frames(tones, sample, i);
    return frames;
}

/* Radians a sample of the lower and the upper tone: eight from 350 Hz and eight from 1400 Hz, each 17 % above
 * the one before; up to 3 % off. */
static void pitches(const struct ll_tones *tones, uint64_t sample, uint64_t i, int32_t label, double steps[2])
{
    const double lowest_Hz[2] = {350, 1400};
    for (int side = 0; side < 2; side++) {
        int place = side ? label / TONES_A_SIDE : label % TONES_A_SIDE;
        double off = 1 + 0.03 * jitter(tones, sample, PITCH, 2 * i + (uint64_t)side);
        steps[side] = 6.283185307179586 * lowest_Hz[side] * pow(1.17, place) * off / LL_TONES_RATE_HZ;
    }
}

void ll_tones_speak(const struct ll_tones *tones, uint64_t sample, const struct ll_cepstra *cepstra,
                    float *sound, float *features)
{
    uint64_t count = tones_count(tones, sample), frames = ll_tones_frames(tones, sample), n = 0, end = 0;
    uint64_t samples = ll_cepstra_samples(cepstra, frames), key = ll_random_key(tones->seed, sample);
    uint64_t kind = 0, noise = ll_random_key(key, NOISE);
    double phase[2] = {0, 0}, steps[2];
    for (uint64_t i = 0; i < count; i++) {
        kind = tones_after(tones, sample, i, kind);
        pitches(tones, sample, i, (int32_t)kind, steps);
        double loud = 0.2 * (1 + 0.4 * jitter(tones, sample, LOUDNESS, i));
        end = i + 1 < count ? end + tone_frames(tones, sample, i) * (samples / frames) : samples;
        for (; n < end; n++) {
            for (int side = 0; side < 2; side++)
                phase[side] += steps[side];
            double around = 0.05 * (2 * ll_random_fine_unit(ll_random_bits(noise, n)) - 1);
            sound[n] = (float)(loud * (sin(phase[0]) + sin(phase[1])) + around);
        }
    }
    ll_cepstra_of(cepstra, sound, samples, features);
}

enum { SPECTRA_LEAST_FRAMES = 10, SPECTRA_TONES_A_SIDE = 8 };

/* Streams of an utterance's chances, beside those of tones. */
enum spectra_stream { HOLD = 100, PLACE, SPECTRA_LOUDNESS, SPECTRA_NOISE };

static uint64_t spectrum_bits(const struct ll_tones *tones, uint64_t sample, enum spectra_stream stream,
                              uint64_t i)
{
    return ll_random_bits(ll_random_key(ll_random_key(tones->seed, sample), stream), i);
}

static double spectrum_jitter(const struct ll_tones *tones, uint64_t sample, enum spectra_stream stream,
                              uint64_t i)
{
    return 2 * ll_random_fine_unit(spectrum_bits(tones, sample, stream, i)) - 1;
}

uint64_t ll_spectra_most_labels(uint64_t frames)
{
    uint64_t silence = 2 * LL_SILENT_FRAMES;
    return frames < silence ? 0 : (frames - silence) / LL_SPECTRUM_FRAMES_A_TONE;
}

struct ll_spectra ll_spectra_of(uint64_t kinds, uint64_t frames, uint64_t bins, uint64_t seed)
{
    assert(kinds > 0 && frames > 0 && bins > 0);
    struct ll_spectra spectra = {.bins = bins};
    assert(ll_spectra_most_labels(frames) > 0);
    for (int part = 0; part < LL_PART_COUNT; part++)
        spectra.tones[part] =
            (struct ll_tones){ll_random_key(seed, (uint64_t)part), kinds, ll_spectra_most_labels(frames)};
    return spectra;
}

static uint64_t held_frames(const struct ll_tones *tones, uint64_t sample, uint64_t i)
{
    return SPECTRA_LEAST_FRAMES +
           spectrum_bits(tones, sample, HOLD, i) % (LL_SPECTRUM_FRAMES_A_TONE - SPECTRA_LEAST_FRAMES + 1);
}

uint64_t ll_spectra_labels(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                           int32_t *labels)
{
    return ll_tones_labels(&spectra->tones[part], i, labels);
}

uint64_t ll_spectra_frames(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i)
{
    const struct ll_tones *tones = &spectra->tones[part];
    uint64_t frames = 2 * LL_SILENT_FRAMES;
    for (uint64_t label = tones_count(tones, i); label-- > 0;)
        frames += held_frames(tones, i, label);
    return frames;
}

/* Noise from -0.1 to 0.1. */
static void make_noise(const struct ll_tones *tones, uint64_t sample, uint64_t count, float *data)
{
    uint64_t key = ll_random_key(ll_random_key(tones->seed, sample), SPECTRA_NOISE);
    for (uint64_t n = 0; n < count; n++)
        data[n] = 0.2f * ll_random_unit((uint32_t)ll_random_bits(key, n)) - 0.1f;
}

/* Adds a bump of this height around a bin to each frame. */
static void add_bump(float *features, uint64_t frames, uint64_t bins, double middle, double height)
{
    const double width = 0.02 * (double)bins;
    for (uint64_t bin = 0; bin < bins; bin++) {
        double away = ((double)bin - middle) / width;
        float loud = (float)(height * exp(-away * away / 2));
        for (uint64_t t = 0; t < frames; t++)
            features[t * bins + bin] += loud;
    }
}

/* The middle of a kind's bump in the lower or the upper half of the bins, up to a fortieth of the half off.
 */
static double middle_of(const struct ll_spectra *spectra, const struct ll_tones *tones, uint64_t sample,
                        uint64_t i, uint64_t kind, int side)
{
    double half = (double)spectra->bins / 2,
           place = (double)(side ? kind / SPECTRA_TONES_A_SIDE : kind % SPECTRA_TONES_A_SIDE);
    double off = 0.025 * spectrum_jitter(tones, sample, PLACE, 2 * i + (uint64_t)side);
    return half * (side + (place + 0.5) / SPECTRA_TONES_A_SIDE + off);
}

void ll_spectra_features(const struct ll_spectra *spectra, enum ll_data_part part, uint64_t i,
                         float *features)
{
    const struct ll_tones *tones = &spectra->tones[part];
    const uint64_t bins = spectra->bins, count = tones_count(tones, i);
    uint64_t kind = 0;
    make_noise(tones, i, ll_spectra_frames(spectra, part, i) * bins, features);
    features += LL_SILENT_FRAMES * bins;
    for (uint64_t label = 0; label < count; label++) {
        uint64_t frames = held_frames(tones, i, label);
        double loud = 1 + 0.3 * spectrum_jitter(tones, i, SPECTRA_LOUDNESS, label);
        kind = tones_after(tones, i, label, kind);
        for (int side = 0; side < 2; side++)
            add_bump(features, frames, bins, middle_of(spectra, tones, i, label, kind, side), loud);
        features += frames * bins;
    }
}

static const double pi = 3.14159265358979323846;

enum { HOPS_A_SECOND = 200, WINDOWS_A_SECOND = 40, BANDS = 26, MOST_POINTS = 2048, STATIC = LL_CEPSTRA + 1 };

/* A band is a triangle over points of the spectrum. */
struct band {
    uint64_t first, peak, last;
};

struct ll_cepstra {
    uint64_t window, hop, points; /* in samples; points: a power of two that holds a window */
    double *hamming;              /* [window] */
    struct band bands[BANDS];
    double cosines[LL_CEPSTRA][BANDS];
};

/* O'Shaughnessy, 1987. */
static double mel_of(double frequency_Hz)
{
    return 1127 * log1p(frequency_Hz / 700);
}

static double frequency_of(double mel)
{
    return 700 * expm1(mel / 1127);
}

/* The point of the spectrum at one of the BANDS + 2 corners, evenly spaced on the mel scale. */
static uint64_t corner(const struct ll_cepstra *c, uint64_t rate_Hz, uint64_t i)
{
    const double low = mel_of(100), high = mel_of((double)rate_Hz / 2);
    double at_Hz = frequency_of(low + (high - low) * (double)i / (BANDS + 1));
    return (uint64_t)lround(at_Hz / (double)rate_Hz * (double)c->points);
}

struct ll_cepstra *ll_cepstra_new(struct ll_arena *arena, uint64_t rate_Hz)
{
    struct ll_cepstra *c = ll_alloc(arena, 1, sizeof *c);
    if (!c)
        return NULL;
    c->window = rate_Hz / WINDOWS_A_SECOND;
    c->hop = rate_Hz / HOPS_A_SECOND;
    for (c->points = 1; c->points < c->window;)
        c->points *= 2;
    c->hamming = ll_alloc(arena, c->window, sizeof *c->hamming);
    for (uint64_t i = 0; c->hamming && i < c->window; i++)
        c->hamming[i] = 0.54 - 0.46 * cos(2 * pi * (double)i / (double)(c->window - 1));
    for (uint64_t b = 0; b < BANDS; b++)
        c->bands[b] =
            (struct band){corner(c, rate_Hz, b), corner(c, rate_Hz, b + 1), corner(c, rate_Hz, b + 2)};
    for (int k = 0; k < LL_CEPSTRA; k++)
        for (int b = 0; b < BANDS; b++)
            c->cosines[k][b] = cos(pi * (k + 1) * (b + 0.5) / BANDS);
    return c->hamming ? c : NULL;
}

uint64_t ll_cepstra_frames(const struct ll_cepstra *c, uint64_t samples)
{
    return samples < c->window ? 0 : 1 + (samples - c->window) / c->hop;
}

uint64_t ll_cepstra_samples(const struct ll_cepstra *c, uint64_t frames)
{
    return (frames - 1) * c->hop + c->window;
}

static void exchange(double *a, double *b)
{
    double was = *a;
    *a = *b;
    *b = was;
}

/* Each number goes where the reversed digits of its index say. */
static void reverse_digits(double *re, double *im, uint64_t count)
{
    for (uint64_t i = 1, j = 0; i < count; i++) {
        uint64_t bit = count / 2;
        for (; j & bit; bit /= 2)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            exchange(&re[i], &re[j]);
            exchange(&im[i], &im[j]);
        }
    }
}

/* Cooley and Tukey, 1965: pairs of transforms become one of twice the length. The outer loop is the factor's,
 * so that each is computed once a length. */
void ll_fourier(double *re, double *im, uint64_t count)
{
    assert(count > 0 && (count & (count - 1)) == 0); /* halves down to one */
    reverse_digits(re, im, count);
    for (uint64_t half = 1; half < count; half *= 2)
        for (uint64_t k = 0; k < half; k++) {
            double angle = -pi * (double)k / (double)half, c = cos(angle), s = sin(angle);
            for (uint64_t i = k; i < count; i += 2 * half) {
                double x = re[i + half] * c - im[i + half] * s, y = re[i + half] * s + im[i + half] * c;
                re[i + half] = re[i] - x;
                im[i + half] = im[i] - y;
                re[i] += x;
                im[i] += y;
            }
        }
}

/* Nothing is quieter than this: far below one step of 16 bits. */
static const double least_power = 1e-10;

static double log_power_of_band(const struct band *band, const double *power)
{
    double sum = 0;
    for (uint64_t p = band->first; p < band->last; p++) {
        double rise = p < band->peak ? (double)(p - band->first) / (double)(band->peak - band->first)
                                     : (double)(band->last - p) / (double)(band->last - band->peak);
        sum += rise * power[p];
    }
    return log(sum + least_power);
}

/* The 13 numbers that one window gives. */
static void hear(const struct ll_cepstra *c, const float *samples, float *out)
{
    double re[MOST_POINTS] = {0}, im[MOST_POINTS] = {0}, bands[BANDS], energy = 0;
    for (uint64_t i = 0; i < c->window; i++) {
        energy += (double)samples[i] * (double)samples[i];
        re[i] = (double)samples[i] * c->hamming[i];
    }
    ll_fourier(re, im, c->points);
    for (uint64_t p = 0; p <= c->points / 2; p++)
        re[p] = re[p] * re[p] + im[p] * im[p];
    for (int b = 0; b < BANDS; b++)
        bands[b] = log_power_of_band(&c->bands[b], re);
    for (int k = 0; k < LL_CEPSTRA; k++) {
        double sum = 0;
        for (int b = 0; b < BANDS; b++)
            sum += c->cosines[k][b] * bands[b];
        out[k] = (float)sum;
    }
    out[LL_CEPSTRA] = (float)log(energy + least_power);
}

/* Least squares over frames t - 2 .. t + 2; the first and last frame go on for ever. */
static void add_slopes(float *features, uint64_t frames)
{
    for (uint64_t t = 0; t < frames; t++)
        for (uint64_t i = 0; i < STATIC; i++) {
            float slope = 0;
            for (uint64_t k = 1; k <= 2; k++) {
                uint64_t before = t < k ? 0 : t - k, after = t + k < frames ? t + k : frames - 1;
                slope += (float)k * (features[after * LL_FEATURES + i] - features[before * LL_FEATURES + i]);
            }
            features[t * LL_FEATURES + STATIC + i] = slope / 10;
        }
}

static void standardise(float *features, uint64_t frames)
{
    for (uint64_t i = 0; i < LL_FEATURES; i++) {
        double sum = 0, squares = 0;
        for (uint64_t t = 0; t < frames; t++)
            sum += (double)features[t * LL_FEATURES + i];
        double mean = sum / (double)frames;
        for (uint64_t t = 0; t < frames; t++)
            squares += pow((double)features[t * LL_FEATURES + i] - mean, 2);
        double deviation = sqrt(squares / (double)frames), scale = deviation > 1e-6 ? 1 / deviation : 0;
        for (uint64_t t = 0; t < frames; t++) {
            float *x = &features[t * LL_FEATURES + i];
            *x = (float)(((double)*x - mean) * scale);
        }
    }
}

void ll_cepstra_of(const struct ll_cepstra *c, const float *samples, uint64_t count, float *features)
{
    uint64_t frames = ll_cepstra_frames(c, count);
    for (uint64_t t = 0; t < frames; t++)
        hear(c, samples + t * c->hop, features + t * LL_FEATURES);
    add_slopes(features, frames);
    standardise(features, frames);
}

/* Speech to recognise: phoneme files, folders laid out as TIMIT's, utterances of one stream, and greedy
 * decoding. */

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
static bool speech_hear(struct utterances_reading *r, struct ll_utterance *utterance)
{
    struct ll_arena scratch = {0};
    struct ll_sound sound;
    bool good = sound_load(utterance->name, &scratch, &sound, r->diags);
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
    bool good = speech_hear(r, utterance);
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
    assert(spoken->count >= LL_ONE_HELD_BACK_OF);
    *speech = (struct ll_speech){.seed = seed, .most_labels = spoken->most_labels, .spoken = spoken};
}

bool ll_speech_of_tones(struct ll_speech *speech, uint64_t kinds, uint64_t most_labels, uint64_t seed,
                        struct ll_arena *arena)
{
    assert(kinds >= 2 && kinds <= LL_MOST_TONES && most_labels > 0);
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

uint64_t ll_ctc_greedy_decode(const float *logits, uint64_t frames, uint64_t stride, uint64_t classes,
                              int32_t *labels)
{
    assert(classes > 1 && stride >= classes);
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
