/* SPDX-License-Identifier: Apache-2.0 */
/* What moves elements: joining, cutting, padding, repeating, picking, routing, and (last) transposing.
 *
 * Joining, cutting and padding go along one dimension. Seen as [outer, axis, inner], all of it is copying
 * runs of `axis x inner` elements between places that are a whole row apart. Elements may be of any type. */
#include <assert.h>
#include <string.h>

#include "models/nn/kernel.h"
#include "models/nn/kernel_parts.h"

enum { GRAIN_BYTES = 1 << 18 };

/* One run for each outer index; NULL as source: zeros. */
struct runs {
    const char *from;
    char *to;
    uint64_t from_step, to_step, bytes;
};

static void copy_runs(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct runs *r = context;
    for (uint64_t i = begin; i < end; i++)
        if (r->from)
            memcpy(r->to + i * r->to_step, r->from + i * r->from_step, r->bytes);
        else
            memset(r->to + i * r->to_step, 0, r->bytes);
}

static void move(const struct ll_kernel_call *call, uint64_t outer, struct runs runs)
{
    if (runs.bytes > 0)
        ll_pool_run(call->pool, outer, ll_max(1, GRAIN_BYTES / runs.bytes), copy_runs, &runs);
}

/* The dimensions before the axis, and the bytes of one step along it and of a whole row. */
struct layout {
    uint64_t outer, step, row;
};

static struct layout layout_of(const struct ll_shape *shape, uint64_t axis)
{
    struct layout layout = {1, ll_dtype_bytes((enum ll_dtype)shape->dtype), 0};
    for (uint64_t i = 0; i < shape->rank; i++)
        *(i < axis ? &layout.outer : &layout.step) *= i == axis ? 1 : shape->dim[i];
    layout.row = layout.step * shape->dim[axis];
    return layout;
}

static uint64_t axis_of(const struct ll_op_view *op)
{
    return (uint64_t)ll_attr_count(op, LL_ATTR_AXIS, 0);
}

LL_KERNEL(CONCAT)
{
    const struct ll_op_view *op = call->op;
    struct layout to = layout_of(&op->out[0], axis_of(op));
    char *at = call->out[0];
    for (uint32_t i = 0; i < op->input_count; i++) {
        uint64_t bytes = layout_of(&op->in[i], axis_of(op)).row;
        move(call, to.outer, (struct runs){call->in[i], at, bytes, to.row, bytes});
        at += bytes;
    }
    assert(at == (char *)call->out[0] + to.row);
}

/* Chunk: rows of the result. */
static void copy_backward(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    const uint64_t rows = call->op->in[0].dim[0], bytes = ll_size_bytes(&call->op->in[0]) / rows;
    for (uint64_t i = begin; i < end; i++)
        memcpy((char *)call->out[0] + i * bytes, (const char *)call->in[0] + (rows - 1 - i) * bytes, bytes);
}

LL_KERNEL(REVERSE)
{
    struct ll_kernel_call job = *call;
    if (call->op->in[0].rank > 0)
        ll_pool_run(call->pool, call->op->in[0].dim[0], 1, copy_backward, &job);
}

LL_KERNEL(SPLIT)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[0], axis_of(op));
    assert(from.row % op->output_count == 0);
    uint64_t bytes = from.row / op->output_count;
    for (uint32_t i = 0; i < op->output_count; i++)
        move(call, from.outer,
             (struct runs){(const char *)call->in[0] + i * bytes, call->out[i], from.row, bytes, bytes});
}

LL_KERNEL(SLICE)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[0], axis_of(op)), to = layout_of(&op->out[0], axis_of(op));
    uint64_t begin = (uint64_t)ll_attr_count(op, LL_ATTR_BEGIN, 0) * from.step;
    assert(begin + to.row <= from.row);
    move(call, to.outer,
         (struct runs){(const char *)call->in[0] + begin, call->out[0], from.row, to.row, to.row});
}

LL_KERNEL(KV_CACHE_UPDATE)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[1], axis_of(op)), to = layout_of(&op->in[0], axis_of(op));
    uint64_t begin = (uint64_t)ll_attr_count(op, LL_ATTR_BEGIN, 0) * to.step;
    assert(begin + from.row <= to.row);
    move(call, to.outer,
         (struct runs){call->in[1], (char *)call->out[0] + begin, from.row, to.row, from.row});
}

LL_KERNEL(PAD)
{
    const struct ll_op_view *op = call->op;
    struct layout from = layout_of(&op->in[0], axis_of(op)), to = layout_of(&op->out[0], axis_of(op));
    uint64_t before = (uint64_t)ll_attr_count(op, LL_ATTR_BEFORE, 0) * to.step;
    assert(before + from.row <= to.row);
    char *out = call->out[0];
    move(call, to.outer, (struct runs){NULL, out, 0, to.row, before});
    move(call, to.outer, (struct runs){call->in[0], out + before, from.row, to.row, from.row});
    move(call, to.outer, (struct runs){NULL, out + before + from.row, 0, to.row, to.row - before - from.row});
}

/* Chunk: layers. */
static void put_layers(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t bytes = ll_size_bytes(&call->op->in[0]);
    for (uint64_t i = begin; i < end; i++)
        memcpy((char *)call->out[0] + i * bytes, call->in[i], bytes);
}

static void take_layers(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct ll_kernel_call *call = context;
    uint64_t bytes = ll_size_bytes(&call->op->out[0]);
    for (uint64_t i = begin; i < end; i++)
        memcpy(call->out[i], (const char *)call->in[0] + i * bytes, bytes);
}

LL_KERNEL(STACK)
{
    struct ll_kernel_call job = *call;
    uint64_t bytes = ll_size_bytes(&call->op->in[0]);
    assert(call->op->input_count * bytes == ll_size_bytes(&call->op->out[0]));
    ll_pool_run(call->pool, call->op->input_count, ll_max(1, GRAIN_BYTES / ll_max(1, bytes)), put_layers,
                &job);
}

LL_KERNEL(UNSTACK)
{
    struct ll_kernel_call job = *call;
    uint64_t bytes = call->op->output_count ? ll_size_bytes(&call->op->out[0]) : 1;
    ll_pool_run(call->pool, call->op->output_count, ll_max(1, GRAIN_BYTES / ll_max(1, bytes)), take_layers,
                &job);
}

LL_KERNEL(ASSIGN)
{
    assert(call->op->in[0].dtype == call->op->in[1].dtype);
    move(call, 1, (struct runs){call->in[1], call->out[0], 0, 0, ll_size_bytes(&call->op->out[0])});
}

/* Rows by index. One whose index lies outside of the table is zeros when it is read, and is left out where it
 * would be added. What several rows add to is taken by one thread, row after row: same bits at any number. */

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
    assert(found <= ll_elements(&call->op->out[0]));
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

/* Tokens find their places with the experts that they chose, the first choices of all tokens before the
 * second ones, and in the order of the tokens (Lepikhin et al., GShard, 2020): who comes when an expert has
 * no place left is turned away. A place that stays empty names no token. */

#ifndef LL_DOUBLE
/* How many have come to each expert. */
uint64_t ll_route_workspace(const struct ll_op_view *op, unsigned threads)
{
    (void)threads;
    return ll_mul(op->out[0].dim[0], sizeof(uint64_t));
}
#endif

LL_KERNEL(ROUTE)
{
    const struct ll_shape *in = &call->op->in[0], *out = &call->op->out[0];
    const uint64_t tokens = in->dim[0], choices = in->dim[1], places = out->dim[1];
    const int32_t *experts = call->in[0];
    int32_t *token = call->out[0], *choice = call->out[1];
    uint8_t *taken = call->out[2];
    uint64_t *came = call->workspace;
    memset(came, 0, out->dim[0] * sizeof *came);
    for (uint64_t i = 0; i < ll_elements(out); i++)
        token[i] = LL_NO_ROW;
    memset(choice, 0, ll_size_bytes(out));
    memset(taken, 0, ll_elements(out));
    for (uint64_t i = 0; i < tokens * choices; i++) {
        uint64_t t = i % tokens, number = t * choices + i / tokens;
        int32_t expert = experts[number];
        if (!ll_index_fits(call, expert, out->dim[0]) || came[expert] == places)
            continue;
        uint64_t at = (uint64_t)expert * places + came[expert]++;
        token[at] = (int32_t)t;
        choice[at] = (int32_t)number;
        taken[at] = 1;
    }
}

/* What the host has made ready goes to where the network reads it. */

enum { INPUT_GRAIN = 1 << 18 };

struct transfer {
    const char *from;
    char *to;
};

static void transfer(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct transfer *t = context;
    memcpy(t->to + begin, t->from + begin, end - begin);
}

LL_KERNEL(HOST_INPUT)
{
    struct transfer job = {call->in[0], call->out[0]};
    ll_pool_run(call->pool, ll_size_bytes(&call->op->out[0]), INPUT_GRAIN, transfer, &job);
}

/* Exchanging dimensions. Two of them matter: the one along which the input lies packed, and the one along
 * which the result does. Where they are the same, runs are copied; else squares of both, so that every line
 * of the cache that is fetched is used whole. A result that no second-level cache holds is put together
 * square by square and written past the caches: fetching what will be overwritten takes as long again, and
 * lines of the result that lie a power of two apart would drive each other out. */

#if LL_WRITES_PAST
#include <emmintrin.h>
#endif

enum { SQUARE = 64, LINE = 2048, STRIPE = 16, QUAD = 4 };

struct exchange {
    const char *from;
    char *to;
    uint64_t element_bytes;
    uint64_t rank, dim[LL_MAX_RANK];                       /* of the result */
    uint64_t from_step[LL_MAX_RANK], to_step[LL_MAX_RANK]; /* in elements, by dimension of the result */
    uint64_t packed; /* the result's dimension along which the input lies packed */
    uint64_t bands;  /* of SQUARE along that dimension */
    uint64_t pieces; /* of LINE along the last one */
    bool large;      /* the result is written past the caches */
};

/* Dimensions of length 1 say nothing of where elements lie and are left out. */
static struct exchange exchange_of(const struct ll_kernel_call *call)
{
    const struct ll_shape *in = &call->op->in[0];
    struct exchange x = {
        .from = call->in[0],
        .to = call->out[0],
        .element_bytes = ll_dtype_bytes((enum ll_dtype)in->dtype),
        .large = ll_size_bytes(in) >= LL_TRANSPOSE_PAST_BYTES,
    };
    uint64_t in_step[LL_MAX_RANK], order[LL_MAX_RANK], step = 1;
    uint64_t digits = (uint64_t)ll_attr_count(call->op, LL_ATTR_PERMUTATION, 0);
    for (unsigned i = in->rank; i-- > 0; step *= in->dim[i], digits /= 10) {
        in_step[i] = step;
        order[i] = digits % 10;
    }
    for (unsigned i = 0; i < in->rank; i++)
        if (in->dim[order[i]] > 1) {
            x.dim[x.rank] = in->dim[order[i]];
            x.from_step[x.rank++] = in_step[order[i]];
        }
    step = 1;
    for (uint64_t i = x.rank; i-- > 0; step *= x.dim[i]) {
        x.to_step[i] = step;
        if (x.from_step[i] == 1)
            x.packed = i;
    }
    if (x.rank > 0) {
        x.bands = ll_ceil_div(x.dim[x.packed], SQUARE);
        x.pieces = ll_ceil_div(x.dim[x.rank - 1], LINE);
    }
    return x;
}

/* Element `i` of the dimensions other than the two that are walked: where it lies in input and result. */
static LL_INLINE void place(const struct exchange *x, uint64_t i, uint64_t *from, uint64_t *to)
{
    *from = *to = 0;
    for (uint64_t d = x->rank - 1; d-- > 0;) {
        if (d == x->packed)
            continue;
        *from += i % x->dim[d] * x->from_step[d];
        *to += i % x->dim[d] * x->to_step[d];
        i /= x->dim[d];
    }
}

/* Four by four words by four loads, eight shuffles and four stores: element by element it would take four
 * times as long. */
typedef uint32_t quad __attribute__((vector_size(16)));
static LL_INLINE void turn_words(const uint32_t *in, uint64_t from_step, uint32_t *out, uint64_t to_step)
{
    quad a, b, c, d;
    memcpy(&a, in, sizeof a);
    memcpy(&b, in + from_step, sizeof b);
    memcpy(&c, in + 2 * from_step, sizeof c);
    memcpy(&d, in + 3 * from_step, sizeof d);
    quad ab_front = __builtin_shufflevector(a, b, 0, 4, 1, 5),
         cd_front = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quad ab_back = __builtin_shufflevector(a, b, 2, 6, 3, 7),
         cd_back = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    quad row[] = {
        __builtin_shufflevector(ab_front, cd_front, 0, 1, 4, 5),
        __builtin_shufflevector(ab_front, cd_front, 2, 3, 6, 7),
        __builtin_shufflevector(ab_back, cd_back, 0, 1, 4, 5),
        __builtin_shufflevector(ab_back, cd_back, 2, 3, 6, 7),
    };
    for (uint64_t i = 0; i < QUAD; i++)
        memcpy(out + i * to_step, &row[i], sizeof row[i]);
}

static LL_INLINE void turn_doubles(const uint64_t *in, uint64_t from_step, uint64_t *out, uint64_t to_step)
{
    for (uint64_t i = 0; i < QUAD; i++)
        for (uint64_t j = 0; j < QUAD; j++)
            out[i * to_step + j] = in[j * from_step + i];
}

static LL_INLINE void turn_bytes(const uint8_t *in, uint64_t from_step, uint8_t *out, uint64_t to_step)
{
    for (uint64_t i = 0; i < QUAD; i++)
        for (uint64_t j = 0; j < QUAD; j++)
            out[i * to_step + j] = in[j * from_step + i];
}

/* Writes past the caches, whole sixteens of bytes only where processors know how. */
static LL_INLINE void put_past(void *to, const void *from, uint64_t bytes)
{
#if LL_WRITES_PAST
    for (; (uintptr_t)to % sizeof(__m128i) == 0 && bytes >= sizeof(__m128i); bytes -= sizeof(__m128i)) {
        __m128i some;
        memcpy(&some, from, sizeof some);
        _mm_stream_si128(to, some);
        to = (char *)to + sizeof some;
        from = (const char *)from + sizeof some;
    }
#endif
    memcpy(to, from, bytes);
}

/* Such writes are seen by other threads in no order without this. */
static LL_INLINE void settle(void)
{
#if LL_WRITES_PAST
    _mm_sfence();
#endif
}

/* Where the four that begins with i does, of `count`: the last one overlaps the one before, and what both
 * write is the same. */
static LL_INLINE uint64_t four_at(uint64_t i, uint64_t count)
{
    return count < QUAD ? i : ll_min(i, count - QUAD);
}

/* A piece of a band: SQUARE steps along the packed dimension (`rows` of the result), LINE along the result's
 * last one, in stripes of one line of the cache, or of a square; element by element where there are no
 * four. */
#define LL_PIECE(NAME, type, turn)                                                                           \
    static void NAME(const struct exchange *x, uint64_t from, uint64_t to, uint64_t rows, uint64_t columns)  \
    {                                                                                                        \
        const uint64_t from_step = x->from_step[x->rank - 1], to_step = x->to_step[x->packed];               \
        const uint64_t width = x->large ? SQUARE : STRIPE, step = x->large ? SQUARE : to_step;               \
        type square[SQUARE * SQUARE];                                                                        \
        for (uint64_t at = 0; at < columns; at += width) {                                                   \
            const uint64_t first = four_at(at, columns), stripe = ll_min(columns - first, width);            \
            const type *in = (const type *)x->from + from + first * from_step;                               \
            type *result = (type *)x->to + to + first, *out = x->large ? square : result;                    \
            const bool fours = rows >= QUAD && stripe >= QUAD;                                               \
            for (uint64_t r = 0; r < rows && fours; r += QUAD)                                               \
                for (uint64_t c = 0, row = four_at(r, rows), i; c < stripe; c += QUAD) {                     \
                    i = four_at(c, stripe);                                                                  \
                    turn(in + i * from_step + row, from_step, out + row * step + i, step);                   \
                }                                                                                            \
            for (uint64_t row = 0; row < rows && !fours; row++)                                              \
                for (uint64_t i = 0; i < stripe; i++)                                                        \
                    out[row * step + i] = in[i * from_step + row];                                           \
            for (uint64_t row = 0; row < rows && x->large; row++)                                            \
                put_past(result + row * to_step, square + row * SQUARE, stripe * sizeof *square);            \
        }                                                                                                    \
    }

LL_PIECE(piece_of_words, uint32_t, turn_words)
LL_PIECE(piece_of_doubles, uint64_t, turn_doubles)
LL_PIECE(piece_of_bytes, uint8_t, turn_bytes)

static void pieces(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct exchange *x = context;
    for (uint64_t i = begin; i < end; i++) {
        uint64_t from, to, row = i / x->pieces % x->bands * SQUARE, column = i % x->pieces * LINE;
        place(x, i / x->pieces / x->bands, &from, &to);
        from += row + column * x->from_step[x->rank - 1];
        to += row * x->to_step[x->packed] + column;
        (x->element_bytes == 4   ? piece_of_words
         : x->element_bytes == 8 ? piece_of_doubles
                                 : piece_of_bytes)(x, from, to, ll_min(SQUARE, x->dim[x->packed] - row),
                                                   ll_min(LINE, x->dim[x->rank - 1] - column));
    }
    if (x->large)
        settle();
}

/* Chunk: lines of the result, whose last dimension is the input's; one step along the dimension before it
 * goes from line to line. */
static void lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct exchange *x = context;
    const uint64_t bytes = x->dim[x->rank - 1] * x->element_bytes, plane = x->dim[x->rank - 2];
    const uint64_t step = x->from_step[x->rank - 2] * x->element_bytes;
    for (uint64_t i = begin, stop; i < end; i = stop) {
        uint64_t first, to;
        place(x, i, &first, &to);
        const char *from = x->from + first * x->element_bytes;
        for (stop = ll_min(end, i - i % plane + plane); i < stop; i++, from += step)
            if (x->large)
                put_past(x->to + i * bytes, from, bytes);
            else
                memcpy(x->to + i * bytes, from, bytes);
    }
    if (x->large)
        settle();
}

LL_KERNEL(TRANSPOSE)
{
    uint64_t elements = ll_elements(&call->op->out[0]);
    if (elements == 0)
        return;
    struct exchange x = exchange_of(call);
    if (x.rank < 2) {
        memcpy(call->out[0], call->in[0], ll_size_bytes(&call->op->in[0]));
        return;
    }
    if (x.packed == x.rank - 1) {
        uint64_t length = x.dim[x.rank - 1];
        ll_pool_run(call->pool, elements / length, ll_max(1, LL_TRANSPOSE_GRAIN / length), lines, &x);
        return;
    }
    uint64_t others = elements / (x.dim[x.packed] * x.dim[x.rank - 1]), count = others * x.bands * x.pieces;
    ll_pool_run(call->pool, count, ll_max(1, LL_TRANSPOSE_GRAIN / ll_max(1, elements / count)), pieces, &x);
}
