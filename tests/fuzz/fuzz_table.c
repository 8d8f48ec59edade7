/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a table of measured kernels of a machine named fuzz: refused with a complaint, or a table that
 * says something finite of every one of its rows. */
#include "sim/cost/cost.h"
#include "sim/validate/table.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char machine_text[] =
    "name: fuzz\nclock: 1GHz\n"
    "units:\n"
    "  - {name: array, model: systolic, rows: 8, cols: 8, macs: {f32: 1}, runs: [matmul, conv]}\n"
    "  - {name: lanes, model: vector, lanes: 16, flops: {f32: 2}}\n"
    "memory:\n"
    "  - {name: sram, size: 4MiB, bandwidth: 512B/cycle, scope: unit}\n"
    "  - {name: hbm, size: 16GiB, bandwidth: 900GB/s, latency: 120ns}\n";

/* Each row's own shape stands in the table. */
static void ask(const struct ll_machine *machine, const struct ll_machine *on, const struct ll_measured *rows,
                size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct ll_kernel_point point;
        if (ll_measured_point(&rows[i], on, &point))
            abort();
        const struct ll_kernel_ratio of = ll_kernel_table_ask(machine, point.kind, &point.work);
        if (!(of.ratio > 0) || isinf(of.ratio) || of.origin != LL_TIME_MEASURED)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const no_folders[] = {NULL};
    struct ll_diags *diags = calloc(1, sizeof *diags);
    struct ll_arena arena = {0};
    struct ll_machine *machine = diags ? ll_machine_parse(machine_text, sizeof machine_text - 1, "fuzz.yaml",
                                                          no_folders, NULL, 0, diags)
                                       : NULL;
    size_t count = 0;
    if (!machine)
        abort();
    const struct ll_measured *rows =
        ll_measured_read((const char *)data, size, "fuzz.csv", &arena, diags, &count);
    const struct ll_kernel_table *table =
        rows ? ll_measured_table(rows, count, "fuzz.csv", machine, NULL, &arena, diags) : NULL;
    if (!table == !diags->count)
        abort();
    struct ll_machine with = *machine;
    with.table = table;
    if (table)
        ask(&with, machine, rows, count);
    ll_machine_free(machine);
    ll_arena_release(&arena);
    ll_diags_release(diags);
    free(diags);
    return 0;
}
