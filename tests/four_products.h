/* SPDX-License-Identifier: Apache-2.0 */
/* A step of four layers, each a product of 64 x 64 with a weight and the two products of its gradients; with
 * momentum an update of each weight behind them. */
#ifndef LL_TESTS_FOUR_PRODUCTS_H
#define LL_TESTS_FOUR_PRODUCTS_H

#include "toy_trace.h"

static inline struct ll_trace *four_products(bool momentum)
{
    static const struct ll_attr ta = {.key = LL_ATTR_TRANSPOSE_A, .count = 1},
                                tb = {.key = LL_ATTR_TRANSPOSE_B, .count = 1};
    static const char *const scopes[] = {"layer0", "layer1", "layer2", "layer3"};
    const struct ll_shape square = toy_matrix(64, 64);
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    uint32_t w[4], v[4], dw[4], x[5];
    toy_open(toy, path);
    for (int i = 0; i < 4; i++) {
        w[i] = toy_bring(toy, square, LL_WEIGHT);
        v[i] = momentum ? toy_bring(toy, square, LL_OPTIMIZER) : 0;
    }
    x[0] = toy_bring(toy, square, LL_INPUT);
    ll_recorder_step_begin(toy->recorder);
    for (int i = 0; i < 4; i++) {
        toy->scope = ll_recorder_string(toy->recorder, scopes[i]);
        x[i + 1] = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x[i], w[i]}, 2, NULL, 0,
                          LL_ACTIVATION, NULL);
    }
    for (int i = 4; i-- > 0;) {
        toy->scope = ll_recorder_string(toy->recorder, scopes[i]);
        dw[i] = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){x[i], x[4]}, 2, &ta, 1, LL_GRADIENT,
                       NULL);
        x[4] = toy_op(toy, LL_OP_MATMUL, LL_PHASE_BACKWARD, (uint32_t[]){x[4], w[i]}, 2, &tb, 1, LL_GRADIENT,
                      NULL);
    }
    for (int i = 0; momentum && i < 4; i++) {
        toy->scope = ll_recorder_string(toy->recorder, scopes[i]);
        toy_op(toy, LL_OP_MOMENTUM, LL_PHASE_UPDATE, (uint32_t[]){w[i], v[i], dw[i]}, 3, NULL, 0, LL_WEIGHT,
               NULL);
    }
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

#endif
