/* SPDX-License-Identifier: Apache-2.0 */
/* A language model on the devices of an instance: what batches of it cost, how much of its memory is left for
 * keys and values. Batches are traces of models/llm, spread by a plan and replayed. */
#ifndef LL_SIM_CLI_SERVED_MODEL_H
#define LL_SIM_CLI_SERVED_MODEL_H

#include "models/model.h"
#include "sim/cli/served_experts.h"
#include "sim/parallel/parallel.h"
#include "sim/replay/communication.h"
#include "sim/serve/costs.h"
#include "sim/validate/layer_files.h"
#include "tracer/base/map.h"

/* Traces of forms, for models that are the same on several machines or plans: a form is recorded once. It
 * starts as {0}; to be released. One thread at a time. */
struct ll_served_traces {
    struct ll_map keys;
    struct ll_trace **traces; /* by id of the key */
    uint64_t count, capacity;
};
void ll_served_traces_release(struct ll_served_traces *traces);

struct ll_served_model {
    const char *config;                     /* a file, or a configuration that comes along */
    const char *dtype, *weights, *kv_dtype; /* as -p of llm takes them; NULL: as the model has them */
    const struct ll_machine *machine;
    struct ll_parallel plan; /* data: ranks whose attention works on requests of their own */
    struct ll_expert_load load;
    uint64_t experts; /* of a layer, the most; by ll_served_look */
    /* Layers that the model has; its traces have `base` of them and a `period` more, by which layers repeat,
     * from which the others follow. period 0: traces have all. Set by ll_served_look. */
    uint64_t layers, base, period;
    struct ll_remembered remembered;
    struct ll_served_memo *memo;     /* forms that were asked for; by ll_served_look */
    struct ll_served_traces *traces; /* outlives the model; NULL: traces are recorded each time */
    bool
        copies_heads; /* key heads are stored several times, as more devices share GEMMs; by ll_served_look */
    struct ll_diags *diags;
};

/* What of a device's memory goes where, in bytes; of the fullest stage. */
struct ll_served_memory {
    double weights, activations, context, left; /* left: for keys and values; below 0: nothing fits */
    double kv_token;                            /* of a token, on a device */
    double kv_all;                              /* of a token, on all devices of a rank together */
    uint64_t layers;                            /* that the plan's stages have together, as scopes say */
};

/* Reads the configuration and finds by what its layers repeat; plan and config are set. What is remembered
 * from form to form lives in the arena, but for what ll_served_release frees. False after complaints. */
bool ll_served_look(struct ll_served_model *model, struct ll_arena *arena);
void ll_served_release(struct ll_served_model *model);

/* An ll_cost_of_form; `context` is the struct ll_served_model. Each form is replayed once. */
bool ll_served_form(void *context, const struct ll_form *form, struct ll_form_cost *cost);

/* What bounds a form: shares of its time, by LL_BOUND_..., that sum to 1. False after complaints. */
bool ll_served_bounds(struct ll_served_model *model, const struct ll_form *form,
                      double shares[static LL_BOUND_COUNT]);

/* The same where each op takes what a plain roofline says. */
bool ll_served_roofline(void *context, const struct ll_form *form, struct ll_form_cost *cost);

/* How many ops a step with a prompt has. False after complaints. */
bool ll_served_ops(struct ll_served_model *model, uint64_t *count);

/* Memory with steps of so many tokens and sequences; keys and values at sequences of `length` tokens. False
 * after complaints. */
bool ll_served_memory(struct ll_served_model *model, const struct ll_server *server, uint64_t tokens,
                      uint64_t length, struct ll_served_memory *memory);

/* What a step with one token takes at the least, however many devices share it: seconds of one device's
 * arithmetic at its peak, of a token that decodes and of one of a prompt; bytes of weights that it reads, and
 * how fast a device reads them, but for `kept_bytes` that its caches may hold. Attention's own part is left
 * out. */
struct ll_served_floor {
    double token_s, prompt_token_s, read_bytes, kept_bytes, read_Bps;
};

/* With the model's formats on its machine, as if one device did it all. False after complaints. */
bool ll_served_floor(struct ll_served_model *model, struct ll_served_floor *least);

/* Ways to store the weights of a configuration that servers offer and this machine multiplies by: first as
 * the configuration has them, then narrower ones, into which servers quantize weights of 16 bits, or in which
 * such checkpoints are published. How many there are; 0 after complaints. Static texts, as --quantization
 * takes them. */
enum { LL_MOST_SERVED_FORMATS = 4 };
size_t ll_served_formats(const char *config, const struct ll_machine *machine,
                         const char *names[static LL_MOST_SERVED_FORMATS], struct ll_diags *diags);

/* The configuration that a name stands for: a file, a name that comes along, or a Hugging Face name of one
 * such (`meta-llama/Llama-3.1-8B-Instruct`). NULL: none. Static, or the name. */
const char *ll_served_config(const char *name);

/* The sizes of a configuration's layers on one of `tensor` devices that share GEMMs, by its first layer with
 * attention. False after complaints. */
bool ll_served_layer_sizes(const char *config, uint64_t tensor, struct ll_layer_sizes *sizes,
                           struct ll_diags *diags);

/* Whether a configuration's model has experts; false also where it cannot be read. */
bool ll_served_has_experts(const char *config);

/* How many layers it has; 0 where it cannot be read. */
uint64_t ll_served_layers(const char *config);

#endif
