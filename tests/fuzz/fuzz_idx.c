/* SPDX-License-Identifier: Apache-2.0 */
/* IDX files: whatever is accepted has all its elements within the file. */
#include "models/data/images.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags diags = {0};
    struct ll_idx idx;
    bool good = ll_idx_parse(data, size, "idx", &idx, &diags);
    if (good != (diags.count == 0))
        abort();
    uint64_t elements = good ? 1 : 0;
    for (unsigned i = 0; good && i < idx.rank; i++)
        elements *= idx.dim[i];
    if (good && idx.bytes + elements != data + size)
        abort();
    ll_diags_release(&diags);
    return 0;
}
