/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "samples.h"

#include "sim/cost/cost_parts.h"

static struct ll_problem product(uint64_t m, uint64_t n, uint64_t k, double a, double b, double c)
{
    return (struct ll_problem){.dims = {1, m, n, k}, .element = {a, b, c}, .sum_width = 1};
}

static double beside(double block, double size, double blocks, double bytes)
{
    return block > 0 ? fmax(0, blocks - fmax(1, size / block)) * bytes : 0;
}

/* The dumb twin: every block size of every operand that stays, its streamed lines as in cost_parts.h, within
 * what operands that pass by leave. */
static double all_blockings(const struct ll_problem *p, double capacity)
{
    double a = p->element[0], b = p->element[1], c = p->element[2];
    double m = (double)p->dims.m, n = (double)p->dims.n, k = (double)p->dims.k;
    double sums = p->toll.most_sums > 0 ? p->toll.most_sums : m * n, least_k = p->toll.most_sums > 0 ? k : 1;
    bool free_a = p->toll.free[0], free_b = p->toll.free[1];
    double pass_a = free_a ? 0 : m * k * a, pass_b = free_b ? 0 : k * n * b;
    double room_a = free_a ? 0 : a, room_b = free_b ? 0 : b;
    double best = n * pass_a + m * pass_b + m * n * c + beside(p->toll.columns, n, n, m * k * a) +
                  beside(p->toll.rows, m, m, k * n * b);
    double sum = p->sum_width * c;
    for (double x = 1; x <= fmax(m, k); x++)
        for (double y = 1; y <= fmax(n, k); y++) {
            double more_a = beside(p->toll.columns, n, ceil(n / y), m * k * a),
                   more_b = beside(p->toll.rows, m, ceil(m / x), k * n * b);
            if (x <= m && y <= n && x * y <= sums && x * y * c + x * room_a + y * room_b <= capacity)
                best = fmin(best, pass_a * ceil(n / y) + pass_b * ceil(m / x) + m * n * c + more_a + more_b);
            if (!free_a && x <= m && y <= k && y >= least_k && x * y * a + x * c + y * room_b <= capacity)
                best = fmin(best, pass_a + pass_b * ceil(m / x) + more_b +
                                      m * n * (c + 2 * sum * (ceil(k / y) - 1)));
            if (!free_b && x <= k && y <= n && x >= least_k && x * y * b + x * room_a + y * c <= capacity)
                best = fmin(best, pass_a * ceil(n / y) + pass_b + more_a +
                                      m * n * (c + 2 * sum * (ceil(k / x) - 1)));
        }
    return best;
}

static void the_search_finds_what_trying_everything_finds(void **state)
{
    (void)state;
    struct dice dice = {20};
    for (int i = 0; i < 3000; i++) {
        uint64_t side = i % 10 ? 40 : 200;
        struct ll_problem p = product(roll_between(&dice, 1, side), roll_between(&dice, 1, side),
                                      roll_between(&dice, 1, side), (double)roll_between(&dice, 1, 4),
                                      (double)roll_between(&dice, 1, 4), (double)roll_between(&dice, 1, 4));
        double capacity = (double)roll_between(&dice, 1, 2000);
        p.sum_width = (double)roll_between(&dice, 1, 4);
        assert_near(ll_tile(&p, capacity).bytes, all_blockings(&p, capacity), 0);
        p.toll.most_sums = (double)roll_between(&dice, 0, 400);
        assert_near(ll_tile(&p, capacity).bytes, all_blockings(&p, capacity), 0);
        p.toll.free[0] = p.toll.roomless[0] = i % 3 == 1;
        p.toll.free[1] = p.toll.roomless[1] = i % 3 == 2;
        p.toll.columns = p.toll.free[0] ? (double)roll_between(&dice, 1, 20) : 0;
        p.toll.rows = p.toll.free[1] ? (double)roll_between(&dice, 1, 20) : 0;
        assert_near(ll_tile(&p, capacity).bytes, all_blockings(&p, capacity), 1e-12);
    }
}

static void a_product_that_fits_moves_each_operand_once(void **state)
{
    (void)state;
    struct ll_problem p = product(100, 200, 300, 2, 2, 4);
    assert_near(ll_tile(&p, 1e9).bytes, 100 * 300 * 2 + 300 * 200 * 2 + 100 * 200 * 4, 0);
}

static void in_a_memory_too_small_each_product_fetches_its_own_operands(void **state)
{
    (void)state;
    struct ll_problem p = product(10, 20, 30, 2, 2, 4);
    assert_near(ll_tile(&p, 3).bytes, 6000 * 2 + 6000 * 2 + 200 * 4, 0);
}

/* 64 x 64 outputs of 4 bytes and a line of 64 + 64 operands of 2 bytes: 16640 bytes. Two blocks along each
 * side of 128 x 128. */
static void a_square_output_is_cut_into_square_blocks(void **state)
{
    (void)state;
    struct ll_problem p = product(128, 128, 4096, 2, 2, 4);
    struct ll_tiling t = ll_tile(&p, 16640);
    assert_int_equal(t.stays, LL_OPERAND_C);
    assert_int_equal(t.block.m, 64);
    assert_int_equal(t.block.n, 64);
    assert_near(t.bytes, 2 * 128.0 * 4096 * 2 + 2 * 4096.0 * 128 * 2 + 128 * 128 * 4, 0);
    assert_true(ll_tile(&p, 16639).bytes > t.bytes);
}

/* Of three visits two leave sums of four bytes, which come back: of int8, 1 + 2 * 2 * 4 passes. */
static void partial_sums_are_wider_than_results(void **state)
{
    (void)state;
    static const struct {
        enum ll_dtype dtype;
        double width;
    } rows[] = {{LL_INT8, 4}, {LL_F16, 2}, {LL_F32, 1}, {LL_F64, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_work work = gemm_work(rows[i].dtype, 1, 64, 8, 1000);
        struct ll_problem p = ll_task_of(&work, rows[i].dtype).problem;
        assert_near(p.sum_width, rows[i].width, 0);
        assert_near(ll_passes_of_sums(&p, 3), 1 + 4 * rows[i].width, 0);
        assert_near(ll_passes_outwards(&p, 3), 1 + 2 * rows[i].width, 0);
        assert_near(ll_passes_of_sums(&p, 1), 1, 0);
    }
}

/* The gradient of an image is as wide as its pixels are, not as the products that are added up to them. */
static void sums_of_overlapping_windows_are_those_of_pixels(void **state)
{
    (void)state;
    struct ll_work work =
        conv_work(LL_F16, (struct ll_conv){1, 10, 10, 64, 8, 8, 1, 3, 3, 1, 1, 1, LL_CONV_DATA, 1, 1});
    assert_near(ll_task_of(&work, LL_F16).problem.sum_width, 2, 1e-15);
}

static void a_larger_memory_never_means_more_traffic(void **state)
{
    (void)state;
    struct dice dice = {21};
    for (int i = 0; i < 2000; i++) {
        struct ll_work work = i % 2 ? random_conv(&dice, LL_F16)
                                    : gemm_work(LL_F16, roll_size(&dice, 8), roll_size(&dice, 5000),
                                                roll_size(&dice, 5000), roll_size(&dice, 5000));
        struct ll_task task = ll_task_of(&work, LL_F16);
        double capacity = 1, before = INFINITY;
        for (int step = 0; step < 60; step++) {
            double bytes = ll_tile(&task.problem, capacity).bytes;
            assert_true(bytes <= before * (1 + 1e-12));
            assert_true(bytes >= ll_work_bytes(&work) * (1 - 1e-12));
            before = bytes;
            capacity *= roll_real(&dice, 1, 2);
        }
    }
}

/* Results alone, through a port that is so slow for them that what passes by could come twice meanwhile: it
 * does not, since it shares the other port with more. 7 rows of 73 columns are as large as the unit's. */
static void of_equal_prices_the_fewest_bytes_count(void **state)
{
    (void)state;
    struct ll_problem p = product(3000, 700, 1300, 1, 1, 1);
    p.toll = (struct ll_port_cost){.free = {true, true, false},
                                   .roomless = {true, true, false},
                                   .columns = 700 / 24.0,
                                   .rows = 3000 / 429.0,
                                   .read = 1.2,
                                   .write = 6};
    for (double capacity = 512; capacity < 1e5; capacity *= 1.3)
        assert_near(ll_tile(&p, capacity).bytes, 3000 * 700, 1e-12);
}

/* What the product that stands for a convolution would move if nobody noticed that windows overlap. */
static void windows_never_move_more_than_their_product(void **state)
{
    (void)state;
    struct dice dice = {22};
    for (int i = 0; i < 2000; i++) {
        struct ll_work work = random_conv(&dice, LL_F32);
        struct ll_task task = ll_task_of(&work, LL_F32);
        struct ll_problem unrolled = task.problem;
        unrolled.windows.overlap = false;
        unrolled.element[task.problem.windows.image] *= task.problem.windows.expansion;
        double capacity = (double)roll_size(&dice, 1 << 20);
        assert_true(ll_tile(&task.problem, capacity).bytes <=
                    ll_tile(&unrolled, capacity).bytes * (1 + 1e-12));
    }
}

/* 3 x 3 windows over 10 x 10 pixels of 64 channels of 4 bytes give 8 x 8 pixels of one. Channel after channel
 * streams past a block of 4 rows of outputs: 32 sums of 4 bytes, 6 rows of 10 inputs, 9 weights are 404
 * bytes. Both blocks together move 12 rows where there are 10, and the filter twice. With 403 bytes it is 2
 * rows. */
static void a_block_of_windows_brings_its_halo(void **state)
{
    (void)state;
    struct ll_work work =
        conv_work(LL_F32, (struct ll_conv){1, 10, 10, 64, 8, 8, 1, 3, 3, 1, 1, 1, LL_CONV_FORWARD, 1, 1});
    struct ll_task task = ll_task_of(&work, LL_F32);
    assert_near(task.problem.windows.expansion, 64 * 9 / 100.0, 1e-15);
    struct ll_tiling t = ll_tile(&task.problem, 404 + 1e-9);
    assert_int_equal(t.stays, LL_OPERAND_C);
    assert_int_equal(t.block.m, 32);
    assert_near(t.passes[LL_OPERAND_A], 1.2, 1e-15);
    assert_near(t.bytes, 12 * 10 * 64 * 4 + 2 * 9 * 64 * 4 + 8 * 8 * 4, 1e-15);
    assert_near(ll_tile(&task.problem, 403).bytes, 16 * 10 * 64 * 4 + 4 * 9 * 64 * 4 + 8 * 8 * 4, 1e-15);
    assert_near(ll_tile(&task.problem, 1e4).bytes, 10 * 10 * 64 * 4 + 9 * 64 * 4 + 8 * 8 * 4, 1e-15);
}

/* 8 x 8 pixels with a border of zeros give 8 x 8: the zeros are not moved, and what fits moves once. */
static void a_padded_image_that_fits_is_moved_once(void **state)
{
    (void)state;
    for (uint64_t pass = LL_CONV_FORWARD; pass <= LL_CONV_FILTER; pass++) {
        struct ll_work work =
            conv_work(LL_F32, (struct ll_conv){2, 8, 8, 16, 8, 8, 16, 3, 3, 1, 1, 1, pass, 1, 1});
        struct ll_task task = ll_task_of(&work, LL_F32);
        assert_near(ll_tile(&task.problem, 1e9).bytes, ll_work_bytes(&work), 1e-15);
    }
}

/* How often 10 x 10 inputs are moved for 8 x 8 pixels of 3 x 3 windows in blocks of 64, 32, ... 1 pixels. */
static double halo_of(uint64_t pixels)
{
    uint64_t rows = pixels < 8 ? 1 : pixels / 8, columns = pixels < 8 ? pixels : 8;
    return (double)(8 / rows * (rows + 2) * (8 / columns) * (columns + 2)) / 100;
}

/* The dumb twin of one pass over that image: for each block of pixels all block sizes of the other
 * dimensions. The streamed line is a block of pixels, or a channel with its 9 taps; nothing is done about
 * overlap in the product of full windows. */
static double all_window_blockings(const struct ll_problem *p, double capacity)
{
    struct ll_problem full = *p;
    full.element[p->windows.image] *= p->windows.expansion;
    double best = all_blockings(&full, capacity);
    bool along_k = p->windows.pixels_are_k, data = p->windows.image == LL_OPERAND_C;
    uint64_t m = p->dims.m, n = p->dims.n, k = p->dims.k;
    double sums = p->toll.most_sums > 0 ? p->toll.most_sums : (double)(m * n);
    uint64_t least_k = p->toll.most_sums > 0 ? k : 1;
    for (uint64_t pixels = 64; pixels; pixels /= 2) {
        double e[3] = {p->element[0], p->element[1], p->element[2]};
        e[p->windows.image] *= halo_of(pixels);
        double a = (double)(m * k) * e[0], b = (double)(k * n) * e[1], c = (double)(m * n) * e[2];
        double line_m = along_k ? (double)ll_min(9, m) : (double)pixels;
        double line_n = data ? (double)ll_min(9, n) : 1;
        double line_k = along_k ? (double)pixels : data ? 1 : (double)ll_min(9, k);
        for (uint64_t mb = 1; mb <= m; mb++)
            for (uint64_t nb = 1; nb <= n; nb++)
                if ((along_k || mb == pixels) && (double)(mb * nb) <= sums &&
                    (double)(mb * nb) * e[2] + line_k * ((double)mb * e[0] + (double)nb * e[1]) <= capacity)
                    best =
                        fmin(best, a * ceil((double)n / (double)nb) + b * ceil((double)m / (double)mb) + c);
        for (uint64_t mb = 1; mb <= m; mb++)
            for (uint64_t kb = least_k; kb <= k; kb++)
                if ((along_k ? kb : mb) == pixels &&
                    (double)(mb * kb) * e[0] + line_n * ((double)kb * e[1] + (double)mb * e[2]) <= capacity)
                    best = fmin(best, a + b * ceil((double)m / (double)mb) + c +
                                          2 * c * p->sum_width * (ceil((double)k / (double)kb) - 1));
        for (uint64_t kb = least_k; kb <= k; kb++)
            for (uint64_t nb = 1; nb <= n; nb++)
                if ((!along_k || kb == pixels) &&
                    (double)(kb * nb) * e[1] + line_m * ((double)kb * e[0] + (double)nb * e[2]) <= capacity)
                    best = fmin(best, a * ceil((double)n / (double)nb) + b + c +
                                          2 * c * p->sum_width * (ceil((double)k / (double)kb) - 1));
    }
    return best;
}

static void windows_are_blocked_as_well_as_trying_everything_does(void **state)
{
    (void)state;
    struct dice dice = {23};
    for (int i = 0; i < 300; i++) {
        struct ll_conv conv = {1, 10, 10, roll_between(&dice, 1, 6), 8, 8, roll_between(&dice, 1, 40), 3, 3,
                               1, 1,  1,  roll_between(&dice, 0, 2), 1, 1};
        struct ll_work work = conv_work(LL_F32, conv);
        struct ll_task task = ll_task_of(&work, LL_F32);
        assert_int_equal(task.problem.windows.image, conv.pass == LL_CONV_DATA ? LL_OPERAND_C : LL_OPERAND_A);
        task.problem.sum_width = (double)roll_between(&dice, 1, 4);
        double capacity = (double)roll_between(&dice, 1, 6000) + 1e-6; /* beside rounded bytes of elements */
        assert_near(ll_tile(&task.problem, capacity).bytes, all_window_blockings(&task.problem, capacity),
                    1e-12);
        task.problem.toll.most_sums = (double)roll_between(&dice, 1, 400);
        assert_near(ll_tile(&task.problem, capacity).bytes, all_window_blockings(&task.problem, capacity),
                    1e-12);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_search_finds_what_trying_everything_finds),
        cmocka_unit_test(a_product_that_fits_moves_each_operand_once),
        cmocka_unit_test(in_a_memory_too_small_each_product_fetches_its_own_operands),
        cmocka_unit_test(a_square_output_is_cut_into_square_blocks),
        cmocka_unit_test(partial_sums_are_wider_than_results),
        cmocka_unit_test(sums_of_overlapping_windows_are_those_of_pixels),
        cmocka_unit_test(a_larger_memory_never_means_more_traffic),
        cmocka_unit_test(of_equal_prices_the_fewest_bytes_count),
        cmocka_unit_test(windows_never_move_more_than_their_product),
        cmocka_unit_test(a_block_of_windows_brings_its_halo),
        cmocka_unit_test(a_padded_image_that_fits_is_moved_once),
        cmocka_unit_test(windows_are_blocked_as_well_as_trying_everything_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
