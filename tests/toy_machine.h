/* SPDX-License-Identifier: Apache-2.0 */
/* A machine of a few lines for tests, and reading texts without ceremony. */
#ifndef LL_TESTS_TOY_MACHINE_H
#define LL_TESTS_TOY_MACHINE_H

#include "sim/machine/machine.h"

#include <stdio.h>
#include <string.h>

#define LL_TOY_MACHINE                                                                                       \
    "name: Toy\n"                                                                                            \
    "clock: 1GHz\n"                                                                                          \
    "units:\n"                                                                                               \
    "  - {name: array, model: systolic, rows: 8, cols: 16, macs: {bf16: 1, int8: 2}, runs: [matmul, "        \
    "conv]}\n"                                                                                               \
    "  - {name: simd, model: vector, lanes: 16, flops: {f32: 2}}\n"                                          \
    "memory:\n"                                                                                              \
    "  - {name: sram, size: 1MiB, bandwidth: 64B/cycle, scope: unit}\n"                                      \
    "  - {name: ram, size: 1GiB, bandwidth: 10GB/s, latency: 100ns}\n"

/* Reads a text; `inherits` finds the machines of hwconfigs/. */
static inline struct ll_machine *ll_toy_parse(const char *text, const struct ll_override *overrides,
                                              size_t override_count, struct ll_diags *diags)
{
    static const char *const folders[] = {"hwconfigs", NULL};
    return ll_machine_parse(text, strlen(text), "toy.yaml", folders, overrides, override_count, diags);
}

/* The machine of a text that must be right: complaints are shown. */
static inline struct ll_machine *ll_toy_machine(const char *text)
{
    struct ll_diags diags = {0};
    struct ll_machine *machine = ll_toy_parse(text, NULL, 0, &diags);
    for (size_t i = 0; i < diags.kept_count; i++)
        printf("%llu:%llu: %s\n", (unsigned long long)diags.kept[i].place.line,
               (unsigned long long)diags.kept[i].place.column, diags.kept[i].message);
    ll_diags_release(&diags);
    return machine;
}

/* The toy on top of parts of hwconfigs/: `technology/n16, technology/simt_n16`. */
static inline struct ll_machine *ll_toy_inheriting(const char *inherited)
{
    char text[1024];
    snprintf(text, sizeof text, "inherits: [%s]\n" LL_TOY_MACHINE, inherited);
    return ll_toy_machine(text);
}

#endif
