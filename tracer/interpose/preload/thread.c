/* SPDX-License-Identifier: Apache-2.0 */
/* Rings: a thread gets one at its first event, leaves it when it ends, and another takes it over.
 *
 * From its first event on a thread makes no system call here: the program may have forbidden all but a few.
 * So whoever waits for room spins, the reader looks by itself, and the first thread leaves some rings for
 * those that begin later. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/thread.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    SPARE_RINGS = 7, /* that wait for threads */
    SMALLER = 8,     /* all rings but the first: a program of many threads shall not pay with its memory */
    WAIT_WORDS = 3,
    LOOKS = 64 /* at the ring, between two at the clock */
};

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
                          thread->tid ? thread->tid : (uint64_t)(uintptr_t)thread};
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

static uint64_t size_of_ring(uint32_t index)
{
    uint64_t bytes = ll_process_control()->ring_bytes;
    return index == 0 || bytes / SMALLER < LL_RING_LEAST_BYTES ? bytes : bytes / SMALLER;
}

/* A ring of that size, or of what the disk still has room for, in a slot that nobody ever had. */
static struct ll_ring *new_ring(struct ll_ring_process *page, uint32_t *index)
{
    *index = new_slot(page);
    if (*index == LL_RING_SLOTS)
        return NULL;
    struct ll_ring_slot *slot = &page->slot[*index];
    for (uint64_t bytes = size_of_ring(*index); bytes >= LL_RING_LEAST_BYTES; bytes /= 4) {
        uint64_t offset = atomic_fetch_add(&page->file_bytes, LL_RING_PAGE + bytes);
        struct ll_ring *ring = ll_process_map(offset, LL_RING_PAGE + bytes);
        if (!ring)
            continue;
        ll_process_rings()[*index] = ring;
        slot->bytes = bytes;
        atomic_store_explicit(&slot->offset_bytes, offset, memory_order_release);
        return ring;
    }
    return NULL;
}

/* For threads that may not ask for memory any more. */
static void leave_spare_rings(struct ll_ring_process *page)
{
    uint32_t index;
    for (int i = 0; i < SPARE_RINGS && new_ring(page, &index); i++)
        atomic_store_explicit(&page->slot[index].state, LL_RING_SLOT_LEFT, memory_order_release);
}

static bool take_new_ring(struct ll_thread *thread, struct ll_ring_process *page)
{
    uint32_t index;
    struct ll_ring *ring = new_ring(page, &index);
    if (!ring)
        return false;
    take(thread, index, ring, page->slot[index].bytes);
    if (index == 0 && !thread->tid)
        leave_spare_rings(page);
    return true;
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

/* Where this thread's signal handlers have a stack of their own. Asked for here, as asking the kernel is a
 * system call. */
static __thread stack_t own_stack __attribute__((tls_model("initial-exec")));

LL_EXPORT int sigaltstack(const stack_t *restrict stack, stack_t *restrict before)
{
    int status = (int)syscall(SYS_sigaltstack, stack, before);
    if (status == 0 && stack)
        own_stack = *stack;
    return status;
}

/* A signal handler lies below the record that it came amid, or on a stack of its own. What does not is no
 * handler: something has jumped out of that record, which is lost. */
static bool is_amid_record(struct ll_thread *thread, const void *top)
{
    uintptr_t from_stack = (uintptr_t)top - (uintptr_t)own_stack.ss_sp;
    if ((uintptr_t)thread->busy > (uintptr_t)top ||
        (!(own_stack.ss_flags & SS_DISABLE) && from_stack < own_stack.ss_size))
        return true;
    thread->busy = NULL;
    return false;
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

/* A driver of LAPACK makes thousands of calls before its own record comes, and they are only counted: they
 * never wait, and leave half of the ring to the others. So does memory where nobody waits, which a program
 * may take and give faster than the reader follows. */
static uint64_t room_for(const struct ll_thread *thread, uint64_t header)
{
    bool yields = is_nested(header) || (is_memory(header) && ll_process_control()->patience_ticks == 0);
    return yields ? thread->size_words / 2 : thread->size_words;
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

static bool has_room_up_to(struct ll_thread *thread, uint64_t after, uint64_t room)
{
    if (after - thread->tail_seen > room)
        thread->tail_seen = atomic_load_explicit(&thread->ring->tail, memory_order_acquire);
    return after - thread->tail_seen <= room;
}

static void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Waits for the reader. It may have died, or be held up: once somebody has waited in vain for a sign of life,
 * nobody waits until there is one. A reader that lives and still does not come to this ring is not waited for
 * without end either. A child of a fork, made by a handler meanwhile, does not have the ring. */
static bool wait_for_room(struct ll_thread *thread, uint64_t after)
{
    enum { PATIENCES = 16 };
    static _Atomic uint64_t silent_beat = UINT64_MAX;
    uint64_t patience = ll_process_control()->patience_ticks, beat = ll_process_beat();
    if (patience == 0 || atomic_load_explicit(&silent_beat, memory_order_relaxed) == beat)
        return false;
    uint64_t begin = ll_process_ticks(), heard = begin, now = begin, next;
    while (thread->generation == ll_process_generation()) {
        for (int i = 0; i < LOOKS; i++) {
            rest();
            if (has_room_up_to(thread, after, thread->size_words))
                return true;
        }
        now = ll_process_ticks();
        next = ll_process_beat();
        if (next != beat)
            heard = now;
        beat = next;
        if (now - heard > patience || now - begin > PATIENCES * patience) {
            atomic_store_explicit(&silent_beat, beat, memory_order_relaxed);
            return false;
        }
    }
    return false;
}

/* There is room. */
static void put(struct ll_thread *thread, const uint64_t *words, unsigned count)
{
    uint64_t skipped = start_of(thread, count), size = thread->size_words;
    if (skipped)
        thread->words[thread->head & (size - 1)] = ll_ring_header(LL_RING_FILL, (unsigned)skipped, 0, 0);
    memcpy(thread->words + ((thread->head + skipped) & (size - 1)), words, count * sizeof *words);
    thread->head += skipped + count;
    atomic_store_explicit(&thread->ring->head, thread->head, memory_order_release);
}

void ll_thread_push(struct ll_thread *thread, const uint64_t *words, unsigned count)
{
    uint64_t after = thread->head + start_of(thread, count) + count;
    if (has_room_up_to(thread, after, room_for(thread, words[0]))) {
        put(thread, words, count);
        return;
    }
    uint64_t begin = ll_process_ticks();
    bool waits = !is_nested(words[0]) && wait_for_room(thread, after);
    if (waits)
        put(thread, words, count);
    else if (thread->generation == ll_process_generation())
        count_lost(thread, words[0]);
    if (waits && has_room_up_to(thread, thread->head + 2 * WAIT_WORDS, thread->size_words))
        put(thread,
            (const uint64_t[]){ll_ring_header(LL_RING_WAIT, WAIT_WORDS, 0, 0), begin,
                               ll_process_ticks() - begin},
            WAIT_WORDS);
}
