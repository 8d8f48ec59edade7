/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanging dimensions. Two of them matter: the one along which the input lies packed, and the one along
 * which the result does. Where they are the same, runs are copied; else squares of both, so that every line
 * of the cache that is fetched is used whole. A result that no second-level cache holds is put together
 * square by square and written past the caches: fetching what will be overwritten takes as long again, and
 * lines of the result that lie a power of two apart would drive each other out. */
#include "models/nn/kernel.h"
#include "models/nn/kernel_transpose.h"

#include <string.h>
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
LL_INLINE void place(const struct exchange *x, uint64_t i, uint64_t *from, uint64_t *to)
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
LL_INLINE void turn_words(const uint32_t *in, uint64_t from_step, uint32_t *out, uint64_t to_step)
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

LL_INLINE void turn_doubles(const uint64_t *in, uint64_t from_step, uint64_t *out, uint64_t to_step)
{
    for (uint64_t i = 0; i < QUAD; i++)
        for (uint64_t j = 0; j < QUAD; j++)
            out[i * to_step + j] = in[j * from_step + i];
}

LL_INLINE void turn_bytes(const uint8_t *in, uint64_t from_step, uint8_t *out, uint64_t to_step)
{
    for (uint64_t i = 0; i < QUAD; i++)
        for (uint64_t j = 0; j < QUAD; j++)
            out[i * to_step + j] = in[j * from_step + i];
}

/* Writes past the caches, whole sixteens of bytes only where processors know how. */
LL_INLINE void put_past(void *to, const void *from, uint64_t bytes)
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
LL_INLINE void settle(void)
{
#if LL_WRITES_PAST
    _mm_sfence();
#endif
}

/* Where the four that begins with i does, of `count`: the last one overlaps the one before, and what both
 * write is the same. */
LL_INLINE uint64_t four_at(uint64_t i, uint64_t count)
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
