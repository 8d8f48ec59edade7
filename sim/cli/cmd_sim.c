/* SPDX-License-Identifier: Apache-2.0 */
/* leadline sim: replays traces on machines and shows how long, why, and what to change. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/cli/check.h"
#include "sim/cli/command.h"
#include "sim/cli/compat.h"
#include "sim/cli/figure_file.h"
#include "sim/cli/html.h"
#include "sim/cli/load.h"
#include "sim/cli/sim_cores.h"
#include "sim/cli/sim_step.h"
#include "sim/cli/sim_timeline.h"
#include "sim/cost/cost.h"
#include "sim/replay/communication.h"
#include "sim/replay/replay.h"
#include "sim/report/table.h"
#include "sim/report/sim_report.h"
#include "sim/validate/residuals.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"

/* Everything of one run; traces and machines are freed at its end, all else lives in the arena. */

struct simulation {
    const struct ll_args *args;
    struct ll_machine **machines;
    size_t machine_count;
    struct ll_trace **traces;
    const struct ll_prepared **prepared;
    struct ll_report *reports;       /* trace by trace, machines in the order given */
    struct ll_spread **spreads;      /* as reports; NULL without a plan */
    struct ll_machine **recorded_on; /* by trace: for its kernels of unknown meaning; NULL: nobody knows */
    struct ll_remembered *remembered;
    struct ll_parallel plan;
    bool planned;
    struct ll_figure_files figures;
    struct ll_diags *diags;
};

enum { FIGURE_ROOFLINE, FIGURE_MEMORY, FIGURE_BREAKDOWN, FIGURE_KINDS };
static const char *const figure_kinds[FIGURE_KINDS] = {
    [FIGURE_ROOFLINE] = "roofline", [FIGURE_MEMORY] = "memory", [FIGURE_BREAKDOWN] = "breakdown"};

static bool load_machines(struct simulation *simulation)
{
    const struct ll_args *args = simulation->args;
    const char *const *folders = ll_machine_folders(args->arena);
    size_t override_count;
    const struct ll_override *overrides = ll_read_overrides(args, &override_count);
    const char *which;
    bool all = folders && overrides;
    for (size_t i = 0; all && (which = ll_value_at(args, "machine", i)); i++) {
        simulation->machines[i] = ll_load_pools(which, folders, overrides, override_count);
        all = simulation->machines[i] && ll_load_mappings(simulation->args, simulation->machines[i]);
        simulation->machine_count = i + 1;
    }
    return all;
}

/* A plan for several of a device that is named alone is one for its system. */
static bool take_systems(struct simulation *simulation)
{
    const struct ll_args *args = simulation->args;
    const struct ll_parallel *plan = &simulation->plan;
    const char *const *folders = ll_machine_folders(args->arena);
    size_t override_count;
    const struct ll_override *overrides = ll_read_overrides(args, &override_count);
    bool several = simulation->planned &&
                   (plan->data > 1 || plan->tensor > 1 || plan->context > 1 || plan->pipeline > 1);
    for (size_t i = 0; several && folders && overrides && i < simulation->machine_count; i++)
        simulation->machines[i] = ll_load_system(simulation->machines[i], folders, overrides, override_count);
    return folders && overrides;
}

static bool has_kernels(const struct ll_trace *trace)
{
    for (uint64_t i = 0; i < trace->signature_count; i++)
        if (trace->signatures[i].view.kind == LL_OP_KERNEL)
            return true;
    return false;
}

bool ll_find_recorded_on(const struct ll_prepared *prepared, struct ll_arena *arena,
                         struct ll_machine **machine)
{
    const char *device = ll_trace_fact(prepared->trace, "device");
    *machine = NULL;
    if (!device || !has_kernels(prepared->trace))
        return true;
    const char *const *folders = ll_machine_folders(arena);
    struct ll_aliases *aliases = folders ? ll_load_aliases(folders, arena) : NULL;
    const char *name = aliases ? ll_machine_of_device(device, aliases, folders, arena) : NULL;
    if (name)
        *machine = ll_load_machine(name, folders, NULL, 0);
    if (aliases)
        ll_aliases_free(aliases);
    if (*machine)
        ll_prepared_on(prepared, *machine);
    return aliases && (!name || *machine);
}

/* Each trace, rebatched and changed as options say, and prepared unless a plan prepares its programs. */
static int load_traces(struct simulation *simulation)
{
    struct ll_changes changes;
    if (!ll_read_changes(simulation->args, &changes))
        return LL_WRONG;
    for (size_t i = 0; i < simulation->args->word_count; i++) {
        const char *path = simulation->args->words[i];
        int status;
        simulation->traces[i] = ll_load_trace(path, &status);
        if (simulation->traces[i])
            simulation->traces[i] = ll_rebatch(simulation->args, simulation->traces[i], path, &status);
        if (!simulation->traces[i])
            return status;
        status = ll_change(&simulation->traces[i], &changes, path);
        if (status != LL_DONE)
            return status;
        if (simulation->planned) /* its programs are prepared */
            continue;
        simulation->prepared[i] =
            (ll_flag(simulation->args, "as-recorded") ? ll_prepare_as_recorded : ll_prepare)(
                simulation->traces[i], simulation->args->arena, simulation->diags);
        if (!simulation->prepared[i] || !ll_find_recorded_on(simulation->prepared[i], simulation->args->arena,
                                                             &simulation->recorded_on[i]))
            return LL_WRONG;
    }
    return LL_DONE;
}

/* The trace on all the devices of a plan. */
static bool simulate_spread(struct simulation *simulation, size_t t, size_t m, bool want_gains)
{
    struct ll_arena *arena = simulation->args->arena;
    const struct ll_machine *machine = simulation->machines[m];
    struct ll_remembered *remembered = simulation->remembered;
    struct ll_report *report = &simulation->reports[t * simulation->machine_count + m];
    struct ll_parallel plan = simulation->plan;
    if (!ll_assign_layers(simulation->traces[t], machine, remembered, &plan, simulation->diags))
        return false;
    struct ll_spread *spread =
        ll_spread_trace(simulation->traces[t], &plan, ll_machine_devices(machine), simulation->diags);
    simulation->spreads[t * simulation->machine_count + m] = spread;
    report->parallel = spread ? ll_parallel_run(spread, machine, remembered, arena, simulation->diags) : NULL;
    if (!report->parallel)
        return false;
    report->result = report->parallel->result;
    if (want_gains)
        report->gains = ll_parallel_what_if(report->parallel, remembered, arena, &report->gain_count);
    return report->gains || !want_gains;
}

/* A trace of several ranks, a device each. */
static bool simulate_together(struct simulation *simulation, size_t t, size_t m, bool want_gains)
{
    struct ll_arena *arena = simulation->args->arena;
    struct ll_remembered *remembered = simulation->remembered;
    struct ll_report *report = &simulation->reports[t * simulation->machine_count + m];
    report->together = ll_multi_rank_replay(simulation->prepared[t], simulation->machines[m], remembered,
                                            arena, simulation->diags);
    if (!report->together)
        return false;
    report->result = report->together->result;
    if (want_gains)
        report->gains = ll_multi_rank_what_if(report->together, remembered, arena, &report->gain_count);
    return report->gains || !want_gains;
}

static bool simulate_alone(struct simulation *simulation, size_t t, size_t m, bool want_gains)
{
    struct ll_arena *arena = simulation->args->arena;
    struct ll_remembered *remembered = simulation->remembered;
    struct ll_report *report = &simulation->reports[t * simulation->machine_count + m];
    if (simulation->machines[m]->pool_count > 0)
        return ll_complain(simulation->diags, (struct ll_place){0},
                           "-c with pools, as in -c dgx_h100,dgx_a100: stages of a pipeline lie on them; "
                           "expected --pp");
    if (simulation->machines[m]->core_type_count > 0)
        return ll_sim_cores(simulation->args, simulation->prepared[t], simulation->machines[m], report,
                            simulation->diags);
    if (ll_trace_ranks(simulation->traces[t]) > 1)
        return simulate_together(simulation, t, m, want_gains);
    report->result = ll_replay_remembering(simulation->prepared[t], simulation->machines[m], remembered,
                                           arena, simulation->diags);
    if (report->result && want_gains)
        report->gains = ll_what_if(report->result, remembered, arena, &report->gain_count);
    return report->result && (report->gains || !want_gains);
}

/* What of memory is asked for; with a plan, of its fullest stage. */
static bool remember(struct simulation *simulation, size_t t, size_t m)
{
    struct ll_report *report = &simulation->reports[t * simulation->machine_count + m];
    const struct ll_args *args = simulation->args;
    bool for_page =
        ll_value(args, "html", NULL) && !report->together && ll_memory_is_known(simulation->traces[t]);
    if (!ll_flag(args, "memory") && !ll_figure_wants(&simulation->figures, FIGURE_MEMORY) && !for_page)
        return true;
    if (!ll_memory_is_known(simulation->traces[t]))
        return ll_complain(simulation->diags, (struct ll_place){.file = report->trace_name},
                           "--memory and --kind memory: the trace does not say which tensors are the same");
    if (report->together)
        return ll_complain(simulation->diags, (struct ll_place){.file = report->trace_name},
                           "--memory and --kind memory are of one device; the trace is of %" PRIu32
                           " ranks: take the trace of one of them",
                           report->together->rank_count);
    report->memory = report->parallel ? ll_memory_report_of_plan(report->trace_name, simulation->traces[t],
                                                                 report->parallel, args->arena)
                                      : ll_memory_report(report->trace_name, report->result, args->arena);
    return report->memory;
}

static bool simulate_one(struct simulation *simulation, size_t t, size_t m, bool want_gains)
{
    struct ll_report *report = &simulation->reports[t * simulation->machine_count + m];
    report->trace_name = simulation->args->words[t];
    report->tokens_per_sample = ll_report_tokens(simulation->traces[t]);
    report->top = ll_output_top();
    report->bars = ll_output_bars();
    report->all_gains = ll_flag(simulation->args, "what-if");
    return (simulation->planned ? simulate_spread : simulate_alone)(simulation, t, m, want_gains) &&
           remember(simulation, t, m);
}

static bool simulate(struct simulation *simulation, bool want_gains)
{
    bool done = true;
    for (size_t t = 0; done && t < simulation->args->word_count; t++)
        for (size_t m = 0; done && m < simulation->machine_count; m++)
            done = simulate_one(simulation, t, m, want_gains);
    return done;
}

/* Traces differ in length, and with a pipeline the slowest stages of machines do: the op must be one of each.
 */
static int check_seq(const struct simulation *simulation, size_t count, uint32_t seq)
{
    for (size_t i = 0; i < count; i++) {
        const struct ll_report *report = &simulation->reports[i];
        const struct ll_prepared *prepared = report->result->prepared;
        if (seq >= prepared->first_op && seq < prepared->end_op)
            continue;
        struct ll_str where = {0};
        ll_report_whose_ops(simulation->reports, count, report, &where);
        ll_cli_reject("--explain %" PRIu32 ": %s holds the ops %" PRIu32 " to %" PRIu32 " on %s", seq,
                      report->trace_name, prepared->first_op, prepared->end_op - 1,
                      where.failed ? "one of the machines" : where.text);
        ll_str_release(&where);
        return LL_WRONG;
    }
    return LL_DONE;
}

static int explain(const struct simulation *simulation, uint32_t seq)
{
    struct ll_str out = {0};
    struct ll_json json = {.out = &out, .indent = true};
    size_t count = simulation->args->word_count * simulation->machine_count;
    if (check_seq(simulation, count, seq) != LL_DONE)
        return LL_WRONG;
    if (ll_flag(simulation->args, "json"))
        ll_report_explanations_json(simulation->reports, count, seq, &json);
    else
        ll_report_explanations(simulation->reports, count, seq, &out);
    return ll_print(&out);
}

static int show(const struct simulation *simulation)
{
    const struct ll_args *args = simulation->args;
    size_t count = args->word_count * simulation->machine_count;
    struct ll_str out = {0};
    if (ll_flag(args, "json")) {
        struct ll_json json = {.out = &out, .indent = true};
        ll_report_json(simulation->reports, count, ll_flag(args, "per-op"), &json);
        return ll_print(&out);
    }
    struct ll_warnings warnings = {.arena = args->arena};
    ll_warn_of_reports(&warnings, simulation->reports, count);
    ll_warnings_text(&warnings, &out);
    bool pages = simulation->machine_count == 1 || ll_flag(args, "what-if");
    for (size_t t = 0; t < args->word_count; t++) {
        const struct ll_report *reports = &simulation->reports[t * simulation->machine_count];
        if (simulation->machine_count > 1)
            ll_report_comparison(reports, simulation->machine_count, ll_screen_width(), &out);
        for (size_t m = 0; m < simulation->machine_count; m++) {
            if (pages) {
                ll_str_add(&out, m || simulation->machine_count > 1 || t ? "\n" : "");
                ll_report_page(&reports[m], ll_screen_width(), &out);
            }
            if (ll_flag(args, "memory")) {
                ll_str_add(&out, "\n");
                ll_memory_text(reports[m].memory, ll_screen_width(), ll_output_top(), &out);
            }
            if (ll_flag(args, "per-op")) {
                ll_str_addf(&out, "\nops on %s\n", reports[m].result->machine->stem);
                ll_report_ops(&reports[m], ll_screen_width(), &out);
            }
        }
    }
    return ll_print(&out);
}

/* Whether a machine's file lies in that folder of machines, or in one of its parts, as devices/. */
static bool lies_in(const struct ll_machine *machine, const char *folder)
{
    size_t length = strlen(folder);
    const char *path = machine->path ? machine->path : "";
    if (strncmp(path, folder, length) != 0 || path[length] != '/')
        return false;
    const char *part = strchr(path + length + 1, '/');
    return !part || !strchr(part + 1, '/');
}

static void set_bar(struct ll_report *report, const struct ll_residuals *residuals, const char *folder)
{
    if (lies_in(report->result->machine, folder))
        ll_residuals_bar(residuals, report->result, &report->time_low_s, &report->time_high_s);
}

/* Error bars, from the first residuals.csv in the folders of machines. They are of the machines in that
 * folder as their files have them: none with --set. */
static bool find_bars(struct simulation *simulation)
{
    const struct ll_args *args = simulation->args;
    const char *const *folders = ll_machine_folders(args->arena);
    struct ll_residuals residuals = {0};
    const char *folder = NULL;
    if (ll_value(args, "set", NULL) || ll_flag(args, "as-recorded"))
        return true;
    if (!ll_load_residuals(folders, args->arena, simulation->diags, &residuals, &folder))
        return false;
    for (size_t i = 0; folder && i < args->word_count * simulation->machine_count; i++)
        set_bar(&simulation->reports[i], &residuals, folder);
    return true;
}

static bool draw_figures(const struct simulation *simulation)
{
    static bool (*const draw[FIGURE_KINDS])(const struct ll_report *, size_t,
                                            struct ll_str *) = {[FIGURE_ROOFLINE] = ll_report_rooflines,
                                                                [FIGURE_MEMORY] = ll_report_memory_figure,
                                                                [FIGURE_BREAKDOWN] = ll_report_breakdown};
    size_t count = simulation->args->word_count * simulation->machine_count;
    bool written = true;
    for (size_t i = 0; i < simulation->figures.count && written; i++) {
        const struct ll_figure_file *file = &simulation->figures.at[i];
        struct ll_str svg = {0};
        svg.failed = !draw[file->kind](simulation->reports, count, &svg) || svg.failed;
        written = ll_figure_write(file->path, &svg);
    }
    return written;
}

static bool write_page(const struct simulation *simulation)
{
    const struct ll_args *args = simulation->args;
    const char *path = ll_value(args, "html", NULL);
    static const char *const printed[] = {"machine", "what-if",   "per-op", "roofline",
                                          "memory",  "footprint", "check",  NULL};
    const struct ll_page_origin origin = {"Leadline: simulation", ll_typed(args, NULL, true), LL_VERSION,
                                          ll_typed(args, printed, false)};
    struct ll_str page = {0};
    if (!path)
        return true;
    page.failed = !origin.command || !origin.again;
    if (!page.failed)
        ll_page_of_simulation(simulation->reports, args->word_count * simulation->machine_count, &origin,
                              &page);
    return ll_write_file(path, &page);
}

/* Options that change a trace before it is simulated. */
static const char *const changing[] = {"as",        "gemm-dtype", "weights-as",          "prune",    "gaps",
                                       "batch-was", "batch",      "activation-sparsity", "sparsity", NULL};

/* Recorded times are those of the trace as it is, on one device or on each of its ranks. */
static bool may_be_as_recorded(const struct simulation *simulation)
{
    const struct ll_args *args = simulation->args;
    if (!ll_flag(args, "as-recorded"))
        return true;
    if (simulation->planned) {
        ll_cli_reject(
            "--as-recorded takes a trace on the devices it was recorded on: it cannot be spread over others");
        return false;
    }
    static const char *const comparing[] = {"memory", NULL};
    return ll_without(args, changing, "changes the ops; --as-recorded takes them as they were") &&
           ll_without(args, comparing,
                      "simulates other ways to run the ops; --as-recorded takes them as they were");
}

/* Options, machines, plan, traces, the simulation of each trace on each machine, and then what was asked
 * for: an explanation, or figures and the page. */
static int run_simulation(struct simulation *simulation)
{
    const struct ll_args *args = simulation->args;
    uint64_t seq;
    if (!ll_value_count(args, "explain", 0, UINT32_MAX - 1, 0, &seq) ||
        !ll_figure_read(args, figure_kinds, FIGURE_KINDS, &simulation->figures) || !load_machines(simulation))
        return LL_WRONG;
    static const char *const of_all[] = {"per-op", "what-if", "figure", "memory", "check", "html", NULL};
    if (ll_value(args, "explain", NULL) &&
        !ll_without(args, of_all, "is for the whole trace; --explain stands alone"))
        return LL_WRONG;
    if (simulation->machine_count == 0)
        return ll_cli_reject("no machine: name one or more with -c; leadline machines lists them");
    if (!ll_read_plan(args, &simulation->plan, &simulation->planned) || !may_be_as_recorded(simulation) ||
        !take_systems(simulation) ||
        !ll_sim_cores_options(args, simulation->machines, simulation->machine_count, simulation->planned))
        return LL_WRONG;
    int status = load_traces(simulation);
    if (status != LL_DONE)
        return status;
    size_t count = args->word_count * simulation->machine_count;
    simulation->reports = ll_alloc(args->arena, count, sizeof *simulation->reports);
    simulation->spreads = ll_alloc(args->arena, count, sizeof(void *));
    bool explaining = ll_value(args, "explain", NULL) != NULL;
    bool want_gains =
        !explaining && (!ll_flag(args, "json") || ll_flag(args, "what-if") || ll_value(args, "html", NULL));
    if (!simulation->reports || !simulation->spreads || !simulate(simulation, want_gains))
        return simulation->diags->count ? LL_WRONG : ll_cli_fail("memory ran out");
    if (!find_bars(simulation))
        return LL_WRONG;
    if (explaining)
        return explain(simulation, (uint32_t)seq);
    if (!draw_figures(simulation) || !write_page(simulation))
        return LL_FAILED;
    int checked = ll_check_reports(args, simulation->reports, count);
    status = checked == LL_WRONG ? LL_WRONG : show(simulation);
    return status == LL_DONE ? checked : status;
}

/* One trace in memory on one machine in memory (sim_step.h). */

static const char *const not_of_one_step[] = {"machine", "set",    "mapping", "scale",   "drop",  "tiles",
                                              "figure",  "kind",   "html",    "explain", "check", "compat",
                                              "input",   "layout", "output",  NULL};

int ll_sim_step_read(const struct ll_args *args, struct ll_sim_step *step)
{
    const struct ll_parallel *plan = &step->plan;
    if (!ll_without(args, not_of_one_step, "is not for a trace and a machine that are in memory") ||
        !ll_read_changes(args, &step->changes) || !ll_read_plan(args, &step->plan, &step->planned))
        return LL_WRONG;
    step->several =
        step->planned && (plan->data > 1 || plan->tensor > 1 || plan->context > 1 || plan->pipeline > 1);
    step->changed = false;
    for (const char *const *name = changing; *name; name++)
        step->changed |= ll_flag(args, *name);
    return LL_DONE;
}

int ll_sim_step_change(const struct ll_args *args, const struct ll_sim_step *step, const char *name,
                       struct ll_trace **trace)
{
    int status;
    *trace = ll_rebatch(args, *trace, name, &status);
    return *trace ? ll_change(trace, &step->changes, name) : status;
}

int ll_sim_step_run(const struct ll_args *args, struct ll_sim_step *step, struct ll_report *report)
{
    struct simulation *simulation = ll_alloc(args->arena, 1, sizeof *simulation);
    if (!simulation)
        return ll_cli_fail("memory ran out");
    *simulation = (struct simulation){.args = args,
                                      .machines = &step->machine,
                                      .machine_count = 1,
                                      .traces = &step->trace,
                                      .prepared = &step->prepared,
                                      .reports = report,
                                      .spreads = &step->spread,
                                      .remembered = step->remembered,
                                      .plan = step->plan,
                                      .planned = step->planned,
                                      .diags = step->diags};
    if (!may_be_as_recorded(simulation) || !ll_sim_cores_options(args, &step->machine, 1, step->planned))
        return LL_WRONG;
    if (!simulate_one(simulation, 0, 0, ll_flag(args, "what-if")))
        return step->diags->count ? LL_WRONG : ll_cli_fail("memory ran out");
    if (step->residuals && !ll_flag(args, "as-recorded"))
        set_bar(report, step->residuals, step->residual_folder);
    return LL_DONE;
}

static int run(const struct ll_args *args)
{
    if (ll_value(args, "compat", NULL))
        return ll_run_compat(args);
    if (ll_value(args, "input", NULL) || ll_value(args, "output", NULL) || ll_value(args, "layout", NULL))
        return ll_cli_reject("--input, --layout and --output belong to --compat");
    if (ll_wants_timeline(args))
        return ll_run_timeline(args);
    struct simulation *simulation = ll_alloc(args->arena, 1, sizeof *simulation);
    if (!simulation)
        return ll_cli_fail("memory ran out");
    simulation->args = args;
    simulation->machines = ll_alloc(args->arena, args->given_count + 1, sizeof *simulation->machines);
    simulation->traces = ll_alloc(args->arena, args->word_count, sizeof *simulation->traces);
    simulation->prepared = ll_alloc(args->arena, args->word_count, sizeof *simulation->prepared);
    simulation->recorded_on = ll_alloc(args->arena, args->word_count, sizeof *simulation->recorded_on);
    simulation->remembered = ll_alloc(args->arena, 1, sizeof *simulation->remembered);
    simulation->diags = ll_alloc(args->arena, 1, sizeof *simulation->diags);
    bool ready = simulation->machines && simulation->traces && simulation->prepared &&
                 simulation->recorded_on && simulation->remembered && simulation->diags;
    int status = ready ? run_simulation(simulation) : ll_cli_fail("memory ran out");
    if (simulation->diags) {
        ll_print_diags(simulation->diags);
        ll_diags_release(simulation->diags);
    }
    if (simulation->remembered)
        ll_remembered_release(simulation->remembered);
    for (size_t i = 0; simulation->spreads && i < args->word_count * simulation->machine_count; i++)
        ll_spread_free(simulation->spreads[i]);
    for (size_t i = 0; i < simulation->machine_count; i++)
        ll_machine_free(simulation->machines[i]);
    for (size_t i = 0; ready && i < args->word_count; i++) {
        ll_trace_free(simulation->traces[i]);
        ll_machine_free(simulation->recorded_on[i]);
    }
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE",
     "a machine: a YAML file or a name that leadline machines lists; again for more"},
    {"set", 0, "PATH=VALUE", "change a value of every machine, as in --set units.array.rows=128"},
    {"mapping", 0, "FILE",
     "mappings of ops on an array (model: array), a line each: K=64 C=3 ... => @dram ..."},
    LL_CHANGE_OPTIONS,
    LL_REBATCH_OPTIONS,
#define LL_PLAN_WITHOUT_BATCH
#define LL_PLAN_KEY(key, option, value, type, member, least, most, help) {option, 0, value, help},
#include "sim/parallel/plan_keys.def"
#undef LL_PLAN_KEY
    {"plan", 0, "PLAN.yaml",
     "read these options from a file, as keys (micro_batch: 4); options given here override it"},
    {"as-recorded", 0, NULL,
     "take the recorded time of every op, and simulate only communication between devices; of a profile's "
     "timeline (no -c needed), replay what its devices did, with --scale and --drop"},
    {"scale", 0, "PATTERN=F",
     "with --as-recorded: kernels whose name or operator has a part like PATTERN (*, ?) take F times as "
     "long; "
     "again for more"},
    {"drop", 0, "PATTERN",
     "with --as-recorded: such kernels, and the calls that launched them, are gone; again for more"},
    {"what-if", 0, NULL, "print the speedup of doubling each resource; a page for each machine"},
    {"fuse", 0, "auto|none",
     "on a machine with cores: layers in tiles that flow from core to core (default), or layer by layer"},
    {"tiles", 0, "OUT.json", "on a machine with cores: write every tile, transfer and piece in memory"},
    {"per-op", 0, NULL, "print a line for each op"},
    LL_FIGURE_OPTIONS(
        "roofline of the ops (default), memory over time, or breakdown of the step by what bound it; "
        "with several figures each has its kind"),
    {"memory", 0, NULL,
     "print what is alive at the memory peak, what allocators reserve, and memory mitigations"},
    {"html", 0, "FILE",
     "write a page to this file: time breakdown, roofline, ops, timeline, memory, what-if"},
    {"explain", 0, "SEQ", "derive the time of op SEQ step by step, with its numbers"},
    {"check", 0, "CONDITION",
     "exit with status 1 unless this holds of each result, as in --check 'time_s <= 5ms'; again for more"},
    {"compat", 0, "VERSION",
     "run a SCALE-Sim configuration (-c) and topology as SCALE-Sim does: scalesim2 or scalesim3"},
    {"input", 'i', "KIND", "with --compat: what the topology's rows are, conv (default) or gemm"},
    {"layout", 'l', "FILE",
     "with --compat scalesim3: SCALE-Sim's layout file, for a configuration that uses one"},
    {"output", 'o', "DIR", "with --compat: write SCALE-Sim's reports to this folder"},
    {0},
};

const struct ll_command ll_command_sim = {
    .name = "sim",
    .rows = "explanations/lines|results/ops|results/what_if|results/memory/alive|results",
    .cuts_tables = true,
    .synopsis = "-c MACHINE [-c MACHINE]... TRACE...",
    .summary = "replay traces on machines: how long, and what holds them back",
    .examples =
        "  leadline sim -c v100_sxm_16gb alexnet.llt\n"
        "  leadline sim -c i7_6700k -c tpu_v2_core -c mine.yaml --json alexnet.llt\n"
        "  leadline sim -c custom_example --set memory.hbm.bandwidth=1.2TB/s --explain 3 alexnet.llt\n"
        "  leadline sim -c v100_sxm_16gb --batch 512 alexnet.llt\n"
        "  leadline sim -c v100_sxm_16gb --figure roof.pdf --kind roofline alexnet.llt\n"
        "  leadline sim -c dgx_a100 --dp 16 --batch 4096 --zero 1 resnet50.llt\n"
        "  leadline sim --compat scalesim2 -c scale.cfg topology.csv -o reports\n",
    .details =
        "Times are per step: the complete steps of the trace are replayed in order, and their total "
        "is divided by their number. The recorded times are not used. The 80 % prediction interval stands "
        "behind them for installed machines whose predictions were compared with measurements.\n"
        "\n"
        "--as-recorded uses the recorded times: only communication takes what the machine's network takes. "
        "So a recording of several ranks, such as one imported from Chakra, shows what another network would "
        "change, and --figure shows what its ops reached. A trace that was imported from a profile holds "
        "what "
        "its devices did when: --as-recorded replays that, with the gaps, streams, launches and waits of the "
        "recording, and prints busy, idle and exposed time and the critical path. --scale and --drop ask "
        "what "
        "faster kernels, or none, would change: everything that waited for them moves, everything else "
        "stays.\n"
        "\n"
        "--as simulates the workload in another number type: every floating-point tensor is stored "
        "and computed in it. So machines that only compute in integers can run recorded traces.\n"
        "\n"
        "--gemm-dtype simulates mixed precision: GEMMs and convolutions that read a weight, and those that "
        "compute its gradient, read operands in this type and write what they wrote; all other ops stay in "
        "their type, or in that of --as. Operands are cast by ops of their own, weights once per step; the "
        "weights of an inference are stored in the type. GEMMs between activations stay, and so does the "
        "projection onto a vocabulary. Formats in which elements share scales are fp8_block, mxfp8, nvfp4, "
        "mxfp4 and int4_g128. On stacks with kernels for quantized linear layers (vllm, sglang, trtllm) "
        "casts "
        "are the kernels that quantize, and GEMMs those of the format.\n"
        "\n"
        "--weights-as quantizes weights that only GEMMs and convolutions read, which takes less memory and "
        "moves fewer bytes; they are multiplied in the type of the other operand, by kernels that expand "
        "weights where the stack has such. Formats, as int4_g128, also store scales.\n"
        "\n"
        "--prune stores the weights of GEMMs and convolutions without their zeros, so that less memory is "
        "taken and moved; units that skip such zeros compute less: those of a pattern, as 2:4 (key "
        "`skips` of a machine), or a share of all, as 90% (key `skips_unstructured`). Gradients and the "
        "optimizer's state stay dense.\n"
        "\n"
        "--gaps changes the time that a recorded program spent outside of its recorded calls. It was "
        "measured on that CPU, and takes as long on every machine (keep), no time (drop), or FACTOR times as "
        "long. The first line says how much of the step it is.\n"
        "\n"
        "--batch simulates the same step on more or fewer samples: dimensions known to be the batch "
        "grow or shrink, and everything else follows; time outside of recorded calls stays. A trace of an "
        "external program does not say its batch; --batch-was does.\n"
        "\n"
        "--check reads an expression of sweep files; its names are the paths of numbers in a result of "
        "--json: "
        "memory.peak_bytes, bottlenecks.host, by_kind.matmul.time_s.\n"
        "\n"
        "--compat scalesim2 takes a SCALE-Sim v2 configuration as the machine and a topology as the "
        "workload. The reports have SCALE-Sim's numbers, digit by digit; the table shows Leadline's "
        "own beside them. --compat scalesim3 takes those of v3, with sparse filters, layouts and banks.\n",
    .options = options,
    .repeated = (const char *const[]){"machine", "set", "check", "figure", "kind", "scale", "drop", NULL},
    .writes = (const char *const[]){"figure", "html", "output", "tiles", NULL},
    .reads = (const char *const[]){"machine", "mapping", "plan", "layout", NULL},
    .least_words = 1,
    .most_words = 1000,
    .reads_input = true,
    .run = run,
};
