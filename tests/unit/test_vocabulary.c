/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/data/text.h"

#include <string.h>

static struct ll_text text_of(const char *bytes)
{
    return (struct ll_text){"words", bytes, strlen(bytes)};
}

static struct ll_words word_of(const char *text)
{
    return (struct ll_words){text, strlen(text)};
}

static void frequent_words_come_first(void **state)
{
    (void)state;
    struct ll_vocabulary vocabulary = {0};
    struct ll_text text = text_of("b a c a\nb a d\n");
    assert_true(ll_vocabulary_build(&vocabulary, &text, 7)); /* the specials, and three of four words */
    assert_int_equal(ll_vocabulary_find(&vocabulary, word_of("a")), 4);
    assert_int_equal(ll_vocabulary_find(&vocabulary, word_of("b")), 5);
    assert_int_equal(ll_vocabulary_find(&vocabulary, word_of("c")), 6);
    assert_int_equal(ll_vocabulary_find(&vocabulary, word_of("d")), LL_WORD_UNKNOWN);
    ll_vocabulary_release(&vocabulary);
}

static void a_word_that_looks_like_a_special_is_none(void **state)
{
    (void)state;
    struct ll_vocabulary vocabulary = {0};
    struct ll_text text = text_of("_EOS _EOS word");
    assert_true(ll_vocabulary_build(&vocabulary, &text, 100));
    assert_int_equal(ll_vocabulary_find(&vocabulary, word_of("_EOS")), LL_WORD_UNKNOWN);
    assert_int_equal(ll_vocabulary_find(&vocabulary, word_of("word")), LL_SPECIAL_WORDS);
    ll_vocabulary_release(&vocabulary);
}

static void numbers_have_words(void **state)
{
    (void)state;
    struct ll_vocabulary vocabulary = {0};
    assert_true(ll_vocabulary_begin(&vocabulary));
    assert_int_equal(ll_vocabulary_add(&vocabulary, word_of("mot")), 4);
    assert_memory_equal(ll_vocabulary_word(&vocabulary, 4).text, "mot", 3);
    assert_memory_equal(ll_vocabulary_word(&vocabulary, LL_WORD_EOS).text, "_EOS", 4);
    assert_memory_equal(ll_vocabulary_word(&vocabulary, 5).text, "_UNK", 4);
    assert_memory_equal(ll_vocabulary_word(&vocabulary, -1).text, "_UNK", 4);
    ll_vocabulary_release(&vocabulary);
}

static void a_list_of_words_is_a_vocabulary(void **state)
{
    (void)state;
    struct ll_vocabulary vocabulary = {0};
    struct ll_diags diags = {0};
    struct ll_text text = text_of("_PAD\n_GO\n_EOS\n_UNK\nle\nla\n");
    assert_true(ll_vocabulary_read(&vocabulary, &text, 6, &diags));
    assert_int_equal(ll_vocabulary_find(&vocabulary, word_of("la")), 5);
    ll_vocabulary_release(&vocabulary);
}

/* All complaints about a list of words, one a line: line, column, message. */
static void expect_complaints(const char *bytes, uint64_t most, const char *expected)
{
    struct ll_vocabulary vocabulary = {0};
    struct ll_diags diags = {0};
    struct ll_text text = text_of(bytes);
    char found[1000] = "";
    assert_false(ll_vocabulary_read(&vocabulary, &text, most, &diags));
    for (size_t i = 0; i < diags.kept_count; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%d:%d: %s\n",
                 (int)diags.kept[i].place.line, (int)diags.kept[i].place.column, diags.kept[i].message);
    assert_string_equal(found, expected);
    ll_vocabulary_release(&vocabulary);
    ll_diags_release(&diags);
}

static void every_wrong_line_is_named(void **state)
{
    (void)state;
    expect_complaints("_PAD\n_GO\n_EOS\n_UNK\nle la\n\nle\nle\n", 100,
                      "5:4: `la`: expected one word a line\n"
                      "6:1: expected a word\n"
                      "8:1: `le`: this word stands further up already\n");
    expect_complaints("_GO\n_GO\n_EOS\n_UNK\nle\n", 100,
                      "1:1: `_GO`: expected _PAD; a vocabulary begins with _PAD, _GO, _EOS, _UNK\n");
    expect_complaints("_PAD\n_GO\n_EOS\n_UNK\n", 100,
                      "4:0: the file ends here; expected _PAD, _GO, _EOS, _UNK and a word at least\n");
    expect_complaints("_PAD\n_GO\n_EOS\n_UNK\na\nb\n", 5,
                      "6:0: there are 6 words; the model has room for 5\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequent_words_come_first),
        cmocka_unit_test(a_word_that_looks_like_a_special_is_none),
        cmocka_unit_test(numbers_have_words),
        cmocka_unit_test(a_list_of_words_is_a_vocabulary),
        cmocka_unit_test(every_wrong_line_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
