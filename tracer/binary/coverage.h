/* SPDX-License-Identifier: Apache-2.0 */
/* What of a program's calls would be seen, told before it runs: which binary reaches which of the routines we
 * know how, which binary offers them, and by which mechanism all of it is seen. */
#ifndef LL_BINARY_COVERAGE_H
#define LL_BINARY_COVERAGE_H

#include "tracer/base/json.h"
#include "tracer/binary/closure.h"
#include "tracer/binary/mechanism.h"

/* One way from a binary to a routine. */
struct ll_symbol_route {
    uint32_t binary; /* of the closure */
    uint32_t symbol; /* of the names asked for */
    enum ll_reach reach;
};

/* That a binary defines a routine for others. */
struct ll_offer {
    uint32_t binary, symbol;
};

struct ll_coverage {
    const struct ll_closure *closure;
    const char *const *names;
    struct ll_symbol_route *routes; /* by binary, then in the order of its symbols */
    size_t route_count;
    struct ll_offer *offers;
    size_t offer_count;
    bool is_static, stripped; /* the program */
    bool closed;              /* the loader lets nobody into it (AT_SECURE): it is set-user-ID or the like */
    size_t opening_count;     /* binaries that may open libraries while they run (dlopen) */
    enum ll_mechanism mechanism; /* the mildest that sees all routes */
    bool possible;               /* false: no mechanism sees any of them */
};

/* All in the arena but the closure and the names (as the loader knows them: "cblas_dgemm"), which must live
 * as long. LL_NO_MEMORY. */
enum ll_status ll_coverage_find(struct ll_arena *arena, const struct ll_closure *closure,
                                const char *const *names, size_t name_count, struct ll_coverage *coverage);

/* Whether a mechanism sees calls of the program that are made so. */
bool ll_coverage_sees(const struct ll_coverage *coverage, enum ll_reach reach, enum ll_mechanism mechanism);

/* How many routes a mechanism sees. */
size_t ll_coverage_seen(const struct ll_coverage *coverage, enum ll_mechanism mechanism);

/* The report for a mechanism: what is seen, what is not, and the cure. */
void ll_coverage_text(struct ll_str *out, const struct ll_coverage *coverage, enum ll_mechanism mechanism);
void ll_coverage_json(struct ll_json *json, const struct ll_coverage *coverage, enum ll_mechanism mechanism);

#endif
