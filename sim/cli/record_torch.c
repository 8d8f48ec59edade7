/* SPDX-License-Identifier: Apache-2.0 */
/* The trace that PyTorch's own observer writes while a program is recorded: switched on before the program
 * starts, imported when it ends, and joined with the times of the recorded calls. */
#define _GNU_SOURCE
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/record_program.h"

#include <assert.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/cli/load.h"
#include "tracer/base/file.h"
#include "tracer/convert/convert.h"
#include "tracer/format/reader.h"
#include "tracer/interpose/call.h"
#include "tracer/record/host.h"
#include "tracer/transform/rewrite.h"

extern const char ll_python_sitecustomize[], ll_python_torch_trace[];

/* Before the program. */

static enum ll_status write_text(struct ll_arena *arena, const char *folder, const char *name,
                                 const char *text)
{
    const char *path = ll_format(arena, "%s/%s", folder, name);
    struct ll_str content = {0};
    ll_str_add(&content, text);
    enum ll_status status = path ? ll_write_whole(path, &content) : LL_NO_MEMORY;
    ll_str_release(&content);
    return status;
}

/* Python would keep what it compiles in a folder __pycache__, which a file of that name prevents. */
enum ll_status ll_torch_prepare(struct ll_arena *arena, const char *folder, struct ll_launch *launch)
{
    const char *before = getenv("PYTHONPATH");
    bool has = before && *before;
    size_t count = 0;
    if (strchr(folder, ':'))
        return LL_OK;
    while (launch->settings[count])
        count++;
    const char *setting = ll_format(arena, "PYTHONPATH=%s%s%s", folder, has ? ":" : "", has ? before : "");
    enum ll_status status = setting ? LL_OK : LL_NO_MEMORY;
    static const struct {
        const char *name, *text;
    } files[] = {{"__pycache__", ""},
                 {"sitecustomize.py", ll_python_sitecustomize},
                 {"torch_trace.py", ll_python_torch_trace}};
    for (size_t i = 0; i < sizeof files / sizeof files[0] && status == LL_OK; i++)
        status = write_text(arena, folder, files[i].name, files[i].text);
    if (status == LL_OK)
        launch->settings[count] = setting;
    return status;
}

/* Behind it: what there is to import. */

/* The text of torch.PID.ENDING without its last end of line; NULL where there is none. */
static const char *read_told(const struct ll_torch *torch, uint64_t pid, const char *ending)
{
    enum { MOST = 4096 };
    struct ll_contents text = {0};
    const char *path = ll_format(torch->arena, "%s/torch.%" PRIu64 ".%s", torch->folder, pid, ending);
    if (!path || ll_read_whole(path, MOST, torch->arena, &text) != LL_OK)
        return NULL;
    return ll_copy_text(torch->arena, text.bytes, strcspn(text.bytes, "\n"));
}

/* One way to import; the first complaint, or why there was none, where it fails. */
static const char *try_import(const struct ll_torch *torch, const struct ll_input_file *input, bool opaque,
                              const char *output)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_choice model = {.key = "model", .value = torch->command};
    struct ll_import import = {.inputs = input,
                               .input_count = 1,
                               .choices = &model,
                               .choice_count = 1,
                               .allow_opaque = opaque,
                               .output = output,
                               .diags = diags};
    ll_importer ll_import_TORCH_GRAPH;
    const char *trouble = ll_status_text(LL_NO_MEMORY);
    if (!diags)
        return trouble;
    if (ll_import_run(ll_import_TORCH_GRAPH, &import))
        trouble = NULL;
    else if (diags->kept_count > 0)
        trouble = ll_copy_text(torch->arena, diags->kept[0].message, strlen(diags->kept[0].message));
    else
        trouble = ll_status_text(import.status);
    ll_diags_release(diags);
    free(diags);
    return trouble;
}

static struct ll_trace *read_trace(const char *path)
{
    enum ll_status status;
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_trace *trace = diags ? ll_trace_read(path, diags, &status) : NULL;
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return trace;
}

/* Where some operator is unknown, the rest is still more than calls show. */
static void import_told(struct ll_torch *torch, struct ll_torch_told *told)
{
    struct ll_input_file input;
    const char *path = ll_format(torch->arena, "%s/torch.%" PRIu64 ".json", torch->folder, told->pid);
    const char *output = ll_format(torch->arena, "%s/torch.%" PRIu64 ".llt", torch->folder, told->pid);
    enum ll_status status = path && output ? ll_input_open(path, torch->arena, &input) : LL_NO_MEMORY;
    if (status != LL_OK) {
        told->trouble = ll_status_text(status);
        return;
    }
    const char *steps = read_told(torch, told->pid, "steps");
    told->steps = steps ? strtoull(steps, NULL, 10) : 0;
    told->trouble = try_import(torch, &input, false, output);
    told->opaque = told->trouble;
    if (told->opaque)
        told->trouble = try_import(torch, &input, true, output);
    told->imported = told->trouble ? NULL : output;
}

static bool is_there(const struct ll_torch *torch, uint64_t pid, const char *ending)
{
    const char *path = ll_format(torch->arena, "%s/torch.%" PRIu64 ".%s", torch->folder, pid, ending);
    return path && access(path, R_OK) == 0;
}

static const char *warning_of(const struct ll_torch *torch, const struct ll_torch_told *told)
{
    return ll_format(
        torch->arena,
        "PyTorch's own trace of a step is missing (%s): the step is made of the calls that were seen alone; "
        "`e = torch.profiler.ExecutionTraceObserver(); e.register_callback(\"step.json\"); e.start()` before "
        "a step "
        "of the program, `e.stop()` and `e.unregister_callback()` behind it (ExecutionGraphObserver before "
        "PyTorch 2) write what leadline import pytorch-graph reads",
        told->trouble ? told->trouble : ll_status_text(LL_NO_MEMORY));
}

const char *ll_torch_warning(void *context, uint64_t pid, bool loaded)
{
    struct ll_torch *torch = context;
    bool taken = is_there(torch, pid, "json"), failed = is_there(torch, pid, "trouble");
    if ((!loaded && !taken && !failed) || is_there(torch, pid, "none"))
        return NULL;
    if (!ll_grow(&torch->told, &torch->capacity, torch->count + 1, sizeof *torch->told))
        return NULL;
    struct ll_torch_told *told = &torch->told[torch->count++];
    *told = (struct ll_torch_told){.pid = pid};
    if (taken)
        import_told(torch, told);
    else if (failed)
        told->trouble = read_told(torch, pid, "trouble");
    else
        told->trouble = "its Python does not read PYTHONPATH, or runs no sitecustomize";
    if (told->imported)
        return NULL;
    told->warning = warning_of(torch, told);
    return told->warning;
}

/* --- joined with what was recorded --- */

static bool is_gemm(const struct ll_trace *trace, uint32_t seq)
{
    return ll_kind_is_gemm(trace->signatures[trace->ops[seq].signature].view.kind);
}

/* Biases and the like are counted by one of the two alone. */
static bool same_flops(const struct ll_trace *a, uint32_t of_a, const struct ll_trace *b, uint32_t of_b)
{
    double one = (double)a->signatures[a->ops[of_a].signature].flops,
           other = (double)b->signatures[b->ops[of_b].signature].flops;
    return fabs(one - other) <= 0.02 * fmax(one, other);
}

/* The complete step in the middle of the others. */
static struct ll_step middle_step(const struct ll_trace *trace)
{
    uint64_t complete = 0, at = 0;
    for (uint64_t i = 0; i < trace->step_count; i++)
        complete += trace->steps[i].complete && trace->steps[i].op_count > 0;
    for (uint64_t i = 0; i < trace->step_count; i++)
        if (trace->steps[i].complete && trace->steps[i].op_count > 0 && at++ == complete / 2)
            return trace->steps[i];
    return (struct ll_step){0};
}

/* For each op that is a GEMM the recorded call that it made: of the same FLOPs, in the same order, with
 * no more than a few others between. How many have one, and how many there are. */
static uint64_t match(const struct ll_trace *trace, const struct ll_trace *calls, const struct ll_step *step,
                      uint32_t *call_of, uint64_t *products)
{
    enum { AHEAD = 16 };
    uint32_t at = step->first_op, end = step->first_op + step->op_count;
    uint64_t matched = 0;
    *products = 0;
    for (uint32_t seq = 0; seq < trace->op_count; seq++) {
        call_of[seq] = LL_NONE;
        if (!is_gemm(trace, seq))
            continue;
        ++*products;
        unsigned seen = 0;
        uint32_t call = at;
        while (call < end && seen < AHEAD && !(is_gemm(calls, call) && same_flops(trace, seq, calls, call)))
            seen += is_gemm(calls, call++);
        if (call == end || seen == AHEAD)
            continue;
        call_of[seq] = call;
        at = call + 1;
        matched++;
    }
    return matched;
}

/* The recorded times of calls, where most GEMMs have made one; the others stay without. */
static bool take_times(struct ll_trace *trace, const struct ll_trace *calls)
{
    const struct ll_step step = middle_step(calls);
    uint32_t *call_of = calloc(trace->op_count + 1, sizeof *call_of);
    uint64_t products = 0;
    bool most = call_of && step.op_count > 0 && trace->step_count == 1 &&
                2 * match(trace, calls, &step, call_of, &products) > products;
    uint64_t now_ns = 0;
    for (uint32_t seq = 0; most && seq < trace->op_count; seq++) {
        const struct ll_op *call = call_of[seq] == LL_NONE ? NULL : &calls->ops[call_of[seq]];
        if (call)
            now_ns = ll_max(now_ns, call->start_ns > step.start_ns ? call->start_ns - step.start_ns : 0);
        trace->ops[seq].start_ns = now_ns;
        trace->ops[seq].duration_ns = call ? call->duration_ns : 0;
        now_ns += trace->ops[seq].duration_ns;
    }
    if (most)
        trace->steps[0].wall_ns = ll_max(step.wall_ns, now_ns);
    free(call_of);
    return call_of;
}

/* Those whose keys the trace has not said already. */
static void add_facts(const struct ll_trace *trace, const struct ll_fact *more, uint64_t count,
                      struct ll_facts *facts)
{
    for (uint64_t i = 0; i < count; i++)
        if (!ll_trace_fact(trace, more[i].key))
            ll_facts_add(facts, more[i].key, "%s", more[i].value);
}

/* What the importer says of the step, then what the recorder says or, where there were no calls, what is
 * known of this machine. */
static void join_facts(const struct ll_trace *trace, const struct ll_trace *calls,
                       const struct ll_torch_told *told, struct ll_facts *facts)
{
    struct ll_facts host = {.arena = facts->arena};
    for (uint64_t i = 0; i < trace->fact_count; i++)
        ll_facts_add(facts, trace->facts[i].key, "%s", trace->facts[i].value);
    if (!calls) {
        ll_facts_add(&host, "pid", "%" PRIu64, told->pid);
        ll_host_facts("", &host);
        facts->failed |= host.failed;
    }
    add_facts(trace, calls ? calls->facts : host.items, calls ? calls->fact_count : host.count, facts);
    if (told->steps)
        ll_facts_add(facts, "pytorch.steps", "%" PRIu64, told->steps);
    if (told->opaque)
        ll_facts_add(
            facts, "warning.pytorch",
            "some operators of PyTorch are unknown here, and count as moving their bytes: kind foreign");
}

static double product_flops(const struct ll_trace *trace)
{
    double flops = 0;
    for (uint32_t seq = 0; seq < trace->op_count; seq++)
        flops += is_gemm(trace, seq) ? (double)trace->signatures[trace->ops[seq].signature].flops : 0;
    return flops;
}

/* Whether the steps that PyTorch told of are the most of what was called: a program may call BLAS
 * elsewhere. */
static bool is_the_most(const struct ll_trace *trace, const struct ll_trace *calls,
                        const struct ll_torch_told *told)
{
    static const double least = 0.25; /* there is more to a program than its steps */
    double steps = (double)told->steps / (double)ll_max(trace->step_count, 1);
    return told->steps == 0 || product_flops(trace) * steps >= least * product_flops(calls);
}

static enum ll_status write_joined(const struct ll_torch *torch, struct ll_torch_told *told,
                                   const struct ll_trace *trace, const struct ll_trace *calls,
                                   const char *path)
{
    struct ll_arena arena = {0};
    struct ll_facts facts = {.arena = &arena};
    told->joined = !calls || is_the_most(trace, calls, told);
    told->ops = trace->op_count;
    if (told->joined) {
        join_facts(trace, calls, told, &facts);
    } else {
        told->trouble = "most of what the program calls is not in the steps that it tells of";
        told->warning = warning_of(torch, told);
        for (uint64_t i = 0; i < calls->fact_count; i++)
            ll_facts_add(&facts, calls->facts[i].key, "%s", calls->facts[i].value);
        ll_facts_add(&facts, "warning.pytorch", "%s", told->warning ? told->warning : told->trouble);
    }
    enum ll_status status =
        facts.failed ? LL_NO_MEMORY
                     : ll_trace_write(told->joined ? trace : calls, facts.items, facts.count, path);
    told->joined = told->joined && status == LL_OK;
    ll_arena_release(&arena);
    return status;
}

static enum ll_status join(const struct ll_torch *torch, struct ll_torch_told *told,
                           const struct ll_session_trace *recorded)
{
    struct ll_trace *trace = read_trace(told->imported);
    struct ll_trace *calls = recorded->summary.calls ? read_trace(recorded->path) : NULL;
    bool ready = trace && (!calls || take_times(trace, calls));
    enum ll_status status = ready ? write_joined(torch, told, trace, calls, recorded->path) : LL_NO_MEMORY;
    ll_trace_free(trace);
    ll_trace_free(calls);
    return status;
}

/* Processes that called nothing that is recorded: only PyTorch tells of them. */
static void find_others(struct ll_torch *torch)
{
    DIR *all = opendir(torch->folder);
    for (const struct dirent *entry; all && (entry = readdir(all)) != NULL;) {
        uint64_t pid;
        int end = 0;
        if (sscanf(entry->d_name, "torch.%" SCNu64 ".json%n", &pid, &end) == 1 && end &&
            !entry->d_name[end] && !ll_torch_of(torch, pid))
            ll_torch_warning(torch, pid, true);
    }
    if (all)
        closedir(all);
}

static int by_pid(const void *left, const void *right)
{
    const struct ll_torch_told *a = left, *b = right;
    return (a->pid > b->pid) - (a->pid < b->pid);
}

/* As ll_session_close names traces: the first has the name that was asked for. */
static const char *path_for(const struct ll_torch *torch, const char *output, uint64_t pid, bool first)
{
    size_t length = strlen(output);
    bool ends = length > 4 && strcmp(output + length - 4, ".llt") == 0;
    return first ? output
                 : ll_format(torch->arena, "%.*s.%" PRIu64 ".llt", (int)(ends ? length - 4 : length), output,
                             pid);
}

bool ll_torch_join(struct ll_torch *torch, const char *output, struct ll_session_trace **traces,
                   size_t *count)
{
    assert(*traces || *count == 0);
    find_others(torch);
    struct ll_session_trace *all = ll_alloc(torch->arena, *count + torch->count, sizeof *all);
    if (!all)
        return false;
    if (*count)
        memcpy(all, *traces, *count * sizeof *all);
    if (torch->count)
        qsort(torch->told, torch->count, sizeof *torch->told, by_pid);
    for (uint64_t i = 0; i < torch->count; i++) {
        struct ll_torch_told *told = &torch->told[i];
        size_t t = *count;
        while (t-- > 0 && all[t].pid != told->pid)
            ;
        if (!told->imported || (t < *count && all[t].status != LL_OK))
            continue;
        if (t >= *count) {
            t = (*count)++;
            all[t] = (struct ll_session_trace){.path = path_for(torch, output, told->pid, t == 0),
                                               .pid = told->pid};
        }
        if (!all[t].path)
            return false;
        all[t].status = join(torch, told, &all[t]);
    }
    *traces = all;
    return true;
}

const struct ll_torch_told *ll_torch_of(const struct ll_torch *torch, uint64_t pid)
{
    for (uint64_t i = 0; i < torch->count; i++)
        if (torch->told[i].pid == pid)
            return &torch->told[i];
    return NULL;
}

void ll_torch_release(struct ll_torch *torch)
{
    free(torch->told);
    torch->told = NULL;
    torch->count = 0;
}
