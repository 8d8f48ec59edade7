/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/data/images.h"

#include <string.h>

enum { SIZE = 16, CHANNELS = 3, PIXELS = SIZE * SIZE * CHANNELS, COUNT = 40, CLASSES = 4 };
static const struct ll_images images = {SIZE, SIZE, CHANNELS, CLASSES, 9, LL_LEARNED, NULL};

static void a_sample_is_the_same_wherever_it_is_drawn(void **state)
{
    (void)state;
    static float all[COUNT * PIXELS], one[PIXELS];
    int32_t labels[COUNT], label;
    ll_image_pixels(&images, 0, COUNT, all);
    ll_image_labels(&images, 0, COUNT, labels);
    for (uint64_t i = 0; i < COUNT; i++) {
        ll_image_pixels(&images, i, 1, one);
        ll_image_labels(&images, i, 1, &label);
        assert_memory_equal(one, all + i * PIXELS, sizeof one);
        assert_int_equal(label, labels[i]);
        assert_in_range(label, 0, CLASSES - 1);
    }
}

static double distance(const float *a, const float *b)
{
    double sum = 0;
    for (int i = 0; i < PIXELS; i++)
        sum += (double)((a[i] - b[i]) * (a[i] - b[i]));
    return sum;
}

/* What a network can learn: two images of one class are nearer to each other than two of different ones. */
static void images_of_a_class_are_alike(void **state)
{
    (void)state;
    static float all[COUNT * PIXELS];
    int32_t labels[COUNT];
    double farthest_alike = 0, nearest_apart = 1e9;
    ll_image_pixels(&images, 0, COUNT, all);
    ll_image_labels(&images, 0, COUNT, labels);
    for (int i = 0; i < COUNT * PIXELS; i++)
        assert_true(fabs((double)all[i]) <= 1);
    for (int i = 0; i < COUNT; i++)
        for (int j = 0; j < i; j++) {
            double d = distance(all + i * PIXELS, all + j * PIXELS);
            if (labels[i] == labels[j])
                farthest_alike = fmax(farthest_alike, d);
            else
                nearest_apart = fmin(nearest_apart, d);
        }
    assert_true(farthest_alike < nearest_apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sample_is_the_same_wherever_it_is_drawn),
        cmocka_unit_test(images_of_a_class_are_alike),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
