/* SPDX-License-Identifier: Apache-2.0 */
/* Tables for people: columns as wide as they need, numbers to the right.
 *
 * A row is one text with `|` between cells. A heading that begins with `>` aligns its column to the right.
 * When memory runs out the table prints as far as it got. One thread at a time. */
#ifndef LL_REPORT_TABLE_H
#define LL_REPORT_TABLE_H

#include "tracer/base/str.h"

struct ll_table;

struct ll_table *ll_table_new(const char *headings);
void ll_table_row(struct ll_table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ll_table_print(const struct ll_table *table, struct ll_str *out);
void ll_table_free(struct ll_table *table);

#endif
