/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules small enough to be drawn on paper: a step loads its input from the host (h seconds), then
 * computes one product (c seconds). */
#include "check.h"

#include "scene.h"
#include "toy_trace.h"

enum { SIDE = 64, STEPS = 4 };

#define UNITS                                                                                                \
    "name: paper\nclock: 1GHz\nunits:\n"                                                                     \
    "  - {name: array, model: matrix, macs: {f32: 64}}\n"                                                    \
    "  - {name: simd, model: vector, lanes: 8, flops: {f32: 2, i32: 2}}\n"                                   \
    "memory:\n"
#define REST                                                                                                 \
    "  - {name: dram, size: 1GiB, bandwidth: 1000GB/s}\n"                                                    \
    "software: {op_overhead: 1us}\nhost: {bandwidth: 1GB/s, latency: 1us}\n"
static const char yaml[] = UNITS REST;

static struct ll_trace *record_steps(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t weight = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_WEIGHT);
    const struct ll_shape image = toy_matrix(SIDE, SIDE);
    for (int i = 0; i < STEPS; i++) {
        ll_recorder_step_begin(toy->recorder);
        uint32_t x = toy_op(toy, LL_OP_HOST_INPUT, LL_PHASE_INPUT, NULL, 0, NULL, 0, LL_INPUT, &image);
        toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, weight}, 2, NULL, 0, LL_ACTIVATION, NULL);
        ll_recorder_step_end(toy->recorder);
    }
    return toy_close(toy, path);
}

static struct ll_trace *record_relu(enum ll_dtype dtype)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    struct ll_shape shape = toy_matrix(SIDE, SIDE);
    shape.dtype = (uint8_t)dtype;
    uint32_t x = toy_bring(toy, shape, LL_ACTIVATION);
    ll_recorder_step_begin(toy->recorder);
    toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &x, 1, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* Two activations, the second of what the first made. */
static struct ll_trace *record_pair(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_ACTIVATION);
    ll_recorder_step_begin(toy->recorder);
    for (int i = 0; i < 2; i++)
        x = toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &x, 1, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

static struct scene played(const char *path, const char *value)
{
    struct scene scene = open_scene_set(record_steps(), yaml, path, value);
    play(&scene);
    assert_non_null(scene.result);
    return scene;
}

/* 64^3 multiply-accumulates at 64 a cycle and 1 GHz; 16 KiB over 1 GB/s and the latency. */
static const double product_s = 4096e-9, input_s = 16384e-9 + 1e-6;

static void an_op_takes_its_cycles_and_its_start(void **state)
{
    (void)state;
    struct scene scene = played(NULL, NULL);
    const struct ll_op_result *input = &scene.result->ops[0], *product = &scene.result->ops[1];
    assert_near(input->time_s, input_s, 1e-12);
    assert_near(ll_replay_detail(scene.result, 1).compute_cycles, 4096, 1e-12);
    assert_true(product->time_s >= product_s + 1e-6);
    assert_true(product->time_s < product_s + 1e-6 + 3 * 16384 / 1e12 + 1e-12);
    close_scene(&scene);
}

/* h h h h          the inputs follow one another,
 *  c  c  c c       each product runs while the next input loads: 4 h + c */
static void a_slow_host_is_waited_for(void **state)
{
    (void)state;
    struct scene scene = played(NULL, NULL);
    double c = scene.result->ops[1].time_s;
    assert_near(scene.result->time_s * STEPS, STEPS * input_s + c, 1e-12);
    assert_near(scene.result->shares[LL_BOUND_HOST], STEPS * input_s / (STEPS * input_s + c), 1e-12);
    close_scene(&scene);
}

/* h h . h .        two inputs fit in the buffer, the third waits for the first product's end:
 *  cccccccccc      h + 4 c */
static void a_fast_host_stays_two_steps_ahead(void **state)
{
    (void)state;
    struct scene scene = played("host.bandwidth", "16GB/s");
    double c = scene.result->ops[1].time_s, h = scene.result->ops[0].time_s;
    assert_true(h < c);
    assert_near(scene.result->time_s * STEPS, h + STEPS * c, 1e-12);
    double first_end_s = scene.result->ops[1].start_s + scene.result->ops[1].time_s;
    assert_near(scene.result->ops[4].start_s, first_end_s, 1e-12);
    close_scene(&scene);
}

/* h . h . h . h .  with room for one, each input waits for the product before it: 4 (h + c)
 *  ccc ccc ccc ccc */
static void with_one_buffer_inputs_and_products_take_turns(void **state)
{
    (void)state;
    struct scene scene = played("host.buffered_steps", "1");
    double c = scene.result->ops[1].time_s;
    assert_near(scene.result->time_s * STEPS, STEPS * (input_s + c), 1e-12);
    close_scene(&scene);
}

/* A gap is between kernels: two ops that are one kernel have one in front of them. */
static void fused_ops_leave_one_gap(void **state)
{
    (void)state;
    static const char *const fusions[] = {"none", "elementwise"};
    for (int i = 0; i < 2; i++) {
        char with[1024], without[1024];
        const char *format = UNITS "  - {name: dram, size: 1GiB, bandwidth: 1000GB/s}\n"
                                   "software: {fusion: %s, gap: %s}\n";
        snprintf(with, sizeof with, format, fusions[i], "3us");
        snprintf(without, sizeof without, format, fusions[i], "0s");
        struct scene one = open_scene(record_pair(), with), other = open_scene(record_pair(), without);
        play(&one);
        play(&other);
        assert_near(one.result->time_s - other.result->time_s, (2 - i) * 3e-6, 1e-9);
        close_scene(&one);
        close_scene(&other);
    }
}

/* All steps are alike and nothing stays on chip: it does not matter which end of a recording is torn off. */
static void steps_behind_an_unfinished_one_are_replayed_as_those_before_it(void **state)
{
    (void)state;
    struct scene front = open_scene(record_steps(), yaml), back = open_scene(record_steps(), yaml);
    front.trace->steps[0].complete = false;
    back.trace->steps[STEPS - 1].complete = false;
    play(&front);
    play(&back);
    const struct ll_result *late = front.result, *early = back.result;
    assert_near(late->time_s, early->time_s, 0);
    assert_memory_equal(late->shares, early->shares, sizeof late->shares);
    for (uint32_t i = 0; i < 2 * (STEPS - 1); i++) {
        assert_int_equal(late->ops[i].unit, early->ops[i].unit);
        assert_int_equal(late->ops[i].bound, early->ops[i].bound);
        assert_near(late->ops[i].start_s, early->ops[i].start_s, 0);
        assert_near(late->ops[i].time_s, early->ops[i].time_s, 0);
        double cycles = ll_replay_detail(early, i).compute_cycles;
        assert_near(ll_replay_detail(late, i + 2).compute_cycles, cycles, 0);
    }
    struct ll_explain why = {0};
    assert_false(ll_replay_explain(late, 1, &why));
    ll_explain_release(&why);
    close_scene(&front);
    close_scene(&back);
}

/* Each product is started while its input still loads, so that starting it costs nothing. */
static void a_queue_hides_what_starting_ops_takes(void **state)
{
    (void)state;
    struct scene plain = played(NULL, NULL), queued = played("software.queue", "8");
    assert_near(plain.result->ops[1].time_s - queued.result->ops[1].time_s, 1e-6, 1e-9);
    assert_near(queued.result->shares[LL_BOUND_OVERHEAD], 0, 0);
    assert_near(queued.result->ops[1].lead_s, input_s, 1e-12);
    close_scene(&plain);
    close_scene(&queued);
}

/* The product begins 40 us before its start is over and takes less, so that a step takes what starting takes:
 * with a queue while its input still loads, without one behind it. */
static void what_the_software_does_behind_the_launch_hides_the_work(void **state)
{
    static const char *const stacks[] = {
        "{op_overhead: 100us, queue: 8, kernels: [{name: all, ops: [matrix], launch_overlap: 0.4}]}",
        "{op_overhead: 100us, kernels: [{name: all, ops: [matrix], launch_overlap: 0.4}]}"};
    (void)state;
    struct scene queued = played("software", stacks[0]), plain = played("software", stacks[1]);
    const struct ll_op_result *ahead = &queued.result->ops[1], *waiting = &plain.result->ops[1];
    assert_true(ahead->active_s < 40e-6);
    assert_near(ahead->start_s + ahead->time_s, 60e-6 + ahead->active_s, 1e-9);
    assert_near(queued.result->time_s, 100e-6, 1e-9);
    assert_near(waiting->start_s + waiting->time_s, input_s + 100e-6, 1e-9);
    close_scene(&queued);
    close_scene(&plain);
}

/* A queue hides what starting the product takes, but not the gap before it. */
static void a_queue_does_not_hide_gaps(void **state)
{
    (void)state;
    struct scene queued = played("software.queue", "8");
    struct scene gapped = played("software", "{op_overhead: 1us, queue: 8, gap: 2us}");
    assert_near(gapped.result->ops[1].time_s - queued.result->ops[1].time_s, 2e-6, 1e-9);
    close_scene(&queued);
    close_scene(&gapped);
}

/* Inputs do not go through it: a product may be started when the one before has ended. */
static void a_short_queue_keeps_the_software_waiting(void **state)
{
    (void)state;
    struct scene many = played("software", "{op_overhead: 100us, queue: 64}");
    struct scene one = played("software", "{op_overhead: 100us, queue: 1}");
    double c = many.result->ops[1].time_s - (100e-6 - input_s);
    assert_near(many.result->time_s * STEPS, STEPS * 100e-6 + c, 1e-9);
    assert_near(one.result->time_s * STEPS, STEPS * (100e-6 + c), 1e-9);
    assert_near(many.result->ops[3].lead_s, c, 1e-9); /* it turns to it when it has started the one before */
    assert_true(fabs(one.result->ops[3].lead_s) < 1e-15);
    close_scene(&one);
    close_scene(&many);
}

/* Two layers in a loop of three turns, and one behind it. */
static struct ll_trace *record_loop(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    uint32_t weights[3];
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_ACTIVATION);
    for (int i = 0; i < 3; i++)
        weights[i] = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    for (int i = 0; i < 7; i++)
        x = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, weights[i < 6 ? i % 2 : 2]}, 2, NULL,
                   0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* Seven products, the first of which waits for its start; before the second and the third turn the device
 * waits for the host to decide, and to start the turn's first product. */
static void the_host_decides_on_each_further_turn_of_a_loop(void **state)
{
    static const char looping[] = "{op_overhead: 1us, queue: 64, loop_overhead: 20us}";
    (void)state;
    struct scene unrolled = open_scene_set(record_loop(), yaml, "software", "{op_overhead: 1us, queue: 64}");
    struct scene loop = open_scene_set(record_loop(), yaml, "software", looping);
    play(&unrolled);
    play(&loop);
    assert_near(unrolled.result->time_s, 1e-6 + 7 * unrolled.result->ops[3].active_s, 1e-9);
    assert_near(loop.result->time_s - unrolled.result->time_s, 2 * 21e-6, 1e-9);
    for (uint32_t i = 0; i < 7; i++) {
        const double late_s = loop.result->ops[i].time_s - loop.result->ops[i].active_s;
        assert_near(late_s, i == 0 ? 1e-6 : i == 2 || i == 4 ? 21e-6 : 0, 1e-9);
    }
    close_scene(&unrolled);
    close_scene(&loop);
}

static void starting_ops_is_a_share_of_its_own(void **state)
{
    (void)state;
    struct scene scene = played("host.bandwidth", "16GB/s");
    assert_near(scene.result->shares[LL_BOUND_OVERHEAD] * scene.result->time_s, 1e-6, 1e-9);
    assert_near(scene.result->shares[LL_BOUND_COMPUTE] * scene.result->time_s, product_s, 1e-2);
    close_scene(&scene);
}

static struct scene played_on(struct ll_trace *trace, const char *level, const char *more)
{
    struct ll_str text = {0};
    ll_str_addf(&text, UNITS "%s" REST "%s", level, more);
    struct scene scene = open_scene(trace, text.text);
    ll_str_release(&text);
    play(&scene);
    assert_non_null(scene.result);
    return scene;
}

/* A step has 64^3 multiply-accumulates of 2 pJ, three matrices of 16384 bytes out of dram or into it, and one
 * from the host, which dram receives. */
static void energy_is_counted_by_operation_by_byte_and_by_time(void **state)
{
    (void)state;
    struct scene scene = played_on(record_steps(), "",
                                   "energy: {mac_pj: {f32: 2}, off_chip_pj: 10, host_pj: 5, "
                                   "leakage_w_per_mm2: 0.5}\narea: {pe_um2: {f32: 1000}, fixed_mm2: 7}\n");
    struct ll_result r = *scene.result;
    /* the array's 64 and the lanes' 8 multiply-accumulators */
    assert_near(r.area_m2 * 1e6, 7 + (64 + 8) * 1e-3, 1e-12);
    assert_near(ll_machine_unit_area_m2(r.machine, 0) * 1e6, 64e-3, 1e-12);
    assert_near(ll_machine_unit_area_m2(r.machine, 1) * 1e6, 8e-3, 1e-12);
    assert_near(ll_machine_level_area_m2(r.machine, r.machine->level_count - 1), 0, 0);
    assert_near(r.energy.compute_j, 64 * 64 * 64 * 2e-12, 1e-12);
    assert_near(r.energy.level_j[0], 4 * 16384 * 10e-12, 1e-12);
    assert_near(r.energy.host_j, 16384 * 5e-12, 1e-12);
    assert_near(r.energy.static_j, 0.5 * 7.072 * r.time_s, 1e-12);
    assert_near(r.energy_j, r.energy.compute_j + r.energy.level_j[0] + r.energy.host_j + r.energy.static_j,
                1e-12);
    close_scene(&scene);
}

/* Steps of an activation and a product, of which the first may have been cut off. */
static struct ll_trace *record_cut(bool cut)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, toy_matrix(SIDE, SIDE), LL_ACTIVATION);
    for (int step = 0; step < 1 + cut; step++) {
        ll_recorder_step_begin(toy->recorder);
        x = toy_op(toy, LL_OP_RELU, LL_PHASE_FORWARD, &x, 1, NULL, 0, LL_ACTIVATION, NULL);
        x = toy_op(toy, LL_OP_MATMUL, LL_PHASE_FORWARD, (uint32_t[]){x, x}, 2, NULL, 0, LL_ACTIVATION, NULL);
        ll_recorder_step_end(toy->recorder);
    }
    struct ll_trace *trace = toy_close(toy, path);
    trace->steps[0].complete = !cut;
    return trace;
}

static void a_step_that_was_cut_off_is_not_counted(void **state)
{
    (void)state;
    struct scene plain = played_on(record_cut(false), "", ""), cut = played_on(record_cut(true), "", "");
    assert_int_equal(cut.result->prepared->first_op, 2);
    assert_near(cut.result->time_s, plain.result->time_s, 0);
    for (uint32_t i = 0; i < LL_BOUND_COUNT; i++)
        assert_near(cut.result->shares[i], plain.result->shares[i], 0);
    for (uint32_t i = 0; i < 2; i++) {
        assert_near(cut.result->ops[i].start_s, plain.result->ops[i].start_s, 0);
        assert_near(cut.result->ops[i].time_s, plain.result->ops[i].time_s, 0);
    }
    close_scene(&plain);
    close_scene(&cut);
}

/* A matrix goes to the host and comes back. */
static void what_waits_on_the_host_has_its_way_paid(void **state)
{
    (void)state;
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    struct ll_shape square = toy_matrix(SIDE, SIDE);
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, square, LL_ACTIVATION);
    ll_recorder_step_begin(toy->recorder);
    uint32_t token = toy_op(toy, LL_OP_TO_HOST, LL_PHASE_FORWARD, &x, 1, NULL, 0, LL_WORKSPACE, &square);
    toy_op(toy, LL_OP_FROM_HOST, LL_PHASE_BACKWARD, &token, 1, NULL, 0, LL_ACTIVATION, &square);
    ll_recorder_step_end(toy->recorder);
    struct scene scene =
        played_on(toy_close(toy, path), "", "energy: {mac_pj: {f32: 2}, off_chip_pj: 10, host_pj: 5}\n");
    assert_near(scene.result->energy.host_j, 2 * 16384 * 5e-12, 1e-12);
    assert_near(scene.result->energy.level_j[0], 2 * 16384 * 10e-12, 1e-12);
    close_scene(&scene);
}

/* 4096 elements, one operation each, two matrices moved. */
static void what_is_no_product_has_a_price_of_its_own(void **state)
{
    (void)state;
    struct scene scene = played_on(record_relu(LL_F32), "",
                                   "energy: {mac_pj: {f32: 2}, op_pj: {f32: 0.25}, dram_pj_per_byte: 7}\n");
    struct ll_result r = *scene.result;
    assert_near(r.energy.compute_j, 4096 * 0.25e-12, 1e-12);
    assert_near(r.energy.level_j[0], 2 * 16384 * 7e-12, 1e-12);
    assert_true(isnan(r.area_m2) && r.energy.static_j == 0);
    close_scene(&scene);
    scene =
        played_on(record_relu(LL_F32), "", "energy: {mac_pj: {f32: 2}, static_w: 3, leakage_w_per_mm2: 9}\n");
    r = *scene.result;
    assert_near(r.energy.compute_j, 4096 * 1e-12, 1e-12); /* half a multiply-accumulate */
    assert_near(r.energy.static_j, 3 * r.time_s, 1e-12);
    close_scene(&scene);
    scene = played_on(record_relu(LL_F32), "", "energy: {leakage_w_per_mm2: 9}\n"); /* of no known area */
    assert_near(scene.result->energy.static_j, 0, 0);
    close_scene(&scene);
}

/* The lanes of this machine have no f16. */
static void what_is_computed_in_a_wider_type_costs_what_that_costs(void **state)
{
    (void)state;
    struct scene scene =
        played_on(record_relu(LL_F16), "", "energy: {mac_pj: {f32: 2}, op_pj: {f16: 0.01, f32: 0.25}}\n");
    assert_near(scene.result->energy.compute_j, 4096 * 0.25e-12, 1e-12);
    close_scene(&scene);
}

/* Of 8x8 results of 16 channels out of 3x3 windows of as many. */
static struct ll_trace *record_conv(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    char path[64];
    const struct ll_shape image = {.dim = {1, 10, 10, 16}, .dtype = LL_F32, .rank = 4};
    const struct ll_shape filter = {.dim = {3, 3, 16, 16}, .dtype = LL_F32, .rank = 4};
    toy_open(toy, path);
    uint32_t x = toy_bring(toy, image, LL_ACTIVATION), w = toy_bring(toy, filter, LL_WEIGHT);
    ll_recorder_step_begin(toy->recorder);
    toy_op(toy, LL_OP_CONV2D, LL_PHASE_FORWARD, (uint32_t[]){x, w}, 2, NULL, 0, LL_ACTIVATION, NULL);
    ll_recorder_step_end(toy->recorder);
    return toy_close(toy, path);
}

/* Winograd's F(2, 3) multiplies 16 points of each of 16 tiles, instead of 9 taps of 64 pixels. */
static void who_multiplies_less_often_takes_less_energy(void **state)
{
    (void)state;
    static const char begin[] = UNITS "  - {name: dram, size: 16GiB, bandwidth: 1000TB/s}\n"
                                      "energy: {mac_pj: {f32: 2}}\n";
    static const char winograd[] =
        "software: {transforms: [{name: f23, size: 4, most_filter: 3, rate: {f32: 1}, fused: true}]}\n";
    for (int transforms = 0; transforms <= 1; transforms++) {
        struct ll_str text = {0};
        ll_str_addf(&text, "%s%s", begin, transforms ? winograd : "");
        struct scene scene = open_scene(record_conv(), text.text);
        play(&scene);
        double macs = transforms ? 16 * 16 * 16 * 16 : 64 * 9 * 16 * 16;
        assert_near(scene.result->energy.compute_j, macs * 2e-12, 1e-12);
        ll_str_release(&text);
        close_scene(&scene);
    }
}

/* Of a convolution on an array: multiplications, and what its registers take, which no byte of a level tells.
 * Each of the 64 elements reads its register once a multiplication: 1 pJ. */
static void registers_of_an_array_stand_apart_from_arithmetic(void **state)
{
    (void)state;
    static const char text[] =
        "name: array\nclock: 1GHz\nunits:\n"
        "  - {name: pes, model: array, axes: 8x8, macs: {f32: 1}, runs: [matrix, conv], registers: [{name: "
        "rf, "
        "size: 64B, holds: [weight], accesses: {width: 32, read_pj: 1, write_pj: 1}}], "
        "limits: [\"rf: keep weight\"]}\n"
        "  - {name: simd, model: vector, lanes: 4, flops: {f32: 1, i32: 1, bool: 1}}\n"
        "memory: [{name: dram, size: 1GiB, bandwidth: 64B/cycle}]\n"
        "software: {mapping: search}\n"
        "energy: {mac_pj: {f32: 2}, off_chip_pj: 10}\n";
    struct scene scene = open_scene(record_conv(), text);
    play(&scene);
    assert_non_null(scene.result);
    const struct ll_energy_parts *parts = &scene.result->energy;
    double macs = 64 * 9 * 16 * 16;
    assert_near(parts->compute_j, macs * 2e-12, 1e-12);
    assert_true(parts->registers_j >= macs * 1e-12 / 64 && parts->registers_j <= 3 * macs * 1e-12);
    assert_true(parts->level_j[0] >= (10 * 10 * 16 + 9 * 16 * 16 + 64 * 16) * 4 * 10e-12 * (1 - 1e-12));
    assert_near(scene.result->energy_j, ll_energy_sum(parts), 1e-12);
    close_scene(&scene);
}

/* The square root of 16 KiB is 4, of a bank of 4 KiB 2. What comes from outside is written before it is
 * read; how much that is is the simulator's business. */
static void a_memory_costs_by_the_root_of_its_size_or_its_banks(void **state)
{
    (void)state;
    for (int banks = 0; banks <= 1; banks++) {
        struct ll_str more = {0};
        ll_str_addf(&more, "energy: {mac_pj: {f32: 2}, on_chip_pj: 3%s}\n",
                    banks ? ", on_chip_bank: 4KiB" : "");
        struct scene scene =
            played_on(record_relu(LL_F32), "  - {name: near, size: 16KiB, bandwidth: 1TB/s}\n", more.text);
        struct ll_result r = *scene.result;
        double accessed = r.level_bytes[0] + r.level_bytes[1];
        assert_near(r.energy.level_j[0], accessed * 3e-12 * (banks ? 2 : 4), 1e-12);
        assert_true(r.energy.level_j[0] > 0 && r.energy.level_j[1] == 0);
        ll_str_release(&more);
        close_scene(&scene);
    }
}

static void a_machine_that_does_not_compute_in_the_type_is_refused_once(void **state)
{
    (void)state;
    static const char lame[] = "name: lame\nclock: 1GHz\nunits:\n"
                               "  - {name: array, model: matrix, macs: {bf16: 64}}\n"
                               "  - {name: simd, model: vector, lanes: 8, flops: {bf16: 2}}\n"
                               "memory:\n  - {name: dram, size: 1GiB, bandwidth: 1GB/s}\n";
    struct scene scene = open_scene(record_steps(), lame);
    play(&scene);
    assert_null(scene.result);
    assert_int_equal(scene.diags.count, 1);
    assert_non_null(
        strstr(scene.diags.kept[0].message, "computes in f32, as toy does, or a wider type; as bf16"));
    close_scene(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_op_takes_its_cycles_and_its_start),
        cmocka_unit_test(a_slow_host_is_waited_for),
        cmocka_unit_test(a_fast_host_stays_two_steps_ahead),
        cmocka_unit_test(with_one_buffer_inputs_and_products_take_turns),
        cmocka_unit_test(fused_ops_leave_one_gap),
        cmocka_unit_test(steps_behind_an_unfinished_one_are_replayed_as_those_before_it),
        cmocka_unit_test(a_queue_hides_what_starting_ops_takes),
        cmocka_unit_test(what_the_software_does_behind_the_launch_hides_the_work),
        cmocka_unit_test(a_queue_does_not_hide_gaps),
        cmocka_unit_test(a_short_queue_keeps_the_software_waiting),
        cmocka_unit_test(the_host_decides_on_each_further_turn_of_a_loop),
        cmocka_unit_test(starting_ops_is_a_share_of_its_own),
        cmocka_unit_test(energy_is_counted_by_operation_by_byte_and_by_time),
        cmocka_unit_test(a_step_that_was_cut_off_is_not_counted),
        cmocka_unit_test(what_waits_on_the_host_has_its_way_paid),
        cmocka_unit_test(what_is_no_product_has_a_price_of_its_own),
        cmocka_unit_test(what_is_computed_in_a_wider_type_costs_what_that_costs),
        cmocka_unit_test(who_multiplies_less_often_takes_less_energy),
        cmocka_unit_test(registers_of_an_array_stand_apart_from_arithmetic),
        cmocka_unit_test(a_memory_costs_by_the_root_of_its_size_or_its_banks),
        cmocka_unit_test(a_machine_that_does_not_compute_in_the_type_is_refused_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
