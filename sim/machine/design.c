/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a machine file stays; slots are nodes of it, whose content is replaced. What the sections say
 * is read again into the same struct:
 *
 *     units.array.rows = 64      ->  section `units`
 *     clock = 2GHz               ->  `units`, which have no clock of their own, and all that says B/cycle
 *
 * Texts of a section go to an arena of its own that starts anew when it is read again: when a slot in it has
 * another value, or the clock has. */
#include "sim/machine/design.h"

#include "sim/machine/schema.h"
#include "sim/machine/steps.h"
#include "tracer/base/str.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 64 };

struct slot {
    const char *path;
    const struct ll_field *field;
    struct ll_node *node; /* in the tree */
    struct ll_node own;   /* as it was in the file */
    struct ll_node *map;  /* that is to hold the node, when the file says nothing there; else NULL */
    bool part;            /* a map that values are laid over */
    char number[64];      /* the text of a number that was put */
    char latest[64];      /* the text that was put last; empty: none, or none so short */
    uint64_t section;     /* that holds the node, as a bit */
};

struct ll_design {
    struct ll_arena arena;     /* of the tree */
    struct ll_arena *readings; /* of what is read again, by section */
    struct ll_node *root;
    struct ll_machine *machine;
    const char *const *folders;
    struct slot slots[MOST_SLOTS];
    uint32_t slot_count;
    uint64_t sections; /* that slots touch, a bit each */
    uint64_t stale;    /* of these what is to be read again */
};

static bool no_memory(struct ll_diags *diags, struct ll_place place)
{
    return ll_complain(diags, place, "memory ran out");
}

struct ll_design *ll_design_new(const char *which, const char *const *folders, struct ll_diags *diags)
{
    struct ll_design *design = calloc(1, sizeof *design);
    if (!design) {
        no_memory(diags, (struct ll_place){0});
        return NULL;
    }
    design->folders = folders;
    design->machine = ll_machine_read(which, folders, NULL, 0, diags);
    design->readings = ll_alloc(&design->arena, ll_machine_table.count, sizeof *design->readings);
    const struct ll_lookup lookup = {folders, &design->arena, diags};
    struct ll_origin origin;
    if (!design->readings)
        no_memory(diags, (struct ll_place){0});
    else if (design->machine)
        design->root = ll_tree_read(&lookup, which, &origin);
    if (design->root)
        return design;
    ll_design_free(design);
    return NULL;
}

void ll_design_free(struct ll_design *design)
{
    if (!design)
        return;
    ll_machine_free(design->machine);
    for (size_t i = 0; design->readings && i < ll_machine_table.count; i++)
        ll_arena_release(&design->readings[i]);
    ll_arena_release(&design->arena);
    free(design);
}

void ll_design_take_table(struct ll_design *design, const struct ll_machine *machine)
{
    design->machine->table = machine->table;
}

/* --- sections --- */

static uint64_t section_bit(const char *key)
{
    const struct ll_field *field = ll_field_table_find(&ll_machine_table, key);
    assert(field);
    return UINT64_C(1) << (field - ll_machine_table.fields);
}

/* Whether something below counts by the clock of the machine. */
static bool counts_cycles(const struct ll_node *node)
{
    if (node->text)
        return strstr(node->text, "/cycle") != NULL;
    for (const struct ll_node *child = node->first; child; child = child->next)
        if (counts_cycles(child))
            return true;
    return false;
}

static uint64_t clocked_sections(const struct ll_design *design)
{
    uint64_t bits = section_bit("clock") | section_bit("units");
    for (const struct ll_node *child = design->root->first; child; child = child->next)
        if (ll_field_table_find(&ll_machine_table, child->key) && counts_cycles(child))
            bits |= section_bit(child->key);
    return bits;
}

/* The sections that were read again before, and those that a value in this one can touch: itself, and what
 * the clock counts. Names of levels, which other sections refer to, are not changed. */
static void touch(struct ll_design *design, const char *section)
{
    design->sections |= section_bit(section);
    if (design->sections & section_bit("clock"))
        design->sections |= clocked_sections(design);
    design->stale = design->sections;
}

/* The section in which a path ends, as ll_machine_path_find sees it: its first segment, or the list that has
 * an item of this name. */
static const char *section_of(const struct ll_design *design, const char *path)
{
    size_t length = strcspn(path, ".");
    for (size_t i = 0; i < ll_machine_table.count; i++) {
        const char *key = ll_machine_table.fields[i].key;
        if (strlen(key) == length && !strncmp(key, path, length))
            return key;
    }
    for (const struct ll_node *child = design->root->first; child; child = child->next)
        for (const struct ll_node *item = child->first; item && child->type == LL_NODE_LIST;
             item = item->next) {
            const char *name = ll_node_get_text(item, "name");
            if (name && strlen(name) == length && !strncmp(name, path, length))
                return child->key;
        }
    return NULL;
}

/* --- slots --- */

/* The member that a path ends at; a new one, which is in the tree only once it has a value. */
static struct ll_node *member(struct ll_design *design, const struct ll_machine_path *found,
                              struct ll_place place, bool *is_new)
{
    struct ll_node *there = ll_node_get(found->map, found->key);
    *is_new = !there;
    if (there || !found->map || found->map->type != LL_NODE_MAP)
        return there;
    there = ll_node_new(&design->arena, LL_NODE_MAP, place);
    if (there) {
        there->key = found->key;
        there->key_place = place;
    }
    return there;
}

static bool lies_within(const struct ll_node *tree, const struct ll_node *node)
{
    if (tree == node)
        return true;
    for (const struct ll_node *child = tree->first; child; child = child->next)
        if (lies_within(child, node))
            return true;
    return false;
}

/* Whether another slot has the node that a path leads to, or a part around it or within it. */
static bool is_taken(const struct ll_design *design, const char *path, const struct ll_machine_path *found,
                     const struct ll_node *node, struct ll_place place, struct ll_diags *diags)
{
    for (uint32_t i = 0; i < design->slot_count; i++) {
        const struct slot *other = &design->slots[i];
        bool same_new =
            other->map && found->key && other->map == found->map && !strcmp(other->node->key, found->key);
        if (other->node == node || same_new)
            return !ll_complain(diags, place, "`%s` is set already, as `%s`", ll_shown_text(path).text,
                                ll_shown_text(other->path).text);
        if (lies_within(other->node, node) || lies_within(node, other->node) ||
            lies_within(other->node, found->map))
            return !ll_complain(diags, place, "`%s` and `%s` set the same thing: one is a part of the other",
                                ll_shown_text(path).text, ll_shown_text(other->path).text);
    }
    return false;
}

/* What can be put anew: not the names that others refer to, nor what has been read to make the tree. */
static bool can_vary(const struct ll_machine_path *found, const char *path, struct ll_place place,
                     struct ll_diags *diags)
{
    if (found->field->wording || found->field->type == LL_TYPE_NAME)
        return ll_complain(diags, place, "`%s` is wording: no result depends on it",
                           ll_shown_text(path).text);
    if (found->field->type == LL_TYPE_DATA_FILE)
        return ll_complain(diags, place, "`%s` was measured on one machine: it cannot vary",
                           ll_shown_text(path).text);
    if (found->key && found->field->type == LL_TYPE_LIST)
        return ll_complain(diags, place, "`%s` is a list; name one of its items", ll_shown_text(path).text);
    return true;
}

bool ll_design_bind(struct ll_design *design, const char *path, struct ll_place place, struct ll_diags *diags,
                    uint32_t *slot)
{
    struct ll_machine_path found;
    bool is_new = false;
    if (design->slot_count == MOST_SLOTS)
        return ll_complain(diags, place, "more than %d values are set", MOST_SLOTS);
    if (!ll_machine_path_find(design->root, path, true, place, &design->arena, diags, &found) ||
        (!found.ignored && !can_vary(&found, path, place, diags)))
        return false;
    if (found.ignored)
        return ll_complain(diags, place, "`%s`: the model has this key no more, so nothing depends on it",
                           path);
    struct ll_node *node = found.key ? member(design, &found, place, &is_new) : found.map;
    const char *section = section_of(design, path);
    if (!node || !section)
        return ll_complain(diags, place, "`%s`: what should hold it is not a map in the file",
                           ll_shown_text(path).text);
    if (is_taken(design, path, &found, node, place, diags))
        return false;
    struct slot *made = &design->slots[design->slot_count];
    *made = (struct slot){.path = ll_copy_text(&design->arena, path, strlen(path)),
                          .field = found.field,
                          .node = node,
                          .own = *node,
                          .map = is_new ? found.map : NULL,
                          .section = section_bit(section),
                          .part = !found.key || found.field->type == LL_TYPE_OBJECT};
    if (!made->path)
        return no_memory(diags, place);
    touch(design, section);
    *slot = design->slot_count++;
    return true;
}

const struct ll_field *ll_design_field(const struct ll_design *design, uint32_t slot)
{
    return design->slots[slot].field;
}

/* The content of another node in the place of this one: the key stays, and where it stands. */
static void fill(struct ll_node *node, const struct ll_node *content)
{
    struct ll_node filled = *content;
    filled.key = node->key;
    filled.key_place = node->key_place;
    filled.next = node->next;
    *node = filled;
}

/* A map with the members of both, where both have one that of `over`. */
static struct ll_node *lay_over(struct ll_arena *arena, const struct ll_node *base,
                                const struct ll_node *over)
{
    struct ll_node *laid = ll_node_new(arena, LL_NODE_MAP, over->place);
    for (int turn = 0; laid && turn < 2; turn++)
        for (const struct ll_node *child = (turn ? over : base)->first; child; child = child->next) {
            if (turn == 0 && ll_node_get(over, child->key))
                continue;
            struct ll_node *copy = ll_copy(arena, child, sizeof *child);
            if (!copy)
                return NULL;
            copy->next = NULL;
            ll_node_add(laid, copy);
        }
    return laid;
}

const struct ll_node *ll_design_value(struct ll_design *design, uint32_t slot, const struct ll_node *value,
                                      struct ll_diags *diags)
{
    const struct slot *s = &design->slots[slot];
    const struct ll_node *name = ll_node_get(value, "name");
    if (!s->part || value->type != LL_NODE_MAP)
        return value;
    if (name) {
        ll_complain(diags, name->key_place, "`name`: the part keeps its name, by which others know it");
        return NULL;
    }
    const struct ll_node *laid = lay_over(&design->arena, &s->own, value);
    if (!laid)
        no_memory(diags, value->place);
    return laid;
}

static void put(struct slot *s, const struct ll_node *value)
{
    fill(s->node, value);
    if (s->map)
        ll_node_add(s->map, s->node);
    s->map = NULL;
}

/* What has to be read again when a slot has another value: by another clock all of it. */
static void make_stale(struct ll_design *design, const struct slot *s)
{
    design->stale |= s->section & section_bit("clock") ? design->sections : s->section;
}

static void put_anew(struct ll_design *design, struct slot *s, const struct ll_node *value)
{
    const bool text = value->type == LL_NODE_SCALAR && strlen(value->text) < sizeof s->latest;
    if (!text || !*value->text || strcmp(s->latest, value->text) != 0)
        make_stale(design, s);
    put(s, value);
    memcpy(s->latest, text ? value->text : "", text ? strlen(value->text) + 1 : 1);
}

void ll_design_put(struct ll_design *design, uint32_t slot, const struct ll_node *value)
{
    put_anew(design, &design->slots[slot], value);
}

void ll_design_put_number(struct ll_design *design, uint32_t slot, double number)
{
    struct slot *s = &design->slots[slot];
    const struct ll_field *field = s->field;
    struct ll_node value = {.type = LL_NODE_SCALAR, .place = s->own.place, .text = s->number};
    if (field->type == LL_TYPE_WHOLE)
        ll_number_text(number, s->number);
    else if (field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE)
        ll_snprintf(s->number, sizeof s->number, "%.17g%s", number, ll_dimension_base(field->dimension));
    else
        memcpy(s->number, ll_number_in(number, field->unit ? field->unit : "").text, sizeof s->number);
    put_anew(design, s, &value);
}

/* --- reading --- */

/* Those that are stale; all of them are when one cannot be read. */
static void read_sections(struct ll_design *design, struct ll_reading *reading)
{
    for (size_t i = 0; i < ll_machine_table.count; i++)
        if (design->stale >> i & 1) {
            reading->arena = &design->readings[i];
            ll_arena_reset(reading->arena);
            ll_section_read(i, reading);
        }
}

bool ll_design_try(struct ll_design *design, uint32_t slot, const struct ll_node *value,
                   struct ll_diags *diags)
{
    struct ll_reading reading = {NULL, diags, design->root, design->machine, design->folders, 0};
    struct slot *s = &design->slots[slot];
    struct ll_node before = *s->node, *map = s->map;
    size_t count = diags->count;
    put(s, value);
    s->latest[0] = '\0';
    design->stale = design->sections;
    read_sections(design, &reading);
    fill(s->node, &before);
    if (map)
        ll_node_remove(map, s->node->key);
    s->map = map;
    return diags->count == count;
}

const struct ll_machine *ll_design_read(struct ll_design *design, struct ll_diags *diags)
{
    struct ll_reading reading = {NULL, diags, design->root, design->machine, design->folders, 0};
    size_t before = diags->count;
    read_sections(design, &reading);
    reading.arena = &design->readings[0]; /* what is settled needs hardly any */
    if (diags->count == before)
        ll_machine_check(&reading);
    design->stale = diags->count == before ? 0 : design->sections;
    return diags->count == before ? design->machine : NULL;
}

const struct ll_machine *ll_design_machine(const struct ll_design *design)
{
    return design->machine;
}
