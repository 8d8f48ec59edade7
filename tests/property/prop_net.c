/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of networks over random levels, messages and collectives. */
#include "check.h"
#include "random.h"
#include "sim/network/network.h"
#include "sim/network/steps.h"
#include "toy_net.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

enum { CASES = 100, MOST_DEVICES = 64, MOST_MESSAGES = 24, MOST_USED = 2048 };

static uint64_t state_of_chance;

static uint64_t below(uint64_t bound)
{
    return ll_random_below(&state_of_chance, bound);
}

static void append(char *text, size_t room, const char *format, ...)
{
    size_t length = strlen(text);
    va_list values;
    va_start(values, format);
    vsnprintf(text + length, room - length, format, values);
    va_end(values);
}

/* One level of a random topology; how many devices it has. */
static uint64_t random_level(const char *name, char *text, size_t room)
{
    static const char *const plain[] = {"ring", "bidirectional_ring", "full", "switch"};
    static const char *const shaped[] = {"mesh", "torus", "fat_tree"};
    uint64_t x = 2 + below(3), y = 2 + below(3), devices = 2 + below(7), kind = below(9);
    char extra[256] = "";
    const char *topology = "edges";
    if (kind < 4)
        topology = plain[kind];
    else if (kind < 7) {
        topology = shaped[kind - 4];
        devices = x * y;
        snprintf(extra, sizeof extra, ", shape: %dx%d", (int)x, (int)y);
    } else if (kind == 7) {
        topology = "dragonfly";
        devices = 2 * x * y;
        snprintf(extra, sizeof extra, ", shape: 2x%dx%d", (int)x, (int)y);
    } else {
        devices = 5;
        snprintf(extra, sizeof extra, ", edges: [0-1x2, 1-2, 2>3, 3-4x0.5, 4>0, 3-1]");
    }
    if (kind == 3 && below(2))
        snprintf(extra, sizeof extra, ", in_network: 0.%d, in_network_chunk: %dkB", (int)(1 + below(9)),
                 (int)(1 + below(2000)));
    if (below(2))
        append(extra, sizeof extra, ", chunk: %dkB, chunk_latency: %dns", (int)(1 + below(2000)),
               (int)below(5000));
    if (below(2))
        append(extra, sizeof extra, ", ll_efficiency: 0.%d", (int)(1 + below(9)));
    int port = (int)below(2) ? (int)(1 + below(9)) : 0;
    if (port > 0)
        append(extra, sizeof extra, ", port: %dGB/s", port);
    snprintf(
        text, room,
        "  - {name: %s, topology: %s, devices: %d, bandwidth: %dGB/s, latency: %dns, efficiency: 0.%d%s}\n",
        name, topology, (int)devices, (int)(1 + below(9)), (int)below(2000), (int)(1 + below(9)), extra);
    return devices;
}

static struct ll_toy_net random_net(void)
{
    char network[2048], inner[512], outer[512] = "";
    random_level("in", inner, sizeof inner);
    if (below(2))
        random_level("out", outer, sizeof outer);
    snprintf(network, sizeof network, "%s%s", inner, outer);
    return ll_toy_net(network);
}

/* A dumb twin of the fluid: rates of all rise together in exact shares, link by link, as the definition says.
 */
struct twin {
    struct ll_route paths[MOST_MESSAGES];
    double left[MOST_MESSAGES], rate[MOST_MESSAGES], latency_s[MOST_MESSAGES];
    bool frozen[MOST_MESSAGES];
    uint64_t count, used[MOST_USED], used_count; /* links that any message crosses, some twice */
};

static bool crosses(const struct ll_route *path, uint64_t link)
{
    for (uint64_t i = 0; i < path->count; i++)
        if (path->links[i] == link)
            return true;
    return false;
}

/* How much further all rates that still rise may rise until this link is full; INFINITY when none crosses it.
 */
static double headroom(const struct twin *t, const struct ll_net *net, uint64_t link)
{
    double used = 0, rising = 0;
    for (uint64_t i = 0; i < t->count; i++)
        if (crosses(&t->paths[i], link) && t->left[i] > 0) {
            used += t->rate[i];
            rising += !t->frozen[i];
        }
    return rising > 0 ? (ll_net_link_Bps(net, link) - used) / rising : INFINITY;
}

static void raise_rates(struct twin *t, const struct ll_net *net)
{
    for (uint64_t i = 0; i < t->count; i++) {
        t->rate[i] = 0;
        t->frozen[i] = t->left[i] <= 0 || t->paths[i].count == 0;
    }
    for (;;) {
        double least = INFINITY;
        for (uint64_t l = 0; l < t->used_count; l++)
            least = fmin(least, headroom(t, net, t->used[l]));
        if (isinf(least))
            return;
        for (uint64_t i = 0; i < t->count; i++)
            t->rate[i] += t->frozen[i] ? 0 : least;
        bool full[MOST_USED];
        for (uint64_t l = 0; l < t->used_count; l++)
            full[l] = headroom(t, net, t->used[l]) <= 1e-9 * ll_net_link_Bps(net, t->used[l]);
        for (uint64_t l = 0; l < t->used_count; l++)
            for (uint64_t i = 0; full[l] && i < t->count; i++)
                t->frozen[i] |= crosses(&t->paths[i], t->used[l]);
    }
}

static double twin_done_s(struct twin *t, const struct ll_net *net)
{
    double now_s = 0, done_s = 0;
    for (uint64_t i = 0; i < t->count; i++)
        done_s = fmax(done_s, t->paths[i].count == 0 ? 0 : t->left[i] > 0 ? 0 : t->latency_s[i]);
    for (;;) {
        double step_s = INFINITY;
        raise_rates(t, net);
        for (uint64_t i = 0; i < t->count; i++)
            if (t->left[i] > 0 && t->paths[i].count > 0)
                step_s = fmin(step_s, t->left[i] / t->rate[i]);
        if (isinf(step_s))
            return done_s;
        now_s += step_s;
        for (uint64_t i = 0; i < t->count; i++) {
            if (t->left[i] <= 0 || t->paths[i].count == 0)
                continue;
            t->left[i] -= t->rate[i] * step_s;
            if (t->left[i] > 1e-9 * t->rate[i] * step_s)
                continue;
            t->left[i] = 0;
            done_s = fmax(done_s, now_s + t->latency_s[i]);
        }
    }
}

static void random_messages(const struct ll_net *net, struct twin *t, struct ll_flows *flows)
{
    *t = (struct twin){.count = 1 + below(MOST_MESSAGES)};
    for (uint64_t i = 0; i < t->count; i++) {
        uint64_t from = below(ll_net_devices(net)), to = below(ll_net_devices(net));
        t->left[i] = (double)(1 + below(1 << 20));
        t->latency_s[i] = ll_net_route(net, from, to, &t->paths[i]);
        ll_flows_add(flows, from, to, t->left[i]);
        for (uint64_t j = 0; j < t->paths[i].count; j++) {
            assert_true(t->used_count < MOST_USED);
            t->used[t->used_count++] = t->paths[i].links[j];
        }
    }
}

/* Bytes on a link over what it carries, of the link where that is most. */
static double fullest_link_s(const struct twin *t, const struct ll_net *net)
{
    double most_s = 0;
    for (uint64_t u = 0; u < t->used_count; u++) {
        double bytes = 0;
        uint64_t l = t->used[u];
        for (uint64_t i = 0; i < t->count; i++)
            bytes += crosses(&t->paths[i], l) ? t->left[i] : 0;
        most_s = fmax(most_s, bytes / ll_net_link_Bps(net, l));
    }
    return most_s;
}

static void messages_share_links_as_the_twin_says_and_conserve_bytes(void **state)
{
    (void)state;
    state_of_chance = ll_seed(41);
    for (int i = 0; i < CASES; i++) {
        struct ll_toy_net f = random_net();
        struct ll_flows *flows = ll_flows_new(f.net);
        struct ll_flow_times times;
        struct twin twin;
        random_messages(f.net, &twin, flows);
        double least_s = ll_flows_least_s(flows);
        assert_true(ll_flows_run(flows, &times));
        if (fabs(least_s - fullest_link_s(&twin, f.net)) > 1e-9 * least_s ||
            times.sent_s < least_s * (1 - 1e-9))
            fail_msg("case %d: %.10g s, at least %.10g s", i, times.sent_s, least_s);
        double tuner_time_s = twin_done_s(&twin, f.net);
        if (fabs(times.done_s - tuner_time_s) > 1e-6 * tuner_time_s)
            fail_msg("case %d: %.10g s, the twin says %.10g s", i, times.done_s, tuner_time_s);
        for (uint64_t j = 0; j < twin.count; j++)
            free(twin.paths[j].links);
        ll_flows_free(flows);
        ll_toy_net_free(&f);
    }
}

static void shuffled(uint64_t *members, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        members[i] = i;
    for (uint64_t i = count; i-- > 1;) {
        uint64_t j = below(i + 1), kept = members[i];
        members[i] = members[j];
        members[j] = kept;
    }
}

/* The least that a device of n must send and take in, in multiples of M (Chan et al., 2007, table 1). */
static double least_bytes(enum ll_collective collective, double n)
{
    switch (collective) {
    case LL_COLLECTIVE_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case LL_COLLECTIVE_REDUCE_SCATTER:
    case LL_COLLECTIVE_ALL_GATHER:
    case LL_COLLECTIVE_ALL_TO_ALL:
        return (n - 1) / n;
    case LL_COLLECTIVE_COLLECT:
    case LL_COLLECTIVE_DISTRIBUTE:
        return 1 / n;
    case LL_COLLECTIVE_BARRIER:
        return 0;
    default:
        return 1;
    }
}

/* What leaves all devices together is at least what they need, and what rings, trees and halving send is
 * known. */
static void expect_bytes(const struct ll_machine *machine, const struct ll_exchange *e,
                         const struct ll_exchanged *done)
{
    double n = (double)e->size, least = least_bytes(e->collective, n) * e->bytes;
    bool one = e->collective == LL_COLLECTIVE_SEND_RECEIVE,
         all = e->collective == LL_COLLECTIVE_ALL_REDUCE || e->collective == LL_COLLECTIVE_REDUCE_SCATTER ||
               e->collective == LL_COLLECTIVE_ALL_GATHER || e->collective == LL_COLLECTIVE_ALL_TO_ALL;
    double expected = one ? e->bytes : all ? least * n : least * (n - 1);
    bool hierarchical = done->algorithm == LL_ALGORITHM_HIERARCHICAL;
    if (done->algorithm == LL_ALGORITHM_IN_NETWORK)
        expected = (n + 1) * e->bytes;
    if (done->algorithm == LL_ALGORITHM_ONE_SHOT)
        expected = n * (n - 1) * e->bytes;
    for (uint64_t l = 0; hierarchical && l < machine->network_count; l++)
        if (machine->networks[l].in_network > 0)
            expected =
                fmin(expected, e->bytes); /* a device sends at least what it has, the others' is added */
    double slack = done->algorithm == LL_ALGORITHM_HALVING_DOUBLING || hierarchical ? n * e->bytes : 0;
    if (done->sent_bytes < expected * (1 - 1e-9) || done->sent_bytes > expected * (1 + 1e-9) + slack)
        fail_msg("%s by %s among %d: %.10g B sent, expected %.10g", ll_collective_name(e->collective),
                 ll_algorithm_name(done->algorithm), (int)e->size, done->sent_bytes, expected);
}

/* Behind a switch no collective beats the port: least bytes over B; and the fastest is as fast as any. */
static void collectives_send_what_they_must_and_not_faster_than_ports(void **state)
{
    (void)state;
    state_of_chance = ll_seed(42);
    for (int i = 0; i < CASES; i++) {
        struct ll_toy_net f = random_net();
        uint64_t devices = ll_net_devices(f.net), *members = calloc(devices, sizeof *members);
        shuffled(members, devices);
        struct ll_exchange e = {.collective = (enum ll_collective)below(LL_COLLECTIVE_COUNT),
                                .bytes = (double)(1 + below(1 << 24)),
                                .members = members,
                                .groups = 1};
        e.size =
            e.collective == LL_COLLECTIVE_SEND_RECEIVE ? 2 : 2 + below(ll_min(devices, MOST_DEVICES) - 1);
        struct ll_exchanged best, done;
        double least_s = INFINITY;
        e.algorithm = LL_ALGORITHM_COUNT;
        assert_int_equal(ll_exchange(f.net, &e, &best), LL_EXCHANGE_DONE);
        for (int a = 0; a < LL_ALGORITHM_COUNT; a++) {
            e.algorithm = (enum ll_algorithm)a;
            if (ll_exchange(f.net, &e, &done) != LL_EXCHANGE_DONE)
                continue;
            least_s = fmin(least_s, done.time_s);
            expect_bytes(f.machine, &e, &done);
        }
        assert_true(best.time_s == least_s);
        free(members);
        ll_toy_net_free(&f);
    }
}

/* The dumb twin of a ring: all messages of all groups. */
static double ring_s(const struct ll_net *net, const struct ll_exchange *e)
{
    struct ll_flows *flows = ll_flows_new(net);
    struct ll_flow_times times;
    for (uint64_t g = 0; g < e->groups; g++)
        for (uint64_t i = 0; i < e->size; i++)
            ll_flows_add(flows, e->members[g * e->size + i], e->members[g * e->size + (i + 1) % e->size],
                         e->bytes / (double)e->size);
    assert_true(ll_flows_run(flows, &times));
    ll_flows_free(flows);
    return 2 * (double)(e->size - 1) * times.done_s;
}

/* Nodes of some devices that have some rails: devices of equal places make a group, or those of a node do.
 * Groups that are alike are not all looked at, nor all devices of a long ring. */
static void what_is_not_looked_at_twice_takes_as_long(void **state)
{
    (void)state;
    state_of_chance = ll_seed(44);
    for (int i = 0; i < CASES; i++) {
        uint64_t places = 2 + below(7), nodes = 2 + below(12), devices = places * nodes;
        bool within = places > 1 && below(2);
        char text[2048];
        snprintf(
            text, sizeof text,
            LL_TOY_MACHINE
            "network:\n"
            "  - {name: in, topology: switch, devices: %d, bandwidth: 4GB/s, latency: 1us}\n"
            "  - {name: out, topology: switch, devices: %d, bandwidth: 1GB/s, latency: 3us, links: %d}\n",
            (int)places, (int)nodes, (int)(1 + below(places)));
        const char *trouble;
        struct ll_toy_net f = {.machine = ll_toy_machine(text)};
        f.net = ll_net_new(f.machine, &trouble);
        uint64_t *members = calloc(devices, sizeof *members);
        for (uint64_t d = 0; d < devices; d++)
            members[d] = within ? d : d % nodes * places + d / nodes;
        const struct ll_exchange e = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                      .algorithm = LL_ALGORITHM_RING,
                                      .bytes = (double)(1 + below(1 << 24)),
                                      .members = members,
                                      .size = within ? places : nodes,
                                      .groups = within ? nodes : places};
        struct ll_exchanged done;
        assert_int_equal(ll_exchange(f.net, &e, &done), LL_EXCHANGE_DONE);
        assert_near(done.time_s, ring_s(f.net, &e), 1e-12);
        assert_near(done.sent_bytes, 2 * (double)(e.size - 1) * e.bytes, 1e-12);
        free(members);
        ll_toy_net_free(&f);
    }
}

/* Nor does it matter what was asked before: each exchange by one solver takes, to the bit, what it takes by
 * one that has seen nothing. */
static void what_is_remembered_changes_nothing(void **state)
{
    enum { ASKED = 12 };
    (void)state;
    state_of_chance = ll_seed(45);
    for (int i = 0; i < CASES / ONE_IN; i++) {
        struct ll_toy_net f = random_net();
        uint64_t devices = ll_net_devices(f.net), *members = calloc(devices, sizeof *members);
        struct ll_solver *solver = ll_solver_new(f.net);
        shuffled(members, devices);
        for (int j = 0; j < ASKED; j++) {
            uint64_t size = 2 + below(2);
            struct ll_exchange e = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                    .algorithm = LL_ALGORITHM_COUNT,
                                    .bytes = (double)(1 + below(1 << 24)),
                                    .members = members,
                                    .size = ll_min(size, devices),
                                    .groups = 1 + below(devices / ll_min(size, devices))};
            struct ll_exchanged known, fresh;
            struct ll_solver *other = ll_solver_new(f.net);
            assert_int_equal(ll_exchange_by_software(solver, &e, &known), LL_EXCHANGE_DONE);
            assert_int_equal(ll_exchange_by_software(other, &e, &fresh), LL_EXCHANGE_DONE);
            assert_true(known.time_s == fresh.time_s && known.sent_bytes == fresh.sent_bytes);
            assert_true(known.rounds == fresh.rounds && known.busiest == fresh.busiest);
            ll_solver_free(other);
        }
        ll_solver_free(solver);
        free(members);
        ll_toy_net_free(&f);
    }
}

/* More bandwidth or less latency is never slower. */
static void a_better_network_is_never_slower(void **state)
{
    (void)state;
    state_of_chance = ll_seed(4);
    for (int i = 0; i < CASES / ONE_IN; i++) {
        struct ll_toy_net f = random_net();
        uint64_t devices = ll_net_devices(f.net), *members = calloc(devices, sizeof *members);
        const char *trouble;
        shuffled(members, devices);
        struct ll_exchange e = {.collective = LL_COLLECTIVE_ALL_REDUCE,
                                .algorithm = LL_ALGORITHM_COUNT,
                                .bytes = 1e6,
                                .members = members,
                                .size = ll_min(devices, MOST_DEVICES),
                                .groups = 1};
        struct ll_exchanged before, after;
        assert_int_equal(ll_exchange(f.net, &e, &before), LL_EXCHANGE_DONE);
        ll_net_free(f.net);
        struct ll_network *level = &f.machine->networks[below(f.machine->network_count)];
        level->bandwidth_Bps *= 1 + (double)below(3);
        level->port_Bps *= 1 + (double)below(3);
        level->latency_s /= 1 + (double)below(3);
        f.net = ll_net_new(f.machine, &trouble);
        assert_int_equal(ll_exchange(f.net, &e, &after), LL_EXCHANGE_DONE);
        if (after.time_s > before.time_s * (1 + 1e-9))
            fail_msg("case %d: %.10g s became %.10g s", i, before.time_s, after.time_s);
        free(members);
        ll_toy_net_free(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_share_links_as_the_twin_says_and_conserve_bytes),
        cmocka_unit_test(collectives_send_what_they_must_and_not_faster_than_ports),
        cmocka_unit_test(what_is_remembered_changes_nothing),
        cmocka_unit_test(what_is_not_looked_at_twice_takes_as_long),
        cmocka_unit_test(a_better_network_is_never_slower),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
