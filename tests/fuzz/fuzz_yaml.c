/* SPDX-License-Identifier: Apache-2.0 */
/* A machine file and one --set from the same bytes: what stands behind the last NUL, when there is one, is
 * "path=value". Whatever is accepted must be written, and be accepted again as the same machine. */
#include "sim/machine/machine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Cuts the override off the end; texts live until the arena is released. */
static size_t split(const uint8_t *data, size_t size, struct ll_arena *arena, struct ll_override *override)
{
    size_t length = size;
    while (length > 0 && data[length - 1] != '\0')
        length--;
    const char *tail = ll_copy_text(arena, (const char *)data + length, size - length);
    const char *equals = length > 0 ? strchr(tail, '=') : NULL;
    if (!equals)
        return size;
    override->path = ll_copy_text(arena, tail, (size_t)(equals - tail));
    override->value = equals + 1;
    return length - 1;
}

static void check_again(const struct ll_machine *machine)
{
    struct ll_str yaml = {0};
    struct ll_diags diags = {0};
    ll_machine_yaml(machine, &yaml);
    struct ll_machine *again = ll_machine_parse(yaml.text, yaml.length, "again.yaml", NULL, NULL, 0, &diags);
    if (!again || again->config_hash != machine->config_hash)
        abort();
    ll_machine_free(again);
    ll_diags_release(&diags);
    ll_str_release(&yaml);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const folders[] = {NULL};
    struct ll_arena arena = {0};
    struct ll_diags diags = {0};
    struct ll_override override = {0};
    size_t length = split(data, size, &arena, &override);
    struct ll_machine *machine = ll_machine_parse((const char *)data, length, "fuzz.yaml", folders, &override,
                                                  override.path != NULL, &diags);
    if ((machine != NULL) != (diags.count == 0))
        abort();
    if (machine)
        check_again(machine);
    ll_machine_free(machine);
    ll_diags_release(&diags);
    ll_arena_release(&arena);
    return 0;
}
