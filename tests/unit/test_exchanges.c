/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of one device among 16, two nodes of eight, small enough to be drawn on paper. Nodes are joined
 * inside by a switch at 8 GB/s a device, with each other by a card a device at 1 GB/s. */
#include "check.h"

#include "scene.h"
#include "sim/replay/communication.h"
#include "toy_trace.h"

enum { SIDE = 1024 };

#define DEVICE                                                                                               \
    "name: node\nclock: 1GHz\nunits:\n  - {name: simd, model: vector, lanes: 8, flops: {f32: 2}}\n"          \
    "memory:\n  - {name: dram, size: 64GiB, bandwidth: 100GB/s}\n"
static const char joined[] =
    DEVICE "network:\n"
           "  - {name: inside, topology: switch, devices: 8, bandwidth: 8GB/s, latency: 1us}\n"
           "  - {name: cards, topology: switch, devices: 2, bandwidth: 1GB/s, latency: 5us}\n"
           "software: {collectives: ring}\n";
static const char alone[] = DEVICE;

/* One tensor's bytes, and what a ring takes: n = 8 inside, 2 between nodes, 16 over both. */
static const double M = 4.0 * SIDE * SIDE;
static const double inside_s = 2 * 7 * (2e-6 + 4.0 * SIDE * SIDE / 8 / 8e9),
                    between_s = 2 * 1 * (10e-6 + 4.0 * SIDE * SIDE / 2 / 1e9);

/* An op of the step; `reads` is an op before it, or -1 for the weight. */
struct line {
    enum ll_op_kind kind;
    int reads;
    int64_t devices, stride, peer;
};

static struct ll_trace *record(const struct line *lines, unsigned count)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    uint32_t made[16] = {0};
    toy_open(toy, path);
    uint32_t weight = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    for (unsigned i = 0; i < count; i++) {
        const struct line *line = &lines[i];
        uint32_t read = line->reads < 0 ? weight : made[line->reads];
        const struct ll_attr attrs[] = {{.key = line->peer ? LL_ATTR_PEER : LL_ATTR_DEVICES,
                                         .count = line->peer ? line->peer : line->devices},
                                        {.key = LL_ATTR_STRIDE, .count = line->stride}};
        uint32_t given = line->peer ? 1 : line->stride ? 2 : line->devices ? 1 : 0;
        made[i] = toy_op(toy, line->kind, LL_PHASE_BACKWARD, &read, 1, attrs, given, LL_GRADIENT, NULL);
    }
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static struct scene played(const char *yaml, const struct line *lines, unsigned count)
{
    struct scene scene = open_scene(record(lines, count), yaml);
    play(&scene);
    return scene;
}

static double end_s(const struct scene *scene, uint32_t op)
{
    return scene->result->ops[op].start_s + scene->result->ops[op].time_s;
}

static void an_exchange_takes_what_the_network_says(void **state)
{
    (void)state;
    const struct line lines[] = {
        {LL_OP_ALL_REDUCE, -1, 8, 0, 0}, {LL_OP_ALL_REDUCE, 0, 2, 8, 0}, {LL_OP_BARRIER, 1, 1, 0, 0}};
    struct scene scene = played(joined, lines, 3);
    assert_near(scene.result->ops[0].time_s, inside_s, 1e-9);
    assert_near(scene.result->ops[1].time_s, between_s, 1e-9);
    assert_near(scene.result->ops[2].time_s, 0, 0);
    assert_near(scene.result->time_s, inside_s + between_s, 1e-9);
    assert_near(scene.result->shares[LL_BOUND_NETWORK], 1, 1e-12);
    assert_near(scene.result->network.levels[1].share, between_s / (inside_s + between_s), 1e-9);
    assert_near(scene.result->network.exposed_s, inside_s + between_s, 1e-9);
    assert_near(scene.result->network.levels[0].sent_bytes, 2 * 7.0 / 8 * M, 1e-9);
    close_scene(&scene);
}

/* Without `devices` all take part. */
static void a_group_that_is_not_told_is_all_devices(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_ALL_REDUCE, -1, 0, 0, 0}, {LL_OP_ALL_REDUCE, -1, 16, 0, 0}};
    struct scene scene = played(joined, lines, 2);
    assert_int_equal(ll_replay_detail(scene.result, 0).price->devices, 16);
    assert_true(scene.result->ops[0].time_s == scene.result->ops[1].time_s);
    close_scene(&scene);
}

/* Groups of three: the third is two devices of one node and one of the other, whose message crosses the cards
 * after a hop inside. */
static void the_slowest_group_sets_the_time(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_ALL_REDUCE, -1, 3, 0, 0}};
    struct scene scene = played(joined, lines, 1);
    assert_near(scene.result->ops[0].time_s, 2 * 2 * (10e-6 + 2e-6 + M / 3 / 1e9), 1e-9);
    close_scene(&scene);
}

/* Op 1 waits for op 0, as links of the node are in use; op 2 goes between nodes and does not. */
static void links_are_used_once_at_a_time_and_levels_side_by_side(void **state)
{
    (void)state;
    const struct line lines[] = {
        {LL_OP_ALL_REDUCE, -1, 8, 0, 0}, {LL_OP_ALL_GATHER, -1, 8, 0, 0}, {LL_OP_ALL_REDUCE, -1, 2, 8, 0}};
    struct scene scene = played(joined, lines, 3);
    assert_near(scene.result->ops[1].start_s, end_s(&scene, 0), 1e-12);
    assert_near(scene.result->ops[2].start_s, 0, 0);
    assert_near(scene.result->network.busy_s, fmax(end_s(&scene, 1), between_s), 1e-9);
    close_scene(&scene);
}

/* The element-wise op runs beside the exchange of a result that it does not read. */
static void what_the_device_does_meanwhile_is_not_exposed(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_RELU, -1, 0, 0, 0},
                                 {LL_OP_ALL_REDUCE, 0, 8, 0, 0},
                                 {LL_OP_RELU, 0, 0, 0, 0},
                                 {LL_OP_RELU, 1, 0, 0, 0}};
    struct scene scene = played(joined, lines, 4);
    double relu_s = scene.result->ops[2].time_s;
    assert_true(relu_s < inside_s);
    assert_near(scene.result->ops[2].start_s, end_s(&scene, 0), 1e-12);
    assert_near(scene.result->ops[3].start_s, end_s(&scene, 1), 1e-12);
    assert_near(scene.result->network.busy_s, inside_s, 1e-9);
    assert_near(scene.result->network.exposed_s, inside_s - relu_s, 1e-9);
    double sum = 0;
    for (unsigned i = 0; i < LL_BOUND_COUNT; i++)
        sum += scene.result->shares[i];
    assert_near(sum, 1, 1e-12);
    close_scene(&scene);
}

/* Op 1 waits for the element-wise op; op 2, recorded behind it, goes between nodes from the start on, lasting
 * longer than both. */
static void exchanges_are_counted_in_the_order_in_which_they_start(void **state)
{
    (void)state;
    const struct line lines[] = {
        {LL_OP_RELU, -1, 0, 0, 0}, {LL_OP_ALL_REDUCE, 0, 8, 0, 0}, {LL_OP_ALL_REDUCE, -1, 2, 8, 0}};
    struct scene scene = played(joined, lines, 3);
    double relu_s = scene.result->ops[0].time_s;
    assert_true(relu_s + inside_s < between_s);
    assert_near(scene.result->ops[1].start_s, relu_s, 1e-12);
    assert_near(scene.result->network.busy_s, between_s, 1e-9);
    assert_near(scene.result->network.exposed_s, between_s - relu_s, 1e-9);
    close_scene(&scene);
}

/* To the next device within the node: a hop in and one out of the switch. To the other node: from card to
 * card. */
static void a_send_goes_to_its_peer(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_SEND, -1, 0, 0, 8}, {LL_OP_RECEIVE, -1, 0, 0, -8}};
    struct scene scene = played(joined, lines, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_near(scene.result->ops[i].time_s, 10e-6 + M / 1e9, 1e-9);
        assert_int_equal(ll_replay_detail(scene.result, i).price->outermost, 1);
    }
    close_scene(&scene);
}

/* Each sends to the next one: inside of a node one message, over both nodes through both switches, as long as
 * the card takes by which the last of a node sends. */
static void a_shift_goes_around_its_ring(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_SHIFT, -1, 8, 0, 0}, {LL_OP_SHIFT, 0, 16, 0, 0}};
    struct scene scene = played(joined, lines, 2);
    assert_near(scene.result->ops[0].time_s, 2e-6 + M / 8e9, 1e-9);
    assert_near(scene.result->ops[1].time_s, 2e-6 + 10e-6 + M / 1e9, 1e-9);
    close_scene(&scene);
}

/* On a ring that goes one way the next device is a hop away, and the first is behind the last. */
static void what_is_received_comes_the_way_it_was_sent(void **state)
{
    (void)state;
    static const char one_way[] =
        DEVICE "network:\n  - {name: r, topology: ring, devices: 4, bandwidth: 1GB/s, latency: 1us}\n";
    const struct line lines[] = {
        {LL_OP_SEND, -1, 0, 0, 1}, {LL_OP_RECEIVE, -1, 0, 0, -1}, {LL_OP_RECEIVE, -1, 0, 0, 3}};
    struct scene scene = played(one_way, lines, 3);
    assert_near(scene.result->ops[0].time_s, 1e-6 + M / 1e9, 1e-9);
    assert_near(scene.result->ops[1].time_s, 1e-6 + M / 1e9, 1e-9);
    assert_near(scene.result->ops[2].time_s, 1e-6 + M / 1e9, 1e-9); /* the first from the last */
    close_scene(&scene);
}

static void expect_complaint(const char *yaml, struct line line, const char *words)
{
    struct scene scene = played(yaml, &line, 1);
    assert_null(scene.result);
    assert_int_equal(scene.diags.count, 1);
    if (!strstr(scene.diags.kept[0].message, words))
        fail_msg("expected `%s` in `%s`", words, scene.diags.kept[0].message);
    close_scene(&scene);
}

static void an_exchange_that_cannot_be_is_named(void **state)
{
    (void)state;
    expect_complaint(alone, (struct line){LL_OP_ALL_REDUCE, -1, 8, 0, 0},
                     "op 0, all_reduce in toy among 8 devices: the machine has no network");
    expect_complaint(joined, (struct line){LL_OP_ALL_REDUCE, -1, 32, 0, 0},
                     "among 32 devices: the network does not join so many devices");
    expect_complaint(joined, (struct line){LL_OP_ALL_REDUCE, -1, 8, 4, 0}, "does not join so many");
    expect_complaint(joined, (struct line){LL_OP_SEND, -1, 0, 0, 16}, "does not join so many");
}

/* Lines of a derivation end in what the op takes. */
static void an_exchange_explains_itself(void **state)
{
    (void)state;
    const struct line lines[] = {{LL_OP_ALL_REDUCE, -1, 8, 0, 0}};
    struct ll_explain why = {0};
    char end[64];
    struct scene scene = played(joined, lines, 1);
    assert_true(ll_replay_explain(scene.result, 0, &why));
    snprintf(end, sizeof end, "= %.10g s", scene.result->ops[0].time_s);
    assert_int_equal(why.line_count, 3);
    assert_non_null(strstr(why.lines[0], "among 8 devices"));
    assert_non_null(strstr(why.lines[1], "ring: 14 messages"));
    assert_non_null(strstr(why.lines[2], end));
    ll_explain_release(&why);
    close_scene(&scene);
}

/* A triangle with a fourth device behind it and a ring of four: nothing but an edge differs. */
static void networks_with_other_edges_have_prices_of_their_own(void **state)
{
    (void)state;
    static const char yaml[] =
        DEVICE "network:\n  - {name: links, topology: edges, devices: 4, edges: [0-1, 1-2, 2-3, 0-2], "
               "bandwidth: 8GB/s, latency: 1us}\n";
    static const char other[] =
        DEVICE "network:\n  - {name: links, topology: edges, devices: 4, edges: [0-1, 1-2, 2-3, 0-3], "
               "bandwidth: 8GB/s, latency: 1us}\n";
    const struct ll_asked asked = {
        .kind = LL_OP_ALL_REDUCE, .bytes = UINT64_C(1) << 20, .devices = 4, .stride = 1};
    struct ll_prices shared = {0}, own = {0};
    struct scene one = open_scene(NULL, yaml), two = open_scene(NULL, other);
    struct ll_exchanges *first = ll_exchanges_new(one.machine, 0, &shared),
                        *second = ll_exchanges_new(two.machine, 0, &shared),
                        *apart = ll_exchanges_new(two.machine, 0, &own);
    double first_s = ll_exchanges_price(first, &asked)->exchanged.time_s;
    double apart_s = ll_exchanges_price(apart, &asked)->exchanged.time_s;
    assert_true(first_s > apart_s);
    assert_near(ll_exchanges_price(second, &asked)->exchanged.time_s, apart_s, 0);
    ll_exchanges_free(first);
    ll_exchanges_free(second);
    ll_exchanges_free(apart);
    ll_prices_release(&shared);
    ll_prices_release(&own);
    close_scene(&one);
    close_scene(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exchange_takes_what_the_network_says),
        cmocka_unit_test(a_group_that_is_not_told_is_all_devices),
        cmocka_unit_test(the_slowest_group_sets_the_time),
        cmocka_unit_test(links_are_used_once_at_a_time_and_levels_side_by_side),
        cmocka_unit_test(what_the_device_does_meanwhile_is_not_exposed),
        cmocka_unit_test(exchanges_are_counted_in_the_order_in_which_they_start),
        cmocka_unit_test(a_send_goes_to_its_peer),
        cmocka_unit_test(a_shift_goes_around_its_ring),
        cmocka_unit_test(what_is_received_comes_the_way_it_was_sent),
        cmocka_unit_test(an_exchange_that_cannot_be_is_named),
        cmocka_unit_test(an_exchange_explains_itself),
        cmocka_unit_test(networks_with_other_edges_have_prices_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
