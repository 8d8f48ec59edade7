/* SPDX-License-Identifier: Apache-2.0 */
/* The ground floor: what everything above it pays for memory, names, text and threads. */
#include "tests/bench/bench.h"
#include "tracer/base/arena.h"
#include "tracer/base/json.h"
#include "tracer/base/map.h"
#include "tracer/base/clock.h"
#include "tracer/base/pool.h"

#include <string.h>

enum { COUNT = 10000 };

static void allocate(void *context)
{
    (void)context;
    struct ll_arena arena = {0};
    for (int i = 0; i < COUNT; i++)
        ll_alloc(&arena, 3, 16);
    ll_arena_release(&arena);
}

/* Names as a trace has them, each seen a hundred times. */
static void intern(void *context)
{
    (void)context;
    struct ll_map map = {0};
    for (int i = 0; i < COUNT; i++) {
        char name[] = "forward/encoder/layer_00/attention";
        name[22] = (char)('0' + i / 10 % 10);
        name[23] = (char)('0' + i % 10);
        ll_map_intern(&map, name, sizeof name - 1, NULL);
    }
    ll_map_release(&map);
}

static void write_numbers(void *context)
{
    struct ll_str *out = context;
    struct ll_json json = {.out = out};
    ll_str_release(out);
    ll_json_open_list(&json);
    for (int i = 0; i < COUNT; i++)
        ll_json_number(&json, i * 1.37e-6);
    ll_json_close_list(&json);
}

static void nothing(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)context, (void)begin, (void)end, (void)chunk;
}

static void run_pool(void *context)
{
    for (int i = 0; i < 100; i++)
        ll_pool_run(context, 64, 1, nothing, NULL);
}

/* What the first of two threads does takes 200 us longer: the other waits as long for the next job. */
static void uneven(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)context, (void)begin, (void)end;
    for (uint64_t until = ll_now_ns() + 200000; chunk == 0 && ll_now_ns() < until;)
        ;
}

/* 20 us a chunk. */
static void even(void *context, uint64_t begin, uint64_t end, uint64_t chunk)
{
    (void)context, (void)begin, (void)end, (void)chunk;
    for (uint64_t until = ll_now_ns() + 20000; ll_now_ns() < until;)
        ;
}

static void run_uneven(void *context)
{
    for (int i = 0; i < 10; i++) {
        ll_pool_run(context, 2, 1, uneven, NULL);
        ll_pool_run(context, 2, 1, even, NULL);
    }
}

int main(void)
{
    struct ll_str out = {0};
    struct ll_pool *pool = ll_pool_new(0);
    ll_bench("arena: 48 bytes", allocate, NULL, COUNT, 0);
    ll_bench("map: a name of 34 bytes", intern, NULL, COUNT, 34 * COUNT);
    ll_bench("json: a double", write_numbers, &out, COUNT, 0);
    ll_bench("pool: a job of 64 empty chunks", run_pool, pool, 100, 0);
    ll_bench("pool: 20 us on all threads after 200 us on one", run_uneven, pool, 10, 0);
    ll_str_release(&out);
    ll_pool_free(pool);
    return 0;
}
