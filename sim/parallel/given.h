/* SPDX-License-Identifier: Apache-2.0 */
/* What all plans of a search have to hold: keys of plans with one value each, or several to choose from. */
#ifndef LL_SIM_PARALLEL_GIVEN_H
#define LL_SIM_PARALLEL_GIVEN_H

#include "sim/parallel/plan.h"
#include "tracer/base/arena.h"

enum { LL_MOST_GIVEN = 64 }; /* keys of plans there are no more */

struct ll_plan_given {
    struct {
        struct ll_parallel *values; /* plans that have one in the key's member, all else as without */
        uint64_t count;             /* 0: none is given */
    } of[LL_MOST_GIVEN];            /* by key (ll_plan_key_at) */
};

/* Adds what a text says of a key: one value, or several with commas between where its values have no commas
 * themselves. Lists live in the arena. False after complaints, or when memory ran out. */
bool ll_given_add(struct ll_plan_given *given, const char *key, const char *text, struct ll_place place,
                  struct ll_arena *arena, struct ll_diags *diags);

/* Adds what a YAML text says, a map of keys, with values or lists of such. Likewise. */
bool ll_given_parse(struct ll_plan_given *given, const char *text, size_t length, const char *name,
                    struct ll_arena *arena, struct ll_diags *diags);

/* Members of a plan go by their offset. How many values are asked for of one; whether a plan holds them.
 * Pure. */
uint64_t ll_given_of(const struct ll_plan_given *given, size_t member);
bool ll_given_hold(const struct ll_plan_given *given, const struct ll_parallel *plan, size_t member);

/* All plans that hold what is given of other members than these, as a plan of one else: *count of them. NULL
 * when memory ran out, or they are more than LL_MOST_BASES: *count says how many. */
enum { LL_MOST_BASES = 1000 };
struct ll_parallel *ll_given_bases(const struct ll_plan_given *given, const size_t *others,
                                   size_t other_count, struct ll_arena *arena, uint64_t *count);

#endif
