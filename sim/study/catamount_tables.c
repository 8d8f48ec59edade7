/* SPDX-License-Identifier: Apache-2.0 */
/* Tables 1 to 4: laws with printed constants, recomputed, and what follows from them.
 *
 *     error(m) = alpha m^beta_g        parameters(m) = sigma m^beta_p, in millions
 *     FLOPs of a step = gamma p b      bytes = lambda p + mu b sqrt(p)        memory = delta p
 *     time = max(FLOPs / 0.8 of the peak, bytes / 0.7 of the bandwidth)                                 */
#include "sim/study/catamount.h"

#include <math.h>

enum { DOMAINS = LL_CATAMOUNT_DOMAIN_COUNT };

static double data_scale(const struct ll_catamount_law *law, double exponent)
{
    return pow(law->error_goal / law->error_now, 1 / exponent);
}

static void tabulate_laws(struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"domain", LL_TEXT_COLUMN},
                                                       {"data scale", 1},
                                                       {"published", 0},
                                                       {"model scale", 2},
                                                       {"published ", 1}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "Data and model scales from the printed exponents.", columns, 5);
    for (unsigned d = 0; d < DOMAINS; d++) {
        ll_put_text(sheet, ll_catamount_domains[d].name);
        ll_put_number(sheet, data_scale(&ll_catamount_laws[d], ll_catamount_laws[d].beta_g));
        ll_put_number(sheet, ll_catamount_laws[d].data_scale);
        ll_put_number(sheet, pow(ll_catamount_laws[d].data_scale, ll_catamount_laws[d].beta_p));
        ll_put_number(sheet, ll_catamount_laws[d].model_scale);
    }
}

static void judge_laws(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    (void)evidence;
    tabulate_laws(outcome);
    for (unsigned d = 0; d < DOMAINS; d++) {
        const struct ll_catamount_law *law = &ll_catamount_laws[d];
        const double percent = law->fitting == law->beta_g ? 5 : 1;
        const double scale = data_scale(law, law->fitting);
        if (d == LL_SPEECH_DOMAIN)
            continue;
        ll_between(outcome, (struct ll_measured_value){scale, 1, ""}, law->data_scale * (1 - percent / 100),
                   law->data_scale * (1 + percent / 100), "%s: data scale with the exponent %.3f",
                   ll_catamount_domains[d].name, law->fitting);
        ll_between(outcome, (struct ll_measured_value){pow(law->data_scale, law->beta_p), 2, ""},
                   law->model_scale * 0.95, law->model_scale * 1.05, "%s: model scale",
                   ll_catamount_domains[d].name);
    }
    ll_inform(outcome, "19.5", "33", "speech: data scale; 33 belongs to an error of 3.4 %%, not of 4 %%");
    ll_inform(outcome, "-0.090", "-0.092", "character LM: the exponent that its scale of 971 has");
    ll_inform(outcome, "1.03e-6", "1.2e-5", "character LM: sigma that gives 146 billion parameters");
}

/* Table 2: coefficients a sample; table 3: settings and results. */
static const struct asymptote {
    /* Low and high: the denominators lambda / gamma, mu / gamma. */
    double gamma, lambda, mu, delta, low, high;
} asymptotes[DOMAINS] = {
    [LL_WORD_DOMAIN] = {481, 1755, 30784, 11.94, 3.65, 64},
    [LL_CHAR_DOMAIN] = {900, 3510, 102980, 12.47, 3.9, 114},
    [LL_NMT_DOMAIN] = {149, 533, 22653, 10.32, 3.6, 151},
    [LL_SPEECH_DOMAIN] = {775, 3100, 162750, 32.94, 4.0, 210},
    [LL_IMAGE_DOMAIN] = {1111, 66.7, 268862, 42.57, 0.06, 242},
};
static const struct frontier {
    double parameters, batch, teraflop, terabytes, time_s;
} frontiers[DOMAINS] = {
    [LL_WORD_DOMAIN] = {23.8e9, 128, 1444, 41.5, 115}, [LL_CHAR_DOMAIN] = {146e9, 96, 12618, 488.1, 1007},
    [LL_NMT_DOMAIN] = {18.9e9, 96, 499, 18.4, 39.8},   [LL_SPEECH_DOMAIN] = {727e6, 128, 72, 2.8, 5.8},
    [LL_IMAGE_DOMAIN] = {732e6, 32, 28, 0.4, 2.3},
};

/* Networks as large as fit the asymptotes, at two batches each: which FLOPs and bytes grow with what.
 * Sequences are as long as the printed gamma says: 26.7 words of NMT, 300 frames of speech. */
static const struct probe {
    enum ll_catamount_domain domain;
    struct ll_study_setting settings[2];
    uint64_t batches[2];
    const char *variants[2];
} probes[] = {
    {LL_WORD_DOMAIN, {{"hidden", "38100"}}, {64, 128}, {"64", "128"}},
    {LL_CHAR_DOMAIN, {{"hidden", "81400"}}, {48, 96}, {"48", "96"}},
    {LL_NMT_DOMAIN, {{"hidden", "22350"}, {"sequence", "27"}}, {48, 96}, {"48", "96"}},
    {LL_SPEECH_DOMAIN, {{"hidden", "3289"}, {"steps", "300"}}, {64, 128}, {"64", "128"}},
};
enum { PROBES = sizeof probes / sizeof *probes };

static void plan_probes(struct ll_study_plan *plan)
{
    for (size_t i = 0; i < 2 * PROBES; i++) {
        const struct probe *probe = &probes[i / 2];
        const struct ll_catamount_domain_row *domain = &ll_catamount_domains[probe->domain];
        ll_study_plan_recording(plan,
                                &(struct ll_recording){.row = domain->name,
                                                       .variant = probe->variants[i % 2],
                                                       .model = domain->model,
                                                       .settings = {probe->settings[0], probe->settings[1]},
                                                       .train = true,
                                                       .dry_run = true,
                                                       .batch = probe->batches[i % 2],
                                                       .steps = 1});
    }
}

/* Gamma, lambda and mu of a domain, from its two batches. */
static struct asymptote fitted(const struct ll_evidence *evidence, const struct probe *probe)
{
    struct ll_accounts a[2];
    for (size_t i = 0; i < 2; i++) {
        const struct ll_trace *trace =
            ll_evidence_trace(evidence, ll_catamount_domains[probe->domain].name, probe->variants[i]);
        if (!trace || !ll_catamount(trace, &a[i]))
            return (struct asymptote){NAN, NAN, NAN, NAN, NAN, NAN};
    }
    const double p = (double)a[0].parameters, low = (double)probe->batches[0],
                 high = (double)probe->batches[1];
    const double slope = ((double)a[1].bytes - (double)a[0].bytes) / (high - low);
    return (struct asymptote){.gamma = (double)a[1].flops / p / high,
                              .lambda = ((double)a[1].bytes - slope * high) / p,
                              .mu = slope / sqrt(p)};
}

static void within(struct ll_outcome *outcome, double found, double published, double percent,
                   const char *name, const char *what)
{
    ll_between(outcome, (struct ll_measured_value){found, 1, ""}, published * (1 - percent / 100),
               published * (1 + percent / 100), "%s: %s", name, what);
}

static void judge_asymptotes(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"domain", LL_TEXT_COLUMN}, {"gamma", 1}, {"published", 1},  {"lambda", 0},
        {"published ", 1},          {"mu", 0},    {"published  ", 0}};
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "What FLOPs and bytes of a step grow with.", columns, 7);
    for (size_t i = 0; i < PROBES; i++) {
        const struct asymptote found = fitted(evidence, &probes[i]), printed = asymptotes[probes[i].domain];
        const char *name = ll_catamount_domains[probes[i].domain].name;
        const double numbers[] = {found.gamma,    printed.gamma, found.lambda,
                                  printed.lambda, found.mu,      printed.mu};
        ll_put_text(sheet, name);
        for (size_t j = 0; j < 6; j++)
            ll_put_number(sheet, numbers[j]);
        within(outcome, found.gamma, printed.gamma, 3, name, "FLOPs a parameter and sample, gamma");
        within(outcome, found.lambda, printed.lambda, 10, name, "bytes a parameter, lambda");
        if (probes[i].domain != LL_SPEECH_DOMAIN)
            within(outcome, found.mu, printed.mu, 25, name, "bytes a sample and root of a parameter, mu");
    }
    for (unsigned d = 0; d < DOMAINS; d++) {
        const struct asymptote *a = &asymptotes[d];
        ll_between(outcome, (struct ll_measured_value){a->lambda / a->gamma / a->low, 4, ""}, 0.986, 1.014,
                   "%s: lambda / gamma over what the column of intensities prints",
                   ll_catamount_domains[d].name);
        ll_between(outcome, (struct ll_measured_value){a->mu / a->gamma / a->high, 4, ""}, 0.993, 1.007,
                   "%s: mu / gamma over what it prints", ll_catamount_domains[d].name);
    }
    ll_inform(
        outcome, "225,900", "162,750",
        "speech: mu with 300 frames; its bytes also grow with the square of the frames, whose number in "
        "the fit is not printed");
    ll_inform(outcome, "27 words", "not printed", "NMT: the sentence that gamma belongs to; table 3 has 50");
}

static void plan_machine(struct ll_study_plan *plan)
{
    ll_study_plan_target(plan, &(struct ll_target){.name = "target accelerator", .machine = "catamount"});
}

static void judge_frontiers(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {{"domain", LL_TEXT_COLUMN}, {"TFLOP a step", 1},
                                                       {"published", 1},           {"time (s)", 3},
                                                       {"published (s)", 1},       {"bytes' time (s)", 2}};
    const struct ll_catamount_rates rates = ll_catamount_rates(evidence->machines[0]);
    struct ll_sheet *sheet =
        ll_sheet_new(outcome, NULL, "The frontier's networks on one accelerator.", columns, 6);
    for (unsigned d = 0; d < DOMAINS; d++) {
        const struct frontier *f = &frontiers[d];
        const char *name = ll_catamount_domains[d].name;
        const double teraflop = asymptotes[d].gamma * f->parameters * f->batch * 1e-12;
        const double flops_s = f->teraflop * 1e12 / rates.flops, bytes_s = f->terabytes * 1e12 / rates.Bps;
        const double numbers[] = {teraflop, f->teraflop, fmax(flops_s, bytes_s), f->time_s, bytes_s};
        ll_put_text(sheet, name);
        for (size_t j = 0; j < 5; j++)
            ll_put_number(sheet, numbers[j]);
        within(outcome, fmax(flops_s, bytes_s), f->time_s, d == LL_IMAGE_DOMAIN ? 3 : 1.1, name,
               "time of a step from the printed FLOPs and bytes (s)");
        if (d != LL_NMT_DOMAIN && d != LL_IMAGE_DOMAIN)
            within(outcome, teraflop, f->teraflop, 2, name, "TFLOP of a step from gamma");
    }
    ll_inform(outcome, "270 with 27 words, 499 with 50", "499",
              "NMT: TFLOP of a step; tables 2 and 3 have sentences of different lengths");
    ll_inform(outcome, "26.0", "28", "ResNet: TFLOP of a step from gamma; table 3 has 1195 FLOP a parameter");
    ll_inform(outcome, "units of 2^40 and 2^30", "TB and GB", "bytes and footprints of table 3");
}

static void judge_accelerator(const struct ll_evidence *evidence, struct ll_outcome *outcome)
{
    static const struct ll_outcome_column columns[] = {
        {"quantity", LL_TEXT_COLUMN}, {"machine file", 2}, {"printed", 2}};
    const struct ll_machine *machine = evidence->machines[0];
    const struct ll_catamount_rates rates = ll_catamount_rates(machine);
    const struct ll_level *memory = &machine->levels[machine->level_count - 1];
    const struct {
        const char *name;
        double found, printed, slack;
    } rows[] = {
        {"TFLOP/s", rates.peak_flops * 1e-12, 15.67, 1e-9},
        {"cache (MB)", (double)machine->levels[machine->level_count - 2].size_bytes * 1e-6, 6, 1e-9},
        {"bandwidth (GB/s)", rates.peak_Bps * 1e-9, 898, 1e-9},
        {"memory (GB)", (double)memory->size_bytes * 1e-9, 32, 1e-9},
        {"link (GB/s)", machine->networks[0].bandwidth_Bps * 1e-9, 56, 1e-9},
        {"ridge (FLOP/B)", rates.peak_flops / rates.peak_Bps, 15.67e3 / 898, 1e-9},
        {"ridge of what is achievable (FLOP/B)", rates.flops / rates.Bps, 15.67e3 * 0.8 / (898 * 0.7), 1e-9},
    };
    struct ll_sheet *sheet = ll_sheet_new(outcome, NULL, "The accelerator of table 4.", columns, 3);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ll_put_text(sheet, rows[i].name);
        ll_put_number(sheet, rows[i].found);
        ll_put_number(sheet, rows[i].printed);
        ll_between(outcome, (struct ll_measured_value){rows[i].found, 4, ""},
                   rows[i].printed * (1 - rows[i].slack), rows[i].printed * (1 + rows[i].slack),
                   "%s, as printed", rows[i].name);
    }
    ll_inform(outcome, "17.45 and 19.94", "17.4 and 19.9", "both ridges, rounded down in the text");
}

const struct ll_study ll_study_CT1 = {
    .id = "C-T1",
    .paper = "Catamount, table 1",
    .title = "Data and models at the frontier",
    .doc = "How much more data and how much larger models the desired accuracy needs, by power laws of "
           "learning.",
    .plan = ll_study_plan_nothing,
    .judge = judge_laws,
};

const struct ll_study ll_study_CT2 = {
    .id = "C-T2",
    .paper = "Catamount, table 2",
    .title = "What computation grows with",
    .doc = "FLOPs and bytes of a training step as models and batches grow.",
    .plan = plan_probes,
    .judge = judge_asymptotes,
};

const struct ll_study ll_study_CT3 = {
    .id = "C-T3",
    .paper = "Catamount, table 3",
    .title = "Training at the frontier",
    .doc = "What a step of each domain's frontier network takes on one accelerator.",
    .plan = plan_machine,
    .judge = judge_frontiers,
};

const struct ll_study ll_study_CT4 = {
    .id = "C-T4",
    .paper = "Catamount, table 4",
    .title = "The accelerator",
    .doc = "The accelerator that its projections assume, and the intensity at which it stops being held back "
           "by memory.",
    .plan = plan_machine,
    .judge = judge_accelerator,
};
