/* SPDX-License-Identifier: Apache-2.0 */
/* How servers of published settings were started, where a row of measurements does not say it: by the rules
 * of served.yaml, which lies beside the machines and says what its rules look like. One thread at a time. */
#ifndef LL_SIM_CLI_SERVED_SETTINGS_H
#define LL_SIM_CLI_SERVED_SETTINGS_H

#include "sim/cli/serving.h"

/* A served setting as its row has it; numbers that it leaves open are 1, texts are empty. */
struct ll_served_setting {
    const char *system, *backend, *version, *model, *precision;
    bool apart; /* prefill and decode */
    uint64_t input, output, clients, tensor, pipeline, data, expert;
};

struct ll_served_rules;

/* The rules of the first of these folders that has some; none without a file. NULL after complaints. Lives in
 * the arena. */
const struct ll_served_rules *ll_served_rules_read(const char *const *folders, struct ll_arena *arena,
                                                   struct ll_diags *diags);

/* Whether a row's prompts and outputs have lengths as its benchmark draws them: the name `drawn` of the
 * rules. */
bool ll_served_is_drawn(const struct ll_served_rules *rules, const struct ll_served_setting *setting);

/* Gives `leadline serve` what the rules say of a setting. NULL, or why nobody can tell how it was started (as
 * long as the rules). */
const char *ll_served_settings(const struct ll_served_rules *rules, const struct ll_served_setting *setting,
                               struct ll_serving_options *options);

#endif
