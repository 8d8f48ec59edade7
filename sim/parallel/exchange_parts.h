/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange of gradients in the making. Private to sim/parallel/exchange*.c. */
#ifndef LL_SIM_PARALLEL_EXCHANGE_PARTS_H
#define LL_SIM_PARALLEL_EXCHANGE_PARTS_H

#include "sim/parallel/gradients.h"
#include "sim/parallel/layers.h"
#include "sim/parallel/plan.h"
#include "tracer/transform/rewrite.h"

/* Old tensors that wait to be exchanged together. */
struct ll_gradient_bucket {
    uint32_t *tensors;
    uint64_t count, capacity;
};

/* Ops of a layer that go the same way between two updates and read its weights, as a chain. */
struct ll_use {
    uint32_t first_op, updates; /* so many times weights were updated before */
    bool gathered;
};

struct ll_exchanging {
    const struct ll_trace *trace;
    const struct ll_parallel *plan;
    bool from_host; /* weights do not come from other devices but from the host, where a token stands for them
                     */
    uint32_t worked; /* from_host: the last op of the new trace that moves nothing; LL_NONE: none */
    struct ll_gradients gradients;
    struct ll_layers layers;
    struct ll_rewrite rewrite;
    struct ll_gradient_bucket dense, weights;
    uint32_t awaited;   /* op of the new trace for which the next op waits; LL_NONE: none */
    bool *exchanged;    /* by old tensor: a gradient that is */
    uint32_t *own;      /* by old tensor: the new one before the exchange, LL_NONE before it */
    bool *partial;      /* by old tensor: a sum over the parts that this device has */
    uint32_t *part;     /* by storage: the part that this device has, with zero 3; LL_NONE when not brought */
    uint32_t *gathered; /* by old tensor: indices of rows, those of all devices */
    struct ll_use *uses; /* in the order of their first ops */
    uint32_t use_count;
    uint32_t *use_of, *next_op; /* by op: its use; the next op of it */
};

/* One op that exchanges several tensors. The first of its outputs, LL_NONE after trouble. */
struct ll_exchanged_tensors {
    enum ll_op_kind kind;
    enum ll_phase phase;
    const char *scope;
    const uint32_t *inputs, *outputs; /* new tensors, new descs */
    uint64_t count;
    bool in_place, experts; /* experts: among those that have the same ones */
    bool parts;             /* among those that share with each other */
    bool alike;             /* among those that have the same part */
    uint32_t after;         /* op of the new trace that it waits for, or LL_NONE */
};
uint32_t ll_exchange_tensors(struct ll_exchanging *x, const struct ll_exchanged_tensors *exchange);

/* A record of an old op (ll_rewrite_record) that is about to be put waits for what is awaited. */
void ll_exchange_await(struct ll_exchanging *x, struct ll_record *record);

/* The desc of a part of an old tensor: of the N-th, or of a token. */
uint32_t ll_part_desc(struct ll_exchanging *x, uint32_t tensor, enum ll_memory_class memory);

/* Whether an old tensor is of weights of which replicas have some experts each, and how many have the same.
 */
bool ll_of_experts(const struct ll_exchanging *x, uint32_t tensor);
uint64_t ll_replicas_of(const struct ll_exchanging *x, uint32_t tensor);

/* In how many parts they share it. */
uint64_t ll_parts_of(const struct ll_exchanging *x, uint32_t tensor);

/* Which ops use which layer's weights when (zero 3). False when memory ran out. */
bool ll_uses_find(struct ll_exchanging *x);

/* Before an op that goes forward or backward: the weights of its layer, and perhaps of the next, are
 * gathered. */
void ll_gather_weights(struct ll_exchanging *x, uint32_t op);

/* The part of a weight, brought if need be (zero 3). */
uint32_t ll_weight_part(struct ll_exchanging *x, uint32_t tensor);

#endif
