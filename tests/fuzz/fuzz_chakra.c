/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra traces: what is not imported was complained about, or is a trouble of the world. The first byte
 * chooses whether the file stands for one rank or for two. */
#include "tracer/convert/convert.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags diags = {0};
    const struct ll_input_file file = {
        .path = "chakra", .bytes = data + (size > 0), .size = size - (size > 0)};
    const struct ll_input_file files[2] = {file, file};
    struct ll_import import = {.inputs = files,
                               .input_count = size > 0 && data[0] & 1 ? 2 : 1,
                               .output = "/dev/null",
                               .diags = &diags};
    bool done = ll_import_run(ll_import_CHAKRA, &import);
    if (done != (diags.count == 0 && import.status == LL_OK))
        abort();
    ll_diags_release(&diags);
    return 0;
}
