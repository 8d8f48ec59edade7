/* SPDX-License-Identifier: Apache-2.0 */
/* leadline calibrate: describes this machine from measurements (last section), or with --from fits a machine
 * to measured times (first section). */
#define _GNU_SOURCE
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/micro/micro.h"
#include "sim/calibrate/calibrate.h"
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/cli/served_model.h"
#include "sim/machine/design.h"
#include "sim/report/table.h"
#include "sim/validate/layer_files.h"
#include "sim/validate/tune.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"

struct tuning {
    const struct ll_args *args;
    struct ll_measured_rows rows;
    bool has_layers;  /* of a server, measured one by one */
    const char *data; /* the files' names, without folders */
    struct ll_machine *machine;
    struct ll_aliases *aliases;
    const struct ll_machine_number **numbers;
    size_t number_count;
    struct ll_tuning result;
};

/* Whether the machine has such a key, though no fit may change it. */
static bool has_key(const struct tuning *t, const char *path)
{
    struct ll_diags *unsaid = calloc(1, sizeof *unsaid);
    const char *const *folders = ll_machine_folders(t->args->arena);
    struct ll_design *design =
        unsaid && folders ? ll_design_new(ll_value(t->args, "machine", NULL), folders, unsaid) : NULL;
    uint32_t slot;
    bool has = design && ll_design_bind(design, path, (struct ll_place){0}, unsaid, &slot);
    ll_design_free(design);
    if (unsaid)
        ll_diags_release(unsaid);
    free(unsaid);
    return has;
}

static int no_number(const struct tuning *t, const char *pattern, const struct ll_machine_number *all,
                     size_t count)
{
    const char **paths = ll_alloc(t->args->arena, count, sizeof *paths);
    for (size_t i = 0; paths && i < count; i++)
        paths[i] = all[i].path;
    if (!paths)
        return ll_cli_fail("memory ran out");
    const char *nearest = has_key(t, pattern) ? NULL : ll_nearest(pattern, paths, count);
    return ll_cli_reject(
        "--fit %s: no number of %s that a fit can change%s%s%s; it changes rates, shares and times "
        "of units, memory, software, host and network, not counts, sizes and the machine's clock",
        pattern, t->machine->stem, nearest ? " (did you mean `" : "", nearest ? nearest : "",
        nearest ? "`?)" : "");
}

/* Takes the numbers that one pattern means. Zero has no place on a logarithmic scale: named, it is refused;
 * found by a pattern, it stays what it is. */
static int take_pattern(struct tuning *t, const char *pattern, const struct ll_machine_number *all,
                        size_t count)
{
    bool found = false, asked = ll_value(t->args, "fit", NULL) != NULL;
    for (size_t i = 0; i < count; i++) {
        if (!ll_fit_means(pattern, all[i].path))
            continue;
        found = true;
        if (ll_number_get(t->machine, &all[i]) > 0)
            t->numbers[t->number_count++] = &all[i];
        else if (asked && !strpbrk(pattern, "*?["))
            return ll_cli_reject(
                "--fit %s: it is 0 in %s, and a fit multiplies; give it a value to start from", pattern,
                t->machine->stem);
    }
    return found || !asked ? LL_DONE : no_number(t, pattern, all, count);
}

static int by_place(const void *a, const void *b)
{
    const struct ll_machine_number *x = *(const struct ll_machine_number *const *)a,
                                   *y = *(const struct ll_machine_number *const *)b;
    return (x > y) - (x < y);
}

/* In the order of the schema, each once. */
static void sort_numbers(struct tuning *t)
{
    assert(t->number_count == 0 || t->numbers);
    size_t kept = 0;
    qsort(t->numbers, t->number_count, sizeof *t->numbers, by_place);
    for (size_t i = 0; i < t->number_count; i++)
        if (i == 0 || t->numbers[i] != t->numbers[i - 1])
            t->numbers[kept++] = t->numbers[i];
    t->number_count = kept;
}

static int take_numbers(struct tuning *t, const char *given)
{
    struct ll_arena *arena = t->args->arena;
    size_t count;
    char *patterns = ll_copy(arena, given, strlen(given) + 1), *rest = patterns, *pattern;
    const struct ll_machine_number *all = ll_machine_numbers(t->machine, arena, &count);
    size_t most = strlen(given) / 2 + 1;
    t->number_count = 0;
    t->numbers = all ? ll_alloc(arena, count * most, sizeof(struct ll_machine_number *)) : NULL;
    if (!patterns || !t->numbers)
        return ll_cli_fail("memory ran out");
    while ((pattern = strsep(&rest, ","))) {
        int status = *pattern ? take_pattern(t, pattern, all, count) : LL_DONE;
        if (status != LL_DONE)
            return status;
    }
    sort_numbers(t);
    return t->number_count > 0 ? LL_DONE : ll_cli_reject("--fit %s: there is nothing to fit", given);
}

/* --- layers of a server, measured one by one --- */

enum { MOST_BYTES = 1 << 28 };

/* Whether a file is one of measured layers; its text. */
static bool is_layers(const struct tuning *t, const char *path, struct ll_contents *text)
{
    return ll_read_whole(path, MOST_BYTES, t->args->arena, text) == LL_OK && ll_is_layer_file(text->bytes);
}

static bool add_rows(struct tuning *t, const struct ll_measured *rows, size_t count)
{
    if (!ll_grow(&t->rows.at, &t->rows.capacity, t->rows.count + count, sizeof *t->rows.at))
        return false;
    memcpy(t->rows.at + t->rows.count, rows, count * sizeof *rows);
    t->rows.count += count;
    return true;
}

/* Adds the rows of a file of measured layers, which are the machine's. */
static int read_layers(struct tuning *t, const char *path, const struct ll_contents *text)
{
    const char *model = ll_value(t->args, "model", NULL), *config = model ? ll_served_config(model) : NULL;
    struct ll_diags diags = {0};
    struct ll_layer_sizes sizes;
    uint64_t tensor;
    size_t count = 0, left_out = 0;
    if (!ll_value_count(t->args, "tp", 1, 1 << 16, 1, &tensor))
        return LL_WRONG;
    if (!config)
        return ll_cli_reject(
            "%s: layers by their names; expected --model, a config.json or a model that comes "
            "along, whose layers they are",
            path);
    const struct ll_measured *rows =
        ll_served_layer_sizes(config, tensor, &sizes, &diags)
            ? ll_layer_rows(text->bytes, text->length, path, &sizes, t->machine->stem,
                            ll_value(t->args, "dtype", "bf16"), t->args->arena, &diags, &count, &left_out)
            : NULL;
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    if (rows && left_out > 0)
        fprintf(
            stderr,
            "leadline: %s: %zu row%s of layers or mixed batches that no kernel here stands for left out\n",
            path, left_out, ll_plural(left_out));
    t->has_layers = true;
    return !rows ? LL_WRONG : add_rows(t, rows, count) ? LL_DONE : ll_cli_fail("memory ran out");
}

static int read_data(struct tuning *t)
{
    struct ll_str names = {0};
    const char *path;
    for (size_t i = 0; (path = ll_value_at(t->args, "from", i)); i++) {
        struct ll_contents text;
        int status = LL_DONE;
        if (is_layers(t, path, &text))
            status = read_layers(t, path, &text);
        else if (!ll_read_rows(&path, 1, t->args->arena, &t->rows))
            status = LL_WRONG;
        if (status != LL_DONE) {
            ll_str_release(&names);
            return status;
        }
        ll_str_addf(&names, "%s%s", i ? ", " : "", ll_base_name(path));
    }
    t->data = names.failed ? NULL : ll_copy_text(t->args->arena, names.text, names.length);
    ll_str_release(&names);
    return t->data ? LL_DONE : ll_cli_fail("memory ran out");
}

/* Where a number could go no further, the rows may want more of what it stands for than the machine has. */
static const char *bound_text(const struct ll_tuned *tuned)
{
    return tuned->bound > 0 ? "the most it may be" : tuned->bound < 0 ? "the least it may be" : "";
}

/* What a table of measured kernels is worth, where one was asked for. */
static void report_families(const struct ll_tuning *r, struct ll_str *out)
{
    struct ll_human text[2];
    struct ll_table *table = ll_table_new("family|type|>rows|>MAPE|>with the table|");
    for (size_t i = 0; i < r->family_count; i++) {
        const struct ll_tabled_family *family = &r->families[i];
        ll_table_row(table, "%s|%s|%zu|%s|%s|%s", family->family, family->dtype, family->rows,
                     ll_format_percent(&text[0], family->without), ll_format_percent(&text[1], family->with),
                     family->better                   ? "in the table"
                     : family->rows < LL_LEAST_TABLED ? "too few rows"
                                                      : "left out: no better");
    }
    if (r->family_count > 0) {
        ll_str_add(out, "\nfolds of shapes that neither the fit nor the table has seen:\n");
        ll_show_table(table, out);
    } else {
        ll_table_free(table);
    }
}

static int report(const struct ll_tuning *r)
{
    struct ll_str out = {0};
    struct ll_human text[3];
    struct ll_table *table = ll_table_new("number|>before|>fitted|>over the folds|");
    ll_str_addf(&out, "%zu row%s, in %zu fold%s that a fit on the others predicts\n", r->rows,
                ll_plural(r->rows), r->folds, ll_plural(r->folds));
    ll_str_addf(&out, "MAPE %s as it was, %s of rows that the fit had not seen, %s of those it had\n\n",
                ll_format_percent(&text[0], r->before.mape), ll_format_percent(&text[1], r->held_out.mape),
                ll_format_percent(&text[2], r->fitted.mape));
    for (size_t i = 0; i < r->count; i++) {
        const struct ll_tuned *tuned = &r->tuned[i];
        if (!tuned->matters) {
            ll_table_row(table, "%s|%s|-|no row depends on it|", tuned->number->path,
                         ll_number_words(tuned->number, tuned->before).text);
            continue;
        }
        ll_table_row(table, "%s|%s|%s|%s to %s|%s", tuned->number->path,
                     ll_number_words(tuned->number, tuned->before).text,
                     ll_number_words(tuned->number, tuned->after).text,
                     ll_number_words(tuned->number, tuned->low).text,
                     ll_number_words(tuned->number, tuned->high).text, bound_text(tuned));
    }
    ll_show_table(table, &out);
    report_families(r, &out);
    return ll_print(&out);
}

/* Likewise; `written`: rows of the table. */
static void families_json(const struct ll_tuning *r, struct ll_json *json)
{
    ll_json_key(json, "table");
    ll_json_open_object(json);
    ll_json_put_count(json, "written", r->table_count);
    ll_json_key(json, "families");
    ll_json_open_list(json);
    for (size_t i = 0; i < r->family_count; i++) {
        const struct ll_tabled_family *family = &r->families[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "family", family->family);
        ll_json_put_text(json, "dtype", family->dtype);
        ll_json_put_count(json, "rows", family->rows);
        ll_json_put_number(json, "mape", family->without);
        ll_json_put_number(json, "mape_with_table", family->with);
        ll_json_put_bool(json, "written", family->better);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
    ll_json_close_object(json);
}

static void errors_json(const char *key, const struct ll_errors *errors, struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_object(json);
    ll_json_put_number(json, "mape", errors->mape);
    ll_json_put_number(json, "median_ape", errors->median_ape);
    ll_json_put_number(json, "within_20pct", errors->within_20pct);
    ll_json_put_number(json, "bias", errors->bias);
    ll_json_close_object(json);
}

static int report_json(const struct ll_tuning *r)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "calibrate_from", 1);
    ll_json_put_count(&json, "rows", r->rows);
    ll_json_put_count(&json, "folds", r->folds);
    ll_json_put_count(&json, "unscored", r->unscored);
    ll_json_put_bool(&json, "written", ll_tuning_is_better(r));
    errors_json("before", &r->before, &json);
    errors_json("held_out", &r->held_out, &json);
    errors_json("fitted", &r->fitted, &json);
    ll_json_key(&json, "numbers");
    ll_json_open_list(&json);
    for (size_t i = 0; i < r->count; i++) {
        const struct ll_tuned *tuned = &r->tuned[i];
        ll_json_open_object(&json);
        ll_json_put_text(&json, "path", tuned->number->path);
        ll_json_put_bool(&json, "matters", tuned->matters);
        ll_json_put_number(&json, "before", tuned->before);
        ll_json_put_number(&json, "value", tuned->after);
        ll_json_put_number(&json, "low", tuned->low);
        ll_json_put_number(&json, "high", tuned->high);
        ll_json_put_text(&json, "at_bound", tuned->bound > 0 ? "most" : tuned->bound < 0 ? "least" : NULL);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    if (r->families)
        families_json(r, &json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static const char *output_of(const struct tuning *t)
{
    return ll_value(t->args, "output", "fitted.yaml");
}

/* Where a table of measured kernels goes: where it was asked for; for measured layers, beside the machine.
 * NULL: there is none. */
static const char *table_of(const struct tuning *t)
{
    const char *output = output_of(t), *dot = strrchr(ll_base_name(output), '.'),
               *asked = ll_value(t->args, "table", NULL);
    size_t length = dot ? (size_t)(dot - output) : strlen(output);
    return asked || !t->has_layers ? asked
                                   : ll_format(t->args->arena, "%.*s_kernels.csv", (int)length, output);
}

/* What the new file inherits: the machine as given, if it is a known one or lies beside; else its place. */
static const char *base_of(const struct tuning *t, char *resolved)
{
    const char *given = ll_value(t->args, "machine", NULL);
    bool is_file = strcmp(t->machine->path, given) == 0,
         is_beside = !strchr(given, '/') && !strchr(output_of(t), '/');
    return is_file && !is_beside && realpath(t->machine->path, resolved) ? resolved : given;
}

/* Whose rows the data holds, when none are the machine's. */
static const char *hardware_of(const struct tuning *t)
{
    struct ll_str names = {0};
    for (size_t i = 0; i < t->rows.count && names.length < 200; i++) {
        const char *name = t->rows.at[i].hardware;
        bool seen = false;
        for (size_t j = 0; j < i && !seen; j++)
            seen = strcmp(t->rows.at[j].hardware, name) == 0;
        if (!seen)
            ll_str_addf(&names, "%s`%s`", names.length ? ", " : "", name);
    }
    const char *text = names.failed ? NULL : ll_copy_text(t->args->arena, names.text, names.length);
    ll_str_release(&names);
    return text ? text : "";
}

static int too_few(const struct tuning *t, uint64_t folds)
{
    const struct ll_tuning *r = &t->result;
    size_t measured = r->rows + r->unscored;
    if (measured == 0 && r->untimed > 0)
        return ll_cli_reject("%s: no time was measured in any row of %s", t->data, t->machine->stem);
    if (measured == 0)
        return ll_cli_reject(
            "%s: no row was measured on %s; it holds rows of %s, and a machine answers to its stem, its "
            "name and its aliases",
            t->data, t->machine->stem, hardware_of(t));
    return ll_cli_reject("%s: rows in %zu block%s of shapes, between powers of two, of %s can be predicted, "
                         "of %zu that %s measured "
                         "on it; %" PRIu64 " folds need as many%s%s",
                         t->data, r->different, ll_plural(r->different), t->machine->stem, measured,
                         measured == 1 ? "was" : "were", folds,
                         r->unscored ? ". Of the others the first: " : "", r->unscored ? r->why : "");
}

/* What the machine file calls the table: its name, where both lie in one folder; else its place. */
static const char *table_name(const struct tuning *t, const char *table, char *resolved)
{
    const char *output = output_of(t);
    size_t length = (size_t)(ll_base_name(table) - table);
    bool together = length == (size_t)(ll_base_name(output) - output) && strncmp(table, output, length) == 0;
    return together ? ll_base_name(table) : realpath(table, resolved) ? resolved : table;
}

/* The table that was asked for does not help: nothing of it is written. */
static int refuse_table(const struct tuning *t, const char *table)
{
    const struct ll_tuning *r = &t->result;
    return ll_cli_fail(
        "%s is not written: of the %zu famil%s and type%s in the rows none has a smaller error with "
        "the table, in folds of shapes that it has not seen",
        table, r->family_count, r->family_count == 1 ? "y" : "ies", ll_plural(r->family_count));
}

static int write_fit(const struct tuning *t, const char *table)
{
    char resolved[4096], table_place[4096];
    struct ll_str yaml = {0}, csv = {0};
    const char *data = t->data;
    const char *name = ll_format(t->args->arena, "%s, fitted on %s", t->machine->name, data);
    if (!name)
        return ll_cli_fail("memory ran out");
    if (table)
        ll_tuning_table_csv(&t->result, &csv);
    if (table && !ll_write_file(table, &csv))
        return LL_FAILED;
    ll_tuning_yaml(&t->result, base_of(t, resolved), name, data,
                   table ? table_name(t, table, table_place) : NULL, &yaml);
    return ll_write_file(output_of(t), &yaml) ? LL_DONE : LL_FAILED;
}

/* Writes what the folds that were left out want: the numbers, the table, both, or neither. What was fitted is
 * shown all the same: it tells where it went wrong. */
static int write_machine(const struct tuning *t)
{
    struct ll_human before, after;
    const struct ll_tuning *r = &t->result;
    const char *table = table_of(t);
    bool numbers = ll_tuning_is_better(r), tabled = table && r->table_count > 0;
    int status = numbers || tabled ? write_fit(t, tabled ? table : NULL) : LL_DONE;
    if (status == LL_DONE)
        status = (ll_flag(t->args, "json") ? report_json : report)(r);
    if (status != LL_DONE)
        return status;
    if (!numbers && t->number_count > 0) {
        ll_format_percent(&after, r->held_out.mape);
        ll_format_percent(&before, r->before.mape);
        status = ll_cli_fail("%s: of rows that a fit has not seen, the MAPE is %s, and %s as it was",
                             tabled ? "the numbers stay as they were"
                                    : ll_format(t->args->arena, "%s is not written", output_of(t)),
                             after.text, before.text);
    }
    return table && !tabled ? refuse_table(t, table) : tabled ? LL_DONE : status;
}

/* How many rows of the machine's hardware are of another machine, as those of another library on the same
 * device are; what -c calls that of the last. */
static size_t count_others(const struct tuning *t, const char **of)
{
    size_t others = 0;
    for (size_t r = 0; r < t->rows.count; r++) {
        const struct ll_measured *row = &t->rows.at[r];
        char name[LL_MOST_HARDWARE];
        const char *first = NULL;
        bool is_ours = false;
        for (size_t i = 0; ll_measured_name(row, i, name) && !is_ours; i++) {
            is_ours = ll_machine_answers(t->machine, t->aliases, name);
            first = first ? first : ll_aliases_find(t->aliases, name);
        }
        bool leaves = is_ours && !ll_machine_measured(t->machine, t->aliases, row);
        *of = leaves ? first : *of;
        others += leaves;
    }
    return others;
}

static int leave_to_others(struct tuning *t, const char *const *folders)
{
    const char *of = NULL, *slash = strrchr(t->machine->path, '/');
    const char *beside =
        slash ? ll_copy_text(t->args->arena, t->machine->path, (size_t)(slash - t->machine->path)) : ".";
    const char *const *all = beside ? ll_folders_before(t->args->arena, beside, folders) : NULL;
    t->aliases = all ? ll_load_aliases(all, t->args->arena) : NULL;
    if (!t->aliases)
        return LL_WRONG;
    size_t left = count_others(t, &of);
    if (left > 0)
        ll_cli_tell("leadline: %zu row%s of %s %s left to more special machines, as %s\n", left,
                    ll_plural(left), t->machine->stem, left == 1 ? "is" : "are", of);
    return LL_DONE;
}

/* patterns NULL: no number is fitted, rows are dealt into folds for a table all the same. */
static int fit_numbers(struct tuning *t, const char *patterns)
{
    uint64_t folds;
    int status = patterns ? take_numbers(t, patterns) : LL_DONE;
    if (status != LL_DONE)
        return status;
    if (!ll_value_count(t->args, "folds", 2, 1000, 5, &folds))
        return LL_WRONG;
    const struct ll_tuning_task task = {.rows = t->rows.at,
                                        .row_count = t->rows.count,
                                        .machine = t->machine,
                                        .aliases = t->aliases,
                                        .numbers = t->numbers,
                                        .number_count = t->number_count,
                                        .folds = folds,
                                        .table = table_of(t) != NULL};
    struct ll_pool *pool = ll_pool_new(0);
    bool done = pool && ll_tune(&task, pool, t->args->arena, &t->result);
    bool enough = !pool || t->result.different >= folds;
    ll_pool_free(pool);
    if (!enough)
        return too_few(t, folds);
    return done ? LL_DONE : ll_cli_fail("memory ran out");
}

/* Of a fit of few numbers and one of those of all kernels, where nobody says which, the one that predicts
 * better what it has not seen. */
static int tune(struct tuning *t)
{
    const char *given = ll_value(t->args, "fit", NULL);
    if (t->has_layers && !given) { /* the table alone: the numbers are those of more than one model */
        int done = fit_numbers(t, NULL);
        return done == LL_DONE ? write_machine(t) : done;
    }
    int status = fit_numbers(t, given ? given : ll_fit_usual);
    const struct ll_tuning few = t->result;
    size_t few_numbers = t->number_count;
    if (status == LL_DONE && !given)
        status = take_numbers(t, ll_fit_kernels);
    if (status == LL_DONE && !given && t->number_count > few_numbers)
        status = fit_numbers(t, ll_fit_kernels);
    if (t->result.held_out.mape >= few.held_out.mape)
        t->result = few;
    return status == LL_DONE ? write_machine(t) : status;
}

/* leadline calibrate --from DATA.csv --machine MACHINE: numbers of a machine fitted on measured times. */
static int run_tuning(const struct ll_args *args)
{
    struct tuning t = {.args = args};
    const char *which = ll_value(args, "machine", NULL), *const *folders = ll_machine_folders(args->arena);
    if (!which)
        return ll_cli_reject("--from: name the machine that the rows were measured on with --machine");
    if (args->word_count > 0 || ll_value(args, "keep", NULL) || ll_value(args, "seconds", NULL) ||
        ll_value(args, "threads", NULL))
        return ll_cli_reject(
            "--from: nothing is measured here; leave out --threads, --seconds, --keep and traces");
    const char *output = output_of(&t);
    if (!ll_spares_inputs(args, "the new machine", output))
        return LL_WRONG;
    const char *table = ll_value(args, "table", NULL);
    if (table && ll_is_same_file(table, output))
        return ll_cli_reject("--table %s: the machine is written there", table);
    if (!ll_can_write(output) || (table && !ll_can_write(table)))
        return LL_FAILED;
    t.machine = folders ? ll_load_machine(which, folders, NULL, 0) : NULL;
    int status = t.machine ? LL_DONE : LL_WRONG;
    if (t.machine && ll_is_same_file(output, t.machine->path))
        status = ll_cli_reject("%s: this is the machine to start from; nothing is written over it", output);
    if (status == LL_DONE && t.machine->table)
        status = ll_cli_reject(
            "%s has a table of measured kernels (%s); start from the machine that it was formed "
            "on",
            which, t.machine->measured.path);
    if (status == LL_DONE)
        status = read_data(&t);
    if (status == LL_DONE)
        status = leave_to_others(&t, folders);
    if (status == LL_DONE)
        status = tune(&t);
    ll_machine_free(t.machine);
    ll_aliases_free(t.aliases);
    free(t.rows.at);
    return status;
}

/* leadline calibrate: measures this machine and writes its description. */

/* Where the trace is while it is measured that nobody asked to keep; empty otherwise. */
static char temporary[256];

struct shown {
    struct ll_ticker ticker;
    const volatile sig_atomic_t *stop; /* NULL: nobody stops it */
};

static bool show(void *context, const char *what, double done)
{
    assert(done >= 0 && done <= 1 + 1e-9);
    struct shown *shown = context;
    ll_ticker_tell(&shown->ticker, what, done, NAN, "%s", "");
    return !shown->stop || !*shown->stop;
}

/* The trace of a run now, at `path`. */
static int measure(const struct ll_args *args, const char *path)
{
    uint64_t threads, seconds;
    if (!ll_value_count(args, "threads", 1, 4096, 0, &threads) ||
        !ll_value_count(args, "seconds", 1, 100000, 60, &seconds))
        return LL_WRONG;
    const bool kept = ll_value(args, "keep", NULL) != NULL;
    struct shown shown = {.ticker = ll_ticker_new(true)};
    if (kept)
        shown.stop = ll_catch_interrupts();
    else /* at once: a large GEMM or a first touch of memory takes longer than one waits who wants an end */
        ll_on_interrupt(path, "no machine is written, and no measurements are kept; --keep TRACE keeps them");
    enum ll_status status = ll_micro_record(&(struct ll_micro_options){
        .threads = (unsigned)threads, .seconds = (double)seconds, .path = path, .listener = {show, &shown}});
    ll_ticker_clear(&shown.ticker);
    if (status != LL_OK)
        return ll_cli_fail("%s: %s", path, ll_status_text(status));
    if (!kept || !*shown.stop)
        return LL_DONE;
    ll_cli_warn(
        "interrupted: no machine is written; what was measured is kept in %s, and leadline calibrate %s "
        "describes the machine by it as far as it goes",
        path, path);
    return LL_INTERRUPTED;
}

static struct ll_trace *measured(const struct ll_args *args, int *status)
{
    const char *kept = ll_value(args, "keep", NULL);
    const char *folder = getenv("TMPDIR");
    if (args->word_count > 0)
        return ll_load_trace(args->words[0], status);
    if (!kept)
        snprintf(temporary, sizeof temporary, "%s/leadline-calibrate-XXXXXX",
                 folder && *folder ? folder : P_tmpdir);
    int file = kept ? -1 : mkstemp(temporary);
    if (!kept && file < 0) {
        *status = ll_cli_fail("%s: no such file can be made", temporary);
        return NULL;
    }
    *status = measure(args, kept ? kept : temporary);
    struct ll_trace *trace = *status == LL_DONE ? ll_load_trace(kept ? kept : temporary, status) : NULL;
    if (file >= 0) {
        close(file);
        unlink(temporary);
    }
    return trace;
}

/* Where the processors of a virtual machine are hyperthreads of the same cores, none is ever alone. */
static void say_crowded(double share)
{
    static const double often = 0.2, mostly = 0.5;
    struct ll_human text;
    if (share > mostly)
        ll_cli_tell(
            "in %s of samples another process was on the other hyperthread of a core: others never left, "
            "or this "
            "machine's processors are hyperthreads of the same cores; it is described as it is then\n",
            ll_format_percent(&text, share));
    else if (share > often)
        ll_cli_tell(
            "in %s of samples another process was on the other hyperthread of a core, however long was "
            "waited; as "
            "many of an op's times, the slowest, are left out, but the memory was measured beside them\n",
            ll_format_percent(&text, share));
}

static void say_apart(double share)
{
    static const double often = 0.1;
    struct ll_human text;
    if (share > often)
        ll_cli_tell(
            "in %s of samples threads were behind different last caches, however long was waited: what "
            "they share is described as larger and slower than where they are together; calibrate again\n",
            ll_format_percent(&text, share));
}

/* What passes between nodes is not measured. */
static void say_nodes(double nodes)
{
    if (nodes > 1)
        ll_cli_tell(
            "this machine's memory lies in %.0f nodes; it is described as one piece, as near as the measured "
            "threads had it: `numa` of the level `dram` adds what passes between them\n",
            nodes);
}

/* Who describes a machine should know that it was not left alone. Of a virtual machine whose neighbours were
 * quiet, times of an op differed by 9 % in the median over the kernels, and by 22 % when they were not; then
 * GEMMs of few rows were found 20 % slower than a few minutes before. */
static void say_disturbed(const struct ll_trace *trace, const struct ll_calibration *c)
{
    static const double much = 0.15;
    double spreads[LL_MAX_KERNELS];
    struct ll_human text;
    for (uint64_t i = 0; i < c->fit_count; i++)
        spreads[i] = c->fits[i].spread;
    double middle = ll_median(spreads, c->fit_count);
    if (middle > much)
        ll_cli_tell(
            "the times of an op differ by %s (half of them, in the median over the kernels): others were "
            "at work on this machine; calibrate again when it is quieter\n",
            ll_format_percent(&text, middle));
    say_apart(ll_trace_number(trace, "host.apart", 0));
    say_crowded(ll_trace_number(trace, "host.crowded", 0));
}

static int report_machine(const struct ll_calibration *c)
{
    struct ll_str out = {0};
    struct ll_table *table =
        ll_table_new("kernel|>measurements|>error|>their spread|>overhead|>?compute|>?bandwidth|>?dram");
    for (uint64_t i = 0; i < c->fit_count; i++) {
        const struct ll_fit *fit = &c->fits[i];
        const struct ll_kernel *kernel = &c->machine->software.kernels[i];
        struct ll_human text[3];
        ll_table_row(table, "%s|%" PRIu64 "|%s|%s|%s|%.3g|%.3g|%.3g", kernel->name, fit->samples,
                     ll_format_percent(&text[0], fit->error), ll_format_percent(&text[1], fit->spread),
                     ll_format_si(&text[2], kernel->launch_overhead_s, "s"), kernel->compute_efficiency,
                     kernel->bandwidth_efficiency, kernel->dram_efficiency);
    }
    ll_show_table(table, &out);
    return ll_print(&out);
}

static int report_machine_json(const struct ll_calibration *c)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "calibrate", 1);
    ll_json_key(&json, "fits");
    ll_json_open_list(&json);
    for (uint64_t i = 0; i < c->fit_count; i++) {
        ll_json_open_object(&json);
        ll_json_put_text(&json, "kernel", c->machine->software.kernels[i].name);
        ll_json_put_count(&json, "measurements", c->fits[i].samples);
        ll_json_put_number(&json, "error", c->fits[i].error);
        ll_json_put_number(&json, "spread", c->fits[i].spread);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_key(&json, "machine");
    ll_machine_json(c->machine, &json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static const char *machine_output_of(const struct ll_args *args)
{
    return ll_value(args, "output", "host.yaml");
}

static int write_described_machine(const struct ll_args *args, const struct ll_trace *trace,
                                   struct ll_diags *diags)
{
    const char *model = ll_trace_fact(trace, "model");
    if (!model || strcmp(model, "micro") != 0)
        return ll_cli_reject("%s: a trace of %s; expected one that leadline calibrate --keep has measured",
                             args->word_count ? args->words[0] : "the trace",
                             model ? model : "something else");
    struct ll_calibration calibration;
    struct shown shown = {ll_ticker_new(true), NULL};
    if (!ll_calibrate(trace, &(struct ll_listener){show, &shown}, args->arena, diags, &calibration))
        return LL_WRONG;
    struct ll_str yaml = {0};
    ll_calibration_yaml(&calibration, &yaml);
    int status = ll_write_file(machine_output_of(args), &yaml) ? LL_DONE : LL_FAILED;
    if (status == LL_DONE)
        status = (ll_flag(args, "json") ? report_machine_json : report_machine)(&calibration);
    say_disturbed(trace, &calibration);
    say_nodes(ll_trace_number(trace, "host.memory_nodes", 0));
    ll_machine_free(calibration.machine);
    return status;
}

/* A machine is described as the workloads will find it: with the kernels that OpenBLAS chooses for them. */
static void say_core(const struct ll_trace *trace)
{
    const char *core = ll_trace_fact(trace, "blas.core"), *better = ll_trace_fact(trace, "blas.better_core");
    if (core)
        ll_cli_tell("GEMMs by the %s kernels of OpenBLAS\n", core);
    if (better)
        ll_cli_tell("because OPENBLAS_CORETYPE asks for them; this CPU can run %s\n", better);
}

static int run(const struct ll_args *args)
{
    static const char *const of_measuring[] = {"threads", "seconds", "keep", NULL};
    int status = LL_DONE;
    if (ll_value(args, "from", NULL))
        return run_tuning(args);
    if (ll_value(args, "machine", NULL) || ll_value(args, "fit", NULL) || ll_value(args, "folds", NULL) ||
        ll_value(args, "table", NULL) || ll_value(args, "model", NULL) || ll_value(args, "tp", NULL) ||
        ll_value(args, "dtype", NULL))
        return ll_cli_reject(
            "--machine, --fit, --folds, --table, --model, --tp and --dtype belong to --from");
    if (args->word_count > 0 &&
        !ll_without(args, of_measuring, "is for measuring; a trace was measured before"))
        return LL_WRONG;
    const char *kept = ll_value(args, "keep", NULL);
    if (!ll_spares_inputs(args, "the machine", machine_output_of(args)))
        return LL_WRONG;
    if (!ll_can_write(machine_output_of(args)) || (kept && !ll_can_write(kept)))
        return LL_FAILED;
    struct ll_trace *trace = measured(args, &status);
    if (trace)
        say_core(trace);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (trace)
        status = diags ? write_described_machine(args, trace, diags) : ll_cli_fail("memory ran out");
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    ll_trace_free(trace);
    return status;
}

static const struct ll_option options[] = {
    {"output", 'o', "FILE", "the machine file to write (default: host.yaml; with --from fitted.yaml)"},
    {"threads", 0, "N", "threads to compute with (default: one per CPU)"},
    {"seconds", 0, "N",
     "how long to measure ops, in seconds (default: 60); cores, memory and the fit take two minutes or so "
     "besides, however few"},
    {"keep", 0, "TRACE", "keep the measurements, as a trace"},
    {"from", 0, "DATA.csv", "fit a machine to these measured times instead; may be repeated"},
    {"machine", 0, "MACHINE", "with --from: the machine to start from; the new file inherits from it"},
    {"model", 'm', "MODEL",
     "with --from of layers by vLLM's names (qkv_proj, ...): a config.json, or a model that comes along, "
     "whose "
     "they are"},
    {"tp", 0, "N", "likewise: devices that shared each layer"},
    {"dtype", 0, "TYPE", "likewise: of weights and activations (bf16)"},
    {"fit", 0, "PATH,...",
     "with --from: the numbers to fit, as paths that --set takes, * for any part (default: overheads and "
     "efficiencies of units and memory, alone or with the figures of GEMM, attention and expert kernels: "
     "what "
     "predicts left-out rows better)"},
    {"folds", 0, "N",
     "with --from: parts of a cross-validation, each predicted by a fit to the others (default: 5)"},
    {"table", 0, "FILE.csv",
     "with --from: write a table of measured kernels too (key `measured` of a machine), of the families "
     "whose "
     "left-out folds it improves; of layers always, beside the machine where no FILE is named"},
    {0},
};

const struct ll_command ll_command_calibrate = {
    .name = "calibrate",
    .rows = "fits|numbers",
    .cuts_tables = true,
    .synopsis = "[TRACE]",
    .summary = "measure this machine and write its description",
    .examples =
        "  leadline calibrate -o host.yaml && leadline sim -c host.yaml alexnet.llt\n"
        "  leadline calibrate --keep host.llt\n"
        "  leadline calibrate -o again.yaml host.llt\n"
        "  leadline calibrate --from deepbench.csv --machine t4+archive/deepbench --fit 'units.*.efficiency' "
        "-o mine.yaml\n",
    .details =
        "Streams through each level of memory, multiplies and adds in registers, multiplies large matrices; "
        "then runs every kind of op at several sizes, over and over, and fits the machine's numbers to the "
        "times. No other workload is used. With TRACE, uses what an earlier run kept (--keep) instead of "
        "measuring. Run it on an idle machine: other load makes this one look slower.\n"
        "\n"
        "With --from nothing is measured here. The rows of DATA.csv (in the format of leadline validate) "
        "that were measured on MACHINE are fitted, and the error is reported for rows that the fit has not "
        "seen; a machine that predicts those no better is not written, with status 1. Rows that leadline "
        "validate gives to a more special machine (t4+archive/deepbench rather than t4) are "
        "left "
        "out. Folds are of blocks of shapes, between powers of two. With --table the kernels themselves "
        "become a table "
        "that the new machine names: for families and types whose left-out folds are predicted better with "
        "it; "
        "where there are none, no table is written, with status 1. What is made small is the mean of "
        "|log(predicted / measured)|, for which twice as slow is as "
        "wrong "
        "as twice as fast; the mean error in percent need not fall with it. The range of a number is that of "
        "the "
        "fits without one part of the rows each: how much hangs on single rows, not a confidence interval. "
        "The new file answers to the names of the one it inherits, so that leadline validate --machines "
        "FOLDER scores it where it stands without that one.\n",
    .options = options,
    .repeated = (const char *const[]){"from", NULL},
    .writes = (const char *const[]){"output", "keep", "table", NULL},
    .reads = (const char *const[]){"from", "machine", NULL},
    .least_words = 0,
    .most_words = 1,
    .run = run,
};
