/* SPDX-License-Identifier: Apache-2.0 */
/* A list of facts in the making: the header of a trace (the keys stand in tracer/trace.h). */
#ifndef LL_TRACER_FACTS_H
#define LL_TRACER_FACTS_H

#include "tracer/trace.h"

/* Starts as {.arena = arena}; items and their texts live in the arena. When memory runs out `failed` is set
 * and nothing more is added: check once at the end. One thread at a time. */
struct ll_facts {
    struct ll_arena *arena;
    struct ll_fact *items;
    uint64_t count, capacity;
    bool failed;
};

/* Adds key = printf of the rest. */
void ll_facts_add(struct ll_facts *facts, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The whole number that a fact of the list begins with; 0 when there is none. */
uint64_t ll_facts_number(const struct ll_facts *facts, const char *key);

#endif
