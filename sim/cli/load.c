/* SPDX-License-Identifier: Apache-2.0 */
/* Opening what a command line names. Traces, models, machines and overrides are read, each with its
 * complaints; the last section holds options that change a trace before it is simulated. Where shipped files
 * lie, places.c finds. */
#define _XOPEN_SOURCE 700
#include "sim/cli/compat.h"
#include "sim/cli/load.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/array/choose.h"
#include "sim/cli/command.h"
#include "sim/machine/quantity.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/report/table.h"
#include "sim/validate/table.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/format/reader.h"
#include "tracer/ir/profile.h"
#include "tracer/transform/dtype.h"
#include "tracer/transform/rescale.h"

enum { MOST_BYTES = 1 << 30 }; /* of a data file */

static bool add_file(const char *path, struct ll_arena *arena, struct ll_diags *diags,
                     struct ll_measured_rows *rows)
{
    struct ll_contents text = {0};
    size_t count = 0;
    enum ll_status status = ll_read_whole(path, MOST_BYTES, arena, &text);
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    const struct ll_measured *more = ll_measured_read(text.bytes, text.length, path, arena, diags, &count);
    if (!more)
        return false;
    if (!ll_grow(&rows->at, &rows->capacity, rows->count + count, sizeof *rows->at))
        return ll_complain(diags, (struct ll_place){.file = path}, "memory ran out");
    memcpy(rows->at + rows->count, more, count * sizeof *more);
    rows->count += count;
    return true;
}

bool ll_read_rows(const char *const *paths, size_t path_count, struct ll_arena *arena,
                  struct ll_measured_rows *rows)
{
    assert(paths || path_count == 0);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    bool good = diags != NULL;
    for (size_t i = 0; diags && i < path_count; i++)
        good &= add_file(paths[i], arena, diags, rows);
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    return good;
}

/* What format another tool's file is of, by its content, unpacked where it is compressed; NULL: none. */
static const char *format_of(const char *path)
{
    struct ll_arena arena = {0};
    struct ll_contents whole;
    uint8_t head[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t size = file ? fread(head, 1, sizeof head, file) : 0;
    if (file)
        fclose(file);
    const char *format = ll_format_detect(head, size);
    if (!format && ll_is_gzipped((const char *)head, size) &&
        ll_read_whole(path, MOST_BYTES, &arena, &whole) == LL_OK)
        format = ll_format_detect((const uint8_t *)whole.bytes, whole.length);
    ll_arena_release(&arena);
    return format;
}

struct ll_trace *ll_read_trace(const char *path, int *status)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags) {
        *status = ll_cli_fail("memory ran out");
        return NULL;
    }
    enum ll_status trouble = LL_OK;
    struct ll_trace *trace = ll_trace_read(path, diags, &trouble);
    bool complained = diags->count > 0, read = trace != NULL;
    const char *format = read || trouble == LL_NO_MEMORY ? NULL : format_of(path);
    if (!format) /* else there is only one thing to say */
        ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    *status = LL_DONE;
    if (trace && trace->op_count > 0 && !ll_memory_ran_out())
        return trace;
    ll_trace_free(trace);
    if (trouble == LL_NO_MEMORY || ll_memory_ran_out())
        *status = ll_cli_fail("%s: memory ran out", path);
    else if (read)
        *status = ll_cli_reject("%s: no op can be read, so nothing of it can be used", path);
    else if (format)
        *status = ll_cli_reject(
            "%s: this is no trace, but looks like %s; `leadline import %s FILE` makes a trace of it", path,
            format, format);
    else
        *status =
            ll_cli_reject("%s: %s", path, complained ? "nothing of it can be used" : ll_status_text(trouble));
    return NULL;
}

bool ll_narrow_gemms(struct ll_trace **trace, enum ll_numeric numeric, const char **trouble)
{
    assert(numeric < LL_NUMERIC_COUNT && *trace);
    uint64_t products = 0;
    *trouble = NULL;
    if (numeric == LL_NUMERIC_NONE)
        return true;
    struct ll_trace *narrow = ll_trace_change_gemm_dtype(*trace, numeric, &products, trouble);
    if (!narrow) {
        *trouble = *trouble ? *trouble : ll_status_text(LL_NO_MEMORY);
        return false;
    }
    ll_trace_free(*trace);
    *trace = narrow;
    *trouble = products > 0 ? NULL : "none is known to read a weight";
    return products > 0;
}

bool ll_store_weights(struct ll_trace *trace, enum ll_numeric numeric, const char **trouble)
{
    assert(numeric < LL_NUMERIC_COUNT);
    uint64_t weights = 0;
    if (numeric == LL_NUMERIC_NONE)
        return true;
    if (!ll_trace_quantize_weights(trace, numeric, &weights, trouble))
        return false;
    *trouble = "expected a trace of inference with weights that only GEMMs and convolutions read";
    return weights > 0;
}

bool ll_prune_weights(struct ll_trace *trace, const struct ll_pattern *pattern, const char **trouble)
{
    uint64_t weights = 0;
    if (pattern->of == 0)
        return true;
    if (!ll_trace_prune(trace, pattern, &weights, trouble))
        return false;
    *trouble = pattern->unstructured ? "no forward GEMM or convolution reads one"
                                     : "none of a forward GEMM is a multiple of the pattern along its "
                                       "reduction dimension";
    return weights > 0;
}

/* A count that a fact holds; 0 where there is none. */
static uint64_t counted(const struct ll_trace *trace, const char *key)
{
    uint64_t count;
    const char *value = ll_trace_fact(trace, key);
    return value && ll_count_parse(value, &count) ? count : 0;
}

uint64_t ll_dropped_events(const struct ll_trace *trace)
{
    return ll_add(counted(trace, "summary.dropped"), counted(trace, "summary.unplaced"));
}

/* Parts of shared memory that the recorded program has cut off or written over; what they held is not
 * known. */
static uint64_t damaged_rings(const struct ll_trace *trace)
{
    return counted(trace, "summary.damaged");
}

static bool is_undamaged(const struct ll_trace *trace)
{
    return trace->closed && trace->lost_frames == 0 && trace->lost_bytes == 0 && trace->lost_ops == 0;
}

static bool is_whole(const struct ll_trace *trace)
{
    return is_undamaged(trace) && ll_dropped_events(trace) == 0 && damaged_rings(trace) == 0;
}

struct ll_trace *ll_load_trace(const char *path, int *status)
{
    struct ll_trace *trace = ll_read_trace(path, status);
    if (trace && !is_whole(trace)) {
        struct ll_str condition = {0};
        ll_add_condition(trace, &condition);
        ll_cli_tell("%s: %s\n", path, condition.failed ? "not whole" : condition.text);
        ll_str_release(&condition);
    }
    return trace;
}

uint64_t ll_complete_steps(const struct ll_trace *trace)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < trace->step_count; i++)
        count += trace->steps[i].complete;
    assert(count <= trace->step_count);
    return count;
}

/* What is lost, of a damaged trace. */
static void add_losses(const struct ll_trace *trace, struct ll_str *out)
{
    const char *mark = "damaged: ";
    if (trace->lost_bytes || trace->lost_frames) {
        ll_str_addf(out, "%s%" PRIu64 " of %" PRIu64 " bytes cannot be read", mark, trace->lost_bytes,
                    trace->file_bytes);
        mark = ", ";
    }
    if (trace->lost_frames)
        ll_str_addf(out, ", %" PRIu64 " frame%s lost", trace->lost_frames, ll_plural(trace->lost_frames));
    if (trace->lost_ops)
        ll_str_addf(out, "%sat least %" PRIu64 " op%s lost", mark, trace->lost_ops,
                    ll_plural(trace->lost_ops));
    if (!trace->closed)
        ll_str_add(out, ", no index at its end");
}

/* What is missing although the file is whole. */
static void add_unseen(const struct ll_trace *trace, struct ll_str *out)
{
    uint64_t dropped = ll_dropped_events(trace), damaged = damaged_rings(trace),
             unreturned = counted(trace, "summary.unreturned");
    const char *routine = ll_trace_fact(trace, "summary.unreturned_longest");
    struct ll_human number, time;
    if (dropped)
        ll_str_addf(out, "incomplete: %s event%s of the program found no room while it was recorded",
                    ll_format_grouped(&number, dropped), ll_plural(dropped));
    else if (damaged)
        ll_str_add(out, "incomplete");
    else
        ll_str_add(out, "complete");
    if (damaged)
        ll_str_addf(out, "%s the program cut off or overwrote the memory that its events were in",
                    dropped ? ", and" : ":");
    if (!unreturned)
        return;
    ll_str_add(out, dropped || damaged ? ", and " : " but for ");
    if (unreturned > 1)
        ll_str_addf(out, "%s calls, the first", ll_format_grouped(&number, unreturned));
    else
        ll_str_add(out, "a call");
    ll_str_addf(out, " of %s that had not returned", routine ? routine : "an unknown routine");
    double after_s = ll_trace_number(trace, "summary.unreturned_s", 0);
    if (after_s > 0)
        ll_str_addf(out, " after %s", ll_format_si(&time, after_s, "s"));
    ll_str_add(out, " when the program ended");
}

bool ll_add_condition(const struct ll_trace *trace, struct ll_str *out)
{
    uint64_t steps = ll_complete_steps(trace);
    if (is_undamaged(trace))
        add_unseen(trace, out);
    else if (trace->lost_frames || trace->lost_bytes || trace->lost_ops)
        add_losses(trace, out);
    else
        ll_str_add(out, "cut off: the recorder was stopped, or the end of the file is missing");
    ll_str_addf(out, "; %" PRIu64 " op%s in %" PRIu64 " complete step%s can be used", trace->op_count,
                ll_plural(trace->op_count), steps, ll_plural(steps));
    return is_whole(trace);
}

const struct ll_model *ll_find_model(const char *name)
{
    struct ll_setting setting;
    const struct ll_model *model = ll_model_named(name, &setting);
    const char *nearest = model ? NULL : ll_model_nearest(name);
    if (!model)
        ll_cli_reject_unknown("model", name, &nearest, nearest != NULL, "leadline models");
    if (!model)
        ll_cli_tell("a language model's config.json becomes a trace by: leadline import hf FILE\n");
    struct ll_diags diags = {0};
    if (ll_model_renamed(name))
        ll_remark(&diags, (struct ll_place){0}, "the model `%s` is called `%s` now", name,
                  ll_model_renamed(name));
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    return model;
}

static void count_mistakes(size_t count, const char *which)
{
    struct ll_str line = {0};
    ll_str_addf(&line, "%zu mistake%s in %s\n", count, ll_plural(count), which);
    if (line.text && !line.failed && !ll_memory_ran_out()) {
        ll_hide_controls(line.text, line.length);
        ll_cli_tell("%s", line.text);
    }
    ll_str_release(&line);
}

/* The machine whose kernels the table measured: the one whose file names it, under the same stacks; where
 * that is no machine by itself, as a stack, the one that was asked for. NULL after complaints. */
static struct ll_machine *measured_machine(const struct ll_machine *machine, const char *which,
                                           const char *const *folders, struct ll_arena *arena,
                                           struct ll_diags *diags)
{
    const char *beside = machine->measured.beside, *stacks = strchr(machine->stem, '+');
    struct ll_diags unheard = {0};
    const char *named = beside ? ll_format(arena, "%s%s", beside, stacks ? stacks : "") : NULL;
    struct ll_machine *on = named ? ll_machine_read(named, folders, NULL, 0, &unheard) : NULL;
    ll_diags_release(&unheard);
    return on ? on : ll_machine_read(which, folders, NULL, 0, diags);
}

/* Names of hardware mean what the table of names beside the machine says, before all others. */
static const struct ll_kernel_table *read_table(const struct ll_machine *on, const char *path,
                                                const char *const *folders, struct ll_arena *lasting,
                                                struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    const char *slash = strrchr(on->path, '/');
    const char *beside = slash ? ll_copy_text(&arena, on->path, (size_t)(slash - on->path)) : ".";
    const char *const *before = beside ? ll_folders_before(&arena, beside, folders) : NULL;
    const char *const *all = before ? before : folders;
    struct ll_contents text;
    size_t count = 0;
    enum ll_status status = ll_read_whole(path, MOST_BYTES, &arena, &text);
    if (status != LL_OK)
        ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    struct ll_aliases *aliases = status == LL_OK ? ll_aliases_read(all, &arena, diags) : NULL;
    const struct ll_measured *rows =
        aliases ? ll_measured_read(text.bytes, text.length, path, &arena, diags, &count) : NULL;
    const struct ll_kernel_table *table =
        rows ? ll_measured_table(rows, count, path, on, aliases, lasting, diags) : NULL;
    ll_aliases_free(aliases);
    ll_arena_release(&arena);
    return table;
}

bool ll_load_table(struct ll_machine *machine, const char *which, const char *const *folders,
                   size_t override_count, struct ll_diags *diags)
{
    if (!machine->measured.path)
        return true;
    const char *beside = machine->measured.beside;
    bool itself = override_count == 0 && beside && strcmp(beside, machine->path) == 0;
    struct ll_arena arena = {0};
    struct ll_machine *other = itself ? NULL : measured_machine(machine, which, folders, &arena, diags);
    if (itself || other)
        machine->table =
            read_table(itself ? machine : other, machine->measured.path, folders, &machine->arena, diags);
    ll_machine_free(other);
    ll_arena_release(&arena);
    return machine->table != NULL;
}

struct ll_machine *ll_load_machine(const char *which, const char *const *folders,
                                   const struct ll_override *overrides, size_t override_count)
{
    assert(folders && (overrides || override_count == 0));
    struct ll_diags *diags = calloc(1, sizeof *diags);
    if (!diags) {
        ll_cli_fail("memory ran out");
        return NULL;
    }
    struct ll_machine *machine = ll_is_scalesim(which)
                                     ? ll_read_scalesim(which, folders, overrides, override_count, diags)
                                     : ll_machine_read(which, folders, overrides, override_count, diags);
    if (machine &&
        (!ll_load_table(machine, which, folders, override_count, diags) || !ll_array_check(machine, diags))) {
        ll_machine_free(machine);
        machine = NULL;
    }
    ll_print_diags(diags);
    if (!machine)
        count_mistakes(diags->count, which);
    ll_diags_release(diags);
    free(diags);
    return machine;
}

bool ll_load_mappings(const struct ll_args *args, struct ll_machine *machine)
{
    const char *path = ll_value(args, "mapping", NULL);
    struct ll_contents text;
    if (!path)
        return true;
    enum ll_status status = ll_read_whole(path, MOST_BYTES, args->arena, &text);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    bool given = diags && status == LL_OK && ll_array_give(machine, text.bytes, path, diags);
    if (status != LL_OK)
        ll_cli_reject("%s: %s", path, ll_status_text(status));
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    return given;
}

struct ll_aliases *ll_load_aliases(const char *const *folders, struct ll_arena *arena)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_aliases *aliases = diags ? ll_aliases_read(folders, arena, diags) : NULL;
    if (diags)
        ll_print_diags(diags);
    if (!aliases && (!diags || diags->count == 0))
        ll_cli_fail("memory ran out");
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return aliases;
}

const char *ll_machine_of_device(const char *device, const struct ll_aliases *aliases,
                                 const char *const *folders, struct ll_arena *arena)
{
    static const char *const brands[] = {"NVIDIA ", "GeForce ", "AMD ", "Instinct ", "Apple "};
    assert(device && aliases && folders);
    const char *known = ll_aliases_find(aliases, device);
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++)
        device += strncmp(device, brands[i], strlen(brands[i])) == 0 ? strlen(brands[i]) : 0;
    char *name = ll_copy_text(arena, device, strlen(device));
    for (char *c = name; c && *c; c++)
        *c = *c == ' ' ? '_' : (char)tolower((unsigned char)*c);
    return known ? known : name && *name && ll_machine_is_known(name, folders) ? name : NULL;
}

struct ll_machine *ll_load_system(struct ll_machine *device, const char *const *folders,
                                  const struct ll_override *overrides, size_t override_count)
{
    struct ll_arena scratch = {0};
    const char *which = device->pool_count > 0 ? NULL : ll_machine_system(device, &scratch);
    struct ll_machine *system = which ? ll_load_machine(which, folders, overrides, override_count) : NULL;
    if (system) {
        ll_cli_warn("several %s: taken as %s", device->stem, system->stem);
        ll_machine_free(device);
    }
    ll_arena_release(&scratch);
    return system ? system : device;
}

struct ll_machine *ll_load_pools(const char *which, const char *const *folders,
                                 const struct ll_override *overrides, size_t override_count)
{
    struct ll_arena scratch = {0};
    struct ll_machine *machine = NULL;
    size_t length = strcspn(which, ",");
    uint64_t count = 0;
    if (!which[length])
        return ll_load_machine(which, folders, overrides, override_count);
    for (const char *at = which; at; at = at[length] ? at + length + 1 : NULL) {
        length = strcspn(at, ",");
        const char *one = ll_copy_text(&scratch, at, length);
        struct ll_machine *pool = NULL;
        if (++count > LL_MOST_POOLS)
            ll_cli_reject("-c %s: expected at most %d pools", which, LL_MOST_POOLS);
        else if (one && (pool = ll_load_machine(one, folders, overrides, override_count)))
            pool = ll_load_system(pool, folders, overrides, override_count);
        else if (!one)
            ll_cli_fail("memory ran out");
        if (pool && pool->core_type_count > 0) {
            ll_cli_reject("-c %s: %s schedules ops on its cores; expected devices that run one op after the "
                          "other",
                          which, one);
            ll_machine_free(pool);
            pool = NULL;
        }
        if (pool && machine && !ll_machine_add_pool(machine, pool))
            ll_cli_fail("memory ran out");
        if (!pool || (machine && machine->pool_count + 1 < count)) {
            ll_machine_free(machine);
            machine = NULL;
            break;
        }
        machine = machine ? machine : pool;
    }
    ll_arena_release(&scratch);
    return machine;
}

const struct ll_override *ll_read_overrides(const struct ll_args *args, size_t *count)
{
    struct ll_override *overrides = ll_alloc(args->arena, args->given_count + 1, sizeof *overrides);
    const char *given;
    for (*count = 0; overrides && (given = ll_value_at(args, "set", *count)); ++*count) {
        const char *equals = strchr(given, '=');
        if (!equals || equals == given) {
            ll_cli_reject("--set %s: expected path=value, as in --set memory.hbm.bandwidth=1TB/s", given);
            return NULL;
        }
        overrides[*count].path = ll_copy_text(args->arena, given, (size_t)(equals - given));
        overrides[*count].value = equals + 1;
    }
    return overrides;
}

int ll_no_machines(const char *const *folders)
{
    struct ll_str all = {0};
    for (size_t i = 0; folders[i]; i++)
        ll_str_addf(&all, "%s%s", i ? ", " : " in ", folders[i]);
    int status = ll_cli_reject("there are no machines%s; LEADLINE_PATH may name a folder of them",
                               all.text && !all.failed ? all.text : "");
    ll_str_release(&all);
    return status;
}

/* Options that several commands share: a step as others count it, changes to a trace before it is simulated,
 * plans, batches, formats of files, and the simulation that an export may ask for. */

int ll_read_accounting(const struct ll_args *args, bool *given)
{
    static const char *const ways[] = {"catamount"};
    const char *way = ll_value(args, "accounting", NULL);
    *given = way != NULL;
    if (way && strcmp(way, ways[0]) != 0)
        return ll_cli_reject_unknown("accounting", way, ways, 1, "leadline info --help");
    return LL_DONE;
}

struct line {
    const char *key, *name;
    uint64_t value;
};
enum { LINES = 6 };

static int print_json(const struct ll_trace *trace, const struct line *lines)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "info_accounting", 1);
    ll_json_put_text(&json, "accounting", "catamount");
    ll_json_put_text(&json, "model", ll_trace_fact(trace, "model"));
    for (size_t i = 0; i < LINES; i++)
        ll_json_put_count(&json, lines[i].key, lines[i].value);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int print_text(const struct line *lines)
{
    struct ll_str out = {0};
    struct ll_table *table = ll_table_new("per step, as Catamount counts|>");
    for (size_t i = 0; i < LINES; i++) {
        struct ll_human number;
        ll_table_row(table, "%s|%s", lines[i].name, ll_format_grouped(&number, lines[i].value));
    }
    ll_table_top(table, ll_output_top());
    ll_table_print(table, ll_screen_width(), &out);
    ll_table_free(table);
    return ll_print(&out);
}

int ll_show_accounts(const struct ll_args *args, const struct ll_trace *trace)
{
    struct ll_accounts accounts;
    uint64_t minimal_bytes;
    if (!ll_catamount(trace, &accounts) || !ll_minimal_footprint(trace, &minimal_bytes))
        return ll_cli_fail("memory ran out");
    const struct line lines[LINES] = {
        {"parameters", "parameters", accounts.parameters},
        {"flops", "FLOP", accounts.flops},
        {"bytes", "bytes read and written", accounts.bytes},
        {"footprint", "bytes of all tensors", accounts.footprint_bytes},
        {"min_footprint", "minimal footprint, bytes", minimal_bytes},
        {"io", "bytes from the host", accounts.io_bytes},
    };
    for (size_t i = 0; i < LINES; i++)
        if (!ll_fits(lines[i].value))
            return ll_cli_fail("%s: more than 64 bits hold", lines[i].name);
    return ll_flag(args, "json") ? print_json(trace, lines) : print_text(lines);
}

/* The dtype, or where formats with scales are known, too, the format that an option names; LL_NUMERIC_NONE
 * without it. False after saying that there is no such thing. */
static bool read_numeric(const struct ll_args *args, const char *option, bool formats,
                         enum ll_numeric *numeric)
{
    const char *names[LL_NUMERIC_COUNT], *given = ll_value(args, option, NULL);
    size_t count = 0;
    for (unsigned i = 0; i < (formats ? LL_NUMERIC_COUNT : LL_NUMERIC_NONE); i++)
        if (i != LL_NUMERIC_NONE)
            names[count++] = ll_numeric_name((enum ll_numeric)i);
    *numeric = given ? ll_numeric_find(given) : LL_NUMERIC_NONE;
    enum ll_dtype meant = given ? ll_dtype_find(given) : LL_DTYPE_COUNT; /* as others spell it, too */
    if (*numeric == LL_NUMERIC_NONE && meant != LL_DTYPE_COUNT)
        *numeric = (enum ll_numeric)meant;
    if (!formats && *numeric > LL_NUMERIC_NONE)
        *numeric = LL_NUMERIC_NONE;
    if (given && *numeric == LL_NUMERIC_NONE) {
        struct ll_str list = {0};
        for (size_t i = 0; i < count; i++)
            ll_str_addf(&list, "%s%s", i ? ", " : "", names[i]);
        const char *nearest = ll_nearest(given, names, count);
        ll_cli_reject("there is no dtype `%s`; %s%s%s %s", given, nearest ? "did you mean `" : "",
                      nearest ? nearest : "", nearest ? "`? There are" : "there are",
                      list.failed ? "others" : list.text);
        ll_str_release(&list);
    }
    return !given || *numeric != LL_NUMERIC_NONE;
}

/* The same of --as, which changes all tensors. */
static bool read_type(const struct ll_args *args, const char *option, enum ll_dtype *dtype)
{
    enum ll_numeric numeric;
    bool read = read_numeric(args, option, false, &numeric);
    *dtype = (enum ll_dtype)numeric;
    return read;
}

/* The same of --gemm-dtype, in which networks multiply. */
static bool read_gemm_numeric(const struct ll_args *args, enum ll_numeric *numeric)
{
    if (!read_numeric(args, "gemm-dtype", true, numeric))
        return false;
    if (*numeric == LL_NUMERIC_NONE || ll_dtype_is_multiplied(ll_numeric_dtype(*numeric)))
        return true;
    ll_cli_reject("--gemm-dtype %s: expected a floating-point type, as f8 or bf16, int8 or int4",
                  ll_numeric_name(*numeric));
    return false;
}

static int retype(struct ll_trace *trace, enum ll_dtype dtype, const char *path)
{
    const char *trouble = NULL;
    if (dtype == LL_DTYPE_COUNT || ll_trace_change_dtype(trace, dtype, &trouble))
        return LL_DONE;
    return trouble ? ll_cli_reject("%s as %s: %s", path, ll_dtype_name(dtype), trouble)
                   : ll_cli_fail("memory ran out");
}

/* The pattern that --prune names; 0 of 0 without it. */
static bool read_pattern(const struct ll_args *args, struct ll_pattern *pattern)
{
    const char *given = ll_value(args, "prune", NULL);
    *pattern = (struct ll_pattern){0};
    if (!given || ll_sparsity_parse(given, pattern))
        return true;
    ll_cli_reject("--prune %s: expected %s", given, LL_SPARSITY_WANTED);
    return false;
}

static int prune(struct ll_trace *trace, const struct ll_pattern *pattern, const char *path)
{
    const char *trouble;
    char text[LL_PATTERN_TEXT];
    if (ll_prune_weights(trace, pattern, &trouble))
        return LL_DONE;
    ll_pattern_print(pattern, text);
    return trouble ? ll_cli_reject("%s: no weight can be pruned to %s: %s", path, text, trouble)
                   : ll_cli_fail("memory ran out");
}

/* Zeros of layers from --sparsity, and of all from --activation-sparsity behind them. */
static bool read_zeros(const struct ll_args *args, struct ll_changes *changes)
{
    const char *path = ll_value(args, "sparsity", NULL), *given = ll_value(args, "activation-sparsity", NULL);
    struct ll_diags diags = {0};
    struct ll_sparsity *rules = NULL, *all;
    struct ll_pattern inputs = {0};
    size_t count = 0;
    if (given && (!ll_sparsity_parse(given, &inputs) || !inputs.unstructured))
        return ll_cli_reject("--activation-sparsity %s: expected the share that is zero, as 45%%", given) ==
               LL_DONE;
    if (path) {
        struct ll_contents text;
        enum ll_status status = ll_read_whole(path, 1 << 24, args->arena, &text);
        if (status != LL_OK)
            return ll_cli_reject("%s: %s", path, ll_status_text(status)) == LL_DONE;
        bool read = ll_sparsity_read(text.bytes, text.length, path, args->arena, &diags, &rules, &count);
        ll_print_diags(&diags);
        ll_diags_release(&diags);
        if (!read)
            return false;
    }
    all = ll_alloc(args->arena, count + 1, sizeof *all);
    if (!all)
        return ll_cli_fail("memory ran out") == LL_DONE;
    for (size_t i = 0; i < count; i++)
        all[i] = rules[i];
    if (given)
        all[count++] = (struct ll_sparsity){.layer = "*", .inputs_nonzero = inputs.kept * 100 / inputs.of};
    changes->zeros = all;
    changes->zero_count = count;
    return true;
}

static int apply_zeros(struct ll_trace *trace, const struct ll_changes *changes, const char *path)
{
    uint64_t weights, inputs;
    const char *trouble;
    if (changes->zero_count == 0)
        return LL_DONE;
    if (!ll_trace_sparsify(trace, changes->zeros, changes->zero_count, &weights, &inputs, &trouble))
        return trouble ? ll_cli_reject("%s: zeros: %s", path, trouble) : ll_cli_fail("memory ran out");
    if (weights + inputs > 0)
        return LL_DONE;
    return ll_cli_reject("%s: no layer has a scope that the sparsity names, with a GEMM or convolution in it",
                         path);
}

static int store(struct ll_trace *trace, enum ll_numeric numeric, const char *path)
{
    const char *trouble;
    if (ll_store_weights(trace, numeric, &trouble))
        return LL_DONE;
    return trouble ? ll_cli_reject("%s: no weight can be quantized to %s: %s", path, ll_numeric_name(numeric),
                                   trouble)
                   : ll_cli_fail("memory ran out");
}

/* The trace with its GEMMs and convolutions of weights in this type, in the place of the one given. */
static int narrow_products(struct ll_trace **trace, enum ll_numeric numeric, const char *path)
{
    const char *trouble;
    return ll_narrow_gemms(trace, numeric, &trouble) ? LL_DONE
                                                     : ll_cli_reject("%s: no GEMM can be computed in %s: %s",
                                                                     path, ll_numeric_name(numeric), trouble);
}

/* The factor that --gaps names; 1 without it. */
static bool read_gaps(const struct ll_args *args, double *factor)
{
    const char *given = ll_value(args, "gaps", "keep");
    if (ll_gaps_parse(given, factor))
        return true;
    ll_cli_reject("--gaps %s: expected %s", given, LL_GAPS_WANTED);
    return false;
}

bool ll_read_changes(const struct ll_args *args, struct ll_changes *changes)
{
    return read_type(args, "as", &changes->dtype) && read_gemm_numeric(args, &changes->gemms) &&
           read_numeric(args, "weights-as", true, &changes->weights) &&
           read_pattern(args, &changes->pattern) && read_zeros(args, changes) &&
           read_gaps(args, &changes->gaps);
}

int ll_change(struct ll_trace **trace, const struct ll_changes *changes, const char *path)
{
    assert(*trace);
    int status = retype(*trace, changes->dtype, path);
    if (status == LL_DONE)
        status = apply_zeros(*trace, changes, path);
    if (status == LL_DONE)
        status = prune(*trace, &changes->pattern, path);
    if (status == LL_DONE)
        status = narrow_products(trace, changes->gemms, path);
    if (status == LL_DONE)
        status = store(*trace, changes->weights, path);
    if (status == LL_DONE && !ll_gaps_scale(*trace, changes->gaps))
        status = ll_cli_fail("memory ran out");
    return status;
}

enum { MOST_SAMPLES = 1 << 30 };

/* Whether the trace knows which dimensions are its batch, or can be said. */
static bool find_batch(struct ll_trace *trace, uint64_t was, const char **trouble)
{
    uint64_t said = ll_trace_batch(trace);
    *trouble = NULL;
    if (ll_trace_knows_batch(trace) && (was == 0 || was == said))
        return true;
    if (was == 0 && said == 0)
        *trouble = "it does not say what its batch is: give it with --batch-was";
    else if (ll_trace_knows_batch(trace))
        *trouble = "its batch is known, and is not what --batch-was says";
    return !*trouble && ll_trace_find_batch(trace, was ? was : said, trouble);
}

/* The trace at this batch, 0: at the one it was recorded at, which `was` says where it does not itself. */
static struct ll_trace *take_batch(struct ll_trace *trace, uint64_t batch, uint64_t was, const char *path,
                                   int *status)
{
    const char *trouble = NULL;
    struct ll_trace *other = NULL;
    if (batch == 0 && was == 0)
        return trace;
    if (find_batch(trace, was, &trouble))
        other = ll_trace_rescale(trace, batch ? batch : was, &trouble);
    if (!other)
        *status = trouble
                      ? ll_cli_reject("%s at a batch of %" PRIu64 ": %s", path, batch ? batch : was, trouble)
                      : ll_cli_fail("memory ran out");
    ll_trace_free(trace);
    return other;
}

static struct ll_trace *give_up(struct ll_trace *trace, int *status)
{
    *status = LL_WRONG;
    ll_trace_free(trace);
    return NULL;
}

struct ll_trace *ll_rebatch(const struct ll_args *args, struct ll_trace *trace, const char *path, int *status)
{
    assert(trace);
    uint64_t batch, was;
    *status = LL_DONE;
    if (!ll_value_count(args, "batch", 1, MOST_SAMPLES, 0, &batch) ||
        !ll_value_count(args, "batch-was", 1, MOST_SAMPLES, 0, &was))
        return give_up(trace, status);
    return take_batch(trace, batch, was, path, status);
}

struct ll_trace *ll_know_batch(const struct ll_args *args, struct ll_trace *trace, const char *path,
                               int *status)
{
    assert(trace);
    uint64_t was;
    *status = LL_DONE;
    if (!ll_value_count(args, "batch-was", 1, MOST_SAMPLES, 0, &was))
        return give_up(trace, status);
    if (was == 0 && ll_trace_batch(trace) == 0) {
        ll_cli_reject("%s does not say how many samples a step has: give them with --batch-was", path);
        return give_up(trace, status);
    }
    const char *trouble = NULL;
    if (was == 0 && !ll_trace_knows_batch(trace) && !find_batch(trace, 0, &trouble) && !trouble) {
        *status = ll_cli_fail("memory ran out");
        ll_trace_free(trace);
        return NULL;
    }
    if (trouble)
        ll_cli_reject("%s: only micro-batches of its own %" PRIu64 " samples can be tried: %s", path,
                      ll_trace_batch(trace), trouble);
    return take_batch(trace, 0, was, path, status);
}

bool ll_load_residuals(const char *const *folders, struct ll_arena *arena, struct ll_diags *diags,
                       struct ll_residuals *residuals, const char **folder)
{
    struct ll_contents text = {0};
    enum ll_status status = LL_NO_FILE;
    const char *path = NULL;
    *residuals = (struct ll_residuals){0};
    *folder = NULL;
    for (size_t i = 0; folders && folders[i] && status != LL_OK; i++) {
        *folder = folders[i];
        path = ll_format(arena, "%s/residuals.csv", folders[i]);
        status = path ? ll_read_whole(path, MOST_BYTES, arena, &text) : LL_NO_MEMORY;
    }
    if (status == LL_OK)
        return ll_residuals_read(text.bytes, text.length, path, arena, diags, residuals);
    *folder = NULL;
    return true;
}

/* Formats of other tools. */

const struct ll_format *ll_find_format(const char *name, bool read)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t count = 0;
    for (const struct ll_format *format = ll_formats; format->name && count < MOST; format++) {
        if (read ? !format->import : !format->export)
            continue;
        if (strcmp(format->name, name) == 0)
            return format;
        names[count++] = format->name;
    }
    ll_cli_reject_unknown(read ? "format to import" : "format to export", name, names, count,
                          read ? "leadline import --help" : "leadline export --help");
    return NULL;
}

bool ll_read_choices(const struct ll_args *args, bool batched, struct ll_choice **choices, uint64_t *count)
{
    const char *given, *batch = batched ? ll_value(args, "batch", NULL) : NULL;
    *choices = ll_alloc(args->arena, args->given_count + 1, sizeof **choices);
    for (*count = 0; *choices && (given = ll_value_at(args, "param", *count)); ++*count) {
        const char *equals = strchr(given, '=');
        if (!equals || equals == given) {
            ll_cli_reject("-p %s: expected key=value", given);
            return false;
        }
        (*choices)[*count] = (struct ll_choice){
            .key = ll_copy_text(args->arena, given, (size_t)(equals - given)), .value = equals + 1};
    }
    if (*choices && batch)
        (*choices)[(*count)++] = (struct ll_choice){.key = "batch", .value = batch};
    return *choices != NULL;
}

/* Plans. */

enum { MOST_PLAN_BYTES = 1 << 20 };

static bool read_plan_file(const struct ll_args *args, const char *path, struct ll_parallel *plan,
                           struct ll_diags *diags)
{
    struct ll_contents text = {0};
    enum ll_status status = ll_read_whole(path, MOST_PLAN_BYTES, args->arena, &text);
    if (status != LL_OK)
        return ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    return ll_plan_parse(plan, (const char *)text.bytes, text.length, path, diags);
}

static bool is_given(const struct ll_args *args, const struct ll_plan_key *key)
{
    return key->value ? ll_value(args, key->option, NULL) != NULL : ll_flag(args, key->option);
}

/* A flag turns round what is without it. */
static bool read_option(const struct ll_args *args, const struct ll_plan_key *key, struct ll_parallel *plan,
                        struct ll_diags *diags)
{
    bool turns_on = strncmp(key->option, "no-", 3) != 0;
    const char *text = key->value ? ll_value(args, key->option, NULL) : turns_on ? "true" : "false";
    const char *option = ll_format(args->arena, "--%s", key->option);
    return ll_plan_set(plan, key->key, text, (struct ll_place){.file = option}, diags);
}

bool ll_read_plan(const struct ll_args *args, struct ll_parallel *plan, bool *given)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    const char *path = ll_value(args, "plan", NULL);
    if (!diags)
        return ll_cli_fail("memory ran out") == LL_DONE;
    *plan = ll_plan_of_one();
    *given = path != NULL;
    bool right = !path || read_plan_file(args, path, plan, diags);
    for (size_t i = 0; i < ll_plan_key_count(); i++) {
        struct ll_plan_key key = ll_plan_key_at(i);
        if (!is_given(args, &key))
            continue;
        *given |= strcmp(key.key, "batch") != 0; /* which by itself is no plan */
        right = read_option(args, &key, plan, diags) && right;
    }
    ll_print_diags(diags);
    ll_diags_release(diags);
    free(diags);
    return right;
}
