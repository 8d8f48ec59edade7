/* SPDX-License-Identifier: Apache-2.0 */
/* What each form of a trace costs, or its exchange: asked once, for ops differ by what they find alone.
 * Private to sim/replay. */
#ifndef LL_SIM_REPLAY_FORMS_H
#define LL_SIM_REPLAY_FORMS_H

#include "sim/replay/exchanges.h"
#include "sim/replay/replay.h"
#include "tracer/base/map.h"

/* Ranks of a trace that have ops of a form, from the lowest number to the highest; none: end is 0. */
struct ll_form_ranks {
    uint32_t first, end;
};

struct ll_forms {
    const struct ll_prepared *prepared;
    const struct ll_machine *machine;
    const struct ll_among *among;
    const struct ll_cost **ways; /* by form: each way to do it, in no order; NULL of idle ones */
    struct ll_price *prices;     /* by form; NULL without exchanges */
    bool *known;                 /* by form */
    struct ll_form_ranks *ranks; /* by form; NULL where a trace is of one rank */
    /* The ways next to what earlier ops left, where that decides: by form and what is saved. */
    struct ll_map keys;
    const struct ll_cost **next_to;
    uint64_t capacity;
};

/* Whether ops of this form are left out. Pure. */
static inline bool ll_form_is_idle(const struct ll_among *among, uint32_t form)
{
    return among->idle && among->idle[form];
}

/* Costs of all forms that the replayed ops use, in the arena. The first three fields are there, the rest is
 * zero. False when memory ran out, or after complaining, once for each kind, of what the machine cannot
 * run. */
bool ll_forms_cost(struct ll_forms *forms, struct ll_arena *arena, struct ll_diags *diags);

/* The ways to do this form next to what was found: `ways` of the first of them. NULL when memory ran out. */
const struct ll_cost *ll_forms_ways(struct ll_forms *forms, uint32_t form, const struct ll_leftovers *found,
                                    struct ll_arena *arena);

/* What does not lie in an arena. */
void ll_forms_release(struct ll_forms *forms);

#endif
