/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: columns as wide as they need, numbers to the right.
 *
 * A heading that begins with `>` aligns its column to the right, one that begins with `?` names a column that
 * a narrow screen may do without.
 * When memory runs out the table prints as far as it got. One thread at a time; freed with ll_table_free. */
#ifndef LL_SIM_REPORT_TABLE_H
#define LL_SIM_REPORT_TABLE_H

#include "tracer/base/str.h"

struct ll_table;

/* Headings with `|` between them, copied. NULL when memory ran out; the other functions then do nothing. */
struct ll_table *ll_table_new(const char *headings);

/* A row, printf style; each `|` of the format, not of what is put into it, begins another cell. Ends of lines
 * and tabs within a cell become spaces, other control characters question marks. */
void ll_table_row(struct ll_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same cell by cell: one more of the row at hand, until it ends. */
void ll_table_cell(struct ll_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ll_table_end_row(struct ll_table *table);

/* Adds the whole table to a text, without columns with `?` that nobody filled. Where it is wider than the
 * screen, further columns with `?` are left out, the last one first; then the last column is wrapped. What is
 * still too wide stays so. */
void ll_table_print(const struct ll_table *table, unsigned width, struct ll_str *out);

/* NULL is fine. */
void ll_table_free(struct ll_table *table);

#endif
