/* SPDX-License-Identifier: Apache-2.0 */
/* A trace as if its weights were stored in another type and computed with in their own: what quantisation of
 * weights alone does to a network that only infers (Frantar et al., GPTQ, 2023; Lin et al., AWQ, 2024). They
 * take less memory and fewer bytes to read; products multiply in the type of their other operand.
 *
 * Left out: scales, which such formats store beside groups of elements (one of 16 bits for 128 elements of 4
 * bits are 3 % more bytes), and the operations that turn a weight into what is multiplied. */
#ifndef LL_TRACER_STORED_H
#define LL_TRACER_STORED_H

#include "tracer/trace.h"

/* Takes every weight that products and convolutions have as their right operand, or look at
 * otherwise shaped, to this type, where nothing else reads or writes it (an optimizer does; a look-up of
 * words whose table is also the last layer's weight does); all others stay as they are. Counts bytes of all
 * forms anew. *weights is how many descs were taken. To be called before the trace is shared. False when
 * memory ran out (*trouble is NULL) or *trouble, a static sentence, says what does not work out; the trace
 * is then of no use. */
bool ll_trace_store_weights(struct ll_trace *trace, enum ll_dtype dtype, uint64_t *weights,
                            const char **trouble);

#endif
