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
    double taken;               /* the largest share of the units that an exchange has kept busy */
    bool failed;                /* memory ran out */
};

/* Of so many replicas, as far apart; *levels: those of the network that it uses. */
static bool among_s(struct ll_exchanges *exchanges, enum ll_op_kind kind, double bytes, uint64_t replicas,
                    uint64_t apart, double *time_s, uint32_t *levels)
{
    struct ll_asked asked = {.kind = kind, .bytes = (uint64_t)bytes, .devices = replicas, .stride = apart};
    const struct ll_price *price = replicas > 1 ? ll_exchanges_price(exchanges, &asked) : NULL;
    *time_s = price && !price->trouble ? price->exchanged.time_s : 0;
    *levels |= price ? price->levels : 0;
    return price || replicas <= 1;
}

static bool among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan,
                             enum ll_op_kind kind, double bytes, double *time_s, uint32_t *levels)
{
    uint64_t sharing = ll_replicas_sharing(plan), alike = ll_replicas(plan) / sharing;
    double alike_s = 0;
    bool adds_alike = kind == LL_OP_REDUCE_SCATTER && alike > 1;
    if (kind == LL_OP_ALL_REDUCE)
        return among_s(exchanges, kind, bytes, ll_replicas(plan), plan->tensor, time_s, levels);
    bool priced = among_s(exchanges, kind, bytes, sharing, plan->tensor, time_s, levels) &&
                  (!adds_alike || among_s(exchanges, LL_OP_ALL_REDUCE, bytes / (double)sharing, alike,
                                          plan->tensor * sharing, &alike_s, levels));
    *time_s += alike_s;
    return priced;
}

bool ll_among_replicas_s(struct ll_exchanges *exchanges, const struct ll_parallel *plan, enum ll_op_kind kind,
                         double bytes, double *time_s)
{
    uint32_t levels = 0;
    return among_replicas_s(exchanges, plan, kind, bytes, time_s, &levels);
}

/* The network takes up an exchange once `since` is over. */
static void exchange(struct pass *pass, enum ll_op_kind kind, double bytes, double since)
{
    const struct ll_beside *beside = pass->beside;
    double time_s = 0;
    uint32_t levels = 0;
    if (bytes <= 0)
        return;
    if (!among_replicas_s(beside->exchanges, beside->plan, kind, bytes, &time_s, &levels))
        pass->failed = true;
    pass->network_s = fmax(pass->network_s, since) + time_s;
    for (unsigned l = 0; levels >> l; l++)
        if (levels >> l & 1)
            pass->taken = fmax(pass->taken, beside->machine->networks[l].units_taken);
}

/* What is computed from start_s on, of which units hold back units_s, ends later beside exchanges: as
 * sim/replay/op_time.c has it of an op. */
static double end_s(const struct pass *pass, double start_s, double alone_s, double units_s)
{
    double longer_s = alone_s + units_s * pass->taken / (1 - pass->taken);
    double beside_s = fmin(fmax(0, pass->network_s - start_s), longer_s);
    return start_s + alone_s + (longer_s > alone_s ? beside_s * (1 - alone_s / longer_s) : 0);
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
    pass->device_s = end_s(pass, start_s, layer->forward_s, layer->forward_units_s);
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
    double again_s = again ? layer->again_s : 0, units_s = layer->backward_units_s;
    if (again_s > 0) /* what comes twice is held back as all of the layer is going forward */
        units_s += layer->forward_units_s * (again_s / layer->forward_s);
    pass->device_s = end_s(pass, start_s, layer->backward_s + again_s, units_s);
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
