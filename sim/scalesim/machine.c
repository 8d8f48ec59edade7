/* SPDX-License-Identifier: Apache-2.0 */
/* The same hardware in our words. SCALE-Sim's three buffers become one memory, which gives and takes what the
 * array can ask for in a cycle; its three private channels become one of three times the bandwidth. In CALC
 * mode the memory outside is as fast as the array, so that nothing waits for it. One element is one byte
 * (int8), one cycle a nanosecond. What is no product would run on lanes as many as the array has columns. */
#include "sim/scalesim/scalesim.h"

#include "tracer/base/num.h"

#include <inttypes.h>

#define MOST_Bpc UINT64_C(1000000000) /* the fastest memory of a machine: 1e18 B/s */

void ll_scalesim_machine_yaml(const struct ll_scalesim_config *config, bool overlap, struct ll_str *out)
{
    static const char *const dataflows[] = {"os", "ws", "is"};
    const uint64_t *kB = config->buffer_kB;
    uint64_t array_Bpc = config->rows + 2 * config->columns;
    uint64_t channel_Bpc = config->user_bandwidth ? ll_min(3 * config->words_per_cycle, MOST_Bpc) : array_Bpc;
    ll_str_add(out, "name: from a SCALE-Sim configuration\nkind: systolic\nclock: 1GHz\n");
    ll_str_addf(out,
                "units:\n  - {name: array, model: systolic, count: 1, rows: %" PRIu64 ", cols: %" PRIu64
                ", dataflow: %s, overlap_folds: %s, macs: {int8: 1}, runs: [matrix, conv]}\n",
                config->rows, config->columns, dataflows[config->dataflow], overlap ? "true" : "false");
    ll_str_addf(out, "  - {name: lanes, model: vector, lanes: %" PRIu64 ", flops: {f32: 1}}\n",
                config->columns);
    ll_str_addf(out,
                "memory:\n  - {name: sram, size: %" PRIu64 "KiB, bandwidth: %" PRIu64 "B/cycle}\n"
                "  - {name: dram, size: 64TiB, bandwidth: %" PRIu64 "B/cycle}\n",
                kB[LL_SCALESIM_IFMAP] + kB[LL_SCALESIM_FILTER] + kB[LL_SCALESIM_OFMAP], array_Bpc,
                channel_Bpc);
}

struct ll_work ll_scalesim_work(const struct ll_scalesim_layer *layer, const struct ll_scalesim_folds *folds)
{
    struct ll_work work = {
        .kind = LL_WORK_CONV,
        .dtype = LL_INT8,
        .flops = ll_mul(2, ll_mul(ll_mul(folds->m, folds->n), folds->k)),
        .a_bytes = ll_mul(ll_mul(layer->in_h, layer->in_w), layer->channels),
        .b_bytes = ll_mul(folds->k, folds->n),
        .c_bytes = ll_mul(folds->m, folds->n),
    };
    work.conv = (struct ll_conv){
        .batch = 1,
        .in_h = layer->in_h,
        .in_w = layer->in_w,
        .in_c = layer->channels,
        .out_h = folds->out_h,
        .out_w = folds->out_w,
        .out_c = folds->n,
        .kernel_h = layer->filter_h,
        .kernel_w = layer->filter_w,
        .stride_h = layer->stride_h,
        .stride_w = layer->stride_w,
        .groups = 1,
        .pass = LL_CONV_FORWARD,
    };
    return work;
}
