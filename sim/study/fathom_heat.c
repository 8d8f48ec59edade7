/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/study/fathom.h"
#include "sim/study/similarity.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The least cosine to the published row: memory networks and translation spend much in what TensorFlow 0.8
 * makes of an attention, so less is asked of them. */
static const double least_cosine[LL_FATHOM_COUNT] = {
    [LL_SEQ2SEQ] = 0.70,  [LL_MEMNET] = 0.70, [LL_SPEECH] = 0.95,  [LL_AUTOENC] = 0.90,
    [LL_RESIDUAL] = 0.95, [LL_VGG] = 0.95,    [LL_ALEXNET] = 0.90, [LL_DEEPQ] = 0.90,
};

struct profiles {
    bool there[LL_FATHOM_COUNT];
    double ours[LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT], published[LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT];
};

/* The paper's groups have all of a convolution in one. */
static enum ll_fathom_class group_of(size_t fathom_class)
{
    bool conv = fathom_class == LL_FATHOM_CONV_FILTER || fathom_class == LL_FATHOM_CONV_INPUT;
    return conv ? LL_FATHOM_CONV : (enum ll_fathom_class)fathom_class;
}

static size_t largest_group(const double *share)
{
    double sums[LL_FATHOM_CLASS_COUNT] = {0};
    size_t best = 0;
    for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++)
        sums[group_of(i)] += share[i];
    for (size_t i = 1; i < LL_FATHOM_CLASS_COUNT; i++)
        best = sums[i] > sums[best] ? i : best;
    return best;
}

static double cosine(const struct profiles *p, size_t row)
{
    return ll_cosine(p->ours[row], p->published[row], LL_FATHOM_CLASS_COUNT);
}

static void tabulate(const struct profiles *p, struct ll_outcome *outcome)
{
    struct ll_outcome_column columns[LL_FATHOM_CLASS_COUNT + 3] = {{"workload", LL_TEXT_COLUMN},
                                                                   {"whose", LL_TEXT_COLUMN}};
    for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++)
        columns[i + 2] = (struct ll_outcome_column){ll_fathom_classes[i], 1};
    columns[LL_FATHOM_CLASS_COUNT + 2] = (struct ll_outcome_column){"cosine", 3};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL,
                                          "Percent of a training step's time by class of op type; conv "
                                          "filter and conv input are the gradients of a convolution.",
                                          columns, sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        for (int ours = 1; ours >= 0; ours--) {
            if (ours && !p->there[row])
                continue;
            ll_put_text(sheet, ll_fathom[row].name);
            ll_put_text(sheet, ours ? "ours" : "paper");
            for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++)
                ll_put_number(sheet, 100 * (ours ? p->ours : p->published)[row][i]);
            ll_put_number(sheet, ours ? cosine(p, row) : NAN);
        }
}

static void tabulate_kinds(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"workload", LL_TEXT_COLUMN},
                                                       {"op kind", LL_TEXT_COLUMN},
                                                       {"class", LL_TEXT_COLUMN},
                                                       {"share (%)", 1}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, "kinds", "Our op kinds with at least 1 % of a step's time.", columns,
                     sizeof columns / sizeof *columns);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_timeline *profile = ll_fathom_profile(evidence, (enum ll_fathom_row)row);
        for (size_t i = 0; profile && i < profile->kind_count; i++) {
            const struct ll_timeline_kind *kind = &profile->kinds[i];
            if (kind->share < 0.01 || kind->kind == LL_OP_COUNT)
                continue;
            ll_put_text(sheet, ll_fathom[row].name);
            ll_put_text(sheet, kind->name);
            ll_put_text(sheet, ll_fathom_classes[ll_fathom_class_of(kind->kind)]);
            ll_put_number(sheet, 100 * kind->share);
        }
    }
}

static void draw(const struct profiles *p, struct ll_outcome *outcome)
{
    double percent[2][LL_FATHOM_COUNT][LL_FATHOM_CLASS_COUNT];
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        for (size_t i = 0; i < LL_FATHOM_CLASS_COUNT; i++) {
            percent[0][row][i] = p->there[row] ? 100 * p->ours[row][i] : NAN;
            percent[1][row][i] = 100 * p->published[row][i];
        }
    static const char *const titles[] = {"measured here", "published"};
    struct ll_svg svg = {
        ll_drawing_new(outcome, NULL, "Share of a training step's time by class of op type, in percent.")};
    const struct ll_page page = {
        "Where the time of a training step goes",
        "Two heat maps of workloads by classes of op types, ours and the published one.",
        2,
        2,
        560,
        340};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < 2; i++)
        ll_draw_heat(&svg, ll_page_panel(&page, i),
                     &(struct ll_heat){.title = titles[i],
                                       .unit = "% of time",
                                       .grey = "not recorded",
                                       .rows = ll_fathom_names,
                                       .row_count = LL_FATHOM_COUNT,
                                       .columns = ll_fathom_classes,
                                       .column_count = LL_FATHOM_CLASS_COUNT,
                                       .values = percent[i][0],
                                       .full = 100});
    ll_svg_close(&svg);
}

static void judge_rows(const struct profiles *p, struct ll_outcome *outcome)
{
    size_t same = 0;
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        if (!p->there[row])
            continue;
        same += largest_group(p->ours[row]) == largest_group(p->published[row]);
        ll_at_least(outcome, (struct ll_measured_value){cosine(p, row), 3, ""}, least_cosine[row],
                    "%s: cosine of our row and the published one", ll_fathom[row].name);
    }
    ll_at_least(outcome, (struct ll_measured_value){(double)same, 0, " of 8"}, 7,
                "workloads whose largest group of op types is the paper's, convolutions being one");
}

/* Claims of the text beside the figure. */
static void judge_text(const struct profiles *p, struct ll_outcome *outcome)
{
    char measured[96];
    double alexnet = 100 * p->ours[LL_ALEXNET][LL_FATHOM_MATMUL],
           vgg = 100 * p->ours[LL_VGG][LL_FATHOM_MATMUL],
           residual = 100 * p->ours[LL_RESIDUAL][LL_FATHOM_MATMUL];
    ll_snprintf(measured, sizeof measured, "%.1f > %.1f > %.1f %%", alexnet, vgg, residual);
    ll_holds(outcome, alexnet > vgg && vgg > residual, measured, "11 > 7 > 1 %",
             "fully connected layers weigh less in younger image networks: alexnet, vgg, residual");
    if (p->there[LL_SPEECH])
        ll_at_least(outcome, (struct ll_measured_value){100 * p->ours[LL_SPEECH][LL_FATHOM_MATMUL], 1, " %"},
                    80, "speech: products of matrices");
    if (p->there[LL_SPEECH]) {
        ll_snprintf(measured, sizeof measured, "%.1f %%", 100 * p->ours[LL_SPEECH][LL_FATHOM_MOVEMENT]);
        ll_inform(outcome, measured, "7 % (Tile), 3 % (another)",
                  "speech: movement of data, its weights being repeated for each utterance as in the suite's "
                  "code");
    }
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct profiles p;
    ll_fathom_published_classes(p.published);
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        p.there[row] = ll_fathom_profile_classes(evidence, (enum ll_fathom_row)row, p.ours[row]);
    tabulate(&p, outcome);
    tabulate_kinds(evidence, outcome);
    draw(&p, outcome);
    judge_rows(&p, outcome);
    judge_text(&p, outcome);
    ll_note(outcome,
            "Ours are times of quiet steps, the tenth in which an op type took least, on one thread. "
            "Published numbers are whole percents and leave out op types below 1 %%; here each row "
            "is divided by its "
            "sum. Speech is the suite's code without recurrence, whose profile the published one is. Seven "
            "columns of the figure cannot be told apart for a missing heading and are "
            "one class here, data "
            "movement.");
}

const struct ll_study ll_study_F3 = {
    .id = "F3",
    .paper = "Fathom, figure 3",
    .title = "Time by op type",
    .doc =
        "The heat map of execution time by op type. Convolutional networks spend it in convolutions, speech "
        "and autoenc in "
        "products of matrices; seq2seq and memnet spread it over element-wise arithmetic and data movement.",
    .plan = ll_fathom_plan_profiles,
    .judge = judge,
};
