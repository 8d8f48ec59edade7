/* SPDX-License-Identifier: Apache-2.0 */
/* leadline compare A B: what changed between two steps, and where. A side is a trace as recorded, a trace
 * simulated on a machine, a document of `leadline sim --json`, or a machine, which then simulates the other
 * side's trace. */
#include "sim/cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/cli/html.h"
#include "sim/cli/load.h"
#include "sim/replay/communication.h"
#include "sim/parallel/parallel.h"
#include "sim/report/comparison.h"
#include "tracer/base/file.h"

enum { MOST_BYTES = 1 << 30, MOST_FAILURES = 1000, DEFAULT_TOP = 8 };

struct compared {
    const struct ll_args *args;
    const char *const *folders;
    const struct ll_override *overrides;
    size_t override_count;
    struct ll_side sides[2];
    struct ll_trace *traces[2];
    struct ll_machine *machines[2];
    struct ll_remembered remembered;
    struct ll_diags diags;
};

/* Whether a file begins as JSON does; of a compressed one nobody looks inside before it is read. What can be
 * read once, a pipe, is taken for a document. */
static bool is_document(const char *path)
{
    char begin[64] = "";
    size_t length = strlen(path);
    if (length > 8 && strcmp(path + length - 8, ".json.gz") == 0)
        return true;
    struct stat there;
    if (stat(path, &there) == 0 && S_ISFIFO(there.st_mode))
        return true;
    FILE *file = fopen(path, "rb");
    size_t read = file ? fread(begin, 1, sizeof begin - 1, file) : 0;
    if (file)
        fclose(file);
    return read > 0 && begin[strspn(begin, " \t\r\n")] == '{';
}

/* A word that is no file, or a YAML file, names a machine. */
static bool is_machine(const char *word)
{
    size_t length = strlen(word);
    return access(word, F_OK) != 0 || (length > 5 && strcmp(word + length - 5, ".yaml") == 0);
}

static int read_document(struct compared *c, int i)
{
    struct ll_side *side = &c->sides[i];
    const struct ll_args *args = c->args;
    const char *machine = ll_value_at(args, "machine", (size_t)i);
    struct ll_contents text = {0};
    enum ll_status status = ll_read_whole(side->name, MOST_BYTES, args->arena, &text);
    if (status != LL_OK)
        return status == LL_NO_MEMORY ? ll_cli_fail("%s: %s", side->name, ll_status_text(status))
                                      : ll_cli_reject("%s: %s", side->name, ll_status_text(status));
    bool read = ll_side_of_document(text.bytes, text.length, ll_value(args, "trace", NULL),
                                    machine ? machine : ll_value_at(args, "machine", 0), args->arena,
                                    &c->diags, side);
    return read ? LL_DONE : c->diags.count ? LL_WRONG : ll_cli_fail("memory ran out");
}

static const struct ll_result *replay(struct compared *c, const struct ll_trace *trace,
                                      const struct ll_machine *machine)
{
    struct ll_arena *arena = c->args->arena;
    const struct ll_prepared *prepared = ll_prepare(trace, arena, &c->diags);
    if (!prepared)
        return NULL;
    if (ll_trace_ranks(trace) == 1)
        return ll_replay_remembering(prepared, machine, &c->remembered, arena, &c->diags);
    const struct ll_multi_rank_result *together =
        ll_multi_rank_replay(prepared, machine, &c->remembered, arena, &c->diags);
    return together ? together->result : NULL;
}

/* The side is this trace on this machine; NULL: as recorded. */
static int simulate(struct compared *c, int i, const struct ll_trace *trace, const char *machine)
{
    struct ll_side *side = &c->sides[i];
    bool filled = false;
    if (machine) {
        c->machines[i] = ll_load_machine(machine, c->folders, c->overrides, c->override_count);
        if (!c->machines[i])
            return LL_WRONG;
        const struct ll_result *result = replay(c, trace, c->machines[i]);
        filled = result && ll_side_of_result(result, c->args->arena, side);
        return filled ? LL_DONE : c->diags.count ? LL_WRONG : ll_cli_fail("memory ran out");
    }
    if (!ll_side_of_recording(trace, c->args->arena, side))
        return ll_cli_fail("memory ran out");
    return side->time_s > 0 ? LL_DONE
                            : ll_cli_reject("%s has no times; -c MACHINE simulates them", side->name);
}

/* The sides that are traces; then those that are machines, on the other side's trace. */
static int fill_sides(struct compared *c)
{
    const struct ll_args *args = c->args;
    bool machine[2], document[2];
    int status = LL_DONE;
    for (int i = 0; i < 2; i++) {
        c->sides[i].name = args->words[i];
        document[i] = is_document(args->words[i]);
        machine[i] = !document[i] && is_machine(args->words[i]);
    }
    if (machine[0] && machine[1])
        return ll_cli_reject(
            "neither %s nor %s is a file; expected traces, documents of leadline sim --json, or "
            "one of them and a machine",
            args->words[0], args->words[1]);
    for (int i = 0; i < 2 && status == LL_DONE; i++) {
        const char *first = ll_value_at(args, "machine", 0), *own = ll_value_at(args, "machine", (size_t)i);
        if (document[i]) {
            status = read_document(c, i);
        } else if (!machine[i]) {
            c->traces[i] = ll_load_trace(args->words[i], &status);
            c->sides[i].trace = args->words[i];
            if (c->traces[i])
                status = simulate(c, i, c->traces[i], own ? own : first);
        }
    }
    for (int i = 0; i < 2 && status == LL_DONE; i++) {
        if (!machine[i])
            continue;
        if (!c->traces[1 - i])
            return ll_cli_reject(
                "%s is no file, and as a machine it needs a trace on the other side: %s is a "
                "document",
                args->words[i], args->words[1 - i]);
        c->sides[i].trace = args->words[1 - i];
        status = simulate(c, i, c->traces[1 - i], args->words[i]);
    }
    return status;
}

/* What grew beyond --fail-above; NULL after saying what is wrong. */
static const char **find_failures(const struct compared *c, const struct ll_comparison *comparison,
                                  uint64_t *count)
{
    const char **sentences = ll_alloc(c->args->arena, MOST_FAILURES, sizeof *sentences), *text;
    *count = 0;
    for (size_t i = 0; sentences && (text = ll_value_at(c->args, "fail-above", i)); i++) {
        struct ll_growth_limit limit;
        ll_growth_limit_parse(text, &limit); /* checked before */
        *count += ll_growth_failures(comparison, &limit, sentences + *count, MOST_FAILURES - *count,
                                     c->args->arena);
    }
    return sentences;
}

static void print_json(const struct ll_comparison *comparison, const char *const *failures, uint64_t count,
                       struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "compare", 1);
    ll_comparison_json(comparison, &json);
    ll_json_key(&json, "failures");
    ll_json_open_list(&json);
    for (uint64_t i = 0; i < count; i++)
        ll_json_text(&json, failures[i]);
    ll_json_close_list(&json);
    ll_json_close_object(&json);
}

/* The page, where --html asks for one. An exit status. */
static int write_page(const struct compared *c, const struct ll_comparison *comparison,
                      const char *const *failures, uint64_t count, uint64_t top)
{
    struct ll_page_content content = {.again = NULL};
    if (!ll_value(c->args, "html", NULL))
        return LL_DONE;
    const char *title = ll_format(c->args->arena, "%s and %s", ll_base_name(c->args->words[0]),
                                  ll_base_name(c->args->words[1]));
    print_json(comparison, failures, count, &content.document);
    ll_comparison_text(comparison, top, 100, &content.plain);
    int status = title ? ll_write_page(c->args, "compare", title, &content) : ll_cli_fail("memory ran out");
    ll_page_content_release(&content);
    return status;
}

/* Prints what changed; LL_FAILED, after a sentence for each, where something grew too much. */
static int show(const struct compared *c)
{
    const struct ll_args *args = c->args;
    const struct ll_comparison *comparison = ll_compare(&c->sides[0], &c->sides[1], args->arena);
    uint64_t top, count = 0;
    struct ll_str out = {0};
    if (!ll_value_count(args, "top", 1, UINT64_MAX, DEFAULT_TOP, &top))
        return LL_WRONG;
    const char **failures = comparison ? find_failures(c, comparison, &count) : NULL;
    if (!failures)
        return ll_cli_fail("memory ran out");
    int written = write_page(c, comparison, failures, count, top);
    if (written != LL_DONE)
        return written;
    if (ll_flag(args, "json"))
        print_json(comparison, failures, count, &out);
    else
        ll_comparison_text(comparison, top, ll_screen_width(), &out);
    int status = ll_print(&out);
    for (uint64_t i = 0; i < count && status != LL_WRONG; i++)
        status = ll_cli_fail("%s", failures[i] ? failures[i] : "memory ran out");
    return status;
}

/* Limits are read before anything is simulated, and refused where a side has no scopes. */
static int check_limits(const struct ll_args *args)
{
    struct ll_growth_limit limit;
    const char *text;
    for (size_t i = 0; (text = ll_value_at(args, "fail-above", i)); i++)
        if (!ll_growth_limit_parse(text, &limit))
            return ll_cli_reject("--fail-above %s: expected a share, as 3%%, kind:3%%, scope:3%% or op:3%%",
                                 text);
    if (ll_value_at(args, "machine", 2))
        return ll_cli_reject("-c is given three times; a comparison has two sides");
    return LL_DONE;
}

static int has_what_limits_need(const struct compared *c)
{
    struct ll_growth_limit limit;
    const char *text;
    for (size_t i = 0; (text = ll_value_at(c->args, "fail-above", i)); i++)
        for (int side = 0; side < 2; side++)
            if (ll_growth_limit_parse(text, &limit) && !limit.whole && limit.match != LL_MATCH_KIND &&
                !c->sides[side].has_ops)
                return ll_cli_reject(
                    "--fail-above %s: %s has no ops; leadline sim --json --per-op writes them", text,
                    c->sides[side].name);
    return LL_DONE;
}

static int run(const struct ll_args *args)
{
    struct compared *c = ll_alloc(args->arena, 1, sizeof *c);
    if (!c)
        return ll_cli_fail("memory ran out");
    int status = check_limits(args);
    if (status != LL_DONE)
        return status;
    c->args = args;
    c->folders = ll_machine_folders(args->arena);
    c->overrides = ll_read_overrides(args, &c->override_count);
    if (!c->folders || !c->overrides)
        return c->folders ? LL_WRONG : ll_cli_fail("memory ran out");
    status = fill_sides(c);
    if (status == LL_DONE)
        status = has_what_limits_need(c);
    if (status == LL_DONE)
        status = show(c);
    ll_print_diags(&c->diags);
    ll_diags_release(&c->diags);
    ll_remembered_release(&c->remembered);
    for (int i = 0; i < 2; i++) {
        ll_side_release(&c->sides[i]);
        ll_machine_free(c->machines[i]);
        ll_trace_free(c->traces[i]);
    }
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE",
     "simulate traces on this machine; given twice, A on the first and B on the second; of a document, take "
     "the result on it"},
    {"set", 0, "PATH=VALUE", "change a value of the machines, as for leadline sim"},
    {"trace", 0, "TRACE", "of documents with several traces, take the results of this one"},
    {"fail-above", 0, "[ROWS:]P%",
     "exit with status 1 if B's step takes more than P percent longer than A's; of ROWS (kind, scope, op), "
     "if a "
     "row does that has 1 % of the time or more"},
    {"top", 0, "N", "rows of each table (default: 8)"},
    LL_HTML_OPTION("changes by kind, scope, op and bound, the largest first"),
    {0},
};

const struct ll_command ll_command_compare = {
    .name = "compare",
    .rows = "contributions",
    .cuts_tables = true,
    .synopsis = "A B",
    .summary = "two steps: what changed, and where",
    .examples = "  leadline compare -c h100_sxm before.llt after.llt\n"
                "  leadline compare before.json after.json --fail-above 3% --fail-above kind:5%\n"
                "  leadline compare recorded.llt i7_6700k\n",
    .details =
        "A and B are traces, documents that leadline sim --json has written, or one of them a machine, which "
        "simulates the other's trace. Without -c the times of a trace are the recorded ones.\n"
        "\n"
        "Ops are matched by scope, kind, phase and signature (the types and shapes of tensors); of documents "
        "only where they were written with --per-op. Rows are sorted by the absolute difference in time.\n",
    .options = options,
    .repeated = (const char *const[]){"machine", "set", "fail-above", NULL},
    .writes = (const char *const[]){"html", NULL},
    .reads = (const char *const[]){"machine", NULL},
    .least_words = 2,
    .most_words = 2,
    .reads_input = true,
    .run = run,
};
