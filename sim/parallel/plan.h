/* SPDX-License-Identifier: Apache-2.0 */
/* How a step is spread over devices. Plain data.
 *
 * Devices are numbered with the tensor-parallel ranks closest together, then those that share a sequence,
 * then the data-parallel ones, then the stages of the pipeline:
 *
 *       device = t + tensor (c + context (d + data p))   t < tensor, c < context, d < data, p < pipeline
 *
 * So a group of a collective is `devices` devices `stride` apart: those that share a GEMM have stride 1,
 * those that share a sequence `tensor`, neighbouring stages tensor x context x data. Those that share a
 * sequence have the same weights, so that there are context x data replicas of stride `tensor` to add up
 * gradients and share out states. Experts lie on `expert` of these, next to each other. Collectives in a
 * device's program carry the two numbers as attributes (LL_ATTR_DEVICES, LL_ATTR_STRIDE), sends and receives
 * the distance to the other device (LL_ATTR_PEER). */
#ifndef LL_SIM_PARALLEL_PLAN_H
#define LL_SIM_PARALLEL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/base/diag.h"
#include "tracer/base/json.h"
#include "tracer/base/str.h"

/* The order in which a stage takes up micro-batches (Huang et al., GPipe, 2019; Narayanan et al.,
 * PipeDream, 2019, and Megatron-LM, 2021; Lamy-Poirier, Breadth-first pipeline parallelism, 2022; orders.c
 * has the others'). Word, name, how virtual stages lie on stages (enum ll_placement), whether backward
 * passes come in two halves, what it is. */
#define LL_SCHEDULE_LIST(X)                                                                                  \
    X(GPIPE, "gpipe", AROUND, false, "all micro-batches forward, then all backward")                         \
    X(ONE_F_ONE_B, "1f1b", AROUND, false, "one forward, one backward, as soon as the first has come back")   \
    X(INTERLEAVED, "interleaved", AROUND, false, "1f1b, each device with several virtual stages")            \
    X(BREADTH_FIRST, "breadth_first", AROUND, false,                                                         \
      "all micro-batches through a virtual stage, then through the next one on the device")                  \
    X(ZB_H1, "zb_h1", AROUND, true, "1f1b whose gradients of weights wait, in as much memory")               \
    X(ZB_H2, "zb_h2", AROUND, true, "the same in twice the memory, without a bubble between steps")          \
    X(ZB_V, "zb_v", FOLDED, true,                                                                            \
      "the same in the memory of 1f1b: the first device has the last stage, too")                            \
    X(DUALPIPE, "dualpipe", BOTH_WAYS, true,                                                                 \
      "micro-batches from both ends through two copies of the model, forward beside backward passes")        \
    X(DUALPIPE_V, "dualpipe_v", FOLDED, true, "the same with one copy, folded as that of zb_v")

/* Where virtual stage c stages + s lies: on stage s; on that or, every second time, on stages - 1 - s; or on
 * these of two models, the second of which begins on the last stage. */
enum ll_placement { LL_PLACED_AROUND, LL_PLACED_FOLDED, LL_PLACED_BOTH_WAYS };

/* What of the forward pass is computed again in the backward pass instead of being kept (Chen et al., 2016;
 * Korthikanti et al., 2022). Word, name, what it is. */
#define LL_RECOMPUTE_LIST(X)                                                                                 \
    X(NONE, "none", "all activations are kept")                                                              \
    X(SELECTIVE, "selective", "activations between the GEMMs of attention")                                  \
    X(FULL, "full", "all activations but the input of each layer")

/* How devices that share a sequence see its keys and values at an attention. Word, name, what it is. */
#define LL_CP_COMM_LIST(X)                                                                                   \
    X(ALL_GATHER, "all_gather", "keys and values of all positions are gathered")                             \
    X(ALL_TO_ALL, "a2a", "each device gets all positions of some heads (Ulysses)")                           \
    X(RING, "ring", "keys and values go around while queries meet those that are there")

/* How gradients go between replicas. Word, name, whether a number of its own follows it, as in powersgd:4,
 * what it is. */
#define LL_COMPRESSION_LIST(X)                                                                               \
    X(NONE, "none", false, "as they are")                                                                    \
    X(BF16, "bf16", false, "in 16 bits, cast before and after")                                              \
    X(F8, "f8", false, "in 8 bits, with the largest of each tensor agreed upon first")                       \
    X(POWERSGD, "powersgd", true, "as two factors of this rank")                                             \
    X(TOP_K, "top_k", true, "one in so many, the largest, with their places")

/* How the casts of training in few bits are made (Micikevicius et al., FP8 formats for deep learning, 2022;
 * Transformer Engine, common/recipe). Word, name, what it is. */
#define LL_RECIPE_LIST(X)                                                                                    \
    X(NONE, "none", "GEMMs stay as they are")                                                                \
    X(DELAYED, "delayed", "8 bits, a scale for each tensor, by what was largest in steps before")            \
    X(TENSORWISE, "tensorwise", "8 bits, a scale for each tensor, by its own largest element (current)")     \
    X(BLOCKWISE, "blockwise", "8 bits, scales for 1 x 128 of activations, 128 x 128 of weights")             \
    X(MXFP8, "mxfp8", "8 bits, a scale for each 32")                                                         \
    X(NVFP4, "nvfp4", "4 bits, a scale for each 16, and for each tensor")

enum ll_recipe {
#define X(word, name, help) LL_RECIPE_##word,
    LL_RECIPE_LIST(X)
#undef X
        LL_RECIPE_COUNT
};

/* Which GEMMs of a weight are in few bits: its own, and those of the gradients of what it reads and of it. */
struct ll_low_gemms {
    bool fprop, dgrad, wgrad;
};

struct ll_low_precision {
    enum ll_recipe recipe;
    struct ll_low_gemms gemms;
    uint64_t first_kept, last_kept; /* layers at either end that stay as they are */
    bool turned_copies; /* recipes with a scale for each tensor make a copy for each direction, too */
};

enum ll_compression_kind {
#define X(word, name, takes, help) LL_COMPRESSION_##word,
    LL_COMPRESSION_LIST(X)
#undef X
        LL_COMPRESSION_COUNT
};

struct ll_compression {
    enum ll_compression_kind kind;
    uint64_t amount; /* the rank, or one in how many; 0 where none follows */
};

enum ll_cp_comm {
#define X(word, name, help) LL_CP_COMM_##word,
    LL_CP_COMM_LIST(X)
#undef X
        LL_CP_COMM_COUNT
};
enum ll_schedule {
#define X(word, name, placement, splits, help) LL_SCHEDULE_##word,
    LL_SCHEDULE_LIST(X)
#undef X
        LL_SCHEDULE_COUNT
};
/* Its name as files and options spell it; static. */
const char *ll_schedule_name(enum ll_schedule schedule);

enum ll_recompute {
#define X(word, name, help) LL_RECOMPUTE_##word,
    LL_RECOMPUTE_LIST(X)
#undef X
        LL_RECOMPUTE_COUNT
};

/* What full recomputation does not make again. With any of them, neither is what no backward op reads, nor
 * what only leads there. */
struct ll_recompute_except {
    bool unread; /* that alone, as XLA drops it and PyTorch's checkpoints stop early */
    bool qkv;    /* queries, keys and values as attention reads them, which are kept */
    bool out;    /* the result of attention's output projection, which is kept */
    bool gemms;  /* results of GEMMs with weights, which are kept */
};

/* Whether there is any. Pure. */
static inline bool ll_recompute_excepts(const struct ll_recompute_except *except)
{
    return except->unread || except->qkv || except->out || except->gemms;
}

/* How layers are divided among stages: so that the largest cost is as small as can be, or evenly; the
 * first and the last stage may have numbers of their own, as those with the embedding and the loss often
 * have fewer. What comes before and behind the numbered layers, the embedding and the head with the loss,
 * belongs to the first and the last of them, or is a layer of its own. */
enum { LL_LAYOUT_ROOM = 512, LL_MOST_POOLS = 4 };

struct ll_layer_split {
    bool evenly;
    bool embedding, loss;        /* each is a layer of its own, and all are divided evenly */
    uint64_t first, last;        /* layers of the first and of the last virtual stage; 0: as the others */
    char layout[LL_LAYOUT_ROOM]; /* those of each virtual stage (layout.c); "": not said; "auto": by cost */
};

/* A layout as it is written: virtual stages, numbered layers of all of them, whether it has the embedding and
 * the loss as letters of their own. */
struct ll_layout {
    uint32_t parts, layers;
    bool embedding, loss;
};

/* Reads a layout such as Et*3|t*4|t*3L; by part how many layers it has, E and L included, where there is room
 * for all (counts NULL: for none). False where it is none. Pure. */
bool ll_layout_read(const char *text, struct ll_layout *layout, uint32_t *counts, uint32_t room);

/* Writes the layers of one part, of which there is at least one: Et*3. */
void ll_layout_part(uint32_t count, bool embedding, bool loss, struct ll_str *out);

/* Writes a layout. False where it is too long, or memory ran out. */
bool ll_layout_write(const uint32_t *counts, uint32_t parts, bool embedding, bool loss,
                     char text[LL_LAYOUT_ROOM]);

/* Whether layers are to be assigned by what each costs on the machine (ll_assign_layers). */
static inline bool ll_split_is_by_cost(const struct ll_layer_split *split)
{
    return split->layout[0] == 'a'; /* of auto, alone among layouts */
}

/* What is moved to the memory of the host while the device does not need it. */
struct ll_offload {
    bool optimizer, activations, weights;
};

/* Some of many are slower: this share of them takes `factor` times as long. */
struct ll_slow_share {
    double share;  /* 0: none is; else at least one is */
    double factor; /* at least 1; 1: nothing changes */
};

struct ll_parallel {
    uint64_t data;    /* data-parallel replicas, at least 1 */
    uint64_t tensor;  /* tensor-parallel devices, which share each GEMM, at least 1 */
    uint64_t context; /* context-parallel devices, which share each sequence, at least 1 */
    enum ll_cp_comm cp_comm;
    uint64_t pipeline; /* pipeline stages, at least 1 */
    struct ll_layer_split split;
    uint64_t expert;      /* replicas among which experts are spread, at least 1; divides data x context */
    bool sequence;        /* sequence parallelism: norms and the like work on a share of the sequence each */
    bool whole_experts;   /* devices that share GEMMs share out experts, in place of what is inside of each */
    uint64_t batch;       /* samples a step, over all devices; 0: the trace's batch for each replica */
    uint64_t micro_batch; /* samples that a stage processes at once; 0: all of its replica's */
    enum ll_schedule schedule;
    uint64_t chunks; /* virtual stages on each device, with INTERLEAVED; else 1 */
    uint64_t zero;   /* ZeRO stage, 0 to 3 (Rajbhandari et al., 2020) */
    uint64_t
        within; /* ZeRO shards within groups of so many replicas, which repeat the shards; 0: among all */
    enum ll_recompute recompute;
    struct ll_recompute_except recompute_except;
    struct ll_low_precision low_precision;
    bool main_grads;       /* gradients of weights are added up, exchanged and used in 32 bits */
    bool fused_loss;       /* a cross entropy reads logits as they are and writes their gradient over them */
    uint64_t bucket_bytes; /* gradients are exchanged in buckets of at least this size; 0: each by itself */
    struct ll_compression compression; /* of gradients on their way between replicas */
    bool overlap;                      /* gradients are exchanged during the backward pass; else after it */
    bool scatter_waits; /* with overlap: nothing is computed beside a reduce-scatter of gradients */
    uint64_t prefetch;  /* with overlap: of how many layers ahead weights that lie in parts are gathered */
    bool
        pass_overlap; /* what a pass exchanges goes on beside ops that do not wait for it; else nothing does */
    bool tensor_overlap; /* tensor-parallel exchanges go on piece by piece beside the GEMMs that need them */
    struct ll_offload offload;
    uint64_t
        parts; /* of a micro-batch, which take turns: one computes while another communicates; at least 1 */
    uint64_t
        pool_stages[LL_MOST_POOLS];  /* by pool of the machine how many stages lie on it, one pool after the
                                            other; all 0: equally many on each */
    struct ll_slow_share stragglers; /* devices that compute more slowly than the others */
    struct ll_slow_share slow_links; /* devices whose links to all others are slower */
    uint64_t seed;                   /* of the draw of both */
};

/* How many devices hold the same weights: to all that has to do with these they are replicas. */
static inline uint64_t ll_replicas(const struct ll_parallel *plan)
{
    return plan->context * plan->data;
}

/* How many replicas share what they share out with each other: all, or those of a group. */
static inline uint64_t ll_replicas_sharing(const struct ll_parallel *plan)
{
    return plan->within > 0 ? plan->within : ll_replicas(plan);
}

/* The same of experts, which those have to share that have the same ones. */
static inline uint64_t ll_replicas_sharing_experts(const struct ll_parallel *plan)
{
    return plan->within > 0 ? plan->within : ll_replicas(plan) / plan->expert;
}

/* The pool of a stage, of so many that the machine has; stages that are left over when they are shared out
 * equally go to the first ones. */
uint64_t ll_pool_of(const struct ll_parallel *plan, uint64_t pools, uint64_t stage);

/* Plans as people write them: keys with values, in YAML or on a command line. plan_keys.def has the rows. */

/* One device by itself, with gradients in buckets of 25 MiB (as PyTorch's) that overlap, once there are more.
 */
struct ll_parallel ll_plan_of_one(void);

/* A row of plan_keys.def; `value` is what stands behind the option in a usage, NULL for a flag, which
 * it turns round. Static storage. */
struct ll_plan_key {
    const char *key, *option, *value, *help;
};
size_t ll_plan_key_count(void);
struct ll_plan_key ll_plan_key_at(size_t i);

/* The member of a key, as its offset in a plan; whether its values have commas; whether two plans have the
 * same value of it; takes it over from another plan. */
size_t ll_plan_key_index(const char *key); /* which there is */
size_t ll_plan_member_of(size_t i);
bool ll_plan_key_is_list(size_t i);
bool ll_plan_member_equals(size_t i, const struct ll_parallel *a, const struct ll_parallel *b);
void ll_plan_take_member(size_t i, const struct ll_parallel *from, struct ll_parallel *to);

/* Whether there is such a key; complains if not. */
bool ll_plan_key_is_known(const char *key, struct ll_place place, struct ll_diags *diags);

/* Sets what a key says; flags are set by "true" and "false". False after complaining about the value, or
 * about a key that there is not. */
bool ll_plan_set(struct ll_parallel *plan, const char *key, const char *text, struct ll_place place,
                 struct ll_diags *diags);

/* Sets what a YAML text says, a map of keys; `name` stands for the file. False after complaints about
 * all mistakes; what is right is set all the same. */
bool ll_plan_parse(struct ll_parallel *plan, const char *text, size_t length, const char *name,
                   struct ll_diags *diags);

/* What follows from a plan for a trace of so many samples a step (0: it does not say). */
struct ll_plan_sizes {
    uint64_t devices;       /* data x context x tensor x pipeline */
    uint64_t batch;         /* samples a step, over all devices; 0: not known */
    uint64_t micro_batch;   /* samples; 0: not known, and there is one micro-batch */
    uint64_t micro_batches; /* micro-batches of a replica in a step */
};

/* Checks a plan by itself and against the devices that there are. False after complaints about all numbers
 * that do not go together; *sizes then means nothing. */
bool ll_plan_resolve(const struct ll_parallel *plan, uint64_t trace_batch, uint64_t devices,
                     struct ll_diags *diags, struct ll_plan_sizes *sizes);

/* Whether two plans say the same, whatever their batches. */
bool ll_plan_differs_in_batch_alone(const struct ll_parallel *a, const struct ll_parallel *b);

/* The plan as one JSON object, with the keys of the rows. */
void ll_plan_json(const struct ll_parallel *plan, struct ll_json *json);

/* The plan in words that --plan and the command line understand: "--dp 16 --tp 8 --zero 1", what is as
 * without left out. */
void ll_plan_words(const struct ll_parallel *plan, struct ll_str *out);

#endif
