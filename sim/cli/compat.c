/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim --compat: reads SCALE-Sim's files, writes its reports, and explains layer by layer how its
 * cycles differ from those of our own model. */

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "sim/cli/command.h"
#include "sim/cli/compat.h"
#include "sim/cli/load.h"
#include "sim/cli/output.h"
#include "sim/cost/cost.h"
#include "sim/report/table.h"
#include "sim/scalesim/scalesim.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/base/pool.h"

enum { COMPAT_MOST_BYTES = 1 << 26 }; /* of a configuration or topology */

/* Why the two simulators differ: the largest of the parts that make the difference. */
#define REASON_LIST(X)                                                                                       \
    X(OVERLAP, "overlap", "the next fold begins behind the wavefront; SCALE-Sim lets each drain first")      \
    X(STALLS, "stalls", "SCALE-Sim waits for words it fetches in an order that the array does not ask in")   \
    X(MEMORY, "memory", "all operands share the bandwidth, which is the bottleneck")                         \
    X(FILL, "fill", "the first operands must come before anything starts; SCALE-Sim has them already")

enum reason {
#define X(word, ...) word,
    REASON_LIST(X)
#undef X
        REASON_COUNT
};

static const struct {
    const char *word, *meaning;
} reasons[] = {
#define X(word, name, meaning) {name, meaning},
    REASON_LIST(X)
#undef X
};

/* A layer as both simulators see it. */
struct account {
    const struct ll_scalesim_layer *layer;
    struct ll_scalesim_result theirs;
    bool ran;         /* else memory ran out */
    double cycles[2]; /* ours: folds in series, overlapped */
    enum reason reason;
};

struct compat {
    const struct ll_args *args;
    struct ll_scalesim_config config;
    const struct ll_scalesim_layer *layers;
    struct account *accounts;
    size_t count;
    struct ll_machine *machines[2]; /* without and with overlap_folds */
    struct ll_diags diags, notes;
    uint64_t lines; /* of all layers, without stalls */
    _Atomic uint64_t lines_done;
    struct ll_ticker ticker; /* the first thread's */
};

static int version_of(const struct ll_args *args)
{
    return strcmp(ll_value(args, "compat", ""), "scalesim3") == 0 ? 3 : 2;
}

static int check_args(const struct ll_args *args)
{
    static const char *const not_here[] = {"set",    "as",        "as-recorded", "gemm-dtype", "weights-as",
                                           "prune",  "batch-was", "plan",        "what-if",    "per-op",
                                           "figure", "kind",      "memory",      "explain",    "html",
                                           "check",  "fuse",      "tiles",       "scale",      "drop",
#define LL_PLAN_KEY(key, option, value, type, member, least, most, help) option,
#include "sim/parallel/plan_keys.def"
#undef LL_PLAN_KEY
                                           NULL};
    const char *program = ll_value(args, "compat", ""), *input = ll_value(args, "input", "conv");
    if (strcmp(program, "scalesim2") != 0 && strcmp(program, "scalesim3") != 0)
        return ll_cli_reject("--compat %s: expected scalesim2 or scalesim3", program);
    if (ll_value(args, "layout", NULL) && version_of(args) == 2)
        return ll_cli_reject("--layout is for --compat scalesim3; version 2 knows no layouts");
    if (strcmp(input, "conv") != 0 && strcmp(input, "gemm") != 0)
        return ll_cli_reject("--input %s: expected conv or gemm", input);
    if (!ll_without(args, not_here, "is for our own traces and machines, not with --compat"))
        return LL_WRONG;
    if (!ll_value_at(args, "machine", 0) || ll_value_at(args, "machine", 1))
        return ll_cli_reject("--compat wants one -c with SCALE-Sim's configuration");
    return args->word_count == 1 ? LL_DONE : ll_cli_reject("--compat wants one topology");
}

static int read_text(const struct ll_args *args, const char *path, struct ll_contents *text)
{
    enum ll_status status = ll_read_whole(path, COMPAT_MOST_BYTES, args->arena, text);
    if (status == LL_NO_MEMORY)
        return ll_cli_fail("%s: %s", path, ll_status_text(status));
    return status == LL_OK ? LL_DONE : ll_cli_reject("%s: %s", path, ll_status_text(status));
}

/* A topology of the other kind reads as nothing, or as something else: SCALE-Sim takes a convolution's first
 * three numbers for m, n and k. */
static void check_kind(struct compat *compat, const struct ll_contents *topology, bool products)
{
    const char *path = compat->args->words[0];
    bool holds_products = ll_scalesim_holds_products(topology->bytes, topology->length);
    if (holds_products && !products && !compat->layers)
        ll_complain(&compat->diags, (struct ll_place){.file = path},
                    "no row has the fields of a convolution; GEMMs of m, n and k are read with --input gemm");
    if (!holds_products && products && compat->layers)
        ll_cli_tell(
            "%s: rows with the fields of a convolution; --input gemm takes the first three numbers for m, n "
            "and k, as SCALE-Sim does, and leaves out the others\n",
            path);
}

/* A layout counts where the configuration switches it on, and must be there then. */
static int read_layout(struct compat *compat)
{
    const char *path = ll_value(compat->args, "layout", NULL);
    struct ll_scalesim_config *config = &compat->config;
    bool used = config->own_layout[LL_SCALESIM_IFMAP] || config->own_layout[LL_SCALESIM_FILTER];
    struct ll_contents layout;
    if (used && !path)
        return ll_cli_reject("%s switches a custom layout on; --layout names its file",
                             ll_value(compat->args, "machine", ""));
    if (!path)
        return LL_DONE;
    int status = read_text(compat->args, path, &layout);
    if (status != LL_DONE)
        return status;
    if (!ll_scalesim_is_layout(layout.bytes, layout.length))
        ll_complain(&compat->diags, (struct ll_place){.file = path},
                    "this is no layout file: no row has its 21 fields");
    else
        config->layout =
            ll_scalesim_read_layout(layout.bytes, layout.length, path, compat->args->arena, &compat->diags);
    const char *obstacle = config->layout ? ll_scalesim_layout_obstacle(config) : NULL;
    if (obstacle)
        ll_complain(&compat->diags, (struct ll_place){.file = path}, "%s", obstacle);
    if (compat->diags.count)
        return LL_WRONG;
    if (!used)
        ll_cli_tell("%s: left out, since the configuration switches no custom layout on\n", path);
    return config->layout ? LL_DONE : ll_cli_fail("memory ran out");
}

/* Both files are read before anything is said, so that all that is wrong is said at once. */
static int read_inputs(struct compat *compat)
{
    const struct ll_args *args = compat->args;
    const char *config_path = ll_value(args, "machine", NULL), *topology_path = args->words[0];
    struct ll_contents config, topology;
    int status = read_text(args, config_path, &config);
    if (status == LL_DONE)
        status = read_text(args, topology_path, &topology);
    if (status != LL_DONE)
        return status;
    bool products = strcmp(ll_value(args, "input", "conv"), "gemm") == 0;
    bool read = ll_scalesim_read_config(config.bytes, config.length, config_path, version_of(args),
                                        args->arena, &compat->diags, &compat->config);
    bool as_named = products == ll_scalesim_holds_products(topology.bytes, topology.length);
    compat->layers =
        ll_scalesim_read_topology(topology.bytes, topology.length, topology_path, products, args->arena,
                                  &compat->diags, as_named ? &compat->notes : NULL, &compat->count);
    ll_print_diags(&compat->notes);
    check_kind(compat, &topology, products);
    if (!compat->diags.count)
        return read && compat->layers ? read_layout(compat) : ll_cli_fail("memory ran out");
    return LL_WRONG;
}

static bool check_layers(struct compat *compat)
{
    for (size_t i = 0; i < compat->count; i++) {
        const struct ll_scalesim_layer *layer = &compat->layers[i];
        const char *obstacle = ll_scalesim_obstacle(&compat->config, layer);
        struct ll_place place = {.file = compat->args->words[0], .line = layer->line, .column = 1};
        if (obstacle)
            ll_complain(&compat->diags, place, "layer %s: %s", layer->name, obstacle);
    }
    return compat->diags.count == 0;
}

static bool build_machines(struct compat *compat)
{
    static const char *const no_folders[] = {NULL};
    for (int overlap = 0; overlap < 2; overlap++) {
        struct ll_str yaml = {0};
        ll_scalesim_machine_yaml(&compat->config, overlap, &yaml);
        if (!yaml.failed)
            compat->machines[overlap] =
                ll_machine_parse(yaml.text, yaml.length, ll_value(compat->args, "machine", ""), no_folders,
                                 NULL, 0, &compat->diags);
        ll_str_release(&yaml);
        if (!compat->machines[overlap])
            return false;
    }
    return true;
}

/* Their cycles plus four parts are ours: folds in series against overlapped, their stalls, what memory or the
 * first fill add to ours. */
static void compare(const struct compat *compat, struct account *account)
{
    struct ll_scalesim_folds folds = ll_scalesim_fold(&compat->config, account->layer);
    struct ll_work work = ll_scalesim_work(account->layer, &folds);
    double compute_cycles[2] = {0}, parts[REASON_COUNT] = {0};
    for (int overlap = 0; overlap < 2; overlap++) {
        const struct ll_machine *machine = compat->machines[overlap];
        struct ll_cost cost;
        struct ll_timing timing;
        const char *trouble;
        enum ll_op_kind kind = work.kind == LL_WORK_GEMM ? LL_OP_MATMUL : LL_OP_CONV2D;
        if (!ll_cost_op(machine, kind, &work, &cost, &trouble))
            continue;
        ll_cost_time(machine, &cost, NULL, &timing);
        account->cycles[overlap] = timing.time_s * machine->clock_hz;
        compute_cycles[overlap] = cost.compute_cycles;
        parts[timing.bound == LL_BOUND_COMPUTE ? FILL : MEMORY] =
            account->cycles[overlap] - cost.compute_cycles;
    }
    parts[OVERLAP] = compute_cycles[0] - compute_cycles[1];
    parts[STALLS] = (double)account->theirs.stall_cycles;
    for (enum reason i = 0; i < REASON_COUNT; i++)
        if (fabs(parts[i]) > fabs(parts[account->reason]))
            account->reason = i;
}

/* Layers run side by side, as many as their memory allows: one that is as large as addresses allow takes 300
 * MB, one of an image of 2,048 x 2,048 and 64 channels 50 MB. */
enum { MOST_THREADS = 3 };

static void report_lines(void *context, uint64_t lines)
{
    struct compat *compat = context;
    uint64_t done = atomic_fetch_add(&compat->lines_done, lines) + lines;
    if (ll_pool_worker() == 0)
        ll_ticker_tell(&compat->ticker, "compat", (double)done / (double)compat->lines, NAN, "%s", "");
}

static void run_some(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    struct compat *compat = context;
    const struct ll_scalesim_watch watch = {report_lines, compat};
    (void)chunk;
    for (uint64_t i = begin; i < end; i++) {
        struct account *account = &compat->accounts[i];
        account->ran = ll_scalesim_run(&compat->config, account->layer, &watch, &account->theirs);
    }
}

static bool run_layers(struct compat *compat)
{
    bool whole = true;
    unsigned cpus = ll_pool_usable_cpus();
    struct ll_pool *pool = ll_pool_new(cpus < MOST_THREADS ? cpus : MOST_THREADS);
    for (size_t i = 0; i < compat->count; i++) {
        struct ll_scalesim_folds folds = ll_scalesim_fold(&compat->config, &compat->layers[i]);
        compat->accounts[i].layer = &compat->layers[i];
        compat->lines += folds.lines;
    }
    compat->ticker = ll_ticker_new(true);
    ll_pool_run(pool, compat->count, 1, run_some, compat);
    ll_ticker_clear(&compat->ticker);
    ll_pool_free(pool);
    for (size_t i = 0; i < compat->count && whole; i++) {
        whole = compat->accounts[i].ran;
        if (whole)
            compare(compat, &compat->accounts[i]);
    }
    return whole;
}

static int write_report(const struct compat *compat, const char *folder,
                        const struct ll_scalesim_report *report)
{
    struct ll_str text = {0};
    const char *path = ll_format(compat->args->arena, "%s/%s", folder, report->file);
    uint64_t layer_id = 0;
    report->add_header(&compat->config, &text);
    for (size_t i = 0; i < compat->count; i++)
        for (uint64_t copy = 0; copy < compat->accounts[i].layer->copies; copy++)
            report->add_line(&compat->config, &compat->accounts[i].theirs, layer_id++, &text);
    enum ll_status status = path ? ll_write_whole(path, &text) : LL_NO_MEMORY;
    ll_str_release(&text);
    return status == LL_OK ? LL_DONE : ll_cli_fail("%s: %s", path ? path : folder, ll_status_text(status));
}

static int write_reports(const struct compat *compat)
{
    const char *folder = ll_value(compat->args, "output", NULL);
    if (!folder)
        return LL_DONE;
    int status = ll_make_folder(folder) ? LL_DONE : LL_FAILED;
    for (int i = 0; i < ll_scalesim_report_count(&compat->config) && status == LL_DONE; i++)
        status = write_report(compat, folder, &ll_scalesim_reports[i]);
    return status;
}

/* Ours, overlapped, against theirs, as a fraction of theirs. */
static double difference(const struct account *account)
{
    return account->cycles[1] / (double)account->theirs.total_cycles - 1;
}

static void add_table(const struct compat *compat, struct ll_str *out)
{
    bool used[REASON_COUNT] = {0};
    struct ll_table *table =
        ll_table_new("layer|>SCALE-Sim|>of it stalls|>Leadline, in series|>overlapped|>difference|why");
    for (size_t i = 0; i < compat->count; i++) {
        const struct account *account = &compat->accounts[i];
        struct ll_human human[4];
        char copies[32] = "";
        if (account->layer->copies > 1)
            snprintf(copies, sizeof copies, " (x %" PRIu64 ")", account->layer->copies);
        ll_table_row(table, "%s%s|%s|%s|%s|%s|%+.1f %%|%s", account->layer->name, copies,
                     ll_format_grouped(&human[0], (uint64_t)account->theirs.total_cycles),
                     ll_format_grouped(&human[1], (uint64_t)account->theirs.stall_cycles),
                     ll_format_grouped(&human[2], (uint64_t)llround(account->cycles[0])),
                     ll_format_grouped(&human[3], (uint64_t)llround(account->cycles[1])),
                     100 * difference(account), reasons[account->reason].word);
        used[account->reason] = true;
    }
    ll_str_add(out, "cycles of a layer\n");
    ll_show_table(table, out);
    ll_str_add(out, "\n");
    for (enum reason i = 0; i < REASON_COUNT; i++) {
        struct ll_str line = {0};
        ll_str_addf(&line, "%s: %s", reasons[i].word, reasons[i].meaning);
        if (used[i])
            ll_end_line(&line, ll_screen_width(), out);
        else
            ll_str_release(&line);
    }
}

static void add_json(const struct compat *compat, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "sim_compat", 1);
    ll_json_put_text(&json, "run_name", compat->config.run_name);
    ll_json_key(&json, "layers");
    ll_json_open_list(&json);
    for (size_t i = 0; i < compat->count; i++) {
        const struct account *account = &compat->accounts[i];
        ll_json_open_object(&json);
        ll_json_put_text(&json, "layer", account->layer->name);
        ll_json_put_count(&json, "copies", account->layer->copies);
        ll_json_put_integer(&json, "scalesim_cycles", account->theirs.total_cycles);
        ll_json_put_integer(&json, "scalesim_stall_cycles", account->theirs.stall_cycles);
        ll_json_put_number(&json, "series_cycles", account->cycles[0]);
        ll_json_put_number(&json, "overlapped_cycles", account->cycles[1]);
        ll_json_put_number(&json, "difference", difference(account));
        ll_json_put_text(&json, "reason", reasons[account->reason].word);
        ll_json_close_object(&json);
    }
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

/* A file without a header would be one layer short there. */
static void say_first_layer(const struct compat *compat)
{
    if (compat->layers[0].line == 1)
        ll_cli_tell("%s:1: a layer, and simulated as one; SCALE-Sim takes the first line for a header\n",
                    compat->args->words[0]);
}

static void say_what_is_left_out(const struct compat *compat)
{
    const struct ll_scalesim_config *config = &compat->config;
    if (config->beyond && config->version3)
        ll_cli_tell("%s:%" PRIu64
                    ": `%s` is left out: it reads latencies that Ramulator wrote. Leadline's own "
                    "simulation has a DRAM (key dram of a memory)\n",
                    ll_value(compat->args, "machine", ""), config->beyond_line, config->beyond);
    else if (config->beyond)
        ll_cli_tell(
            "%s:%" PRIu64 ": `%s` is of SCALE-Sim v3 and left out: these are the numbers of v2; --compat "
            "scalesim3 has it. Leadline's own "
            "simulation has pruned weights (sim --prune, key skips of a unit) and DRAM (key dram of a "
            "memory)\n",
            ll_value(compat->args, "machine", ""), config->beyond_line, config->beyond);
}

static int run_compat(struct compat *compat)
{
    int status = check_args(compat->args);
    if (status == LL_DONE)
        status = read_inputs(compat);
    if (status != LL_DONE)
        return status;
    if (!check_layers(compat))
        return LL_WRONG;
    say_first_layer(compat);
    say_what_is_left_out(compat);
    compat->accounts = ll_alloc(compat->args->arena, compat->count, sizeof *compat->accounts);
    if (!compat->accounts || !build_machines(compat) || !run_layers(compat))
        return compat->diags.count ? LL_WRONG : ll_cli_fail("memory ran out");
    status = write_reports(compat);
    if (status != LL_DONE)
        return status;
    struct ll_str out = {0};
    if (ll_flag(compat->args, "json"))
        add_json(compat, &out);
    else
        add_table(compat, &out);
    return ll_print(&out);
}

int ll_run_compat(const struct ll_args *args)
{
    struct compat *compat = ll_alloc(args->arena, 1, sizeof *compat);
    if (!compat)
        return ll_cli_fail("memory ran out");
    compat->args = args;
    int status = run_compat(compat);
    ll_print_diags(&compat->diags);
    ll_diags_release(&compat->diags);
    ll_diags_release(&compat->notes);
    for (int i = 0; i < 2; i++)
        ll_machine_free(compat->machines[i]);
    return status;
}

/* A configuration of SCALE-Sim is a machine, too: by its ending. */
bool ll_is_scalesim(const char *which)
{
    size_t length = strlen(which);
    return length > 4 && strcmp(which + length - 4, ".cfg") == 0;
}

struct ll_machine *ll_read_scalesim(const char *path, const char *const *folders,
                                    const struct ll_override *overrides, size_t override_count,
                                    struct ll_diags *diags)
{
    struct ll_arena arena = {0};
    struct ll_contents text;
    struct ll_scalesim_config config;
    struct ll_machine *machine = NULL;
    enum ll_status status = ll_read_whole(path, 1 << 24, &arena, &text);
    if (status != LL_OK) {
        ll_complain(diags, (struct ll_place){.file = path}, "%s", ll_status_text(status));
    } else if (ll_scalesim_read_config(text.bytes, text.length, path, ll_scalesim_version_of(text.bytes),
                                       &arena, diags, &config)) {
        struct ll_str yaml = {0};
        ll_scalesim_machine_yaml(&config, true, &yaml);
        if (!yaml.failed)
            machine =
                ll_machine_parse(yaml.text, yaml.length, path, folders, overrides, override_count, diags);
        ll_str_release(&yaml);
    }
    ll_arena_release(&arena);
    return machine;
}
