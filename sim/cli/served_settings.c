/* SPDX-License-Identifier: Apache-2.0 */
/* How InferenceMAX starts its servers: SemiAnalysisAI/InferenceX, benchmarks/NAME.sh, one script for each
 * model, precision, GPU and server, and .github/configs/nvidia-master.yaml, which has the version of each.
 * Its client (bench_serving/benchmark_serving.py) sends ten prompts a client at once, without prefixes in
 * common, of lengths between 0.8 of what is said and that. Other rows were served as their servers start by
 * themselves.
 *
 * TensorRT-LLM and SGLang guess tokens ahead (multi-token prediction) in scripts NAME_mtp.sh. Rows do not say
 * so, but versions do where only one of both used them. */
#include "sim/cli/served_settings.h"

#include <inttypes.h>
#include <string.h>

#include "tracer/base/num.h"

/* How often TensorRT-LLM takes guess i of DeepSeek-R1 where those before were right, from the mean number of
 * tokens a step with 0 to 3 guesses: 1, 1.92, 2.58, 2.82 (TensorRT-LLM blog 1, Table "MTP"). */
static const char acceptance[] = "0.92,0.72,0.36";

bool ll_served_is_drawn(const struct ll_served_setting *s)
{
    return (s->input == 1024 && s->output == 1024) || (s->input == 1024 && s->output == 8192) ||
           (s->input == 8192 && s->output == 1024);
}

static bool is(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Scripts are one for all GPUs of a generation. */
static bool is_blackwell(const struct ll_served_setting *s)
{
    return strstr(s->system, "b200") || strstr(s->system, "b300");
}

static void set(struct ll_serving_options *o, const char *override)
{
    ll_serving_give(o, "set", override);
}

static void guess(struct ll_serving_options *o, uint64_t guesses)
{
    ll_serving_give_count(o, "speculative-tokens", guesses);
    ll_serving_give(o, "acceptance", acceptance);
}

/* 70b_fp8_h100, 70b_fp8_h200, 70b_fp4_b200, gptoss_fp4_b200, gptoss_fp4_h100, gptoss_fp4_h200. */
static void start_vllm(const struct ll_served_setting *s, struct ll_serving_options *o)
{
    const bool blackwell = is_blackwell(s), gpt = strstr(s->model, "gpt-oss") != NULL;
    ll_serving_give_count(o, "max-num-batched-tokens", 8192);
    ll_serving_give_count(o, "max-num-seqs", blackwell ? 512 : s->clients);
    if (gpt)
        ll_serving_give_count(o, "max-cudagraph-capture-size", 2048);
    if (!gpt || blackwell)
        ll_serving_give(o, "kv-cache-dtype", "fp8");
    set(o, "server.overlaps=true");
}

/* dsr1_fp8_b200, dsr1_fp4_b200, dsr1_fp8_b200_mtp, dsr1_fp8_h200. */
static const char *start_sglang(const struct ll_served_setting *s, struct ll_serving_options *o)
{
    const bool fp4 = is(s->precision, "fp4"), wide = s->tensor == 8;
    if (!strstr(s->model, "DeepSeek"))
        return NULL;
    if (!is_blackwell(s)) {
        ll_serving_give_count(o, "max-num-batched-tokens", 32768);
        ll_serving_give_count(o, "max-num-seqs", s->input == 1024 && s->output == 1024 ? 512 : 256);
        ll_serving_give(o, "gpu-memory-utilization", "0.82");
        return NULL;
    }
    ll_serving_give(o, "kv-cache-dtype", "fp8");
    ll_serving_give_count(o, "max-num-batched-tokens", fp4 ? 16384 : wide ? 32768 : 8192);
    ll_serving_give_count(o, "max-num-seqs", fp4 ? 256 : wide ? 128 : 32);
    ll_serving_give(o, "gpu-memory-utilization", fp4 ? "0.85" : wide ? "0.82" : "0.95");
    set(o, s->clients >= 16 && (fp4 || wide) ? "server.receive_steps=30" : "server.receive_steps=10");
    if (!fp4 && wide && (is(s->version, "0.5.8") || is(s->version, "0.5.9")))
        return "its benchmark served this version with and without guesses ahead, and it does not say which";
    return NULL;
}

/* dsr1_fp8_b200_trt, dsr1_fp8_b200_trt_mtp, the same for fp4, dsr1_fp8_h200_trt. */
static const char *start_trtllm_deepseek(const struct ll_served_setting *s, struct ll_serving_options *o)
{
    const bool guesses = is(s->version, "1.2.0rc6.post3");
    const uint64_t ahead = !guesses      ? 0
                           : s->data > 1 ? 1
                                         : 3,
                   most = guesses && s->data > 1 ? ll_max(1, s->clients / s->data) : s->clients,
                   tokens = ((ahead + 1) * most + s->input + 127) / 64 * 64;
    ll_serving_give_count(o, "max-num-batched-tokens", guesses ? tokens : ll_max(tokens, 8192));
    ll_serving_give(o, "gpu-memory-utilization", is_blackwell(s) ? "0.8" : "0.75");
    ll_serving_give_count(o, "max-cudagraph-capture-size", is_blackwell(s) ? 512 : 128);
    if (guesses) {
        ll_serving_give_count(o, "max-num-seqs", most);
        guess(o, ahead);
    }
    if (s->data > 1)
        set(o, "server.balance_steps=60");
    if (is_blackwell(s) && is(s->precision, "fp8") && !guesses && s->input == 1024 && s->output == 1024 &&
        s->clients >= 64 && s->clients < 256) {
        set(o, "server.wait_steps=40");
        set(o, "server.wait_share=0.8");
    }
    return is(s->version, "1.1.0rc2")
               ? "its benchmark served this version with and without guesses ahead, and it does not say which"
               : NULL;
}

/* 70b_fp8_b200_trt, 70b_fp4_b200_trt, gptoss_fp4_b200_trt, gptoss_fp4_h200_trt. */
static const char *start_trtllm(const struct ll_served_setting *s, struct ll_serving_options *o)
{
    const bool gpt = strstr(s->model, "gpt-oss") != NULL;
    if (!gpt || is_blackwell(s))
        ll_serving_give(o, "kv-cache-dtype", "fp8");
    if (strstr(s->model, "DeepSeek"))
        return start_trtllm_deepseek(s, o);
    if (gpt) {
        ll_serving_give_count(o, "max-num-batched-tokens", 20000);
        ll_serving_give_count(o, "max-num-seqs", is_blackwell(s) ? 512 : s->clients);
        ll_serving_give(o, "gpu-memory-utilization", "0.85");
        ll_serving_give_count(o, "max-cudagraph-capture-size", s->clients);
        if (s->data > 1)
            set(o, "server.balance_steps=50");
        return NULL;
    }
    const bool short_both = s->input == 1024 && s->output == 1024;
    ll_serving_give_count(o, "max-num-batched-tokens",
                          is(s->precision, "fp8") ? 16384
                          : short_both            ? s->input + s->output + 20
                                                  : s->input + s->output + 200);
    ll_serving_give_count(o, "max-cudagraph-capture-size", 1024);
    if (short_both && s->tensor < 8) {
        set(o, "server.wait_steps=20");
        set(o, "server.wait_share=0.9");
    }
    return NULL;
}

const char *ll_served_settings(const struct ll_served_setting *s, struct ll_serving_options *o)
{
    const bool vllm = strcmp(s->backend, "vllm") == 0;
    ll_serving_give(o, "no-prefix-caching", "");
    if (!ll_served_is_drawn(s)) {
        if (vllm && is(s->version, "0.1") && ll_strtod(s->version + 2, NULL) < 14)
            set(o, "server.overlaps=false"); /* asynchronous scheduling is the default since 0.14 */
        return NULL;
    }
    if (s->apart)
        return NULL;
    if (vllm) {
        start_vllm(s, o);
        return NULL;
    }
    return strcmp(s->backend, "sglang") == 0 ? start_sglang(s, o) : start_trtllm(s, o);
}
