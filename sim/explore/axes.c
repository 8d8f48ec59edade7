/* SPDX-License-Identifier: Apache-2.0 */
/* The section `vary` of a sweep file: axes, their ranges, and expressions over them.
 *
 * The first section expands ranges, the second resolves the names in expressions, the third reads the axes
 * and checks every value against the schema. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/cost/outline.h"
#include "sim/explore/database.h"
#include "sim/parallel/plan.h"
#include "tracer/base/map.h"

/* Ranges: {from: 8, to: 256, by: 8}, {from: 1MiB, to: 64MiB, times: 2}, {from: 100GB/s, to: 2TB/s, points:
 * 10, log: true}. Each value is written as a machine file would have it, and read back from there. */

enum { MOST_VALUES = 100000 };

/* What the map says; NaN where it says nothing. */
struct range {
    double from, to, by, times, points;
    bool log, cycles; /* bytes per cycle */
    const struct ll_field *field;
    const struct ll_node *node;
};

static bool is_whole(const struct ll_field *field)
{
    return !field || field->type == LL_TYPE_WHOLE || field->type == LL_TYPE_SIZE;
}

/* axes.c: whether a value is one in bytes per cycle, of which only a machine's clock makes B/s. NULL: no. */
static bool space_counts_cycles(const char *text)
{
    return text && strstr(text, "/cycle");
}

/* Whether values are numbers of the key's own unit, if it has one. */
static bool has_own_unit(const struct ll_field *field)
{
    return field &&
           (field->type == LL_TYPE_NUMBER || field->type == LL_TYPE_DTYPES || field->type == LL_TYPE_LEVELS);
}

static bool is_number(const struct ll_field *field)
{
    return !field || field->type == LL_TYPE_WHOLE || field->type == LL_TYPE_SIZE ||
           field->type == LL_TYPE_QUANTITY || has_own_unit(field);
}

/* The number that a value of such a key is, in the base unit; NaN when it is none. */
static double value_number(const struct ll_field *field, const char *text)
{
    struct ll_quantity quantity;
    const char *unit;
    double number;
    if (!text || !*text)
        return NAN;
    if (field && (field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE))
        return ll_quantity_parse(text, &quantity, &unit) == LL_QUANTITY_FINE &&
                       (quantity.dimension == field->dimension ||
                        (field->dimension == LL_DIMENSION_BANDWIDTH &&
                         quantity.dimension == LL_DIMENSION_PER_CYCLE))
                   ? quantity.value
                   : NAN;
    if (!is_number(field))
        return NAN;
    return ll_number_parse(text, has_own_unit(field) && field->unit ? field->unit : "", &number) ? number
                                                                                                 : NAN;
}

/* The same in the units of expressions. */
static double space_value_shown(const struct ll_field *field, const char *text)
{
    return value_number(field, text) * (field ? ll_expression_scale(ll_field_dimension(field)) : 1);
}

static const char *text_of(struct ll_space_reading *reading, const struct range *range, double value)
{
    const struct ll_field *field = range->field;
    char text[32];
    if (!field || field->type == LL_TYPE_WHOLE) {
        ll_number_text(value, text);
        return ll_copy_text(reading->arena, text, strlen(text));
    }
    if (field->type == LL_TYPE_QUANTITY && range->cycles)
        return ll_format(reading->arena, "%.17gB/cycle", value);
    struct ll_quantity_text words = field->type == LL_TYPE_QUANTITY || field->type == LL_TYPE_SIZE
                                        ? ll_quantity_text(value, field->dimension)
                                        : ll_number_in(value, field->unit ? field->unit : "");
    return ll_copy_text(reading->arena, words.text, strlen(words.text));
}

/* One key of the map that is a number of the same kind as the values. */
static bool read_end(struct ll_space_reading *reading, const struct range *range, const char *key,
                     double *value)
{
    const struct ll_node *node = ll_node_get(range->node, key);
    *value = NAN;
    if (!node)
        return true;
    *value = value_number(range->field, node->text);
    bool cycles = space_counts_cycles(node->text);
    if (!isnan(*value) && cycles != range->cycles)
        return ll_complain(reading->diags, node->place, "`%s`: expected B/%s, as `from` has it",
                           ll_node_shown(node).text, range->cycles ? "cycle" : "s");
    if (!isnan(*value))
        return true;
    const struct ll_field *field = range->field;
    if (!field || (field->type != LL_TYPE_QUANTITY && field->type != LL_TYPE_SIZE))
        return ll_space_expected(reading, node, "a number");
    return ll_complain(reading->diags, node->place, "`%s`: expected %s, as %s", ll_node_shown(node).text,
                       ll_dimension_name(field->dimension), ll_dimension_example(field->dimension));
}

static bool read_times(struct ll_space_reading *reading, struct range *range)
{
    const struct ll_node *node = ll_node_get(range->node, "times");
    range->times = NAN;
    return !node || (node->text && ll_number_parse(node->text, "", &range->times) && range->times >= 1) ||
           ll_complain(reading->diags, node->place, "`%s`: expected a number from 1",
                       ll_node_shown(node).text);
}

static bool read_points(struct ll_space_reading *reading, struct range *range)
{
    const struct ll_node *node = ll_node_get(range->node, "points");
    uint64_t count;
    range->points = NAN;
    if (!node)
        return true;
    if (!node->text || !ll_count_parse(node->text, &count) || count == 0)
        return ll_space_expected(reading, node, "a whole number from 1");
    range->points = (double)count;
    return true;
}

static bool read_log(struct ll_space_reading *reading, struct range *range)
{
    const struct ll_node *node = ll_node_get(range->node, "log");
    const char *text = node ? node->text : "false";
    range->log = text && !strcmp(text, "true");
    return range->log || (text && !strcmp(text, "false")) ||
           ll_space_expected(reading, node, "true or false");
}

static bool read_keys(struct ll_space_reading *reading, struct range *range)
{
    static const char *const keys[] = {"from", "to", "by", "times", "points", "log"};
    bool right = true;
    for (const struct ll_node *child = range->node->first; child; child = child->next) {
        size_t i = 0;
        while (i < sizeof keys / sizeof *keys && strcmp(child->key, keys[i]))
            i++;
        if (i == sizeof keys / sizeof *keys)
            right = ll_space_unknown_key(reading, child, "in a range", keys, i);
    }
    right &= read_end(reading, range, "from", &range->from);
    right &= read_end(reading, range, "to", &range->to);
    right &= read_end(reading, range, "by", &range->by);
    right &= read_times(reading, range);
    right &= read_points(reading, range);
    return read_log(reading, range) && right;
}

/* Whether a range is complete, finite, and reaches its end in finitely many steps. */
static bool check(struct ll_space_reading *reading, const struct range *range)
{
    int steps = !isnan(range->by) + !isnan(range->times) + !isnan(range->points);
    struct ll_place place = range->node->place;
    if (isnan(range->from) || isnan(range->to))
        return ll_complain(reading->diags, place, "a range needs `from` and `to`");
    if (steps != 1)
        return ll_complain(reading->diags, place,
                           "a range needs one of `by` (a step), `times` (a factor) and `points` (how many)");
    if (range->to < range->from)
        return ll_complain(reading->diags, place,
                           "the range ends before it begins: `to` is less than `from`");
    if (range->by <= 0 || range->times == 1)
        return ll_complain(reading->diags, place, "a range with such a step never ends");
    if (range->points == 1 && range->to != range->from)
        return ll_complain(reading->diags, place,
                           "one point does not reach from `from` to `to`; expected 2 or more");
    if (range->log && isnan(range->points))
        return ll_complain(reading->diags, place, "`log` says how `points` are spaced; here are none");
    if ((range->log || !isnan(range->times)) && range->from <= 0)
        return ll_complain(reading->diags, place, "a range of equal ratios cannot begin at 0");
    if (!isfinite(range->to - range->from) ||
        ((range->log || !isnan(range->times)) && !isfinite(range->to / range->from)))
        return ll_complain(reading->diags, place, "the range is wider than numbers are: from %g to %g",
                           range->from, range->to);
    return true;
}

/* How many values; more than MOST_VALUES count as one more. */
static uint32_t count_of(const struct range *range)
{
    double span = range->to - range->from, count = range->points;
    if (!isnan(range->by))
        count = floor(span / range->by + 1e-9) + 1;
    if (!isnan(range->times))
        count = floor(log(range->to / range->from) / log(range->times) + 1e-9) + 1;
    return count > MOST_VALUES ? MOST_VALUES + 1 : (uint32_t)count;
}

/* One of the points between the ends, to a thousandth of the distance to the next or somewhat finer: 25,
 * 39.69, 63 GB/s are as evenly spread as anybody needs, and can be read and typed. */
static double point_at(const struct range *range, double share, uint32_t count)
{
    double span = range->to - range->from, ratio = range->to / range->from;
    double value = range->log ? range->from * pow(ratio, share) : range->from + span * share;
    double distance = range->log ? value * (pow(ratio, 1.0 / (count - 1)) - 1) : span / (count - 1);
    return is_whole(range->field) || !(distance > 0) ? value : ll_number_rounded(value, distance);
}

static double value_at(const struct range *range, uint32_t i, uint32_t count)
{
    double value;
    if (!isnan(range->by))
        value = range->from + i * range->by;
    else if (!isnan(range->times))
        value = range->from * pow(range->times, i);
    else if (i == 0 || i + 1 == count)
        value = i == 0 ? range->from : range->to;
    else
        value = point_at(range, i / (double)(count - 1), count);
    return is_whole(range->field) ? round(value) : value;
}

static bool make(struct ll_space_reading *reading, const struct range *range, double number,
                 struct ll_axis_value *value)
{
    struct ll_node *node = ll_node_new(reading->arena, LL_NODE_SCALAR, range->node->place);
    value->text = text_of(reading, range, number);
    value->node = node;
    if (!node || !value->text)
        return ll_space_no_memory(reading, range->node->place);
    node->text = value->text;
    value->number = space_value_shown(range->field, value->text);
    return true;
}

/* axes.c: the values of a range {from: 1, to: 10, by: 1}, an array in the arena. A field of the machine's
 * schema says how its numbers are written; NULL: whole numbers. NULL after complaints. */
static const struct ll_axis_value *space_range(struct ll_space_reading *reading, const struct ll_field *field,
                                               const struct ll_node *node, uint32_t *count)
{
    const char *from = ll_node_get_text(node, "from");
    struct range range = {.field = field, .node = node, .cycles = space_counts_cycles(from)};
    *count = 0;
    if (!is_number(field)) {
        ll_complain(reading->diags, node->place,
                    "a range is of numbers, and `%s` takes none; list its values", field->key);
        return NULL;
    }
    if (!read_keys(reading, &range) || !check(reading, &range))
        return NULL;
    uint32_t all = count_of(&range);
    struct ll_axis_value *values = all <= MOST_VALUES ? ll_alloc(reading->arena, all, sizeof *values) : NULL;
    if (all > MOST_VALUES)
        ll_complain(reading->diags, node->place, "the range has more than %d values", MOST_VALUES);
    for (uint32_t i = 0; values && i < all; i++) {
        double number = value_at(&range, i, all);
        if (*count && number == values[*count - 1].number) /* rounded to the same whole number */
            continue;
        if (!make(reading, &range, number, &values[(*count)++]))
            return NULL;
    }
    return values;
}

/* What the names in a sweep file's expressions stand for. Two spellings of a path (hbm.bandwidth,
 * memory.hbm.bandwidth) are told to be one by the place in the machine that they lead to. */

struct scope {
    struct ll_space_reading *reading;
    bool is_coupled;
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
            return scope->is_coupled || space->axes[i].target == LL_AXIS_MODEL ||
                   space->axes[i].target == LL_AXIS_PLAN;
        }
    return false;
}

static bool find_rule(const struct scope *scope, const char *name, struct ll_named *named)
{
    const struct ll_space *space = scope->reading->space;
    if (!scope->is_coupled) { /* all of them stand before */
        uint32_t id = ll_map_find(&scope->reading->definition_names, name, strlen(name));
        *named = (struct ll_named){.kind = LL_NAMED_DEFINITION, .index = id};
        return id != LL_NO_ID;
    }
    for (size_t i = 0; i < scope->until; i++)
        if (same_place(space, space->coupled[i].name, name)) {
            *named = (struct ll_named){.kind = LL_NAMED_COUPLED, .index = (uint32_t)i};
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
        if (space_counts_cycles(axis->values[i].node->text))
            return true;
    return false;
}

/* What varies, but not as a number that is known before the machine is: a coupled parameter would silently
 * get what the base has instead. */
static const char *hindrance(void *context, const char *name)
{
    const struct scope *scope = context;
    const struct ll_space *space = scope->reading->space;
    for (size_t i = 0; scope->is_coupled && i < space->axis_count; i++) {
        const struct ll_space_axis *axis = &space->axes[i];
        if (varies_with_part(axis, name))
            return "varies with the part that it belongs to; coupled parameters know parts only as the base "
                   "has them";
        if (same_place(space, axis->path, name) && counts_cycles(axis))
            return "has values in bytes per cycle; coupled parameters count in B/s";
    }
    for (size_t i = scope->until + 1; scope->is_coupled && i < space->coupled_count; i++)
        if (same_place(space, space->coupled[i].name, name))
            return "follows from others further down; coupled parameters know those that stand before them";
    return NULL;
}

static bool find(void *context, const char *name, uint32_t *slot)
{
    struct scope *scope = context;
    const struct ll_space *space = scope->reading->space;
    struct ll_named named = {0};
    if (hindrance(context, name))
        return false;
    if (find_rule(scope, name, &named) || (!scope->is_coupled && find_result(space, name, &named)) ||
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
    for (size_t i = 0; i < space->coupled_count; i++)
        if (same_place(space, space->coupled[i].name, name))
            return "something that varies";
    return find_result(space, name, &named) ? "a result" : NULL;
}

/* What could have been meant: rules, measures, axes, numbers of the machine in that order. */
static const char *candidate(void *context, size_t i)
{
    const struct scope *scope = context;
    const struct ll_space *space = scope->reading->space;
    const struct ll_rule *rules = scope->is_coupled ? space->coupled : space->definitions;
    if (i < scope->until)
        return rules[i].name;
    i -= scope->until;
    if (!scope->is_coupled && i < LL_MEASURE_COUNT)
        return ll_measure_name((enum ll_measure)i);
    i -= scope->is_coupled ? 0 : LL_MEASURE_COUNT;
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
    case LL_NAMED_COUPLED:
        return dimension_of_rule(&space->coupled[named->index]);
    case LL_NAMED_DEFINITION:
        return dimension_of_rule(&space->definitions[named->index]);
    case LL_NAMED_AXIS:
    case LL_NAMED_SHARE:
        break;
    }
    return LL_DIMENSION_NUMBER;
}

struct ll_expression *ll_space_expression(struct ll_space_reading *reading, const char *text,
                                          struct ll_place place, bool is_coupled, size_t until)
{
    struct scope scope = {reading, is_coupled, until};
    struct ll_names names = {find, candidate, &scope, dimension_of, hindrance};
    return ll_expression_parse(reading->arena, text, place, &names, reading->diags);
}

/* The section `vary`: a path and its values, each of which is tried on the base alone, so that a wrong one is
 * complained of where it stands.
 *
 *     units.array.rows: [32, 64, 128]                         a list
 *     memory.hbm.bandwidth: {from: 100GB/s, to: 1TB/s, points: 10}   a range
 *     memory.hbm: {HBM2: {size: 16GiB}, GDDR6: {size: 8GiB}}  parts with names; a list of maps: parts without
 *     units.array.cols: = units.array.rows                    a coupled parameter
 *     model.batch: [16, 32]                                   of the models that are recorded */

#define MODEL_PREFIX "model."
#define SERVE_PREFIX "serve."
#define PLAN_PREFIX "plan."

struct making {
    struct ll_space_reading *reading;
    const struct ll_node *node;   /* the entry of `vary` */
    uint32_t slot;                /* of the design */
    const struct ll_field *field; /* NULL: no path of the machine */
    struct ll_space_axis *axis;
    struct ll_map texts; /* of the axis's values so far */
};

static bool is_range(const struct ll_node *node)
{
    return node->type == LL_NODE_MAP && (ll_node_get(node, "from") || ll_node_get(node, "to") ||
                                         (node->first && node->first->type == LL_NODE_SCALAR));
}

static const char *coupled_text(const struct ll_node *node)
{
    const char *text = node->text;
    if (!text || *text != '=')
        return NULL;
    return text + 1 + strspn(text + 1, " ");
}

/* A map as one would type it: for parts without a name, and to show. */
static void write_flow(const struct ll_node *node, struct ll_str *out)
{
    bool map = node->type == LL_NODE_MAP;
    if (node->text) {
        ll_str_add(out, node->text);
        return;
    }
    ll_str_add(out, map ? "{" : "[");
    for (const struct ll_node *child = node->first; child; child = child->next) {
        ll_str_add(out, child == node->first ? "" : ", ");
        if (map)
            ll_str_addf(out, "%s: ", child->key);
        write_flow(child, out);
    }
    ll_str_add(out, map ? "}" : "]");
}

static const char *flow_text(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_str out = {0};
    write_flow(node, &out);
    const char *text = out.failed ? NULL : ll_copy_text(reading->arena, out.text ? out.text : "", out.length);
    ll_str_release(&out);
    return text;
}

/* What the design takes for a value; tried on the base. */
static bool try_value(struct making *m, struct ll_axis_value *value)
{
    struct ll_space_reading *reading = m->reading;
    struct ll_parallel plan = ll_plan_of_one();
    if (m->axis->target == LL_AXIS_PLAN)
        return ll_plan_set(&plan, strchr(m->axis->path, '.') + 1, value->text, value->node->place,
                           reading->diags);
    if (!m->field)
        return true;
    const struct ll_node *put = ll_design_value(reading->design, m->slot, value->node, reading->diags);
    return put && ll_design_try(reading->design, m->slot, put, reading->diags);
}

static bool add_value(struct making *m, const struct ll_node *node, struct ll_axis_value *value)
{
    bool named = node->key != NULL; /* of a map of parts */
    value->node = node;
    value->text = named ? node->key : flow_text(m->reading, node);
    value->number = named || !node->text ? NAN : space_value_shown(m->field, node->text);
    bool is_new;
    if (!value->text || ll_map_intern(&m->texts, value->text, strlen(value->text), &is_new) == LL_NO_ID)
        return ll_space_no_memory(m->reading, node->place);
    return is_new || ll_complain(m->reading->diags, node->place, "`%s` is there twice",
                                 ll_shown_text(value->text).text);
}

static bool read_list(struct making *m, const struct ll_node *list)
{
    struct ll_axis_value *values = ll_alloc(m->reading->arena, list->count, sizeof *values);
    bool right = values != NULL || ll_space_no_memory(m->reading, list->place);
    m->axis->values = values;
    if (right && list->count == 0)
        return ll_space_expected(m->reading, list, "at least one value");
    if (right && list->count > 100000)
        return ll_complain(m->reading->diags, list->place, "more than 100000 values");
    for (const struct ll_node *child = list->first; values && child; child = child->next)
        right &= add_value(m, child, &values[m->axis->value_count++]);
    ll_map_release(&m->texts);
    return right;
}

static bool read_values(struct making *m)
{
    const struct ll_node *node = m->node;
    struct ll_space_axis *axis = m->axis;
    if (is_range(node)) {
        axis->values = space_range(m->reading, m->field, node, &axis->value_count);
        return axis->values != NULL;
    }
    if (node->type != LL_NODE_SCALAR)
        return read_list(m, node);
    struct ll_node *alone = ll_node_new(m->reading->arena, LL_NODE_LIST, node->place);
    struct ll_node *copy = ll_copy(m->reading->arena, node, sizeof *node);
    if (!alone || !copy)
        return ll_space_no_memory(m->reading, node->place);
    copy->key = NULL;
    copy->next = NULL;
    ll_node_add(alone, copy);
    return read_list(m, alone);
}

/* Bytes per cycle and per second in one list are no numbers to be compared: how long a cycle is depends on
 * the point. */
static void forget_mixed_numbers(struct ll_space_axis *axis)
{
    uint32_t cycles = 0;
    for (uint32_t i = 0; i < axis->value_count; i++)
        cycles += space_counts_cycles(axis->values[i].node->text);
    for (uint32_t i = 0; cycles > 0 && cycles < axis->value_count && i < axis->value_count; i++)
        ((struct ll_axis_value *)&axis->values[i])->number = NAN; /* the space is still being made */
}

/* Whether the machine that was tried last has other outlines than the one that was tried first. */
static bool moves_outlines(const struct making *m, struct ll_arena *scratch, struct ll_outline_key *key)
{
    const struct ll_machine *machine = ll_design_machine(m->reading->design);
    if (key->units)
        return !ll_outline_is_same(key, machine);
    return !ll_outline_key(machine, scratch, key);
}

static bool try_values(struct making *m)
{
    struct ll_space_axis *axis = m->axis;
    struct ll_arena scratch = {0};
    struct ll_outline_key key = {.units = NULL};
    bool right = true;
    axis->keeps_outlines = m->field && m->axis->target == LL_AXIS_MACHINE;
    forget_mixed_numbers(axis);
    axis->ordered = true;
    for (uint32_t i = 0; i < axis->value_count && (right || i < 20); i++) {
        struct ll_axis_value *value =
            (struct ll_axis_value *)&axis->values[i]; /* the space is still being made */
        right &= try_value(m, value);
        if (right && axis->keeps_outlines)
            axis->keeps_outlines = !moves_outlines(m, &scratch, &key);
        axis->ordered &= !isnan(value->number);
        if (value->node->type == LL_NODE_MAP)
            axis->target = LL_AXIS_PART;
    }
    ll_arena_release(&scratch);
    return right;
}

static bool bind(struct making *m)
{
    struct ll_space_reading *reading = m->reading;
    if (!reading->design)
        return false; /* the base was complained of */
    if (!ll_design_bind(reading->design, m->node->key, m->node->key_place, reading->diags, &m->slot))
        return false;
    m->field = ll_design_field(reading->design, m->slot);
    return true;
}

static bool is_of_model(const char *path)
{
    return !strncmp(path, MODEL_PREFIX, strlen(MODEL_PREFIX));
}

static bool is_of_serving(const char *path)
{
    return !strncmp(path, SERVE_PREFIX, strlen(SERVE_PREFIX));
}

bool ll_is_of_serving(const struct ll_space_axis *axis)
{
    return is_of_serving(axis->path);
}

static bool is_of_plan(const char *path)
{
    return !strncmp(path, PLAN_PREFIX, strlen(PLAN_PREFIX));
}

static bool is_numeric_axis(const struct ll_field *field)
{
    return field->type == LL_TYPE_WHOLE || field->type == LL_TYPE_SIZE || field->type == LL_TYPE_QUANTITY ||
           field->type == LL_TYPE_NUMBER || field->type == LL_TYPE_DTYPES || field->type == LL_TYPE_LEVELS;
}

static bool read_coupling(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    struct making m = {.reading = reading, .node = node};
    if (is_of_model(node->key) || is_of_serving(node->key) || is_of_plan(node->key))
        return ll_complain(reading->diags, node->key_place,
                           "`%s`: only values of the machine follow from others; list its values, and let a "
                           "constraint choose, as in plan.tp * plan.dp == 64",
                           node->key);
    if (!bind(&m))
        return false;
    if (!is_numeric_axis(m.field))
        return ll_complain(reading->diags, node->key_place, "`%s` is no number: no expression can set it",
                           node->key);
    space->coupled[space->coupled_count++] =
        (struct ll_rule){.name = node->key,
                         .text = coupled_text(node),
                         .scale = ll_expression_scale(ll_field_dimension(m.field)),
                         .place = node->place};
    return true;
}

static bool read_axis(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    struct making m = {.reading = reading, .node = node, .axis = &space->axes[space->axis_count]};
    bool model = is_of_model(node->key) || is_of_serving(node->key), plan = is_of_plan(node->key);
    if (space->axis_count == LL_MOST_AXES)
        return ll_complain(reading->diags, node->key_place, "more than %d things vary", LL_MOST_AXES);
    if (plan && !ll_plan_key_is_known(node->key + strlen(PLAN_PREFIX), node->key_place, reading->diags))
        return false;
    *m.axis = (struct ll_space_axis){.path = node->key,
                                     .target = model  ? LL_AXIS_MODEL
                                               : plan ? LL_AXIS_PLAN
                                                      : LL_AXIS_MACHINE,
                                     .place = node->key_place};
    if ((!model && !plan && !bind(&m)) || !read_values(&m))
        return false;
    space->axis_count++;
    return try_values(&m);
}

static bool read_expressions(struct ll_space_reading *reading)
{
    struct ll_space *space = reading->space;
    bool right = true;
    for (size_t i = 0; i < space->coupled_count; i++) {
        struct ll_rule *rule = &space->coupled[i];
        rule->expression = ll_space_expression(reading, rule->text, rule->place, true, i);
        right &= rule->expression != NULL;
    }
    return right;
}

bool ll_space_read_axes(struct ll_space_reading *reading, const struct ll_node *vary)
{
    struct ll_space *space = reading->space;
    bool right = true;
    if (vary->type != LL_NODE_MAP)
        return ll_space_expected(reading, vary, "a map of paths and their values");
    space->axes = ll_alloc(reading->arena, LL_MOST_AXES, sizeof *space->axes);
    space->coupled = ll_alloc(reading->arena, vary->count, sizeof *space->coupled);
    if (!space->axes || !space->coupled)
        return ll_space_no_memory(reading, vary->place);
    for (const struct ll_node *node = vary->first; node; node = node->next)
        right &= coupled_text(node) ? read_coupling(reading, node) : read_axis(reading, node);
    if (right && space->axis_count == 0)
        right = ll_space_expected(reading, vary, "at least one path that varies");
    return read_expressions(reading) && right;
}
