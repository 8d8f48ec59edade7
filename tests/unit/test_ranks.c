/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that wait for one another, with times that can be drawn on paper. */
#include "check.h"
#include "random.h"

#include "sim/parallel/pipeline.h"

struct scene {
    struct ll_ranks *ranks;
    struct ll_diags diags;
};

static struct scene open_scene(void)
{
    struct scene scene = {.ranks = ll_ranks_new()};
    assert_non_null(scene.ranks);
    return scene;
}

static void close_scene(struct scene *scene)
{
    ll_ranks_free(scene->ranks);
    ll_diags_release(&scene->diags);
}

static uint32_t work(struct scene *scene, uint32_t rank, double time_s)
{
    return ll_ranks_add(
        scene->ranks,
        &(struct ll_rank_task){.kind = LL_TASK_WORK, .rank = rank, .time_s = time_s, .name = "work"}, NULL,
        0);
}

/* On the stream of messages, after a task. */
static uint32_t message(struct scene *scene, enum ll_rank_task_kind kind, uint32_t rank, uint32_t other,
                        double time_s, uint32_t after)
{
    const struct ll_rank_task task = {.kind = kind,
                                      .rank = rank,
                                      .stream = 1,
                                      .other = other,
                                      .time_s = time_s,
                                      .name = kind == LL_TASK_SEND ? "hand over" : "take"};
    return ll_ranks_add(scene->ranks, &task, &after, 1);
}

static uint32_t join(struct scene *scene, uint32_t rank, uint32_t members, uint64_t group, double time_s)
{
    const struct ll_rank_task task = {
        .kind = LL_TASK_JOIN, .rank = rank, .other = members, .tag = group, .time_s = time_s, .name = "sum"};
    return ll_ranks_add(scene->ranks, &task, NULL, 0);
}

static void expect_complaint(struct scene *scene, const char *words)
{
    assert_false(ll_ranks_run(scene->ranks, &scene->diags));
    assert_true(scene->diags.kept_count > 0);
    for (size_t i = 0; i < scene->diags.kept_count; i++)
        if (strstr(scene->diags.kept[i].message, words))
            return;
    fail_msg("expected `%s`, got `%s`", words, scene->diags.kept[0].message);
}

/* Rank 0 works 3 s, then sends for 2 s; rank 1 works 1 s, receives, works 4 s: 3 + 2 + 4. */
static void a_receive_waits_for_what_is_sent(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    message(&scene, LL_TASK_SEND, 0, 1, 2, work(&scene, 0, 3));
    uint32_t taken = message(&scene, LL_TASK_RECEIVE, 1, 0, 0, work(&scene, 1, 1));
    const struct ll_rank_task last = {.kind = LL_TASK_WORK, .rank = 1, .time_s = 4, .name = "last"};
    uint32_t end = ll_ranks_add(scene.ranks, &last, &taken, 1);
    assert_true(ll_ranks_run(scene.ranks, &scene.diags));
    assert_true(ll_ranks_start_s(scene.ranks, end) == 5 && ll_ranks_time_s(scene.ranks) == 9);
    assert_int_equal(ll_ranks_waited_for(scene.ranks, end), taken);
    close_scene(&scene);
}

/* The first with the first, although the second would be there sooner: they keep their order. */
static void messages_meet_in_their_order(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    uint32_t taken[2];
    for (int i = 0; i < 2; i++)
        taken[i] = message(&scene, LL_TASK_RECEIVE, 1, 0, 0, LL_NO_TASK);
    message(&scene, LL_TASK_SEND, 0, 1, 7, LL_NO_TASK);
    message(&scene, LL_TASK_SEND, 0, 1, 1, LL_NO_TASK);
    assert_true(ll_ranks_run(scene.ranks, &scene.diags));
    assert_true(ll_ranks_end_s(scene.ranks, taken[0]) == 7 && ll_ranks_end_s(scene.ranks, taken[1]) == 8);
    close_scene(&scene);
}

/* Three ranks come after 1, 2 and 3 s; the exchange takes 5 s of all. Then a second one. */
static void an_exchange_begins_with_the_last_of_its_members(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    uint32_t first[3], second = 0;
    for (uint32_t rank = 0; rank < 3; rank++) {
        work(&scene, rank, 1 + rank);
        first[rank] = join(&scene, rank, 3, 9, 5);
        second = join(&scene, rank, 3, 9, rank);
    }
    assert_true(ll_ranks_run(scene.ranks, &scene.diags));
    assert_true(ll_ranks_start_s(scene.ranks, second) == 8 && ll_ranks_end_s(scene.ranks, second) == 10);
    assert_int_equal(ll_ranks_waited_for(scene.ranks, first[0]), first[2]);
    assert_int_equal(ll_ranks_waited_for(scene.ranks, first[1]), first[2]);
    close_scene(&scene);
}

static void who_is_not_met_is_named(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    message(&scene, LL_TASK_RECEIVE, 1, 0, 0, LL_NO_TASK);
    expect_complaint(&scene, "rank 1: `take` receives from rank 0, which never sends it");
    close_scene(&scene);
    scene = open_scene();
    message(&scene, LL_TASK_SEND, 0, 2, 1, LL_NO_TASK);
    expect_complaint(&scene, "rank 0: `hand over` sends to rank 2, which never receives it");
    close_scene(&scene);
    scene = open_scene();
    join(&scene, 0, 3, 1, 1);
    join(&scene, 2, 3, 1, 1);
    expect_complaint(&scene, "`sum` is waited for by 2 of the 3 ranks");
    close_scene(&scene);
}

/* Each of two ranks waits for the other before it sends, with a third rank behind them that has no part in
 * it. */
static void a_deadlock_is_named_and_does_not_hang(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    message(&scene, LL_TASK_RECEIVE, 2, 1, 0, LL_NO_TASK);
    for (uint32_t rank = 0; rank < 2; rank++)
        message(&scene, LL_TASK_SEND, rank, 1 - rank, 1,
                message(&scene, LL_TASK_RECEIVE, rank, 1 - rank, 0, LL_NO_TASK));
    message(&scene, LL_TASK_SEND, 1, 2, 1, LL_NO_TASK);
    expect_complaint(&scene, "deadlock: rank 0: `take` waits for `hand over` of rank 1");
    close_scene(&scene);
}

/* Two ranks join two groups in different orders: each first exchange waits for the other rank's second, which
 * comes behind its first. */
static void exchanges_in_different_orders_are_a_deadlock(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    for (uint32_t rank = 0; rank < 2; rank++) {
        join(&scene, rank, 2, rank, 1);
        join(&scene, rank, 2, 1 - rank, 1);
    }
    expect_complaint(&scene, "deadlock: rank");
    assert_int_equal(scene.diags.count, 4);
    bool reported[2] = {false};
    for (size_t i = 0; i < 4; i++) {
        reported[0] |= strstr(scene.diags.kept[i].message, "rank 0: `sum` waits for `sum` of rank 1") != NULL;
        reported[1] |= strstr(scene.diags.kept[i].message, "rank 1: `sum` waits for `sum` of rank 0") != NULL;
    }
    assert_true(reported[0] && reported[1]);
    close_scene(&scene);
}

/* The same exchanges: one that has not come takes no stream. And work that waits for a message holds back
 * none that could go on: rank 0 works on what rank 1 makes of its other work, which was added behind it. */
static void by_readiness_nobody_waits_on_a_stream_for_one_that_waits(void **state)
{
    (void)state;
    struct scene scene = open_scene();
    ll_ranks_by_readiness(scene.ranks);
    uint32_t joins[2][2];
    for (uint32_t rank = 0; rank < 2; rank++) {
        joins[rank][0] = join(&scene, rank, 2, rank, 1);
        joins[rank][1] = join(&scene, rank, 2, 1 - rank, 1);
    }
    uint32_t taken = message(&scene, LL_TASK_RECEIVE, 2, 3, 0, LL_NO_TASK);
    struct ll_rank_task task = {.kind = LL_TASK_WORK, .rank = 2, .time_s = 4, .name = "work"};
    uint32_t last = ll_ranks_add(scene.ranks, &task, &taken, 1), first = work(&scene, 2, 3);
    message(&scene, LL_TASK_SEND, 2, 3, 2, first);
    task.rank = 3;
    taken = message(&scene, LL_TASK_RECEIVE, 3, 2, 0, LL_NO_TASK);
    message(&scene, LL_TASK_SEND, 3, 2, 1, ll_ranks_add(scene.ranks, &task, &taken, 1));
    assert_true(ll_ranks_run(scene.ranks, &scene.diags));
    assert_true(ll_ranks_start_s(scene.ranks, first) == 0);
    assert_true(ll_ranks_start_s(scene.ranks, last) == 3 + 2 + 4 + 1);
    assert_true(ll_ranks_time_s(scene.ranks) == 14);
    for (unsigned i = 0; i < 2; i++) /* one group at 0, the other when the stream is free */
        assert_true(ll_ranks_end_s(scene.ranks, joins[0][i]) == ll_ranks_end_s(scene.ranks, joins[1][1 - i]));
    assert_true(ll_ranks_end_s(scene.ranks, joins[0][0]) + ll_ranks_end_s(scene.ranks, joins[0][1]) == 3);
    close_scene(&scene);
}

/* First come, first served: three of 2 s that come after 3, 1 and 2 s of others' work. */
static void by_readiness_a_stream_serves_the_first_to_come(void **state)
{
    (void)state;
    static const double come_s[] = {3, 1, 2}, start_s[] = {5, 1, 3};
    struct scene scene = open_scene();
    ll_ranks_by_readiness(scene.ranks);
    uint32_t tasks[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct ll_rank_task before = {
            .kind = LL_TASK_WORK, .stream = LL_NO_STREAM, .time_s = come_s[i], .name = "before"};
        const struct ll_rank_task task = {.kind = LL_TASK_WORK, .time_s = 2, .name = "task"};
        uint32_t after = ll_ranks_add(scene.ranks, &before, NULL, 0);
        tasks[i] = ll_ranks_add(scene.ranks, &task, &after, 1);
    }
    assert_true(ll_ranks_run(scene.ranks, &scene.diags));
    for (uint32_t i = 0; i < 3; i++)
        assert_true(ll_ranks_start_s(scene.ranks, tasks[i]) == start_s[i]);
    assert_int_equal(ll_ranks_waited_for(scene.ranks, tasks[0]), tasks[2]);
    close_scene(&scene);
}

/* Messages between three ranks, each sent behind work that waits for an earlier one, in lists whose order is
 * drawn: what waits for nothing but what comes before it in time always ends, by then at the latest when all
 * was done one after the other. In the order of the lists most of these would be deadlocks. */
static void by_readiness_what_does_not_wait_for_itself_ends(void **state)
{
    enum { RANKS = 3, MESSAGES = 12, ROUNDS = 200 };
    uint64_t random = 11;
    unsigned stuck = 0;
    (void)state;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        struct scene scene = open_scene();
        const bool by_readiness = round % 2 != 0;
        uint64_t dice = random + (uint64_t)(round / 2);
        uint32_t order[MESSAGES];
        if (by_readiness)
            ll_ranks_by_readiness(scene.ranks);
        for (uint32_t i = 0; i < MESSAGES; i++) { /* shuffled inside out */
            uint32_t at = (uint32_t)ll_random_below(&dice, i + 1);
            order[i] = order[at];
            order[at] = i;
        }
        for (uint32_t i = 0; i < MESSAGES; i++) { /* message k goes round, from rank k modulo 3 */
            uint32_t k = order[i], rank = k % RANKS;
            struct ll_rank_task task = {.kind = LL_TASK_RECEIVE,
                                        .rank = rank,
                                        .other = (rank + 2) % RANKS,
                                        .stream = 1,
                                        .tag = k,
                                        .name = "take"};
            uint32_t last = k == 0 ? LL_NO_TASK : ll_ranks_add(scene.ranks, &task, NULL, 0);
            task = (struct ll_rank_task){.kind = LL_TASK_WORK, .rank = rank, .time_s = 1, .name = "work"};
            last = ll_ranks_add(scene.ranks, &task, &last, 1);
            task = (struct ll_rank_task){.kind = LL_TASK_SEND,
                                         .rank = rank,
                                         .other = (rank + 1) % RANKS,
                                         .stream = 1,
                                         .time_s = 0.5,
                                         .tag = k + 1,
                                         .name = "hand over"};
            if (k + 1 < MESSAGES)
                ll_ranks_add(scene.ranks, &task, &last, 1);
        }
        bool ends = ll_ranks_run(scene.ranks, &scene.diags);
        assert_true(ends || !by_readiness);
        if (by_readiness)
            assert_true(ll_ranks_time_s(scene.ranks) == MESSAGES + 0.5 * (MESSAGES - 1));
        stuck += !ends;
        close_scene(&scene);
    }
    assert_true(stuck > ROUNDS / 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_receive_waits_for_what_is_sent),
        cmocka_unit_test(messages_meet_in_their_order),
        cmocka_unit_test(an_exchange_begins_with_the_last_of_its_members),
        cmocka_unit_test(who_is_not_met_is_named),
        cmocka_unit_test(a_deadlock_is_named_and_does_not_hang),
        cmocka_unit_test(exchanges_in_different_orders_are_a_deadlock),
        cmocka_unit_test(by_readiness_nobody_waits_on_a_stream_for_one_that_waits),
        cmocka_unit_test(by_readiness_a_stream_serves_the_first_to_come),
        cmocka_unit_test(by_readiness_what_does_not_wait_for_itself_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
