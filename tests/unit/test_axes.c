/* SPDX-License-Identifier: Apache-2.0 */
/* Which dimensions of an op are one index, each op written down as its formula has it: a letter a dimension,
 * the same letter for the same index, and a capital where results without it are parts of sums; a dot where
 * an element of the result needs the whole dimension, or where nobody divides it. */
#include "check.h"
#include "op_sample.h"

#include "sim/parallel/shard.h"

#include <ctype.h>

enum { MOST_PAIRS = 4 };

/* "35 57 > 37" has tensors of a digit a dimension. */
struct row {
    enum ll_op_kind kind;
    const char *shapes, *axes;
    struct {
        enum ll_attr_key key;
        int64_t count;
    } attrs[MOST_PAIRS];
};

static const struct row rows[] = {
    {LL_OP_MATMUL, "35 57 > 37", "mK Kn > mn", {{0}}},
    {LL_OP_MATMUL, "53 57 > 37", "Km Kn > mn", {{LL_ATTR_TRANSPOSE_A, 1}}},
    {LL_OP_MATMUL, "35 75 > 37", "mK nK > mn", {{LL_ATTR_TRANSPOSE_B, 1}}},
    {LL_OP_BATCH_MATMUL, "435 457 > 437", "bmK bKn > bmn", {{0}}},
    {LL_OP_CAUSAL_ATTENTION, "2634 2634 2634 > 2634 263", "bh.. bh.. bh.. > bh.. bh.", {{0}}},
    {LL_OP_CONV2D, "2563 3234 > 2354", "b..C ..Cn > b..n", {{0}}},
    {LL_OP_CONV2D, "2446 1138 > 2448", "b... .... > b...", {{LL_ATTR_GROUPS, 2}}},
    {LL_OP_CONV2D_DATA, "2354 3234 > 2563", "b..N ..cN > b..c", {{0}}},
    {LL_OP_CONV2D_DATA, "2448 1138 > 2446", "b... .... > b...", {{LL_ATTR_GROUPS, 2}}},
    {LL_OP_CONV2D_FILTER, "2563 2354 > 3234", "B..c B..n > ..cn", {{0}}},
    {LL_OP_CONV2D_FILTER, "2446 2448 > 1138", "B... B... > ....", {{LL_ATTR_GROUPS, 2}}},
    {LL_OP_ADD, "234 234 > 234", "abc abc > abc", {{0}}},
    {LL_OP_ADD, "234 34 > 234", "abc bc > abc", {{0}}},
    {LL_OP_ADD, "214 231 > 234", "a.c ab. > abc", {{0}}}, /* of what repeats each device has all */
    {LL_OP_BIAS_ADD, "234 4 > 234", "abc c > abc", {{0}}},
    {LL_OP_RELU, "234 > 234", "abc > abc", {{0}}},
    {LL_OP_SELECT, "23 23 23 > 23", "ab ab ab > ab", {{0}}},
    {LL_OP_CUMULATIVE_SUM, "23 > 23", ".. > ..", {{0}}},
    {LL_OP_REVERSE, "23 > 23", ".. > ..", {{0}}},
    {LL_OP_TRIANGLE, "23 > 23", ".. > ..", {{0}}},
    {LL_OP_SOFTMAX, "234 > 234", "ab. > ab.", {{0}}},
    {LL_OP_SOFTMAX_GRAD, "234 234 > 234", "ab. ab. > ab.", {{0}}},
    {LL_OP_CAUSAL_SOFTMAX, "2644 > 2644", "bh.. > bh..", {{0}}},
    {LL_OP_CAUSAL_SOFTMAX_GRAD, "2644 2644 > 2644", "bh.. bh.. > bh..", {{0}}},
    {LL_OP_ROTARY, "2364 > 2364", "a.c. > a.c.", {{LL_ATTR_AXIS, 1}}}, /* pairs of features turn */
    {LL_OP_LAYER_NORM, "234 4 4 > 234", "ab. . . > ab.", {{0}}},
    {LL_OP_LAYER_NORM_GRAD, "234 234 4 > 234 4 4", "AB. AB. . > AB. . .", {{0}}},
    {LL_OP_GROUP_NORM, "234 4 4 > 234", "a.. . . > a..", {{0}}}, /* statistics of an image */
    {LL_OP_GROUP_NORM_GRAD, "234 234 4 > 234 4 4", "A.. A.. . > A.. . .", {{0}}},
    {LL_OP_BATCH_NORM, "234 4 4 > 234 4 4", "..c c c > ..c c c", {{0}}},
    {LL_OP_BATCH_NORM_GRAD, "234 234 4 4 4 > 234 4 4", "..c ..c c c c > ..c c c", {{0}}},
    {LL_OP_MAX_POOL,
     "2445 > 2225",
     "b..c > b..c",
     {{LL_ATTR_KERNEL_H, 2}, {LL_ATTR_KERNEL_W, 2}, {LL_ATTR_STRIDE_H, 2}, {LL_ATTR_STRIDE_W, 2}}},
    {LL_OP_MAX_POOL_GRAD,
     "2225 2445 2225 > 2445",
     "b..c b..c b..c > b..c",
     {{LL_ATTR_KERNEL_H, 2}, {LL_ATTR_KERNEL_W, 2}, {LL_ATTR_STRIDE_H, 2}, {LL_ATTR_STRIDE_W, 2}}},
    {LL_OP_SUM, "2345 > 25", "aBCd > ad", {{LL_ATTR_AXIS, 1}, {LL_ATTR_AXES, 2}}},
    {LL_OP_SUM, "234 > 2", "aBC > a", {{LL_ATTR_AXIS, 1}}},
    {LL_OP_MAX, "2345 > 25", "a..d > ad", {{LL_ATTR_AXIS, 1}, {LL_ATTR_AXES, 2}}},
    {LL_OP_TILE, "25 > 2345", "ad > a..d", {{LL_ATTR_AXIS, 1}, {LL_ATTR_AXES, 2}}},
    {LL_OP_BIAS_GRAD, "234 > 4", "ABc > c", {{0}}},
    {LL_OP_L2_LOSS, "23 > ", "AB > ", {{0}}},
    {LL_OP_ARGMAX, "234 > 23", "ab. > ab", {{0}}},
    {LL_OP_TOP_K, "235 > 232 232", "ab. > ab. ab.", {{LL_ATTR_SIZE, 2}}},
    {LL_OP_SOFTMAX_XENT, "49 4 > 4 49", "aC a > a aC", {{0}}},
    {LL_OP_SOFTMAX_XENT_DENSE, "49 49 > 4 49", "aC aC > a aC", {{0}}},
    {LL_OP_SOFTMAX_XENT_GRAD, "49 4 > 49", "ac a > ac", {{0}}},
    {LL_OP_TRANSPOSE, "234 > 423", "abc > cab", {{LL_ATTR_PERMUTATION, 201}}},
    {LL_OP_CONCAT, "23 24 > 27", "ab ab > ab", {{LL_ATTR_AXIS, 1}}}, /* each joins what it has */
    {LL_OP_SPLIT, "26 > 23 23", "ab > ab ab", {{LL_ATTR_AXIS, 1}, {LL_ATTR_PARTS, 2}}},
    {LL_OP_SLICE, "238 > 234", "abc > abc", {{LL_ATTR_AXIS, 2}, {LL_ATTR_SIZE, 4}}},
    {LL_OP_PAD, "234 > 238", "abc > abc", {{LL_ATTR_AXIS, 2}, {LL_ATTR_AFTER, 4}}},
    {LL_OP_STACK, "34 34 > 234", "bc bc > .bc", {{0}}},
    {LL_OP_UNSTACK, "234 > 34 34", ".bc > bc bc", {{0}}},
    {LL_OP_ONE_HOT, "32 > 325", "ab > ab.", {{LL_ATTR_DEPTH, 5}}},
    {LL_OP_GATHER, "98 32 > 328", "Vd ab > abd", {{0}}}, /* zeros for words that others have */
    {LL_OP_SEGMENT_SUM, "68 6 > 98", "Nd N > vd", {{0}}},
    {LL_OP_EXPAND, "314 > 2354", "b.d > .b.d", {{0}}},
    {LL_OP_KV_CACHE_UPDATE, "235 232 > 235", "ab. ab. > ab.", {{LL_ATTR_AXIS, 2}}},
};

/* Where devices have positions each and know which. */
static const struct row by_position[] = {
    {LL_OP_CAUSAL_ATTENTION, "2634 2654 2654 > 2634 263", "bhq. bh.. bh.. > bhq. bhq", {{0}}},
    {LL_OP_CAUSAL_ATTENTION_GRAD,
     "2634 2634 2654 2654 2634 263 > 2634 2654 2654",
     "bhQ. bhQ. bh.. bh.. bhQ. bhQ > bhQ. bh.. bh..",
     {{0}}},
    {LL_OP_CAUSAL_SOFTMAX, "2634 > 2634", "bhq. > bhq.", {{0}}},
    {LL_OP_CAUSAL_SOFTMAX_GRAD, "2634 2634 > 2634", "bhq. bhq. > bhq.", {{0}}},
    {LL_OP_ROTARY, "2364 > 2364", "apc. > apc.", {{LL_ATTR_AXIS, 1}}},
    {LL_OP_GATHER, "98 32 > 328", "Vd ab > abd", {{0}}}, /* of words that all have */
    {LL_OP_SEGMENT_SUM, "68 6 > 98", "Nd N > vd", {{0}}},
    {LL_OP_ROUTE, "62 > 43 43 43", "w. > .w .w .w", {{LL_ATTR_CLASSES, 4}, {LL_ATTR_SIZE, 3}}},
    {LL_OP_ALL_REDUCE, "234 > 234", "abc > abc", {{LL_ATTR_DEVICES, 2}}},
    {LL_OP_ALL_GATHER, "23 > 26", "ab > ab", {{LL_ATTR_DEVICES, 2}}},
    {LL_OP_SLICE, "28 > 24", "ab > ab", {{LL_ATTR_AXIS, 1}, {LL_ATTR_SIZE, 4}, {LL_ATTR_DEVICES, 2}}},
    {LL_OP_SOFTMAX, "234 > 234", "ab. > ab.", {{0}}}, /* as ever */
};

/* Reads shapes up to the end or the arrow, which is passed by; returns how many. */
static unsigned read_shapes(const char **at, struct ll_shape *shapes)
{
    unsigned count = 0;
    while (**at && **at != '>') {
        struct ll_shape shape = {.dtype = LL_F32};
        for (; isdigit((unsigned char)**at); (*at)++)
            shape.dim[shape.rank++] = (uint64_t)(**at - '0');
        shapes[count++] = shape;
        *at += **at == ' ';
    }
    if (**at == '>')
        *at += 2;
    return count;
}

/* In place: the view points into the sample. A result without dimensions is a number. */
static void read_row(const struct row *row, struct op_sample *s)
{
    *s = (struct op_sample){.view = {.kind = row->kind, .in = s->in, .out = s->out, .attrs = s->attrs}};
    for (int i = 0; i < MOST_PAIRS && row->attrs[i].count; i++)
        add_attr(s, row->attrs[i].key, row->attrs[i].count);
    const char *at = row->shapes;
    s->view.input_count = read_shapes(&at, s->in);
    s->view.output_count = read_shapes(&at, s->out);
    if (s->view.output_count == 0)
        s->out[s->view.output_count++] = (struct ll_shape){.dtype = LL_F32};
}

/* The letter of the row for an axis met first here, or a question mark where the row has none of its own. */
static char letter_of(char letters[LL_MOST_AXES + 1], uint8_t axis, char expected)
{
    if (!letters[axis])
        letters[axis] = expected == '.' || memchr(letters, expected, LL_MOST_AXES + 1) ? '?' : expected;
    return letters[axis];
}

/* The letters of the axes that were found, in the order and form of a row. */
static void spell(const struct op_sample *s, const struct ll_axes *axes, const char *expected,
                  char letters[LL_MOST_AXES + 1], char *text)
{
    for (uint32_t k = 0; k < s->view.input_count + s->view.output_count; k++) {
        bool result = k >= s->view.input_count;
        uint32_t i = result ? k - s->view.input_count : k;
        const struct ll_shape *shape = result ? &s->out[i] : &s->in[i];
        if (k == s->view.input_count)
            text += sprintf(text, "> "), expected += 2;
        for (unsigned d = 0; d < shape->rank; d++, text++, expected++) {
            uint8_t axis = (result ? axes->out : axes->in)[i * LL_MAX_RANK + d];
            *text = axis ? letter_of(letters, axis, *expected) : '.';
        }
        if (k + 1 < s->view.input_count + s->view.output_count)
            *text++ = ' ', expected++;
    }
    *text = 0;
}

static bool lacks(const struct op_sample *s, const struct ll_axes *axes, uint8_t axis)
{
    for (uint32_t i = 0; i < s->view.output_count; i++)
        if (ll_dim_out(axes, i, axis) < 0)
            return true;
    return false;
}

static void check_rows(const struct row *rows_of, size_t count, struct ll_axes given)
{
    struct ll_arena arena = {0};
    for (const struct row *row = rows_of; row < rows_of + count; row++) {
        struct op_sample s;
        struct ll_axes axes = given;
        char found[64], letters[LL_MOST_AXES + 1] = {0};
        read_row(row, &s);
        assert_true(ll_axes_of(&s.view, &arena, &axes));
        spell(&s, &axes, row->axes, letters, found);
        if (strcmp(found, row->axes) != 0)
            fail_msg("%s %s: %s, expected %s", ll_op_name(row->kind), row->shapes, found, row->axes);
        for (uint8_t axis = 1; axis <= axes.count; axis++)
            assert_int_equal(isupper((unsigned char)letters[axis]) != 0,
                             lacks(&s, &axes, axis) && axes.summed[axis]);
    }
    ll_arena_release(&arena);
}

static void axes_are_those_of_the_formula(void **state)
{
    (void)state;
    check_rows(rows, sizeof rows / sizeof *rows, (struct ll_axes){.held = {.dim = -1}});
}

static void positions_may_be_divided_where_devices_know_theirs(void **state)
{
    (void)state;
    check_rows(by_position, sizeof by_position / sizeof *by_position,
               (struct ll_axes){.held = {.dim = -1}, .by_position = true});
}

/* Rows that a device has are picked, and summed up, there; words are not divided. */
static void indices_are_of_rows_that_a_device_has(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct op_sample s;
    struct ll_axes axes = {.held = {.dim = 0}, .by_position = true};
    read_row(&(struct row){LL_OP_GATHER, "98 43 > 438", "", {{0}}}, &s);
    assert_true(ll_axes_of(&s.view, &arena, &axes));
    uint8_t axis = ll_axis_in(&axes, 0, 0);
    assert_true(axis && ll_axis_in(&axes, 1, 1) == axis && ll_dim_out(&axes, 0, axis) == 1);
    read_row(&(struct row){LL_OP_SEGMENT_SUM, "438 43 > 98", "", {{0}}}, &s);
    s.out[0].role[0] = LL_ROLE_BATCH;
    assert_true(ll_axes_of(&s.view, &arena, &axes));
    axis = ll_axis_in(&axes, 0, 1);
    assert_true(axis && ll_axis_in(&axes, 1, 1) == axis && ll_dim_out(&axes, 0, axis) == 0);
    ll_arena_release(&arena);
}

/* Each device can find its part of a softmax only when all know the largest logit of a row; a focal loss
 * looks at each class by itself. */
static void classes_are_settled_first_where_a_row_is_looked_at(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    for (int focal = 0; focal < 2; focal++) {
        struct op_sample s;
        struct ll_axes axes = {.held = {.dim = -1}};
        read_row(&(struct row){focal ? LL_OP_FOCAL_LOSS : LL_OP_SOFTMAX_XENT, "49 4 > 4 49", "", {{0}}}, &s);
        assert_true(ll_axes_of(&s.view, &arena, &axes));
        assert_false(axes.settled[ll_axis_in(&axes, 0, 0)]);
        assert_int_equal(axes.settled[ll_axis_in(&axes, 0, 1)], !focal);
    }
    ll_arena_release(&arena);
}

/* A part of features is one everywhere; of the steps of time each device would cut others. */
static void time_is_not_divided_where_it_is_cut(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    static const enum ll_role roles[] = {LL_ROLE_SEQUENCE, LL_ROLE_BATCH, LL_ROLE_HIDDEN};
    for (int i = 0; i < 3; i++) {
        struct op_sample s;
        struct ll_axes axes = {.held = {.dim = 1, .role = (uint8_t)roles[i]}};
        read_row(&(struct row){LL_OP_SLICE, "283 > 243", "", {{LL_ATTR_AXIS, 1}, {LL_ATTR_SIZE, 4}}}, &s);
        assert_true(ll_axes_of(&s.view, &arena, &axes));
        assert_true(ll_axis_in(&axes, 0, 0) && ll_axis_in(&axes, 0, 2));
        assert_int_equal(ll_axis_in(&axes, 0, 1) != 0, roles[i] == LL_ROLE_HIDDEN);
    }
    ll_arena_release(&arena);
}

/* Where the divided dimension of the input, of this role, is in the result; -1: nowhere. `special` is the
 * dimension of the result that has the role `of`. */
static void a_divided_dimension_is_found_in_what_it_becomes(void **state)
{
    (void)state;
    static const struct {
        const char *shapes;
        int held;
        enum ll_role role;
        int special;
        enum ll_role of;
        int expected;
    } cases[] = {
        {"264 > 264", 1, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, 1},
        {"224 > 44", 2, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, 1}, /* rows are joined, columns stay */
        {"224 > 44", 0, LL_ROLE_BATCH, 0, LL_ROLE_PLAIN, 0}, /* what rows become */
        {"268 > 2642", 2, LL_ROLE_HIDDEN, 2, LL_ROLE_HEADS, 2},
        {"268 > 2624", 2, LL_ROLE_HIDDEN, 3, LL_ROLE_HEADS, 3},
        {"268 > 2624", 2, LL_ROLE_HIDDEN, 0, LL_ROLE_PLAIN, 2}, /* no heads: the first */
        {"84 > 244", 0, LL_ROLE_SEQUENCE, 1, LL_ROLE_SEQUENCE, 1},
        {"84 > 244", 0, LL_ROLE_BATCH, 1, LL_ROLE_SEQUENCE, 0},
        {"64 > 1234", 0, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, 1}, /* what has one place is not divided */
        {"314 > 34", 2, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, 1},
        {"64 > 46", 0, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, 1}, /* a view that turns a matrix */
        {"64 > 45", 0, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, -1},
        {"64 64 > 64", 0, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, -1},
        {"64 > 64", -1, LL_ROLE_PLAIN, 0, LL_ROLE_PLAIN, -1},
    };
    struct ll_arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct op_sample s;
        struct ll_axes axes = {.held = {.dim = cases[i].held, .role = (uint8_t)cases[i].role}};
        read_row(&(struct row){LL_OP_RESHAPE, cases[i].shapes, "", {{0}}}, &s);
        s.out[0].role[cases[i].special] = (uint8_t)cases[i].of;
        assert_true(ll_axes_of(&s.view, &arena, &axes));
        uint8_t axis = cases[i].held < 0 ? 0 : ll_axis_in(&axes, 0, (unsigned)cases[i].held);
        int found = axis ? ll_dim_out(&axes, 0, axis) : -1;
        if (found != cases[i].expected || axes.count != (found >= 0))
            fail_msg("%s, dimension %d: %d, expected %d", cases[i].shapes, cases[i].held, found,
                     cases[i].expected);
    }
    ll_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(axes_are_those_of_the_formula),
        cmocka_unit_test(positions_may_be_divided_where_devices_know_theirs),
        cmocka_unit_test(indices_are_of_rows_that_a_device_has),
        cmocka_unit_test(classes_are_settled_first_where_a_row_is_looked_at),
        cmocka_unit_test(time_is_not_divided_where_it_is_cut),
        cmocka_unit_test(a_divided_dimension_is_found_in_what_it_becomes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
