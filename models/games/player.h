/* SPDX-License-Identifier: Apache-2.0 */
/* Someone at a screen: plays game after game and sees the last four frames of the one being played. */
#ifndef LL_GAMES_PLAYER_H
#define LL_GAMES_PLAYER_H

#include "models/games/breakout.h"
#include "models/games/replay.h"

struct ll_player {
    struct ll_rules rules;
    uint64_t key;   /* of the games' seeds */
    uint64_t games; /* begun so far */
    struct ll_breakout game;
    uint8_t frames[LL_SEEN_FRAMES][LL_SCREEN_PIXELS];
    uint64_t seen; /* frames of this game so far; frame n lies at (n - 1) % LL_SEEN_FRAMES */
};

/* Begins the first game; its frame is there to be seen. */
void ll_player_begin(struct ll_player *player, const struct ll_rules *rules, uint64_t seed);

/* The newest frame, and all that are seen, pointing into the player. */
const uint8_t *ll_player_frame(const struct ll_player *player);
struct ll_sight ll_player_sight(const struct ll_player *player);

/* Acts and looks. The reward is what was scored. Behind the last moment of a game the next one has begun. */
struct ll_moment ll_player_act(struct ll_player *player, enum ll_action action);

/* The action that is worth most, the first of equals; with a chance of epsilon any. */
enum ll_action ll_choose_action(const double values[LL_ACTION_COUNT], double epsilon, uint64_t random_bits);

#endif
