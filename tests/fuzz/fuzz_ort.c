/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as ONNX Runtime's profile. */
#include "fuzz_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    import_bytes(ll_import_ORT_PROFILE, data, size, false);
    return 0;
}
