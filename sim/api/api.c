/* SPDX-License-Identifier: Apache-2.0 */
/* The library: its objects, and what is done with them by the code of the program's commands, so that results
 * are the program's.
 *
 * A call begins by taking the streams of this thread (ll_keep_output) and ends by giving them back; what was
 * said in between are the messages. Objects count who uses them: a result keeps the trace and the machine
 * that it points to. */
#define _POSIX_C_SOURCE 200809L
#include "sim/api/call.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sim/cli/commands.h"
#include "sim/cli/fields.h"
#include "sim/cli/load.h"
#include "sim/cli/serving.h"
#include "sim/cli/sim_step.h"
#include "sim/report/table.h"
#include "tracer/base/file.h"
#include "tracer/base/json.h"
#include "tracer/format/reader.h"
#include "tracer/transform/rewrite.h"

enum { PAGE_WIDTH = 100 };

/* --- a call: what it says, how it ends --- */

static _Thread_local struct ll_kept_output call; /* of this thread's last call */
static _Thread_local enum leadline_outcome outcome;
static _Thread_local const volatile sig_atomic_t *stop_on;
static _Thread_local struct ll_str folders_text;

/* What a thread leaves behind is freed with it. */
static pthread_key_t leaving;
static pthread_once_t leaving_once = PTHREAD_ONCE_INIT;

static void leave(void *unused)
{
    (void)unused;
    ll_str_release(&call.printed);
    ll_str_release(&call.said);
    ll_str_release(&folders_text);
}

static void make_leaving(void)
{
    pthread_key_create(&leaving, leave);
}

void ll_call_begin(void)
{
    static const volatile sig_atomic_t never = 0;
    pthread_once(&leaving_once, make_leaving);
    pthread_setspecific(leaving, &call);
    ll_str_release(&call.printed);
    ll_str_release(&call.said);
    call.stop = stop_on ? stop_on : &never;
    ll_keep_output(&call);
}

bool ll_call_end(int status)
{
    status = ll_end(status);
    ll_keep_no_output();
    assert(status == LL_DONE || status == LL_FAILED || status == LL_WRONG || status == LL_INTERRUPTED);
    outcome = (enum leadline_outcome)status;
    return status == LL_DONE || status == LL_INTERRUPTED;
}

const char *leadline_version(void)
{
    return LL_VERSION;
}

const char *leadline_messages(void)
{
    return call.said.failed ? "memory ran out\n" : call.said.text ? call.said.text : "";
}

enum leadline_outcome leadline_status(void)
{
    return outcome;
}

void leadline_stop_on(const volatile sig_atomic_t *stop)
{
    stop_on = stop;
}

const char *leadline_folders(void)
{
    struct ll_arena arena = {0};
    ll_call_begin();
    const char *const *folders = ll_machine_folders(&arena);
    ll_str_release(&folders_text);
    for (size_t i = 0; folders && folders[i]; i++)
        ll_str_addf(&folders_text, "%s%s", i ? ":" : "", folders[i]);
    ll_arena_release(&arena);
    ll_call_end(folders && !folders_text.failed ? LL_DONE : ll_cli_fail("memory ran out"));
    return folders_text.text ? folders_text.text : "";
}

static size_t count_of(const char *const *texts)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    return count;
}

/* --- traces --- */

/* A trace made ready for replays, once for all machines. */
struct preparation {
    struct ll_arena arena;
    const struct ll_prepared *prepared; /* NULL: not yet */
    struct ll_machine *recorded_on;
};

enum { SIMULATED, AS_RECORDED, PREPARATIONS };

struct leadline_trace {
    atomic_uint users;
    struct ll_trace *trace;
    char *name;           /* in documents */
    pthread_mutex_t lock; /* of `ready` */
    struct preparation ready[PREPARATIONS];
};

leadline_trace *ll_call_wrap_trace(struct ll_trace *trace, const char *name)
{
    leadline_trace *made = calloc(1, sizeof *made);
    char *copy = strdup(name);
    if (!made || !copy) {
        free(made);
        free(copy);
        ll_trace_free(trace);
        ll_cli_fail("memory ran out");
        return NULL;
    }
    made->trace = trace;
    made->name = copy;
    atomic_init(&made->users, 1);
    pthread_mutex_init(&made->lock, NULL);
    return made;
}

static void release_preparation(struct preparation *ready)
{
    ll_machine_free(ready->recorded_on);
    ll_arena_release(&ready->arena);
    *ready = (struct preparation){.prepared = NULL};
}

void leadline_trace_free(leadline_trace *trace)
{
    if (!trace || atomic_fetch_sub(&trace->users, 1) > 1)
        return;
    for (size_t i = 0; i < PREPARATIONS; i++)
        release_preparation(&trace->ready[i]);
    pthread_mutex_destroy(&trace->lock);
    ll_trace_free(trace->trace);
    free(trace->name);
    free(trace);
}

static void print_and_release(struct ll_diags *diags)
{
    ll_print_diags(diags);
    ll_diags_release(diags);
}

/* False after saying why not. */
static bool prepare(struct preparation *ready, const struct ll_trace *trace, bool as_recorded)
{
    struct ll_diags *diags = ll_alloc(&ready->arena, 1, sizeof *diags);
    if (!diags)
        return ll_cli_fail("memory ran out") == LL_DONE;
    ready->prepared = (as_recorded ? ll_prepare_as_recorded : ll_prepare)(trace, &ready->arena, diags);
    bool said = diags->count > 0;
    print_and_release(diags);
    if (!ready->prepared && !said)
        ll_cli_fail("memory ran out");
    if (ready->prepared && ll_find_recorded_on(ready->prepared, &ready->arena, &ready->recorded_on))
        return true;
    release_preparation(ready);
    return false;
}

/* The trace made ready; NULL after saying why not. */
static const struct ll_prepared *prepared_of(leadline_trace *trace, bool as_recorded)
{
    struct preparation *ready = &trace->ready[as_recorded ? AS_RECORDED : SIMULATED];
    pthread_mutex_lock(&trace->lock);
    bool done = ready->prepared || prepare(ready, trace->trace, as_recorded);
    pthread_mutex_unlock(&trace->lock);
    return done ? ready->prepared : NULL;
}

void *ll_call_without(const char *what)
{
    if (outcome == LEADLINE_DONE || outcome == LEADLINE_INTERRUPTED) {
        ll_call_begin();
        ll_call_end(ll_cli_reject("there is no %s: NULL was given", what));
    }
    return NULL;
}

leadline_trace *leadline_trace_read(const char *path)
{
    int status;
    leadline_trace *made = NULL;
    if (!path)
        return ll_call_without("path of a trace");
    ll_call_begin();
    struct ll_trace *trace = ll_load_trace(path, &status);
    if (trace) {
        made = ll_call_wrap_trace(trace, path);
        status = made ? LL_DONE : LL_FAILED;
    }
    ll_call_end(status);
    return made;
}

leadline_trace *leadline_trace_record(const char *model, const char *const *options)
{
    struct ll_arena arena = {0};
    struct ll_args args;
    struct ll_trace *trace = NULL;
    leadline_trace *made = NULL;
    if (!model)
        return ll_call_without("model");
    ll_call_begin();
    int status = ll_args_of(&ll_command_record, options, (const char *const[]){model, NULL}, &arena, &args);
    if (status == LL_DONE)
        status = ll_record_in_memory(&args, &trace);
    if (status == LL_DONE) {
        made = ll_call_wrap_trace(trace, model);
        status = made ? LL_DONE : LL_FAILED;
    }
    ll_arena_release(&arena);
    ll_call_end(status);
    return made;
}

/* Importers write files: this one is gone before anybody sees it. */
static int import_beside(const char *format, const char *path, const char *const *options,
                         struct ll_arena *arena, struct ll_trace **trace)
{
    const char *folder = getenv("TMPDIR");
    char *file = ll_format(arena, "%s/leadline-XXXXXX", folder && *folder ? folder : "/tmp");
    const char *const words[] = {format ? format : path, format ? path : NULL, NULL};
    const size_t count = count_of(options);
    const char **all = ll_alloc(arena, count + 2, sizeof *all);
    if (!file || !all)
        return ll_cli_fail("memory ran out");
    for (size_t i = 0; i < count; i++)
        all[i] = options[i];
    int opened = mkstemp(file);
    if (opened < 0)
        return ll_cli_fail("%s: %s", file, ll_status_text(LL_CANNOT_WRITE));
    close(opened);
    unlink(file); /* an empty file is nothing to replace */
    all[count] = ll_format(arena, "output=%s", file);
    int status = all[count] ? ll_command_ask(&ll_command_import, all, words) : ll_cli_fail("memory ran out");
    if (status == LL_DONE)
        *trace = ll_read_trace(file, &status);
    unlink(file);
    return *trace ? LL_DONE : status;
}

leadline_trace *leadline_trace_import(const char *format, const char *path, const char *const *options)
{
    struct ll_arena arena = {0};
    struct ll_trace *trace = NULL;
    leadline_trace *made = NULL;
    if (!path)
        return ll_call_without("path of a file to import");
    ll_call_begin();
    int status = import_beside(format, path, options, &arena, &trace);
    if (status == LL_DONE) {
        made = ll_call_wrap_trace(trace, path);
        status = made ? LL_DONE : LL_FAILED;
    }
    ll_arena_release(&arena);
    ll_call_end(status);
    return made;
}

/* The options of a simulation, of one trace and one machine. */
static int read_step(const char *name, const char *const *options, struct ll_arena *arena,
                     struct ll_args *args, struct ll_sim_step *step)
{
    int status = ll_args_of(&ll_command_sim, options, (const char *const[]){name, NULL}, arena, args);
    return status == LL_DONE ? ll_sim_step_read(args, step) : status;
}

/* A copy of the trace, changed as the step says. */
static int change(const leadline_trace *trace, const struct ll_args *args, const struct ll_sim_step *step,
                  struct ll_trace **changed)
{
    *changed = ll_trace_copy(trace->trace);
    return *changed ? ll_sim_step_change(args, step, trace->name, changed) : ll_cli_fail("memory ran out");
}

leadline_trace *leadline_trace_change(const leadline_trace *trace, const char *const *options)
{
    struct ll_arena arena = {0};
    struct ll_args args;
    struct ll_sim_step step = {.planned = false};
    struct ll_trace *changed = NULL;
    leadline_trace *made = NULL;
    if (!trace)
        return ll_call_without("trace to change");
    ll_call_begin();
    int status = read_step(trace->name, options, &arena, &args, &step);
    if (status == LL_DONE && step.planned)
        status = ll_cli_reject("a plan spreads a step over devices; it changes no trace");
    if (status == LL_DONE)
        status = change(trace, &args, &step, &changed);
    if (status == LL_DONE) {
        made = ll_call_wrap_trace(changed, trace->name);
        status = made ? LL_DONE : LL_FAILED;
    } else {
        ll_trace_free(changed);
    }
    ll_arena_release(&arena);
    ll_call_end(status);
    return made;
}

int leadline_trace_write(const leadline_trace *trace, const char *path)
{
    if (!trace || !path)
        return ll_call_without(trace ? "path to write to" : "trace to write") != NULL;
    ll_call_begin();
    int status = ll_may_replace(path) ? LL_DONE : LL_FAILED;
    if (status == LL_DONE) {
        enum ll_status written =
            ll_trace_write(trace->trace, trace->trace->facts, trace->trace->fact_count, path);
        status = written == LL_OK ? LL_DONE : ll_cli_fail("%s: %s", path, ll_status_text(written));
    }
    return ll_call_end(status);
}

/* --- machines --- */

struct leadline_machine {
    atomic_uint users;
    struct ll_arena arena;
    struct ll_machine *machine;
    const char *which;
    const char **overrides; /* "path=value", ended by NULL */
    struct ll_override *taken_apart;
    size_t override_count;
    struct ll_residuals residuals;
    const char *residual_folder; /* NULL: there are no residuals, or none of this machine */
    pthread_mutex_t lock;        /* of `system` */
    struct ll_machine *system;   /* what several of it make; NULL: nobody has asked yet */
    pthread_mutex_t memory;      /* of `remembered`: who finds it taken does without */
    struct ll_remembered remembered;
};

void leadline_machine_free(leadline_machine *machine)
{
    if (!machine || atomic_fetch_sub(&machine->users, 1) > 1)
        return;
    ll_remembered_release(&machine->remembered);
    pthread_mutex_destroy(&machine->memory);
    pthread_mutex_destroy(&machine->lock);
    ll_machine_free(machine->system);
    ll_machine_free(machine->machine);
    ll_arena_release(&machine->arena);
    free(machine);
}

const char *leadline_machine_name(const leadline_machine *machine)
{
    return machine ? machine->machine->stem : "";
}

/* Appends copies of overrides. False when memory ran out. */
static bool add_overrides(leadline_machine *machine, const char *const *overrides)
{
    for (; overrides && *overrides; overrides++) {
        const char *copy = ll_copy_text(&machine->arena, *overrides, strlen(*overrides));
        if (!copy)
            return false;
        machine->overrides[machine->override_count++] = copy;
    }
    return true;
}

/* Those of both lists, taken apart. */
static int take_overrides(leadline_machine *machine, const char *const *first, const char *const *then)
{
    size_t count = count_of(first) + count_of(then);
    machine->overrides = ll_alloc(&machine->arena, count + 1, sizeof *machine->overrides);
    machine->taken_apart = ll_alloc(&machine->arena, count + 1, sizeof *machine->taken_apart);
    if (!machine->overrides || !machine->taken_apart || !add_overrides(machine, first) ||
        !add_overrides(machine, then))
        return ll_cli_fail("memory ran out");
    for (size_t i = 0; i < count; i++) {
        const char *given = machine->overrides[i], *equals = strchr(given, '=');
        if (!equals || equals == given)
            return ll_cli_reject("%s: expected path=value, as in memory.hbm.bandwidth=1TB/s", given);
        machine->taken_apart[i].path = ll_copy_text(&machine->arena, given, (size_t)(equals - given));
        machine->taken_apart[i].value = equals + 1;
        if (!machine->taken_apart[i].path)
            return ll_cli_fail("memory ran out");
    }
    return LL_DONE;
}

/* Error bars are of machines as their files have them. */
static bool find_residuals(leadline_machine *machine, const char *const *folders)
{
    struct ll_diags *diags = ll_alloc(&machine->arena, 1, sizeof *diags);
    if (machine->override_count > 0)
        return true;
    if (!diags)
        return ll_cli_fail("memory ran out") == LL_DONE;
    bool done =
        ll_load_residuals(folders, &machine->arena, diags, &machine->residuals, &machine->residual_folder);
    print_and_release(diags);
    return done;
}

static leadline_machine *new_machine(const char *which, const char *const *first, const char *const *then)
{
    leadline_machine *made = calloc(1, sizeof *made);
    if (!made) {
        ll_call_end(ll_cli_fail("memory ran out"));
        return NULL;
    }
    atomic_init(&made->users, 1);
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->memory, NULL);
    const char *const *folders = ll_machine_folders(&made->arena);
    made->which = ll_copy_text(&made->arena, which, strlen(which));
    int status = folders && made->which ? take_overrides(made, first, then) : ll_cli_fail("memory ran out");
    if (status == LL_DONE) {
        made->machine = ll_load_machine(which, folders, made->taken_apart, made->override_count);
        status = made->machine && find_residuals(made, folders) ? LL_DONE : LL_WRONG;
    }
    if (ll_call_end(status))
        return made;
    leadline_machine_free(made);
    return NULL;
}

leadline_machine *leadline_machine_read(const char *name, const char *const *overrides)
{
    if (!name)
        return ll_call_without("name of a machine");
    ll_call_begin();
    return new_machine(name, NULL, overrides);
}

leadline_machine *leadline_machine_with(const leadline_machine *machine, const char *const *overrides)
{
    if (!machine)
        return ll_call_without("machine to change");
    ll_call_begin();
    return new_machine(machine->which, machine->overrides, overrides);
}

/* The machine as one of several; NULL after saying why not. */
static struct ll_machine *system_of(leadline_machine *machine)
{
    struct ll_arena arena = {0};
    pthread_mutex_lock(&machine->lock);
    const char *const *folders = machine->system ? NULL : ll_machine_folders(&arena);
    if (folders) {
        const struct ll_override *overrides = machine->taken_apart;
        machine->system = ll_load_machine(machine->which, folders, overrides, machine->override_count);
        if (machine->system)
            machine->system = ll_load_system(machine->system, folders, overrides, machine->override_count);
    }
    struct ll_machine *system = machine->system;
    pthread_mutex_unlock(&machine->lock);
    ll_arena_release(&arena);
    return system;
}

/* --- results --- */

struct leadline_result {
    struct ll_arena arena;
    struct ll_str json, remarks, text;
    struct ll_fields fields;
    bool has_fields;

    /* Of a simulation, whose document is written when it is asked for. */
    bool simulated, per_op;
    struct ll_report report;
    struct ll_spread *spread;
    leadline_trace *trace;     /* used */
    leadline_machine *machine; /* used */
    struct ll_trace *changed;  /* own, in place of the trace's; NULL: that */
    struct preparation ready;  /* of `changed` */
};

void leadline_result_free(leadline_result *result)
{
    if (!result)
        return;
    ll_fields_release(&result->fields);
    ll_str_release(&result->json);
    ll_str_release(&result->remarks);
    ll_str_release(&result->text);
    ll_spread_free(result->spread);
    release_preparation(&result->ready);
    ll_trace_free(result->changed);
    ll_arena_release(&result->arena);
    leadline_trace_free(result->trace);
    leadline_machine_free(result->machine);
    free(result);
}

/* Ends a call that made a result: what was printed is its document, what was said its remarks. NULL, the
 * result freed, where the call failed. */
static leadline_result *end_result(leadline_result *result, int status)
{
    bool kept = ll_call_end(status) && result;
    if (!kept) {
        leadline_result_free(result);
        return NULL;
    }
    ll_str_add_bytes(&result->remarks, call.said.text ? call.said.text : "", call.said.length);
    if (!result->simulated) {
        result->json = call.printed;
        call.printed = (struct ll_str){.text = NULL};
    }
    return result;
}

/* A result to be filled; NULL after saying that memory ran out. */
static leadline_result *begin_result(int *status)
{
    leadline_result *result = calloc(1, sizeof *result);
    *status = result ? LL_DONE : ll_cli_fail("memory ran out");
    return result;
}

const char *leadline_json(leadline_result *result)
{
    if (!result)
        return NULL;
    if (result->simulated && !result->json.text) {
        struct ll_json json = {.out = &result->json, .indent = true};
        ll_report_json(&result->report, 1, result->per_op, &json);
        if (result->json.text && !result->json.failed)
            ll_hide_controls(result->json.text, result->json.length);
    }
    return result->json.failed || !result->json.text ? "" : result->json.text;
}

static bool find_fields(leadline_result *result)
{
    struct ll_diags *diags = ll_alloc(&result->arena, 1, sizeof *diags);
    const char *json = leadline_json(result);
    result->fields.arena = &result->arena;
    bool found = diags && *json == '{' &&
                 ll_fields_read(&result->fields, json, result->json.length,
                                result->simulated ? "results" : NULL, diags);
    if (diags)
        ll_diags_release(diags);
    return found;
}

int leadline_number(leadline_result *result, const char *path, double *value)
{
    if (!result || !path)
        return 0;
    if (result->simulated && strcmp(path, "time_s") == 0) { /* what searches ask for, thousands of times */
        *value = result->report.result->time_s;
        return 1;
    }
    if (!result->has_fields)
        result->has_fields = find_fields(result);
    return result->has_fields && ll_fields_find(&result->fields, path, value);
}

const char *leadline_remarks(const leadline_result *result)
{
    return result && result->remarks.text ? result->remarks.text : "";
}

const char *leadline_text(leadline_result *result)
{
    if (!result || !result->simulated)
        return leadline_json(result);
    if (!result->text.text) {
        struct ll_str page = {0}, wrapped = {0};
        struct ll_warnings warnings = {.arena = &result->arena};
        ll_warn_of_reports(&warnings, &result->report, 1);
        ll_warnings_text(&warnings, &page);
        ll_report_page(&result->report, PAGE_WIDTH, &page);
        ll_wrap_all(page.text ? page.text : "", PAGE_WIDTH, &wrapped);
        result->text.failed = page.failed || wrapped.failed;
        if (wrapped.text)
            ll_add_painted(wrapped.text, false, &result->text);
        ll_str_release(&wrapped);
        ll_str_release(&page);
    }
    return result->text.failed || !result->text.text ? "" : result->text.text;
}

/* --- asking --- */

/* The trace that is simulated, ready: the caller's, or a changed copy, which is the result's own. */
static int ready_trace(leadline_result *result, const struct ll_args *args, struct ll_sim_step *step)
{
    const bool as_recorded = ll_flag(args, "as-recorded");
    step->trace = result->trace->trace;
    if (step->changed) {
        int status = change(result->trace, args, step, &result->changed);
        if (status != LL_DONE)
            return status;
        step->trace = result->changed;
    }
    if (step->planned) /* its programs are prepared */
        return LL_DONE;
    if (step->changed)
        step->prepared =
            prepare(&result->ready, result->changed, as_recorded) ? result->ready.prepared : NULL;
    else
        step->prepared = prepared_of(result->trace, as_recorded);
    return step->prepared ? LL_DONE : LL_WRONG;
}

static int simulate(leadline_result *result, const char *const *options)
{
    struct ll_args args;
    struct ll_sim_step step = {.planned = false};
    leadline_machine *machine = result->machine;
    int status = read_step(result->trace->name, options, &result->arena, &args, &step);
    if (status == LL_DONE)
        status = ready_trace(result, &args, &step);
    if (status != LL_DONE)
        return status;
    step.diags = ll_alloc(&result->arena, 1, sizeof *step.diags);
    step.machine = step.several ? system_of(machine) : machine->machine;
    if (!step.diags || !step.machine)
        return step.diags ? LL_WRONG : ll_cli_fail("memory ran out");
    struct ll_remembered own = {.costs = {0}};
    bool ours = pthread_mutex_trylock(&machine->memory) == 0;
    step.remembered = ours ? &machine->remembered : &own;
    step.residuals = machine->residual_folder ? &machine->residuals : NULL;
    step.residual_folder = machine->residual_folder;
    status = ll_sim_step_run(&args, &step, &result->report);
    if (ours)
        pthread_mutex_unlock(&machine->memory);
    ll_remembered_release(&own);
    print_and_release(step.diags);
    result->spread = step.spread;
    result->per_op = ll_flag(&args, "per-op");
    result->simulated = status == LL_DONE;
    return status;
}

leadline_result *leadline_simulate(const leadline_machine *machine, const leadline_trace *trace,
                                   const char *const *options)
{
    int status;
    if (!machine || !trace)
        return ll_call_without(machine ? "trace to simulate" : "machine to simulate");
    ll_call_begin();
    leadline_result *result = begin_result(&status);
    if (result) {
        result->trace = (leadline_trace *)trace; /* what is counted and kept beside it changes no trace */
        result->machine = (leadline_machine *)machine;
        atomic_fetch_add(&result->trace->users, 1);
        atomic_fetch_add(&result->machine->users, 1);
        status = simulate(result, options);
    }
    return end_result(result, status);
}

leadline_result *leadline_plan(const leadline_machine *machine, const leadline_trace *trace,
                               const char *const *options)
{
    struct ll_args args;
    struct ll_trace *copy = NULL;
    int status;
    if (!machine || !trace)
        return ll_call_without(machine ? "trace to plan" : "machine to plan for");
    ll_call_begin();
    leadline_result *result = begin_result(&status);
    if (result)
        status = ll_args_of(&ll_command_plan, options, (const char *const[]){trace->name, NULL},
                            &result->arena, &args);
    if (status == LL_DONE && !(copy = ll_trace_copy(trace->trace)))
        status = ll_cli_fail("memory ran out");
    if (status == LL_DONE) {
        bool several = strcmp(ll_value(&args, "devices", "1"), "1") != 0;
        const struct ll_machine *on = several ? system_of((leadline_machine *)machine) : machine->machine;
        status = on ? ll_plan_in_memory(&args, on, &copy) : LL_WRONG;
    }
    ll_trace_free(copy);
    return end_result(result, status);
}

leadline_result *leadline_serve(const leadline_machine *machine, const char *const *options)
{
    int status;
    if (!machine)
        return ll_call_without("machine to serve on");
    ll_call_begin();
    leadline_result *result = begin_result(&status);
    size_t count = count_of(options), n = 0;
    const char **all =
        result ? ll_alloc(&result->arena, count + machine->override_count + 2, sizeof *all) : NULL;
    if (result && !all)
        status = ll_cli_fail("memory ran out");
    for (size_t i = 0; all && i < count; i++)
        all[n++] = options[i];
    if (all && (all[n++] = ll_format(&result->arena, "machine=%s", machine->which)) == NULL)
        status = ll_cli_fail("memory ran out");
    for (size_t i = 0; all && status == LL_DONE && i < machine->override_count; i++)
        if ((all[n++] = ll_format(&result->arena, "set=%s", machine->overrides[i])) == NULL)
            status = ll_cli_fail("memory ran out");
    return end_result(result, status == LL_DONE ? ll_command_ask(&ll_command_serve, all, NULL) : status);
}

leadline_result *leadline_run(const char *command, const char *const *options, const char *const *words)
{
    int status;
    if (!command)
        return ll_call_without("command");
    ll_call_begin();
    leadline_result *result = begin_result(&status);
    const struct ll_command *found = result ? ll_command_find(command) : NULL;
    if (result)
        status = found ? ll_command_ask(found, options, words) : LL_WRONG;
    return end_result(result, status);
}

struct leadline_space {
    struct ll_sweep_points points;
};

leadline_space *leadline_space_open(const char *path)
{
    if (!path)
        return ll_call_without("path of a sweep file");
    ll_call_begin();
    leadline_space *space = calloc(1, sizeof *space);
    int status = space ? ll_sweep_points_open(path, &space->points) : ll_cli_fail("memory ran out");
    if (ll_call_end(status))
        return space;
    leadline_space_free(space);
    return NULL;
}

void leadline_space_free(leadline_space *space)
{
    if (!space)
        return;
    ll_sweep_points_close(&space->points);
    free(space);
}

uint64_t leadline_space_size(const leadline_space *space)
{
    return space ? space->points.space->point_count : 0;
}

leadline_result *leadline_space_about(leadline_space *space)
{
    int status;
    if (!space)
        return ll_call_without("space");
    ll_call_begin();
    leadline_result *result = begin_result(&status);
    if (result)
        ll_sweep_points_json(&space->points, &(struct ll_json){.out = &call.printed, .indent = true});
    return end_result(result, status);
}

leadline_result *leadline_space_point(leadline_space *space, uint64_t number)
{
    int status;
    if (!space)
        return ll_call_without("space");
    ll_call_begin();
    leadline_result *result = begin_result(&status);
    if (result)
        status = ll_sweep_points_evaluate(&space->points, number,
                                          &(struct ll_json){.out = &call.printed, .indent = true});
    return end_result(result, status);
}

int leadline_main(int argc, char **argv)
{
    return ll_program(argc, argv);
}
