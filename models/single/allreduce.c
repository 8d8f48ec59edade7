/* SPDX-License-Identifier: Apache-2.0 */
/* The sum over devices of as many bytes as each of them holds, which all get. One process cannot do it: it is
 * recorded as one device sees it. */
#include "models/single/single.h"

enum { BYTES, DEVICES, NODES, DTYPE, PARAMS };

static const struct ll_model_param params[PARAMS] = {
    [BYTES] = {"bytes", 1 << 28, 8, INT64_C(1) << 40, "on each device, rounded down to whole elements"},
    [DEVICES] = {"devices", 8, 1, 1 << 20, "that add up"},
    [NODES] = {"nodes", 1, 1, 1 << 20, "that the devices are spread over"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[DTYPE] = ll_single_dtypes};

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    uint64_t elements = (uint64_t)build->params[BYTES] / ll_dtype_bytes(nn->real);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_DEVICES, build->params[DEVICES]),
                              ll_attr_of_count(LL_ATTR_NODES, build->params[NODES])};
    struct ll_value *x = ll_single_operand(&single, "x", LL_INPUT, 1, &elements, NULL);
    nn->phase = LL_PHASE_COMM;
    struct ll_nn_call call = {
        .kind = LL_OP_ALL_REDUCE, .input_count = 1, .inputs = &x, .attr_count = 2, .attrs = attrs};
    return ll_single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_allreduce = {
    .name = "allreduce",
    .suite = "micro",
    .doc = "a sum over devices that all get; recorded with --dry-run alone",
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .infers = true,
    .build = build,
};
