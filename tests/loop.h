/* SPDX-License-Identifier: Apache-2.0 */
/* A training loop to record: a multilayer perceptron with momentum, its times made up but noisy. For tests
 * and benchmarks of the trace file. */
#ifndef LL_TESTS_LOOP_H
#define LL_TESTS_LOOP_H

#include "random.h"
#include "tracer/base/clock.h"
#include "tracer/record/recorder.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

enum { LOOP_LAYERS_MOST = 64 };

struct loop_layer {
    uint32_t weight, bias, weight_state, bias_state;           /* tensors */
    uint32_t x, y, z;                                          /* input, after bias, after relu: this step */
    uint32_t weight_desc, bias_desc, y_desc, dw_desc, db_desc; /* descs */
    uint32_t forward_scope, backward_scope;
};

struct loop {
    struct ll_recorder *recorder;
    unsigned layers;
    bool timed; /* false: a dry run */
    uint64_t random, now_ns, width, batch;
    struct loop_layer layer[LOOP_LAYERS_MOST];
    uint32_t images, labels, loss, input_scope, update_scope;
    uint64_t ops;
};

static inline uint32_t loop_desc(struct loop *loop, const char *name, enum ll_memory_class memory,
                                 uint64_t rows, uint64_t cols)
{
    struct ll_shape shape = {.dtype = LL_F32, .rank = rows ? 2 : 1};
    shape.dim[0] = rows ? rows : cols;
    shape.dim[1] = rows ? cols : 0;
    shape.role[0] = rows == loop->batch ? LL_ROLE_BATCH : LL_ROLE_HIDDEN;
    return ll_recorder_desc(loop->recorder, name, &shape, memory);
}

static inline void loop_begin(struct loop *loop, struct ll_recorder *recorder, unsigned layers, bool timed)
{
    assert(layers <= LOOP_LAYERS_MOST);
    *loop = (struct loop){.recorder = recorder, .layers = layers, .timed = timed};
    loop->random = 1;
    loop->width = 64;
    loop->batch = 32;
    loop->now_ns = ll_now_ns();
    loop->images = loop_desc(loop, "images", LL_INPUT, loop->batch, loop->width);
    struct ll_shape labels = {.dtype = LL_I32, .rank = 1, .dim = {loop->batch}, .role = {LL_ROLE_BATCH}};
    loop->labels = ll_recorder_desc(recorder, "labels", &labels, LL_INPUT);
    struct ll_shape loss = {.dtype = LL_F32, .rank = 1, .dim = {loop->batch}, .role = {LL_ROLE_BATCH}};
    loop->loss = ll_recorder_desc(recorder, "loss", &loss, LL_ACTIVATION);
    loop->input_scope = ll_recorder_string(recorder, "input");
    loop->update_scope = ll_recorder_string(recorder, "update");
    for (unsigned i = 0; i < layers; i++) {
        struct loop_layer *layer = &loop->layer[i];
        char scope[32];
        snprintf(scope, sizeof scope, "layer%u", i);
        layer->forward_scope = ll_recorder_string(recorder, scope);
        snprintf(scope, sizeof scope, "layer%u/grad", i);
        layer->backward_scope = ll_recorder_string(recorder, scope);
        layer->weight_desc = loop_desc(loop, "w", LL_WEIGHT, loop->width, loop->width);
        layer->bias_desc = loop_desc(loop, "b", LL_WEIGHT, 0, loop->width);
        layer->y_desc = loop_desc(loop, "y", LL_ACTIVATION, loop->batch, loop->width);
        layer->dw_desc = loop_desc(loop, "dw", LL_GRADIENT, loop->width, loop->width);
        layer->db_desc = loop_desc(loop, "db", LL_GRADIENT, 0, loop->width);
        layer->weight = ll_recorder_tensor(recorder, layer->weight_desc);
        layer->bias = ll_recorder_tensor(recorder, layer->bias_desc);
        layer->weight_state =
            ll_recorder_tensor(recorder, loop_desc(loop, "w.m", LL_OPTIMIZER, loop->width, loop->width));
        layer->bias_state =
            ll_recorder_tensor(recorder, loop_desc(loop, "b.m", LL_OPTIMIZER, 0, loop->width));
    }
}

/* Records one op; the time it takes is some microseconds with a noise of 3 %. */
static inline uint32_t loop_op(struct loop *loop, struct ll_record record)
{
    if (loop->timed) {
        uint64_t usual_ns = 2000 + 137 * (record.kind + 1) * (1 + record.scope % 7);
        loop->now_ns += 150 + ll_random_below(&loop->random, 60);
        record.start_ns = loop->now_ns;
        record.duration_ns = usual_ns + ll_random_below(&loop->random, usual_ns / 16 + 1);
        loop->now_ns += record.duration_ns;
    }
    loop->ops++;
    return ll_recorder_op(loop->recorder, &record);
}

#define LOOP_LIST(...)                                                                                       \
    (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static inline uint32_t loop_simple(struct loop *loop, enum ll_op_kind kind, enum ll_phase phase,
                                   uint32_t scope, const uint32_t *inputs, size_t input_count,
                                   uint32_t output)
{
    return loop_op(loop, (struct ll_record){.kind = kind,
                                            .phase = phase,
                                            .scope = scope,
                                            .inputs = inputs,
                                            .input_count = (uint32_t)input_count,
                                            .outputs = &output,
                                            .output_count = 1});
}

static inline uint32_t loop_matmul(struct loop *loop, enum ll_phase phase, uint32_t scope, uint32_t a,
                                   uint32_t b, bool ta, bool tb, uint32_t output)
{
    struct ll_attr attrs[2] = {{.key = LL_ATTR_TRANSPOSE_A, .count = ta},
                               {.key = LL_ATTR_TRANSPOSE_B, .count = tb}};
    return loop_op(loop, (struct ll_record){.kind = LL_OP_MATMUL,
                                            .phase = phase,
                                            .scope = scope,
                                            .inputs = (const uint32_t[]){a, b},
                                            .input_count = 2,
                                            .outputs = &output,
                                            .output_count = 1,
                                            .attrs = attrs,
                                            .attr_count = 2});
}

static inline void loop_update(struct loop *loop, uint32_t *weight, uint32_t *state, uint32_t gradient,
                               uint32_t weight_desc, uint32_t state_desc)
{
    struct ll_attr attrs[2] = {{.key = LL_ATTR_LEARNING_RATE, .real = 0.01},
                               {.key = LL_ATTR_MOMENTUM, .real = 0.9}};
    uint32_t first = loop_op(loop, (struct ll_record){.kind = LL_OP_MOMENTUM,
                                                      .phase = LL_PHASE_UPDATE,
                                                      .scope = loop->update_scope,
                                                      .inputs = (const uint32_t[]){*weight, *state, gradient},
                                                      .input_count = 3,
                                                      .outputs = (const uint32_t[]){weight_desc, state_desc},
                                                      .output_count = 2,
                                                      .attrs = attrs,
                                                      .attr_count = 2});
    *weight = first;
    *state = first + 1;
}

static inline uint32_t loop_forward(struct loop *loop, uint32_t x)
{
    for (unsigned i = 0; i < loop->layers; i++) {
        struct loop_layer *layer = &loop->layer[i];
        layer->x = x;
        x = loop_matmul(loop, LL_PHASE_FORWARD, layer->forward_scope, x, layer->weight, false, false,
                        layer->y_desc);
        layer->y = loop_simple(loop, LL_OP_BIAS_ADD, LL_PHASE_FORWARD, layer->forward_scope,
                               LOOP_LIST(x, layer->bias), layer->y_desc);
        x = layer->z = loop_simple(loop, LL_OP_RELU, LL_PHASE_FORWARD, layer->forward_scope,
                                   LOOP_LIST(layer->y), layer->y_desc);
    }
    return x;
}

static inline void loop_backward(struct loop *loop, uint32_t dz)
{
    for (unsigned i = loop->layers; i-- > 0;) {
        struct loop_layer *layer = &loop->layer[i];
        uint32_t scope = layer->backward_scope;
        uint32_t dy = loop_simple(loop, LL_OP_RELU_GRAD, LL_PHASE_BACKWARD, scope, LOOP_LIST(dz, layer->z),
                                  layer->y_desc);
        uint32_t db =
            loop_simple(loop, LL_OP_BIAS_GRAD, LL_PHASE_BACKWARD, scope, LOOP_LIST(dy), layer->db_desc);
        uint32_t dw = loop_matmul(loop, LL_PHASE_BACKWARD, scope, layer->x, dy, true, false, layer->dw_desc);
        if (i > 0)
            dz = loop_matmul(loop, LL_PHASE_BACKWARD, scope, dy, layer->weight, false, true, layer->y_desc);
        loop_update(loop, &layer->weight, &layer->weight_state, dw, layer->weight_desc,
                    loop_desc(loop, "w.m", LL_OPTIMIZER, loop->width, loop->width));
        loop_update(loop, &layer->bias, &layer->bias_state, db, layer->bias_desc,
                    loop_desc(loop, "b.m", LL_OPTIMIZER, 0, loop->width));
    }
}

static inline void loop_step(struct loop *loop)
{
    ll_recorder_step_begin(loop->recorder);
    uint32_t images =
        loop_op(loop, (struct ll_record){.kind = LL_OP_HOST_INPUT,
                                         .phase = LL_PHASE_INPUT,
                                         .scope = loop->input_scope,
                                         .outputs = (const uint32_t[]){loop->images, loop->labels},
                                         .output_count = 2});
    uint32_t logits = loop_forward(loop, images), y_desc = loop->layer[loop->layers - 1].y_desc;
    uint32_t first_op =
        (uint32_t)(loop->ops - 1 - 3 * loop->layers); /* the loss also waits for the input itself */
    uint32_t loss = loop_op(loop, (struct ll_record){.kind = LL_OP_SOFTMAX_XENT,
                                                     .phase = LL_PHASE_FORWARD,
                                                     .scope = loop->input_scope,
                                                     .inputs = (const uint32_t[]){logits, images + 1},
                                                     .input_count = 2,
                                                     .outputs = (const uint32_t[]){loop->loss, y_desc},
                                                     .output_count = 2,
                                                     .controls = &first_op,
                                                     .control_count = 1});
    loop_backward(loop, loss + 1);
    ll_recorder_step_end(loop->recorder);
}

#endif
