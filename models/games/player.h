/* SPDX-License-Identifier: Apache-2.0 */
/* Someone at a screen: plays game after game and sees the last four frames of the one being played, as the
 * agent of Mnih et al. (2015) does.
 *
 * A player is a plain struct of the caller's, without memory of its own, and nothing fails: what the rules
 * and the seed are, games and frames follow from. One thread at a time; players share nothing. */
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

/* Begins the first game; its frame is there to be seen. Whatever the player was before is forgotten. The
 * rules are copied, and within the bounds of breakout.h. */
void ll_player_begin(struct ll_player *player, const struct ll_rules *rules, uint64_t seed);

/* The newest frame, LL_SCREEN_PIXELS shades of grey, and all that are seen, NULL before a game's first. They
 * point into the player and are good until it acts. */
const uint8_t *ll_player_frame(const struct ll_player *player);
struct ll_sight ll_player_sight(const struct ll_player *player);

/* Acts for as many frames as the rules say and looks. The reward is the number of bricks that fell. Behind
 * the last moment of a game the next one has begun, and its first frame is what is seen. */
struct ll_moment ll_player_act(struct ll_player *player, enum ll_action action);

/* The action that is worth most, the first of equals; with a chance of epsilon, 0 to 1, any, all equally
 * likely. The bits are drawn by the caller: the lower half decides whether, the upper half which. Pure. */
enum ll_action ll_choose_action(const double values[LL_ACTION_COUNT], double epsilon, uint64_t random_bits);

#endif
