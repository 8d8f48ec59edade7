/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/memory/cache.h"
#include "sim/memory/streams.h"
#include "tracer/base/arena.h"

enum { SEEDS = 100 };

static uint64_t first_seed;

/* Accesses of a program that was written by hand, and of a stream. */
struct list {
    uint64_t *at, capacity;
    size_t count;
};

static void add(struct list *list, uint64_t access)
{
    assert_true(ll_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at));
    list->at[list->count++] = access;
}

/* Asks for a different number each time. */
static struct list list_of(const struct ll_nest *nest)
{
    struct list list = {0};
    struct ll_stream stream;
    uint64_t buffer[512], seed = 7;
    size_t n, room = 4 * LL_NEST_REFS;
    for (ll_stream_begin(&stream, nest); (n = ll_stream_fill(&stream, buffer, room));
         room = 4 * LL_NEST_REFS + ll_random_below(&seed, 480))
        for (size_t i = 0; i < n; i++)
            add(&list, buffer[i]);
    return list;
}

static void assert_same(struct list list, struct list expected)
{
    for (size_t i = 0; i < list.count && i < expected.count; i++)
        if (list.at[i] != expected.at[i])
            fail_msg("access %zu is %llx, expected %llx", i, (unsigned long long)list.at[i],
                     (unsigned long long)expected.at[i]);
    assert_int_equal(list.count, expected.count);
    free(list.at);
    free(expected.at);
}

/* for (i) for (j) { sum = 0; for (p) sum += a[i][p] * b[p][j]; c[i][j] = sum; } */
static void a_plain_product_reads_rows_and_columns_and_writes_each_sum_once(void **state)
{
    (void)state;
    struct ll_nest nest = ll_nest_product(
        &(struct ll_product){.dims = {1, 3, 5, 4}, .element_bytes = {4, 4, 4}, .order = LL_ORDER_MNK});
    struct list expected = {0};
    for (uint64_t i = 0; i < 3; i++)
        for (uint64_t j = 0; j < 5; j++) {
            for (uint64_t p = 0; p < 4; p++) {
                add(&expected, 4 * (4 * i + p));
                add(&expected, 4096 + 4 * (5 * p + j));
            }
            add(&expected, (8192 + 4 * (5 * i + j)) | LL_CACHE_WRITE);
        }
    assert_same(list_of(&nest), expected);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Blocks of 4 x 3 x 2 that divide nothing, a transposed; b[p][j] in the innermost loop, a[i][p] held around
 * it. */
static void a_blocked_product_does_its_blocks_in_order(void **state)
{
    (void)state;
    uint64_t m = 10, n = 7, k = 5;
    struct ll_nest nest = ll_nest_product(&(struct ll_product){.dims = {1, m, n, k},
                                                               .element_bytes = {8, 8, 8},
                                                               .transpose_a = true,
                                                               .blocks = {{4, 3, 2, LL_ORDER_KNM}},
                                                               .block_count = 1,
                                                               .order = LL_ORDER_MKN});
    struct list expected = {0};
    for (uint64_t kk = 0; kk < k; kk += 2)
        for (uint64_t jj = 0; jj < n; jj += 3)
            for (uint64_t ii = 0; ii < m; ii += 4)
                for (uint64_t i = ii; i < least(ii + 4, m); i++)
                    for (uint64_t p = kk; p < least(kk + 2, k); p++) {
                        add(&expected, 8 * (p * m + i));
                        for (uint64_t j = jj; j < least(jj + 3, n); j++) {
                            add(&expected, 4096 + 8 * (p * n + j));
                            if (p > 0)
                                add(&expected, 8192 + 8 * (i * n + j));
                            add(&expected, (8192 + 8 * (i * n + j)) | LL_CACHE_WRITE);
                        }
                    }
    assert_same(list_of(&nest), expected);
}

/* What a nest says of itself, one loop a call: the reference is made where all loops that do not move it
 * stand at their beginning (reads) or end (writes). */
struct walk {
    const struct ll_nest *nest;
    uint64_t from[LL_NEST_LOOPS], at[LL_NEST_LOOPS], to[LL_NEST_LOOPS];
    struct list *list;
};

static void dumb_body(struct walk *walk, const uint64_t *x)
{
    const struct ll_nest *nest = walk->nest;
    for (uint32_t pass = 0; pass < 2 * (nest->loop_count + 1); pass++) {
        uint32_t depth = pass % (nest->loop_count + 1);
        bool write = pass > nest->loop_count;
        depth = write ? nest->loop_count - depth : depth;
        for (uint32_t r = 0; r < nest->ref_count; r++) {
            const struct ll_nest_ref *ref = &nest->refs[r];
            uint32_t moved = 0;
            for (uint32_t l = 0; l < nest->loop_count; l++)
                moved = ref->stride[nest->loops[l].dim] && nest->size[nest->loops[l].dim] > 1 ? l + 1 : moved;
            bool made = ref->write == write && moved == depth;
            for (uint32_t l = moved; l < nest->loop_count; l++)
                made = made && (write ? walk->at[l] + nest->loops[l].step >= walk->to[l]
                                      : walk->at[l] == walk->from[l]);
            uint64_t address = ref->base;
            for (uint32_t d = 0; d < LL_NEST_DIMS; d++)
                address += ref->stride[d] * x[d];
            for (uint32_t g = 0; g < ref->guard_count; g++) {
                int64_t value = ref->guards[g].offset;
                for (uint32_t d = 0; d < LL_NEST_DIMS; d++)
                    value += (int64_t)(ref->guards[g].slope[d] * x[d]);
                made = made && value >= 0 && (uint64_t)value < ref->guards[g].limit;
            }
            if (made)
                add(walk->list, address | (write ? LL_CACHE_WRITE : 0));
        }
    }
}

static void dumb_loops(struct walk *walk, uint32_t loop, uint64_t *x)
{
    if (loop == walk->nest->loop_count) {
        dumb_body(walk, x);
        return;
    }
    const struct ll_nest_loop *is = &walk->nest->loops[loop];
    uint64_t begin = x[is->dim];
    walk->from[loop] = begin;
    walk->to[loop] = least(begin + is->span, walk->nest->size[is->dim]);
    for (uint32_t l = 0; l < loop; l++)
        walk->to[loop] =
            least(walk->to[loop], walk->nest->loops[l].dim == is->dim ? walk->to[l] : UINT64_MAX);
    for (; x[is->dim] < walk->to[loop]; x[is->dim] += is->step) {
        walk->at[loop] = x[is->dim];
        dumb_loops(walk, loop + 1, x);
    }
    x[is->dim] = begin;
}

static struct list dumb_list_of(const struct ll_nest *nest)
{
    struct list list = {0};
    struct walk walk = {.nest = nest, .list = &list};
    uint64_t x[LL_NEST_DIMS] = {0};
    dumb_loops(&walk, 0, x);
    return list;
}

static uint64_t draw(uint64_t *seed, uint64_t low, uint64_t high)
{
    return low + ll_random_below(seed, high - low + 1);
}

static struct ll_product random_product(uint64_t *seed)
{
    struct ll_product product = {
        .dims = {draw(seed, 1, 3), draw(seed, 1, 9), draw(seed, 1, 9), draw(seed, 1, 9)},
        .element_bytes = {1, 2, 4},
        .transpose_a = draw(seed, 0, 1),
        .transpose_b = draw(seed, 0, 1),
        .block_count = draw(seed, 0, 3)};
    for (size_t b = 0; b < product.block_count; b++)
        product.blocks[b] = (struct ll_nest_block){draw(seed, 1, 9), draw(seed, 1, 9), draw(seed, 1, 9),
                                                   (enum ll_nest_order)ll_random_below(seed, LL_ORDER_COUNT)};
    product.order = (enum ll_nest_order)ll_random_below(seed, LL_ORDER_COUNT);
    return product;
}

static struct ll_nest_conv random_conv(uint64_t *seed)
{
    uint64_t groups = draw(seed, 1, 2);
    struct ll_conv d = {.batch = draw(seed, 1, 3),
                        .in_h = draw(seed, 3, 7),
                        .in_w = draw(seed, 3, 7),
                        .in_c = groups * draw(seed, 1, 3),
                        .out_c = groups * draw(seed, 1, 4),
                        .kernel_h = draw(seed, 1, 3),
                        .kernel_w = draw(seed, 1, 3),
                        .stride_h = draw(seed, 1, 2),
                        .stride_w = draw(seed, 1, 2),
                        .groups = groups,
                        .pass = ll_random_below(seed, 3)};
    bool padded = draw(seed, 0, 1);
    d.out_h = padded ? (d.in_h + d.stride_h - 1) / d.stride_h : (d.in_h - d.kernel_h) / d.stride_h + 1;
    d.out_w = padded ? (d.in_w + d.stride_w - 1) / d.stride_w : (d.in_w - d.kernel_w) / d.stride_w + 1;
    return (struct ll_nest_conv){.dims = d,
                                 .element_bytes = {2, 4, 8},
                                 .images = draw(seed, 1, 3),
                                 .rows = draw(seed, 1, 7),
                                 .columns = draw(seed, 1, 7),
                                 .out_c = draw(seed, 1, 4),
                                 .in_c = draw(seed, 1, 3),
                                 .order = (enum ll_nest_order)ll_random_below(seed, LL_ORDER_COUNT)};
}

static void every_stream_is_that_of_its_loops_written_dumbly(void **state)
{
    (void)state;
    for (uint64_t s = first_seed; s < first_seed + SEEDS; s++) {
        uint64_t seed = s;
        struct ll_product product = random_product(&seed);
        struct ll_nest_conv conv = random_conv(&seed);
        struct ll_nest nests[] = {ll_nest_product(&product), ll_nest_convolution(&conv)};
        for (int i = 0; i < 2; i++) {
            struct list list = list_of(&nests[i]), expected = dumb_list_of(&nests[i]);
            assert_same(list, expected);
        }
    }
}

/* The multiply-accumulates of a product in blocks of blocks, each exactly once, whatever the order. */
static void blocks_of_blocks_leave_nothing_out(void **state)
{
    (void)state;
    for (uint64_t s = first_seed; s < first_seed + SEEDS; s++) {
        uint64_t seed = s, writes = 0;
        struct ll_product product = random_product(&seed);
        product.order = LL_ORDER_MKN; /* a sum is written at each step */
        product.dims.n = product.dims.n + 1;
        struct ll_nest nest = ll_nest_product(&product);
        struct list list = list_of(&nest);
        for (size_t i = 0; i < list.count; i++)
            writes += list.at[i] >= LL_CACHE_WRITE;
        /* Blocks of one column let a sum be held, hence at most. */
        assert_true(writes <= product.dims.batch * product.dims.m * product.dims.n * product.dims.k);
        assert_true(writes >= product.dims.batch * product.dims.m * product.dims.n);
        if (product.block_count == 0)
            assert_int_equal(writes, product.dims.batch * product.dims.m * product.dims.n * product.dims.k);
        free(list.at);
    }
}

/* y[n,h,w,o] = sum x[n, 2 h + kh - 1, 2 w + kw - 1, i] w[kh,kw,i,o], by hand. */
static void a_convolution_reads_no_padding(void **state)
{
    (void)state;
    struct ll_nest_conv conv = {.dims = {.batch = 1,
                                         .in_h = 5,
                                         .in_w = 4,
                                         .in_c = 2,
                                         .out_h = 3,
                                         .out_w = 2,
                                         .out_c = 3,
                                         .kernel_h = 3,
                                         .kernel_w = 3,
                                         .stride_h = 2,
                                         .stride_w = 2,
                                         .groups = 1},
                                .element_bytes = {4, 4, 4},
                                .images = 1,
                                .rows = 3,
                                .columns = 2,
                                .out_c = 3,
                                .in_c = 2};
    struct ll_nest nest = ll_nest_convolution(&conv);
    struct list expected = {0};
    for (uint64_t h = 0; h < 3; h++)
        for (uint64_t w = 0; w < 2; w++)
            for (uint64_t o = 0; o < 3; o++) {
                for (uint64_t kh = 0; kh < 3; kh++)
                    for (uint64_t kw = 0; kw < 3; kw++)
                        for (uint64_t i = 0; i < 2; i++) {
                            uint64_t y = 2 * h + kh - 1,
                                     x = 2 * w + kw; /* 2 x 1 + 3 = 5: one more on the right */
                            if (y < 5 && x < 4)
                                add(&expected, 4 * ((y * 4 + x) * 2 + i));
                            add(&expected, 4096 + 4 * (((kh * 3 + kw) * 2 + i) * 3 + o));
                        }
                add(&expected, (8192 + 4 * ((h * 2 + w) * 3 + o)) | LL_CACHE_WRITE);
            }
    assert_same(list_of(&nest), expected);
}

/* y[h,w] = sum x[h + 2 kh, w + 3 kw] w[kh,kw], by hand. */
static void taps_that_lie_apart_read_apart(void **state)
{
    (void)state;
    struct ll_nest_conv conv = {.dims = {.batch = 1,
                                         .in_h = 7,
                                         .in_w = 6,
                                         .in_c = 1,
                                         .out_h = 3,
                                         .out_w = 3,
                                         .out_c = 1,
                                         .kernel_h = 3,
                                         .kernel_w = 2,
                                         .stride_h = 1,
                                         .stride_w = 1,
                                         .dilation_h = 2,
                                         .dilation_w = 3,
                                         .groups = 1},
                                .element_bytes = {4, 4, 4},
                                .images = 1,
                                .rows = 3,
                                .columns = 3,
                                .out_c = 1,
                                .in_c = 1};
    struct ll_nest nest = ll_nest_convolution(&conv);
    struct list expected = {0};
    for (uint64_t h = 0; h < 3; h++)
        for (uint64_t w = 0; w < 3; w++) {
            for (uint64_t kh = 0; kh < 3; kh++)
                for (uint64_t kw = 0; kw < 2; kw++) {
                    add(&expected, 4 * ((h + 2 * kh) * 6 + w + 3 * kw));
                    add(&expected, 4096 + 4 * (kh * 2 + kw));
                }
            add(&expected, (8192 + 4 * (h * 3 + w)) | LL_CACHE_WRITE);
        }
    assert_same(list_of(&nest), expected);
}

static void a_sweep_touches_each_element_of_each_operand_once(void **state)
{
    (void)state;
    struct ll_nest nest =
        ll_nest_sweep((const struct ll_nest_operand[]){{100, 4, false}, {7, 8, false}, {100, 2, true}}, 3);
    struct list expected = {0};
    for (uint64_t i = 0; i < 100; i++) {
        add(&expected, 4 * i);
        if (i < 7)
            add(&expected, 4096 + 8 * i);
        add(&expected, (8192 + 2 * i) | LL_CACHE_WRITE);
    }
    assert_same(list_of(&nest), expected);
}

static void a_gather_reads_an_index_and_a_whole_row_for_each_row_it_writes(void **state)
{
    (void)state;
    struct ll_nest nest = ll_nest_gather(10, 3, 4, 8, 50);
    struct list list = list_of(&nest);
    bool picked[10] = {false};
    size_t at = 0, rows = 0;
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(list.at[at++], 8 * i);
        uint64_t row = (list.at[at] - 4096) / 12;
        assert_true(row < 10);
        rows += !picked[row];
        picked[row] = true;
        for (uint64_t e = 0; e < 3; e++) {
            assert_int_equal(list.at[at++], 4096 + 12 * row + 4 * e);
            assert_int_equal(list.at[at++], (8192 + 12 * i + 4 * e) | LL_CACHE_WRITE);
        }
    }
    assert_true(rows > 7); /* 50 picks leave 0.05 of 10 rows out in the mean */
    assert_int_equal(at, list.count);
    free(list.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_product_reads_rows_and_columns_and_writes_each_sum_once),
        cmocka_unit_test(a_blocked_product_does_its_blocks_in_order),
        cmocka_unit_test(every_stream_is_that_of_its_loops_written_dumbly),
        cmocka_unit_test(blocks_of_blocks_leave_nothing_out),
        cmocka_unit_test(a_convolution_reads_no_padding),
        cmocka_unit_test(taps_that_lie_apart_read_apart),
        cmocka_unit_test(a_sweep_touches_each_element_of_each_operand_once),
        cmocka_unit_test(a_gather_reads_an_index_and_a_whole_row_for_each_row_it_writes),
    };
    first_seed = ll_seed(1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
