/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: a program says leadline_step(), or LEADLINE_STEP=SYMBOL[:N] in its environment says that each N-th
 * outermost call of a symbol begins one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracer/interpose/leadline.h"
#include "tracer/interpose/preload/preload.h"

static uint32_t marked = LL_SYMBOL_COUNT;
static uint64_t every = 1;
static _Atomic uint64_t seen;
static _Atomic uint64_t early_ticks; /* of a mark before the first call; 0: none */

static const char *const names[] = {
#define LL_SYMBOL(name, routine, signature, letter, abi, result) #name,
#include "tracer/interpose/symbols.def"
};

__attribute__((constructor)) static void read_mark(void)
{
    const char *mark = getenv("LEADLINE_STEP");
    size_t length = mark ? strcspn(mark, ":") : 0;
    for (uint32_t i = 0; length && i < LL_SYMBOL_COUNT; i++)
        if (strncmp(names[i], mark, length) == 0 && !names[i][length])
            marked = i;
    uint64_t n = 0;
    for (const char *at = length ? mark + length : ""; *at; at++)
        if (*at >= '0' && *at <= '9' && n < 1000000000)
            n = n * 10 + (uint64_t)(*at - '0');
    if (n)
        every = n;
}

static void push_step(uint64_t ticks);

void leadline_step(void)
{
    if (ll_process_generation())
        push_step(0);
    else if (ll_process_control())
        atomic_store(&early_ticks, ll_process_ticks());
}

void ll_step_at(uint32_t symbol)
{
    uint64_t early = atomic_load_explicit(&early_ticks, memory_order_relaxed);
    if (early && atomic_compare_exchange_strong(&early_ticks, &early, 0))
        push_step(early);
    if (symbol == marked && atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed) % every == 0)
        leadline_step();
}

/* A call's way in and out.
 *
 * The real function is looked up once for each place that calls it: two places may mean two libraries that
 * export the same name. The places stand in a table that only grows; dlclose starts it anew, as what it knew
 * may be gone.
 *
 * A call that something jumps out of (an error handler's longjmp, an exception) never comes back to be
 * counted out. Two things tell that a new call was not made by one in progress: its frame does not lie below
 * that one's; or it is made from the library that made that one, and nothing since went back into there. What
 * escapes both is a call from a deeper frame of another library. A library's callback that itself makes calls
 * seems to be outside of the call that it serves, and so does a signal handler: that one counts as abandoned
 * until it comes back after all. */

enum { PLACES = 8192, PROBES = 16 };
#define CLAIMED UINT32_MAX /* an epoch that no table reaches */

struct place {
    _Atomic(void *) real; /* written last */
    _Atomic(void *) caller;
    _Atomic uintptr_t from, into; /* as of struct ll_call_way */
    _Atomic uint32_t symbol;
    _Atomic uint32_t epoch; /* of the table when it was written; 0: free; CLAIMED: it is being written */
};

static struct place places[PLACES];
static _Atomic uint32_t epoch = 1; /* a dlclose begins the next one */

void ll_forget_ways(void)
{
    atomic_fetch_add(&epoch, 1);
}

static uint64_t hash_of(uint32_t symbol, const void *caller)
{
    return ((uint64_t)(uintptr_t)caller ^ (uint64_t)symbol << 48) * UINT64_C(0x9e3779b97f4a7c15) >> 40;
}

static void say_what_is_new(void *real)
{
    ll_log_libraries();
    if (real)
        ll_log_blas(real);
}

/* The slow way: asks the resolver, says what is new, and remembers. */
static struct ll_call_way find_way(uint32_t symbol, void *caller, uint32_t now)
{
    int error = errno;
    void *real = ll_resolve(symbol, caller);
    struct ll_ring_process *page = ll_process_open();
    if (page && real)
        say_what_is_new(real);
    else if (page)
        atomic_fetch_add(&page->unresolved, 1);
    struct ll_call_way way = {.real = ll_entry_behind(real)};
    if (real) {
        way.from = ll_module_begin(caller);
        way.into = ll_module_begin(real);
    }
    for (uint64_t i = 0; real && i < PROBES; i++) {
        struct place *place = &places[(hash_of(symbol, caller) + i) % PLACES];
        uint32_t then = atomic_load(&place->epoch);
        if (then == now || then == CLAIMED || !atomic_compare_exchange_strong(&place->epoch, &then, CLAIMED))
            continue;
        atomic_store(&place->real, NULL);
        atomic_store(&place->caller, caller);
        atomic_store(&place->symbol, symbol);
        atomic_store(&place->from, way.from);
        atomic_store(&place->into, way.into);
        atomic_store_explicit(&place->real, way.real, memory_order_release);
        atomic_store_explicit(&place->epoch, now, memory_order_release);
        break;
    }
    errno = error;
    return way;
}

/* The quick way: a table of places, each of which is whole when its epoch is the present one before and
 * after. One that is being written, which in a child of a fork may be so for good, hides none behind it. */
static struct ll_call_way way_of(uint32_t symbol, void *caller)
{
    uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
    uint64_t hash = hash_of(symbol, caller);
    for (uint64_t i = 0; i < PROBES; i++) {
        struct place *place = &places[(hash + i) % PLACES];
        uint32_t then = atomic_load_explicit(&place->epoch, memory_order_acquire);
        if (then != now && then != CLAIMED)
            break;
        if (then == CLAIMED || atomic_load_explicit(&place->caller, memory_order_acquire) != caller ||
            atomic_load_explicit(&place->symbol, memory_order_acquire) != symbol)
            continue;
        struct ll_call_way way = {.real = atomic_load_explicit(&place->real, memory_order_acquire),
                                  .from = atomic_load_explicit(&place->from, memory_order_acquire),
                                  .into = atomic_load_explicit(&place->into, memory_order_acquire)};
        if (atomic_load_explicit(&place->epoch, memory_order_relaxed) == now)
            return way;
    }
    return find_way(symbol, caller, now);
}

/* A patched entry has said what it leads to, also where the resolver knows no such routine; the first such
 * call of a routine says what is new all the same. */
static __attribute__((noinline)) struct ll_call_way take_entered(uint32_t symbol, void *caller)
{
    static _Atomic uint8_t said[LL_SYMBOL_COUNT];
    struct ll_call_way way = {.real = ll_entered};
    ll_entered = NULL;
    if (!atomic_exchange_explicit(&said[symbol], 1, memory_order_relaxed)) {
        int error = errno;
        void *real = ll_resolve(symbol, caller);
        if (ll_process_open())
            say_what_is_new(real);
        errno = error;
    }
    return way;
}

struct ll_call_way ll_reach(uint32_t symbol, void *caller)
{
    return __builtin_expect(ll_entered != NULL, 0) ? take_entered(symbol, caller) : way_of(symbol, caller);
}

/* How deep the new call is, which is made from the library that begins there. */
static uint32_t depth_of(struct ll_thread *thread, uintptr_t from, const void *top)
{
    uint32_t depth = thread->depth;
    while (depth && (uintptr_t)thread->frame[depth - 1] <= (uintptr_t)top)
        depth--;
    for (uint32_t i = depth; from && i > 0 && thread->into[i - 1] && thread->into[i - 1] != from; i--)
        if (thread->from[i - 1] == from)
            depth = i - 1;
    if (depth != thread->depth)
        atomic_fetch_add(&ll_process()->abandoned, thread->depth - depth);
    return depth;
}

static void begin(struct ll_thread *thread, struct ll_wrapper_frame *frame, const void *top)
{
    struct ll_passage *passage = &frame->passage;
    uint32_t depth = depth_of(thread, passage->way.from, top);
    passage->depth = depth;
    thread->depth = depth;
    if (depth == LL_DEEPEST)
        return;
    thread->frame[depth] = frame;
    thread->from[depth] = passage->way.from;
    thread->into[depth] = passage->way.into;
    thread->depth = depth + 1;
    passage->start_ticks = ll_process_ticks();
    if (depth > 0)
        return;
    ll_process_goes_on();
    atomic_store_explicit(&thread->ring->open_symbol, passage->symbol, memory_order_relaxed);
    atomic_store_explicit(&thread->ring->open_ticks, passage->start_ticks, memory_order_release);
}

void *ll_enter(struct ll_wrapper_frame *frame, const void *top)
{
    struct ll_passage *passage = &frame->passage;
    if (!passage->way.real)
        passage->way = ll_reach(passage->symbol, passage->caller);
    void *real = passage->way.real;
    struct ll_thread *thread = &ll_self;
    if (!real || !ll_process_control() || !ll_thread_ready(thread, top))
        return real;
    if (passage->is_query) {
        atomic_fetch_add(&ll_process()->queries, 1);
        return real;
    }
    if (thread->depth == 0)
        ll_step_at(passage->symbol);
    thread->busy = __builtin_frame_address(0);
    begin(thread, frame, top);
    thread->busy = NULL;
    return real;
}

/* Whether the thread still writes for the process in which the call began; its depth is again that of before.
 */
static bool end(struct ll_thread *thread, const struct ll_wrapper_frame *frame)
{
    const struct ll_passage *passage = &frame->passage;
    if (thread->generation != ll_process_generation())
        return false;
    if (thread->depth > passage->depth && thread->frame[passage->depth] == frame)
        thread->depth = passage->depth;
    else /* it was given up too early */
        atomic_fetch_sub(&ll_process()->abandoned, 1);
    return true;
}

static void put_call(struct ll_thread *thread, struct ll_wrapper_frame *frame, enum ll_ring_kind kind,
                     unsigned count)
{
    const struct ll_passage *passage = &frame->passage;
    uint64_t *words = frame->words;
    words[0] = ll_ring_header(kind, count, passage->depth, passage->symbol);
    words[1] = passage->start_ticks;
    words[2] = ll_process_ticks() - passage->start_ticks;
    words[3] = (uint64_t)(uintptr_t)passage->caller;
    ll_thread_push(thread, words, count);
    if (passage->depth == 0)
        atomic_store_explicit(&thread->ring->open_ticks, 0, memory_order_release);
}

void ll_leave(struct ll_wrapper_frame *frame, enum ll_ring_kind kind, unsigned count)
{
    const struct ll_passage *passage = &frame->passage;
    struct ll_thread *thread = &ll_self;
    if (!passage->start_ticks)
        return;
    thread->busy = __builtin_frame_address(0);
    if (end(thread, frame))
        put_call(thread, frame, kind, count);
    thread->busy = NULL;
}

static void push_at(uint64_t ticks, enum ll_ring_kind kind, uint64_t first, uint64_t second, unsigned count)
{
    struct ll_thread *thread = &ll_self;
    if (!ll_process_generation() || !ll_thread_ready(thread, __builtin_frame_address(0)))
        return;
    uint64_t words[4] = {ll_ring_header(kind, count, thread->depth, 0), ticks ? ticks : ll_process_ticks(),
                         first, second};
    thread->busy = __builtin_frame_address(0);
    ll_thread_push(thread, words, count);
    thread->busy = NULL;
}

void ll_push_event(enum ll_ring_kind kind, uint64_t first, uint64_t second, unsigned count)
{
    push_at(0, kind, first, second, count);
}

/* Likewise a mark; ticks 0: of now. */
static void push_step(uint64_t ticks)
{
    push_at(ticks, LL_RING_STEP, 0, 0, 2);
}

/* What is closed may take functions along whose addresses are known here. */
LL_EXPORT int dlclose(void *handle)
{
    static _Atomic(void *) next;
    int (*real)(void *) = (int (*)(void *))atomic_load(&next);
    if (!real) {
        real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
        atomic_store(&next, (void *)real);
    }
    int result = real ? real(handle) : -1;
    ll_forget_ways();
    return result;
}
