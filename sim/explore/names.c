/* SPDX-License-Identifier: Apache-2.0 */
/* What the names in a sweep file's expressions stand for. Two spellings of a path (hbm.bandwidth,
 * memory.hbm.bandwidth) are told to be one by the place in the machine that they lead to. */
#include "sim/explore/space_parts.h"

#include <math.h>
#include <string.h>

struct scope {
    struct ll_space_reading *reading;
    bool coupling;
    size_t until;
};

static bool located(const struct ll_space *space, const char *path, struct ll_location *location)
{
    return space->machine && ll_machine_locate(space->machine, path, location);
}

static bool same_place(const struct ll_space *space, const char *a, const char *b)
{
    struct ll_location left, right;
    return !strcmp(a, b) ||
           (located(space, a, &left) && located(space, b, &right) && left.offset == right.offset);
}

static bool keep(struct scope *scope, struct ll_named named, uint32_t *slot)
{
    struct ll_space *space = scope->reading->space;
    struct ll_named *names =
        ll_space_one_more(scope->reading, space->names, space->name_count, sizeof *names);
    if (!names)
        return false;
    names[space->name_count] = named;
    space->names = names;
    *slot = (uint32_t)space->name_count++;
    return true;
}

static bool all_numbers(const struct ll_space_axis *axis)
{
    for (uint32_t i = 0; i < axis->value_count; i++)
        if (isnan(axis->values[i].number))
            return false;
    return true;
}

static bool find_axis(const struct scope *scope, const char *name, struct ll_named *named)
{
    const struct ll_space *space = scope->reading->space;
    for (size_t i = 0; i < space->axis_count; i++)
        if (same_place(space, space->axes[i].path, name) && all_numbers(&space->axes[i])) {
            *named = (struct ll_named){.kind = LL_NAMED_AXIS, .index = (uint32_t)i};
            return scope->coupling || space->axes[i].target == LL_AXIS_MODEL ||
                   space->axes[i].target == LL_AXIS_PLAN;
        }
    return false;
}

static bool find_rule(const struct scope *scope, const char *name, struct ll_named *named)
{
    const struct ll_space *space = scope->reading->space;
    if (!scope->coupling) { /* all of them stand before */
        uint32_t id = ll_map_find(&scope->reading->definition_names, name, strlen(name));
        *named = (struct ll_named){.kind = LL_NAMED_DEFINITION, .index = id};
        return id != LL_NO_ID;
    }
    for (size_t i = 0; i < scope->until; i++)
        if (same_place(space, space->couplings[i].name, name)) {
            *named = (struct ll_named){.kind = LL_NAMED_COUPLING, .index = (uint32_t)i};
            return true;
        }
    return false;
}

static bool find_measure(const struct ll_space *space, const char *name, struct ll_named *named)
{
    for (uint32_t i = 0; i < LL_MEASURE_COUNT; i++)
        if (!strcmp(ll_measure_name((enum ll_measure)i), name)) {
            *named = (struct ll_named){.kind = LL_NAMED_MEASURE, .index = i};
            return true;
        }
    size_t prefix = strlen(LL_SHARE_PREFIX);
    uint64_t bounds = space->machine ? LL_BOUND_LEVEL + space->machine->level_count : 0;
    for (uint32_t i = 0; i < bounds && !strncmp(name, LL_SHARE_PREFIX, prefix); i++)
        if (!strcmp(ll_bound_name(space->machine, i), name + prefix)) {
            *named = (struct ll_named){.kind = LL_NAMED_SHARE, .index = i};
            return true;
        }
    return false;
}

/* A measure of the workload that is looked at, or of a certain one: resnet.time_s. */
static bool find_result(const struct ll_space *space, const char *name, struct ll_named *named)
{
    if (find_measure(space, name, named)) {
        named->workload = LL_THIS_WORKLOAD;
        return true;
    }
    for (size_t i = 0; i < space->workload_count; i++) {
        size_t length = strlen(space->workloads[i].name);
        if (strncmp(name, space->workloads[i].name, length) || name[length] != '.' ||
            !find_measure(space, name + length + 1, named))
            continue;
        named->workload = (uint32_t)i;
        return true;
    }
    return false;
}

/* Whether two paths, one of which may leave out its list, are of the same part: memory.hbm and hbm. */
static bool is_part(const char *path, const char *name, size_t length)
{
    const char *behind = strchr(path, '.'), *dot = memchr(name, '.', length);
    size_t rest = dot ? (size_t)(name + length - dot - 1) : 0;
    return (strlen(path) == length && !strncmp(path, name, length)) ||
           (behind && strlen(behind + 1) == length && !strncmp(behind + 1, name, length)) ||
           (dot && strlen(path) == rest && !strncmp(path, dot + 1, rest));
}

/* Whether some value of an axis of parts says the member that a name ends at. */
static bool says(const struct ll_space_axis *axis, const char *member)
{
    for (uint32_t i = 0; i < axis->value_count; i++)
        if (ll_node_get(axis->values[i].node, member))
            return true;
    return false;
}

static bool varies_with_part(const struct ll_space_axis *axis, const char *name)
{
    const char *dot = strrchr(name, '.');
    return axis->target == LL_AXIS_PART && dot && is_part(axis->path, name, (size_t)(dot - name)) &&
           says(axis, dot + 1);
}

static bool counts_cycles(const struct ll_space_axis *axis)
{
    for (uint32_t i = 0; i < axis->value_count; i++)
        if (ll_space_counts_cycles(axis->values[i].node->text))
            return true;
    return false;
}

/* What varies, but not as a number that is known before the machine is: a coupling would silently get what
 * the base has instead. */
static const char *hindrance(void *context, const char *name)
{
    const struct scope *scope = context;
    const struct ll_space *space = scope->reading->space;
    for (size_t i = 0; scope->coupling && i < space->axis_count; i++) {
        const struct ll_space_axis *axis = &space->axes[i];
        if (varies_with_part(axis, name))
            return "varies with the part that it belongs to; couplings know parts only as the base has them";
        if (same_place(space, axis->path, name) && counts_cycles(axis))
            return "has values in bytes per cycle; couplings count in B/s";
    }
    for (size_t i = scope->until + 1; scope->coupling && i < space->coupling_count; i++)
        if (same_place(space, space->couplings[i].name, name))
            return "follows from others further down; couplings know those that stand before them";
    return NULL;
}

static bool find(void *context, const char *name, uint32_t *slot)
{
    struct scope *scope = context;
    const struct ll_space *space = scope->reading->space;
    struct ll_named named = {0};
    if (hindrance(context, name))
        return false;
    if (find_rule(scope, name, &named) || (!scope->coupling && find_result(space, name, &named)) ||
        find_axis(scope, name, &named))
        return keep(scope, named, slot);
    named = (struct ll_named){.kind = LL_NAMED_MACHINE};
    return located(space, name, &named.location) && keep(scope, named, slot);
}

const char *ll_space_meaning(const struct ll_space_reading *reading, const char *name)
{
    const struct ll_space *space = reading->space;
    struct ll_named named;
    for (size_t i = 0; i < space->axis_count; i++)
        if (same_place(space, space->axes[i].path, name))
            return "something that varies";
    for (size_t i = 0; i < space->coupling_count; i++)
        if (same_place(space, space->couplings[i].name, name))
            return "something that varies";
    return find_result(space, name, &named) ? "a result" : NULL;
}

/* What could have been meant: rules, measures, axes, numbers of the machine in that order. */
static const char *candidate(void *context, size_t i)
{
    const struct scope *scope = context;
    const struct ll_space *space = scope->reading->space;
    const struct ll_rule *rules = scope->coupling ? space->couplings : space->definitions;
    if (i < scope->until)
        return rules[i].name;
    i -= scope->until;
    if (!scope->coupling && i < LL_MEASURE_COUNT)
        return ll_measure_name((enum ll_measure)i);
    i -= scope->coupling ? 0 : LL_MEASURE_COUNT;
    if (i < space->axis_count)
        return space->axes[i].path;
    i -= space->axis_count;
    return i < scope->reading->number_count ? scope->reading->numbers[i].path : NULL;
}

/* A rule that was complained of has no expression. */
static enum ll_dimension dimension_of_rule(const struct ll_rule *rule)
{
    return rule->expression ? ll_expression_dimension(rule->expression) : LL_DIMENSION_NUMBER;
}

static enum ll_dimension dimension_of(const void *context, uint32_t slot)
{
    const struct scope *scope = context;
    const struct ll_space *space = scope->reading->space;
    const struct ll_named *named = &space->names[slot];
    switch (named->kind) {
    case LL_NAMED_MEASURE:
        return ll_measure_dimension((enum ll_measure)named->index);
    case LL_NAMED_MACHINE:
        return named->location.dimension;
    case LL_NAMED_COUPLING:
        return dimension_of_rule(&space->couplings[named->index]);
    case LL_NAMED_DEFINITION:
        return dimension_of_rule(&space->definitions[named->index]);
    case LL_NAMED_AXIS:
    case LL_NAMED_SHARE:
        break;
    }
    return LL_DIMENSION_NUMBER;
}

struct ll_expression *ll_space_expression(struct ll_space_reading *reading, const char *text,
                                          struct ll_place place, bool coupling, size_t until)
{
    struct scope scope = {reading, coupling, until};
    struct ll_names names = {find, candidate, &scope, dimension_of, hindrance};
    return ll_expression_parse(reading->arena, text, place, &names, reading->diags);
}
