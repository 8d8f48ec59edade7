/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/sound.h"

#include "models/data/cepstra.h"
#include "tracer/base/file.h"

#include <inttypes.h>
#include <string.h>

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

bool ll_sound_load(const char *path, struct ll_arena *arena, struct ll_sound *sound, struct ll_diags *diags)
{
    struct ll_contents contents;
    enum ll_status status = ll_read_whole(path, most_bytes, arena, &contents);
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    return ll_sound_parse(contents.bytes, contents.length, path, arena, sound, diags);
}
