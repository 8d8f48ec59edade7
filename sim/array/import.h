/* SPDX-License-Identifier: Apache-2.0 */
/* Machines of other tools as machine files: hardware of ZigZag, architectures of Timeloop 0.4 with the energy
 * reference table (ERT) of Accelergy. */
#ifndef LL_SIM_ARRAY_IMPORT_H
#define LL_SIM_ARRAY_IMPORT_H

#include "sim/machine/node.h"
#include "tracer/base/str.h"

/* Adds a machine file of the hardware that ZigZag's YAML describes (3.x: `memories`, innermost first,
 * ports with or without names; `operational_array` or `multipliers`). False after complaints. */
bool ll_array_import_zigzag(const struct ll_node *root, struct ll_str *yaml, struct ll_diags *diags);

/* Adds a machine file of the architecture that Timeloop's YAML of version 0.4 describes; ert: the tree of
 * its ERT (Accelergy), or NULL. Without energies those of the technology that memories name follow, by
 * sizes and ports; without a technology they are 0. Energies of a network become those of hops; a
 * component whose class names an ADC converts results on their way into the memory around it, a DAC the
 * inputs out of it. Numbers must be written out: expressions are not computed. False after complaints. */
bool ll_array_import_timeloop(const struct ll_node *root, const struct ll_node *ert, struct ll_str *yaml,
                              struct ll_diags *diags);

/* A YAML text without its tags (!Component), which the tree does not take; in the arena, NULL when memory
 * ran out. */
const char *ll_array_without_tags(const char *text, struct ll_arena *arena);

#endif
