/* SPDX-License-Identifier: Apache-2.0 */
/* The section `vary`: a path and its values, each of which is tried on the base alone, so that a wrong one is
 * complained of where it stands.
 *
 *     units.array.rows: [32, 64, 128]                         a list
 *     memory.hbm.bandwidth: {from: 100GB/s, to: 1TB/s, points: 10}   a range
 *     memory.hbm: {HBM2: {size: 16GiB}, GDDR6: {size: 8GiB}}  parts with names; a list of maps: parts without
 *     units.array.cols: = units.array.rows                    a coupling
 *     model.batch: [16, 32]                                   of the models that are recorded */
#include "sim/explore/space_parts.h"
#include "sim/parallel/plan_file.h"
#include "tracer/base/map.h"

#include <math.h>
#include <string.h>

#define MODEL_PREFIX "model."
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

static const char *coupled(const struct ll_node *node)
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
    value->number = named || !node->text ? NAN : ll_space_value_shown(m->field, node->text);
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
        axis->values = ll_space_range(m->reading, m->field, node, &axis->value_count);
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
        cycles += ll_space_counts_cycles(axis->values[i].node->text);
    for (uint32_t i = 0; cycles > 0 && cycles < axis->value_count && i < axis->value_count; i++)
        ((struct ll_axis_value *)&axis->values[i])->number = NAN; /* the space is still being made */
}

static bool try_values(struct making *m)
{
    struct ll_space_axis *axis = m->axis;
    bool right = true;
    forget_mixed_numbers(axis);
    axis->ordered = true;
    for (uint32_t i = 0; i < axis->value_count && (right || i < 20); i++) {
        struct ll_axis_value *value =
            (struct ll_axis_value *)&axis->values[i]; /* the space is still being made */
        right &= try_value(m, value);
        axis->ordered &= !isnan(value->number);
        if (value->node->type == LL_NODE_MAP)
            axis->target = LL_AXIS_PART;
    }
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

static bool is_of_plan(const char *path)
{
    return !strncmp(path, PLAN_PREFIX, strlen(PLAN_PREFIX));
}

static bool is_number(const struct ll_field *field)
{
    return field->type == LL_TYPE_WHOLE || field->type == LL_TYPE_SIZE || field->type == LL_TYPE_QUANTITY ||
           field->type == LL_TYPE_NUMBER || field->type == LL_TYPE_DTYPES || field->type == LL_TYPE_LEVELS;
}

static bool read_coupling(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    struct making m = {.reading = reading, .node = node};
    if (is_of_model(node->key) || is_of_plan(node->key))
        return ll_complain(reading->diags, node->key_place,
                           "`%s`: only values of the machine follow from others; list its values, and let a "
                           "constraint choose, as in plan.tp * plan.dp == 64",
                           node->key);
    if (!bind(&m))
        return false;
    if (!is_number(m.field))
        return ll_complain(reading->diags, node->key_place, "`%s` is no number: no expression can set it",
                           node->key);
    space->couplings[space->coupling_count++] =
        (struct ll_rule){.name = node->key,
                         .text = coupled(node),
                         .scale = ll_expression_scale(ll_field_dimension(m.field)),
                         .place = node->place};
    return true;
}

static bool read_axis(struct ll_space_reading *reading, const struct ll_node *node)
{
    struct ll_space *space = reading->space;
    struct making m = {.reading = reading, .node = node, .axis = &space->axes[space->axis_count]};
    bool model = is_of_model(node->key), plan = is_of_plan(node->key);
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
    for (size_t i = 0; i < space->coupling_count; i++) {
        struct ll_rule *rule = &space->couplings[i];
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
    space->couplings = ll_alloc(reading->arena, vary->count, sizeof *space->couplings);
    if (!space->axes || !space->couplings)
        return ll_space_no_memory(reading, vary->place);
    for (const struct ll_node *node = vary->first; node; node = node->next)
        right &= coupled(node) ? read_coupling(reading, node) : read_axis(reading, node);
    if (right && space->axis_count == 0)
        right = ll_space_expected(reading, vary, "at least one path that varies");
    return read_expressions(reading) && right;
}
