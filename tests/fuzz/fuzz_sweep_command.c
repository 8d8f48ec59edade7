/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep file from any bytes, tried on a few points. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prepare();
    put_file("in.yaml", data, size);
    RUN("sweep", "in.yaml", "--dry-run", "-j", "1");
    return 0;
}
