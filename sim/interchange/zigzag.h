/* SPDX-License-Identifier: Apache-2.0 */
/* What hardware of ZigZag is to those that read or write more than one core's: systems of Stream, and what
 * exporters of arrays share. */
#ifndef LL_SIM_INTERCHANGE_ZIGZAG_H
#define LL_SIM_INTERCHANGE_ZIGZAG_H

#include "sim/array/nest.h"
#include "sim/interchange/chain.h"

/* Whether a mapping has weights as I1 and inputs as I2. */
struct ll_zigzag_links {
    bool swapped;
};

/* Why keys of ZigZag's files are left out. */
const struct ll_why *ll_zigzag_reasons(void);

/* The hardware of a core: its array, memories, dataflows. The outermost memory need not serve all. False
 * after complaints. */
bool ll_zigzag_take_core(struct ll_interchange *x, struct ll_node *root, const struct ll_zigzag_links *links,
                         struct ll_chain *chain);

/* A system of Stream: a file with `cores`, which names files of cores. False after complaints. */
bool ll_stream_import(struct ll_interchange *x, const struct ll_peer_import *import, struct ll_node *system,
                      struct ll_str *yaml);

/* The array that an exporter writes, in *array; what it says is taken out of the tree of the machine. NULL
 * after a complaint where the machine has none. */
const struct ll_array_unit *ll_exported_array(struct ll_interchange *x, const struct ll_machine *machine,
                                              struct ll_node *tree, const char *tool, struct ll_array *array);

#endif
