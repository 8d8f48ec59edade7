/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as PyTorch's execution graph and as its profiler's trace. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool allow_opaque = size > 0 && data[size - 1] % 2;
    import_bytes(ll_import_TORCH_GRAPH, data, size, allow_opaque);
    import_bytes(ll_import_TORCH_PROFILE, data, size, allow_opaque);
    return 0;
}
