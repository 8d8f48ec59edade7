/* SPDX-License-Identifier: Apache-2.0 */
/* What a point of a sweep pays before anything is simulated: a machine read and overridden, or turned. */
#include "tests/bench/bench.h"
#include "sim/machine/machine.h"

#include <string.h>

static const char text[] =
    "name: Toy\n"
    "clock: 1GHz\n"
    "units:\n"
    "  - {name: array, model: systolic, rows: 8, cols: 16, macs: {bf16: 1}, runs: [matmul, conv]}\n"
    "  - {name: simd, model: vector, lanes: 16, flops: {f32: 2}}\n"
    "memory:\n"
    "  - {name: sram, size: 1MiB, bandwidth: 64B/cycle, scope: unit}\n"
    "  - {name: ram, size: 1GiB, bandwidth: 10GB/s, latency: 100ns}\n";

static struct ll_machine *parse(const struct ll_override *overrides, size_t count)
{
    struct ll_diags diags = {0};
    struct ll_machine *machine =
        ll_machine_parse(text, sizeof text - 1, "toy.yaml", NULL, overrides, count, &diags);
    ll_diags_release(&diags);
    return machine;
}

static void read_plain(void *context)
{
    (void)context;
    ll_machine_free(parse(NULL, 0));
}

static void read_overridden(void *context)
{
    static const struct ll_override overrides[] = {{"array.rows", "128"}, {"memory.ram.bandwidth", "1TB/s"}};
    (void)context;
    ll_machine_free(parse(overrides, 2));
}

static void turn(void *context)
{
    ll_machine_free(ll_machine_turn(context, 0));
}

static void write_yaml(void *context)
{
    struct ll_str out = {0};
    ll_machine_yaml(context, &out);
    ll_str_release(&out);
}

int main(void)
{
    struct ll_machine *machine = parse(NULL, 0);
    ll_bench("machine: read", read_plain, NULL, 1, sizeof text - 1);
    ll_bench("machine: read with two overrides", read_overridden, NULL, 1, 0);
    ll_bench("machine: turn a knob", turn, machine, 1, 0);
    ll_bench("machine: write as YAML", write_yaml, machine, 1, 0);
    ll_machine_free(machine);
    return 0;
}
