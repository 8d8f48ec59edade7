/* SPDX-License-Identifier: Apache-2.0 */
/* A game to be learned from what it shows: a ball, a paddle, a wall of bricks, after Atari's Breakout of 1978
 * as the Arcade Learning Environment has it, scaled to the screen that Mnih et al. (2015) let their network
 * see: 84 x 84 shades of grey.
 *
 * A game is a plain struct without pointers: a copy of it goes on as the game itself would. The same rules,
 * seed and actions give the same game, everywhere. Distances are in pixels, times in frames of which the
 * screen has 60 a second. */
#ifndef LL_GAMES_BREAKOUT_H
#define LL_GAMES_BREAKOUT_H

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

#endif
