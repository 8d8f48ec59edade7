/* SPDX-License-Identifier: Apache-2.0 */
/* What the op table says of one op:
 *
 *   kind | inputs | attributes | outputs | flops=N read=N written=N | work | where from
 *   kind | inputs | attributes | refused: SENTENCE | what is wrong about it
 *
 * A tensor is NAME=DIMSxOFxIT:DTYPE (f32 when not said; `scalar` for no dimension). Outputs behind the word
 * `given` are told to the rule, all others must come out of it. Work is its name and its numbers, or
 * `too_large`; behind them `special N`: special functions, of which there are none where nothing is said,
 * and where the case is about it, `lines N`, `right N`: the bytes of the right operand, or `between N`:
 * operations on results meanwhile. */
#include "case.h"
#include "tracer/ir/ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 8 };

static bool op_has_case[LL_OP_NONE];

/* One op, with room for all it may have. */
struct op {
    struct ll_op_view view;
    struct ll_shape in[MOST_TENSORS], out[MOST_TENSORS];
    struct ll_attr attrs[LL_MAX_ATTRS];
};

static enum ll_dtype read_dtype(struct ll_case *c, const char *name)
{
    for (int i = 0; i < LL_DTYPE_COUNT; i++)
        if (strcmp(name, ll_dtype_name((enum ll_dtype)i)) == 0)
            return (enum ll_dtype)i;
    ll_case_fail(c, "there is no dtype %s", name);
    return LL_F32;
}

static struct ll_shape read_shape(struct ll_case *c, char *text)
{
    struct ll_shape shape = {.dtype = LL_F32};
    char *dtype = strchr(text, ':'), *equals = strchr(text, '=');
    if (dtype) {
        *dtype = '\0';
        shape.dtype = (uint8_t)read_dtype(c, dtype + 1);
    }
    text = equals ? equals + 1 : text;
    if (strcmp(text, "scalar") == 0)
        return shape;
    for (char *end; shape.rank < LL_MAX_RANK; text = end + 1) {
        shape.dim[shape.rank++] = strtoull(text, &end, 10);
        if (*end != 'x') {
            if (*end || end == text)
                ll_case_fail(c, "`%s` is no shape", text);
            break;
        }
    }
    return shape;
}

static uint32_t read_shapes(struct ll_case *c, char *text, struct ll_shape *shapes, uint32_t most)
{
    uint32_t count = 0;
    for (char *word; (word = ll_case_word(&text)) && count < most;)
        shapes[count++] = read_shape(c, word);
    return count;
}

static void read_attrs(struct ll_case *c, char *text, struct op *op)
{
    for (char *word; (word = ll_case_word(&text)) && op->view.attr_count < LL_MAX_ATTRS;) {
        char *equals = strchr(word, '=');
        uint64_t key = 0;
        if (equals)
            *equals = '\0';
        while (key < LL_ATTR_COUNT && strcmp(word, ll_attr_name((enum ll_attr_key)key)) != 0)
            key++;
        if (!equals || key == LL_ATTR_COUNT) {
            ll_case_fail(c, "there is no attribute %s", word);
            return;
        }
        struct ll_attr *attr = &op->attrs[op->view.attr_count++];
        attr->key = key;
        if (ll_attr_is_real((enum ll_attr_key)key))
            attr->real = strtod(equals + 1, NULL);
        else
            attr->count = strtoll(equals + 1, NULL, 10);
    }
}

static void compare_outputs(struct ll_case *c, const struct op *op, const struct ll_shape *expected,
                            uint32_t count)
{
    if (op->view.output_count != count)
        ll_case_fail(c, "%u outputs, expected %u", op->view.output_count, count);
    for (uint32_t i = 0; i < count && i < op->view.output_count; i++) {
        const struct ll_shape *got = &op->out[i];
        bool same = got->rank == expected[i].rank && got->dtype == expected[i].dtype &&
                    memcmp(got->dim, expected[i].dim, sizeof got->dim) == 0;
        if (same)
            continue;
        char text[256] = "";
        for (unsigned d = 0; d < got->rank; d++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%llu", d ? "x" : "",
                     (unsigned long long)got->dim[d]);
        ll_case_fail(c, "output %u is %s:%s", i, text, ll_dtype_name((enum ll_dtype)got->dtype));
    }
}

/* Infers the outputs and compares them with a column; false when the op is refused, as it may have to be. */
static bool check_outputs(struct ll_case *c, struct op *op, char *column)
{
    struct ll_shape expected[MOST_TENSORS] = {0};
    const char *refused = NULL;
    char *cut = strstr(column, "refused: ");
    if (cut) {
        *cut = '\0';
        refused = cut + strlen("refused: ");
    }
    bool given = strncmp(column, "given ", 6) == 0;
    uint32_t count = read_shapes(c, column + (given ? 6 : 0), expected, MOST_TENSORS);
    if (given) {
        memcpy(op->out, expected, sizeof expected);
        op->view.output_count = count;
    }
    const char *trouble = ll_op_infer(&op->view);
    if (refused && (!trouble || strcmp(trouble, refused) != 0))
        ll_case_fail(c, "expected a refusal, got: %s", trouble ? trouble : "no complaint");
    else if (!refused && trouble)
        ll_case_fail(c, "refused: %s", trouble);
    else if (!refused)
        compare_outputs(c, op, expected, count);
    return !trouble;
}

static void check_counts(struct ll_case *c, const struct op *op, const char *column)
{
    static const struct {
        const char *key;
        uint64_t (*count)(const struct ll_op_view *op);
    } counts[] = {{"flops", ll_op_flops}, {"read", ll_op_bytes_read}, {"written", ll_op_bytes_written}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        char value[64];
        if (ll_case_value(column, counts[i].key, value))
            ll_case_expect(c, counts[i].key, counts[i].count(&op->view), value);
        else
            ll_case_fail(c, "the counts lack %s=", counts[i].key);
    }
}

/* The numbers that tell one work of a kind from another, in the order in which a case names them. */
static uint32_t work_numbers(const struct ll_work *work, uint64_t numbers[static 4])
{
    struct ll_gemm gemm = work->kind == LL_WORK_CONV ? ll_conv_as_gemm(&work->conv) : work->gemm;
    switch (work->kind) {
    case LL_WORK_GEMM:
    case LL_WORK_CONV:
        memcpy(numbers, (uint64_t[]){gemm.batch, gemm.m, gemm.n, gemm.k}, 4 * sizeof *numbers);
        return 4;
    case LL_WORK_SEQUENCE:
        gemm = work->sequence.step;
        memcpy(numbers, (uint64_t[]){work->sequence.steps, gemm.m, gemm.n, gemm.k}, 4 * sizeof *numbers);
        return 4;
    case LL_WORK_VECTOR:
        numbers[0] = work->vector.elements;
        return 1;
    case LL_WORK_REDUCE:
        numbers[0] = work->reduce.in_elements;
        numbers[1] = work->reduce.out_elements;
        return 2;
    case LL_WORK_GATHER:
        numbers[0] = work->gather.rows;
        numbers[1] = work->gather.row_bytes;
        return 2;
    default:
        return 0;
    }
}

/* What a case says of work beside its shape. Special functions that it does not name there are none. */
static void check_more(struct ll_case *c, const struct ll_work *work, char *word, char **column)
{
    const struct {
        const char *word, *what;
        uint64_t value;
    } more[] = {{"special", "the number of its special functions", work->specials},
                {"lines", "the number of its lines", work->lines},
                {"between", "what is computed between its products", work->between},
                {"right", "the bytes of its right operand", work->b_bytes}};
    bool special = false;
    for (; word; word = ll_case_word(column)) {
        size_t i = 0;
        while (i < sizeof more / sizeof *more && strcmp(word, more[i].word) != 0)
            i++;
        if (i == sizeof more / sizeof *more) {
            ll_case_fail(c, "`%s` is no more of its work", word);
            return;
        }
        special |= i == 0;
        ll_case_expect(c, more[i].what, more[i].value, ll_case_word(column));
    }
    if (!special)
        ll_case_expect(c, more[0].what, more[0].value, "0");
}

static void check_work(struct ll_case *c, const struct op *op, char *column)
{
    struct ll_work work;
    char *name = ll_case_word(&column);
    bool lowers = ll_op_lower(&op->view, &work);
    if (lowers != (name && strcmp(name, "too_large") != 0))
        ll_case_fail(c, lowers ? "this op lowers" : "this op is too large to lower");
    if (!lowers)
        return;
    if (!name || strcmp(name, ll_work_name((enum ll_work_kind)work.kind)) != 0)
        ll_case_fail(c, "its work is %s", ll_work_name((enum ll_work_kind)work.kind));
    work = ll_work_as_gemm(&work);
    uint64_t numbers[4], count = work_numbers(&work, numbers);
    char *word = ll_case_word(&column);
    bool numbered =
        word || work.kind != LL_WORK_SEQUENCE; /* how a solver is cut into steps is its own business */
    for (uint64_t i = 0; numbered && i < count; i++, word = ll_case_word(&column))
        ll_case_expect(c, "a number of its work", numbers[i], word ? word : "");
    check_more(c, &work, word, &column);
    /* What holds of all work: nothing is lost on the way from the op. */
    if (work.flops != ll_op_flops(&op->view))
        ll_case_fail(c, "its work has other FLOPs than the op");
    uint64_t bytes = ll_op_bytes_read(&op->view) + ll_op_bytes_written(&op->view);
    if (work.a_bytes + work.b_bytes + work.c_bytes != bytes || work.c_bytes < ll_op_bytes_written(&op->view))
        ll_case_fail(c, "its work has other bytes than the op");
    bool attends = op->view.kind == LL_OP_CAUSAL_ATTENTION || op->view.kind == LL_OP_CAUSAL_ATTENTION_GRAD;
    /* The GEMM that stands for an attention has the mean number of keys, rounded up, as its columns. */
    uint64_t product = count == 4 ? 2 * numbers[0] * numbers[1] * numbers[2] * numbers[3] : 0,
             column_flops = count == 4 && attends ? product / numbers[2] : 1;
    if (count == 4 && work.kind != LL_WORK_SEQUENCE && op->view.kind != LL_OP_COMPUTATION &&
        (work.flops > product || work.flops + column_flops <= product))
        ll_case_fail(c, "its FLOPs are not 2 batch m n k");
}

void ll_check_op_case(struct ll_case *c)
{
    struct op op = {.view = {.kind = ll_op_find(c->column[0])}};
    if (op.view.kind == LL_OP_NONE) {
        ll_case_fail(c, "there is no op of this name");
        return;
    }
    op.view.in = op.in;
    op.view.out = op.out;
    op.view.attrs = op.attrs;
    op.view.input_count = read_shapes(c, c->column[1], op.in, MOST_TENSORS);
    read_attrs(c, c->column[2], &op);
    if (!check_outputs(c, &op, c->column[3]))
        return;
    if (c->columns != 7) {
        ll_case_fail(c, "the case of an op has seven columns");
        return;
    }
    check_counts(c, &op, c->column[4]);
    check_work(c, &op, c->column[5]);
    op_has_case[op.view.kind] = true;
}

/* What tests/property/prop_kernels.c counts and computes with a reference kernel: its FLOPs are a number in
 * its row, and its operands have one shape. */
static bool has_reference_kernel(enum ll_op_kind kind)
{
    struct ll_op_words words = ll_op_words(kind);
    bool same = strcmp(words.shape, "SAME_1") == 0 || strcmp(words.shape, "SAME_2") == 0;
    return ll_op_runs_natively(kind) && same && strncmp(words.flops, "PER_OUT(", 8) == 0;
}

unsigned ll_ops_without_case(void)
{
    unsigned missing = 0;
    for (int kind = 0; kind < ll_op_count(); kind++) {
        if (op_has_case[kind] || has_reference_kernel((enum ll_op_kind)kind))
            continue;
        printf("no case looks at the op %s\n", ll_op_name((enum ll_op_kind)kind));
        missing++;
    }
    return missing;
}
