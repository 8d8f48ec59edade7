/* SPDX-License-Identifier: Apache-2.0 */
/* One more walk over the rows of the schema, which collects where the doubles stand. */
#include "sim/machine/number.h"

#include "sim/machine/schema.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Where the walk is. */
struct walk {
    const struct ll_machine *machine;
    struct ll_arena *arena;
    struct ll_machine_number *numbers; /* of malloc */
    uint64_t count, capacity;
    struct ll_machine_number here; /* the segments so far */
    bool failed;
};

static void walk_table(struct walk *walk, const struct ll_field_table *table, const char *object);

static void enter(struct walk *walk, const char *segment, bool is_item)
{
    assert(walk->here.segment_count < LL_MOST_SEGMENTS);
    walk->here.is_item[walk->here.segment_count] = is_item;
    walk->here.segments[walk->here.segment_count++] = segment;
}

static void leave(struct walk *walk)
{
    walk->here.segment_count--;
}

static const char *joined(struct walk *walk)
{
    struct ll_str text = {0};
    for (size_t i = 0; i < walk->here.segment_count; i++)
        ll_str_addf(&text, "%s%s", i ? "." : "", walk->here.segments[i]);
    const char *path = text.failed ? NULL : ll_copy_text(walk->arena, text.text, text.length);
    ll_str_release(&text);
    return path;
}

static void take(struct walk *walk, const struct ll_field *field, const char *place)
{
    if (!ll_grow(&walk->numbers, &walk->capacity, walk->count + 1, sizeof *walk->numbers)) {
        walk->failed = true;
        return;
    }
    struct ll_machine_number *number = &walk->numbers[walk->count++];
    *number = walk->here;
    number->path = joined(walk);
    number->offset = (size_t)(place - (const char *)walk->machine);
    number->min = field->min;
    number->max = field->max;
    number->dimension = field->dimension;
    number->unit = field->type == LL_TYPE_QUANTITY ? NULL : field->unit ? field->unit : "";
    walk->failed |= !number->path;
}

static void take_dtypes(struct walk *walk, const struct ll_field *field, const char *place)
{
    const double *values = (const double *)(const void *)place;
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++) {
        if (values[i] == 0)
            continue;
        enter(walk, ll_dtype_name((enum ll_dtype)i), false);
        take(walk, field, (const char *)&values[i]);
        leave(walk);
    }
}

/* The name of an item: of the first row of its table. */
static void walk_items(struct walk *walk, const struct ll_field *field, const char *first, uint64_t count)
{
    assert(field->table->fields[0].type == LL_TYPE_NAME);
    for (uint64_t i = 0; i < count; i++) {
        const char *item = first + i * field->table->size;
        const char *const *name = (const char *const *)(const void *)(item + field->table->fields[0].offset);
        enter(walk, *name, true);
        walk_table(walk, field->table, item);
        leave(walk);
    }
}

static void walk_field(struct walk *walk, const struct ll_field *field, const char *object)
{
    const char *place = object + field->offset;
    enter(walk, field->key, false);
    if (field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_NUMBER)
        take(walk, field, place);
    else if (field->type == LL_TYPE_DTYPES)
        take_dtypes(walk, field, place);
    else if (field->type == LL_TYPE_OBJECT)
        walk_table(walk, field->table, place);
    else if (field->type == LL_TYPE_LIST && field->table->fields[0].type == LL_TYPE_NAME)
        walk_items(walk, field, place, *(const uint64_t *)(const void *)(object + field->count_offset));
    leave(walk);
}

static void walk_table(struct walk *walk, const struct ll_field_table *table, const char *object)
{
    const struct ll_field_table *variant = ll_field_table_variant(table, object);
    for (size_t i = 0; i < table->count; i++)
        walk_field(walk, &table->fields[i], object);
    for (size_t i = 0; variant && i < variant->count; i++)
        walk_field(walk, &variant->fields[i], object);
}

const struct ll_machine_number *ll_machine_numbers(const struct ll_machine *machine, struct ll_arena *arena,
                                                   size_t *count)
{
    static const char *const parts[] = {"units", "memory", "software", "host", "network"};
    struct walk walk = {.machine = machine, .arena = arena};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct ll_field *field = ll_field_table_find(&ll_machine_table, parts[i]);
        assert(field);
        walk_field(&walk, field, (const char *)machine);
    }
    *count = walk.count;
    const struct ll_machine_number *numbers =
        walk.failed ? NULL : ll_copy(arena, walk.numbers, walk.count * sizeof *walk.numbers);
    free(walk.numbers);
    return numbers;
}

double ll_number_get(const struct ll_machine *machine, const struct ll_machine_number *number)
{
    return *(const double *)(const void *)((const char *)machine + number->offset);
}

void ll_number_set(struct ll_machine *machine, const struct ll_machine_number *number, double value)
{
    *(double *)(void *)((char *)machine + number->offset) = value;
}

struct ll_quantity_text ll_number_words(const struct ll_machine_number *number, double value)
{
    return number->unit ? ll_number_in(value, number->unit) : ll_quantity_text(value, number->dimension);
}
