/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/convert/measured.h"

#include "tracer/base/file.h"
#include "tracer/base/plain.h"
#include "tracer/transform/dtype.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE, HARDWARE, OP, DTYPE, DIMS, TIME, NOTES, COLUMNS };
static const char *const header[COLUMNS] = {"source", "hardware", "op", "dtype", "dims", "time_s", "notes"};

static bool is_header(struct ll_csv *csv)
{
    size_t count = 0;
    const struct ll_csv_field *fields = ll_csv_next(csv, &count);
    bool good = fields && count == COLUMNS;
    for (size_t i = 0; good && i < COLUMNS; i++)
        good = strcmp(fields[i].text, header[i]) == 0;
    if (good || csv->failed)
        return good;
    csv->line = 1;
    return ll_complain(csv->diags, ll_csv_place(csv, NULL),
                       "expected the header source,hardware,op,dtype,dims,time_s,notes");
}

/* How long the key of a dimension is, with its `=`; 0 where none stands. */
static size_t key_length(const char *dim)
{
    size_t length = strcspn(dim, "=;");
    return dim[length] == '=' ? length + 1 : 0;
}

/* A dimension that stands a second time, NULL for none. */
static const char *find_again(const char *dims)
{
    for (const char *at = dims; at; at = strchr(at, ';')) {
        at += *at == ';';
        size_t length = key_length(at);
        for (const char *other = strchr(at, ';'); length && other; other = strchr(other, ';'))
            if (strncmp(++other, at, length) == 0)
                return other;
    }
    return NULL;
}

/* A time above zero; 0 where the field says that none was measured, as data of others do in one way or
 * another; below that it is neither, as is one so small that nothing can be compared with it. */
static double time_of(const char *text)
{
    char *end;
    double time_s = ll_strtod(text, &end);
    if (*text == '\0')
        return 0;
    if (end == text || *end || time_s < 0)
        return -1;
    if (time_s > 0 && time_s < DBL_MIN)
        return -1;
    return isfinite(time_s) ? time_s : 0;
}

static bool take_row(struct ll_csv *csv, const struct ll_csv_field *fields, size_t count,
                     struct ll_measured *row)
{
    if (count != COLUMNS)
        return ll_complain(csv->diags, ll_csv_place(csv, NULL), "expected %d fields, not %zu", COLUMNS,
                           count);
    double time_s = time_of(fields[TIME].text);
    if (time_s < 0)
        return ll_complain(csv->diags, ll_csv_place(csv, &fields[TIME]),
                           "`%.40s` is no time in seconds: expected a number above zero", fields[TIME].text);
    const char *again = find_again(fields[DIMS].text);
    if (again)
        return ll_complain(csv->diags, ll_csv_place(csv, &fields[DIMS]), "`%.*s` stands twice in `%.60s`",
                           (int)key_length(again) - 1, again, fields[DIMS].text);
    *row =
        (struct ll_measured){fields[SOURCE].text, fields[HARDWARE].text, fields[OP].text, fields[DTYPE].text,
                             fields[DIMS].text,   fields[NOTES].text,    time_s,          csv->line};
    return true;
}

const struct ll_measured *ll_measured_read(const char *text, size_t length, const char *file,
                                           struct ll_arena *arena, struct ll_diags *diags, size_t *count)
{
    struct ll_csv csv = {.file = file, .at = text, .end = text + length, .arena = arena, .diags = diags};
    const struct ll_csv_field *fields;
    struct ll_measured *rows = NULL, *copy = NULL;
    uint64_t capacity = 0, row_count = 0;
    size_t field_count;
    bool wrong = false; /* some row is; the others are looked at all the same */
    bool good = is_header(&csv), room = true;
    while (good && room && (fields = ll_csv_next(&csv, &field_count)) && !csv.failed) {
        struct ll_measured row;
        bool taken = take_row(&csv, fields, field_count, &row);
        room = ll_grow(&rows, &capacity, row_count + 1, sizeof *rows);
        if (taken && room)
            rows[row_count++] = row;
        wrong |= !taken;
    }
    if (good && room && !wrong && !csv.failed && row_count == 0)
        ll_complain(diags, (struct ll_place){.file = file}, "no row stands behind the header");
    else if (good && room && !wrong && !csv.failed)
        copy = ll_copy(arena, rows, row_count * sizeof *rows);
    if (!copy && diags->count == 0)
        ll_complain(diags, (struct ll_place){.file = file}, "memory ran out");
    free(rows);
    *count = copy ? row_count : 0;
    return copy;
}

const char *ll_measured_text(const struct ll_measured *row, const char *key)
{
    size_t length = strlen(key);
    for (const char *at = row->dims; at; at = strchr(at, ';')) {
        at += *at == ';';
        if (strncmp(at, key, length) == 0 && at[length] == '=')
            return at + length + 1;
    }
    return NULL;
}

bool ll_measured_says(const struct ll_measured *row, const char *key, const char *value)
{
    const char *text = ll_measured_text(row, key);
    size_t length = strlen(value);
    return text && strncmp(text, value, length) == 0 && (text[length] == '\0' || text[length] == ';');
}

bool ll_measured_number(const struct ll_measured *row, const char *key, uint64_t most, uint64_t *value)
{
    const char *text = ll_measured_text(row, key);
    char *end = NULL;
    uint64_t number = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || (*end && *end != ';') || number > most)
        return false;
    *value = number;
    return true;
}

static const struct {
    const char *name;
    enum ll_dtype arithmetic;
    uint64_t element_bytes;
} dtypes[] = {
    {"fp32", LL_F32, 4},    {"tf32", LL_TF32, 4},       {"fp16", LL_F16, 2},
    {"fp16_tc", LL_F16, 2}, {"fp16_math32", LL_F32, 2}, {"bf16", LL_BF16, 2},
    {"fp8", LL_F8, 1},      {"int8", LL_INT8, 1},       {"fp64", LL_F64, 8},
};

bool ll_measured_dtype(const struct ll_measured *row, enum ll_dtype *arithmetic, uint64_t *element_bytes)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        if (strcmp(row->dtype, dtypes[i].name) == 0) {
            *arithmetic = dtypes[i].arithmetic;
            *element_bytes = dtypes[i].element_bytes;
            return true;
        }
    enum ll_dtype ours = ll_dtype_find(row->dtype);
    if (ours == LL_DTYPE_COUNT || ll_dtype_part(ours) != ours || ll_dtype_bits(ours) < 8)
        return false;
    *arithmetic = ours;
    *element_bytes = ll_dtype_bytes(ours);
    return true;
}

void ll_measured_add_shapes(struct ll_str *text, const struct ll_shape *shapes, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        ll_str_add(text, i ? "+" : "");
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(text, "%s%" PRIu64, d ? "x" : "", shapes[i].dim[d]);
        ll_str_addf(text, ":%s", ll_dtype_name((enum ll_dtype)shapes[i].dtype));
    }
}
