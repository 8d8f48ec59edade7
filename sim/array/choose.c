/* SPDX-License-Identifier: Apache-2.0 */
/* Given mappings, limits of the search, and which of both a problem gets.
 *
 * A limit is the name of a store, or of an axis, and what its loops must be:
 *
 *       rf: keep weight; bypass input; order FX FY; factors FX=3 K=0
 *       D1: factors K=16
 *
 * `order` lists loops that run innermost, the innermost first; a factor of 0 is all that a dimension has. A
 * limit, or a way to unroll, that begins with `conv` or `gemm` is for such problems alone: K is a loop of
 * both. */
#include "sim/array/choose.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/array/machine.h"
#include "sim/array/notation.h"
#include "tracer/base/num.h"

/* --- given mappings --- */

static bool same_problem(const struct ll_array_problem *one, const struct ll_array_problem *other)
{
    if (one->dims != other->dims)
        return false;
    for (int d = 0; d < one->dims; d++) {
        int e = 0;
        while (e < other->dims && strcmp(one->name[d], other->name[e]) != 0)
            e++;
        if (e == other->dims || one->of[d] != other->of[e])
            return false;
    }
    return true;
}

bool ll_array_read_given(const struct ll_array *array, const struct ll_array_problem *problem,
                         const char *text, struct ll_array_mapping *mapping, bool *right,
                         struct ll_str *complaint)
{
    const char *arrow = strstr(text, "=>");
    struct ll_str sizes = {0};
    struct ll_array_problem of;
    bool same = false;
    *right = false;
    if (!arrow) {
        ll_str_addf(complaint, "`%.40s`: expected sizes => mapping, as K=64 C=3 => @dram K64 C3", text);
        return false;
    }
    ll_str_add_bytes(&sizes, text, (size_t)(arrow - text));
    *right = sizes.text && ll_array_problem_parse(sizes.text, &of, complaint);
    if (*right && (!problem || same_problem(&of, problem))) {
        const struct ll_array_problem *whole = problem ? problem : &of;
        same = *right = ll_array_mapping_parse(array, whole, arrow + 2, mapping, complaint);
    }
    ll_str_release(&sizes);
    return same;
}

/* --- limits --- */

static int dim_of(const struct ll_array_problem *problem, const char *name, size_t length)
{
    for (int d = 0; d < problem->dims; d++)
        if (strlen(problem->name[d]) == length && !memcmp(problem->name[d], name, length))
            return d;
    return -1;
}

/* A word of letters and digits at a text; its length. */
static size_t word_at(const char *text)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '-')
        length++;
    return length;
}

/* "D1:K,FX D2:C": which dimensions may run along which axes. Dimensions that the problem does not have run
 * along none. */
static bool read_unroll(const char *text, const struct ll_array *array,
                        const struct ll_array_problem *problem, uint32_t over[LL_ARRAY_DIMS],
                        struct ll_str *complaint)
{
    const char *all = text;
    while (*(text += strspn(text, " "))) {
        char *end;
        unsigned long axis = *text == 'D' ? strtoul(text + 1, &end, 10) : 0;
        if (axis < 1 || axis > array->axes || *end != ':') {
            ll_str_addf(complaint,
                        "`%.60s`: expected axes and the loops that may run along them, as D1:K D2:C,FX", all);
            return false;
        }
        text = end;
        do {
            size_t length = word_at(++text);
            int d = dim_of(problem, text, length);
            if (length == 0) {
                ll_str_addf(complaint, "`%.60s`: expected a loop behind `%.10s`", all, text);
                return false;
            }
            if (d >= 0)
                over[d] |= 1u << (axis - 1);
            text += length;
        } while (*text == ',');
    }
    return true;
}

struct limit {
    const struct ll_array *array;
    const struct ll_array_problem *problem;
    struct ll_array_limits *limits;
    struct ll_str *complaint;
    int store, axis; /* one of them is -1 */
};

static bool limit_operands(const struct limit *l, const char *text, const char *end, bool keep)
{
    while ((text += strspn(text, " ,")) < end) {
        size_t length = word_at(text);
        enum ll_operand o = 0;
        while (o < LL_OPERAND_COUNT && (strlen(ll_array_operand_name(o)) != length ||
                                        memcmp(ll_array_operand_name(o), text, length) != 0))
            o++;
        if (o == LL_OPERAND_COUNT || l->store < 0 || (keep && !l->array->store[l->store].holds[o])) {
            ll_str_addf(l->complaint, "`%.20s`: expected input, weight or output that the store holds", text);
            return false;
        }
        (keep ? l->limits->keep : l->limits->pass)[o][l->store] = true;
        text += length;
    }
    return true;
}

static bool limit_order(const struct limit *l, const char *text, const char *end)
{
    while ((text += strspn(text, " ,")) < end) {
        size_t length = word_at(text);
        int d = dim_of(l->problem, text, length);
        if (length == 0 || l->store < 0) {
            ll_str_addf(l->complaint, "`%.20s`: expected loops, the innermost first, as FX FY", text);
            return false;
        }
        if (d >= 0 && l->limits->ordered[l->store] < LL_ARRAY_DIMS)
            l->limits->order[l->store][l->limits->ordered[l->store]++] = (uint8_t)d;
        text += length;
    }
    return true;
}

static bool limit_factors(const struct limit *l, const char *text, const char *end)
{
    while ((text += strspn(text, " ,")) < end) {
        size_t length = word_at(text);
        char *behind;
        int d = dim_of(l->problem, text, length);
        uint64_t by = text[length] == '=' ? strtoull(text + length + 1, &behind, 10) : 0;
        if (text[length] != '=' || behind == text + length + 1) {
            ll_str_addf(l->complaint, "`%.20s`: expected factors, as FX=3 K=0", text);
            return false;
        }
        if (d >= 0) {
            uint64_t fixed = by > 0 ? by : l->problem->of[d];
            (l->store >= 0 ? l->limits->factor[l->store] : l->limits->unrolled[l->axis])[d] = fixed;
        }
        text = behind;
    }
    return true;
}

static bool read_limit(struct limit *l, const char *text)
{
    static const char *const verbs[] = {"keep", "bypass", "order", "factors"};
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    l->store = l->axis = -1;
    for (int s = 0; s < l->array->stores; s++)
        if (strlen(l->array->store[s].name) == length && !memcmp(l->array->store[s].name, text, length))
            l->store = s;
    if (l->store < 0 && length == 2 && *text == 'D' && text[1] > '0' && text[1] <= '0' + l->array->axes)
        l->axis = text[1] - '1';
    if (l->store < 0 && l->axis < 0) {
        ll_str_addf(l->complaint,
                    "`%.40s`: expected a store or an axis of the array and a colon, as rf: keep weight",
                    text);
        return false;
    }
    l->limits->any = true;
    for (text = colon + 1; *(text += strspn(text, " ;"));) {
        const char *end = text + strcspn(text, ";");
        size_t verb = 0, word = word_at(text);
        while (verb < 4 && (strlen(verbs[verb]) != word || memcmp(verbs[verb], text, word) != 0))
            verb++;
        if (verb == 4) {
            ll_str_addf(l->complaint, "`%.20s`: expected keep, bypass, order or factors", text);
            return false;
        }
        text += word;
        if (!(verb < 2    ? limit_operands(l, text, end, verb == 0)
              : verb == 2 ? limit_order(l, text, end)
                          : limit_factors(l, text, end)))
            return false;
        text = end;
    }
    return true;
}

/* The text behind `conv` or `gemm`, all of it where it begins with neither; NULL where it is for the other
 * kind of problem. */
static const char *text_for(const struct ll_array_problem *problem, const char *text)
{
    bool of_convs = !strncmp(text, "conv ", 5), of_gemms = !strncmp(text, "gemm ", 5);
    bool conv = dim_of(problem, "FX", 2) >= 0;
    return (of_convs && !conv) || (of_gemms && conv) ? NULL : text + (of_convs || of_gemms ? 5 : 0);
}

bool ll_array_read_limits(const struct ll_array_unit *unit, const struct ll_array *array,
                          const struct ll_array_problem *problem, struct ll_array_limits *limits,
                          struct ll_str *complaint)
{
    struct limit l = {.array = array, .problem = problem, .limits = limits, .complaint = complaint};
    memset(limits, 0, sizeof *limits);
    for (uint64_t i = 0; i < unit->unroll_count; i++) {
        const char *text = text_for(problem, unit->unroll[i]);
        if (!text)
            continue;
        if (limits->ways == sizeof limits->over / sizeof *limits->over) {
            ll_str_addf(complaint, "more than %d ways to unroll", limits->ways);
            return false;
        }
        if (!read_unroll(text, array, problem, limits->over[limits->ways], complaint))
            return false;
        for (int d = 0; d < problem->dims; d++) /* over several units any loop may run */
            limits->over[limits->ways][d] |= ~0u << unit->axes.count;
        limits->ways++;
    }
    for (uint64_t i = 0; i < unit->limit_count; i++) {
        const char *text = text_for(problem, unit->limits[i]);
        if (text && !read_limit(&l, text))
            return false;
    }
    return true;
}

/* --- choosing --- */

bool ll_array_check(const struct ll_machine *machine, struct ll_diags *diags)
{
    uint64_t u = ll_array_find(machine);
    bool all_right = true;
    if (u == machine->unit_count)
        return true;
    const struct ll_array_unit *unit = &machine->units[u].array;
    const struct ll_array array = ll_array_of(machine, u, LL_INT8);
    const struct ll_place place = {.file = machine->path};
    struct ll_str complaint = {0};
    for (uint64_t i = 0; i < unit->given_count; i++) {
        struct ll_array_mapping mapping;
        bool right;
        ll_array_read_given(&array, NULL, unit->given[i], &mapping, &right, &complaint);
        if (!right)
            all_right = ll_complain(diags, place, "`mapping` of `%s`: %s", machine->units[u].name,
                                    complaint.text ? complaint.text : "");
        ll_str_release(&complaint);
    }
    const struct ll_conv conv = {.batch = 1,
                                 .in_h = 1,
                                 .in_w = 1,
                                 .in_c = 1,
                                 .out_h = 1,
                                 .out_w = 1,
                                 .out_c = 1,
                                 .kernel_h = 1,
                                 .kernel_w = 1,
                                 .stride_h = 1,
                                 .stride_w = 1,
                                 .dilation_h = 1,
                                 .dilation_w = 1,
                                 .groups = 1};
    const struct ll_array_problem problems[] = {ll_array_gemm(1, 1, 1, 1), ll_array_conv(&conv)};
    struct ll_array_limits limits;
    for (int p = 0; p < 2 && all_right; p++) {
        if (!ll_array_read_limits(unit, &array, &problems[p], &limits, &complaint))
            all_right = ll_complain(diags, place, "`%s`: %s", machine->units[u].name,
                                    complaint.text ? complaint.text : "");
        ll_str_release(&complaint);
    }
    return all_right;
}

static bool give_line(struct ll_machine *machine, const struct ll_array *array, const char *line,
                      struct ll_place place, struct ll_diags *diags)
{
    struct ll_array_unit *unit = &machine->units[ll_array_find(machine)].array;
    struct ll_str complaint = {0};
    struct ll_array_mapping mapping;
    bool right;
    ll_array_read_given(array, NULL, line, &mapping, &right, &complaint);
    if (!right)
        ll_complain(diags, place, "%s", complaint.text ? complaint.text : "memory ran out");
    ll_str_release(&complaint);
    if (right)
        unit->given[unit->given_count++] = line;
    return right;
}

bool ll_array_give(struct ll_machine *machine, const char *text, const char *file, struct ll_diags *diags)
{
    struct ll_place place = {.file = file};
    uint64_t u = ll_array_find(machine), lines = 1;
    if (u == machine->unit_count)
        return ll_complain(diags, place, "`%s` has no array to map work onto", machine->stem);
    struct ll_array_unit *unit = &machine->units[u].array;
    const struct ll_array array = ll_array_of(machine, u, LL_INT8);
    const char *const *before = unit->given;
    uint64_t count = unit->given_count;
    bool all_right = true;
    for (const char *at = text; *at; at++)
        lines += *at == '\n';
    unit->given = ll_alloc(&machine->arena, lines + count, sizeof *unit->given);
    unit->given_count = 0;
    for (place.line = 1; unit->given && *text; place.line++) {
        size_t length = strcspn(text, "\n");
        const char *line = ll_copy_text(&machine->arena, text, length);
        if (line && line[strspn(line, " \t\r")] && *line != '#')
            all_right &= give_line(machine, &array, line, place, diags);
        text += length + (text[length] == '\n');
    }
    for (uint64_t i = 0; unit->given && i < count; i++)
        unit->given[unit->given_count++] = before[i];
    return all_right && (unit->given || ll_complain(diags, place, "memory ran out"));
}

enum ll_array_aim ll_array_aim_of(const struct ll_machine *machine)
{
    static const enum ll_array_aim aims[] = {[LL_OBJECTIVE_TIME] = LL_ARRAY_TIME,
                                             [LL_OBJECTIVE_ENERGY] = LL_ARRAY_ENERGY,
                                             [LL_OBJECTIVE_EDP] = LL_ARRAY_EDP};
    return aims[machine->software.objective];
}

bool ll_array_choose(const struct ll_machine *machine, uint64_t u, const struct ll_array *array,
                     const struct ll_array_problem *problem, enum ll_array_aim aim,
                     struct ll_array_found *found, bool *given)
{
    const struct ll_array_unit *unit = &machine->units[u].array;
    struct ll_str complaint = {0};
    struct ll_array_limits limits;
    for (uint64_t i = 0; i < unit->given_count; i++) {
        bool right;
        *given = ll_array_read_given(array, problem, unit->given[i], &found->mapping, &right, &complaint);
        if (!*given)
            continue;
        ll_array_evaluate(array, problem, &found->mapping, &found->cost);
        found->evaluated = 1;
        found->complete = true;
        found->bound = ll_array_least(array, problem);
        return found->cost.fits;
    }
    *given = false;
    bool right = ll_array_read_limits(unit, array, problem, &limits, &complaint);
    ll_str_release(&complaint);
    return right && ll_array_search(array, problem, &limits, aim, found);
}
