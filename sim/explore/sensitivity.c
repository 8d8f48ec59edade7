/* SPDX-License-Identifier: Apache-2.0 */
/* Sensitivity as standardised regression weights.
 *
 * Least squares by the correlations of all variables: those of a parameter with choices are one for each
 * choice but the first. Elimination in order leaves out a variable of which nothing remains once those before
 * it are known. */
#include "sim/explore/sensitivity.h"

#include <math.h>
#include <stdlib.h>

/* What remains of a variable's variance when it follows from others, rounding aside. */
#define NOTHING 1e-9

struct fit {
    const struct ll_predictor *parameters;
    const double *target;
    uint64_t count, used;                      /* points; those that have a target */
    size_t variables;                          /* the target is one more, behind them */
    size_t *parameter;                         /* by variable: whose it is */
    uint32_t *choice;                          /* by variable: which of its choices it stands for */
    double *mean, *deviation, *row, *products; /* products: a square, the correlations in the end */
    double *solved;                            /* by variable: its weight */
    bool *kept;                                /* by variable: something of it remained */
};

static size_t count_variables(const struct ll_predictor *parameters, size_t count)
{
    size_t variables = 0;
    for (size_t p = 0; p < count; p++)
        variables += parameters[p].numbers ? 1 : parameters[p].choice_count - 1;
    return variables;
}

static bool make_room(struct fit *fit)
{
    size_t all = fit->variables + 1;
    fit->parameter = calloc(all, sizeof *fit->parameter);
    fit->choice = calloc(all, sizeof *fit->choice);
    fit->mean = calloc(all, sizeof *fit->mean);
    fit->deviation = calloc(all, sizeof *fit->deviation);
    fit->row = calloc(all, sizeof *fit->row);
    fit->products = calloc(all * all, sizeof *fit->products);
    fit->solved = calloc(all, sizeof *fit->solved);
    fit->kept = calloc(all, sizeof *fit->kept);
    return fit->parameter && fit->choice && fit->mean && fit->deviation && fit->row && fit->products &&
           fit->solved && fit->kept;
}

static void release(struct fit *fit)
{
    free(fit->parameter);
    free(fit->choice);
    free(fit->mean);
    free(fit->deviation);
    free(fit->row);
    free(fit->products);
    free(fit->solved);
    free(fit->kept);
}

static void name_variables(struct fit *fit, size_t parameter_count)
{
    size_t v = 0;
    for (size_t p = 0; p < parameter_count; p++) {
        uint32_t own = fit->parameters[p].numbers ? 1 : fit->parameters[p].choice_count - 1;
        for (uint32_t choice = 1; choice <= own; choice++, v++) {
            fit->parameter[v] = p;
            fit->choice[v] = choice;
        }
    }
}

/* Values of a point, the target last; false when it has none. */
static bool read_row(const struct fit *fit, uint64_t i)
{
    for (size_t v = 0; v < fit->variables; v++) {
        const struct ll_predictor *p = &fit->parameters[fit->parameter[v]];
        fit->row[v] = p->numbers ? p->numbers[i] : p->choices[i] == fit->choice[v];
    }
    fit->row[fit->variables] = fit->target[i];
    return isfinite(fit->target[i]);
}

static void find_means(struct fit *fit)
{
    for (uint64_t i = 0; i < fit->count; i++) {
        if (!read_row(fit, i))
            continue;
        fit->used++;
        for (size_t v = 0; v <= fit->variables; v++)
            fit->mean[v] += (fit->row[v] - fit->mean[v]) / (double)fit->used;
    }
}

static void find_correlations(struct fit *fit)
{
    size_t all = fit->variables + 1;
    for (uint64_t i = 0; i < fit->count; i++) {
        if (!read_row(fit, i))
            continue;
        for (size_t v = 0; v < all; v++)
            fit->row[v] -= fit->mean[v];
        for (size_t v = 0; v < all; v++)
            for (size_t w = 0; w <= v; w++)
                fit->products[v * all + w] += fit->row[v] * fit->row[w];
    }
    for (size_t v = 0; v < all; v++) {
        fit->deviation[v] = sqrt(fit->products[v * all + v]);
        if (fit->deviation[v] <= 1e-12 * fabs(fit->mean[v]) * sqrt((double)fit->used))
            fit->deviation[v] = 0; /* always the same, but for rounding */
    }
    for (size_t v = 0; v < all; v++)
        for (size_t w = 0; w <= v; w++) {
            double scale = fit->deviation[v] * fit->deviation[w];
            fit->products[v * all + w] = scale > 0 ? fit->products[v * all + w] / scale : 0;
            fit->products[w * all + v] = fit->products[v * all + w];
        }
}

/* Gauss and Jordan's elimination of one variable from all rows. */
static void eliminate(struct fit *fit, size_t pivot)
{
    size_t all = fit->variables + 1;
    double *base = &fit->products[pivot * all], scale = 1 / base[pivot];
    for (size_t w = 0; w < all; w++)
        base[w] *= scale;
    for (size_t v = 0; v < all; v++) {
        double *row = &fit->products[v * all], factor = row[pivot];
        if (v == pivot || factor == 0)
            continue;
        for (size_t w = 0; w < all; w++)
            row[w] -= factor * base[w];
    }
}

static void solve(struct fit *fit)
{
    size_t all = fit->variables + 1;
    for (size_t v = 0; v < fit->variables; v++) {
        fit->kept[v] = fit->products[v * all + v] > NOTHING;
        if (fit->kept[v])
            eliminate(fit, v);
    }
    for (size_t v = 0; v < fit->variables; v++)
        fit->solved[v] = fit->kept[v] ? fit->products[v * all + fit->variables] : 0;
}

/* The standard deviation of what a parameter's choices say, in those of the target. Choices exclude each
 * other, so that their shares of the points are all that it takes. */
static double spread(const struct fit *fit, size_t first, size_t count)
{
    double mean = 0, square = 0;
    for (size_t v = first; v < first + count; v++) {
        if (fit->deviation[v] == 0)
            continue;
        double effect = fit->solved[v] / fit->deviation[v] * sqrt((double)fit->used);
        mean += fit->mean[v] * effect;
        square += fit->mean[v] * effect * effect;
    }
    return sqrt(fmax(0, square - mean * mean));
}

static void weigh(const struct fit *fit, size_t parameter_count, double *weights)
{
    size_t v = 0;
    for (size_t p = 0; p < parameter_count; p++) {
        size_t own = fit->parameters[p].numbers ? 1 : fit->parameters[p].choice_count - 1;
        weights[p] = own == 1 ? fit->solved[v] : spread(fit, v, own);
        v += own;
    }
}

enum ll_status ll_regress(const struct ll_predictor *parameters, size_t parameter_count, const double *target,
                          uint64_t count, double *weights, double *r2)
{
    struct fit fit = {.parameters = parameters,
                      .target = target,
                      .count = count,
                      .variables = count_variables(parameters, parameter_count)};
    enum ll_status status = make_room(&fit) ? LL_OK : LL_NO_MEMORY;
    if (status == LL_OK) {
        name_variables(&fit, parameter_count);
        find_means(&fit);
        find_correlations(&fit);
        solve(&fit);
        weigh(&fit, parameter_count, weights);
        double left = fit.products[(fit.variables + 1) * (fit.variables + 1) - 1];
        *r2 = fit.deviation[fit.variables] > 0 ? fmin(1, fmax(0, 1 - left)) : 0;
    }
    release(&fit);
    return status;
}
