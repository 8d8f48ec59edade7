/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from any bytes: refused with a complaint, or in the order of their arrival, with tokens to read
 * and to make. */
#include "sim/serve/request_file.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_diags diags = {0};
    struct ll_arena arena = {0};
    uint64_t count = 0;
    char *bytes = malloc(size + 1);
    if (!bytes)
        return 0;
    if (size > 0)
        memcpy(bytes, data, size);
    bytes[size] = '\0';
    const struct ll_request *all = ll_parse_requests("fuzz.csv", bytes, size, &arena, &count, &diags);
    if (!all != (diags.count > 0) || (all && (count == 0 || all[0].arrival_s != 0)))
        abort();
    for (uint64_t i = 0; i < count; i++)
        if (all[i].input < 1 || all[i].output < 1 || (i > 0 && !(all[i - 1].arrival_s <= all[i].arrival_s)) ||
            (all[i].piece_count > 0 && !all[i].pieces))
            abort();
    free(bytes);
    ll_arena_release(&arena);
    ll_diags_release(&diags);
    return 0;
}
