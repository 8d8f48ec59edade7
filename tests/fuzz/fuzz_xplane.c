/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as XLA's XSpace. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(ll_import_XPLANE, data, size, false);
    return 0;
}
