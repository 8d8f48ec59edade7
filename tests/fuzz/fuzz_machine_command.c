/* SPDX-License-Identifier: Apache-2.0 */
/* A machine from any bytes, checked and simulated. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prepare();
    put_file("in.yaml", data, size);
    if (RUN("machines", "in.yaml") != 0)
        return 0;
    RUN("sim", "-c", "./in.yaml", "--what-if", "--memory", "small.llt");
    RUN("sim", "-c", "./in.yaml", "--json", "--dp", "2", "--tp", "2", "--batch", "4", "small.llt");
    RUN("sim", "-c", "./in.yaml", "--explain", "3", "small.llt");
    return 0;
}
