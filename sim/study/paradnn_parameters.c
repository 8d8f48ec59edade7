/* SPDX-License-Identifier: Apache-2.0 */
/* How many parameters the networks have. */
#include "sim/study/paradnn.h"
#include "sim/study/statistics.h"
#include "tracer/base/plain.h"

#include <math.h>

static void plan(struct ll_study_plan *plan)
{
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++)
        ll_paradnn_plan(plan, (enum ll_paradnn_family)f);
}

static double dense(const double *v)
{
    double layers = v[0], n = v[1], in = v[2], out = v[3];
    return in * n + n + (layers - 1) * (n * n + n) + n * out + out;
}

/* Filters, and two numbers a channel that normalise what they give. */
static double filters(double kernel, double in, double out)
{
    return kernel * kernel * in * out + 2 * out;
}

/* Groups of n blocks behind a stem of f filters; what is left of the image behind windows of 7 goes to the
 * output. */
static double convolutional(const double *v, bool residual)
{
    double n = v[0], f = v[1], image = v[2], classes = v[3], channels = f, sum = filters(7, 3, f);
    double size = ceil(ceil(image / 2) / 2);
    for (int group = 0; group < 4; group++, f *= 2) {
        double out = residual ? f : 4 * f;
        size = group > 0 ? ceil(size / 2) : size;
        sum += filters(1, channels, out);
        for (double block = 0; block < n; block++, channels = out)
            sum += residual ? filters(3, channels, f) + filters(3, f, f)
                            : filters(1, channels, f) + filters(3, f, f) + filters(1, f, out);
    }
    return sum + (size - 6) * (size - 6) * channels * classes + classes;
}

static double recurrent(const double *v, double products)
{
    double layers = v[0], e = v[1], words = v[3];
    return words * e + layers * products * (2 * e * e + e) + e * words + words;
}

static double closed_form(enum ll_paradnn_family family, const double *v)
{
    switch (family) {
    case LL_PARADNN_FC:
        return dense(v);
    case LL_PARADNN_BOTTLENECK:
    case LL_PARADNN_RESIDUAL:
        return convolutional(v, family == LL_PARADNN_RESIDUAL);
    default:
        return recurrent(v, family == LL_PARADNN_LSTM ? 4 : family == LL_PARADNN_GRU ? 3 : 1);
    }
}

/* Of point i of a family, or of its part. */
static double closed_form_at(const struct ll_family *family, enum ll_paradnn_family which, uint64_t i)
{
    uint64_t point[LL_MOST_FAMILY_AXES];
    double values[LL_MOST_FAMILY_AXES];
    ll_family_point(family, i, point);
    for (size_t axis = 0; axis < ll_family_axes(family); axis++)
        values[axis] = (double)point[axis];
    return closed_form(which, values);
}

/* The networks that were recorded have the parameters of the closed form. */
static void judge_recorded(const struct ll_survey_result *survey, enum ll_paradnn_family which,
                           struct ll_outcome *outcome)
{
    uint64_t equal = 0;
    char measured[64];
    for (uint64_t i = 0; i < survey->count; i++)
        equal += ll_surveyed_at(survey, i, LL_PARADNN_V100)->parameters ==
                 closed_form_at(survey->survey.family, which, i);
    ll_snprintf(measured, sizeof measured, "%.0f of %.0f points", (double)equal, (double)survey->count);
    ll_holds(outcome, equal == survey->count, measured, "all of them",
             "%s: parameters of those recorded are those of the closed form", survey->survey.family->doc);
}

/* The parameters of all points of a family: least, most, and what lies between. */
struct range {
    const char *name;
    double least, most;
    struct ll_five five;
};

static struct range range_of(enum ll_paradnn_family which, struct ll_arena *arena)
{
    static const double parts[] = {0, 0.25, 0.5, 0.75, 1};
    const struct ll_family *family = &ll_paradnn_families[which];
    const uint64_t count = ll_family_size(family);
    struct range range = {.name = family->name, .least = INFINITY, .most = 0};
    double *of = ll_alloc(arena, count, sizeof *of);
    for (uint64_t i = 0; of && i < count; i++) {
        of[i] = closed_form_at(family, which, i);
        range.least = fmin(range.least, of[i]);
        range.most = fmax(range.most, of[i]);
    }
    for (size_t i = 0; i < 5; i++)
        range.five.at[i] = of ? ll_quantile(of, count, parts[i], arena) : NAN;
    return range;
}

static void draw(const struct range *ranges, struct ll_outcome *outcome)
{
    const char *names[LL_PARADNN_FAMILIES];
    struct ll_five boxes[LL_PARADNN_FAMILIES];
    const struct ll_page page = {"Parameters of the families", "A box for each family.", 1, 1, 640, 400};
    struct ll_svg svg = {ll_drawing_new(
        outcome, NULL, "Parameters of all networks of a family: quartiles, and the least and the most.")};
    for (size_t i = 0; i < LL_PARADNN_FAMILIES; i++) {
        names[i] = ranges[i].name;
        boxes[i] = ranges[i].five;
    }
    ll_page_open(&svg, &page);
    ll_draw_boxes(&svg, ll_page_panel(&page, 0),
                  &(struct ll_boxes){.y_label = "parameters",
                                     .names = names,
                                     .boxes = boxes,
                                     .count = LL_PARADNN_FAMILIES,
                                     .log = true});
    ll_svg_close(&svg);
}

/* From ten thousand to about a billion, by the figure's text. */
static void judge_range(const struct range *ranges, struct ll_outcome *outcome)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < LL_PARADNN_FAMILIES; i++) {
        least = fmin(least, ranges[i].least);
        most = fmax(most, ranges[i].most);
    }
    ll_between(outcome, (struct ll_measured_value){least, 0, ""}, 0.8e4, 1.2e4,
               "least parameters of all families (published: 10k)");
    ll_between(outcome, (struct ll_measured_value){most, 0, ""}, 0.8e9, 1.2e9,
               "most parameters of all families (published: about 1 billion)");
    ll_note(
        outcome,
        "Ranges are of all networks of the families, as table 2 lists them, by the closed form: its largest "
        "fully connected one, 128 layers of 8192, has 8.6 billion parameters, its smallest recurrent one "
        "twenty thousand, so that table 2 and figure 1 do not agree.");
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"family", LL_TEXT_COLUMN},
                                                       {"points of the family", 0},
                                                       {"least parameters", 0},
                                                       {"most parameters", 0}};
    static const double published[] = {32, 512, 8000, 200};
    struct range ranges[LL_PARADNN_FAMILIES];
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Parameters of all networks of each family.", columns, 4);
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++) {
        const struct ll_survey_result *survey = ll_paradnn_survey(evidence, (enum ll_paradnn_family)f);
        ranges[f] = range_of((enum ll_paradnn_family)f, evidence->arena);
        ll_put_text(sheet, ll_paradnn_families[f].doc);
        ll_put_number(sheet, (double)ll_family_size(&ll_paradnn_families[f]));
        ll_put_number(sheet, ranges[f].least);
        ll_put_number(sheet, ranges[f].most);
        if (survey)
            judge_recorded(survey, (enum ll_paradnn_family)f, outcome);
    }
    draw(ranges, outcome);
    ll_between(
        outcome, (struct ll_measured_value){dense(published), 0, ""}, 12341448, 12341448,
        "the closed form of 32 layers of 512, 8000 inputs, 200 classes (published with the measurements: "
        "12.34m)");
    judge_range(ranges, outcome);
}

const struct ll_study ll_study_P1 = {
    .id = "P1",
    .paper = "ParaDnn, figure 1",
    .title = "Parameters of the networks",
    .doc = "The families span networks from some ten thousand to a billion parameters, real ones lie among "
           "them.",
    .plan = plan,
    .judge = judge,
};
