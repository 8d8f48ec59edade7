/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of the game, held by random players under random rules. */
#include "check.h"

#include "models/games/game.h"

#include <string.h>

enum { GAMES = 60, FIELD_RIGHT = LL_SCREEN - LL_WALL };
static const struct ll_rules atari = {.paddle = 8, .ball = 2, .rows = 6, .lives = 5, .frame_skip = 4};

static struct ll_rules draw_rules(uint64_t *random)
{
    return (struct ll_rules){
        .paddle = LL_LEAST_PADDLE + (uint32_t)ll_random_below(random, LL_MOST_PADDLE - LL_LEAST_PADDLE + 1),
        .ball = LL_LEAST_BALL + (uint32_t)ll_random_below(random, LL_MOST_BALL - LL_LEAST_BALL + 1),
        .rows = 1 + (uint32_t)ll_random_below(random, LL_MAX_BRICK_ROWS),
        .lives = 1 + (uint32_t)ll_random_below(random, LL_MOST_LIVES),
        .frame_skip = 1 + (uint32_t)ll_random_below(random, 6),
    };
}

static enum ll_action draw_action(uint64_t *random)
{
    return (enum ll_action)ll_random_below(random, LL_ACTION_COUNT);
}

static uint32_t standing_bricks(const struct ll_breakout *game)
{
    uint32_t count = 0;
    for (int row = 0; row < LL_MAX_BRICK_ROWS; row++)
        count += (uint32_t)__builtin_popcount(game->bricks[row]);
    return count;
}

static void check_places(const struct ll_breakout *game)
{
    const struct ll_ball *ball = &game->ball;
    assert_in_range(game->paddle, LL_WALL, FIELD_RIGHT - (int)game->rules.paddle);
    if (ball->flies) {
        assert_in_range(ball->x, LL_WALL * LL_GRAIN, (FIELD_RIGHT - (int)game->rules.ball) * LL_GRAIN);
        assert_in_range(ball->y, LL_WALL * LL_GRAIN, (LL_SCREEN - (int)game->rules.ball) * LL_GRAIN);
        assert_true(ball->right != 0 && ball->down != 0);
    }
}

static uint32_t count_grey(const uint8_t *screen, int from_row, int to_row, int least)
{
    uint32_t count = 0;
    for (int y = from_row; y < to_row; y++)
        for (int x = LL_WALL; x < FIELD_RIGHT; x++)
            count += screen[y * LL_SCREEN + x] >= least;
    return count;
}

/* A brick is 4 x 3 pixels, and no two things are in one place while the ball is above the
 * paddle's rows, which begin at 76. */
static void check_picture(const struct ll_breakout *game)
{
    uint8_t screen[LL_SCREEN_PIXELS];
    uint32_t ball = game->ball.flies ? game->rules.ball * game->rules.ball : 0;
    ll_breakout_draw(game, screen);
    assert_int_equal(count_grey(screen, 0, LL_WALL, 255), 4 * game->lives);
    if (ball > 0 && game->ball.y / LL_GRAIN + (int)game->rules.ball > 76)
        return;
    assert_int_equal(count_grey(screen, LL_WALL, 76, 1), 12 * standing_bricks(game) + ball);
    assert_int_equal(count_grey(screen, 76, LL_SCREEN, 1), 2 * game->rules.paddle);
}

static void everything_stays_in_the_field_and_bricks_gone_are_the_score(void **state)
{
    (void)state;
    uint64_t random = ll_seed(71);
    for (int i = 0; i < GAMES; i++) {
        struct ll_breakout game;
        struct ll_rules rules = draw_rules(&random);
        uint32_t sum = 0;
        ll_breakout_begin(&game, &rules, ll_random(&random));
        while (!ll_breakout_over(&game)) {
            uint32_t lives = game.lives, scored = ll_breakout_act(&game, draw_action(&random));
            sum += scored;
            assert_true(game.lives == lives || game.lives + 1 == lives);
            assert_int_equal(game.score, sum);
            assert_int_equal(game.score + standing_bricks(&game), rules.rows * LL_BRICK_COLUMNS);
            check_places(&game);
            check_picture(&game);
        }
        assert_true(game.lives == 0 || standing_bricks(&game) == 0 || game.frames == LL_LONGEST_GAME);
    }
}

static void the_same_seed_and_actions_give_the_same_game_and_others_do_not(void **state)
{
    (void)state;
    uint64_t random = ll_seed(72);
    struct ll_breakout one, same, other;
    ll_breakout_begin(&one, &atari, 5);
    ll_breakout_begin(&same, &atari, 5);
    ll_breakout_begin(&other, &atari, 6);
    bool differs = false;
    while (!ll_breakout_over(&one) && !ll_breakout_over(&other)) {
        uint8_t screen[LL_SCREEN_PIXELS], same_screen[LL_SCREEN_PIXELS], other_screen[LL_SCREEN_PIXELS];
        enum ll_action action = draw_action(&random);
        assert_int_equal(ll_breakout_act(&one, action), ll_breakout_act(&same, action));
        ll_breakout_act(&other, action);
        ll_breakout_draw(&one, screen);
        ll_breakout_draw(&same, same_screen);
        ll_breakout_draw(&other, other_screen);
        assert_memory_equal(screen, same_screen, sizeof screen);
        differs = differs || memcmp(screen, other_screen, sizeof screen) != 0;
    }
    assert_true(differs);
}

static void a_copy_goes_on_as_the_game_itself(void **state)
{
    (void)state;
    uint64_t random = ll_seed(73);
    struct ll_breakout game, copy;
    ll_breakout_begin(&game, &atari, 1);
    for (int i = 0; i < 20; i++)
        ll_breakout_act(&game, draw_action(&random));
    copy = game;
    for (int i = 0; i < 20 && !ll_breakout_over(&game); i++) {
        enum ll_action action = draw_action(&random);
        ll_breakout_act(&game, action);
        ll_breakout_act(&copy, action);
    }
    assert_memory_equal(&game, &copy, sizeof game);
}

/* The dumb twin of a held action: the same one again and again. */
static void an_action_is_held_for_as_many_frames_as_are_skipped(void **state)
{
    (void)state;
    uint64_t random = ll_seed(74);
    for (int i = 0; i < GAMES; i++) {
        struct ll_rules rules = draw_rules(&random), single = rules;
        struct ll_breakout game, twin;
        uint64_t seed = ll_random(&random);
        single.frame_skip = 1;
        ll_breakout_begin(&game, &rules, seed);
        ll_breakout_begin(&twin, &single, seed);
        while (!ll_breakout_over(&game)) {
            enum ll_action action = draw_action(&random);
            ll_breakout_act(&game, action);
            for (uint32_t frame = 0; frame < rules.frame_skip && !ll_breakout_over(&twin); frame++)
                ll_breakout_act(&twin, action);
            assert_memory_equal(&game.ball, &twin.ball, sizeof game.ball);
            assert_memory_equal(game.bricks, twin.bricks, sizeof game.bricks);
            assert_int_equal(game.paddle, twin.paddle);
            assert_int_equal(game.frames, twin.frames);
        }
        assert_true(ll_breakout_over(&twin));
    }
}

static void firing_serves_a_ball_and_nothing_else_does_for_a_while(void **state)
{
    (void)state;
    struct ll_rules rules = atari;
    struct ll_breakout game;
    rules.frame_skip = 1;
    ll_breakout_begin(&game, &rules, 3);
    for (int i = 1; i < LL_LONGEST_WAIT; i++) {
        ll_breakout_act(&game, i % 2 ? LL_NOOP : LL_LEFT);
        assert_false(game.ball.flies);
    }
    struct ll_breakout waiting = game;
    ll_breakout_act(&waiting, LL_NOOP);
    assert_true(waiting.ball.flies);
    ll_breakout_begin(&game, &rules, 3);
    ll_breakout_act(&game, LL_FIRE);
    assert_true(game.ball.flies);
    assert_int_equal(game.serves, 1);
    ll_breakout_act(&game, LL_FIRE); /* it flies already */
    assert_int_equal(game.serves, 1);
}

static void the_paddle_goes_where_it_is_sent_as_far_as_the_walls(void **state)
{
    (void)state;
    struct ll_rules rules = atari;
    struct ll_breakout game;
    rules.frame_skip = 1;
    ll_breakout_begin(&game, &rules, 3);
    for (int i = 0; i < LL_SCREEN; i++) {
        int32_t before = game.paddle;
        ll_breakout_act(&game, LL_RIGHT);
        assert_true(game.paddle > before || game.paddle == FIELD_RIGHT - 8);
    }
    ll_breakout_begin(&game, &rules, 3);
    for (int i = 0; i < LL_SCREEN; i++) {
        int32_t before = game.paddle;
        ll_breakout_act(&game, LL_LEFT);
        assert_true(game.paddle < before || game.paddle == LL_WALL);
    }
}

/* Keeps the middle of the paddle under the ball, fires when there is none. */
static enum ll_action follow(const struct ll_breakout *game)
{
    int32_t paddle = (2 * game->paddle + (int32_t)game->rules.paddle) * LL_GRAIN / 2;
    int32_t ball = game->ball.x + (int32_t)game->rules.ball * LL_GRAIN / 2;
    if (!game->ball.flies)
        return LL_FIRE;
    return ball > paddle + 2 * LL_GRAIN ? LL_RIGHT : ball < paddle - 2 * LL_GRAIN ? LL_LEFT : LL_NOOP;
}

static uint32_t play(const struct ll_rules *rules, uint64_t seed, uint64_t *random)
{
    struct ll_breakout game;
    ll_breakout_begin(&game, rules, seed);
    while (!ll_breakout_over(&game)) {
        ll_breakout_act(&game, random ? draw_action(random) : follow(&game));
        check_places(&game);
        check_picture(&game);
    }
    return game.score;
}

/* Worth learning: who looks at the ball has ten times the score of who does not. */
static void who_follows_the_ball_beats_who_does_not_look(void **state)
{
    (void)state;
    uint64_t random = ll_seed(75), followed = 0, unseen = 0;
    for (uint64_t seed = 0; seed < GAMES; seed++) {
        followed += play(&atari, seed, NULL);
        unseen += play(&atari, seed, &random);
    }
    print_message("score of %d games: following %llu, random %llu\n", GAMES, (unsigned long long)followed,
                  (unsigned long long)unseen);
    assert_true(unseen > 0 && followed > 10 * unseen);
}

/* A game can be won: with a wide paddle that is moved each frame. */
static void a_good_player_clears_the_wall(void **state)
{
    (void)state;
    const struct ll_rules easy = {.paddle = 24, .ball = 2, .rows = 6, .lives = 5, .frame_skip = 1};
    uint32_t cleared = 0;
    for (uint64_t seed = 0; seed < GAMES; seed++)
        cleared += play(&easy, seed, NULL) == easy.rows * LL_BRICK_COLUMNS;
    print_message("%u of %d walls cleared\n", cleared, GAMES);
    assert_true(cleared > GAMES / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_stays_in_the_field_and_bricks_gone_are_the_score),
        cmocka_unit_test(the_same_seed_and_actions_give_the_same_game_and_others_do_not),
        cmocka_unit_test(a_copy_goes_on_as_the_game_itself),
        cmocka_unit_test(an_action_is_held_for_as_many_frames_as_are_skipped),
        cmocka_unit_test(firing_serves_a_ball_and_nothing_else_does_for_a_while),
        cmocka_unit_test(the_paddle_goes_where_it_is_sent_as_far_as_the_walls),
        cmocka_unit_test(who_follows_the_ball_beats_who_does_not_look),
        cmocka_unit_test(a_good_player_clears_the_wall),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
