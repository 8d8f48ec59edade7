/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a trace needs: what lives at the worst moment (tracer/lives.h). */
#ifndef LL_SIM_MEMORY_FOOTPRINT_H
#define LL_SIM_MEMORY_FOOTPRINT_H

#include "tracer/ir/trace.h"

/* What training keeps in memory, as Zhu et al. (TBD, 2018) tell it apart: gradients that an update reads are
 * weight gradients; those in between are feature maps, as what they are gradients of. DYNAMIC: the
 * optimizer's state and what comes from the host. Word, name. */
#define LL_TRAINING_MEMORY_LIST(X)                                                                           \
    X(WEIGHTS, "weights")                                                                                    \
    X(WEIGHT_GRADIENTS, "weight_gradients")                                                                  \
    X(FEATURE_MAPS, "feature_maps")                                                                          \
    X(WORKSPACE, "workspace")                                                                                \
    X(DYNAMIC, "dynamic")
enum ll_training_memory {
#define X(word, name) LL_HOLDS_##word,
    LL_TRAINING_MEMORY_LIST(X)
#undef X
        LL_HOLDS_COUNT
};

/* As in the list; static storage. */
const char *ll_training_memory_name(enum ll_training_memory memory);

/* Of a storage with such a life. */
enum ll_training_memory ll_training_memory_of(const struct ll_life *life);

struct ll_footprint {
    uint64_t peak_bytes; /* LL_NO_FIT past 64 bits */
    uint32_t peak_op;    /* the first op at which the peak is reached; LL_NONE without ops */
    uint64_t class_bytes[LL_MEMORY_COUNT]; /* of the peak, by enum ll_memory_class; they sum to it */
    uint64_t most_bytes[LL_HOLDS_COUNT];   /* of each, wherever it has its own peak */
    bool unknown; /* the trace does not know which tensors are the same: these numbers say nothing */
};

/* Whether it fits into so many bytes; what nobody knows is not said to be too large. */
static inline bool ll_footprint_fits(const struct ll_footprint *footprint, uint64_t size_bytes)
{
    return footprint->unknown || footprint->peak_bytes <= size_bytes;
}

/* Whether the trace's memory is known: its header says where it is not. */
bool ll_memory_is_known(const struct ll_trace *trace);

/* Fills *footprint in time linear in the trace. False when memory ran out. Pure otherwise, thread-safe. */
bool ll_footprint(const struct ll_trace *trace, struct ll_footprint *footprint);

/* The same with lives, by storage, that are other than as recorded. */
bool ll_footprint_of_lives(const struct ll_trace *trace, const struct ll_life *lives,
                           struct ll_footprint *footprint);

#endif
