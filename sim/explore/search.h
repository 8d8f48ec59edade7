/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the points that are tried.
 *
 * A search proposes points by number, in batches, and is told what became of them. It never evaluates
 * anything itself and keeps no files: whoever answers may remember (an interrupted sweep asks again for what
 * it knows and is answered from its database), so a search is a pure function of space, seed and answers.
 * Added as a row in searches.def and one function. */
#ifndef LL_SIM_EXPLORE_SEARCH_H
#define LL_SIM_EXPLORE_SEARCH_H

#include "sim/explore/space.h"

/* What became of a point. */
struct ll_answer {
    bool valid; /* such a machine can be, runs all workloads, all constraints hold, and all objectives are
                         finite */
    double violation; /* 0 when valid; else how far the constraints are missed, in shares of their bounds,
                         summed up, and 1 for each objective that is not finite; INFINITY for a machine that
                         cannot be */
    double objectives[LL_MOST_OBJECTIVES]; /* less is better: what shall be most is negated. Several
                         workloads: the geometric mean. INFINITY where there is none */
};

/* Answers for `count` points at once (1,000 or so serve best), outcomes[i] for numbers[i]. False when the
 * search shall stop: interrupted, or trouble that the asker knows of. */
typedef bool ll_ask(void *context, const uint64_t *numbers, size_t count, struct ll_answer *outcomes);

/* Each proposes at most space->search.points points (grid: all, when not given) and returns false when the
 * asker said so, or memory ran out. Deterministic by space->search.seed. */
#define LL_SEARCH(word, ...) bool ll_search_##word(const struct ll_space *space, ll_ask *ask, void *context);
#include "sim/explore/searches.def"
#undef LL_SEARCH

/* Whether a search can be cut into shards: it does not learn from answers. */
bool ll_search_divides(enum ll_search_kind kind);

/* The one that space->search.kind names: as above. */
bool ll_search(const struct ll_space *space, ll_ask *ask, void *context);

#endif
