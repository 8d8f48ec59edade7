/* SPDX-License-Identifier: Apache-2.0 */
/* Binds each type of value to its verbs, and holds what the verbs share. */
#include "sim/machine/schema_types.h"

void *ll_at(void *object, size_t offset)
{
    return (char *)object + offset;
}

const void *ll_at_const(const void *object, size_t offset)
{
    return (const char *)object + offset;
}

uint64_t ll_count_of(const struct ll_field *field, const void *object)
{
    return *(const uint64_t *)ll_at_const(object, field->count_offset);
}

void ll_set_given(const struct ll_field *field, void *object)
{
    if (field->given_offset)
        *(bool *)ll_at(object, field->given_offset) = true;
}

bool ll_no_memory(const struct ll_node *node, struct ll_reading *reading)
{
    return ll_complain(reading->diags, node->place, "memory ran out");
}

/* "`key: value`: expected ...": most complaints have this form. A list or map is only named. */
bool ll_expected(const struct ll_node *node, struct ll_reading *reading, const char *what)
{
    struct ll_shown shown = ll_node_shown(node);
    if (node->type == LL_NODE_SCALAR)
        return ll_complain(reading->diags, node->place, "`%s`: expected %s", shown.text, what);
    return ll_complain(reading->diags, node->place, "%s%s%sexpected %s, this is %s", node->key ? "`" : "",
                       node->key ? shown.text : "", node->key ? "`: " : "", what,
                       ll_node_type_name(node->type));
}

bool ll_is_type(const struct ll_node *node, enum ll_node_type type, const char *what,
                struct ll_reading *reading)
{
    return node->type == type || ll_expected(node, reading, what);
}

static bool not_zero(const struct ll_field *field, const void *object)
{
    return *(const double *)ll_at_const(object, field->offset) != 0 || field->otherwise;
}

static bool not_zero_whole(const struct ll_field *field, const void *object)
{
    return *(const uint64_t *)ll_at_const(object, field->offset) != 0 || field->otherwise;
}

static bool not_null(const struct ll_field *field, const void *object)
{
    return *(const char *const *)ll_at_const(object, field->offset) != NULL;
}

static bool always(const struct ll_field *field, const void *object)
{
    (void)field;
    (void)object;
    return true;
}

static bool never(const struct ll_field *field, const void *object)
{
    (void)field;
    (void)object;
    return false;
}

static bool any_item(const struct ll_field *field, const void *object)
{
    return ll_count_of(field, object) > 0;
}

static bool when_given(const struct ll_field *field, const void *object)
{
    return !field->given_offset || *(const bool *)ll_at_const(object, field->given_offset);
}

static bool any_dtype(const struct ll_field *field, const void *object)
{
    const double *values = ll_at_const(object, field->offset);
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        if (values[i] != 0)
            return true;
    return false;
}

static bool any_extent(const struct ll_field *field, const void *object)
{
    return ((const struct ll_extents *)ll_at_const(object, field->offset))->count > 0;
}

static bool any_tile(const struct ll_field *field, const void *object)
{
    const struct ll_tile *tile = ll_at_const(object, field->offset);
    return tile->m > 0;
}

static bool any_pattern(const struct ll_field *field, const void *object)
{
    const struct ll_pattern *pattern = ll_at_const(object, field->offset);
    return pattern->of > 0;
}

/* Files are merged before they are read: what is left can only come from an override. */
static bool refuse_INHERITS(const struct ll_field *field, const struct ll_node *node, void *object,
                            struct ll_reading *reading)
{
    (void)object;
    return ll_complain(reading->diags, node->place, "`%s` can only stand in a file", field->key);
}

const struct ll_type ll_types[LL_TYPE_COUNT] = {
#define X(word, name, given) [LL_TYPE_##word] = {name, ll_read_##word, given, ll_write_##word},
    LL_TYPE_LIST(X)
#undef X
        [LL_TYPE_INHERITS] = {"file or stem, or a list of them", refuse_INHERITS, never, NULL},
};
