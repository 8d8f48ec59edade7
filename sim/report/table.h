/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people: three digits and a prefix, "9.25 ms", "75.7 GFLOP", "1.9 GiB". Each returns its
 * buffer, so that it can stand in an argument list. */
#ifndef LL_SIM_REPORT_TABLE_H
#define LL_SIM_REPORT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "tracer/base/str.h"

struct ll_human {
    char text[32];
};

/* Decimal prefixes: ll_format_si(1.5e10, "FLOP/s") is "15.0 GFLOP/s"; past the last one "1.06e+40 s". */
const char *ll_format_si(struct ll_human *human, double value, const char *unit);

/* What is counted has no prefixes: "0.0936 samples/s", "38.1 samples/s", "12,345 samples/s". */
const char *ll_format_count(struct ll_human *human, double value, const char *unit);

/* Binary prefixes, for capacities: "15.9 GiB". */
const char *ll_format_binary(struct ll_human *human, double bytes);

/* "41.3 %". */
const char *ll_format_percent(struct ll_human *human, double fraction);

/* "1.36x"; a loss has as many digits as show it: "0.998x". Down to a millionth, what is less than that is
 * rounding and "1.00x". */
const char *ll_format_times(struct ll_human *human, double factor);

/* A plain count with thin groups of thousands: "61,104,937". */
const char *ll_format_grouped(struct ll_human *human, unsigned long long count);

/* The ending of a word for so many: "" or "s". Static storage. */
const char *ll_plural(unsigned long long count);

/* What bars are made of: what every terminal shows, "[####----]", or the block elements of Unicode, which
 * fill eighths of a character. */
enum ll_bar_cells { LL_BAR_ASCII, LL_BAR_BLOCKS };

/* A bar of `width` characters and two more (brackets, or spaces behind it), the given fraction filled. */
void ll_bar(struct ll_str *out, double fraction, unsigned width, enum ll_bar_cells bars);

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

/* The width of no screen: pages of this width are Markdown (CommonMark, with tables as GitHub has them). */
enum { LL_MARKDOWN_WIDTH = 1000000 };

/* What part of a page plays which role: a byte in the text that takes no room. It holds until LL_MARK_END or
 * the end of the line. Pages may be read without: no mark is the only copy of a fact. */
#define LL_MARK_END "\x10"
#define LL_MARK_KEY "\x11"   /* labels, heads of columns */
#define LL_MARK_VALUE "\x12" /* the figure of the page, the name that counts */
#define LL_MARK_FIND "\x13"  /* the finding: bottleneck, best upgrade, what decides */
#define LL_MARK_GOOD "\x14"
#define LL_MARK_BAD "\x15" /* does not fit, failed */
#define LL_MARK_WARN "\x16"
#define LL_MARK_PATH "\x17" /* what can be pasted: a command */

/* Adds a page without its marks or, in colour, with the colours of a terminal (ECMA-48, SGR) in their place.
 * Control characters that are none become question marks. The text is changed. */
void ll_add_painted(char *text, bool colour, struct ll_str *out);

/* A page made for LL_MARKDOWN_WIDTH with its lines as Markdown: tables as they are, other lines each one of
 * its own, figures and findings strong. The text is changed. */
void ll_add_markdown(char *text, struct ll_str *out);

/* A finished text with its lines broken at spaces before the width; further lines stand behind the label that
 * begins the line (two spaces end it), or a little further in. A word that is wider stays whole. */
void ll_wrap_all(const char *text, unsigned width, struct ll_str *out);

/* Tables for people: columns as wide as they need, numbers to the right.
 *
 * A heading that begins with `>` aligns its column to the right, one that begins with `?` names a column that
 * a narrow screen may do without: the more of them, the sooner it is hidden (`>` before them: C
 * reads some question marks as trigraphs).
 * When memory runs out the table prints as far as it got. One thread at a time; freed with ll_table_free. */

struct ll_table;

/* Headings with `|` between them, copied. NULL when memory ran out; the other functions then do nothing. */
struct ll_table *ll_table_new(const char *headings);

/* A row, printf style; each `|` of the format, not of what is put into it, begins another cell. Ends of lines
 * and tabs within a cell become spaces, other control characters question marks. */
void ll_table_row(struct ll_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same cell by cell: one more of the row at hand, until it ends. */
void ll_table_cell(struct ll_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ll_table_end_row(struct ll_table *table);

/* The row that comes next plays a role: one of the marks above. */
void ll_table_mark(struct ll_table *table, const char *mark);

/* From now on the table is printed with so many rows at most, and a line that counts the others; 0: with all.
 * */
void ll_table_top(struct ll_table *table, uint64_t most);

/* Adds the whole table to a text, without columns with `?` that nobody filled. Where it is wider than the
 * screen, columns are hidden: those with most `?` first, of equals the last one. Where that is not enough the
 * last column is wrapped, if it is text and has the room, else names are cut, the longest first, which an
 * ellipsis shows; where even that is not enough further columns are hidden, the last one first, but never the
 * first column. A line below names what is hidden. */
void ll_table_print(const struct ll_table *table, unsigned width, struct ll_str *out);

/* NULL is fine. */
void ll_table_free(struct ll_table *table);

#endif
