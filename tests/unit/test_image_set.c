/* SPDX-License-Identifier: Apache-2.0 */
/* Images that somebody took: what is no set of images, what suits a network, who learns which, and what of an
 * image is shown. */
#include "check.h"

#include "models/data/images.h"

#include <string.h>

enum { COUNT = 35, HIGH = 3, WIDE = 4 };

/* Image i is all i; labels go round. */
static uint8_t pixels[COUNT * HIGH * WIDE], labels[COUNT];
static const struct ll_idx good_images = {3, {COUNT, HIGH, WIDE}, pixels}, good_labels = {1, {COUNT}, labels};

static struct ll_image_set make_set(void)
{
    struct ll_diags diags = {0};
    struct ll_image_set set;
    for (int i = 0; i < COUNT * HIGH * WIDE; i++)
        pixels[i] = (uint8_t)(i / (HIGH * WIDE));
    for (int i = 0; i < COUNT; i++)
        labels[i] = (uint8_t)(i % 7);
    assert_true(ll_image_set_join(&set, &good_images, &good_labels, "pictures", &diags));
    assert_int_equal(diags.count, 0);
    return set;
}

static void expect(const struct ll_idx *images, const struct ll_idx *numbers, const char *complaint)
{
    struct ll_diags diags = {0};
    struct ll_image_set set;
    assert_false(ll_image_set_join(&set, images, numbers, "pictures", &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].place.file, "pictures");
    assert_string_equal(diags.kept[0].message, complaint);
    ll_diags_release(&diags);
}

static void what_is_no_set_of_labelled_images_is_refused(void **state)
{
    (void)state;
    const struct ll_idx flat = {2, {COUNT, HIGH}, pixels}, none = {4, {COUNT, HIGH, 0, 3}, pixels},
                        few = {3, {15, HIGH, WIDE}, pixels}, short_of_one = {1, {COUNT - 1}, labels},
                        table = {2, {COUNT, 1}, labels};
    expect(&flat, &good_labels, "images of 2 dimensions; expected 3 (images, height, width) or 4");
    expect(&none, &good_labels, "images without pixels");
    expect(&few, &good_labels, "15 images; expected at least 16, so that one is held back");
    expect(&good_images, &short_of_one,
           "labels of 1 dimensions, 34 in the first; expected 35 labels, one for each image");
    expect(&good_images, &table,
           "labels of 2 dimensions, 35 in the first; expected 35 labels, one for each image");
}

static void what_does_not_suit_a_network_is_named_all_of_it(void **state)
{
    (void)state;
    struct ll_image_set set = make_set();
    struct ll_diags diags = {0};
    assert_true(ll_image_set_suits(&set, &(struct ll_image_need){HIGH, WIDE, 3, 7}, &diags));
    assert_true(ll_image_set_suits(&set, &(struct ll_image_need){HIGH - 1, WIDE - 2, 1, 9}, &diags));
    assert_int_equal(diags.count, 0);
    set.channels = 2;
    assert_false(ll_image_set_suits(&set, &(struct ll_image_need){HIGH, WIDE + 1, 3, 6}, &diags));
    assert_int_equal(diags.count, 3);
    assert_string_equal(diags.kept[0].message, "image 6, counted from 0, is of class 6; expected 0 to 5");
    assert_string_equal(diags.kept[1].message,
                        "images of 3 x 4 pixels; expected 3 x 5 or larger, which are cropped");
    assert_string_equal(diags.kept[2].message, "images of 2 channels; expected 3, or 1: grey");
    ll_diags_release(&diags);
}

/* Of 35 images 15 and 31 are held back, nobody else; all others are learned sooner or later. */
static void what_is_held_back_is_never_learned(void **state)
{
    (void)state;
    bool learned[COUNT] = {false};
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t image = ll_data_part_choose(LL_LEARNED, COUNT, 3, i);
        assert_true(image < COUNT);
        learned[image] = true;
        assert_int_equal(ll_data_part_choose(LL_HELD_BACK, COUNT, 3, i), i % 2 ? 31 : 15);
    }
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(learned[i], i != 15 && i != 31);
}

/* Each pixel says where it stood: 10 y + x. */
static void images_that_are_too_large_are_cropped(void **state)
{
    (void)state;
    static uint8_t large[16 * 6 * 8];
    static const struct ll_idx images = {3, {16, 6, 8}, large}, numbers = {1, {16}, labels};
    struct ll_diags diags = {0};
    struct ll_image_set set;
    bool seen[5][6] = {{false}};
    float shown[2 * 3 * 3];
    for (int i = 0; i < 16 * 6 * 8; i++)
        large[i] = (uint8_t)(10 * (i / 8 % 6) + i % 8);
    assert_true(ll_image_set_join(&set, &images, &numbers, "pictures", &diags));
    struct ll_images source = {2, 3, 3, 7, 1, LL_HELD_BACK, &set};
    for (uint64_t i = 0; i < 500; i++, source.part = LL_LEARNED) {
        ll_image_pixels(&source, i, 1, shown);
        int corner = (int)lround((double)(shown[0] + 1) * 127.5), top = corner / 10, left = corner % 10;
        for (int j = 0; j < 2 * 3 * 3; j++) /* grey in all three channels */
            assert_int_equal(lround((double)(shown[j] + 1) * 127.5), corner + 10 * (j / 9) + j / 3 % 3);
        if (source.part == LL_HELD_BACK)
            assert_true(top == 2 && left == 2); /* the middle */
        assert_true(top <= 4 && left <= 5);
        seen[top][left] = true;
    }
    for (int i = 0; i < 5 * 6; i++)
        assert_true(seen[i / 6][i % 6]);
}

static void a_label_belongs_to_its_image(void **state)
{
    (void)state;
    const struct ll_image_set set = make_set();
    float shown[HIGH * WIDE];
    int32_t label;
    struct ll_images source = {HIGH, WIDE, 1, 7, 5, LL_LEARNED, &set};
    for (uint64_t i = 0; i < 100; i++, source.part = i % 2 ? LL_HELD_BACK : LL_LEARNED) {
        ll_image_pixels(&source, i, 1, shown);
        ll_image_labels(&source, i, 1, &label);
        assert_int_equal(lround((double)(shown[0] + 1) * 127.5) % 7, label);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_no_set_of_labelled_images_is_refused),
        cmocka_unit_test(what_does_not_suit_a_network_is_named_all_of_it),
        cmocka_unit_test(what_is_held_back_is_never_learned),
        cmocka_unit_test(images_that_are_too_large_are_cropped),
        cmocka_unit_test(a_label_belongs_to_its_image),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
