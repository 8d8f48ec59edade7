/* SPDX-License-Identifier: Apache-2.0 */
/* YAML as a tree that remembers where everything stands.
 *
 * A small part of YAML, on purpose: one document of maps, lists and scalars. Anchors, aliases and tags
 * are refused (`inherits` is how descriptions share), a key must be a word and stand once, and size, depth
 * and number of nodes are limited, so that no text can make the reader slow or hungry. Scalars stay
 * text: what they mean is for the schema to say. A tree lives in the arena given; it is plain data, built and
 * edited by one thread at a time. */
#ifndef LL_SIM_MACHINE_NODE_H
#define LL_SIM_MACHINE_NODE_H

#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stddef.h>

enum { LL_NODE_DEPTH = 32, LL_NODE_LIMIT = 500000, LL_YAML_LIMIT_BYTES = 4 << 20 };

enum ll_node_type { LL_NODE_SCALAR, LL_NODE_LIST, LL_NODE_MAP };

struct ll_node {
    enum ll_node_type type;
    const char *key;           /* of a map's member; NULL in a list and at the root */
    struct ll_place key_place; /* of that key */
    struct ll_place place;     /* of the value */
    const char *text;          /* of a scalar, without NUL inside; NULL otherwise */
    const char *tag;           /* of a file of another tool, as "Component" of !Component; NULL: none */
    bool taken;                /* set and asked by readers that tell what they did not take */
    struct ll_node *first, *last, *next;
    size_t count; /* children of a list or map */
};

/* The tree of a text; name stands for the file in complaints. NULL when there is no tree to go on with; a
 * doubled key is complained of too, but the tree is there, so that other complaints can follow. */
struct ll_node *ll_node_parse(struct ll_arena *arena, const char *text, size_t length, const char *name,
                              struct ll_diags *diags);

/* The same for a file of another tool, whose YAML may have more: tags are kept, an alias (*) is a copy of
 * what its anchor (&) marks, keys of a map are merged in by `<<` (and maps in maps by `<<<`), and of a
 * doubled key the last one counts, which a remark tells. Limits are the same, copies counted. */
struct ll_node *ll_node_parse_foreign(struct ll_arena *arena, const char *text, size_t length,
                                      const char *name, struct ll_diags *diags);

/* The same for a value given on a command line: its places are only `name`, without line and column. */
struct ll_node *ll_node_parse_value(struct ll_arena *arena, const char *text, const char *name,
                                    struct ll_diags *diags);

/* The member of a map with this key, or NULL; also when the node is no map. */
struct ll_node *ll_node_get(const struct ll_node *node, const char *key);

/* The text of a map's member that is a scalar, or NULL. */
const char *ll_node_get_text(const struct ll_node *node, const char *key);

/* A new node at a place, NULL when memory ran out. */
struct ll_node *ll_node_new(struct ll_arena *arena, enum ll_node_type type, struct ll_place place);

/* Makes a node, which is in no tree yet, the last child of a list or map. */
void ll_node_add(struct ll_node *parent, struct ll_node *child);

/* Takes the member with this key out of a map. Returns it, or NULL when there is none. */
struct ll_node *ll_node_remove(struct ll_node *map, const char *key);

/* "a list", "a map", "text": for complaints. */
const char *ll_node_type_name(enum ll_node_type type);

/* What stands there, `key: text` or, of a list or map, `key`, cut to a readable length and without control
 * characters: for complaints. */
struct ll_shown {
    char text[80];
};
struct ll_shown ll_node_shown(const struct ll_node *node);

/* Any text of others, made fit for a complaint in the same way. */
struct ll_shown ll_shown_text(const char *text);

#endif
