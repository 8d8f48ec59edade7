/* SPDX-License-Identifier: Apache-2.0 */
/* What is read back is what was written, and nothing in a document leads astray. */
#include "check.h"

#include "tracer/base/json.h"

static struct ll_json_reader reader_of(const char *text, size_t length, struct ll_diags *diags)
{
    return (struct ll_json_reader){
        .file = "a.json", .begin = text, .at = text, .end = text + length, .diags = diags};
}

static void tokens_come_in_their_order(void **state)
{
    static const char text[] =
        " {\"a\" : [1, -2.5e3, true],\n\"b\":{\"c\":null, \"d\": \"x\\n\"}, \"e\":[]} ";
    static const enum ll_json_token expected[] = {
        LL_JSON_OBJECT, LL_JSON_KEY,      LL_JSON_LIST,       LL_JSON_NUMBER,     LL_JSON_NUMBER,
        LL_JSON_TRUE,   LL_JSON_LIST_END, LL_JSON_KEY,        LL_JSON_OBJECT,     LL_JSON_KEY,
        LL_JSON_NULL,   LL_JSON_KEY,      LL_JSON_TEXT,       LL_JSON_OBJECT_END, LL_JSON_KEY,
        LL_JSON_LIST,   LL_JSON_LIST_END, LL_JSON_OBJECT_END, LL_JSON_END,        LL_JSON_END};
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_json_reader reader = reader_of(text, sizeof text - 1, &diags);
    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(ll_json_read(&reader), expected[i]);
        if (i == 4)
            assert_int_equal(ll_json_as_integer(&reader), -2500);
        if (i == 12)
            assert_string_equal(ll_json_copy(&reader, &arena), "x\n");
    }
    assert_int_equal(diags.count, 0);
    ll_arena_release(&arena);
}

static void reals_are_what_they_say(void **state)
{
    static const struct {
        const char *text;
        double value;
    } numbers[] = {{"-0", 0},
                   {"0.5e-3", 0.5e-3},
                   {"-12.25E+2", -1225},
                   {"10e0", 10},
                   {"1.00000000000000000000000000000000000000000000000000000000e-1", 0.1}};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct ll_diags diags = {0};
        struct ll_json_reader reader = reader_of(numbers[i].text, strlen(numbers[i].text), &diags);
        assert_int_equal(ll_json_read(&reader), LL_JSON_NUMBER);
        assert_true(ll_json_as_real(&reader) == numbers[i].value);
        assert_int_equal(ll_json_read(&reader), LL_JSON_END);
        assert_int_equal(diags.count, 0);
    }
}

/* The integers that a double cannot tell apart. */
static void whole_numbers_are_exact(void **state)
{
    static const struct {
        const char *text;
        int64_t value;
    } numbers[] = {{"9007199254740993", 9007199254740993},
                   {"-9223372036854775808", INT64_MIN},
                   {"9223372036854775808", INT64_MAX},
                   {"99999999999999999999999", INT64_MAX},
                   {"-99999999999999999999999", INT64_MIN},
                   {"1e3", 1000},
                   {"NaN", 0},
                   {"-Infinity", INT64_MIN}};
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct ll_diags diags = {0};
        struct ll_json_reader reader = reader_of(numbers[i].text, strlen(numbers[i].text), &diags);
        assert_int_equal(ll_json_read(&reader), LL_JSON_NUMBER);
        assert_int_equal(ll_json_as_integer(&reader), numbers[i].value);
    }
}

static void escapes_are_resolved(void **state)
{
    static const char text[] = "\"\\u00e9\\ud83d\\ude00\\\"\\/\\u0000\\ud83d\"";
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    struct ll_json_reader reader = reader_of(text, sizeof text - 1, &diags);
    (void)state;
    assert_int_equal(ll_json_read(&reader), LL_JSON_TEXT);
    assert_string_equal(ll_json_copy(&reader, &arena), "\xc3\xa9\xf0\x9f\x98\x80\"/\xef\xbf\xbd\xef\xbf\xbd");
    ll_arena_release(&arena);
}

static void passing_leads_behind_a_value(void **state)
{
    static const char text[] = "{\"a\":{\"b\":[[1],{\"c\":2}]},\"d\":3,\"e\":[4]}";
    struct ll_diags diags = {0};
    struct ll_json_reader reader = reader_of(text, sizeof text - 1, &diags);
    (void)state;
    ll_json_read(&reader);
    for (const char *key = "ade"; *key; key++) {
        assert_int_equal(ll_json_read(&reader), LL_JSON_KEY);
        assert_true(ll_json_says(&reader, (char[]){*key, '\0'}));
        ll_json_pass(&reader);
    }
    assert_int_equal(ll_json_read(&reader), LL_JSON_OBJECT_END);
}

static void expect_complaint(const char *text, uint64_t line, uint64_t column, const char *message)
{
    struct ll_diags diags = {0};
    struct ll_json_reader reader = reader_of(text, strlen(text), &diags);
    while (ll_json_read(&reader) != LL_JSON_END)
        ;
    assert_int_equal(diags.count, 1);
    assert_string_equal(diags.kept[0].message, message);
    assert_int_equal(diags.kept[0].place.line, line);
    assert_int_equal(diags.kept[0].place.column, column);
    ll_diags_release(&diags);
}

static void mistakes_are_named_with_their_place(void **state)
{
    (void)state;
    expect_complaint("[1\n 2]", 2, 2, "expected a comma, or the end of the object or list");
    expect_complaint("{\"a\" 1}", 1, 6, "expected a colon behind the key");
    expect_complaint("{a:1}", 1, 2, "expected a key in quotes");
    expect_complaint("[1}", 1, 3, "nothing is open that this could close");
    expect_complaint("[nul]", 1, 2, "expected a value");
    expect_complaint("[\"abc", 1, 2, "a quote begins here and does not end in this line");
    expect_complaint("[", 1, 2, "the file ends before it is complete");
    expect_complaint("", 1, 1, "the file ends before it is complete");
    expect_complaint("{\"a\":", 1, 6, "the file ends where a value was expected");
    expect_complaint("[] []", 1, 4, "expected the end of the file");
    static const char *const numbers[] = {"1-2-3", "1-2-3.e+", "01",  "-",  "-.5", "1.",
                                          "1.e3",  "1e",       "1e+", "+1", ".5",  "1.2.3"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        expect_complaint(numbers[i], 1, 1, "this is no number as JSON writes them");
    char longest[LL_JSON_LONGEST_NUMBER + 2];
    memset(longest, '1', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    expect_complaint(longest, 1, 1, "a number of so many characters is not read here");
    char deep[LL_JSON_MOST_DEPTH + 2];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    expect_complaint(deep, 1, LL_JSON_MOST_DEPTH + 1, "objects and lists lie too deep within each other");
}

/* Writes a random value and reads it back at once. */
static void write_value(struct ll_json *json, uint64_t *random, unsigned depth)
{
    uint64_t kind = ll_random_below(random, depth ? 6 : 4), count = ll_random_below(random, 4);
    if (kind == 0)
        ll_json_integer(json, (int64_t)ll_random(random));
    else if (kind == 1)
        ll_json_text(json, (const char *[]){"", "\"", "a\\b", "\n\x01"}[count]);
    else if (kind == 2)
        ll_json_bool(json, count % 2);
    else if (kind == 3)
        ll_json_number(json, (double)(int64_t)ll_random(random) * 0x1p-40);
    else if (kind == 4) {
        ll_json_open_list(json);
        for (uint64_t i = 0; i < count; i++)
            write_value(json, random, depth - 1);
        ll_json_close_list(json);
    } else {
        ll_json_open_object(json);
        for (uint64_t i = 0; i < count; i++) {
            ll_json_key(json, "key");
            write_value(json, random, depth - 1);
        }
        ll_json_close_object(json);
    }
}

static void copy_value(struct ll_json_reader *reader, struct ll_json *json, struct ll_arena *arena)
{
    while (ll_json_read(reader) != LL_JSON_END)
        switch (reader->token) {
        case LL_JSON_OBJECT:
            ll_json_open_object(json);
            break;
        case LL_JSON_OBJECT_END:
            ll_json_close_object(json);
            break;
        case LL_JSON_LIST:
            ll_json_open_list(json);
            break;
        case LL_JSON_LIST_END:
            ll_json_close_list(json);
            break;
        case LL_JSON_KEY:
            ll_json_key(json, ll_json_copy(reader, arena));
            break;
        case LL_JSON_TEXT:
            ll_json_text(json, ll_json_copy(reader, arena));
            break;
        case LL_JSON_TRUE:
            ll_json_bool(json, true);
            break;
        case LL_JSON_FALSE:
            ll_json_bool(json, false);
            break;
        default:
            if (memchr(reader->text, '.', reader->length) || memchr(reader->text, 'e', reader->length))
                ll_json_number(json, ll_json_as_real(reader));
            else
                ll_json_integer(json, ll_json_as_integer(reader));
        }
}

static void what_was_written_is_read(void **state)
{
    uint64_t random = ll_seed(17);
    (void)state;
    for (int round = 0; round < 500; round++) {
        struct ll_str first = {0}, second = {0};
        struct ll_diags diags = {0};
        struct ll_arena arena = {0};
        struct ll_json json = {.out = &first, .indent = round % 2},
                       again = {.out = &second, .indent = round % 2};
        write_value(&json, &random, 5);
        struct ll_json_reader reader = reader_of(first.text, first.length, &diags);
        copy_value(&reader, &again, &arena);
        assert_int_equal(diags.count, 0);
        assert_string_equal(first.text, second.text);
        ll_str_release(&first);
        ll_str_release(&second);
        ll_arena_release(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens_come_in_their_order),   cmocka_unit_test(reals_are_what_they_say),
        cmocka_unit_test(whole_numbers_are_exact),      cmocka_unit_test(escapes_are_resolved),
        cmocka_unit_test(passing_leads_behind_a_value), cmocka_unit_test(mistakes_are_named_with_their_place),
        cmocka_unit_test(what_was_written_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
