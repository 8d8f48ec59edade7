/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file whose build id is asked for. */
#include "tracer/elf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct ll_arena arena = {0};
    const char *id = ll_elf_build_id_of(&arena, bytes, size);
    if (id && strspn(id, "0123456789abcdef") != strlen(id))
        abort();
    ll_arena_release(&arena);
    return 0;
}
