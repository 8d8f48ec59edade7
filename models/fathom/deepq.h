/* SPDX-License-Identifier: Apache-2.0 */
/* Who learns a game by its score (Mnih et al., 2015), as far as that is no network: acts, remembers, draws
 * what is to be learned, is judged.
 *
 * The network has programs for it: one says what each action is worth to a player who sees this, one what it
 * was worth to the network that is only copied now and then (the target), one copies. The agent is the
 * network's driver: before each step it plays, and draws what the step learns from. It belongs to the
 * network. */
#ifndef LL_MODELS_FATHOM_DEEPQ_H
#define LL_MODELS_FATHOM_DEEPQ_H

#include "models/games/game.h"
#include "models/model.h"
#include "models/nn/nn.h"
#include "models/trial.h"

/* Games played at once, one for each row of a program's batch. */
struct ll_game_table {
    uint64_t count;
    bool batched; /* as many as there are samples; else however large the batch is */
    struct ll_player *players;
    uint32_t program;        /* says what the actions are worth, */
    struct ll_value *values; /* [count, actions], kept */
};

struct ll_agent_options {
    struct ll_rules rules; /* of the games that are played */
    uint64_t batch;        /* memories that a step learns from, or games at once where nothing is learned */
    /* memories kept; actions over which random play fades out; updates between two copies to the target
     * network */
    uint64_t replay, exploration, copy_every;
    uint64_t seed;
    bool learns, judged; /* an update in each step; games of its own are played for scores */
};

struct ll_agent {
    struct ll_agent_options options;
    struct ll_game_table playing, judged; /* judged: empty unless asked for */
    /* that value moments by the target network, and that copy weights to it */
    uint32_t target_program, copy_program;
    struct ll_value *target_values; /* [batch, actions], kept */
    uint64_t steps, acted;          /* so far */
    struct ll_arena arena;          /* of a run: what follows, and the tables' players */
    struct ll_replay *replay;       /* what was seen, done and won, oldest overwritten first */
    struct ll_experience *batch;    /* [batch]: the memories that the next update learns from */
    double *next_values;            /* of the batch: the best action's value for the target */
};

#endif
