/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that an op's loops touch, in their order: what sim/memory/cache.h is fed with.
 *
 * A nest is loops over dimensions, and references to operands whose addresses are affine in the coordinates:
 *
 *       for i by 32                          {M, 32, m}     a block of rows,
 *         for j in n                         {N, 1, n}      all columns,
 *           for i in 32                      {M, 1, 32}     the rows of the block,
 *             for p in k                     {K, 1, k}      a sum:
 *               c[i][j] += a[i][p] b[p][j]   references a, b, c
 *
 * Several loops over one dimension make blocks: each begins where the next one around it stands and stops
 * where that one ends. What the innermost loops do not move is held in a register: it is read before
 * them and written after them. A reference may be guarded: padding is not read.
 *
 * The builders below make nests of op-like work. Operands lie row by row, one after the other, each at the
 * next multiple of LL_NEST_PAGE. Accesses are of one element, at its first byte. Nests and streams are plain
 * data; a stream belongs to one thread and points to its nest. */
#ifndef LL_SIM_MEMORY_STREAMS_H
#define LL_SIM_MEMORY_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/ir/work.h"

enum { LL_NEST_DIMS = 8, LL_NEST_LOOPS = 32, LL_NEST_REFS = 8, LL_NEST_GUARDS = 2, LL_NEST_PAGE = 4096 };

/* A loop over coordinates of a dimension: from where the loop around it stands, in steps, over `span`. */
struct ll_nest_loop {
    uint32_t dim;
    uint64_t step, span; /* at least 1 */
};

/* Holds where 0 <= offset + sum of slope[d] x[d] < limit. */
struct ll_nest_guard {
    int64_t offset;
    uint64_t slope[LL_NEST_DIMS], limit;
};

struct ll_nest_ref {
    uint64_t base;
    uint64_t stride[LL_NEST_DIMS]; /* bytes for a step of one coordinate */
    bool write;
    struct ll_nest_guard guards[LL_NEST_GUARDS];
    uint32_t guard_count;
    /* Rows picked by index: the coordinate of dimension `picked` is replaced by one of `rows` at random,
     * always the same one for the same coordinate; 0 for none. The innermost loop is not over it. */
    uint64_t rows;
    uint32_t picked;
};

/* At least one loop, outermost first. References in the order in which a body reads, then writes them. */
struct ll_nest {
    uint64_t size[LL_NEST_DIMS]; /* 1 where a dimension is not used */
    struct ll_nest_loop loops[LL_NEST_LOOPS];
    uint32_t loop_count;
    struct ll_nest_ref refs[LL_NEST_REFS];
    uint32_t ref_count;
};

/* How far a stream has come. */
struct ll_stream {
    const struct ll_nest *nest;
    uint32_t depth[LL_NEST_REFS]; /* loops that move the reference, and those around them */
    uint64_t start[LL_NEST_LOOPS], end[LL_NEST_LOOPS], outer_stop[LL_NEST_LOOPS];
    uint64_t x[LL_NEST_DIMS],
        stop[LL_NEST_DIMS]; /* of each dimension: where it is, where its inner loops end */
    bool begun, done;
};

/* A stream at its beginning. */
void ll_stream_begin(struct ll_stream *stream, const struct ll_nest *nest);

/* Writes the next accesses into a buffer with room for at least 4 * LL_NEST_REFS, and returns how many; less
 * than the room does not mean that the end has come, 0 does. */
size_t ll_stream_fill(struct ll_stream *stream, uint64_t *accesses, size_t room);

/* A block of a GEMM with the order of the loops over such blocks. */
enum ll_nest_order {
    LL_ORDER_MNK,
    LL_ORDER_MKN,
    LL_ORDER_NMK,
    LL_ORDER_NKM,
    LL_ORDER_KMN,
    LL_ORDER_KNM,
    LL_ORDER_COUNT
};
struct ll_nest_block {
    uint64_t m, n, k;
    enum ll_nest_order order; /* outermost first */
};

/* GEMMs C[m,n] = A[m,k] B[k,n] in blocks of blocks, outermost first; the last ones' elements are walked in
 * `order`. Up to 8 blockings. A sum that begins is not read. */
struct ll_product {
    struct ll_gemm dims;
    uint64_t element_bytes[3];     /* of A, B, C */
    bool transpose_a, transpose_b; /* A lies as [k,m], B as [n,k] */
    struct ll_nest_block blocks[8];
    size_t block_count;
    enum ll_nest_order order;
};
struct ll_nest ll_nest_product(const struct ll_product *product);

/* A convolution pass without unrolling: images [batch,h,w,channel], filter [kh,kw,in,out]. Blocks of pixels,
 * of output channels and of input channels; `order` says m for pixels, n for output and k for input channels.
 * Padding is the same on both sides, what is odd behind. An image's gradient is added up in memory; the other
 * two results are not read when their sums begin. */
struct ll_nest_conv {
    struct ll_conv dims;
    uint64_t element_bytes[3];                   /* of image, filter, result, in whichever pass */
    uint64_t images, rows, columns, out_c, in_c; /* of a block; 1 at least */
    enum ll_nest_order order;
};
struct ll_nest ll_nest_convolution(const struct ll_nest_conv *conv);

/* Operands side by side, each swept once: what vector ops and moves do. A shorter one ends earlier. */
struct ll_nest_operand {
    uint64_t elements, element_bytes;
    bool write;
};
struct ll_nest ll_nest_sweep(const struct ll_nest_operand *operands, uint32_t count);

/* `count` rows picked from a table by indices that are read, and written one after the other. */
struct ll_nest ll_nest_gather(uint64_t table_rows, uint64_t row_elements, uint64_t element_bytes,
                              uint64_t index_bytes, uint64_t count);

#endif
