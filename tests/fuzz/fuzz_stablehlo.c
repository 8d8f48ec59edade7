/* SPDX-License-Identifier: Apache-2.0 */
/* StableHLO text. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_chosen(ll_import_STABLEHLO, data, size, "trips.w");
    return 0;
}
