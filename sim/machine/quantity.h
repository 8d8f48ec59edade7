/* SPDX-License-Identifier: Apache-2.0 */
/* "900GB/s" to 9e11 and back: the only table of units.
 *
 * kB is 1000 bytes and KiB 1024; `b` is refused, for it is read as bits by some and as bytes by others. Every
 * unit is a power of ten times a power of two, so that a text becomes the double nearest to what it says, and
 * a double becomes a text that reads back to the same bits, whatever the locale. Pure functions. */
#ifndef LL_SIM_MACHINE_QUANTITY_H
#define LL_SIM_MACHINE_QUANTITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Dimensions: word, what a complaint calls it, an example, its base unit. */
#define LL_DIMENSION_LIST(X)                                                                                 \
    X(NUMBER, "a number without unit", "0.85", "")                                                           \
    X(TIME, "a time", "3us or 120ns", "s")                                                                   \
    X(SIZE, "a size", "16GiB or 512B", "B")                                                                  \
    X(BANDWIDTH, "a bandwidth", "900GB/s or 512B/cycle", "B/s")                                              \
    X(PER_CYCLE, "bytes per cycle", "512B/cycle", "B/cycle")                                                 \
    X(FREQUENCY, "a frequency", "1.5GHz", "Hz")                                                              \
    X(ENERGY, "an energy", "4.6pJ", "J")                                                                     \
    X(ENERGY_PER_BYTE, "an energy per byte", "31pJ/B", "J/B")                                                \
    X(POWER, "a power", "20W", "W")                                                                          \
    X(AREA, "an area", "0.45mm2", "m2")                                                                      \
    X(AREA_PER_BYTE, "an area per byte", "0.45mm2/MiB", "m2/B")

enum ll_dimension {
#define X(word, ...) LL_DIMENSION_##word,
    LL_DIMENSION_LIST(X)
#undef X
        LL_DIMENSION_COUNT
};

/* A value in the base unit of its dimension. */
struct ll_quantity {
    double value;
    enum ll_dimension dimension;
};

enum ll_quantity_status {
    LL_QUANTITY_FINE,
    LL_QUANTITY_NO_NUMBER, /* the text does not begin with a number of at most 40 digits */
    LL_QUANTITY_NEGATIVE,
    LL_QUANTITY_TOO_LARGE, /* past all doubles */
    LL_QUANTITY_NO_UNIT,   /* what follows the number is not in the table */
};

/* What a text says; never negative, infinite or not a number. *unit becomes the place in the text where the
 * unit begins, also of an unknown one. */
enum ll_quantity_status ll_quantity_parse(const char *text, struct ll_quantity *quantity, const char **unit);

/* A whole number, digits only, that fits in 64 bits. False when the text is no such thing. */
bool ll_count_parse(const char *text, uint64_t *count);

/* A number without unit, meant in this unit of the table ("" for none): 4.6 meant in pJ is 4.6e-12. False
 * when the text is no such thing, or too large for a double. */
bool ll_number_parse(const char *text, const char *unit, double *value);

/* The text of a value with the unit that reads best, or as a bare number in the unit named (which is in the
 * table). It reads back to the same double. */
struct ll_quantity_text {
    char text[64];
};
struct ll_quantity_text ll_quantity_text(double value, enum ll_dimension dimension);
struct ll_quantity_text ll_number_in(double value, const char *unit);

/* Words for complaints and the key reference; static storage. */
const char *ll_dimension_name(enum ll_dimension dimension);
const char *ll_dimension_example(enum ll_dimension dimension);
const char *ll_dimension_base(enum ll_dimension dimension);

/* What a unit of the table is of. */
enum ll_dimension ll_unit_dimension(const char *unit);

/* The unit that was probably meant: one that differs in upper and lower case only, else the nearest, else
 * NULL. */
const char *ll_unit_nearest(const char *unit);

/* With as many digits as people read: to a thousandth of the power of ten at or below `like`, which is
 * positive. 39.68503 like 14.7 is 39.69; of a value like itself four digits remain. Pure. */
double ll_number_rounded(double value, double like);

#endif
