/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/meaning.h"

#include "tracer/capture/meaning_rows.h"

#include <string.h>

#define LL_OP_NONE LL_OP_COUNT
#define ll_fix_NONE NULL
#define ADDS(a) {LL_ARGUMENT_##a, LL_PART_ADDS, LL_LOOK_PLAIN},
#define AS(a, look) {LL_ARGUMENT_##a, LL_PART_ADDS, LL_LOOK_##look},
#define BOTH(a, look) {LL_ARGUMENT_##a, LL_PART_BOTH, LL_LOOK_##look},
#define IN(a, look) {LL_ARGUMENT_##a, LL_PART_IN, LL_LOOK_##look},
#define BEHIND(a, look) {LL_ARGUMENT_##a, LL_PART_BEHIND, LL_LOOK_##look},
#define OUT(a, look) {LL_ARGUMENT_##a, LL_PART_OUT, LL_LOOK_##look},
#define ATTR(attr, number) {LL_ATTR_##attr, LL_NUMBER_##number},
#define CONVOLVES ATTR(GROUPS, groups) WINDOW ATTR(DILATION_H, dilation_h) ATTR(DILATION_W, dilation_w)
#define POOLS ATTR(KERNEL_H, kernel_h) ATTR(KERNEL_W, kernel_w) WINDOW
#define WINDOW                                                                                               \
    ATTR(STRIDE_H, stride_h)                                                                                 \
    ATTR(STRIDE_W, stride_w)                                                                                 \
    ATTR(PAD_TOP, before_h) ATTR(PAD_LEFT, before_w) ATTR(PAD_BOTTOM, behind_h) ATTR(PAD_RIGHT, behind_w)
#define POSTS ATTR(POST_OPS, post_ops)
#define MAKES(look) OUT(DST, look) BEHIND(BIAS, PLAIN) BEHIND(DST, look)
#define NORMALIZES(look)                                                                                     \
    IN(SRC, look)                                                                                            \
    IN(WEIGHTS, PLAIN) IN(SCALE, PLAIN) IN(SHIFT, PLAIN) OUT(DST, look) AS(MEAN, PLAIN) AS(VARIANCE, PLAIN)
#define NORMALIZES_BACK(look)                                                                                \
    IN(DIFF_DST, look)                                                                                       \
    IN(SRC, look)                                                                                            \
    IN(WEIGHTS, PLAIN)                                                                                       \
    IN(SCALE, PLAIN)                                                                                         \
    IN(MEAN, PLAIN)                                                                                          \
    IN(VARIANCE, PLAIN)                                                                                      \
    OUT(DIFF_SRC, look) OUT(DIFF_WEIGHTS, PLAIN) OUT(DIFF_SCALE, PLAIN) OUT(DIFF_SHIFT, PLAIN)
#define RECURS                                                                                               \
    IN(SRC, PLAIN)                                                                                           \
    IN(WEIGHTS, PLAIN)                                                                                       \
    IN(WEIGHTS_ITER, PLAIN)                                                                                  \
    IN(BIAS, PLAIN)                                                                                          \
    IN(SRC_ITER, PLAIN)                                                                                      \
    IN(SRC_ITER_C, PLAIN)                                                                                    \
    OUT(DST, PLAIN) OUT(DST_ITER, PLAIN) OUT(DST_ITER_C, PLAIN) OUT(WORKSPACE, PLAIN)
#define RECURS_BACK                                                                                          \
    IN(SRC, PLAIN)                                                                                           \
    IN(WEIGHTS, PLAIN)                                                                                       \
    IN(WEIGHTS_ITER, PLAIN)                                                                                  \
    IN(WORKSPACE, PLAIN)                                                                                     \
    IN(DIFF_DST, PLAIN)                                                                                      \
    IN(DIFF_DST_ITER, PLAIN)                                                                                 \
    IN(DIFF_DST_ITER_C, PLAIN)                                                                               \
    OUT(DIFF_SRC, PLAIN)                                                                                     \
    OUT(DIFF_SRC_ITER, PLAIN)                                                                                \
    OUT(DIFF_SRC_ITER_C, PLAIN)                                                                              \
    OUT(DIFF_WEIGHTS, PLAIN) OUT(DIFF_WEIGHTS_ITER, PLAIN) OUT(DIFF_BIAS, PLAIN)
#define LL_MEANING(routine_, kind_, adding_, phase_, operands_, attrs_, how)                                 \
    {.routine = routine_,                                                                                    \
     .kind = LL_OP_##kind_,                                                                                  \
     .adding = LL_OP_##adding_,                                                                              \
     .phase = LL_PHASE_##phase_,                                                                             \
     .operand_count = sizeof((const uint8_t[][3]){operands_{0}}) / sizeof(uint8_t[3]) - 1,                   \
     .attr_count = sizeof((const uint8_t[][2]){attrs_{0}}) / sizeof(uint8_t[2]) - 1,                         \
     .operands = {operands_{0}},                                                                             \
     .attrs = {attrs_{0}},                                                                                   \
     .fix = ll_fix_##how},
static const struct ll_meaning_row rows[] = {
#include "tracer/capture/meanings.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* Building. */

static void add_input(struct ll_meant *meant, uint8_t operand, const struct ll_shape *shape)
{
    meant->inputs[meant->view.input_count] = operand;
    meant->in[meant->view.input_count++] = *shape;
}

static void add_output(struct ll_meant *meant, uint8_t operand, const struct ll_shape *shape)
{
    meant->outputs[meant->view.output_count] = operand;
    meant->out[meant->view.output_count++] = *shape;
}

static void add_behind(struct ll_meant *meant, uint8_t operand, const struct ll_shape *shape)
{
    if (meant->behind_count < LL_MEANT_BEHIND)
        meant->behind[meant->behind_count++] = (struct ll_meant_behind){LL_OP_COUNT, operand, *shape};
}

/* All operands of that name: a sum has many sources. */
static void take_operands(const struct ll_call *call, const struct ll_meaning_row *row, uint64_t which,
                          struct ll_meant *meant)
{
    enum ll_operand_part part = row->operands[which].part;
    for (uint8_t i = 0; i < call->operand_count; i++) {
        const struct ll_call_operand *operand = &call->operand[i];
        if (operand->role != row->operands[which].argument)
            continue;
        struct ll_shape shape = ll_operand_look(call, operand, (enum ll_look)row->operands[which].look);
        unsigned access = part == LL_PART_ADDS   ? operand->access
                          : part == LL_PART_BOTH ? LL_ACCESS_BOTH
                          : part == LL_PART_IN   ? LL_ACCESS_READ
                                                 : LL_ACCESS_WRITE;
        if (part == LL_PART_BEHIND && operand->access & LL_ACCESS_READ)
            add_behind(meant, i, &shape);
        if (part == LL_PART_BEHIND)
            continue;
        if (access & LL_ACCESS_READ)
            add_input(meant, i, &shape);
        if (access & LL_ACCESS_WRITE)
            add_output(meant, i, &shape);
    }
}

/* What is zero is what a rule takes for granted: no padding, no dilation, one group. */
static void take_attrs(const struct ll_call *call, const struct ll_meaning_row *row, struct ll_meant *meant)
{
    for (uint64_t i = 0; i < row->attr_count; i++) {
        int64_t number = ll_call_number(call, (enum ll_number)row->attrs[i].number);
        uint8_t key = row->attrs[i].attr;
        bool flag = key == LL_ATTR_TRANSPOSE_A || key == LL_ATTR_TRANSPOSE_B;
        if (number != 0)
            meant->attrs[meant->view.attr_count++] = (struct ll_attr){.key = key, .count = flag ? 1 : number};
    }
}

static void begin(struct ll_meant *meant)
{
    memset(meant, 0, sizeof *meant);
    meant->view = (struct ll_op_view){.in = meant->in, .out = meant->out, .attrs = meant->attrs};
}

/* Whether the op adds to what its first output holds. */
static bool adds(const struct ll_meaning_row *row, const struct ll_meant *meant)
{
    return row->kind == LL_OP_NONE ||
           (meant->view.input_count && meant->view.output_count && meant->inputs[0] == meant->outputs[0]);
}

/* Whether the op's rule takes the inputs and gives outputs as large as what the call wrote, whose types are
 * what the call made of them: a product of bytes may be one of floats. */
static bool holds(struct ll_meant *meant)
{
    struct ll_shape told[LL_MAX_OPERANDS];
    meant->placed = meant->view.output_count;
    memcpy(told, meant->out, sizeof told);
    if (ll_op_infer(&meant->view) != NULL || meant->view.output_count < meant->placed)
        return false;
    for (uint32_t i = 0; i < meant->placed; i++) {
        if (memcmp(told[i].dim, meant->out[i].dim, sizeof told[i].dim) != 0)
            return false;
        meant->out[i].dtype = told[i].dtype;
    }
    return true;
}

/* The result's own operand is seen as the result is. Anything else is a bias for each of the last dimension,
 * or as large as the result. */
static bool settle(const struct ll_meant *meant, struct ll_meant_behind *behind)
{
    const struct ll_shape *result = &meant->out[0];
    uint64_t last = result->rank ? result->dim[result->rank - 1] : 0;
    struct ll_shape like = *result;
    like.dtype = behind->shape.dtype;
    bool is_bias = behind->operand != meant->outputs[0] && ll_elements(&behind->shape) == last;
    behind->kind = is_bias ? LL_OP_BIAS_ADD : LL_OP_ADD;
    bool fits = is_bias || ll_elements(&behind->shape) == ll_elements(result);
    behind->shape = is_bias ? (struct ll_shape){.dtype = like.dtype, .rank = 1, .dim = {last}} : like;
    return fits;
}

/* Of what is added behind, that of which it is known how. */
static void settle_all(struct ll_meant *meant)
{
    uint32_t count = meant->view.output_count == 1 ? meant->behind_count : 0;
    meant->behind_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ll_meant_behind behind = meant->behind[i];
        if (settle(meant, &behind))
            meant->behind[meant->behind_count++] = behind;
    }
}

/* A matrix that a product alone is added to is part of the product. */
static void take_in(struct ll_meant *meant)
{
    const struct ll_meant_behind behind = meant->behind[0];
    if (meant->view.kind != LL_OP_MATMUL || meant->behind_count != 1 || behind.kind != LL_OP_ADD)
        return;
    for (uint32_t i = 0; i < meant->view.input_count; i++)
        if (meant->in[i].dtype != behind.shape.dtype)
            return;
    memmove(meant->in + 1, meant->in, meant->view.input_count * sizeof *meant->in);
    memmove(meant->inputs + 1, meant->inputs, meant->view.input_count);
    meant->in[0] = behind.shape;
    meant->inputs[0] = behind.operand;
    meant->view.input_count++;
    meant->view.kind = LL_OP_MATMUL_ADD;
    meant->behind_count = 0;
}

/* A product of no elements, or times zero: all that is left is what it would have been added to, which is
 * scaled, or zeros. */
static bool only_scales(const struct ll_meaning_row *row, const struct ll_meant *meant)
{
    return row->operands[0].part == LL_PART_ADDS && meant->view.output_count == 1 &&
           (meant->view.input_count == 0 ||
            (meant->view.input_count == 1 && meant->inputs[0] == meant->outputs[0]));
}

/* A call of BLAS that reads nothing, as its factor is zero. */
static bool only_clears(const struct ll_call *call)
{
    return call->routine < LL_ROUTINE_DNN_CONVOLUTION && call->operand_count == 1 &&
           call->operand[0].access == LL_ACCESS_WRITE;
}

static bool build(const struct ll_call *call, const struct ll_meaning_row *row, struct ll_meant *meant)
{
    begin(meant);
    for (uint64_t i = 0; i < row->operand_count; i++)
        take_operands(call, row, i, meant);
    take_attrs(call, row, meant);
    meant->phase = row->phase;
    meant->view.kind = adds(row, meant) ? row->adding : row->kind;
    if (only_scales(row, meant)) {
        meant->view.kind = meant->view.input_count ? LL_OP_SCAL : LL_OP_CONSTANT;
        meant->view.attr_count = 0;
    } else if (only_clears(call)) {
        meant->view.kind = LL_OP_CONSTANT;
        meant->view.input_count = meant->view.attr_count = 0;
    } else if (row->fix && meant->view.input_count) {
        row->fix(call, meant);
    }
    if (meant->view.kind == LL_OP_NONE || !holds(meant))
        return false;
    settle_all(meant);
    take_in(meant);
    return true;
}

uint64_t ll_meant_flops(const struct ll_meant *meant)
{
    uint64_t flops = ll_op_flops(&meant->view);
    for (uint32_t i = 0; i < meant->behind_count; i++) {
        const struct ll_shape in[] = {meant->out[0], meant->behind[i].shape};
        struct ll_shape out = meant->out[0];
        const struct ll_op_view view = {
            .kind = meant->behind[i].kind, .in = in, .input_count = 2, .out = &out, .output_count = 1};
        flops = ll_add(flops, ll_op_flops(&view));
    }
    return flops;
}

static void build_opaque(const struct ll_call *call, struct ll_meant *meant)
{
    begin(meant);
    meant->view.kind = LL_OP_OPAQUE;
    for (uint8_t i = 0; i < call->operand_count; i++) {
        struct ll_shape shape = ll_plain_shape(call, &call->operand[i]);
        if (call->operand[i].access & LL_ACCESS_READ)
            add_input(meant, i, &shape);
        if (call->operand[i].access & LL_ACCESS_WRITE)
            add_output(meant, i, &shape);
    }
    meant->placed = meant->view.output_count;
}

static const struct ll_meaning_row *find_row(const char *routine)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].routine, routine) == 0)
            return &rows[i];
    return NULL;
}

void ll_meanings(struct ll_meanings *meanings)
{
    for (uint32_t i = 0; i < LL_ROUTINE_COUNT; i++)
        meanings->rows[i] = find_row(ll_routine_name((enum ll_routine)i));
}

void ll_meaning_of(const struct ll_meanings *meanings, const struct ll_call *call, struct ll_meant *meant)
{
    const struct ll_meaning_row *row =
        call->routine < LL_ROUTINE_COUNT ? meanings->rows[call->routine] : NULL;
    if (!row || !build(call, row, meant))
        build_opaque(call, meant);
}
