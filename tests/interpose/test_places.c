/* SPDX-License-Identifier: Apache-2.0 */
/* The table of places that call, alone: what it asks of the rest of the library is made up here. */
#define _GNU_SOURCE
#include "check.h"
#include "tracer/interpose/preload/preload.h"

#include <pthread.h>
#include <sched.h>

enum { ROUNDS = 10000, PLACES = 8192 };

__thread struct ll_thread ll_self;
__thread void *ll_entered;

/* A function of its own for each place. */
static void *real_of(uint32_t symbol, const void *caller)
{
    return (void *)((uintptr_t)caller * 16 + symbol);
}

void *ll_resolve(uint32_t symbol, void *caller)
{
    return real_of(symbol, caller);
}
void *ll_entry_behind(void *function)
{
    return function;
}
uintptr_t ll_module_begin(const void *address)
{
    return (uintptr_t)address;
}
struct ll_ring_process *ll_process_open(void)
{
    return NULL;
}
struct ll_ring_process *ll_process(void)
{
    return NULL;
}
const struct ll_ring_control *ll_process_control(void)
{
    return NULL;
}
uint64_t ll_process_generation(void)
{
    return 0;
}
uint64_t ll_process_ticks(void)
{
    return 0;
}
void ll_process_goes_on(void)
{
}
void ll_log_libraries(void)
{
}
void ll_log_blas(void *real)
{
    (void)real;
}
bool ll_thread_ready(struct ll_thread *thread, const void *top)
{
    (void)thread, (void)top;
    return false;
}
void ll_thread_push(struct ll_thread *thread, const uint64_t *words, unsigned count)
{
    (void)thread, (void)words, (void)count;
}

/* Two callers of one symbol whose search begins at the same place, by the hash of the table. */
static void *callers[2];

static uint64_t begins_at(uintptr_t caller)
{
    return ((uint64_t)caller * UINT64_C(0x9e3779b97f4a7c15) >> 40) % PLACES;
}

static _Atomic uint32_t begun, done, wrong;

static void look_up(unsigned which)
{
    for (int again = 0; again < 3; again++) {
        struct ll_call_way way = ll_reach(0, callers[which]);
        wrong += way.real != real_of(0, callers[which]) || way.from != (uintptr_t)callers[which];
    }
}

static void *other(void *unused)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        while (begun < round)
            sched_yield();
        look_up(1);
        done++;
    }
    return unused;
}

static void two_that_find_a_place_at_once_do_not_mix(void **state)
{
    (void)state;
    callers[0] = (void *)4096;
    uintptr_t next = 4097;
    while (begins_at(next) != begins_at(4096))
        next++;
    callers[1] = (void *)next;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, other, NULL), 0);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        ll_forget_ways();
        begun = round;
        look_up(0);
        while (done < round)
            sched_yield();
    }
    pthread_join(thread, NULL);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(two_that_find_a_place_at_once_do_not_mix)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
