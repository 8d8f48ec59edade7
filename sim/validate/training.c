/* SPDX-License-Identifier: Apache-2.0 */
/* Measured training steps: a row becomes a workload to be recorded and a plan, the plan is simulated. */
#include "sim/validate/training.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/machine/quantity.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/validate/predict.h"
#include "sim/validate/step.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"

enum { MOST_COLUMNS = 64 };
#define GIB 0x1p30

struct table {
    const char *file;
    const struct ll_csv_field *names;
    size_t name_count;
    const struct ll_csv_field *fields; /* of the row at work */
    size_t field_count;
    const char *trouble; /* why the row is not scored; NULL: nothing yet */
};

static const char *const needed[] = {
    "model", "layers", "tp", "cp", "pp", "dp", "ep", "seq", "micro_batches", "step_s", "peak_allocated_GiB"};

static bool names_column(const char *line, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = line; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && strchr(",\r\n", at[length]))
            return true;
    return false;
}

bool ll_is_training_header(const char *line)
{
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        if (!names_column(line, needed[i]))
            return false;
    return true;
}

/* A field's text; "" where there is none. */
static const char *text_of(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->name_count && i < t->field_count; i++)
        if (strcmp(t->names[i].text, name) == 0)
            return t->fields[i].text;
    return "";
}

/* A count from 1 to 2^30, `otherwise` where the field is empty. */
static uint64_t count_of(struct table *t, const char *name, uint64_t otherwise)
{
    const char *text = text_of(t, name);
    uint64_t count = otherwise;
    if (*text && strcmp(text, "none") != 0 &&
        (!ll_count_parse(text, &count) || count < 1 || count > 1u << 30))
        t->trouble = "a count is missing or impossible";
    return count > 0 && count <= 1u << 30 ? count : 1;
}

/* Which of the words a field has, the first where it is empty; a row with another word is not scored. */
static size_t choice_of(struct table *t, const char *name, const char *const *words, const char *trouble)
{
    const char *text = text_of(t, name);
    size_t i = 0;
    while (*text && words[i] && strcmp(text, words[i]) != 0)
        i++;
    if (words[i])
        return i;
    t->trouble = trouble;
    return 0;
}

/* --- what a row asks for --- */

static void set(struct ll_dry_workload *wanted, const char *key, const char *value, size_t length)
{
    size_t i = 0;
    while (wanted->settings[i].key[0])
        i++;
    assert(i < LL_MOST_DRY_SETTINGS && length < LL_DRY_TEXT);
    memcpy(wanted->settings[i].key, key, strlen(key));
    memcpy(wanted->settings[i].value, value, length);
}

static void set_count(struct ll_dry_workload *wanted, const char *key, uint64_t value)
{
    char text[LL_DRY_TEXT];
    set(wanted, key, text, (size_t)snprintf(text, sizeof text, "%" PRIu64, value));
}

static void want_model(struct table *t, struct ll_dry_workload *wanted)
{
    static const struct {
        const char *name, *config, *settings;
    } models[] = {
#define LL_TRAINED(name, config, settings) {name, config, settings},
#include "sim/validate/trained.def"
#undef LL_TRAINED
    };
    size_t i = 0, count = sizeof models / sizeof *models;
    while (i < count && strcmp(models[i].name, text_of(t, "model")) != 0)
        i++;
    if (i == count) {
        t->trouble =
            "its model is not known: expected llama3_8b, llama3_70b, llama3_405b, deepseekv2 or deepseekv3";
        return;
    }
    const uint64_t layers = count_of(t, "layers", 0), dense = count_of(t, "dense_layers", layers);
    set(wanted, "config", models[i].config, strlen(models[i].config));
    set_count(wanted, "layers", layers);
    set_count(wanted, "tokens", count_of(t, "seq", 0));
    if (dense < layers)
        set_count(wanted, "dense_layers", dense);
    if (*text_of(t, "vocab_padded"))
        set_count(wanted, "vocabulary", count_of(t, "vocab_padded", 0));
    const double clip = ll_strtod(text_of(t, "clip_grad"), NULL);
    if (clip >= 0.001 && clip < 1e6)
        set_count(wanted, "clip", (uint64_t)(clip * 1000 + 0.5));
    const char *equals = strchr(models[i].settings, '=');
    if (equals) {
        char key[LL_DRY_TEXT] = "";
        memcpy(key, models[i].settings, (size_t)(equals - models[i].settings));
        set(wanted, key, equals + 1, strlen(equals + 1));
    }
}

static void read_plan(struct table *t, struct ll_parallel *plan)
{
    static const char *const
        comms[] = {"none", "a2a", "all_gather", NULL},
        *const accumulators[] = {"fp32", "bf16", NULL}, *const losses[] = {"unfused", "fused_te", NULL},
        *const optimizers[] = {"adam", "adam_distributed", NULL}, *const overlaps[] = {"none", "all", NULL},
        *const flags[] = {"0", "1", NULL}, *const recomputes[] = {"none", "selective", "full", NULL};
    *plan = ll_plan_of_one();
    plan->tensor = count_of(t, "tp", 1);
    plan->context = count_of(t, "cp", 1);
    plan->pipeline = count_of(t, "pp", 1);
    plan->split.evenly = true;
    plan->data = count_of(t, "dp", 1);
    plan->expert = count_of(t, "ep", 1);
    plan->chunks = count_of(t, "virtual_stages", 1);
    plan->schedule = plan->chunks > 1 ? LL_SCHEDULE_INTERLEAVED : LL_SCHEDULE_ONE_F_ONE_B;
    plan->micro_batch = count_of(t, "micro_batch", 1);
    plan->batch = ll_mul(ll_mul(plan->micro_batch, count_of(t, "micro_batches", 1)), plan->data);
    plan->sequence =
        plan->tensor > 1 && choice_of(t, "seq_parallel", flags, "seq_parallel is neither 0 nor 1") == 1;
    plan->cp_comm = choice_of(t, "cp_comm", comms,
                              "its exchange of keys and values is not known: expected a2a or all_gather") == 1
                        ? LL_CP_COMM_ALL_TO_ALL
                        : LL_CP_COMM_ALL_GATHER;
    plan->main_grads = choice_of(t, "grad_accum", accumulators, "its type of gradients is not known") == 0;
    plan->fused_loss = choice_of(t, "loss", losses, "its loss is not known") == 1;
    plan->zero =
        choice_of(t, "optimizer", optimizers, "its optimizer is not known") == 1 && ll_replicas(plan) > 1;
    plan->overlap = plan->pass_overlap = choice_of(t, "overlap", overlaps, "its overlap is not known") == 1;
    plan->recompute =
        (enum ll_recompute)choice_of(t, "recompute", recomputes, "its recomputation is not known");
}

/* --- scoring --- */

struct scoring {
    const struct ll_machine *machine;
    const struct ll_recordings *recordings;
    struct ll_arena *arena;
    struct ll_diags *diags;
    struct ll_prediction *predictions;
    uint64_t count, capacity;
    struct ll_remembered remembered;
};

struct outcome {
    double time_s, bytes, roofline_s, state_bytes;
    const char *trouble;
};

/* FLOPs and bytes of a recorded step at the datasheet's rates, shared by the devices of a replica. */
static double roofline_s(const struct ll_trace *trace, const struct ll_machine *machine,
                         const struct ll_parallel *plan)
{
    double micro_batches = (double)plan->batch / (double)(plan->micro_batch * plan->data), sum_s = 0;
    double devices = (double)(plan->tensor * plan->context * plan->pipeline);
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        struct ll_work work;
        if (signature->view.kind == LL_OP_NONE || !ll_op_lower(&signature->view, &work) ||
            work.kind == LL_WORK_HOST || work.kind == LL_WORK_NOTHING)
            continue;
        double often = signature->phase == LL_PHASE_UPDATE ? 1 : micro_batches;
        sum_s += often * ll_work_roofline_s(machine, &work) / devices;
    }
    return sum_s;
}

static void simulate(struct scoring *s, const struct ll_trace *trace, const struct ll_parallel *plan,
                     struct outcome *outcome)
{
    struct ll_diags diags = {0};
    struct ll_arena scratch = {0};
    uint64_t devices = ll_mul(ll_replicas(plan), ll_mul(plan->tensor, plan->pipeline));
    struct ll_spread *spread = ll_spread_trace(trace, plan, devices, &diags);
    const struct ll_parallel_result *result =
        spread ? ll_parallel_run(spread, s->machine, &s->remembered, &scratch, &diags) : NULL;
    if (result) {
        const struct ll_stage_use *stage = &result->stages[result->fullest];
        outcome->time_s = result->step_s;
        outcome->bytes = (double)stage->memory_bytes;
        outcome->state_bytes = (double)stage->class_bytes[LL_WEIGHT] +
                               (double)stage->class_bytes[LL_GRADIENT] +
                               (double)stage->class_bytes[LL_OPTIMIZER];
        outcome->roofline_s = roofline_s(trace, s->machine, plan);
    } else {
        const char *said = diags.kept_count ? diags.kept[0].message : "memory ran out";
        outcome->trouble = ll_copy_text(s->arena, said, strlen(said));
    }
    ll_spread_free(spread);
    ll_arena_release(&scratch);
    ll_diags_release(&diags);
}

static bool add(struct scoring *s, struct table *t, const char *family, double measured, double predicted,
                double roofline, const char *trouble)
{
    struct ll_measured *row = ll_alloc(s->arena, 1, sizeof *row);
    if (!row || !ll_grow(&s->predictions, &s->capacity, s->count + 1, sizeof *s->predictions))
        return false;
    *row = (struct ll_measured){
        .source = t->file,
        .hardware = s->machine->stem,
        .op = family,
        .dtype = "bf16",
        .dims = ll_format(
            s->arena, "model=%s;layers=%s;tp=%s;cp=%s;pp=%s;dp=%s;ep=%s;seq=%s;micro_batches=%s",
            text_of(t, "model"), text_of(t, "layers"), text_of(t, "tp"), text_of(t, "cp"), text_of(t, "pp"),
            text_of(t, "dp"), text_of(t, "ep"), text_of(t, "seq"), text_of(t, "micro_batches")),
        .notes = "",
        .time_s = measured};
    s->predictions[s->count++] = (struct ll_prediction){.row = row,
                                                        .machine = trouble ? NULL : s->machine,
                                                        .unscored = trouble,
                                                        .family = family,
                                                        .time_s = predicted,
                                                        .roofline_s = roofline};
    return row->dims;
}

/* A positive number; 0 where there is none. */
static double measure_of(const struct table *t, const char *name)
{
    double value = ll_strtod(text_of(t, name), NULL);
    return value > 0 && isfinite(value) ? value : 0;
}

static bool score(struct scoring *s, struct table *t)
{
    struct ll_dry_workload wanted;
    struct ll_parallel plan;
    struct outcome outcome = {0};
    memset(&wanted, 0, sizeof wanted); /* compared as bytes */
    memcpy(wanted.model, "llm", 3);
    wanted.train = 1;
    t->trouble = NULL;
    read_plan(t, &plan);
    wanted.batch = plan.micro_batch;
    want_model(t, &wanted);
    const double step_s = measure_of(t, "step_s"), bytes = measure_of(t, "peak_allocated_GiB") * GIB;
    const struct ll_trace *trace = t->trouble ? NULL : s->recordings->bring(s->recordings->context, &wanted);
    outcome.trouble = t->trouble ? t->trouble : trace ? NULL : "its model cannot be recorded";
    if (trace)
        simulate(s, trace, &plan, &outcome);
    static const char unmeasured[] = "the row has no such measurement";
    return add(s, t, "training_time", step_s, outcome.time_s, outcome.roofline_s,
               outcome.trouble ? outcome.trouble
               : step_s > 0    ? NULL
                               : unmeasured) &&
           add(s, t, "training_memory", bytes, outcome.bytes, outcome.state_bytes,
               outcome.trouble ? outcome.trouble
               : bytes > 0     ? NULL
                               : unmeasured);
}

const struct ll_validation *ll_validate_training(const char *text, size_t length, const char *file,
                                                 const struct ll_machine *machine,
                                                 const struct ll_recordings *recordings,
                                                 struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_csv csv = {.file = file, .at = text, .end = text + length, .arena = arena, .diags = diags};
    struct scoring s = {.machine = machine, .recordings = recordings, .arena = arena, .diags = diags};
    struct table t = {.file = file};
    bool room = true;
    t.names = ll_csv_next(&csv, &t.name_count);
    while (t.names && room && (t.fields = ll_csv_next(&csv, &t.field_count)))
        room = score(&s, &t);
    struct ll_prediction *kept =
        room && !csv.failed && s.count ? ll_copy(arena, s.predictions, s.count * sizeof *kept) : NULL;
    if (room && !csv.failed && s.count == 0)
        ll_complain(diags, (struct ll_place){.file = file},
                    "expected a line for each run below the names of columns");
    ll_remembered_release(&s.remembered);
    free(s.predictions);
    return kept ? ll_validation_of(kept, s.count, arena) : NULL;
}
