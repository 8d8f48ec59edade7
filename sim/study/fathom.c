/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/fathom.h"

#include <string.h>

enum { COLD_STEPS = 1 };

/* clang-format off */
/* seq2seq has sentences of up to 40 and 50 words, the longest of its four lengths, which take most of the
 * time when all are trained. The published profile of speech is of the suite's code, which repeats its
 * weights for each utterance and has no recurrence: so are ours. The replay memory of deepq is beside the
 * step. */
const struct ll_fathom_workload ll_fathom[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = {"seq2seq", "seq2seq", 64, 8, 12, 8,
                    {{"bucket", "4"}}, {{"bucket", "4"}}, {{"bucket", "1"}, {"vocabulary", "4000"}}},
    [LL_MEMNET] = {"memnet", "memnet", 32, 32, 400, 32, {{0}}, {{0}}, {{0}}},
    [LL_SPEECH] = {"speech", "speech", 32, 32, 4, 2,
                   {{"tile", "1"}, {"recurrent", "0"}}, {{"tile", "1"}, {"recurrent", "0"}, {"frames", "100"}}, {{"frames", "40"}, {"hidden", "256"}}},
    [LL_AUTOENC] = {"autoenc", "autoenc", 128, 128, 200, 128, {{0}}, {{0}}, {{0}}},
    [LL_RESIDUAL] = {"residual", "residual_code", 16, 4, 4, 1, {{0}}, {{0}}, {{"image", "56"}}},
    [LL_VGG] = {"vgg", "vgg_code", 8, 8, 4, 1, {{0}}, {{0}}, {{"image", "64"}, {"hidden", "1024"}}},
    [LL_ALEXNET] = {"alexnet", "alexnet", 64, 64, 4, 1, {{0}}, {{0}}, {{"hidden", "1024"}}},
    [LL_DEEPQ] = {"deepq", "deepq", 32, 32, 40, 32,
                  {{"replay", "10000"}}, {{"replay", "10000"}}, {{"replay", "10000"}}},
};
/* clang-format on */

const char *const ll_fathom_names[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = "seq2seq",   [LL_MEMNET] = "memnet", [LL_SPEECH] = "speech",   [LL_AUTOENC] = "autoenc",
    [LL_RESIDUAL] = "residual", [LL_VGG] = "vgg",       [LL_ALEXNET] = "alexnet", [LL_DEEPQ] = "deepq",
};

const char *const ll_fathom_classes[LL_FATHOM_CLASS_COUNT] = {
#define X(word, name) name,
    LL_FATHOM_CLASS_LIST(X)
#undef X
};

/* Classes of the op table in those of the figure. */
static const enum ll_fathom_class of_class[LL_CLASS_COUNT] = {
    [LL_CLASS_MATRIX] = LL_FATHOM_MATMUL,           [LL_CLASS_CONV] = LL_FATHOM_CONV,
    [LL_CLASS_ELEMENTWISE] = LL_FATHOM_ELEMENTWISE, [LL_CLASS_REDUCTION] = LL_FATHOM_REDUCTION,
    [LL_CLASS_RANDOM] = LL_FATHOM_RANDOM,           [LL_CLASS_OPTIMIZATION] = LL_FATHOM_OPTIMIZER,
    [LL_CLASS_MOVEMENT] = LL_FATHOM_MOVEMENT,       [LL_CLASS_COMMUNICATION] = LL_FATHOM_MOVEMENT,
    [LL_CLASS_INPUT] = LL_FATHOM_MOVEMENT,
};

/* Kinds that the figure has elsewhere than their class. */
static const struct {
    enum ll_op_kind kind;
    enum ll_fathom_class fathom_class;
} exceptions[] = {
    {LL_OP_CONV2D_FILTER, LL_FATHOM_CONV_FILTER},
    {LL_OP_CONV2D_DATA, LL_FATHOM_CONV_INPUT},
    {LL_OP_TILE, LL_FATHOM_MOVEMENT},
};

enum ll_fathom_class ll_fathom_class_of(enum ll_op_kind kind)
{
    for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
        if (exceptions[i].kind == kind)
            return exceptions[i].fathom_class;
    return of_class[ll_op_class(kind)];
}

void ll_fathom_plan_profiles(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_FATHOM_COUNT; i++) {
        struct ll_recording recording = {.row = ll_fathom[i].name,
                                         .variant = "train",
                                         .model = ll_fathom[i].model,
                                         .train = true,
                                         .batch = ll_fathom[i].profile_batch,
                                         .steps = ll_fathom[i].profile_steps,
                                         .threads = 1};
        memcpy(recording.settings, ll_fathom[i].profile, sizeof recording.settings);
        ll_study_plan_recording(plan, &recording);
    }
}

const struct ll_timeline *ll_fathom_profile(const struct ll_evidence *evidence, enum ll_fathom_row row)
{
    const struct ll_trace *trace = ll_evidence_trace(evidence, ll_fathom[row].name, "train");
    return trace ? ll_timeline(trace, COLD_STEPS, evidence->arena) : NULL;
}

bool ll_fathom_profile_classes(const struct ll_evidence *evidence, enum ll_fathom_row row,
                               double share[LL_FATHOM_CLASS_COUNT])
{
    const struct ll_timeline *profile = ll_fathom_profile(evidence, row);
    memset(share, 0, LL_FATHOM_CLASS_COUNT * sizeof *share);
    for (size_t i = 0; profile && i < profile->kind_count; i++)
        if (profile->kinds[i].kind != LL_OP_COUNT)
            share[ll_fathom_class_of(profile->kinds[i].kind)] += profile->kinds[i].share;
    return profile != NULL;
}
