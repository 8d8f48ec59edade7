/* SPDX-License-Identifier: Apache-2.0 */
/* Rows by index. One whose index lies outside of the table is zeros when it is read, and is left out where it
 * would be added. What several rows add to is taken by one thread, row after row: same bits at any number. */
#include "models/nn/kernel.h"

#include <assert.h>
#include <string.h>

enum { GRAIN = 1 << 16, TABLE_PARTS = 8 };

struct table {
    const struct ll_kernel_call *call;
    const int32_t *indices;
    uint64_t index_count, row_count, row_length;
    const real *rows;
    real *out, rate;
};

/* Rows of whatever type. */
struct picks {
    const struct ll_kernel_call *call;
    uint64_t row_count, row_bytes;
};

static void gather(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct picks *p = context;
    const int32_t *indices = p->call->in[1];
    for (uint64_t i = begin; i < end; i++) {
        char *out = (char *)p->call->out[0] + i * p->row_bytes;
        if (indices[i] != LL_NO_ROW && ll_index_fits(p->call, indices[i], p->row_count))
            memcpy(out, (const char *)p->call->in[0] + (uint64_t)indices[i] * p->row_bytes, p->row_bytes);
        else
            memset(out, 0, p->row_bytes);
    }
}

LL_KERNEL(GATHER)
{
    const struct ll_shape *in = call->op->in;
    struct picks p = {.call = call, .row_count = in[0].dim[0]};
    p.row_bytes = p.row_count ? ll_size_bytes(&in[0]) / p.row_count : 0;
    ll_pool_run(call->pool, ll_elements(&in[1]), ll_max(1, GRAIN / ll_max(1, p.row_bytes / sizeof(real))),
                gather, &p);
}

/* One after the other: where a number goes depends on all before it. */
LL_KERNEL(TRUE_INDICES)
{
    const uint64_t count = ll_elements(&call->op->in[0]);
    const uint8_t *condition = call->in[0];
    int32_t *out = call->out[0];
    uint64_t found = 0;
    for (uint64_t i = 0; i < count; i++)
        if (condition[i])
            out[found++] = (int32_t)i;
    for (; found < count; found++)
        out[found] = 0;
}

/* Chunk: rows of the table. It meets all indices and takes those that are its own. */
LL_FAST static void sum_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct table *t = context;
    memset(t->out + begin * t->row_length, 0, (end - begin) * t->row_length * sizeof(real));
    for (uint64_t i = 0; i < t->index_count; i++) {
        uint64_t index = (uint64_t)t->indices[i];
        if (index < begin || index >= end)
            continue;
        const real *row = t->rows + i * t->row_length;
        real *restrict out = t->out + index * t->row_length;
        LL_ALONG(k, t->row_length, out[k] += row[k]);
    }
}

LL_FAST static void subtract_rows(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct table *t = context;
    const real rate = t->rate;
    for (uint64_t i = 0; i < t->index_count; i++) {
        uint64_t index = (uint64_t)t->indices[i];
        if (index < begin || index >= end)
            continue;
        const real *row = t->rows + i * t->row_length;
        real *restrict out = t->out + index * t->row_length;
        for (uint64_t k = 0; k < t->row_length; k++)
            out[k] -= rate * row[k];
    }
}

/* Rows of input `first` and their indices behind it, into the table that is the result. */
static void over_table(const struct ll_kernel_call *call, uint32_t first, ll_pool_body *body)
{
    const struct ll_shape *rows = &call->op->in[first], *out = &call->op->out[0];
    struct table t = {.rows = call->in[first],
                      .indices = call->in[first + 1],
                      .index_count = ll_elements(&call->op->in[first + 1]),
                      .row_count = out->dim[0],
                      .row_length = out->dim[0] ? ll_elements(out) / out->dim[0] : 0,
                      .out = call->out[0],
                      .rate = (real)ll_attr_real(call->op, LL_ATTR_LEARNING_RATE, 0)};
    for (uint64_t i = 0; i < t.index_count; i++)
        if (t.indices[i] != LL_NO_ROW)
            ll_index_fits(call, t.indices[i], t.row_count);
    uint64_t work = ll_elements(rows) + (first == 0 ? ll_elements(out) : 0);
    uint64_t parts = ll_max(1, ll_min(TABLE_PARTS, work / GRAIN));
    ll_pool_run(call->pool, t.row_count, ll_max(1, ll_ceil_div(t.row_count, parts)), body, &t);
}

LL_KERNEL(SEGMENT_SUM)
{
    over_table(call, 0, sum_rows);
}

LL_KERNEL(SGD_ROWS)
{
    over_table(call, 1, subtract_rows);
}

/* Chunk: indices; one outside of the depth has no 1. */
static void one_hot(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct table *t = context;
    memset(t->out + begin * t->row_length, 0, (end - begin) * t->row_length * sizeof(real));
    for (uint64_t i = begin; i < end; i++)
        if (t->indices[i] >= 0 && (uint64_t)t->indices[i] < t->row_length)
            t->out[i * t->row_length + (uint64_t)t->indices[i]] = 1;
}

LL_KERNEL(ONE_HOT)
{
    struct table t = {.indices = call->in[0],
                      .row_length = (uint64_t)ll_attr_count(call->op, LL_ATTR_DEPTH, 1),
                      .out = call->out[0]};
    ll_pool_run(call->pool, ll_elements(&call->op->in[0]), ll_max(1, GRAIN / t.row_length), one_hot, &t);
}
