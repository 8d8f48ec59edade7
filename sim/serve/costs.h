/* SPDX-License-Identifier: Apache-2.0 */
/* What steps of a server cost, put together from replays of batches whose sequences are alike.
 *
 * Kernels of a step follow one another on a device, so its time is a sum: of attention, which depends on each
 * sequence's lengths; of the head, which depends on how many tokens are asked for; and of all else, which
 * depends on how many tokens there are. Each part is known at the points of a grid from a replay of one form,
 * which is asked for when it is first needed, and interpolated linearly between them. Up to the largest
 * captured graph a batch is padded to the next captured size, as servers do. tests/unit/test_served_model.c
 * compares steps with replays of the same batch. Where tokens are guessed ahead, each guess takes one more
 * layer and the head for each sequence, one after another (DeepSeek-AI, 2024, section 2.2; Li et al., 2024).
 *
 * What is neglected: sequences that decode are taken to be as long as their mean; in mixed steps latent
 * attention's projections are those of prompts. */
#ifndef LL_SIM_SERVE_COSTS_H
#define LL_SIM_SERVE_COSTS_H

#include "sim/serve/serve.h"

/* `count` sequences with so many new tokens each behind so many old ones, on each rank. */
struct ll_form {
    bool decoding; /* else of prompts */
    uint64_t count, tokens, past;
};

/* Seconds of the devices: of attention, the head, all else; of one more layer like the last. Energy of all
 * devices, in J, NaN where not known. */
struct ll_form_cost {
    double attention_s, head_s, rest_s, layer_s, energy_j;
};

/* False after complaints. */
typedef bool ll_cost_of_form(void *context, const struct ll_form *form, struct ll_form_cost *cost);

struct ll_step_costs;

/* most_captured: tokens of the largest captured graph; 0: none. NULL when memory ran out. Lives in the arena,
 * but for what ll_step_costs_release frees. One thread at a time. */
struct ll_step_costs *ll_step_costs_make(uint64_t most_captured, ll_cost_of_form *ask, void *context,
                                         struct ll_arena *arena);

/* Frees what is not in the arena. NULL is fine. */
void ll_step_costs_release(struct ll_step_costs *costs);

/* A step's cost; `costs` is a struct ll_step_costs, so that this is an ll_cost_of_step. A time that is not
 * above 0: a form could not be costed. */
struct ll_step_cost ll_step_cost(void *costs, const struct ll_server_step *steps, uint64_t ranks);

#endif
