/* SPDX-License-Identifier: Apache-2.0 */
/* Figures 7 to 10: what a training step needs as networks grow. Beside them stands what Catamount itself
 * counts of the same sizes; points of figure 7 are read off the paper's vector figure. */
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "sim/report/figure/figure.h"
#include "sim/study/catamount.h"
#include "tracer/base/map.h"
#include "tracer/base/str.h"

enum { MOST_POINTS = 16, DOMAINS = LL_CATAMOUNT_DOMAIN_COUNT, SIZES = LL_CATAMOUNT_SIZES };

/* GFLOP a sample over parameters, of figure 7 above 30 million; of speech the paper's graph is unrolled 335
 * steps, of NMT sentences differ in length. */
static const struct point {
    double parameters, value;
} figure7[DOMAINS][MOST_POINTS] = {
    [LL_WORD_DOMAIN] = {{33.3e6, 10.41},
                        {36.4e6, 12.01},
                        {41.1e6, 13.63},
                        {47.3e6, 16.83},
                        {51.9e6, 18.44},
                        {58.1e6, 21.64},
                        {65.9e6, 24.86},
                        {73.6e6, 28.06},
                        {83.0e6, 31.27},
                        {104.7e6, 40.9},
                        {117.1e6, 45.71},
                        {148.1e6, 58.54},
                        {208.5e6, 85.81},
                        {295.4e6, 124.3},
                        {417.8e6, 178.9},
                        {589.9e6, 257.5}},
    [LL_CHAR_DOMAIN] = {{36.4e6, 32.87},
                        {42.6e6, 37.69},
                        {50.4e6, 45.71},
                        {56.6e6, 50.53},
                        {65.9e6, 60.14},
                        {78.3e6, 69.77},
                        {87.6e6, 79.4},
                        {103.1e6, 92.24},
                        {134.1e6, 121.1},
                        {203.9e6, 182.1},
                        {304.6e6, 273.5}},
    [LL_NMT_DOMAIN] = {{30.2e6, 0.7859},
                       {45.7e6, 2.386},
                       {64.3e6, 3.999},
                       {103.1e6, 5.6},
                       {146.5e6, 10.41},
                       {194.6e6, 13.63},
                       {245.7e6, 20.04},
                       {363.6e6, 31.27},
                       {496.9e6, 47.31}},
    [LL_SPEECH_DOMAIN] = {{53.5e6, 50.53}, {70.5e6, 66.57}, {89.2e6, 77.8}, {110.9e6, 95.44}},
};

/* What is measured and what Catamount says, of all sizes. */
struct growth {
    struct ll_catamount_size found[SIZES];
};

/* Adds dry recordings of all of them. */
static void catamount_plan(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < LL_CATAMOUNT_SIZES; i++) {
        const struct ll_catamount_domain_row *domain = &ll_catamount_domains[ll_catamount_sizes[i].domain];
        ll_study_plan_recording(
            plan, &(struct ll_recording){.row = domain->name,
                                         .variant = ll_catamount_sizes[i].value,
                                         .model = domain->model,
                                         .settings = {{domain->setting, ll_catamount_sizes[i].value}},
                                         .train = true,
                                         .dry_run = true,
                                         .batch = domain->batch,
                                         .steps = 1});
    }
}

/* The same of our recording; all NaN where there is none. */
static struct ll_catamount_size catamount_found(const struct ll_runs *runs, size_t i)
{
    assert(i < LL_CATAMOUNT_SIZES);
    struct ll_catamount_size size = ll_catamount_sizes[i];
    const struct ll_trace *trace = ll_runs_trace(runs, ll_catamount_domains[size.domain].name, size.value);
    struct ll_accounts accounts;
    uint64_t minimal_bytes;
    size.parameters = size.flops = size.bytes = size.minimal_bytes = NAN;
    if (!trace || !ll_catamount(trace, &accounts) || !ll_minimal_footprint(trace, &minimal_bytes))
        return size;
    size.parameters = (double)accounts.parameters;
    size.flops = (double)accounts.flops;
    size.bytes = (double)accounts.bytes;
    size.minimal_bytes = (double)minimal_bytes;
    return size;
}

static struct growth measure(const struct ll_runs *runs)
{
    struct growth growth;
    for (size_t i = 0; i < SIZES; i++)
        growth.found[i] = catamount_found(runs, i);
    return growth;
}

/* What a figure shows of a size. */
typedef double quantity(const struct ll_catamount_size *size);

static double gflop_a_sample(const struct ll_catamount_size *size)
{
    return size->flops / (double)ll_catamount_domains[size->domain].batch * 1e-9;
}

static double gigabytes(const struct ll_catamount_size *size)
{
    return size->bytes * 1e-9;
}

static double intensity(const struct ll_catamount_size *size)
{
    return size->flops / size->bytes;
}

static double least_gigabytes(const struct ll_catamount_size *size)
{
    return size->minimal_bytes > 0 ? size->minimal_bytes * 1e-9 : NAN;
}

struct figure {
    const char *title, *y_label;
    quantity *of;
    double most_percent;         /* from Catamount's own number */
    const struct point *printed; /* the paper's figure: `printed_each` points of each domain; NULL: none */
    size_t printed_each;
};

/* Over parameters, all domains, into arrays of the caller; returns how many. */
static size_t points_of(const struct growth *growth, enum ll_catamount_domain domain, quantity *of, double *x,
                        double *y)
{
    size_t count = 0;
    for (size_t i = 0; i < SIZES; i++)
        if (growth->found[i].domain == domain) {
            x[count] = growth->found[i].parameters;
            y[count++] = of(&growth->found[i]);
        }
    return count;
}

/* What Catamount itself counts of the same sizes, as points_of. */
static size_t counted_of(enum ll_catamount_domain domain, quantity *of, double *x, double *y)
{
    size_t count = 0;
    for (size_t i = 0; i < SIZES; i++)
        if (ll_catamount_sizes[i].domain == domain && isfinite(of(&ll_catamount_sizes[i]))) {
            x[count] = ll_catamount_sizes[i].parameters;
            y[count++] = of(&ll_catamount_sizes[i]);
        }
    return count;
}

/* The points of the paper's figure, as points_of. */
static size_t printed_of(const struct figure *figure, enum ll_catamount_domain domain, double *x, double *y)
{
    size_t count = 0;
    const struct point *points = figure->printed ? &figure->printed[domain * figure->printed_each] : NULL;
    while (points && count < figure->printed_each && points[count].parameters > 0) {
        x[count] = points[count].parameters;
        y[count] = points[count].value;
        count++;
    }
    return count;
}

static void draw(const struct growth *growth, const struct figure *figure, struct ll_study_result *result)
{
    enum { MOST = SIZES > MOST_POINTS ? SIZES : MOST_POINTS };
    struct ll_curve published[2 * DOMAINS];
    double px[2 * DOMAINS][MOST], py[2 * DOMAINS][MOST];
    const struct ll_page page = {figure->title,
                                 figure->y_label,
                                 1,
                                 1,
                                 640,
                                 400,
                                 "Counted from one recorded step of each network; no machine is simulated"};
    double x[DOMAINS][SIZES], y[DOMAINS][SIZES];
    struct ll_curve curves[DOMAINS];
    struct ll_svg svg = {.out = ll_study_figure_new(result, NULL, figure->title)};
    for (unsigned d = 0; d < DOMAINS; d++)
        curves[d] = (struct ll_curve){ll_catamount_domains[d].name, x[d], y[d],
                                      points_of(growth, d, figure->of, x[d], y[d])};
    for (unsigned d = 0; d < DOMAINS; d++) {
        const unsigned c = DOMAINS + d;
        published[d] = (struct ll_curve){"published", px[d], py[d], printed_of(figure, d, px[d], py[d])};
        published[c] =
            (struct ll_curve){"Catamount's count", px[c], py[c], counted_of(d, figure->of, px[c], py[c])};
    }
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "parameters",
                                     .y_label = figure->y_label,
                                     .curves = curves,
                                     .curve_count = DOMAINS,
                                     .published = published,
                                     .published_count = 2 * DOMAINS,
                                     .joined = true,
                                     .x_log = true,
                                     .y_log = true});
    ll_svg_close(&svg);
}

static void tabulate(const struct growth *growth, const struct figure *figure, struct ll_study_result *result)
{
    const struct ll_study_column columns[] = {{"domain", LL_TEXT_COLUMN}, {"size", LL_TEXT_COLUMN},
                                              {"parameters", 0},          {figure->y_label, 3},
                                              {"Catamount", 3},           {"off (%)", 4}};
    struct ll_study_table *table = ll_study_table_new(result, NULL, figure->title, columns, 6);
    for (size_t i = 0; i < SIZES; i++) {
        const struct ll_catamount_size *found = &growth->found[i];
        const double ours = figure->of(found), theirs = figure->of(&ll_catamount_sizes[i]);
        ll_table_put_text(table, ll_catamount_domains[found->domain].name);
        ll_table_put_text(table, found->value);
        ll_table_put_number(table, found->parameters);
        ll_table_put_number(table, ours);
        ll_table_put_number(table, theirs);
        ll_table_put_number(table, ll_percent_off(ours, theirs));
    }
}

/* The largest distance from Catamount's numbers over a domain's sizes. */
static double farthest(const struct growth *growth, enum ll_catamount_domain domain, quantity *of)
{
    double most = 0;
    for (size_t i = 0; i < SIZES; i++) {
        const double theirs = of(&ll_catamount_sizes[i]);
        if (ll_catamount_sizes[i].domain == domain && isfinite(theirs)) {
            const double off = fabs(ll_percent_off(of(&growth->found[i]), theirs));
            most = off > most || !isfinite(off) ? off : most;
        }
    }
    return most;
}

static void compare(const struct growth *growth, const struct figure *figure, struct ll_study_result *result)
{
    tabulate(growth, figure, result);
    draw(growth, figure, result);
    for (unsigned d = 0; d < DOMAINS; d++)
        ll_criterion_at_most(result, (struct ll_measured_value){farthest(growth, d, figure->of), 3, " %"},
                             figure->most_percent,
                             "%s: at most so far from what Catamount counts, at all sizes",
                             ll_catamount_domains[d].name);
}

/* On the power law through the neighbours of a number of parameters, or the first or last two. */
static double interpolated(const double *x, const double *y, size_t count, double at)
{
    size_t i = 1;
    while (i + 1 < count && x[i] < at)
        i++;
    return y[i - 1] * pow(y[i] / y[i - 1], log(at / x[i - 1]) / log(x[i] / x[i - 1]));
}

/* The median of how far we are from a figure's points, in percent. */
static double median_off(const double *x, const double *y, size_t count, const struct point *points)
{
    double off[MOST_POINTS];
    size_t found = 0;
    for (size_t i = 0; i < MOST_POINTS && points[i].parameters > 0; i++)
        off[found++] = ll_percent_off(interpolated(x, y, count, points[i].parameters), points[i].value);
    return ll_median(off, found);
}

/* The share of y's variance that a line over x explains. */
static double straightness(const double *x, const double *y, size_t count)
{
    double n = (double)count, sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0;
    for (size_t i = 0; i < count; i++) {
        sx += x[i];
        sy += y[i];
        sxx += x[i] * x[i];
        sxy += x[i] * y[i];
        syy += y[i] * y[i];
    }
    const double covariance = n * sxy - sx * sy;
    return covariance * covariance / ((n * sxx - sx * sx) * (n * syy - sy * sy));
}

static void judge_C7(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct figure figure = {
        "FLOPs of a sample's training step", "GFLOP a sample", gflop_a_sample, 1, figure7[0], MOST_POINTS};
    const struct growth growth = measure(runs);
    double x[SIZES], y[SIZES];
    compare(&growth, &figure, result);
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++) {
        const size_t count = points_of(&growth, d, figure.of, x, y);
        const char *name = ll_catamount_domains[d].name;
        ll_criterion_between(
            result, (struct ll_measured_value){median_off(x, y, count, figure7[d]), 2, " %"}, -10, 10,
            "%s: median distance from the figure's points above 30 million parameters", name);
        ll_criterion_at_least(result, (struct ll_measured_value){straightness(x, y, count), 5, ""}, 0.999,
                              "%s: FLOPs grow linearly with parameters", name);
    }
}

static void judge_C8(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct figure figure = {"Bytes of a training step", "GB a step", gigabytes, 2, NULL, 0};
    const struct growth growth = measure(runs);
    compare(&growth, &figure, result);
    ll_study_note(result,
                  "The figure does not say how many samples a step has: bytes are compared with Catamount's "
                  "at the batch of its sweeps.");
}

/* Residual networks twice as wide as the usual ones, which the figure has, too. */
static const char *const depths[] = {"18", "34", "50", "101", "152"};
enum { DEPTHS = sizeof depths / sizeof *depths };

/* The batches with which the recurrent domains end where the figure's curves do, and the sizes between which
 * that is. */
static const struct {
    uint64_t batch;
    const char *sizes[2];
} figure9[LL_IMAGE_DOMAIN] = {
    [LL_WORD_DOMAIN] = {64, {"2161", "6628"}},
    [LL_CHAR_DOMAIN] = {128, {"2476", "6869"}},
    [LL_NMT_DOMAIN] = {64, {"1024", "2560"}},
    [LL_SPEECH_DOMAIN] = {128, {"1152", "1548"}},
};
static const char *const figure9_rows[LL_IMAGE_DOMAIN] = {
    [LL_WORD_DOMAIN] = "word LM, 64 samples",
    [LL_CHAR_DOMAIN] = "character LM, 128 samples",
    [LL_NMT_DOMAIN] = "NMT, 64 samples",
    [LL_SPEECH_DOMAIN] = "speech, 128 samples",
};

static void plan_figure9(struct ll_study_plan *plan)
{
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++)
        for (size_t i = 0; i < 2; i++)
            ll_study_plan_recording(
                plan,
                &(struct ll_recording){.row = figure9_rows[d],
                                       .variant = figure9[d].sizes[i],
                                       .model = ll_catamount_domains[d].model,
                                       .settings = {{ll_catamount_domains[d].setting, figure9[d].sizes[i]}},
                                       .train = true,
                                       .dry_run = true,
                                       .batch = figure9[d].batch,
                                       .steps = 1});
}

/* FLOPs a byte of a recurrent domain at so many parameters, with the figure's batch; NaN where it is not
 * recorded. */
static double figure9_intensity(const struct ll_runs *runs, enum ll_catamount_domain domain,
                                double parameters)
{
    double x[2], y[2];
    for (size_t i = 0; i < 2; i++) {
        const struct ll_trace *trace = ll_runs_trace(runs, figure9_rows[domain], figure9[domain].sizes[i]);
        struct ll_accounts a;
        if (!trace || !ll_catamount(trace, &a))
            return NAN;
        x[i] = (double)a.parameters;
        y[i] = (double)a.flops / (double)a.bytes;
    }
    return interpolated(x, y, 2, parameters);
}

static void plan_C9(struct ll_study_plan *plan)
{
    const struct ll_catamount_domain_row *domain = &ll_catamount_domains[LL_IMAGE_DOMAIN];
    plan_figure9(plan);
    catamount_plan(plan);
    for (size_t i = 0; i < DEPTHS; i++)
        ll_study_plan_recording(
            plan, &(struct ll_recording){.row = "ResNet, 128 channels",
                                         .variant = depths[i],
                                         .model = domain->model,
                                         .settings = {{domain->setting, depths[i]}, {"channels", "128"}},
                                         .train = true,
                                         .dry_run = true,
                                         .batch = domain->batch,
                                         .steps = 1});
}

/* Where the figure's curves end: at so many parameters, with so many FLOPs a byte. */
static const struct point ends[DOMAINS] = {
    [LL_WORD_DOMAIN] = {590.0e6, 17.2},  [LL_CHAR_DOMAIN] = {304.4e6, 27.9},
    [LL_NMT_DOMAIN] = {497.4e6, 16.0},   [LL_SPEECH_DOMAIN] = {134.4e6, 17.2},
    [LL_IMAGE_DOMAIN] = {143.9e6, 59.8},
};

/* Explains the last criterion by batches, which the paper does not print. */
static void explain_batches(const struct ll_runs *runs, struct ll_measured_value reached, double low,
                            double high, struct ll_study_result *result)
{
    double at[LL_IMAGE_DOMAIN];
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++)
        at[d] = figure9_intensity(runs, d, ends[d].parameters);
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = "batches of 64 (word LM, NMT) and 128 (character LM, speech)",
        .reached = reached,
        .low = low,
        .high = high};
    ll_criterion_explain(
        result, &explanation,
        "FLOPs a byte grow with the batch, which is not printed, as gamma b / (lambda + mu b "
        "/ sqrt(p)): with the batches of Catamount's sweeps, 128, 96, 96 and 32, the curves of "
        "word LM, character LM, NMT and speech end elsewhere; with those needed they end at "
        "%.1f, %.1f, %.1f and %.1f, in the figure at %.1f, %.1f, %.1f and %.1f",
        at[LL_WORD_DOMAIN], at[LL_CHAR_DOMAIN], at[LL_NMT_DOMAIN], at[LL_SPEECH_DOMAIN],
        ends[LL_WORD_DOMAIN].value, ends[LL_CHAR_DOMAIN].value, ends[LL_NMT_DOMAIN].value,
        ends[LL_SPEECH_DOMAIN].value);
}

/* Of a recurrent domain at so many parameters, or at as few as were recorded. */
static double intensity_at(const struct growth *growth, enum ll_catamount_domain domain, double parameters)
{
    double x[SIZES], y[SIZES];
    const size_t count = points_of(growth, domain, intensity, x, y);
    return parameters < x[0] ? y[0] : interpolated(x, y, count, parameters);
}

static double highest_at(const struct growth *growth, double parameters)
{
    double most = 0;
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++) {
        const double here = intensity_at(growth, d, parameters);
        most = here > most || isnan(here) ? here : most;
    }
    return most;
}

/* By table 2, FLOPs a byte of residual networks grow with the root of their parameters, so that small ones
 * have less than twice those of recurrent ones. The figure's curve ends with wide ones. */
static void explain_images(const struct ll_runs *runs, double ours, struct ll_study_result *result)
{
    const double gamma = 1111, mu = 268862, small = 25.6e6, large = ends[LL_IMAGE_DOMAIN].parameters;
    double recurrent = 0;
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++) {
        const double here = figure9_intensity(runs, d, large);
        recurrent = here > recurrent || isnan(here) ? here : recurrent;
    }
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = "the size at which the figure's residual networks end, 144 million parameters, and the "
                  "batches of its recurrent ones",
        .reached = {ours / recurrent, 2, " times"},
        .low = 2,
        .high = 3};
    ll_criterion_explain(
        result, &explanation,
        "by table 2 residual networks have gamma sqrt(p) / mu FLOPs a byte, whatever the batch: %.1f with "
        "the "
        "25.6 million parameters of 50 layers, %.1f with %.0f million, while the figure's recurrent networks "
        "end at up to %.1f",
        gamma / mu * sqrt(small), gamma / mu * sqrt(large), large * 1e-6, ends[LL_CHAR_DOMAIN].value);
}

/* All residual networks against the recurrent network that has most FLOPs a byte at as many parameters. */
static void judge_images(const struct ll_runs *runs, const struct growth *growth,
                         struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"network", LL_TEXT_COLUMN}, {"parameters", 0}, {"FLOP a byte", 1}, {"recurrent", 1}, {"times", 2}};
    struct ll_study_table *table =
        ll_study_table_new(result, "images",
                           "Residual networks and the recurrent one that has most FLOPs per byte "
                           "at as many parameters, of 30 million at least.",
                           columns, sizeof columns / sizeof *columns);
    char text[48];
    size_t twice = 0, wide_count = 0;
    double last = NAN, wide[2][DEPTHS];
    for (size_t i = 0; i < 2 * (size_t)DEPTHS; i++) {
        const char *row = i < DEPTHS ? ll_catamount_domains[LL_IMAGE_DOMAIN].name : "ResNet, 128 channels";
        const struct ll_trace *trace = ll_runs_trace(runs, row, depths[i % DEPTHS]);
        struct ll_accounts a;
        if (!trace || !ll_catamount(trace, &a))
            continue;
        const double recurrent = highest_at(growth, (double)a.parameters);
        last = (double)a.flops / (double)a.bytes;
        twice += last >= 2 * recurrent;
        if (i >= DEPTHS + 2 && wide_count < DEPTHS) { /* of bottlenecks */
            wide[0][wide_count] = (double)a.parameters;
            wide[1][wide_count++] = last;
        }
        ll_snprintf(text, sizeof text, "%s, %s layers", row, depths[i % DEPTHS]);
        ll_table_put_text(table, text);
        ll_table_put_number(table, (double)a.parameters);
        ll_table_put_number(table, last);
        ll_table_put_number(table, recurrent);
        ll_table_put_number(table, last / recurrent);
    }
    ll_criterion_at_least(
        result, (struct ll_measured_value){(double)twice, 0, " of 10"}, 2 * (double)DEPTHS,
        "residual networks with twice the FLOPs per byte of any recurrent one of as many parameters");
    if (wide_count > 1)
        explain_images(runs, interpolated(wide[0], wide[1], wide_count, ends[LL_IMAGE_DOMAIN].parameters),
                       result);
    ll_criterion_at_least(
        result, (struct ll_measured_value){last / highest_at(growth, ends[LL_WORD_DOMAIN].parameters), 2, ""},
        1,
        "the widest and deepest residual network over the highest of the recurrent ones (59.8 over "
        "27.9 where the figure ends)");
}

/* The order in which the recurrent domains end. */
static void judge_order(const struct ll_runs *runs, const struct growth *growth,
                        struct ll_study_result *result)
{
    char ours[64], theirs[64];
    double at[DOMAINS], low = INFINITY, high = 0, least = INFINITY, most = 0;
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++) {
        at[d] = intensity_at(growth, d, ends[d].parameters);
        low = d == LL_CHAR_DOMAIN ? low : fmin(low, at[d]);
        high = d == LL_CHAR_DOMAIN ? high : fmax(high, at[d]);
        const double again = figure9_intensity(runs, d, ends[d].parameters);
        least = d == LL_CHAR_DOMAIN ? least : fmin(least, again);
        most = d == LL_CHAR_DOMAIN ? most : fmax(most, again);
    }
    const double characters = figure9_intensity(runs, LL_CHAR_DOMAIN, ends[LL_CHAR_DOMAIN].parameters);
    ll_snprintf(ours, sizeof ours, "%.1f, %.1f, %.1f, %.1f", at[LL_CHAR_DOMAIN], at[LL_WORD_DOMAIN],
                at[LL_NMT_DOMAIN], at[LL_SPEECH_DOMAIN]);
    ll_snprintf(theirs, sizeof theirs, "%.1f, %.1f, %.1f, %.1f", ends[LL_CHAR_DOMAIN].value,
                ends[LL_WORD_DOMAIN].value, ends[LL_NMT_DOMAIN].value, ends[LL_SPEECH_DOMAIN].value);
    ll_criterion_holds(
        result, at[LL_CHAR_DOMAIN] > high, ours, theirs,
        "FLOPs per byte where the figure's curves end: the character LM has more than word LM, NMT, speech");
    explain_batches(runs, (struct ll_measured_value){characters / most, 2, " times the next"}, 1, 2, result);
    ll_criterion_at_most(
        result, (struct ll_measured_value){high / low, 2, ""}, 1.5,
        "word LM, NMT and speech have about as many there: the most over the least (1.08 in the figure)");
    explain_batches(runs, (struct ll_measured_value){most / least, 2, ""}, 1, 1.5, result);
}

static void judge_C9(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct figure figure = {
        "Operational intensity of a training step", "FLOP a byte", intensity, 2, ends, 1};
    const struct growth growth = measure(runs);
    double x[SIZES], y[SIZES];
    compare(&growth, &figure, result);
    judge_order(runs, &growth, result);
    judge_images(runs, &growth, result);
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++) {
        const size_t count = points_of(&growth, d, figure.of, x, y);
        ll_criterion_at_most(result, (struct ll_measured_value){y[count - 1] / y[count - 2], 3, ""},
                             pow(x[count - 1] / x[count - 2], 0.25), "%s: intensity levels off",
                             ll_catamount_domains[d].name);
    }
}

static void judge_C10(const struct ll_runs *runs, struct ll_study_result *result)
{
    static const struct figure figure = {
        "Minimal memory of a training step", "GB at once", least_gigabytes, 15, NULL, 0};
    const struct growth growth = measure(runs);
    double x[SIZES], y[SIZES];
    compare(&growth, &figure, result);
    for (unsigned d = 0; d < LL_IMAGE_DOMAIN; d++) {
        const size_t count = points_of(&growth, d, figure.of, x, y);
        bool grows = true;
        for (size_t i = 1; i < count; i++)
            grows &= y[i] > y[i - 1];
        ll_criterion_holds(result, grows, grows ? "it does" : "it does not", "it does",
                           "%s: memory grows with parameters", ll_catamount_domains[d].name);
    }
    ll_study_note(result,
                  "Catamount goes over its graph in an order that differs from run to run; ours is fixed "
                  "(sim/memory/footprint.h). The level line of the figure at 80 %% of 12 GB is what an "
                  "allocator swaps out, which no count shows.");
}

const struct ll_study ll_study_C7 = {
    .id = "C7",
    .paper = "Catamount, figure 7",
    .title = "FLOPs over parameters",
    .doc = "Training FLOPs of a sample grow linearly with parameters in every domain.",
    .plan = catamount_plan,
    .judge = judge_C7,
};

const struct ll_study ll_study_C8 = {
    .id = "C8",
    .paper = "Catamount, figure 8",
    .title = "Bytes over parameters",
    .doc = "Bytes that a training step reads and writes, algorithmically.",
    .plan = catamount_plan,
    .judge = judge_C8,
};

const struct ll_study ll_study_C9 = {
    .id = "C9",
    .paper = "Catamount, figure 9",
    .title = "Operational intensity over parameters",
    .doc = "FLOPs per byte level off; convolutional networks have more of them than recurrent ones.",
    .plan = plan_C9,
    .judge = judge_C9,
};

const struct ll_study ll_study_C10 = {
    .id = "C10",
    .paper = "Catamount, figure 10",
    .title = "Memory over parameters",
    .doc = "The least memory in which a training step can run, by a topological traversal.",
    .plan = catamount_plan,
    .judge = judge_C10,
};

/* Figure 11: the word LM at the size of the paper's frontier, by batch. The time that it draws is not that of
 * the whole step under one roof, which its text gives, but the sum over ops of each under the roof alone. */

#define MACHINE "target accelerator"
#define WORKLOAD "word LM"

/* Read off the paper's vector figure. */
static const struct batch_point {
    uint64_t batch;
    double intensity, time_s; /* of a sample */
} points[] = {
    {1, 0.2871, 71.2439},         {2, 0.5325, 35.6305},        {4, 1.0244, 17.8239},
    {8, 2.0083, 8.9227},          {16, 3.9776, 4.4711},        {32, 7.9145, 2.2463},
    {64, 15.7614, 1.464},         {80, 19.6741, 1.3506},       {128, 31.3351, 1.181},
    {256, 61.982, 1.0397},        {512, 121.1613, 0.9689},     {1024, 231.6991, 0.9336},
    {1536, 332.7524, 0.9219},     {2048, 425.6564, 0.916},     {2560, 511.0731, 0.9124},
    {3072, 589.9949, 0.91},       {3584, 663.2198, 0.9085},    {4096, 731.1882, 0.9072},
    {4608, 794.6287, 0.9063},     {5120, 853.7817, 0.9054},    {5632, 909.2378, 0.9048},
    {6144, 960.9624, 0.9043},     {8192, 1140.2349, 0.9028},   {12288, 1401.2212, 0.9013},
    {16384, 1582.4634, 0.9006},   {32768, 1962.8243, 0.8995},  {65536, 2230.7957, 0.8989},
    {131072, 2393.8234, 0.8987},  {262144, 2484.4696, 0.8984}, {524288, 2533.2108, 0.8984},
    {1048576, 2557.9388, 0.8984},
};
enum { POINTS = sizeof points / sizeof *points, AT_RIDGE = 7, AT_CHOICE = 8 };

/* A batch is large enough when a sample takes at most so much of what it takes in the largest. */
static const double good_enough = 1.35;

static const char *variant_of(struct ll_arena *arena, size_t i)
{
    const char *name = ll_format(arena, "%" PRIu64, points[i].batch);
    return name ? name : "";
}

static void plan(struct ll_study_plan *plan)
{
    ll_study_plan_machine(plan, &(struct ll_study_machine){.name = MACHINE, .machine = "catamount"});
    for (size_t i = 0; i < POINTS; i++)
        ll_study_plan_recording(plan, &(struct ll_recording){.row = WORKLOAD,
                                                             .variant = variant_of(&plan->arena, i),
                                                             .model = "word_lm",
                                                             .settings = {{"hidden", "38100"}},
                                                             .train = true,
                                                             .dry_run = true,
                                                             .batch = points[i].batch,
                                                             .steps = 1});
}

struct curves {
    double batches[POINTS], intensities[POINTS], times_s[POINTS], roof_s[POINTS];
};

static struct curves measure_batch(const struct ll_runs *runs, struct ll_catamount_rates rates)
{
    struct curves c;
    for (size_t i = 0; i < POINTS; i++) {
        const struct ll_trace *trace = ll_runs_trace(runs, WORKLOAD, variant_of(runs->arena, i));
        const double batch = (double)points[i].batch;
        struct ll_accounts a;
        bool known = trace && ll_catamount(trace, &a);
        c.batches[i] = batch;
        c.intensities[i] = known ? (double)a.flops / (double)a.bytes : NAN;
        c.times_s[i] = known ? ll_catamount_sum_s(trace, rates.flops, rates.Bps) / batch : NAN;
        c.roof_s[i] = known ? fmax((double)a.flops / rates.flops, (double)a.bytes / rates.Bps) / batch : NAN;
    }
    return c;
}

static void tabulate_batch(const struct curves *c, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"batch", 0},      {"FLOP a byte", 3},   {"published", 3},    {"off (%)", 2},
        {"s a sample", 4}, {"published (s)", 4}, {"off (%) of s", 2}, {"under one roof (s)", 4}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "The word LM with 24 billion parameters, by batch.", columns, 8);
    for (size_t i = 0; i < POINTS; i++) {
        ll_table_put_number(table, c->batches[i]);
        ll_table_put_number(table, c->intensities[i]);
        ll_table_put_number(table, points[i].intensity);
        ll_table_put_number(table, ll_percent_off(c->intensities[i], points[i].intensity));
        ll_table_put_number(table, c->times_s[i]);
        ll_table_put_number(table, points[i].time_s);
        ll_table_put_number(table, ll_percent_off(c->times_s[i], points[i].time_s));
        ll_table_put_number(table, c->roof_s[i]);
    }
}

static void draw_panel(struct ll_svg *svg, struct ll_rect box, const char *y_label, const struct curves *c,
                       const double *ours, const double *figure)
{
    const struct ll_curve simulated = {"simulated", c->batches, ours, POINTS},
                          published = {"published", c->batches, figure, POINTS};
    ll_draw_lines(svg, box,
                  &(struct ll_lines){.x_label = "samples a step",
                                     .y_label = y_label,
                                     .curves = &simulated,
                                     .curve_count = 1,
                                     .published = &published,
                                     .published_count = 1,
                                     .joined = true,
                                     .x_log = true,
                                     .y_log = true});
}

static void draw_batch(const struct curves *c, struct ll_study_result *result)
{
    const struct ll_page page = {
        "Batch, intensity and time",
        "FLOP a byte and seconds a sample by batch",
        2,
        2,
        420,
        320,
        "The paper's accelerator (catamount), simulated; word LM of 24 billion parameters"};
    double intensities[POINTS], times_s[POINTS];
    struct ll_svg svg = {
        .out = ll_study_figure_new(result, NULL, "Intensity and time by batch, simulated and published.")};
    for (size_t i = 0; i < POINTS; i++) {
        intensities[i] = points[i].intensity;
        times_s[i] = points[i].time_s;
    }
    ll_page_open(&svg, &page);
    draw_panel(&svg, ll_page_panel(&page, 0), "FLOP a byte", c, c->intensities, intensities);
    draw_panel(&svg, ll_page_panel(&page, 1), "s a sample", c, c->times_s, times_s);
    ll_svg_close(&svg);
}

/* The first batch for which the condition holds; NaN when there is none. */
static double first_batch(const struct curves *c, const double *values, double bound, bool above)
{
    for (size_t i = 0; i < POINTS; i++)
        if (above ? values[i] >= bound : values[i] <= bound)
            return c->batches[i];
    return NAN;
}

/* Samples a second at a batch, of those with the largest one: against the figure's own, and the text's. */
static void judge_rate(const struct curves *c, size_t at, double printed, struct ll_study_result *result)
{
    static const double rounding = 1; /* percent points */
    const double ours = 100 * c->times_s[POINTS - 1] / c->times_s[at],
                 theirs = 100 * points[POINTS - 1].time_s / points[at].time_s;
    const struct ll_explanation explanation = {.cause = LL_PAPER_CONTRADICTS_ITSELF,
                                               .needed = "the figure's own points instead of the text",
                                               .reached = {theirs, 1, " %"},
                                               .low = ours - rounding,
                                               .high = ours + rounding};
    ll_criterion_between(
        result, (struct ll_measured_value){ours, 1, " %"}, printed - rounding, printed + rounding,
        "share of the most samples a second at batch %.0f (published: %.0f %%)", c->batches[at], printed);
    ll_criterion_explain(
        result, &explanation,
        "the figure has %.4f s a sample there and %.4f s in the largest batch, %.1f %% of the "
        "most samples a second; the text says %.0f %%",
        points[at].time_s, points[POINTS - 1].time_s, theirs, printed);
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_catamount_rates rates = ll_catamount_rates(runs->machines[0]);
    const struct curves c = measure_batch(runs, rates);
    const double ridge = 19.9; /* as printed */
    double intensity_off = 0, time_off = 0;
    tabulate_batch(&c, result);
    draw_batch(&c, result);
    for (size_t i = 0; i < POINTS; i++) {
        const double intensity = fabs(ll_percent_off(c.intensities[i], points[i].intensity));
        const double time = fabs(ll_percent_off(c.times_s[i], points[i].time_s));
        intensity_off = intensity > intensity_off || isnan(intensity) ? intensity : intensity_off;
        time_off = time > time_off || isnan(time) ? time : time_off;
    }
    ll_criterion_at_most(result, (struct ll_measured_value){intensity_off, 2, " %"}, 3,
                         "operational intensity is at most so far from the figure at all batches");
    ll_criterion_at_most(result, (struct ll_measured_value){time_off, 2, " %"}, 3,
                         "time of a sample is at most so far from the figure at all batches");
    ll_criterion_between(result,
                         (struct ll_measured_value){first_batch(&c, c.intensities, ridge, true), 0, ""}, 80,
                         80, "smallest batch whose intensity reaches the ridge of what is achievable");
    ll_criterion_between(
        result,
        (struct ll_measured_value){first_batch(&c, c.times_s, good_enough * c.times_s[POINTS - 1], false), 0,
                                   ""},
        128, 128,
        "smallest batch in which a sample takes at most 1.35 of the least time: the paper's choice");
    judge_rate(&c, AT_RIDGE, 60, result);
    judge_rate(&c, AT_CHOICE, 79, result);
    ll_study_note(
        result,
        "The figure's model has h = 38,000, ours 38,100: 0.8 %% less parameters. The column under one "
        "roof is what the text's formula would give.");
}

const struct ll_study ll_study_C11 = {
    .id = "C11",
    .paper = "Catamount, figure 11",
    .title = "Batch, operational intensity and time",
    .doc = "How many samples a step the frontier's word LM should have: its intensity meets the "
           "accelerator's ridge point at "
           "80, the time of a sample falls until 128 and hardly any further.",
    .plan = plan,
    .judge = judge,
};
