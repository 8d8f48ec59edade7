/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/tbd.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DIMS = 3 };

/* Table III, and what of it a network's input shows: dimensions of one sample, 0 for any, or the words that a
 * table of embeddings has beside those that are none. */
static const struct {
    enum ll_tbd_row row;
    const char *dataset, *samples, *size, *special;
    uint64_t dims[MOST_DIMS]; /* of the first input, without the batch; ended by 0 */
    const char *shown;        /* how that follows from the size */
} printed[] = {
    {LL_TBD_RESNET, "ImageNet1K", "1.2 million", "3x256x256", "images", {224, 224, 3}, "cropped"},
    {LL_TBD_INCEPTION, "ImageNet1K", "1.2 million", "3x256x256", "images", {299, 299, 3}, "resized"},
    {LL_TBD_NMT, "IWSLT15", "133,000", "20-30 words", "17,188 words", {0}, ""},
    {LL_TBD_SOCKEYE, "IWSLT15", "133,000", "20-30 words", "17,188 words", {0}, ""},
    {LL_TBD_TRANSFORMER, "WMT-14", "4.5 million", "up to 50 words", "37,000 words", {0}, ""},
    {LL_TBD_FASTER_RCNN,
     "Pascal VOC 2007",
     "5,011",
     "about 500x350",
     "12,608 objects",
     {600, 1000, 3},
     "resized"},
    {LL_TBD_DEEP_SPEECH, "LibriSpeech", "280,000", "1000 hours", "100 hours used", {0}, ""},
    {LL_TBD_WGAN, "Downsampled ImageNet", "1.2 million", "3x64x64", "images", {64, 64, 3}, "as it is"},
    {LL_TBD_A3C, "Atari 2600", "a game", "4x84x84", "frames", {84, 84, 4}, "as it is"},
};
enum { ROWS = sizeof printed / sizeof *printed };

/* Rows of a table of embeddings: the words of IWSLT's vocabulary and TensorFlow's three, to which our data
 * adds none. */
static const uint64_t translator_words = 17191, plain_words = 17188;

static void plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < ROWS; i++)
        ll_tbd_plan_batch(plan, printed[i].row, ll_tbd[printed[i].row].batches[0]);
}

static const struct ll_shape *first_input(const struct ll_trace *trace)
{
    for (uint32_t i = 0; i < trace->op_count; i++) {
        const struct ll_form *form = &trace->forms[trace->ops[i].form];
        if (form->view.kind == LL_OP_HOST_INPUT && form->view.out[0].rank == MOST_DIMS + 1)
            return &form->view.out[0];
    }
    return NULL;
}

/* Whether a weight has so many rows. */
static bool has_table(const struct ll_trace *trace, uint64_t rows)
{
    for (uint64_t i = 0; i < trace->desc_count; i++)
        if (trace->descs[i].memory == LL_WEIGHT && trace->descs[i].shape.rank == 2 &&
            trace->descs[i].shape.dim[0] == rows)
            return true;
    return false;
}

static void judge_input(size_t i, const struct ll_trace *trace, struct ll_outcome *outcome)
{
    const struct ll_shape *shape = first_input(trace);
    const uint64_t *dims = printed[i].dims;
    char measured[64] = "none", wanted[64];
    bool same = shape != NULL;
    if (shape)
        snprintf(measured, sizeof measured, "%dx%dx%d", (int)shape->dim[1], (int)shape->dim[2],
                 (int)shape->dim[3]);
    snprintf(wanted, sizeof wanted, "%dx%dx%d", (int)dims[0], (int)dims[1], (int)dims[2]);
    for (size_t d = 0; d < MOST_DIMS && same; d++)
        same = shape->dim[d + 1] == dims[d];
    ll_holds(outcome, same, measured, wanted, "%s: a sample's size, %s %s", ll_tbd[printed[i].row].name,
             printed[i].size, printed[i].shown);
}

/* The words that a table of embeddings has most of. */
static void inform_vocabulary(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    const struct ll_trace *trace =
        ll_tbd_trace(evidence, LL_TBD_TRANSFORMER, ll_tbd[LL_TBD_TRANSFORMER].batches[0]);
    uint64_t rows = 0;
    char text[32];
    for (uint64_t i = 0; trace && i < trace->desc_count; i++)
        if (trace->descs[i].memory == LL_WEIGHT && trace->descs[i].shape.rank == 2)
            rows = ll_max(rows, trace->descs[i].shape.dim[0]);
    snprintf(text, sizeof text, "%d", (int)rows);
    if (trace)
        ll_inform(outcome, text, "37000",
                  "Transformer: words of the vocabulary (the suite's code builds fewer)");
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                       {"dataset", LL_TEXT_COLUMN},
                                                       {"samples", LL_TEXT_COLUMN},
                                                       {"size", LL_TEXT_COLUMN},
                                                       {"special", LL_TEXT_COLUMN}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL, "The data sets as the paper lists them.", columns,
                                          sizeof columns / sizeof *columns);
    for (size_t i = 0; i < ROWS; i++) {
        const struct ll_tbd_workload *workload = &ll_tbd[printed[i].row];
        char variant[32];
        const char *texts[] = {workload->name, printed[i].dataset, printed[i].samples, printed[i].size,
                               printed[i].special};
        for (size_t c = 0; c < sizeof texts / sizeof *texts; c++)
            ll_put_text(sheet, texts[c]);
        snprintf(variant, sizeof variant, "batch %d", (int)workload->batches[0]);
        const struct ll_trace *trace = ll_evidence_trace(evidence, workload->name, variant);
        if (trace && printed[i].dims[0])
            judge_input(i, trace, outcome);
        if (trace && workload->style == LL_TBD_RECURRENT && printed[i].row != LL_TBD_DEEP_SPEECH)
            ll_holds(outcome, has_table(trace, translator_words) || has_table(trace, plain_words),
                     "a table of embeddings", "of 17188 words and what is none",
                     "%s: reads the words of IWSLT15's vocabulary", workload->name);
    }
    inform_vocabulary(evidence, outcome);
    ll_note(outcome,
            "The data itself is made up here, of the sizes of the data sets' samples; models that can "
            "read real data say so (leadline models NAME).");
}

const struct ll_study ll_study_TT3 = {
    .id = "T-T3",
    .paper = "TBD, table III",
    .title = "The data sets",
    .doc = "Number, size and peculiarities of the samples that the workloads are trained on.",
    .plan = plan,
    .judge = judge,
};
