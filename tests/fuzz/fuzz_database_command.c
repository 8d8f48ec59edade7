/* SPDX-License-Identifier: Apache-2.0 */
/* A sweep's database from any bytes: shown, drawn, and joined with a sound one. */
#include "command.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    prepare();
    put_file("in.db", data, size);
    unlink("joined.db");
    RUN("merge", "in.db", "small.db", "-o", "joined.db");
    if (RUN("pareto", "in.db", "--json") != 0)
        return 0;
    RUN("pareto", "in.db", "--html", "out.html");
    RUN("pareto", "in.db", "--weights", "--csv", "--log");
    RUN("pareto", "in.db", "--figure", "out.svg", "--kind", "parallel");
    RUN("pareto", "in.db", "--figure", "out.svg", "--kind", "sensitivity");
    return 0;
}
