/* SPDX-License-Identifier: Apache-2.0 */
/* Binds the words of op_table.def to the rules and answers questions about a kind by looking at its row. */
#include "tracer/ops.h"

#include "tracer/ops_rules.h"

#include <assert.h>
#include <string.h>

enum storage_rule { STORAGE_FRESH, STORAGE_VIEW, STORAGE_IN_PLACE };
enum { RUNS_TRACED, RUNS_NATIVE };

static const struct row {
    const char *name;
    enum ll_op_class op_class;
    ll_shape_rule *shape;
    ll_count_rule *flops, *read, *written;
    enum storage_rule storage;
    ll_work_rule *work;
    bool native;
    struct ll_op_words words;
} rows[LL_OP_COUNT] = {
#define LL_OP(word, name_, class_, shape_, flops_, bytes_, storage_, work_, gradient_, runs_)                \
    [LL_OP_##word] = {name_,                                                                                 \
                      LL_CLASS_##class_,                                                                     \
                      ll_shape_##shape_,                                                                     \
                      ll_flops_##flops_,                                                                     \
                      ll_read_##bytes_,                                                                      \
                      ll_written_##bytes_,                                                                   \
                      STORAGE_##storage_,                                                                    \
                      ll_work_##work_,                                                                       \
                      RUNS_##runs_,                                                                          \
                      {#word, name_, #class_, #shape_, #flops_, #bytes_, #work_, #gradient_, #runs_}},
#include "tracer/op_table.def"
#undef LL_OP
};

static const struct row *row_of(enum ll_op_kind kind)
{
    assert(kind < LL_OP_COUNT);
    return &rows[kind];
}

const char *ll_op_name(enum ll_op_kind kind)
{
    return row_of(kind)->name;
}

enum ll_op_class ll_op_class(enum ll_op_kind kind)
{
    return row_of(kind)->op_class;
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
    return kind < LL_OP_COUNT && strcmp(row_of(kind)->words.work, "WAIT") == 0;
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

enum ll_op_kind ll_op_find(const char *name)
{
    enum ll_op_kind kind = 0;
    while (kind < LL_OP_COUNT && (rows[kind].name[0] != name[0] || strcmp(rows[kind].name, name) != 0))
        kind++;
    return kind;
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
    if (output == 0 && chosen >= 0 && chosen < op->input_count)
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
