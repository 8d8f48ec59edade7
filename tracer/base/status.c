/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/base/status.h"

const char *ll_status_text(enum ll_status status)
{
    static const char *const text[] = {
#define X(name, sentence) [LL_##name] = sentence,
        LL_STATUS_LIST(X)
#undef X
    };
    return (unsigned)status < sizeof text / sizeof text[0] ? text[status] : "unknown status";
}
