/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "sim/explore/space.h"

/* Names are a, b, c with the values 2, 3, 5, and level-1 with 7. */
static const char *const names[] = {"a", "b", "c", "level-1"};
static const double values[] = {2, 3, 5, 7};

static bool find(void *context, const char *name, uint32_t *slot)
{
    (void)context;
    for (uint32_t i = 0; i < 4; i++)
        if (!strcmp(names[i], name)) {
            *slot = i;
            return true;
        }
    return false;
}

static const char *name_at(void *context, size_t i)
{
    (void)context;
    return i < 4 ? names[i] : NULL;
}

/* c is a time, of the others nobody knows. */
static enum ll_dimension dimension_of(const void *context, uint32_t slot)
{
    (void)context;
    return slot == 2 ? LL_DIMENSION_TIME : LL_DIMENSION_NUMBER;
}

static double value_of(const void *context, uint32_t slot)
{
    (void)context;
    return values[slot];
}

static struct ll_expression *parse(struct ll_arena *arena, const char *text, struct ll_diags *diags)
{
    struct ll_names all = {find, name_at, NULL, dimension_of, NULL};
    return ll_expression_parse(arena, text, (struct ll_place){0}, &all, diags);
}

/* The sides of these equations are C's own arithmetic. */
static void expressions_have_the_value_that_arithmetic_gives_them(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"1", 1},
        {" a + b * c ", 17},
        {"(a + b) * c", 25},
        {"c - b - a", 0},
        {"c / b / a", 5.0 / 3 / 2},
        {"2 ^ 3 ^ 2", 512},
        {"-a ^ 2", -4},
        {"a ^ -1", 0.5},
        {"- - a", 2},
        {"min(c, b, a)", 2},
        {"max(a, min(b, c))", 3},
        {"log2(8) + sqrt(16) + abs(-1) + ceil(0.5) + floor(1.5)", 10},
        {"16GiB / 1GiB", 16},
        {"c <= 5ms or c > 1", 1},
        {"a <= 1MiB and c * c > 2kB and c + a > 3B", 0},
        {"900GB/s/a", 450e9},
        {"8/a", 4},
        {"1e-3", 1e-3},
        {"1.5e3 + 0.5", 1500.5},
        {"5ms", 5e-3},
        {"400mm2", 400},
        {"level-1", 7},
        {"level-1-a", 5},
        {"a-b", -1},
        {"a < b", 1},
        {"a <= 2 and b != 3", 0},
        {"a == 2 or b == 0", 1},
        {"not a == 2", 0},
        {"not not a > 1", 1},
        {"a < b or a < b and 0", 1},
        {"(a < b) + (b < c)", 2},
        {"a>=b", 0},
    };
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ll_expression *expression = parse(&arena, rows[i].text, &diags);
        if (!expression)
            fail_msg("%s: %s", rows[i].text, diags.kept[0].message);
        assert_near(ll_expression_value(expression, value_of, NULL), rows[i].value, 1e-15);
    }
    ll_arena_release(&arena);
}

static void what_is_no_expression_is_complained_of_once(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "a +",
        "+ a",
        "a b",
        "(a",
        "a)",
        "min(a",
        "min()",
        "sqrt(a, b)",
        "d",
        "a < b < c",
        "1.2.3",
        "3parsec",
        "a and",
        "not",
        "a = b",
        "a & b",
        "f(a)",
        "c <= 5MiB",
        "a > 1 and 5MiB > c",
        "c + 1ms == 3GHz",
        "min(c, 5ms) < 2MiB",
        "not -c != 1mm2",
        "a..b",
        "$",
        "1 2",
        "log2",
        "a,b",
        "^ 2",
        "\"a\"",
        "\xff",
        "and",
    };
    struct ll_arena arena = {0};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct ll_diags diags = {0};
        if (parse(&arena, wrong[i], &diags))
            fail_msg("`%s` was taken", wrong[i]);
        assert_int_equal(diags.count, 1);
        ll_diags_release(&diags);
    }
    ll_arena_release(&arena);
}

static void depth_and_length_are_limited(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    for (int kind = 0; kind < 4; kind++) {
        char text[5000];
        static const char *const deep[] = {"(", "-", "not ", "2^"};
        size_t length = 0;
        while (length < 900)
            length += (size_t)sprintf(text + length, "%s", deep[kind]);
        strcpy(text + length, "a");
        struct ll_diags diags = {0};
        assert_null(parse(&arena, text, &diags));
        assert_int_equal(diags.count, 1);
        ll_diags_release(&diags);
        memset(text, ' ', 4000);
        strcpy(text + 4000, "a");
        assert_null(parse(&arena, text, &diags));
        ll_diags_release(&diags);
    }
    ll_arena_release(&arena);
}

static void a_violation_says_how_far_a_condition_is_missed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double violation;
    } rows[] = {
        {"a <= 4", 0},
        {"c <= 4", 0.25},
        {"b >= 4", 0.25},
        {"c <= 4 and b >= 4", 0.5},
        {"c <= 4 or a < 1", 0.25},
        {"c <= 4 or a <= 2", 0},
        {"not a", 1},
        {"a - a", 1},
        {"a", 0},
        {"a < 0", 1},
        {"sqrt(-1) <= 4", 1},
        {"not sqrt(-1) > 4", 1},
        {"not (sqrt(-1) > 4 and a > 1)", 1},
        {"sqrt(-1) <= 4 or a > 1", 0},
        {"not (sqrt(-1) > 4 and a > 2)", 0},
        {"sqrt(-1) != 4", 1},
        {"c < 5", 1},
    };
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ll_expression *expression = parse(&arena, rows[i].text, &diags);
        assert_non_null(expression);
        assert_near(ll_expression_violation(expression, value_of, NULL), rows[i].violation, 1e-15);
    }
    ll_arena_release(&arena);
}

static bool is_c(const void *context, uint32_t slot)
{
    (void)context;
    return slot == 2;
}

/* Without c, whatever a and b are. */
static void what_a_missing_number_spoils_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool none, fails;
    } rows[] = {
        {"c", true, true},
        {"2 * c + a", true, true},
        {"min(a, c)", false, false},
        {"max(c, c + a)", true, true},
        {"c <= 4", true, true},
        {"not c <= 4", true, true},
        {"c <= 4 or a > 1", false, false},
        {"c <= 4 and a > 1", false, true},
        {"not (c <= 4 and a > 1)", false, false},
        {"c <= 4 and (a > 1 or b > 1)", false, true},
        {"a + b", false, false},
        {"c ^ a", false, false},
    };
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct ll_expression *expression = parse(&arena, rows[i].text, &diags);
        assert_non_null(expression);
        assert_true(ll_expression_has_none(expression, is_c, NULL) == rows[i].none);
        assert_true(ll_expression_fails(expression, is_c, NULL) == rows[i].fails);
    }
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_have_the_value_that_arithmetic_gives_them),
        cmocka_unit_test(what_is_no_expression_is_complained_of_once),
        cmocka_unit_test(depth_and_length_are_limited),
        cmocka_unit_test(a_violation_says_how_far_a_condition_is_missed),
        cmocka_unit_test(what_a_missing_number_spoils_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
