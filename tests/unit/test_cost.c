/* SPDX-License-Identifier: Apache-2.0 */
#include "array_and_lanes.h"
#include "check.h"
#include "samples.h"

#include "toy_machine.h"

/* An array for f16 products, lanes for f32 and f16, a private memory, a shared one and the outermost. All
 * numbers round, so that times can be followed by hand. */
static struct ll_machine simple(void)
{
    struct ll_machine machine = array_and_lanes();
    machine.level_count = 3;
    machine.levels[0] = (struct ll_level){
        .name = "local", .size_bytes = 4000, .bandwidth_Bps = 1e9, .efficiency = 1, .scope = LL_SCOPE_UNIT};
    machine.levels[1] =
        (struct ll_level){.name = "shared", .size_bytes = 1000000, .bandwidth_Bps = 2e9, .efficiency = 1};
    machine.levels[2] =
        (struct ll_level){.name = "outer", .size_bytes = 1000000000, .bandwidth_Bps = 1e9, .efficiency = 1};
    machine.software.op_overhead_s = 3e-6;
    machine.host = (struct ll_host){.bandwidth_Bps = 1e9, .latency_s = 1e-6};
    return machine;
}

static struct ll_timing timing_of(const struct ll_machine *machine, const struct ll_cost *cost,
                                  const struct ll_warm_bytes *found)
{
    struct ll_timing timing;
    ll_cost_time(machine, cost, found, &timing);
    return timing;
}

/* 40 f16 elements on lanes that know f32 only, two casts a unit and cycle: 40 / (2 * 4) = 5 cycles more. */
static void a_type_without_instructions_is_cast(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    machine.units[1].vector.flops[LL_F16] = 0;
    struct ll_work work = {.kind = LL_WORK_VECTOR,
                           .dtype = LL_F16,
                           .flops = 20,
                           .a_bytes = 40,
                           .c_bytes = 40,
                           .vector = {.elements = 20}};
    double plain = cost_of(&machine, LL_OP_RELU, &work).compute_s;
    machine.units[1].vector.casts[LL_F16] = 2;
    struct ll_cost cost = cost_of(&machine, LL_OP_RELU, &work);
    assert_near(cost.compute_s - plain, 5e-9, 1e-12);
    assert_near(cost.compute_cycles, cost.compute_s * 1e9, 1e-12);
    work.dtype = LL_F32;
    assert_near(cost_of(&machine, LL_OP_RELU, &work).compute_s, plain, 1e-12);
}

/* The product's own unit does not wait for casts of a type that it knows. */
static void a_product_in_its_own_type_is_not_cast(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {.kind = LL_WORK_GEMM,
                           .dtype = LL_F16,
                           .flops = 2 * 8 * 8 * 8,
                           .a_bytes = 128,
                           .b_bytes = 128,
                           .c_bytes = 128,
                           .gemm = {1, 8, 8, 8}};
    double plain = cost_of(&machine, LL_OP_MATMUL, &work).compute_s;
    machine.units[1].vector.casts[LL_F16] = 2;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_s, plain, 0);
    machine.units[0].matrix.macs[LL_F16] = machine.units[1].vector.flops[LL_F16] = 0;
    machine.units[0].matrix.macs[LL_F32] = 1000;
    double cast = cost_of(&machine, LL_OP_MATMUL, &work).compute_s;
    machine.units[1].vector.casts[LL_F16] = 0;
    assert_near(cast - cost_of(&machine, LL_OP_MATMUL, &work).compute_s, 192.0 / 8 * 1e-9, 1e-12);
}

static void data_from_the_host_takes_the_hosts_way(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {.kind = LL_WORK_HOST, .c_bytes = 2000};
    struct ll_cost cost = cost_of(&machine, LL_OP_HOST_INPUT, &work);
    struct ll_timing timing = timing_of(&machine, &cost, NULL);
    assert_near(timing.time_s, 1e-6 + 2e-6, 1e-15);
    assert_int_equal(timing.bound, LL_BOUND_HOST);
    machine.host.prepare_Bps = 2e8;
    machine.host.encode_Bps = 1e8;
    machine.host.workers = 2;
    cost = cost_of(&machine, LL_OP_HOST_INPUT, &work);
    assert_near(timing_of(&machine, &cost, NULL).time_s, 5e-6 + 3e-6, 1e-15);
    cost = cost_of(&machine, LL_OP_ONE_HOT, &work); /* goes with the input that it is made of */
    assert_near(timing_of(&machine, &cost, NULL).time_s, 10e-6 + 2e-6, 1e-15);
    machine.host = (struct ll_host){0};
    cost = cost_of(&machine, LL_OP_HOST_INPUT, &work);
    assert_near(timing_of(&machine, &cost, NULL).time_s, 0, 0);
}

static void a_unit_that_names_the_kind_goes_before_one_that_takes_all(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = gemm_work(LL_F16, 1, 10, 10, 10);
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &work).unit, 0);
    assert_int_equal(cost_of(&machine, LL_OP_CONV2D, &work).unit, 1);
}

/* The array does no f32; the lanes do, and also bf16, which they do not list, as f32. Nobody does f64. */
/* Two of 64, 64 and 65 are multiples of 32, one of 64, 65 and 65 is; with no other unit the first takes both.
 */
static void a_product_goes_to_the_first_unit_that_its_sides_suit(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work two = gemm_work(LL_F16, 1, 64, 64, 65), one = gemm_work(LL_F16, 1, 64, 65, 65);
    machine.units[0].align = 32;
    machine.units[machine.unit_count++] = machine.units[0];
    machine.units[2].align = 0;
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &two).unit, 0);
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &one).unit, 2);
    machine.unit_count--;
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &one).unit, 0);
}

/* Of f16, 16 bytes are 8 elements: n and k are asked, m and convolutions are not, nor products whose sides
 * stand for something else. */
static void a_product_goes_to_the_first_unit_that_its_lines_suit(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work whole = gemm_work(LL_F16, 1, 65, 64, 64), n = gemm_work(LL_F16, 1, 64, 65, 64),
                   k = gemm_work(LL_F16, 1, 64, 64, 65);
    machine.units[0].line_align = 16;
    machine.units[machine.unit_count++] = machine.units[0];
    machine.units[2].line_align = 0;
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &whole).unit, 0);
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &n).unit, 2);
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &k).unit, 2);
    n.along_k = LL_LINES_ELSEWHERE;
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &n).unit, 0);
    machine.unit_count--;
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &k).unit, 0);
}

/* The first unit runs single products, a further one batches. */
static void a_batch_of_one_goes_where_single_products_go(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work one = gemm_work(LL_F16, 1, 64, 64, 64), two = gemm_work(LL_F16, 2, 64, 64, 64);
    machine.units[machine.unit_count++] = machine.units[0];
    machine.units[0].runs[LL_OP_BATCH_MATMUL] = false;
    machine.units[2].runs[LL_OP_MATMUL] = false;
    machine.units[2].runs[LL_OP_BATCH_MATMUL] = true;
    assert_int_equal(cost_of(&machine, LL_OP_BATCH_MATMUL, &two).unit, 2);
    assert_int_equal(cost_of(&machine, LL_OP_BATCH_MATMUL, &one).unit, 0);
}

static void channels_of_their_own_go_to_lanes_where_software_says_so(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_conv conv = {4, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 16, LL_CONV_FORWARD, 1, 1};
    struct ll_work work = conv_work(LL_F16, conv);
    machine.units[0].runs[LL_OP_CONV2D] = true;
    assert_int_equal(cost_of(&machine, LL_OP_CONV2D, &work).unit, 0);
    machine.software.depthwise_efficiency = 0.5;
    assert_int_equal(cost_of(&machine, LL_OP_CONV2D, &work).unit, 1);
    conv.groups = 8;
    work = conv_work(LL_F16, conv);
    assert_int_equal(cost_of(&machine, LL_OP_CONV2D, &work).unit, 0);
}

static void a_dtype_that_no_unit_lists_is_computed_in_a_wider_one(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work f32 = gemm_work(LL_F32, 1, 10, 10, 10), bf16 = gemm_work(LL_BF16, 1, 10, 10, 10);
    struct ll_work f64 = gemm_work(LL_F64, 1, 10, 10, 10);
    struct ll_cost cost;
    const char *trouble;
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &f32).unit, 1);
    assert_int_equal(cost_of(&machine, LL_OP_MATMUL, &bf16).unit, 1);
    assert_false(ll_cost_op(&machine, LL_OP_MATMUL, &f64, &cost, &trouble));
    assert_non_null(trouble);
}

static void devices_that_exchange_data_are_not_asked_of_one(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_cost cost;
    const char *trouble;
    assert_false(
        ll_cost_op(&machine, LL_OP_ADD, &(struct ll_work){.kind = LL_WORK_COLLECTIVE}, &cost, &trouble));
    assert_non_null(trouble);
}

/* 4 units, each with a quarter of the columns: 100 x 25 outputs, k = 50. The left operand is read by all four
 * (4 * 10000 bytes), the right once (10000), the output once (20000). */
static void what_private_memories_share_is_moved_to_each(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    machine.units[0].matrix.tiles[0] = (struct ll_tile){100, 25, 50};
    machine.units[0].matrix.tile_count = 1;
    machine.levels[0].size_bytes = 1000000;
    struct ll_work work = gemm_work(LL_F16, 1, 100, 100, 50);
    struct ll_cost cost = cost_of(&machine, LL_OP_MATMUL, &work);
    assert_near(cost.level_bytes[1], 4 * 10000 + 10000 + 20000, 1e-15);
    assert_near(cost.level_bytes[2], 10000 + 10000 + 20000, 1e-15);
    assert_near(cost.level_s[0], cost.level_bytes[0] / 4e9, 1e-15); /* four memories at 1 GB/s */
    assert_near(cost.level_s[1], cost.level_bytes[1] / 2e9, 1e-15);
}

/* 1000 floats in, 1000 out: 8000 bytes over 1 GB/s, beside 25 vectors of 40 lanes. */
static void the_slowest_stage_sets_the_pace(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {
        .kind = LL_WORK_VECTOR, .dtype = LL_F32, .flops = 1000, .a_bytes = 4000, .c_bytes = 4000};
    work.vector.elements = 1000;
    struct ll_cost cost = cost_of(&machine, LL_OP_RELU, &work);
    struct ll_timing timing = timing_of(&machine, &cost, NULL);
    assert_near(cost.compute_cycles, 25, 1e-15);
    assert_near(timing.time_s, 8e-6 + 1e-9, 1e-12); /* and one vector after the last byte */
    assert_near(timing.exposed_s, 1e-9, 1e-6);
    assert_near(timing.overhead_s, 3e-6, 0);
    assert_int_equal(timing.bound, LL_BOUND_LEVEL + 2);
    assert_string_equal(ll_bound_name(&machine, timing.bound), "outer");
    for (int k = 1; k <= 1000; k++) { /* whatever a rate such as 0.167 a cycle is rounded to */
        machine.units[1].vector.flops[LL_F32] = k / 1000.;
        cost = cost_of(&machine, LL_OP_RELU, &work);
        assert_true(cost.utilization <= 1 && cost.utilization > 1 - 1e-12);
    }
}

/* With 6000 of the 8000 bytes still in the shared memory, that memory (8000 bytes at 2 GB/s) is slower. */
static void what_was_left_inside_is_not_moved_again(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {.kind = LL_WORK_MOVE, .a_bytes = 4000, .c_bytes = 4000};
    struct ll_cost cost = cost_of(&machine, LL_OP_CAST, &work);
    struct ll_warm_bytes found = {.saved_bytes = {0, 0, 6000}};
    struct ll_timing timing = timing_of(&machine, &cost, &found);
    assert_near(timing.time_s, 4e-6, 1e-15);
    assert_int_equal(timing.bound, LL_BOUND_LEVEL + 1);
    found.saved_bytes[1] = found.saved_bytes[2] = 1e9;
    assert_near(timing_of(&machine, &cost, &found).time_s, 2e-6,
                1e-15); /* 8000 bytes out of four local ones */
}

/* 4096 bytes are 64 lines, of 20 ns each, which the units share; computing hides as much as it takes longer
 * than the memory. */
static void others_drop_what_is_overwritten_while_the_unit_computes(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    machine.levels[1].cache.line_bytes = 64;
    machine.levels[1].cache.invalidation_s = 20e-9;
    struct ll_work work = {.kind = LL_WORK_MOVE, .a_bytes = 4000, .c_bytes = 4096};
    struct ll_cost cost = cost_of(&machine, LL_OP_CAST, &work);
    struct ll_warm_bytes found = {.shared_bytes = {0, 4096, 0}};
    double drop_s = 64 * 20e-9 / (double)cost.units_used;
    double moving_s = timing_of(&machine, &cost, NULL).time_s;
    const double computing_s[] = {0, moving_s / 2, moving_s, moving_s + drop_s / 4, moving_s + 2 * drop_s};
    for (size_t i = 0; i < sizeof computing_s / sizeof *computing_s; i++) {
        cost.compute_s = computing_s[i];
        assert_near(timing_of(&machine, &cost, &found).time_s, fmax(moving_s + drop_s, computing_s[i]),
                    1e-15);
    }
}

static void a_tiny_op_waits_for_its_dependent_accesses(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    machine.levels[2].latency_s = 1e-6;
    struct ll_work work = {.kind = LL_WORK_MOVE, .a_bytes = 4, .c_bytes = 4};
    struct ll_cost cost = cost_of(&machine, LL_OP_CAST, &work);
    assert_int_equal(timing_of(&machine, &cost, NULL).bound, LL_BOUND_DEPENDENCY);
    struct ll_warm_bytes found = {.saved_bytes = {0, 0, 8}};
    assert_true(timing_of(&machine, &cost, &found).time_s < 1e-7);
}

/* 10 steps of 1 x 1000 x 100: 200 kB of weights fit in half of the shared 1 MB once, in half of 300 kB never.
 */
static void resident_weights_are_moved_once(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    machine.levels[1].bandwidth_Bps = 1e12; /* as many copies of the left operand as there are units */
    struct ll_work work = gemm_work(LL_F16, 1, 1, 1000, 100);
    struct ll_gemm step = work.gemm;
    work.kind = LL_WORK_SEQUENCE;
    work.sequence.steps = 10;
    work.sequence.step = step;
    work.a_bytes *= 10;
    work.c_bytes *= 10;
    work.flops *= 10;
    double moved = (double)work.a_bytes + (double)work.c_bytes;
    struct ll_cost cost = cost_of(&machine, LL_OP_MATMUL, &work);
    assert_near(cost.level_bytes[2], moved + 200000, 1e-15);
    assert_near(cost.compute_cycles, 10 * 1000 * 100 / 4000.0, 1e-15);
    struct ll_work others = work; /* other weights in each step */
    others.sequence.fresh = 1;
    others.b_bytes *= 10;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &others).level_bytes[2], moved + 10 * 200000, 1e-15);
    machine.levels[1].size_bytes = 300000;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).level_bytes[2], moved + 10 * 200000, 1e-15);
    machine.levels[1].latency_s = machine.levels[2].latency_s = 1e-6;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).level_wait_s[2], 1e-6, 1e-15);
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).level_wait_s[1], 10e-6, 1e-15);
}

static void flops_beside_the_products_take_time_too(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    machine.levels[1].bandwidth_Bps = 1e12;
    struct ll_work work = gemm_work(LL_F16, 1, 10, 10, 10);
    work.flops += 8000;
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_cycles, (2000 + 8000) / 8000.0, 1e-15);
}

static void a_product_of_nothing_computes_nothing(void **state)
{
    (void)state;
    struct dice dice = {50};
    for (int i = 0; i < 2000; i++) {
        struct ll_machine machine = random_machine(&dice);
        uint64_t dims[4] = {3, 4, 5, 6};
        dims[roll_between(&dice, 0, 3)] = 0;
        struct ll_work work = gemm_work(LL_F16, dims[0], dims[1], dims[2], dims[3]);
        struct ll_cost cost = cost_of(&machine, LL_OP_MATMUL, &work);
        assert_near(cost.compute_s, 0, 0);
        assert_near(cost.level_bytes[machine.level_count - 1],
                    (double)(work.a_bytes + work.b_bytes + work.c_bytes), 0);
    }
}

/* 4000 B read, 4000 B written, 1000 FLOP: with a grain of 2500 B that is work for three of the four units. On
 * 3 x 10 lanes 1000 additions are 34 cycles; the lanes could have done 4 x 10 x 34 meanwhile. */
static void work_below_the_grain_stays_on_few_units(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {
        .kind = LL_WORK_VECTOR, .dtype = LL_F32, .flops = 1000, .a_bytes = 4000, .c_bytes = 4000};
    work.vector.elements = 1000;
    machine.software.grain = 2500;
    struct ll_cost cost = cost_of(&machine, LL_OP_ADD, &work);
    assert_int_equal(cost.units_used, 3);
    assert_near(cost.compute_cycles, 34, 0);
    assert_near(cost.utilization, 1000.0 / (4 * 10 * 34), 1e-15);
    machine.software.grain = 9000;
    assert_int_equal(cost_of(&machine, LL_OP_ADD, &work).units_used, 1);
    machine.software.grain = 0;
    assert_int_equal(cost_of(&machine, LL_OP_ADD, &work).units_used, 4);
}

/* Of 8000 pairs of numbers. */
static struct ll_work additions(void)
{
    return (struct ll_work){.kind = LL_WORK_VECTOR,
                            .dtype = LL_F32,
                            .flops = 8000,
                            .a_bytes = 64000,
                            .c_bytes = 32000,
                            .vector = {.elements = 8000}};
}

/* 30000 bytes out of the shared memory, 2 GB/s for all and 0.8 for a unit: four units, and three, draw all
 * there is, one unit what it can. The grain tells how many work. */
static void a_unit_draws_what_it_can(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {.kind = LL_WORK_VECTOR,
                           .dtype = LL_F32,
                           .flops = 3000,
                           .a_bytes = 15000,
                           .c_bytes = 15000,
                           .vector = {.elements = 3000}};
    machine.levels[1].unit_Bps = 0.8e9;
    assert_near(cost_of(&machine, LL_OP_RELU, &work).level_s[1], 30000 / 2e9, 1e-15);
    machine.software.grain = 10000;
    assert_near(cost_of(&machine, LL_OP_RELU, &work).level_s[1], 30000 / 2e9, 1e-15);
    machine.software.grain = 30000;
    assert_near(cost_of(&machine, LL_OP_RELU, &work).level_s[1], 30000 / 0.8e9, 1e-15);
    machine.levels[1].unit_Bps = 0;
    assert_near(cost_of(&machine, LL_OP_RELU, &work).level_s[1], 30000 / 2e9, 1e-15);
}

/* Of 8000 additions on 40 lanes, 64000 bytes read and 32000 written at 2 GB/s and 1 GB/s: a sixth of the rate
 * makes it six times as long; half the bandwidth and reading twice 10/3 times. */
static void a_kernel_falls_short_of_the_machine(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = additions();
    machine.software.kernel_count = 2;
    machine.software.kernels[0] = (struct ll_kernel){.name = "slow",
                                                     .launch_overhead_s = 7e-6,
                                                     .compute_efficiency = 1.0 / 6,
                                                     .bandwidth_efficiency = 0.5,
                                                     .passes = 2};
    machine.software.kernels[0].ops[LL_OP_ADD] = true;
    machine.software.kernels[1] = (struct ll_kernel){
        .name = "alone", .compute_efficiency = 1, .bandwidth_efficiency = 1, .passes = 1, .max_units = 1};
    machine.software.kernels[1].ops[LL_OP_ADD] = machine.software.kernels[1].ops[LL_OP_MUL] = true;
    struct ll_cost plain = cost_of(&machine, LL_OP_SUB, &work), slow = cost_of(&machine, LL_OP_ADD, &work),
                   alone = cost_of(&machine, LL_OP_MUL, &work);
    assert_near(plain.compute_s, 200e-9, 1e-15);
    assert_near(slow.compute_s, 1200e-9, 1e-15);
    assert_near(alone.compute_s, 800e-9, 1e-15);
    assert_near(plain.level_s[2], 96e-6, 1e-15);
    assert_near(slow.level_s[2], 2 * 160e-6, 1e-15);
    assert_near(timing_of(&machine, &plain, NULL).overhead_s, 3e-6, 1e-18);
    assert_near(timing_of(&machine, &slow, NULL).overhead_s, 7e-6, 1e-18);
}

/* One tile of 10 x 10 x 10 in one slice: one of four units has all of it, as the tiles say already. */
static void idle_units_are_counted_once(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = gemm_work(LL_F16, 1, 10, 10, 10);
    machine.units[0].matrix.tiles[0] = (struct ll_tile){10, 10, 10};
    machine.units[0].matrix.tile_count = 1;
    double even = cost_of(&machine, LL_OP_MATMUL, &work).compute_cycles;
    machine.software.kernel_count = 1;
    machine.software.kernels[0] = (struct ll_kernel){
        .name = "slices", .compute_efficiency = 1, .bandwidth_efficiency = 1, .passes = 1, .partition = 10};
    machine.software.kernels[0].ops[LL_OP_MATMUL] = true;
    struct ll_cost cost = cost_of(&machine, LL_OP_MATMUL, &work);
    assert_near(cost.compute_cycles, even, 1e-15);
    assert_int_equal(cost.units_used, 1);
    work = gemm_work(LL_F16, 2, 30, 10, 10); /* two of four units have three tiles each; even are two waves */
    assert_near(cost_of(&machine, LL_OP_MATMUL, &work).compute_cycles, 3 * even, 1e-15);
}

/* Tiles are chosen by what the op takes with them, what does not overlap included. */
static void more_bandwidth_is_no_slower_where_little_overlaps(void **state)
{
    (void)state;
    struct ll_machine *machine = ll_toy_machine(
        "name: Toy\nclock: 1GHz\nunits:\n  - {name: mat, model: matrix, count: 80, macs: {f32: 1024}, "
        "fill_cycles: 200, tiles: [16x16x16, 32x32x16, 64x64x16, 128x128x16, 256x128x32], runs: [matrix]}\n"
        "  - {name: simd, model: vector, count: 80, lanes: 64, flops: {f32: 2}}\n"
        "memory:\n  - {name: l2, size: 4MiB, bandwidth: 1TB/s}\n"
        "  - {name: hbm, size: 64GiB, bandwidth: 20TB/s}\n"
        "software: {kernels: [{name: dense, ops: [matrix], serial: 1}]}\n");
    static const uint64_t extents[] = {100, 300, 1000, 3000};
    for (int i = 0; i < 64; i++) {
        struct ll_work work = gemm_work(LL_F32, 1, extents[i % 4], extents[i / 4 % 4], extents[i / 16]);
        double before_s = INFINITY;
        for (double rate_Bps = 1e12; rate_Bps < 1e14; rate_Bps *= 1.1) {
            struct ll_cost cost;
            struct ll_timing timing;
            const char *trouble;
            machine->levels[0].bandwidth_Bps = rate_Bps;
            assert_true(ll_cost_op(machine, LL_OP_MATMUL, &work, &cost, &trouble));
            ll_cost_time(machine, &cost, NULL, &timing);
            assert_true(timing.time_s <= before_s * (1 + 1e-12));
            before_s = timing.time_s;
        }
    }
    ll_machine_free(machine);
}

/* A softmax over no rows, by a kernel that deals them out whole. */
static void rows_of_nothing_take_no_time(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {.kind = LL_WORK_VECTOR, .dtype = LL_F32, .vector = {.elements = 0, .row = 2048}};
    machine.software.kernel_count = 1;
    machine.software.kernels[0] = (struct ll_kernel){
        .name = "rows", .compute_efficiency = 1, .bandwidth_efficiency = 1, .passes = 1, .rows_in_flight = 3};
    machine.software.kernels[0].ops[LL_OP_SOFTMAX] = true;
    assert_near(cost_of(&machine, LL_OP_SOFTMAX, &work).compute_s, 0, 0);
}

static void steps_are_in_every_bound_once(void **state)
{
    (void)state;
    struct ll_machine machine = simple();
    struct ll_work work = {.kind = LL_WORK_SEQUENCE,
                           .dtype = LL_F16,
                           .flops = 2 * 8 * 64 * 64 * 64,
                           .a_bytes = 8 * 64 * 64 * 2,
                           .b_bytes = 64 * 64 * 2,
                           .c_bytes = 8 * 64 * 64 * 2,
                           .sequence = {.steps = 8, .step = {.batch = 1, .m = 64, .n = 64, .k = 64}}};
    struct ll_bounds without = ll_cost_bounds(&machine, LL_OP_MATMUL, &work);
    machine.software.step_overhead_s = 1e-3;
    struct ll_bounds with = ll_cost_bounds(&machine, LL_OP_MATMUL, &work);
    assert_near(with.bound_s - without.bound_s, 8e-3, 1e-9);
    assert_near(with.pipelined_s - without.pipelined_s, 8e-3, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_without_instructions_is_cast),
        cmocka_unit_test(a_product_in_its_own_type_is_not_cast),
        cmocka_unit_test(data_from_the_host_takes_the_hosts_way),
        cmocka_unit_test(a_unit_that_names_the_kind_goes_before_one_that_takes_all),
        cmocka_unit_test(channels_of_their_own_go_to_lanes_where_software_says_so),
        cmocka_unit_test(a_product_goes_to_the_first_unit_that_its_sides_suit),
        cmocka_unit_test(a_product_goes_to_the_first_unit_that_its_lines_suit),
        cmocka_unit_test(a_batch_of_one_goes_where_single_products_go),
        cmocka_unit_test(a_dtype_that_no_unit_lists_is_computed_in_a_wider_one),
        cmocka_unit_test(devices_that_exchange_data_are_not_asked_of_one),
        cmocka_unit_test(what_private_memories_share_is_moved_to_each),
        cmocka_unit_test(the_slowest_stage_sets_the_pace),
        cmocka_unit_test(what_was_left_inside_is_not_moved_again),
        cmocka_unit_test(others_drop_what_is_overwritten_while_the_unit_computes),
        cmocka_unit_test(a_tiny_op_waits_for_its_dependent_accesses),
        cmocka_unit_test(resident_weights_are_moved_once),
        cmocka_unit_test(flops_beside_the_products_take_time_too),
        cmocka_unit_test(a_product_of_nothing_computes_nothing),
        cmocka_unit_test(work_below_the_grain_stays_on_few_units),
        cmocka_unit_test(a_unit_draws_what_it_can),
        cmocka_unit_test(a_kernel_falls_short_of_the_machine),
        cmocka_unit_test(idle_units_are_counted_once),
        cmocka_unit_test(more_bandwidth_is_no_slower_where_little_overlaps),
        cmocka_unit_test(rows_of_nothing_take_no_time),
        cmocka_unit_test(steps_are_in_every_bound_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
