/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on results. A result is written as JSON, and its numbers are the names that a check can speak of
 * (fields.h). */
#include "sim/cli/check.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/fields.h"
#include "sim/explore/space.h"
#include "sim/report/table.h"

/* What a check is of. */
struct checked {
    struct ll_fields fields;
    bool *used; /* by id: the expression that was read last speaks of it */
};

/* The fields of the only result in a document. */
static bool flatten_report(struct ll_fields *fields, const struct ll_report *report, struct ll_diags *diags)
{
    struct ll_str text = {0};
    struct ll_json out = {.out = &text};
    ll_report_json(report, 1, false, &out);
    bool whole = !text.failed && ll_fields_read(fields, text.text, text.length, "results", diags);
    ll_str_release(&text);
    return whole;
}

/* --- the names of an expression --- */

static bool find(void *context, const char *name, uint32_t *slot)
{
    struct checked *checked = context;
    const struct ll_fields *fields = &checked->fields;
    char alias[256];
    size_t prefix = strlen(LL_SHARE_PREFIX);
    *slot = ll_map_find(&fields->names, name, strlen(name));
    if (*slot == LL_NO_ID && strncmp(name, LL_SHARE_PREFIX, prefix) == 0) {
        snprintf(alias, sizeof alias, "bottlenecks.%s", name + prefix);
        *slot = ll_map_find(&fields->names, alias, strlen(alias));
    }
    if (*slot == LL_NO_ID)
        return false;
    checked->used[*slot] = true;
    return true;
}

static const char *name_at(void *context, size_t i)
{
    const struct ll_fields *fields = &((const struct checked *)context)->fields;
    return i < fields->names.count ? fields->texts[i] : NULL;
}

/* What a name's ending says. */
static enum ll_dimension dimension(const void *context, uint32_t slot)
{
    static const struct {
        const char *ending;
        enum ll_dimension dimension;
    } endings[] = {{"_s", LL_DIMENSION_TIME},
                   {"_bytes", LL_DIMENSION_SIZE},
                   {"_j", LL_DIMENSION_ENERGY},
                   {"_mm2", LL_DIMENSION_AREA}};
    const struct ll_fields *fields = &((const struct checked *)context)->fields;
    const char *name = fields->texts[slot];
    size_t length = strlen(name);
    if (length > 6 && strcmp(name + length - 6, "_per_s") == 0)
        return LL_DIMENSION_NUMBER;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t of = strlen(endings[i].ending);
        if (length > of && strcmp(name + length - of, endings[i].ending) == 0)
            return endings[i].dimension;
    }
    return LL_DIMENSION_NUMBER;
}

static double value(const void *context, uint32_t slot)
{
    return ((const struct checked *)context)->fields.values[slot];
}

/* "time_s is 42.4 ms, ..." of all names that the check has used. */
static void add_values(const struct checked *checked, struct ll_str *out)
{
    const struct ll_fields *fields = &checked->fields;
    const char *before = ": ";
    for (uint32_t i = 0; i < fields->names.count; i++) {
        struct ll_human human;
        enum ll_dimension of = dimension(checked, i);
        double number = fields->values[i];
        if (!checked->used[i])
            continue;
        ll_str_addf(out, "%s%s is ", before, fields->texts[i]);
        before = ", ";
        if (isnan(number))
            ll_str_add(out, "not known");
        else if (of == LL_DIMENSION_TIME || of == LL_DIMENSION_ENERGY)
            ll_str_add(out, ll_format_si(&human, number, of == LL_DIMENSION_TIME ? "s" : "J"));
        else if (of == LL_DIMENSION_SIZE)
            ll_str_add(out, ll_format_binary(&human, number));
        else
            ll_str_addf(out, "%.4g%s", number, of == LL_DIMENSION_AREA ? " mm2" : "");
    }
}

/* One check of one report. */
static int check(struct checked *checked, const char *text, const char *whose, struct ll_diags *diags)
{
    const struct ll_names names = {.find = find, .at = name_at, .context = checked, .dimension = dimension};
    memset(checked->used, 0, checked->fields.names.count * sizeof *checked->used);
    const struct ll_expression *expression =
        ll_expression_parse(checked->fields.arena, text, (struct ll_place){.file = "--check"}, &names, diags);
    if (!expression)
        return LL_WRONG;
    double holds = ll_expression_value(expression, value, checked);
    if (holds != 0 && !isnan(holds))
        return LL_DONE;
    struct ll_str values = {0};
    add_values(checked, &values);
    int status = ll_cli_fail("%s: `%s` %s%s", whose, text, isnan(holds) ? "has no value" : "does not hold",
                             values.text ? values.text : "");
    ll_str_release(&values);
    return status;
}

static int check_report(const struct ll_args *args, const struct ll_report *report, const char *machine,
                        struct ll_diags *diags)
{
    struct checked checked = {.fields.arena = args->arena};
    struct ll_fields *fields = &checked.fields;
    const char *text, *whose = ll_format(args->arena, "%s on %s", report->trace_name, machine);
    int worst = LL_DONE;
    bool whole = whose && flatten_report(fields, report, diags);
    checked.used = whole ? ll_alloc(args->arena, fields->names.count + 1, sizeof *checked.used) : NULL;
    if (!checked.used)
        worst = ll_cli_fail("memory ran out");
    for (size_t i = 0; checked.used && (text = ll_value_at(args, "check", i)); i++) {
        int status = check(&checked, text, whose, diags);
        worst = status > worst ? status : worst;
    }
    ll_fields_release(fields);
    return worst;
}

int ll_check_reports(const struct ll_args *args, const struct ll_report *reports, size_t count)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    int worst = LL_DONE;
    assert(reports && count > 0);
    if (!ll_value_at(args, "check", 0) || !diags) {
        free(diags);
        return diags ? LL_DONE : ll_cli_fail("memory ran out");
    }
    for (size_t i = 0; i < count && worst != LL_WRONG; i++) {
        int status = check_report(args, &reports[i], ll_report_machine(reports, count, &reports[i]), diags);
        worst = status > worst ? status : worst;
    }
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    return worst;
}
