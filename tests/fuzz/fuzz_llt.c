/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a trace file: what the reader accepts is sound, and everything that walks a trace may walk it.
 */
#include "tracer/profile.h"
#include "tracer/reader.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    enum ll_status status = LL_OK;
    struct ll_trace *trace = diags ? ll_trace_parse(data, size, "fuzz.llt", diags, &status) : NULL;
    if (trace) {
        struct ll_arena arena = {0};
        if (ll_trace_check(trace, &arena))
            abort();
        ll_trace_deps(trace, &arena);
        ll_arena_release(&arena);
    }
    ll_trace_free(trace);
    if (diags)
        ll_diags_release(diags);
    free(diags);
    return 0;
}
