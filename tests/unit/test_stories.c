/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/data/text.h"

#include <string.h>

struct reading {
    struct ll_map words;
    struct ll_arena arena;
    struct ll_diags diags;
    struct ll_stories stories;
    bool good;
};

static struct reading read_stories(const char *bytes, struct ll_story_sizes sizes)
{
    struct reading r = {.good = false};
    struct ll_text text = {"s.txt", bytes, strlen(bytes)};
    r.good = ll_stories_read(&text, sizes, &r.words, &r.arena, &r.stories, &r.diags);
    return r;
}

static void end(struct reading *r)
{
    ll_map_release(&r->words);
    ll_arena_release(&r->arena);
    ll_diags_release(&r->diags);
}

/* The second story begins anew; of its three statements the memory keeps the last two. Words by first
 * appearance: mary 1, moved 2, to 3, the 4, hall 5, where 6, is 7, john 8, left 9. */
static void a_question_comes_with_the_sentences_before_it(void **state)
{
    (void)state;
    struct reading r = read_stories("1 Mary moved to the hall.\n"
                                    "2 Where is Mary? \thall\t1\n"
                                    "1 John left.\n"
                                    "2 Mary left.\n"
                                    "3 John moved.\n"
                                    "4 Where is John?\thall\t3\n",
                                    (struct ll_story_sizes){10, 2, 5});
    assert_true(r.good);
    assert_int_equal(r.stories.count, 2);
    assert_memory_equal(r.stories.sentences, ((int32_t[]){1, 2, 3, 4, 5, 0, 0, 0, 0, 0}), 40);
    assert_memory_equal(r.stories.questions, ((int32_t[]){6, 7, 1, 0, 0}), 20);
    assert_memory_equal(r.stories.sentences + 10, ((int32_t[]){1, 9, 0, 0, 0, 8, 2, 0, 0, 0}), 40);
    assert_memory_equal(r.stories.questions + 5, ((int32_t[]){6, 7, 8, 0, 0}), 20);
    assert_memory_equal(r.stories.answers, ((int32_t[]){5, 5}), 8);
    end(&r);
}

static void expect_complaint(const char *bytes, uint64_t line, uint64_t column, const char *message)
{
    struct reading r = read_stories(bytes, (struct ll_story_sizes){5, 2, 3});
    assert_false(r.good);
    assert_int_equal(r.diags.count, 1);
    assert_string_equal(r.diags.kept[0].message, message);
    assert_int_equal(r.diags.kept[0].place.line, line);
    assert_int_equal(r.diags.kept[0].place.column, column);
    end(&r);
}

static void what_is_no_story_has_a_place(void **state)
{
    (void)state;
    expect_complaint("Mary left.\n", 1, 1, "a line of a story begins with its number and a blank");
    expect_complaint("1 a b\n2\n", 2, 2, "a line of a story begins with its number and a blank");
    expect_complaint("1 a b c d\n", 1, 9, "this sentence has more than 3 words");
    expect_complaint("1 ...\n", 1, 6, "there is no word in this sentence");
    expect_complaint("1 a b\n2 c\td\n3 e\n", 3, 3,
                     "`e` is one word more than a vocabulary of 5 has, of which one fills up");
    expect_complaint("1 a b\n2 b\t\n", 2, 5, "behind the tab there must be an answer");
    expect_complaint("1 a b\n", 0, 0, "there is no question in it");
    expect_complaint("", 0, 0, "there is no question in it");
    expect_complaint("1 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", 1, 3,
                     "a word has more than 64 letters");
}

static void all_that_is_wrong_is_told_at_once(void **state)
{
    (void)state;
    struct reading r = read_stories("a\n1 b\n2 ...\n3 c\tb\n4 b b b b\n", (struct ll_story_sizes){5, 2, 3});
    assert_false(r.good);
    assert_int_equal(r.diags.count, 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(r.diags.kept[i].place.line, 1 + 2 * i);
    end(&r);
}

/* Made-up stories have the sizes of task 1, and the answer is where the person last went: the sentence that
 * says so is there and ends with it. */
static void made_up_stories_are_answered_by_themselves(void **state)
{
    (void)state;
    struct ll_str text = {0};
    ll_stories_write(7, 50, &text);
    struct reading r = read_stories(text.text, (struct ll_story_sizes){20, 10, 6});
    assert_true(r.good);
    assert_int_equal(r.stories.count, 250);
    assert_int_equal(r.words.count, 19);
    for (uint64_t q = 0; q < r.stories.count; q++) {
        const int32_t *told = r.stories.sentences + q * 60, *asked = r.stories.questions + q * 6;
        int32_t person = asked[2], place = 0;
        for (int i = 0; i < 10; i++)
            for (int j = 5; told[i * 6] == person && j > 0; j--)
                if (told[i * 6 + j]) {
                    place = told[i * 6 + j];
                    break;
                }
        assert_int_equal(place, r.stories.answers[q]);
    }
    ll_str_release(&text);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_comes_with_the_sentences_before_it),
        cmocka_unit_test(what_is_no_story_has_a_place),
        cmocka_unit_test(all_that_is_wrong_is_told_at_once),
        cmocka_unit_test(made_up_stories_are_answered_by_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
