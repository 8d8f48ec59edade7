/* SPDX-License-Identifier: Apache-2.0 */
/* Speech that somebody spoke: folders as TIMIT's, written here. */
#define _GNU_SOURCE
#include "check.h"

#include "models/data/speech.h"
#include "models/model.h"
#include "tracer/base/random.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "test_utterances.XXXXXX";
static struct ll_arena arena;
static struct ll_diags diags;

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "test_utterances.XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char remove[100];
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    diags = (struct ll_diags){0};
    return system(remove);
}

static FILE *create(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    return file;
}

static void write_text(const char *name, const char *text)
{
    FILE *file = create(name);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void put(FILE *file, uint64_t value, int bytes)
{
    for (; bytes-- > 0; value >>= 8)
        fputc((int)(value & 0xff), file);
}

/* RIFF WAVE, one channel of 16 bits, 16 kHz. */
static void write_wave(const char *name, const float *samples, uint64_t count)
{
    FILE *file = create(name);
    fputs("RIFF", file);
    put(file, 36 + 2 * count, 4);
    fputs("WAVEfmt ", file);
    put(file, 16, 4);
    put(file, 1, 2);
    put(file, 1, 2);
    put(file, 16000, 4);
    put(file, 32000, 4);
    put(file, 2, 2);
    put(file, 16, 2);
    fputs("data", file);
    put(file, 2 * count, 4);
    for (uint64_t i = 0; i < count; i++)
        put(file, (uint64_t)lrint((double)samples[i] * 32767), 2);
    fclose(file);
}

static void make_inner_folder(const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0777), 0);
}

static float noise[2000];

/* Utterance i, in folder a or b, has 5 + i frames and says p, then q if i is odd. */
static void write_sixteen(void)
{
    make_inner_folder("b");
    make_inner_folder("b/a");
    for (uint64_t i = 0; i < 2000; i++)
        noise[i] = ll_random_unit((uint32_t)ll_random_bits(7, i)) - 0.5f;
    for (unsigned i = 0; i < 16; i++) {
        char name[40];
        snprintf(name, sizeof name, "%s/u%02u.%s", i % 2 ? "b/a" : "b", i, i % 3 ? "wav" : "WAV");
        write_wave(name, noise, 400 + 80 * (4 + i));
        snprintf(name, sizeof name, "%s/u%02u.%s", i % 2 ? "b/a" : "b", i, i % 5 ? "phn" : "PHN");
        write_text(name, i % 2 ? "0 99 p\n99 480 q\n" : "0 480 p\n");
    }
}

static void folders_are_read_in_the_order_of_names(void **state)
{
    (void)state;
    struct ll_utterances set;
    write_sixteen();
    write_text("b/u00.txt", "this is no part of it");
    write_wave("b/alone.wav", noise, 1000);
    assert_true(ll_utterances_read(&set, folder, &arena, &diags));
    assert_int_equal(set.count, 16);
    assert_int_equal(set.phonemes, 2);
    assert_int_equal(set.most_labels, 2);
    assert_int_equal(set.longest->frames, 20);
    for (unsigned i = 0; i < 16; i++) { /* b/a/u01, b/a/u03, ... before b/u00, b/u02, ... */
        const struct ll_utterance *one = &set.at[i];
        assert_int_equal(one->frames, 5 + (i < 8 ? 2 * i + 1 : 2 * (i - 8)));
        assert_int_equal(one->said.count, i < 8 ? 2 : 1);
        assert_int_equal(one->said.labels[0], 0);
    }
}

/* The same through the file and straight from the samples. */
static void what_is_heard_is_the_sound_of_the_file(void **state)
{
    (void)state;
    struct ll_utterances set;
    float samples[2000], expected[20][LL_FEATURES];
    write_sixteen();
    assert_true(ll_utterances_read(&set, folder, &arena, &diags));
    const struct ll_cepstra *cepstra = ll_cepstra_new(&arena, 16000);
    for (int i = 0; i < 2000; i++)
        samples[i] = (float)lrint((double)noise[i] * 32767) / 32768;
    ll_cepstra_of(cepstra, samples, ll_cepstra_samples(cepstra, set.longest->frames), expected[0]);
    assert_memory_equal(set.longest->features, expected, sizeof expected);
}

static void expect(const char *file, const char *message)
{
    struct ll_utterances set;
    char path[200];
    snprintf(path, sizeof path, "%s%s%s", folder, *file ? "/" : "", file);
    assert_false(ll_utterances_read(&set, folder, &arena, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].place.file, path);
    assert_string_equal(diags.kept[0].message, message);
    ll_diags_release(&diags);
    diags = (struct ll_diags){0};
}

static void what_is_no_utterance_is_named(void **state)
{
    (void)state;
    expect("", "0 utterances, X.wav with X.phn; expected at least 16, so that one is held back");
    write_sixteen();
    write_text("b/v.phn", "0 9 p\n");
    expect("b/v.phn", "the sound that goes with it, of this name but for .wav, is missing");
    write_text("b/v.wav", "RIFF");
    expect("b/v.wav", "this is not a sound file: expected RIFF WAVE or NIST SPHERE");
    write_wave("b/v.wav", noise, 399);
    expect("b/v.wav", "399 samples, less than the 25 ms that a frame needs");
    write_wave("b/v.wav", noise, 480);
    write_text("b/v.phn", "0 9 p\n9 99 p\n");
    char message[300];
    snprintf(message, sizeof message, "its phonemes need 3 frames; %s/b/v.wav has 2 of 5 ms", folder);
    expect("b/v.phn", message);
}

static void all_that_is_wrong_is_named(void **state)
{
    (void)state;
    struct ll_utterances set;
    write_text("a.wav", "no sound");
    write_text("a.phn", "no phonemes");
    write_text("b.PHN", "0 5 p\n");
    assert_false(ll_utterances_read(&set, folder, &arena, &diags));
    assert_int_equal(diags.count, 3);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
    (void)state;
    struct ll_utterances set;
    assert_false(ll_utterances_read(&set, "no/such/folder", &arena, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, "there is no such file or folder");
}

static void a_part_has_its_own_utterances(void **state)
{
    (void)state;
    struct ll_utterances set;
    struct ll_speech speech;
    write_sixteen();
    assert_true(ll_utterances_read(&set, folder, &arena, &diags));
    ll_speech_of_utterances(&speech, &set, 3);
    for (uint64_t i = 0; i < 100; i++) {
        int32_t labels[2];
        float features[20][LL_FEATURES];
        assert_int_equal(ll_speech_frames(&speech, LL_HELD_BACK, i), 19); /* b/u14 */
        assert_int_equal(ll_speech_labels(&speech, LL_HELD_BACK, i, labels), 1);
        uint64_t frames = ll_speech_frames(&speech, LL_LEARNED, i);
        assert_true(frames >= 5 && frames != 19 && frames <= 20);
        assert_int_equal(ll_speech_labels(&speech, LL_LEARNED, i, labels), 1 + (frames - 5) % 2);
        ll_speech_features(&speech, LL_LEARNED, i, features[0]);
    }
}

/* Utterance i is two or three tones of 35 ms, low and high in turn, whichever first, with noise around. */
static void write_tones(unsigned utterances)
{
    enum { EACH = 560 };
    float sound[3 * EACH];
    for (unsigned i = 0; i < utterances; i++) {
        char name[40];
        unsigned draw = (unsigned)(ll_random_bits(13, i) % 4), tones = 2 + draw % 2, first = draw / 2;
        snprintf(name, sizeof name, "u%03u.phn", i);
        FILE *said = create(name);
        for (unsigned k = 0; k < tones; k++)
            fprintf(said, "%u %u %s\n", k * EACH, (k + 1) * EACH, (first + k) % 2 ? "high" : "low");
        fclose(said);
        for (unsigned n = 0; n < tones * EACH; n++) {
            float around = ll_random_unit((uint32_t)ll_random_bits(i, n)) - 0.5f;
            sound[n] = 0.3f * sinf((float)n * ((first + n / EACH) % 2 ? 1.0f : 0.2f)) + 0.1f * around;
        }
        snprintf(name, sizeof name, "u%03u.wav", i);
        write_wave(name, sound, tones * EACH);
    }
}

/* The five of 80 utterances that are held back. */
static void speech_learns_what_was_recorded(void **state)
{
    (void)state;
    static const struct ll_setting settings[] = {{"frames", "20"}, {"hidden", "32"}, {"classes", "3"}};
    struct ll_run_report report;
    struct ll_run_options options = {.train = true,
                                     .evaluate = true,
                                     .data = folder,
                                     .batch = 8,
                                     .steps = 600,
                                     .seed = 1,
                                     .settings = settings,
                                     .setting_count = 3};
    write_tones(80);
    if (!ll_model_run(ll_model_find("speech"), &options, &report, &diags))
        fail_msg("%s", diags.kept[0].message);
    double before = report.before.at[0].value, after = report.after.at[0].value;
    if (!(before > 0.5 && after < 0.2))
        fail_msg("label error rate from %g to %g", before, after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(folders_are_read_in_the_order_of_names, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_heard_is_the_sound_of_the_file, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_is_no_utterance_is_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(all_that_is_wrong_is_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_named, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_part_has_its_own_utterances, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(speech_learns_what_was_recorded, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
