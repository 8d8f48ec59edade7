/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an ELF file that is read whole. */
#include "tracer/record/elf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_symbols(const struct ll_elf_symbol *symbols, size_t count, size_t size)
{
    if (count > size)
        abort();
    for (size_t i = 0; i < count; i++)
        if (strlen(symbols[i].name) > size)
            abort();
}

static void check(const struct ll_elf *elf, size_t size)
{
    check_symbols(elf->symbols, elf->symbol_count, size);
    check_symbols(elf->functions, elf->function_count, size);
    if (elf->build_id && strspn(elf->build_id, "0123456789abcdef") != strlen(elf->build_id))
        abort();
    for (size_t i = 0; i < elf->needed_count; i++)
        if (strlen(elf->needed[i]) > size)
            abort();
    ll_elf_find(elf, "cblas_dgemm");
    ll_elf_find_function(elf, "cblas_dgemm");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct ll_arena arena = {0};
    const struct ll_elf *elf = ll_elf_read_bytes(&arena, bytes, size);
    if (elf)
        check(elf, size);
    ll_arena_release(&arena);
    return 0;
}
