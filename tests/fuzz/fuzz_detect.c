/* SPDX-License-Identifier: Apache-2.0 */
/* Which format a file looks like: any bytes may be asked, and the name is one of a few. */
#include "tracer/convert/convert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *told = ll_format_detect(data, size);
    if (told && (strlen(told) < 2 || strlen(told) > 20))
        abort();
    return 0;
}
