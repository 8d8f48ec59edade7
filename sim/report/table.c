/* SPDX-License-Identifier: Apache-2.0 */
/* All cells lie in one text, rows ended by a newline; two passes over it measure and print. */
#include "sim/report/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 16, GAP = 2 };

struct ll_table {
    struct ll_str cells;
    bool right[MOST_COLUMNS];
};

struct ll_table *ll_table_new(const char *headings)
{
    struct ll_table *table = calloc(1, sizeof *table);
    if (!table)
        return NULL;
    size_t column = 0;
    for (const char *p = headings; *p; p++) {
        bool first = p == headings || p[-1] == '|';
        if (first && *p == '>' && column < MOST_COLUMNS)
            table->right[column] = true;
        else
            ll_str_add_bytes(&table->cells, p, 1);
        column += *p == '|';
    }
    ll_str_add(&table->cells, "\n");
    return table;
}

void ll_table_row(struct ll_table *table, const char *format, ...)
{
    if (!table)
        return;
    char row[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row, sizeof row, format, arguments);
    va_end(arguments);
    for (char *p = row; (p = strchr(p, '\n'));)
        *p = ' ';
    ll_str_add(&table->cells, row);
    ll_str_add(&table->cells, "\n");
}

/* Characters, not bytes: UTF-8 continuation bytes do not count. */
static size_t text_width(const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += ((unsigned char)text[i] & 0xC0) != 0x80;
    return width;
}

static void pad(struct ll_str *out, size_t count)
{
    while (count--)
        ll_str_add(out, " ");
}

static void print_cell(const struct ll_table *table, size_t column, size_t width, const char *text,
                       size_t length, bool last, struct ll_str *out)
{
    size_t room = width - text_width(text, length);
    if (column)
        pad(out, GAP);
    if (table->right[column])
        pad(out, room);
    ll_str_add_bytes(out, text, length);
    if (!table->right[column] && !last)
        pad(out, room);
}

/* Cells that are empty at the end of a row leave no spaces behind. */
static void end_row(struct ll_str *out)
{
    while (out->length && out->text[out->length - 1] == ' ')
        out->length--;
    ll_str_add(out, "\n");
}

/* Calls print_cell for each cell when out is given, else widens widths. */
static void walk(const struct ll_table *table, size_t widths[MOST_COLUMNS], struct ll_str *out)
{
    size_t column = 0;
    for (const char *p = table->cells.text; p && *p;) {
        size_t length = strcspn(p, "|\n");
        bool last = p[length] == '\n';
        if (column < MOST_COLUMNS) {
            size_t width = text_width(p, length);
            if (out)
                print_cell(table, column, widths[column], p, length, last, out);
            else if (width > widths[column])
                widths[column] = width;
        }
        if (last && out)
            end_row(out);
        column = last ? 0 : column + 1;
        p += length + (p[length] != '\0');
    }
}

void ll_table_print(const struct ll_table *table, struct ll_str *out)
{
    if (!table)
        return;
    size_t widths[MOST_COLUMNS] = {0};
    walk(table, widths, NULL);
    walk(table, widths, out);
}

void ll_table_free(struct ll_table *table)
{
    if (!table)
        return;
    ll_str_release(&table->cells);
    free(table);
}
