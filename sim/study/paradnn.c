/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/paradnn.h"

/* Where the paper's table and its scripts disagree, the scripts' numbers of filters stand here (the table's
 * "max 6" is a misprint), else the table's. */
#define LL_FAMILIES(dense, convolutional, recurrent)                                                         \
    {                                                                                                        \
        [LL_PARADNN_FC] = {"fc", "fully connected", "paradnn_fc", .axes = dense},                            \
        [LL_PARADNN_BOTTLENECK] = {"bottleneck",                                                             \
                                   "CNN, bottlenecks",                                                       \
                                   "paradnn_cnn",                                                            \
                                   {{"block", "bottleneck"}},                                                \
                                   .axes = convolutional},                                                   \
        [LL_PARADNN_RESIDUAL] = {"residual",                                                                 \
                                 "CNN, residual",                                                            \
                                 "paradnn_cnn",                                                              \
                                 {{"block", "residual"}},                                                    \
                                 .axes = convolutional},                                                     \
        [LL_PARADNN_RNN] = {"rnn", "RNN", "paradnn_rnn", {{"cell", "rnn"}}, .axes = recurrent},              \
        [LL_PARADNN_LSTM] = {"lstm", "LSTM", "paradnn_rnn", {{"cell", "lstm"}}, .axes = recurrent},          \
        [LL_PARADNN_GRU] = {"gru", "GRU", "paradnn_rnn", {{"cell", "gru"}}, .axes = recurrent},              \
    }
#define LL_DENSE                                                                                             \
    {                                                                                                        \
        {"layers", {4, 8, 16, 32, 64, 128}}, {"nodes", {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}},     \
            {"input", {2000, 4000, 6000, 8000}}, {"output", {200, 400, 600, 800, 1000}},                     \
        {                                                                                                    \
            "batch",                                                                                         \
            {                                                                                                \
                64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384                                             \
            }                                                                                                \
        }                                                                                                    \
    }
#define LL_CONVOLUTIONAL                                                                                     \
    {                                                                                                        \
        {"blocks", {1, 2, 3, 4, 5, 6, 7, 8}}, {"filters", {16, 32, 64}}, {"image", {200, 250, 300}},         \
            {"output", {500, 1000, 1500}},                                                                   \
        {                                                                                                    \
            "batch",                                                                                         \
            {                                                                                                \
                64, 128, 256, 512, 1024                                                                      \
            }                                                                                                \
        }                                                                                                    \
    }
#define LL_RECURRENT                                                                                         \
    {                                                                                                        \
        {"layers", {1, 5, 9, 13}}, {"embed", {100, 500, 900}}, {"length", {10, 50, 90}},                     \
            {"vocab", {2, 8, 32, 128, 512}},                                                                 \
        {                                                                                                    \
            "batch",                                                                                         \
            {                                                                                                \
                16, 64, 256, 1024                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
const struct ll_family ll_paradnn_families[] = LL_FAMILIES(LL_DENSE, LL_CONVOLUTIONAL, LL_RECURRENT);

#define LL_SOME_DENSE                                                                                        \
    {                                                                                                        \
        {"layers", {4, 16, 64}}, {"nodes", {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192}},                 \
            {"input", {2000, 8000}}, {"output", {200, 1000}},                                                \
        {                                                                                                    \
            "batch",                                                                                         \
            {                                                                                                \
                64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384                                             \
            }                                                                                                \
        }                                                                                                    \
    }
#define LL_SOME_CONVOLUTIONAL                                                                                \
    {                                                                                                        \
        {"blocks", {1, 4, 8}}, {"filters", {16, 32, 64}}, {"image", {200, 300}}, {"output", {500, 1500}},    \
        {                                                                                                    \
            "batch",                                                                                         \
            {                                                                                                \
                64, 256, 1024                                                                                \
            }                                                                                                \
        }                                                                                                    \
    }
#define LL_SOME_RECURRENT                                                                                    \
    {                                                                                                        \
        {"layers", {1, 5}}, {"embed", {100, 500, 900}}, {"length", {10, 50}}, {"vocab", {2, 512}},           \
        {                                                                                                    \
            "batch",                                                                                         \
            {                                                                                                \
                16, 64, 256, 1024                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
const struct ll_family ll_paradnn_parts[] =
    LL_FAMILIES(LL_SOME_DENSE, LL_SOME_CONVOLUTIONAL, LL_SOME_RECURRENT);

#define LL_TPU(machine_name, type, times)                                                                    \
    .machine = (machine_name), .dtype = (type), .devices = 8, .batches = (times), .early = true
const struct ll_platform ll_paradnn_platforms[LL_PARADNN_PLATFORMS] = {
    [LL_PARADNN_TPU2] = {"TPU v2", LL_TPU("tpu_v2_paradnn", "bf16", 1)},
    [LL_PARADNN_V100] = {"V100", "v100_paradnn", .dtype = "f16", .devices = 1, .batches = 1},
    [LL_PARADNN_CPU] = {"Skylake", "n1_standard_32", .dtype = "f32", .devices = 1, .batches = 1},
    [LL_PARADNN_TPU3] = {"TPU v3", LL_TPU("tpu_v3_paradnn", "bf16", 1)},
    [LL_PARADNN_TPU3_TWICE] = {"TPU v3, twice the batch", LL_TPU("tpu_v3_paradnn", "bf16", 2)},
    [LL_PARADNN_TPU2_F32] = {"TPU v2 in f32", LL_TPU("tpu_v2_paradnn", "f32", 1)},
};
#undef LL_TPU

void ll_paradnn_plan(struct ll_plan *plan, enum ll_paradnn_family family)
{
    const struct ll_family *families = plan->whole ? ll_paradnn_families : ll_paradnn_parts;
    ll_plan_survey(plan, &(struct ll_survey){&families[family], ll_paradnn_platforms, LL_PARADNN_PLATFORMS});
}

void ll_paradnn_plan_main(struct ll_plan *plan)
{
    ll_paradnn_plan(plan, LL_PARADNN_FC);
    ll_paradnn_plan(plan, LL_PARADNN_BOTTLENECK);
    ll_paradnn_plan(plan, LL_PARADNN_RNN);
}

const struct ll_survey_result *ll_paradnn_survey(const struct ll_evidence *evidence,
                                                 enum ll_paradnn_family family)
{
    return ll_evidence_survey(evidence, ll_paradnn_families[family].name);
}
