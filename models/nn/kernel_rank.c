/* SPDX-License-Identifier: Apache-2.0 */
/* The best of many. A beam search wants few of them, each of which finds its place from below; a detector
 * wants thousands, and all are sorted. */
#include "models/nn/kernel.h"

#include <math.h>

enum { GRAIN = 1 << 14, FEW = 64 };

struct ranked {
    real value;
    int32_t place;
};

struct lines {
    const real *x;
    real *values;
    int32_t *places;
    uint64_t length, kept;
    struct ranked *scratch; /* two lines for each thread */
};

#ifndef LL_DOUBLE
uint64_t ll_rank_workspace(const struct ll_op_view *op, unsigned threads)
{
    const struct ll_shape *x = &op->in[0];
    uint64_t each = x->dtype == LL_F64 ? 16 : sizeof(struct ranked);
    return op->out[0].dim[x->rank - 1] <= FEW ? 0 : ll_mul(ll_mul(threads, 2 * each), x->dim[x->rank - 1]);
}
#endif

/* The largest so far in falling order, of equals the first found in front. What is not above the last of
 * them, once there are enough, changes nothing; NaN never is. */
LL_INLINE void rank_line(const real *x, uint64_t length, uint64_t kept, real *restrict values,
                         int32_t *restrict places)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < length; i++) {
        if (found == kept && !(x[i] > values[kept - 1]))
            continue;
        uint64_t at = found < kept ? found++ : kept - 1;
        for (; at > 0 && x[i] > values[at - 1]; at--) {
            values[at] = values[at - 1];
            places[at] = places[at - 1];
        }
        values[at] = x[i];
        places[at] = (int32_t)i;
    }
}

static void merge(const struct ranked *from, uint64_t begin, uint64_t middle, uint64_t end, struct ranked *to)
{
    uint64_t a = begin, b = middle;
    for (uint64_t i = begin; i < end; i++) {
        bool second = a == middle || (b < end && from[b].value > from[a].value);
        to[i] = from[second ? b++ : a++];
    }
}

/* By merging ever longer runs, so that of equals the first stays in front; what is no number comes last. */
static void sort_line(const real *x, uint64_t length, uint64_t kept, struct ranked *line, real *values,
                      int32_t *places)
{
    struct ranked *other = line + length;
    for (uint64_t i = 0; i < length; i++)
        line[i] = (struct ranked){x[i] == x[i] ? x[i] : (real)-INFINITY, (int32_t)i};
    for (uint64_t run = 1; run < length; run *= 2) {
        for (uint64_t begin = 0; begin < length; begin += 2 * run)
            merge(line, begin, ll_min(begin + run, length), ll_min(begin + 2 * run, length), other);
        struct ranked *merged = other;
        other = line;
        line = merged;
    }
    for (uint64_t i = 0; i < kept; i++) {
        values[i] = line[i].value;
        places[i] = line[i].place;
    }
}

static void sort_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct lines *l = context;
    for (uint64_t i = begin; i < end; i++)
        sort_line(l->x + i * l->length, l->length, l->kept, l->scratch + ll_pool_worker() * 2 * l->length,
                  l->values + i * l->kept, l->places + i * l->kept);
}

LL_FAST static void rank_lines(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)chunk;
    const struct lines *l = context;
    for (uint64_t i = begin; i < end; i++)
        rank_line(l->x + i * l->length, l->length, l->kept, l->values + i * l->kept, l->places + i * l->kept);
}

LL_KERNEL(TOP_K)
{
    const struct ll_shape *x = &call->op->in[0];
    struct lines l = {.x = call->in[0],
                      .values = call->out[0],
                      .places = call->out[1],
                      .length = x->dim[x->rank - 1],
                      .kept = call->op->out[0].dim[x->rank - 1],
                      .scratch = call->workspace};
    uint64_t lines = l.length ? ll_elements(x) / l.length : 0;
    ll_pool_run(call->pool, lines, ll_max(1, GRAIN / ll_max(1, l.length)),
                l.kept > FEW ? sort_lines : rank_lines, &l);
}

/* Index i of line n: of the lines of `range` elements each, cut into pieces of `size`, the piece it lies in
 * and where there. */
LL_KERNEL(UNRAVEL)
{
    const struct ll_shape *in = &call->op->in[0];
    const uint64_t size = (uint64_t)ll_attr_count(call->op, LL_ATTR_SIZE, 1);
    const uint64_t pieces = (uint64_t)ll_attr_count(call->op, LL_ATTR_RANGE, 1) / size;
    const int32_t *indices = call->in[0];
    int32_t *piece = call->out[0], *place = call->out[1];
    for (uint64_t i = 0; i < ll_elements(in); i++) {
        bool fits = ll_index_fits(call, indices[i], pieces * size);
        uint64_t index = fits ? (uint64_t)indices[i] : 0;
        piece[i] = (int32_t)(i / in->dim[in->rank - 1] * pieces + index / size);
        place[i] = (int32_t)(index % size);
    }
}
