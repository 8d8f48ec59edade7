/* SPDX-License-Identifier: Apache-2.0 */
/* Sounds as files have them; the bytes are written here after the formats' own descriptions. */
#include "check.h"

#include "models/data/speech.h"

#include <stdlib.h>
#include <string.h>

/* RIFF WAVE: an odd chunk that nobody asked for, the format, three samples 1, -1 and -32768. */
static const uint8_t wave[] = {'R', 'I', 'F', 'F', 52,   0,    0, 0,   'W', 'A',  'V', 'E',  'L',  'I', 'S',
                               'T', 1,   0,   0,   0,    7,    0, 'f', 'm', 't',  ' ', 16,   0,    0,   0,
                               1,   0,   1,   0,   0x80, 0x3e, 0, 0,   0,   0x7d, 0,   0,    2,    0,   16,
                               0,   'd', 'a', 't', 'a',  6,    0, 0,   0,   1,    0,   0xff, 0xff, 0,   0x80};
enum { FORMAT = 30, CHANNELS = 32, RATE = 34, BITS = 44, DATA_SIZE = 50 };

static struct ll_arena arena;
static struct ll_diags diags;

static int let_go(void **state)
{
    (void)state;
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    arena = (struct ll_arena){0};
    diags = (struct ll_diags){0};
    return 0;
}

static bool parse(const void *bytes, size_t size, struct ll_sound *sound)
{
    uint8_t *copy = malloc(size + 1); /* so that a sanitizer sees what lies behind */
    memcpy(copy, bytes, size);
    bool good = ll_sound_parse(copy, size, "sound", &arena, sound, &diags);
    free(copy);
    return good;
}

static void check_samples(const struct ll_sound *sound)
{
    assert_int_equal(sound->rate_Hz, 16000);
    assert_int_equal(sound->count, 3);
    assert_true(sound->samples[0] == 1.0f / 32768 && sound->samples[1] == -1.0f / 32768);
    assert_true(sound->samples[2] == -1);
}

static void a_wave_is_read(void **state)
{
    (void)state;
    struct ll_sound sound;
    assert_true(parse(wave, sizeof wave, &sound));
    check_samples(&sound);
}

/* Both orders of bytes; as TIMIT has it, the header is filled up. */
static void a_sphere_is_read(void **state)
{
    (void)state;
    static const uint8_t samples[2][6] = {{1, 0, 0xff, 0xff, 0, 0x80}, {0, 1, 0xff, 0xff, 0x80, 0}};
    for (int big = 0; big < 2; big++) {
        char file[1030];
        struct ll_sound sound;
        memset(file, ' ', sizeof file);
        int length = snprintf(file, sizeof file,
                              "NIST_1A\n   1024\nsample_rate -i 16000\nsample_byte_format -s2 %s\n"
                              "channel_count -i 1\nsample_coding -s3 pcm\nend_head\nsample_rate -i 7\n",
                              big ? "10" : "01");
        file[length] = ' ';
        memcpy(file + 1024, samples[big], 6);
        assert_true(parse(file, sizeof file, &sound));
        check_samples(&sound);
    }
}

static void check_refused(const void *bytes, size_t size, const char *message)
{
    struct ll_sound sound;
    assert_false(parse(bytes, size, &sound));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, message);
    let_go(NULL);
}

static void what_is_no_such_sound_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint8_t byte;
        const char *message;
    } breaches[] = {
        {0, 'X', "this is not a sound file: expected RIFF WAVE or NIST SPHERE"},
        {FORMAT, 7, "its samples are compressed: expected format 1 (PCM)"},
        {CHANNELS, 2, "2 channels of 16 bits: expected 1 of 16"},
        {RATE + 1, 0, "128 samples a second: expected from 8000 to 48000"},
        {BITS, 8, "1 channels of 8 bits: expected 1 of 16"},
        {DATA_SIZE, 7, "a chunk of 7 bytes: 6 are left"},
        {DATA_SIZE - 1, 'A', "it has no \"fmt \" chunk with a \"data\" chunk behind it"},
    };
    for (size_t i = 0; i < sizeof breaches / sizeof *breaches; i++) {
        uint8_t copy[sizeof wave];
        memcpy(copy, wave, sizeof wave);
        copy[breaches[i].at] = breaches[i].byte;
        check_refused(copy, sizeof copy, breaches[i].message);
    }
    check_refused("NIST_1A\n   1024\n", 16, "a header of 1024 bytes: expected from 16 to 16, all there are");
    const char packed[] = "NIST_1A\n     64\nsample_coding -s26 pcm,embedded-shorten-v2.00\nend_head\n";
    check_refused(packed, sizeof packed, "its samples are compressed: expected sample_coding pcm");
}

static void a_wave_cut_short_is_refused_wherever_it_ends(void **state)
{
    (void)state;
    struct ll_sound sound;
    for (size_t size = 0; size < sizeof wave; size++) {
        assert_false(parse(wave, size, &sound));
        let_go(NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_wave_is_read, let_go),
        cmocka_unit_test_teardown(a_sphere_is_read, let_go),
        cmocka_unit_test_teardown(what_is_no_such_sound_is_refused, let_go),
        cmocka_unit_test_teardown(a_wave_cut_short_is_refused_wherever_it_ends, let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
