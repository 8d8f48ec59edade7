/* SPDX-License-Identifier: Apache-2.0 */
/* A module's entry as one step: its instructions by a table of opcodes, calls and loops unrolled.
 *
 * A fusion is one kernel that reads its operands and writes its result: of a parameter that is only sliced
 * it reads the slices. What multiplies inside a fusion is recorded as itself. Parameters whose metadata
 * calls them so are weights. Shapes are those of the file: of one device when it was partitioned.
 *
 * One file because each rule is a row of one table, and all ask and give in the same ways. */
#define _GNU_SOURCE /* memmem */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/convert/xla/xla.h"

enum { MOST_DEPTH = 64, MOST_OPS = 400000, MOST_SPATIAL = 6 };

/* What an instruction gave: as many tensors as its shape has parts. */
struct result {
    struct ll_imported *at;
    uint32_t count;
};

struct walk {
    struct xla_module *module;
    struct ll_import *import;
    uint64_t ops;
    unsigned depth;
};

/* A computation at work. */
struct frame {
    const struct xla_computation *computation;
    struct result *results;         /* by instruction */
    const struct result *arguments; /* by the number of the parameter */
    uint64_t argument_count;
};

struct call {
    struct walk *walk;
    struct frame *frame;
    const struct xla_instruction *in;
    enum ll_op_kind kind;
};

typedef bool rule(struct call *c, struct result *out);

static bool refuse(struct walk *w, const struct xla_instruction *in, const char *trouble)
{
    return ll_complain(w->import->diags, xla_place(w->module, in), "%.*s `%.*s`: %s",
                       (int)ll_min(60, (uint64_t)(in->opcode.end - in->opcode.at)), in->opcode.at,
                       (int)ll_min(100, (uint64_t)(in->name.end - in->name.at)), in->name.at, trouble);
}

/* Operand i, its first tensor unless it is a tuple; false after a complaint. */
static bool operand(struct call *c, uint32_t i, struct ll_imported *out)
{
    if (i >= c->in->operand_count || c->frame->results[c->in->operands[i]].count == 0)
        return refuse(c->walk, c->in, "an operand is missing");
    *out = c->frame->results[c->in->operands[i]].at[0];
    return true;
}

static bool new_result(struct call *c, uint32_t count, struct result *out)
{
    out->count = count;
    out->at = ll_alloc(&c->walk->import->arena, count, sizeof *out->at);
    return out->at || ll_import_no_memory(c->walk->import);
}

static bool give(struct call *c, struct ll_imported one, struct result *out)
{
    if (!new_result(c, 1, out))
        return false;
    out->at[0] = one;
    return true;
}

static bool emit(struct call *c, const struct ll_import_op *op, struct ll_imported *outs)
{
    struct ll_import_op whole = *op;
    whole.scope =
        ll_copy_text(&c->walk->import->arena, c->in->name.at, (size_t)(c->in->name.end - c->in->name.at));
    whole.memory = LL_ACTIVATION;
    if (c->walk->ops++ == MOST_OPS)
        return refuse(c->walk, c->in, "the loops of the module become too many ops");
    const char *trouble = ll_import_record(c->walk->import, &whole, outs);
    return !trouble || refuse(c->walk, c->in, trouble);
}

static bool emit_one(struct call *c, enum ll_op_kind kind, const struct ll_imported *in, uint32_t count,
                     const struct ll_shape *given, struct ll_imported *out)
{
    struct ll_imported outs[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {
        .kind = kind, .in = in, .in_count = count, .given = given, .given_count = given != NULL};
    if (!emit(c, &op, outs))
        return false;
    *out = outs[0];
    return true;
}

static bool same(const struct ll_shape *a, const struct ll_shape *b)
{
    return a->rank == b->rank && a->dtype == b->dtype && memcmp(a->dim, b->dim, sizeof a->dim) == 0;
}

static bool see_as(struct call *c, struct ll_imported in, const struct ll_shape *shape,
                   struct ll_imported *out)
{
    struct ll_shape seen = *shape;
    *out = in;
    if (same(&in.shape, &seen))
        return true;
    return emit_one(c, LL_OP_SEEN_AS, &in, 1, &seen, out);
}

/* The list of an attribute, {0,1}; how many there are. */
static uint64_t list_of(const struct call *c, const char *name, int64_t *values, uint64_t most)
{
    struct xla_text value;
    return xla_attr(c->in, name, &value) ? xla_integers(value, values, most) : 0;
}

static const struct xla_computation *computation_of(struct call *c, const char *name)
{
    struct xla_text value;
    if (!xla_attr(c->in, name, &value))
        return NULL;
    value.at += value.at < value.end && *value.at == '{';
    value.end -= value.end > value.at && value.end[-1] == '}';
    const char *comma = memchr(value.at, ',', (size_t)(value.end - value.at));
    value.end = comma ? comma : value.end;
    return xla_find(c->walk->module, value);
}

static bool follow(struct walk *w, const struct xla_computation *computation, const struct result *arguments,
                   uint64_t count, struct result *out);

/* Element by element. */

static bool rule_UNARY(struct call *c, struct result *out)
{
    struct ll_imported x, y;
    return operand(c, 0, &x) && emit_one(c, c->kind, &x, 1, NULL, &y) && give(c, y, out);
}

static bool rule_BINARY(struct call *c, struct result *out)
{
    struct ll_imported in[2], y;
    return operand(c, 0, &in[0]) && operand(c, 1, &in[1]) && emit_one(c, c->kind, in, 2, NULL, &y) &&
           give(c, y, out);
}

static bool rule_SELECT(struct call *c, struct result *out)
{
    struct ll_imported in[3], y;
    if (!operand(c, 0, &in[0]) || !operand(c, 1, &in[1]) || !operand(c, 2, &in[2]))
        return false;
    if (in[1].shape.rank > 0 && in[0].shape.rank == 0) /* one truth for all chooses a tensor: nothing moves */
        return give(c, in[1], out);
    return emit_one(c, LL_OP_WHERE, in, 3, NULL, &y) && give(c, y, out);
}

static bool rule_CLAMP(struct call *c, struct result *out)
{
    struct ll_imported x, y;
    return operand(c, 1, &x) && emit_one(c, LL_OP_RELU_CLIPPED, &x, 1, NULL, &y) && give(c, y, out);
}

static bool rule_CONVERT(struct call *c, struct result *out)
{
    struct ll_imported x, y;
    return operand(c, 0, &x) && emit_one(c, LL_OP_CAST, &x, 1, c->in->shapes, &y) && give(c, y, out);
}

/* Nothing happens. */

static bool rule_VIEW(struct call *c, struct result *out)
{
    struct ll_imported x, y;
    return operand(c, 0, &x) && see_as(c, x, c->in->shapes, &y) && give(c, y, out);
}

static bool rule_PASS(struct call *c, struct result *out)
{
    if (c->in->operand_count == 0)
        return refuse(c->walk, c->in, "an operand is missing");
    *out = c->frame->results[c->in->operands[0]];
    return true;
}

static bool rule_TUPLE(struct call *c, struct result *out)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->in->operand_count; i++)
        count += c->frame->results[c->in->operands[i]].count;
    if (!new_result(c, count, out))
        return false;
    count = 0;
    for (uint32_t i = 0; i < c->in->operand_count; i++) {
        const struct result *part = &c->frame->results[c->in->operands[i]];
        memcpy(out->at + count, part->at, part->count * sizeof *part->at);
        count += part->count;
    }
    return true;
}

/* Part `index` of a tuple, whose parts may be tuples: as many tensors as it has. */
static bool rule_PART(struct call *c, struct result *out)
{
    struct xla_text value;
    int64_t index = 0;
    if (c->in->operand_count == 0 || !xla_attr(c->in, "index", &value) || xla_integers(value, &index, 1) != 1)
        return refuse(c->walk, c->in, "it must say which part of which tuple");
    const struct xla_instruction *whole = &c->frame->computation->instructions[c->in->operands[0]];
    const struct result *all = &c->frame->results[c->in->operands[0]];
    uint32_t begin = (uint32_t)index;
    if (whole->shape_count != all->count || xla_is(whole->opcode, "tuple")) { /* parts of different sizes */
        begin = 0;
        for (uint32_t i = 0; i < (uint32_t)index && i < whole->operand_count; i++)
            begin += xla_is(whole->opcode, "tuple") ? c->frame->results[whole->operands[i]].count : 1;
    }
    if (index < 0 || begin + c->in->shape_count > all->count)
        return refuse(c->walk, c->in, "the tuple has no such part");
    *out = (struct result){all->at + begin, c->in->shape_count};
    return true;
}

static bool rule_PARAMETER(struct call *c, struct result *out)
{
    int64_t number = -1;
    if (xla_integers(c->in->inside, &number, 1) != 1 || number < 0)
        return refuse(c->walk, c->in, "a parameter has a number");
    if (c->frame->arguments) {
        if ((uint64_t)number >= c->frame->argument_count)
            return refuse(c->walk, c->in, "there are not so many arguments");
        *out = c->frame->arguments[number];
        return true;
    }
    struct xla_text name;
    bool weight =
        xla_attr(c->in, "metadata", &name) && (memmem(name.at, (size_t)(name.end - name.at), "param", 5) ||
                                               memmem(name.at, (size_t)(name.end - name.at), "weight", 6) ||
                                               memmem(name.at, (size_t)(name.end - name.at), "kernel", 6));
    if (!new_result(c, c->in->shape_count, out))
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        out->at[i] = ll_import_tensor(c->walk->import, weight ? "parameter" : "input", &c->in->shapes[i],
                                      weight ? LL_WEIGHT : LL_INPUT);
    return true;
}

/* Constants are there before the step; what is computed from nothing is written. */
static bool rule_CONSTANT(struct call *c, struct result *out)
{
    if (!new_result(c, c->in->shape_count, out))
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        if (c->kind != LL_OP_CONSTANT || c->in->shapes[i].rank == 0)
            out->at[i] = ll_import_tensor(c->walk->import, "constant", &c->in->shapes[i], LL_WORKSPACE);
        else if (!emit_one(c, LL_OP_CONSTANT, NULL, 0, &c->in->shapes[i], &out->at[i]))
            return false;
    }
    return true;
}

/* Data moves: as much is read as comes out. */
static bool rule_MOVE(struct call *c, struct result *out)
{
    struct ll_imported x, y;
    return operand(c, 0, &x) && see_as(c, x, c->in->shapes, &y) && emit_one(c, LL_OP_COPY, &y, 1, NULL, &y) &&
           give(c, y, out);
}

static bool rule_BROADCAST(struct call *c, struct result *out)
{
    int64_t dims[LL_MAX_RANK];
    struct ll_imported x, y;
    struct ll_shape seen = c->in->shapes[0];
    uint64_t count = list_of(c, "dimensions", dims, LL_MAX_RANK);
    if (!operand(c, 0, &x))
        return false;
    for (unsigned i = 0; i < seen.rank; i++)
        seen.dim[i] = 1;
    for (uint64_t i = 0; i < count && i < x.shape.rank; i++)
        if (dims[i] >= 0 && dims[i] < seen.rank)
            seen.dim[dims[i]] = x.shape.dim[i];
    if (ll_elements(&seen) != ll_elements(&x.shape))
        return refuse(c->walk, c->in, "its dimensions do not say where those of its operand go");
    return see_as(c, x, &seen, &y) &&
           (same(&seen, c->in->shapes) || emit_one(c, LL_OP_EXPAND, &y, 1, c->in->shapes, &y)) &&
           give(c, y, out);
}

static bool rule_CONCAT(struct call *c, struct result *out)
{
    int64_t axis = 0;
    struct ll_imported *in = ll_alloc(&c->walk->import->arena, c->in->operand_count + 1u, sizeof *in),
                       outs[LL_MAX_OUTPUTS];
    list_of(c, "dimensions", &axis, 1);
    for (uint32_t i = 0; i < c->in->operand_count; i++)
        if (!in || !operand(c, i, &in[i]))
            return in ? false : ll_import_no_memory(c->walk->import);
    const struct ll_attr attr = {.key = LL_ATTR_AXIS, .count = axis};
    const struct ll_import_op op = {
        .kind = LL_OP_CONCAT, .in = in, .in_count = c->in->operand_count, .attrs = &attr, .attr_count = 1};
    return emit(c, &op, outs) && give(c, outs[0], out);
}

/* In place: only the update moves. */
static bool rule_UPDATE(struct call *c, struct result *out)
{
    struct ll_imported whole, part, y;
    return operand(c, 0, &whole) && operand(c, 1, &part) && emit_one(c, LL_OP_COPY, &part, 1, NULL, &y) &&
           give(c, whole, out);
}

static bool rule_GATHER(struct call *c, struct result *out)
{
    int64_t sizes[LL_MAX_RANK];
    struct ll_imported in[2], y;
    uint64_t count = list_of(c, "slice_sizes", sizes, LL_MAX_RANK), row = 1;
    if (!operand(c, 0, &in[0]) || !operand(c, 1, &in[1]))
        return false;
    for (uint64_t i = 0; i < count && i < LL_MAX_RANK; i++)
        row = ll_mul(row, (uint64_t)ll_max(1, (uint64_t)sizes[i]));
    uint64_t picked = ll_elements(c->in->shapes) / ll_max(1, row), elements = ll_elements(&in[0].shape);
    if (row == 0 || elements % row != 0)
        return rule_MOVE(c, out);
    const struct ll_shape table = {.rank = 2, .dtype = in[0].shape.dtype, .dim = {elements / row, row}},
                          list = {.rank = 1, .dtype = LL_I32, .dim = {picked}};
    return see_as(c, in[0], &table, &in[0]) && see_as(c, in[1], &list, &in[1]) &&
           emit_one(c, LL_OP_GATHER, in, 2, NULL, &y) && see_as(c, y, c->in->shapes, &y) && give(c, y, out);
}

static bool rule_SCATTER(struct call *c, struct result *out)
{
    struct ll_imported in[3], y;
    if (!operand(c, 0, &in[0]) || !operand(c, 1, &in[1]) || !operand(c, 2, &in[2]))
        return false;
    if (in[2].shape.dtype != in[0].shape.dtype)
        in[2].shape.dtype = in[0].shape.dtype;
    return emit_one(c, LL_OP_SCATTER, in, 3, &in[0].shape, &y) && give(c, y, out);
}

/* Many become few. */

/* What a small computation does to two: its root's kind among those of reductions. */
static enum ll_op_kind reduction_of(struct call *c, const char *name)
{
    const struct xla_computation *by = computation_of(c, name);
    const struct xla_text opcode = by ? by->instructions[by->root].opcode : (struct xla_text){"", ""};
    bool picks = xla_is(opcode, "maximum") || xla_is(opcode, "minimum") || xla_is(opcode, "and") ||
                 xla_is(opcode, "or");
    return picks ? LL_OP_MAX : LL_OP_SUM;
}

static bool reduce_to(struct call *c, enum ll_op_kind kind, struct ll_imported x,
                      const struct ll_shape *shape, struct ll_imported *y)
{
    uint64_t left = ll_max(1, ll_elements(shape)), all = ll_elements(&x.shape);
    const struct ll_shape sides = {.rank = 2, .dtype = x.shape.dtype, .dim = {left, all / left}};
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_AXIS, .count = 1}, {.key = LL_ATTR_AXES, .count = 1}};
    struct ll_imported in, outs[LL_MAX_OUTPUTS];
    const struct ll_import_op op = {.kind = kind, .in = &in, .in_count = 1, .attrs = attrs, .attr_count = 2};
    if (!see_as(c, x, &sides, &in) || !emit(c, &op, outs))
        return false;
    struct ll_shape seen = *shape;
    seen.dtype = outs[0].shape.dtype;
    return see_as(c, outs[0], &seen, y);
}

static bool rule_REDUCE(struct call *c, struct result *out)
{
    enum ll_op_kind kind = reduction_of(c, "to_apply");
    if (!new_result(c, c->in->shape_count, out))
        return false;
    for (uint32_t i = 0; i < out->count; i++) {
        struct ll_imported x;
        if (!operand(c, i, &x) || !reduce_to(c, kind, x, &c->in->shapes[i], &out->at[i]))
            return false;
    }
    return true;
}

/* The sizes of a window along each dimension; 1 where nothing is said. */
static uint64_t window_list(struct xla_text window, const char *key, int64_t *values, uint64_t most)
{
    size_t length = strlen(key);
    for (const char *at = window.at; at + length < window.end; at++)
        if (memcmp(at, key, length) == 0 && at[length] == '=' &&
            (at == window.at || !(at[-1] >= 'a' && at[-1] <= 'z')) && (at == window.at || at[-1] != '_')) {
            const char *end = at + length + 1;
            while (end < window.end && *end != ' ' && *end != '}')
                end++;
            struct xla_text list = {at + length + 1, end};
            uint64_t count = 0; /* 3x3, or pairs 1_1x1_1 */
            for (const char *part = list.at; part < list.end && count < most;) {
                const char *next = part;
                while (next < list.end && *next != 'x')
                    next++;
                uint64_t numbers = xla_integers((struct xla_text){part, next}, values + 2 * count, 2);
                values[2 * count + 1] = numbers == 2 ? values[2 * count + 1] : values[2 * count];
                count++;
                part = next + 1;
            }
            return count;
        }
    return 0;
}

static bool rule_REDUCE_WINDOW(struct call *c, struct result *out)
{
    int64_t sizes[2 * LL_MAX_RANK];
    struct xla_text window;
    struct ll_imported x, outs[LL_MAX_OUTPUTS], y;
    uint64_t taps = 1, elements = ll_elements(c->in->shapes);
    if (!operand(c, 0, &x) || !xla_attr(c->in, "window", &window))
        return refuse(c->walk, c->in, "it has no window");
    uint64_t count = window_list(window, "size", sizes, LL_MAX_RANK);
    for (uint64_t i = 0; i < count; i++)
        taps = ll_mul(taps, (uint64_t)ll_max(1, (uint64_t)sizes[2 * i]));
    const struct ll_shape seen = {
        .rank = 4, .dtype = x.shape.dtype, .dim = {1, 1, ll_mul(elements, taps), 1}};
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_STRIDE_W, .count = (int64_t)taps},
                                     {.key = LL_ATTR_KERNEL_W, .count = (int64_t)taps}};
    const struct ll_attr high = {.key = LL_ATTR_KERNEL_H, .count = 1};
    const struct ll_attr all[3] = {attrs[0], attrs[1], high};
    const struct ll_import_op op = {.kind = reduction_of(c, "to_apply") == LL_OP_MAX ? LL_OP_MAX_POOL
                                                                                     : LL_OP_AVG_POOL,
                                    .in = &y,
                                    .in_count = 1,
                                    .attrs = all,
                                    .attr_count = 3};
    if (!ll_fits(ll_size_bytes(&seen)))
        return refuse(c->walk, c->in, "the size does not fit in 64 bits");
    return see_as(c, x, &seen, &y) && emit(c, &op, outs) && see_as(c, outs[0], c->in->shapes, &y) &&
           give(c, y, out);
}

static bool rule_SELECT_AND_SCATTER(struct call *c, struct result *out)
{
    struct ll_imported source, y;
    return operand(c, 1, &source) && emit_one(c, LL_OP_RESIZE_NEAREST_GRAD, &source, 1, c->in->shapes, &y) &&
           give(c, y, out);
}

/* Along a dimension all, or the best k; what goes with the keys moves with them. */
static bool rule_SORT(struct call *c, struct result *out)
{
    int64_t axis = -1;
    struct ll_imported x, outs[LL_MAX_OUTPUTS], y;
    if (!operand(c, 0, &x) || !new_result(c, c->in->shape_count, out))
        return false;
    list_of(c, "dimensions", &axis, 1);
    uint64_t n =
        x.shape.rank == 0 ? 1 : x.shape.dim[axis < 0 || axis >= x.shape.rank ? x.shape.rank - 1 : axis];
    uint64_t kept = c->kind == LL_OP_TOP_K && c->in->shapes[0].rank
                        ? c->in->shapes[0].dim[c->in->shapes[0].rank - 1u]
                        : n;
    const struct ll_shape lines = {
        .rank = 2, .dtype = x.shape.dtype, .dim = {n ? ll_elements(&x.shape) / n : 0, n}};
    const struct ll_attr size = {.key = LL_ATTR_SIZE, .count = (int64_t)ll_min(kept, n)};
    const struct ll_import_op op = {
        .kind = LL_OP_TOP_K, .in = &y, .in_count = 1, .attrs = &size, .attr_count = 1};
    if (!see_as(c, x, &lines, &y) || !emit(c, &op, outs))
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        if (!see_as(c, outs[i > 0], &c->in->shapes[i], &out->at[i]))
            return false;
    return true;
}

/* GEMMs: of stacks of matrices. */
static bool multiply(struct call *c, const struct ll_gemm *gemm, struct result *out)
{
    struct ll_imported in[2], y;
    if (!operand(c, 0, &in[0]) || !operand(c, 1, &in[1]))
        return false;
    bool one = gemm->batch == 1;
    const struct ll_shape a = {.rank = one ? 2 : 3,
                               .dtype = in[0].shape.dtype,
                               .dim = {one ? gemm->m : gemm->batch, one ? gemm->k : gemm->m,
                                       one ? 0 : gemm->k}},
                          b = {.rank = one ? 2 : 3,
                               .dtype = in[1].shape.dtype,
                               .dim = {one ? gemm->k : gemm->batch, one ? gemm->n : gemm->k,
                                       one ? 0 : gemm->n}};
    return see_as(c, in[0], &a, &in[0]) && see_as(c, in[1], &b, &in[1]) &&
           emit_one(c, one ? LL_OP_MATMUL : LL_OP_BATCH_MATMUL, in, 2, NULL, &y) &&
           see_as(c, y, c->in->shapes, &y) && give(c, y, out);
}

static bool rule_DOT(struct call *c, struct result *out)
{
    int64_t contracting[LL_MAX_RANK], batch[LL_MAX_RANK];
    struct ll_imported a, b;
    struct ll_gemm gemm = {1, 1, 1, 1};
    if (!operand(c, 0, &a) || !operand(c, 1, &b))
        return false;
    uint64_t k = list_of(c, "lhs_contracting_dims", contracting, LL_MAX_RANK),
             s = list_of(c, "lhs_batch_dims", batch, LL_MAX_RANK);
    for (uint64_t i = 0; i < k; i++)
        gemm.k = ll_mul(
            gemm.k, contracting[i] >= 0 && contracting[i] < a.shape.rank ? a.shape.dim[contracting[i]] : 1);
    for (uint64_t i = 0; i < s; i++)
        gemm.batch = ll_mul(gemm.batch, batch[i] >= 0 && batch[i] < a.shape.rank ? a.shape.dim[batch[i]] : 1);
    uint64_t both = ll_mul(gemm.batch, gemm.k);
    if (both == 0 || ll_elements(&a.shape) % both != 0 || ll_elements(&b.shape) % both != 0)
        return refuse(c->walk, c->in, "its dimensions do not fit together");
    gemm.m = ll_elements(&a.shape) / both;
    gemm.n = ll_elements(&b.shape) / both;
    if (ll_mul(gemm.batch, ll_mul(gemm.m, gemm.n)) != ll_elements(c->in->shapes))
        return refuse(c->walk, c->in, "its dimensions do not give its result");
    return multiply(c, &gemm, out);
}

/* Where the letter of a dimension stands in one of the three labels of dim_labels=b01f_01io->b01f. */
static int place_in(struct xla_text labels, unsigned which, char letter)
{
    const char *at = labels.at;
    for (unsigned i = 0; i < which; i++) {
        const char *behind = memchr(at, i == 0 ? '_' : '>', (size_t)(labels.end - at));
        if (!behind)
            return -1;
        at = behind + 1;
    }
    for (const char *begin = at; at < labels.end && *at != '_' && *at != '-'; at++)
        if (*at == letter)
            return (int)(at - begin);
    return -1;
}

/* One spatial dimension of a convolution. */
struct side {
    int64_t in, out, size, stride, before, after, in_dilation, dilation;
    uint64_t pairs; /* of positions and taps that hit an element of the image */
};

static uint64_t count_pairs(const struct side *s)
{
    uint64_t pairs = 0;
    int64_t span = (s->in - 1) * s->in_dilation + 1;
    if (s->size > 1 << 20 || s->out > 1 << 20 || (s->size > 1 << 12 && s->out > 1 << 12))
        return ll_mul((uint64_t)s->size, (uint64_t)s->out);
    for (int64_t o = 0; o < s->out; o++)
        for (int64_t t = 0; t < s->size; t++) {
            int64_t at = o * s->stride - s->before + t * s->dilation;
            pairs += at >= 0 && at < span && at % s->in_dilation == 0;
        }
    return pairs;
}

static bool read_sides(struct call *c, struct xla_text labels, const struct ll_shape *x, struct side *sides,
                       unsigned *count)
{
    int64_t size[2 * MOST_SPATIAL], stride[2 * MOST_SPATIAL], pad[2 * MOST_SPATIAL], in[2 * MOST_SPATIAL],
        holes[2 * MOST_SPATIAL];
    struct xla_text window = {"", ""};
    xla_attr(c->in, "window", &window);
    uint64_t sizes = window_list(window, "size", size, MOST_SPATIAL),
             strides = window_list(window, "stride", stride, MOST_SPATIAL),
             pads = window_list(window, "pad", pad, MOST_SPATIAL),
             ins = window_list(window, "lhs_dilate", in, MOST_SPATIAL),
             holed = window_list(window, "rhs_dilate", holes, MOST_SPATIAL);
    for (*count = 0; *count < MOST_SPATIAL; ++*count) {
        unsigned i = *count;
        int at = place_in(labels, 0, (char)('0' + i)), to = place_in(labels, 2, (char)('0' + i));
        if (at < 0)
            break;
        if (to < 0 || at >= x->rank || to >= c->in->shapes[0].rank)
            return refuse(c->walk, c->in, "its labels do not name its dimensions");
        sides[i] = (struct side){.in = (int64_t)x->dim[at],
                                 .out = (int64_t)c->in->shapes[0].dim[to],
                                 .size = i < sizes ? size[2 * i] : 1,
                                 .stride = i < strides ? stride[2 * i] : 1,
                                 .before = i < pads ? pad[2 * i] : 0,
                                 .after = i < pads ? pad[2 * i + 1] : 0,
                                 .in_dilation = i < ins ? ll_max(1, (uint64_t)in[2 * i]) : 1,
                                 .dilation = i < holed ? ll_max(1, (uint64_t)holes[2 * i]) : 1};
        if (sides[i].size < 1 || sides[i].stride < 1 || sides[i].in < 1)
            return refuse(c->walk, c->in, "a window and its stride have sizes");
        sides[i].pairs = count_pairs(&sides[i]);
    }
    return true;
}

/* Convolutions of up to two dimensions whose windows lie in the image, as such; where most taps miss it (XLA
 * writes GEMMs of stacks so), or with more dimensions, as a GEMM for each pair of a position and a tap. */
static bool rule_CONVOLUTION(struct call *c, struct result *out)
{
    struct xla_text labels, text;
    struct side sides[MOST_SPATIAL];
    unsigned count;
    int64_t groups = 1, batch_groups = 1;
    struct ll_imported in[2], outs[LL_MAX_OUTPUTS], y;
    if (!operand(c, 0, &in[0]) || !operand(c, 1, &in[1]) || !xla_attr(c->in, "dim_labels", &labels))
        return refuse(c->walk, c->in, "it has no dim_labels");
    int b = place_in(labels, 2, 'b'), f = place_in(labels, 2, 'f'), inner = place_in(labels, 1, 'i');
    const struct ll_shape *y_shape = &c->in->shapes[0];
    if (b < 0 || f < 0 || inner < 0 || b >= y_shape->rank || f >= y_shape->rank || inner >= in[1].shape.rank)
        return refuse(c->walk, c->in, "its labels do not name its dimensions");
    if (xla_attr(c->in, "feature_group_count", &text))
        xla_integers(text, &groups, 1);
    if (xla_attr(c->in, "batch_group_count", &text))
        xla_integers(text, &batch_groups, 1);
    if (!read_sides(c, labels, &in[0].shape, sides, &count))
        return false;
    uint64_t pairs = 1, whole = 1, batch = y_shape->dim[b], features = y_shape->dim[f],
             channels = in[1].shape.dim[inner];
    bool dilated = false;
    for (unsigned i = 0; i < count; i++) {
        pairs = ll_mul(pairs, sides[i].pairs);
        whole = ll_mul(whole, ll_mul((uint64_t)sides[i].size, (uint64_t)sides[i].out));
        dilated |= sides[i].in_dilation > 1 || sides[i].before < 0 || sides[i].after < 0;
    }
    if (count > 2 || dilated || pairs < whole / 2 || batch_groups > 1 || groups < 1) {
        const struct ll_gemm gemm = {ll_max(1, pairs), batch, features, channels};
        return multiply(c, &gemm, out);
    }
    const struct side one = {.in = 1, .out = 1, .size = 1, .stride = 1, .in_dilation = 1, .dilation = 1};
    const struct side *h = count == 2 ? &sides[0] : &one, *w = count > 0 ? &sides[count - 1] : &one;
    const struct ll_shape image = {.rank = 4,
                                   .dtype = in[0].shape.dtype,
                                   .dim = {batch, (uint64_t)h->in, (uint64_t)w->in,
                                           ll_mul(channels, (uint64_t)groups)}},
                          filter = {.rank = 4,
                                    .dtype = in[1].shape.dtype,
                                    .dim = {(uint64_t)h->size, (uint64_t)w->size, channels, features}};
    const struct ll_attr attrs[9] = {
        {.key = LL_ATTR_STRIDE_H, .count = h->stride},     {.key = LL_ATTR_STRIDE_W, .count = w->stride},
        {.key = LL_ATTR_PAD_TOP, .count = h->before},      {.key = LL_ATTR_PAD_LEFT, .count = w->before},
        {.key = LL_ATTR_PAD_BOTTOM, .count = h->after},    {.key = LL_ATTR_PAD_RIGHT, .count = w->after},
        {.key = LL_ATTR_DILATION_H, .count = h->dilation}, {.key = LL_ATTR_DILATION_W, .count = w->dilation},
        {.key = LL_ATTR_GROUPS, .count = groups}};
    const struct ll_import_op op = {
        .kind = LL_OP_CONV2D, .in = in, .in_count = 2, .attrs = attrs, .attr_count = 9};
    return see_as(c, in[0], &image, &in[0]) && see_as(c, in[1], &filter, &in[1]) && emit(c, &op, outs) &&
           see_as(c, outs[0], c->in->shapes, &y) && give(c, y, out);
}

/* Calls. */

static bool arguments_of(struct call *c, struct result **arguments)
{
    *arguments = ll_alloc(&c->walk->import->arena, c->in->operand_count + 1u, sizeof **arguments);
    for (uint32_t i = 0; *arguments && i < c->in->operand_count; i++)
        (*arguments)[i] = c->frame->results[c->in->operands[i]];
    return *arguments || ll_import_no_memory(c->walk->import);
}

static bool rule_CALL(struct call *c, struct result *out)
{
    const struct xla_computation *to = computation_of(c, "to_apply");
    struct result *arguments;
    to = to ? to : computation_of(c, "calls");
    to = to ? to : computation_of(c, "called_computation");
    if (!to)
        return refuse(c->walk, c->in, "what it calls is not in the file");
    return arguments_of(c, &arguments) && follow(c->walk, to, arguments, c->in->operand_count, out);
}

/* Whether a computation multiplies, or calls what no fusion may hold. */
static bool multiplies(const struct xla_computation *computation)
{
    for (uint64_t i = 0; i < computation->count; i++) {
        const struct xla_text opcode = computation->instructions[i].opcode;
        if (xla_is(opcode, "dot") || xla_is(opcode, "convolution") || xla_is(opcode, "custom-call") ||
            xla_is(opcode, "fusion") || xla_is(opcode, "sort"))
            return true;
    }
    return false;
}

/* What a fusion reads of parameter `number`: the results of the slices that are all that read it, else all.
 */
static bool read_of(const struct xla_computation *f, int64_t number, struct ll_shape *slices)
{
    uint32_t parameter = UINT32_MAX;
    uint64_t elements = 0;
    for (uint64_t i = 0; i < f->count; i++) {
        int64_t own = -1;
        if (xla_is(f->instructions[i].opcode, "parameter") &&
            xla_integers(f->instructions[i].inside, &own, 1) == 1 && own == number)
            parameter = (uint32_t)i;
    }
    for (uint64_t i = 0; i < f->count; i++)
        for (uint32_t k = 0; k < f->instructions[i].operand_count; k++) {
            const struct xla_instruction *in = &f->instructions[i];
            if (in->operands[k] != parameter)
                continue;
            bool updates = xla_is(in->opcode, "dynamic-update-slice") && k == 0;
            if (k != 0 || (!updates && !xla_is(in->opcode, "dynamic-slice") && !xla_is(in->opcode, "slice") &&
                           !xla_is(in->opcode, "gather")))
                return false;
            elements = ll_add(elements, updates ? 0 : ll_elements(in->shapes));
            slices->dtype = in->shapes[0].dtype;
        }
    slices->rank = 1;
    slices->dim[0] = elements;
    return parameter != UINT32_MAX;
}

/* A fusion is one kernel, which moves what it reads and what it writes. */
static bool rule_FUSION(struct call *c, struct result *out)
{
    const struct xla_computation *f = computation_of(c, "calls");
    struct ll_imported *in, *outs;
    uint32_t count = 0;
    if (!f)
        return refuse(c->walk, c->in, "what it calls is not in the file");
    if (multiplies(f))
        return rule_CALL(c, out);
    in = ll_alloc(&c->walk->import->arena, c->in->operand_count + 1u, sizeof *in);
    outs = ll_alloc(&c->walk->import->arena, c->in->shape_count + (size_t)LL_MAX_OUTPUTS, sizeof *outs);
    if (!in || !outs)
        return ll_import_no_memory(c->walk->import);
    for (uint32_t i = 0; i < c->in->operand_count; i++) {
        struct ll_shape slices = {0};
        struct ll_imported whole;
        if (!operand(c, i, &whole))
            return false;
        bool sliced = read_of(f, i, &slices);
        if (sliced && slices.dim[0] == 0)
            continue;
        in[count] = whole;
        if (sliced && slices.dim[0] < ll_elements(&whole.shape) && !see_as(c, whole, &slices, &in[count]))
            return false;
        count++;
    }
    const struct xla_instruction *root = &f->instructions[f->root];
    if (xla_is(root->opcode, "dynamic-update-slice") && root->operand_count > 1 && c->in->operand_count > 0) {
        const struct ll_shape part = f->instructions[root->operands[1]].shapes[0];
        const struct ll_import_op op = {
            .kind = LL_OP_FOREIGN, .in = in, .in_count = count, .given = &part, .given_count = 1};
        int64_t number = 0; /* the operand that is updated in place is what comes out */
        xla_integers(f->instructions[root->operands[0]].inside, &number, 1);
        struct ll_imported whole;
        return emit(c, &op, outs) &&
               operand(c, (uint32_t)ll_min((uint64_t)number, c->in->operand_count - 1u), &whole) &&
               see_as(c, whole, c->in->shapes, &whole) && give(c, whole, out);
    }
    const struct ll_import_op op = {.kind = LL_OP_FOREIGN,
                                    .in = in,
                                    .in_count = count,
                                    .given = c->in->shapes,
                                    .given_count = c->in->shape_count};
    *out = (struct result){outs, c->in->shape_count};
    return emit(c, &op, outs);
}

/* How often a loop runs: as XLA has found, as its condition compares, or as the user says. */
static bool trips_of(struct call *c, uint64_t *trips)
{
    static const char known[] = "known_trip_count";
    struct xla_text config;
    int64_t number = -1;
    char key[160];
    snprintf(key, sizeof key, "trips.%.*s", (int)ll_min(140, (uint64_t)(c->in->name.end - c->in->name.at)),
             c->in->name.at);
    if (xla_attr(c->in, "backend_config", &config)) {
        const char *at = memmem(config.at, (size_t)(config.end - config.at), known, sizeof known - 1);
        if (at)
            xla_integers((struct xla_text){at, memchr(at, '}', (size_t)(config.end - at))
                                                   ? (const char *)memchr(at, '}', (size_t)(config.end - at))
                                                   : config.end},
                         &number, 1);
    }
    const struct xla_computation *condition = computation_of(c, "condition");
    const struct xla_instruction *root = condition ? &condition->instructions[condition->root] : NULL;
    for (uint32_t i = 0; number < 0 && root && xla_is(root->opcode, "compare") && i < root->operand_count;
         i++) {
        const struct xla_instruction *bound = &condition->instructions[root->operands[i]];
        if (xla_is(bound->opcode, "constant"))
            xla_integers(bound->inside, &number, 1);
    }
    uint64_t found = number >= 0 ? (uint64_t)number : 0;
    if (!ll_import_count(c->walk->import, key, 0, UINT32_MAX, found, trips))
        return false;
    return number >= 0 || ll_import_choice(c->walk->import, key) ||
           ll_complain(c->walk->import->diags, xla_place(c->walk->module, c->in),
                       "how often the loop runs is not in the file; say -p %.150s=N", key);
}

static bool rule_WHILE(struct call *c, struct result *out)
{
    const struct xla_computation *body = computation_of(c, "body");
    uint64_t trips;
    if (!body || c->in->operand_count != 1)
        return refuse(c->walk, c->in, "its body is not in the file");
    if (!trips_of(c, &trips))
        return false;
    *out = c->frame->results[c->in->operands[0]];
    for (uint64_t i = 0; i < trips; i++) {
        const struct result state = *out;
        if (!follow(c->walk, body, &state, 1, out))
            return false;
    }
    return true;
}

/* Which branch runs nobody knows: the longest. */
static bool rule_CONDITIONAL(struct call *c, struct result *out)
{
    struct xla_text list;
    const struct xla_computation *longest = computation_of(c, "true_computation"),
                                 *other = computation_of(c, "false_computation");
    uint32_t argument = 1;
    if (other && (!longest || other->count > longest->count)) {
        longest = other;
        argument = 2;
    }
    if (!longest && xla_attr(c->in, "branch_computations", &list)) {
        uint32_t number = 0;
        for (const char *at = list.at + 1; at < list.end;) {
            const char *end = at;
            while (end < list.end && *end != ',' && *end != '}')
                end++;
            while (at < end && *at == ' ')
                at++;
            const struct xla_computation *branch = xla_find(c->walk->module, (struct xla_text){at, end});
            number++;
            if (branch && (!longest || branch->count > longest->count)) {
                longest = branch;
                argument = number;
            }
            at = end + 1;
        }
    }
    if (!longest || argument >= c->in->operand_count)
        return refuse(c->walk, c->in, "its branches are not in the file");
    if (c->walk->import->notes)
        ll_complain(c->walk->import->notes, xla_place(c->walk->module, c->in),
                    "which branch runs is not known; the longest is taken");
    return follow(c->walk, longest, &c->frame->results[c->in->operands[argument]], 1, out);
}

/* Devices. */

/* The size of a group and how far apart its members are: {{0,1},{2,3}}, or [2,4]<=[8], perhaps turned. */
static void read_groups(struct call *c, int64_t *devices, int64_t *stride)
{
    struct xla_text groups;
    int64_t numbers[64];
    *devices = 0;
    *stride = 1;
    if (!xla_attr(c->in, "replica_groups", &groups))
        return;
    if (groups.at < groups.end && *groups.at == '[') {
        const char *close = memchr(groups.at, ']', (size_t)(groups.end - groups.at));
        uint64_t count = xla_integers((struct xla_text){groups.at, close ? close : groups.end}, numbers, 64);
        *devices = count > 0 && count <= 64 ? numbers[count - 1] : 0;
        bool turned = memchr(groups.at, 'T', (size_t)(groups.end - groups.at)) != NULL;
        *stride = turned && count == 2 ? numbers[0] : 1;
        return;
    }
    const char *close = memchr(groups.at, '}', (size_t)(groups.end - groups.at));
    uint64_t count = xla_integers((struct xla_text){groups.at, close ? close : groups.end}, numbers, 64);
    *devices = (int64_t)count;
    *stride = count > 1 && count <= 64 && numbers[1] > numbers[0] ? numbers[1] - numbers[0] : 1;
}

static bool rule_COLLECTIVE(struct call *c, struct result *out)
{
    int64_t devices, stride;
    struct ll_imported *in = ll_alloc(&c->walk->import->arena, c->in->operand_count + 1u, sizeof *in),
                       *outs = ll_alloc(&c->walk->import->arena, c->in->shape_count + (size_t)LL_MAX_OUTPUTS,
                                        sizeof *outs);
    read_groups(c, &devices, &stride);
    if (!in || !outs)
        return ll_import_no_memory(c->walk->import);
    for (uint32_t i = 0; i < c->in->operand_count; i++)
        if (!operand(c, i, &in[i]))
            return false;
    if (xla_is(c->in->opcode, "collective-permute") || xla_is(c->in->opcode, "collective-permute-start"))
        devices = 2; /* each sends to one other */
    const struct ll_attr attrs[2] = {{.key = LL_ATTR_DEVICES, .count = devices},
                                     {.key = LL_ATTR_STRIDE, .count = stride}};
    uint32_t results = c->in->operand_count; /* -start gives operands and results: the last are results */
    const struct ll_shape *given =
        c->in->shapes + (c->in->shape_count >= results ? c->in->shape_count - results : 0);
    bool start = c->in->opcode.end - c->in->opcode.at > 6 && memcmp(c->in->opcode.end - 6, "-start", 6) == 0;
    given = start && c->in->shape_count > results ? c->in->shapes + results : given;
    const struct ll_import_op op = {.kind = c->kind,
                                    .phase = LL_PHASE_COMM,
                                    .in = in,
                                    .in_count = results,
                                    .attrs = attrs,
                                    .attr_count = devices > 0 ? 2 : 0,
                                    .given = given,
                                    .given_count = results};
    if (results == 0 || c->in->shape_count < results || !emit(c, &op, outs))
        return results == 0 || c->in->shape_count < results ? refuse(c->walk, c->in, "an operand is missing")
                                                            : false;
    *out = (struct result){outs, results};
    return true;
}

/* Kernels of libraries by their names: those that only mark or view pass their operand on. */
static bool rule_CUSTOM(struct call *c, struct result *out)
{
    static const char *const free_ones[] = {"Sharding",
                                            "SPMDFullToShardShape",
                                            "SPMDShardToFullShape",
                                            "ConcatBitcast",
                                            "AssumeGatherIndicesInBound",
                                            "annotate_device_placement",
                                            "MoveToHost",
                                            "MoveToDevice",
                                            "LayoutConstraint",
                                            "xla.sdy"};
    struct xla_text target = {"", ""};
    struct ll_imported in[3], y;
    if (!xla_attr(c->in, "custom_call_target", &target))
        return refuse(c->walk, c->in, "it has no custom_call_target");
    for (size_t i = 0; i < sizeof free_ones / sizeof *free_ones; i++)
        if (memmem(target.at, (size_t)(target.end - target.at), free_ones[i], strlen(free_ones[i])))
            return c->in->shape_count == 1 ? rule_VIEW(c, out) : rule_PASS(c, out);
    if (memmem(target.at, (size_t)(target.end - target.at), "TopK", 4)) {
        c->kind = LL_OP_TOP_K;
        return rule_SORT(c, out);
    }
    if (memmem(target.at, (size_t)(target.end - target.at), "fused_attn_forward", 18) &&
        c->in->operand_count >= 3 && operand(c, 0, &in[0]) && operand(c, 1, &in[1]) &&
        operand(c, 2, &in[2]) && in[0].shape.rank == 4 && in[1].shape.rank == 4 && in[1].shape.dim[1] > 0 &&
        in[1].shape.dim[2] > 0 && in[0].shape.dim[2] % in[1].shape.dim[2] == 0 &&
        in[0].shape.dim[1] <= in[1].shape.dim[1]) {
        /* q[batch, tokens, heads, features], k, v: it looks back */
        uint64_t groups = in[0].shape.dim[2] / in[1].shape.dim[2];
        const struct ll_attr attr = {.key = LL_ATTR_GROUPS, .count = (int64_t)groups};
        const struct ll_import_op op = {
            .kind = LL_OP_CAUSAL_ATTENTION, .in = in, .in_count = 3, .attrs = &attr, .attr_count = 1};
        struct ll_imported outs[LL_MAX_OUTPUTS];
        for (unsigned i = 0; i < 3; i++) {
            const struct ll_shape from = in[i].shape;
            const struct ll_shape seen = {
                .rank = 4,
                .dtype = from.dtype,
                .dim = {from.dim[0], in[1].shape.rank == 4 && i == 0 ? from.dim[2] / groups : from.dim[2],
                        i == 0 ? ll_mul(from.dim[1], groups) : from.dim[1], from.dim[3]}};
            if (!emit_one(c, LL_OP_SEEN_AS, &in[i], 1, &seen, &in[i]))
                return false;
        }
        if (!emit(c, &op, outs) || !new_result(c, c->in->shape_count, out))
            return false;
        for (uint32_t i = 0; i < out->count; i++)
            if (!see_as(c, outs[i > 0], &c->in->shapes[i], &out->at[i]))
                return false;
        return true;
    }
    struct ll_imported *all = ll_alloc(&c->walk->import->arena, c->in->operand_count + 1u, sizeof *all),
                       *outs = ll_alloc(&c->walk->import->arena, c->in->shape_count + (size_t)LL_MAX_OUTPUTS,
                                        sizeof *outs);
    if (!all || !outs)
        return ll_import_no_memory(c->walk->import);
    for (uint32_t i = 0; i < c->in->operand_count; i++)
        if (!operand(c, i, &all[i]))
            return false;
    (void)y;
    const struct ll_import_op op = {.kind = LL_OP_FOREIGN,
                                    .in = all,
                                    .in_count = c->in->operand_count,
                                    .given = c->in->shapes,
                                    .given_count = c->in->shape_count};
    *out = (struct result){outs, c->in->shape_count};
    return emit(c, &op, outs);
}

/* The opcodes, a row each: the rule, and the op that it becomes where that is one. */
static const struct {
    const char *opcode;
    rule *rule;
    enum ll_op_kind kind;
} rows[] = {{"parameter", rule_PARAMETER, LL_OP_NONE},
            {"constant", rule_CONSTANT, LL_OP_NONE},
            {"iota", rule_CONSTANT, LL_OP_CONSTANT},
            {"rng", rule_CONSTANT, LL_OP_CONSTANT},
            {"rng-bit-generator", rule_CONSTANT, LL_OP_CONSTANT},
            {"rng-get-and-update-state", rule_CONSTANT, LL_OP_NONE},
            {"partition-id", rule_CONSTANT, LL_OP_NONE},
            {"replica-id", rule_CONSTANT, LL_OP_NONE},
            {"after-all", rule_CONSTANT, LL_OP_NONE},
            {"create-token", rule_CONSTANT, LL_OP_NONE},
            {"infeed", rule_CONSTANT, LL_OP_NONE},
            {"recv", rule_CONSTANT, LL_OP_NONE},
            {"add", rule_BINARY, LL_OP_ADD},
            {"subtract", rule_BINARY, LL_OP_SUB},
            {"multiply", rule_BINARY, LL_OP_MUL},
            {"divide", rule_BINARY, LL_OP_DIV},
            {"maximum", rule_BINARY, LL_OP_MAXIMUM},
            {"minimum", rule_BINARY, LL_OP_MINIMUM},
            {"power", rule_BINARY, LL_OP_POW},
            {"remainder", rule_BINARY, LL_OP_MODULO},
            {"atan2", rule_BINARY, LL_OP_POW},
            {"and", rule_BINARY, LL_OP_LOGICAL},
            {"or", rule_BINARY, LL_OP_LOGICAL},
            {"xor", rule_BINARY, LL_OP_LOGICAL},
            {"shift-left", rule_BINARY, LL_OP_LOGICAL},
            {"shift-right-logical", rule_BINARY, LL_OP_LOGICAL},
            {"shift-right-arithmetic", rule_BINARY, LL_OP_LOGICAL},
            {"compare", rule_BINARY, LL_OP_LESS},
            {"select", rule_SELECT, LL_OP_NONE},
            {"clamp", rule_CLAMP, LL_OP_NONE},
            {"negate", rule_UNARY, LL_OP_NEG},
            {"abs", rule_UNARY, LL_OP_ABS},
            {"sign", rule_UNARY, LL_OP_SIGN},
            {"not", rule_UNARY, LL_OP_NOT},
            {"floor", rule_UNARY, LL_OP_ROUND},
            {"ceil", rule_UNARY, LL_OP_ROUND},
            {"round-nearest-afz", rule_UNARY, LL_OP_ROUND},
            {"round-nearest-even", rule_UNARY, LL_OP_ROUND},
            {"sqrt", rule_UNARY, LL_OP_SQRT},
            {"rsqrt", rule_UNARY, LL_OP_SQRT},
            {"cbrt", rule_UNARY, LL_OP_SQRT},
            {"exponential", rule_UNARY, LL_OP_EXP},
            {"exponential-minus-one", rule_UNARY, LL_OP_EXP},
            {"log", rule_UNARY, LL_OP_LOG},
            {"log-plus-one", rule_UNARY, LL_OP_LOG},
            {"logistic", rule_UNARY, LL_OP_SIGMOID},
            {"tanh", rule_UNARY, LL_OP_TANH},
            {"sine", rule_UNARY, LL_OP_SINE},
            {"cosine", rule_UNARY, LL_OP_SINE},
            {"tan", rule_UNARY, LL_OP_SINE},
            {"erf", rule_UNARY, LL_OP_ERF},
            {"is-finite", rule_UNARY, LL_OP_ELTWISE},
            {"popcnt", rule_UNARY, LL_OP_ELTWISE},
            {"count-leading-zeros", rule_UNARY, LL_OP_ELTWISE},
            {"reduce-precision", rule_UNARY, LL_OP_ELTWISE},
            {"convert", rule_CONVERT, LL_OP_NONE},
            {"reshape", rule_VIEW, LL_OP_NONE},
            {"dynamic-reshape", rule_VIEW, LL_OP_NONE},
            {"bitcast", rule_VIEW, LL_OP_NONE},
            {"bitcast-convert", rule_VIEW, LL_OP_NONE},
            {"real", rule_VIEW, LL_OP_NONE},
            {"imag", rule_VIEW, LL_OP_NONE},
            {"opt-barrier", rule_PASS, LL_OP_NONE},
            {"domain", rule_PASS, LL_OP_NONE},
            {"add-dependency", rule_PASS, LL_OP_NONE},
            {"copy-done", rule_PASS, LL_OP_NONE},
            {"send", rule_PASS, LL_OP_NONE},
            {"send-done", rule_PASS, LL_OP_NONE},
            {"recv-done", rule_PASS, LL_OP_NONE},
            {"outfeed", rule_PASS, LL_OP_NONE},
            {"all-reduce-done", rule_PASS, LL_OP_NONE},
            {"all-gather-done", rule_PASS, LL_OP_NONE},
            {"collective-permute-done", rule_PASS, LL_OP_NONE},
            {"async-update", rule_PASS, LL_OP_NONE},
            {"async-done", rule_PASS, LL_OP_NONE},
            {"custom-call-done", rule_PASS, LL_OP_NONE},
            {"custom-call-update", rule_PASS, LL_OP_NONE},
            {"tuple", rule_TUPLE, LL_OP_NONE},
            {"get-tuple-element", rule_PART, LL_OP_NONE},
            {"transpose", rule_MOVE, LL_OP_NONE},
            {"copy", rule_MOVE, LL_OP_NONE},
            {"copy-start", rule_MOVE, LL_OP_NONE},
            {"slice", rule_MOVE, LL_OP_NONE},
            {"dynamic-slice", rule_MOVE, LL_OP_NONE},
            {"pad", rule_MOVE, LL_OP_NONE},
            {"reverse", rule_MOVE, LL_OP_NONE},
            {"broadcast", rule_BROADCAST, LL_OP_NONE},
            {"concatenate", rule_CONCAT, LL_OP_NONE},
            {"dynamic-update-slice", rule_UPDATE, LL_OP_NONE},
            {"gather", rule_GATHER, LL_OP_NONE},
            {"scatter", rule_SCATTER, LL_OP_NONE},
            {"reduce", rule_REDUCE, LL_OP_NONE},
            {"reduce-window", rule_REDUCE_WINDOW, LL_OP_NONE},
            {"select-and-scatter", rule_SELECT_AND_SCATTER, LL_OP_NONE},
            {"sort", rule_SORT, LL_OP_NONE},
            {"topk", rule_SORT, LL_OP_TOP_K},
            {"dot", rule_DOT, LL_OP_NONE},
            {"convolution", rule_CONVOLUTION, LL_OP_NONE},
            {"call", rule_CALL, LL_OP_NONE},
            {"map", rule_UNARY, LL_OP_ELTWISE},
            {"async-start", rule_CALL, LL_OP_NONE},
            {"fusion", rule_FUSION, LL_OP_NONE},
            {"while", rule_WHILE, LL_OP_NONE},
            {"conditional", rule_CONDITIONAL, LL_OP_NONE},
            {"all-reduce", rule_COLLECTIVE, LL_OP_ALL_REDUCE},
            {"all-reduce-start", rule_COLLECTIVE, LL_OP_ALL_REDUCE},
            {"all-gather", rule_COLLECTIVE, LL_OP_ALL_GATHER},
            {"all-gather-start", rule_COLLECTIVE, LL_OP_ALL_GATHER},
            {"reduce-scatter", rule_COLLECTIVE, LL_OP_REDUCE_SCATTER},
            {"all-to-all", rule_COLLECTIVE, LL_OP_ALL_TO_ALL},
            {"ragged-all-to-all", rule_COLLECTIVE, LL_OP_ALL_TO_ALL},
            {"collective-broadcast", rule_COLLECTIVE, LL_OP_BROADCAST},
            {"collective-permute", rule_COLLECTIVE, LL_OP_BROADCAST},
            {"collective-permute-start", rule_COLLECTIVE, LL_OP_BROADCAST},
            {"custom-call", rule_CUSTOM, LL_OP_NONE},
            {"custom-call-start", rule_CUSTOM, LL_OP_NONE}};

enum { ROW_COUNT = sizeof rows / sizeof *rows };

static size_t row_of(struct xla_text opcode)
{
    size_t row = 0;
    while (row < ROW_COUNT && !xla_is(opcode, rows[row].opcode))
        row++;
    return row;
}

static bool follow(struct walk *w, const struct xla_computation *computation, const struct result *arguments,
                   uint64_t count, struct result *out)
{
    struct frame frame = {.computation = computation, .arguments = arguments, .argument_count = count};
    frame.results = ll_alloc(&w->import->arena, (size_t)computation->count, sizeof *frame.results);
    if (!frame.results)
        return ll_import_no_memory(w->import);
    if (w->depth == MOST_DEPTH)
        return refuse(w, &computation->instructions[0], "calls lie too deep in each other");
    w->depth++;
    bool right = true;
    for (uint64_t i = 0; i < computation->count && right; i++) {
        const struct xla_instruction *in = &computation->instructions[i];
        size_t row = row_of(in->opcode);
        struct call c = {w, &frame, in, row < ROW_COUNT ? rows[row].kind : LL_OP_NONE};
        bool plain = in->shape_count > 0;
        right = row < ROW_COUNT && (plain || rows[row].rule == rule_TUPLE || rows[row].rule == rule_PASS ||
                                    rows[row].rule == rule_PARAMETER || rows[row].rule == rule_PART ||
                                    rows[row].rule == rule_CONSTANT)
                    ? rows[row].rule(&c, &frame.results[i])
                : row < ROW_COUNT ? new_result(&c, 0, &frame.results[i])
                                  : rule_CUSTOM(&c, &frame.results[i]);
    }
    w->depth--;
    *out = frame.results[computation->root];
    return right;
}

/* All opcodes without a row at once, with how many there are. */
static bool check_opcodes(struct xla_module *m)
{
    struct ll_map seen = {0};
    bool known = true;
    for (uint64_t i = 0; i < m->count && !m->import->allow_opaque; i++)
        for (uint64_t k = 0; k < m->computations[i].count; k++) {
            const struct xla_instruction *in = &m->computations[i].instructions[k];
            bool is_new = false;
            if (row_of(in->opcode) < ROW_COUNT)
                continue;
            ll_map_intern(&seen, in->opcode.at, (size_t)(in->opcode.end - in->opcode.at), &is_new);
            uint64_t count = 0;
            for (uint64_t a = 0; is_new && a < m->count; a++)
                for (uint64_t b = 0; b < m->computations[a].count; b++) {
                    const struct xla_text other = m->computations[a].instructions[b].opcode;
                    count += other.end - other.at == in->opcode.end - in->opcode.at &&
                             memcmp(other.at, in->opcode.at, (size_t)(other.end - other.at)) == 0;
                }
            if (is_new)
                known = ll_complain(
                    m->import->diags, xla_place(m, in), "opcode `%.*s` has no rule here; %" PRIu64 " of them",
                    (int)ll_min(60, (uint64_t)(in->opcode.end - in->opcode.at)), in->opcode.at, count);
        }
    ll_map_release(&seen);
    return known;
}

/* Asks for the trips of all loops before anything is recorded. */
static bool ask_trips(struct walk *w)
{
    bool right = true;
    for (uint64_t i = 0; i < w->module->count; i++)
        for (uint64_t k = 0; k < w->module->computations[i].count; k++) {
            struct call c = {w, NULL, &w->module->computations[i].instructions[k], LL_OP_NONE};
            uint64_t trips;
            if (xla_is(c.in->opcode, "while"))
                right = trips_of(&c, &trips) && right;
        }
    return right;
}

bool xla_record(struct xla_module *module)
{
    struct ll_import *import = module->import;
    struct walk walk = {.module = module, .import = import};
    const struct xla_computation *entry = &module->computations[module->entry];
    uint64_t parameters = 0;
    struct result out;
    if (!check_opcodes(module) || !ask_trips(&walk))
        return false;
    for (uint64_t i = 0; i < entry->count; i++) {
        struct xla_text name;
        const struct xla_instruction *in = &entry->instructions[i];
        if (xla_is(in->opcode, "parameter") && xla_attr(in, "metadata", &name) &&
            memmem(name.at, (size_t)(name.end - name.at), "param", 5))
            for (uint32_t k = 0; k < in->shape_count; k++)
                parameters = ll_add(parameters, ll_elements(&in->shapes[k]));
    }
    ll_facts_add(&import->facts, "model", "%.*s",
                 (int)ll_min(100, (uint64_t)(module->name.end - module->name.at)),
                 module->name.at ? module->name.at : "");
    ll_facts_add(&import->facts, "mode", "infer");
    ll_facts_add(&import->facts, "parameters", "%" PRIu64, parameters);
    ll_facts_add(&import->facts, "imported.format", "hlo");
    return ll_import_begin(import) && follow(&walk, entry, NULL, 0, &out) && import->status == LL_OK;
}

static bool import_text(struct ll_import *import, bool (*read)(struct xla_module *, struct xla_text))
{
    const struct ll_input_file *file = &import->inputs[0];
    struct xla_module module = {.import = import};
    if (import->input_count != 1)
        return ll_complain(import->diags, (struct ll_place){0}, "expected one module");
    if (file->size == 0)
        return ll_complain(import->diags, (struct ll_place){.file = file->path}, "the file is empty");
    const struct xla_text text = {(const char *)file->bytes, (const char *)file->bytes + file->size};
    bool done = read(&module, text) && xla_record(&module);
    xla_release(&module);
    return done;
}

bool ll_import_HLO(struct ll_import *import)
{
    return import_text(import, xla_read_hlo);
}

bool ll_import_STABLEHLO(struct ll_import *import)
{
    return import_text(import, xla_read_stablehlo);
}
