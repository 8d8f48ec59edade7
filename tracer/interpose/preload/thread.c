/* SPDX-License-Identifier: Apache-2.0 */
/* Rings: a thread gets one at its first event, leaves it when it ends, and another takes it over. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/thread.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LARGE_RINGS = 8 };

__thread struct ll_thread ll_self __attribute__((tls_model("initial-exec")));

static pthread_key_t at_end;
static bool has_key;

void ll_thread_leave(struct ll_thread *thread)
{
    struct ll_ring_process *page = ll_process();
    if (page && thread->ring && thread->generation == ll_process_generation()) {
        atomic_store(&thread->ring->open_ticks, 0);
        atomic_store_explicit(&page->slot[thread->slot].state, LL_RING_SLOT_LEFT, memory_order_release);
    }
    thread->generation = 0;
    thread->ring = NULL;
}

static void leave_ring(void *thread)
{
    ll_thread_leave(thread);
}

__attribute__((constructor)) static void make_key(void)
{
    has_key = pthread_key_create(&at_end, leave_ring) == 0;
}

static void take(struct ll_thread *thread, uint32_t slot, struct ll_ring *ring, uint64_t bytes)
{
    thread->ring = ring;
    thread->words = (uint64_t *)((char *)ring + LL_RING_PAGE);
    thread->size_words = bytes / sizeof(uint64_t);
    thread->head = atomic_load(&ring->head);
    thread->tail_seen = atomic_load(&ring->tail);
    thread->slot = slot;
    uint64_t record[2] = {ll_ring_header(LL_RING_THREAD, 2, 0, 0),
                          thread->tid ? thread->tid : (uint64_t)syscall(SYS_gettid)};
    ll_thread_push(thread, record, 2);
}

/* Whether the ring is empty enough to say who writes now. */
static bool has_room(const struct ll_ring *ring, uint64_t bytes)
{
    uint64_t used = atomic_load(&ring->head) - atomic_load(&ring->tail);
    return used + 4 * LL_RING_RECORD_WORDS < bytes / sizeof(uint64_t);
}

static bool take_left_ring(struct ll_thread *thread, struct ll_ring_process *page)
{
    struct ll_ring **mapped = ll_process_rings();
    for (uint32_t i = 0; i < LL_RING_SLOTS; i++) {
        struct ll_ring_slot *slot = &page->slot[i];
        uint32_t left = LL_RING_SLOT_LEFT;
        if (atomic_load_explicit(&slot->state, memory_order_acquire) == LL_RING_SLOT_NEVER)
            return false;
        if (atomic_load(&slot->state) != left || !mapped[i] || !has_room(mapped[i], slot->bytes))
            continue;
        if (atomic_compare_exchange_strong(&slot->state, &left, LL_RING_SLOT_USED)) {
            take(thread, i, mapped[i], slot->bytes);
            return true;
        }
    }
    return false;
}

/* The first slot that nobody ever had. */
static uint32_t new_slot(struct ll_ring_process *page)
{
    for (uint32_t i = 0; i < LL_RING_SLOTS; i++) {
        uint32_t never = LL_RING_SLOT_NEVER;
        if (atomic_compare_exchange_strong(&page->slot[i].state, &never, LL_RING_SLOT_USED))
            return i;
    }
    return LL_RING_SLOTS;
}

/* A program of many threads shall not pay with its memory: from some ring on they are small. */
static uint64_t size_of_ring(uint32_t index)
{
    uint64_t bytes = ll_process_control()->ring_bytes;
    return index < LARGE_RINGS || bytes / 16 < LL_RING_LEAST_BYTES ? bytes : bytes / 16;
}

/* A ring of that size, or of what the disk still has room for. */
static bool take_new_ring(struct ll_thread *thread, struct ll_ring_process *page)
{
    uint32_t index = new_slot(page);
    if (index == LL_RING_SLOTS)
        return false;
    struct ll_ring_slot *slot = &page->slot[index];
    for (uint64_t bytes = size_of_ring(index); bytes >= LL_RING_LEAST_BYTES; bytes /= 4) {
        uint64_t offset = atomic_fetch_add(&page->file_bytes, LL_RING_PAGE + bytes);
        struct ll_ring *ring = ll_process_map(offset, LL_RING_PAGE + bytes);
        if (!ring)
            continue;
        ll_process_rings()[index] = ring;
        slot->bytes = bytes;
        take(thread, index, ring, bytes);
        atomic_store_explicit(&slot->offset_bytes, offset, memory_order_release);
        return true;
    }
    return false;
}

static bool get_ring(struct ll_thread *thread)
{
    int error = errno;
    struct ll_ring_process *page = ll_process_open();
    uint64_t generation = ll_process_generation();
    if (!page || !generation || (thread->untouched && thread->generation == generation))
        return false;
    thread->generation = generation;
    thread->untouched = !take_left_ring(thread, page) && !take_new_ring(thread, page);
    if (thread->untouched)
        thread->ring = NULL;
    else if (has_key)
        pthread_setspecific(at_end, thread);
    errno = error;
    return !thread->untouched;
}

/* A signal handler lies below the record that it came amid, or on a stack of its own. What does not is no
 * handler: something has jumped out of that record, which is lost. */
static bool is_amid_record(struct ll_thread *thread, const void *top)
{
    if ((uintptr_t)thread->busy > (uintptr_t)top)
        return true;
    int error = errno;
    stack_t stack;
    bool elsewhere = sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_ONSTACK);
    errno = error;
    if (!elsewhere)
        thread->busy = NULL;
    return elsewhere;
}

bool ll_thread_ready(struct ll_thread *thread, const void *top)
{
    bool busy = thread->busy && is_amid_record(thread, top);
    if (!busy && thread->ring && thread->generation == ll_process_generation())
        return true;
    bool ready = false;
    if (!busy) {
        thread->ring = NULL;
        thread->busy = __builtin_frame_address(0);
        ready = get_ring(thread);
        thread->busy = NULL;
    }
    struct ll_ring_process *page = ready ? NULL : ll_process();
    if (page)
        atomic_fetch_add_explicit(&page->ringless, 1, memory_order_relaxed);
    return ready;
}

/* The recorder sleeps only while little happens. */
static void wake_reader(void)
{
    /* The page is mapped for reading; the kernel needs no more to wake whoever waits on it. */
    const _Atomic uint32_t *asleep = &ll_process_control()->asleep;
    if (!atomic_load_explicit(asleep, memory_order_relaxed))
        return;
    int error = errno;
    syscall(SYS_futex, asleep, FUTEX_WAKE, 1, NULL, NULL, 0);
    errno = error;
}

/* Fills what is left before the end of the ring, where a record would wrap. */
static uint64_t start_of(struct ll_thread *thread, unsigned count)
{
    uint64_t left = thread->size_words - (thread->head & (thread->size_words - 1));
    return count <= left ? 0 : left;
}

static bool is_nested(uint64_t header)
{
    return ll_ring_kind_of(header) == LL_RING_CALL && ll_ring_depth_of(header) > 0;
}

static bool is_memory(uint64_t header)
{
    unsigned kind = ll_ring_kind_of(header);
    return kind == LL_RING_ALLOCATE || kind == LL_RING_RELEASE;
}

/* A driver of LAPACK makes thousands of calls before its own record comes, and the reader waits for that one;
 * a program may take and give memory faster than the reader follows. Calls within others and memory leave
 * half of the ring to the program's calls. */
static uint64_t room_for(const struct ll_thread *thread, uint64_t header)
{
    return is_nested(header) || is_memory(header) ? thread->size_words / 2 : thread->size_words;
}

static void count_lost(struct ll_thread *thread, uint64_t header)
{
    if (is_nested(header))
        atomic_fetch_add_explicit(&ll_process()->nested, 1, memory_order_relaxed);
    else if (is_memory(header))
        atomic_fetch_add_explicit(&ll_process()->unfollowed, 1, memory_order_relaxed);
    else
        atomic_store_explicit(&thread->ring->lost, atomic_load(&thread->ring->lost) + 1,
                              memory_order_relaxed);
}

void ll_thread_push(struct ll_thread *thread, const uint64_t *words, unsigned count)
{
    uint64_t skipped = start_of(thread, count), size = thread->size_words, room = room_for(thread, words[0]);
    uint64_t after = thread->head + skipped + count;
    if (after - thread->tail_seen > room) {
        thread->tail_seen = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
        if (after - thread->tail_seen > room) {
            count_lost(thread, words[0]);
            wake_reader();
            return;
        }
    }
    if (skipped)
        thread->words[thread->head & (size - 1)] = ll_ring_header(LL_RING_FILL, (unsigned)skipped, 0, 0);
    memcpy(thread->words + ((thread->head + skipped) & (size - 1)), words, count * sizeof *words);
    if ((thread->head ^ after) & (size / 2))
        wake_reader();
    thread->head = after;
    atomic_store_explicit(&thread->ring->head, after, memory_order_release);
}
