/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost.h"
#include "sim/cost/cost_parts.h"

#include <stdlib.h>
#include <string.h>

/* --- a naive twin, which runs every loop of a convolution, block by block --- */

/* Elements of a tensor, stamped with the block that touched them last. */
struct tensor {
    uint32_t *stamps;
    uint64_t sides[6];
    double fetched;
};

static struct tensor new_tensor(const uint64_t sides[6])
{
    struct tensor t = {.fetched = 0};
    uint64_t elements = 1;
    for (int i = 0; i < 6; i++)
        elements *= t.sides[i] = sides[i];
    t.stamps = calloc(elements, sizeof *t.stamps);
    assert_non_null(t.stamps);
    return t;
}

/* Counts the element unless this block has it. */
static void touch(struct tensor *t, uint32_t block, const uint64_t at[6])
{
    uint64_t index = 0;
    for (int i = 0; i < 6; i++) {
        assert_true(at[i] < t->sides[i]);
        index = index * t->sides[i] + at[i];
    }
    t->fetched += t->stamps[index] != block;
    t->stamps[index] = block;
}

/* The eight loops in the roles that they have in a pass. */
struct loops {
    uint64_t of[LL_LOOP_COUNT];
};

static struct loops loops_of(const struct ll_conv *c)
{
    uint64_t in_c = c->in_c / c->groups, out_c = c->out_c / c->groups;
    struct loops forward = {{c->groups, c->batch, out_c, in_c, c->out_h, c->out_w, c->kernel_h, c->kernel_w}};
    struct loops data = {{c->groups, c->batch, in_c, out_c, c->out_h, c->out_w, c->kernel_h, c->kernel_w}};
    struct loops filter = {{c->groups, in_c, out_c, c->batch, c->kernel_h, c->kernel_w, c->out_h, c->out_w}};
    return c->pass == LL_CONV_FORWARD ? forward : c->pass == LL_CONV_DATA ? data : filter;
}

/* Where an iteration finds its operands, by what it does: the image and the filter and the result of the
 * pass. */
static void touch_all(const struct ll_conv *c, const uint64_t i[LL_LOOP_COUNT],
                      struct tensor t[LL_OPERAND_COUNT], const uint32_t blocks[LL_OPERAND_COUNT])
{
    const uint64_t g = i[LL_LOOP_G], b = i[LL_LOOP_B], k = i[LL_LOOP_K], ch = i[LL_LOOP_C];
    const uint64_t oy = i[LL_LOOP_OY], ox = i[LL_LOOP_OX], fy = i[LL_LOOP_FY], fx = i[LL_LOOP_FX];
    const uint64_t forward[][6] = {
        {g, b, ch, oy * c->stride_h + fy * c->dilation_h, ox * c->stride_w + fx * c->dilation_w, 0},
        {g, k, ch, fy, fx, 0},
        {g, b, k, oy, ox, 0}};
    /* Pixel oy of the phase to which tap fy belongs; the tap's row of dy lies so far before it. */
    const uint64_t far_y = fy / c->stride_h, far_x = fx / c->stride_w;
    const uint64_t data[][6] = {
        {g, b, ch, oy + c->kernel_h - far_y, ox + c->kernel_w - far_x, 0},
        {g, ch, k, fy, fx, 0},
        {g, b, k, oy * c->stride_h + fy % c->stride_h, ox * c->stride_w + fx % c->stride_w, 0}};
    const uint64_t filter[][6] = {
        {g, ch, b, fy * c->stride_h + oy * c->dilation_h, fx * c->stride_w + ox * c->dilation_w, 0},
        {g, ch, k, fy, fx, 0},
        {g, b, k, oy, ox, 0}};
    const uint64_t(*at)[6] = c->pass == LL_CONV_FORWARD ? forward : c->pass == LL_CONV_DATA ? data : filter;
    for (int o = 0; o < LL_OPERAND_COUNT; o++)
        touch(&t[o], blocks[o], at[o]);
}

/* A position of the loops, in blocks of so many iterations; taps of a gradient's phases lie a stride apart.
 * */
struct walk {
    const struct ll_conv *conv;
    struct loops loops;
    uint64_t by[LL_LOOP_COUNT];
};

static uint64_t phases_of(const struct walk *walk, int loop)
{
    const struct ll_conv *c = walk->conv;
    bool data = c->pass == LL_CONV_DATA;
    return data && loop == LL_LOOP_FY ? c->stride_h : data && loop == LL_LOOP_FX ? c->stride_w : 1;
}

static uint64_t blocks_of(const struct walk *walk, int loop)
{
    uint64_t phases = phases_of(walk, loop), count = 0;
    for (uint64_t phase = 0; phase < phases; phase++)
        for (uint64_t first = phase; first < walk->loops.of[loop]; first += walk->by[loop] * phases)
            count++;
    return count;
}

/* The first iteration of a block, and how many it has. */
static uint64_t block_start(const struct walk *walk, int loop, uint64_t block, uint64_t *length)
{
    uint64_t phases = phases_of(walk, loop), of = walk->loops.of[loop], by = walk->by[loop];
    for (uint64_t phase = 0; phase < phases; phase++)
        for (uint64_t first = phase; first < of; first += by * phases)
            if (block-- == 0) {
                *length = 0;
                while (*length < by && first + *length * phases < of)
                    ++*length;
                return first;
            }
    *length = 0;
    return 0;
}

/* All iterations within a block. */
static void run_block(const struct walk *walk, const uint64_t at[LL_LOOP_COUNT],
                      struct tensor t[LL_OPERAND_COUNT], const uint32_t stamps[LL_OPERAND_COUNT])
{
    uint64_t start[LL_LOOP_COUNT], length[LL_LOOP_COUNT], all = 1;
    for (int l = 0; l < LL_LOOP_COUNT; l++) {
        start[l] = block_start(walk, l, at[l], &length[l]);
        all *= length[l];
    }
    for (uint64_t n = 0; n < all; n++) {
        uint64_t i[LL_LOOP_COUNT], rest = n;
        for (int l = 0; l < LL_LOOP_COUNT; l++) {
            i[l] = start[l] + rest % length[l] * phases_of(walk, l);
            rest /= length[l];
        }
        touch_all(walk->conv, i, t, stamps);
    }
}

/* The number of the block of the loops that concern an operand: it is fetched anew when that changes. */
static uint32_t number_of(const uint64_t at[LL_LOOP_COUNT], const uint64_t blocks[LL_LOOP_COUNT],
                          const bool concern[LL_LOOP_COUNT])
{
    uint64_t number = 0;
    for (int l = 0; l < LL_LOOP_COUNT; l++)
        number = number * blocks[l] + (concern[l] ? at[l] : 0);
    return (uint32_t)number + 1;
}

struct counted {
    double steps;
    double fetched[LL_OPERAND_COUNT]; /* elements, and results written */
};

static double count_steps(const struct ll_conv *conv, const struct ll_unroll *unroll)
{
    struct walk walk = {.conv = conv, .loops = loops_of(conv)};
    double steps = 1;
    for (int l = 0; l < LL_LOOP_COUNT; l++) {
        walk.by[l] = unroll->by[l];
        steps *= (double)blocks_of(&walk, l);
    }
    return steps;
}

/* What a unit without any accumulators moves when one operand stays in place while loops that do not
 * concern it run; others come in each block. */
static struct counted count(const struct ll_conv *conv, const struct ll_unroll *unroll,
                            enum ll_dataflow dataflow)
{
    static const bool concern[][LL_LOOP_COUNT] = {
        /*                          G  B  K  C  OY OX FY FX */
        [LL_OUTPUT_STATIONARY] = {1, 1, 1, 0, 1, 1, 0, 0},
        [LL_WEIGHT_STATIONARY] = {1, 0, 1, 1, 0, 0, 1, 1},
        [LL_INPUT_STATIONARY] = {1, 1, 0, 1, 1, 1, 1, 1},
    };
    static const enum ll_operand stays[] = {LL_OPERAND_C, LL_OPERAND_B, LL_OPERAND_A};
    struct walk walk = {.conv = conv, .loops = loops_of(conv)};
    uint64_t blocks[LL_LOOP_COUNT], all = 1;
    for (int l = 0; l < LL_LOOP_COUNT; l++) {
        walk.by[l] = (uint64_t)unroll->by[l] * unroll->each[l];
        all *= blocks[l] = blocks_of(&walk, l);
    }
    uint64_t side[LL_LOOP_COUNT];
    memcpy(side, walk.loops.of, sizeof side);
    uint64_t high = 2 * (side[LL_LOOP_OY] + side[LL_LOOP_FY]) * 4,
             wide = 2 * (side[LL_LOOP_OX] + side[LL_LOOP_FX]) * 4;
    uint64_t most = ll_max(ll_max(side[LL_LOOP_B], side[LL_LOOP_C]), side[LL_LOOP_K]);
    const uint64_t sides[6] = {side[LL_LOOP_G], most, most, high, wide, 1};
    struct tensor t[LL_OPERAND_COUNT] = {new_tensor(sides), new_tensor(sides), new_tensor(sides)};
    struct tensor once = new_tensor(sides);
    for (uint64_t n = 0; n < all; n++) {
        uint64_t at[LL_LOOP_COUNT], rest = n;
        uint32_t stamps[LL_OPERAND_COUNT];
        for (int l = 0; l < LL_LOOP_COUNT; l++) {
            at[l] = rest % blocks[l];
            rest /= blocks[l];
        }
        for (int o = 0; o < LL_OPERAND_COUNT; o++)
            stamps[o] = (uint32_t)n + 1;
        stamps[stays[dataflow]] = number_of(at, blocks, concern[dataflow]);
        run_block(&walk, at, t, stamps);
    }
    /* Results go out in each block and come back but for the first time; those that stay go out once. */
    static const uint32_t ones[LL_OPERAND_COUNT] = {1, 1, 1};
    struct tensor results[LL_OPERAND_COUNT] = {new_tensor(sides), new_tensor(sides), once};
    for (int l = 0; l < LL_LOOP_COUNT; l++)
        walk.by[l] = walk.loops.of[l];
    for (uint64_t y = 0; y < blocks_of(&walk, LL_LOOP_FY); y++)
        for (uint64_t x = 0; x < blocks_of(&walk, LL_LOOP_FX); x++) {
            uint64_t at[LL_LOOP_COUNT] = {[LL_LOOP_FY] = y, [LL_LOOP_FX] = x};
            run_block(&walk, at, results, ones);
        }
    struct counted counted = {.steps = count_steps(conv, unroll)};
    counted.fetched[LL_OPERAND_A] = t[LL_OPERAND_A].fetched;
    counted.fetched[LL_OPERAND_B] = t[LL_OPERAND_B].fetched;
    counted.fetched[LL_OPERAND_C] = dataflow == LL_OUTPUT_STATIONARY
                                        ? results[LL_OPERAND_C].fetched
                                        : 2 * t[LL_OPERAND_C].fetched - results[LL_OPERAND_C].fetched;
    for (int o = 0; o < LL_OPERAND_COUNT; o++) {
        free(t[o].stamps);
        free(results[o].stamps);
    }
    return counted;
}

/* --- samples --- */

static struct ll_unroll random_unroll(struct dice *dice)
{
    struct ll_unroll unroll;
    for (int l = 0; l < LL_LOOP_COUNT; l++) {
        unroll.by[l] = (uint32_t)roll_between(dice, 1, 3);
        unroll.each[l] = roll_between(dice, 0, 2) ? 1 : (uint32_t)roll_between(dice, 1, 3);
    }
    return unroll;
}

/* Of dilated kernels with strides, gradients are not looked at: their phases are not those of the twin. */
static struct ll_conv small_conv(struct dice *dice)
{
    struct ll_conv c = {.batch = roll_between(dice, 1, 3), .groups = roll_between(dice, 1, 2)};
    c.in_c = c.groups * roll_between(dice, 1, 4);
    c.out_c = c.groups * roll_between(dice, 1, 4);
    c.kernel_h = roll_between(dice, 1, 4);
    c.kernel_w = roll_between(dice, 1, 4);
    c.stride_h = roll_between(dice, 1, 3);
    c.stride_w = roll_between(dice, 1, 3);
    c.pass = roll_between(dice, 0, 2);
    bool data = c.pass == LL_CONV_DATA;
    c.dilation_h = data ? 1 : roll_between(dice, 1, 3);
    c.dilation_w = data ? 1 : roll_between(dice, 1, 3);
    /* Every pixel of the input is in a window, so that gradients have none without a tap. */
    c.kernel_h = data ? ll_max(c.kernel_h, c.stride_h) : c.kernel_h;
    c.kernel_w = data ? ll_max(c.kernel_w, c.stride_w) : c.kernel_w;
    c.out_h = roll_between(dice, 1, 5);
    c.out_w = roll_between(dice, 1, 5);
    c.in_h = data ? c.out_h * c.stride_h : (c.out_h - 1) * c.stride_h + (c.kernel_h - 1) * c.dilation_h + 1;
    c.in_w = data ? c.out_w * c.stride_w : (c.out_w - 1) * c.stride_w + (c.kernel_w - 1) * c.dilation_w + 1;
    return c;
}

static struct ll_unit elements(struct ll_unroll unroll, enum ll_dataflow dataflow)
{
    struct ll_unit unit = {
        .name = "elements", .model = LL_UNIT_SPATIAL, .count = 1, .clock_hz = 1e9, .efficiency = 1};
    unit.spatial = (struct ll_spatial){
        .elements = 1 << 20, .unrolls = {unroll}, .unroll_count = 1, .dataflow = dataflow};
    unit.spatial.macs[LL_F32] = 1;
    return unit;
}

/* The convolution as it is: the first view of the only unrolling. Elements, as one pass over what the unit
 * reads counts them. */
static struct ll_kernel_config plain_way(const struct ll_unit *unit, const struct ll_task *task)
{
    struct ll_kernel_config way;
    assert_true(ll_unit_model(LL_UNIT_SPATIAL)->way(unit, task, 0, &way));
    return way;
}

static double bytes_of_element(const struct ll_task *task, enum ll_operand operand)
{
    const struct ll_windows *w = &task->problem.windows;
    return task->problem.element[operand] * (w->image == operand ? w->expansion : 1);
}

/* --- tests --- */

/* Strides that skip pixels have fewer elements in windows than the image, so that bytes for each of them
 * are not those of the type: their count is what is compared. */
static void steps_and_fetches_are_those_of_a_naive_twin(void **state)
{
    (void)state;
    struct dice dice = {29};
    for (int i = 0; i < 1500; i++) {
        struct ll_conv conv = small_conv(&dice);
        struct ll_unroll unroll = random_unroll(&dice);
        enum ll_dataflow dataflow = (enum ll_dataflow)roll_between(&dice, 0, 2);
        struct ll_unit unit = elements(unroll, dataflow);
        unit.spatial.accumulators = 0;
        struct ll_work work = conv_work(LL_F32, conv);
        struct ll_task task = ll_task_of(&work, LL_F32);
        struct ll_kernel_config way = plain_way(&unit, &task);
        struct counted twin = count(&conv, &unroll, dataflow);
        assert_true(way.cycles == twin.steps);
        for (enum ll_operand o = LL_OPERAND_A; o < LL_OPERAND_C; o++)
            assert_near(way.asked_bytes[o] / bytes_of_element(&task, o), twin.fetched[o], 1e-12);
    }
}

static double results_moved(struct ll_unit *unit, const struct ll_task *task, uint64_t accumulators)
{
    unit->spatial.accumulators = accumulators;
    return plain_way(unit, task).asked_bytes[LL_OPERAND_C] / 4;
}

/* Each accumulator saves as much as the one before, so that two tell what none would move. */
static void sums_that_are_not_kept_go_out_and_come_back(void **state)
{
    (void)state;
    struct dice dice = {31};
    int looked_at = 0;
    for (int i = 0; i < 1000; i++) {
        struct ll_conv conv = small_conv(&dice);
        struct ll_unroll unroll = random_unroll(&dice);
        enum ll_dataflow dataflow = (enum ll_dataflow)roll_between(&dice, 0, 2);
        struct ll_unit unit = elements(unroll, dataflow);
        struct ll_work work = conv_work(LL_F32, conv);
        struct ll_task task = ll_task_of(&work, LL_F32);
        double results = ll_operand_bytes(&task.problem, LL_OPERAND_C) / 4;
        double one = results_moved(&unit, &task, 1), two = results_moved(&unit, &task, 2);
        assert_near(results_moved(&unit, &task, 0), results, 1e-12);
        if (two == results)
            continue;
        assert_true(dataflow != LL_OUTPUT_STATIONARY);
        assert_near(one + (one - two), count(&conv, &unroll, dataflow).fetched[LL_OPERAND_C], 1e-9);
        looked_at++;
    }
    assert_true(looked_at > 300);
}

/* A matrix product: its rows are spread over all loops that pixels have, or over images, and then the terms
 * of its sums over channels and taps. */
static void a_product_is_seen_in_the_way_that_suits_it(void **state)
{
    (void)state;
    struct ll_unroll unroll = {{1, 2, 4, 8, 3, 5, 3, 2}, {1, 1, 1, 1, 1, 1, 1, 1}};
    struct ll_unit unit = elements(unroll, LL_OUTPUT_STATIONARY);
    struct ll_work wide = gemm_work(LL_F32, 1, 60, 4, 48), deep = gemm_work(LL_F32, 1, 2, 4, 48);
    struct ll_task task = ll_task_of(&wide, LL_F32);
    struct ll_kernel_config way;
    const struct ll_unit_model *model = ll_unit_model(LL_UNIT_SPATIAL);
    assert_int_equal(model->way_count(&unit, &task), 4);
    assert_true(model->way(&unit, &task, 0, &way));
    assert_true(way.cycles == 60 / 30 * (48 / 8));
    assert_true(model->way(&unit, &task, 2, &way));
    assert_true(way.cycles == 60 / 2 * (48 / 48));
    task = ll_task_of(&deep, LL_F32);
    assert_true(model->way(&unit, &task, 0, &way));
    assert_true(way.cycles == 48 / 8);
    assert_true(model->way(&unit, &task, 2, &way));
    assert_true(way.cycles == 1);
}

/* 7 blocks of the result on 3 units: three blocks for one of them. */
static void units_share_blocks_of_the_result(void **state)
{
    (void)state;
    struct ll_unroll unroll = {{1, 1, 4, 8, 1, 2, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}};
    struct ll_unit unit = elements(unroll, LL_OUTPUT_STATIONARY);
    struct ll_work work = gemm_work(LL_F32, 1, 14, 4, 32);
    struct ll_task task = ll_task_of(&work, LL_F32);
    assert_true(plain_way(&unit, &task).cycles == 7 * 4);
    unit.count = 3;
    struct ll_kernel_config way = plain_way(&unit, &task);
    assert_true(way.cycles == 3 * 4);
    assert_int_equal(way.units_used, 3);
    assert_near(way.at_work, 7.0 / 3, 1e-15);
    unit.spatial.fill_cycles = 5;
    unit.spatial.macs[LL_F32] = 0.5;
    assert_true(plain_way(&unit, &task).cycles == 2 * 3 * 4 + 5);
}

/* Each of 16 units needs all weights for its rows; dealt columns, each needs all pixels. */
static void what_units_share_comes_for_each(void **state)
{
    (void)state;
    struct ll_unroll unroll = {{1, 1, 4, 8, 1, 2, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}};
    struct ll_unit unit = elements(unroll, LL_WEIGHT_STATIONARY);
    struct ll_work work = gemm_work(LL_F32, 1, 64, 64, 32);
    struct ll_task task = ll_task_of(&work, LL_F32);
    const struct ll_unit_model *model = ll_unit_model(LL_UNIT_SPATIAL);
    double a = 64 * 32 * 4, b = 32 * 64 * 4;
    struct ll_kernel_config rows, columns;
    unit.count = 16;
    unit.spatial.accumulators = 4 * 2 * 2; /* of two blocks of rows, which a unit has */
    assert_true(model->way(&unit, &task, 0, &rows));
    assert_near(rows.asked_bytes[LL_OPERAND_A], 16 * a, 1e-15);
    assert_near(rows.asked_bytes[LL_OPERAND_B], 16 * b, 1e-15);
    assert_near(rows.asked_bytes[LL_OPERAND_C], 64 * 64 * 4, 1e-15);
    assert_int_equal(rows.share.m, 4);
    assert_true(model->way(&unit, &task, 4, &columns));
    assert_near(columns.asked_bytes[LL_OPERAND_A], 16 * a, 1e-15);
    assert_near(columns.asked_bytes[LL_OPERAND_B], b, 1e-15);
    assert_int_equal(columns.share.n, 4);
    assert_true(rows.cycles == columns.cycles);
}

/* Of nine taps of a gradient of stride 2, phases have 4, 2, 2 and 1: four units wait for the first. */
static void the_largest_phase_is_waited_for(void **state)
{
    (void)state;
    struct ll_unroll unroll = {{1, 1, 4, 1, 4, 4, 1, 1}, {1, 1, 1, 1, 1, 1, 1, 1}};
    struct ll_unit unit = elements(unroll, LL_OUTPUT_STATIONARY);
    struct ll_conv conv = {1, 8, 8, 4, 4, 4, 8, 3, 3, 2, 2, 1, LL_CONV_DATA, 1, 1};
    struct ll_work work = conv_work(LL_F32, conv);
    struct ll_task task = ll_task_of(&work, LL_F32);
    assert_true(plain_way(&unit, &task).cycles == 8 * 9);
    unit.count = 4;
    assert_true(plain_way(&unit, &task).cycles == 8 * 4);
    conv.kernel_h = conv.kernel_w = 1;
    work = conv_work(LL_F32, conv);
    task = ll_task_of(&work, LL_F32);
    assert_true(plain_way(&unit, &task).cycles == 8);
    assert_int_equal(plain_way(&unit, &task).units_used, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_and_fetches_are_those_of_a_naive_twin),
        cmocka_unit_test(sums_that_are_not_kept_go_out_and_come_back),
        cmocka_unit_test(a_product_is_seen_in_the_way_that_suits_it),
        cmocka_unit_test(units_share_blocks_of_the_result),
        cmocka_unit_test(what_units_share_comes_for_each),
        cmocka_unit_test(the_largest_phase_is_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
