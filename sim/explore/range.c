/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges: {from: 8, to: 256, by: 8}, {from: 1MiB, to: 64MiB, times: 2}, {from: 100GB/s, to: 2TB/s, points:
 * 10, log: true}. Each value is written as a machine file would have it, and read back from there. */
#include "sim/explore/space_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

bool ll_space_counts_cycles(const char *text)
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

double ll_space_value_shown(const struct ll_field *field, const char *text)
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
    bool cycles = ll_space_counts_cycles(node->text);
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
    value->number = ll_space_value_shown(range->field, value->text);
    return true;
}

const struct ll_axis_value *ll_space_range(struct ll_space_reading *reading, const struct ll_field *field,
                                           const struct ll_node *node, uint32_t *count)
{
    const char *from = ll_node_get_text(node, "from");
    struct range range = {.field = field, .node = node, .cycles = ll_space_counts_cycles(from)};
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
