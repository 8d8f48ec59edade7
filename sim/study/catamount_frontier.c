/* SPDX-License-Identifier: Apache-2.0 */
/* Table 3: a step of each domain's frontier network, and an epoch of them.
 *
 *     time  = max(FLOPs / 0.8 of the peak, bytes / 0.7 of the bandwidth)
 *     epoch = time * samples of the data set / batch                      samples = units / units of a sample
 *
 * Sizes and sequences are not printed there; these are the ones whose FLOPs are the printed ones. */
#include <math.h>
#include <string.h>

#include "sim/memory/footprint.h"
#include "sim/report/figure/figure.h"
#include "sim/study/catamount.h"
#include "tracer/base/str.h"

static const double day_s = 86400, days_a_year = 365.25, tebi = 0x1p40, gibi = 0x1p30;

static const struct frontier {
    enum ll_catamount_domain domain;
    struct ll_study_setting settings[2]; /* none: its network is not known */
    uint64_t batch;
    /* Words or characters of a sample: of the word LM as in section 6, else what the printed days mean. */
    double units;
    double graph_teraflop, graph_tebibytes; /* of Catamount's graph with these settings */
    double parameters, gamma;
    double teraflop, tebibytes, gibibytes, time_s, days; /* printed */
} frontiers[] = {
    {LL_WORD_DOMAIN,
     {{"hidden", "38000"}, {"sequence", "80"}},
     128,
     25.37,
     1444.84,
     41.46,
     23.8e9,
     481,
     1444,
     41.5,
     272,
     115,
     31000},
    {LL_CHAR_DOMAIN,
     {{"hidden", "81400"}, {"sequence", "150"}},
     96,
     117,
     12618.03,
     484.4,
     146e9,
     900,
     12618,
     488.1,
     1703,
     1007,
     3.5e6},
    {LL_NMT_DOMAIN,
     {{"hidden", "22350"}, {"sequence", "50"}},
     96,
     29,
     499.24,
     18.19,
     18.9e9,
     149,
     499,
     18.4,
     185,
     39.8,
     16000},
    {LL_SPEECH_DOMAIN,
     {{"hidden", "3289"}, {"steps", "300"}},
     128,
     79,
     72.17,
     2.94,
     727e6,
     775,
     72,
     2.8,
     30,
     5.8,
     93},
    {LL_IMAGE_DOMAIN, {{0}}, 32, 1, NAN, NAN, 732e6, 1111, 28, 0.4, 34, 2.3, 84},
};
enum { FRONTIERS = sizeof frontiers / sizeof *frontiers, SPEECH = 3, IMAGE = 4, CHARACTERS = 1 };

static void plan(struct ll_study_plan *plan)
{
    ll_study_plan_machine(plan,
                          &(struct ll_study_machine){.name = "target accelerator", .machine = "catamount"});
    for (size_t i = 0; i < IMAGE; i++) {
        const struct frontier *f = &frontiers[i];
        ll_study_plan_recording(plan, &(struct ll_recording){.row = ll_catamount_domains[f->domain].name,
                                                             .variant = "frontier",
                                                             .model = ll_catamount_domains[f->domain].model,
                                                             .settings = {f->settings[0], f->settings[1]},
                                                             .train = true,
                                                             .dry_run = true,
                                                             .batch = f->batch,
                                                             .steps = 1});
    }
    ll_catamount_plan_character_slope(plan);
}

/* What a step is here; NaN where there is no recording. */
struct step {
    double teraflop, tebibytes, gibibytes, time_s, bytes_s, days;
};

static double epoch_days(const struct frontier *f, double time_s)
{
    const struct ll_catamount_law *law = &ll_catamount_laws[f->domain];
    return law->data_scale * law->data_now / f->units / (double)f->batch * time_s / day_s;
}

static struct step measure(const struct ll_runs *runs, const struct frontier *f)
{
    const struct ll_catamount_rates rates = ll_catamount_rates(runs->machines[0]);
    const struct ll_trace *trace = ll_runs_trace(runs, ll_catamount_domains[f->domain].name, "frontier");
    struct ll_accounts a;
    uint64_t minimal_bytes;
    if (!trace || !ll_catamount(trace, &a) || !ll_minimal_footprint(trace, &minimal_bytes))
        return (struct step){NAN, NAN, NAN, NAN, NAN, NAN};
    const double flops_s = (double)a.flops / rates.flops, bytes_s = (double)a.bytes / rates.Bps;
    return (struct step){(double)a.flops * 1e-12,
                         (double)a.bytes / tebi,
                         (double)minimal_bytes / gibi,
                         fmax(flops_s, bytes_s),
                         bytes_s,
                         epoch_days(f, fmax(flops_s, bytes_s))};
}

static void tabulate(const struct step *steps, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"domain", LL_TEXT_COLUMN},
                                                     {"TFLOP a step", 1},
                                                     {"published", 1},
                                                     {"by gamma", 1},
                                                     {"TiB", 2},
                                                     {"published ", 1},
                                                     {"GiB", 1},
                                                     {"published  ", 0},
                                                     {"time (s)", 3},
                                                     {"published (s)", 1},
                                                     {"bytes' time (s)", 2},
                                                     {"days an epoch", 0},
                                                     {"published (days)", 0}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "The frontier's networks on one accelerator.", columns, 13);
    for (size_t i = 0; i < FRONTIERS; i++) {
        const struct frontier *f = &frontiers[i];
        const struct step *s = &steps[i];
        const double numbers[] = {
            s->teraflop,  f->teraflop,  f->gamma * f->parameters * (double)f->batch * 1e-12,
            s->tebibytes, f->tebibytes, s->gibibytes,
            f->gibibytes, s->time_s,    f->time_s,
            s->bytes_s,   s->days,      f->days};
        ll_table_put_text(table, ll_catamount_domains[f->domain].name);
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            ll_table_put_number(table, numbers[j]);
    }
}

static void within(struct ll_study_result *result, struct ll_measured_value found, double wanted,
                   double percent, const struct frontier *f, const char *what)
{
    ll_criterion_between(result, found, wanted * (1 - percent / 100), wanted * (1 + percent / 100), "%s: %s",
                         ll_catamount_domains[f->domain].name, what);
}

/* The last criterion is the character LM's memory, which table 3 extrapolates from smaller networks. */
static void explain_memory(const struct ll_runs *runs, const struct frontier *f, const struct step *s,
                           double percent, struct ll_study_result *result)
{
    const double slope = ll_catamount_character_slope(runs);
    const double ours = s->gibibytes * gibi / f->parameters;
    const struct ll_explanation explanation = {
        .cause = LL_PAPER_CONTRADICTS_ITSELF,
        .needed = "memory that grows as it does up to a billion parameters, where figure 10 ends",
        .reached = {slope * f->parameters / gibi, 0, " GiB"},
        .low = f->gibibytes * (1 - percent / 100),
        .high = f->gibibytes * (1 + percent / 100)};
    ll_criterion_explain(result, &explanation,
                         "%.0f GiB over %.0f billion parameters are %.2f bytes each, the slope of small "
                         "networks (here %.2f); the paper says that the growth slows significantly for large "
                         "ones, and this one has %.2f",
                         f->gibibytes, f->parameters * 1e-9, f->gibibytes * gibi / f->parameters, slope,
                         ours);
}

static void judge_step(const struct ll_runs *runs, const struct frontier *f, const struct step *s,
                       struct ll_study_result *result)
{
    static const double memory_percent = 15;
    within(result, (struct ll_measured_value){s->teraflop, 2, " TFLOP"}, f->graph_teraflop, 1, f,
           "FLOPs of a step, as Catamount's graph has them");
    within(result, (struct ll_measured_value){s->teraflop, 1, " TFLOP"}, f->teraflop, 2, f,
           "FLOPs of a step, as printed");
    within(result, (struct ll_measured_value){s->tebibytes, 2, " TiB"}, f->graph_tebibytes, 2, f,
           "bytes of a step, as Catamount's graph has them");
    within(result, (struct ll_measured_value){s->gibibytes, 1, " GiB"}, f->gibibytes, memory_percent, f,
           "least memory of a step, as printed");
    if (f->domain == LL_CHAR_DOMAIN)
        explain_memory(runs, f, s, memory_percent, result);
    within(result, (struct ll_measured_value){s->time_s, 2, " s"}, f->time_s, 1, f,
           "time of a step, as printed");
}

/* The words of a sample come from section 6, so the word LM's days can be judged; those of the others were
 * taken from the very days. */
static void judge_epoch(const struct frontier *f, const struct step *s, struct ll_study_result *result)
{
    char ours[48], theirs[48];
    if (f->domain == LL_WORD_DOMAIN) {
        within(result, (struct ll_measured_value){s->days, 0, " days"}, f->days, 2, f,
               "an epoch with 25.37 words a sample, as printed");
        return;
    }
    ll_snprintf(ours, sizeof ours, "%.0f days", s->days);
    ll_snprintf(theirs, sizeof theirs, "%.0f days", f->days);
    ll_criterion_info(result,
                      "the units of a sample are not printed: they were taken from these very days, so that "
                      "agreement says nothing",
                      ours, theirs, "%s: an epoch with %.0f units a sample, fitted on the printed days",
                      ll_catamount_domains[f->domain].name, f->units);
}

static void inform_years(const struct step *steps, struct ll_study_result *result)
{
    char ours[96];
    ll_snprintf(ours, sizeof ours, "%.1f, %.0f, %.1f", steps[0].days / days_a_year,
                steps[CHARACTERS].days / days_a_year, steps[2].days / days_a_year);
    ll_criterion_info(result,
                      "the days of character LM and NMT rest on units that were taken from the printed days",
                      ours, "84, 40 to 9600", "years of an epoch: word LM, character LM, NMT");
    ll_criterion_between(
        result, (struct ll_measured_value){steps[SPEECH].teraflop / frontiers[IMAGE].teraflop, 2, ""}, 2.45,
        2.65, "times as many FLOPs of speech as the printed ResNet's (published: 2.5)");
    ll_criterion_between(
        result, (struct ll_measured_value){steps[CHARACTERS].tebibytes / frontiers[IMAGE].tebibytes, 0, ""},
        1150, 1250, "times as many bytes of the character LM as the printed ResNet's (published: 1200)");
}

static void inform_image(struct ll_study_result *result)
{
    const struct frontier *f = &frontiers[IMAGE];
    char ours[48], theirs[48];
    ll_snprintf(ours, sizeof ours, "%.0f", f->teraflop * 1e12 / f->parameters / (double)f->batch);
    ll_snprintf(theirs, sizeof theirs, "%.0f", f->gamma);
    ll_criterion_info(
        result, "both numbers are the paper's: no network of this size is described, so none is simulated",
        ours, theirs,
        "ResNet: FLOPs a parameter and sample in table 3 and in table 2; which network of 732 million "
        "parameters it is, is not known, so none is simulated");
}

static void judge(const struct ll_runs *runs, struct ll_study_result *result)
{
    struct step steps[FRONTIERS];
    for (size_t i = 0; i < FRONTIERS; i++)
        steps[i] = measure(runs, &frontiers[i]);
    tabulate(steps, result);
    for (size_t i = 0; i < IMAGE; i++)
        if (isfinite(steps[i].teraflop)) {
            judge_step(runs, &frontiers[i], &steps[i], result);
            judge_epoch(&frontiers[i], &steps[i], result);
        }
    if (isfinite(steps[0].days) && isfinite(steps[CHARACTERS].days) && isfinite(steps[SPEECH].days))
        inform_years(steps, result);
    inform_image(result);
    ll_study_note(
        result, "The table's TB and GB are 2^40 and 2^30 bytes. NMT has sentences of 50 words here and 26 in "
                "table 2, whose gamma therefore gives half of its FLOPs.");
    ll_study_note(
        result,
        "The least memory of the character LM is as much below the printed number as in Catamount's own "
        "graph (%.0f GiB); which batch and how many frames the printed memory of speech has is not said.",
        ll_catamount_largest(LL_CHAR_DOMAIN)->minimal_bytes / gibi);
}

const struct ll_study ll_study_CT3 = {
    .id = "C-T3",
    .paper = "Catamount, table 3",
    .title = "Training at the frontier",
    .doc = "What a step of each domain's frontier network takes on one accelerator, and an epoch.",
    .plan = plan,
    .judge = judge,
};

/* Section 6, table 5 and figure 12: the word LM with a projection on many accelerators. The step of one and
 * how many words an epoch has are as printed; the exchange that reproduces the figure is a ring over all
 * weights but the embedding's, which grow less than fully with workers, and a gathering of the embedding's
 * rows, which grow with them:
 *
 *     t(N) = t(1) + 2 D (N - 1) / (N B) + (N - 1) S / B                                             */

#define MACHINE "target accelerator"
#define WORKLOAD "word LM with projection"

static const double hidden = 19968, vocabulary = 800000, batch = 128, words_a_sentence = 25.37;
static const double epoch_words = 7.68e10; /* a hundred times the billion-word benchmark's */
static const double workers_gibi = 0x1p30, workers_day_s = 86400, printed_days_of_one = 4671;

/* Read off the paper's vector figure. */
static const struct point {
    double workers, utilization, days;
} points[] = {
    {1, 46.38, 4486.044}, {2, 44.62, 2397.686}, {4, 43.62, 1220.906}, {8, 43.36, 621.916},
    {16, 43.11, 301.926}, {32, 42.61, 153.741}, {64, 42.36, 78.314},  {128, 41.6, 39.892},
    {256, 40.35, 20.321}, {512, 38.09, 10.861}, {1024, 34.06, 6.091}, {2048, 28.28, 3.762},
    {4096, 20.99, 2.438}, {8192, 13.95, 1.826}, {16384, 8.42, 1.58},  {32768, 4.65, 1.435},
};
enum { POINTS = sizeof points / sizeof *points };

static void plan_workers(struct ll_study_plan *plan)
{
    ll_study_plan_machine(plan, &(struct ll_study_machine){.name = MACHINE, .machine = "catamount"});
    ll_study_plan_recording(plan, &(struct ll_recording){.row = WORKLOAD,
                                                         .variant = "training",
                                                         .model = "word_lm",
                                                         .settings = {{"hidden", "19968"},
                                                                      {"vocabulary", "800000"},
                                                                      {"sequence", "20"},
                                                                      {"projection", "2048"}},
                                                         .train = true,
                                                         .dry_run = true,
                                                         .batch = 128,
                                                         .steps = 1});
}

/* What a step of one accelerator is. */
struct single {
    struct ll_accounts accounts;
    struct ll_catamount_rates rates;
    double minimal_bytes, roof_s, sum_s, steps, link_Bps;
};

static double days(const struct single *one, double step_s)
{
    return step_s * one->steps / workers_day_s;
}

/* Of the peak's FLOPs in that time. */
static double utilization(const struct single *one, double step_s)
{
    return 100 * (double)one->accounts.flops / one->rates.peak_flops / step_s;
}

static double with_workers(const struct single *one, double alone_s, double workers)
{
    const double dense_bytes = 4 * ((double)one->accounts.parameters - vocabulary * hidden);
    const double rows_bytes = 4 * batch * words_a_sentence * hidden;
    return alone_s + 2 * dense_bytes * (workers - 1) / (workers * one->link_Bps) +
           (workers - 1) * rows_bytes / one->link_Bps;
}

/* Bytes of a GEMM whose result stays in tiles of so many rows and columns, while operands pass. */
static double tiled_bytes(const struct ll_op_view *op, double tile)
{
    const double m = (double)op->out[0].dim[0], n = (double)op->out[0].dim[1];
    const double k = (double)ll_elements(&op->in[0]) / m;
    return 4 * (m * n + m * k * ceil(n / tile) + k * n * ceil(m / tile));
}

/* As ll_catamount_sum_s, GEMMs in such tiles. */
static double tiled_s(const struct ll_trace *trace, const struct single *one, double tile)
{
    double time_s = 0;
    for (uint64_t i = 0; i < trace->op_count; i++) {
        const struct ll_op_signature *signature = &trace->signatures[trace->ops[i].signature];
        const struct ll_account account = ll_catamount_op(&signature->view, signature->phase);
        const double bytes = signature->view.kind == LL_OP_MATMUL ? tiled_bytes(&signature->view, tile)
                                                                  : (double)account.bytes;
        time_s += fmax((double)account.flops / one->rates.flops, bytes / one->rates.Bps);
    }
    return time_s;
}

static bool measure_workers(const struct ll_trace *trace, const struct ll_machine *machine,
                            struct single *one)
{
    uint64_t minimal_bytes;
    if (!trace || !ll_catamount(trace, &one->accounts) || !ll_minimal_footprint(trace, &minimal_bytes))
        return false;
    const double flops = (double)one->accounts.flops, bytes = (double)one->accounts.bytes;
    one->rates = ll_catamount_rates(machine);
    one->minimal_bytes = (double)minimal_bytes;
    one->roof_s = fmax(flops / one->rates.flops, bytes / one->rates.Bps);
    one->sum_s = ll_catamount_sum_s(trace, one->rates.flops, one->rates.Bps);
    one->steps = epoch_words / (batch * words_a_sentence);
    one->link_Bps = machine->networks[0].bandwidth_Bps;
    return true;
}

static void off(struct ll_study_result *result, double found, double published, double percent, int decimals,
                const char *unit, const char *claim)
{
    ll_criterion_between(result, (struct ll_measured_value){found, decimals, unit},
                         published * (1 - percent / 100), published * (1 + percent / 100), "%s", claim);
}

static void judge_one(const struct single *one, struct ll_study_result *result)
{
    const double flops = (double)one->accounts.flops;
    off(result, (double)one->accounts.parameters, 24034190594, 1e-9, 0, "",
        "parameters, as Catamount counts");
    off(result, (double)one->accounts.flops * 1e-12, 123.957025364125, 1, 3, " TFLOP",
        "FLOPs, as Catamount counts");
    off(result, (double)one->accounts.bytes * 1e-12, 3.495179764856, 2, 3, " TB",
        "bytes, as Catamount counts");
    off(result, one->roof_s, 9.89, 0.1, 3, " s", "the step under one roof, as printed");
    off(result, one->minimal_bytes / workers_gibi, 113.8, 15, 1, " GiB", "least memory, printed as 113.8 GB");
    off(result, vocabulary * hidden * 4 / workers_gibi, 59.5, 0.1, 2, " GiB",
        "the embedding alone, printed as 59.5 GB");
    off(result, 115.2 / one->roof_s, 11.7, 1, 2, "", "speed-up over the frontier's word LM");
    off(result, days(one, one->roof_s), 2707, 0.1, 1, " days", "an epoch on one accelerator, at best");
    const double cached = days(one, 100 * flops / one->rates.peak_flops / points[0].utilization);
    off(result, cached, printed_days_of_one, 0.1, 0, " days",
        "an epoch with a cache, by the figure's share of the peak (4671 in the text)");
    off(result, cached, 4071, 0.1, 0, " days", "the same (4071 in table 5)");
    const struct ll_explanation misprint = {.cause = LL_PAPER_CONTRADICTS_ITSELF,
                                            .needed = "the text's reduction by 667 times to 7 days",
                                            .reached = {667.0 * 7, 0, " days"},
                                            .low = cached - 7,
                                            .high = cached + 7};
    ll_criterion_explain(result, &misprint,
                         "4071 days would be %.1f %% of the peak, the figure has %.1f %%; the text divides "
                         "4671 by 7 days",
                         100 * flops / one->rates.peak_flops * one->steps / (4071 * workers_day_s),
                         points[0].utilization);
}

/* The side of the tiles that a cache of so many bytes holds, where each multiprocessor keeps a tile of the
 * result and two of each operand, one of which loads while the other is used: 5 T^2 numbers. The paper says
 * neither; its peak of 15.67 TFLOP/s is that of 80 multiprocessors of 64 lanes at 1.53 GHz. */
static double tile_of(double cache_bytes)
{
    static const double multiprocessors = 80, tiles = 5, number_bytes = 4;
    return floor(sqrt(cache_bytes / multiprocessors / tiles / number_bytes));
}

static void judge_cache(const struct ll_trace *trace, const struct ll_machine *machine,
                        const struct single *one, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"cache (MiB)", 1},
                                                     {"tile (side)", 0},
                                                     {"step (s)", 2},
                                                     {"share of peak (%)", 1},
                                                     {"days an epoch", 0}};
    static const double tiles[] = {48, 56, 60, 64, 72, 96}, of_cache[] = {0.25, 0.5, 1, 2, 4};
    /* Its GB are 2^30 bytes wherever they can be checked, and a V100's cache is of 6 MiB. */
    const double cache_bytes = (double)machine->levels[0].size_bytes * 1e-6 * 0x1p20;
    struct ll_study_table *table = ll_study_table_new(
        result, "cache", "A step of one accelerator whose GEMMs read operands again for each tile.", columns,
        5);
    double shares[sizeof tiles / sizeof *tiles], of_caches[sizeof of_cache / sizeof *of_cache];
    bool rising = true, with_cache = true;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        shares[i] = utilization(one, tiled_s(trace, one, tiles[i]));
        rising &= i == 0 || shares[i] >= shares[i - 1];
    }
    for (size_t i = 0; i < sizeof of_cache / sizeof *of_cache; i++) {
        const double tile = tile_of(of_cache[i] * cache_bytes), step_s = tiled_s(trace, one, tile);
        of_caches[i] = utilization(one, step_s);
        with_cache &= i == 0 || of_caches[i] >= of_caches[i - 1];
        ll_table_put_number(table, of_cache[i] * cache_bytes / 0x1p20);
        ll_table_put_number(table, tile);
        ll_table_put_number(table, step_s);
        ll_table_put_number(table, of_caches[i]);
        ll_table_put_number(table, days(one, step_s));
    }
    ll_criterion_between(result, (struct ll_measured_value){utilization(one, one->sum_s), 2, " %"}, 60.3,
                         62.3, "share of the peak without a cache's effects, op by op");
    ll_criterion_holds(result, rising, rising ? "it rises" : "it does not", "it rises",
                       "the share of the peak rises with the tiles that a cache holds");
    ll_criterion_holds(
        result, with_cache, with_cache ? "it rises" : "it does not", "it rises",
        "the share of the peak rises with the cache, from a quarter of its size to four times");
    ll_criterion_at_most(result, (struct ll_measured_value){shares[2], 1, " %"}, 46.4,
                         "with tiles of 60 it is below the printed 46 %%");
    ll_criterion_at_least(result, (struct ll_measured_value){shares[3], 1, " %"}, 46.4,
                          "with tiles of 64 it is above it");
    ll_study_note(
        result,
        "The paper does not say how its caches tile; its step of 17.06 s follows from 4671 days and is "
        "taken as given for several workers. Without a cache's effects a step takes %.2f s; with five tiles "
        "for each of 80 multiprocessors, which fill 6 MiB, %.2f s.",
        one->sum_s, tiled_s(trace, one, tile_of(cache_bytes)));
}

static void draw(const struct single *one, double alone_s, struct ll_study_result *result)
{
    const struct ll_page page = {
        "Data-parallel workers",
        "Share of the peak by workers",
        1,
        1,
        640,
        360,
        "The paper's accelerator (catamount), simulated; word LM of 24 billion parameters"};
    double workers[POINTS], ours[POINTS], theirs[POINTS];
    const struct ll_curve simulated = {"simulated", workers, ours, POINTS},
                          published = {"published", workers, theirs, POINTS};
    struct ll_svg svg = {
        .out = ll_study_figure_new(result, NULL, "Share of the peak by workers, simulated and published.")};
    for (size_t i = 0; i < POINTS; i++) {
        workers[i] = points[i].workers;
        ours[i] = utilization(one, with_workers(one, alone_s, points[i].workers));
        theirs[i] = points[i].utilization;
    }
    ll_page_open(&svg, &page);
    ll_draw_lines(&svg, ll_page_panel(&page, 0),
                  &(struct ll_lines){.x_label = "workers",
                                     .y_label = "share of the peak (%)",
                                     .curves = &simulated,
                                     .curve_count = 1,
                                     .published = &published,
                                     .published_count = 1,
                                     .joined = true,
                                     .x_log = true});
    ll_svg_close(&svg);
}

static const double most_days_off = 2; /* percent */

/* On one accelerator the figure has fewer days than the text; its shares of the peak agree with the text. */
static void explain_days(const struct single *one, double alone_s, struct ll_study_result *result)
{
    double most = 0, low = INFINITY, high = 0;
    for (size_t i = 0; i < POINTS; i++) {
        const double by_share = printed_days_of_one * points[0].utilization / points[i].utilization;
        const double ours = days(one, with_workers(one, alone_s, points[i].workers));
        const double product = points[i].workers * points[i].days * points[i].utilization;
        most = fmax(most, fabs(ll_percent_off(ours, by_share)));
        low = fmin(low, product);
        high = fmax(high, product);
    }
    const struct ll_explanation explanation = {
        .cause = LL_PAPER_CONTRADICTS_ITSELF,
        .needed = "days that follow from the text's 4671 by the figure's own shares of the peak",
        .reached = {most, 2, " %"},
        .low = 0,
        .high = most_days_off};
    ll_criterion_explain(
        result, &explanation,
        "on one accelerator the figure has %.0f days, the text %.0f, %.1f %% more; workers x "
        "days x share of the peak is one number, but differs by %.1f %% over the figure's "
        "points",
        points[0].days, printed_days_of_one, ll_percent_off(printed_days_of_one, points[0].days),
        100 * (high / low - 1));
}

static void judge_workers(const struct single *one, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {{"workers", 0},           {"step (s)", 3},
                                                     {"share of peak (%)", 2}, {"published (%)", 2},
                                                     {"days an epoch", 3},     {"published (days)", 3}};
    struct ll_study_table *table =
        ll_study_table_new(result, NULL, "An epoch on several accelerators.", columns, 6);
    const double alone_s = printed_days_of_one * workers_day_s / one->steps;
    double farthest = 0, most_off = 0;
    for (size_t i = 0; i < POINTS; i++) {
        const double step_s = with_workers(one, alone_s, points[i].workers), share = utilization(one, step_s);
        const double epoch_days = days(one, step_s) / points[i].workers;
        ll_table_put_number(table, points[i].workers);
        ll_table_put_number(table, step_s);
        ll_table_put_number(table, share);
        ll_table_put_number(table, points[i].utilization);
        ll_table_put_number(table, epoch_days);
        ll_table_put_number(table, points[i].days);
        farthest = fmax(farthest, fabs(share - points[i].utilization));
        most_off = fmax(most_off, fabs(ll_percent_off(epoch_days, points[i].days)));
    }
    draw(one, alone_s, result);
    ll_criterion_at_most(result, (struct ll_measured_value){farthest, 2, " points"}, 1,
                         "share of the peak is at most so far from the figure at all 16 numbers of workers");
    off(result, days(one, with_workers(one, alone_s, 512)) / 512, 11.1, 2, 2, " days",
        "an epoch on 512, table 5");
    off(result, days(one, with_workers(one, alone_s, 1024)) / 1024, 6.2, 2, 2, " days",
        "an epoch on 1024, table 5");
    ll_criterion_at_most(result, (struct ll_measured_value){most_off, 2, " %"}, most_days_off,
                         "days are at most so far from the figure at all 16 numbers of workers");
    explain_days(one, alone_s, result);
}

/* Whether what is called so lies in one of these scopes, which end with NULL. */
static bool lies_in(const char *path, const char *const *scopes)
{
    for (; *scopes; scopes++) {
        size_t length = strlen(*scopes);
        if (strncmp(path, *scopes, length) == 0 && (path[length] == '/' || path[length] == '\0'))
            return true;
    }
    return false;
}

/* Least memory of what lies in scopes; NaN when memory ran out. */
static double part_gib(const struct ll_trace *trace, const char *const *scopes, struct ll_arena *arena)
{
    bool *part = ll_alloc(arena, trace->string_count, sizeof *part);
    uint64_t bytes;
    for (uint64_t i = 0; part && i < trace->string_count; i++)
        part[i] = lies_in(trace->strings[i], scopes);
    return part && ll_minimal_footprint_of(trace, part, &bytes) ? (double)bytes / workers_gibi : NAN;
}

/* Weights of scopes, and all that their forward ops write. NaN when memory ran out. */
static double forward_gib(const struct ll_trace *trace, const char *const *scopes, struct ll_arena *arena)
{
    const struct ll_liveness *lives = ll_trace_liveness(trace, arena);
    bool *counted = ll_alloc(arena, trace->storage_count, sizeof *counted);
    double bytes = 0;
    for (uint64_t i = 0; lives && counted && i < trace->tensor_count; i++) {
        const struct ll_tensor *tensor = &trace->tensors[i];
        const struct ll_liveness *life = &lives[tensor->storage];
        if (counted[tensor->storage])
            continue;
        counted[tensor->storage] = true;
        const char *name = trace->strings[trace->descs[tensor->desc].name];
        const struct ll_op_signature *maker =
            tensor->producer == LL_NONE ? NULL : &trace->signatures[trace->ops[tensor->producer].signature];
        bool weight = life->memory == LL_WEIGHT && lies_in(name, scopes);
        bool forward = life->memory != LL_WEIGHT && maker && maker->phase == LL_PHASE_FORWARD &&
                       lies_in(trace->strings[maker->scope], scopes);
        bytes += weight || forward ? (double)life->bytes : 0;
    }
    return lives && counted ? bytes / workers_gibi : NAN;
}

enum { EMBEDDING, FIRST, SECOND, SCORES, PARTS };
static const struct part {
    const char *name, *scopes[4];
    double published;
} parts[PARTS] = {
    [EMBEDDING] = {"embedding", {"embedding", NULL}, 60},
    [FIRST] = {"first layer", {"lstm1", NULL}, 17},
    [SECOND] = {"second layer", {"lstm2", NULL}, 17},
    [SCORES] = {"projection and scores", {"projection", "scores", "loss", NULL}, 32},
};

/* Explains the last criterion by what the printed memory of the parts consists of. */
static void explain_parts(const double *forward, struct ll_measured_value reached, double low, double high,
                          struct ll_study_result *result)
{
    const struct ll_explanation explanation = {
        .cause = LL_ASSUMPTION,
        .needed = "weights and what the forward pass writes, without gradients",
        .reached = reached,
        .low = low,
        .high = high};
    ll_criterion_explain(
        result, &explanation,
        "the least memory of a whole step holds a layer's weights four times, once as the "
        "gradient of a time step and twice as sums of gradients; its weights and the results "
        "of its forward ops alone are %.1f, %.1f, %.1f and %.1f GiB where 60, 17, 17 and 32 "
        "GB are printed",
        forward[EMBEDDING], forward[FIRST], forward[SECOND], forward[SCORES]);
}

/* Four devices with a part of the network each. */
static void judge_parts(const struct ll_trace *trace, struct ll_arena *arena, struct ll_study_result *result)
{
    static const struct ll_study_column columns[] = {
        {"part", LL_TEXT_COLUMN}, {"GiB", 1}, {"weights and forward pass (GiB)", 1}, {"published (GB)", 0}};
    struct ll_study_table *table = ll_study_table_new(
        result, "parts", "Least memory of four devices with a part of the network each.", columns, 4);
    static const double percent = 15, even = 31.5; /* 32, 31, 31 and 32 GB */
    double gib[PARTS], forward[PARTS], sum = 0, forward_sum = 0, published = 0;
    for (size_t i = 0; i < PARTS; i++) {
        gib[i] = part_gib(trace, parts[i].scopes, arena);
        forward[i] = forward_gib(trace, parts[i].scopes, arena);
        ll_table_put_text(table, parts[i].name);
        ll_table_put_number(table, gib[i]);
        ll_table_put_number(table, forward[i]);
        ll_table_put_number(table, parts[i].published);
        sum += gib[i];
        forward_sum += forward[i];
        published += parts[i].published;
    }
    char text[64];
    ll_snprintf(text, sizeof text, "%.1f, %.1f, %.1f", gib[EMBEDDING], gib[SCORES], gib[FIRST]);
    ll_criterion_holds(result, gib[EMBEDDING] > gib[SCORES] && gib[SCORES] > gib[FIRST], text, "60 > 32 > 17",
                       "GiB of the devices of the embedding, of projection and scores, of a layer");
    explain_parts(forward,
                  (struct ll_measured_value){
                      fmin(forward[EMBEDDING] - forward[SCORES], forward[SCORES] - forward[FIRST]), 1,
                      " GiB from one to the next"},
                  0, parts[EMBEDDING].published, result);
    off(result, sum, published, percent, 1, " GiB",
        "the four devices together, printed as 60 + 17 + 17 + 32 GB");
    explain_parts(forward, (struct ll_measured_value){forward_sum, 1, " GiB"},
                  published * (1 - percent / 100), published * (1 + percent / 100), result);
    off(result, sum / PARTS, even, percent, 1, " GiB",
        "of each when the embedding is dealt out evenly, printed as 32, 31, 31, 32 GB");
    explain_parts(forward, (struct ll_measured_value){forward_sum / PARTS, 1, " GiB"},
                  even * (1 - percent / 100), even * (1 + percent / 100), result);
}

/* The paper pipelines time steps through the layers in a way that it does not describe. */
static void judge_pipeline(const struct single *one, struct ll_study_result *result)
{
    ll_criterion_info(
        result, "the schedule of the pipeline is not described", "not simulated", "1.5 to 1.6",
        "speed-up of a step on four such devices: a layer's steps are put together before the next one "
        "reads them in our recording, so that nothing can be done at once; the paper's schedule is not "
        "printed");
    ll_criterion_between(
        result,
        (struct ll_measured_value){utilization(one, 7.2 * workers_day_s / one->steps * 2048), 1, " %"}, 14,
        15, "share of the peak that 7.2 days on 512 times 4 devices mean (published: 14.5 %%)");
}

static void judge_workers_study(const struct ll_runs *runs, struct ll_study_result *result)
{
    const struct ll_trace *trace = ll_runs_trace(runs, WORKLOAD, "training");
    struct single one;
    if (!measure_workers(trace, runs->machines[0], &one))
        return;
    judge_one(&one, result);
    judge_cache(trace, runs->machines[0], &one, result);
    judge_workers(&one, result);
    judge_parts(trace, runs->arena, result);
    judge_pipeline(&one, result);
}

const struct ll_study ll_study_C12 = {
    .id = "C12",
    .paper = "Catamount, section 6, table 5 and figure 12",
    .title = "Many workers",
    .doc = "The word LM with a projection: what one accelerator takes for an epoch, and how far "
           "data-parallel workers "
           "shorten it before exchanging gradients costs more than they bring.",
    .plan = plan_workers,
    .judge = judge_workers_study,
};
