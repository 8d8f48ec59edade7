/* SPDX-License-Identifier: Apache-2.0 */
/* The document is read into a tree; rows are picked along a path; their leaves become cells. Columns are
 * found while rows are made, so cells know their column by number, and rows are written at the end. */
#include "sim/report/document.h"

#include <assert.h>
#include <string.h>

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

struct node {
    enum ll_json_token kind; /* LL_JSON_OBJECT, LL_JSON_LIST, or that of a plain value */
    const char *key;         /* NULL in a list */
    const char *text;        /* of a plain value */
    struct node *first, *next;
};

struct cell {
    size_t column;
    const char *text;
    struct cell *next;
};

struct row {
    struct cell *first, *last;
    struct row *next;
};

struct sheet {
    struct ll_arena *arena;
    const char **columns;
    size_t column_count, column_capacity;
    struct row *first, *last;
    uint64_t row_count, most; /* most: 0 for any number */
    bool found;               /* a path leads to lists, though they may be empty */
    bool joined;              /* rows of several lists: each says of which */
    bool failed;
};

/* The value that the token read last begins; NULL when memory ran out. Nests no deeper than the reader. */
static struct node *read_value(struct ll_json_reader *reader, struct ll_arena *arena)
{
    struct node *node = ll_alloc(arena, 1, sizeof *node), **next = node ? &node->first : NULL;
    if (!node)
        return NULL;
    node->kind = reader->token;
    switch (reader->token) {
    case LL_JSON_TRUE:
    case LL_JSON_FALSE:
        node->text = reader->token == LL_JSON_TRUE ? "true" : "false";
        return node;
    case LL_JSON_NULL:
        node->text = "";
        return node;
    case LL_JSON_TEXT:
    case LL_JSON_NUMBER:
        node->text = ll_json_copy(reader, arena);
        return node->text ? node : NULL;
    default:
        break;
    }
    assert(node->kind == LL_JSON_OBJECT || node->kind == LL_JSON_LIST);
    for (;;) {
        enum ll_json_token token = ll_json_read(reader);
        const char *key = token == LL_JSON_KEY ? ll_json_copy(reader, arena) : NULL;
        if (token == LL_JSON_OBJECT_END || token == LL_JSON_LIST_END)
            return node;
        if (token == LL_JSON_END || (token == LL_JSON_KEY && (!key || ll_json_read(reader) == LL_JSON_END)))
            return NULL;
        *next = read_value(reader, arena);
        if (!*next)
            return NULL;
        (*next)->key = key;
        next = &(*next)->next;
    }
}

static bool is_plain(const struct node *node)
{
    return node->kind != LL_JSON_OBJECT && node->kind != LL_JSON_LIST;
}

static size_t column_of(struct sheet *sheet, const char *name)
{
    size_t i = 0;
    while (i < sheet->column_count && strcmp(sheet->columns[i], name) != 0)
        i++;
    if (i < sheet->column_count)
        return i;
    if (i == sheet->column_capacity) {
        size_t capacity = i ? 2 * i : 16;
        const char **columns = ll_alloc(sheet->arena, capacity, sizeof *columns);
        if (!columns) {
            sheet->failed = true;
            return 0;
        }
        if (i)
            memcpy(columns, sheet->columns, i * sizeof *columns);
        sheet->columns = columns;
        sheet->column_capacity = capacity;
    }
    sheet->columns[sheet->column_count++] = name;
    return i;
}

static void add_cell(struct sheet *sheet, const char *prefix, const char *key, const char *text)
{
    const char *name = prefix ? ll_format(sheet->arena, "%s.%s", prefix, key) : key;
    struct cell *cell = ll_alloc(sheet->arena, 1, sizeof *cell);
    if (!name || !cell) {
        sheet->failed = true;
        return;
    }
    *cell = (struct cell){.column = column_of(sheet, name), .text = text};
    if (sheet->last->last)
        sheet->last->last->next = cell;
    else
        sheet->last->first = cell;
    sheet->last->last = cell;
}

/* A list of plain values as one cell; one that has others is left out. */
static void add_list(struct sheet *sheet, const char *prefix, const struct node *list)
{
    struct ll_str words = {0};
    bool plain = true;
    for (const struct node *item = list->first; item && plain; item = item->next) {
        plain = is_plain(item);
        ll_str_addf(&words, "%s%s", words.length ? " " : "", plain ? item->text : "");
    }
    const char *text = words.failed ? NULL : ll_format(sheet->arena, "%s", words.text ? words.text : "");
    sheet->failed |= !text;
    if (plain && text)
        add_cell(sheet, prefix, list->key, text);
    ll_str_release(&words);
}

static void add_members(struct sheet *sheet, const char *prefix, const struct node *object)
{
    for (const struct node *member = object->first; member && !sheet->failed; member = member->next) {
        if (is_plain(member)) {
            add_cell(sheet, prefix, member->key, member->text);
        } else if (member->kind == LL_JSON_LIST) {
            add_list(sheet, prefix, member);
        } else if (strcmp(member->key, "config") != 0) {
            const char *inner = prefix ? ll_format(sheet->arena, "%s.%s", prefix, member->key) : member->key;
            sheet->failed |= !inner;
            if (inner)
                add_members(sheet, inner, member);
        }
    }
}

/* What is around a row, the outermost first. */
struct around {
    const struct node *object;
    const struct around *outside;
};

static void add_texts_around(struct sheet *sheet, const struct around *around)
{
    if (!around)
        return;
    add_texts_around(sheet, around->outside);
    for (const struct node *member = around->object->first; member; member = member->next)
        if (member->kind == LL_JSON_TEXT)
            add_cell(sheet, NULL, member->key, member->text);
}

static void add_row(struct sheet *sheet, const struct node *node, const struct around *around,
                    const char *name)
{
    struct row *row;
    if (sheet->failed || (sheet->most && sheet->row_count == sheet->most))
        return;
    row = ll_alloc(sheet->arena, 1, sizeof *row);
    if (!row) {
        sheet->failed = true;
        return;
    }
    if (sheet->last)
        sheet->last->next = row;
    else
        sheet->first = row;
    sheet->last = row;
    sheet->row_count++;
    if (sheet->joined)
        add_cell(sheet, NULL, "list", name);
    add_texts_around(sheet, around);
    if (node->kind == LL_JSON_OBJECT)
        add_members(sheet, NULL, node);
    else if (is_plain(node))
        add_cell(sheet, NULL, name, node->text);
}

/* All rows along a path. */
static void follow(struct sheet *sheet, const struct node *node, const char *path,
                   const struct around *around)
{
    size_t length = strcspn(path, "/|+");
    const struct around inside = {node, around};
    for (const struct node *member = node->first; member; member = member->next) {
        if (strncmp(member->key, path, length) != 0 || member->key[length])
            continue;
        bool ends = path[length] != '/';
        if (member->kind == LL_JSON_OBJECT && !ends)
            follow(sheet, member, path + length + 1, &inside);
        if (member->kind != LL_JSON_LIST)
            continue;
        sheet->found |= ends;
        for (const struct node *item = member->first; item; item = item->next) {
            if (ends)
                add_row(sheet, item, &inside, member->key);
            else if (item->kind == LL_JSON_OBJECT)
                follow(sheet, item, path + length + 1, &inside);
        }
    }
}

static void write_rows(const struct sheet *sheet, struct ll_str *out)
{
    const char **cells = ll_alloc(sheet->arena, sheet->column_count + 1, sizeof *cells);
    for (size_t i = 0; i < sheet->column_count; i++) {
        ll_str_add(out, i ? "," : "");
        ll_csv_put(out, sheet->columns[i]);
    }
    ll_str_add(out, "\n");
    out->failed |= !cells;
    for (const struct row *row = sheet->first; row && cells; row = row->next) {
        memset(cells, 0, sheet->column_count * sizeof *cells);
        for (const struct cell *cell = row->first; cell; cell = cell->next)
            cells[cell->column] = cell->text;
        for (size_t i = 0; i < sheet->column_count; i++) {
            ll_str_add(out, i ? "," : "");
            ll_csv_put(out, cells[i] ? cells[i] : "");
        }
        ll_str_add(out, "\n");
    }
}

bool ll_document_csv(const char *text, size_t length, const char *paths, uint64_t most, struct ll_str *out)
{
    struct ll_arena arena = {0};
    struct ll_diags diags = {.count = 0};
    struct ll_json_reader reader = {
        .file = "the document", .begin = text, .at = text, .end = text + length, .diags = &diags};
    struct sheet sheet = {.arena = &arena, .most = most};
    struct node *root = ll_json_read(&reader) == LL_JSON_OBJECT ? read_value(&reader, &arena) : NULL;
    while (root && root->first &&
           (!strcmp(root->first->key, "schema") || !strcmp(root->first->key, "version")))
        root->first = root->first->next;
    for (const char *path = paths; root && path && *path && !sheet.found;) {
        const char *end = path + strcspn(path, "|");
        sheet.joined = memchr(path, '+', (size_t)(end - path)) != NULL;
        for (; path < end; path += strcspn(path, "+|"), path += *path == '+')
            follow(&sheet, root, path, NULL);
        path = end + (*end == '|');
    }
    if (root && !sheet.found)
        add_row(&sheet, root, NULL, NULL);
    if (sheet.first && !sheet.failed)
        write_rows(&sheet, out);
    bool whole = root && !sheet.failed && !out->failed;
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    return whole;
}
