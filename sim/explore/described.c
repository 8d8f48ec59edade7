/* SPDX-License-Identifier: Apache-2.0 */
/* Energies, areas and prices are numbers only where a machine has the section that describes them. What has
 * none whatever varies is asked for in vain, which can be told before anything is simulated. */
#include "sim/explore/space_parts.h"

#include <string.h>

static const char *section_of(enum ll_measure measure)
{
    switch (measure) {
    case LL_MEASURE_ENERGY:
    case LL_MEASURE_EDP:
    case LL_MEASURE_POWER:
    case LL_MEASURE_THROUGHPUT_PER_W:
        return "energy";
    case LL_MEASURE_AREA:
        return "area";
    case LL_MEASURE_PRICE:
        return "price";
    default:
        return NULL;
    }
}

static bool is_within(const char *path, const char *section)
{
    size_t length = strlen(section);
    return !strncmp(path, section, length) && (path[length] == '\0' || path[length] == '.');
}

/* In the base, or by what varies or follows. */
static bool is_described(const struct ll_space *space, const char *section)
{
    const struct ll_machine *base = space->machine;
    bool given = !strcmp(section, "energy") ? base->energy_given
                 : !strcmp(section, "area") ? base->area_given
                                            : base->pricing_given;
    for (size_t i = 0; i < space->axis_count; i++)
        given |= is_within(space->axes[i].path, section);
    for (size_t i = 0; i < space->coupling_count; i++)
        given |= is_within(space->couplings[i].name, section);
    return given;
}

struct looking {
    const struct ll_space *space;
    const char **missed; /* out: the section of one that is missing */
};

static bool is_missing(const void *context, uint32_t slot)
{
    const struct looking *looking = context;
    const struct ll_space *space = looking->space;
    const struct ll_named *named = &space->names[slot];
    if (named->kind == LL_NAMED_DEFINITION && space->definitions[named->index].lacks) {
        *looking->missed = space->definitions[named->index].lacks;
        return true;
    }
    const char *section = named->kind == LL_NAMED_MEASURE ? section_of((enum ll_measure)named->index) : NULL;
    if (!section || is_described(space, section))
        return false;
    *looking->missed = section;
    return true;
}

const char *ll_space_lack(const struct ll_space *space, const struct ll_expression *expression)
{
    const char *section = NULL;
    const struct looking looking = {space, &section};
    return space->machine && ll_expression_has_none(expression, is_missing, &looking) ? section : NULL;
}

bool ll_space_is_described(struct ll_space_reading *reading, const struct ll_expression *expression,
                           bool constraint, const struct ll_node *node)
{
    const char *section = NULL;
    const struct looking looking = {reading->space, &section};
    if (!reading->space->machine || !(constraint ? ll_expression_fails(expression, is_missing, &looking)
                                                 : ll_expression_has_none(expression, is_missing, &looking)))
        return true;
    return ll_complain(reading->diags, node->place,
                       "`%s`: no design has such a number: the base has no section `%s`, and none varies",
                       ll_node_shown(node).text, section);
}
