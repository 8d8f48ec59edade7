/* SPDX-License-Identifier: Apache-2.0 */
#include "models/data/text.h"

#include "tracer/base/file.h"

#include <string.h>

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
