/* SPDX-License-Identifier: Apache-2.0 */
/* What others have to know of how dimensions are exchanged. */
#ifndef LL_NN_KERNEL_TRANSPOSE_H
#define LL_NN_KERNEL_TRANSPOSE_H

/* Results of at least so many bytes are written past the caches, where processors know how. */
enum { LL_TRANSPOSE_PAST_BYTES = 1 << 24 };

/* Elements in a chunk, at least: from how many more on a second thread helps. */
enum { LL_TRANSPOSE_GRAIN = 1 << 16 };

#ifdef __SSE2__
#define LL_WRITES_PAST 1
#else
#define LL_WRITES_PAST 0
#endif

#endif
