/* SPDX-License-Identifier: Apache-2.0 */
/* A game to be learned from what it shows: a ball, a paddle, a wall of bricks, after Atari's Breakout of 1978
 * as the Arcade Learning Environment has it, scaled to the screen that Mnih et al. (2015) let their network
 * see: 84 x 84 shades of grey.
 *
 * A game is a plain struct without pointers: a copy of it goes on as the game itself would. The same rules,
 * seed and actions give the same game, everywhere. Distances are in pixels, times in frames of which the
 * screen has 60 a second. */
#ifndef LL_MODELS_GAMES_GAME_H
#define LL_MODELS_GAMES_GAME_H

#include <stdbool.h>
#include <stdint.h>

enum {
    LL_SCREEN = 84, /* height and width */
    LL_SCREEN_PIXELS = LL_SCREEN * LL_SCREEN,
    LL_WALL = 6, /* how thick the frame is on the left, on the right and above; nothing is below */
    LL_BRICK_COLUMNS = 18,
    LL_MAX_BRICK_ROWS = 8,
    LL_LEAST_PADDLE = 4,
    LL_MOST_PADDLE = 48,
    LL_LEAST_BALL = 2,
    LL_MOST_BALL = 8,
    LL_MOST_LIVES = 9,
    LL_LONGEST_GAME = 18000, /* five minutes, as those that Mnih et al. (2015) evaluate */
    LL_LONGEST_WAIT = 120    /* who has not fired by then is served all the same */
};

/* The order of the Arcade Learning Environment's smallest set of actions. */
enum ll_action { LL_NOOP, LL_FIRE, LL_RIGHT, LL_LEFT, LL_ACTION_COUNT };

struct ll_rules {
    uint32_t paddle;     /* its width, LL_LEAST_PADDLE to LL_MOST_PADDLE; 8 is Atari's */
    uint32_t ball;       /* its height and width, LL_LEAST_BALL to LL_MOST_BALL; 2 is Atari's */
    uint32_t rows;       /* of bricks, 1 to LL_MAX_BRICK_ROWS; Atari has 6 */
    uint32_t lives;      /* balls, 1 to LL_MOST_LIVES; Atari has 5 */
    uint32_t frame_skip; /* for how many frames an action is held, at least 1; 4 in the paper */
};

/* Of the ball's upper left corner, in 1/16 pixel. */
enum { LL_GRAIN = 16 };
struct ll_ball {
    int32_t x, y, right, down; /* where it is, and how far it moves in a frame */
    bool flies;                /* else the next one has not been served */
};

struct ll_breakout {
    struct ll_rules rules;
    uint64_t key; /* of the serves */
    uint32_t serves, frames, waited;
    uint32_t lives, score; /* score: bricks gone */
    int32_t paddle;        /* its left end */
    struct ll_ball ball;
    uint32_t bricks[LL_MAX_BRICK_ROWS]; /* a bit for each that stands, column 0 lowest */
};

/* A whole wall, all lives, the paddle in the middle, no ball yet. */
void ll_breakout_begin(struct ll_breakout *game, const struct ll_rules *rules, uint64_t seed);

/* Holds an action for as many frames as the rules say, or until the game is over, which it is not yet.
 * Returns what it scored. */
uint32_t ll_breakout_act(struct ll_breakout *game, enum ll_action action);

/* No lives, no bricks or no time left. */
bool ll_breakout_over(const struct ll_breakout *game);

/* What is to be seen, row by row from the top: LL_SCREEN_PIXELS, 0 is black. */
void ll_breakout_draw(const struct ll_breakout *game, uint8_t *screen);

/* What a player remembers of its games (Mnih et al., 2015): each frame, the action taken on it, what that
 * scored, and whether it was the last. The newest moments push out the oldest.
 *
 * A player sees the last four frames at once, so a memory for learning is eight frames: those seen before the
 * action and those after it. They overlap, and every frame is kept once, a byte a pixel: a million of
 * 84 x 84 are 7.06 GB. The system gives that memory page by page, as the frames come in.
 *
 * Frames are pointed to, and good until the next moment is added. One thread at a time. */

/* How many frames are seen at once. */
enum { LL_SEEN_FRAMES = 4 };

/* Oldest first; NULL where there is nothing to be seen, before a game's first frame and after its last. */
struct ll_sight {
    const uint8_t *frames[LL_SEEN_FRAMES];
};

struct ll_moment {
    uint32_t action;
    float reward;
    bool last; /* of its game */
};

/* Seen, then done, then seen. */
struct ll_experience {
    struct ll_sight before, after;
    struct ll_moment moment;
};

struct ll_replay;

/* Keeps up to `capacity` moments, at least eight, with frames of so many bytes. NULL when memory ran out. */
struct ll_replay *ll_replay_new(uint64_t capacity, uint64_t frame_bytes);
void ll_replay_free(struct ll_replay *replay);

/* The frame is copied. The moment after a game's last one begins the next game. */
void ll_replay_add(struct ll_replay *replay, const uint8_t *frame, struct ll_moment moment);

/* How many memories are whole, and one of them, 0 being the oldest. Not whole are those whose first frames
 * may have been pushed out, and the newest moment: what came after it is not known yet. */
uint64_t ll_replay_count(const struct ll_replay *replay);
void ll_replay_get(const struct ll_replay *replay, uint64_t i, struct ll_experience *memory);

/* The frames as a network reads them: [pixel][frame], from 0 for black to 1. */
void ll_sight_pixels(const struct ll_sight *sight, uint64_t frame_bytes, float *pixels);

/* Someone at a screen: plays game after game and sees the last four frames of the one being played, as the
 * agent of Mnih et al. (2015) does.
 *
 * A player is a plain struct of the caller's, without memory of its own, and nothing fails: what the rules
 * and the seed are, games and frames follow from. One thread at a time; players share nothing. */

struct ll_player {
    struct ll_rules rules;
    uint64_t key;   /* of the games' seeds */
    uint64_t games; /* begun so far */
    struct ll_breakout game;
    uint8_t frames[LL_SEEN_FRAMES][LL_SCREEN_PIXELS];
    uint64_t seen; /* frames of this game so far; frame n lies at (n - 1) % LL_SEEN_FRAMES */
};

/* Begins the first game; its frame is there to be seen. Whatever the player was before is forgotten. The
 * rules are copied, and within the bounds of struct ll_rules. */
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
