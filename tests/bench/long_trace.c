/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a long trace: data-parallel training of a mixture of layers, dry, in as many steps as asked for.
 *
 *     long_trace FILE STEPS DIFFERENT
 *
 * A step has 63 layers of eight ops and an input. Tokens of a layer are drawn anew for each layer of each
 * step out of DIFFERENT numbers, so that no two steps and hardly two neighbouring layers are equal; 0: they
 * are drawn once, and all steps are equal. Ops have at most 7 DIFFERENT + 600 signatures. */
#include "random.h"
#include "tracer/record/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 63, WIDTH = 256, DEVICES = 8, MOST_TOKENS = 4096 };

/* What depends on the number of tokens: an input and the descs. */
struct tokens {
    uint32_t x, x_desc, y_desc, dy_desc;
    bool made;
};

struct layer {
    uint32_t weight, state, scope, tokens;
};

struct scene {
    struct ll_recorder *recorder;
    struct tokens tokens[MOST_TOKENS];
    struct layer layers[LAYERS];
    uint32_t weight_desc, state_desc, gradient_desc, images_desc;
};

static uint32_t desc(const struct scene *scene, const char *name, enum ll_memory_class memory, uint64_t rows)
{
    const struct ll_shape shape = {.dtype = LL_F32, .rank = 2, .dim = {rows, WIDTH}};
    return ll_recorder_desc(scene->recorder, name, &shape, memory);
}

static const struct tokens *tokens_of(struct scene *scene, uint32_t count)
{
    struct tokens *tokens = &scene->tokens[count];
    if (!tokens->made) {
        tokens->x_desc = desc(scene, "x", LL_INPUT, 8 + count);
        tokens->y_desc = desc(scene, "y", LL_ACTIVATION, 8 + count);
        tokens->dy_desc = desc(scene, "dy", LL_GRADIENT, 8 + count);
        tokens->x = ll_recorder_tensor(scene->recorder, tokens->x_desc);
        tokens->made = true;
    }
    return tokens;
}

static uint32_t op(const struct scene *scene, enum ll_op_kind kind, enum ll_phase phase, uint32_t scope,
                   const uint32_t *inputs, uint32_t input_count, const uint32_t *outputs,
                   uint32_t output_count, const struct ll_attr *attrs, uint32_t attr_count)
{
    const struct ll_record record = {.kind = kind,
                                     .phase = phase,
                                     .scope = scope,
                                     .inputs = inputs,
                                     .input_count = input_count,
                                     .outputs = outputs,
                                     .output_count = output_count,
                                     .attrs = attrs,
                                     .attr_count = attr_count};
    return ll_recorder_op(scene->recorder, &record);
}

#define LIST(...) (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)

static void layer(struct scene *scene, struct layer *at, const struct tokens *t)
{
    static const struct ll_attr transposed[] = {{.key = LL_ATTR_TRANSPOSE_A, .count = 1}};
    static const struct ll_attr group[] = {{.key = LL_ATTR_DEVICES, .count = DEVICES}};
    static const struct ll_attr rule[] = {{.key = LL_ATTR_LEARNING_RATE, .real = 0.01},
                                          {.key = LL_ATTR_MOMENTUM, .real = 0.9}};
    const uint32_t y = op(scene, LL_OP_MATMUL, LL_PHASE_FORWARD, at->scope, LIST(t->x, at->weight),
                          LIST(t->y_desc), NULL, 0);
    const uint32_t z = op(scene, LL_OP_RELU, LL_PHASE_FORWARD, at->scope, LIST(y), LIST(t->y_desc), NULL, 0);
    const uint32_t s =
        op(scene, LL_OP_SOFTMAX, LL_PHASE_FORWARD, at->scope, LIST(z), LIST(t->y_desc), NULL, 0);
    const uint32_t a =
        op(scene, LL_OP_ADD, LL_PHASE_FORWARD, at->scope, LIST(s, t->x), LIST(t->y_desc), NULL, 0);
    const uint32_t dy =
        op(scene, LL_OP_RELU_GRAD, LL_PHASE_BACKWARD, at->scope, LIST(a, z), LIST(t->dy_desc), NULL, 0);
    const uint32_t dw = op(scene, LL_OP_MATMUL, LL_PHASE_BACKWARD, at->scope, LIST(t->x, dy),
                           LIST(scene->gradient_desc), transposed, 1);
    const uint32_t sum = op(scene, LL_OP_ALL_REDUCE, LL_PHASE_BACKWARD, at->scope, LIST(dw),
                            LIST(scene->gradient_desc), group, 1);
    at->weight = op(scene, LL_OP_MOMENTUM, LL_PHASE_UPDATE, at->scope, LIST(at->weight, at->state, sum),
                    LIST(scene->weight_desc, scene->state_desc), rule, 2);
    at->state = at->weight + 1;
}

static void step(struct scene *scene, uint64_t *random, uint32_t different)
{
    ll_recorder_step_begin(scene->recorder);
    op(scene, LL_OP_HOST_INPUT, LL_PHASE_INPUT, scene->layers[0].scope, NULL, 0, LIST(scene->images_desc),
       NULL, 0);
    for (uint32_t i = 0; i < LAYERS; i++) {
        struct layer *at = &scene->layers[i];
        layer(scene, at,
              tokens_of(scene, different ? (uint32_t)ll_random_below(random, different) : at->tokens));
    }
    ll_recorder_step_end(scene->recorder);
}

int main(int argc, char **argv)
{
    static struct scene scene;
    static const struct ll_fact facts[] = {{"model", "long"}, {"mode", "train"}, {"batch", "1"}};
    const unsigned long steps = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    const unsigned long different = argc == 4 ? strtoul(argv[3], NULL, 10) : MOST_TOKENS + 1;
    uint64_t random = 1;
    enum ll_status status;
    if (steps == 0 || different > MOST_TOKENS) {
        fprintf(stderr, "usage: long_trace FILE STEPS DIFFERENT (at most %d)\n", MOST_TOKENS);
        return 2;
    }
    scene.recorder = ll_recorder_open(argv[1], facts, sizeof facts / sizeof facts[0], &status);
    scene.weight_desc = desc(&scene, "w", LL_WEIGHT, WIDTH);
    scene.state_desc = desc(&scene, "w.m", LL_OPTIMIZER, WIDTH);
    scene.gradient_desc = desc(&scene, "dw", LL_GRADIENT, WIDTH);
    scene.images_desc = desc(&scene, "images", LL_INPUT, 64);
    for (uint32_t i = 0; i < LAYERS; i++) {
        char scope[32];
        snprintf(scope, sizeof scope, "layer%u", i % 8);
        scene.layers[i] = (struct layer){ll_recorder_tensor(scene.recorder, scene.weight_desc),
                                         ll_recorder_tensor(scene.recorder, scene.state_desc),
                                         ll_recorder_string(scene.recorder, scope), (uint32_t)(i * 7) % 64};
    }
    for (unsigned long i = 0; i < steps; i++)
        step(&scene, &random, (uint32_t)different);
    if (ll_recorder_close(scene.recorder) != LL_OK) {
        fprintf(stderr, "long_trace: cannot write %s\n", argv[1]);
        return 1;
    }
    return 0;
}
