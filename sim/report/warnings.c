/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/report/warnings.h"

#include "sim/machine/quantity.h"
#include "sim/report/table.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* An arena frees nothing alone: the list doubles, and what it outgrew stays until the end. */
static bool make_room(struct ll_warnings *warnings)
{
    if (warnings->count < warnings->capacity)
        return true;
    size_t capacity = warnings->capacity ? 2 * warnings->capacity : 8;
    const char **texts = ll_alloc(warnings->arena, capacity, sizeof *texts);
    if (!texts)
        return false;
    if (warnings->count)
        memcpy(texts, warnings->texts, warnings->count * sizeof *texts);
    warnings->texts = texts;
    warnings->capacity = capacity;
    return true;
}

void ll_warn(struct ll_warnings *warnings, const char *format, ...)
{
    struct ll_str line = {0};
    va_list arguments;
    va_start(arguments, format);
    ll_str_addv(&line, format, arguments);
    va_end(arguments);
    bool known = false;
    for (size_t i = 0; i < warnings->count && !line.failed; i++)
        known |= strcmp(warnings->texts[i], line.text) == 0;
    const char *text = line.failed ? NULL : ll_copy_text(warnings->arena, line.text, line.length);
    ll_str_release(&line);
    if (!text || (!known && !make_room(warnings)))
        warnings->failed = true;
    else if (!known)
        warnings->texts[warnings->count++] = text;
}

double ll_coverage_of(const struct ll_trace *trace)
{
    double share;
    const char *value = ll_trace_fact(trace, "coverage");
    return value && ll_number_parse(value, "", &share) ? share : NAN;
}

void ll_covered_text(const struct ll_trace *trace, struct ll_str *out)
{
    struct ll_human share;
    if (!isnan(ll_coverage_of(trace)))
        ll_str_addf(out, "the trace covers %s of the recorded device time",
                    ll_format_percent(&share, ll_coverage_of(trace)));
}

void ll_warn_of_trace(struct ll_warnings *warnings, const struct ll_trace *trace, const char *whose)
{
    for (uint64_t i = 0; i < trace->fact_count; i++)
        if (strncmp(trace->facts[i].key, "warning.", strlen("warning.")) == 0)
            ll_warn(warnings, "%s%s", whose, trace->facts[i].value);
}

/* Time of a recorded program in which nobody saw what it did: no machine makes it shorter. */
static void warn_of_gaps(struct ll_warnings *warnings, const struct ll_report *report, const char *whose)
{
    const struct ll_result *result = report->result;
    const struct ll_trace *trace = result->prepared->trace;
    const char *cpu = ll_trace_fact(trace, "host.cpu");
    struct ll_human share;
    if (result->gap_share < 0.001 || !ll_trace_is_of_program(trace) || result->prepared->as_recorded)
        return;
    ll_warn(warnings,
            "%s%s of the step is CPU time outside of the recorded calls, copied from %s as it was recorded; "
            "--gaps "
            "drop leaves it out, --gaps FACTOR multiplies it",
            whose, ll_format_percent(&share, result->gap_share), cpu ? cpu : "the CPU");
}

void ll_warn_of_reports(struct ll_warnings *warnings, const struct ll_report *reports, size_t count)
{
    bool traces = count > 1 && strcmp(reports[0].trace_name, reports[count - 1].trace_name) != 0;
    for (size_t i = 0; i < count; i++) {
        struct ll_str whose = {0};
        if (traces)
            ll_str_addf(&whose, "%s: ", reports[i].trace_name);
        if (count > 1)
            ll_str_addf(&whose, "%s: ", ll_report_machine(reports, count, &reports[i]));
        warn_of_gaps(warnings, &reports[i], whose.text ? whose.text : "");
        warnings->failed |= whose.failed;
        ll_str_release(&whose);
    }
    for (size_t i = 0; i < count; i++) {
        struct ll_str whose = {0};
        if (traces)
            ll_str_addf(&whose, "%s: ", reports[i].trace_name);
        ll_warn_of_trace(warnings, reports[i].result->prepared->trace, whose.text ? whose.text : "");
        warnings->failed |= whose.failed;
        ll_str_release(&whose);
    }
}

void ll_warnings_text(const struct ll_warnings *warnings, struct ll_str *out)
{
    for (size_t i = 0; i < warnings->count; i++)
        ll_str_addf(out, "warning: %s\n", warnings->texts[i]);
    out->failed |= warnings->failed;
}

void ll_warnings_json(const struct ll_warnings *warnings, struct ll_json *json)
{
    ll_json_key(json, "warnings");
    ll_json_open_list(json);
    for (size_t i = 0; i < warnings->count; i++)
        ll_json_text(json, warnings->texts[i]);
    ll_json_close_list(json);
    json->out->failed |= warnings->failed;
}
