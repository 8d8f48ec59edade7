/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/paradnn.h"

#define LL_FAMILY(word, name, doc, model, key, value, ...)                                                   \
    [LL_PARADNN_##word] = {name, doc, model, {{key, value}}, {__VA_ARGS__}},
#define AXIS(name, ...) {name, __VA_ARGS__},

const struct ll_family ll_paradnn_families[] = {
#define ALL(...)                                                                                             \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define SOME(...)
#include "sim/study/paradnn_families.def"
#undef ALL
#undef SOME
};

const struct ll_family ll_paradnn_parts[] = {
#define ALL(...)
#define SOME(...)                                                                                            \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#include "sim/study/paradnn_families.def"
#undef ALL
#undef SOME
};
#undef LL_FAMILY
#undef AXIS

#define LL_TPU_CORES(machine_name, type, times, cores)                                                       \
    .machine = (machine_name), .dtype = (type), .devices = (cores), .batches = (times)
#define LL_TPU(machine_name, type, times) LL_TPU_CORES(machine_name, type, times, 8)
const struct ll_platform ll_paradnn_platforms[LL_PARADNN_PLATFORMS] = {
    [LL_PARADNN_TPU2] = {"TPU v2", LL_TPU("tpu_v2_paradnn", "bf16", 1)},
    [LL_PARADNN_V100] = {"V100", "v100_paradnn", .dtype = "f16", .devices = 1, .batches = 1},
    [LL_PARADNN_CPU] = {"Skylake", "n1_standard_32", .dtype = "f32", .devices = 1, .batches = 1},
    [LL_PARADNN_TPU3] = {"TPU v3", LL_TPU("tpu_v3_paradnn", "bf16", 1)},
    [LL_PARADNN_TPU3_TWICE] = {"TPU v3, twice the batch", LL_TPU("tpu_v3_paradnn", "bf16", 2)},
    [LL_PARADNN_TPU2_F32] = {"TPU v2 in f32", LL_TPU("tpu_v2_paradnn", "f32", 1)},
    [LL_PARADNN_TPU2_CORE] = {"TPU v2 core", LL_TPU_CORES("tpu_v2_paradnn", "bf16", 1, 1)},
};
#undef LL_TPU
#undef LL_TPU_CORES

void ll_paradnn_plan(struct ll_study_plan *plan, enum ll_paradnn_family family)
{
    const struct ll_family *families = plan->whole ? ll_paradnn_families : ll_paradnn_parts;
    ll_study_plan_survey(plan,
                         &(struct ll_survey){&families[family], ll_paradnn_platforms, LL_PARADNN_PLATFORMS});
}

void ll_paradnn_plan_main(struct ll_study_plan *plan)
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
