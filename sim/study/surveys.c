/* SPDX-License-Identifier: Apache-2.0 */
/* The first tables of Fathom and of TBD: which papers on hardware and systems for deep learning there were,
 * and what of it they had in view. Nothing is measured; the tables are as printed, and what the papers'
 * sentences count in them is counted again. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "sim/study/study.h"
#include "tracer/base/str.h"

static void plan(struct ll_study_plan *plan)
{
    (void)plan;
}

/* Fathom, table I: papers by reference, Fathom last; x where a paper has the feature. The copy of the table
 * at hand has one row for two features twice. */
enum { SURVEYED = 16, MARKS = SURVEYED + 1 };
static const char *const surveyed[MARKS] = {"[8]",  "[9]",  "[10]", "[11]", "[12]",  "[14]",
                                            "[21]", "[24]", "[26]", "[35]", "[38]",  "[39]",
                                            "[40]", "[44]", "[47]", "[49]", "Fathom"};
enum feature {
    FULL,
    CONV,
    RECURRENT,
    INFERENCE,
    SUPERVISED,
    OTHER_TASKS,
    VISION,
    SPEECH,
    LANGUAGE,
    FEATURES
};
static const struct {
    const char *category, *feature, *marks; /* a character for each paper */
} features[FEATURES] = {
    [FULL] = {"neuronal style", "fully connected", "xxx--xxxxxxx--x-x"},
    [CONV] = {"neuronal style", "convolutional", "x-xxxxx-x-x-x--xx"},
    [RECURRENT] = {"neuronal style", "recurrent", "-------x-----x--x"},
    [INFERENCE] = {"learning task", "inference", "xxxxxxxxxxxxxxxxx"},
    [SUPERVISED] = {"learning task", "supervised", "-x-x----xxxx-x--x"},
    [OTHER_TASKS] = {"learning task", "unsupervised; reinforcement", "---x----xxxx-x--x"},
    [VISION] = {"application", "vision", "x-xxxxxxxxxxx--xx"},
    [SPEECH] = {"application", "speech", "------xxxxxx----x"},
    [LANGUAGE] = {"application", "language modeling; function approximation", "-x-----xx-x-x-x-x"},
};
static const double depths[MARKS] = {4, 4, 3, 3, 5, 16, 7, 3, 13, 6, 9, 4, 26, 2, 5, 5, 34};

/* How many of the papers surveyed have it. */
static double papers_with(enum feature feature)
{
    double count = 0;
    assert(strlen(features[feature].marks) == MARKS);
    for (size_t i = 0; i < SURVEYED; i++)
        count += features[feature].marks[i] == 'x';
    return count;
}

static void tabulate_fathom(struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"paper", LL_TEXT_COLUMN},
                                                     {"neuronal style", LL_TEXT_COLUMN},
                                                     {"deepest network (layers)", 0},
                                                     {"learning task", LL_TEXT_COLUMN},
                                                     {"application", LL_TEXT_COLUMN}};
    struct ll_study_table *table = ll_study_table_new(
        result, NULL, "Research on hardware for deep learning, as printed; a paper a row.", columns, 5);
    for (size_t i = 0; i < MARKS; i++) {
        ll_table_put_text(table, surveyed[i]);
        for (size_t c = 1; c < 5; c++) {
            struct ll_str list = {0};
            if (c == 2) {
                ll_table_put_number(table, depths[i]);
                continue;
            }
            for (size_t f = 0; f < FEATURES; f++)
                if (features[f].marks[i] == 'x' && strcmp(features[f].category, columns[c].name) == 0)
                    ll_str_addf(&list, "%s%s", list.length ? ", " : "", features[f].feature);
            ll_table_put_text(table, list.text ? list.text : "");
            result->failed |= list.failed;
            ll_str_release(&list);
        }
    }
}

static void judge_exactly(double found, double printed, const char *claim, struct ll_study_result *result)
{
    ll_criterion_between(result, (struct ll_measured_value){found, 0, ""}, printed, printed, "%s", claim);
}

static void judge_fathom(const struct ll_runs *runs, struct ll_study_result *result)
{
    double of_fathom = 0, deepest = 0;
    char text[32];
    (void)runs;
    tabulate_fathom(result);
    for (size_t f = 0; f < FEATURES; f++)
        of_fathom += features[f].marks[SURVEYED] == 'x';
    for (size_t i = 0; i < SURVEYED; i++)
        deepest = depths[i] > deepest ? depths[i] : deepest;
    judge_exactly(papers_with(RECURRENT), 2, "papers with recurrent networks (text: just twice)", result);
    judge_exactly(papers_with(INFERENCE), SURVEYED, "papers that look at inference: all", result);
    judge_exactly(of_fathom, FEATURES, "rows that Fathom has: all", result);
    ll_criterion_at_most(result, (struct ll_measured_value){deepest, 0, " layers"}, depths[SURVEYED] - 1,
                         "the deepest network of the papers is less deep than Fathom's, of 34 layers");
    ll_snprintf(text, sizeof text, "%.0f", papers_with(OTHER_TASKS));
    ll_criterion_info(
        result,
        "the copy of the table at hand has one row for unsupervised and reinforcement learning, "
        "almost the same as the one above it",
        text, "0", "papers with unsupervised or reinforcement learning (text: none was found)");
}

const struct ll_study ll_study_FT1 = {
    .id = "F-T1",
    .paper = "Fathom, table I",
    .title = "What research had in view",
    .doc = "Sixteen papers on hardware for deep learning: most look at feed-forward networks for vision, and "
           "only at inference.",
    .plan = plan,
    .judge = judge_fathom,
};

/* TBD, table I: references by what a paper looks at and how broadly; each list ends with 0. */
enum { TASKS = 2, SCOPES = 2, MOST_REFERENCES = 20 };
enum { TRAINING, FORWARD };
enum { IMAGES, BROADER };
static const char *const tasks[TASKS] = {"training", "inference"};
static const char *const scopes[SCOPES] = {"image classification only", "broader"};
static const unsigned char references[TASKS][SCOPES][MOST_REFERENCES] = {
    [TRAINING] = {[IMAGES] = {27, 32, 34, 48, 54, 55, 72, 78, 83}, [BROADER] = {8, 20, 51, 58, 67, 69, 86}},
    [FORWARD] = {[IMAGES] = {10, 11, 12, 23, 26, 34, 36, 38, 54, 59, 60, 66, 70, 74, 75, 76, 78, 90, 91},
                 [BROADER] = {8, 35, 41, 43, 53, 67}},
};

static double listed(int task, int scope)
{
    size_t count = 0;
    while (references[task][scope][count])
        count++;
    return (double)count;
}

/* How many of a scope are listed under both tasks. */
static double listed_twice(int scope)
{
    double count = 0;
    for (const unsigned char *a = references[TRAINING][scope]; *a; a++)
        count += memchr(references[FORWARD][scope], *a, MOST_REFERENCES) != NULL;
    return count;
}

static void tabulate_tbd(struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"looks at", LL_TEXT_COLUMN},
                                                     {"scope", LL_TEXT_COLUMN},
                                                     {"papers", 0},
                                                     {"references", LL_TEXT_COLUMN}};
    struct ll_study_table *table = ll_study_table_new(
        result, NULL, "Papers of conferences on architecture and systems since 2014, as printed.", columns,
        4);
    for (int task = 0; task < TASKS; task++)
        for (int scope = 0; scope < SCOPES; scope++) {
            struct ll_str list = {0};
            for (const unsigned char *reference = references[task][scope]; *reference; reference++)
                ll_str_addf(&list, "%s[%u]", list.length ? " " : "", *reference);
            ll_table_put_text(table, tasks[task]);
            ll_table_put_text(table, scopes[scope]);
            ll_table_put_number(table, listed(task, scope));
            ll_table_put_text(table, list.text ? list.text : "");
            result->failed |= list.failed;
            ll_str_release(&list);
        }
}

static void judge_tbd(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const double caption_both = 4, caption_images = 26, caption_broader = 11;
    const double training = listed(TRAINING, IMAGES) + listed(TRAINING, BROADER),
                 inference = listed(FORWARD, IMAGES) + listed(FORWARD, BROADER),
                 both = listed_twice(IMAGES) + listed_twice(BROADER),
                 images = listed(TRAINING, IMAGES) + listed(FORWARD, IMAGES) - listed_twice(IMAGES),
                 broader = listed(TRAINING, BROADER) + listed(FORWARD, BROADER) - listed_twice(BROADER);
    const struct ll_explanation
        of_both = {.cause = LL_PAPER_CONTRADICTS_ITSELF,
                   .needed = "the caption's own sums, one paper more than are listed",
                   .reached = {training + inference - caption_images - caption_broader, 0, ""},
                   .low = caption_both,
                   .high = caption_both},
        of_images = {.cause = LL_PAPER_CONTRADICTS_ITSELF,
                     .needed = "the caption's own number of papers in both rows",
                     .reached = {training + inference - caption_both - broader, 0, ""},
                     .low = caption_images,
                     .high = caption_images};
    (void)runs;
    tabulate_tbd(result);
    judge_exactly(inference, 25, "papers on inference, as the caption has", result);
    judge_exactly(training, 16, "papers on training, as the caption has", result);
    judge_exactly(broader, caption_broader, "papers that look beyond images, as the caption has", result);
    judge_exactly(both, caption_both, "papers on both, as the caption has", result);
    ll_criterion_explain(
        result, &of_both,
        "%.0f and %.0f references have %.0f in common, %.0f of them under images only and %.0f "
        "under broader; the caption has 4, which follows from its 26 and 11",
        training, inference, both, listed_twice(IMAGES), listed_twice(BROADER));
    judge_exactly(images, caption_images, "papers on images only, as the caption has", result);
    ll_criterion_explain(result, &of_images,
                         "%.0f and %.0f references, %.0f of them the same, are %.0f papers",
                         listed(TRAINING, IMAGES), listed(FORWARD, IMAGES), listed_twice(IMAGES), images);
}

const struct ll_study ll_study_TT1 = {
    .id = "T-T1",
    .paper = "TBD, table I",
    .title = "What research had in view",
    .doc = "More papers on inference than on training, and most with classified images as the only "
           "application.",
    .plan = plan,
    .judge = judge_tbd,
};
