/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "models/games/game.h"

#include <string.h>

static const struct ll_rules rules = {.paddle = 16, .ball = 2, .rows = 6, .lives = 2, .frame_skip = 4};
enum { MOST_FRAMES = 4000 };

/* The dumb twin: every frame of a game, drawn from a game that is played beside. */
static void a_player_sees_the_last_four_frames_of_its_game(void **state)
{
    (void)state;
    uint64_t random = ll_seed(91), frames = 0;
    static uint8_t drawn[MOST_FRAMES][LL_SCREEN_PIXELS];
    struct ll_player player;
    ll_player_begin(&player, &rules, 7);
    while (player.games < 4 && frames < MOST_FRAMES) {
        struct ll_sight sight = ll_player_sight(&player);
        ll_breakout_draw(&player.game, drawn[frames++]);
        assert_memory_equal(ll_player_frame(&player), drawn[frames - 1], LL_SCREEN_PIXELS);
        for (uint64_t back = 0; back < LL_SEEN_FRAMES; back++) {
            const uint8_t *frame = sight.frames[LL_SEEN_FRAMES - 1 - back];
            if (back < frames)
                assert_memory_equal(frame, drawn[frames - 1 - back], LL_SCREEN_PIXELS);
            else
                assert_null(frame);
        }
        if (ll_player_act(&player, (enum ll_action)ll_random_below(&random, LL_ACTION_COUNT)).last)
            frames = 0;
    }
    assert_int_equal(player.games, 4);
}

/* What is remembered is what was seen, pixel by pixel, across the ends of games. */
static void memories_show_what_the_player_saw(void **state)
{
    (void)state;
    enum { MOMENTS = 200, PIXELS = LL_SEEN_FRAMES * LL_SCREEN_PIXELS };
    static float saw[MOMENTS][PIXELS], remembered[PIXELS];
    uint64_t random = ll_seed(92);
    struct ll_replay *replay = ll_replay_new(MOMENTS, LL_SCREEN_PIXELS);
    struct ll_player player;
    ll_player_begin(&player, &rules, 8);
    for (uint64_t i = 0; i < MOMENTS; i++) {
        uint8_t frame[LL_SCREEN_PIXELS];
        struct ll_sight sight = ll_player_sight(&player);
        ll_sight_pixels(&sight, LL_SCREEN_PIXELS, saw[i]);
        memcpy(frame, ll_player_frame(&player), sizeof frame);
        enum ll_action action = (enum ll_action)ll_random_below(&random, LL_ACTION_COUNT);
        ll_replay_add(replay, frame, ll_player_act(&player, action));
    }
    assert_true(player.games > 2);
    assert_int_equal(ll_replay_count(replay), MOMENTS - 1);
    for (uint64_t i = 0; i < MOMENTS - 1; i++) {
        struct ll_experience memory;
        ll_replay_get(replay, i, &memory);
        ll_sight_pixels(&memory.before, LL_SCREEN_PIXELS, remembered);
        assert_memory_equal(remembered, saw[i], sizeof remembered);
        ll_sight_pixels(&memory.after, LL_SCREEN_PIXELS, remembered);
        if (!memory.moment.last)
            assert_memory_equal(remembered, saw[i + 1], sizeof remembered);
    }
    ll_replay_free(replay);
}

static void rewards_are_what_the_game_counts(void **state)
{
    (void)state;
    uint64_t random = ll_seed(93);
    struct ll_player player;
    double sum = 0;
    ll_player_begin(&player, &rules, 9);
    for (int i = 0; i < 2000; i++) {
        struct ll_moment moment = ll_player_act(&player, (enum ll_action)ll_random_below(&random, 4));
        sum = moment.last ? 0 : sum + (double)moment.reward;
        assert_true(sum == player.game.score);
    }
}

static void games_of_a_player_differ_and_repeat(void **state)
{
    (void)state;
    struct ll_player one, same, other;
    ll_player_begin(&one, &rules, 3);
    ll_player_begin(&same, &rules, 3);
    ll_player_begin(&other, &rules, 4);
    uint64_t first = one.game.key;
    assert_int_equal(first, same.game.key);
    assert_int_not_equal(first, other.game.key);
    while (!ll_player_act(&one, LL_NOOP).last)
        assert_int_equal(one.game.key, first);
    assert_int_not_equal(one.game.key, first);
    assert_int_equal(one.game.frames, 0);
}

static void the_best_action_is_taken_but_for_a_share_of_epsilon(void **state)
{
    (void)state;
    enum { DRAWS = 40000 };
    const double values[] = {-1, 2, 0.5, 2}, epsilon = 0.2;
    uint64_t random = ll_seed(94);
    int taken[LL_ACTION_COUNT] = {0};
    for (int i = 0; i < DRAWS; i++) {
        uint64_t bits = ll_random(&random);
        assert_int_equal(ll_choose_action(values, 0, bits), LL_FIRE); /* the first of equals */
        taken[ll_choose_action(values, epsilon, bits)]++;
    }
    for (int action = 0; action < LL_ACTION_COUNT; action++) { /* within five deviations */
        double expected = epsilon / 4 + (action == LL_FIRE ? 1 - epsilon : 0);
        assert_true(fabs(taken[action] - expected * DRAWS) < 5 * sqrt(DRAWS * expected * (1 - expected)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_player_sees_the_last_four_frames_of_its_game),
        cmocka_unit_test(memories_show_what_the_player_saw),
        cmocka_unit_test(rewards_are_what_the_game_counts),
        cmocka_unit_test(games_of_a_player_differ_and_repeat),
        cmocka_unit_test(the_best_action_is_taken_but_for_a_share_of_epsilon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
