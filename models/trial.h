/* SPDX-License-Identifier: Apache-2.0 */
/* How well somebody plays: games that were not learned from, and a picture of one. */
#ifndef LL_MODELS_TRIAL_H
#define LL_MODELS_TRIAL_H

#include "models/games/game.h"
#include "models/model.h"

enum { LL_JUDGED_GAMES = 32 };

/* Who is judged: a player a game, all of which think before each turn and then choose. The games follow from
 * one key, the draws that choices are made with from the other. */
struct ll_trial {
    struct ll_player *players; /* LL_JUDGED_GAMES */
    struct ll_rules rules;
    uint64_t games_key, draws_key;
    void (*think)(void *context, uint64_t turn);
    enum ll_action (*choose)(void *context, uint64_t player, uint64_t random_bits);
    void *context;
};

/* Adds the mean score of the games, and that of a player who draws all actions. With a folder, the first
 * game's beginning as a picture there. False after complaints. */
bool ll_trial_judge(const struct ll_trial *trial, struct ll_scores *scores);

#endif
