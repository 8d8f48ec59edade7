/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO text: whatever is imported has opened a trace, what is not was complained about or is a trouble
 * of the world. The first byte chooses whether operators without a rule are kept. */
#include "tracer/convert/convert.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags diags = {0};
    struct ll_choice choices[] = {{.key = "trips.w", .value = "2"}};
    const struct ll_input_file file = {
        .path = "module.mlir", .bytes = data + (size > 0), .size = size - (size > 0)};
    struct ll_import import = {.inputs = &file,
                               .input_count = 1,
                               .choices = choices,
                               .choice_count = 1,
                               .allow_opaque = size > 0 && data[0] & 1,
                               .output = "/dev/null",
                               .diags = &diags};
    bool done = ll_import_run(ll_import_STABLEHLO, &import);
    if (done != (diags.count == 0 && import.status == LL_OK))
        abort();
    ll_diags_release(&diags);
    return 0;
}
