/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons of a number, kept in order.
 *
 * A function that computes something worth explaining takes a sink and says its terms, one line a formula
 * with its numbers filled in:
 *
 *       compute: 64 * (1024 + 382) = 89984 cycles
 *
 * Before the colon stand words, then a formula of numbers, + - * / ^ ( ), ceil() floor() max() min() sqrt()
 * exp(), then its value and unit: whoever has a pocket calculator can follow, and a test does. Lines without
 * `=` are plain sentences. A NULL sink costs nothing: arguments are only formatted when somebody listens.
 *
 * A sink starts as {0}, belongs to one thread, and is released by its owner. */
#ifndef LL_SIM_COST_EXPLAIN_H
#define LL_SIM_COST_EXPLAIN_H

#include "tracer/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

struct ll_explain {
    struct ll_arena arena;
    const char **lines;
    uint64_t line_count, capacity;
    bool failed; /* memory ran out; the lines so far are good */
};

/* Adds a line, printf style, without line end. Does nothing when why is NULL. */
void ll_say(struct ll_explain *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frees the lines; why is empty and usable afterwards. */
void ll_explain_release(struct ll_explain *why);

#endif
