/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/human.h"

#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Three significant digits, never in exponent form, for values from 0.1 to 9999. */
static void three_digits(char *text, size_t size, double value)
{
    int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    ll_snprintf(text, size, "%.*f", decimals, value);
}

const char *ll_si(struct ll_human *human, double value, const char *unit)
{
    static const char *const prefixes[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    enum { PLAIN = 4, LAST = sizeof prefixes / sizeof prefixes[0] - 1 };
    if (!isfinite(value) || value < 0) {
        snprintf(human->text, sizeof human->text, "-");
        return human->text;
    }
    if (value >= 999.5e18) { /* past the last prefix */
        ll_snprintf(human->text, sizeof human->text, "%.3g %s", value, unit);
        return human->text;
    }
    int which = PLAIN;
    for (; value >= 999.5 && which < LAST; which++)
        value /= 1000;
    for (; value > 0 && value < 0.9995 && which > 0; which--)
        value *= 1000;
    char digits[24];
    three_digits(digits, sizeof digits, value);
    snprintf(human->text, sizeof human->text, "%s %s%s", digits, value > 0 ? prefixes[which] : "", unit);
    return human->text;
}

const char *ll_many(struct ll_human *human, double value, const char *unit)
{
    if (!(value > 0 && value < 0.9995))
        return ll_si(human, value, unit);
    ll_snprintf(human->text, sizeof human->text, "%.3g%s%s", value, *unit ? " " : "", unit);
    return human->text;
}

const char *ll_binary(struct ll_human *human, double bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    const char *sign = bytes < 0 ? "-" : "";
    bytes = fabs(bytes);
    int which = 0;
    double plain = bytes;
    for (; bytes >= 1023.5 && which < 6; which++)
        bytes /= 1024;
    char digits[24];
    if (bytes >= 1023.5) { /* past the last prefix */
        which = 0;
        ll_snprintf(digits, sizeof digits, "%.3g", plain);
    } else if (which == 0)
        ll_snprintf(digits, sizeof digits, "%.0f", bytes);
    else
        three_digits(digits, sizeof digits, bytes);
    snprintf(human->text, sizeof human->text, "%s%s %s", sign, digits, units[which]);
    return human->text;
}

const char *ll_percent(struct ll_human *human, double fraction)
{
    ll_snprintf(human->text, sizeof human->text, "%.1f %%", 100 * fraction);
    return human->text;
}

const char *ll_times(struct ll_human *human, double factor)
{
    int digits = 2;
    while (factor < 1 && digits < 6 && factor >= 1 - 0.5 * pow(10, -digits))
        digits++;
    bool rounding = factor >= 1 - 0.5e-6 && factor < 1;
    ll_snprintf(human->text, sizeof human->text, "%.*fx", rounding ? 2 : digits, factor);
    return human->text;
}

const char *ll_grouped(struct ll_human *human, unsigned long long count)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", count);
    size_t length = strlen(digits), used = 0;
    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            human->text[used++] = ',';
        human->text[used++] = digits[i];
    }
    human->text[used] = '\0';
    return human->text;
}

const char *ll_plural(unsigned long long count)
{
    return count == 1 ? "" : "s";
}

void ll_bar(struct ll_str *out, double fraction, unsigned width)
{
    double filled = round(fmin(fmax(fraction, 0), 1) * width);
    ll_str_add(out, "[");
    for (unsigned i = 0; i < width; i++)
        ll_str_add(out, i < filled ? "#" : "-");
    ll_str_add(out, "]");
}

/* Of one byte, or of two in UTF-8: U+0080 to U+009F. */
static size_t control_length(const unsigned char *at, size_t left)
{
    if (at[0] == 0x7F || (at[0] < ' ' && at[0] != '\n' && at[0] != '\t'))
        return 1;
    return left > 1 && at[0] == 0xC2 && at[1] >= 0x80 && at[1] < 0xA0 ? 2 : 0;
}

void ll_hide_controls(char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        size_t control = control_length((const unsigned char *)text + i, length - i);
        memset(text + i, '?', control);
        i += control > 1;
    }
}

void ll_wrap_behind(struct ll_str *out, size_t characters, const char *text, unsigned indent, unsigned width)
{
    for (const char *word = text; *word;) {
        size_t length = strcspn(word, " ");
        if (characters > indent && characters + 1 + length > width) {
            ll_str_add(out, "\n");
            characters = 0;
        }
        int gap = characters ? 1 : (int)indent;
        ll_str_addf(out, "%*s", gap, "");
        ll_str_add_bytes(out, word, length);
        characters += (size_t)gap + length;
        word += length + (word[length] == ' ');
    }
    ll_str_add(out, "\n");
}

void ll_wrap(struct ll_str *out, const char *text, unsigned width)
{
    ll_wrap_behind(out, 0, text, 2, width);
}

void ll_end_line(struct ll_str *line, unsigned width, struct ll_str *out)
{
    ll_wrap(out, line->text ? line->text : "", width);
    ll_str_release(line);
}
