/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as rows of measured data and as a topology of SCALE-Sim. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(ll_import_CSV, data, size, size > 0 && data[size - 1] % 2);
    import_bytes(ll_import_SCALESIM, data, size, false);
    return 0;
}
