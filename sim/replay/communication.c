/* SPDX-License-Identifier: Apache-2.0 */
/* The price of each exchange of a trace, asked of sim/network once and remembered from machine to machine. */
#include "sim/replay/communication.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/num.h"
#include "tracer/base/str.h"

/* Who takes part in an exchange; compared as bytes. */
struct who {
    uint64_t kind; /* enum ll_op_kind where devices stand in pairs, LL_OP_NONE for groups of any */
    uint64_t size, stride, first, span;
    int64_t peer;
};

/* The devices of which that is. */
struct listed {
    struct who who;
    uint64_t *members, groups;  /* NULL: nothing is listed */
    uint32_t levels, outermost; /* as in struct ll_price */
};

enum { LISTS = 4 }; /* that are kept: programs ask for few */

struct ll_exchanges {
    const struct ll_machine *machine;
    struct ll_net *net; /* made when the first exchange is asked for */
    struct ll_solver *solver;
    const char *trouble; /* why there is none */
    uint64_t devices;
    uint32_t network; /* among those of the prices */
    struct ll_prices *prices;
    struct listed lists[LISTS];
    uint64_t listed;                    /* how many lists were made; the oldest makes room */
    struct ll_exchanges *const *joined; /* machines on whose networks members of large groups are */
    uint64_t joined_count, reach;       /* of groups that are not large */
};

/* --- what has been asked --- */

/* Compared as bytes: no padding. */
struct key {
    uint64_t network, devices;
    struct ll_asked asked;
};

void ll_prices_release(struct ll_prices *prices)
{
    ll_map_release(&prices->networks);
    ll_map_release(&prices->keys);
    free(prices->prices);
    *prices = (struct ll_prices){0};
}

/* All of a machine that a price depends on, as bytes. Levels are taken as they lie in memory (what pads them
 * was zero from the start), but for the addresses in them. */
static void describe_network(const struct ll_machine *machine, struct ll_str *text)
{
    const struct ll_software *software = &machine->software;
    ll_str_addf(text, "%d %d %a %a %a", (int)software->collectives, (int)software->tuner,
                software->collective_overhead_s, software->message_overhead_s,
                software->collective_dispatch_s);
    for (uint64_t k = 0; k < software->collective_kernel_count; k++) {
        struct ll_collective_kernel kernel;
        memcpy(&kernel, &software->collective_kernels[k], sizeof kernel);
        kernel.name = NULL;
        ll_str_add_bytes(text, (const char *)&kernel, sizeof kernel);
    }
    for (uint64_t l = 0; l < machine->network_count; l++) {
        struct ll_network level;
        memcpy(&level, &machine->networks[l], sizeof level);
        for (uint64_t e = 0; e < level.edge_count; e++)
            ll_str_addf(text, " %s", level.edges[e]);
        level.name = NULL;
        level.edges = NULL;
        ll_str_add_bytes(text, (const char *)&level, sizeof level);
    }
}

/* The number of a machine's network; LL_NO_ID when memory ran out. */
static uint32_t network_of(const struct ll_machine *machine, struct ll_prices *prices)
{
    struct ll_str text = {0};
    describe_network(machine, &text);
    uint32_t id = text.failed ? LL_NO_ID : ll_map_intern(&prices->networks, text.text, text.length, NULL);
    ll_str_release(&text);
    return id;
}

struct ll_exchanges *ll_exchanges_new(const struct ll_machine *machine, uint64_t devices,
                                      struct ll_prices *prices)
{
    struct ll_exchanges *exchanges = calloc(1, sizeof *exchanges);
    uint32_t network = network_of(machine, prices);
    uint64_t all = ll_machine_devices(machine);
    if (!exchanges || network == LL_NO_ID) {
        free(exchanges);
        return NULL;
    }
    *exchanges = (struct ll_exchanges){.machine = machine,
                                       .devices = devices ? ll_min(devices, all) : all,
                                       .network = network,
                                       .prices = prices};
    return exchanges;
}

void ll_exchanges_free(struct ll_exchanges *exchanges)
{
    if (!exchanges)
        return;
    for (uint64_t i = 0; i < LISTS; i++)
        free(exchanges->lists[i].members);
    ll_solver_free(exchanges->solver);
    ll_net_free(exchanges->net);
    free(exchanges);
}

bool ll_exchanges_join(struct ll_exchanges *x, struct ll_exchanges *const *others, uint64_t count,
                       uint64_t reach)
{
    struct ll_str text = {0};
    ll_str_addf(&text, "%" PRIu64 " %" PRIu64, (uint64_t)x->network, reach);
    for (uint64_t i = 0; i < count; i++)
        ll_str_addf(&text, " %" PRIu64, (uint64_t)others[i]->network);
    const uint32_t id =
        text.failed ? LL_NO_ID : ll_map_intern(&x->prices->networks, text.text, text.length, NULL);
    ll_str_release(&text);
    x->network = id;
    x->joined = others;
    x->joined_count = count;
    x->reach = reach;
    return id != LL_NO_ID;
}

static bool is_between_two(uint64_t kind)
{
    return kind == LL_OP_SEND || kind == LL_OP_RECEIVE;
}

struct ll_asked ll_asked_by(const struct ll_op_view *op)
{
    assert(ll_op_class(op->kind) == LL_CLASS_COMMUNICATION);
    uint64_t read = ll_op_bytes_read(op), written = ll_op_bytes_written(op);
    int64_t devices = ll_attr_count(op, LL_ATTR_DEVICES, 0), stride = ll_attr_count(op, LL_ATTR_STRIDE, 1);
    int64_t copies = ll_attr_count(op, LL_ATTR_COPIES, 0);
    bool two = is_between_two(op->kind);
    return (struct ll_asked){.kind = op->kind,
                             .bytes = ll_max(read, written),
                             .part = op->kind == LL_OP_ALL_GATHER && written <= read,
                             .devices = two           ? 2
                                        : devices > 0 ? (uint64_t)devices
                                                      : 0,
                             .stride = two || stride < 1 ? 1 : (uint64_t)stride,
                             .copies = copies > 0 ? (uint64_t)copies : 0,
                             .peer = two ? ll_attr_count(op, LL_ATTR_PEER, 1) : 0,
                             .piece = (uint64_t)ll_attr_count(op, LL_ATTR_PIECE, 0)};
}

/* Moved by whole groups that a switch joins, or each with each, which keeps who shares a link with whom. */
struct ll_asked ll_asked_of_first(const struct ll_exchanges *x, struct ll_asked asked)
{
    const struct ll_machine *machine = x->machine;
    uint64_t group = 1, other = asked.first + (uint64_t)asked.peer, low = ll_min(asked.first, other),
             high = ll_max(asked.first, other);
    if (machine->network_count == 0 || asked.span == 0 || other >= x->devices ||
        ll_add(high, asked.span) > x->devices)
        return asked;
    const enum ll_topology topology = machine->networks[machine->network_count - 1].topology;
    for (uint64_t level = 0; level + 1 < machine->network_count; level++)
        group = ll_mul(group, machine->networks[level].devices);
    if (topology == LL_TOPOLOGY_SWITCH || topology == LL_TOPOLOGY_FULL)
        asked.first -= low / group * group;
    return asked;
}

/* By op kind: the ops of class communication have the collectives' words, but that two halves of one are ops
 * each. */
static const enum ll_collective collectives[LL_OP_NONE] = {
    [LL_OP_ALL_REDUCE] = LL_COLLECTIVE_ALL_REDUCE, [LL_OP_REDUCE_SCATTER] = LL_COLLECTIVE_REDUCE_SCATTER,
    [LL_OP_ALL_GATHER] = LL_COLLECTIVE_ALL_GATHER, [LL_OP_ALL_TO_ALL] = LL_COLLECTIVE_ALL_TO_ALL,
    [LL_OP_BROADCAST] = LL_COLLECTIVE_BROADCAST,   [LL_OP_REDUCE] = LL_COLLECTIVE_REDUCE,
    [LL_OP_COLLECT] = LL_COLLECTIVE_COLLECT,       [LL_OP_DISTRIBUTE] = LL_COLLECTIVE_DISTRIBUTE,
    [LL_OP_BARRIER] = LL_COLLECTIVE_BARRIER,       [LL_OP_SEND] = LL_COLLECTIVE_SEND_RECEIVE,
    [LL_OP_RECEIVE] = LL_COLLECTIVE_SEND_RECEIVE,  [LL_OP_SHIFT] = LL_COLLECTIVE_SEND_RECEIVE,
};

/* --- who takes part --- */

/* Marks the levels in which two devices have different places. */
static void mark_levels(const struct ll_net *net, uint64_t a, uint64_t b, struct ll_price *price)
{
    for (uint64_t level = 0; level < ll_net_levels(net); level++) {
        uint64_t inner = ll_net_group(net, level), sides = ll_net_group(net, level + 1) / inner;
        if (a / inner % sides != b / inner % sides)
            price->levels |= 1u << level;
    }
    while (price->levels >> price->outermost > 1)
        price->outermost++;
}

/* Groups beyond a block of the outermost level that they reach do what those in the block do. */
static uint64_t distinct_span(const struct ll_net *net, const struct ll_asked *asked, uint64_t devices,
                              uint64_t level)
{
    uint64_t block = ll_net_group(net, level + 1), pattern = devices * asked->stride;
    return block % pattern == 0 ? block : UINT64_MAX;
}

/* Devices b + s, b + s + stride, ... for each place s below the stride of each run b of devices * stride. */
static uint64_t list_groups(const struct ll_exchanges *x, const struct ll_asked *asked, uint64_t devices,
                            uint64_t *members, struct ll_price *price)
{
    uint64_t pattern = devices * asked->stride, end = asked->span ? asked->first + asked->span : x->devices;
    uint64_t reach = pattern - asked->stride; /* from the first to the last of a group */
    for (uint64_t i = 1; i < devices; i++)
        mark_levels(x->net, asked->first, asked->first + i * asked->stride, price);
    uint64_t span = distinct_span(x->net, asked, devices, price->outermost), count = 0;
    end = asked->first + ll_min(end - asked->first, span);
    for (uint64_t base = asked->first; base + reach < end; base += pattern)
        for (uint64_t s = 0; s < asked->stride && base + s + reach < end; s++, count++)
            for (uint64_t i = 0; i < devices; i++)
                members[count * devices + i] = base + s + i * asked->stride;
    for (uint64_t i = 0; i < count * devices; i++)
        mark_levels(x->net, members[i - i % devices], members[i], price);
    return count;
}

static uint64_t list_pairs(const struct ll_exchanges *x, const struct ll_asked *asked, uint64_t *members,
                           struct ll_price *price)
{
    uint64_t end = asked->span ? asked->first + asked->span : x->devices, count = 0;
    bool receives = asked->kind == LL_OP_RECEIVE;
    for (uint64_t device = asked->first; device < end; device++) {
        uint64_t other = device + (uint64_t)asked->peer; /* wraps below zero, then it is too large */
        if (other >= x->devices)
            continue;
        mark_levels(x->net, device, other, price);
        members[2 * count + receives] = device;
        members[2 * count + !receives] = other;
        count++;
    }
    return count;
}

/* Each device of a group and the next one, the last and the first. */
static uint64_t list_rings(const struct ll_exchanges *x, const struct ll_asked *asked, uint64_t devices,
                           uint64_t *members, struct ll_price *price)
{
    const uint64_t groups = list_groups(x, asked, devices, members, price), count = groups * devices;
    for (uint64_t i = count; i-- > 0;) { /* from the last to the first: pairs take twice the room */
        const uint64_t next = (i + 1) % devices == 0 ? i + 1 - devices : i + 1;
        members[2 * i + 1] = members[next];
        members[2 * i] = members[i];
    }
    return count;
}

/* Devices of a group; 0 when there are not enough of them. The other of two may be any device. */
static uint64_t group_size(const struct ll_exchanges *x, const struct ll_asked *asked)
{
    bool two = is_between_two(asked->kind);
    uint64_t within = asked->span ? asked->span : x->devices, among = two ? x->devices : within;
    uint64_t devices = asked->devices ? asked->devices : within / asked->stride;
    bool fits = devices > 0 && asked->first + within <= x->devices && devices <= among &&
                (devices == 1 || asked->stride <= (among - 1) / (devices - 1));
    return fits ? devices : 0;
}

/* --- what it takes --- */

static bool open_net(struct ll_exchanges *x)
{
    if (x->solver || x->trouble)
        return x->solver != NULL;
    x->net = ll_net_new(x->machine, &x->trouble);
    x->solver = x->net ? ll_solver_new(x->net) : NULL;
    if (x->net && !x->solver)
        x->trouble = "memory ran out";
    return x->solver != NULL;
}

/* The list of who is asked for, perhaps made before; NULL when memory ran out. */
static const struct listed *list_members(struct ll_exchanges *x, const struct ll_asked *asked, uint64_t size)
{
    const bool two = is_between_two(asked->kind), ring = asked->kind == LL_OP_SHIFT;
    const struct who who = {
        two || ring ? asked->kind : LL_OP_NONE, size, asked->stride, asked->first, asked->span, asked->peer};
    for (uint64_t i = 0; i < LISTS; i++)
        if (x->lists[i].members && memcmp(&x->lists[i].who, &who, sizeof who) == 0)
            return &x->lists[i];
    struct listed *list = &x->lists[x->listed++ % LISTS];
    struct ll_price price = {0};
    free(list->members);
    *list = (struct listed){.who = who, .members = malloc((2 * x->devices + 1) * sizeof *list->members)};
    if (!list->members)
        return NULL;
    list->groups = size == 0 ? 0
                   : two     ? list_pairs(x, asked, list->members, &price)
                   : ring    ? list_rings(x, asked, size, list->members, &price)
                             : list_groups(x, asked, size, list->members, &price);
    list->levels = price.levels;
    list->outermost = price.outermost;
    return list;
}

/* What the devices do together; without members when memory ran out. */
static struct ll_exchange exchange_of(struct ll_exchanges *x, const struct ll_asked *asked,
                                      struct ll_price *price)
{
    uint64_t size = group_size(x, asked);
    const struct listed *list = list_members(x, asked, size);
    if (!list)
        return (struct ll_exchange){0};
    price->devices = size;
    price->groups = list->groups;
    price->levels = list->levels;
    price->outermost = list->outermost;
    return (struct ll_exchange){.collective = collectives[asked->kind],
                                .bytes = (double)asked->bytes * (asked->part ? (double)size : 1),
                                .copies = asked->copies,
                                .members = list->members,
                                .size = asked->kind == LL_OP_SHIFT ? 2 : size,
                                .groups = list->groups};
}

/* False when memory ran out. */
static bool exchange(struct ll_exchanges *x, const struct ll_asked *asked, struct ll_price *price)
{
    struct ll_exchange what = exchange_of(x, asked, price);
    enum ll_exchange_trouble trouble = what.members ? LL_EXCHANGE_DONE : LL_EXCHANGE_NO_MEMORY;
    if (what.members && what.groups == 0)
        price->trouble = "the network does not join so many devices";
    else if (what.members)
        trouble = ll_exchange_by_software(x->solver, &what, &price->exchanged);
    const bool known = asked->piece == LL_PIECE_COPIED || asked->piece == LL_PIECE_SENT;
    if (known && !price->trouble && trouble == LL_EXCHANGE_DONE) {
        price->exchanged.time_s -= price->exchanged.overhead_s;
        price->exchanged.overhead_s = 0;
    }
    if (trouble == LL_EXCHANGE_NO_WAY)
        price->trouble = "there is no way to do this among so many devices";
    return trouble != LL_EXCHANGE_NO_MEMORY;
}

static void say_lines(char *text, struct ll_explain *why)
{
    for (char *end; text && (end = strchr(text, '\n')); text = end + 1)
        ll_say(why, "%.*s", (int)(end - text), text);
}

void ll_exchanges_tell(struct ll_exchanges *x, const struct ll_asked *asked, const struct ll_price *price,
                       struct ll_explain *why)
{
    struct ll_str lines = {0};
    struct ll_price again = {0};
    if (price->devices < 2 || price->groups == 0 || price->trouble || !open_net(x))
        return;
    struct ll_exchange what = exchange_of(x, asked, &again);
    why->failed |= !what.members ||
                   ll_exchange_explain(x->solver, &what, &price->exchanged, &lines) == LL_EXCHANGE_NO_MEMORY;
    say_lines(lines.text, why);
    ll_str_release(&lines);
}

/* Where members are on several machines' networks, the slowest of these is waited for. */
static bool wait_for_joined(struct ll_exchanges *x, const struct ll_asked *asked, struct ll_price *price)
{
    const bool large = !is_between_two(asked->kind) && ll_mul(asked->devices, asked->stride) > x->reach;
    for (uint64_t i = 0; large && !price->trouble && i < x->joined_count; i++) {
        const struct ll_price *other = ll_exchanges_price(x->joined[i], asked);
        if (!other)
            return false;
        price->trouble = other->trouble;
        if (other->exchanged.time_s > price->exchanged.time_s) {
            price->exchanged.time_s = other->exchanged.time_s;
            price->exchanged.overhead_s = other->exchanged.overhead_s;
        }
    }
    return true;
}

static bool find_price(struct ll_exchanges *x, const struct ll_asked *asked, struct ll_price *price)
{
    *price = (struct ll_price){.devices = asked->devices,
                               .groups = 1,
                               .first = asked->first,
                               .span = asked->span,
                               .copied = asked->piece == LL_PIECE_COPIED,
                               .exchanged = {.busiest = LL_NO_LEVEL}};
    bool alone = asked->devices == 1 || (asked->devices == 0 && x->devices == 1 && x->machine->network_count);
    if (alone)
        price->devices = 1;
    else if (open_net(x))
        return exchange(x, asked, price);
    else
        price->trouble = x->trouble;
    return true;
}

/* Room first, then the key: a key without a price must never exist. Prices of joined machines are found on
 * the way. */
const struct ll_price *ll_exchanges_price(struct ll_exchanges *x, const struct ll_asked *asked)
{
    assert(ll_op_class((enum ll_op_kind)asked->kind) == LL_CLASS_COMMUNICATION);
    const struct key key = {x->network, x->devices, *asked};
    struct ll_prices *all = x->prices;
    uint32_t known = ll_map_find(&all->keys, &key, sizeof key);
    if (known != LL_NO_ID)
        return &all->prices[known];
    struct ll_price price;
    if (!find_price(x, asked, &price) || !wait_for_joined(x, asked, &price) ||
        !ll_grow(&all->prices, &all->capacity, (uint64_t)all->keys.count + 1, sizeof *all->prices))
        return NULL;
    uint32_t id = ll_map_intern(&all->keys, &key, sizeof key, NULL);
    if (id == LL_NO_ID)
        return NULL;
    all->prices[id] = price;
    return &all->prices[id];
}
