/* SPDX-License-Identifier: Apache-2.0 */
/* Random small traces for tests: layers of products, biases, activations and updates over random sizes, as a
 * training loop would record them. Same seed, same trace. */
#ifndef LL_TESTS_TOY_TRACE_H
#define LL_TESTS_TOY_TRACE_H

#include "random.h"
#include "tracer/format/reader.h"
#include "tracer/record/recorder.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TOY_LAYERS = 6 };

struct toy {
    struct ll_recorder *recorder;
    uint32_t scope;
    struct ll_shape shape[4096]; /* by tensor */
};

static inline struct ll_shape toy_matrix(uint64_t rows, uint64_t cols)
{
    struct ll_shape shape = {
        .dim = {rows, cols}, .role = {LL_ROLE_BATCH, LL_ROLE_HIDDEN}, .dtype = LL_F32, .rank = 2};
    return shape;
}

static inline uint32_t toy_bring(struct toy *toy, struct ll_shape shape, enum ll_memory_class memory)
{
    uint32_t desc = ll_recorder_desc(toy->recorder, ll_memory_name(memory), &shape, memory);
    uint32_t tensor = ll_recorder_tensor(toy->recorder, desc);
    assert(tensor < sizeof toy->shape / sizeof toy->shape[0]);
    toy->shape[tensor] = shape;
    return tensor;
}

/* Records an op; outputs follow from the op table. Returns the first output. */
static inline uint32_t toy_op(struct toy *toy, enum ll_op_kind kind, enum ll_phase phase,
                              const uint32_t *inputs, uint32_t input_count, const struct ll_attr *attrs,
                              uint32_t attr_count, enum ll_memory_class memory, const struct ll_shape *given)
{
    struct ll_shape in[8], out[LL_MAX_OUTPUTS] = {0};
    for (uint32_t i = 0; i < input_count; i++)
        in[i] = toy->shape[inputs[i]];
    struct ll_op_view view = {kind, input_count, given ? 1 : 0, attr_count, in, out, attrs};
    if (given)
        out[0] = *given;
    const char *trouble = ll_op_infer(&view);
    if (trouble)
        fprintf(stderr, "toy trace: %s: %s\n", ll_op_name(kind), trouble);
    assert(!trouble);
    uint32_t descs[LL_MAX_OUTPUTS];
    for (uint32_t i = 0; i < view.output_count; i++)
        descs[i] = ll_recorder_desc(toy->recorder, ll_op_name(kind), &out[i], memory);
    struct ll_record record = {.kind = kind,
                               .phase = phase,
                               .scope = toy->scope,
                               .inputs = inputs,
                               .input_count = input_count,
                               .outputs = descs,
                               .output_count = view.output_count,
                               .attrs = attrs,
                               .attr_count = attr_count};
    uint32_t first = ll_recorder_op(toy->recorder, &record);
    for (uint32_t i = 0; i < view.output_count; i++)
        toy->shape[first + i] = out[i];
    return first;
}

/* Forward through the layers, then the products of the backward pass and an update of every weight. */
static inline void toy_step(struct toy *toy, uint64_t batch, const uint64_t *width, unsigned layers,
                            uint32_t *weights)
{
    uint32_t activations[TOY_LAYERS + 1];
    struct ll_shape image = toy_matrix(batch, width[0]);
    activations[0] = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &image);
    for (unsigned i = 0; i < layers; i++) {
        uint32_t product = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD,
                                  (uint32_t[]){activations[i], weights[i]}, 2, NULL, 0, LL_ACTIVATION, NULL);
        activations[i + 1] =
            toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &product, 1, NULL, 0, LL_ACTIVATION, NULL);
    }
    const struct ll_attr left = {.key = LL_ATTR_TRANSPOSE_A, .count = 1},
                         right = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    uint32_t flow = activations[layers];
    for (unsigned i = layers; i-- > 0;) {
        uint32_t through = toy_op(toy, LL_OP_RELU_GRAD, LL_PHASE_BACKWARD,
                                  (uint32_t[]){flow, activations[i + 1]}, 2, NULL, 0, LL_GRADIENT, NULL);
        uint32_t gradient = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD,
                                   (uint32_t[]){activations[i], through}, 2, &left, 1, LL_GRADIENT, NULL);
        if (i > 0)
            flow = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){through, weights[i]}, 2, &right,
                          1, LL_GRADIENT, NULL);
        weights[i] = toy_op(toy, LL_OP_SGD, LL_PHASE_UPDATE, (uint32_t[]){weights[i], gradient}, 2, NULL, 0,
                            LL_WEIGHT, NULL);
    }
}

/* Starts a recording into a file of its own, whose name goes to path (room for 64). */
static inline void toy_open(struct toy *toy, char *path)
{
    const struct ll_fact facts[] = {{"model", "toy"}, {"mode", "train"}, {"batch", "1"}};
    snprintf(path, 64, "/tmp/ll_toy_XXXXXX");
    int file = mkstemp(path);
    assert(file >= 0);
    close(file);
    enum ll_status status;
    toy->recorder = ll_recorder_open(path, facts, 3, &status);
    assert(toy->recorder);
    toy->scope = ll_recorder_string(toy->recorder, "toy");
}

/* Ends it, frees the toy and reads the file back; free with ll_trace_free. */
static inline struct ll_trace *toy_close(struct toy *toy, const char *path)
{
    enum ll_status status = ll_recorder_close(toy->recorder);
    assert(status == LL_OK);
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_trace *trace = ll_trace_read(path, diags, &status);
    assert(trace && diags->count == 0);
    ll_diags_release(diags);
    free(diags);
    free(toy);
    unlink(path);
    return trace;
}

/* A trace of up to three steps. */
static inline struct ll_trace *toy_trace(uint64_t seed)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint64_t random = seed, width[TOY_LAYERS + 1];
    unsigned layers = 1 + (unsigned)ll_random_below(&random, TOY_LAYERS);
    uint64_t batch = 1 + ll_random_below(&random, 300), steps = 1 + ll_random_below(&random, 3);
    uint32_t weights[TOY_LAYERS];
    for (unsigned i = 0; i <= layers; i++)
        width[i] = 1 + ll_random_below(&random, 2000);
    for (unsigned i = 0; i < layers; i++)
        weights[i] = toy_bring(toy, toy_matrix(width[i], width[i + 1]), LL_WEIGHT);
    for (uint64_t step = 0; step < steps; step++) {
        ll_recorder_step_begin(toy->recorder);
        toy_step(toy, batch, width, layers, weights);
        ll_recorder_step_end(toy->recorder);
    }
    return toy_close(toy, path);
}

#endif
