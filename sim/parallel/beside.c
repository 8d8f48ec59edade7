/* SPDX-License-Identifier: Apache-2.0 */
/* Two clocks go along the layers: when the device, and when the network, is done with what it was given. A
 * layer starts with its weights there, and asks for those of the next as soon as the one before it is done.
 * The first of a piece has nobody who asks early. */
#include "sim/parallel/beside.h"

#include <math.h>

struct pass {
    const struct ll_beside *beside;
    uint64_t stage;
    double device_s, network_s; /* done at */
    double weights_s;           /* those of the next layer are there at */
    double bucket_bytes;        /* gradients that wait */
    bool failed;                /* memory ran out */
};

/* Of so many replicas, as far apart. */
static bool among_s(struct ll_exchanges *exchanges, enum ll_op_kind kind, double bytes, uint64_t replicas,
                    uint64_t apart, double *time_s)
{
    struct ll_asked asked = {.kind = kind, .bytes = (uint64_t)bytes, .devices = replicas, .stride = apart};
    const struct ll_price *price = replicas > 1 ? ll_exchanges_price(exchanges, &asked) : NULL;
    *time_s = price && !price->trouble ? price->exchanged.time_s : 0;
    return price || replicas <= 1;
}

bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s)
{
    uint64_t sharing = ll_replicas_sharing(plan), alike = ll_replicas(plan) / sharing;
    double alike_s = 0;
    bool adds_alike = kind == LL_OP_REDUCE_SCATTER && alike > 1;
    if (kind == LL_OP_ALL_REDUCE)
        return among_s(exchanges, kind, bytes, ll_replicas(plan), plan->tensor, time_s);
    bool priced = among_s(exchanges, kind, bytes, sharing, plan->tensor, time_s) &&
                  (!adds_alike || among_s(exchanges, LL_OP_ALL_REDUCE, bytes / (double)sharing, alike,
                                          plan->tensor * sharing, &alike_s));
    *time_s += alike_s;
    return priced;
}

/* The network takes up an exchange once `since` is over. */
static void exchange(struct pass *pass, enum ll_op_kind kind, double bytes, double since)
{
    double time_s = 0;
    if (bytes > 0 && !ll_among_replicas_s(pass->beside->exchanges, pass->beside->plan, kind, bytes, &time_s))
        pass->failed = true;
    if (bytes > 0)
        pass->network_s = fmax(pass->network_s, since) + time_s;
}

static void gather(struct pass *pass, double bytes, double since)
{
    if (pass->beside->gathers)
        exchange(pass, LL_OP_ALL_GATHER, bytes, since);
    pass->weights_s = pass->beside->gathers && bytes > 0 ? pass->network_s : 0;
}

/* Gradients go when there is a bucket of them. */
static void sum(struct pass *pass, double gradient_bytes, bool rest)
{
    const struct ll_parallel *plan = pass->beside->plan;
    pass->bucket_bytes += gradient_bytes;
    if (!pass->beside->sums || (!rest && pass->bucket_bytes < (double)plan->bucket_bytes))
        return;
    exchange(pass, plan->zero > 0 ? LL_OP_REDUCE_SCATTER : LL_OP_ALL_REDUCE, pass->bucket_bytes,
             pass->device_s);
    pass->bucket_bytes = 0;
}

/* A layer, whose weights have been asked for where it is not the first of its piece; `next` comes after it
 * there, NULL: none does. */
static void forward(struct pass *pass, const struct ll_layer_cost *layer, const struct ll_layer_cost *next,
                    bool first)
{
    double before_s = pass->device_s;
    if (first)
        gather(pass, layer->forward_read_bytes, before_s);
    double start_s = fmax(before_s, pass->weights_s);
    gather(pass, next ? next->forward_read_bytes : 0, before_s);
    pass->device_s = start_s + layer->forward_s;
}

static void backward(struct pass *pass, const struct ll_layer_cost *layer, const struct ll_layer_cost *next,
                     bool first)
{
    bool again = pass->beside->plan->recompute == LL_RECOMPUTE_FULL;
    double before_s = pass->device_s;
    if (first)
        gather(pass, layer->backward_read_bytes, before_s);
    double start_s = fmax(before_s, pass->weights_s);
    gather(pass, next ? next->backward_read_bytes : 0, before_s);
    pass->device_s = start_s + layer->backward_s + (again ? layer->again_s : 0);
    sum(pass, layer->state.gradient, false);
}

static bool is_of(const struct pass *pass, uint32_t layer)
{
    return pass->beside->part_of[layer] % pass->beside->plan->pipeline == pass->stage;
}

/* The layer, when it is of the same piece as the one beside it. */
static const struct ll_layer_cost *same_piece(const struct pass *pass, uint32_t layer, uint32_t beside)
{
    const struct ll_beside *b = pass->beside;
    return layer < b->costs->count && b->part_of[layer] == b->part_of[beside] ? &b->costs->at[layer] : NULL;
}

bool ll_beside_s(const struct ll_beside *beside, uint64_t stage, double *time_s)
{
    struct pass pass = {.beside = beside, .stage = stage};
    for (uint32_t i = 0; i < beside->costs->count; i++)
        if (is_of(&pass, i))
            forward(&pass, &beside->costs->at[i], same_piece(&pass, i + 1, i), !same_piece(&pass, i - 1, i));
    for (uint32_t i = beside->costs->count; i-- > 0;)
        if (is_of(&pass, i))
            backward(&pass, &beside->costs->at[i], same_piece(&pass, i - 1, i), !same_piece(&pass, i + 1, i));
    sum(&pass, 0, true);
    *time_s = fmax(pass.device_s, pass.network_s);
    return !pass.failed;
}
