/* SPDX-License-Identifier: Apache-2.0 */
/* Digits drawn and digits read. */
#define _GNU_SOURCE
#include "check.h"

#include "models/data/images.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SIZE = 28, PIXELS = SIZE * SIZE };

static void every_digit_has_ink_on_paper(void **state)
{
    (void)state;
    float pixels[PIXELS];
    unsigned seen = 0;
    for (uint64_t i = 0; i < 200; i++) {
        double ink = 0, rim = 0;
        ll_digit_draw(3, i, SIZE, pixels);
        seen |= 1u << ll_digit_label(3, i);
        for (int p = 0; p < PIXELS; p++) {
            assert_true(pixels[p] >= 0 && pixels[p] <= 1);
            ink += (double)pixels[p];
            if (p < SIZE || p >= PIXELS - SIZE)
                rim += (double)pixels[p];
        }
        assert_true(ink > 0.03 * PIXELS && ink < 0.4 * PIXELS);
        assert_true(rim == 0);
    }
    assert_int_equal(seen, 0x3ff);
}

/* A classifier that only remembers means tells them apart: those of one digit look alike. */
static void digits_of_one_kind_look_alike(void **state)
{
    (void)state;
    enum { LEARNED = 600, ASKED = 300 };
    static float means[10][PIXELS], pixels[PIXELS];
    int counts[10] = {0}, right = 0;
    for (uint64_t i = 0; i < LEARNED; i++) {
        int32_t label = ll_digit_label(5, i);
        ll_digit_draw(5, i, SIZE, pixels);
        counts[label]++;
        for (int p = 0; p < PIXELS; p++)
            means[label][p] += pixels[p];
    }
    for (uint64_t i = LEARNED; i < LEARNED + ASKED; i++) {
        double least = 1e9;
        int best = -1;
        ll_digit_draw(5, i, SIZE, pixels);
        for (int d = 0; d < 10; d++) {
            double distance = 0;
            for (int p = 0; p < PIXELS; p++) {
                double difference = (double)(pixels[p] - means[d][p] / (float)counts[d]);
                distance += difference * difference;
            }
            if (distance < least)
                least = distance, best = d;
        }
        right += best == ll_digit_label(5, i);
    }
    assert_true(right > 0.75 * ASKED);
}

static void an_idx_file_tells_its_dimensions(void **state)
{
    (void)state;
    const uint8_t file[] = {0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 3, 1, 2, 3, 4, 5, 6};
    struct ll_diags diags = {0};
    struct ll_idx idx;
    assert_true(ll_idx_parse(file, sizeof file, "d", &idx, &diags));
    assert_int_equal(idx.rank, 3);
    assert_int_equal(idx.dim[0], 2);
    assert_int_equal(idx.dim[2], 3);
    assert_int_equal(idx.bytes[5], 6);
}

static void what_is_no_idx_file_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t size;
        const char *message;
    } wrong[] = {
        {{0}, 3, "this is not an IDX file: it does not begin with two zeros"},
        {{1, 0, 8, 1}, 8, "this is not an IDX file: it does not begin with two zeros"},
        {{0, 0, 13, 1}, 8, "elements of type 0x0d: expected bytes, type 0x08"},
        {{0, 0, 8, 0}, 8, "0 dimensions: expected from 1 to 4, four bytes each"},
        {{0, 0, 8, 5}, 12, "5 dimensions: expected from 1 to 4, four bytes each"},
        {{0, 0, 8, 2}, 11, "2 dimensions: expected from 1 to 4, four bytes each"},
        {{0, 0, 8, 1, 0, 0, 0, 5}, 12, "4 bytes of elements: its dimensions ask for 5"},
        {{0, 0, 8, 2, 255, 255, 255, 255, 255, 255, 255, 255},
         12,
         "0 bytes of elements: its dimensions ask for 18446744065119617025"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ll_diags diags = {0};
        struct ll_idx idx;
        assert_false(ll_idx_parse(wrong[i].bytes, wrong[i].size, "d", &idx, &diags));
        assert_string_equal(diags.kept[0].message, wrong[i].message);
        ll_diags_release(&diags);
    }
}

/* Two pictures of 2 x 2 beside each other, two grey columns between them. What is no number, as a network
 * draws that has diverged, is dark. */
static void pictures_stand_in_a_grid(void **state)
{
    (void)state;
    char path[] = "test_digits.XXXXXX", got[64];
    const float pictures[] = {0, 1, 2, -1, 0.5f, 0, NAN, 1};
    const char expected[] = "P5\n6 2\n255\n\0\377\177\177\177\0\377\0\177\177\0\377";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(ll_picture_write_grid(path, pictures, 2, 2, 1), LL_OK);
    close(file);
    file = open(path, O_RDONLY); /* another file has taken its place */
    ssize_t size = read(file, got, sizeof got);
    assert_int_equal(size, sizeof expected - 1);
    assert_memory_equal(got, expected, sizeof expected - 1);
    close(file);
    unlink(path);
    assert_int_equal(ll_picture_write_grid("no/such/folder/a.pgm", pictures, 2, 2, 1), LL_NO_FILE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_digit_has_ink_on_paper),     cmocka_unit_test(digits_of_one_kind_look_alike),
        cmocka_unit_test(an_idx_file_tells_its_dimensions), cmocka_unit_test(what_is_no_idx_file_is_refused),
        cmocka_unit_test(pictures_stand_in_a_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
