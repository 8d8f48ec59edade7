/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: what computes an op here.
 *
 * Every NATIVE row of the op table has a kernel ll_kernel_WORD, in a file kernel_*.c. These files are
 * compiled twice, for float and for double: inside them `real` is the element type, and LL_KERNEL and LL_REAL
 * put the type's name behind a name. A kernel is a pure function of its inputs, gives the same bits at any
 * number of threads, allocates nothing and knows nothing of networks and traces. */
#ifndef LL_NN_KERNEL_H
#define LL_NN_KERNEL_H

#include "tracer/base/pool.h"
#include "tracer/ir/ops.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef LL_DOUBLE
typedef double real;
#define LL_REAL(name) name##_f64
#define LL_SQRT sqrt
#else
typedef float real;
#define LL_REAL(name) name##_f32
#define LL_SQRT sqrtf
#endif

/* A loop worth it is compiled for three generations of x86-64 (where the build says so); the right one is
 * picked at start. All of them do the same arithmetic in the same order, but for sums marked `omp simd`. */
#ifdef LL_CLONES
#define LL_FAST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LL_FAST
#endif

/* Inlined wherever it is called, so that it is compiled for the same CPU as a fast loop that calls it. */
#define LL_INLINE inline __attribute__((always_inline))

/* A statement for each k below count, many at a time. Compilers leave the end of such a loop to single
 * elements, which is most of a short line; here it goes by fewer and fewer. */
#define LL_ALONG(k, count, ...)                                                                              \
    do {                                                                                                     \
        uint64_t k##_next = 0;                                                                               \
        LL_ALONG_BY(16, k, count, __VA_ARGS__)                                                               \
        LL_ALONG_BY(8, k, count, __VA_ARGS__)                                                                \
        LL_ALONG_BY(2, k, count, __VA_ARGS__)                                                                \
        LL_ALONG_BY(1, k, count, __VA_ARGS__)                                                                \
    } while (0)
#define LL_ALONG_BY(width, k, count, ...)                                                                    \
    for (; k##_next + (width) <= (count); k##_next += (width))                                               \
        _Pragma("omp simd") for (uint64_t k = k##_next; k < k##_next + (width); k++)                         \
        {                                                                                                    \
            __VA_ARGS__;                                                                                     \
        }

/* An op with its operands in memory. Buffers are 64-byte aligned, row-major and packed; an output that takes
 * over an input's storage is that input's buffer. host_input finds what to copy in in[0]. */
struct ll_kernel_call {
    const struct ll_op_view *op;
    const void *const *in;
    void *const *out;
    struct ll_pool *pool;
    void *workspace;      /* ll_kernel_workspace bytes, 64-byte aligned, contents undefined */
    atomic_bool *strayed; /* becomes true when an index lies outside of what it indexes; NULL: nobody asks */
};

/* The index of nothing: it reads zeros, adds nothing, and nobody is told. */
enum { LL_NO_ROW = -1 };

/* Whether an index is below `count`. One that is not reads and writes nothing, and the call is told. */
static LL_INLINE bool ll_index_fits(const struct ll_kernel_call *call, int32_t index, uint64_t count)
{
    bool fits = index >= 0 && (uint64_t)index < count;
    if (!fits && call->strayed)
        atomic_store_explicit(call->strayed, true, memory_order_relaxed);
    return fits;
}

typedef void ll_kernel(const struct ll_kernel_call *call);
/* Begins a kernel, which it declares as well: kernels.c binds it to its row. */
#define LL_KERNEL(word)                                                                                      \
    ll_kernel LL_REAL(ll_kernel_##word);                                                                     \
    void LL_REAL(ll_kernel_##word)(const struct ll_kernel_call *call)

/* The kernel of a kind for this element type (LL_F32 or LL_F64); NULL for kinds that are only traced. */
ll_kernel *ll_kernel_of(enum ll_op_kind kind, enum ll_dtype real_type);

/* Bytes of scratch memory that an op, whose outputs are known, wants when run on so many threads; LL_NO_FIT
 * past 64 bits. Pure. Each stands with the kernels that write to it; kernels.c says which ops have which. */
typedef uint64_t ll_workspace(const struct ll_op_view *op, unsigned threads);
ll_workspace ll_attention_workspace, ll_box_sample_workspace, ll_causal_conv_workspace, ll_conv_workspace,
    ll_conv_data_workspace, ll_conv_filter_workspace, ll_ctc_workspace, ll_group_norm_workspace,
    ll_layer_norm_workspace, ll_lrn_workspace, ll_matmul_workspace, ll_nms_workspace, ll_norm_workspace,
    ll_rank_workspace, ll_reduce_workspace, ll_route_workspace, ll_sampler_workspace, ll_scan_workspace;

/* That of any op. */
ll_workspace ll_kernel_workspace;

#endif
