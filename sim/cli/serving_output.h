/* SPDX-License-Identifier: Apache-2.0 */
/* A serving as text, as JSON, as a page and as a timeline. One thread. */
#ifndef LL_SIM_CLI_SERVING_OUTPUT_H
#define LL_SIM_CLI_SERVING_OUTPUT_H

#include "sim/cli/serving.h"
#include "sim/serve/history.h"

/* Money, energy and carbon of a serving; NaN where a machine does not say. */
struct ll_serving_costs {
    double usd_per_hour, usd_per_m_input, usd_per_m_output; /* of all devices; a million tokens */
    double j_per_output, gco2_per_output, tokens_per_s_per_w;
};

/* What a step is bound by: shares that sum to 1, by LL_BOUND_... of the group's machine; group NULL: there
 * was no such step. */
struct ll_serving_bounds {
    const struct ll_serving_group *group;
    double shares[LL_BOUND_COUNT];
};

/* A serving that ended. */
struct ll_serving_shown {
    struct ll_serving_setup *setup;
    const struct ll_serving *serving;       /* of at least one request */
    const struct ll_serve_history *history; /* for the page; else NULL */
    double found_rate_Hz, percentile;       /* of --find-rate; 0: nobody looked for a rate */
    double carbon, pue;                     /* gCO2e a kWh; power of the site over that of the devices */
    struct ll_serving_costs costs;
    struct ll_serving_bounds decode, prompts; /* of a step that decodes; of one that computes prompts */
};

/* What a serving cost, with these figures of a site (struct ll_serving_shown). */
struct ll_serving_costs ll_serving_costs_of(const struct ll_serving_setup *setup, const struct ll_serving *r,
                                            double carbon, double pue);

/* Fills costs and bounds; the rest is set. False after complaints. */
bool ll_serving_sum_up(struct ll_serving_shown *shown);

/* The document of --json, and the screen; appended. */
void ll_serving_json(const struct ll_serving_shown *shown, struct ll_str *out);
void ll_serving_text(const struct ll_serving_shown *shown, struct ll_str *out);

/* Writes the page that --html names; an exit status. */
int ll_serving_page(const struct ll_serving_shown *shown);

#endif
