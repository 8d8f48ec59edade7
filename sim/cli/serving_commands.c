/* SPDX-License-Identifier: Apache-2.0 */
/* Options of servers as their documentation has them: vLLM's engine arguments, SGLang's server arguments,
 * trtllm-serve, and the workers of Dynamo, which take those of vLLM and SGLang as they are. */
#include "sim/cli/serving_commands.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* A server's words for what we say in ours; NULL: it says this elsewhere, or not at all. */
struct dialect {
    const char *stack;          /* how the machine's name goes on */
    const char *command;        /* without Dynamo; the model stands behind it */
    const char *module, *model; /* of Dynamo's worker, and its option for the model */
    const char *service;        /* of Dynamo's graph: VllmPrefillWorker, ... */
    const char *image;
    const char *tensor, *pipeline, *data, *expert;
    bool expert_is_flag;   /* experts are spread over all devices, or not at all */
    bool tensor_is_all;    /* tensor counts all devices of a stage, those of attention's ranks, too */
    const char *attention; /* that data is of attention alone */
    const char *sequences, *tokens, *block, *memory, *no_prefix_caching, *kv_dtype, *fp8_kv;
    const char *quantization;
    const char *prefill, *decode; /* that a worker does one of these, without Dynamo */
};

static const struct dialect dialects[] = {
    {.stack = "+vllm",
     .command = "vllm serve",
     .module = "dynamo.vllm",
     .model = "--model",
     .service = "Vllm",
     .image = "vllm-runtime",
     .tensor = "--tensor-parallel-size",
     .pipeline = "--pipeline-parallel-size",
     .data = "--data-parallel-size",
     .expert = "--enable-expert-parallel",
     .expert_is_flag = true,
     .sequences = "--max-num-seqs",
     .tokens = "--max-num-batched-tokens",
     .block = "--block-size",
     .memory = "--gpu-memory-utilization",
     .no_prefix_caching = "--no-enable-prefix-caching",
     .kv_dtype = "--kv-cache-dtype",
     .fp8_kv = "fp8",
     .quantization = "--quantization",
     .prefill = "--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'",
     .decode = "--kv-transfer-config '{\"kv_connector\":\"NixlConnector\",\"kv_role\":\"kv_both\"}'"},
    {.stack = "+sglang",
     .command = "python3 -m sglang.launch_server --model-path",
     .module = "dynamo.sglang",
     .model = "--model-path",
     .service = "SGLang",
     .image = "sglang-runtime",
     .tensor = "--tp-size",
     .pipeline = "--pp-size",
     .data = "--dp-size",
     .expert = "--ep-size",
     .tensor_is_all = true,
     .attention = "--enable-dp-attention",
     .sequences = "--max-running-requests",
     .tokens = "--chunked-prefill-size",
     .block = "--page-size",
     .memory = "--mem-fraction-static",
     .no_prefix_caching = "--disable-radix-cache",
     .kv_dtype = "--kv-cache-dtype",
     .fp8_kv = "fp8_e4m3",
     .quantization = "--quantization",
     .prefill = "--disaggregation-mode prefill --disaggregation-transfer-backend nixl",
     .decode = "--disaggregation-mode decode --disaggregation-transfer-backend nixl"},
    {.stack = "+trtllm",
     .command = "trtllm-serve",
     .module = "dynamo.trtllm",
     .model = "--model-path",
     .service = "TRTLLM",
     .image = "tensorrtllm-runtime",
     .tensor = "--tp_size",
     .pipeline = "--pp_size",
     .expert = "--ep_size",
     .tensor_is_all = true,
     .sequences = "--max_batch_size",
     .tokens = "--max_num_tokens",
     .memory = "--kv_cache_free_gpu_memory_fraction"},
};

/* Dynamo's worker of TensorRT-LLM spells its options by itself. */
static const struct dialect dynamo_trtllm = {.module = "dynamo.trtllm",
                                             .model = "--model-path",
                                             .tensor = "--tensor-parallel-size",
                                             .pipeline = "--pipeline-parallel-size",
                                             .expert = "--expert-parallel-size",
                                             .tensor_is_all = true,
                                             .attention = "--enable-attention-dp",
                                             .sequences = "--max-batch-size",
                                             .tokens = "--max-num-tokens",
                                             .memory = "--free-gpu-memory-fraction"};

static const struct dialect *dialect_of(const struct ll_deployed *deployed)
{
    for (size_t i = 1; i < sizeof dialects / sizeof *dialects; i++)
        if (strstr(deployed->machine, dialects[i].stack))
            return &dialects[i];
    return &dialects[0];
}

/* Between the words of a command, and between those of a list in YAML, where numbers are texts. */
static const char in_command[] = " ", in_graph[] = "\n            - ";

/* Appends an option as words, each behind what `before` says. */
static void add(struct ll_str *out, const char *before, const char *option, const char *value)
{
    ll_str_addf(out, "%s%s", before, option);
    if (value && before == in_command)
        ll_str_addf(out, "%s%s", before, value);
    else if (value) {
        ll_str_addf(out, "%s\"", before);
        for (; *value; value++)
            ll_str_addf(out, "%s%c", *value == '"' || *value == '\\' ? "\\" : "", *value);
        ll_str_add(out, "\"");
    }
}

static void add_count(struct ll_str *out, const char *before, const char *option, uint64_t value)
{
    char text[24];
    ll_snprintf(text, sizeof text, "%" PRIu64, value);
    if (option)
        add(out, before, option, text);
}

/* An option of ours that was given, in the server's words; `value` above 0 comes before what was given. */
static void add_given(const struct ll_args *args, const char *name, const char *option, uint64_t value,
                      struct ll_str *out, const char *before)
{
    bool known = false;
    for (const struct ll_option *row = args->command->options; row->name; row++)
        known |= strcmp(row->name, name) == 0;
    if (value > 0)
        add_count(out, before, option, value);
    else if (option && known && ll_flag(args, name))
        add(out, before, option, ll_value(args, name, NULL));
}

/* How a server quantizes what a checkpoint has in 16 bits, or reads one; what only checkpoints say is left
 * out. */
static const char *quantization_word(const char *ours)
{
    static const char *const words[][2] = {
        {"fp8", "fp8"}, {"nvfp4", "modelopt_fp4"}, {"modelopt_fp4", "modelopt_fp4"}, {"mxfp4", "mxfp4"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i][0], ours) == 0)
            return words[i][1];
    return NULL;
}

/* The checkpoint that a format takes, where it is not the model's own and the server does not quantize to it
 * while it loads; NULL: the model's. TensorRT-LLM reads all formats from checkpoints (its documentation,
 * features/quantization); vLLM and SGLang quantize 16 bits to fp8. */
static const char *checkpoint_of(const struct ll_deployed *deployed, const struct dialect *d)
{
    static const char *const published[][2] = {{"int4", "int4 (AWQ or GPTQ, groups of 128)"},
                                               {"nvfp4", "nvfp4 (ModelOpt)"}};
    const char *format = deployed->format;
    if (deployed->own_format || (strcmp(format, "fp8") == 0 && d->quantization) ||
        strcmp(format, "none") == 0)
        return NULL;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (strcmp(format, published[i][0]) == 0)
            return published[i][1];
    return format;
}

static void add_arguments(const struct ll_deployed *deployed, const struct dialect *d,
                          const struct ll_workers *w, struct ll_str *out, const char *before)
{
    const struct ll_args *args = deployed->args;
    const char *kv = ll_value(args, "kv-cache-dtype", ""),
               *quantization = quantization_word(deployed->format);
    add_count(out, before, d->tensor, w->tensor * (d->tensor_is_all ? w->data : 1));
    if (w->pipeline > 1)
        add_count(out, before, d->pipeline, w->pipeline);
    if (w->data > 1)
        add_count(out, before, d->data, w->data);
    if (w->data > 1 && d->attention)
        add(out, before, d->attention, NULL);
    if (w->expert > 1 && d->expert_is_flag)
        add(out, before, d->expert, NULL);
    else if (w->expert > 1)
        add_count(out, before, d->expert, w->expert);
    if (quantization && d->quantization)
        add(out, before, d->quantization, quantization);
    if (strncmp(kv, "fp8", 3) == 0 && d->kv_dtype)
        add(out, before, d->kv_dtype, d->fp8_kv);
    add_given(args, "max-num-seqs", d->sequences, w->sequences, out, before);
    add_given(args, "max-num-batched-tokens", d->tokens, w->tokens, out, before);
    add_given(args, "block-size", d->block, 0, out, before);
    add_given(args, "gpu-memory-utilization", d->memory, 0, out, before);
    add_given(args, "no-prefix-caching", d->no_prefix_caching, 0, out, before);
}

/* What trtllm-serve reads from a file alone. */
static void add_trtllm_file(const struct ll_args *args, const struct ll_workers *w, bool apart,
                            struct ll_str *out)
{
    const bool fp8 = strncmp(ll_value(args, "kv-cache-dtype", ""), "fp8", 3) == 0;
    if (w->data == 1 && !fp8 && !apart)
        return;
    ll_str_addf(out, " --extra_llm_api_options <(printf '%s%s%s')",
                w->data > 1 ? "enable_attention_dp: true\\n" : "",
                fp8 ? "kv_cache_config: {dtype: fp8}\\n" : "",
                apart ? "cache_transceiver_config: {backend: DEFAULT}\\n" : "");
}

const char *ll_serving_command(const struct ll_deployed *deployed)
{
    const struct ll_args *args = deployed->args;
    const struct dialect *d = dialect_of(deployed);
    const bool apart = deployed->decode.count > 0;
    const char *checkpoint = checkpoint_of(deployed, d);
    struct ll_str out = {0};
    for (int i = 0; i <= apart; i++) {
        const struct ll_workers *w = i == 0 ? &deployed->first : &deployed->decode;
        const char *role = i == 0 ? d->prefill : d->decode;
        ll_str_addf(&out, "%s%s %s", i == 0 ? "" : "\n", d->command, ll_value(args, "model", ""));
        add_arguments(deployed, d, w, &out, in_command);
        if (apart && role)
            ll_str_addf(&out, " %s", role);
        if (strcmp(d->stack, "+trtllm") == 0)
            add_trtllm_file(args, w, apart, &out);
    }
    if (checkpoint)
        ll_str_addf(&out, "\n# with a checkpoint of %s in %s", ll_value(args, "model", ""), checkpoint);
    const char *copy = out.failed ? NULL : ll_copy_text(args->arena, out.text, out.length);
    ll_str_release(&out);
    return copy;
}

/* --- Dynamo --- */

/* Letters, digits and dashes of a model's name, as Kubernetes wants names. */
static void add_name(struct ll_str *out, const char *model)
{
    const char *slash = strrchr(model, '/');
    enum { MOST = 40 };
    char name[MOST + 1];
    size_t length = 0;
    for (const char *c = slash ? slash + 1 : model; *c && length < MOST; c++) {
        bool plain = isalnum((unsigned char)*c);
        if (plain || (length > 0 && name[length - 1] != '-'))
            name[length++] = plain ? (char)tolower((unsigned char)*c) : '-';
    }
    while (length > 0 && name[length - 1] == '-')
        length--;
    name[length] = '\0';
    ll_str_add(out, length > 0 ? name : "model");
}

static void add_worker(const struct ll_deployed *deployed, const struct dialect *d, const char *role,
                       struct ll_str *out)
{
    const struct ll_args *args = deployed->args;
    const struct ll_workers *w = role && strcmp(role, "decode") == 0 ? &deployed->decode : &deployed->first;
    const char *model = ll_value(args, "model", ""), *checkpoint = checkpoint_of(deployed, d);
    ll_str_addf(out, "    %s%sWorker:\n      componentType: worker\n", d->service,
                !role                          ? ""
                : strcmp(role, "prefill") == 0 ? "Prefill"
                                               : "Decode");
    if (role)
        ll_str_addf(out, "      subComponentType: %s\n", role);
    ll_str_addf(out, "      replicas: %" PRIu64 "\n      envFromSecret: hf-token-secret\n", w->count);
    ll_str_addf(out, "      resources: {limits: {gpu: \"%" PRIu64 "\"}}\n",
                w->tensor * w->pipeline * w->data);
    ll_str_addf(
        out,
        "      extraPodSpec:\n        mainContainer:\n          image: nvcr.io/nvidia/ai-dynamo/%s:my-tag\n",
        d->image);
    ll_str_addf(out, "          command: [python3, -m, %s]\n", d->module);
    if (checkpoint)
        ll_str_addf(out, "          # the model: a checkpoint in %s\n", checkpoint);
    ll_str_add(out, "          args:");
    add(out, in_graph, d->model, model);
    add_arguments(deployed, strcmp(d->stack, "+trtllm") == 0 ? &dynamo_trtllm : d, w, out, in_graph);
    if (role)
        add(out, in_graph, "--disaggregation-mode", role);
    ll_str_add(out, "\n");
}

void ll_serving_dynamo(const struct ll_deployed *deployed, struct ll_str *out)
{
    const struct dialect *d = dialect_of(deployed);
    ll_str_add(out, "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata:\n  name: ");
    add_name(out, ll_value(deployed->args, "model", ""));
    ll_str_add(out,
               "\nspec:\n  services:\n    Frontend:\n      componentType: frontend\n      replicas: 1\n");
    ll_str_addf(
        out,
        "      extraPodSpec:\n        mainContainer:\n          image: nvcr.io/nvidia/ai-dynamo/%s:my-tag\n",
        d->image);
    if (deployed->decode.count > 0) {
        add_worker(deployed, d, "prefill", out);
        add_worker(deployed, d, "decode", out);
    } else {
        add_worker(deployed, d, NULL, out);
    }
}
