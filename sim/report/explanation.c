/* SPDX-License-Identifier: Apache-2.0 */
/* Why an op takes its time: the lines of sim/cost/cost.h, for people and for programs. */
#include "sim/replay/communication.h"
#include "sim/report/sim_report.h"
#include "tracer/base/str.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct ll_op_signature *signature_of(const struct ll_report *report, uint32_t seq)
{
    const struct ll_prepared *prepared = report->result->prepared;
    const struct ll_trace *trace = prepared->trace;
    assert(seq >= prepared->first_op && seq < prepared->end_op);
    return &trace->signatures[trace->ops[seq].signature];
}

/* Behind so many shapes, only how many more there are. */
enum { MOST_SHAPES = 6 };

/* "f32 8x9216, f32 9216x4096"; a scalar is "f32 1". */
static void add_shapes(const struct ll_shape *shapes, uint32_t count, struct ll_str *out)
{
    if (count == 0)
        ll_str_add(out, "nothing");
    for (uint32_t i = 0; i < count && i < MOST_SHAPES; i++) {
        const struct ll_pattern zeros = {shapes[i].kept, shapes[i].of, shapes[i].unstructured};
        ll_str_addf(out, "%s%s%s", i > 0 ? ", " : "", ll_dtype_name((enum ll_dtype)shapes[i].dtype),
                    shapes[i].rank == 0 ? " 1" : "");
        for (unsigned d = 0; d < shapes[i].rank; d++)
            ll_str_addf(out, "%c%" PRIu64, d > 0 ? 'x' : ' ', shapes[i].dim[d]);
        char pattern[LL_PATTERN_TEXT];
        if (zeros.of > 0) {
            ll_pattern_print(&zeros, pattern);
            ll_str_addf(out, " (%s)", pattern);
        }
    }
    if (count > MOST_SHAPES)
        ll_str_addf(out, " and %" PRIu32 " more", count - MOST_SHAPES);
}

/* What the sizes in the lines below come from. */
static void explain_operands(const struct ll_op_signature *signature, struct ll_explain *why)
{
    struct ll_str text = {0};
    ll_explain_group(why, "shape");
    ll_str_add(&text, "reads ");
    add_shapes(signature->view.in, signature->view.input_count, &text);
    ll_str_add(&text, "; writes ");
    add_shapes(signature->view.out, signature->view.output_count, &text);
    why->failed |= text.failed;
    if (!text.failed)
        ll_say(why, "%s", text.text);
    ll_str_release(&text);
}

/* Of an exchange: why its messages take their time. */
static void explain_messages(const struct ll_report *report, uint32_t seq, const struct ll_price *price,
                             struct ll_explain *why)
{
    struct ll_asked asked = ll_asked_by(&signature_of(report, seq)->view);
    asked.first = price->first;
    asked.span = price->span;
    struct ll_prices prices = {0};
    const uint32_t ranks = ll_trace_ranks(report->result->prepared->trace);
    const uint64_t devices = report->parallel ? report->parallel->spread->sizes.devices
                             : ranks > 1      ? ranks
                                              : 0;
    struct ll_exchanges *exchanges = ll_exchanges_new(report->result->machine, devices, &prices);
    why->failed |= !exchanges;
    if (exchanges)
        ll_exchanges_tell(exchanges, &asked, price, why);
    ll_exchanges_free(exchanges);
    ll_prices_release(&prices);
}

/* The lines; of a collective the last one adds the launch overhead to the time of its messages. */
static bool explain(const struct ll_report *report, uint32_t seq, struct ll_explain *why)
{
    const struct ll_result *result = report->result;
    const struct ll_price *price = ll_replay_detail(result, seq).price;
    explain_operands(signature_of(report, seq), why);
    uint64_t before = why->line_count;
    bool right = ll_replay_explain(result, seq, why);
    if (!right || !price || why->line_count == before)
        return right && !why->failed;
    const char *last = why->lines[--why->line_count];
    explain_messages(report, seq, price, why);
    ll_explain_group(why, "total");
    ll_say(why, "%s", last);
    return !why->failed;
}

/* Whether its ops are those of one stage of several. */
static bool is_of_stage(const struct ll_report *report)
{
    return report->parallel && report->parallel->spread->plan.pipeline > 1;
}

void ll_report_whose_ops(const struct ll_report *reports, size_t count, const struct ll_report *one,
                         struct ll_str *out)
{
    if (is_of_stage(one))
        ll_str_addf(out, "stage %" PRIu64 " of ", one->parallel->slowest);
    ll_str_add(out, ll_report_machine(reports, count, one));
}

/* Numbers of five digits and more, with separators; those behind a point or an `e` are left alone, and the
 * sizes of shapes. */
static void add_separated(const char *text, struct ll_str *out)
{
    for (bool in_shape = false; *text;) {
        size_t digits = strspn(text, "0123456789");
        for (size_t i = 0; i < digits; i++)
            ll_str_addf(out, "%s%c", i > 0 && digits > 4 && !in_shape && (digits - i) % 3 == 0 ? "," : "",
                        text[i]);
        text += digits;
        if (*text == '.' || ((*text == 'e' || *text == '^') && digits > 0)) {
            size_t rest = 1 + strspn(text + 1, "0123456789+-e");
            ll_str_addf(out, "%.*s", (int)rest, text);
            text += rest;
        } else if (*text) {
            in_shape = *text == 'x';
            ll_str_addf(out, "%c", *text++);
        }
    }
}

/* The result of a formula: whole numbers as they are, others with some of their digits, and with a prefix
 * where the unit takes one: "295 us". */
static void add_result(double value, const char *unit, struct ll_str *out)
{
    static const char prefixes[] = "pnum kMGTP";
    bool takes_prefix = !strcmp(unit, "s") || !strcmp(unit, "B") || !strcmp(unit, "J") || !strcmp(unit, "W");
    int power = takes_prefix && value > 0 ? (int)floor(log10(value) / 3 + 1e-12) : 0;
    bool whole = !takes_prefix && value == floor(value) && value < 1e15;
    struct ll_str separated = {0};
    char number[32], prefix[2] = "";
    if (power < (strcmp(unit, "B") ? -4 : 0) || power > 5)
        power = 0;
    ll_snprintf(number, sizeof number,
                whole          ? "%.0f"
                : takes_prefix ? "%.4g"
                               : "%.7g",
                value * pow(1000, -power));
    add_separated(number, &separated);
    if (power != 0)
        prefix[0] = prefixes[power + 4];
    ll_str_addf(out, "%12s %s%-*s", separated.failed ? number : separated.text, prefix, power ? 5 : 6, unit);
    ll_str_release(&separated);
}

/* A line behind its result, if it is a formula; `*` marks what was taken of several ways. */
static void add_line(const char *line, bool wins, struct ll_str *out)
{
    const char *formula = strstr(line, ": "), *equals = formula ? strstr(formula, " = ") : NULL;
    ll_str_add(out, "  ");
    if (equals) {
        char *unit;
        double value = ll_strtod(equals + 3, &unit);
        add_result(value, unit + strspn(unit, " "), out);
    } else {
        ll_str_addf(out, "%19s", "");
    }
    ll_str_addf(out, " %c ", wins && equals ? '*' : ' ');
    if (equals)
        ll_str_addf(out, "%.*s", (int)(formula - line), line);
    add_separated(equals ? formula : line, out);
    ll_str_add(out, "\n");
}

/* All lines, each group under its name. */
static void add_groups(const struct ll_explain *why, struct ll_str *out)
{
    const char *group = NULL;
    for (uint64_t line = 0; line < why->line_count; line++) {
        const struct ll_line_mark *mark = &why->marks[line];
        if (mark->group && (!group || strcmp(group, mark->group) != 0))
            ll_str_addf(out, "  %s\n", mark->group);
        group = mark->group;
        add_line(why->lines[line], mark->wins, out);
    }
}

void ll_report_explanations(const struct ll_report *reports, size_t count, uint32_t seq, struct ll_str *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct ll_report *report = &reports[i];
        const char *const *strings = report->result->prepared->trace->strings;
        const struct ll_op_signature *signature = signature_of(report, seq);
        const char *scope = strings[signature->scope];
        struct ll_explain why = {0};
        ll_str_addf(out, "op %" PRIu32 ", %s%s%s, on ", seq, strings[signature->kind_name],
                    *scope ? " in " : "", scope);
        ll_report_whose_ops(reports, count, report, out);
        ll_str_add(out, "\n");
        out->failed |= !explain(report, seq, &why);
        add_groups(&why, out);
        ll_explain_release(&why);
    }
}

static void one_explanation(const struct ll_report *report, const char *machine, uint32_t seq,
                            struct ll_json *json)
{
    const char *const *strings = report->result->prepared->trace->strings;
    const struct ll_op_signature *signature = signature_of(report, seq);
    struct ll_explain why = {0};
    json->out->failed |= !explain(report, seq, &why);
    ll_json_open_object(json);
    ll_json_put_text(json, "trace", report->trace_name);
    ll_json_put_text(json, "machine", machine);
    if (is_of_stage(report))
        ll_json_put_count(json, "stage", report->parallel->slowest);
    ll_json_put_count(json, "seq", seq);
    ll_json_put_text(json, "kind", strings[signature->kind_name]);
    ll_json_put_text(json, "scope", strings[signature->scope]);
    ll_json_key(json, "lines");
    ll_json_open_list(json);
    for (uint64_t line = 0; line < why.line_count; line++)
        ll_json_text(json, why.lines[line]);
    ll_json_close_list(json);
    ll_json_key(json, "groups");
    ll_json_open_list(json);
    for (uint64_t line = 0; line < why.line_count; line++)
        ll_json_text(json, why.marks[line].group ? why.marks[line].group : "");
    ll_json_close_list(json);
    ll_json_close_object(json);
    ll_explain_release(&why);
}

void ll_report_explanations_json(const struct ll_report *reports, size_t count, uint32_t seq,
                                 struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_count(json, "schema", 1);
    ll_json_key(json, "explanations");
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++)
        one_explanation(&reports[i], ll_report_machine(reports, count, &reports[i]), seq, json);
    ll_json_close_list(json);
    ll_json_close_object(json);
}
