/* SPDX-License-Identifier: Apache-2.0 */
/* Expected numbers follow from the formulas at the head of sim/cost/cost_parts.h, by hand. */
#include "check.h"

#include "sim/cost/cost_parts.h"

/* f32 rows that are read and written. */
static struct ll_work rows(uint64_t count, uint64_t length)
{
    struct ll_work work = {.kind = LL_WORK_VECTOR, .dtype = LL_F32, .flops = count * length, .lines = count};
    work.a_bytes = work.c_bytes = 4 * count * length;
    work.vector.elements = count * length;
    work.vector.row = length;
    return work;
}

/* Ten units of 8 lanes. */
static const struct ll_unit units = {.model = LL_UNIT_VECTOR, .count = 10, .vector = {.lanes = 8}};

static double imbalance(const struct ll_kernel *kernel, uint64_t count, uint64_t length)
{
    struct ll_work work = rows(count, length);
    return ll_rows_imbalance(kernel, &work, &units);
}

static void the_last_wave_of_rows_takes_as_long_as_a_full_one(void **state)
{
    const struct ll_kernel kernel = {.rows_in_flight = 4};
    (void)state;
    assert_near(imbalance(&kernel, 40, 800), 1, 1e-12);
    assert_near(imbalance(&kernel, 41, 800), 80.0 / 41, 1e-12);
    assert_near(imbalance(&kernel, 1, 800), 40, 1e-12);
}

static void short_rows_stay_in_registers(void **state)
{
    const struct ll_kernel kernel = {
        .compute_efficiency = 0.5, .rows_in_flight = 4, .max_register_row = 800, .row_overhead_s = 1e-6};
    struct ll_work at_most = rows(3, 800), more = rows(3, 801), none = rows(3, 0);
    (void)state;
    assert_near(ll_rows_compute(&kernel, &at_most), 1, 0);
    assert_near(ll_rows_compute(&kernel, &more), 0.5, 0);
    assert_near(ll_rows_compute(&kernel, &none), 0.5, 0);
    assert_near(ll_rows_begin_s(&kernel, &at_most, 2), 0, 0);
    assert_near(ll_rows_begin_s(&kernel, &more, 2), 3 * 1e-6 / 2, 1e-12);
    assert_near(imbalance(&kernel, 3, 800), 1, 0);
}

/* What a memory behind a cache of that many bytes moves of work that asks for `bytes` once. */
static double outer_bytes(const struct ll_kernel *kernel, const struct ll_work *work, uint64_t cache_bytes,
                          bool is_cache)
{
    const struct ll_machine machine = {
        .level_count = 2,
        .levels = {{.name = "cache", .size_bytes = cache_bytes, .cache_given = is_cache},
                   {.name = "memory"}}};
    struct ll_cost cost = {
        .level_bytes = {(double)(work->a_bytes + work->c_bytes), (double)(work->a_bytes + work->c_bytes)},
        .level_written = {(double)work->c_bytes, (double)work->c_bytes}};
    ll_rows_reread(&machine, kernel, work, units.count, &cost);
    assert_near(cost.level_bytes[0], (double)work->a_bytes * kernel->passes + (double)work->c_bytes, 1e-12);
    assert_near(cost.level_written[1], (double)work->c_bytes, 0);
    return cost.level_bytes[1];
}

/* Forty of 1000 rows of 3200 bytes are in progress: 128000 bytes. */
static void rows_in_progress_are_found_again_as_far_as_they_fit(void **state)
{
    const struct ll_kernel kernel = {.rows_in_flight = 4, .passes = 3};
    struct ll_work work = rows(1000, 800);
    double once = (double)work.a_bytes;
    (void)state;
    assert_near(outer_bytes(&kernel, &work, 3 * 128000, true), 2 * once, 1e-12);
    assert_near(outer_bytes(&kernel, &work, 2 * 128000, true), 2.5 * once, 1e-12); /* kept: 3/4 */
    assert_near(outer_bytes(&kernel, &work, 128000, true), 4 * once, 1e-12);
}

/* A buffer of which half is for what comes next. */
static void software_keeps_all_rows_or_none(void **state)
{
    const struct ll_kernel kernel = {.rows_in_flight = 4, .passes = 3};
    const struct ll_work work = rows(1000, 800);
    (void)state;
    assert_near(outer_bytes(&kernel, &work, 2 * work.a_bytes, false), 2 * (double)work.a_bytes, 1e-12);
    assert_near(outer_bytes(&kernel, &work, 2 * work.a_bytes - 2, false), 4 * (double)work.a_bytes, 1e-12);
}

/* Twenty elements are read three times and written once; four units cast two a cycle of 1 GHz: 80 / (2 * 4) =
 * 10 cycles. In registers they are read once: 40 / (2 * 4) = 5. */
static void rows_read_again_are_cast_again(void **state)
{
    struct ll_machine machine = {
        .unit_count = 1,
        .units = {{.model = LL_UNIT_VECTOR, .count = 4, .clock_hz = 1e9, .vector.casts[LL_F16] = 2}}};
    struct ll_kernel kernel = {.passes = 3};
    struct ll_work work = rows(2, 10);
    const struct ll_task task = {.work = &work, .dtype = LL_F32};
    (void)state;
    work.dtype = LL_F16;
    work.a_bytes = work.c_bytes = 40;
    assert_near(ll_cast_s(&machine, &kernel, &task), 10e-9, 1e-12);
    kernel.max_register_row = 10;
    assert_near(ll_cast_s(&machine, &kernel, &task), 5e-9, 1e-12);
}

static void a_larger_cache_never_moves_more(void **state)
{
    const struct ll_kernel kernel = {.rows_in_flight = 4, .passes = 2.5};
    struct ll_work work = rows(1000, 800);
    double before = INFINITY;
    (void)state;
    for (uint64_t bytes = 1000; bytes < 1000000; bytes += 1000) {
        double now = outer_bytes(&kernel, &work, bytes, true);
        assert_true(now <= before);
        before = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_wave_of_rows_takes_as_long_as_a_full_one),
        cmocka_unit_test(short_rows_stay_in_registers),
        cmocka_unit_test(rows_in_progress_are_found_again_as_far_as_they_fit),
        cmocka_unit_test(software_keeps_all_rows_or_none),
        cmocka_unit_test(rows_read_again_are_cast_again),
        cmocka_unit_test(a_larger_cache_never_moves_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
