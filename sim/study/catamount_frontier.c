/* SPDX-License-Identifier: Apache-2.0 */
/* Table 3: a step of each domain's frontier network, and an epoch of them.
 *
 *     time  = max(FLOPs / 0.8 of the peak, bytes / 0.7 of the bandwidth)
 *     epoch = time * samples of the data set / batch                      samples = units / units of a sample
 *
 * Sizes and sequences are not printed there; these are the ones whose FLOPs are the printed ones. */
#include "sim/memory/footprint.h"
#include "sim/study/catamount.h"
#include "tracer/base/plain.h"

#include <math.h>

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
    ll_study_plan_target(plan, &(struct ll_target){.name = "target accelerator", .machine = "catamount"});
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

static struct step measure(const struct ll_evidence *evidence, const struct frontier *f)
{
    const struct ll_catamount_rates rates = ll_catamount_rates(evidence->machines[0]);
    const struct ll_trace *trace =
        ll_evidence_trace(evidence, ll_catamount_domains[f->domain].name, "frontier");
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

static void tabulate(const struct step *steps, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"domain", LL_TEXT_COLUMN},
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
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "The frontier's networks on one accelerator.", columns, 13);
    for (size_t i = 0; i < FRONTIERS; i++) {
        const struct frontier *f = &frontiers[i];
        const struct step *s = &steps[i];
        const double numbers[] = {
            s->teraflop,  f->teraflop,  f->gamma * f->parameters * (double)f->batch * 1e-12,
            s->tebibytes, f->tebibytes, s->gibibytes,
            f->gibibytes, s->time_s,    f->time_s,
            s->bytes_s,   s->days,      f->days};
        ll_put_text(sheet, ll_catamount_domains[f->domain].name);
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            ll_put_number(sheet, numbers[j]);
    }
}

static void within(struct ll_outcome *outcome, struct ll_measured_value found, double wanted, double percent,
                   const struct frontier *f, const char *what)
{
    ll_between(outcome, found, wanted * (1 - percent / 100), wanted * (1 + percent / 100), "%s: %s",
               ll_catamount_domains[f->domain].name, what);
}

static void judge_step(const struct frontier *f, const struct step *s, struct ll_outcome *outcome)
{
    within(outcome, (struct ll_measured_value){s->teraflop, 2, " TFLOP"}, f->graph_teraflop, 1, f,
           "FLOPs of a step, as Catamount's graph has them");
    within(outcome, (struct ll_measured_value){s->teraflop, 1, " TFLOP"}, f->teraflop, 2, f,
           "FLOPs of a step, as printed");
    within(outcome, (struct ll_measured_value){s->tebibytes, 2, " TiB"}, f->graph_tebibytes, 2, f,
           "bytes of a step, as Catamount's graph has them");
    within(outcome, (struct ll_measured_value){s->gibibytes, 1, " GiB"}, f->gibibytes, 15, f,
           "least memory of a step, as printed");
    within(outcome, (struct ll_measured_value){s->time_s, 2, " s"}, f->time_s, 1, f,
           "time of a step, as printed");
}

/* The words of a sample come from section 6, so the word LM's days can be judged; those of the others were
 * taken from the very days. */
static void judge_epoch(const struct frontier *f, const struct step *s, struct ll_outcome *outcome)
{
    char ours[48], theirs[48];
    if (f->domain == LL_WORD_DOMAIN) {
        within(outcome, (struct ll_measured_value){s->days, 0, " days"}, f->days, 2, f,
               "an epoch with 25.37 words a sample, as printed");
        return;
    }
    ll_snprintf(ours, sizeof ours, "%.0f days", s->days);
    ll_snprintf(theirs, sizeof theirs, "%.0f days", f->days);
    ll_inform(outcome, ours, theirs, "%s: an epoch with %.0f units a sample, fitted on the printed days",
              ll_catamount_domains[f->domain].name, f->units);
}

static void inform_years(const struct step *steps, struct ll_outcome *outcome)
{
    char ours[96];
    ll_snprintf(ours, sizeof ours, "%.1f, %.0f, %.1f", steps[0].days / days_a_year,
                steps[CHARACTERS].days / days_a_year, steps[2].days / days_a_year);
    ll_inform(outcome, ours, "84, 40 to 9600", "years of an epoch: word LM, character LM, NMT");
    ll_snprintf(ours, sizeof ours, "%.1f and %.0f", steps[SPEECH].teraflop / frontiers[IMAGE].teraflop,
                steps[CHARACTERS].tebibytes / frontiers[IMAGE].tebibytes);
    ll_inform(outcome, ours, "2.5 to 1200",
              "times as many FLOPs (speech) and bytes (character LM) as the printed ResNet");
}

static void inform_image(struct ll_outcome *outcome)
{
    const struct frontier *f = &frontiers[IMAGE];
    char ours[48], theirs[48];
    ll_snprintf(ours, sizeof ours, "%.0f", f->teraflop * 1e12 / f->parameters / (double)f->batch);
    ll_snprintf(theirs, sizeof theirs, "%.0f", f->gamma);
    ll_inform(outcome, ours, theirs,
              "ResNet: FLOPs a parameter and sample in table 3 and in table 2; which network of 732 million "
              "parameters it is, is not known, so none is simulated");
}

static void judge(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    struct step steps[FRONTIERS];
    for (size_t i = 0; i < FRONTIERS; i++)
        steps[i] = measure(evidence, &frontiers[i]);
    tabulate(steps, outcome);
    for (size_t i = 0; i < IMAGE; i++)
        if (isfinite(steps[i].teraflop)) {
            judge_step(&frontiers[i], &steps[i], outcome);
            judge_epoch(&frontiers[i], &steps[i], outcome);
        }
    if (isfinite(steps[0].days) && isfinite(steps[CHARACTERS].days) && isfinite(steps[SPEECH].days))
        inform_years(steps, outcome);
    inform_image(outcome);
    ll_note(outcome,
            "The table's TB and GB are 2^40 and 2^30 bytes. NMT has sentences of 50 words here and 26 in "
            "table 2, whose gamma therefore gives half of its FLOPs.");
    ll_note(outcome,
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
