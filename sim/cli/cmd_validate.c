/* SPDX-License-Identifier: Apache-2.0 */
/* leadline validate: predicted times beside measured ones, as tables and JSON. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/command.h"
#include "sim/cli/figure_file.h"
#include "sim/cli/commands.h"
#include "sim/cli/html.h"
#include "sim/cli/load.h"
#include "sim/cli/serving.h"
#include "sim/cli/validate_figure.h"
#include "sim/report/table.h"
#include "sim/validate/held_out.h"
#include "sim/validate/residuals.h"
#include "sim/validate/training.h"
#include "sim/validate/validate.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"

/* leadline validate DATA.csv...: predicted times against measured ones. */

static void errors_json(const struct ll_errors *errors, const char *prefix, struct ll_json *json)
{
    char key[64];
    const struct {
        const char *name;
        double value;
    } numbers[] = {{"mape", errors->mape},
                   {"median_ape", errors->median_ape},
                   {"within_10pct", errors->within_10pct},
                   {"within_20pct", errors->within_20pct},
                   {"within_30pct", errors->within_30pct},
                   {"bias", errors->bias}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(key, sizeof key, "%s%s", prefix, numbers[i].name);
        ll_json_put_number(json, key, numbers[i].value);
    }
}

static void part_json(const struct ll_errors *errors, const char *key, struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_object(json);
    ll_json_put_count(json, "points", errors->points);
    errors_json(errors, "", json);
    ll_json_close_object(json);
}

/* Of the rows on machines that have a residual table, if any. */
static void tables_json(const struct ll_score_set *set, struct ll_json *json)
{
    if (set->with_table.points == 0)
        return;
    part_json(&set->model_alone, "model_alone", json);
    part_json(&set->with_table, "with_table", json);
}

/* The cell's rows that the fitted rooflines predicted: ours and theirs. Nothing where none was fitted. */
static void cell_fitted_json(const struct ll_family_errors *cell, const struct ll_fitted_rooflines *fitted,
                             struct ll_json *json)
{
    for (size_t i = 0; fitted && i < fitted->machine_count; i++) {
        const struct ll_compared *at = &fitted->machines[i];
        if (at->machine != cell->machine || strcmp(at->hardware, cell->hardware) != 0 ||
            strcmp(at->family, cell->family) != 0)
            continue;
        ll_json_put_count(json, "roofline_fitted_points", at->fitted.points);
        ll_json_put_number(json, "roofline_fitted_mape", at->fitted.mape);
        ll_json_put_number(json, "same_rows_mape", at->ours.mape);
    }
}

static void family_json(const struct ll_family_errors *family, const struct ll_fitted_rooflines *fitted,
                        struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "hardware", family->hardware);
    ll_json_put_text(json, "machine", family->machine->stem);
    ll_json_put_text(json, "family", family->family);
    if (family->workload)
        ll_json_put_text(json, "workload", family->workload);
    ll_json_put_count(json, "points", family->errors.ours.points);
    errors_json(&family->errors.ours, "", json);
    errors_json(&family->errors.roofline, "roofline_", json);
    cell_fitted_json(family, fitted, json);
    part_json(&family->errors.launch_bound, "launch_bound", json);
    part_json(&family->errors.large, "large", json);
    tables_json(&family->errors, json);
    ll_json_close_object(json);
}

static void families_json(const char *key, const struct ll_family_errors *at, size_t count,
                          const struct ll_fitted_rooflines *fitted, struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++)
        family_json(&at[i], fitted, json);
    ll_json_close_list(json);
}

static void compared_json(const struct ll_compared *compared, struct ll_json *json)
{
    ll_json_open_object(json);
    if (compared->hardware) {
        ll_json_put_text(json, "hardware", compared->hardware);
        ll_json_put_text(json, "machine", compared->machine->stem);
    }
    if (compared->family)
        ll_json_put_text(json, "family", compared->family);
    ll_json_put_count(json, "points", compared->ours.points);
    errors_json(&compared->ours, "", json);
    errors_json(&compared->fitted, "fitted_", json);
    ll_json_close_object(json);
}

static void all_compared_json(const char *key, const struct ll_compared *at, size_t count,
                              struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    for (size_t i = 0; i < count; i++)
        compared_json(&at[i], json);
    ll_json_close_list(json);
}

static void fitted_json(const struct ll_fitted_rooflines *fitted, struct ll_json *json)
{
    ll_json_key(json, "fitted");
    ll_json_open_object(json);
    all_compared_json("machines", fitted->machines, fitted->machine_count, json);
    all_compared_json("families", fitted->families, fitted->family_count, json);
    ll_json_key(json, "overall");
    compared_json(&fitted->overall, json);
    ll_json_put_count(json, "left_out", fitted->left_out);
    ll_json_close_object(json);
}

/* Whether the row was scored and is that of an op, not of a step or a server. */
static bool is_op(const struct ll_prediction *p)
{
    static const char *const others[] = {"end_to_end", "serving_", "llm_", "training_"};
    bool op = p->machine && p->row->source;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        op = op && strncmp(p->family, others[i], strlen(others[i])) != 0;
    return op;
}

/* The source of the i-th row, where it is the first such row of that source; else NULL. */
static const char *first_source(const struct ll_validation *v, size_t i)
{
    const struct ll_prediction *p = &v->predictions[i];
    if (!is_op(p))
        return NULL;
    for (size_t j = i; j-- > 0;)
        if (is_op(&v->predictions[j]) && strcmp(v->predictions[j].row->source, p->row->source) == 0)
            return NULL;
    return p->row->source;
}

static const char *const operands_are[] = {"warm", "weights cold, activations warm", "activations in place",
                                           "activations and weights in place", "cold"};

static void operands_json(const struct ll_validation *v, struct ll_json *json)
{
    ll_json_key(json, "operands");
    ll_json_open_object(json);
    for (size_t i = 0; i < v->count; i++) {
        const char *source = first_source(v, i);
        if (source)
            ll_json_put_text(json, source, operands_are[ll_measured_repeats_of(v->predictions[i].row)]);
    }
    ll_json_close_object(json);
}

/* What a row's calls find in caches, by source. */
static void print_operands(const struct ll_validation *v, struct ll_str *out)
{
    const char *separator = "operands of repeated calls, by source: ";
    for (size_t i = 0; i < v->count; i++) {
        const char *source = first_source(v, i);
        if (!source)
            continue;
        ll_str_addf(out, "%s%s %s", separator, source,
                    operands_are[ll_measured_repeats_of(v->predictions[i].row)]);
        separator = "; ";
    }
    if (*separator == ';')
        ll_str_add(out, "\n");
}

static void coverage_json(const struct ll_interval_hits *coverage, const char *key, struct ll_json *json)
{
    char name[64];
    snprintf(name, sizeof name, "%s_points", key);
    ll_json_put_count(json, name, coverage->points);
    ll_json_put_number(json, key, coverage->within);
}

static void interval_json(const struct ll_interval_cell *cell, struct ll_json *json)
{
    ll_json_open_object(json);
    if (cell->machine)
        ll_json_put_text(json, "machine", cell->machine->stem);
    if (cell->family)
        ll_json_put_text(json, "family", cell->family);
    ll_json_put_count(json, "points", cell->points);
    coverage_json(&cell->table, "within", json);
    coverage_json(&cell->shapes, "within_unseen_shapes", json);
    coverage_json(&cell->devices, "within_unseen_devices", json);
    ll_json_put_number(json, "width", cell->width);
    ll_json_close_object(json);
}

static void intervals_json(const struct ll_intervals *intervals, struct ll_json *json)
{
    ll_json_key(json, "intervals");
    ll_json_open_object(json);
    ll_json_key(json, "machines");
    ll_json_open_list(json);
    for (size_t i = 0; i < intervals->cell_count; i++)
        interval_json(&intervals->cells[i], json);
    ll_json_close_list(json);
    ll_json_key(json, "families");
    ll_json_open_list(json);
    for (size_t i = 0; i < intervals->family_count; i++)
        interval_json(&intervals->families[i], json);
    ll_json_close_list(json);
    ll_json_key(json, "overall");
    interval_json(&intervals->overall, json);
    ll_json_close_object(json);
}

static void held_out_family_json(const struct ll_held_out_family *family, struct ll_json *json)
{
    ll_json_open_object(json);
    if (family->family)
        ll_json_put_text(json, "family", family->family);
    ll_json_put_count(json, "points", family->seen.points);
    errors_json(&family->seen, "", json);
    errors_json(&family->unseen, "unseen_", json);
    ll_json_close_object(json);
}

static void held_out_json(const struct ll_held_out *held_out, struct ll_json *json)
{
    ll_json_key(json, "held_out");
    ll_json_open_object(json);
    ll_json_key(json, "families");
    ll_json_open_list(json);
    for (size_t i = 0; i < held_out->family_count; i++)
        held_out_family_json(&held_out->families[i], json);
    ll_json_close_list(json);
    ll_json_key(json, "overall");
    held_out_family_json(&held_out->overall, json);
    ll_json_put_count(json, "left_out", held_out->left_out);
    ll_json_close_object(json);
}

/* What is shown beside the errors, where it was asked for; NULL: it was not. */
struct beside {
    const struct ll_held_out *held_out;
    const struct ll_fitted_rooflines *fitted;
    const struct ll_intervals *intervals;
};

static void report_json(const struct ll_validation *v, const struct beside *beside, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "validate", 1);
    families_json("families", v->families, v->family_count, NULL, &json);
    families_json("machines", v->machines, v->machine_count, beside->fitted, &json);
    if (v->workload_count > 0)
        families_json("workloads", v->workloads, v->workload_count, NULL, &json);
    ll_json_key(&json, "overall");
    ll_json_open_object(&json);
    ll_json_put_count(&json, "points", v->overall.ours.points);
    errors_json(&v->overall.ours, "", &json);
    errors_json(&v->overall.roofline, "roofline_", &json);
    part_json(&v->overall.launch_bound, "launch_bound", &json);
    part_json(&v->overall.large, "large", &json);
    tables_json(&v->overall, &json);
    ll_json_close_object(&json);
    operands_json(v, &json);
    ll_json_key(&json, "unscored");
    ll_json_open_list(&json);
    for (size_t i = 0; i < v->unscored_count; i++) {
        ll_json_open_object(&json);
        ll_json_put_text(&json, "reason", v->unscored[i].reason);
        ll_json_put_count(&json, "points", v->unscored[i].points);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    if (beside->fitted)
        fitted_json(beside->fitted, &json);
    if (beside->intervals)
        intervals_json(beside->intervals, &json);
    if (beside->held_out)
        held_out_json(beside->held_out, &json);
    ll_json_close_object(&json);
}

/* One part of the rows: "12.3 % of 40", or a dash where there are none. */
static const char *part_text(char *text, size_t size, const struct ll_errors *errors)
{
    struct ll_human mape;
    snprintf(text, size, errors->points ? "%s of %" PRIu64 : "-", ll_format_percent(&mape, errors->mape),
             errors->points);
    return text;
}

static void error_row(const char *hardware, const char *family, const struct ll_score_set *errors,
                      struct ll_table *table)
{
    struct ll_human text[6];
    char launch[40], large[40];
    ll_table_row(
        table, "%s|%s|%" PRIu64 "|%s|%s|%s|%s|%s|%s|%s|%s", hardware, family, errors->ours.points,
        ll_format_percent(&text[0], errors->ours.mape), ll_format_percent(&text[1], errors->ours.median_ape),
        ll_format_percent(&text[2], errors->ours.within_20pct),
        ll_format_percent(&text[3], errors->ours.bias), ll_format_percent(&text[4], errors->roofline.mape),
        ll_format_percent(&text[5], errors->roofline.median_ape),
        part_text(launch, sizeof launch, &errors->launch_bound),
        part_text(large, sizeof large, &errors->large));
}

/* What a narrow table leaves out. */
static void print_parts(const struct ll_score_set *all, struct ll_str *out)
{
    char launch[40], large[40];
    if (all->launch_bound.points > 0)
        ll_str_addf(
            out, "launch-bound rows, whose launch overhead exceeds the roofline: MAPE %s; large rows: %s\n",
            part_text(launch, sizeof launch, &all->launch_bound),
            part_text(large, sizeof large, &all->large));
    if (all->with_table.points > 0)
        ll_str_addf(out, "rows on machines with a table: model MAPE %s, with table %s\n",
                    part_text(launch, sizeof launch, &all->model_alone),
                    part_text(large, sizeof large, &all->with_table));
}

/* With the machine behind it where several answer to it, each for its software. */
static const char *hardware_text(char *text, size_t size, const struct ll_validation *v, const char *hardware,
                                 const struct ll_machine *machine)
{
    bool shared = false;
    for (size_t i = 0; i < v->machine_count && !shared; i++)
        shared = v->machines[i].machine != machine && strcmp(v->machines[i].hardware, hardware) == 0;
    snprintf(text, size, "%s (%s)", hardware, machine->stem);
    return shared ? text : hardware;
}

static void compared_row(const char *hardware, const struct ll_compared *compared, struct ll_table *table)
{
    struct ll_human text[4];
    ll_table_row(table, "%s|%s|%" PRIu64 "|%s|%s|%s|%s", hardware, compared->family ? compared->family : "",
                 compared->ours.points, ll_format_percent(&text[0], compared->ours.mape),
                 ll_format_percent(&text[1], compared->ours.median_ape),
                 ll_format_percent(&text[2], compared->fitted.mape),
                 ll_format_percent(&text[3], compared->fitted.median_ape));
}

static void report_fitted(const struct ll_validation *v, const struct ll_fitted_rooflines *fitted,
                          struct ll_str *out)
{
    char hardware[256];
    struct ll_table *table =
        ll_table_new("hardware|family|>points|>MAPE|>median|>fitted roofline MAPE|>?its median");
    for (size_t i = 0; i < fitted->machine_count; i++) {
        const struct ll_compared *at = &fitted->machines[i];
        compared_row(hardware_text(hardware, sizeof hardware, v, at->hardware, at->machine), at, table);
    }
    for (size_t i = 0; i < fitted->family_count; i++)
        compared_row("all", &fitted->families[i], table);
    compared_row("all", &fitted->overall, table);
    if (fitted->machine_count > 0) {
        ll_str_add(out, "\nevery second row, predicted as above and by a roofline fitted to the others:\n");
        ll_table_top(table, ll_output_top());
        ll_table_print(table, ll_screen_width(), out);
    }
    if (fitted->left_out > 0)
        ll_str_addf(out,
                    "left out, for there are fewer than %d of their source, hardware, op and dtype: %" PRIu64
                    "\n",
                    LL_LEAST_FITTED, fitted->left_out);
    ll_table_free(table);
}

static void interval_row(const struct ll_interval_cell *cell, struct ll_table *table)
{
    struct ll_human text[4];
    const struct ll_interval_hits *all[] = {&cell->table, &cell->shapes, &cell->devices};
    const char *within[3];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        within[i] = all[i]->points > 0 ? ll_format_percent(&text[i], all[i]->within) : "-";
    ll_table_row(table, "%s|%s|%" PRIu64 "|%s|%s|%s|%s", cell->machine ? cell->machine->stem : "all",
                 cell->family ? cell->family : "", cell->points, within[0], within[1], within[2],
                 cell->shapes.points > 0 ? ll_format_percent(&text[3], expm1(cell->width)) : "-");
}

static void report_intervals(const struct ll_intervals *intervals, struct ll_str *out)
{
    struct ll_table *table =
        ll_table_new("machine|family|>points|>within|>unseen shapes|>unseen devices|>?width");
    for (size_t i = 0; i < intervals->cell_count; i++)
        interval_row(&intervals->cells[i], table);
    for (size_t i = 0; i < intervals->family_count; i++)
        interval_row(&intervals->families[i], table);
    interval_row(&intervals->overall, table);
    ll_str_add(out,
               "\nrows within the 80 % prediction interval: that of residuals.csv, one of this data's other "
               "shapes, one of its other devices:\n");
    ll_show_table(table, out);
}

static void held_out_row(const struct ll_held_out_family *family, struct ll_table *table)
{
    struct ll_human text[4];
    ll_table_row(table, "%s|%" PRIu64 "|%s|%s|%s|%s", family->family ? family->family : "all",
                 family->seen.points, ll_format_percent(&text[0], family->seen.mape),
                 ll_format_percent(&text[1], family->seen.median_ape),
                 ll_format_percent(&text[2], family->unseen.mape),
                 ll_format_percent(&text[3], family->unseen.median_ape));
}

static void report_held_out(const struct ll_held_out *held_out, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("family|>points|>MAPE|>median|>unseen shapes MAPE|>its median");
    for (size_t i = 0; i < held_out->family_count; i++)
        held_out_row(&held_out->families[i], table);
    held_out_row(&held_out->overall, table);
    if (held_out->family_count > 0) {
        ll_str_addf(out,
                    "\nblocks of shapes in %d folds, predicted as above, and by figures fitted anew to the "
                    "machine's rows in the other folds:\n",
                    LL_MEASURED_FOLDS);
        ll_show_table(table, out);
    } else {
        ll_table_free(table);
    }
    if (held_out->left_out > 0)
        ll_str_addf(out, "left out, for their machines have rows in fewer blocks: %" PRIu64 "\n",
                    held_out->left_out);
}

/* Errors by what servers served. */
static void report_workloads(const struct ll_validation *v, struct ll_str *out)
{
    struct ll_table *table =
        ll_table_new("hardware|workload|family|>points|>MAPE|>median|>within 30 %|>bias");
    for (size_t i = 0; i < v->workload_count; i++) {
        const struct ll_family_errors *at = &v->workloads[i];
        const struct ll_errors *e = &at->errors.ours;
        struct ll_human text[4];
        ll_table_row(table, "%s|%s|%s|%" PRIu64 "|%s|%s|%s|%s", at->hardware, at->workload, at->family,
                     e->points, ll_format_percent(&text[0], e->mape),
                     ll_format_percent(&text[1], e->median_ape), ll_format_percent(&text[2], e->within_30pct),
                     ll_format_percent(&text[3], e->bias));
    }
    ll_str_add(out, "\n");
    ll_show_table(table, out);
}

static void report(const struct ll_validation *v, const struct beside *beside, struct ll_str *out)
{
    char hardware[256];
    struct ll_table *errors =
        ll_table_new("hardware|family|>points|>MAPE|>median|>within 20 %|>bias|>roofline MAPE|>?its "
                     "median|>?launch-bound MAPE|>?large MAPE");
    struct ll_table *unscored = ll_table_new(">points|not scored, because");
    for (size_t i = 0; i < v->machine_count; i++) {
        const struct ll_family_errors *family = &v->machines[i];
        error_row(hardware_text(hardware, sizeof hardware, v, family->hardware, family->machine),
                  family->family, &family->errors, errors);
    }
    if (v->overall.ours.points > 0)
        error_row("all", "", &v->overall, errors);
    for (size_t i = 0; i < v->unscored_count; i++)
        ll_table_row(unscored, "%" PRIu64 "|%s", v->unscored[i].points, v->unscored[i].reason);
    if (v->family_count > 0) {
        ll_table_top(errors, ll_output_top());
        ll_table_print(errors, ll_screen_width(), out);
        print_parts(&v->overall, out);
        print_operands(v, out);
        if (v->workload_count > 0)
            report_workloads(v, out);
    }
    if (v->unscored_count > 0) {
        ll_str_add(out, v->family_count > 0 ? "\n" : "");
        ll_table_top(unscored, ll_output_top());
        ll_table_print(unscored, ll_screen_width(), out);
    }
    if (beside->fitted && v->family_count > 0)
        report_fitted(v, beside->fitted, out);
    if (beside->intervals && v->family_count > 0)
        report_intervals(beside->intervals, out);
    if (beside->held_out && v->family_count > 0)
        report_held_out(beside->held_out, out);
    ll_table_free(errors);
    ll_table_free(unscored);
}

/* The page, where --html asks for one. An exit status. */
static int write_page(const struct ll_args *args, const struct ll_validation *v, const struct beside *beside)
{
    struct ll_page_content content = {.again = NULL};
    struct ll_str title = {0};
    if (!ll_value(args, "html", NULL))
        return LL_DONE;
    ll_str_add(&title, ll_base_name(args->words[0]));
    if (args->word_count > 1)
        ll_str_addf(&title, " and %zu more", args->word_count - 1);
    report_json(v, beside, &content.document);
    struct ll_json more = {.out = &content.more};
    ll_validation_rows_json(v, &more);
    ll_page_plain_begin();
    report(v, beside, &content.plain);
    int status =
        title.failed ? ll_cli_fail("memory ran out") : ll_write_page(args, "validate", title.text, &content);
    ll_page_content_release(&content);
    ll_str_release(&title);
    return status;
}

/* One line a row: what the data says, and what we say of it. */
static bool write_rows(const char *path, const struct ll_validation *v)
{
    struct ll_str out = {0};
    ll_str_add(&out, "hardware,op,dtype,dims,measured_s,machine,predicted_s,roofline_s,unscored\n");
    for (size_t i = 0; i < v->count; i++) {
        const struct ll_prediction *p = &v->predictions[i];
        const char *fields[] = {p->row->hardware, p->row->op, p->row->dtype, p->row->dims};
        for (size_t f = 0; f < sizeof fields / sizeof fields[0]; f++) {
            ll_csv_put(&out, fields[f]);
            ll_str_add(&out, ",");
        }
        ll_str_addf(&out, "%.9g,", p->row->time_s);
        ll_csv_put(&out, p->machine ? p->machine->stem : "");
        if (p->machine)
            ll_str_addf(&out, ",%.9g,%.9g,", p->time_s, p->roofline_s);
        else
            ll_str_add(&out, ",,,");
        ll_csv_put(&out, p->machine ? "" : p->unscored);
        ll_str_add(&out, "\n");
    }
    return ll_write_file(path, &out);
}

/* Nothing was scored, nothing is to be drawn. */
static bool write_figure(const char *path, const struct ll_validation *v, struct ll_arena *arena)
{
    struct ll_str svg = {0};
    if (v->family_count == 0) {
        ll_cli_fail("%s: no row was scored, there is nothing to draw", path);
        return false;
    }
    svg.failed = !ll_validation_figure(v, arena, &svg) || svg.failed;
    return ll_figure_write(path, &svg);
}

/* The machines that rows were measured on; those that cannot be read are complained about. */
struct machines {
    struct ll_machine **at;
    size_t count;
    struct ll_aliases *aliases;
    bool failed;
};

/* Who names a folder wants its machines: none there is a mistake. */
static bool is_folder(const char *path)
{
    struct stat there;
    if (stat(path, &there) == 0 && S_ISDIR(there.st_mode))
        return true;
    ll_cli_reject("--machines %s: %s", path, access(path, F_OK) == 0 ? "this is no folder" : strerror(errno));
    return false;
}

/* As when a machine was fitted and lies beside the one that it was fitted from. */
static void say_whose_rows(const struct machines *machines)
{
    for (size_t i = 0; i < machines->count; i++)
        for (size_t j = i + 1; j < machines->count; j++) {
            const struct ll_machine *one = machines->at[i], *other = machines->at[j];
            bool alike = (one->base && other->base && strcmp(one->base, other->base) == 0) ||
                         (one->base && strcmp(one->base, other->stem) == 0) ||
                         (other->base && strcmp(other->base, one->stem) == 0);
            if (alike)
                ll_cli_tell("%s and %s both stand for %s; rows of it are %s's\n", one->stem, other->stem,
                            one->base ? one->base : other->base, one->stem);
        }
}

static bool load(struct machines *machines, const char *which, const char *const *folders)
{
    struct ll_machine *machine = ll_load_machine(which, folders, NULL, 0);
    if (machine)
        machines->at[machines->count++] = machine;
    machines->failed |= !machine;
    return machine != NULL;
}

/* What -c calls the machine of a row: what the table has for the first of its names, or a name that is one;
 * NULL: none is known. */
static const char *machine_of(const struct ll_measured *row, const struct ll_aliases *aliases,
                              const char *const *folders, struct ll_arena *arena)
{
    char name[LL_MOST_HARDWARE];
    for (size_t i = 0; ll_measured_name(row, i, name); i++) {
        const char *which = ll_aliases_find(aliases, name);
        if (which)
            return which;
        if (ll_machine_is_known(name, folders))
            return ll_copy_text(arena, name, strlen(name));
    }
    return NULL;
}

/* Loads a machine that is not among `names` yet, and with `several` the system that its devices make. */
static void load_once(struct machines *machines, struct ll_map *names, const char *which, bool several,
                      const char *const *folders, struct ll_arena *arena)
{
    bool is_new;
    uint32_t id = ll_map_intern(names, which, strlen(which), &is_new);
    machines->failed = id == LL_NO_ID || (is_new && !load(machines, which, folders));
    const char *system = machines->failed || !several ? NULL : ll_machine_system(machines->at[id], arena);
    if (system)
        load_once(machines, names, system, false, folders, arena);
}

/* Whether a row needs the system of the device that it names. */
static bool has_several(const struct ll_measured *row)
{
    uint64_t devices;
    return ll_measured_number(row, "devices", UINT64_MAX, &devices) && devices > 1;
}

/* The machines that any of the rows means, each once, and the systems that several of them make. */
static void read_meant(struct machines *machines, const struct ll_measured_rows *rows,
                       const char *const *folders, struct ll_arena *arena)
{
    struct ll_map driven = {0}, names = {0};
    for (size_t i = 0; i < rows->count && !machines->failed; i++) {
        const struct ll_measured *row = &rows->at[i];
        char first[LL_MOST_HARDWARE], driven_as[LL_MOST_HARDWARE + 1];
        bool is_new = false, several = has_several(row);
        ll_measured_name(row, 0, first);
        int length = snprintf(driven_as, sizeof driven_as, "%s%s", first, several ? "+" : "");
        machines->failed = ll_map_intern(&driven, driven_as, (size_t)length, &is_new) == LL_NO_ID;
        const char *which = is_new ? machine_of(row, machines->aliases, folders, arena) : NULL;
        if (which)
            load_once(machines, &names, which, several, folders, arena);
    }
    ll_map_release(&driven);
    ll_map_release(&names);
}

/* Those of a folder, all of them; its own table of names, where it has one, is the only one that counts. */
static void read_folder(struct machines *machines, const char *folder, const char *const *folders,
                        struct ll_arena *arena)
{
    const char *const only[] = {folder, NULL}, **stems;
    size_t count;
    if (!ll_machine_list(only, NULL, arena, &stems, &count) ||
        !(machines->at = ll_alloc(arena, count, sizeof(struct ll_machine *)))) {
        ll_cli_fail("memory ran out");
        machines->failed = true;
        return;
    }
    if (count == 0) {
        ll_cli_reject("--machines %s: no machine file lies there", folder);
        machines->failed = true;
    }
    for (size_t i = 0; i < count; i++)
        load(machines, stems[i], folders);
}

/* The machines that rows may mean: all of a folder that the user names, else of the installed ones those
 * that the rows name. `failed` after saying why. */
static struct machines read_machines(const struct ll_args *args, const struct ll_measured_rows *rows)
{
    const char *folder = ll_value(args, "machines", NULL), **stems;
    const char *const only[] = {folder, NULL}, *const *at_hand = ll_machine_folders(args->arena);
    const char *const *folders =
        folder && at_hand ? ll_folders_before(args->arena, folder, at_hand) : at_hand;
    struct machines machines = {.failed = true};
    size_t count = 0;
    if (folder && !is_folder(folder))
        return machines;
    bool own_table = folder && access(ll_format(args->arena, "%s/aliases.yaml", folder), R_OK) == 0;
    machines.aliases = folders ? ll_load_aliases(own_table ? only : folders, args->arena) : NULL;
    if (!machines.aliases)
        return machines;
    machines.failed = false;
    if (folder) {
        read_folder(&machines, folder, folders, args->arena);
        if (!own_table)
            say_whose_rows(&machines);
    } else if (!ll_machine_list(folders, NULL, args->arena, &stems, &count) ||
               !(machines.at = ll_alloc(args->arena, ll_mul(2, rows->count), sizeof(struct ll_machine *)))) {
        ll_cli_fail("memory ran out");
        machines.failed = true;
    } else if (count == 0) {
        ll_no_machines(folders);
        machines.failed = true;
    } else {
        read_meant(&machines, rows, folders, args->arena);
    }
    return machines;
}

static bool write_residuals(const char *path, const struct ll_validation *v)
{
    struct ll_str csv = {0};
    ll_residuals_csv(v, &csv);
    return ll_write_file(path, &csv);
}

/* The table beside the machines in use; of no rows where there is none. */
static bool read_residuals(const struct ll_args *args, struct ll_residuals *table)
{
    const char *folder = ll_value(args, "machines", NULL);
    const char *const only[] = {folder, NULL};
    struct ll_diags diags = {0};
    *table = (struct ll_residuals){0};
    bool read = ll_load_residuals(folder ? only : ll_machine_folders(args->arena), args->arena, &diags, table,
                                  &folder);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    return read;
}

int ll_show_validation(const struct ll_args *args, const struct ll_validation *v, struct ll_pool *pool)
{
    const char *rows = ll_value(args, "rows", NULL), *figure = ll_value(args, "figure", NULL);
    const char *residuals = ll_value(args, "residuals", NULL);
    if ((rows && !write_rows(rows, v)) || (figure && !write_figure(figure, v, args->arena)) ||
        (residuals && !write_residuals(residuals, v)))
        return LL_FAILED;
    struct beside beside = {0};
    if (ll_flag(args, "fitted") && !(beside.fitted = ll_fit_rooflines(v, args->arena)))
        return ll_cli_fail("memory ran out");
    if (ll_flag(args, "intervals")) {
        struct ll_residuals table;
        if (!read_residuals(args, &table))
            return LL_WRONG;
        if (!(beside.intervals = ll_intervals_of(v, &table, args->arena)))
            return ll_cli_fail("memory ran out");
    }
    if (ll_value(args, "held-out", NULL) && !(beside.held_out = ll_held_out_shapes(v, pool, args->arena)))
        return ll_cli_fail("memory ran out");
    int status = write_page(args, v, &beside);
    struct ll_str out = {0};
    if (status != LL_DONE)
        return status;
    (ll_flag(args, "json") ? report_json : report)(v, &beside, &out);
    return ll_print(&out);
}

/* What rows want to be recorded is, once each. */
struct recorder {
    struct ll_library library;
    struct ll_arena *arena;
};

static const struct ll_trace *bring(void *context, const struct ll_dry_workload *wanted)
{
    struct recorder *recorder = context;
    const struct ll_trace *trace = NULL;
    const struct ll_dry_workload *kept = ll_copy(recorder->arena, wanted, sizeof *wanted);
    if (!kept)
        return NULL;
    struct ll_recording recording = {.model = kept->model,
                                     .train = kept->train != 0,
                                     .dry_run = true,
                                     .batch = kept->batch,
                                     .steps = 1,
                                     .products = kept->products[0] ? kept->products : NULL};
    for (size_t i = 0; i < LL_MOST_DRY_SETTINGS && kept->settings[i].key[0]; i++)
        recording.settings[i] = (struct ll_study_setting){kept->settings[i].key, kept->settings[i].value};
    return ll_bring_one(&recorder->library, &recording, &trace) == LL_DONE ? trace : NULL;
}

struct progress {
    struct ll_ticker ticker;
    size_t rows;
};

static void show_progress(void *context, uint64_t done, uint64_t count)
{
    struct progress *progress = context;
    struct ll_human rows;
    ll_ticker_tell(&progress->ticker, "validate", (double)done / (double)count, NAN, "of %s row%s",
                   ll_format_grouped(&rows, progress->rows), ll_plural(progress->rows));
}

static int score(const struct ll_args *args, const struct ll_measured_rows *rows,
                 const struct machines *machines)
{
    struct progress progress = {ll_ticker_new(true), rows->count};
    struct recorder recorder = {.arena = args->arena};
    const struct ll_recordings recordings = {bring, &recorder};
    struct ll_pool *pool = ll_pool_new(0);
    if (pool)
        ll_pool_watch(pool, show_progress, &progress);
    const struct ll_validation *v =
        pool ? ll_validate(rows->at, rows->count, (const struct ll_machine *const *)machines->at,
                           machines->count, machines->aliases, &recordings, pool, args->arena)
             : NULL;
    ll_ticker_clear(&progress.ticker);
    if (pool)
        ll_pool_watch(pool, NULL, NULL);
    int status = v ? ll_show_validation(args, v, pool) : ll_cli_fail("memory ran out");
    ll_pool_free(pool);
    ll_library_release(&recorder.library);
    return status;
}

/* Whether a file lists training steps. */
static bool is_training_file(const char *path)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    bool is = file && fgets(line, sizeof line, file) && ll_is_training_header(line);
    if (file)
        fclose(file);
    return is;
}

/* Steps of one file on the machine that -c names, since rows do not. */
static int validate_training(const struct ll_args *args)
{
    enum { MOST_BYTES = 1 << 28 };
    const char *which = ll_value(args, "machine", NULL), *path = args->words[0];
    struct ll_contents text;
    struct ll_diags diags = {0};
    struct recorder recorder = {.arena = args->arena};
    const struct ll_recordings recordings = {bring, &recorder};
    if (!which)
        return ll_cli_reject("%s: training steps do not name their machine; expected -c MACHINE, as "
                             "dgx_b200+megatron",
                             path);
    if (args->word_count > 1)
        return ll_cli_reject("%s: expected one file of training steps", args->words[1]);
    struct ll_machine *machine = ll_load_machine(which, ll_machine_folders(args->arena), NULL, 0);
    if (!machine)
        return LL_WRONG;
    enum ll_status read = ll_read_whole(path, MOST_BYTES, args->arena, &text);
    const struct ll_validation *v =
        read == LL_OK
            ? ll_validate_training(text.bytes, text.length, path, machine, &recordings, args->arena, &diags)
            : NULL;
    int status = v               ? ll_show_validation(args, v, NULL)
                 : read != LL_OK ? ll_cli_fail("%s: %s", path, ll_status_text(read))
                 : diags.count   ? LL_WRONG
                                 : ll_cli_fail("memory ran out");
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    ll_library_release(&recorder.library);
    ll_machine_free(machine);
    return status;
}

static int run(const struct ll_args *args)
{
    struct ll_measured_rows rows = {0};
    struct machines machines = {0};
    static const char *const kinds[] = {"scatter"};
    struct ll_figure_files figures;
    int status = LL_WRONG;
    const char *held_out = ll_value(args, "held-out", NULL);
    if (held_out && strcmp(held_out, "shapes") != 0)
        return ll_cli_reject("--held-out %s: expected shapes; devices are left out by a folder of files that "
                             "describe them as if nobody had measured them (--machines)",
                             held_out);
    ll_on_interrupt(NULL, "nothing is written; the same command starts again");
    if (args->word_count > 0 && is_training_file(args->words[0]))
        return held_out ? ll_cli_reject("--held-out is of kernels; expected no training steps with it")
                        : validate_training(args);
    if (args->word_count > 0 && ll_is_served_file(args->words[0]))
        return held_out ? ll_cli_reject("--held-out is of kernels; expected no measured server with it")
                        : ll_validate_served(args);
    if (ll_figure_read(args, kinds, 1, &figures) &&
        ll_read_rows(args->words, args->word_count, args->arena, &rows)) {
        machines = read_machines(args, &rows);
        for (size_t i = 0; held_out && i < machines.count; i++)
            machines.at[i]->table_leaves = LL_LEAVE_OWN_FOLD;
        status = machines.failed ? LL_WRONG : score(args, &rows, &machines);
    }
    for (size_t i = 0; i < machines.count; i++)
        ll_machine_free(machines.at[i]);
    ll_aliases_free(machines.aliases);
    free(rows.at);
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE",
     "of a server's log, a benchmark's results or training steps: what they ran on, as rtx_4090+vllm"},
    {"model", 'm', "MODEL", "of such files of a server, as leadline serve takes it"},
    {"quantization", 0, "FORMAT", "likewise"},
    {"kv-cache-dtype", 0, "TYPE", "likewise"},
    {"tp", 0, "N", "likewise"},
    {"pp", 0, "N", "likewise"},
    {"dp", 0, "N", "likewise"},
    {"ep", 0, "N", "likewise"},
    {"max-num-seqs", 0, "N", "likewise"},
    {"max-num-batched-tokens", 0, "N", "likewise"},
    {"block-size", 0, "N", "likewise"},
    {"kv-blocks", 0, "N", "likewise"},
    {"gpu-memory-utilization", 0, "SHARE", "likewise"},
    {"no-prefix-caching", 0, NULL, "likewise"},
    {"input-tokens", 0, "N", "of results that do not say how long prompts are, as LoadGen's"},
    {"machines", 0, "FOLDER", "the machine files to use (default: the installed ones)"},
    {"fitted", 0, NULL, "compare also with a roofline of three figures fitted to every second row"},
    {"intervals", 0, NULL, "how often the measured times lie within the 80 % prediction intervals"},
    {"held-out", 0, "shapes",
     "predict blocks of shapes also by figures that a fit to the other blocks finds, and without them in a "
     "table "
     "of measured kernels"},
    LL_FIGURE_OPTIONS("scatter (default), predicted over measured times, a panel for each hardware"),
    {"residuals", 0, "FILE", "write the remaining errors by machine and family to this CSV file"},
    LL_HTML_OPTION("predicted against measured, errors by family and device, the worst rows"),
    {"rows", 0, "FILE", "write every row with its prediction to this CSV file"},
    {0},
};

const struct ll_command ll_command_validate = {
    .name = "validate",
    .rows = "families",
    .cuts_tables = true,
    .synopsis = "DATA.csv...",
    .summary = "compare predicted times with measured ones",
    .examples = "  leadline validate deepbench.csv neusight.csv --figure errors.svg\n"
                "  leadline validate deepbench.csv --machines my_machines --rows rows.csv --json\n",
    .details =
        "DATA.csv has the header source,hardware,op,dtype,dims,time_s,notes; dims is key=value;key=value. "
        "The hardware is what -c calls a machine (h100_sxm+pytorch), or a name for which aliases.yaml, in "
        "the "
        "folder of the machines, has one; `8x NAME` is "
        "eight of it, joined by its network. Steps of language models and the like are recorded dry, spread "
        "as the row says (tp, pp, dp, microbatch, recompute, sharding), and simulated.\n"
        "\n"
        "Instead of rows a file may be a server's log of requests (arrival_s, first_token_s, last_token_s), "
        "or "
        "what a benchmark of language models has written: vLLM's and SGLang's (JSON, or as printed), "
        "LoadGen's "
        "of MLPerf (summary or detail log), llama-bench (JSON, CSV, Markdown, SQL), batched-bench.\n"
        "\n"
        "Errors are relative to the measured time. Beside them stand the errors of a plain roofline: the "
        "larger of FLOPs over the datasheet's peak and bytes over its bandwidth.\n"
        "\n"
        "--fitted asks for more: of each source, hardware, op and dtype a launch overhead, a rate and a "
        "bandwidth are "
        "fitted to every second row, so that overhead + max(FLOPs / rate, bytes / bandwidth) has the least "
        "mean "
        "error, and the other rows are predicted by it.\n"
        "\n"
        "--held-out shapes asks what to expect of shapes that no figure was fitted on: blocks of shapes, "
        "between "
        "powers of two, are dealt into five folds, and each is predicted by the machine with its figures "
        "fitted "
        "anew to its rows in the others. With few rows a machine pays for each figure, so this is the worst "
        "to "
        "expect. Takes as long as leadline calibrate --from. Rows are never predicted by themselves where a "
        "machine has a table of measured kernels (key `measured`).\n"
        "\n"
        "leadline sim takes its 80 % prediction intervals from the file residuals.csv in the machines' "
        "folder; "
        "--residuals writes it. --intervals shows how many of the rows lie within: by that file; by the "
        "residuals of the data's other shapes on the same machine (five folds of blocks of shapes); by those "
        "of "
        "the other devices in the data.\n",
    .options = options,
    .writes = (const char *const[]){"figure", "residuals", "rows", "html", NULL},
    .least_words = 1,
    .most_words = 1000,
    .run = run,
};
