/* SPDX-License-Identifier: Apache-2.0 */
/* leadline info T.llt: what a trace holds. */
#include "sim/cli/load.h"
#include "sim/cli/command.h"
#include "sim/cli/html.h"
#include "sim/machine/quantity.h"
#include "sim/memory/footprint.h"
#include "sim/report/table.h"
#include "sim/report/sim_report.h"
#include "tracer/base/json.h"
#include "tracer/ir/profile.h"
#include "tracer/transform/rescale.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const totals_of_text[] = {"model", "mode"};

static void totals_json(const struct ll_trace *trace, const struct ll_profile *profile, struct ll_json *json)
{
    for (size_t i = 0; i < sizeof totals_of_text / sizeof totals_of_text[0]; i++)
        ll_json_put_text(json, totals_of_text[i], ll_trace_fact(trace, totals_of_text[i]));
    ll_json_put_count(json, "batch", ll_trace_batch(trace));
    ll_json_put_count(json, "steps", profile->steps);
    ll_json_put_number(json, "ops", profile->ops);
    ll_json_put_count(json, "parameters", profile->parameters);
    ll_json_put_number(json, "flops", profile->flops);
    ll_json_put_number(json, "bytes", profile->bytes);
    ll_json_put_count(json, "file_bytes", trace->file_bytes);
    ll_json_put_number(json, "wall_s", profile->wall_s);
    ll_json_put_number(json, "ops_time_s", profile->ops_time_s);
    ll_json_put_number(json, "coverage", ll_coverage_of(trace));
    ll_json_put_number(json, "record_ns_per_op", profile->record_ns_per_op);
    ll_json_put_number(json, "recording_s", profile->recording_s);
}

static void footprint_json(const struct ll_footprint *footprint, const struct ll_memory_report *memory,
                           struct ll_json *json)
{
    ll_json_key(json, "footprint");
    ll_json_open_object(json);
    if (footprint->unknown)
        ll_json_put_text(json, "peak_bytes", NULL);
    else
        ll_json_put_count(json, "peak_bytes", footprint->peak_bytes);
    ll_report_by_class(footprint, json);
    if (memory)
        ll_memory_json(memory, json);
    ll_json_close_object(json);
}

static void sums_json(const struct ll_kind_total *total, struct ll_json *json)
{
    ll_json_put_number(json, "count", total->count);
    ll_json_put_number(json, "flops", total->flops);
    ll_json_put_number(json, "bytes", total->bytes);
    ll_json_put_number(json, "time_s", total->time_s);
    ll_json_put_number(json, "share", total->share);
}

static void kinds_json(const struct ll_profile *profile, struct ll_json *json)
{
    ll_json_key(json, "by_kind");
    ll_json_open_list(json);
    for (uint64_t i = 0; i < profile->kind_count; i++) {
        const struct ll_kind_total *kind = &profile->kinds[i];
        bool known = kind->op_kind != LL_OP_NONE;
        ll_json_open_object(json);
        ll_json_put_text(json, "kind", kind->kind);
        ll_json_put_text(json, "class", known ? ll_class_name(ll_op_class(kind->op_kind)) : NULL);
        ll_json_put_text(json, "phase", ll_phase_name(kind->phase));
        sums_json(kind, json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* Classes that the trace has ops of, in the order of the op table's; kinds without a class are left out. */
static void classes_json(const struct ll_profile *profile, struct ll_json *json)
{
    struct ll_kind_total sums[LL_CLASS_COUNT] = {{0}};
    for (uint64_t i = 0; i < profile->kind_count; i++) {
        const struct ll_kind_total *kind = &profile->kinds[i];
        if (kind->op_kind == LL_OP_NONE)
            continue;
        struct ll_kind_total *sum = &sums[ll_op_class(kind->op_kind)];
        sum->count += kind->count;
        sum->flops += kind->flops;
        sum->bytes += kind->bytes;
        sum->time_s += kind->time_s;
        sum->share += kind->share;
    }
    ll_json_key(json, "by_class");
    ll_json_open_list(json);
    for (unsigned i = 0; i < LL_CLASS_COUNT; i++) {
        if (sums[i].count == 0)
            continue;
        ll_json_open_object(json);
        ll_json_put_text(json, "class", ll_class_name((enum ll_op_class)i));
        sums_json(&sums[i], json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

/* The facts below a prefix as one object, the prefix taken off; all others under "header". */
static void facts_json(const struct ll_trace *trace, const char *key, const char *prefix,
                       struct ll_json *json)
{
    ll_json_key(json, key);
    ll_json_open_object(json);
    for (uint64_t i = 0; i < trace->fact_count; i++) {
        size_t length = strlen(prefix);
        bool host = strncmp(trace->facts[i].key, "host.", 5) == 0;
        if (strncmp(trace->facts[i].key, prefix, length) == 0 && (length || !host))
            ll_json_put_text(json, trace->facts[i].key + length, trace->facts[i].value);
    }
    ll_json_close_object(json);
}

static void info_json(const struct ll_trace *trace, const struct ll_profile *profile,
                      const struct ll_footprint *footprint, const struct ll_memory_report *memory,
                      const struct ll_warnings *warnings, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "info", 1);
    totals_json(trace, profile, &json);
    struct ll_str condition = {0};
    bool whole = ll_add_condition(trace, &condition);
    ll_json_put_text(&json, "condition", whole ? "complete" : condition.text);
    ll_str_release(&condition);
    ll_warnings_json(warnings, &json);
    footprint_json(footprint, memory, &json);
    kinds_json(profile, &json);
    classes_json(profile, &json);
    facts_json(trace, "host", "host.", &json);
    if (ll_trace_fact(trace, "summary.calls"))
        facts_json(trace, "summary", "summary.", &json);
    facts_json(trace, "header", "", &json);
    ll_json_close_object(&json);
}

static void headline(const struct ll_trace *trace, const struct ll_profile *profile, struct ll_str *out)
{
    struct ll_human parameters, flops, bytes, file;
    const char *model = ll_trace_fact(trace, "model"), *mode = ll_trace_fact(trace, "mode");
    const char *batch = ll_trace_fact(trace, "batch");
    struct ll_str line = {0};
    if (ll_trace_is_of_program(trace))
        ll_str_addf(out, "%s\n", model ? model : "a program");
    else
        ll_str_addf(out, "%s  %s, batch %s, %s parameters\n", model ? model : "trace", mode ? mode : "?",
                    batch ? batch : "?", ll_format_grouped(&parameters, profile->parameters));
    ll_str_addf(&line, "%" PRIu64 " complete step%s, each %.0f op%s, %s, %s", profile->steps,
                ll_plural(profile->steps), profile->ops, profile->ops == 1 ? "" : "s",
                ll_format_si(&flops, profile->flops, "FLOP"), ll_format_si(&bytes, profile->bytes, "B"));
    if (trace->file_bytes > 0)
        ll_str_addf(&line, "; %s on disk", ll_format_si(&file, (double)trace->file_bytes, "B"));
    ll_end_line(&line, ll_screen_width(), out);
}

/* Of a step, without the time in which nobody saw what the program did. */
static double seen_time_s(const struct ll_profile *profile)
{
    double seen_s = profile->ops_time_s;
    for (uint64_t i = 0; i < profile->kind_count; i++)
        seen_s -= profile->kinds[i].op_kind == LL_OP_GAP ? profile->kinds[i].time_s : 0;
    return seen_s;
}

static void timing(const struct ll_args *args, const struct ll_profile *profile, struct ll_str *out)
{
    struct ll_human wall, rate, covered, cost;
    struct ll_str line = {0};
    bool waits_alone =
        seen_time_s(profile) <= 1e-12 * profile->ops_time_s; /* as traces that nobody has run do */
    if (!waits_alone && profile->wall_s <= 0)
        ll_str_add(&line, "no step was recorded to its end");
    else if (profile->wall_s > 0 && profile->ops_time_s > 0)
        ll_str_addf(&line, "%s per step in the mean, at %s; ops cover %s of it%s",
                    ll_format_si(&wall, profile->wall_s, "s"),
                    ll_format_si(&rate, profile->flops / profile->wall_s, "FLOP/s"),
                    ll_format_percent(&covered, seen_time_s(profile) / profile->wall_s),
                    seen_time_s(profile) > profile->wall_s ? ", several at once" : "");
    else if (ll_flag(args, "batch") || ll_flag(args, "batch-was"))
        ll_str_add(&line, "as it would be at another batch: no times");
    else
        ll_str_add(&line, "a dry run: no times");
    if (profile->record_ns_per_op > 0)
        ll_str_addf(&line, "; recording an op took %s",
                    ll_format_si(&cost, profile->record_ns_per_op * 1e-9, "s"));
    ll_end_line(&line, ll_screen_width(), out);
}

static void coverage_line(const struct ll_trace *trace, struct ll_str *out)
{
    struct ll_str line = {0};
    ll_covered_text(trace, &line);
    if (line.length > 0)
        ll_end_line(&line, ll_screen_width(), out);
}

static void footprint_text(const struct ll_footprint *footprint, struct ll_str *out)
{
    struct ll_human peak, part;
    struct ll_str line = {0};
    if (footprint->unknown) {
        ll_str_add(out, "memory unknown: the trace does not say which tensors are the same\n");
        return;
    }
    ll_str_addf(&line, "peak memory %s", ll_format_binary(&peak, (double)footprint->peak_bytes));
    const char *mark = ": ";
    for (unsigned i = 0; i < LL_MEMORY_COUNT; i++)
        if (footprint->class_bytes[i]) {
            ll_str_addf(&line, "%s%s %s", mark, ll_memory_name((enum ll_memory_class)i),
                        ll_format_binary(&part, (double)footprint->class_bytes[i]));
            mark = ", ";
        }
    ll_end_line(&line, ll_screen_width(), out);
}

/* A count of the summary at the end of a recorded program's trace, and a sum, which no count may hold; 0
 * where there is no number. */
static uint64_t counted(const struct ll_trace *trace, const char *key)
{
    uint64_t count;
    const char *value = ll_trace_fact(trace, key);
    return value && ll_count_parse(value, &count) ? count : 0;
}

static double summed(const struct ll_trace *trace, const char *key)
{
    double sum;
    const char *value = ll_trace_fact(trace, key);
    return value && ll_number_parse(value, "", &sum) ? sum : 0;
}

/* Whether the fact is a thread's share of time in calls. */
static bool is_share(const struct ll_fact *fact, double *share)
{
    unsigned thread;
    int end = 0;
    bool named =
        sscanf(fact->key, "summary.thread.%u.covered%n", &thread, &end) == 1 && end && !fact->key[end];
    return named && ll_number_parse(fact->value, "", share);
}

/* A program may have started thousands of threads: the first ones are printed. */
static void add_threads(const struct ll_trace *trace, struct ll_str *line)
{
    enum { TOLD = 16 };
    uint64_t count = 0;
    double share;
    for (uint64_t i = 0; i < trace->fact_count; i++) {
        struct ll_human covered;
        if (!is_share(&trace->facts[i], &share) || count++ >= TOLD)
            continue;
        ll_str_addf(line, "%s%s", count > 1 ? ", " : "; each thread's cover ",
                    ll_format_percent(&covered, share));
    }
    if (count > TOLD)
        ll_str_addf(line, " (the first of %" PRIu64 " threads)", count);
    ll_str_add(line, count ? " of its time" : "");
}

/* What was seen of a program from outside, and what was not. */
static void summary_lines(const struct ll_trace *trace, struct ll_str *out)
{
    static const struct {
        const char *key, *what;
    } amiss[] = {{"summary.nested", "within others counted once"},
                 {"summary.opaque", "of unknown FLOPs"},
                 {"summary.dropped", "events dropped"},
                 {"summary.damaged", "pieces of shared memory cut off or overwritten by the program"},
                 {"summary.coarse", "whose rows that lie apart count as one run"},
                 {"summary.unplaced", "events of threads without a ring, or of signals amid others"},
                 {"summary.unresolved", "unresolved"},
                 {"summary.unreturned", "that had not returned when the program ended"}};
    struct ll_human number, flops;
    struct ll_str line = {0};
    if (!ll_trace_fact(trace, "summary.calls"))
        return;
    ll_str_addf(&line, "%s calls seen, %s in all",
                ll_format_grouped(&number, counted(trace, "summary.calls")),
                ll_format_si(&flops, summed(trace, "summary.flops"), "FLOP"));
    for (size_t i = 0; i < sizeof amiss / sizeof amiss[0]; i++)
        if (counted(trace, amiss[i].key))
            ll_str_addf(&line, "; %s %s", ll_format_grouped(&number, counted(trace, amiss[i].key)),
                        amiss[i].what);
    add_threads(trace, &line);
    const char *by = ll_trace_fact(trace, "summary.steps_by");
    bool found = by && strcmp(by, "none") != 0;
    ll_str_addf(&line, "; %s%s", found ? "steps by " : "no steps were found", found ? by : "");
    ll_end_line(&line, ll_screen_width(), out);
}

static void host_line(const struct ll_trace *trace, struct ll_str *out)
{
    const char *cpu = ll_trace_fact(trace, "host.cpu"), *cores = ll_trace_fact(trace, "host.cores");
    const char *blas = ll_trace_fact(trace, "blas.core"), *threads = ll_trace_fact(trace, "threads");
    threads = threads ? threads : ll_trace_fact(trace, "blas.threads");
    const char *trip_ns = ll_trace_fact(trace, "host.round_trip_ns");
    struct ll_str line = {0};
    struct ll_human share, clock;
    if (!cpu)
        return;
    ll_str_addf(&line, "recorded on %s, %s cores", cpu, cores ? cores : "?");
    double clock_hz = ll_trace_number(trace, "host.clock_hz", 0);
    if (clock_hz > 0)
        ll_str_addf(&line, " at %s", ll_format_si(&clock, clock_hz, "Hz"));
    if (blas)
        ll_str_addf(&line, "; OpenBLAS for %s, %s threads", blas, threads ? threads : "?");
    if (trip_ns)
        ll_str_addf(&line, "; %s ns from thread to thread and back", trip_ns);
    double crowded = ll_trace_number(trace, "host.crowded", 0);
    if (crowded > 0)
        ll_str_addf(&line, "; another process on a thread's core in %s of samples",
                    ll_format_percent(&share, crowded));
    ll_end_line(&line, ll_screen_width(), out);
}

static void kind_table(const struct ll_profile *profile, struct ll_str *out)
{
    struct ll_table *table = ll_table_new("  op kind|phase|>count|>FLOP|>bytes|?>time|?>share|?>rate");
    for (uint64_t i = 0; i < profile->kind_count; i++) {
        const struct ll_kind_total *kind = &profile->kinds[i];
        struct ll_human flops, bytes, time, share, rate;
        bool timed = kind->time_s > 0;
        ll_table_row(
            table, "  %s|%s|%.0f|%s|%s|%s|%s|%s", kind->kind, ll_phase_name(kind->phase), kind->count,
            ll_format_si(&flops, kind->flops, ""), ll_format_si(&bytes, kind->bytes, "B"),
            timed ? ll_format_si(&time, kind->time_s, "s") : "",
            timed ? ll_format_percent(&share, kind->share) : "",
            timed && kind->flops > 0 ? ll_format_si(&rate, kind->flops / kind->time_s, "FLOP/s") : "");
    }
    ll_str_add(out, "\n");
    ll_show_table(table, out);
}

/* All that is shown of a trace. */
struct shown {
    const struct ll_args *args;
    const struct ll_trace *trace;
    const struct ll_profile *profile;
    struct ll_footprint footprint;
    const struct ll_memory_report *memory; /* NULL: nobody asked, or it is not known */
    struct ll_warnings warnings;
};

static void info_text(const struct shown *shown, struct ll_str *out)
{
    ll_warnings_text(&shown->warnings, out);
    headline(shown->trace, shown->profile, out);
    timing(shown->args, shown->profile, out);
    coverage_line(shown->trace, out);
    footprint_text(&shown->footprint, out);
    summary_lines(shown->trace, out);
    host_line(shown->trace, out);
    kind_table(shown->profile, out);
    if (shown->memory) {
        ll_str_add(out, "\n");
        ll_memory_text(shown->memory, ll_screen_width(), ll_output_top(), out);
    }
}

/* The page, where --html asks for one; it has the memory wherever that is known. An exit status. */
static int write_page(const struct shown *shown)
{
    struct ll_page_content content = {.again = NULL};
    struct shown whole = *shown;
    if (!ll_value(shown->args, "html", NULL))
        return LL_DONE;
    if (!whole.memory && !whole.footprint.unknown && whole.trace->op_count > 0)
        whole.memory = ll_memory_report_of(whole.args->words[0], whole.trace, whole.args->arena);
    info_json(whole.trace, whole.profile, &whole.footprint, whole.memory, &whole.warnings, &content.document);
    ll_page_plain_begin();
    info_text(&whole, &content.plain);
    int status = ll_write_page(whole.args, "info", ll_base_name(whole.args->words[0]), &content);
    ll_page_content_release(&content);
    return status;
}

static int show(const struct ll_trace *trace, const struct ll_args *args)
{
    struct shown shown = {.args = args,
                          .trace = trace,
                          .profile = ll_profile(trace, args->arena),
                          .warnings = {.arena = args->arena}};
    struct ll_str out = {0};
    if (!shown.profile || !ll_footprint(trace, &shown.footprint))
        return ll_cli_fail("memory ran out");
    if (ll_flag(args, "memory") && shown.footprint.unknown)
        return ll_cli_reject("--memory: %s: the trace does not say which tensors are the same",
                             args->words[0]);
    if (ll_flag(args, "memory") && !(shown.memory = ll_memory_report_of(args->words[0], trace, args->arena)))
        return ll_cli_fail("memory ran out");
    ll_warn_of_trace(&shown.warnings, trace, "");
    int status = write_page(&shown);
    if (status != LL_DONE)
        return status;
    if (ll_flag(args, "json"))
        info_json(trace, shown.profile, &shown.footprint, shown.memory, &shown.warnings, &out);
    else
        info_text(&shown, &out);
    return ll_print(&out);
}

static int run(const struct ll_args *args)
{
    bool accounting;
    int status = ll_read_accounting(args, &accounting);
    if (status == LL_DONE && accounting &&
        !ll_without(args, (const char *const[]){"memory", "html", NULL},
                    "is not among what --accounting counts"))
        status = LL_WRONG;
    struct ll_trace *trace = status == LL_DONE ? ll_load_trace(args->words[0], &status) : NULL;
    if (trace)
        trace = ll_rebatch(args, trace, args->words[0], &status);
    if (!trace)
        return status;
    status = accounting ? ll_show_accounts(args, trace) : show(trace, args);
    ll_trace_free(trace);
    return status;
}

static const struct ll_option options[] = {
    LL_REBATCH_OPTIONS,
    LL_ACCOUNTING_OPTION,
    {"memory", 0, NULL, "print what is alive at the memory peak, and what allocators reserve"},
    LL_HTML_OPTION("totals, op kinds, memory over op order, host"),
    {0},
};

const struct ll_command ll_command_info = {
    .name = "info",
    .rows = "by_kind",
    .cuts_tables = true,
    .synopsis = "TRACE",
    .summary = "show what a trace holds: totals, op kinds, memory, host",
    .examples = "  leadline info alexnet.llt\n  leadline info alexnet.llt --json\n"
                "  leadline info alexnet.llt --batch 256\n"
                "  leadline info --accounting catamount word_lm.llt\n",
    .details = "Totals are averages per step, over the complete steps of the trace.\n",
    .options = options,
    .writes = (const char *const[]){"html", NULL},
    .least_words = 1,
    .most_words = 1,
    .reads_input = true,
    .run = run,
};
