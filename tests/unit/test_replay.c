/* SPDX-License-Identifier: Apache-2.0 */
/* Frames here are eight bytes: the number of the game, then the place in it, both from 1. So what is seen
 * says where it is from. */
#include "check.h"

#include "models/games/game.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { FRAME_BYTES = 8, MOST_MOMENTS = 2000 };

/* The dumb twin: all that was ever added, in a row. */
struct history {
    uint32_t games[MOST_MOMENTS], places[MOST_MOMENTS];
    struct ll_moment moments[MOST_MOMENTS];
    uint64_t count;
};

static void write_frame(uint8_t *frame, uint32_t game, uint32_t place)
{
    memcpy(frame, &game, sizeof game);
    memcpy(frame + sizeof game, &place, sizeof place);
}

/* Goes on with the last game, or begins the next one. */
static void add(struct history *history, struct ll_replay *replay, struct ll_moment moment)
{
    uint64_t n = history->count++;
    bool begins = n == 0 || history->moments[n - 1].last;
    uint8_t frame[FRAME_BYTES];
    history->games[n] = n == 0 ? 1 : history->games[n - 1] + begins;
    history->places[n] = begins ? 1 : history->places[n - 1] + 1;
    history->moments[n] = moment;
    write_frame(frame, history->games[n], history->places[n]);
    ll_replay_add(replay, frame, moment);
}

/* The frame so many moments before n, if it is of the same game. */
static void check_frame(const struct history *history, uint64_t n, uint64_t back, const uint8_t *frame)
{
    uint8_t expected[FRAME_BYTES];
    if (back > n || history->games[n - back] != history->games[n]) {
        assert_null(frame);
        return;
    }
    write_frame(expected, history->games[n], history->places[n] - (uint32_t)back);
    assert_non_null(frame);
    assert_memory_equal(frame, expected, FRAME_BYTES);
}

static void check_memory(const struct history *history, uint64_t n, const struct ll_experience *memory)
{
    assert_int_equal(memory->moment.action, history->moments[n].action);
    assert_true(memory->moment.reward == history->moments[n].reward);
    assert_int_equal(memory->moment.last, history->moments[n].last);
    for (uint64_t back = 0; back < LL_SEEN_FRAMES; back++) {
        check_frame(history, n, back, memory->before.frames[LL_SEEN_FRAMES - 1 - back]);
        if (memory->moment.last)
            assert_null(memory->after.frames[back]);
        else
            check_frame(history, n + 1, back, memory->after.frames[LL_SEEN_FRAMES - 1 - back]);
    }
}

static struct ll_moment draw_moment(uint64_t *random, uint64_t game_length)
{
    return (struct ll_moment){
        .action = (uint32_t)ll_random_below(random, 4),
        .reward = (float)ll_random_below(random, 3) - 1,
        .last = ll_random_below(random, game_length) == 0,
    };
}

/* Small memories and large ones, games of one frame and long ones, before the memory is full and after. */
static void memories_are_what_happened_in_a_row(void **state)
{
    (void)state;
    uint64_t random = ll_seed(81);
    for (int i = 0; i < 40; i++) {
        static struct history history;
        uint64_t capacity = 8 + ll_random_below(&random, 100), length = 1 + ll_random_below(&random, 30);
        struct ll_replay *replay = ll_replay_new(capacity, FRAME_BYTES);
        history.count = 0;
        assert_non_null(replay);
        while (history.count < 5 * capacity) {
            add(&history, replay, draw_moment(&random, length));
            uint64_t count = ll_replay_count(replay);
            for (uint64_t j = 0; j < count; j += 1 + count / 7) {
                struct ll_experience memory;
                ll_replay_get(replay, j, &memory);
                check_memory(&history, history.count - 1 - count + j, &memory);
            }
        }
        ll_replay_free(replay);
    }
}

/* All moments but the newest; once the oldest are pushed out, the three that would need them do not count. */
static void every_whole_memory_counts(void **state)
{
    (void)state;
    static struct history history;
    uint64_t random = ll_seed(82);
    struct ll_replay *replay = ll_replay_new(10, FRAME_BYTES);
    assert_int_equal(ll_replay_count(replay), 0);
    for (uint64_t added = 1; added <= 50; added++) {
        add(&history, replay, draw_moment(&random, 6));
        assert_int_equal(ll_replay_count(replay), added <= 10 ? added - 1 : 10 - 1 - 3);
    }
    ll_replay_free(replay);
}

static void frames_overlap_in_memory(void **state)
{
    (void)state;
    static struct history history;
    struct ll_replay *replay = ll_replay_new(16, FRAME_BYTES);
    struct ll_experience memory;
    for (int i = 0; i < 9; i++)
        add(&history, replay, (struct ll_moment){0});
    ll_replay_get(replay, 5, &memory);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(memory.before.frames[i + 1], memory.after.frames[i]);
    ll_replay_free(replay);
}

static void pixels_go_from_black_to_one_frame_by_frame(void **state)
{
    (void)state;
    const uint8_t first[] = {0, 51}, second[] = {102, 255};
    const struct ll_sight sight = {{NULL, NULL, first, second}};
    float pixels[2 * LL_SEEN_FRAMES];
    const double expected[] = {0, 0, 0, 0.4, 0, 0, 0.2, 1}; /* 51, 102 and 255 of 255 */
    ll_sight_pixels(&sight, 2, pixels);
    for (int i = 0; i < 2 * LL_SEEN_FRAMES; i++)
        assert_near((double)pixels[i], expected[i], 1e-7);
}

/* The paper's million frames: address space for 7.06 GB, of which almost nothing is used. */
static void a_million_frames_cost_nothing_until_they_come(void **state)
{
    (void)state;
    static uint8_t frame[84 * 84];
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    struct ll_replay *replay = ll_replay_new(1000000, sizeof frame);
    assert_non_null(replay);
    for (int i = 0; i < 100; i++)
        ll_replay_add(replay, frame, (struct ll_moment){0});
    assert_int_equal(ll_replay_count(replay), 99);
    getrusage(RUSAGE_SELF, &after);
    assert_true(after.ru_maxrss < before.ru_maxrss + 100 * 1024); /* kilobytes */
    ll_replay_free(replay);
}

static void what_fits_into_no_memory_is_refused(void **state)
{
    (void)state;
    assert_null(ll_replay_new(UINT64_C(1) << 60, 84 * 84));
    assert_null(ll_replay_new(UINT64_C(1) << 44, 84 * 84));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memories_are_what_happened_in_a_row),
        cmocka_unit_test(every_whole_memory_counts),
        cmocka_unit_test(frames_overlap_in_memory),
        cmocka_unit_test(pixels_go_from_black_to_one_frame_by_frame),
        cmocka_unit_test(a_million_frames_cost_nothing_until_they_come),
        cmocka_unit_test(what_fits_into_no_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
