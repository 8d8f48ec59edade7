/* SPDX-License-Identifier: Apache-2.0 */
/* Other ways of counting what ops do, to compare with those who count so.
 *
 * catamount: as Catamount (Hestness et al., "Beyond Human-Level Accuracy", PPoPP 2019) counts TensorFlow's
 * graphs. FLOPs and bytes are algorithmic as ours are, but every view is a copy, a sum counts an operation
 * for each element that comes, a softmax three and a second read, half the sum of squares three in all (it
 * looks at the size of the result), a gather reads its rows beside writing them, and what loops read and
 * write step by step (stack, unstack: TensorFlow's arrays of tensors) costs nothing. The footprint of an op
 * is what it writes, and nothing where it writes in place. */
#ifndef LL_TRACER_ACCOUNTING_H
#define LL_TRACER_ACCOUNTING_H

#include "tracer/trace.h"

/* Of one op; LL_NO_FIT past 64 bits. */
struct ll_account {
    uint64_t flops, bytes, footprint_bytes;
};

/* The op of a phase as Catamount counts it, for views that ll_op_infer accepts; nothing for a kind that this
 * program does not know. Pure. */
struct ll_account ll_catamount_op(const struct ll_op_view *op, enum ll_phase phase);

/* Of a step: the sums over its ops; parameters are elements of all weights; the footprint has each weight
 * and state of an optimizer once; io_bytes is what comes from the host. LL_NO_FIT past 64 bits. */
struct ll_accounts {
    uint64_t parameters, flops, bytes, footprint_bytes, io_bytes;
};

/* Of the typical step of a trace (tracer/profile.h). False when memory ran out. Pure, thread-safe. */
bool ll_catamount(const struct ll_trace *trace, struct ll_accounts *accounts);

#endif
