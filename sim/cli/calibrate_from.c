/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "sim/cli/calibrate_from.h"

#include "sim/cli/data.h"
#include "sim/cli/load.h"
#include "sim/cli/outputs.h"
#include "sim/cli/paths.h"
#include "sim/machine/design.h"
#include "sim/report/table.h"
#include "sim/validate/tune.h"
#include "tracer/base/json.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usual[] =
    "software.op_overhead,software.kernels.*.overhead,units.*.efficiency,memory.*.efficiency";

struct tuning {
    const struct ll_args *args;
    struct ll_measured_rows rows;
    const char *data; /* the files' names, without folders */
    struct ll_machine *machine;
    const struct ll_machine_number **numbers;
    size_t number_count;
    struct ll_tuning result;
};

/* Whether a pattern means a path; the name of the list that the path begins with may be left out. */
static bool means(const char *pattern, const char *path)
{
    const char *behind = strchr(path, '.');
    return fnmatch(pattern, path, 0) == 0 || (behind && fnmatch(pattern, behind + 1, 0) == 0);
}

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
        return ll_failed("memory ran out");
    const char *nearest = has_key(t, pattern) ? NULL : ll_nearest(pattern, paths, count);
    return ll_wrong(
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
        if (!means(pattern, all[i].path))
            continue;
        found = true;
        if (ll_number_get(t->machine, &all[i]) > 0)
            t->numbers[t->number_count++] = &all[i];
        else if (asked && !strpbrk(pattern, "*?["))
            return ll_wrong("--fit %s: it is 0 in %s, and a fit multiplies; give it a value to start from",
                            pattern, t->machine->stem);
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
    size_t kept = 0;
    qsort(t->numbers, t->number_count, sizeof *t->numbers, by_place);
    for (size_t i = 0; i < t->number_count; i++)
        if (i == 0 || t->numbers[i] != t->numbers[i - 1])
            t->numbers[kept++] = t->numbers[i];
    t->number_count = kept;
}

static int take_numbers(struct tuning *t)
{
    struct ll_arena *arena = t->args->arena;
    size_t count;
    const char *given = ll_value(t->args, "fit", usual);
    char *patterns = ll_copy(arena, given, strlen(given) + 1), *rest = patterns, *pattern;
    const struct ll_machine_number *all = ll_machine_numbers(t->machine, arena, &count);
    size_t most = strlen(given) / 2 + 1;
    t->numbers = all ? ll_alloc(arena, count * most, sizeof(struct ll_machine_number *)) : NULL;
    if (!patterns || !t->numbers)
        return ll_failed("memory ran out");
    while ((pattern = strsep(&rest, ","))) {
        int status = *pattern ? take_pattern(t, pattern, all, count) : LL_DONE;
        if (status != LL_DONE)
            return status;
    }
    sort_numbers(t);
    return t->number_count > 0 ? LL_DONE : ll_wrong("--fit %s: there is nothing to fit", given);
}

static int read_data(struct tuning *t)
{
    struct ll_str names = {0};
    const char *path;
    for (size_t i = 0; (path = ll_value_at(t->args, "from", i)); i++) {
        if (!ll_read_rows(&path, 1, t->args->arena, &t->rows)) {
            ll_str_release(&names);
            return LL_WRONG;
        }
        ll_str_addf(&names, "%s%s", i ? ", " : "", ll_base_name(path));
    }
    t->data = names.failed ? NULL : ll_copy_text(t->args->arena, names.text, names.length);
    ll_str_release(&names);
    return t->data ? LL_DONE : ll_failed("memory ran out");
}

/* Where a number could go no further, the rows may want more of what it stands for than the machine has. */
static const char *bound_text(const struct ll_tuned *tuned)
{
    return tuned->bound > 0 ? "the most it may be" : tuned->bound < 0 ? "the least it may be" : "";
}

static int report(const struct ll_tuning *r)
{
    struct ll_str out = {0};
    struct ll_human text[3];
    struct ll_table *table = ll_table_new("number|>before|>fitted|>over the folds|");
    ll_str_addf(&out, "%zu rows, in %zu folds that a fit on the others predicts\n", r->rows, r->folds);
    ll_str_addf(&out, "MAPE %s as it was, %s of rows that the fit had not seen, %s of those it had\n\n",
                ll_percent(&text[0], r->before.mape), ll_percent(&text[1], r->held_out.mape),
                ll_percent(&text[2], r->fitted.mape));
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
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    return ll_print(&out);
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
    ll_json_open_object(&json);
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
    ll_json_close_object(&json);
    return ll_print(&out);
}

static const char *output_of(const struct tuning *t)
{
    return ll_value(t->args, "output", "fitted.yaml");
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
        return ll_wrong("%s: no time was measured in any row of %s", t->data, t->machine->stem);
    if (measured == 0)
        return ll_wrong(
            "%s: no row was measured on %s; it holds rows of %s, and a machine answers to its stem, its "
            "name and its aliases",
            t->data, t->machine->stem, hardware_of(t));
    return ll_wrong(
        "%s: rows of %zu different shape%s of %s can be predicted, of %zu that %s measured on it; %" PRIu64
        " folds need as many%s%s",
        t->data, r->different, ll_plural(r->different), t->machine->stem, measured,
        measured == 1 ? "was" : "were", folds, r->unscored ? ". Of the others the first: " : "",
        r->unscored ? r->why : "");
}

/* The numbers are shown all the same: they tell where it went wrong. */
static int refuse_fit(const struct tuning *t)
{
    struct ll_human before, after;
    const struct ll_tuning *r = &t->result;
    int status = (ll_flag(t->args, "json") ? report_json : report)(r);
    if (status != LL_DONE)
        return status;
    return ll_failed("%s is not written: of rows that a fit has not seen, the MAPE is %s, and %s as it was",
                     output_of(t), ll_percent(&after, r->held_out.mape), ll_percent(&before, r->before.mape));
}

static int write_machine(const struct tuning *t)
{
    char resolved[4096];
    struct ll_str yaml = {0};
    const char *path = output_of(t);
    if (!ll_tuning_is_better(&t->result))
        return refuse_fit(t);
    const char *name = ll_format(t->args->arena, "%s, fitted on %s", t->machine->name, t->data);
    if (!name)
        return ll_failed("memory ran out");
    ll_tuning_yaml(&t->result, base_of(t, resolved), name, t->data, &yaml);
    if (!ll_write_file(path, &yaml))
        return LL_FAILED;
    return (ll_flag(t->args, "json") ? report_json : report)(&t->result);
}

/* Rows that another machine at hand answers to by a more special name, as those of another library on the
 * same device do, are of that one; validate has it so, too. */
static int leave_to_others(struct tuning *t, const char *const *folders)
{
    const char **stems, *of = NULL;
    size_t count, left = 0;
    if (!ll_machine_list(folders, t->args->arena, &stems, &count))
        return ll_failed("memory ran out");
    for (size_t i = 0; i < count; i++) {
        struct ll_machine *other =
            strcmp(stems[i], t->machine->stem) ? ll_load_machine(stems[i], folders, NULL, 0) : NULL;
        size_t kept = 0;
        for (size_t r = 0; other && r < t->rows.count; r++) {
            const struct ll_measured *row = &t->rows.at[r];
            size_t ours = ll_machine_measured(t->machine, row), its = ll_machine_measured(other, row);
            bool leaves = ours > 0 && its > 0 && its < ours;
            of = leaves ? stems[i] : of;
            left += leaves;
            if (!leaves)
                t->rows.at[kept++] = *row;
        }
        t->rows.count = other ? kept : t->rows.count;
        ll_machine_free(other);
    }
    if (left > 0)
        fprintf(stderr, "leadline: %zu row%s of %s %s left to more special machines, as %s\n", left,
                ll_plural(left), t->machine->stem, left == 1 ? "is" : "are", of);
    return LL_DONE;
}

static int tune(struct tuning *t)
{
    uint64_t folds;
    if (!ll_value_count(t->args, "folds", 2, 1000, 5, &folds))
        return LL_WRONG;
    const struct ll_tuning_task task = {.rows = t->rows.at,
                                        .row_count = t->rows.count,
                                        .machine = t->machine,
                                        .numbers = t->numbers,
                                        .number_count = t->number_count,
                                        .folds = folds};
    struct ll_pool *pool = ll_pool_new(0);
    bool done = pool && ll_tune(&task, pool, t->args->arena, &t->result);
    bool enough = !pool || t->result.different >= folds;
    ll_pool_free(pool);
    if (!enough)
        return too_few(t, folds);
    return done ? write_machine(t) : ll_failed("memory ran out");
}

int ll_run_tuning(const struct ll_args *args)
{
    struct tuning t = {.args = args};
    const char *which = ll_value(args, "machine", NULL), *const *folders = ll_machine_folders(args->arena);
    if (!which)
        return ll_wrong("--from: name the machine that the rows were measured on with --machine");
    if (args->word_count > 0 || ll_value(args, "keep", NULL) || ll_value(args, "seconds", NULL) ||
        ll_value(args, "threads", NULL))
        return ll_wrong(
            "--from: nothing is measured here; leave out --threads, --seconds, --keep and traces");
    const char *output = output_of(&t);
    if (!ll_spares_inputs(args, "the new machine", output))
        return LL_WRONG;
    if (!ll_can_write(output))
        return LL_FAILED;
    t.machine = folders ? ll_load_machine(which, folders, NULL, 0) : NULL;
    int status = t.machine ? LL_DONE : LL_WRONG;
    if (t.machine && ll_is_same_file(output, t.machine->path))
        status = ll_wrong("%s: this is the machine to start from; nothing is written over it", output);
    if (status == LL_DONE)
        status = read_data(&t);
    if (status == LL_DONE)
        status = leave_to_others(&t, folders);
    if (status == LL_DONE)
        status = take_numbers(&t);
    if (status == LL_DONE)
        status = tune(&t);
    ll_machine_free(t.machine);
    free(t.rows.at);
    return status;
}
