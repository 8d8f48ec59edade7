/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the room: the verbs of the types of value (schema_values.c, schema_lists.c), and what they share.
 */
#ifndef LL_SIM_MACHINE_SCHEMA_TYPES_H
#define LL_SIM_MACHINE_SCHEMA_TYPES_H

#include "sim/machine/schema.h"

#define X(word, name, given)                                                                                 \
    bool ll_read_##word(const struct ll_field *field, const struct ll_node *node, void *object,              \
                        struct ll_reading *reading);                                                         \
    void ll_write_##word(const struct ll_field *field, const void *object, const struct ll_machine *machine, \
                         struct ll_dump *dump);
LL_TYPE_LIST(X)
#undef X

/* The member at an offset of a struct. */
void *ll_at(void *object, size_t offset);
const void *ll_at_const(const void *object, size_t offset);

/* The count of a row that has several values. */
uint64_t ll_count_of(const struct ll_field *field, const void *object);

/* Marks an object or list as given, where someone asks. */
void ll_set_given(const struct ll_field *field, void *object);

/* Complaints; all return false. The form "`key: value`: expected ..." is that of most. */
bool ll_no_memory(const struct ll_node *node, struct ll_reading *reading);
bool ll_expected(const struct ll_node *node, struct ll_reading *reading, const char *what);

/* True when the node has this type; otherwise complains that `what` was expected. */
bool ll_is_type(const struct ll_node *node, enum ll_node_type type, const char *what,
                struct ll_reading *reading);

/* Reads "128x64x32", with sides of 1 to largest; false when the text is no such thing. */
bool ll_tile_parse(const char *text, uint64_t largest, struct ll_tile *tile);

/* The length of a list of at least one and at most so many items; 0 after a complaint. */
size_t ll_length_of(const struct ll_field *field, const struct ll_node *node, size_t most, const char *items,
                    struct ll_reading *reading);

/* A number without unit within the bounds of the row, meant in its unit. False after a complaint. */
bool ll_read_number(const struct ll_field *field, const struct ll_node *node, struct ll_reading *reading,
                    double *value);

#endif
