/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/capture/meaning.h"

#include "tracer/interpose/routines.h"

#include <string.h>

enum { MOST_OPERANDS = 6, MOST_ATTRS = 12 };
#define LL_OP_NONE LL_OP_COUNT

/* How an operand takes part. */
enum part { PART_ADDS, PART_BOTH, PART_IN, PART_OUT };

/* How its shape is read. */
enum look {
    LOOK_PLAIN,  /* a matrix of one row is still one; a vector is a vector */
    LOOK_COLUMN, /* a vector is a matrix of one column */
    LOOK_LAPACK  /* a matrix stored by columns */
};

struct taken {
    uint8_t argument; /* enum ll_argument */
    uint8_t part, look;
};

struct row {
    const char *routine;
    enum ll_op_kind kind, adding;
    uint64_t operand_count, attr_count;
    struct taken operands[MOST_OPERANDS];
    struct {
        uint8_t attr, number;
    } attrs[MOST_ATTRS];
    void (*fix)(const struct ll_call *call, struct ll_meant *meant);
};

/* A matrix with a triangle on the right is the second factor. */
static void fix_SIDES(const struct ll_call *call, struct ll_meant *meant)
{
    uint32_t last = meant->view.input_count - 1;
    if (last == 0 || ll_call_number(call, LL_NUMBER_side) == 0)
        return;
    uint8_t operand = meant->inputs[last];
    struct ll_shape shape = meant->in[last];
    meant->inputs[last] = meant->inputs[last - 1];
    meant->in[last] = meant->in[last - 1];
    meant->inputs[last - 1] = operand;
    meant->in[last - 1] = shape;
}

/* A factorization of rows is one of the columns of the transpose. */
static void fix_TURNED(const struct ll_call *call, struct ll_meant *meant)
{
    (void)call;
    for (uint32_t i = 0; i < meant->view.input_count; i++) {
        uint64_t rows = meant->in[i].dim[0];
        meant->in[i].dim[0] = meant->in[i].dim[1];
        meant->in[i].dim[1] = rows;
    }
}

/* LAPACK's letters: V, S and O ask for vectors, A for all that there are. */
static void fix_VECTORS(const struct ll_call *call, struct ll_meant *meant)
{
    int64_t u = ll_call_number(call, LL_NUMBER_jobu) | 0x20, v = ll_call_number(call, LL_NUMBER_jobv) | 0x20;
    bool all = u == 'a' || v == 'a';
    bool some = all || u == 'v' || u == 's' || u == 'o' || v == 'v' || v == 's' || v == 'o';
    meant->attrs[meant->view.attr_count++] =
        (struct ll_attr){.key = LL_ATTR_VECTORS, .count = all ? 2 : some};
}

#define fix_NONE NULL
#define ADDS(a) {LL_ARGUMENT_##a, PART_ADDS, LOOK_PLAIN},
#define BOTH(a) {LL_ARGUMENT_##a, PART_BOTH, LOOK_PLAIN},
#define IN(a) {LL_ARGUMENT_##a, PART_IN, LOOK_PLAIN},
#define OUT(a) {LL_ARGUMENT_##a, PART_OUT, LOOK_PLAIN},
#define COLUMN(a) {LL_ARGUMENT_##a, PART_BOTH, LOOK_COLUMN},
#define IN_COLUMN(a) {LL_ARGUMENT_##a, PART_IN, LOOK_COLUMN},
#define LAPACK_BOTH(a) {LL_ARGUMENT_##a, PART_BOTH, LOOK_LAPACK},
#define LAPACK_IN(a) {LL_ARGUMENT_##a, PART_IN, LOOK_LAPACK},
#define LAPACK_OUT(a) {LL_ARGUMENT_##a, PART_OUT, LOOK_LAPACK},
#define ATTR(attr, number) {LL_ATTR_##attr, LL_NUMBER_##number},
#define LL_MEANING(routine_, kind_, adding_, operands_, attrs_, how)                                         \
    {.routine = routine_,                                                                                    \
     .kind = LL_OP_##kind_,                                                                                  \
     .adding = LL_OP_##adding_,                                                                              \
     .operand_count = sizeof((const struct taken[]){operands_{0}}) / sizeof(struct taken) - 1,               \
     .attr_count = sizeof((const uint8_t[][2]){attrs_{0}}) / sizeof(uint8_t[2]) - 1,                         \
     .operands = {operands_{0}},                                                                             \
     .attrs = {attrs_{0}},                                                                                   \
     .fix = fix_##how},
static const struct row rows[] = {
#include "tracer/capture/meanings.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static const struct row *find_row(const char *routine)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].routine, routine) == 0)
            return &rows[i];
    return NULL;
}

bool ll_meaning_known(const char *routine)
{
    return find_row(routine) != NULL;
}

/* Shapes. */

/* A complex number is written as a last dimension of two. */
static struct ll_shape plain_shape(const struct ll_call *call, const struct ll_operand *operand)
{
    struct ll_shape shape = operand->shape;
    const struct ll_symbol_row *symbol = ll_symbol_row(call->symbol);
    if (!symbol || !symbol->complex || shape.rank == 0 || shape.dim[shape.rank - 1] != 2)
        return shape;
    shape.dim[--shape.rank] = 0;
    shape.dtype = shape.dtype == LL_F64 ? LL_C128 : LL_C64;
    return shape;
}

static bool is_vector(uint8_t argument)
{
    return argument == LL_ARGUMENT_X || argument == LL_ARGUMENT_Y || argument == LL_ARGUMENT_VALUES ||
           argument == LL_ARGUMENT_PIVOTS;
}

static struct ll_shape shape_of(const struct ll_call *call, const struct ll_operand *operand, enum look look)
{
    struct ll_shape shape = plain_shape(call, operand);
    if (shape.rank == 1 && (look == LOOK_COLUMN || !is_vector(operand->role))) {
        bool column = look != LOOK_PLAIN;
        shape.dim[1] = column ? 1 : shape.dim[0];
        shape.dim[0] = column ? shape.dim[0] : 1;
        shape.rank = 2;
    } else if (shape.rank == 2 && look == LOOK_LAPACK) {
        uint64_t rows_there = shape.dim[1];
        shape.dim[1] = shape.dim[0];
        shape.dim[0] = rows_there;
    }
    return shape;
}

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

static void take_operand(const struct ll_call *call, const struct taken *taken, struct ll_meant *meant)
{
    for (uint8_t i = 0; i < call->operand_count; i++) {
        const struct ll_operand *operand = &call->operand[i];
        if (operand->role != taken->argument)
            continue;
        struct ll_shape shape = shape_of(call, operand, (enum look)taken->look);
        bool reads = taken->part == PART_BOTH || taken->part == PART_IN ||
                     (taken->part == PART_ADDS && (operand->access & LL_ACCESS_READ));
        if (reads)
            add_input(meant, i, &shape);
        if (taken->part != PART_IN)
            add_output(meant, i, &shape);
        return;
    }
}

static void take_attrs(const struct ll_call *call, const struct row *row, struct ll_meant *meant)
{
    for (uint64_t i = 0; i < row->attr_count; i++) {
        int64_t number = ll_call_number(call, (enum ll_number)row->attrs[i].number);
        bool flag = row->attrs[i].attr == LL_ATTR_TRANSPOSE_A || row->attrs[i].attr == LL_ATTR_TRANSPOSE_B;
        if (flag && number == 0)
            continue;
        meant->attrs[meant->view.attr_count++] =
            (struct ll_attr){.key = row->attrs[i].attr, .count = flag ? 1 : number};
    }
}

static void begin(struct ll_meant *meant)
{
    memset(meant, 0, sizeof *meant);
    meant->view = (struct ll_op_view){.in = meant->in, .out = meant->out, .attrs = meant->attrs};
}

/* Whether the op adds to what its first output holds. */
static bool adds(const struct row *row, const struct ll_meant *meant)
{
    return row->kind == LL_OP_NONE ||
           (meant->view.input_count && meant->view.output_count && meant->inputs[0] == meant->outputs[0]);
}

static bool build(const struct ll_call *call, const struct row *row, struct ll_meant *meant)
{
    begin(meant);
    for (uint64_t i = 0; i < row->operand_count; i++)
        take_operand(call, &row->operands[i], meant);
    take_attrs(call, row, meant);
    meant->view.kind = adds(row, meant) ? row->adding : row->kind;
    if (row->fix)
        row->fix(call, meant);
    struct ll_shape told[LL_MAX_OPERANDS];
    memcpy(told, meant->out, sizeof told);
    meant->placed = meant->view.output_count;
    if (meant->placed > LL_MAX_OUTPUTS || ll_op_infer(&meant->view) != NULL ||
        meant->view.output_count < meant->placed)
        return false;
    for (uint32_t i = 0; i < meant->placed; i++)
        if (memcmp(told[i].dim, meant->out[i].dim, sizeof told[i].dim) != 0)
            return false;
    return true;
}

static void build_opaque(const struct ll_call *call, struct ll_meant *meant)
{
    begin(meant);
    meant->view.kind = LL_OP_OPAQUE;
    for (uint8_t i = 0; i < call->operand_count; i++) {
        struct ll_shape shape = plain_shape(call, &call->operand[i]);
        if (call->operand[i].access & LL_ACCESS_READ)
            add_input(meant, i, &shape);
        if (call->operand[i].access & LL_ACCESS_WRITE)
            add_output(meant, i, &shape);
    }
    meant->placed = meant->view.output_count;
}

void ll_meaning_of(const struct ll_call *call, struct ll_meant *meant)
{
    const struct row *row =
        call->routine < LL_ROUTINE_COUNT ? find_row(ll_routine_name((enum ll_routine)call->routine)) : NULL;
    if (!row || !build(call, row, meant))
        build_opaque(call, meant);
}
