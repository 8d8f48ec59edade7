/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/paradnn.h"

#include <stdlib.h>
#include <string.h>

static const struct ll_paradnn_measured at_hand[] = {
#define LL_MEASURED(layers, nodes, input, output, batch, time_s)                                             \
    {layers, nodes, input, output, batch, time_s},
#include "sim/study/paradnn_measured.def"
#undef LL_MEASURED
};

/* What data calls a platform. */
static const char *const hardware[LL_PARADNN_PLATFORMS] = {
    [LL_PARADNN_TPU2] = "Google TPUv2-8 (4 chips)",
    [LL_PARADNN_V100] = "NVIDIA V100 (ParaDnn)",
};

/* 0 where there is none. */
static uint64_t number_of(const struct ll_measured *row, const char *key)
{
    uint64_t number = 0;
    ll_measured_number(row, key, UINT64_C(1) << LL_DIM_BITS, &number);
    return number;
}

static bool is_of(const struct ll_measured *row, enum ll_paradnn_platform platform)
{
    const char *model = ll_measured_text(row, "model");
    return hardware[platform] && strcmp(row->hardware, hardware[platform]) == 0 && model &&
           strncmp(model, "paradnn_fc", strlen("paradnn_fc")) == 0;
}

const struct ll_paradnn_measured *ll_paradnn_rows(const struct ll_evidence *evidence,
                                                  enum ll_paradnn_platform platform, size_t *count)
{
    *count = 0;
    if (evidence->measured_count == 0) {
        *count = platform == LL_PARADNN_TPU2 ? sizeof at_hand / sizeof *at_hand : 0;
        return at_hand;
    }
    struct ll_paradnn_measured *rows = ll_alloc(evidence->arena, evidence->measured_count, sizeof *rows);
    for (uint64_t i = 0; rows && i < evidence->measured_count; i++) {
        const struct ll_measured *row = &evidence->measured[i];
        if (is_of(row, platform))
            rows[(*count)++] = (struct ll_paradnn_measured){
                number_of(row, "layers"), number_of(row, "nodes"), number_of(row, "input"),
                number_of(row, "output"), number_of(row, "batch"), row->time_s};
    }
    return rows;
}
