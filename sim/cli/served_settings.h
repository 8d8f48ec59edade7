/* SPDX-License-Identifier: Apache-2.0 */
/* How servers of published settings were started, where a row of measurements does not say it. */
#ifndef LL_SIM_CLI_SERVED_SETTINGS_H
#define LL_SIM_CLI_SERVED_SETTINGS_H

#include "sim/cli/serving.h"

/* A served setting as its row has it; numbers that it leaves open are 1, texts are empty. */
struct ll_served_setting {
    const char *system, *backend, *version, *model, *precision;
    bool apart; /* prefill and decode */
    uint64_t input, output, clients, tensor, pipeline, data, expert;
};

/* Whether a row's prompts and outputs have lengths as InferenceMAX draws them. */
bool ll_served_is_drawn(const struct ll_served_setting *setting);

/* Gives `leadline serve` what the benchmark's scripts gave its server, as far as it is no default. NULL, or
 * why nobody can tell how it was started (static text). */
const char *ll_served_settings(const struct ll_served_setting *setting, struct ll_serving_options *options);

#endif
