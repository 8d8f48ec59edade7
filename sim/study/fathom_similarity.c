/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/study/fathom.h"
#include "sim/study/statistics.h"
#include "tracer/base/plain.h"

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

/* A clustering of some of the workloads. */
struct clustering {
    const char *names[LL_FATHOM_COUNT];
    enum ll_fathom_row rows[LL_FATHOM_COUNT];
    size_t count;
    struct ll_merge merges[LL_FATHOM_COUNT - 1];
};

/* The merges of figure 4, recomputed from figure 3's numbers. The paper prints one of the distances, "about
 * 0.4", for the last but one. */
#define ROW(word) (1ul << LL_##word)
static const struct {
    unsigned long members;
    double distance;
} published[LL_FATHOM_COUNT - 1] = {
    {ROW(RESIDUAL) | ROW(VGG), 0.0029},     {ROW(RESIDUAL) | ROW(VGG) | ROW(ALEXNET), 0.0150},
    {ROW(SPEECH) | ROW(AUTOENC), 0.0262},   {ROW(RESIDUAL) | ROW(VGG) | ROW(ALEXNET) | ROW(DEEPQ), 0.0422},
    {ROW(SEQ2SEQ) | ROW(MEMNET), 0.2287},   {ROW(SEQ2SEQ) | ROW(MEMNET) | ROW(SPEECH) | ROW(AUTOENC), 0.4347},
    {(1ul << LL_FATHOM_COUNT) - 1, 0.9218},
};
enum { JUDGED_MERGES = 4 };

/* Batched products of matrices are products: figure 3 has one column for both. */
static enum ll_op_kind coordinate(enum ll_op_kind kind)
{
    return kind == LL_OP_BATCH_MATMUL ? LL_OP_MATMUL : kind;
}

/* The op kinds of all workloads as coordinates. */
static bool measured_clustering(const struct ll_evidence *evidence, struct clustering *ours,
                                double cosines[LL_FATHOM_COUNT][LL_FATHOM_COUNT])
{
    static const size_t size = LL_OP_COUNT;
    double profiles[LL_FATHOM_COUNT][LL_OP_COUNT] = {{0}};
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        const struct ll_timeline *profile = ll_fathom_profile(evidence, (enum ll_fathom_row)row);
        if (!profile)
            continue;
        for (size_t i = 0; i < profile->kind_count; i++)
            if (profile->kinds[i].kind != LL_OP_COUNT)
                profiles[ours->count][coordinate(profile->kinds[i].kind)] += profile->kinds[i].share;
        ours->rows[ours->count] = (enum ll_fathom_row)row;
        ours->names[ours->count++] = ll_fathom[row].name;
    }
    for (size_t a = 0; a < ours->count; a++)
        for (size_t b = 0; b < ours->count; b++)
            cosines[ours->rows[a]][ours->rows[b]] = ll_cosine(profiles[a], profiles[b], size);
    if (ours->count >= 2)
        ll_cluster(profiles[0], ours->count, size, ours->merges);
    return ours->count >= 2;
}

static void published_clustering(struct clustering *theirs)
{
    theirs->count = LL_FATHOM_COUNT;
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++) {
        theirs->rows[row] = (enum ll_fathom_row)row;
        theirs->names[row] = ll_fathom[row].name;
    }
    ll_cluster(ll_fathom_published[0], LL_FATHOM_COUNT, LL_FATHOM_TYPES, theirs->merges);
}

/* Which workloads a merge joins, as bits by row. */
static unsigned long rows_of(const struct clustering *c, size_t merge)
{
    unsigned long members = ll_members(c->merges, c->count, c->count + merge), rows = 0;
    for (size_t i = 0; i < c->count; i++)
        rows |= members >> i & 1 ? 1ul << c->rows[i] : 0;
    return rows;
}

static void names_of(unsigned long rows, struct ll_str *out)
{
    const char *mark = "";
    if (rows == (1ul << LL_FATHOM_COUNT) - 1) {
        ll_str_add(out, "all");
        return;
    }
    for (size_t row = 0; row < LL_FATHOM_COUNT; row++)
        if (rows >> row & 1) {
            ll_str_addf(out, "%s%s", mark, ll_fathom[row].name);
            mark = ", ";
        }
}

static void tabulate_similarity(const struct clustering *c, const char *name, const char *caption,
                                struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"merge", 0}, {"together", LL_TEXT_COLUMN}, {"distance", 4}};
    struct ll_sheet *sheet = ll_sheet_new(outcome, name, caption, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i + 1 < c->count; i++) {
        struct ll_str together = {0};
        names_of(rows_of(c, i), &together);
        ll_put_number(sheet, (double)(i + 1));
        ll_put_text(sheet, together.failed ? "" : together.text);
        ll_put_number(sheet, c->merges[i].distance);
        ll_str_release(&together);
    }
}

static void draw_similarity(const struct clustering *const clusterings[2], struct ll_outcome *outcome)
{
    static const char *const titles[] = {"measured here", "published"};
    struct ll_svg svg = {ll_drawing_new(outcome, NULL,
                                        "Workloads by the cosine distance of their profiles; clusters are "
                                        "joined where their centroids are.")};
    const struct ll_page page = {"Which workloads are alike",
                                 "Two dendrograms of the workloads, ours and that of the published profiles.",
                                 2,
                                 2,
                                 460,
                                 320};
    ll_page_open(&svg, &page);
    for (size_t i = 0; i < 2; i++)
        if (clusterings[i]->count >= 2)
            ll_draw_tree(&svg, ll_page_panel(&page, i),
                         &(struct ll_tree){.title = titles[i],
                                           .x_label = "cosine distance",
                                           .leaves = clusterings[i]->names,
                                           .leaf_count = clusterings[i]->count,
                                           .merges = clusterings[i]->merges,
                                           .x_high = 1});
    ll_svg_close(&svg);
}

static void judge_published(const struct clustering *theirs, struct ll_outcome *outcome)
{
    double worst = 0;
    bool same = true;
    for (size_t i = 0; i + 1 < LL_FATHOM_COUNT; i++) {
        double off = theirs->merges[i].distance - published[i].distance;
        worst = off > worst ? off : -off > worst ? -off : worst;
        same = same && rows_of(theirs, i) == published[i].members;
    }
    ll_holds(outcome, same, same ? "the same" : "another", "the same", "tree of the published profiles");
    ll_at_most(outcome, (struct ll_measured_value){worst, 6, ""}, 1e-4,
               "largest error of its seven distances");
    char text[32];
    ll_snprintf(text, sizeof text, "%.4f", theirs->merges[LL_FATHOM_COUNT - 3].distance);
    ll_inform(outcome, text, "about 0.4",
              "distance of {seq2seq, memnet} to {speech, autoenc}, by published profiles");
}

/* Whether a set of workloads is a cluster of ours at all, in whichever order the merges came. */
static bool is_cluster(const struct clustering *ours, unsigned long rows)
{
    for (size_t i = 0; i + 1 < ours->count; i++)
        if (rows_of(ours, i) == rows)
            return true;
    return false;
}

static void judge_ours(const struct clustering *ours, double cosines[LL_FATHOM_COUNT][LL_FATHOM_COUNT],
                       struct ll_outcome *outcome)
{
    char measured[64];
    for (size_t i = 0; i < JUDGED_MERGES; i++) {
        struct ll_str names = {0};
        names_of(published[i].members, &names);
        bool found = is_cluster(ours, published[i].members);
        ll_holds(outcome, found, found ? "a cluster" : "no cluster", "a cluster", "in our profiles: %s",
                 names.failed ? "" : names.text);
        ll_str_release(&names);
    }
    double far = 1 - cosines[LL_SPEECH][LL_SEQ2SEQ], near = 1 - cosines[LL_SPEECH][LL_AUTOENC];
    ll_snprintf(measured, sizeof measured, "%.3f > %.3f", far, near);
    ll_holds(outcome, far > near, measured, "farther", "speech is farther from seq2seq than from autoenc");
}

static void judge_similarity(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct clustering ours = {.count = 0}, theirs = {.count = 0};
    double cosines[LL_FATHOM_COUNT][LL_FATHOM_COUNT] = {{0}};
    bool measured = measured_clustering(evidence, &ours, cosines);
    published_clustering(&theirs);
    tabulate_similarity(&ours, NULL, "Merges of our profiles, nearest first.", outcome);
    tabulate_similarity(&theirs, "published", "Merges of the published profiles (figure 3).", outcome);
    draw_similarity((const struct clustering *const[]){&ours, &theirs}, outcome);
    judge_published(&theirs, outcome);
    if (measured)
        judge_ours(&ours, cosines, outcome);
    ll_note(
        outcome,
        "Distance is 1 - A.B / (|A| |B|); the two nearest clusters are merged and replaced by the mean of "
        "all "
        "their members. Our coordinates are all op kinds, batched products being products, the published "
        "ones "
        "the 23 columns of figure 3. Speech is the suite's code without recurrence, whose profile the "
        "published "
        "one is.");
}

const struct ll_study ll_study_F4 = {
    .id = "F4",
    .paper = "Fathom, figure 4",
    .title = "Which workloads are alike",
    .doc = "Profiles as vectors, clustered by cosine distance and centroid linkage. The convolutional "
           "networks form one tight "
           "group; speech and autoenc are more alike than seq2seq and memnet.",
    .plan = ll_fathom_plan_profiles,
    .judge = judge_similarity,
};
