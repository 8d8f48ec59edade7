/* SPDX-License-Identifier: Apache-2.0 */
/* What the studies of Catamount's paper (Hestness et al., "Beyond Human-Level Accuracy", PPoPP 2019) share:
 * the sizes of its five domains, each with what Catamount itself says of it, and our recordings of the same.
 */
#ifndef LL_SIM_STUDY_CATAMOUNT_H
#define LL_SIM_STUDY_CATAMOUNT_H

#include "sim/study/study.h"
#include "tracer/ir/profile.h"

/* Word, name, our model, its batch, the setting that makes it larger. */
#define LL_CATAMOUNT_DOMAINS(X)                                                                              \
    X(WORD, "word LM", "word_lm", 128, "hidden")                                                             \
    X(CHAR, "character LM", "char_lm", 96, "hidden")                                                         \
    X(NMT, "NMT", "nmt_luong", 96, "hidden")                                                                 \
    X(SPEECH, "speech", "speech_attention", 32, "hidden")                                                    \
    X(IMAGE, "ResNet", "image_resnet", 32, "depth")
enum ll_catamount_domain {
#define X(word, name, model, batch, setting) LL_##word##_DOMAIN,
    LL_CATAMOUNT_DOMAINS(X)
#undef X
        LL_CATAMOUNT_DOMAIN_COUNT
};

struct ll_catamount_domain_row {
    const char *name, *model;
    uint64_t batch;
    const char *setting;
};
extern const struct ll_catamount_domain_row ll_catamount_domains[LL_CATAMOUNT_DOMAIN_COUNT];

/* Table 1: what follows from a domain's learning curve, error(m) = alpha m^beta_g of m samples, and from how
 * its networks grow, sigma m^beta_p million parameters. `fitting` is the exponent that the other numbers of
 * the row agree with. Error rates are shares, of language models nats a word and bits a character. */
struct ll_catamount_law {
    double error_now, error_goal, data_now, alpha, beta_g, fitting, sigma, beta_p;
    double data_scale, model_scale, parameters; /* published; parameters in millions */
};
extern const struct ll_catamount_law ll_catamount_laws[LL_CATAMOUNT_DOMAIN_COUNT];

/* A size of a domain and what Catamount counts of it (commit 4591f79 on its own graphs); minimal_bytes is 0
 * where it was not asked. Of a domain by ascending parameters. */
struct ll_catamount_size {
    enum ll_catamount_domain domain;
    const char *value; /* of the domain's setting */
    double parameters, flops, bytes, minimal_bytes;
};
enum { LL_CATAMOUNT_SIZES = 29 };
extern const struct ll_catamount_size ll_catamount_sizes[LL_CATAMOUNT_SIZES];

/* The one with most parameters of a domain. */
const struct ll_catamount_size *ll_catamount_largest(enum ll_catamount_domain domain);

/* The seconds of a step whose ops take the longer of their FLOPs at one rate and their bytes at another, one
 * after the other. */
double ll_catamount_sum_s(const struct ll_trace *trace, double flops_per_s, double bytes_per_s);

/* The accelerator of its section 5.2, as the machine file describes it: what is reached of both peaks. */
struct ll_catamount_rates {
    double peak_flops, peak_Bps, flops, Bps;
};
struct ll_catamount_rates ll_catamount_rates(const struct ll_machine *machine);

/* By how many bytes the character LM's least memory grows with a parameter up to a billion of them, where the
 * paper's figure 10 ends; NaN where it was not recorded. The first adds the recordings that this needs. */
void ll_catamount_plan_character_slope(struct ll_study_plan *plan);
double ll_catamount_character_slope(const struct ll_runs *runs);

/* (found - expected) / expected, in percent. */
double ll_percent_off(double found, double expected);

#endif
