/* SPDX-License-Identifier: Apache-2.0 */
/* leadline pareto: the best designs of a sweep and why they are the best, as text, JSON, figures and a page;
 * and leadline merge, which joins the databases of shards. */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/commands.h"
#include "sim/cli/command.h"
#include "sim/cli/figure_file.h"
#include "sim/cli/html.h"
#include "sim/explore/findings.h"
#include "sim/explore/sweep.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

/* Whether --figure or --html ask for files. */
static bool pareto_draws(const struct ll_args *args)
{
    return ll_value(args, "figure", NULL) || ll_value(args, "html", NULL);
}

/* Whether a figure shows what is asked of it; --log may be for the page beside it. */
static bool is_taken(const struct ll_args *args, enum ll_chart chart)
{
    static const char *const axes[] = {"x-axis", "y-axis", NULL}, *const objective[] = {"of", NULL},
                             *const logs[] = {"log", NULL};
    unsigned takes = ll_chart_takes(chart);
    return (takes & LL_CHART_TAKES_AXES || ll_without(args, axes, "is for --kind front and heat")) &&
           (takes & LL_CHART_TAKES_OBJECTIVE || ll_without(args, objective, "is for --kind heat")) &&
           (takes & LL_CHART_TAKES_LOGS || ll_value(args, "html", NULL) ||
            ll_without(args, logs, "is for sensitivity, which --kind sensitivity and --html show"));
}

static bool is_chart(const char *word)
{
    bool is = false;
    for (unsigned c = 0; c < LL_CHART_COUNT; c++)
        is |= strcmp(word, ll_chart_name(c)) == 0;
    return is;
}

/* `--figure KIND -o FILE`, as version 0.1 had it: two values, one of which is a kind. The same as the options
 * of today; NULL when memory ran out. */
static const struct ll_args *as_today(const struct ll_args *args)
{
    const char *first = ll_value_at(args, "figure", 0), *second = ll_value_at(args, "figure", 1);
    if (!first || ll_value(args, "kind", NULL) || ll_value_at(args, "figure", 2) ||
        !(is_chart(first) || (second && is_chart(second))))
        return args;
    const char *kind = is_chart(first) ? first : second;
    const struct ll_option *kind_option = args->command->options;
    struct ll_given *given = ll_alloc(args->arena, args->given_count + 1, sizeof *given);
    struct ll_args *today = ll_alloc(args->arena, 1, sizeof *today);
    if (!given || !today)
        return NULL;
    while (strcmp(kind_option->name, "kind") != 0)
        kind_option++;
    ll_cli_warn("--figure %s -o FILE is now --figure FILE --kind %s; the old form will not be read from "
                "version 0.3 on",
                kind, kind);
    for (size_t i = 0; i < args->given_count; i++) {
        given[i] = args->given[i];
        if (given[i].value == kind)
            given[i].option = kind_option;
    }
    *today = *args;
    today->given = given;
    return today;
}

/* The figures that are asked for, each of a kind that takes the other options. */
static bool read_figures(const struct ll_args *args, struct ll_figure_files *figures)
{
    const char *names[LL_CHART_COUNT];
    for (unsigned c = 0; c < LL_CHART_COUNT; c++)
        names[c] = ll_chart_name(c);
    bool right = ll_figure_read(args, names, LL_CHART_COUNT, figures);
    for (size_t i = 0; i < figures->count && right; i++)
        right = is_taken(args, (enum ll_chart)figures->at[i].kind);
    return right;
}

static int draw_figure(const struct ll_args *args, const struct ll_figure_file *figure,
                       const struct ll_findings *findings, struct ll_diags *diags)
{
    const struct ll_chart_options options = {.x = ll_value(args, "x-axis", NULL),
                                             .y = ll_value(args, "y-axis", NULL),
                                             .objective = ll_value(args, "of", NULL)};
    struct ll_str svg = {0};
    if (!ll_chart_draw((enum ll_chart)figure->kind, findings, &options, &svg, diags)) {
        ll_str_release(&svg);
        return diags->count ? LL_WRONG : ll_cli_fail("memory ran out");
    }
    return ll_figure_write(figure->path, &svg) ? LL_DONE : LL_FAILED;
}

static int write_page(const struct ll_args *args, const struct ll_findings *findings)
{
    const char *sweep = ll_data_frame_fact(findings->frame, "sweep");
    const struct ll_page_origin origin = {sweep ? sweep : args->words[0], ll_typed(args, NULL, true),
                                          LL_VERSION, ll_data_frame_fact(findings->frame, "command")};
    struct ll_str text = {0};
    if (!origin.command || !ll_sweep_page(findings, &origin, &text)) {
        ll_str_release(&text);
        return ll_cli_fail("memory ran out");
    }
    return ll_write_file(ll_value(args, "html", NULL), &text) ? LL_DONE : LL_FAILED;
}

/* Writes the figures and the page that the options ask for. An exit status; complaints go to diags. */
static int pareto_draw(const struct ll_args *args, const struct ll_figure_files *figures,
                       const struct ll_findings *findings, struct ll_diags *diags)
{
    int status = LL_DONE;
    for (size_t i = 0; i < figures->count && status == LL_DONE; i++)
        status = draw_figure(args, &figures->at[i], findings, diags);
    if (status == LL_DONE && ll_value(args, "html", NULL))
        status = write_page(args, findings);
    return status;
}

/* leadline merge: joins the databases of a sweep's shards. */

static int print_written(const struct ll_args *args, const char *output, uint64_t points)
{
    struct ll_str out = {0};
    struct ll_human count;
    const char *missing = ll_store_missing(output, args->arena);
    if (missing)
        ll_cli_tell("%s: %s\n", output, missing);
    if (ll_flag(args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_json_open_document(&json, "merge", 1);
        ll_json_put_text(&json, "database", output);
        ll_json_put_count(&json, "files", args->word_count);
        ll_json_put_count(&json, "points", points);
        ll_json_put_text(&json, "missing", missing);
        ll_json_close_object(&json);
    } else
        ll_str_addf(&out, "%s point%s of %zu file%s -> %s\n", ll_format_grouped(&count, points),
                    ll_plural(points), args->word_count, ll_plural(args->word_count), output);
    return ll_print(&out);
}

static int run(const struct ll_args *args)
{
    const char *output = ll_value(args, "output", NULL);
    struct ll_diags diags = {0};
    uint64_t points;
    if (!output)
        return ll_cli_reject("no file to write; name one with -o");
    const volatile sig_atomic_t *interrupted = ll_catch_interrupts();
    bool merged = ll_store_merge(output, args->words, args->word_count, interrupted, &points, &diags);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    if (merged)
        return print_written(args, output, points);
    return *interrupted ? LL_INTERRUPTED : LL_WRONG;
}

static const struct ll_option options[] = {
    {"output", 'o', "R.db", "the database to write; it must not exist yet"},
    {0},
};

const struct ll_command ll_command_merge = {
    .name = "merge",
    .synopsis = "R.1of8.db R.2of8.db... -o R.db",
    .summary = "join the databases of a sweep's shards",
    .examples = "  leadline merge arrays.?of8.db -o arrays.db\n"
                "  leadline merge monday.db tuesday.db -o both.db --json\n",
    .options = options,
    .writes = (const char *const[]){"output", NULL},
    .least_words = 1,
    .most_words = 10000,
    .run = run,
};

/* leadline pareto: the best designs of a sweep, and why they are the best. */

enum { SHOWN = 20 };

struct answer {
    const struct ll_args *args;
    const struct ll_data_frame *frame;
    const struct ll_findings *found;
    uint64_t point_count; /* of the database, whatever --where leaves */
    const char *missing;  /* what it lacks of its sweep; NULL for nothing that is known of */
    struct ll_diags diags;
};

/* --- what is asked for --- */

/* `--min A,B`: one objective more for each. */
static bool want(struct answer *a, const char *option, bool most, bool *first)
{
    const char *text = ll_value(a->args, option, NULL);
    struct ll_arena *arena = a->args->arena;
    if (text && !*text)
        return ll_complain(&a->diags, (struct ll_place){0},
                           "--%s: expected what is wanted, as --min time_s,area_mm2", option);
    while (text && *text) {
        size_t length = 0;
        for (int depth = 0; text[length] && (text[length] != ',' || depth > 0); length++)
            depth += (text[length] == '(') - (text[length] == ')');
        const char *name = ll_copy_text(arena, text, length);
        a->frame = name ? ll_data_frame_want(a->frame, name, most, *first, arena, &a->diags) : NULL;
        if (!a->frame)
            return false;
        *first = false;
        text += length + (text[length] == ',');
    }
    return true;
}

/* Whether the sweep itself wanted all that is wanted now. */
static bool wants_no_more(const struct ll_data_frame *sweep, const struct ll_data_frame *asked)
{
    for (size_t k = 0; k < asked->objective_count; k++) {
        bool wanted = false;
        for (size_t i = 0; i < sweep->objective_count; i++)
            wanted |= asked->objectives[k].most == sweep->objectives[i].most &&
                      !strcmp(asked->objectives[k].name, sweep->objectives[i].name);
        if (!wanted)
            return false;
    }
    return true;
}

/* A point that was left out is beaten in what the sweep wanted, by one that --where may take away. */
static void warn_of_left_out(const struct answer *a, const struct ll_data_frame *sweep)
{
    struct ll_human text;
    uint64_t count = 0;
    for (uint64_t row = 0; row < sweep->row_count; row++)
        count += sweep->verdicts[row] == LL_VERDICT_PRUNED;
    if (count > 0 && (ll_value(a->args, "where", NULL) || !wants_no_more(sweep, a->frame)))
        ll_cli_tell(
            "%s: %s point%s left out, for known ones beat them in what the sweep wanted; of what is asked "
            "here they may be the best, which a sweep without `prune` shows\n",
            a->args->words[0], ll_format_grouped(&text, count), count == 1 ? " was" : "s were");
}

static int read_frame(struct answer *a)
{
    const char *where = ll_value(a->args, "where", NULL);
    bool first = true;
    a->frame = ll_data_frame_read(a->args->words[0], a->args->arena, &a->diags);
    const struct ll_data_frame *sweep = a->frame;
    a->point_count = a->frame ? a->frame->row_count : 0;
    a->missing = a->frame ? ll_store_missing(a->args->words[0], a->args->arena) : NULL;
    if (a->missing)
        ll_cli_tell("%s: %s\n", a->args->words[0], a->missing);
    if (a->frame && where)
        a->frame = ll_data_frame_where(a->frame, where, a->args->arena, &a->diags);
    if (!a->frame || !want(a, "min", false, &first) || !want(a, "max", true, &first))
        return LL_WRONG;
    warn_of_left_out(a, sweep);
    a->found = ll_findings_new(a->frame, ll_flag(a->args, "log"), a->args->arena);
    return a->found ? LL_DONE : ll_cli_fail("memory ran out");
}

/* --- words --- */

/* How an axis is called in a heading: the end of its path, as far as no other has the same. */
static const char *short_name(const struct ll_data_frame *frame, size_t axis)
{
    const char *path = frame->columns[axis].name, *at = path + strlen(path);
    for (bool taken = true; taken && at > path;) {
        at--;
        while (at > path && at[-1] != '.')
            at--;
        taken = false;
        for (size_t a = 0; a < frame->axis_count; a++) {
            const char *other = frame->columns[a].name;
            size_t length = strlen(at), whole = strlen(other);
            taken |= a != axis && whole >= length && !strcmp(other + whole - length, at) &&
                     (whole == length || other[whole - length - 1] == '.');
        }
    }
    return at;
}

static const char *value_text(const struct ll_data_frame *frame, size_t axis, uint64_t row)
{
    const struct ll_data_column *column = &frame->columns[axis];
    return column->values[column->choices[row]].text;
}

/* What a share of the time is of, where the column is one of this workload's ("resnet.", "": of their
 * means); else NULL. */
static const char *share_of(const struct ll_data_column *column, const char *workload)
{
    size_t whose = strlen(workload), prefix = strlen(LL_SHARE_PREFIX);
    bool is_one =
        !strncmp(column->name, workload, whose) && !strncmp(column->name + whose, LL_SHARE_PREFIX, prefix);
    return is_one ? column->name + whose + prefix : NULL;
}

/* Of several workloads the one that an objective names, as "resnet."; "": none; in the arena. *several:
 * whether there are others. */
static const char *workload_named(const struct answer *a, const char *objective, bool *several)
{
    static const char share[] = "." LL_SHARE_PREFIX;
    const struct ll_data_frame *frame = a->frame;
    const char *named = "";
    *several = false;
    for (size_t c = frame->axis_count; c < frame->column_count; c++) {
        const char *name = frame->columns[c].name, *at = strstr(name, share);
        size_t length = at ? (size_t)(at - name) + 1 : 0;
        *several |= at != NULL;
        if (at && !strncmp(objective, name, length) &&
            !objective[length + strcspn(objective + length, " +-*/^()")])
            named = ll_format(a->args->arena, "%.*s", (int)length, name);
    }
    return named ? named : "";
}

/* The largest share of a row's time. */
static const char *bound_of(const struct ll_data_frame *frame, uint64_t row)
{
    const struct ll_data_column *largest = NULL;
    for (size_t c = frame->axis_count; c < frame->column_count; c++) {
        const struct ll_data_column *column = &frame->columns[c];
        if (share_of(column, "") && (!largest || column->numbers[row] > largest->numbers[row]))
            largest = column;
    }
    return largest ? share_of(largest, "") : "";
}

/* --- for people --- */

static void show_front(const struct answer *a, struct ll_str *out)
{
    const struct ll_data_frame *frame = a->frame;
    const struct ll_findings *found = a->found;
    uint64_t shown = ll_flag(a->args, "all") ? found->front_count : ll_min(found->front_count, SHOWN);
    struct ll_str head = {0};
    struct ll_human count, valid;
    bool several;
    workload_named(a, "", &several);
    ll_str_addf(out, "front: %s of %s valid points%s\n", ll_format_grouped(&count, found->front_count),
                ll_format_grouped(&valid, found->valid_count),
                several ? ", by means over the workloads, geometric ones" : "");
    for (size_t i = 0; i < frame->axis_count; i++)
        ll_str_addf(&head, "%s>%s", i ? "|" : "", short_name(frame, i));
    for (size_t k = 0; k < frame->objective_count; k++)
        ll_str_addf(&head, "|>%s", frame->objectives[k].text);
    ll_str_add(&head, "|bound by");
    struct ll_table *table = ll_table_new(head.failed ? "" : head.text);
    for (uint64_t i = 0; i < shown; i++) {
        uint64_t row =
            found->front[shown == found->front_count ? i : i * (found->front_count - 1) / (SHOWN - 1)];
        for (size_t c = 0; c < frame->axis_count; c++)
            ll_table_cell(table, "%s", value_text(frame, c, row));
        for (size_t k = 0; k < frame->objective_count; k++)
            ll_table_cell(table, "%.4g", found->objectives[k]->numbers[row]);
        ll_table_cell(table, "%s", bound_of(frame, row));
        ll_table_end_row(table);
    }
    ll_show_table(table, out);
    ll_str_release(&head);
    if (shown < found->front_count)
        ll_str_addf(out, "%" PRIu64 " of them, evenly chosen; --all shows all\n", shown);
}

/* The largest share of a point's time that is not shown yet, and matters to it or to the base. */
static size_t next_share(const struct ll_data_frame *frame, const char *workload, uint64_t row,
                         const bool *shown)
{
    size_t largest = frame->column_count;
    for (size_t c = frame->axis_count; c < frame->column_count; c++) {
        const struct ll_data_column *column = &frame->columns[c];
        bool matters = column->numbers[row] >= 0.005 || column->base >= 0.005;
        if (!shown[c] && share_of(column, workload) && matters &&
            (largest == frame->column_count || column->numbers[row] > frame->columns[largest].numbers[row]))
            largest = c;
    }
    return largest;
}

/* What a point's time goes to, the largest share first, beside the base's. */
static void show_shares(const struct answer *a, size_t k, uint64_t row, struct ll_str *out)
{
    const struct ll_data_frame *frame = a->frame;
    bool *shown = ll_alloc(a->args->arena, frame->column_count, sizeof *shown), several;
    const char *workload = workload_named(a, frame->objectives[k].name, &several);
    struct ll_str line = {0};
    struct ll_human now, before;
    ll_str_add(&line, "its time ");
    if (*workload)
        ll_str_addf(&line, "in %.*s ", (int)strlen(workload) - 1, workload);
    ll_str_addf(&line, "goes to%s", several && !*workload ? ", in the mean of the workloads," : "");
    bool any = false;
    for (size_t c; shown && (c = next_share(frame, workload, row, shown)) < frame->column_count;
         shown[c] = true) {
        const struct ll_data_column *column = &frame->columns[c];
        ll_str_addf(&line, "%s %s %s (base %s)", any ? "," : "", share_of(column, workload),
                    ll_format_percent(&now, column->numbers[row]),
                    isnan(column->base) ? "-" : ll_format_percent(&before, column->base));
        any = true;
    }
    if (any && !line.failed)
        ll_wrap(out, line.text, ll_screen_width());
    ll_str_release(&line);
}

/* A winner's values and shares of the time beside the base's. */
static void show_winner(const struct answer *a, size_t k, struct ll_str *out)
{
    const struct ll_data_frame *frame = a->frame;
    uint64_t row = a->found->winners[k];
    const struct ll_data_column *objective = a->found->objectives[k];
    ll_str_addf(out, "\nbest of %s: %.4g", frame->objectives[k].text, objective->numbers[row]);
    if (!isnan(objective->base))
        ll_str_addf(out, " (the base has %.4g)", objective->base);
    ll_str_add(out, "\n");
    struct ll_str line = {0};
    for (size_t c = 0; c < frame->axis_count; c++)
        ll_str_addf(&line, "%s%s %s", c ? ", " : "", short_name(frame, c), value_text(frame, c, row));
    ll_wrap(out, line.failed ? "" : line.text, ll_screen_width());
    ll_str_release(&line);
    show_shares(a, k, row, out);
}

/* Rounded, so that what is next to nothing has no sign. */
static double two_decimals(double value)
{
    return round(100 * value) / 100 + 0.0;
}

/* "memory.hbm, HBM2 to DDR4": of two values which are no numbers, a weight's sign is that of this step. */
static void show_axis(struct ll_table *table, const struct ll_data_column *axis)
{
    bool steps = axis->value_count == 2 && (isnan(axis->values[0].number) || isnan(axis->values[1].number));
    if (steps)
        ll_table_cell(table, "%s, %s to %s", axis->name, axis->values[0].text, axis->values[1].text);
    else
        ll_table_cell(table, "%s", axis->name);
}

static void show_weights(const struct answer *a, struct ll_str *out)
{
    const struct ll_data_frame *frame = a->frame;
    const size_t *axes = ll_findings_axes(a->found, a->args->arena);
    struct ll_str line = {0};
    ll_str_add(&line, "weight");
    for (size_t k = 0; k < frame->objective_count; k++)
        ll_str_addf(&line, "|>%s", frame->objectives[k].name);
    struct ll_table *table = ll_table_new(line.failed ? "" : line.text);
    ll_str_release(&line);
    for (size_t i = 0; axes && i < frame->axis_count; i++) {
        show_axis(table, &frame->columns[axes[i]]);
        for (size_t k = 0; k < frame->objective_count; k++)
            ll_table_cell(table, "%.2f", two_decimals(a->found->weights[k * frame->axis_count + axes[i]]));
        ll_table_end_row(table);
    }
    ll_table_cell(table, "r_squared");
    for (size_t k = 0; k < frame->objective_count; k++)
        ll_table_cell(table, "%.2f", a->found->r2[k]);
    ll_table_end_row(table);
    ll_str_add(
        out, "\nsensitivity: standardised coefficients of a linear regression over all points, and the share "
             "of the\nvariance that it explains");
    ll_str_add(out, a->found->logs ? "; between logarithms\n" : "\n");
    ll_show_table(table, out);
}

/* Objectives that no point has a number for, though it can be built: who wants them waits in vain. */
static void show_unknown(const struct answer *a, struct ll_str *out)
{
    const struct ll_data_frame *frame = a->frame;
    for (size_t k = 0; k < frame->objective_count; k++) {
        uint64_t valid = 0, known = 0;
        for (uint64_t row = 0; row < frame->row_count; row++) {
            bool counts = frame->verdicts[row] == LL_VERDICT_VALID;
            valid += counts;
            known += counts && !isnan(a->found->objectives[k]->numbers[row]);
        }
        if (valid > 0 && known == 0)
            ll_str_addf(out, "  %s: no point has a number for it; the machine does not report it\n",
                        frame->objectives[k].text);
    }
}

static int show(const struct answer *a)
{
    struct ll_str out = {0};
    ll_add_warning(ll_data_frame_fact(a->frame, LL_FACT_WARNING), &out);
    if (a->found->valid_count == 0) {
        ll_str_addf(&out, "no valid point among %" PRIu64, a->point_count);
        if (ll_value(a->args, "where", NULL))
            ll_str_addf(&out, ", of which --where holds for %" PRIu64, a->frame->row_count);
        ll_str_add(&out, "\n");
        show_unknown(a, &out);
        ll_add_troubles(a->args->words[0], a->args->arena, &out);
        return ll_print(&out);
    }
    show_front(a, &out);
    for (size_t k = 0; k < a->frame->objective_count; k++)
        show_winner(a, k, &out);
    show_weights(a, &out);
    return ll_print(&out);
}

/* --- for programs --- */

/* An objective that is an axis stands there already. */
static bool is_there(const struct ll_data_frame *frame, size_t column)
{
    bool there = false;
    for (size_t c = 0; column >= frame->axis_count && c < frame->axis_count; c++)
        there = there || !strcmp(frame->columns[c].name, frame->columns[column].name);
    return there;
}

static int print_csv(const struct answer *a)
{
    const struct ll_data_frame *frame = a->frame;
    struct ll_str out = {0};
    ll_str_add(&out, "point");
    for (size_t c = 0; c < frame->column_count; c++) {
        if (is_there(frame, c))
            continue;
        ll_str_add(&out, ",");
        ll_csv_put(&out, frame->columns[c].name);
    }
    ll_str_add(&out, "\n");
    for (uint64_t i = 0; i < a->found->front_count; i++) {
        uint64_t row = a->found->front[i];
        ll_str_addf(&out, "%" PRIu64, frame->numbers[row]);
        for (size_t c = 0; c < frame->column_count; c++) {
            char number[32] = "";
            if (is_there(frame, c))
                continue;
            if (!isnan(frame->columns[c].numbers[row]))
                ll_number_text(frame->columns[c].numbers[row], number);
            ll_str_add(&out, ",");
            ll_csv_put(&out, c < frame->axis_count && !*number ? value_text(frame, c, row) : number);
        }
        ll_str_add(&out, "\n");
    }
    return ll_print_data(&out);
}

/* A row for each parameter, the heaviest first; the last says how much all of them explain. */
static int print_weights_csv(const struct answer *a)
{
    const struct ll_data_frame *frame = a->frame;
    const size_t *axes = ll_findings_axes(a->found, a->args->arena);
    struct ll_str out = {0};
    char number[32];
    ll_str_add(&out, "parameter");
    for (size_t k = 0; k < frame->objective_count; k++) {
        ll_str_add(&out, ",");
        ll_csv_put(&out, frame->objectives[k].name);
    }
    for (size_t i = 0; axes && i <= frame->axis_count; i++) {
        ll_str_add(&out, "\n");
        ll_csv_put(&out, i < frame->axis_count ? frame->columns[axes[i]].name : "r_squared");
        for (size_t k = 0; k < frame->objective_count; k++) {
            const double *weights = &a->found->weights[k * frame->axis_count];
            ll_number_text(i < frame->axis_count ? weights[axes[i]] : a->found->r2[k], number);
            ll_str_addf(&out, ",%s", number);
        }
    }
    ll_str_add(&out, "\n");
    return ll_print_data(&out);
}

static void put_point(const struct answer *a, uint64_t row, struct ll_json *json)
{
    const struct ll_data_frame *frame = a->frame;
    ll_json_open_object(json);
    ll_json_put_count(json, "point", frame->numbers[row]);
    ll_json_key(json, "parameters");
    ll_json_open_object(json);
    for (size_t c = 0; c < frame->axis_count; c++)
        ll_json_put_text(json, frame->columns[c].name, value_text(frame, c, row));
    ll_json_close_object(json);
    ll_json_key(json, "results");
    ll_json_open_object(json);
    for (size_t c = frame->axis_count; c < frame->column_count; c++)
        ll_json_put_number(json, frame->columns[c].name, frame->columns[c].numbers[row]);
    ll_json_close_object(json);
    ll_json_close_object(json);
}

static void put_objective(const struct answer *a, size_t k, struct ll_json *json)
{
    const struct ll_data_frame *frame = a->frame;
    ll_json_open_object(json);
    ll_json_put_text(json, "objective", frame->objectives[k].text);
    ll_json_put_number(json, "base", a->found->objectives[k]->base);
    ll_json_put_number(json, "r_squared", a->found->r2[k]);
    ll_json_key(json, "sensitivity");
    ll_json_open_object(json);
    for (size_t c = 0; c < frame->axis_count; c++)
        ll_json_put_number(json, frame->columns[c].name, a->found->weights[k * frame->axis_count + c]);
    ll_json_close_object(json);
    ll_json_key(json, "winner");
    if (a->found->winners[k] == LL_NO_ROW)
        ll_json_null(json);
    else
        put_point(a, a->found->winners[k], json);
    ll_json_close_object(json);
}

static int print_json(const struct answer *a)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    const struct ll_data_frame *frame = a->frame;
    ll_json_open_document(&json, "pareto", 1);
    ll_json_put_count(&json, "points", frame->row_count);
    ll_json_put_count(&json, "valid", a->found->valid_count);
    ll_json_put_text(&json, "missing", a->missing);
    ll_put_warning(ll_data_frame_fact(frame, LL_FACT_WARNING), &json);
    ll_json_key(&json, "base");
    ll_json_open_object(&json);
    for (size_t c = frame->axis_count; c < frame->column_count; c++)
        ll_json_put_number(&json, frame->columns[c].name, frame->columns[c].base);
    ll_json_close_object(&json);
    ll_json_key(&json, "objectives");
    ll_json_open_list(&json);
    for (size_t k = 0; k < frame->objective_count; k++)
        put_objective(a, k, &json);
    ll_json_close_list(&json);
    ll_json_key(&json, "front");
    ll_json_open_list(&json);
    for (uint64_t i = 0; i < a->found->front_count; i++)
        put_point(a, a->found->front[i], &json);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

/* Options of one kind of answer, given with another, are refused. */
static bool is_one_answer(const struct ll_args *args)
{
    static const char *const printed[] = {"csv", "json", "all", "sensitivity", NULL},
                             *const of_figures[] = {"x-axis", "y-axis", "of", NULL},
                             *const of_text[] = {"all", NULL}, *const of_csv[] = {"sensitivity", NULL},
                             *const of_weights[] = {"log", NULL};
    bool csv = ll_flag(args, "csv"), front = csv && !ll_flag(args, "sensitivity");
    if (csv && ll_flag(args, "json")) {
        ll_cli_reject("--csv and --json exclude each other");
        return false;
    }
    return (!pareto_draws(args) ||
            ll_without(args, printed, "is for what is printed, not for --figure and --html")) &&
           (ll_value(args, "figure", NULL) || ll_without(args, of_figures, "is for --figure")) &&
           (csv || ll_without(args, of_csv, "is for --csv")) &&
           (!front ||
            ll_without(args, of_weights, "is for sensitivity; --csv prints it with --sensitivity")) &&
           (!(csv || ll_flag(args, "json")) ||
            ll_without(args, of_text, "is for people; --csv and --json print the whole front"));
}

static int run_pareto(const struct ll_args *args)
{
    struct answer *a = calloc(1, sizeof *a);
    if (!a)
        return ll_cli_fail("memory ran out");
    struct ll_figure_files figures = {.count = 0};
    args = as_today(args);
    if (!args) {
        free(a);
        return ll_cli_fail("memory ran out");
    }
    a->args = args;
    int status = read_figures(args, &figures) && is_one_answer(args) ? read_frame(a) : LL_WRONG;
    if (status == LL_DONE)
        status = pareto_draws(args)      ? pareto_draw(args, &figures, a->found, &a->diags)
                 : ll_flag(args, "csv")  ? (ll_flag(args, "sensitivity") ? print_weights_csv : print_csv)(a)
                 : ll_flag(args, "json") ? print_json(a)
                                         : show(a);
    ll_print_diags(&a->diags);
    ll_diags_release(&a->diags);
    free(a);
    return status;
}

static const struct ll_option pareto_options[] = {
    {"min", 0, "A,B",
     "minimize these instead of the sweep's objectives: results, parameters, or expressions of them"},
    {"max", 0, "A,B", "maximize these, likewise"},
    {"where", 0, "EXPR",
     "consider only points for which this holds, of several workloads for their geometric means, as in "
     "--where \"area_mm2 <= 100\""},
    {"all", 0, NULL, "show the whole front, not just 20 of its points"},
    {"csv", 0, NULL, "print the front as comma-separated values, with all results"},
    {"sensitivity", 0, NULL,
     "with --csv: print the sensitivity of each objective to each parameter, not the front"},
    {"log", 0, NULL, "compute sensitivity on logarithms, where all values are positive"},
    {"figure", 'o', "FILE", "draw to this file, whose ending says how: .svg, .png or .pdf; again for more"},
    {"kind", 0, "KIND",
     "what --figure draws: front (default), heat, parallel or sensitivity; with several figures each has its "
     "kind"},
    {"x-axis", 0, "NAME", "x axis: an objective (front) or a parameter (heat); chosen by default"},
    {"y-axis", 0, "NAME", "y axis, likewise"},
    {"of", 0, "NAME", "the objective that a heat map shows (default: the first)"},
    {"html", 0, "R.html", "write everything as one self-contained, interactive page"},
    {0},
};

const struct ll_command ll_command_pareto = {
    .name = "pareto",
    .rows = "front",
    .cuts_tables = true,
    .synopsis = "R.db",
    .summary = "show the best designs of a sweep, and why they are the best",
    .examples =
        "  leadline pareto arrays.db\n"
        "  leadline pareto arrays.db --min time_s,area_mm2 --where \"energy_j <= 2\" --csv\n"
        "  leadline pareto arrays.db --html arrays.html\n"
        "  leadline pareto arrays.db --figure heat.svg --kind heat --x-axis units.array.rows --y-axis "
        "memory.sram.size\n",
    .details = "A point is on the front when no other valid point is at least as good in every objective and "
               "better in one.\n",
    .options = pareto_options,
    .repeated = (const char *const[]){"figure", "kind", NULL},
    .writes = (const char *const[]){"figure", "html", NULL},
    .least_words = 1,
    .most_words = 1,
    .run = run_pareto,
};
