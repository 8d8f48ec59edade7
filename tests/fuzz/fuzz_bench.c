/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as results of benchmarks of language models: results, each with what its kind has, or
 * complaints. */
#include "sim/validate/bench_results.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_arena arena = {0};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_bench_results results = {0};
    if (!diags)
        return 0;
    bool read = ll_bench_read((const char *)data, size, "fuzz", &arena, diags, &results);
    if (read != (diags->count == 0) || (read && results.count == 0))
        abort();
    for (uint64_t i = 0; i < results.count && read; i++)
        if (results.at[i].kind >= LL_BENCH_KINDS)
            abort();
    ll_diags_release(diags);
    free(diags);
    ll_arena_release(&arena);
    return 0;
}
