/* SPDX-License-Identifier: Apache-2.0 */
/* A plan from any bytes: refused with complaints, or one that its own words give again and that can be
 * checked. */
#include "sim/parallel/plan.h"
#include "tracer/base/str.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags diags = {0};
    struct ll_str words = {0};
    struct ll_plan_sizes sizes;
    struct ll_parallel plan = ll_plan_of_one();
    bool read = ll_plan_parse(&plan, (const char *)data, size, "fuzz.yaml", &diags);
    if (read != (diags.count == 0))
        abort();
    ll_plan_words(&plan, &words);
    if (read && ll_plan_resolve(&plan, 8, 1 << 20, &diags, &sizes) &&
        sizes.batch != sizes.micro_batch * sizes.micro_batches * plan.data)
        abort();
    ll_str_release(&words);
    ll_diags_release(&diags);
    return 0;
}
