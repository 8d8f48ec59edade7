/* SPDX-License-Identifier: Apache-2.0 */
/* What devices exchange all together: the sum over devices of as many bytes as each of them holds, which all
 * get, or another such op. One process cannot do it: it is recorded as one device sees it. */
#include "models/single/single.h"

enum { BYTES, DEVICES, NODES, KIND, DTYPE, PARAMS };

/* The words of `kind`: the ops they stand for, and whether a device has only its part of the bytes before and
 * after. */
#define LL_EXCHANGE_LIST(X)                                                                                  \
    X(ALL_REDUCE, "all_reduce", false, false)                                                                \
    X(REDUCE_SCATTER, "reduce_scatter", false, true)                                                         \
    X(ALL_GATHER, "all_gather", true, false)                                                                 \
    X(ALL_TO_ALL, "all_to_all", false, false)                                                                \
    X(BROADCAST, "broadcast", false, false)                                                                  \
    X(REDUCE, "reduce", false, false)

#define X(kind, name, part_before, part_after) name,
static const char *const names[] = {LL_EXCHANGE_LIST(X) NULL};
#undef X
static const struct {
    enum ll_op_kind kind;
    bool part_before, part_after;
} ops[] = {
#define X(kind, name, part_before, part_after) {LL_OP_##kind, part_before, part_after},
    LL_EXCHANGE_LIST(X)
#undef X
};
enum { OPS = sizeof ops / sizeof *ops };

static const struct ll_model_param params[PARAMS] = {
    [BYTES] = {"bytes", 1 << 28, 8, INT64_C(1) << 40,
               "on each device, where it has most of them, rounded down to whole elements"},
    [DEVICES] = {"devices", 8, 1, 1 << 20, "that take part"},
    [NODES] = {"nodes", 1, 1, 1 << 20, "that the devices are spread over, at most as many"},
    [KIND] = {"kind", 0, 0, OPS - 1, "what is exchanged"},
    [DTYPE] = LL_SINGLE_DTYPE,
};

static const char *const *const words[PARAMS] = {[KIND] = names, [DTYPE] = ll_single_dtypes};

/* A device's part of them, at least one. */
static uint64_t part_of(uint64_t elements, uint64_t devices)
{
    return elements < devices ? 1 : elements / devices;
}

static struct ll_value *build(struct ll_nn *nn, const struct ll_build *build)
{
    if (build->params[NODES] > build->params[DEVICES])
        ll_nn_fail(nn,
                   "more nodes than devices are spread over; expected -p nodes=N of at most -p devices=N");
    struct ll_single single = ll_single_begin(nn, build, build->params[DTYPE]);
    uint64_t all = ll_dtype_count(nn->real, (uint64_t)build->params[BYTES]);
    uint64_t part = part_of(all, (uint64_t)build->params[DEVICES]);
    int64_t kind = build->params[KIND];
    uint64_t before = ops[kind].part_before ? part : all, after = ops[kind].part_after ? part : all;
    struct ll_shape result = ll_nn_shape(nn, 1, &after, NULL);
    struct ll_attr attrs[] = {ll_attr_of_count(LL_ATTR_DEVICES, build->params[DEVICES]),
                              ll_attr_of_count(LL_ATTR_NODES, build->params[NODES])};
    struct ll_value *x = ll_single_operand(&single, "x", LL_INPUT, 1, &before, NULL);
    nn->phase = LL_PHASE_COMM;
    struct ll_nn_call call = {.kind = ops[kind].kind,
                              .input_count = 1,
                              .inputs = &x,
                              .attr_count = 2,
                              .attrs = attrs,
                              .given_count = 1,
                              .given = &result};
    return ll_single_end(&single, ll_nn_do(nn, &call));
}

const struct ll_model ll_model_allreduce = {
    .name = "allreduce",
    .suite = "micro",
    .doc = "one collective, an all-reduce or another; recorded with --dry-run alone",
    .params = params,
    .param_count = PARAMS,
    .words = words,
    .infers = true,
    .build = build,
};
