/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people: three digits and a prefix, "9.25 ms", "75.7 GFLOP", "1.9 GiB". Each returns its
 * buffer, so that it can stand in an argument list. */
#ifndef LL_SIM_REPORT_HUMAN_H
#define LL_SIM_REPORT_HUMAN_H

#include "tracer/base/str.h"

struct ll_human {
    char text[32];
};

/* Decimal prefixes: ll_si(1.5e10, "FLOP/s") is "15.0 GFLOP/s"; past the last one "1.06e+40 s". */
const char *ll_si(struct ll_human *human, double value, const char *unit);

/* The same for what is counted and has no thousandths: 0.0936 stays "0.0936 samples/s". */
const char *ll_many(struct ll_human *human, double value, const char *unit);

/* Binary prefixes, for capacities: "15.9 GiB". */
const char *ll_binary(struct ll_human *human, double bytes);

/* "41.3 %". */
const char *ll_percent(struct ll_human *human, double fraction);

/* "1.36x"; a loss has as many digits as show it: "0.998x". Down to a millionth, what is less than that is
 * rounding and "1.00x". */
const char *ll_times(struct ll_human *human, double factor);

/* A plain count with thin groups of thousands: "61,104,937". */
const char *ll_grouped(struct ll_human *human, unsigned long long count);

/* The ending of a word for so many: "" or "s". Static storage. */
const char *ll_plural(unsigned long long count);

/* A bar of `width` characters between brackets, the given fraction of it filled: "[####----]". */
void ll_bar(struct ll_str *out, double fraction, unsigned width);

/* What a terminal would obey rather than show becomes question marks, but for tabs and ends of lines: names
 * come from files of anyone. */
void ll_hide_controls(char *text, size_t length);

/* Text as lines that begin with `indent` spaces and break at spaces before the width. The first one goes on
 * where a line ended that has so many characters already, 0 for none. */
void ll_wrap_behind(struct ll_str *out, size_t characters, const char *text, unsigned indent, unsigned width);

/* The same from the start of a line, indented by two. */
void ll_wrap(struct ll_str *out, const char *text, unsigned width);

/* Adds a line broken like that, and releases it. */
void ll_end_line(struct ll_str *line, unsigned width, struct ll_str *out);

#endif
