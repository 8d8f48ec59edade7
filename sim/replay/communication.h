/* SPDX-License-Identifier: Apache-2.0 */
/* What exchanges between devices take, asked by the op: all groups of the machine's network do the same at
 * once, and what has been asked is remembered, for a trace repeats itself.
 *
 * A group is so many devices, so far apart (sim/parallel/plan.h says how devices are numbered). Whoever sends
 * does so together with all devices that have a peer so far away.
 *
 * Exchanges are made for one machine. Prices go along from machine to machine: what differs elsewhere than in
 * the network, and in how the software sends, changes none of them. Both serve one thread at a time.
 * Deterministic. */
#ifndef LL_SIM_REPLAY_COMMUNICATION_H
#define LL_SIM_REPLAY_COMMUNICATION_H

#include "sim/cost/cost.h"
#include "sim/cost/memo.h"
#include "sim/network/network.h"
#include "tracer/base/map.h"
#include "tracer/ir/ops.h"

/* An exchange as an op asks for it. Plain data, compared as bytes. */
struct ll_asked {
    uint64_t kind;  /* enum ll_op_kind, of class communication */
    uint64_t bytes; /* M of sim/machine/collectives.def: what the op reads or makes, the larger of both */
    uint64_t part;  /* 1: these are of one device's part, all is as often as many as there are devices */
    uint64_t devices, stride; /* of a group; 0 devices: all, a stride apart */
    uint64_t copies;          /* of an all-to-all: each row goes to so many devices; 0: not known */
    int64_t peer;             /* of sends and receives alone: the other device's number less the own one */
    uint64_t piece;           /* 0, or that of the attribute piece (tracer/ir/ops.h) */
    uint64_t first, span;     /* only the devices first ... first + span - 1 take part; 0: all do */
};

struct ll_price {
    struct ll_exchanged exchanged;
    uint64_t devices, groups; /* of so many devices each */
    uint32_t levels;          /* bit i: devices differ in their place in level i, so its links are used */
    uint32_t outermost;       /* the last of these; 0 without any */
    uint64_t first, span;     /* of the devices that take part, as asked */
    bool copied;              /* by copy engines, so that no units are busy with it */
    double slowed; /* in a replay: over slow links its messages take so many times as long; 0: over none */
    const char *trouble; /* NULL, or why there is no such exchange on this network; static */
};

/* What has been asked, by all that a price depends on. Starts as {0}. */
struct ll_prices {
    struct ll_map networks, keys;
    struct ll_price *prices; /* by key */
    uint64_t capacity;
};
void ll_prices_release(struct ll_prices *prices);

struct ll_exchanges;

/* For a machine that outlives it, of which the first `devices` take part; 0: all. It takes what it can from
 * prices, which outlive it too, and leaves there what is new. NULL when memory ran out; a machine without
 * network is a trouble of each exchange that is asked for. */
struct ll_exchanges *ll_exchanges_new(const struct ll_machine *machine, uint64_t devices,
                                      struct ll_prices *prices);
void ll_exchanges_free(struct ll_exchanges *exchanges);

/* From now on collectives of groups that reach farther than so many devices take no less than they would
 * take on any of these other machines' networks (`count`, which outlive it), to which some members are
 * attached. To be called before any price is asked. False when memory ran out. */
bool ll_exchanges_join(struct ll_exchanges *exchanges, struct ll_exchanges *const *others, uint64_t count,
                       uint64_t reach);

/* The exchange that an op of class communication asks for. Pure. */
struct ll_asked ll_asked_by(const struct ll_op_view *op);

/* The same of messages between two devices and others beside them, asked of the first devices that have such:
 * where groups of the outermost level are all alike they take as long as those that were asked for. Pure. */
struct ll_asked ll_asked_of_first(const struct ll_exchanges *exchanges, struct ll_asked asked);

/* What it takes. NULL when memory ran out. Good until the next question, of whoever has the same prices. */
const struct ll_price *ll_exchanges_price(struct ll_exchanges *exchanges, const struct ll_asked *asked);

/* Makes messages take `slowed` times as long, at least 1; what starting an exchange costs stays. */
static inline void ll_price_over_slow_links(struct ll_price *price, double slowed)
{
    price->exchanged.time_s += (slowed - 1) * (price->exchanged.time_s - price->exchanged.overhead_s);
    price->slowed = slowed;
}

/* Says why an exchange with this price goes the way it does, and how messages, links and latencies make up
 * its time without what starting it costs: sim/network's ll_exchange_explain. */
void ll_exchanges_tell(struct ll_exchanges *exchanges, const struct ll_asked *asked,
                       const struct ll_price *price, struct ll_explain *why);

/* What simulations of machines that differ little need not work out again: costs of ops and prices of
 * exchanges. Both are kept by what they depend on, so that no result depends on what is remembered.
 *
 * Starts as {0}; whoever simulates more than once owns it. One thread at a time. */

struct ll_remembered {
    struct ll_memo costs;
    struct ll_prices prices;
};

/* Frees both, which can then be used again. */
static inline void ll_remembered_release(struct ll_remembered *remembered)
{
    ll_memo_release(&remembered->costs);
    ll_prices_release(&remembered->prices);
}

#endif
