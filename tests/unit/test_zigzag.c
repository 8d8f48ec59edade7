/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of two accelerators as ZigZag (Mei et al., IEEE Transactions on Computers, 2021) has them in the
 * regression tests of its repository, for ResNet-18 of batch 1 in int8: 3,703,960 on its tpu_like, 2,887,804
 * on its edge_tpu. Their machines, by hand; the network is that of its tests, imported. ZigZag counts what
 * begins and ends each layer, this program what vectors take between: within 2 %. */
#include "check.h"
#include "scene.h"

#include "tracer/format/reader.h"
#include "tracer/transform/dtype.h"

#define SIMD                                                                                                 \
    "  - {name: simd, model: vector, lanes: 1024, flops: {int8: 1, i16: 1, i32: 1, f32: 1, bool: 1}}\n"
#define BEHIND                                                                                               \
    "  - {name: sram, size: 2MiB, read_bandwidth: 256B/cycle, write_bandwidth: 256B/cycle, "                 \
    "holds: [input, output]}\n"                                                                              \
    "  - {name: dram, size: 1250MB, bandwidth: 8B/cycle}\n"
#define ARRAY(unroll)                                                                                        \
    "  - {name: array, model: spatial, elements: 1024, unroll: [" unroll                                     \
    "], dataflow: ws, macs: {int8: 1}, sum_bytes: 2, runs: [matrix, conv]}\n"

static void accelerators_take_the_cycles_that_zigzag_counts(void **state)
{
    static const struct {
        const char *yaml;
        double cycles;
    } rows[] = {
        {"name: tpu_like\nclock: 1GHz\nunits:\n" ARRAY("K32 C32") SIMD "memory:\n" BEHIND, 3703960},
        {"name: edge_tpu\nclock: 1GHz\nunits:\n" ARRAY("K8 C8 OX4 OY4") SIMD
         "memory:\n  - {name: wsram, size: 32KiB, read_bandwidth: 64B/cycle, write_bandwidth: 64B/cycle, "
         "holds: [weight]}\n" BEHIND,
         2887804},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ll_diags diags = {0};
        enum ll_status status = LL_OK;
        const char *trouble = NULL;
        struct ll_trace *trace = ll_trace_read("tests/peers/zigzag_resnet18.llt", &diags, &status);
        assert_non_null(trace);
        assert_true(ll_trace_change_dtype(trace, LL_INT8, &trouble));
        struct scene scene = open_scene(trace, rows[i].yaml);
        play(&scene);
        assert_non_null(scene.result);
        assert_near(scene.result->time_s * 1e9, rows[i].cycles, 0.02);
        close_scene(&scene);
        ll_diags_release(&diags);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accelerators_take_the_cycles_that_zigzag_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
