/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share: a step as others count it, changes to a trace before it is simulated,
 * plans, batches, formats of files, and the simulation that an export may ask for. */
#include "sim/cli/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/load.h"
#include "sim/memory/footprint.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/ir/profile.h"
#include "tracer/transform/dtype.h"
#include "tracer/transform/rescale.h"

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
    ll_json_open_object(&json);
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

/* The type that an option names; LL_DTYPE_COUNT without it. False after saying that there is no such type. */
static bool read_type(const struct ll_args *args, const char *option, enum ll_dtype *dtype)
{
    const char *names[LL_DTYPE_COUNT], *given = ll_value(args, option, NULL);
    for (unsigned i = 0; i < LL_DTYPE_COUNT; i++)
        names[i] = ll_dtype_name((enum ll_dtype)i);
    *dtype = given ? ll_dtype_find(given) : LL_DTYPE_COUNT;
    const char *meant = given && *dtype == LL_DTYPE_COUNT ? ll_dtype_meant(given) : NULL;
    if (meant)
        ll_cli_reject("there is no dtype `%s`; did you mean `%s`?", given, meant);
    else if (given && *dtype == LL_DTYPE_COUNT)
        ll_cli_reject_unknown("dtype", given, names, LL_DTYPE_COUNT, "leadline machines --keys");
    return !given || *dtype < LL_DTYPE_COUNT;
}

/* The same of --gemm-dtype, in which networks multiply. */
static bool read_gemm_type(const struct ll_args *args, enum ll_dtype *dtype)
{
    if (!read_type(args, "gemm-dtype", dtype))
        return false;
    if (*dtype == LL_DTYPE_COUNT || ll_dtype_is_multiplied(*dtype))
        return true;
    ll_cli_reject("--gemm-dtype %s: expected a floating-point type, as f8 or bf16, int8 or int4",
                  ll_dtype_name(*dtype));
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

static int store(struct ll_trace *trace, enum ll_dtype dtype, const char *path)
{
    const char *trouble;
    if (ll_store_weights(trace, dtype, &trouble))
        return LL_DONE;
    return trouble ? ll_cli_reject("%s: no weight can be quantized to %s: %s", path, ll_dtype_name(dtype),
                                   trouble)
                   : ll_cli_fail("memory ran out");
}

/* The trace with its GEMMs and convolutions of weights in this type, in the place of the one given. */
static int narrow_products(struct ll_trace **trace, enum ll_dtype dtype, const char *path)
{
    const char *trouble;
    return ll_narrow_gemms(trace, dtype, &trouble)
               ? LL_DONE
               : ll_cli_reject("%s: no GEMM can be computed in %s: %s", path, ll_dtype_name(dtype), trouble);
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
    return read_type(args, "as", &changes->dtype) && read_gemm_type(args, &changes->gemms) &&
           read_type(args, "weights-as", &changes->weights) && read_pattern(args, &changes->pattern) &&
           read_gaps(args, &changes->gaps);
}

int ll_change(struct ll_trace **trace, const struct ll_changes *changes, const char *path)
{
    int status = retype(*trace, changes->dtype, path);
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

enum { MOST_BYTES = 1 << 20 }; /* of a plan's file */

static bool read_file(const struct ll_args *args, const char *path, struct ll_parallel *plan,
                      struct ll_diags *diags)
{
    struct ll_contents text = {0};
    enum ll_status status = ll_read_whole(path, MOST_BYTES, args->arena, &text);
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
    bool right = !path || read_file(args, path, plan, diags);
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

enum { MOST_SAMPLES = 1 << 30 };

/* Whether the trace knows which dimensions are its batch, or can be told. */
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

bool ll_read_choices(const struct ll_args *args, struct ll_choice **choices, uint64_t *count)
{
    const char *given, *batch = ll_value(args, "batch", NULL);
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

int ll_run_export(const struct ll_format *format, struct ll_export *export, const char *path)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    export->diags = diags;
    if (!diags)
        return ll_cli_fail("memory ran out");
    bool done = ll_export_run(format->export, export);
    ll_print_diags(diags);
    int status = done ? LL_DONE : LL_WRONG;
    if (!done && export->status != LL_OK)
        status = ll_cli_fail("%s: %s", path, ll_status_text(export->status));
    ll_diags_release(diags);
    free(diags);
    return status;
}

/* Tracks of a device: of its units, of each level of the network, and of the host, the last. */
static uint32_t tracks_of(const struct ll_machine *machine)
{
    return (uint32_t)(machine->unit_count + machine->network_count + 1);
}

/* Exchanges between devices have a track for each level of the network. Ops without a unit, views and input,
 * run on the host. */
static uint32_t track_of(const struct ll_result *result, uint32_t seq, const struct ll_op_detail *detail)
{
    uint32_t unit = result->ops[seq - result->prepared->first_op].unit,
             units = (uint32_t)result->machine->unit_count;
    if (detail->price && detail->price->levels)
        return units + detail->price->outermost;
    return unit == LL_NO_UNIT ? tracks_of(result->machine) - 1 : unit;
}

static void place(const struct ll_result *result, uint32_t ranks, struct ll_scheduled *ops, double *bytes)
{
    const struct ll_prepared *prepared = result->prepared;
    uint32_t count = prepared->end_op - prepared->first_op;
    uint64_t levels = result->machine->level_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct ll_op_result *op = &result->ops[i];
        struct ll_op_detail detail = ll_replay_detail(result, prepared->first_op + i);
        uint32_t rank = ranks > 1 ? prepared->trace->ops[prepared->first_op + i].thread : 0;
        ops[i] = (struct ll_scheduled){.start_s = op->start_s,
                                       .time_s = op->time_s,
                                       .track = rank * tracks_of(result->machine) +
                                                track_of(result, prepared->first_op + i, &detail),
                                       .bound = ll_bound_name(result->machine, op->bound)};
        for (uint64_t l = 0; l < levels; l++)
            bytes[i * levels + l] = detail.traffic_bytes[l];
    }
}

/* False when memory ran out. */
static bool name_tracks(const struct ll_machine *machine, uint32_t ranks, const char **tracks,
                        struct ll_arena *arena)
{
    uint32_t units = (uint32_t)machine->unit_count, each = tracks_of(machine);
    for (uint32_t i = 0; i < ranks * each; i++) {
        uint32_t of = i % each;
        const char *name = of + 1 == each ? "host"
                           : of < units   ? machine->units[of].name
                                          : machine->networks[of - units].name;
        tracks[i] = ranks > 1 ? ll_format(arena, "rank %" PRIu32 ": %s", i / each, name) : name;
        if (!tracks[i])
            return false;
    }
    return true;
}

static const struct ll_op_schedule *schedule_of(const struct ll_result *result, struct ll_arena *arena)
{
    const struct ll_machine *machine = result->machine;
    uint32_t count = result->prepared->end_op - result->prepared->first_op,
             ranks = ll_trace_ranks(result->prepared->trace), tracked = ranks * tracks_of(machine);
    struct ll_op_schedule *schedule = ll_alloc(arena, 1, sizeof *schedule);
    struct ll_scheduled *ops = ll_alloc(arena, count, sizeof *ops);
    double *bytes = ll_alloc(arena, count * machine->level_count, sizeof *bytes);
    const char **tracks = ll_alloc(arena, tracked, sizeof *tracks);
    const char **levels = ll_alloc(arena, machine->level_count, sizeof *levels);
    if (!schedule || !ops || !bytes || !tracks || !levels || !name_tracks(machine, ranks, tracks, arena))
        return NULL;
    place(result, ranks, ops, bytes);
    for (uint64_t l = 0; l < machine->level_count; l++)
        levels[l] = machine->levels[l].name;
    *schedule = (struct ll_op_schedule){.name = machine->stem,
                                        .tracks = tracks,
                                        .track_count = tracked,
                                        .first_op = result->prepared->first_op,
                                        .op_count = count,
                                        .ops = ops,
                                        .level_count = (uint32_t)machine->level_count,
                                        .levels = levels,
                                        .level_bytes = bytes};
    return schedule;
}

/* A trace of several ranks is of devices that wait for one another. */
static const struct ll_result *play(const struct ll_prepared *prepared, const struct ll_machine *machine,
                                    struct ll_arena *arena, struct ll_diags *diags)
{
    if (ll_trace_ranks(prepared->trace) == 1)
        return ll_replay(prepared, machine, arena, diags);
    struct ll_remembered remembered = {0};
    const struct ll_multi_rank_result *together =
        ll_multi_rank_replay(prepared, machine, &remembered, arena, diags);
    ll_remembered_release(&remembered);
    return together ? together->result : NULL;
}

static int replay(const struct ll_trace *trace, struct ll_simulated *simulated, struct ll_diags *diags)
{
    struct ll_arena *arena = &simulated->arena;
    const struct ll_prepared *prepared = ll_prepare(trace, arena, diags);
    const struct ll_result *result = prepared ? play(prepared, simulated->machine, arena, diags) : NULL;
    simulated->schedule = result ? schedule_of(result, arena) : NULL;
    ll_print_diags(diags);
    if (!simulated->schedule && diags->count == 0)
        return ll_cli_fail("memory ran out");
    return simulated->schedule ? LL_DONE : LL_WRONG;
}

int ll_simulate(const struct ll_args *args, const char *machine, const struct ll_trace *trace,
                struct ll_simulated *simulated)
{
    size_t count;
    const char *const *folders = ll_machine_folders(args->arena);
    const struct ll_override *overrides = ll_read_overrides(args, &count);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    int status = LL_WRONG;
    if (!folders || !diags)
        status = ll_cli_fail("memory ran out");
    else if (overrides && (simulated->machine = ll_load_machine(machine, folders, overrides, count)))
        status = replay(trace, simulated, diags);
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return status;
}

void ll_simulated_release(struct ll_simulated *simulated)
{
    ll_arena_release(&simulated->arena);
    ll_machine_free(simulated->machine);
    *simulated = (struct ll_simulated){0};
}
