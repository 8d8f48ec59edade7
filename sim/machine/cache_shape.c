/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/machine/cache_shape.h"

#include "tracer/base/num.h"

#include <assert.h>
#include <math.h>

#define MOST_LINES (UINT32_MAX / 4) /* slots are counted in 32 bits */
enum { MOST_TREE_WAYS = 64 };       /* a set's tree is one word of 64 bits */

static const char *trouble_alone(const struct ll_cache_level *level)
{
    if (level->sets == 0 || level->ways == 0)
        return "a cache has one set and one way at least";
    if (ll_mul(level->sets, level->ways) > MOST_LINES)
        return "a cache has less than a thousand million lines";
    if (!ll_is_power_of_two(level->line_bytes))
        return "the bytes of a line are a power of two";
    if (level->inclusion != LL_CACHE_NON_INCLUSIVE && ll_cache_admission(level) < 1)
        return "a cache that does not let all lines in is a non-inclusive one";
    if (level->prefetch == LL_PREFETCH_STRIDE && (level->stride_pages == 0 || level->stride_page_bytes == 0))
        return "a prefetcher of strides remembers one page at least";
    if (level->policy == LL_CACHE_PLRU && (!ll_is_power_of_two(level->ways) || level->ways > MOST_TREE_WAYS))
        return "tree-PLRU takes 1, 2, 4, ... 64 ways";
    return NULL;
}

/* Of level i with the one inside it. */
static const char *trouble_of(const struct ll_cache_level *levels, size_t i)
{
    const char *alone = trouble_alone(&levels[i]);
    bool exclusive = levels[i].inclusion == LL_CACHE_EXCLUSIVE;
    if (alone)
        return alone;
    if (i == 0)
        return exclusive ? "the innermost cache excludes nothing: there is none further in" : NULL;
    if (levels[i].line_bytes < levels[i - 1].line_bytes)
        return "a cache's lines are no shorter than those of the one inside";
    if (exclusive && levels[i].line_bytes != levels[i - 1].line_bytes)
        return "an exclusive cache has lines as long as the one inside";
    if (exclusive && levels[i].prefetch != LL_PREFETCH_NONE)
        return "an exclusive cache holds what was evicted: it fetches nothing ahead";
    return NULL;
}

const char *ll_cache_trouble(const struct ll_cache_level *levels, size_t count, size_t *which)
{
    for (size_t i = 0; i < count; i++) {
        const char *trouble = trouble_of(levels, i);
        if (!trouble)
            continue;
        if (which)
            *which = i;
        return trouble;
    }
    return NULL;
}

double ll_cache_admission(const struct ll_cache_level *level)
{
    return level->admission > 0 ? level->admission : 1;
}

/* Of so many ways the law is as good as that of one set; what is so near to all or nothing is taken for
 * it. */
double ll_cache_left(const struct ll_cache_level *level, uint64_t size_bytes, double came)
{
    enum { MOST_WAYS = 256 };
    static const double NEAR = 1e-3;
    if (level->ways == 0 || level->ways > MOST_WAYS || level->ways * level->line_bytes >= size_bytes)
        return came <= 1 ? 1 : 0;
    double others = came * (double)level->ways, term = exp(-others), share = term;
    for (uint64_t i = 1; i < level->ways; i++) {
        term *= others / (double)i;
        share += term;
    }
    return share < NEAR ? 0 : share > 1 - NEAR ? 1 : share;
}

const char *ll_cache_policy_name(enum ll_cache_policy policy)
{
    static const char *const names[] = {
#define LL_CACHE_POLICY(word, name, ...) name,
#include "sim/machine/cache_policies.def"
#undef LL_CACHE_POLICY
    };
    assert(policy < LL_CACHE_POLICY_COUNT);
    return names[policy];
}
