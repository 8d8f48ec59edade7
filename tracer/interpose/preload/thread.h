/* SPDX-License-Identifier: Apache-2.0 */
/* What a thread of the recorded program keeps: its ring, how deep in calls it is, whether it is amid a
 * record. */
#ifndef LL_INTERPOSE_THREAD_H
#define LL_INTERPOSE_THREAD_H

#include "tracer/interpose/preload/preload.h"

enum { LL_DEEPEST = 32 };

struct ll_thread {
    uint64_t generation; /* of the process page that the ring belongs to; another one's: there is no ring */
    struct ll_ring *ring;
    uint64_t *words;
    uint64_t size_words, head, tail_seen; /* tail_seen: the reader is at least so far */
    uint32_t depth;
    uint32_t slot;
    uint64_t tid; /* 0: the calling thread's own */
    /* The frame that is amid a record, or NULL: an event from a signal handler must keep out. */
    const void *busy;
    bool untouched; /* this thread asked for a ring and got none */
    /* Of the calls in progress, outermost first: where they lie on the stack, which grows downwards, and the
     * libraries that they were made from and that they went into. */
    const void *frame[LL_DEEPEST];
    uintptr_t from[LL_DEEPEST], into[LL_DEEPEST];
};

/* Of the calling thread; in memory that is there from the start, so that looking never allocates. */
extern __thread struct ll_thread ll_self __attribute__((tls_model("initial-exec")));

/* Whether the calling thread may write a record: it has a ring, which it gets here if need be, and is not
 * amid one, as a signal handler's would be, which top, a place in the frame of what happens, tells. What may
 * not is counted. */
bool ll_thread_ready(struct ll_thread *thread, const void *top);

/* A thread's end: what it recorded stays, its ring may serve another. */
void ll_thread_leave(struct ll_thread *thread);

/* Adds a record of so many words; without room it is counted as lost. The thread is ready and marked busy. */
void ll_thread_push(struct ll_thread *thread, const uint64_t *words, unsigned count);

#endif
