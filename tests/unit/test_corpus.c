/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "check.h"

#include "models/data/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ll_text text_of(const char *name, const char *bytes)
{
    return (struct ll_text){name, bytes, strlen(bytes)};
}

static struct ll_parallel_text texts_of(const char *source, const char *target)
{
    return (struct ll_parallel_text){.source = text_of("source.txt", source),
                                     .target = text_of("target.txt", target)};
}

static void lines_belong_to_each_other(void **state)
{
    (void)state;
    struct ll_corpus corpus = {0};
    struct ll_diags diags = {0};
    struct ll_parallel_text text = texts_of("the cat\na\n", "le chat\nun un chat\n");
    assert_true(ll_corpus_parse(&corpus, &text, 100, &diags));
    assert_int_equal(corpus.pair_count, 2);
    assert_int_equal(corpus.pairs[1].source_words, 1);
    assert_int_equal(corpus.pairs[1].target_words, 3);
    /* chat and un come twice, chat before un; le once */
    static const int32_t expected[] = {4, 5, 6, 4, 6, 5, 5, 4};
    assert_int_equal(corpus.word_count, 8);
    assert_memory_equal(corpus.words, expected, sizeof expected);
    ll_corpus_release(&corpus);
}

static void a_pair_with_an_empty_side_is_left_out(void **state)
{
    (void)state;
    struct ll_corpus corpus = {0};
    struct ll_diags diags = {0};
    struct ll_parallel_text text = texts_of("a\n\n b\n \n", "x\ny\n\n\n");
    assert_true(ll_corpus_parse(&corpus, &text, 100, &diags));
    assert_int_equal(corpus.pair_count, 1);
    assert_int_equal(corpus.word_count, 2);
    ll_corpus_release(&corpus);
}

static void expect_complaint(const struct ll_parallel_text *text, const char *file, uint64_t line,
                             const char *message)
{
    struct ll_corpus corpus = {0};
    struct ll_diags diags = {0};
    assert_false(ll_corpus_parse(&corpus, text, 100, &diags));
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].place.file, file);
    assert_int_equal(diags.kept[0].place.line, line);
    assert_string_equal(diags.kept[0].message, message);
    ll_corpus_release(&corpus);
    ll_diags_release(&diags);
}

static void what_cannot_be_a_corpus_is_named(void **state)
{
    (void)state;
    struct ll_parallel_text text = texts_of("a\nb\nc\n", "x\n");
    expect_complaint(&text, "target.txt", 1,
                     "the file ends here; expected 3 lines, as many as source.txt has");
    text = texts_of("a\n", "x\ny");
    expect_complaint(&text, "source.txt", 1,
                     "the file ends here; expected 2 lines, as many as target.txt has");
    text = texts_of("", "");
    expect_complaint(&text, "source.txt", 0, "there is no sentence that has a translation");
    text = texts_of("a\n\x01\n", "x\ny\n");
    expect_complaint(&text, "source.txt", 2, "control character 01; expected plain text");
    text = texts_of("a\n", "x\n");
    text.target_vocabulary = text_of("target.vocabulary", "_PAD\n_GO\n_EOS\n_UNK\nx\nx\n");
    expect_complaint(&text, "target.vocabulary", 6, "`x`: this word stands further up already");
}

static void words_that_a_vocabulary_lacks_are_unknown(void **state)
{
    (void)state;
    struct ll_corpus corpus = {0};
    struct ll_diags diags = {0};
    struct ll_parallel_text text = texts_of("a b\n", "x y\n");
    text.source_vocabulary = text_of("words", "_PAD\n_GO\n_EOS\n_UNK\nb\n");
    assert_true(ll_corpus_parse(&corpus, &text, 5, &diags));
    static const int32_t expected[] = {LL_WORD_UNKNOWN, 4, 4, LL_WORD_UNKNOWN}; /* y is the sixth word */
    assert_memory_equal(corpus.words, expected, sizeof expected);
    ll_corpus_release(&corpus);
}

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    fclose(file);
}

static void a_folder_of_two_texts_is_read(void **state)
{
    (void)state;
    char folder[] = "test_corpus.XXXXXX", remove[100];
    struct ll_corpus corpus = {0};
    struct ll_diags diags = {0};
    assert_non_null(mkdtemp(folder));
    assert_false(ll_corpus_read(&corpus, folder, 100, &diags));
    assert_int_equal(diags.count, 2); /* neither text is there; vocabularies need not be */
    ll_corpus_release(&corpus);
    write_file(folder, "source.txt", "one two\n");
    write_file(folder, "target.txt", "un deux\n");
    write_file(folder, "target.vocabulary", "_PAD\n_GO\n_EOS\n_UNK\nzut\nun\ndeux\n");
    assert_true(ll_corpus_read(&corpus, folder, 100, &diags));
    static const int32_t expected[] = {4, 5, 5, 6};
    assert_memory_equal(corpus.words, expected, sizeof expected);
    ll_corpus_release(&corpus);
    ll_diags_release(&diags);
    snprintf(remove, sizeof remove, "rm -r %s", folder);
    assert_int_equal(system(remove), 0);
}

static void the_made_up_translation_is_the_sentence_read_backwards(void **state)
{
    (void)state;
    struct ll_corpus corpus = {0}, longer = {0};
    struct ll_reversal reversal = {.pairs = 300, .letters = 30, .shortest = 2, .longest = 5, .seed = 7};
    assert_true(ll_corpus_reverse(&corpus, &reversal));
    assert_int_equal(corpus.pair_count, 300);
    unsigned lengths = 0;
    for (uint64_t i = 0; i < corpus.pair_count; i++) {
        const struct ll_pair *pair = &corpus.pairs[i];
        const int32_t *words = corpus.words + pair->first;
        assert_int_equal(pair->source_words, pair->target_words);
        lengths |= 1u << pair->source_words;
        for (uint64_t j = 0; j < pair->source_words; j++) {
            assert_in_range(words[j], LL_SPECIAL_WORDS, LL_SPECIAL_WORDS + 29);
            assert_int_equal(words[j], words[2 * pair->source_words - 1 - j]);
        }
    }
    assert_int_equal(lengths, 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5);
    assert_memory_equal(ll_vocabulary_word(&corpus.source, LL_SPECIAL_WORDS + 25).text, "z", 1);
    assert_memory_equal(ll_vocabulary_word(&corpus.target, LL_SPECIAL_WORDS + 26).text, "aa", 2);
    reversal.pairs = 301;
    assert_true(ll_corpus_reverse(&longer, &reversal));
    assert_memory_equal(longer.words, corpus.words, corpus.word_count * sizeof *corpus.words);
    ll_corpus_release(&corpus);
    ll_corpus_release(&longer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_belong_to_each_other),
        cmocka_unit_test(a_pair_with_an_empty_side_is_left_out),
        cmocka_unit_test(what_cannot_be_a_corpus_is_named),
        cmocka_unit_test(words_that_a_vocabulary_lacks_are_unknown),
        cmocka_unit_test(a_folder_of_two_texts_is_read),
        cmocka_unit_test(the_made_up_translation_is_the_sentence_read_backwards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
