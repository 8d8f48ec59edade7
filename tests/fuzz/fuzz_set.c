/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as --set path=value on a machine that has one of everything. */
#include "sim/machine/machine.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char machine_text[] =
    "name: fuzz\nclock: 1GHz\n"
    "units:\n"
    "  - {name: array, model: systolic, count: 2, rows: 8, cols: 8, dataflow: ws, macs: {f32: 1}, runs: "
    "[matmul]}\n"
    "  - {name: cores, model: matrix, count: 2, tiles: [16x16x16], macs: {f32: 64}, runs: [conv]}\n"
    "  - {name: lanes, model: vector, count: 1, lanes: 16, flops: {f32: 2}}\n"
    "memory:\n"
    "  - {name: sram, size: 4MiB, bandwidth: 512B/cycle, scope: unit}\n"
    "  - {name: hbm, size: 16GiB, bandwidth: 900GB/s, latency: 120ns}\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const no_folders[] = {NULL};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    char *path = malloc(size + 1);
    if (diags && path) {
        if (size)
            memcpy(path, data, size);
        path[size] = '\0';
        char *equals = strchr(path, '=');
        if (equals)
            *equals = '\0';
        struct ll_override override = {path, equals ? equals + 1 : ""};
        struct ll_machine *machine = ll_machine_parse(machine_text, sizeof machine_text - 1, "fuzz.yaml",
                                                      no_folders, &override, 1, diags);
        if (!machine == !diags->count)
            abort();
        ll_machine_free(machine);
        ll_diags_release(diags);
    }
    free(diags);
    free(path);
    return 0;
}
