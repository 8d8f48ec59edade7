/* SPDX-License-Identifier: Apache-2.0 */
/* The paper's fourteen observations, and which study looks at each. */
#include "sim/study/paradnn.h"

#include <stdio.h>

static const struct {
    const char *observation, *study;
} observations[] = {
    {"TPUs are used best by large batches and wide networks", "P2"},
    {"many networks wait for memory", "P3"},
    {"eight cores are used less well than one", "P4"},
    {"many networks wait for their input", "P5"},
    {"TPU v3 is faster in memory, compute and by its capacity", "P6"},
    {"the largest networks need the memory of a CPU", "P7"},
    {"TPU over GPU grows with the batch", "P8"},
    {"GPU over TPU grows with the network", "P8"},
    {"CNN are made for TPUs", "P10"},
    {"real networks follow their family", "P11"},
    {"RNN of wide cells are faster on GPUs than on TPUs", "P10"},
    {"TPU software has gained much", "not simulated: versions of software"},
    {"bf16 is faster than f32", "P12"},
    {"GPU software has gained, too", "not simulated: versions of software"},
};

static void plan(struct ll_study_plan *plan)
{
    (void)plan;
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"number", 0}, {"observation", LL_TEXT_COLUMN}, {"study", LL_TEXT_COLUMN}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL, "Observations, in the paper's order.", columns, 3);
    char text[32];
    int looked_at = 0;
    (void)evidence;
    for (size_t i = 0; i < sizeof observations / sizeof *observations; i++) {
        ll_put_number(sheet, (double)i + 1);
        ll_put_text(sheet, observations[i].observation);
        ll_put_text(sheet, observations[i].study);
        looked_at += ll_study_find(observations[i].study) != NULL;
    }
    snprintf(text, sizeof text, "%d", looked_at);
    ll_inform(outcome, text, "14", "observations that a study looks at");
}

const struct ll_study ll_study_PT1 = {
    .id = "P-T1",
    .paper = "ParaDnn, table 1",
    .title = "Fourteen observations",
    .doc = "What the paper observes, in our words, and where it is judged here.",
    .plan = plan,
    .judge = judge,
};
