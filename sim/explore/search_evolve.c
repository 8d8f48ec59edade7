/* SPDX-License-Identifier: Apache-2.0 */
/* Evolution and refinement over the axes of a space. */
#include "sim/explore/evolution.h"
#include "sim/explore/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct asked {
    const struct ll_space *space;
    ll_ask *ask;
    void *context;
    bool ended; /* by who answers, or for want of memory */
};

static void take_answers(const struct ll_space *space, const struct ll_answer *outcomes, size_t count,
                         double *objectives, double *violations)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(&objectives[i * space->objective_count], outcomes[i].objectives,
               space->objective_count * sizeof *objectives);
        violations[i] = outcomes[i].valid ? 0 : fmax(outcomes[i].violation, 1e-12);
    }
}

static bool answer(void *context, const uint32_t *points, size_t count, double *objectives,
                   double *violations)
{
    struct asked *asked = context;
    const struct ll_space *space = asked->space;
    uint64_t *numbers = calloc(count, sizeof *numbers);
    struct ll_answer *outcomes = calloc(count, sizeof *outcomes);
    for (size_t i = 0; numbers && i < count; i++)
        numbers[i] = ll_space_number(space, &points[i * space->axis_count]);
    asked->ended = !numbers || !outcomes || !asked->ask(asked->context, numbers, count, outcomes);
    if (!asked->ended)
        take_answers(space, outcomes, count, objectives, violations);
    free(outcomes);
    free(numbers);
    return !asked->ended;
}

static bool evolve(const struct ll_space *space, double refined, ll_ask *ask, void *context)
{
    uint64_t sizes[LL_MOST_AXES];
    bool ordered[LL_MOST_AXES];
    for (size_t a = 0; a < space->axis_count; a++) {
        sizes[a] = space->axes[a].value_count;
        ordered[a] = space->axes[a].ordered;
    }
    struct ll_index_grid grid = {space->axis_count, sizes, ordered};
    struct ll_breeding breeding = {.seed = space->search.seed,
                                   .evaluations = space->search.points,
                                   .objectives = space->objective_count,
                                   .refined = refined};
    struct asked asked = {space, ask, context, false};
    return ll_evolve(&grid, &breeding, answer, &asked) == LL_OK && !asked.ended;
}

bool ll_search_EVOLVE(const struct ll_space *space, ll_ask *ask, void *context)
{
    return evolve(space, 0.5, ask, context);
}

bool ll_search_REFINE(const struct ll_space *space, ll_ask *ask, void *context)
{
    return evolve(space, 1, ask, context);
}
