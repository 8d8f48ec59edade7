/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with addresses: by hand, and against a heap that tries every byte. */
#include "check.h"

#include "dry_model.h"
#include "sim/memory/footprint.h"
#include "tracer/record/recorder.h"

enum { MIB = 1 << 20 };

/* A chain of tensors of these bytes, each read by the op that makes the next and by none after. */
static struct ll_trace *chain_of(const uint64_t *bytes, size_t count)
{
    enum ll_status status;
    struct ll_recorder *recorder = ll_recorder_open_memory(NULL, 0, &status);
    uint32_t scope = ll_recorder_string(recorder, ""), tensor = LL_NONE;
    for (size_t i = 0; i < count; i++) {
        const struct ll_shape shape = {.dtype = LL_U8, .rank = 1, .dim = {bytes[i]}};
        uint32_t desc = ll_recorder_desc(recorder, "x", &shape, LL_ACTIVATION);
        tensor = ll_recorder_op(recorder, &(struct ll_record){.kind = i ? LL_OP_FOREIGN : LL_OP_HOST_INPUT,
                                                              .scope = scope,
                                                              .inputs = &tensor,
                                                              .input_count = i > 0,
                                                              .outputs = &desc,
                                                              .output_count = 1});
    }
    struct ll_trace *trace = ll_recorder_take(recorder, &status);
    assert_non_null(trace);
    return trace;
}

static struct ll_allocated allocated(const struct ll_trace *trace, enum ll_allocator allocator)
{
    struct ll_allocated result;
    assert_true(ll_allocate(trace, allocator, &result));
    return result;
}

/* 4, then 4 + 8 live, then 8 + 6: the hole of 4 is too small for 6, so the arena ends at 4 + 8 + 6. Then 6 +
 * 4 live, and 4 fits the first hole. */
static void an_arena_fills_the_best_hole_or_grows(void **state)
{
    (void)state;
    const uint64_t bytes[] = {4 * MIB, 8 * MIB, 6 * MIB, 4 * MIB};
    struct ll_trace *trace = chain_of(bytes, 4);
    assert_int_equal(allocated(trace, LL_ALLOCATOR_IDEAL).taken_bytes, 14 * MIB);
    struct ll_allocated arena = allocated(trace, LL_ALLOCATOR_ARENA);
    assert_int_equal(arena.live_bytes, 14 * MIB);
    assert_int_equal(arena.taken_bytes, 18 * MIB);
    assert_near(arena.fragmentation, 18.0 / 14, 1e-12);
    ll_trace_free(trace);
}

/* Sizes and segments as PyTorch's notes on its memory have them: a number takes a segment of 2 MiB, 3 MiB one
 * of 20 MiB, in which another 3 MiB find room; 11 MiB and a byte one of 12 MiB, unless the 20 MiB have room
 * for them. */
static void a_caching_allocator_takes_segments_and_keeps_them(void **state)
{
    (void)state;
    const uint64_t tiny[] = {4}, middle[] = {3 * MIB, 3 * MIB, 3 * MIB}, large[] = {11 * MIB + 1},
                   mixed[] = {4, 3 * MIB, 11 * MIB + 1, 11 * MIB};
    struct ll_trace *traces[] = {chain_of(tiny, 1), chain_of(middle, 3), chain_of(large, 1),
                                 chain_of(mixed, 4)};
    const uint64_t expected[] = {2 * MIB, 20 * MIB, 12 * MIB, (2 + 20 + 12) * MIB};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(allocated(traces[i], LL_ALLOCATOR_CACHING).taken_bytes, expected[i]);
        ll_trace_free(traces[i]);
    }
}

/* 64 bytes, each of which knows to what it belongs; the lowest of the smallest holes is found by looking at
 * all. */
struct dumb {
    uint8_t owner[4096];
    unsigned end;
};

static unsigned dumb_take(struct dumb *dumb, unsigned bytes, uint8_t owner)
{
    unsigned best = dumb->end, best_size = UINT32_MAX;
    for (unsigned at = 0, size; at < dumb->end; at += size) {
        bool is_free = dumb->owner[at] == 0;
        for (size = 1; at + size < dumb->end && (dumb->owner[at + size] == 0) == is_free; size++)
            ;
        if (is_free && size >= bytes && size < best_size) {
            best = at;
            best_size = size;
        }
    }
    if (best == dumb->end)
        while (best > 0 && dumb->owner[best - 1] == 0)
            best--;
    memset(dumb->owner + best, owner, bytes);
    dumb->end = best + bytes > dumb->end ? best + bytes : dumb->end;
    return best;
}

static void a_heap_gives_the_addresses_of_one_that_looks_at_every_byte(void **state)
{
    (void)state;
    uint64_t random = 11;
    struct ll_heap heap = {0};
    struct dumb dumb = {{0}, 0};
    uint32_t chunk[40];
    bool taken[40] = {false};
    for (int i = 0; i < 5000; i++) {
        uint8_t which = (uint8_t)ll_random_below(&random, 40);
        unsigned bytes = 1 + (unsigned)ll_random_below(&random, 20);
        if (taken[which]) {
            for (unsigned at = 0; at < dumb.end; at++)
                dumb.owner[at] = dumb.owner[at] == which + 1 ? 0 : dumb.owner[at];
            assert_true(ll_heap_give(&heap, chunk[which]));
        } else {
            unsigned address = dumb_take(&dumb, bytes, (uint8_t)(which + 1));
            chunk[which] = ll_heap_find(&heap, bytes, 0);
            if (chunk[which] == UINT32_MAX) {
                assert_true(ll_heap_stretch(&heap, bytes));
                chunk[which] = ll_heap_find(&heap, bytes, 0);
            }
            assert_true(ll_heap_take(&heap, chunk[which], bytes, 0));
            assert_int_equal(heap.chunks[chunk[which]].address, address);
            assert_int_equal(heap.end, dumb.end);
        }
        taken[which] = !taken[which];
        if (ll_random_below(&random, 8) == 0) {
            while (dumb.end > 0 && dumb.owner[dumb.end - 1] == 0)
                dumb.end--;
            assert_true(ll_heap_trim(&heap));
            assert_int_equal(heap.end, dumb.end);
        }
    }
    ll_heap_release(&heap);
}

/* As where a step keeps nothing for the next one. */
static void a_heap_that_was_emptied_begins_anew(void **state)
{
    (void)state;
    struct ll_heap heap = {0};
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 3; i++) {
            assert_true(ll_heap_stretch(&heap, 8));
            uint32_t chunk = ll_heap_find(&heap, 8, 0);
            assert_int_equal(heap.chunks[chunk].address, 8 * i);
            assert_true(ll_heap_take(&heap, chunk, 8, 0));
        }
        for (uint64_t i = 0; i < 3; i++) {
            uint32_t chunk = heap.last;
            while (heap.chunks[chunk].address != 8 * i)
                chunk = heap.chunks[chunk].before;
            assert_true(ll_heap_give(&heap, chunk));
        }
        assert_true(ll_heap_trim(&heap));
        assert_int_equal(heap.end, 0);
    }
    ll_heap_release(&heap);
}

static void nothing_takes_less_than_what_lives(void **state)
{
    (void)state;
    static const char *const models[] = {"alexnet", "transformer", "seq2seq", "resnet"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ll_trace *trace = dry_model(models[i], true, 8, NULL, 0);
        for (unsigned a = 0; a < LL_ALLOCATOR_COUNT; a++) {
            struct ll_allocated result = allocated(trace, (enum ll_allocator)a);
            assert_true(result.taken_bytes >= result.live_bytes);
            assert_in_range((uint64_t)(1000 * result.fragmentation), 1000, 1500);
        }
        ll_trace_free(trace);
    }
}

/* What was free at the end when a step began is as if it had never been there. A counter lies before or
 * behind its last value by turns. */
static void an_arena_lays_out_every_step_as_the_first(void **state)
{
    enum { FEW_BYTES = 512 };
    (void)state;
    static const char *const models[] = {"autoenc", "alexnet", "residual"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct ll_trace *trace = dry_steps(models[i], i == 1, 8, 3, NULL, 0);
        struct ll_arena arena = {0};
        struct ll_chains births, deaths;
        struct ll_liveness *lives = ll_trace_liveness(trace, &arena);
        assert_true(lives && ll_chain(trace, lives, false, &births, &arena) &&
                    ll_chain(trace, lives, true, &deaths, &arena));
        const uint64_t *address = ll_arena_addresses(trace, lives, &births, &deaths, &arena);
        assert_non_null(address);
        for (uint64_t step = 1; step < trace->step_count; step++)
            for (uint32_t op = 0; op < trace->steps[0].op_count; op++) {
                uint32_t first = trace->steps[0].first_op + op, again = trace->steps[step].first_op + op;
                const struct ll_tensor *a = &trace->tensors[ll_op_output(trace, first, 0)];
                const struct ll_tensor *b = &trace->tensors[ll_op_output(trace, again, 0)];
                uint64_t there = address[a->storage], here = address[b->storage];
                if (trace->descs[a->desc].memory == LL_ACTIVATION)
                    assert_true(ll_max(there, here) - ll_min(there, here) <= FEW_BYTES);
            }
        ll_arena_release(&arena);
        ll_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_fills_the_best_hole_or_grows),
        cmocka_unit_test(a_caching_allocator_takes_segments_and_keeps_them),
        cmocka_unit_test(a_heap_gives_the_addresses_of_one_that_looks_at_every_byte),
        cmocka_unit_test(a_heap_that_was_emptied_begins_anew),
        cmocka_unit_test(an_arena_lays_out_every_step_as_the_first),
        cmocka_unit_test(nothing_takes_less_than_what_lives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
