/* SPDX-License-Identifier: Apache-2.0 */
/* Grouped queries on more ranks than there are key heads (Ainslie et al., GQA, 2023; Shoeybi et al.,
 * Megatron-LM): each key head is copied to ranks / key_heads ranks, among which its group of queries is
 * divided. Private to sim/parallel. */
#ifndef LL_SIM_PARALLEL_KEY_HEADS_H
#define LL_SIM_PARALLEL_KEY_HEADS_H

#include "tracer/ir/trace.h"

/* The trace with as many key heads as ranks, so that each rank has one: [rows, key_heads, group, head]
 * become [rows, ranks, group key_heads / ranks, head], and the weights that make keys and values as many
 * times wider; gradients of these are summed among neighbours with the same head before an update reads
 * them. Free with ll_trace_free. NULL where nothing is to be copied, or cannot be. Thread-safe. */
struct ll_trace *ll_copy_key_heads(const struct ll_trace *trace, uint64_t ranks);

#endif
