/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of weights (safetensors). */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_chosen(ll_import_SAFETENSORS, data, size, "top_k");
    return 0;
}
