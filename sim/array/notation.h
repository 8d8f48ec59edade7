/* SPDX-License-Identifier: Apache-2.0 */
/* Problems and mappings of arrays as text: ours, Timeloop's and ZigZag's.
 *
 * Ours, outermost store first, is Timeloop's map on one line:
 *
 *       @dram[input weight output] K4 P16 @buffer[weight output] C16:D1 K8:D2 @registers[weight] R3
 *
 * A store keeps the operands in brackets (all that it holds where there are none; none where they are
 * empty). Loops stand inside of the store whose tiles they step through, outermost first; a loop with an
 * axis runs over the elements along it. Timeloop's own text may name an axis x or y (the first or the
 * second that the elements between two stores have), a level that is no store (a container of elements),
 * and a residue in parentheses.
 *
 * ZigZag's is a list for each operand, innermost loop first, with a slash where the next store begins and
 * a dash for none, and the unrolling by axis:
 *
 *       O: FX=3 FY=3 / OY=56 K=2 / - | W: FX=3 FY=3 OY=56 K=2 / - | I: ... ; D1:K=32 ; D2:C=32
 *
 * Where its loops make more than a dimension has, elements are idle in the mean: the unrolled loop is a
 * fraction.
 *
 * All functions are pure and thread-safe. */
#ifndef LL_SIM_ARRAY_NOTATION_H
#define LL_SIM_ARRAY_NOTATION_H

#include <stddef.h>

#include "sim/array/nest.h"
#include "tracer/base/str.h"

/* A problem as `dimension=size`, in Timeloop's letters (N C M or K, P Q R S, G; Hstride Wstride Hdilation
 * Wdilation), in ZigZag's (B K G C OY OX FY FX; D0 D1 D2 of a GEMM; IX = 2*OX + 1*FX) or as M N K of a
 * GEMM, and the bits of words (`bits=8/8/16/8`: weight, input, partial sum, result; default 8/8/8/8).
 * Sides of the image may be given as IY and IX. False after a sentence about what is wrong was added to
 * *complaint. */
bool ll_array_problem_parse(const char *text, struct ll_array_problem *problem, struct ll_str *complaint);

/* A mapping in any of the notations, checked (ll_array_mapping_check). False after a sentence about what
 * is wrong was added to *complaint. */
bool ll_array_mapping_parse(const struct ll_array *array, const struct ll_array_problem *problem,
                            const char *text, struct ll_array_mapping *mapping, struct ll_str *complaint);

/* A mapping in our notation, which reads back to the same where its operands share their stores' loops
 * (Timeloop's mappings do, and those that the search finds). Else each operand's own, as ZigZag has it. */
void ll_array_mapping_print(const struct ll_array *array, const struct ll_array_problem *problem,
                            const struct ll_array_mapping *mapping, struct ll_str *out);

/* The same as Timeloop's YAML (`mapping:` of version 0.4), and as ZigZag's lists. */
void ll_array_mapping_print_timeloop(const struct ll_array *array, const struct ll_array_problem *problem,
                                     const struct ll_array_mapping *mapping, struct ll_str *out);
void ll_array_mapping_print_zigzag(const struct ll_array *array, const struct ll_array_problem *problem,
                                   const struct ll_array_mapping *mapping, struct ll_str *out);

/* "input", "weight", "output". */
const char *ll_array_operand_name(enum ll_operand operand);

#endif
