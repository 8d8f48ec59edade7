/* SPDX-License-Identifier: Apache-2.0 */
/* A decimal text is kept as digits and a power of ten as long as possible: "4.6pJ" becomes 46e-13, which one
 * ll_strtod rounds once. */
#include "sim/machine/quantity.h"

#include "tracer/base/json.h"
#include "tracer/base/str.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The unit is 10^ten * 2^two of the base unit. Within a dimension from large to small; the first spelling of
 * a size is the one that is written. */
struct unit {
    const char *text;
    enum ll_dimension dimension;
    int ten, two;
};

static const struct unit units[] = {
    {"", LL_DIMENSION_NUMBER, 0, 0},
    {"s", LL_DIMENSION_TIME, 0, 0},
    {"ms", LL_DIMENSION_TIME, -3, 0},
    {"us", LL_DIMENSION_TIME, -6, 0},
    {"ns", LL_DIMENSION_TIME, -9, 0},
    {"ps", LL_DIMENSION_TIME, -12, 0},
    {"PiB", LL_DIMENSION_SIZE, 0, 50},
    {"TiB", LL_DIMENSION_SIZE, 0, 40},
    {"GiB", LL_DIMENSION_SIZE, 0, 30},
    {"MiB", LL_DIMENSION_SIZE, 0, 20},
    {"KiB", LL_DIMENSION_SIZE, 0, 10},
    {"PB", LL_DIMENSION_SIZE, 15, 0},
    {"TB", LL_DIMENSION_SIZE, 12, 0},
    {"GB", LL_DIMENSION_SIZE, 9, 0},
    {"MB", LL_DIMENSION_SIZE, 6, 0},
    {"kB", LL_DIMENSION_SIZE, 3, 0},
    {"B", LL_DIMENSION_SIZE, 0, 0},
    {"PB/s", LL_DIMENSION_BANDWIDTH, 15, 0},
    {"TB/s", LL_DIMENSION_BANDWIDTH, 12, 0},
    {"GB/s", LL_DIMENSION_BANDWIDTH, 9, 0},
    {"MB/s", LL_DIMENSION_BANDWIDTH, 6, 0},
    {"kB/s", LL_DIMENSION_BANDWIDTH, 3, 0},
    {"B/s", LL_DIMENSION_BANDWIDTH, 0, 0},
    {"TiB/s", LL_DIMENSION_BANDWIDTH, 0, 40},
    {"GiB/s", LL_DIMENSION_BANDWIDTH, 0, 30},
    {"MiB/s", LL_DIMENSION_BANDWIDTH, 0, 20},
    {"KiB/s", LL_DIMENSION_BANDWIDTH, 0, 10},
    {"KiB/cycle", LL_DIMENSION_PER_CYCLE, 0, 10},
    {"kB/cycle", LL_DIMENSION_PER_CYCLE, 3, 0},
    {"B/cycle", LL_DIMENSION_PER_CYCLE, 0, 0},
    {"THz", LL_DIMENSION_FREQUENCY, 12, 0},
    {"GHz", LL_DIMENSION_FREQUENCY, 9, 0},
    {"MHz", LL_DIMENSION_FREQUENCY, 6, 0},
    {"kHz", LL_DIMENSION_FREQUENCY, 3, 0},
    {"Hz", LL_DIMENSION_FREQUENCY, 0, 0},
    {"J", LL_DIMENSION_ENERGY, 0, 0},
    {"mJ", LL_DIMENSION_ENERGY, -3, 0},
    {"uJ", LL_DIMENSION_ENERGY, -6, 0},
    {"nJ", LL_DIMENSION_ENERGY, -9, 0},
    {"pJ", LL_DIMENSION_ENERGY, -12, 0},
    {"fJ", LL_DIMENSION_ENERGY, -15, 0},
    {"J/B", LL_DIMENSION_ENERGY_PER_BYTE, 0, 0},
    {"nJ/B", LL_DIMENSION_ENERGY_PER_BYTE, -9, 0},
    {"pJ/B", LL_DIMENSION_ENERGY_PER_BYTE, -12, 0},
    {"fJ/B", LL_DIMENSION_ENERGY_PER_BYTE, -15, 0},
    {"MW", LL_DIMENSION_POWER, 6, 0},
    {"kW", LL_DIMENSION_POWER, 3, 0},
    {"W", LL_DIMENSION_POWER, 0, 0},
    {"mW", LL_DIMENSION_POWER, -3, 0},
    {"uW", LL_DIMENSION_POWER, -6, 0},
    {"m2", LL_DIMENSION_AREA, 0, 0},
    {"mm2", LL_DIMENSION_AREA, -6, 0},
    {"um2", LL_DIMENSION_AREA, -12, 0},
    {"m2/B", LL_DIMENSION_AREA_PER_BYTE, 0, 0},
    {"mm2/KiB", LL_DIMENSION_AREA_PER_BYTE, -6, -10},
    {"mm2/MiB", LL_DIMENSION_AREA_PER_BYTE, -6, -20},
    {"um2/B", LL_DIMENSION_AREA_PER_BYTE, -12, 0},
};
enum { UNIT_COUNT = sizeof units / sizeof *units };

/* More digits than a double can tell apart, and exponents beyond every double. */
enum { MOST_DIGITS = 40, MOST_EXPONENT = 400 };

/* digits * 10^ten, the digits without leading zeros (none at all for zero). */
struct decimal {
    char digits[MOST_DIGITS + 1];
    int length, ten;
};

static const struct unit *find_unit(const char *text)
{
    for (size_t i = 0; i < UNIT_COUNT; i++)
        if (!strcmp(units[i].text, text))
            return &units[i];
    return NULL;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool take_digit(struct decimal *decimal, char digit)
{
    if (decimal->length == 0 && digit == '0')
        return true;
    if (decimal->length == MOST_DIGITS)
        return false;
    decimal->digits[decimal->length++] = digit;
    return true;
}

/* An exponent, when digits follow the e: "1e3" has one, "1eV" would have none. */
static const char *take_exponent(const char *at, struct decimal *decimal)
{
    const char *digits = at + 1 + (at[0] && (at[1] == '+' || at[1] == '-'));
    if ((*at != 'e' && *at != 'E') || !is_digit(*digits))
        return at;
    int exponent = 0;
    for (; is_digit(*digits); digits++)
        if (exponent <= MOST_EXPONENT)
            exponent = exponent * 10 + (*digits - '0');
    decimal->ten += at[1] == '-' ? -exponent : exponent;
    return digits;
}

/* number := digits [ '.' digits ] [ e [sign] digits ]. Returns what follows it, NULL when there is no number.
 */
static const char *take_decimal(const char *text, struct decimal *decimal)
{
    *decimal = (struct decimal){.length = 0};
    if (!is_digit(*text))
        return NULL;
    for (; is_digit(*text); text++)
        if (!take_digit(decimal, *text))
            return NULL;
    if (*text == '.') {
        if (!is_digit(*++text))
            return NULL;
        for (; is_digit(*text); text++, decimal->ten--)
            if (!take_digit(decimal, *text))
                return NULL;
    }
    return take_exponent(text, decimal);
}

/* The nearest double to the decimal in this unit; infinite when it is past all doubles. */
static double to_double(const struct decimal *decimal, const struct unit *unit)
{
    char text[MOST_DIGITS + 32];
    snprintf(text, sizeof text, "%se%d", decimal->length ? decimal->digits : "0", decimal->ten + unit->ten);
    return ldexp(ll_strtod(text, NULL), unit->two);
}

enum ll_quantity_status ll_quantity_parse(const char *text, struct ll_quantity *quantity, const char **unit)
{
    struct decimal decimal;
    const char *rest = take_decimal(text, &decimal);
    *unit = text;
    if (!rest)
        return *text == '-' ? LL_QUANTITY_NEGATIVE : LL_QUANTITY_NO_NUMBER;
    while (*rest == ' ')
        rest++;
    *unit = rest;
    const struct unit *found = find_unit(rest);
    if (!found)
        return LL_QUANTITY_NO_UNIT;
    *quantity = (struct ll_quantity){to_double(&decimal, found), found->dimension};
    return isfinite(quantity->value) ? LL_QUANTITY_FINE : LL_QUANTITY_TOO_LARGE;
}

bool ll_count_parse(const char *text, uint64_t *count)
{
    uint64_t value = 0;
    if (!is_digit(*text))
        return false;
    for (; is_digit(*text); text++)
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *text - '0', &value))
            return false;
    *count = value;
    return *text == '\0';
}

bool ll_number_parse(const char *text, const char *unit, double *value)
{
    struct decimal decimal;
    const char *rest = take_decimal(text, &decimal);
    if (!rest || *rest)
        return false;
    const struct unit *meant = find_unit(unit);
    assert(meant);
    *value = to_double(&decimal, meant);
    return isfinite(*value);
}

double ll_number_rounded(double value, double like)
{
    int places = 3 - (int)floor(log10(like));
    double scale = pow(10, abs(places));
    return places > 0 ? round(value * scale) / scale : round(value / scale) * scale;
}

/* The shortest decimal of a double, in the base unit. */
static struct decimal from_double(double value)
{
    char text[32];
    struct decimal decimal;
    ll_number_text(value, text);
    bool right = take_decimal(text, &decimal);
    assert(right);
    (void)right;
    while (decimal.length > 1 && decimal.digits[decimal.length - 1] == '0') {
        decimal.digits[--decimal.length] = '\0';
        decimal.ten++;
    }
    return decimal;
}

/* Writes digits * 10^ten, without exponent where that stays short. */
static struct ll_quantity_text write_decimal(const struct decimal *decimal, int ten, const char *unit)
{
    struct ll_quantity_text out;
    static const char zeros[] = "000000000000000";
    int length = decimal->length, point = length + ten; /* digits before the decimal point */
    if (length == 0)
        snprintf(out.text, sizeof out.text, "0%.12s", unit);
    else if (ten == 0 || (ten > 0 && point <= 15))
        snprintf(out.text, sizeof out.text, "%.17s%.*s%.12s", decimal->digits, ten, zeros, unit);
    else if (ten < 0 && point > 0)
        snprintf(out.text, sizeof out.text, "%.*s.%.17s%.12s", point, decimal->digits,
                 decimal->digits + point, unit);
    else if (ten < 0 && point > -6)
        snprintf(out.text, sizeof out.text, "0.%.*s%.17s%.12s", -point, zeros, decimal->digits, unit);
    else
        snprintf(out.text, sizeof out.text, "%.17se%d%.12s", decimal->digits, ten, unit);
    return out;
}

/* Whether the value is at least one of this unit, and short to write in it. */
static bool suits(const struct unit *unit, double value, const struct decimal *decimal)
{
    if (unit->two)
        return value >= ldexp(1, unit->two);
    return decimal->length + decimal->ten > unit->ten;
}

/* decimal is that of the value, so that it is found once for all units that are powers of ten. */
static struct ll_quantity_text write_in(double value, const struct decimal *decimal, const struct unit *unit,
                                        const char *suffix)
{
    if (!unit->two)
        return write_decimal(decimal, decimal->ten - unit->ten, suffix);
    struct decimal scaled = from_double(ldexp(value, -unit->two)); /* exact */
    return write_decimal(&scaled, scaled.ten - unit->ten, suffix);
}

/* The shortest of the texts in units that suit; in the base unit when none does. */
struct ll_quantity_text ll_quantity_text(double value, enum ll_dimension dimension)
{
    struct decimal decimal = from_double(value);
    struct ll_quantity_text best = {""};
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (units[i].dimension != dimension || value == 0 || !suits(&units[i], value, &decimal))
            continue;
        struct ll_quantity_text text = write_in(value, &decimal, &units[i], units[i].text);
        if (!*best.text || strlen(text.text) < strlen(best.text))
            best = text;
    }
    return *best.text ? best : write_decimal(&decimal, decimal.ten, ll_dimension_base(dimension));
}

struct ll_quantity_text ll_number_in(double value, const char *unit)
{
    const struct unit *meant = find_unit(unit);
    assert(meant);
    struct decimal decimal = from_double(value);
    return write_in(value, &decimal, meant, "");
}

enum ll_dimension ll_unit_dimension(const char *unit)
{
    const struct unit *known = find_unit(unit);
    assert(known);
    return known->dimension;
}

const char *ll_dimension_name(enum ll_dimension dimension)
{
#define X(word, name, example, base) name,
    static const char *const names[] = {LL_DIMENSION_LIST(X)};
#undef X
    return names[dimension];
}

const char *ll_dimension_example(enum ll_dimension dimension)
{
#define X(word, name, example, base) example,
    static const char *const examples[] = {LL_DIMENSION_LIST(X)};
#undef X
    return examples[dimension];
}

const char *ll_dimension_base(enum ll_dimension dimension)
{
#define X(word, name, example, base) base,
    static const char *const bases[] = {LL_DIMENSION_LIST(X)};
#undef X
    return bases[dimension];
}

const char *ll_unit_nearest(const char *unit)
{
    const char *texts[UNIT_COUNT];
    for (size_t i = 0; i < UNIT_COUNT; i++)
        texts[i] = units[i].text;
    return ll_nearest(unit, texts, UNIT_COUNT);
}
