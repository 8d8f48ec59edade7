/* SPDX-License-Identifier: Apache-2.0 */
/* The law that more of anything is never slower, as a what-if sees it. */
#ifndef LL_TESTS_GAINS_H
#define LL_TESTS_GAINS_H

#include "check.h"

#include "sim/replay/communication.h"
#include "sim/replay/replay.h"

/* Twice of each thing in turn. What failed is printed with its seed and the machine's text. */
static inline void check_gains(const struct ll_result *result, uint64_t seed, const char *yaml)
{
    struct ll_arena scratch = {0};
    struct ll_remembered remembered = {0};
    size_t count;
    const struct ll_gain *gains = ll_what_if(result, &remembered, &scratch, &count);
    assert_non_null(gains);
    assert_true(count >= 4);
    for (size_t i = 0; i < count; i++) {
        if (gains[i].speedup < 1 - 1e-12)
            print_error("seed %llu, %s: %.17g\n%s", (unsigned long long)seed, gains[i].knob.path,
                        gains[i].speedup, yaml);
        assert_true(gains[i].speedup >= 1 - 1e-12);
    }
    ll_remembered_release(&remembered);
    ll_arena_release(&scratch);
}

#endif
