/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of an SQLite database, row by row, out of bytes in memory: as much of the file format (SQLite 3,
 * sqlite.org/fileformat2.html) as a reader needs that goes through ordinary tables from the first row to the
 * last. No library: importers read any bytes, in bounded memory, without a file. What is in a write-ahead log
 * beside the file is not seen. Private to tracer/convert/recorded. */
#ifndef LL_TRACER_CONVERT_RECORDED_SQLITE_H
#define LL_TRACER_CONVERT_RECORDED_SQLITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

enum { LL_SQLITE_COLUMNS = 128 }; /* of a table, at most; further ones are not read */

enum ll_sqlite_type { LL_SQLITE_NULL, LL_SQLITE_INTEGER, LL_SQLITE_REAL, LL_SQLITE_TEXT, LL_SQLITE_BLOB };

struct ll_sqlite_value {
    enum ll_sqlite_type type;
    int64_t integer;
    double real;
    const char *text; /* not ended by a NUL; valid until the next row */
    size_t length;
};

struct ll_sqlite {
    const uint8_t *bytes;
    uint64_t size;
    const char *path; /* for complaints */
    struct ll_diags *diags;
    uint32_t page_bytes, usable_bytes;
    uint64_t page_count;
};

/* False after complaining that this is no such database, or one that cannot be read. */
bool ll_sqlite_open(struct ll_sqlite *database, const uint8_t *bytes, uint64_t size, const char *path,
                    struct ll_diags *diags);

/* A row: values by column, in the order of the table, `count` of them. False ends the reading. */
typedef bool ll_sqlite_row(const struct ll_sqlite_value *values, size_t count, void *context);

struct ll_sqlite_table {
    uint32_t root;                          /* page; 0: there is no such table */
    const char *columns[LL_SQLITE_COLUMNS]; /* their names */
    size_t column_count;
    size_t row_id; /* the column that is the number of its row; column_count: none */
};

/* Looks for a table of this name; names of columns live in the arena. False after complaints, or when memory
 * ran out; true, with root 0, where there is none. */
bool ll_sqlite_find(const struct ll_sqlite *database, const char *name, struct ll_arena *arena,
                    struct ll_sqlite_table *table);

/* The place of a column, column_count for none. Pure. */
size_t ll_sqlite_column(const struct ll_sqlite_table *table, const char *name);

/* Goes through all rows. False after complaining that the file is damaged, or where memory ran out or `row`
 * ended it. */
bool ll_sqlite_read(const struct ll_sqlite *database, const struct ll_sqlite_table *table, ll_sqlite_row *row,
                    void *context);

#endif
