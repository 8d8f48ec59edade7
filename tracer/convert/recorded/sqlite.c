/* SPDX-License-Identifier: Apache-2.0 */
/* A table is a tree of pages: interior ones (0x05) point to others, leaves (0x0d) hold records. A record is a
 * header of types, then the values; what does not fit into its page goes on in a list of overflow pages. Page
 * 1 begins with the header of the file, 100 bytes, and holds the table of all tables. */
#include "tracer/convert/recorded/sqlite.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/base/str.h"

enum { HEADER_BYTES = 100, LEAF = 0x0d, INTERIOR = 0x05, MOST_DEPTH = 40, MOST_RECORD = 1 << 24 };

static uint32_t big_endian(const uint8_t *at, unsigned bytes)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static bool damaged(const struct ll_sqlite *db, const char *what)
{
    return ll_complain(db->diags, (struct ll_place){.file = db->path}, "the database is damaged: %s", what);
}

bool ll_sqlite_open(struct ll_sqlite *db, const uint8_t *bytes, uint64_t size, const char *path,
                    struct ll_diags *diags)
{
    const struct ll_place place = {.file = path};
    *db = (struct ll_sqlite){.bytes = bytes, .size = size, .path = path, .diags = diags};
    if (size < HEADER_BYTES || memcmp(bytes, "SQLite format 3", 16) != 0)
        return ll_complain(diags, place, "this is no SQLite database");
    db->page_bytes = big_endian(bytes + 16, 2);
    db->page_bytes = db->page_bytes == 1 ? 65536 : db->page_bytes;
    if (db->page_bytes < 512 || !ll_is_power_of_two(db->page_bytes) || bytes[20] > db->page_bytes - 480)
        return damaged(db, "its pages have no possible size");
    if (big_endian(bytes + 56, 4) > 1)
        return ll_complain(diags, place, "its texts are UTF-16: expected UTF-8, as profilers export them");
    db->usable_bytes = db->page_bytes - bytes[20];
    db->page_count = size / db->page_bytes;
    return db->page_count > 0 || damaged(db, "it is cut off in its first page");
}

/* An integer of seven bits a byte, the ninth of eight; moves on. False at the end. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < 9 && *at < end; i++) {
        uint8_t byte = *(*at)++;
        if (i == 8) {
            *value = *value << 8 | byte;
            return true;
        }
        *value = *value << 7 | (byte & 0x7f);
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

/* A page; NULL when there is none of this number, from 1. */
static const uint8_t *page_at(const struct ll_sqlite *db, uint32_t number)
{
    return number > 0 && number <= db->page_count ? db->bytes + (uint64_t)(number - 1) * db->page_bytes
                                                  : NULL;
}

/* --- records --- */

struct reading {
    const struct ll_sqlite *db;
    const struct ll_sqlite_table *table;
    ll_sqlite_row *row;
    void *context;
    uint8_t *record; /* one that goes over several pages */
    uint64_t capacity, pages;
    struct ll_sqlite_value values[LL_SQLITE_COLUMNS];
};

static int64_t integer_of(const uint8_t *at, unsigned bytes)
{
    uint64_t value = at[0] & 0x80 ? UINT64_MAX : 0;
    for (unsigned i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return (int64_t)value;
}

/* Bytes of a value of a serial type. */
static uint64_t bytes_of(uint64_t type)
{
    static const uint8_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < 12 ? sizes[type] : (type - 12) / 2;
}

static struct ll_sqlite_value value_of(uint64_t type, const uint8_t *at)
{
    struct ll_sqlite_value value = {.type = LL_SQLITE_NULL};
    if (type >= 12) {
        value.type = type % 2 ? LL_SQLITE_TEXT : LL_SQLITE_BLOB;
        value.text = (const char *)at;
        value.length = (size_t)bytes_of(type);
    } else if (type == 7) {
        uint64_t bits = (uint64_t)integer_of(at, 8);
        value.type = LL_SQLITE_REAL;
        memcpy(&value.real, &bits, sizeof value.real);
    } else if (type == 8 || type == 9) {
        value = (struct ll_sqlite_value){.type = LL_SQLITE_INTEGER, .integer = type == 9};
    } else if (type > 0 && type < 7) {
        value.type = LL_SQLITE_INTEGER;
        value.integer = integer_of(at, (unsigned)bytes_of(type));
    }
    return value;
}

static bool take_record(struct reading *r, const uint8_t *record, uint64_t size, uint64_t row_id)
{
    const uint8_t *types = record, *end = record + size;
    uint64_t header, type;
    size_t count = 0;
    if (!take_varint(&types, end, &header) || header > size)
        return damaged(r->db, "a record has no header");
    const uint8_t *types_end = record + header, *at = types_end;
    for (; types < types_end; count++) {
        if (!take_varint(&types, types_end, &type) || bytes_of(type) > (uint64_t)(end - at))
            return damaged(r->db, "a record is shorter than it says");
        if (count < LL_SQLITE_COLUMNS)
            r->values[count] = value_of(type, at);
        at += bytes_of(type);
    }
    count = count < LL_SQLITE_COLUMNS ? count : LL_SQLITE_COLUMNS;
    while (count < r->table->column_count) /* columns that were added later */
        r->values[count++] = (struct ll_sqlite_value){.type = LL_SQLITE_NULL};
    if (r->table->row_id < r->table->column_count)
        r->values[r->table->row_id] =
            (struct ll_sqlite_value){.type = LL_SQLITE_INTEGER, .integer = (int64_t)row_id};
    return r->row(r->values, r->table->column_count, r->context);
}

/* A record whose first bytes lie in its page, the others in overflow pages. */
static bool take_long_record(struct reading *r, const uint8_t *at, uint64_t size, uint64_t local,
                             uint64_t row_id)
{
    uint32_t next = big_endian(at + local, 4);
    if (size > MOST_RECORD || size > r->db->size)
        return damaged(r->db, "a record is longer than the file");
    if (!ll_grow(&r->record, &r->capacity, size, 1))
        return false;
    memcpy(r->record, at, local);
    while (local < size) {
        const uint8_t *page = page_at(r->db, next);
        if (!page || ++r->pages > 2 * r->db->page_count)
            return damaged(r->db, "a record goes on where there is no page");
        uint64_t more = ll_min(size - local, r->db->usable_bytes - 4);
        memcpy(r->record + local, page + 4, more);
        local += more;
        next = big_endian(page, 4);
    }
    return take_record(r, r->record, size, row_id);
}

/* A cell of a leaf: the size of its record, its number, the record or as much of it as fits. */
static bool take_cell(struct reading *r, const uint8_t *at, const uint8_t *end)
{
    uint64_t size, row_id, usable = r->db->usable_bytes, most = usable - 35;
    if (!take_varint(&at, end, &size) || !take_varint(&at, end, &row_id))
        return damaged(r->db, "a cell is cut off");
    if (size <= most)
        return size <= (uint64_t)(end - at) ? take_record(r, at, size, row_id)
                                            : damaged(r->db, "a record is cut off");
    uint64_t least = (usable - 12) * 32 / 255 - 23, local = least + (size - least) % (usable - 4);
    local = local <= most ? local : least;
    if (local + 4 > (uint64_t)(end - at))
        return damaged(r->db, "a record is cut off");
    return take_long_record(r, at, size, local, row_id);
}

static bool read_page(struct reading *r, uint32_t number, unsigned depth)
{
    const uint8_t *page = page_at(r->db, number);
    if (!page || depth > MOST_DEPTH || ++r->pages > 2 * r->db->page_count)
        return damaged(r->db, "a table has pages that are not there");
    const uint8_t *head = page + (number == 1 ? HEADER_BYTES : 0), *end = page + r->db->usable_bytes;
    const bool leaf = head[0] == LEAF;
    if (!leaf && head[0] != INTERIOR)
        return damaged(r->db, "a page is of no table");
    uint32_t cells = big_endian(head + 3, 2), head_bytes = leaf ? 8 : 12;
    if (cells * 2 > (uint64_t)(end - head) - head_bytes)
        return damaged(r->db, "a page has more cells than fit");
    for (uint32_t i = 0; i < cells; i++) {
        uint32_t offset = big_endian(head + head_bytes + 2 * i, 2);
        if (offset + 4 > r->db->usable_bytes)
            return damaged(r->db, "a cell lies outside of its page");
        if (leaf ? !take_cell(r, page + offset, end) : !read_page(r, big_endian(page + offset, 4), depth + 1))
            return false;
    }
    return leaf || read_page(r, big_endian(head + 8, 4), depth + 1);
}

bool ll_sqlite_read(const struct ll_sqlite *db, const struct ll_sqlite_table *table, ll_sqlite_row *row,
                    void *context)
{
    struct reading r = {.db = db, .table = table, .row = row, .context = context};
    bool done = table->root == 0 || read_page(&r, table->root, 0);
    free(r.record);
    return done;
}

/* --- the table of tables --- */

struct search {
    const char *name;
    struct ll_arena *arena;
    struct ll_sqlite_table *table;
    const struct ll_sqlite *db;
    bool found, fine;
};

static bool is_word(const char *text, size_t length, const char *word)
{
    bool same = length == strlen(word);
    for (size_t i = 0; same && i < length; i++)
        same = tolower((unsigned char)text[i]) == word[i];
    return same;
}

/* Whether the words stand somewhere in the text, whatever is between them but other words. */
static bool has_words(const char *text, const char *end, const char *const *words)
{
    const char *const *next = words;
    while (text < end && *next) {
        const char *begin = text;
        while (text < end && (isalnum((unsigned char)*text) || *text == '_'))
            text++;
        if (text == begin)
            text++;
        else
            next = is_word(begin, (size_t)(text - begin), *next) ? next + 1 : words;
    }
    return !*next;
}

/* The next piece of a definition: a quoted name, a comment, or one character. */
static const char *past_piece(const char *at, const char *end)
{
    char close = *at == '[' ? ']' : *at;
    if (*at == '-' && at + 1 < end && at[1] == '-') {
        while (at < end && *at != '\n')
            at++;
        return at;
    }
    if (*at != '"' && *at != '`' && *at != '\'' && *at != '[')
        return at + 1;
    for (at++; at < end && *at != close;)
        at++;
    return at < end ? at + 1 : end;
}

/* The name with which a definition of a column begins; 0 bytes for a constraint, which is none. */
static const char *column_name(const char *at, const char *end, size_t *length)
{
    static const char *const none[] = {"primary", "unique", "check", "foreign", "constraint"};
    *length = 0;
    while (at < end && (isspace((unsigned char)*at) || *at == '-'))
        at = *at == '-' ? past_piece(at, end) : at + 1;
    if (at == end)
        return at;
    const char *past = past_piece(at, end);
    if (past > at + 1) {
        *length = (size_t)(past - at) - 2;
        return at + 1;
    }
    while (past < end && (isalnum((unsigned char)*past) || *past == '_'))
        past++;
    *length = (size_t)(past - at);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (is_word(at, *length, none[i]))
            *length = 0;
    return at;
}

static bool add_column(struct search *search, const char *at, const char *end)
{
    static const char *const row_id[] = {"primary", "key", NULL}, *const integer[] = {"integer", NULL};
    struct ll_sqlite_table *table = search->table;
    size_t length;
    const char *name = column_name(at, end, &length);
    if (length == 0 || table->column_count == LL_SQLITE_COLUMNS)
        return true;
    if (has_words(name + length, end, integer) && has_words(name + length, end, row_id))
        table->row_id = table->column_count;
    const char *copy = ll_copy_text(search->arena, name, length);
    table->columns[table->column_count++] = copy;
    return copy != NULL;
}

/* Columns are what stands between commas that no parentheses are around, behind the first one that opens. */
static bool read_columns(struct search *search, const char *at, const char *end)
{
    unsigned depth = 0;
    const char *begin = NULL;
    search->table->row_id = LL_SQLITE_COLUMNS;
    while (at < end) {
        if (*at == '(' && depth++ == 0)
            begin = at + 1;
        bool closes = *at == ')' && depth > 0 && --depth == 0;
        if (begin && ((*at == ',' && depth == 1) || closes)) {
            if (!add_column(search, begin, at))
                return false;
            begin = at + 1;
        }
        if (closes)
            break;
        at = past_piece(at, end);
    }
    return true;
}

/* Columns of the table of tables: type, name, name of the table, root page, definition. */
static bool take_table(const struct ll_sqlite_value *values, size_t count, void *context)
{
    static const char *const without[] = {"without", "rowid", NULL};
    struct search *search = context;
    enum { TYPE, NAME, OF, ROOT, DEFINITION };
    const struct ll_sqlite_value *name = &values[NAME], *sql = &values[DEFINITION];
    if (count <= DEFINITION || values[TYPE].type != LL_SQLITE_TEXT || name->type != LL_SQLITE_TEXT ||
        sql->type != LL_SQLITE_TEXT || !is_word(values[TYPE].text, values[TYPE].length, "table") ||
        name->length != strlen(search->name) || memcmp(name->text, search->name, name->length) != 0)
        return true;
    const char *end = sql->text + sql->length, *last = end;
    search->found = true;
    while (last > sql->text && last[-1] != ')')
        last--;
    search->fine = !has_words(last, end, without) ||
                   ll_complain(search->db->diags, (struct ll_place){.file = search->db->path},
                               "table %s is WITHOUT ROWID, which is not read", search->name);
    search->table->root =
        values[ROOT].integer > 0 && values[ROOT].integer <= UINT32_MAX ? (uint32_t)values[ROOT].integer : 0;
    search->fine = search->fine && read_columns(search, sql->text, end);
    return false;
}

bool ll_sqlite_find(const struct ll_sqlite *db, const char *name, struct ll_arena *arena,
                    struct ll_sqlite_table *table)
{
    static const struct ll_sqlite_table tables = {.root = 1,
                                                  .columns = {"type", "name", "tbl_name", "rootpage", "sql"},
                                                  .column_count = 5,
                                                  .row_id = 5};
    struct search search = {.name = name, .arena = arena, .table = table, .db = db, .fine = true};
    *table = (struct ll_sqlite_table){.root = 0};
    bool through = ll_sqlite_read(db, &tables, take_table, &search);
    return search.fine && (through || search.found);
}

size_t ll_sqlite_column(const struct ll_sqlite_table *table, const char *name)
{
    size_t i = 0;
    while (i < table->column_count && strcmp(table->columns[i], name) != 0)
        i++;
    return i;
}
