/* SPDX-License-Identifier: Apache-2.0 */
/* What shapes tell of the memory, when their passes found more or less of their bytes on chip. */
#include "check.h"
#include "toy_machine.h"

#include "sim/calibrate/calibrate.h"

/* An op on so many elements takes longer out of the memory than near the unit. */
enum { ELEMENTS = 1 << 22, BYTES = 4 * ELEMENTS };

static const struct ll_work work = {.kind = LL_WORK_VECTOR,
                                    .dtype = LL_F32,
                                    .flops = ELEMENTS,
                                    .a_bytes = BYTES,
                                    .c_bytes = BYTES,
                                    .lines = 1,
                                    .vector.elements = ELEMENTS};

static struct ll_machine *with_a_kernel(void)
{
    return ll_toy_machine(LL_TOY_MACHINE "software:\n  kernels:\n    - {name: mul, ops: [mul]}\n");
}

/* One pass finds such a share of its bytes on chip and takes so many times as long as predicted, another
 * finds all and takes as long as predicted. The ratio that they tell of the memory. */
static double far_ratio_of(double found, double slower)
{
    struct ll_arena arena = {0};
    struct ll_machine *machine = with_a_kernel();
    assert_non_null(machine);
    struct ll_sample passes[2] = {{.kind = LL_OP_MUL, .work = work}, {.kind = LL_OP_MUL, .work = work}};
    passes[0].found.saved_bytes[1] = found * 2 * BYTES;
    passes[1].found.saved_bytes[1] = 2 * BYTES;
    for (int i = 0; i < 2; i++)
        passes[i].time_s = ll_sample_predicted_s(machine, &passes[i]) * (i == 0 ? slower : 1);
    struct ll_overlay overlay;
    assert_true(
        ll_fit_shapes(machine, &(struct ll_samples){.at = passes, .count = 2}, 0, 2, &arena, &overlay));
    assert_int_equal(overlay.shape_count, 1);
    double far = overlay.shapes[0].far;
    ll_machine_free(machine);
    ll_arena_release(&arena);
    return far;
}

static void a_pass_that_found_nothing_tells_what_memory_takes(void **state)
{
    (void)state;
    assert_near(far_ratio_of(0, 1.5), 1.5, 0.05);
}

/* The rest takes a little more than half as long as all does near the unit: only a memory twice as slow would
 * explain what the pass took. */
static void a_pass_that_found_nearly_all_tells_little(void **state)
{
    (void)state;
    double left = 0.58 * 10 / 64;
    assert_near(far_ratio_of(1 - left, 1.2), 1, 0.25);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_that_found_nothing_tells_what_memory_takes),
        cmocka_unit_test(a_pass_that_found_nearly_all_tells_little),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
