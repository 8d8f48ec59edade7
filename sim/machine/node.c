/* SPDX-License-Identifier: Apache-2.0 */
/* libyaml's events become a tree, but for the sources at the end of a description, which are read line by
 * line. This is the only file that knows libyaml.
 *
 * The parser is asked for one event at a time and is left at the first one that goes too deep: it takes
 * quadratic time in the depth of brackets that it has to keep. */
#include "sim/machine/node.h"
#include "tracer/base/diag.h"
#include "tracer/format/reader.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

/* A node that aliases copy. */
struct anchor {
    const char *name;
    const struct ll_node *node;
    const struct anchor *next;
};

struct builder {
    struct ll_arena *arena;
    struct ll_diags *diags;
    const char *name;
    bool placeless;               /* a value from a command line has no lines */
    bool foreign;                 /* of another tool: anchors, aliases and tags have their meaning */
    const struct anchor *anchors; /* the newest first */
    size_t anchor_count;
    char **lines;
    size_t line_count;
    struct ll_node *root, *open[LL_NODE_DEPTH];
    size_t depth, node_count, document_count;
    bool has_key; /* a key was read, its value comes next */
    const char *key;
    struct ll_place key_place;
};

/* Bytes of the line break at text, as libyaml counts breaks (CR, LF, CRLF, NEL, LS, PS); 0 when none. */
static inline size_t break_length(const char *text, size_t left)
{
    if ((unsigned char)(*text - ' ') < 0x80 - ' ')
        return 0;
    if (left >= 2 && !memcmp(text, "\r\n", 2))
        return 2;
    if (*text == '\n' || *text == '\r')
        return 1;
    if (left >= 2 && !memcmp(text, "\xC2\x85", 2))
        return 2;
    if (left >= 3 && (!memcmp(text, "\xE2\x80\xA8", 3) || !memcmp(text, "\xE2\x80\xA9", 3)))
        return 3;
    return 0;
}

/* Cuts a copy of the text into lines, so that complaints can show them. */
static bool split_lines(struct builder *b, const char *text, size_t length)
{
    char *copy = ll_copy_text(b->arena, text, length);
    size_t count = 1;
    for (size_t i = 0; i < length; i++)
        count += break_length(text + i, length - i) > 0; /* CRLF counts twice: room to spare */
    b->lines = copy ? ll_alloc(b->arena, count, sizeof *b->lines) : NULL;
    if (!b->lines)
        return false;
    b->lines[b->line_count++] = copy;
    for (size_t i = 0; i < length;) {
        size_t skip = break_length(text + i, length - i);
        if (skip) {
            copy[i] = '\0';
            b->lines[b->line_count++] = copy + i + skip;
        }
        i += skip ? skip : 1;
    }
    return true;
}

static struct ll_place place_at(const struct builder *b, size_t line, size_t column, size_t width)
{
    if (b->placeless)
        return (struct ll_place){.file = b->name};
    const char *source_line = line < b->line_count ? b->lines[line] : NULL;
    return (struct ll_place){b->name, line + 1, column + 1, source_line, width ? width : 1};
}

static struct ll_place place_of(const struct builder *b, const yaml_event_t *event)
{
    bool one_line = event->start_mark.line == event->end_mark.line;
    size_t width = one_line ? event->end_mark.column - event->start_mark.column : 1;
    return place_at(b, event->start_mark.line, event->start_mark.column, width);
}

/* The line and column, from 0, of a byte: where libyaml's reader meets bytes that are no text. */
static struct ll_place place_of_byte(const struct builder *b, size_t offset)
{
    size_t line = 0;
    while (line + 1 < b->line_count && (size_t)(b->lines[line + 1] - b->lines[0]) <= offset)
        line++;
    return place_at(b, line, offset - (size_t)(b->lines[line] - b->lines[0]), 1);
}

static bool no_memory(const struct builder *b)
{
    ll_note_no_memory(); /* libyaml may be who wanted it */
    return ll_complain(b->diags, (struct ll_place){.file = b->name}, "memory ran out");
}

static bool complain_of_syntax(const struct builder *b, const yaml_parser_t *parser)
{
    if (parser->error == YAML_MEMORY_ERROR)
        return no_memory(b);
    if (parser->error == YAML_READER_ERROR)
        return ll_complain(b->diags, place_of_byte(b, parser->problem_offset), "not UTF-8 text: %s",
                           parser->problem);
    struct ll_place place = place_at(b, parser->problem_mark.line, parser->problem_mark.column, 1);
    if (parser->context && !b->placeless)
        return ll_complain(b->diags, place, "not YAML: %s, %s that began in line %zu", parser->problem,
                           parser->context, parser->context_mark.line + 1);
    return ll_complain(b->diags, place, "not YAML: %s", parser->problem);
}

/* Puts a node where the tree is being built. */
static bool attach(struct builder *b, struct ll_node *node)
{
    if (!node)
        return no_memory(b);
    if (b->depth == 0) {
        b->root = node;
        return true;
    }
    if (b->has_key) {
        node->key = b->key;
        node->key_place = b->key_place;
        b->has_key = false;
    }
    ll_node_add(b->open[b->depth - 1], node);
    return true;
}

static bool wants_key(const struct builder *b)
{
    return b->depth > 0 && b->open[b->depth - 1]->type == LL_NODE_MAP && !b->has_key;
}

static bool count_node(struct builder *b, struct ll_place place)
{
    return ++b->node_count <= LL_NODE_LIMIT ||
           ll_complain(b->diags, place, "more than %d values in one file", LL_NODE_LIMIT);
}

/* Line and paragraph separator, byte order mark, and the two that are no characters. */
static bool is_special(const char *text, size_t left)
{
    static const char specials[][4] = {"\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBB\xBF", "\xEF\xBF\xBE",
                                       "\xEF\xBF\xBF"};
    for (size_t i = 0; left >= 3 && i < sizeof specials / sizeof *specials; i++)
        if (!memcmp(text, specials[i], 3))
            return true;
    return false;
}

/* No NUL, which would end the text early, and nothing that a terminal obeys or YAML would not give back: only
 * escapes in double quotes can bring such characters here. Newlines and tabs may stand in a text. */
static bool is_plain(const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)bytes[i], second = i + 1 < length ? (unsigned char)bytes[i + 1] : 0;
        if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7F)
            return false;
        if (c == 0xC2 && second < 0xA0)
            return false; /* U+0080 to U+009F */
        if (is_special(bytes + i, length - i))
            return false;
    }
    return true;
}

enum { MOST_ANCHORS = 1000 }; /* each alias looks at them one by one */

/* What an anchor and a tag say of a node. */
static bool mark(struct builder *b, struct ll_node *node, const char *anchor, const char *tag)
{
    if (!b->foreign)
        return true;
    if (tag && *tag)
        node->tag = ll_copy_text(b->arena, tag + (*tag == '!'), strlen(tag) - (*tag == '!'));
    if (!anchor)
        return true;
    if (++b->anchor_count > MOST_ANCHORS)
        return ll_complain(b->diags, node->place, "more than %d anchors (&) in one file", MOST_ANCHORS);
    struct anchor *added = ll_alloc(b->arena, 1, sizeof *added);
    if (!added || !(added->name = ll_copy_text(b->arena, anchor, strlen(anchor))))
        return no_memory(b);
    added->node = node;
    added->next = b->anchors;
    b->anchors = added;
    return true;
}

static bool take_scalar(struct builder *b, const yaml_event_t *event)
{
    struct ll_place place = place_of(b, event);
    const char *bytes = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (!b->foreign && (event->data.scalar.anchor || event->data.scalar.tag))
        ll_complain(b->diags, place, "anchors (&) and tags (!) are not used here; `inherits` shares values");
    if (!is_plain(bytes, length))
        return ll_complain(b->diags, place, "a control character inside a text");
    char *text = ll_copy_text(b->arena, bytes, length);
    if (!text)
        return no_memory(b);
    if (wants_key(b)) {
        b->has_key = true;
        b->key = text;
        b->key_place = place;
        return length > 0 || ll_complain(b->diags, place, "a key must be a word; this one is empty");
    }
    struct ll_node *node = ll_node_new(b->arena, LL_NODE_SCALAR, place);
    if (node)
        node->text = text;
    return count_node(b, place) && attach(b, node) &&
           mark(b, node, (const char *)event->data.scalar.anchor, (const char *)event->data.scalar.tag);
}

static bool begin(struct builder *b, const yaml_event_t *event, enum ll_node_type type,
                  const yaml_char_t *anchor, const yaml_char_t *tag)
{
    struct ll_place place = place_of(b, event);
    if (!b->foreign && (anchor || tag))
        ll_complain(b->diags, place, "anchors (&) and tags (!) are not used here; `inherits` shares values");
    if (wants_key(b))
        return ll_complain(b->diags, place, "a key must be a word; this is %s", ll_node_type_name(type));
    if (b->depth == LL_NODE_DEPTH)
        return ll_complain(b->diags, place, "nested deeper than %d", LL_NODE_DEPTH);
    struct ll_node *node = ll_node_new(b->arena, type, place);
    if (!count_node(b, place) || !attach(b, node) || !mark(b, node, (const char *)anchor, (const char *)tag))
        return false;
    b->open[b->depth++] = node;
    return true;
}

/* A key, and how many stand before it in its map. */
struct key_at {
    struct ll_node *node;
    size_t index;
};

static int compare_keys(const void *a, const void *b)
{
    const struct key_at *left = a, *right = b;
    int order = strcmp(left->node->key, right->node->key);
    return order ? order : (left->index > right->index) - (left->index < right->index);
}

static void complain_of_second(const struct builder *b, const struct ll_node *first,
                               const struct ll_node *second)
{
    char where[48] = "";
    if (first->key_place.line) /* what the command line says is in no line */
        snprintf(where, sizeof where, "; the first is in line %" PRIu64, first->key_place.line);
    ll_complain(b->diags, second->key_place, "`%s` stands here a second time%s",
                ll_shown_text(second->key).text, where);
}

/* Each key once: equal ones stand side by side when sorted, in the order of the map. In a file of another
 * tool the last one counts; the others are marked as taken. */
static bool check_keys(const struct builder *b, const struct ll_node *map)
{
    if (map->count < 2)
        return true;
    struct key_at *sorted = calloc(map->count, sizeof *sorted);
    if (!sorted)
        return no_memory(b);
    size_t count = 0, first = 0;
    for (struct ll_node *child = map->first; child; child = child->next, count++)
        sorted[count] = (struct key_at){child, count};
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i].node->key, sorted[first].node->key))
            first = i;
        else if (b->foreign) {
            sorted[i - 1].node->taken = true;
            ll_remark(b->diags, sorted[i].node->key_place, "`%s` stands here a second time, and counts",
                      ll_shown_text(sorted[i].node->key).text);
        } else
            complain_of_second(b, sorted[first].node, sorted[i].node);
    }
    free(sorted);
    return true;
}

/* A copy of a node and all below it, counted; NULL after a complaint. */
static struct ll_node *copy_node(struct builder *b, const struct ll_node *node, struct ll_place place,
                                 size_t depth)
{
    if (depth > LL_NODE_DEPTH) {
        ll_complain(b->diags, place, "nested deeper than %d", LL_NODE_DEPTH);
        return NULL;
    }
    struct ll_node *copy = count_node(b, place) ? ll_node_new(b->arena, node->type, node->place) : NULL;
    if (!copy)
        return NULL;
    copy->key = node->key;
    copy->key_place = node->key_place;
    copy->text = node->text;
    copy->tag = node->tag;
    for (const struct ll_node *child = node->first; child; child = child->next) {
        struct ll_node *added = copy_node(b, child, place, depth + 1);
        if (!added)
            return NULL;
        ll_node_add(copy, added);
    }
    return copy;
}

enum { MOST_MERGED = 1000 };

/* Adds the members of a map that another does not have; `deep`: and likewise those of maps that both have. */
static bool merge_map(struct builder *b, struct ll_node *into, const struct ll_node *from, bool deep,
                      size_t depth)
{
    if (from->count > MOST_MERGED || into->count > MOST_MERGED)
        return ll_complain(b->diags, into->place, "more than %d keys to merge", MOST_MERGED);
    for (const struct ll_node *child = from->first; child; child = child->next) {
        struct ll_node *there = ll_node_get(into, child->key);
        bool both = deep && there && there->type == LL_NODE_MAP && child->type == LL_NODE_MAP;
        if (both && (depth > LL_NODE_DEPTH || !merge_map(b, there, child, deep, depth + 1)))
            return false;
        struct ll_node *copy = there ? NULL : copy_node(b, child, child->place, depth);
        if (!there && !copy)
            return false;
        if (copy)
            ll_node_add(into, copy);
    }
    return true;
}

/* `<<: *base` and `<<: [*base, *other]`; `<<<` as Timeloop's front end has it. */
static bool merge_keys(struct builder *b, struct ll_node *map)
{
    static const char *const keys[] = {"<<", "<<<"};
    for (int i = 0; i < 2; i++) {
        struct ll_node *merged = ll_node_remove(map, keys[i]);
        if (!merged)
            continue;
        const struct ll_node *one = merged->type == LL_NODE_LIST ? merged->first : merged;
        for (; one; one = merged->type == LL_NODE_LIST ? one->next : NULL)
            if (one->type != LL_NODE_MAP)
                return ll_complain(b->diags, one->place, "expected a map, or a list of maps, to merge in");
            else if (!merge_map(b, map, one, i == 1, b->depth))
                return false;
    }
    return true;
}

/* Takes the members of a map out that are marked as taken. */
static void drop_taken(struct ll_node *map)
{
    struct ll_node *child = map->first;
    map->first = map->last = NULL;
    map->count = 0;
    for (struct ll_node *next; child; child = next) {
        next = child->next;
        if (!child->taken)
            ll_node_add(map, child);
    }
}

static bool end(struct builder *b)
{
    struct ll_node *node = b->open[--b->depth];
    if (node->type != LL_NODE_MAP)
        return true;
    if (!check_keys(b, node))
        return false;
    if (b->foreign)
        drop_taken(node);
    return !b->foreign || merge_keys(b, node);
}

static bool take_alias(struct builder *b, const yaml_event_t *event)
{
    const struct anchor *anchor = b->anchors;
    const char *name = (const char *)event->data.alias.anchor;
    while (b->foreign && anchor && strcmp(anchor->name, name))
        anchor = anchor->next;
    if (b->foreign && !anchor)
        return ll_complain(b->diags, place_of(b, event), "no anchor `&%s` stands before this",
                           ll_shown_text(name).text);
    if (b->foreign && wants_key(b))
        return ll_complain(b->diags, place_of(b, event), "a key must be a word; this is an alias");
    if (b->foreign) {
        for (size_t i = 0; i < b->depth; i++)
            if (b->open[i] == anchor->node)
                return ll_complain(b->diags, place_of(b, event), "`*%s` stands inside of what it names",
                                   ll_shown_text(name).text);
        struct ll_node *copy = copy_node(b, anchor->node, place_of(b, event), b->depth);
        if (!copy)
            return false;
        copy->key = NULL;
        return attach(b, copy);
    }
    return ll_complain(b->diags, place_of(b, event),
                       "aliases (*) are not used here; `inherits` shares values between files");
}

static bool begin_document(struct builder *b, const yaml_event_t *event)
{
    return b->document_count++ == 0 ||
           ll_complain(b->diags, place_of(b, event),
                       "a second document begins here; one file describes one thing");
}

static bool take(struct builder *b, const yaml_event_t *event)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return take_scalar(b, event);
    case YAML_SEQUENCE_START_EVENT:
        return begin(b, event, LL_NODE_LIST, event->data.sequence_start.anchor,
                     event->data.sequence_start.tag);
    case YAML_MAPPING_START_EVENT:
        return begin(b, event, LL_NODE_MAP, event->data.mapping_start.anchor, event->data.mapping_start.tag);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        return end(b);
    case YAML_ALIAS_EVENT:
        return take_alias(b, event);
    case YAML_DOCUMENT_START_EVENT:
        return begin_document(b, event);
    default:
        return true;
    }
}

static bool take_all(struct builder *b, yaml_parser_t *parser)
{
    for (bool more = true; more;) {
        yaml_event_t event;
        if (!yaml_parser_parse(parser, &event))
            return complain_of_syntax(b, parser);
        more = event.type != YAML_STREAM_END_EVENT;
        bool taken = take(b, &event);
        yaml_event_delete(&event);
        if (!taken)
            return false;
    }
    return b->root || ll_complain(b->diags, (struct ll_place){.file = b->name},
                                  b->placeless ? "there is no value" : "there is nothing in this file");
}

static bool parse_events(struct builder *b, const char *text, size_t length)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser))
        return no_memory(b);
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text, length);
    bool taken = take_all(b, &parser);
    yaml_parser_delete(&parser);
    return taken;
}

/* Most of a description is the sources of its figures, which end it in lines of one form:
 *
 *     sources:
 *       tensor.clock: "derived: the data sheet's peak over 132 multiprocessors"
 *
 * These need no parser. libyaml reads all before them, and where anything is otherwise, the whole: so each
 * text has the tree, and the complaints, that libyaml gives. */

enum { MOST_PATH = 128 }; /* bytes of a key: libyaml takes no longer ones than 1024 */

/* Such a line, from its first byte: how long its key and its text are. */
struct source_line {
    size_t path, text;
};

static bool is_source_line(const char *line, struct source_line *parts)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    if (line[0] != ' ' || line[1] != ' ' || !strchr(letters, line[2]) || line[2] == '\0')
        return false;
    const char *path = line + 2;
    parts->path = strspn(path, "abcdefghijklmnopqrstuvwxyz_.0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ-");
    if (parts->path > MOST_PATH || strncmp(path + parts->path, ": \"", 3) != 0)
        return false;
    const char *text = path + parts->path + 3, *at = text;
    while (*at >= ' ' && *at < 0x7F && *at != '"' && *at != '\\')
        at++;
    parts->text = (size_t)(at - text);
    return at[0] == '"' && at[1] == '\0';
}

/* Whether a line ends in a break of one byte, and holds no NUL. */
static bool is_whole_line(const struct builder *b, size_t line)
{
    return line + 1 < b->line_count && b->lines[line] + strlen(b->lines[line]) + 1 == b->lines[line + 1];
}

/* The line before the sources that end the text in such lines; 0: there are none. */
static size_t find_sources(const struct builder *b)
{
    struct source_line parts;
    size_t last = b->line_count - 1, line = last;
    if (b->foreign || b->placeless || b->lines[last][0] != '\0')
        return 0;
    while (line > 1 && is_whole_line(b, line - 1) && is_source_line(b->lines[line - 1], &parts))
        line--;
    if (line == last || line < 2 || !is_whole_line(b, line - 1) ||
        strcmp(b->lines[line - 1], "sources:") != 0)
        return 0;
    for (size_t i = 0; i < line; i++) /* another document may begin */
        if (strncmp(b->lines[i], "---", 3) == 0 || strncmp(b->lines[i], "...", 3) == 0)
            return 0;
    return line - 1;
}

/* A map in lines, from the first column on, that has no sources yet. */
static bool may_go_on(const struct ll_node *root)
{
    const struct ll_node *first = root->type == LL_NODE_MAP ? root->first : NULL;
    return first && first->key_place.column == 1 && first->key_place.line == root->place.line &&
           root->place.column == 1 && !ll_node_get(root, "sources");
}

static bool add_sources(struct builder *b, size_t line)
{
    struct ll_node *sources = ll_node_new(b->arena, LL_NODE_MAP, place_at(b, line + 1, 2, 1));
    if (!sources)
        return no_memory(b);
    if (!count_node(b, sources->place))
        return false;
    sources->key = "sources";
    sources->key_place = place_at(b, line, 0, strlen(sources->key));
    ll_node_add(b->root, sources);
    for (line++; line + 1 < b->line_count; line++) {
        struct source_line parts;
        const char *path = b->lines[line] + 2;
        bool right = is_source_line(b->lines[line], &parts);
        assert(right);
        (void)right;
        struct ll_node *node =
            ll_node_new(b->arena, LL_NODE_SCALAR, place_at(b, line, 2 + parts.path + 2, parts.text + 2));
        if (!node || !(node->key = ll_copy_text(b->arena, path, parts.path)) ||
            !(node->text = ll_copy_text(b->arena, path + parts.path + 3, parts.text)))
            return no_memory(b);
        node->key_place = place_at(b, line, 2, parts.path);
        if (!count_node(b, node->place))
            return false;
        ll_node_add(sources, node);
    }
    return check_keys(b, sources);
}

/* Reads what stands before the sources; false where the whole is to be read by libyaml. */
static bool parse_before(struct builder *b, const char *text, size_t line)
{
    struct ll_diags unheard = {0};
    struct builder before = *b;
    before.diags = &unheard;
    bool right = line > 0 && parse_events(&before, text, (size_t)(b->lines[line] - b->lines[0])) &&
                 unheard.count == 0 && may_go_on(before.root);
    ll_diags_release(&unheard);
    if (right) {
        b->root = before.root;
        b->node_count = before.node_count;
    }
    return right;
}

static struct ll_node *build(struct builder *b, const char *text, size_t length)
{
    if (length > LL_YAML_LIMIT_BYTES) {
        ll_complain(b->diags, (struct ll_place){.file = b->name}, "longer than %d MiB",
                    LL_YAML_LIMIT_BYTES >> 20);
        return NULL;
    }
    if (ll_trace_begins(text, length)) {
        ll_complain(b->diags, (struct ll_place){.file = b->name}, "this is a trace; expected a YAML file");
        return NULL;
    }
    if (!split_lines(b, text, length)) {
        no_memory(b);
        return NULL;
    }
    const size_t sources = find_sources(b);
    bool taken = parse_before(b, text, sources) ? add_sources(b, sources) : parse_events(b, text, length);
    return taken ? b->root : NULL;
}

static struct ll_node *parse(struct builder *b, const char *text, size_t length)
{
    static const char mark[] = "\xEF\xBB\xBF"; /* of UTF-8, which some programs put first */
    bool marked = length >= 3 && memcmp(text, mark, 3) == 0;
    return build(b, text + 3 * marked, length - 3 * marked);
}

struct ll_node *ll_node_parse(struct ll_arena *arena, const char *text, size_t length, const char *name,
                              struct ll_diags *diags)
{
    struct builder b = {.arena = arena, .diags = diags, .name = name};
    return parse(&b, text, length);
}

struct ll_node *ll_node_parse_foreign(struct ll_arena *arena, const char *text, size_t length,
                                      const char *name, struct ll_diags *diags)
{
    struct builder b = {.arena = arena, .diags = diags, .name = name, .foreign = true};
    return parse(&b, text, length);
}

struct ll_node *ll_node_parse_value(struct ll_arena *arena, const char *text, const char *name,
                                    struct ll_diags *diags)
{
    struct builder b = {.arena = arena, .diags = diags, .name = name, .placeless = true};
    return build(&b, text, strlen(text));
}

struct ll_node *ll_node_get(const struct ll_node *node, const char *key)
{
    if (!node || node->type != LL_NODE_MAP)
        return NULL;
    struct ll_node *child = node->first;
    while (child && strcmp(child->key, key))
        child = child->next;
    return child;
}

const char *ll_node_get_text(const struct ll_node *node, const char *key)
{
    const struct ll_node *child = ll_node_get(node, key);
    return child ? child->text : NULL;
}

struct ll_node *ll_node_new(struct ll_arena *arena, enum ll_node_type type, struct ll_place place)
{
    struct ll_node *node = ll_alloc(arena, 1, sizeof *node);
    if (node) {
        node->type = type;
        node->place = place;
    }
    return node;
}

void ll_node_add(struct ll_node *parent, struct ll_node *child)
{
    assert(parent->type != LL_NODE_SCALAR && (parent->type == LL_NODE_MAP) == (child->key != NULL));
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

struct ll_node *ll_node_remove(struct ll_node *map, const char *key)
{
    struct ll_node *before = NULL, *child = map->type == LL_NODE_MAP ? map->first : NULL;
    while (child && strcmp(child->key, key)) {
        before = child;
        child = child->next;
    }
    if (!child)
        return NULL;
    *(before ? &before->next : &map->first) = child->next;
    if (map->last == child)
        map->last = before;
    map->count--;
    child->next = NULL;
    return child;
}

const char *ll_node_type_name(enum ll_node_type type)
{
    static const char *const names[] = {
        [LL_NODE_SCALAR] = "text", [LL_NODE_LIST] = "a list", [LL_NODE_MAP] = "a map"};
    return names[type];
}

struct ll_shown ll_shown_text(const char *text)
{
    struct ll_shown shown = {""};
    size_t room = sizeof shown.text - sizeof "...", length = strlen(text),
           kept = length < room ? length : room;
    while (kept < length && kept > 0 && ((unsigned char)text[kept] & 0xC0) == 0x80)
        kept--; /* no half of a character */
    snprintf(shown.text, sizeof shown.text, "%.*s%s", (int)kept, text, kept < length ? "..." : "");
    for (char *c = shown.text; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = ' ';
    return shown;
}

struct ll_shown ll_node_shown(const struct ll_node *node)
{
    struct ll_shown key = ll_shown_text(node->key ? node->key : ""),
                    text = ll_shown_text(node->text ? node->text : "");
    char joined[2 * sizeof text.text + 2];
    if (!node->key)
        return node->text ? text : ll_shown_text(ll_node_type_name(node->type));
    snprintf(joined, sizeof joined, "%s%s%s", key.text,
             !node->text   ? ""
             : *node->text ? ": "
                           : ":",
             text.text);
    return ll_shown_text(joined);
}
