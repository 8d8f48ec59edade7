/* SPDX-License-Identifier: Apache-2.0 */
/* The candidate sampler's laws over many steps; its values against a twin are in prop_kernels. */
#include "check.h"

#include "models/nn/kernel.h"

enum { RANGE = 50, SAMPLES = 10, STEPS = 4000 };

/* How often each class was drawn in all steps, and how often that was to be expected. */
struct tally {
    double drawn[RANGE], expected[RANGE];
};

static void one_step(struct tally *tally, double step)
{
    int32_t classes[RANGE], sampled[SAMPLES];
    double of_classes[RANGE], of_samples[SAMPLES];
    uint64_t workspace[64];
    for (int i = 0; i < RANGE; i++)
        classes[i] = i;
    struct ll_shape in[] = {{.dtype = LL_F64}, {.dtype = LL_I32, .rank = 1, .dim = {RANGE}}},
                    out[LL_MAX_OUTPUTS] = {0};
    struct ll_attr attrs[] = {{.key = LL_ATTR_SEED, .count = 3},
                              {.key = LL_ATTR_SAMPLES, .count = SAMPLES},
                              {.key = LL_ATTR_RANGE, .count = RANGE}};
    struct ll_op_view op = {LL_OP_LOG_UNIFORM_SAMPLE, 2, 0, 3, in, out, attrs};
    assert_null(ll_op_infer(&op));
    assert_true(ll_kernel_workspace(&op, 1) <= sizeof workspace);
    ll_kernel_of(LL_OP_LOG_UNIFORM_SAMPLE, LL_F64)(
        &(struct ll_kernel_call){&op, (const void *[]){&step, classes},
                                 (void *[]){sampled, of_classes, of_samples}, NULL, workspace, NULL});
    for (int i = 0; i < SAMPLES; i++) {
        assert_in_range(sampled[i], 0, RANGE - 1);
        assert_true(of_samples[i] == of_classes[sampled[i]]);
        for (int j = 0; j < i; j++)
            assert_int_not_equal(sampled[i], sampled[j]);
        tally->drawn[sampled[i]]++;
    }
    for (int i = 0; i < RANGE; i++)
        tally->expected[i] += of_classes[i];
}

/* What sampled softmax corrects its logits by must be how often classes really come. The expectation that
 * goes with a number of tries is not exact, as those who wrote it say; a tenth is what they leave. */
static void classes_come_as_often_as_is_said(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (int step = 1; step <= STEPS; step++)
        one_step(&tally, step);
    for (int i = 0; i < RANGE; i++)
        if (fabs(tally.drawn[i] - tally.expected[i]) > 0.1 * tally.expected[i] + 4 * sqrt(tally.expected[i]))
            fail_msg("class %d was drawn %g times, expected %g", i, tally.drawn[i], tally.expected[i]);
    for (int i = 1; i < RANGE; i++)
        assert_true(tally.expected[i] < tally.expected[i - 1]);
}

/* Without replacement the samples are all there is: every class, whatever its share. */
static void expectations_add_up_to_about_the_samples(void **state)
{
    (void)state;
    struct tally tally = {0};
    double sum = 0;
    for (int step = 1; step <= 200; step++)
        one_step(&tally, step);
    for (int i = 0; i < RANGE; i++)
        sum += tally.expected[i];
    assert_near(sum / 200, SAMPLES, 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_come_as_often_as_is_said),
        cmocka_unit_test(expectations_add_up_to_about_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
