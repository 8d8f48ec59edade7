/* SPDX-License-Identifier: Apache-2.0 */
/* What is said in a sound, as TIMIT has it. */
#include "check.h"

#include "models/data/speech.h"

#include <string.h>

static struct ll_map names;
static struct ll_arena arena;
static struct ll_diags diags;

static int let_go(void **state)
{
    (void)state;
    ll_map_release(&names);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    diags = (struct ll_diags){0};
    return 0;
}

static bool parse(const char *lines, struct ll_phonemes *phonemes)
{
    struct ll_text text = {"x.phn", lines, strlen(lines)};
    return ll_phonemes_parse(&text, &names, &arena, phonemes, &diags);
}

static void phonemes_are_numbered_as_they_first_come(void **state)
{
    (void)state;
    struct ll_phonemes first, second;
    assert_true(parse("0 3050 h#\n3050 4559 sh\n4559 5723 h#\n", &first));
    assert_true(parse("0 10 ix\r\n\n 10\t20  sh \n20 20 h#", &second));
    assert_int_equal(first.count, 3);
    assert_memory_equal(first.labels, ((const int32_t[]){0, 1, 0}), 3 * sizeof(int32_t));
    assert_int_equal(second.count, 3);
    assert_memory_equal(second.labels, ((const int32_t[]){2, 1, 0}), 3 * sizeof(int32_t));
    assert_int_equal(names.count, 3);
}

static void the_shortest_lines_have_room(void **state)
{
    (void)state;
    struct ll_phonemes phonemes;
    assert_true(parse("0 0 a\n0 0 b\n0 0 a\n0 0 b\n0 0 a\n0 0 b\n0 0 a", &phonemes));
    assert_int_equal(phonemes.count, 7);
}

/* A blank comes between two labels that are alike (Graves et al., 2006). */
static void phonemes_that_are_alike_take_a_frame_more(void **state)
{
    (void)state;
    struct ll_phonemes phonemes;
    assert_true(parse("0 1 a\n1 2 b\n2 3 a\n", &phonemes));
    assert_int_equal(ll_phonemes_frames(&phonemes), 3);
    assert_true(parse("0 1 a\n1 2 a\n2 3 a\n3 4 b\n", &phonemes));
    assert_int_equal(ll_phonemes_frames(&phonemes), 6);
}

static void what_is_no_phoneme_is_named_with_its_place(void **state)
{
    (void)state;
    static const char shape[] =
        "expected three words: the samples a phoneme begins with and ends before, its name";
    static const struct {
        const char *lines;
        uint64_t line, column;
        const char *message;
    } wrong[] = {
        {"0 5 a\n5 9\n", 2, 1, shape},
        {"0 5 a b\n", 1, 1, shape},
        {" a 5 a\n", 1, 2, "`a`: expected the number of a sample"},
        {"0 -5 a\n", 1, 3, "`-5`: expected the number of a sample"},
        {"0 1234567890123456789 a\n", 1, 3, "`1234567890123456789`: expected the number of a sample"},
        {"7 3 a\n", 1, 3, "sample 3: expected 7 or later; phonemes come one after the other"},
        {"7 9 a\n6 9 a\n", 2, 1, "sample 6: expected 7 or later; phonemes come one after the other"},
        {"\n\n", 0, 0, "there is no phoneme in it"},
        {"", 0, 0, "there is no phoneme in it"},
        {"0 5 \x01\n", 1, 5, "control character 01; expected plain text"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ll_phonemes phonemes;
        assert_false(parse(wrong[i].lines, &phonemes));
        assert_int_equal(diags.count, 1);
        assert_string_equal(diags.kept[0].place.file, "x.phn");
        assert_int_equal(diags.kept[0].place.line, wrong[i].line);
        assert_int_equal(diags.kept[0].place.column, wrong[i].column);
        assert_string_equal(diags.kept[0].message, wrong[i].message);
        let_go(NULL);
    }
}

static void every_wrong_line_is_named(void **state)
{
    (void)state;
    struct ll_phonemes phonemes;
    assert_false(parse("a 5 a\n0 5 a\nb 5 a\n0 x a\n", &phonemes));
    assert_int_equal(diags.count, 3);
    assert_int_equal(diags.kept[2].place.line, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(phonemes_are_numbered_as_they_first_come, let_go),
        cmocka_unit_test_teardown(the_shortest_lines_have_room, let_go),
        cmocka_unit_test_teardown(phonemes_that_are_alike_take_a_frame_more, let_go),
        cmocka_unit_test_teardown(what_is_no_phoneme_is_named_with_its_place, let_go),
        cmocka_unit_test_teardown(every_wrong_line_is_named, let_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
