/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers below the smallest normal one (denormals). Most processors take many cycles more for an operation
 * on them; frameworks therefore have them count as zero, in operands and results. Pure but for the calling
 * thread's state. */
#ifndef LL_BASE_DENORMALS_H
#define LL_BASE_DENORMALS_H

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

enum ll_denormals { LL_DENORMALS_EXACT, LL_DENORMALS_ZERO };
enum { LL_DENORMALS_MXCSR = 0x8040 }; /* flush to zero, denormals are zero */

/* What the calling thread does with them; on other processors than x86-64: exact. */
static inline enum ll_denormals ll_denormals(void)
{
#ifdef __x86_64__
    return _mm_getcsr() & LL_DENORMALS_MXCSR ? LL_DENORMALS_ZERO : LL_DENORMALS_EXACT;
#else
    return LL_DENORMALS_EXACT;
#endif
}

/* What the calling thread does with them from now on; no effect on other processors than x86-64. */
static inline void ll_set_denormals(enum ll_denormals denormals)
{
#ifdef __x86_64__
    unsigned others = _mm_getcsr() & ~(unsigned)LL_DENORMALS_MXCSR;
    _mm_setcsr(others | (denormals == LL_DENORMALS_ZERO ? LL_DENORMALS_MXCSR : 0u));
#else
    (void)denormals;
#endif
}

#endif
