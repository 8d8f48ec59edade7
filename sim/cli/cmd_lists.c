/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that list what there is: machines, models, ops. */
#define _XOPEN_SOURCE 700 /* realpath */
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/array/choose.h"
#include "sim/cli/commands.h"
#include "sim/cli/command.h"
#include "sim/cli/load.h"
#include "sim/interchange/interchange.h"
#include "sim/machine/machine.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"
#include "tracer/ir/ops.h"

/* leadline machines [NAME]: the machines at hand; one of them, checked and resolved. */

/* A rate, or a dash where no unit computes such a type. */
static const char *rate(struct ll_human *human, double flops)
{
    return flops > 0 ? ll_format_si(human, flops, "FLOP/s") : "-";
}

/* How well the devices were predicted where somebody measured them, from the first validated.csv in the
 * folders of machines: machine,points,mape, a line for each stack under which a device was measured. */
struct validated {
    const char *machine, *device; /* device: of which the machine is, alone or under a stack */
    double points, mape;
};
struct validations {
    struct validated *at;
    size_t count;
};

enum { MOST_VALIDATED = 1 << 20 };

static bool take_validated(struct ll_csv *csv, const char *const *folders, struct validated *row)
{
    size_t count;
    const struct ll_csv_field *fields = ll_csv_next(csv, &count);
    if (!fields || count != 3)
        return false;
    struct ll_machine *machine = ll_load_machine(fields[0].text, folders, NULL, 0);
    const char *device = machine && machine->device ? machine->device : machine ? machine->stem : "";
    *row = (struct validated){fields[0].text, ll_copy_text(csv->arena, device, strlen(device)),
                              ll_strtod(fields[1].text, NULL), ll_strtod(fields[2].text, NULL)};
    ll_machine_free(machine);
    return row->device != NULL;
}

static struct validations read_validations(const char *const *folders, struct ll_arena *arena)
{
    struct validations found = {ll_alloc(arena, 1024, sizeof(struct validated)), 0};
    struct ll_diags unheard = {0};
    struct ll_contents text = {0};
    enum ll_status status = LL_NO_FILE;
    for (; *folders && status != LL_OK; folders += status != LL_OK)
        status = ll_read_whole(ll_format(arena, "%s/validated.csv", *folders), MOST_VALIDATED, arena, &text);
    struct ll_csv csv = {
        .at = text.bytes, .end = text.bytes + text.length, .arena = arena, .diags = &unheard};
    size_t columns;
    if (status == LL_OK && found.at && ll_csv_next(&csv, &columns)) /* the header */
        while (found.count < 1024 && take_validated(&csv, folders, &found.at[found.count]))
            found.count++;
    ll_diags_release(&unheard);
    return found;
}

/* Over all stacks under which the device was measured; no points: it was not. A system is not asked. */
static struct validated validated_of(const struct validations *all, const char *device)
{
    struct validated sum = {.device = device};
    for (size_t i = 0; i < all->count; i++)
        if (strcmp(all->at[i].device, device) == 0) {
            sum.points += all->at[i].points;
            sum.mape += all->at[i].points * all->at[i].mape;
        }
    sum.mape /= sum.points > 0 ? sum.points : 1;
    return sum;
}

struct listing {
    const char *const *folders;
    struct ll_arena *arena;
    struct validations validations;
    struct ll_str *out;
    struct ll_json *json; /* NULL: tables */
};

static void machine_row(const struct listing *listing, const struct ll_machine *machine,
                        struct ll_table *table)
{
    struct ll_human f32, f16, int8, bandwidth, size, error;
    double half = fmax(ll_machine_peak_flops(machine, LL_F16), ll_machine_peak_flops(machine, LL_BF16));
    half = fmax(half, ll_machine_peak_flops(machine, LL_I16));
    const struct validated validated = validated_of(&listing->validations, machine->stem);
    ll_table_cell(table, "%s", machine->stem);
    if (machine->year)
        ll_table_cell(table, "%" PRIu64, machine->year);
    else
        ll_table_cell(table, "%s", "");
    ll_table_cell(table, "%s", rate(&f32, ll_machine_peak_flops(machine, LL_F32)));
    ll_table_cell(table, "%s", rate(&f16, half));
    ll_table_cell(table, "%s", rate(&int8, ll_machine_peak_flops(machine, LL_INT8)));
    ll_table_cell(table, "%s",
                  ll_format_binary(&size, (double)machine->levels[machine->level_count - 1].size_bytes));
    ll_table_cell(table, "%s", ll_format_si(&bandwidth, ll_machine_memory_Bps(machine), "B/s"));
    if (validated.points > 0)
        ll_table_cell(table, "%.0f point%s, %s", validated.points,
                      ll_plural((unsigned long long)validated.points),
                      ll_format_percent(&error, validated.mape));
    else
        ll_table_cell(table, "not validated");
    ll_table_end_row(table);
}

/* With the name by which it is found, which its file does not say. */
static void machine_object(const struct listing *listing, const struct ll_machine *machine, const char *part,
                           const char **stacks, size_t stack_count)
{
    struct ll_json *json = listing->json;
    const struct validated validated = validated_of(&listing->validations, machine->stem);
    ll_json_open_object(json);
    ll_json_put_text(json, "machine", machine->stem);
    ll_json_put_text(json, "class", part);
    ll_json_put_text(json, "family", machine->family);
    ll_json_key(json, "stacks");
    ll_json_open_list(json);
    for (size_t i = 0; i < stack_count; i++)
        ll_json_text(json, stacks[i]);
    ll_json_close_list(json);
    ll_json_key(json, "validated");
    ll_json_open_object(json);
    ll_json_put_number(json, "points", validated.points);
    ll_json_put_number(json, "mape", validated.points > 0 ? validated.mape : NAN);
    ll_json_close_object(json);
    ll_machine_json_keys(machine, json);
    ll_json_close_object(json);
}

/* The machines of a part of the folders, those of a kind where one is named, in a table of their own. */
static int list_part(const struct listing *listing, const char *heading, const char *part, const char *kind)
{
    const char **stems, **stacks;
    size_t count, stack_count, shown = 0;
    struct ll_map under = {0}; /* stacks for any of them */
    int status = LL_DONE;
    if (!ll_machine_list(listing->folders, part, listing->arena, &stems, &count))
        return ll_cli_fail("memory ran out");
    struct ll_table *table =
        ll_table_new("machine|>?year|>peak f32|>16-bit|>?8-bit|>?size|>memory|>validated");
    for (size_t i = 0; i < count; i++) {
        struct ll_machine *machine = ll_load_machine(stems[i], listing->folders, NULL, 0);
        if (!machine) {
            status = LL_WRONG;
            continue;
        }
        bool wanted = !kind || strcmp(machine->kind, kind) == 0;
        if (!machine->family || !ll_stack_list(listing->folders, machine->path, machine->family,
                                               listing->arena, &stacks, &stack_count))
            stack_count = 0;
        if (wanted && listing->json)
            machine_object(listing, machine, heading, stacks, stack_count);
        else if (wanted)
            machine_row(listing, machine, table);
        for (size_t k = 0; k < stack_count && wanted; k++)
            ll_map_intern(&under, stacks[k], strlen(stacks[k]), NULL);
        shown += wanted;
        ll_machine_free(machine);
    }
    if (shown && !listing->json) {
        struct ll_str title = {0};
        ll_str_addf(&title, "%s", heading);
        for (uint32_t i = 0; i < under.count; i++)
            ll_str_addf(&title, "%s%.*s", i ? ", " : ", under ", (int)under.entries[i].length,
                        (const char *)under.entries[i].bytes);
        ll_str_add(listing->out, listing->out->length ? "\n" : "");
        ll_wrap_behind(listing->out, 0, title.failed ? heading : title.text, 0, ll_screen_width());
        ll_str_release(&title);
        ll_table_top(table, ll_output_top());
        ll_table_print(table, ll_screen_width(), listing->out);
    }
    ll_table_free(table);
    ll_map_release(&under);
    return status;
}

/* The list of machines, a table for each class; one that cannot be read is complained about, and the
 * others are listed all the same. */
static int list(const struct ll_args *args, const char *const *folders)
{
    static const struct {
        const char *heading, *part, *kind;
    } parts[] = {{"GPUs", "devices/", "gpu"},
                 {"systolic", "devices/", "systolic"},
                 {"processors", "devices/", "cpu"},
                 {"other devices", "devices/", "custom"},
                 {"systems", "systems/", NULL},
                 {"accelerators", "accelerators/", NULL},
                 {"others", "", NULL}};
    const char **stems;
    size_t count;
    if (!ll_machine_list(folders, NULL, args->arena, &stems, &count))
        return ll_cli_fail("memory ran out");
    if (count == 0)
        return ll_no_machines(folders);
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    bool as_json = ll_flag(args, "json");
    const struct listing listing = {.folders = folders,
                                    .arena = args->arena,
                                    .validations = read_validations(folders, args->arena),
                                    .out = &out,
                                    .json = as_json ? &json : NULL};
    int status = LL_DONE;
    if (as_json) {
        ll_json_open_document(&json, "machines", 1);
        ll_json_key(&json, "machines");
        ll_json_open_list(&json);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int listed = list_part(&listing, parts[i].heading, parts[i].part, parts[i].kind);
        status = listed == LL_DONE ? status : listed;
    }
    if (as_json) {
        ll_json_close_list(&json);
        ll_json_close_object(&json);
    }
    int printed = ll_print(&out);
    return status == LL_DONE ? printed : status;
}

/* What one looks for first, as a comment before the file: each type that something computes. */
/* The stacks that are for the device, and how well it was predicted under each that was measured. */
static void describe_device(const struct ll_machine *machine, const char *const *folders,
                            struct ll_arena *arena, struct ll_str *out)
{
    const struct validations all = read_validations(folders, arena);
    const char **stacks;
    size_t count, measured = 0;
    ll_str_add(out, "\n# stacks:");
    if (ll_stack_list(folders, machine->path, machine->family, arena, &stacks, &count))
        for (size_t i = 0; i < count; i++)
            ll_str_addf(out, "%s %s", i ? "," : "", stacks[i]);
    for (size_t i = 0; i < all.count; i++) {
        struct ll_human error;
        if (strcmp(all.at[i].device, machine->device) != 0)
            continue;
        ll_str_addf(out, "%s %s %.0f point%s, MAPE %s",
                    measured++ ? ";" : "\n# validated:", all.at[i].machine, all.at[i].points,
                    ll_plural((unsigned long long)all.at[i].points),
                    ll_format_percent(&error, all.at[i].mape));
    }
    ll_str_add(out, measured ? "" : "\n# not validated");
    ll_str_add(out, machine->estimated ? "; its figures are estimated from one data sheet" : "");
}

static void verdict(const struct ll_machine *machine, const char *const *folders, struct ll_arena *arena,
                    struct ll_str *out)
{
    const struct ll_level *memory = &machine->levels[machine->level_count - 1];
    double bandwidth = ll_machine_memory_Bps(machine);
    struct ll_human rate_text, bandwidth_text;
    ll_str_addf(out, "# no mistakes; %s sustains %s", memory->name,
                ll_format_si(&bandwidth_text, bandwidth, "B/s"));
    for (int d = 0; d < LL_DTYPE_COUNT; d++) {
        double peak = ll_machine_peak_flops(machine, (enum ll_dtype)d);
        if (peak > 0)
            ll_str_addf(out, "\n#   %-5s %s peak, ridge point %.3g FLOP/B", ll_dtype_name((enum ll_dtype)d),
                        ll_format_si(&rate_text, peak, "FLOP/s"), peak / bandwidth);
    }
    if (machine->family)
        describe_device(machine, folders, arena, out);
    ll_str_add(out, "\n\n");
}

static int show(const struct ll_args *args, const char *const *folders)
{
    size_t override_count;
    const struct ll_override *overrides = ll_read_overrides(args, &override_count);
    struct ll_machine *machine =
        overrides ? ll_load_machine(args->words[0], folders, overrides, override_count) : NULL;
    if (!machine)
        return LL_WRONG;
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    if (ll_flag(args, "json")) {
        ll_machine_json(machine, &json);
    } else {
        verdict(machine, folders, args->arena, &out);
        ll_machine_yaml(machine, &out);
    }
    ll_machine_free(machine);
    return ll_print_data(&out);
}

/* --import and --export: machines of other tools. */

enum { MOST_FORMATS = 16 };

static const struct ll_peer_format *find_format(const char *name)
{
    const char *names[MOST_FORMATS];
    size_t count = 0;
    for (const struct ll_peer_format *f; count < MOST_FORMATS && (f = ll_peer_format_at(count)); count++) {
        if (!strcmp(f->name, name))
            return f;
        names[count] = f->name;
    }
    ll_cli_reject_unknown("format", name, names, count, "leadline machines --help");
    return NULL;
}

static void left_json(const struct ll_left_list *left, bool assumed, const char *key, struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_list(json);
    for (const struct ll_left *l = left->first; l; l = l->next) {
        if (l->assumed != assumed)
            continue;
        ll_json_open_object(json);
        ll_json_put_text(json, "key", l->key);
        if (!assumed)
            ll_json_put_text(json, "file", l->place.file);
        if (!assumed && l->place.line > 0)
            ll_json_put_count(json, "line", l->place.line);
        ll_json_put_text(json, "why", l->why);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* The last part of a path. */
static const char *last_key(const struct ll_left *left)
{
    const char *dot = strrchr(left->key, '.');
    return left->assumed || !dot ? left->key : dot + 1;
}

/* How many entries say the same of other places; 0 where one before it did. */
static size_t count_alike(const struct ll_left_list *left, const struct ll_left *entry)
{
    size_t count = 0;
    for (const struct ll_left *l = left->first; l; l = l->next) {
        bool same = l->assumed == entry->assumed && !strcmp(l->why, entry->why) &&
                    !strcmp(last_key(l), last_key(entry));
        if (l == entry && count > 0)
            return 0;
        count += same;
    }
    return count;
}

/* What was left out, a row for each key and reason, with its first place; then what was assumed. */
static void left_text(const struct ll_left_list *left, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("key|where|why");
    for (int assumed = 0; assumed < 2; assumed++)
        for (const struct ll_left *l = left->first; l; l = l->next) {
            size_t alike = count_alike(left, l);
            char more[32] = "";
            if (alike > 1)
                snprintf(more, sizeof more, " (%zu places)", alike);
            if (alike == 0 || l->assumed != (assumed == 1))
                continue;
            if (l->assumed)
                ll_table_row(table, "%s|assumed|%s", l->key, l->why);
            else if (l->place.line > 0)
                ll_table_row(table, "%s|%s:%" PRIu64 "|%s%s", last_key(l), ll_base_name(l->place.file),
                             l->place.line, l->why, more);
            else
                ll_table_row(table, "%s|left out|%s%s", last_key(l), l->why, more);
        }
    if (left->first)
        ll_show_table(table, out);
    else
        ll_table_free(table);
}

/* The report: on standard output where the machine goes to a file, else, as text, on standard error. */
static int report_left(const struct ll_args *args, const struct ll_left_list *left, const char *output)
{
    struct ll_str out = {0};
    if (ll_flag(args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_json_open_document(&json, "interchange", 1);
        ll_json_put_text(&json, "file", output);
        left_json(left, false, "left_out", &json);
        left_json(left, true, "assumed", &json);
        ll_json_close_object(&json);
        return ll_print(&out);
    }
    if (output) {
        ll_str_addf(&out, "wrote %s; %zu key%s left out, %zu assumed\n", output, left->count - left->assumed,
                    ll_plural(left->count - left->assumed), left->assumed);
        left_text(left, &out);
        return ll_print(&out);
    }
    left_text(left, &out);
    for (const char *line = out.text ? out.text : ""; *line;
         line += strcspn(line, "\n") + (strchr(line, '\n') != NULL))
        ll_cli_tell("%.*s\n", (int)strcspn(line, "\n"), line);
    ll_str_release(&out);
    return LL_DONE;
}

/* The name beside an output: its own with another ending. */
static const char *name_beside(const struct ll_args *args, const char *path, const char *ending)
{
    const char *base = ll_base_name(path);
    return ll_format(args->arena, "%.*s%.*s%s", (int)(base - path), path, (int)ll_stem_length(base), base,
                     ending);
}

/* Writes what came out: a file, and a second one of this ending beside it (NULL: there is none); or the one
 * to standard output. */
static int give_out(const struct ll_args *args, struct ll_str out[LL_PEER_OUTPUTS], const char *second,
                    const struct ll_left_list *left)
{
    const char *path = ll_value(args, "output", NULL),
               *beside = second && path ? name_beside(args, path, second) : NULL;
    if (second && !path)
        return ll_cli_reject("what is exported is two files; name the first one, as -o network.yml");
    if (beside && (!strcmp(beside, path) || !ll_spares_inputs(args, "the second file", beside)))
        return ll_cli_reject("-o %s: the second file has this name; choose another ending", path);
    int status = !path ? ll_print_data(&out[0]) : ll_write_file(path, &out[0]) ? LL_DONE : LL_FAILED;
    if (status == LL_DONE && beside)
        status = ll_write_file(beside, &out[1]) ? LL_DONE : LL_FAILED;
    return status == LL_DONE ? report_left(args, left, path) : status;
}

/* Whether a file that is read is another one than that which is written. */
static bool spares(const void *args, const char *path)
{
    const char *output = ll_value(args, "output", NULL);
    return !output || !ll_is_same_file(output, path);
}

/* Whether what was imported is a machine. */
static bool is_machine(const struct ll_args *args, const struct ll_str *yaml)
{
    const char *const *folders = ll_machine_folders(args->arena);
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        folders && !yaml->failed
            ? ll_machine_parse(yaml->text, yaml->length, ll_value(args, "output", "imported.yaml"), folders,
                               NULL, 0, &diags)
            : NULL;
    bool right = machine && ll_array_check(machine, &diags);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    ll_machine_free(machine);
    if (!right)
        ll_cli_reject("%s: what it says makes no machine, as above; nothing is written", args->words[0]);
    return right;
}

/* The device as the file that is written has to name it: `inherits` looks files up beside that. A file, with
 * a stack behind it or without, has its name where both lie in one folder, else its place. */
static const char *device_of(const struct ll_args *args)
{
    const char *output = ll_value(args, "output", ""), *device = ll_value(args, "device", NULL);
    size_t folder = (size_t)(ll_base_name(output) - output), length = device ? strlen(device) : 0;
    struct stat there;
    char place[PATH_MAX];
    if (!device || folder == 0)
        return device;
    if (stat(device, &there) != 0)
        length = strcspn(device, "+");
    const char *file = ll_copy_text(args->arena, device, length);
    if (!file || stat(file, &there) != 0 || !S_ISREG(there.st_mode))
        return device;
    if (folder == (size_t)(ll_base_name(file) - file) && !strncmp(file, output, folder))
        return device + folder;
    return realpath(file, place) ? ll_format(args->arena, "%s%s", place, device + length) : device;
}

static int import_machine(const struct ll_args *args)
{
    const struct ll_peer_format *format = find_format(ll_value(args, "import", NULL));
    struct ll_peer_file *files = ll_alloc(args->arena, args->word_count + 1, sizeof *files);
    struct ll_peer_import import = {.files = files,
                                    .count = args->word_count,
                                    .device = device_of(args),
                                    .spares = spares,
                                    .context = args};
    struct ll_diags diags = {0};
    struct ll_left_list left = {NULL, NULL, 0, 0};
    struct ll_str yaml[LL_PEER_OUTPUTS] = {{0}};
    if (!format)
        return LL_WRONG;
    if (args->word_count == 0 || args->word_count > format->most_files)
        return ll_cli_reject("--import %s takes %s", format->name, format->files);
    for (size_t i = 0; i < args->word_count; i++) {
        struct ll_contents contents;
        enum ll_status status =
            files ? ll_read_whole(args->words[i], LL_YAML_LIMIT_BYTES, args->arena, &contents) : LL_NO_MEMORY;
        if (status != LL_OK)
            return ll_cli_reject("%s: %s", args->words[i], ll_status_text(status));
        files[i] = (struct ll_peer_file){args->words[i], contents.bytes, contents.length};
    }
    bool read = ll_peer_import(format, &import, args->arena, &yaml[0], &left, &diags);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    int status = read && is_machine(args, &yaml[0]) ? give_out(args, yaml, NULL, &left) : LL_WRONG;
    ll_str_release(&yaml[0]);
    return status;
}

static int export_machine(const struct ll_args *args, const char *const *folders)
{
    const struct ll_peer_format *format = find_format(ll_value(args, "export", NULL));
    struct ll_diags diags = {0};
    struct ll_left_list left = {NULL, NULL, 0, 0};
    struct ll_str out[LL_PEER_OUTPUTS] = {{0}};
    size_t override_count;
    if (!format)
        return LL_WRONG;
    if (args->word_count != 1)
        return ll_cli_reject("--export %s takes one machine", format->name);
    const struct ll_override *overrides = ll_read_overrides(args, &override_count);
    struct ll_machine *machine =
        overrides ? ll_load_machine(args->words[0], folders, overrides, override_count) : NULL;
    if (!machine)
        return LL_WRONG;
    bool written = ll_peer_export(format, machine, args->arena, out, &left, &diags);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    int status = written ? give_out(args, out, format->endings[1], &left) : LL_WRONG;
    for (int i = 0; i < LL_PEER_OUTPUTS; i++)
        ll_str_release(&out[i]);
    ll_machine_free(machine);
    return status;
}

static bool options_fit(const struct ll_args *args)
{
    bool import = ll_value(args, "import", NULL), export = ll_value(args, "export", NULL);
    if (import && export)
        return ll_cli_reject("--import reads files of another tool, --export writes them; one of both") ==
               LL_DONE;
    if (!import && !export)
        return ll_without(args, (const char *const[]){"output", "device", NULL},
                          "belongs to --import and --export");
    if (import && !ll_without(args, (const char *const[]){"set", "keys", NULL},
                              "means nothing with --import; change the machine file that it writes"))
        return false;
    if (ll_flag(args, "json") && !ll_value(args, "output", NULL))
        return ll_cli_reject("--json says what was left out; -o FILE says where the machine goes") == LL_DONE;
    const char *format = import ? ll_value(args, "import", "") : "";
    return !ll_value(args, "device", NULL) || !strcmp(format, "astra-sim") ||
           ll_cli_reject("--device is for --import astra-sim, whose network joins devices") == LL_DONE;
}

static int run_machines(const struct ll_args *args)
{
    if (!options_fit(args))
        return LL_WRONG;
    if (ll_value(args, "import", NULL))
        return import_machine(args);
    const char *const *folders = ll_machine_folders(args->arena);
    if (!folders)
        return ll_cli_fail("memory ran out");
    if (ll_value(args, "export", NULL))
        return export_machine(args, folders);
    if (ll_flag(args, "keys") && (ll_flag(args, "json") || ll_flag(args, "set") || args->word_count))
        return ll_cli_reject("--keys stands alone; it prints a page of text");
    if (ll_flag(args, "set") && !args->word_count)
        return ll_cli_reject(
            "--set changes one machine; name it, as in leadline machines custom_example --set ...");
    if (ll_flag(args, "keys")) {
        struct ll_str out = {0};
        ll_machine_reference(&out);
        return ll_print_data(&out);
    }
    if (args->word_count > 1)
        return ll_cli_reject("one machine at a time");
    return args->word_count ? show(args, folders) : list(args, folders);
}

static const struct ll_option options[] = {
    {"keys", 0, NULL, "print the key reference: every key with its unit, bounds and meaning"},
    {"set", 0, "PATH=VALUE", "change a value of the machine before it is shown"},
    {"import", 0, "FORMAT",
     "write a machine of another tool as a machine file, and say what it has no place for: zigzag (also "
     "systems of Stream), timeloop, scalesim or astra-sim"},
    {"export", 0, "FORMAT", "write a machine as such a tool's file, and say what that has no place for"},
    {"device", 0, "MACHINE",
     "with --import astra-sim: the device that the network joins (default: a roof of the "
     "system's peak-perf and local-mem-bw)"},
    {"output", 'o', "FILE",
     "where --import and --export write to (default: standard output); the system of astra-sim "
     "is written beside it, as .json"},
    {0},
};

const struct ll_command ll_command_machines = {
    .name = "machines",
    .rows = "machines|left_out+assumed",
    .cuts_tables = true,
    .synopsis = "[NAME | FILE | --import FORMAT FILE... | --export FORMAT NAME]",
    .summary = "list the machines; check one and show it resolved",
    .examples = "  leadline machines\n  leadline machines mine.yaml\n"
                "  leadline machines custom_example --set units.array.rows=128\n"
                "  leadline machines --import timeloop arch.yaml ERT.yaml problem.yaml -o mine.yaml\n"
                "  leadline machines --export zigzag eyeriss_array -o hardware.yaml\n",
    .details = "--import zigzag takes hardware and a mapping of ZigZag, or a system of Stream, whose cores "
               "are found beside it; timeloop an architecture with what there is of ERT, ART, constraints, "
               "problem and mapping, in any order; scalesim a .cfg; astra-sim a network and a system. What "
               "has no place in a machine file is listed by key, with line and reason.\n",
    .options = options,
    .writes = (const char *const[]){"output", NULL},
    .repeated = (const char *const[]){"set", NULL},
    .most_words = 64,
    .run = run_machines,
};

/* leadline models [NAME]: the reference workloads, their size and parameters. */

static void words_json(const struct ll_model *model, size_t param, struct ll_json *json)
{
    ll_json_put_text(json, "default", ll_model_word(model, param, model->params[param].standard));
    ll_json_key(json, "words");
    ll_json_open_list(json);
    for (const char *const *word = model->words[param]; *word; word++)
        ll_json_text(json, *word);
    ll_json_close_list(json);
}

static void params_json(const struct ll_model *model, struct ll_json *json)
{
    ll_json_key(json, "params");
    ll_json_open_list(json);
    for (size_t i = 0; i < model->param_count; i++) {
        const struct ll_model_param *param = &model->params[i];
        ll_json_open_object(json);
        ll_json_put_text(json, "key", param->name);
        if (model->words && model->words[i] == ll_any_text) {
            ll_json_put_text(json, "default", NULL);
        } else if (ll_model_word(model, i, 0)) {
            words_json(model, i, json);
        } else {
            ll_json_put_integer(json, "default", param->standard);
            ll_json_put_integer(json, "min", param->min);
            ll_json_put_integer(json, "max", param->max);
        }
        ll_json_put_text(json, "meaning", param->doc);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void model_json(const struct ll_model *model, const struct ll_model_size *size, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "name", model->name);
    ll_json_put_text(json, "suite", model->suite);
    ll_json_put_text(json, "doc", model->doc);
    ll_json_put_count(json, "parameters", size->parameters);
    ll_json_put_count(json, "forward_flops", size->forward_flops);
    ll_json_put_count(json, "batch", model->default_batch);
    if (model->data)
        ll_json_put_text(json, "data", model->data);
    params_json(model, json);
    ll_json_close_object(json);
}

static void model_row(const struct ll_model *model, const struct ll_model_size *size, struct ll_table *table)
{
    struct ll_human count, flops;
    ll_table_row(table, "%s|%s|%s|%s|%" PRIu64 "|%s", model->name, model->suite,
                 ll_format_grouped(&count, size->parameters),
                 ll_format_si(&flops, (double)size->forward_flops, "FLOP"), model->default_batch, model->doc);
}

/* Words have no bounds: they stand behind what the parameter means. */
static void word_row(const struct ll_model *model, size_t i, struct ll_table *table)
{
    const struct ll_model_param *param = &model->params[i];
    struct ll_str words = {0};
    for (const char *const *word = model->words[i]; *word; word++)
        ll_str_addf(&words, "%s%s", word == model->words[i] ? "" : ", ", *word);
    ll_table_row(table, "%s|%s|||%s; one of: %s", param->name, ll_model_word(model, i, param->standard),
                 param->doc, words.failed ? "" : words.text);
    ll_str_release(&words);
}

static void param_rows(const struct ll_model *model, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("-p key|>default|>from|>to|meaning");
    for (size_t i = 0; i < model->param_count; i++) {
        const struct ll_model_param *param = &model->params[i];
        if (model->words && model->words[i] == ll_any_text)
            ll_table_row(table, "%s||||%s", param->name, param->doc);
        else if (ll_model_word(model, i, 0))
            word_row(model, i, table);
        else
            ll_table_row(table, "%s|%" PRId64 "|%" PRId64 "|%" PRId64 "|%s", param->name, param->standard,
                         param->min, param->max, param->doc);
    }
    ll_str_add(out, "\n");
    ll_show_table(table, out);
}

static void data_row(const struct ll_model *model, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("option|what it is to name");
    ll_table_row(table, "--data PATH|%s", model->data);
    ll_str_add(out, "\n");
    ll_show_table(table, out);
}

static void model_page(const struct ll_model *model, struct ll_str *out)
{
    if (model->param_count > 0)
        param_rows(model, out);
    if (model->data)
        data_row(model, out);
}

static bool wanted(const struct ll_args *args, const struct ll_model *model)
{
    const char *suite = ll_value(args, "suite", NULL);
    return (!suite || strcmp(suite, model->suite) == 0) &&
           (args->word_count == 0 || ll_model_find(args->words[0]) == model);
}

static int list_models(const struct ll_args *args)
{
    struct ll_str out = {0};
    struct ll_diags diags = {0};
    struct ll_json json = {.out = &out, .indent = true};
    struct ll_table *table = ll_table_new("model|suite|>parameters|>forward per sample|>batch|what it is");
    bool as_json = ll_flag(args, "json"), measured = true;
    if (as_json) {
        ll_json_open_document(&json, "models", 1);
        ll_json_key(&json, "models");
        ll_json_open_list(&json);
    }
    for (size_t i = 0; i < ll_model_count(); i++) {
        const struct ll_model *model = ll_model_at(i);
        struct ll_model_size size;
        if (!wanted(args, model) || !(measured &= ll_model_measure(model, NULL, 0, &size, &diags)))
            continue;
        if (as_json)
            model_json(model, &size, &json);
        else
            model_row(model, &size, table);
    }
    if (as_json) {
        ll_json_close_list(&json);
        ll_json_close_object(&json);
    } else {
        ll_table_top(table, ll_output_top());
        ll_table_print(table, ll_screen_width(), &out);
        if (args->word_count)
            model_page(ll_model_find(args->words[0]), &out);
    }
    ll_table_free(table);
    ll_print_diags(&diags);
    ll_diags_release(&diags);
    int status = ll_print(&out);
    return measured ? status : LL_FAILED;
}

static int check_suite(const char *suite)
{
    enum { MOST = 64 };
    const char *suites[MOST];
    size_t count = 0;
    for (; count < ll_model_count() && count < MOST; count++) {
        suites[count] = ll_model_at(count)->suite;
        if (strcmp(suite, suites[count]) == 0)
            return LL_DONE;
    }
    return ll_cli_reject_unknown("suite", suite, suites, count, "leadline models");
}

/* A dry step of a training, counted as others do. */
static int account(const struct ll_args *args)
{
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    struct ll_run_options models_options = {.train = true, .dry_run = true, .steps = 1, .trace = &trace};
    if (args->word_count == 0)
        return ll_cli_reject("--accounting counts one model: name it");
    if (!ll_read_run_options(args, &models_options))
        return LL_WRONG;
    int status = ll_run_workload(ll_model_find(args->words[0]), &models_options, &report);
    if (status == LL_DONE)
        status = ll_show_accounts(args, trace);
    ll_trace_free(trace);
    return status;
}

static int run_models(const struct ll_args *args)
{
    const char *suite = ll_value(args, "suite", NULL);
    bool accounting;
    if (ll_read_accounting(args, &accounting) != LL_DONE)
        return LL_WRONG;
    if (args->word_count && !ll_find_model(args->words[0]))
        return LL_WRONG;
    if (suite && check_suite(suite) != LL_DONE)
        return LL_WRONG;
    if (!accounting && (ll_value(args, "param", NULL) || ll_value(args, "batch", NULL)))
        return ll_cli_reject("--batch and -p say what --accounting counts");
    if ((accounting || args->word_count) &&
        !ll_without(args, (const char *const[]){"suite", NULL}, "chooses what to list, not one model"))
        return LL_WRONG;
    return accounting ? account(args) : list_models(args);
}

static const struct ll_option models_options[] = {
    {"suite", 0, "SUITE", "list only this suite"},
    LL_ACCOUNTING_OPTION,
    {"batch", 0, "N", "with --accounting: samples per step (default: the model's own)"},
    {"param", 'p', "KEY=VALUE", "with --accounting: set a parameter of the model"},
    {0},
};

const struct ll_command ll_command_models = {
    .name = "models",
    .rows = "models",
    .cuts_tables = true,
    .synopsis = "[NAME]",
    .summary = "list the reference workloads and their parameters",
    .examples = "  leadline models\n  leadline models alexnet --json\n"
                "  leadline models word_lm --accounting catamount --batch 64 -p hidden=2004\n",
    .options = models_options,
    .repeated = (const char *const[]){"param", NULL},
    .most_words = 1,
    .run = run_models,
};

/* leadline ops [NAME]: the rows of the op table. */

static void row_json(struct ll_json *json, enum ll_op_kind kind)
{
    struct ll_op_words words = ll_op_words(kind);
    const char *const fields[][2] = {
        {"name", words.name},         {"class", ll_class_name(ll_op_class(kind))},
        {"shape", words.shape},       {"flops", words.flops},
        {"bytes", words.bytes},       {"work", words.work},
        {"gradient", words.gradient}, {"runs", words.runs}};
    ll_json_open_object(json);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        ll_json_put_text(json, fields[i][0], fields[i][1]);
    }
    ll_json_put_count(json, "special_functions", ll_op_specials(kind));
    ll_json_close_object(json);
}

static int list_json(enum ll_op_kind first, enum ll_op_kind last)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    ll_json_open_document(&json, "ops", 1);
    ll_json_key(&json, "ops");
    ll_json_open_list(&json);
    for (enum ll_op_kind kind = first; kind <= last; kind++)
        row_json(&json, kind);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
    return ll_print(&out);
}

static int list_text(enum ll_op_kind first, enum ll_op_kind last)
{
    struct ll_table *table = ll_table_new("op|class|?shape|flops|?bytes|work|?gradient|runs");
    for (enum ll_op_kind kind = first; kind <= last; kind++) {
        struct ll_op_words words = ll_op_words(kind);
        ll_table_row(table, "%s|%s|%s|%s|%s|%s|%s|%s", words.name, ll_class_name(ll_op_class(kind)),
                     words.shape, words.flops, words.bytes, words.work, words.gradient, words.runs);
    }
    struct ll_str out = {0};
    ll_show_table(table, &out);
    return ll_print(&out);
}

static int run_ops(const struct ll_args *args)
{
    enum ll_op_kind first = 0, last = (enum ll_op_kind)(ll_op_count() - 1);
    if (args->word_count) {
        first = last = ll_op_find(args->words[0]);
        const char *names[LL_OP_NONE];
        for (int kind = 0; kind < ll_op_count(); kind++)
            names[kind] = ll_op_name((enum ll_op_kind)kind);
        if (first == LL_OP_NONE)
            return ll_cli_reject_unknown("op", args->words[0], names, (size_t)ll_op_count(), "leadline ops");
    }
    return ll_flag(args, "json") ? list_json(first, last) : list_text(first, last);
}

const struct ll_command ll_command_ops = {
    .name = "ops",
    .rows = "ops",
    .cuts_tables = true,
    .synopsis = "[NAME]",
    .summary = "list the op kinds and the rules of each",
    .examples = "  leadline ops\n  leadline ops conv2d --json\n",
    .details = "Each op kind names its rules: how outputs follow from inputs (shape), what is counted "
               "(flops, bytes), what a machine is asked to do (work), how it is differentiated (gradient), "
               "and whether Leadline itself can compute it (runs).\n",
    .most_words = 1,
    .run = run_ops,
};
