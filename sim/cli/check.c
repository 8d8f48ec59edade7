/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions on results. A result is written as JSON and flattened: every number and truth value gets its
 * path as a name, so that a check can speak of whatever the document has:
 *
 *     {"memory": {"fits": true}, "by_kind": [{"kind": "matmul", "time_s": 1}]}
 *     memory.fits = 1, by_kind.matmul.time_s = 1                                                           */
#include "sim/cli/check.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/explore/space.h"
#include "sim/report/table.h"
#include "tracer/base/map.h"

struct fields {
    struct ll_arena *arena;
    struct ll_map names; /* a field's id is its place in values */
    double *values;      /* NaN: null */
    const char **texts;  /* the names, by id */
    uint64_t capacity, text_capacity;
    bool *used; /* by id: the expression that was read last speaks of it; NULL: nobody asks */
};

static bool add_field(struct fields *fields, const char *path, double value)
{
    uint32_t id = ll_map_intern(&fields->names, path, strlen(path), NULL);
    if (id == LL_NO_ID ||
        !ll_grow(&fields->values, &fields->capacity, id + UINT64_C(1), sizeof *fields->values) ||
        !ll_grow(&fields->texts, &fields->text_capacity, id + UINT64_C(1), sizeof *fields->texts))
        return false;
    fields->values[id] = value;
    fields->texts[id] = path;
    return true;
}

static const char *path_of(struct fields *fields, const char *before, const char *name)
{
    return before[0] ? ll_format(fields->arena, "%s.%s", before, name) : name;
}

static bool flatten(struct fields *fields, struct ll_json_reader *json, const char *path);

/* The reader is behind the brace. In a list the element's name is its first text, which stands before its
 * numbers. */
static bool flatten_object(struct fields *fields, struct ll_json_reader *json, const char *path, bool in_list)
{
    const char *own = path;
    while (ll_json_read(json) == LL_JSON_KEY) {
        const char *key = ll_json_copy(json, fields->arena);
        ll_json_read(json);
        if (in_list && own == path && json->token == LL_JSON_TEXT) {
            const char *name = ll_json_copy(json, fields->arena);
            own = name ? path_of(fields, path, name) : NULL;
        } else if (key && !flatten(fields, json, path_of(fields, own, key))) {
            return false;
        }
        if (!key || !own)
            return false;
    }
    return !json->failed;
}

/* The value whose first token was read. */
static bool flatten(struct fields *fields, struct ll_json_reader *json, const char *path)
{
    if (!path)
        return false;
    if (json->token == LL_JSON_OBJECT)
        return flatten_object(fields, json, path, false);
    if (json->token == LL_JSON_LIST) {
        while (ll_json_read(json) != LL_JSON_LIST_END && !json->failed)
            if (json->token == LL_JSON_OBJECT && !flatten_object(fields, json, path, true))
                return false;
            else if (json->token == LL_JSON_LIST)
                ll_json_pass(json);
        return !json->failed;
    }
    if (json->token == LL_JSON_NUMBER)
        return add_field(fields, path, ll_json_as_real(json));
    if (json->token == LL_JSON_TRUE || json->token == LL_JSON_FALSE)
        return add_field(fields, path, json->token == LL_JSON_TRUE);
    return json->token != LL_JSON_NULL || add_field(fields, path, NAN);
}

/* The fields of the only result in a document, without the machine (`config`). */
static bool flatten_report(struct fields *fields, const struct ll_report *report, struct ll_diags *diags)
{
    struct ll_str text = {0};
    struct ll_json out = {.out = &text};
    ll_report_json(report, 1, false, &out);
    struct ll_json_reader json = {.file = "result",
                                  .begin = text.text,
                                  .at = text.text,
                                  .end = text.text + text.length,
                                  .diags = diags};
    bool whole = !text.failed && ll_json_read(&json) == LL_JSON_OBJECT;
    while (whole && ll_json_read(&json) == LL_JSON_KEY) {
        if (!ll_json_says(&json, "results")) {
            ll_json_pass(&json);
            continue;
        }
        whole = ll_json_read(&json) == LL_JSON_LIST && ll_json_read(&json) == LL_JSON_OBJECT;
        while (whole && ll_json_read(&json) == LL_JSON_KEY) {
            const char *key = ll_json_says(&json, "config") ? NULL : ll_json_copy(&json, fields->arena);
            if (key)
                ll_json_read(&json);
            whole = !key || flatten(fields, &json, key);
            if (!key)
                ll_json_pass(&json);
        }
        break;
    }
    ll_str_release(&text);
    return whole && !json.failed;
}

/* --- the names of an expression --- */

static bool find(void *context, const char *name, uint32_t *slot)
{
    struct fields *fields = context;
    char alias[256];
    size_t prefix = strlen(LL_SHARE_PREFIX);
    *slot = ll_map_find(&fields->names, name, strlen(name));
    if (*slot == LL_NO_ID && strncmp(name, LL_SHARE_PREFIX, prefix) == 0) {
        snprintf(alias, sizeof alias, "bottlenecks.%s", name + prefix);
        *slot = ll_map_find(&fields->names, alias, strlen(alias));
    }
    if (*slot == LL_NO_ID)
        return false;
    fields->used[*slot] = true;
    return true;
}

static const char *name_at(void *context, size_t i)
{
    const struct fields *fields = context;
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
    const struct fields *fields = context;
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
    return ((const struct fields *)context)->values[slot];
}

/* "time_s is 42.4 ms, ..." of all names that the check has used. */
static void add_values(const struct fields *fields, struct ll_str *out)
{
    const char *before = ": ";
    for (uint32_t i = 0; i < fields->names.count; i++) {
        struct ll_human human;
        enum ll_dimension of = dimension(fields, i);
        double number = fields->values[i];
        if (!fields->used[i])
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
static int check(struct fields *fields, const char *text, const char *whose, struct ll_diags *diags)
{
    const struct ll_names names = {.find = find, .at = name_at, .context = fields, .dimension = dimension};
    memset(fields->used, 0, fields->names.count * sizeof *fields->used);
    const struct ll_expression *expression =
        ll_expression_parse(fields->arena, text, (struct ll_place){.file = "--check"}, &names, diags);
    if (!expression)
        return LL_WRONG;
    double holds = ll_expression_value(expression, value, fields);
    if (holds != 0 && !isnan(holds))
        return LL_DONE;
    struct ll_str values = {0};
    add_values(fields, &values);
    int status = ll_cli_fail("%s: `%s` %s%s", whose, text, isnan(holds) ? "has no value" : "does not hold",
                             values.text ? values.text : "");
    ll_str_release(&values);
    return status;
}

static int check_report(const struct ll_args *args, const struct ll_report *report, const char *machine,
                        struct ll_diags *diags)
{
    struct fields fields = {.arena = args->arena};
    const char *text, *whose = ll_format(args->arena, "%s on %s", report->trace_name, machine);
    int worst = LL_DONE;
    bool whole = whose && flatten_report(&fields, report, diags);
    fields.used = whole ? ll_alloc(args->arena, fields.names.count + 1, sizeof *fields.used) : NULL;
    if (!fields.used)
        worst = ll_cli_fail("memory ran out");
    for (size_t i = 0; fields.used && (text = ll_value_at(args, "check", i)); i++) {
        int status = check(&fields, text, whose, diags);
        worst = status > worst ? status : worst;
    }
    ll_map_release(&fields.names);
    free(fields.values);
    free(fields.texts);
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
