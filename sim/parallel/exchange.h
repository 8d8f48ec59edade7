/* SPDX-License-Identifier: Apache-2.0 */
/* Data parallelism: bundled all-reduces, exchange of gradients with ZeRO, which tensors are gradients,
 * experts spread over replicas, offload to the host, casts repeated in each pass. Private to sim/parallel and
 * its tests. */
#ifndef LL_SIM_PARALLEL_EXCHANGE_H
#define LL_SIM_PARALLEL_EXCHANGE_H

#include "sim/parallel/pipeline.h"
#include "sim/parallel/plan.h"
#include "tracer/base/diag.h"
#include "tracer/ir/trace.h"
#include "tracer/transform/rewrite.h"

/* Sums that an update waits for, made by one exchange: gradients of weights that each rank has whole and of
 * which each has made a part, norms' and biases' above all where sequences are divided (Megatron-core,
 * _allreduce_non_tensor_model_parallel_grads, flattens them into one buffer). */

/* A program in which the all_reduces of a step's update among the same devices are one op, where the first of
 * them was, as far as their inputs are there by then; others are left for a later one. Free with
 * ll_trace_free. NULL with *trouble, a static sentence; without where nothing could be put together. Pure
 * otherwise. */
struct ll_trace *ll_bundle_sums(const struct ll_trace *program, const char **trouble);

/* A program of so many parts, 2 or more, each of which does what this program does on the same weights; they
 * take turns at every communication. Ownership and trouble as above. */
struct ll_trace *ll_take_turns(const struct ll_trace *program, uint64_t parts, const char **trouble);

/* What replicas of a model exchange: gradients, and with sharded states the weights (Rajbhandari et al.,
 * ZeRO: memory optimizations toward training trillion parameter models, 2020).
 *
 * With N = plan->context x plan->data replicas, plan->tensor devices apart, S bytes of gradients or weights:
 *
 *     zero 0   all_reduce of the gradients                              each device sends 2 (N-1)/N S
 *     zero 1   reduce_scatter of the gradients, 1/N of the optimizer's state and work on each, all_gather of
 *              the new weights                                          the same
 *     zero 2   as 1; a gradient is freed as soon as it is exchanged, and of several micro-batches the parts
 *              are added up                                             the same, gradients of every one
 *     zero 3   as 2, but weights lie in N parts too: all_gather of a layer's before it goes forward, once
 *              more before it goes backward, none after the update      3 (N-1)/N S
 *
 * With plan->within replicas sharing, W of them next to each other share with one another only, and parts of
 * gradients are then added up among the N / W that have the same (HSDP; Zhao et al., PyTorch FSDP, 2023):
 * that crosses the slower links with S / W. With zero 2 and 3 this, too, comes with every micro-batch.
 *
 * Gradients go in buckets, in the order in which they are made: a bucket when it has plan->bucket_bytes, or
 * with plan->overlap false and zero below 2 all of them when the first is used. New weights go in such
 * buckets too. Rows of a table that an update picks (sgd_rows) are gathered from all with their indices, and
 * that update does all of them. With overlap the weights of the next plan->prefetch layers are gathered
 * while one computes (zero 3), without it when they are needed.
 *
 * A trace that learns but updates nothing, as a profile of the passes alone, exchanges its gradients;
 * sharing out what it does not have (zero 1 to 3) is refused. One that only infers has weights to share out
 * (zero 3), each gathered once before it is used.
 *
 * With plan->expert replicas dividing experts among them, experts are exchanged by themselves, among the N /
 * expert replicas that have the same ones.
 *
 * Exchanges of gradients and of new weights have the phase comm: they happen once a step, with the backward
 * pass of the last micro-batch and after the update. Those of gradients that are freed (zero 2 and 3) have
 * the phase backward, those of weights with zero 3 the phase of the layer's ops. Parts are of ceil(elements /
 * N), or / W. */

/* The program of a replica; free with ll_trace_free. Without replicas it is the trace as it was.
 * NULL and *trouble, a static sentence. Thread-safe. */
struct ll_trace *ll_exchange_gradients(const struct ll_trace *trace, const struct ll_parallel *plan,
                                       const char **trouble);

/* A program whose sums of gradients over replicas go in the form of plan->compression, which is one:
 *
 *     bf16, f8     cast before the exchange and behind it; with f8 replicas agree on the largest element of
 *                  each tensor before, by one more exchange of a number each
 *     powersgd:r   of a matrix [n, m], in place of n m numbers, two sums of n r and m r; what that leaves out
 *                  is kept and added to the next gradient (as large as all gradients), with the last factor
 *     top_k:n      the largest, one in n, and their places are gathered from all replicas; the same is kept
 *
 * The sums are those of ll_exchange_gradients, which have the attribute tag then. Ops are of the phase of the
 * exchange, on its tensors. Ownership and trouble as above. Thread-safe. */
struct ll_trace *ll_compress_gradients(const struct ll_trace *program, const struct ll_parallel *plan,
                                       const char **trouble);

/* Which tensors of a trace are gradients of weights, and what the updates that read them keep. Private to
 * sim/parallel. */

enum ll_gradient_kind { LL_NO_GRADIENT, LL_DENSE_GRADIENT, LL_ROWS_GRADIENT };

struct ll_gradients {
    /* By tensor, enum ll_gradient_kind. A gradient is made in the backward pass and read by updates or, where
     * no update reads any, by no op of its step. LL_ROWS_GRADIENT: of some rows of an embedding table. */
    uint8_t *kind;
    bool *in_parts; /* by tensor: as long as a dense gradient and updated element by element with it */
    bool *sharded;  /* by storage: a weight or optimizer state that ZeRO may shard */
    bool *last;     /* by tensor: no later op of its step writes its storage */
    bool *experts;  /* by tensor: belongs to a weight of experts, of which each replica has some */
};

/* Fills *gradients in time linear in the trace; lists live in the arena. False when memory ran out. */
bool ll_gradients_find(const struct ll_trace *trace, struct ll_arena *arena, struct ll_gradients *gradients);

/* *lacks: whether a trace has no gradient of a weight although it trains and has weights, or although its
 * mode is unknown (program): its replicas would have nothing to exchange. False when memory ran out. */
bool ll_gradients_missing(const struct ll_trace *trace, bool *lacks);

/* *dtype: of most elements of a trace's gradients of weights, LL_F32 without any. False when memory ran
 * out. */
bool ll_gradients_dtype(const struct ll_trace *trace, enum ll_dtype *dtype);

/* The state of an exchange of gradients. Private to exchange.c and offload.c. */

/* A bucket: old tensors that wait to be exchanged together. */
struct ll_gradient_bucket {
    uint32_t *tensors;
    uint64_t count, capacity;
};

/* A use of a layer's weights: ops of one direction between two updates, chained by next_op. */
struct ll_use {
    uint32_t first_op;
    uint32_t updates; /* how many weight updates come before it */
    bool gathered;    /* its weights have been gathered */
};

struct ll_exchanging {
    const struct ll_trace *trace;
    const struct ll_parallel *plan;
    bool from_host;  /* weights come from the host, where an empty tensor stands for them */
    uint32_t worked; /* with from_host: the last op of the new trace that is no transfer; LL_NONE: none */
    struct ll_gradients gradients;
    struct ll_layers layers;
    struct ll_rewrite rewrite;
    struct ll_gradient_bucket dense;   /* gradients to be exchanged */
    struct ll_gradient_bucket weights; /* updated weights to be gathered */
    uint32_t awaited;                  /* op of the new trace for which the next op waits; LL_NONE: none */
    bool *exchanged;                   /* by old tensor: a gradient that has been exchanged */
    uint32_t *own; /* by old tensor: this device's own gradient before its exchange; LL_NONE: not exchanged */
    bool *partial; /* by old tensor: a number computed from this device's part alone, a term of a sum */
    uint32_t *part;      /* by storage: this device's part, with ZeRO 3; LL_NONE: not brought yet */
    uint32_t *gathered;  /* by old tensor: the row indices of all devices; LL_NONE: not gathered */
    struct ll_use *uses; /* with ZeRO 3: uses of layers' weights, in the order of their first ops */
    uint32_t use_count;  /* length of `uses` */
    uint32_t *use_of;    /* by op: index of its use; LL_NONE: it reads no weights */
    uint32_t *next_op;   /* by op: the next op of the same use; LL_NONE: the last */
};

/* One collective op on several tensors. */
struct ll_exchanged_tensors {
    enum ll_op_kind kind;
    enum ll_phase phase;
    const char *scope;
    const uint32_t *inputs;  /* tensors of the new trace */
    const uint32_t *outputs; /* tensor descriptors of the new trace */
    uint64_t count;          /* length of both */
    bool in_place;           /* outputs take the memory of the inputs */
    bool experts;            /* among the replicas that have the same experts */
    bool parts;              /* among the replicas of a ZeRO group (plan->within) */
    bool equal;              /* among the replicas that hold the same part, one of each group */
    bool tagged;             /* ll_compress_gradients will know it by the attribute tag */
    uint32_t after;          /* op of the new trace that it waits for; LL_NONE: none */
};

/* Makes a record of an old op (ll_rewrite_record) wait for x->awaited, which is then cleared. */
void ll_exchange_await(struct ll_exchanging *x, struct ll_record *record);

/* The descriptor of this device's part of an old tensor, ceil(elements / N) long; empty with from_host. */
uint32_t ll_part_desc(struct ll_exchanging *x, uint32_t tensor, enum ll_memory_class memory);

/* Finds the uses of layers' weights, with ZeRO 3 or from_host. False when memory ran out. */
bool ll_uses_find(struct ll_exchanging *x);

/* Before an op of the forward or backward pass: gathers the weights of its layer, and with plan->overlap
 * those of the next plan->prefetch ones, where that has not been done. */
void ll_gather_weights(struct ll_exchanging *x, uint32_t op);

/* This device's part of a weight, as a tensor of the new trace, brought where necessary. */
uint32_t ll_weight_part(struct ll_exchanging *x, uint32_t tensor);

/* Experts divided among replicas (Lepikhin et al., GShard, 2020; Fedus et al., Switch, 2021).
 *
 * Tensors [experts, places, ...] hold for each expert what a replica's samples want of it. With N =
 * plan->expert replicas each holds 1/N of the experts, weights and states of the optimizer, and works for all
 * N: before a GEMM with such weights an all_to_all takes [experts, places, ...] to [experts / N, N places,
 * ...], and another one brings the results back before anything else reads them. So a layer of experts has
 * two going forward and two going backward, of samples x choices x features (x the capacity) each.
 * Where the devices of a GEMM have a share of the places each (shard.h), that is what each of them sends;
 * what experts read is then gathered where they are, and what they make is scattered before it goes back.
 *
 * Experts are known by LL_ROLE_EXPERTS, the first dimension of their weights. */

/* The program of a replica of a group of plan->expert, which lie plan->tensor devices apart; a copy when that
 * is 1. Free with ll_trace_free. NULL after complaints: no experts, or not a multiple of the group.
 * Thread-safe on shared traces. */
struct ll_trace *ll_spread_experts(const struct ll_trace *trace, const struct ll_parallel *plan,
                                   struct ll_diags *diags);

/* Whether a tensor that looks so is a replica's own share of experts: weights, their gradients and states.
 * Their gradients are summed over replicas that have the same experts alone. Pure. */
bool ll_is_of_experts(const struct ll_tensor_desc *desc);
bool ll_has_experts(const struct ll_trace *trace);

/* Memory that waits on the host while the device does not need it (Rhu et al., vDNN, 2016; Ren et al.,
 * ZeRO-Offload, 2021).
 *
 *     activations  what a layer going forward leaves for its backward ops goes to the host while the next one
 *                  goes forward, and comes back when the layer behind it goes backward; the last two layers
 *                  keep their own
 *     weights      come when their layer goes forward or backward, a layer ahead with plan->overlap, and go
 *                  after their update
 *     optimizer    its state comes for the update and goes again during the next one; the device still
 *                  computes the update
 *
 * What goes is read by an op to_host: it has gone, and its memory is free, when the layer or the update
 * after the next begins, which waits for that. What comes is made by from_host, which waits for the op
 * before it, as there is no room sooner. Each takes the bandwidth of the machine's host. */

/* The program with plan->offload put in; free with ll_trace_free. NULL and *trouble, a static sentence.
 * Thread-safe. */
struct ll_trace *ll_offload(const struct ll_trace *trace, const struct ll_parallel *plan,
                            const char **trouble);

/* Weights that are whole only while a pass uses them (ZeRO 3, or on the host) are cast to the type of
 * products (tracer/transform/dtype.h) in each pass anew: nobody has the room to keep what is cast of all of
 * them. */

/* Whether a program keeps casts of weights for a whole step (ll_is_lasting_cast). Pure. */
bool ll_has_lasting_casts(const struct ll_trace *program);

/* A trace whose casts of weights, and views of these, last for one pass: the backward pass repeats them
 * before their first reader. All else is as before. Free with ll_trace_free. NULL and *trouble, a static
 * sentence. Thread-safe. */
struct ll_trace *ll_recast(const struct ll_trace *program, const char **trouble);

#endif
