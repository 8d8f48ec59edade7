/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile's devices did, and the operators that started it. Private to tracer/convert/torch. */
#ifndef LL_TRACER_CONVERT_TORCH_LAUNCHED_H
#define LL_TRACER_CONVERT_TORCH_LAUNCHED_H

#include "tracer/convert/recorded/recorded.h"
#include "tracer/convert/torch/torch.h"

/* What a device did. Numbers are 0 where the file has none. */
struct ll_torch_launched {
    uint64_t start_ns, duration_ns;
    uint64_t external;    /* number of the operator that started it */
    uint64_t correlation; /* number of the driver's call that launched it */
    const char *name;
    enum ll_device_event_kind kind;
};

/* Adds a node, whose number is how many there were, and one. False with import->status set. */
bool ll_torch_add_node(struct ll_import *import, struct ll_torch_nodes *nodes, struct ll_torch_node *node);

/* Finds for each node the one in whose time it lies, and for each of the kernels the node that started it;
 * nodes take the time of their kernels, where there are any, and times count from near the first. Events of
 * the timeline, the first of which are the kernels, get the names of their operators as callers. Nodes are of
 * calls of the driver where they have a correlation. False with import->status set. */
bool ll_torch_tie_kernels(struct ll_import *import, struct ll_torch_nodes *nodes,
                          const struct ll_torch_launched *kernels, uint64_t count,
                          struct ll_recorded *recorded);

#endif
