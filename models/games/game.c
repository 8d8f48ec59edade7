/* SPDX-License-Identifier: Apache-2.0 */
/* The field in pixels, from 0:
 *
 *         0   6                          78  84
 *       0  +------------------------------+
 *          |  lives are drawn here        |
 *       6  |   +----------------------+   |
 *          |   |                      |   |      a ball that gets behind the wall breaks it from above
 *      20  |   | 18 bricks of 4 x 3   |   |
 *          |   | a row                |   |
 *      44  |   |         . a serve    |   |      after the eighth row
 *          |   |                      |   |
 *      76  |   |     ____ the paddle  |   |
 *      84  |   |                      |   |
 *
 * The ball moves along one axis after the other, by less than a brick's height or width a frame, and turns
 * round where something is in its way. The paddle sends it where it was hit: six zones, six slants, none of
 * them upright, so that a ball does not come back to where it was for ever. */
#define _GNU_SOURCE
#include "models/games/game.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracer/base/num.h"
#include "tracer/base/random.h"

enum {
    BRICKS_TOP = 20,
    BRICK_HEIGHT = 3,
    BRICK_WIDTH = 4,
    SERVE_TOP = BRICKS_TOP + LL_MAX_BRICK_ROWS * BRICK_HEIGHT,
    PADDLE_TOP = 76,
    PADDLE_HEIGHT = 2,
    PADDLE_SPEED = 2,
    FIELD_RIGHT = LL_SCREEN - LL_WALL,
    BALL_SPEED = 24, /* up or down, in grains a frame */
};
enum { WALL_GREY = 142, BRICK_GREY = 220, DARKER_ROW = 14, PADDLE_GREY = 200, LIFE_GREY = 255 };

static const int32_t slants[] = {-24, -16, -8, 8, 16, 24}; /* grains a frame to the right */
enum { SLANTS = sizeof slants / sizeof *slants };

void ll_breakout_begin(struct ll_breakout *game, const struct ll_rules *rules, uint64_t seed)
{
    assert(rules->paddle >= LL_LEAST_PADDLE && rules->paddle <= LL_MOST_PADDLE && rules->frame_skip > 0);
    assert(rules->ball >= LL_LEAST_BALL && rules->ball <= LL_MOST_BALL);
    assert(rules->rows > 0 && rules->rows <= LL_MAX_BRICK_ROWS);
    assert(rules->lives > 0 && rules->lives <= LL_MOST_LIVES);
    *game = (struct ll_breakout){.rules = *rules, .key = ll_random_key(seed, 0), .lives = rules->lives};
    game->paddle = (LL_SCREEN - (int32_t)rules->paddle) / 2;
    for (uint32_t row = 0; row < rules->rows; row++)
        game->bricks[row] = (UINT32_C(1) << LL_BRICK_COLUMNS) - 1;
}

bool ll_breakout_over(const struct ll_breakout *game)
{
    return game->lives == 0 || game->frames >= LL_LONGEST_GAME ||
           game->score == game->rules.rows * LL_BRICK_COLUMNS;
}

/* In pixels. */
static int32_t ball_size(const struct ll_breakout *game)
{
    return (int32_t)game->rules.ball;
}

/* From somewhere below the wall, downwards. */
static void serve(struct ll_breakout *game)
{
    uint64_t bits = ll_random_bits(game->key, game->serves++);
    int32_t places = FIELD_RIGHT - LL_WALL - ball_size(game) + 1;
    game->ball = (struct ll_ball){
        .x = (LL_WALL + (int32_t)(bits % (uint64_t)places)) * LL_GRAIN,
        .y = SERVE_TOP * LL_GRAIN,
        .right = slants[(bits >> 32) % SLANTS],
        .down = BALL_SPEED,
        .flies = true,
    };
    game->waited = 0;
}

static void move_paddle(struct ll_breakout *game, enum ll_action action)
{
    int32_t rightmost = FIELD_RIGHT - (int32_t)game->rules.paddle;
    game->paddle += action == LL_RIGHT ? PADDLE_SPEED : action == LL_LEFT ? -PADDLE_SPEED : 0;
    game->paddle = game->paddle < LL_WALL ? LL_WALL : game->paddle > rightmost ? rightmost : game->paddle;
}

/* Breaks a brick that covers the pixel, if one stands there. */
static bool breaks_at(struct ll_breakout *game, int32_t x, int32_t y)
{
    int32_t row = y - BRICKS_TOP, column = x - LL_WALL;
    if (row < 0 || row >= LL_MAX_BRICK_ROWS * BRICK_HEIGHT || column < 0 || x >= FIELD_RIGHT)
        return false;
    uint32_t bit = UINT32_C(1) << column / BRICK_WIDTH, *bricks = &game->bricks[row / BRICK_HEIGHT];
    if (!(*bricks & bit))
        return false;
    *bricks ^= bit;
    game->score++;
    return true;
}

/* A ball whose corner is there breaks the first brick that it covers. */
static bool breaks(struct ll_breakout *game, int32_t x, int32_t y)
{
    int32_t right = (x + ball_size(game) * LL_GRAIN - 1) / LL_GRAIN;
    int32_t bottom = (y + ball_size(game) * LL_GRAIN - 1) / LL_GRAIN;
    for (int32_t top = y / LL_GRAIN; top <= bottom; top++)
        for (int32_t left = x / LL_GRAIN; left <= right; left++)
            if (breaks_at(game, left, top))
                return true;
    return false;
}

static void fly_sideways(struct ll_breakout *game)
{
    struct ll_ball *ball = &game->ball;
    int32_t x = ball->x + ball->right;
    bool outside = x < LL_WALL * LL_GRAIN || x > (FIELD_RIGHT - ball_size(game)) * LL_GRAIN;
    if (outside || breaks(game, x, ball->y))
        ball->right = -ball->right;
    else
        ball->x = x;
}

/* Whether a ball that comes down to this height meets the paddle there, having been above it. */
static bool meets_paddle(const struct ll_breakout *game, int32_t y)
{
    const struct ll_ball *ball = &game->ball;
    const int32_t top = (PADDLE_TOP - ball_size(game)) * LL_GRAIN;
    int32_t left = (game->paddle - ball_size(game)) * LL_GRAIN;
    int32_t right = (game->paddle + (int32_t)game->rules.paddle) * LL_GRAIN;
    return ball->y <= top && y > top && ball->x > left && ball->x < right;
}

/* The zones are as wide as all places where a ball can meet the paddle, over six. */
static void bounce_off_paddle(struct ll_breakout *game)
{
    int32_t from_left = game->ball.x - (game->paddle - ball_size(game)) * LL_GRAIN;
    int32_t places = ((int32_t)game->rules.paddle + ball_size(game)) * LL_GRAIN;
    game->ball.right = slants[from_left * SLANTS / places];
    game->ball.down = -BALL_SPEED;
}

static void lose_ball(struct ll_breakout *game)
{
    game->ball = (struct ll_ball){0};
    game->lives--;
}

static void fly_up_or_down(struct ll_breakout *game)
{
    struct ll_ball *ball = &game->ball;
    int32_t y = ball->y + ball->down;
    if (meets_paddle(game, y))
        bounce_off_paddle(game);
    else if (y < LL_WALL * LL_GRAIN || breaks(game, ball->x, y))
        ball->down = -ball->down;
    else if (y > (LL_SCREEN - ball_size(game)) * LL_GRAIN)
        lose_ball(game);
    else
        ball->y = y;
}

static void pass_frame(struct ll_breakout *game, enum ll_action action)
{
    game->frames++;
    move_paddle(game, action);
    if (game->ball.flies) {
        fly_sideways(game);
        fly_up_or_down(game);
    } else if (action == LL_FIRE || ++game->waited >= LL_LONGEST_WAIT)
        serve(game);
}

uint32_t ll_breakout_act(struct ll_breakout *game, enum ll_action action)
{
    uint32_t before = game->score;
    assert(!ll_breakout_over(game));
    for (uint32_t i = 0; i < game->rules.frame_skip && !ll_breakout_over(game); i++)
        pass_frame(game, action);
    return game->score - before;
}

static void fill(uint8_t *screen, int32_t left, int32_t top, int32_t width, int32_t height, uint8_t grey)
{
    for (int32_t y = top; y < top + height; y++)
        memset(screen + y * LL_SCREEN + left, grey, (size_t)width);
}

static void draw_bricks(const struct ll_breakout *game, uint8_t *screen)
{
    for (int32_t row = 0; row < (int32_t)game->rules.rows; row++)
        for (int32_t column = 0; column < LL_BRICK_COLUMNS; column++)
            if (game->bricks[row] >> column & 1)
                fill(screen, LL_WALL + column * BRICK_WIDTH, BRICKS_TOP + row * BRICK_HEIGHT, BRICK_WIDTH,
                     BRICK_HEIGHT, (uint8_t)(BRICK_GREY - DARKER_ROW * row));
}

void ll_breakout_draw(const struct ll_breakout *game, uint8_t *screen)
{
    memset(screen, 0, LL_SCREEN_PIXELS);
    fill(screen, 0, 0, LL_SCREEN, LL_WALL, WALL_GREY);
    fill(screen, 0, 0, LL_WALL, LL_SCREEN, WALL_GREY);
    fill(screen, FIELD_RIGHT, 0, LL_WALL, LL_SCREEN, WALL_GREY);
    for (int32_t i = 0; i < (int32_t)game->lives; i++)
        fill(screen, LL_WALL + 4 * i, 2, 2, 2, LIFE_GREY);
    draw_bricks(game, screen);
    fill(screen, game->paddle, PADDLE_TOP, (int32_t)game->rules.paddle, PADDLE_HEIGHT, PADDLE_GREY);
    if (game->ball.flies)
        fill(screen, game->ball.x / LL_GRAIN, game->ball.y / LL_GRAIN, ball_size(game), ball_size(game),
             PADDLE_GREY);
}

/* Moments are numbered as they come; number n lies at n % capacity. With each goes how many frames of the
 * same game are right before it, up to three: all that is to be known about borders between games. */

struct kept {
    struct ll_moment moment;
    uint32_t earlier; /* frames of its game right before it that are seen with it */
};

struct ll_replay {
    uint64_t capacity, frame_bytes;
    uint64_t added; /* moments so far, pushed out ones too */
    uint8_t *frames;
    struct kept *kept;
};

enum { LEAST_CAPACITY = 2 * LL_SEEN_FRAMES, EARLIER = LL_SEEN_FRAMES - 1 };

/* Not promised in advance: a long run may need it all, a short one does not. */
static void *reserve(uint64_t bytes)
{
    void *memory = MAP_FAILED;
    if (ll_fits(bytes))
        memory =
            mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

struct ll_replay *ll_replay_new(uint64_t capacity, uint64_t frame_bytes)
{
    assert(capacity >= LEAST_CAPACITY && frame_bytes > 0);
    struct ll_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return NULL;
    replay->capacity = capacity;
    replay->frame_bytes = frame_bytes;
    replay->frames = reserve(ll_mul(capacity, frame_bytes));
    replay->kept = reserve(ll_mul(capacity, sizeof *replay->kept));
    if (replay->frames && replay->kept)
        return replay;
    ll_replay_free(replay);
    return NULL;
}

void ll_replay_free(struct ll_replay *replay)
{
    if (!replay)
        return;
    if (replay->frames)
        munmap(replay->frames, replay->capacity * replay->frame_bytes);
    if (replay->kept)
        munmap(replay->kept, replay->capacity * sizeof *replay->kept);
    free(replay);
}

static struct kept *kept_at(const struct ll_replay *replay, uint64_t number)
{
    return &replay->kept[number % replay->capacity];
}

static uint8_t *frame_at(const struct ll_replay *replay, uint64_t number)
{
    return replay->frames + number % replay->capacity * replay->frame_bytes;
}

/* How many of its game's frames are seen with the moment that is to come. */
static uint32_t count_earlier(const struct ll_replay *replay)
{
    if (replay->added == 0)
        return 0;
    const struct kept *before = kept_at(replay, replay->added - 1);
    if (before->moment.last)
        return 0;
    return before->earlier < EARLIER ? before->earlier + 1 : EARLIER;
}

void ll_replay_add(struct ll_replay *replay, const uint8_t *frame, struct ll_moment moment)
{
    *kept_at(replay, replay->added) = (struct kept){moment, count_earlier(replay)};
    memcpy(frame_at(replay, replay->added), frame, replay->frame_bytes);
    replay->added++;
}

/* The number of the oldest memory: the moments right before it are still there. */
static uint64_t oldest(const struct ll_replay *replay)
{
    return replay->added <= replay->capacity ? 0 : replay->added - replay->capacity + EARLIER;
}

uint64_t ll_replay_count(const struct ll_replay *replay)
{
    return replay->added == 0 ? 0 : replay->added - 1 - oldest(replay);
}

static struct ll_sight sight_of(const struct ll_replay *replay, uint64_t number)
{
    struct ll_sight sight = {{NULL}};
    for (uint32_t i = 0; i <= kept_at(replay, number)->earlier; i++)
        sight.frames[EARLIER - i] = frame_at(replay, number - i);
    return sight;
}

void ll_replay_get(const struct ll_replay *replay, uint64_t i, struct ll_experience *memory)
{
    assert(i < ll_replay_count(replay));
    uint64_t number = oldest(replay) + i;
    *memory =
        (struct ll_experience){.before = sight_of(replay, number), .moment = kept_at(replay, number)->moment};
    if (!memory->moment.last)
        memory->after = sight_of(replay, number + 1);
}

void ll_sight_pixels(const struct ll_sight *sight, uint64_t frame_bytes, float *pixels)
{
    for (uint32_t i = 0; i < LL_SEEN_FRAMES; i++) {
        const uint8_t *frame = sight->frames[i];
        for (uint64_t pixel = 0; pixel < frame_bytes; pixel++)
            pixels[pixel * LL_SEEN_FRAMES + i] = frame ? (float)frame[pixel] / 255 : 0;
    }
}

static void look(struct ll_player *player)
{
    ll_breakout_draw(&player->game, player->frames[player->seen++ % LL_SEEN_FRAMES]);
}

static void begin_game(struct ll_player *player)
{
    ll_breakout_begin(&player->game, &player->rules, ll_random_bits(player->key, player->games++));
    player->seen = 0;
    look(player);
}

void ll_player_begin(struct ll_player *player, const struct ll_rules *rules, uint64_t seed)
{
    player->rules = *rules;
    player->key = ll_random_key(seed, 0);
    player->games = 0;
    begin_game(player);
}

const uint8_t *ll_player_frame(const struct ll_player *player)
{
    return player->frames[(player->seen - 1) % LL_SEEN_FRAMES];
}

struct ll_sight ll_player_sight(const struct ll_player *player)
{
    struct ll_sight sight = {{NULL}};
    for (uint32_t i = 0; i < LL_SEEN_FRAMES && i < player->seen; i++)
        sight.frames[LL_SEEN_FRAMES - 1 - i] = player->frames[(player->seen - 1 - i) % LL_SEEN_FRAMES];
    return sight;
}

struct ll_moment ll_player_act(struct ll_player *player, enum ll_action action)
{
    uint32_t scored = ll_breakout_act(&player->game, action);
    struct ll_moment moment = {action, (float)scored, ll_breakout_over(&player->game)};
    if (moment.last)
        begin_game(player);
    else
        look(player);
    return moment;
}

enum ll_action ll_choose_action(const double values[LL_ACTION_COUNT], double epsilon, uint64_t random_bits)
{
    enum ll_action best = LL_NOOP;
    if ((double)ll_random_unit((uint32_t)random_bits) < epsilon)
        return (enum ll_action)((random_bits >> 32) % LL_ACTION_COUNT);
    for (enum ll_action action = best + 1; action < LL_ACTION_COUNT; action++)
        if (values[action] > values[best])
            best = action;
    return best;
}
