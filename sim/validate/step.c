/* SPDX-License-Identifier: Apache-2.0 */
/* What the rules say is how each kind of data was made:
 *
 * - MEGATRON   Megatron-LM (Korthikanti et al., 2022): tensor and sequence parallel within a node, a pipeline
 * with interleaved pieces; gradients are exchanged behind the backward pass
 * - NEMO       the same of 2024 in NVIDIA's NeMo: also context parallel, sequence parallel wherever GEMMs
 * are shared, the optimizer's state in parts, exchanges of replicas beside the computation
 * - DEEPSPEED  the same as Megatron-DeepSpeed of 2022 has it, whose layers are computed again going backward
 * - SHARDED    PyTorch's FSDP: weights, gradients and state in as many parts as there are devices, weights of
 * the next layer gathered while one computes
 * - MAXTEXT    MaxText on TPUs: as FSDP, within each slice unless the row says that slices share parts, also
 * with tensor parallelism, whose exchanges go on beside the GEMMs that need them; XLA recomputes what is read
 * alone, and is still while gradients are scattered
 * - REPLICAS   replicas with a share of the batch each, gradients exchanged while the backward pass goes on
 * - TOKENS     the same, each with so many words
 * - ALONE      one device or a few, forward, or forward and backward without an update */
#include "sim/validate/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/parallel/plan.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/validate/predict.h"
#include "sim/validate/row.h"

struct reading {
    struct ll_row_works row;
    struct ll_measured_step *step;
    size_t settings;
};

static void refuse(struct reading *r, const char *trouble)
{
    ll_row_refuse(&r->row, trouble);
}

static bool says(const struct reading *r, const char *key, const char *value)
{
    return ll_row_says(&r->row, key, value);
}

/* At most 2^30: products of two fit. */
static uint64_t bounded(struct reading *r, uint64_t value)
{
    if (value <= UINT64_C(1) << 30)
        return value;
    refuse(r, LL_IMPOSSIBLE_DIMENSION);
    return 1;
}

static uint64_t number(struct reading *r, const char *key)
{
    return bounded(r, ll_row_dim(&r->row, key));
}

static uint64_t number_or(struct reading *r, const char *key, uint64_t otherwise)
{
    return bounded(r, ll_row_dim_or(&r->row, key, otherwise));
}

static void set_text(struct reading *r, const char *key, size_t key_length, const char *value, size_t length)
{
    if (r->settings == LL_MOST_DRY_SETTINGS || key_length >= LL_DRY_TEXT || length >= LL_DRY_TEXT) {
        refuse(r, "there are more settings, or longer ones, than there is room for");
        return;
    }
    memcpy(r->step->wanted.settings[r->settings].key, key, key_length);
    memcpy(r->step->wanted.settings[r->settings++].value, value, length);
}

/* The row's dimension of this name as a setting of the workload, where it has one. */
static void set_from(struct reading *r, const char *key)
{
    const char *text = ll_row_text(&r->row, key);
    if (text)
        set_text(r, key, strlen(key), text, strcspn(text, ";"));
}

/* key=value;key=value */
static void set_all(struct reading *r, const char *settings)
{
    while (*settings) {
        size_t key = strcspn(settings, "="), value = strcspn(settings + key + 1, ";");
        set_text(r, settings, key, settings + key + 1, value);
        settings += key + 1 + value;
        settings += *settings == ';';
    }
}

/* Software that computes in 8 bits has GEMMs of weights alone read them: the rest is of bf16. */
static void set_dtype(struct reading *r)
{
    static const char *const names[LL_DTYPE_COUNT] = {
        [LL_F16] = "f16", [LL_BF16] = "bf16", [LL_F8] = "bf16", [LL_TF32] = "tf32"};
    enum ll_dtype dtype;
    uint64_t bytes;
    bool known = ll_measured_dtype(r->row.row, &dtype, &bytes);
    if (known && dtype == LL_F8)
        memcpy(r->step->wanted.products, ll_dtype_name(dtype), strlen(ll_dtype_name(dtype)));
    if (!known)
        refuse(r, LL_UNKNOWN_ELEMENTS);
    else if (names[dtype])
        set_text(r, "dtype", 5, names[dtype], strlen(names[dtype]));
    else if (dtype != LL_F32)
        refuse(r, "the workload is not recorded with such elements");
}

/* How a batch is shared out: what a replica takes up at once is what is recorded. */
static void share_out(struct reading *r)
{
    struct ll_parallel *plan = &r->step->plan;
    plan->batch = number(r, "batch");
    plan->micro_batch = number_or(r, "microbatch", ll_max(1, plan->batch / plan->data));
    if (ll_row_text(&r->row, "grad_accum") &&
        ll_mul(number(r, "grad_accum"), plan->micro_batch) * plan->data != plan->batch)
        refuse(r, "batch is not devices times microbatch times grad_accum");
    r->step->wanted.batch = plan->micro_batch;
    r->step->devices = ll_mul(ll_replicas(plan), ll_mul(plan->tensor, plan->pipeline));
}

static void plan_MEGATRON(struct reading *r)
{
    struct ll_parallel *plan = &r->step->plan;
    plan->tensor = number_or(r, "tp", 1);
    plan->pipeline = number_or(r, "pp", 1);
    plan->data = number_or(r, "dp", 1);
    plan->chunks = number_or(r, "interleave", 1);
    plan->schedule = plan->chunks > 1 ? LL_SCHEDULE_INTERLEAVED : LL_SCHEDULE_ONE_F_ONE_B;
    plan->sequence = says(r, "seqpar", "1");
    plan->recompute = says(r, "recompute", "full") ? LL_RECOMPUTE_FULL
                      : says(r, "recompute", "attn_only") || says(r, "recompute", "selective")
                          ? LL_RECOMPUTE_SELECTIVE
                          : LL_RECOMPUTE_NONE;
    plan->overlap = false;
    share_out(r);
}

static void plan_NEMO(struct reading *r)
{
    struct ll_parallel *plan = &r->step->plan;
    plan->context = number_or(r, "cp", 1);
    plan_MEGATRON(r);
    plan->sequence = plan->tensor > 1;
    plan->zero = ll_replicas(plan) > 1;
    plan->overlap = true;
    set_from(r, "seq");
}

static void plan_DEEPSPEED(struct reading *r)
{
    static const char *const sizes[] = {"hidden", "heads", "layers", "seq"};
    plan_MEGATRON(r);
    r->step->plan.recompute = LL_RECOMPUTE_FULL;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        number(r, sizes[i]); /* refuses a row without: another model's size would stand for it */
        set_from(r, sizes[i]);
    }
}

static void plan_SHARDED(struct reading *r)
{
    struct ll_parallel *plan = &r->step->plan;
    plan->data = bounded(r, ll_row_replicas(&r->row));
    plan->zero = says(r, "sharding", "FULL_SHARD") ? 3 : says(r, "sharding", "SHARD_GRAD_OP") ? 2 : 0;
    plan->recompute = says(r, "act_ckpt", "1") ? LL_RECOMPUTE_FULL : LL_RECOMPUTE_NONE;
    share_out(r);
    set_from(r, "seq");
}

/* What MaxText's policies keep, beside each layer's input; behind `_offloaded` all of it is with the host. */
static bool keeps(struct ll_recompute_except *except, const char *policy, size_t length)
{
    static const struct {
        const char *name;
        struct ll_recompute_except except;
    } policies[] = {{"full", {.unread = true}},
                    {"qkv", {.qkv = true}},
                    {"qkv_out", {.qkv = true, .out = true}},
                    {"minimal", {.gemms = true}}};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (strlen(policies[i].name) == length && strncmp(policies[i].name, policy, length) == 0) {
            *except = policies[i].except;
            return true;
        }
    return false;
}

static void plan_MAXTEXT(struct reading *r)
{
    static const char offloaded[] = "_offloaded";
    struct ll_parallel *plan = &r->step->plan;
    const char *policy = ll_row_text(&r->row, "remat");
    const uint64_t fsdp = number(r, "fsdp"), slices = number_or(r, "slices", 1);
    size_t length = policy ? strcspn(policy, ";") : 0, behind = sizeof offloaded - 1;
    plan->offload.activations = length > behind && strncmp(policy + length - behind, offloaded, behind) == 0;
    length -= plan->offload.activations ? behind : 0;
    if (!policy || !keeps(&plan->recompute_except, policy, length))
        refuse(r, "its recomputation is not known: expected remat full, qkv, qkv_out or minimal");
    plan->recompute = LL_RECOMPUTE_FULL;
    plan->tensor = number_or(r, "tp", 1);
    plan->sequence = plan->tensor_overlap = plan->tensor > 1;
    plan->data = bounded(r, ll_mul(fsdp, slices));
    plan->zero = 3;
    plan->within = slices > 1 && !says(r, "across", "1") ? fsdp : 0;
    plan->scatter_waits = true;
    plan->main_grads = !says(r, "weights", "bf16");
    share_out(r);
    number(r, "seq");
    if (strcmp(r->step->wanted.model, "llm") == 0) {
        const char *text = ll_row_text(&r->row, "seq");
        set_text(r, "tokens", 6, text ? text : "", text ? strcspn(text, ";") : 0);
    } else
        set_from(r, "seq");
}

/* Sentences of 32 words, the workload's own, as many as there is room for. What was measured are words a
 * second, and sentences of several lengths are assumed to fill eight ninths of a batch: several replicas wait
 * for the fullest of theirs, which is nine eighths of what they do on average. */
static void plan_TOKENS(struct reading *r)
{
    enum { WORDS = 32, FILLED = 8, ROOM = 9 };
    struct ll_parallel *plan = &r->step->plan;
    r->step->devices = plan->data = bounded(r, ll_row_replicas(&r->row));
    uint64_t words = number(r, "batch_tokens") / plan->data,
             slowest = plan->data > 1 ? words * ROOM / FILLED : words;
    plan->micro_batch = r->step->wanted.batch = ll_max(1, slowest / WORDS);
    plan->batch = plan->micro_batch * plan->data;
}

static void plan_REPLICAS(struct reading *r)
{
    r->step->plan.data = bounded(r, ll_row_replicas(&r->row));
    share_out(r);
    set_from(r, "seq");
}

/* Writes another value over a setting's, where there is such a setting. */
static void reset(struct reading *r, const char *key, const char *value)
{
    for (size_t i = 0; i < r->settings; i++)
        if (strcmp(r->step->wanted.settings[i].key, key) == 0) {
            memset(r->step->wanted.settings[i].value, 0, LL_DRY_TEXT);
            memcpy(r->step->wanted.settings[i].value, value, strlen(value));
        }
}

/* By rule, each between spaces: what it asks for, and by what data tells what changes nothing. `dp` and its
 * like of replicas are looked at to refuse what is not theirs. */
#define COMMON_KEYS " model mode "
#define BATCH_KEYS COMMON_KEYS "batch microbatch "
#define REPLICA_KEYS "devices tp pp dp cp "
static const char keys_MEGATRON[] = BATCH_KEYS "tp pp dp interleave recompute seqpar ",
                  keys_NEMO[] = BATCH_KEYS "tp pp dp cp interleave recompute seq ",
                  keys_DEEPSPEED[] = BATCH_KEYS "tp pp dp interleave seqpar hidden heads layers seq ",
                  keys_SHARDED[] = BATCH_KEYS REPLICA_KEYS "sharding act_ckpt seq grad_accum params ",
                  keys_MAXTEXT[] = BATCH_KEYS "fsdp tp slices across remat seq weights ",
                  keys_REPLICAS[] = BATCH_KEYS REPLICA_KEYS "seq grad_accum ",
                  keys_TOKENS[] = COMMON_KEYS REPLICA_KEYS "batch_tokens ",
                  keys_ALONE[] = BATCH_KEYS "devices tp pp dp seq fusion ";

/* A compiler joins the ops that models write out. */
static void plan_ALONE(struct reading *r)
{
    if (says(r, "fusion", "torch.compile")) {
        reset(r, "eager", "0");
        reset(r, "gelu", "one");
    }
    r->step->without_update = true;
    r->step->plan.tensor = number_or(r, "tp", 1);
    r->step->plan.pipeline = number_or(r, "pp", 1);
    r->step->plan.data = number_or(r, "dp", 1);
    share_out(r);
    if (number_or(r, "devices", r->step->devices) != r->step->devices)
        refuse(r, "there are not tp times pp times dp devices");
    set_from(r, "seq");
}

static const struct {
    const char *name, *model, *settings, *keys;
    void (*plan)(struct reading *r);
} models[] = {
#define LL_RECORDED(name, model, settings, rule) {name, model, settings, keys_##rule, plan_##rule},
#include "sim/validate/recorded.def"
#undef LL_RECORDED
};

bool ll_measured_step(const struct ll_measured *row, struct ll_measured_step *step, const char **trouble)
{
    struct reading r = {.row = {.row = row}, .step = step};
    bool train = strcmp(row->op, "e2e_train") == 0;
    *trouble = NULL;
    if (!train && strcmp(row->op, "e2e_infer") != 0)
        return false;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        if (!says(&r, "model", models[i].name))
            continue;
        memset(step, 0, sizeof *step); /* padding too: what is wanted is compared as bytes */
        step->plan = ll_plan_of_one();
        step->family = train ? "end_to_end_training" : "end_to_end";
        step->wanted.train = train;
        memcpy(step->wanted.model, models[i].model, strlen(models[i].model));
        set_all(&r, models[i].settings);
        set_dtype(&r);
        models[i].plan(&r);
        *trouble = r.row.trouble ? r.row.trouble : ll_measured_stray(row, models[i].keys);
        return true;
    }
    return false;
}

/* Beside the time: a recorded step's ops one after the other, each micro-batch anew but for the update,
 * shared by the devices of a replica. What crosses between devices and what is computed again is not in it.
 */
static void add_roofline(const struct ll_measured_step *step, const struct ll_trace *trace,
                         const struct ll_machine *machine, struct ll_step_times *times)
{
    const struct ll_parallel *plan = &step->plan;
    double micro_batches = (double)plan->batch / ((double)plan->micro_batch * (double)plan->data);
    double devices = (double)plan->tensor * (double)plan->context * (double)plan->pipeline;
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        struct ll_work work;
        if (signature->view.kind == LL_OP_NONE || !ll_op_lower(&signature->view, &work) ||
            work.kind == LL_WORK_HOST || work.kind == LL_WORK_NOTHING)
            continue;
        double often = signature->phase != LL_PHASE_UPDATE ? micro_batches : !step->without_update;
        times->flops += often * (double)work.flops / devices;
        times->bytes += often * ll_work_operand_bytes(&work) / devices;
        times->roofline_s += often * ll_work_roofline_s(machine, &work) / devices;
    }
}

void ll_last_spread_release(struct ll_last_spread *last)
{
    ll_spread_free(last->spread);
    *last = (struct ll_last_spread){0};
}

/* NULL after complaints. */
static const struct ll_spread *spread_by(const struct ll_parallel *plan, uint64_t devices,
                                         const struct ll_trace *trace, struct ll_last_spread *last,
                                         struct ll_diags *diags)
{
    if (last->spread && last->trace == trace && ll_spread_take_batch(last->spread, plan, devices))
        return last->spread;
    ll_last_spread_release(last);
    *last = (struct ll_last_spread){trace, ll_spread_trace(trace, plan, devices, diags)};
    return last->spread;
}

/* Negative after complaints. */
static double time_of(const struct ll_parallel *plan, uint64_t devices, const struct ll_trace *trace,
                      const struct ll_machine *machine, struct ll_last_spread *last, struct ll_diags *diags)
{
    const struct ll_spread *spread = spread_by(plan, devices, trace, last, diags);
    struct ll_remembered remembered = {0};
    double time_s = spread ? ll_parallel_time_s(spread, machine, &remembered, diags) : -1;
    ll_remembered_release(&remembered);
    return time_s;
}

/* A batch more takes as long as a step does without its update. */
static double without_update_s(const struct ll_measured_step *step, const struct ll_trace *trace,
                               const struct ll_machine *machine, struct ll_last_spread *last,
                               struct ll_diags *diags)
{
    struct ll_parallel twice = step->plan;
    twice.batch *= 2;
    double one_s = time_of(&step->plan, step->devices, trace, machine, last, diags);
    double two_s = one_s < 0 ? -1 : time_of(&twice, step->devices, trace, machine, last, diags);
    return two_s < 0 ? -1 : two_s - one_s;
}

bool ll_measured_step_times(const struct ll_measured_step *step, const struct ll_trace *trace,
                            const struct ll_machine *machine, struct ll_last_spread *last,
                            struct ll_step_times *times, char *trouble, size_t size)
{
    struct ll_diags diags = {0};
    double time_s = step->without_update && step->wanted.train
                        ? without_update_s(step, trace, machine, last, &diags)
                        : time_of(&step->plan, step->devices, trace, machine, last, &diags);
    if (time_s < 0)
        snprintf(trouble, size, "%s", diags.kept_count ? diags.kept[0].message : "memory ran out");
    *times = (struct ll_step_times){.time_s = time_s};
    if (time_s >= 0)
        add_roofline(step, trace, machine, times);
    ll_diags_release(&diags);
    return time_s >= 0;
}
