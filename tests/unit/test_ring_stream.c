/* SPDX-License-Identifier: Apache-2.0 */
/* A ring that the test writes as a recorded thread would. */
#include "check.h"
#include "tracer/interpose/ring_stream.h"

enum { WORDS = LL_RING_LEAST_BYTES / 8, MOST = 4 * WORDS };

struct written {
    _Alignas(LL_RING_PAGE) struct ll_ring ring;
    _Alignas(LL_RING_PAGE) uint64_t words[WORDS];
};
static struct written written;

static uint32_t number_of(void *context, uint32_t process, uint64_t tid)
{
    (void)context, (void)process;
    return (uint32_t)tid * 10;
}

static void begin(struct ll_ring_stream *stream)
{
    memset(&written, 0, sizeof written);
    ll_ring_stream_begin(stream, &written.ring, LL_RING_LEAST_BYTES, 0);
}

/* As the library does: no record wraps. False when there is no room. */
static bool put(enum ll_ring_kind kind, unsigned count, uint64_t first)
{
    uint64_t head = written.ring.head, left = WORDS - head % WORDS, skipped = count <= left ? 0 : left;
    if (head + skipped + count - written.ring.tail > WORDS)
        return false;
    if (skipped)
        written.words[head % WORDS] = ll_ring_header(LL_RING_FILL, (unsigned)skipped, 0, 0);
    written.words[(head + skipped) % WORDS] = ll_ring_header(kind, count, 0, 0);
    written.words[(head + skipped) % WORDS + 1] = first;
    written.ring.head = head + skipped + count;
    return true;
}

static uint64_t take(struct ll_ring_stream *stream, uint32_t thread)
{
    struct ll_ring_stream_item item;
    uint64_t words[LL_RING_RECORD_WORDS];
    assert_true(ll_ring_stream_has_items(stream));
    unsigned count = ll_ring_stream_take(stream, &item, words);
    assert_int_equal(count, ll_ring_words_of(words[0]));
    assert_int_equal(item.thread, thread);
    assert_int_equal(item.start_ticks, words[1]);
    return item.start_ticks;
}

static void inner_calls_end_first_and_come_after(void **state)
{
    (void)state;
    struct ll_ring_stream stream;
    begin(&stream);
    put(LL_RING_THREAD, 2, 4);
    put(LL_RING_CALL, 9, 110); /* within .. */
    put(LL_RING_CALL, 9, 120);
    put(LL_RING_CALL, 9, 100); /* .. this one */
    put(LL_RING_CALL, 9, 130);
    assert_int_equal(ll_ring_stream_scan(&stream, 1000, MOST, number_of, NULL), 1000);
    for (uint64_t start = 100; start <= 130; start += 10)
        assert_int_equal(take(&stream, 40), start);
    assert_false(ll_ring_stream_has_items(&stream));
    ll_ring_stream_release(&stream);
}

static void a_call_in_progress_holds_the_known_time_back(void **state)
{
    (void)state;
    struct ll_ring_stream stream;
    begin(&stream);
    written.ring.open_ticks = 77;
    assert_int_equal(ll_ring_stream_scan(&stream, 1000, MOST, number_of, NULL), 77);
    written.ring.open_ticks = 0;
    assert_int_equal(ll_ring_stream_scan(&stream, 1000, MOST, number_of, NULL), 1000);
    ll_ring_stream_release(&stream);
}

/* Records of random lengths, written and taken in turns until the ring went round many times. */
static void nothing_is_lost_or_doubled_while_the_ring_goes_round(void **state)
{
    (void)state;
    struct ll_ring_stream stream;
    uint64_t random = ll_seed(3), sent = 0, got = 0;
    begin(&stream);
    put(LL_RING_THREAD, 2, 1);
    for (int turn = 0; turn < 2000; turn++) {
        for (uint64_t n = ll_random_below(&random, 400); n > 0; n--)
            sent +=
                put(LL_RING_CALL, 3 + (unsigned)ll_random_below(&random, LL_RING_RECORD_WORDS - 3), sent + 1);
        ll_ring_stream_scan(&stream, UINT64_MAX, MOST, number_of, NULL);
        for (uint64_t n = ll_random_below(&random, 400); n > 0 && ll_ring_stream_has_items(&stream); n--)
            assert_int_equal(take(&stream, 10), ++got);
    }
    while (ll_ring_stream_has_items(&stream))
        assert_int_equal(take(&stream, 10), ++got);
    assert_int_equal(got, sent);
    assert_true(sent > 100000 && !stream.damaged);
    ll_ring_stream_release(&stream);
}

static void another_thread_takes_a_ring_over(void **state)
{
    (void)state;
    struct ll_ring_stream stream;
    begin(&stream);
    put(LL_RING_THREAD, 2, 1);
    put(LL_RING_CALL, 9, 10);
    put(LL_RING_THREAD, 2, 2);
    put(LL_RING_CALL, 9, 20);
    ll_ring_stream_scan(&stream, 1000, MOST, number_of, NULL);
    take(&stream, 10);
    take(&stream, 20);
    ll_ring_stream_release(&stream);
}

static void lost_records_are_told_once(void **state)
{
    (void)state;
    struct ll_ring_stream stream;
    struct ll_ring_stream_item item;
    uint64_t words[LL_RING_RECORD_WORDS];
    begin(&stream);
    written.ring.lost = 5;
    ll_ring_stream_scan(&stream, 1000, MOST, number_of, NULL);
    ll_ring_stream_scan(&stream, 1001, MOST, number_of, NULL);
    assert_int_equal(ll_ring_stream_take(&stream, &item, words), 0);
    assert_int_equal(item.lost, 5);
    assert_false(ll_ring_stream_has_items(&stream));
    ll_ring_stream_release(&stream);
}

static void nonsense_ends_a_ring_and_keeps_what_came_before(void **state)
{
    (void)state;
    struct ll_ring_stream stream;
    begin(&stream);
    put(LL_RING_CALL, 9, 10);
    put(LL_RING_CALL, 9, 20);
    written.words[9] = ll_ring_header(LL_RING_CALL, 5000, 0, 0);
    ll_ring_stream_scan(&stream, 1000, MOST, number_of, NULL);
    assert_true(stream.damaged);
    assert_int_equal(take(&stream, 0), 10);
    assert_false(ll_ring_stream_has_items(&stream));
    put(LL_RING_CALL, 9, 30);
    ll_ring_stream_scan(&stream, 1000, MOST, number_of, NULL);
    assert_false(ll_ring_stream_has_items(&stream));
    ll_ring_stream_release(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_calls_end_first_and_come_after),
        cmocka_unit_test(a_call_in_progress_holds_the_known_time_back),
        cmocka_unit_test(nothing_is_lost_or_doubled_while_the_ring_goes_round),
        cmocka_unit_test(another_thread_takes_a_ring_over),
        cmocka_unit_test(lost_records_are_told_once),
        cmocka_unit_test(nonsense_ends_a_ring_and_keeps_what_came_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
