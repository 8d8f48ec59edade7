/* SPDX-License-Identifier: Apache-2.0 */
/* How many parameters the networks have. */
#include "sim/study/paradnn.h"
#include "tracer/base/plain.h"

#include <math.h>
#include <stdio.h>

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

static double closed_form_at(const struct ll_survey_result *survey, enum ll_paradnn_family family, uint64_t i)
{
    double values[LL_MOST_FAMILY_AXES];
    for (size_t axis = 0; axis < ll_family_axes(survey->survey.family); axis++)
        values[axis] = (double)ll_surveyed_value(survey, i, axis);
    return closed_form(family, values);
}

static void judge_family(const struct ll_survey_result *survey, enum ll_paradnn_family family,
                         struct ll_sheet *sheet, struct ll_outcome *outcome)
{
    double least = INFINITY, most = 0;
    uint64_t equal = 0;
    for (uint64_t i = 0; i < survey->count; i++) {
        double parameters = ll_surveyed_at(survey, i, LL_PARADNN_V100)->parameters;
        least = fmin(least, parameters);
        most = fmax(most, parameters);
        equal += parameters == closed_form_at(survey, family, i);
    }
    char measured[64], wanted[64];
    ll_snprintf(measured, sizeof measured, "%.0f of %.0f points", (double)equal, (double)survey->count);
    snprintf(wanted, sizeof wanted, "all of them");
    ll_holds(outcome, equal == survey->count, measured, wanted, "%s: parameters are those of the closed form",
             survey->survey.family->doc);
    ll_put_text(sheet, survey->survey.family->doc);
    ll_put_number(sheet, least);
    ll_put_number(sheet, most);
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"family", LL_TEXT_COLUMN}, {"least parameters", 0}, {"most parameters", 0}};
    static const double published[] = {32, 512, 8000, 200};
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL, "Parameters of each family's networks.", columns, 3);
    for (int f = 0; f < LL_PARADNN_FAMILIES; f++) {
        const struct ll_survey_result *survey = ll_paradnn_survey(evidence, (enum ll_paradnn_family)f);
        if (survey)
            judge_family(survey, (enum ll_paradnn_family)f, sheet, outcome);
    }
    ll_between(
        outcome, (struct ll_measured_value){dense(published), 0, ""}, 12341448, 12341448,
        "the closed form of 32 layers of 512, 8000 inputs, 200 classes (published with the measurements: "
        "12.34m)");
    ll_inform(outcome, "see the table", "10k to about 1 billion", "the range of all families");
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
