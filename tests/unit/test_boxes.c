/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "random.h"

#include "models/data/images.h"
#include "models/vision/vision.h"

#include <string.h>

/* 2 x 2 of 4 x 4 pixels in common: 4 of 16 + 16 - 4. */
static void what_two_boxes_share_is_counted_in_pixels(void **state)
{
    (void)state;
    struct ll_box a = {0, 0, 4, 4}, b = {2, 2, 6, 6}, away = {4, 0, 8, 4};
    assert_true(fabsf(ll_box_iou(a, b) - 4.0f / 28) < 1e-6f);
    assert_true(ll_box_iou(a, a) == 1);
    assert_true(ll_box_iou(a, away) == 0);
    assert_true(ll_box_iou((struct ll_box){1, 1, 1, 1}, (struct ll_box){1, 1, 1, 1}) == 0);
}

static void a_box_is_where_its_delta_leads_from_any_anchor(void **state)
{
    (void)state;
    uint64_t random = ll_seed(41);
    for (int i = 0; i < 100; i++) {
        float at[8];
        for (int k = 0; k < 8; k++)
            at[k] = (float)ll_random_below(&random, 50);
        struct ll_box anchor = {at[0], at[1], at[0] + 1 + at[2], at[1] + 1 + at[3]};
        struct ll_box box = {at[4], at[5], at[4] + 1 + at[6], at[5] + 1 + at[7]};
        struct ll_box back = ll_box_decode(anchor, ll_box_encode(anchor, box));
        assert_true(fabsf(back.left - box.left) < 1e-3f && fabsf(back.top - box.top) < 1e-3f);
        assert_true(fabsf(back.right - box.right) < 1e-3f && fabsf(back.bottom - box.bottom) < 1e-3f);
    }
}

/* A map of 2 x 3 pixels, 16 apart; sides 16 and 32, ratios 1 and 4: twice as high as wide, half as wide. */
static void anchors_lie_around_the_middles_of_pixels(void **state)
{
    (void)state;
    const double sides[] = {16, 32}, ratios[] = {1, 4};
    struct ll_anchor_grid grid = {2, 3, 16, sides, ratios, 2, 2};
    struct ll_box boxes[24];
    assert_int_equal(ll_anchor_count(&grid), 24);
    ll_anchors_fill(&grid, boxes);
    const struct ll_box first = {0, 0, 16, 16}, high = {4, -8, 12, 24}, last = {32, -8, 48, 56};
    assert_memory_equal(&boxes[0], &first, sizeof first);
    assert_memory_equal(&boxes[1], &high, sizeof high);
    assert_memory_equal(&boxes[23], &last, sizeof last);
}

static void every_truth_is_found_and_doubtful_boxes_are_left_out(void **state)
{
    (void)state;
    const struct ll_box truths[] = {{0, 0, 10, 10}, {40, 40, 50, 50}};
    const struct ll_box boxes[] = {
        {0, 0, 10, 9}, {0, 0, 10, 5}, {0, 0, 10, 3}, {20, 20, 30, 30}, {48, 48, 60, 60}};
    int32_t matches[5];
    ll_anchors_assign(boxes, 5, truths, 2, (struct ll_match_rule){0.7f, 0.4f}, matches);
    const int32_t expected[] = {0, LL_UNDECIDED, LL_UNMATCHED, LL_UNMATCHED, 1};
    assert_memory_equal(matches, expected, sizeof expected);
}

static void worse_detections_of_the_same_thing_are_dropped(void **state)
{
    (void)state;
    struct ll_detection found[] = {
        {{1, 0, 11, 10}, 0, 1, 0.5f}, /* overlaps with the next, which is better */
        {{0, 0, 10, 10}, 0, 1, 0.9f},  {{0, 0, 10, 10}, 0, 2, 0.8f}, /* another class */
        {{0, 0, 10, 10}, 1, 1, 0.7f},                                /* another image */
        {{30, 0, 40, 10}, 0, 1, 0.6f},                               /* elsewhere */
    };
    assert_int_equal(ll_detections_nms(found, 5, 0.5f), 4);
    for (int i = 0; i < 4; i++)
        assert_true(fabsf(found[i].score - (0.9f - 0.1f * (float)i)) < 1e-6f);
}

/* Of class 1 two truths; found in order: one, nothing, the other. Precision is 1 up to recall 1/2, then 2/3:
 * their mean is 5/6. Of class 2 one truth, not found. */
static void precision_is_the_area_under_its_curve_over_recall(void **state)
{
    (void)state;
    const struct ll_detection truths[] = {
        {{0, 0, 10, 10}, 0, 1, 1}, {{20, 0, 30, 10}, 0, 1, 1}, {{0, 0, 10, 10}, 1, 2, 1}};
    const struct ll_detection found[] = {
        {{0, 0, 10, 10}, 0, 1, 0.9f}, {{50, 0, 60, 10}, 0, 1, 0.8f}, {{20, 0, 30, 10}, 0, 1, 0.7f}};
    bool scratch[6];
    struct ll_detector_scores scores = ll_detections_map(found, 3, truths, 3, scratch);
    assert_true(fabs(scores.precision - (5.0 / 6 + 0) / 2) < 1e-12);
    assert_true(fabs(scores.recall - 2.0 / 3) < 1e-12);
}

static void what_is_drawn_lies_in_its_box_and_parts_differ(void **state)
{
    (void)state;
    static float pixels[2][40 * 60 * 3];
    struct ll_drawings d = {40, 60, 6, 5, 3, LL_LEARNED}, held_back = d;
    held_back.part = LL_HELD_BACK;
    for (uint64_t i = 0; i < 50; i++) {
        struct ll_shape_box boxes[LL_MOST_SHAPES];
        ll_drawing_boxes(&d, i, boxes);
        ll_drawing_pixels(&d, i, pixels[0]);
        assert_true(boxes[0].class >= 1);
        for (uint64_t y = 0; y < 40; y++)
            for (uint64_t x = 0; x < 60; x++) {
                bool inside = false;
                for (uint64_t k = 0; k < d.most && boxes[k].class > 0; k++)
                    inside |= (float)x >= boxes[k].left && (float)x < boxes[k].right &&
                              (float)y >= boxes[k].top && (float)y < boxes[k].bottom;
                /* The canvas is within a quarter of grey, colours never are. */
                assert_true(inside || fabsf(pixels[0][(y * 60 + x) * 3]) <= 0.25f);
            }
        ll_drawing_pixels(&held_back, i, pixels[1]);
        assert_true(memcmp(pixels[0], pixels[1], sizeof pixels[0]) != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_two_boxes_share_is_counted_in_pixels),
        cmocka_unit_test(a_box_is_where_its_delta_leads_from_any_anchor),
        cmocka_unit_test(anchors_lie_around_the_middles_of_pixels),
        cmocka_unit_test(every_truth_is_found_and_doubtful_boxes_are_left_out),
        cmocka_unit_test(worse_detections_of_the_same_thing_are_dropped),
        cmocka_unit_test(precision_is_the_area_under_its_curve_over_recall),
        cmocka_unit_test(what_is_drawn_lies_in_its_box_and_parts_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
