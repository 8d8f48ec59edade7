/* SPDX-License-Identifier: Apache-2.0 */
/* leadline similarity A.llt B.llt ...: where workloads spend their time, and how similar they are in it. A
 * profile is the share of each op kind in a step's time, as recorded or, with -c, as simulated; distances
 * and clusters are Fathom's (sim/study/study.h). Input from the host is no part of a profile, nor is what
 * nobody saw. */
#include "sim/cli/command.h"
#include "sim/cli/figure_file.h"
#include "sim/cli/load.h"
#include "sim/replay/replay.h"
#include "sim/report/table.h"
#include "sim/study/study.h"
#include "sim/study/fathom.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double most_of_it = 0.9; /* as in Fathom's figure 2 */
_Static_assert((int)LL_OP_NONE <= (int)LL_MOST_PROFILE_SIZE, "a profile has a number for each op kind");

struct workload {
    double classes[LL_CLASS_COUNT]; /* shares of the time */
    size_t kinds;                   /* that take most of it */
};

struct similarity {
    const struct ll_args *args;
    struct ll_machine *machine; /* NULL: times are the recorded ones */
    size_t count;
    struct workload *workloads;
    double *profiles;   /* [count, LL_OP_NONE], each summing to 1 */
    const char **names; /* of the traces' files, without folders and endings */
    struct ll_merge *merges;
};

static double *profile_of(const struct similarity *a, size_t i)
{
    return a->profiles + i * LL_OP_NONE;
}

static bool counts(enum ll_op_kind kind)
{
    return kind != LL_OP_NONE && kind != LL_OP_GAP && ll_op_class(kind) != LL_CLASS_INPUT;
}

static int recorded(const char *path, const struct ll_trace *trace, struct ll_arena *arena, double *profile)
{
    const struct ll_timeline *timeline = ll_timeline(trace, 0, arena);
    if (!timeline)
        return ll_cli_fail("memory ran out");
    for (size_t i = 0; i < timeline->kind_count; i++)
        if (counts(timeline->kinds[i].kind))
            profile[timeline->kinds[i].kind] += timeline->kinds[i].quiet_s;
    for (size_t i = 0; i < LL_OP_NONE; i++)
        if (profile[i] > 0)
            return LL_DONE;
    return ll_cli_reject("%s has no times; -c MACHINE simulates them", path);
}

static int simulated(const struct similarity *a, const struct ll_trace *trace, struct ll_arena *arena,
                     double *profile)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    const struct ll_prepared *prepared = diags ? ll_prepare(trace, arena, diags) : NULL;
    const struct ll_result *result = prepared ? ll_replay(prepared, a->machine, arena, diags) : NULL;
    for (uint64_t i = 0; result && i < result->kind_count; i++)
        if (counts(result->kinds[i].op_kind))
            profile[result->kinds[i].op_kind] += result->kinds[i].time_s;
    bool complained = diags && diags->count > 0;
    if (diags) {
        ll_print_diags(diags);
        ll_diags_release(diags);
    }
    free(diags);
    return result ? LL_DONE : complained ? LL_WRONG : ll_cli_fail("memory ran out");
}

static void sum_up(double *profile, struct workload *workload)
{
    double sum = 0, sorted[LL_OP_NONE], reached = 0;
    for (size_t i = 0; i < LL_OP_NONE; i++)
        sum += profile[i];
    for (size_t i = 0; i < LL_OP_NONE; i++) {
        sorted[i] = profile[i] /= sum > 0 ? sum : 1;
        if (profile[i] > 0)
            workload->classes[ll_op_class((enum ll_op_kind)i)] += profile[i];
    }
    ll_sort_numbers(sorted, LL_OP_NONE);
    for (size_t i = LL_OP_NONE; i-- > 0 && reached < most_of_it && sorted[i] > 0; workload->kinds++)
        reached += sorted[i];
}

static int profile_trace(struct similarity *a, size_t i)
{
    const char *path = a->args->words[i];
    struct ll_arena arena = {0};
    int status = LL_WRONG;
    struct ll_trace *trace = ll_load_trace(path, &status);
    if (!trace)
        return status;
    status = a->machine ? simulated(a, trace, &arena, profile_of(a, i))
                        : recorded(path, trace, &arena, profile_of(a, i));
    sum_up(profile_of(a, i), &a->workloads[i]);
    ll_arena_release(&arena);
    ll_trace_free(trace);
    return status;
}

static double distance(const struct similarity *a, size_t i, size_t k)
{
    return fmax(0, 1 - ll_cosine(profile_of(a, i), profile_of(a, k), LL_OP_NONE));
}

static bool has_class(const struct similarity *a, size_t op_class)
{
    for (size_t i = 0; i < a->count; i++)
        if (a->workloads[i].classes[op_class] > 0)
            return true;
    return false;
}

static void classes_text(const struct similarity *a, struct ll_str *out)
{
    struct ll_str head = {0};
    struct ll_human share;
    ll_str_add(&head, "share of time");
    for (size_t c = 0; c < LL_CLASS_COUNT; c++)
        if (has_class(a, c))
            ll_str_addf(&head, "|>%s", ll_class_name((enum ll_op_class)c));
    ll_str_add(&head, "|>kinds for 90 %");
    struct ll_table *table = ll_table_new(head.failed ? "" : head.text);
    for (size_t i = 0; i < a->count; i++) {
        ll_table_cell(table, "%s", a->names[i]);
        for (size_t c = 0; c < LL_CLASS_COUNT; c++)
            if (has_class(a, c))
                ll_table_cell(table, "%s", ll_format_percent(&share, a->workloads[i].classes[c]));
        ll_table_cell(table, "%zu", a->workloads[i].kinds);
        ll_table_end_row(table);
    }
    ll_show_table(table, out);
    ll_str_release(&head);
}

static void together(const struct similarity *a, size_t merge, const char *mark, struct ll_str *out)
{
    unsigned long members = ll_members(a->merges, a->count, a->count + merge);
    const char *before = "";
    for (size_t i = 0; i < a->count; i++)
        if (members >> i & 1) {
            ll_str_addf(out, "%s%s", before, a->names[i]);
            before = mark;
        }
}

static void merges_text(const struct similarity *a, struct ll_str *out)
{
    struct ll_table *table = ll_table_new(">distance|clusters, the nearest first");
    for (size_t i = 0; i + 1 < a->count; i++) {
        struct ll_str names = {0};
        together(a, i, ", ", &names);
        ll_table_row(table, "%.4f|%s", a->merges[i].distance, names.failed ? "" : names.text);
        ll_str_release(&names);
    }
    ll_str_add(out, "\n");
    ll_show_table(table, out);
}

static void workload_json(const struct similarity *a, size_t i, struct ll_json *json)
{
    ll_json_open_object(json);
    ll_json_put_text(json, "trace", a->names[i]);
    ll_json_put_count(json, "kinds_for_90_percent", a->workloads[i].kinds);
    ll_json_key(json, "by_class");
    ll_json_open_object(json);
    for (size_t c = 0; c < LL_CLASS_COUNT; c++)
        if (has_class(a, c))
            ll_json_put_number(json, ll_class_name((enum ll_op_class)c), a->workloads[i].classes[c]);
    ll_json_close_object(json);
    ll_json_key(json, "by_kind");
    ll_json_open_object(json);
    for (size_t k = 0; k < LL_OP_NONE; k++)
        if (profile_of(a, i)[k] > 0)
            ll_json_put_number(json, ll_op_name((enum ll_op_kind)k), profile_of(a, i)[k]);
    ll_json_close_object(json);
    ll_json_key(json, "distances");
    ll_json_open_list(json);
    for (size_t k = 0; k < a->count; k++)
        ll_json_number(json, distance(a, i, k));
    ll_json_close_list(json);
    ll_json_close_object(json);
}

static void merges_json(const struct similarity *a, struct ll_json *json)
{
    ll_json_key(json, "merges");
    ll_json_open_list(json);
    for (size_t merge = 0; merge + 1 < a->count; merge++) {
        unsigned long members = ll_members(a->merges, a->count, a->count + merge);
        ll_json_open_object(json);
        ll_json_put_number(json, "distance", a->merges[merge].distance);
        ll_json_key(json, "traces");
        ll_json_open_list(json);
        for (size_t i = 0; i < a->count; i++)
            if (members >> i & 1)
                ll_json_text(json, a->names[i]);
        ll_json_close_list(json);
        ll_json_close_object(json);
    }
    ll_json_close_list(json);
}

static void similarity_json(const struct similarity *a, struct ll_str *out)
{
    struct ll_json json = {.out = out, .indent = true};
    ll_json_open_document(&json, "similarity", 1);
    ll_json_put_text(&json, "machine", a->machine ? a->machine->stem : NULL);
    ll_json_key(&json, "traces");
    ll_json_open_list(&json);
    for (size_t i = 0; i < a->count; i++)
        workload_json(a, i, &json);
    ll_json_close_list(&json);
    merges_json(a, &json);
    ll_json_close_object(&json);
}

static bool draw(const struct similarity *a, const char *path)
{
    struct ll_str text = {0};
    struct ll_svg svg = {&text};
    const struct ll_page page = {"Similarity of workloads",
                                 "A dendrogram of the workloads.",
                                 1,
                                 1,
                                 560,
                                 120 + 30 * (double)a->count,
                                 a->machine ? ll_format(a->args->arena, "Simulated on %s", a->machine->stem)
                                            : "Times as recorded"};
    ll_page_open(&svg, &page);
    ll_draw_tree(&svg, ll_page_panel(&page, 0),
                 &(struct ll_tree){.x_label = "cosine distance of the shares of op kinds in the time",
                                   .leaves = a->names,
                                   .leaf_count = a->count,
                                   .merges = a->merges,
                                   .x_high = 1});
    ll_svg_close(&svg);
    return ll_figure_write(path, &text);
}

/* The file's name without folder and ending. */
static const char *name_of(const char *path, struct ll_arena *arena)
{
    const char *base = ll_base_name(path);
    return ll_copy_text(arena, base, ll_stem_length(base));
}

static int make_ready(struct similarity *a)
{
    struct ll_arena *arena = a->args->arena;
    const char *machine = ll_value(a->args, "machine", NULL), *const *folders = ll_machine_folders(arena);
    size_t override_count;
    const struct ll_override *overrides = ll_read_overrides(a->args, &override_count);
    bool named = true;
    a->count = a->args->word_count;
    a->workloads = ll_alloc(arena, a->count, sizeof *a->workloads);
    a->profiles = ll_alloc(arena, a->count * LL_OP_NONE, sizeof *a->profiles);
    a->names = ll_alloc(arena, a->count, sizeof *a->names);
    a->merges = ll_alloc(arena, a->count, sizeof *a->merges);
    for (size_t i = 0; a->names && i < a->count; i++)
        named = (a->names[i] = name_of(a->args->words[i], arena)) && named;
    if (!folders || !a->workloads || !a->profiles || !a->names || !a->merges || !named)
        return ll_cli_fail("memory ran out");
    if (!overrides ||
        (machine && !(a->machine = ll_load_machine(machine, folders, overrides, override_count))))
        return LL_WRONG;
    return machine || ll_without(a->args, (const char *const[]){"set", NULL}, "wants a machine, -c")
               ? LL_DONE
               : LL_WRONG;
}

static int run(const struct ll_args *args)
{
    struct similarity a = {.args = args};
    const char *figure = ll_value(args, "figure", NULL);
    struct ll_str out = {0};
    static const char *const kinds[] = {"tree"};
    struct ll_figure_files figures;
    int status = ll_figure_read(args, kinds, 1, &figures) ? make_ready(&a) : LL_WRONG;
    for (size_t i = 0; i < a.count && status == LL_DONE; i++)
        status = profile_trace(&a, i);
    if (status == LL_DONE) {
        ll_cluster(a.profiles, a.count, LL_OP_NONE, a.merges);
        if (ll_flag(args, "json")) {
            similarity_json(&a, &out);
        } else {
            classes_text(&a, &out);
            merges_text(&a, &out);
        }
        status = !figure || draw(&a, figure) ? ll_print(&out) : LL_FAILED;
    }
    ll_str_release(&out);
    ll_machine_free(a.machine);
    return status;
}

static const struct ll_option options[] = {
    {"machine", 'c', "MACHINE",
     "simulate on this machine and compare its times instead of the recorded ones"},
    {"set", 0, "PATH=VALUE", "change a value of the machine, as for leadline sim"},
    LL_FIGURE_OPTIONS("tree (default), the clusters by their distances"),
    {0},
};

const struct ll_command ll_command_similarity = {
    .name = "similarity",
    .rows = "traces",
    .cuts_tables = true,
    .synopsis = "TRACE TRACE...",
    .summary = "compare where workloads spend their time, and cluster them",
    .examples = "  leadline similarity alexnet.llt vgg.llt speech.llt\n"
                "  leadline similarity -c v100_sxm_16gb --figure tree.svg resnet.llt gpt.llt bert.llt\n",
    .details =
        "A workload's profile is the share of each op kind in the time of a step, without input from the "
        "host. Two profiles A and B are 1 - A.B / (|A| |B|) apart: 0 when they are the same, 1 when they "
        "have no op "
        "kind in common. The two nearest are merged and replaced by their mean, until one group is left "
        "(Adolf et al., Fathom, 2016).\n",
    .options = options,
    .repeated = (const char *const[]){"set", NULL},
    .writes = (const char *const[]){"figure", NULL},
    .reads = (const char *const[]){"machine", NULL},
    .least_words = 2,
    .most_words = LL_MOST_PROFILES,
    .reads_input = true,
    .run = run,
};
