/* SPDX-License-Identifier: Apache-2.0 */
/* What `pareto` takes as expressions, from any text. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prepare();
    char *text = strndup((const char *)data, size);
    RUN("pareto", "small.db", "--where", text);
    RUN("pareto", "small.db", "--min", text);
    free(text);
    return 0;
}
