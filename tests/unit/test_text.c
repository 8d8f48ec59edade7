/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/data/text.h"

#include <unistd.h>

#include <string.h>

static struct ll_text text_of(const char *bytes)
{
    return (struct ll_text){"a.txt", bytes, strlen(bytes)};
}

static void expect_line(const struct ll_text *text, struct ll_line *line, const char *expected)
{
    assert_true(ll_next_line(text, line));
    assert_int_equal(line->words.length, strlen(expected));
    assert_memory_equal(line->words.text, expected, line->words.length);
}

static void lines_end_with_a_line_feed_or_the_text(void **state)
{
    (void)state;
    struct ll_text text = text_of("one two\n\nthree\r\nfour");
    struct ll_line line = {0};
    expect_line(&text, &line, "one two");
    expect_line(&text, &line, "");
    expect_line(&text, &line, "three");
    expect_line(&text, &line, "four");
    assert_int_equal(line.number, 4);
    assert_false(ll_next_line(&text, &line));
    assert_false(ll_next_line(&text, &line));
}

static void no_text_has_no_line(void **state)
{
    (void)state;
    struct ll_text text = text_of("");
    assert_false(ll_next_line(&text, &(struct ll_line){0}));
    assert_false(ll_next_line(&(struct ll_text){0}, &(struct ll_line){0}));
    text = text_of("a\n");
    struct ll_line line = {0};
    expect_line(&text, &line, "a");
    assert_false(ll_next_line(&text, &line));
}

static void words_stand_between_blanks(void **state)
{
    (void)state;
    const char *sentence = "  un \t mot, deux ";
    struct ll_words rest = {sentence, strlen(sentence)}, word;
    static const char *const expected[] = {"un", "mot,", "deux"};
    for (int i = 0; i < 3; i++) {
        assert_true(ll_next_word(&rest, &word));
        assert_int_equal(word.length, strlen(expected[i]));
        assert_memory_equal(word.text, expected[i], word.length);
    }
    assert_false(ll_next_word(&rest, &word));
}

/* The place and the message of the only complaint, as a line of the program's output. */
static void expect_complaint(const char *bytes, uint64_t line, uint64_t column, const char *message)
{
    struct ll_diags diags = {0};
    struct ll_text text = text_of(bytes);
    assert_false(ll_text_check(&text, &diags));
    assert_int_equal(diags.count, 1);
    assert_int_equal(diags.kept[0].place.line, line);
    assert_int_equal(diags.kept[0].place.column, column);
    assert_string_equal(diags.kept[0].message, message);
    ll_diags_release(&diags);
}

/* Table 3-7 of the Unicode standard: the first byte that breaks it, of each kind of breach. */
static void what_is_not_text_is_named_with_its_place(void **state)
{
    (void)state;
    expect_complaint("un\nd\x80ux", 2, 2, "byte 80 is not UTF-8; expected plain text");
    expect_complaint("\xc0\xaf", 1, 1, "byte c0 is not UTF-8; expected plain text");
    expect_complaint("a \xe0\x9f\xbf", 1, 3, "byte e0 is not UTF-8; expected plain text");
    expect_complaint("\xed\xa0\x80", 1, 1, "byte ed is not UTF-8; expected plain text");
    expect_complaint("\xf4\x90\x80\x80", 1, 1, "byte f4 is not UTF-8; expected plain text");
    expect_complaint("caf\xc3", 1, 4, "byte c3 is not UTF-8; expected plain text");
    expect_complaint("a\001", 1, 2, "control character 01; expected plain text");
}

static void each_wrong_line_has_its_complaint(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_text text = text_of("\x80\x80\ngood\n\x81");
    assert_false(ll_text_check(&text, &diags));
    assert_int_equal(diags.count, 2);
    assert_int_equal(diags.kept[1].place.line, 3);
    ll_diags_release(&diags);
}

static void other_languages_are_text(void **state)
{
    (void)state;
    struct ll_diags diags = {0};
    struct ll_text text = text_of("d\xc3\xa9j\xc3\xa0\tvu \xe2\x82\xac \xf0\x9f\x98\x80\r\n");
    assert_true(ll_text_check(&text, &diags));
    assert_int_equal(diags.count, 0);
}

/* 39 letters and one of two bytes do not fit into 40 bytes. */
static void a_long_word_is_shown_in_whole_characters(void **state)
{
    (void)state;
    char word[] = "0123456789012345678901234567890123456789\xa9 and so on";
    word[39] = '\xc3';
    assert_int_equal(ll_words_shown((struct ll_words){word, sizeof word - 1}), 39);
    assert_int_equal(ll_words_shown((struct ll_words){word, 5}), 5);
}

static void a_missing_file_is_named(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_text text;
    assert_false(ll_text_load("no/such/file", &arena, &text, &diags));
    assert_string_equal(diags.kept[0].place.file, "no/such/file");
    assert_string_equal(diags.kept[0].message, "there is no such file or folder");
    assert_false(ll_text_load("tests", &arena, &text, &diags));
    assert_string_equal(diags.kept[1].message, "this is a folder");
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

/* A file without blocks. */
static void more_than_a_corpus_can_be_is_not_read(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_text text;
    FILE *file = tmpfile();
    char path[40];
    assert_int_equal(ftruncate(fileno(file), (INT64_C(1) << 32) + 1), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(file));
    assert_false(ll_text_load(path, &arena, &text, &diags));
    assert_string_equal(diags.kept[0].message, "the file is longer than such a file can be");
    fclose(file);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_end_with_a_line_feed_or_the_text),
        cmocka_unit_test(no_text_has_no_line),
        cmocka_unit_test(words_stand_between_blanks),
        cmocka_unit_test(what_is_not_text_is_named_with_its_place),
        cmocka_unit_test(each_wrong_line_has_its_complaint),
        cmocka_unit_test(other_languages_are_text),
        cmocka_unit_test(a_long_word_is_shown_in_whole_characters),
        cmocka_unit_test(a_missing_file_is_named),
        cmocka_unit_test(more_than_a_corpus_can_be_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
