/* SPDX-License-Identifier: Apache-2.0 */
/* How a row of the op table is asked: names, classes and attributes, shape inference, FLOPs, bytes, lowering.
 *
 * The first section has the rules of `computation`; the second passes the roles of dimensions on from inputs
 * to outputs. */
#define LL_ALL_OP_KINDS /* op_table.def is bound here */
#include "tracer/ir/ops.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/base/str.h"
#include "tracer/ir/ops_rules.h"

/* A computation of which only the size is known: so many FLOPs (attribute `flops`, 0) on the bytes of its
 * inputs and outputs. Who tells no more usually means products, so it is costed as one of three equal
 * extents, m = n = k with 2 m n k as near to the FLOPs as whole numbers come. */

uint64_t ll_flops_COMPUTATION(const struct ll_op_view *op)
{
    int64_t flops = ll_attr_count(op, LL_ATTR_FLOPS, 0);
    return flops < 0 ? LL_NO_FIT : (uint64_t)flops;
}

bool ll_work_COMPUTATION(const struct ll_op_view *op, struct ll_work *work)
{
    uint64_t flops = ll_flops_COMPUTATION(op);
    uint64_t extent = (uint64_t)fmax(1, round(cbrt((double)flops / 2)));
    work->kind = flops ? LL_WORK_GEMM : LL_WORK_MOVE;
    if (flops)
        work->gemm = (struct ll_gemm){1, extent, extent, extent};
    return ll_fits(flops);
}

/* What a dimension means travels with it. Where a rule knows which dimension of a result is which of an
 * input, it says so here; a role that a model has given stays. */

void ll_take_role(struct ll_shape *to, unsigned at, const struct ll_shape *from, unsigned dim)
{
    if (to->role[at] == LL_ROLE_PLAIN && to->dim[at] == from->dim[dim])
        to->role[at] = from->role[dim];
}

void ll_take_roles(struct ll_shape *to, const struct ll_shape *from)
{
    for (unsigned i = 0; i < to->rank && to->rank == from->rank; i++)
        ll_take_role(to, i, from, i);
}

/* A stretch of dimensions with as many elements on either side of a reshape, as short as can be but for
 * dimensions of 1 at its end. */
struct stretch {
    unsigned first, end;
};

static void take_in_ones(const struct ll_shape *shape, struct stretch *stretch)
{
    while (stretch->end < shape->rank && shape->dim[stretch->end] == 1)
        stretch->end++;
}

/* The stretches that begin here; false when one of the shapes is at its end. */
static bool next_stretch(const struct ll_shape *a, struct stretch *in_a, const struct ll_shape *b,
                         struct stretch *in_b)
{
    in_a->first = in_a->end, in_b->first = in_b->end;
    if (in_a->end == a->rank || in_b->end == b->rank)
        return false;
    uint64_t of_a = a->dim[in_a->end++], of_b = b->dim[in_b->end++];
    while (of_a != of_b) {
        if (of_a < of_b ? in_a->end == a->rank : in_b->end == b->rank)
            return false;
        if (of_a < of_b)
            of_a = ll_mul(of_a, a->dim[in_a->end++]);
        else
            of_b = ll_mul(of_b, b->dim[in_b->end++]);
    }
    take_in_ones(a, in_a);
    take_in_ones(b, in_b);
    return true;
}

static bool is_of(const struct ll_shape *shape, struct stretch stretch, enum ll_role role)
{
    for (unsigned i = stretch.first; i < stretch.end; i++)
        if (shape->role[i] == role)
            return true;
    return false;
}

/* The first dimension of a stretch that is longer than 1, its first when there is none. */
static unsigned longer_than_1(const struct ll_shape *shape, struct stretch stretch)
{
    for (unsigned i = stretch.first; i < stretch.end; i++)
        if (shape->dim[i] != 1)
            return i;
    return stretch.first;
}

/* What the merged dimensions are together: the batch if it is among them, else what the first one is. */
void ll_take_roles_reshaped(struct ll_shape *to, const struct ll_shape *from)
{
    const bool has_batch = is_of(to, (struct stretch){0, to->rank}, LL_ROLE_BATCH);
    struct stretch in_to = {0}, in_from = {0};
    while (next_stretch(to, &in_to, from, &in_from)) {
        bool batch = is_of(from, in_from, LL_ROLE_BATCH);
        unsigned first = longer_than_1(to, in_to);
        if (to->role[first] == LL_ROLE_PLAIN && !(batch && has_batch))
            to->role[first] = batch ? LL_ROLE_BATCH : from->role[longer_than_1(from, in_from)];
    }
}

void ll_give_roles_of_steps(struct ll_op_view *op)
{
    for (uint32_t i = 0; i < op->output_count; i++)
        for (unsigned k = 0; k < 2 && op->out[i].rank >= 2; k++) {
            unsigned at = op->out[i].rank > 2 ? k : 0;
            ll_take_role(&op->out[i], at, &op->in[0], op->out[i].rank > 2 ? k : 1);
        }
}

void ll_give_batch(struct ll_op_view *op)
{
    for (uint32_t i = 0; i < op->output_count; i++)
        for (uint32_t k = 0; k < op->input_count; k++)
            if (op->out[i].rank > 0 && op->in[k].rank > 0 && op->in[k].role[0] == LL_ROLE_BATCH)
                ll_take_role(&op->out[i], 0, &op->in[k], 0);
}

/* Binds the words of op_table.def to the rules and answers questions about a kind by looking at its row. */

enum storage_rule { STORAGE_FRESH, STORAGE_VIEW, STORAGE_IN_PLACE };
enum { RUNS_TRACED, RUNS_NATIVE };

/* What stands in the column of FLOPs: a rule, or numbers for each element (op_table.def). */
#define ll_flops_PER_OUT(each_, specials_) ll_flops_each_out, .flops_each = each_, .specials = specials_
#define ll_flops_PER_IN(each_, specials_) ll_flops_each_in, .flops_each = each_, .specials = specials_
#define ll_flops_OF(rule_, specials_) ll_flops_##rule_, .specials = specials_

static const struct row {
    const char *name;
    enum ll_op_class op_class;
    ll_shape_rule *shape;
    ll_count_rule *flops, *read, *written;
    uint8_t flops_each, specials;
    enum storage_rule storage;
    ll_work_rule *work;
    bool native;
    struct ll_op_words words;
} rows[] = {
#define LL_OP(word, name_, class_, shape_, flops_, bytes_, storage_, work_, gradient_, runs_)                \
    [LL_OP_##                                                                                                \
        word] = {.name = name_,                                                                              \
                 .op_class = LL_CLASS_##class_,                                                              \
                 .shape = ll_shape_##shape_,                                                                 \
                 .flops = ll_flops_##flops_,                                                                 \
                 .read = ll_read_##bytes_,                                                                   \
                 .written = ll_written_##bytes_,                                                             \
                 .storage = STORAGE_##storage_,                                                              \
                 .work = ll_work_##work_,                                                                    \
                 .native = RUNS_##runs_,                                                                     \
                 .words = {#word, name_, #class_, #shape_, #flops_, #bytes_, #work_, #gradient_, #runs_}},
#include "tracer/ir/op_table.def"
#undef LL_OP
};

_Static_assert(sizeof rows / sizeof *rows <= LL_OP_NONE, "every kind has a number below that of none");

static const struct row *row_of(enum ll_op_kind kind)
{
    assert((int)kind < ll_op_count());
    return &rows[kind];
}

int ll_op_count(void)
{
    return (int)(sizeof rows / sizeof *rows);
}

const char *ll_op_name(enum ll_op_kind kind)
{
    return row_of(kind)->name;
}

enum ll_op_class ll_op_class(enum ll_op_kind kind)
{
    return row_of(kind)->op_class;
}

uint64_t ll_op_flops_each(enum ll_op_kind kind)
{
    return row_of(kind)->flops_each;
}

uint64_t ll_op_specials(enum ll_op_kind kind)
{
    return row_of(kind)->specials;
}

bool ll_op_runs_natively(enum ll_op_kind kind)
{
    return row_of(kind)->native;
}

struct ll_op_words ll_op_words(enum ll_op_kind kind)
{
    return row_of(kind)->words;
}

bool ll_op_waits(enum ll_op_kind kind)
{
    return kind < LL_OP_NONE && strcmp(row_of(kind)->words.work, "WAIT") == 0;
}

const char *ll_class_name(enum ll_op_class op_class)
{
    static const char *const names[] = {
#define X(word, name) name,
        LL_CLASS_LIST(X)
#undef X
    };
    assert(op_class < LL_CLASS_COUNT);
    return names[op_class];
}

const char *ll_phase_name(enum ll_phase phase)
{
    static const char *const names[] = {
#define X(word, name) name,
        LL_PHASE_LIST(X)
#undef X
    };
    assert(phase < LL_PHASE_COUNT);
    return names[phase];
}

enum { VALUE_COUNT, VALUE_REAL };
static const struct {
    const char *name;
    int type;
} attr_rows[] = {
#define X(word, name, type) {name, VALUE_##type},
    LL_ATTR_LIST(X)
#undef X
};

const char *ll_attr_name(enum ll_attr_key key)
{
    assert(key < LL_ATTR_COUNT);
    return attr_rows[key].name;
}

bool ll_attr_is_real(enum ll_attr_key key)
{
    assert(key < LL_ATTR_COUNT);
    return attr_rows[key].type == VALUE_REAL;
}

struct ll_attr ll_attr_of_text(enum ll_attr_key key, const char *text, const char **end)
{
    struct ll_attr attr = {.key = key};
    char *behind;
    errno = 0;
    if (ll_attr_is_real(key))
        attr.real = ll_strtod(text, &behind);
    else
        attr.count = strtoll(text, &behind, 10);
    const bool fits = ll_attr_is_real(key) ? isfinite(attr.real) : errno == 0;
    *end = fits ? behind : text;
    return attr;
}

/* What kinds were called in files of version 0.1. */
static const struct {
    const char *name;
    enum ll_op_kind kind;
} old_names[] = {{"put", LL_OP_KV_CACHE_UPDATE}};

enum ll_op_kind ll_op_find(const char *name)
{
    for (int kind = 0; kind < ll_op_count(); kind++)
        if (rows[kind].name[0] == name[0] && strcmp(rows[kind].name, name) == 0)
            return (enum ll_op_kind)kind;
    for (size_t i = 0; i < sizeof old_names / sizeof *old_names; i++)
        if (strcmp(old_names[i].name, name) == 0)
            return old_names[i].kind;
    return LL_OP_NONE;
}

static const struct ll_attr *find_attr(const struct ll_op_view *op, enum ll_attr_key key)
{
    for (uint32_t i = 0; i < op->attr_count; i++)
        if (op->attrs[i].key == key)
            return &op->attrs[i];
    return NULL;
}

int64_t ll_attr_count(const struct ll_op_view *op, enum ll_attr_key key, int64_t otherwise)
{
    const struct ll_attr *attr = find_attr(op, key);
    return attr ? attr->count : otherwise;
}

double ll_attr_real(const struct ll_op_view *op, enum ll_attr_key key, double otherwise)
{
    const struct ll_attr *attr = find_attr(op, key);
    return attr ? attr->real : otherwise;
}

const char *ll_op_infer(struct ll_op_view *op)
{
    return row_of(op->kind)->shape(op);
}

uint32_t ll_op_alias(const struct ll_op_view *op, uint32_t output)
{
    enum storage_rule rule = row_of(op->kind)->storage;
    bool shares = rule == STORAGE_IN_PLACE || (rule == STORAGE_VIEW && output == 0);
    int64_t chosen = ll_attr_count(op, LL_ATTR_IN_PLACE, -1);
    if (chosen >= 0 && ll_op_class(op->kind) == LL_CLASS_COMMUNICATION)
        return output < op->input_count ? output : UINT32_MAX;
    uint32_t over = op->kind == LL_OP_SOFTMAX_XENT ? 1 : 0; /* a cross entropy's gradient, not its loss */
    if (output == over && chosen >= 0 && chosen < op->input_count)
        return (uint32_t)chosen;
    return shares && output < op->input_count ? output : UINT32_MAX;
}

uint64_t ll_op_flops(const struct ll_op_view *op)
{
    return row_of(op->kind)->flops(op);
}

uint64_t ll_op_bytes_read(const struct ll_op_view *op)
{
    return row_of(op->kind)->read(op);
}

uint64_t ll_op_bytes_written(const struct ll_op_view *op)
{
    return row_of(op->kind)->written(op);
}

bool ll_op_lower(const struct ll_op_view *op, struct ll_work *work)
{
    memset(work, 0, sizeof *work);
    uint8_t dtype = op->input_count ? op->in[0].dtype : op->output_count ? op->out[0].dtype : LL_F32;
    work->dtype = ll_dtype_part((enum ll_dtype)dtype);
    work->flops = ll_op_flops(op);
    work->a_bytes = ll_op_bytes_read(op);
    work->c_bytes = ll_op_bytes_written(op);
    work->in_place = op->output_count > 0 && ll_op_alias(op, 0) < op->input_count && work->a_bytes > 0;
    if (!row_of(op->kind)->work(op, work))
        return false;
    if (work->kind == LL_WORK_VECTOR)
        work->specials = ll_mul(ll_op_specials(op->kind), work->vector.elements);
    return ll_fits(work->flops) && ll_fits(work->specials) && ll_fits(work->a_bytes) &&
           ll_fits(work->b_bytes) && ll_fits(work->c_bytes);
}

bool ll_op_counts_fit(const struct ll_op_view *op)
{
    struct ll_work work;
    return ll_fits(ll_op_flops(op)) && ll_fits(ll_op_bytes_read(op)) && ll_fits(ll_op_bytes_written(op)) &&
           ll_op_lower(op, &work);
}
