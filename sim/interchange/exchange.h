/* SPDX-License-Identifier: Apache-2.0 */
/* What readers and writers of this room share: what is going on, numbers and words out of trees, the list of
 * what was left out, pieces of machine files. */
#ifndef LL_SIM_INTERCHANGE_EXCHANGE_H
#define LL_SIM_INTERCHANGE_EXCHANGE_H

#include "sim/interchange/interchange.h"
#include "sim/machine/node.h"

/* An import or export under way. `left` and `diags` are the caller's. */
struct ll_interchange {
    struct ll_arena *arena;
    struct ll_left_list *left;
    struct ll_diags *diags;
};

/* Adds an entry to the list; `why` is static or in the arena, `key` is copied. */
void ll_leave(struct ll_interchange *x, const char *key, struct ll_place place, const char *why);
void ll_assume(struct ll_interchange *x, const char *key, const char *why);

/* A key and why it is left out; "units[]" is a whole item of the list `units`. The last one, whose key is
 * NULL, is for all others. */
struct ll_why {
    const char *key, *why;
};

/* Leaves out all members of maps, in this tree, that nobody has taken, with the reason of their key; of a
 * list whole items of which nothing was taken. `path` is what stands before their keys: "" or "memories". */
void ll_leave_rest(struct ll_interchange *x, const struct ll_node *root, const char *path,
                   const struct ll_why *reasons);

/* --- members of maps; what is asked for is taken --- */

/* The member, or NULL. */
struct ll_node *ll_take(const struct ll_node *map, const char *key);

/* Marks a whole tree as taken. */
void ll_take_all(struct ll_node *node);

/* The text of a scalar member, or NULL; `null` and `~` are none. */
const char *ll_take_text(const struct ll_node *map, const char *key);

/* Whether a text is a number, whole, as YAML writes it: 1_048_576, 1e9. */
bool ll_is_number(const char *text, double *value);

/* A number within bounds. Where there is no such member: `otherwise`, and true. False after a complaint that
 * says what was expected. */
bool ll_take_number(struct ll_interchange *x, const struct ll_node *map, const char *key, double least,
                    double most, double otherwise, double *value);

/* Whether a member is true (True, yes); `otherwise` where it is not there. */
bool ll_take_bool(const struct ll_node *map, const char *key, bool otherwise);

/* A text in the arena, printf style; never NULL: "" when memory ran out. */
const char *ll_said(struct ll_interchange *x, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- pieces of machine files --- */

/* A name made fit for a machine file: a letter, then at most 39 letters, digits, - and _. In the arena. */
const char *ll_fit_name(struct ll_interchange *x, const char *name);

/* A text in double quotes: control characters become blanks, and bytes that are no UTF-8 question marks. */
void ll_put_quoted(struct ll_str *out, const char *text);

/* A number with as many digits, from ten on, as read back to the same. */
void ll_put_number(struct ll_str *out, double value);

/* The tree of the machine as it is resolved (ll_machine_yaml), of which an exporter takes what it writes;
 * keys that say nothing (0, false, none, what is usual) are taken. NULL after a complaint. */
struct ll_node *ll_machine_tree(struct ll_interchange *x, const struct ll_machine *machine);

/* The node at a path as `units.array.axes`, items of lists by their name, taken with all above it; NULL where
 * there is none. */
struct ll_node *ll_take_path(struct ll_node *root, const char *path);

/* --- the formats --- */

#define LL_PEER_FORMAT(word, ...)                                                                            \
    bool ll_peer_import_##word(struct ll_interchange *x, const struct ll_peer_import *import,                \
                               struct ll_str *yaml);                                                         \
    bool ll_peer_export_##word(struct ll_interchange *x, const struct ll_machine *machine,                   \
                               struct ll_str out[LL_PEER_OUTPUTS]);
#include "sim/interchange/formats.def"
#undef LL_PEER_FORMAT

#endif
