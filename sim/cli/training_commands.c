/* SPDX-License-Identifier: Apache-2.0 */
/* Options of training frameworks as their documentation has them: arguments of Megatron-LM (arguments.py,
 * model_parallel_config.py, Megatron-FSDP), DeepSpeed's configuration JSON, torchtitan's job configuration.
 * Options of a model, its data and its optimizer are the user's: a plan says nothing of them. */
#include "sim/cli/training_commands.h"

#include <inttypes.h>
#include <string.h>

#include "tracer/base/num.h"

/* A command line under way. */
struct saying {
    const struct ll_trained *trained;
    struct ll_str *command, *lacks;
};

static void lack(struct saying *s, const char *what)
{
    ll_str_addf(s->lacks, "%s%s", s->lacks->length > 0 ? ", " : "", what);
}

static void say(struct saying *s, const char *flag)
{
    ll_str_addf(s->command, " %s", flag);
}

static void say_word(struct saying *s, const char *option, const char *value)
{
    ll_str_addf(s->command, " %s %s", option, value);
}

static void say_count(struct saying *s, const char *option, uint64_t value)
{
    ll_str_addf(s->command, " %s %" PRIu64, option, value);
}

/* Where it is more than one. */
static void say_many(struct saying *s, const char *option, uint64_t value)
{
    if (value > 1)
        say_count(s, option, value);
}

static void lack_schedule(struct saying *s)
{
    char text[48];
    ll_snprintf(text, sizeof text, "the schedule %s", ll_schedule_name(s->trained->plan->schedule));
    lack(s, text);
}

static uint64_t nodes(const struct ll_trained *t)
{
    return t->devices > t->devices_per_node ? (t->devices + t->devices_per_node - 1) / t->devices_per_node
                                            : 1;
}

static uint64_t per_node(const struct ll_trained *t)
{
    return ll_min(t->devices, t->devices_per_node);
}

static void say_torchrun(struct saying *s)
{
    ll_str_addf(s->command, "torchrun --nproc-per-node %" PRIu64, per_node(s->trained));
    say_many(s, "--nnodes", nodes(s->trained));
}

/* Micro-batches of a replica. */
static uint64_t micro_batches(const struct ll_parallel *plan)
{
    return plan->batch > 0 && plan->micro_batch > 0 ? plan->batch / plan->data / plan->micro_batch : 1;
}

static uint64_t micro_batch(const struct ll_parallel *plan)
{
    return plan->micro_batch > 0 ? plan->micro_batch : plan->batch / plan->data;
}

/* Buckets count elements, of the type in which gradients are added up. */
static uint64_t bucket_elements(const struct ll_trained *t)
{
    const enum ll_dtype dtype = t->plan->main_grads ? LL_F32 : t->gradients;
    return t->plan->bucket_bytes * 8 / ll_dtype_bits(dtype);
}

/* Gradients in 16 bits on their way are an option of some; no framework here has one for fewer. */
static void lack_compression(struct saying *s, bool has_bf16)
{
    const enum ll_compression_kind kind = s->trained->plan->compression.kind;
    if (kind != LL_COMPRESSION_NONE && !(kind == LL_COMPRESSION_BF16 && has_bf16))
        lack(s, "compressed gradients");
}

/* --- Megatron-LM --- */

static void say_megatron_sharding(struct saying *s)
{
    static const char *const strategies[] = {NULL, NULL, "optim_grads", "optim_grads_params"};
    const struct ll_parallel *plan = s->trained->plan;
    if (plan->zero >= 1)
        say(s, "--use-distributed-optimizer");
    if (plan->zero >= 2) { /* Megatron-FSDP: what the distributed optimizer does not share out */
        say(s, "--use-megatron-fsdp");
        say_word(s, "--data-parallel-sharding-strategy", strategies[plan->zero]);
        say(s, "--no-gradient-accumulation-fusion --ckpt-format fsdp_dtensor");
    }
    if (plan->within > 0)
        say_count(s, "--num-distributed-optimizer-instances", ll_replicas(plan) / plan->within);
    if (plan->offload.optimizer)
        say(s, "--optimizer-cpu-offload --use-precision-aware-optimizer");
    if (plan->overlap && ll_replicas(plan) > 1)
        say(s, plan->zero >= 1 ? "--overlap-grad-reduce --overlap-param-gather" : "--overlap-grad-reduce");
    if (plan->overlap && ll_replicas(plan) > 1 && plan->bucket_bytes > 0)
        say_count(s, "--ddp-bucket-size", bucket_elements(s->trained));
}

/* A model of bfloat16 has gradients of 32 bits unless an option says otherwise, and one type of gradients for
 * adding up and on their way. */
static void say_megatron_gradients(struct saying *s)
{
    const struct ll_parallel *plan = s->trained->plan;
    if (plan->main_grads)
        say(s, "--accumulate-allreduce-grads-in-fp32");
    else if (s->trained->gradients == LL_BF16)
        say(s, "--grad-reduce-in-bf16");
    lack_compression(s, !plan->main_grads && s->trained->gradients == LL_BF16);
}

/* A layout of Megatron-LM has both ends as letters, and says how many virtual stages there are. */
static void say_megatron_layout(struct saying *s)
{
    const char *text = s->trained->plan->split.layout;
    struct ll_layout layout = {0};
    ll_layout_read(text, &layout, NULL, 0);
    ll_str_addf(s->command, " --pipeline-model-parallel-layout '%s%s%s'", layout.embedding ? "" : "E", text,
                layout.loss ? "" : "L");
}

static void say_megatron_pipeline(struct saying *s)
{
    const struct ll_parallel *plan = s->trained->plan;
    say_many(s, "--pipeline-model-parallel-size", plan->pipeline);
    if (*plan->split.layout)
        say_megatron_layout(s);
    if (plan->split.embedding)
        say(s, "--account-for-embedding-in-pipeline-split");
    if (plan->split.loss)
        say(s, "--account-for-loss-in-pipeline-split");
    if (plan->schedule == LL_SCHEDULE_INTERLEAVED && *plan->split.layout)
        ; /* which says that */
    else if (plan->schedule == LL_SCHEDULE_INTERLEAVED)
        say_count(s, "--num-virtual-stages-per-pipeline-rank", plan->chunks);
    else if (plan->schedule != LL_SCHEDULE_ONE_F_ONE_B)
        lack_schedule(s);
    if (plan->chunks > 1 && (plan->split.first > 0 || plan->split.last > 0))
        lack(s, "layers of a first or last chunk (its options divide those of a whole stage into chunks)");
    else if (plan->split.first > 0)
        say_count(s, "--decoder-first-pipeline-num-layers", plan->split.first);
    if (plan->chunks == 1 && plan->split.last > 0)
        say_count(s, "--decoder-last-pipeline-num-layers", plan->split.last);
}

/* Transformer Engine's recipes. */
static void say_megatron_recipe(struct saying *s)
{
    static const char *const recipes[LL_RECIPE_COUNT] = {[LL_RECIPE_DELAYED] = "delayed",
                                                         [LL_RECIPE_TENSORWISE] = "tensorwise",
                                                         [LL_RECIPE_BLOCKWISE] = "blockwise",
                                                         [LL_RECIPE_MXFP8] = "mxfp8"};
    const struct ll_low_precision *low = &s->trained->plan->low_precision;
    if (low->recipe == LL_RECIPE_NONE)
        return;
    if (low->recipe == LL_RECIPE_NVFP4) {
        say(s, "--fp4-format e2m1");
    } else {
        const bool scaled_whole = low->recipe == LL_RECIPE_DELAYED || low->recipe == LL_RECIPE_TENSORWISE;
        say_word(s, "--fp8-format", scaled_whole ? "hybrid" : "e4m3");
        say_word(s, "--fp8-recipe", recipes[low->recipe]);
    }
    if (low->first_kept > 0 || low->last_kept > 0) {
        say(s, "--first-last-layers-bf16");
        say_count(s, "--num-layers-at-start-in-bf16", low->first_kept);
        say_count(s, "--num-layers-at-end-in-bf16", low->last_kept);
    }
    if (!low->gemms.fprop || !low->gemms.dgrad || !low->gemms.wgrad)
        lack(s, "only some GEMMs of a weight in few bits");
}

static void say_megatron(struct saying *s)
{
    static const char *const megatron_context[LL_CP_COMM_COUNT] = {
        [LL_CP_COMM_ALL_GATHER] = "all_gather", [LL_CP_COMM_ALL_TO_ALL] = "a2a", [LL_CP_COMM_RING] = "p2p"};
    const struct ll_parallel *plan = s->trained->plan;
    say_torchrun(s);
    say(s, "pretrain_gpt.py");
    say_many(s, "--tensor-model-parallel-size", plan->tensor);
    if (plan->sequence)
        say(s, "--sequence-parallel");
    if (plan->context > 1) {
        say_count(s, "--context-parallel-size", plan->context);
        say_word(s, "--cp-comm-type", megatron_context[plan->cp_comm]);
    }
    say_many(s, "--expert-model-parallel-size", plan->expert);
    if (plan->expert > 1 && plan->tensor > 1)
        say_count(s, "--expert-tensor-parallel-size", plan->whole_experts ? 1 : plan->tensor);
    say_megatron_pipeline(s);
    say_count(s, "--micro-batch-size", micro_batch(plan));
    say_count(s, "--global-batch-size", plan->batch);
    say_megatron_sharding(s);
    if (plan->recompute == LL_RECOMPUTE_SELECTIVE)
        say(s, "--recompute-granularity selective");
    if (plan->recompute == LL_RECOMPUTE_FULL)
        say(s, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    if (plan->fused_loss)
        say(s, "--cross-entropy-loss-fusion --cross-entropy-fusion-impl te");
    if (plan->tensor_overlap)
        say(s, "--tp-comm-overlap");
    say_megatron_recipe(s);
    say_megatron_gradients(s);
    if (plan->offload.activations || plan->offload.weights)
        lack(s, plan->offload.weights ? "weights in the host's memory" : "activations in the host's memory");
}

/* --- DeepSpeed --- */

static void say_key(struct ll_str *json, const char *key)
{
    ll_str_addf(json, "%s\"%s\": ", json->length > 0 && json->text[json->length - 1] != '{' ? ", " : "", key);
}

static void say_number(struct ll_str *json, const char *key, uint64_t value)
{
    say_key(json, key);
    ll_str_addf(json, "%" PRIu64, value);
}

static void say_flag(struct ll_str *json, const char *key, bool value)
{
    say_key(json, key);
    ll_str_add(json, value ? "true" : "false");
}

static void say_zero(const struct ll_trained *trained, struct ll_str *json)
{
    const struct ll_parallel *plan = trained->plan;
    say_key(json, "zero_optimization");
    ll_str_add(json, "{");
    say_number(json, "stage", plan->zero);
    say_flag(json, "overlap_comm", plan->overlap);
    if (plan->bucket_bytes > 0)
        say_number(json, "reduce_bucket_size", bucket_elements(trained));
    if (plan->within > 0 && plan->zero == 3)
        say_number(json, "mics_shard_size", plan->within);
    if (plan->offload.optimizer) {
        say_key(json, "offload_optimizer");
        ll_str_add(json, "{\"device\": \"cpu\"}");
    }
    if (plan->offload.weights) {
        say_key(json, "offload_param");
        ll_str_add(json, "{\"device\": \"cpu\"}");
    }
    ll_str_add(json, "}");
}

/* Each process reads the configuration, so it is a file. Stages are an argument of the program's
 * PipelineModule, and what is computed again is for the program to say. */
static void say_deepspeed(struct saying *s)
{
    const struct ll_parallel *plan = s->trained->plan;
    struct ll_str json = {0};
    ll_str_add(&json, "{");
    say_number(&json, "train_batch_size", plan->batch);
    say_number(&json, "train_micro_batch_size_per_gpu", micro_batch(plan));
    say_number(&json, "gradient_accumulation_steps", micro_batches(plan));
    say_zero(s->trained, &json);
    if (plan->main_grads || s->trained->gradients == LL_BF16) {
        say_key(&json, "data_types");
        ll_str_addf(&json, "{\"grad_accum_dtype\": \"%s\"}", plan->main_grads ? "fp32" : "bf16");
    }
    if (plan->compression.kind == LL_COMPRESSION_BF16) {
        say_key(&json, "communication_data_type");
        ll_str_add(&json, "\"bf16\"");
    }
    if (plan->tensor > 1) {
        say_key(&json, "tensor_parallel");
        ll_str_addf(&json, "{\"autotp_size\": %" PRIu64 "}", plan->tensor);
    }
    ll_str_add(&json, "}");
    ll_str_addf(s->command, "echo '%s' >plan.json && deepspeed --num_gpus %" PRIu64,
                json.text ? json.text : "", per_node(s->trained));
    say_many(s, "--num_nodes", nodes(s->trained));
    say(s, "train.py --deepspeed --deepspeed_config plan.json");
    s->command->failed |= json.failed;
    ll_str_release(&json);
    if (plan->context > 1)
        lack(s, plan->cp_comm == LL_CP_COMM_ALL_TO_ALL
                    ? "context parallelism (sequence_parallel_size of the program's UlyssesSPAttentionHF)"
                    : "context parallelism that gathers keys and values or passes them around");
    if (plan->expert > 1)
        lack(s, "expert parallelism (ep_size of the program's MoE layers)");
    if (plan->pipeline > 1)
        lack(s, "pipeline stages (num_stages of the program's PipelineModule)");
    if (plan->pipeline > 1 && plan->schedule != LL_SCHEDULE_ONE_F_ONE_B)
        lack_schedule(s);
    if (plan->split.first > 0 || plan->split.last > 0 || plan->split.embedding || plan->split.loss ||
        *plan->split.layout)
        lack(s, "layers of the first and the last stage (partition_method of the PipelineModule)");
    if (plan->recompute != LL_RECOMPUTE_NONE)
        lack(s, "activation recomputation (the program's calls of deepspeed.checkpointing)");
    if (plan->sequence)
        lack(s, "sequence parallelism of tensor-parallel devices");
    if (plan->fused_loss)
        lack(s, "a fused loss");
    if (plan->tensor_overlap)
        lack(s, "exchanges beside pieces of GEMMs");
    if (plan->low_precision.recipe != LL_RECIPE_NONE)
        lack(s, "GEMMs in few bits");
    lack_compression(s, true);
    if (plan->within > 0 && plan->zero < 3)
        lack(s, "shards within groups below ZeRO 3");
}

/* --- torchtitan --- */

/* As PyTorch's torch.distributed.pipelining calls them; NULL: it has none. */
static const char *pytorch_schedule(enum ll_schedule schedule)
{
    switch (schedule) {
    case LL_SCHEDULE_GPIPE:
        return "GPipe";
    case LL_SCHEDULE_ONE_F_ONE_B:
        return "1F1B";
    case LL_SCHEDULE_INTERLEAVED:
        return "Interleaved1F1B";
    case LL_SCHEDULE_BREADTH_FIRST:
        return "LoopedBFS";
    case LL_SCHEDULE_ZB_V:
        return "ZBVZeroBubble";
    case LL_SCHEDULE_DUALPIPE_V:
        return "DualPipeV";
    default:
        return NULL;
    }
}

/* The first and the last virtual stage have so many layers fewer than others, one if it isn't said. */
static void say_titan_layers(struct saying *s)
{
    const struct ll_parallel *plan = s->trained->plan;
    const uint64_t vstages = plan->pipeline * plan->chunks, layers = s->trained->layers;
    const uint64_t first = plan->split.first, last = plan->split.last,
                   ends = (uint64_t)(first > 0) + (last > 0);
    if (plan->split.embedding || plan->split.loss || *plan->split.layout || layers < vstages ||
        vstages <= ends || first + last > layers || (layers - first - last) % (vstages - ends) != 0) {
        lack(s, "layers of stages (module_fqns_per_model_part lists the modules of each)");
        return;
    }
    const uint64_t others = (layers - first - last) / (vstages - ends);
    if (first > others || last > others) {
        lack(s, "a first or last stage with more layers than others have");
        return;
    }
    say_count(s, "--parallelism.pipeline_parallel_layers_per_stage", others);
    say_count(s, "--parallelism.pipeline_parallel_first_stage_less_layers", first > 0 ? others - first : 0);
    say_count(s, "--parallelism.pipeline_parallel_last_stage_less_layers", last > 0 ? others - last : 0);
}

static void say_titan_pipeline(struct saying *s)
{
    const struct ll_parallel *plan = s->trained->plan;
    const char *schedule = pytorch_schedule(plan->schedule);
    if (plan->pipeline == 1)
        return;
    say_count(s, "--parallelism.pipeline_parallel_degree", plan->pipeline);
    if (schedule)
        say_word(s, "--parallelism.pipeline_parallel_schedule", schedule);
    else
        lack_schedule(s);
    say_count(s, "--parallelism.pipeline_parallel_microbatch_size", micro_batch(plan));
    say_titan_layers(s);
}

/* Replicas that repeat shards, and those that share: without any sharing all repeat. */
static void say_titan_sharding(struct saying *s)
{
    const struct ll_parallel *plan = s->trained->plan;
    const uint64_t shard = plan->zero == 0    ? 1
                           : plan->within > 0 ? ll_max(1, plan->within / plan->context)
                                              : plan->data;
    say_count(s, "--parallelism.data_parallel_replicate_degree", plan->data / shard);
    say_count(s, "--parallelism.data_parallel_shard_degree", shard);
    if (plan->zero == 2)
        say_word(s, "--parallelism.fsdp_reshard_after_forward", "never");
    if (plan->zero == 3)
        say_word(s, "--parallelism.fsdp_reshard_after_forward", "always");
    if (plan->zero == 1)
        lack(s, "the optimizer's state alone in shards (FSDP shards gradients and weights, too)");
    if (plan->zero > 0 && plan->within > 0 && plan->within % plan->context != 0)
        lack(s, "groups that do not have whole sequences");
    if (plan->offload.optimizer && plan->offload.weights)
        say(s, "--training.enable_cpu_offload");
    else if (plan->offload.optimizer || plan->offload.weights)
        lack(s, plan->offload.weights ? "weights alone in the host's memory"
                                      : "the optimizer's state alone in the host's memory");
    if (plan->offload.activations)
        lack(s, "activations in the host's memory");
}

static void say_titan(struct saying *s)
{
    const struct ll_parallel *plan = s->trained->plan;
    say_torchrun(s);
    say(s, "-m torchtitan.train");
    say_titan_sharding(s);
    say_many(s, "--parallelism.tensor_parallel_degree", plan->tensor);
    if (plan->tensor_overlap)
        say(s, "--parallelism.enable_async_tensor_parallel");
    if (plan->tensor > 1 && !plan->sequence)
        lack(s, "tensor parallelism without sequence parallelism");
    if (plan->context > 1 && plan->cp_comm != LL_CP_COMM_ALL_TO_ALL) {
        say_count(s, "--parallelism.context_parallel_degree", plan->context);
        say_word(s, "--parallelism.context_parallel_rotate_method",
                 plan->cp_comm == LL_CP_COMM_RING ? "alltoall" : "allgather");
    } else if (plan->context > 1) {
        lack(s, "context parallelism by heads (Ulysses)");
    }
    say_many(s, "--parallelism.expert_parallel_degree", plan->expert);
    say_titan_pipeline(s);
    say_count(s, "--training.local_batch_size",
              plan->pipeline > 1 ? plan->batch / plan->data : micro_batch(plan));
    say_count(s, "--training.global_batch_size", plan->batch);
    say_word(s, "--activation_checkpoint.mode",
             plan->recompute == LL_RECOMPUTE_FULL ? "full"
             : plan->recompute == LL_RECOMPUTE_SELECTIVE
                 ? "selective --activation_checkpoint.selective_ac_option op"
                 : "none");
    if (plan->low_precision.recipe != LL_RECIPE_NONE)
        lack(s, "GEMMs in few bits (converters of the job's model)");
    lack_compression(s, false);
    if (plan->main_grads)
        lack(s, "gradients added up in 32 bits beside weights of 16");
    if (plan->fused_loss)
        lack(s, "a fused loss");
}

/* --- all of them --- */

static const struct {
    const char *name;
    void (*say)(struct saying *s);
} frameworks[] = {{"megatron", say_megatron}, {"deepspeed", say_deepspeed}, {"torchtitan", say_titan}};

enum { FRAMEWORKS = sizeof frameworks / sizeof *frameworks };

const char *ll_training_frameworks(void)
{
    return "megatron, deepspeed, torchtitan";
}

bool ll_training_framework_is_known(const char *framework)
{
    for (size_t i = 0; i < FRAMEWORKS; i++)
        if (strcmp(frameworks[i].name, framework) == 0)
            return true;
    return false;
}

void ll_training_command(const char *framework, const struct ll_trained *trained, struct ll_str *command,
                         struct ll_str *lacks)
{
    struct saying s = {.trained = trained, .command = command, .lacks = lacks};
    for (size_t i = 0; i < FRAMEWORKS; i++)
        if (strcmp(frameworks[i].name, framework) == 0)
            frameworks[i].say(&s);
}
