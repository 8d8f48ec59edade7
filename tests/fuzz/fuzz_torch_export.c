/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of torch.export. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_chosen(ll_import_TORCH_EXPORT, data, size, "s0");
    return 0;
}
