/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in attributes of Timeloop: `depth * width`, `max(1, ceil(log2(depth)))`. It is not the language
 * of sweep files (sim/explore/space.h), where `8GB/s` is a number, `a-b` may be a name and `^` is a power:
 * here `a-b` is a difference, `**` a power, and a name may stand for an expression, read when it is met. */
#ifndef LL_SIM_INTERCHANGE_EXPRESSION_H
#define LL_SIM_INTERCHANGE_EXPRESSION_H

#include "sim/machine/node.h"

enum { LL_SCOPES = 32 };

/* Maps in which names are looked up, the last one first. What a name stands for may be an expression, too. */
struct ll_scopes {
    struct ll_node *map[LL_SCOPES];
    int count;
};

/* The value of an expression: + - * / // % **, brackets, ceil floor round abs min max sqrt log log2 log10
 * pow int, names. False where it is none, or a name is not known. Looked-up members are taken. Pure but
 * for that. */
bool ll_expression(const char *text, const struct ll_scopes *scopes, double *value);

#endif
