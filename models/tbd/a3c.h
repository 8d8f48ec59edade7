/* SPDX-License-Identifier: Apache-2.0 */
/* Those who play for an actor-critic (Mnih et al., 2016), as far as they are no network: several games at
 * once, some turns of each between two updates, what came of each turn, and how well they play.
 *
 * The network has a program that says to each player how likely each action is to be right and what the
 * moment is worth. Before a step every player takes some turns, drawing its actions; then for each turn
 *
 *     return = reward + discount return of the next turn    (behind the last one, what that moment is worth)
 *     advantage = return - what the turn's moment was worth
 *
 * is what the step learns from. The actors are the network's driver and belong to it. */
#ifndef LL_MODELS_TBD_A3C_H
#define LL_MODELS_TBD_A3C_H

#include "models/model.h"
#include "models/nn/nn.h"
#include "models/trial.h"

enum { LL_MOST_TURNS = 64 };

struct ll_actors_options {
    struct ll_rules rules;
    uint64_t games; /* at once */
    uint64_t turns; /* between two updates */
    uint64_t seed;
    double discount;    /* of rewards, for each turn that they come later */
    bool raw;           /* they see 210 x 160 in three colours, as Atari's screen is, else 84 x 84 in grey */
    bool learn, judged; /* an update in each step; games of their own are played for scores */
};

/* Players in a row, and what the network says to them. */
struct ll_actor_crew {
    uint64_t count;
    struct ll_player *players;
    uint32_t program;
    struct ll_value *policy, *worth; /* [count, actions] and [count, 1], kept */
};

struct ll_actors {
    struct ll_actors_options options;
    struct ll_actor_crew playing, judged; /* judged: empty unless asked for */
    uint64_t steps, acted;                /* so far */
    struct ll_arena arena;                /* of a run: what follows, and the players; [turns, games] */
    uint8_t *screens;                     /* what was seen before each turn */
    int32_t *actions;
    /* of each turn; ends: 1 where a game was over behind it */
    float *rewards, *ends, *worths, *returns, *advantages;
};

/* Of all games at a turn before the update: what was seen, the actions taken, [games], the returns and the
 * advantages, [games]. */
struct ll_turn {
    struct ll_value *screens, *actions, *returns, *advantages;
};

#endif
