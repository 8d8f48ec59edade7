/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic in sweep files and on the command line: `units.array.rows * 2 <= 256`, `min(time_s, 5ms)`.
 *
 *   or and not    == != < <= > >=    + -    * /    - (sign)    ^ (power, from the right)
 *   min(a, b, ...)  max(a, b, ...)  log2(x)  sqrt(x)  abs(x)  ceil(x)  floor(x)
 *
 * Literals may carry a unit of machine files and are then in its base unit, but areas in mm2 and areas per
 * byte in mm2/B; what a machine file says is in the same. True is 1, false is
 * 0. What is compared is of one dimension, as far as that of both sides is known. Names are what the caller
 * says they are. Expressions live in an arena, are immutable, and may be evaluated by many threads. */
#ifndef LL_SIM_EXPLORE_EXPRESSION_H
#define LL_SIM_EXPLORE_EXPRESSION_H

#include "sim/machine/quantity.h"
#include "tracer/base/arena.h"
#include "tracer/base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ll_expression;

/* The names that an expression may use. */
struct ll_names {
    /* The slot of a name, in *slot; false when there is none. */
    bool (*find)(void *context, const char *name, uint32_t *slot);
    /* The i-th name that could have been meant; NULL past the last. One that is not found is no number. */
    const char *(*at)(void *context, size_t i);
    void *context;
    /* What a slot measures; LL_DIMENSION_NUMBER: anything. NULL: all do. */
    enum ll_dimension (*dimension)(const void *context, uint32_t slot);
    /* Why a name that is not found although there is such a thing may not be used: what follows the name in a
     * sentence. NULL: nothing is known of it. NULL: of none. */
    const char *(*hindrance)(void *context, const char *name);
};

/* Reads a text that stands at `place` of a file: complaints point at the character. NULL after complaints. */
struct ll_expression *ll_expression_parse(struct ll_arena *arena, const char *text, struct ll_place place,
                                          const struct ll_names *names, struct ll_diags *diags);

/* How many of its units in expressions a base unit of machines is. */
double ll_expression_scale(enum ll_dimension dimension);

/* Its value, in the units of expressions; value(context, slot) gives what a name stands for. Comparisons are
 * 1 or 0; what has no value, as 0 / 0, is NaN, and so is what is compared with that. Pure but for that;
 * allocates nothing. */
double ll_expression_value(const struct ll_expression *expression,
                           double (*value)(const void *context, uint32_t slot), const void *context);

/* Of a comparison: how far it is missed, as a share of its right side; 0 when it holds. Of `and` the sum of
 * both, of `or` the lesser; of anything else 1 when it is false. */
double ll_expression_violation(const struct ll_expression *expression,
                               double (*value)(const void *context, uint32_t slot), const void *context);

/* Whether it has no value, and whether it does not hold, whatever the other names stand for, when those are
 * no numbers that missing(context, slot) says of. Pure but for that. */
bool ll_expression_has_none(const struct ll_expression *expression,
                            bool (*missing)(const void *context, uint32_t slot), const void *context);
bool ll_expression_fails(const struct ll_expression *expression,
                         bool (*missing)(const void *context, uint32_t slot), const void *context);

/* What it measures, as far as that is known; else LL_DIMENSION_NUMBER. */
enum ll_dimension ll_expression_dimension(const struct ll_expression *expression);

#endif
