/* SPDX-License-Identifier: Apache-2.0 */
/* How Catamount counts (Hestness et al., 2019), against its own numbers (tests/peers/catamount_reference.csv)
 * and the closed forms that it prints of its graphs. */
#define _GNU_SOURCE
#include "check.h"

#include "models/model.h"
#include "sim/memory/footprint.h"
#include "tracer/ir/profile.h"
#include "tracer/base/file.h"

#include <inttypes.h>

enum { MOST = 16 };

enum { EVERY = ONE_IN > 1 ? 12 : 1 };

struct numbers {
    struct ll_accounts accounts;
    uint64_t minimal_bytes;
};

static struct numbers count(const char *model, uint64_t batch, const struct ll_setting *settings,
                            size_t setting_count)
{
    static struct ll_diags diags;
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    const struct ll_run_options options = {.train = true,
                                           .dry_run = true,
                                           .batch = batch,
                                           .steps = 1,
                                           .settings = settings,
                                           .setting_count = setting_count,
                                           .trace = &trace};
    struct numbers numbers;
    if (!ll_model_run(ll_model_find(model), &options, &report, &diags))
        fail_msg("%s: %s", model, diags.kept[0].message);
    assert_true(ll_catamount(trace, &numbers.accounts));
    assert_true(ll_minimal_footprint(trace, &numbers.minimal_bytes));
    ll_trace_free(trace);
    return numbers;
}

/* "key=value;..." taken apart, in place. */
static size_t take_apart(char *text, struct ll_setting *settings)
{
    size_t count = 0;
    char *rest = NULL;
    for (char *part = strtok_r(text, ";", &rest); part; part = strtok_r(NULL, ";", &rest)) {
        char *equals = strchr(part, '=');
        assert_true(count < MOST && equals);
        *equals = 0;
        settings[count++] = (struct ll_setting){part, equals + 1};
    }
    return count;
}

static void check_row(const struct ll_csv_field *row)
{
    struct ll_setting settings[MOST];
    char *text = strdup(row[2].text);
    const size_t setting_count = take_apart(text, settings);
    const struct numbers found = count(row[0].text, strtoull(row[1].text, NULL, 10), settings, setting_count);
    const uint64_t minimal = strtoull(row[7].text, NULL, 10);
    if (found.accounts.parameters != strtoull(row[3].text, NULL, 10))
        fail_msg("%s %s: %" PRIu64 " parameters", row[0].text, row[2].text, found.accounts.parameters);
    assert_near((double)found.accounts.flops, strtod(row[4].text, NULL), 2e-3);
    assert_near((double)found.accounts.bytes, strtod(row[5].text, NULL), 0.013);
    assert_near((double)found.accounts.footprint_bytes, strtod(row[6].text, NULL), 0.015);
    if (minimal)
        assert_near((double)found.minimal_bytes, (double)minimal, 0.12);
    free(text);
}

/* The judged limits are 1 % of FLOPs, 2 % of bytes, 15 % of footprints. */
static void all_of_its_rows_are_met(void **state)
{
    (void)state;
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_str text = {0};
    size_t row_count = 0, fields;
    FILE *file = fopen("tests/peers/catamount_reference.csv", "r");
    assert_non_null(file);
    for (int c; (c = fgetc(file)) != EOF;)
        ll_str_addf(&text, "%c", c);
    fclose(file);
    struct ll_csv csv = {.at = text.text, .end = text.text + text.length, .arena = &arena, .diags = &diags};
    for (const struct ll_csv_field *row; (row = ll_csv_next(&csv, &fields));)
        if (row[0].text[0] != '#' && fields == 8 && strcmp(row[0].text, "model") != 0 &&
            row_count++ % EVERY == 0)
            check_row(row);
    assert_int_equal(row_count, 228);
    ll_str_release(&text);
    ll_arena_release(&arena);
}

/* What Catamount prints of its graph: per step of both loops forward and backward, and outside of them. What
 * is missing are operations on scalars. */
static void a_word_model_has_the_flops_of_its_closed_form(void **state)
{
    (void)state;
    const uint64_t h = 12, v = 50, q = 7, b = 3;
    const struct ll_setting settings[] = {{"hidden", "12"}, {"vocabulary", "50"}, {"sequence", "7"}};
    const uint64_t forward = 16 * h * h * b + 33 * h * b + 6;
    const uint64_t backward = 32 * h * h * b + 8 * h * h + 37 * h * b + 4 * h + 3;
    const uint64_t outside = 48 * h * h + 6 * h * q * b * v + 4 * h * q * b + 3 * h * v + 24 * h +
                             7 * q * b * v + 4 * q * b + 3 * v + 53;
    const struct numbers found = count("word_lm", b, settings, 3);
    const uint64_t whole = 2 * q * (forward + backward) + outside;
    assert_int_equal(found.accounts.parameters, 16 * h * h + 2 * h * v + 8 * h + v + 2);
    assert_int_equal(found.accounts.flops, whole - 11);
    assert_int_equal(found.accounts.io_bytes, 32 * h * b + 8 * q * b);
}

static void a_character_model_has_the_flops_of_its_closed_form(void **state)
{
    (void)state;
    const uint64_t h = 12, v = 50, q = 7, b = 3;
    const struct ll_setting settings[] = {{"hidden", "12"}, {"vocabulary", "50"}, {"sequence", "7"}};
    const uint64_t step = 132 * h * h * b + 22 * h * h + 352 * h * b + 20 * h + 9;
    const uint64_t outside = 66 * h * h + 6 * h * q * b * v + 4 * h * q * b + 3 * h * v + 60 * h +
                             7 * q * b * v + 4 * q * b + 3 * v + 195;
    const struct numbers found = count("char_lm", b, settings, 3);
    assert_int_equal(found.accounts.parameters, 22 * h * h + 2 * h * v + 20 * h + v + 2);
    assert_int_equal(found.accounts.flops, q * step + outside - 9);
}

static struct ll_account account_of(enum ll_op_kind kind, uint32_t inputs, struct ll_shape *in,
                                    const struct ll_attr *attrs, uint32_t attr_count, struct ll_shape *given)
{
    struct ll_shape out[LL_MAX_OUTPUTS] = {{.rank = 0}};
    struct ll_op_view op = {.kind = kind,
                            .input_count = inputs,
                            .in = in,
                            .out = out,
                            .attrs = attrs,
                            .attr_count = attr_count,
                            .output_count = given ? 1 : 0};
    if (given)
        out[0] = *given;
    assert_null(ll_op_infer(&op));
    return ll_catamount_op(&op, LL_PHASE_FORWARD);
}

static void check_account(struct ll_account account, uint64_t flops, uint64_t bytes, uint64_t footprint_bytes)
{
    assert_int_equal(account.flops, flops);
    assert_int_equal(account.bytes, bytes);
    assert_int_equal(account.footprint_bytes, footprint_bytes);
}

static struct ll_shape reals(unsigned rank, uint64_t a, uint64_t b)
{
    return (struct ll_shape){.rank = (uint8_t)rank, .dtype = LL_F32, .dim = {a, rank > 1 ? b : 0}};
}

/* By hand, from Catamount's rules: 4 bytes an element. */
static void ops_are_counted_its_way(void **state)
{
    (void)state;
    struct ll_shape x = reals(2, 10, 6), y[2] = {x, x}, rows = reals(2, 30, 2);
    struct ll_shape table[2] = {reals(2, 100, 6), {.rank = 1, .dtype = LL_I32, .dim = {10}}};
    struct ll_shape choice[3] = {{.rank = 2, .dtype = LL_BOOL, .dim = {10, 6}}, x, x};
    check_account(account_of(LL_OP_SIGMOID, 1, &x, NULL, 0, NULL), 240, 480, 240);
    check_account(account_of(LL_OP_SOFTMAX, 1, &x, NULL, 0, NULL), 180, 720, 480);
    check_account(account_of(LL_OP_RESHAPE, 1, &x, NULL, 0, &rows), 0, 480, 240);
    check_account(account_of(LL_OP_L2_LOSS, 1, &x, NULL, 0, NULL), 3, 244, 4);
    check_account(account_of(LL_OP_SUM, 1, &x, NULL, 0, NULL), 60, 244, 4);
    check_account(account_of(LL_OP_GATHER, 2, table, NULL, 0, NULL), 0, 40 + 480, 240);
    check_account(account_of(LL_OP_SELECT, 3, choice, NULL, 0, NULL), 60, 60 + 480, 240);
    const struct ll_attr rate = {LL_ATTR_LEARNING_RATE, {.real = 0.1}};
    check_account(account_of(LL_OP_SGD, 2, y, &rate, 1, NULL), 120, 724, 0);
}

/* 2^32 in both directions: a product of 2^64, which 64 bits do not tell from 0. */
static void strides_and_windows_of_any_size_are_counted(void **state)
{
    (void)state;
    const struct ll_attr strides[] = {{LL_ATTR_STRIDE_H, {1LL << 32}}, {LL_ATTR_STRIDE_W, {1LL << 32}}};
    const struct ll_attr window[] = {{LL_ATTR_KERNEL_H, {1LL << 32}},
                                     {LL_ATTR_KERNEL_W, {1LL << 32}},
                                     {LL_ATTR_PAD_TOP, {1LL << 32}},
                                     {LL_ATTR_PAD_LEFT, {1LL << 32}}};
    struct ll_shape pixel = {.rank = 4, .dtype = LL_F32, .dim = {1, 1, 1, 1}};
    struct ll_shape image = {.rank = 4, .dtype = LL_F32, .dim = {1, 1, 1, 1}}, in[3] = {pixel, image, pixel};
    in[0].dim[1] = in[0].dim[2] = in[2].dim[1] = in[2].dim[2] = 2;
    check_account(account_of(LL_OP_CONV2D_DATA, 2, (struct ll_shape[]){pixel, pixel}, strides, 2, &image), 0,
                  12, 4);
    check_account(account_of(LL_OP_MAX_POOL_GRAD, 3, in, window, 4, NULL), LL_NO_FIT, 40, 4);
}

/* Three of four tensors at once, the first being gone with its reader; at most all of them. */
static void the_least_memory_is_between_the_largest_op_and_all_that_is_made(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct numbers found = count(i ? "paradnn_fc" : "vgg", 2, NULL, 0);
        assert_true(found.minimal_bytes < found.accounts.footprint_bytes);
        assert_true(found.minimal_bytes > 4 * found.accounts.parameters);
        const struct numbers again = count(i ? "paradnn_fc" : "vgg", 2, NULL, 0);
        assert_int_equal(again.minimal_bytes, found.minimal_bytes);
    }
}

/* A layer of a word model has its weights and, while it adds up their gradient over the words, three more of
 * their size: the product of a word, and the sum before and after. Parts do without what others make. */
static void a_part_needs_what_its_own_ops_make(void **state)
{
    enum { HIDDEN = 512, WEIGHTS = 8 * HIDDEN * HIDDEN * 4 };
    struct ll_setting settings[] = {{"hidden", "512"}, {"vocabulary", "100"}, {"sequence", "2"}};
    struct ll_diags diags = {0};
    struct ll_trace *trace = NULL;
    struct ll_run_report report;
    const struct ll_run_options options = {.train = true,
                                           .dry_run = true,
                                           .batch = 1,
                                           .steps = 1,
                                           .settings = settings,
                                           .setting_count = 3,
                                           .trace = &trace};
    uint64_t of_layer, of_table, of_all;
    (void)state;
    assert_true(ll_model_run(ll_model_find("word_lm"), &options, &report, &diags));
    bool layer[256], table[256];
    assert_in_range(trace->string_count, 1, 256);
    for (uint64_t i = 0; i < trace->string_count; i++) {
        layer[i] = strncmp(trace->strings[i], "lstm1/", 6) == 0;
        table[i] =
            strcmp(trace->strings[i], "embedding") == 0 || strcmp(trace->strings[i], "embedding/table") == 0;
    }
    assert_true(ll_minimal_footprint_of(trace, layer, &of_layer));
    assert_true(ll_minimal_footprint_of(trace, table, &of_table));
    assert_true(ll_minimal_footprint_of(trace, NULL, &of_all));
    assert_in_range(of_layer, 4 * WEIGHTS, 4 * WEIGHTS + WEIGHTS / 100);
    assert_in_range(of_table, 100 * HIDDEN * 4, 2 * 100 * HIDDEN * 4);
    assert_true(of_all > of_layer + of_table);
    ll_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_of_its_rows_are_met),
        cmocka_unit_test(a_word_model_has_the_flops_of_its_closed_form),
        cmocka_unit_test(a_character_model_has_the_flops_of_its_closed_form),
        cmocka_unit_test(ops_are_counted_its_way),
        cmocka_unit_test(strides_and_windows_of_any_size_are_counted),
        cmocka_unit_test(the_least_memory_is_between_the_largest_op_and_all_that_is_made),
        cmocka_unit_test(a_part_needs_what_its_own_ops_make),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
