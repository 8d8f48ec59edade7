/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as oneDNN's verbose log. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(ll_import_ONEDNN, data, size, size > 0 && data[0] % 2);
    return 0;
}
