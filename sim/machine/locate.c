/* SPDX-License-Identifier: Apache-2.0 */
/* A walk down the rows and the struct at once, a step a segment of the path. */
#include "sim/machine/locate.h"

#include "sim/machine/schema.h"

#include <string.h>

struct walk {
    const struct ll_machine *machine;
    const char *segment; /* the rest of the path */
    struct ll_location *location;
};

static bool walk_table(struct walk *walk, const struct ll_field_table *table, const char *object);

static size_t length_of(const char *segment)
{
    return strcspn(segment, ".");
}

static bool is_segment(const struct walk *walk, const char *name)
{
    size_t length = length_of(walk->segment);
    return name && strlen(name) == length && !strncmp(name, walk->segment, length);
}

/* To the next segment; false at the last. */
static bool next(struct walk *walk)
{
    size_t length = length_of(walk->segment);
    bool more = walk->segment[length] == '.';
    walk->segment += more ? length + 1 : length;
    return more;
}

static bool end_at(struct walk *walk, const void *place, const struct ll_field *field, bool whole)
{
    *walk->location =
        (struct ll_location){.offset = (size_t)((const char *)place - (const char *)walk->machine),
                             .whole = whole,
                             .dimension = ll_field_dimension(field)};
    return !next(walk);
}

static bool walk_dtypes(struct walk *walk, const struct ll_field *field, const double *values)
{
    bool more = next(walk);
    for (unsigned i = 0; more && i < LL_DTYPE_COUNT; i++)
        if (is_segment(walk, ll_dtype_name((enum ll_dtype)i)))
            return end_at(walk, &values[i], field, false);
    return false;
}

static bool walk_items(struct walk *walk, const struct ll_field *field, const char *object)
{
    const char *item = object + field->offset;
    uint64_t count = *(const uint64_t *)(const void *)(object + field->count_offset);
    if (field->table->fields[0].type != LL_TYPE_NAME)
        return false;
    for (uint64_t i = 0; i < count; i++, item += field->table->size) {
        const char *const *name = (const char *const *)(const void *)(item + field->table->fields[0].offset);
        if (is_segment(walk, *name))
            return next(walk) && walk_table(walk, field->table, item);
    }
    return false;
}

static bool walk_field(struct walk *walk, const struct ll_field *field, const char *object)
{
    const char *place = object + field->offset;
    switch (field->type) {
    case LL_TYPE_WHOLE:
    case LL_TYPE_SIZE:
        return end_at(walk, place, field, true);
    case LL_TYPE_QUANTITY:
    case LL_TYPE_NUMBER:
        return end_at(walk, place, field, false);
    case LL_TYPE_DTYPES:
        return walk_dtypes(walk, field, (const double *)(const void *)place);
    case LL_TYPE_OBJECT:
        return next(walk) && walk_table(walk, field->table, place);
    case LL_TYPE_LIST:
        return next(walk) && walk_items(walk, field, object);
    default:
        return false;
    }
}

static bool find_field(struct walk *walk, const struct ll_field_table *table, const char *object, bool *right)
{
    for (size_t i = 0; table && i < table->count; i++)
        if (is_segment(walk, table->fields[i].key)) {
            *right = walk_field(walk, &table->fields[i], object);
            return true;
        }
    return false;
}

/* `hbm.bandwidth` for `memory.hbm.bandwidth`. */
static bool walk_short(struct walk *walk, const char *object)
{
    const char *segment = walk->segment;
    for (size_t i = 0; i < ll_machine_table.count; i++) {
        walk->segment = segment;
        if (ll_machine_table.fields[i].type == LL_TYPE_LIST &&
            walk_items(walk, &ll_machine_table.fields[i], object))
            return true;
    }
    return false;
}

static bool walk_table(struct walk *walk, const struct ll_field_table *table, const char *object)
{
    bool right;
    if (find_field(walk, table, object, &right) ||
        find_field(walk, ll_field_table_variant(table, object), object, &right))
        return right;
    return table == &ll_machine_table && walk_short(walk, object);
}

bool ll_machine_locate(const struct ll_machine *machine, const char *path, struct ll_location *location)
{
    struct walk walk = {machine, path, location};
    return walk_table(&walk, &ll_machine_table, (const char *)machine);
}

double ll_located(const struct ll_machine *machine, const struct ll_location *location)
{
    const void *place = (const char *)machine + location->offset;
    return location->whole ? (double)*(const uint64_t *)place : *(const double *)place;
}
