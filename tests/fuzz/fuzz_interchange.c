/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file of each tool whose machines are read, alone and twice: a machine file, or complaints.
 * What is written must be readable as YAML. */
#include "sim/interchange/interchange.h"
#include "sim/machine/node.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool holds)
{
    if (!holds)
        abort();
}

static void import(const struct ll_peer_format *format, const char *text, size_t size, size_t count)
{
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_arena arena = {0};
    struct ll_str yaml = {0};
    struct ll_left_list left = {NULL, NULL, 0, 0};
    const struct ll_peer_file files[] = {{"fuzz.yaml", text, size}, {"core.yaml", text, size}};
    const struct ll_peer_import from = {.files = files, .count = count, .closed = true};
    if (diags && ll_peer_import(format, &from, &arena, &yaml, &left, diags))
        expect(ll_node_parse(&arena, yaml.text, yaml.length, "imported.yaml", diags) != NULL);
    else if (diags)
        expect(diags->count > 0);
    ll_str_release(&yaml);
    ll_arena_release(&arena);
    if (diags)
        ll_diags_release(diags);
    free(diags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ll_arena arena = {0};
    const char *text = ll_copy_text(&arena, (const char *)data, size);
    for (size_t f = 0; text && ll_peer_format_at(f); f++)
        for (size_t count = 1; count <= 2 && count <= ll_peer_format_at(f)->most_files; count++)
            import(ll_peer_format_at(f), text, size, count);
    ll_arena_release(&arena);
    return 0;
}
