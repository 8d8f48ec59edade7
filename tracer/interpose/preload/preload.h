/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the preload library: it lives in a process that is not ours.
 *
 * Nothing here prints, ends the process, takes memory from the process's allocator while a call passes
 * through, or leaves errno changed. A thread makes system calls at its first event alone: from then on the
 * program may have forbidden them (seccomp). What goes wrong is counted in the shared page. All functions
 * may be called by any thread at any time, from signal handlers too: a thread that is in the middle of a
 * record lets further events of its own pass uncounted but for `ringless`. */
#ifndef LL_TRACER_INTERPOSE_PRELOAD_PRELOAD_H
#define LL_TRACER_INTERPOSE_PRELOAD_PRELOAD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/interpose/call.h"
#include "tracer/interpose/preload/loaded.h"
#include "tracer/interpose/ring.h"

#define LL_EXPORT __attribute__((visibility("default")))

/* Where a call leads: the real function, NULL where no library has it, and where the library begins that
 * calls and the one that is called; 0: not known. */
struct ll_call_way {
    void *real;
    uintptr_t from, into;
};

/* One call on its way through a wrapper, which fills in the first four. */
struct ll_passage {
    void *caller;
    struct ll_call_way way; /* where it is known already, else of no real function */
    uint32_t symbol;
    bool is_query;        /* it asks for the size of a workspace and computes nothing */
    uint64_t start_ticks; /* 0: this one is not recorded */
    uint32_t depth;
};

/* The way of a call that is made: to the beginning of the function that a patched entry came from, else to
 * the one that the caller would have got, remembered by the place of the call. Asked once a call. */
struct ll_call_way ll_reach(uint32_t symbol, void *caller);

/* What a wrapper has on its stack: stacks grow downwards, so that what it calls lies below. words are those
 * of the record: LL_RING_CALL_WORDS to be filled by ll_leave, then the arguments. */
struct ll_wrapper_frame {
    struct ll_passage passage;
    uint64_t words[LL_RING_RECORD_WORDS];
};

/* From now on each real function is looked up anew: what is loaded has changed. */
void ll_forget_ways(void);

/* Before and after the real function, whose address ll_enter gives; NULL where no library has it. top is the
 * wrapper's __builtin_frame_address(0), count the words up to the end of the arguments. */
void *ll_enter(struct ll_wrapper_frame *frame, const void *top);
void ll_leave(struct ll_wrapper_frame *frame, enum ll_ring_kind kind, unsigned count);

/* A record without duration; nothing happens in a process that has recorded no call yet. */
void ll_push_event(enum ll_ring_kind kind, uint64_t first, uint64_t second, unsigned words);

/* Before an outermost call. The mark that came before the first one; then whether this symbol's calls
 * mark steps, and the mark. */
void ll_step_at(uint32_t symbol);

/* process.c: the page of this process, NULL when nothing is recorded. ll_process_open makes it at the first
 * event; it fails once and for all when the folder is gone or full. */
struct ll_ring_process *ll_process(void);
struct ll_ring_process *ll_process_open(void);
const struct ll_ring_control *ll_process_control(void);
uint64_t ll_process_generation(void); /* 0: no page; a child's differs from its parent's */
uint64_t ll_process_ticks(void);

/* Marks the end of the process, and says which libraries it has by then; at the end of this one it is done
 * anyway. ll_process_ends only marks it, and ll_process_goes_on takes that mark back: it was a child's that
 * lives in this memory (vfork). */
void ll_process_finish(void);
void ll_process_ends(void);
void ll_process_goes_on(void);

/* Tells the recorder, if it still listens, that of some process nothing will come. */
void ll_process_refused(void);

/* For one process that writes for others: a file that is to be that of this process, NULL when nothing is
 * recorded or memory ran out, and from now on all of the above is about this one, or NULL: about none. To be
 * freed. */
struct ll_process_file;
struct ll_process_file *ll_process_file(uint64_t pid, uint64_t parent_pid);
void ll_process_use(struct ll_process_file *file);

/* Adds an entry to the log; its place in words, LL_RING_UNSAID where there is no room. words[0] is of no
 * account. */
#define LL_RING_UNSAID UINT64_MAX
uint64_t ll_log(enum ll_ring_log_kind kind, const uint64_t *words, unsigned count);

/* The same without a copy, for stacks that are small: room for so many words, which are zero, to be filled
 * from the second one on and then added; NULL where there is none. Nobody else adds meanwhile. */
uint64_t *ll_log_begin(unsigned count);
uint64_t ll_log_end(enum ll_ring_log_kind kind, uint64_t *words, unsigned count);

/* One thread at a time looks through the libraries: a second one would need memory and the dynamic linker's
 * lock, which are system calls. ll_look_end takes what ll_look_begin returned: whether it holds it. */
bool ll_look_begin(void);
void ll_look_end(bool held);

/* libraries.c: what decides speed here. Each thing is said once a process. */
void ll_log_host(void);
void ll_log_libraries(void);
void ll_log_blas(void *real);

/* wrappers.c: the wrapper of a row of symbols.def. */
void *ll_wrapper_of(uint32_t symbol);

/* The function that a caller would have got without us. */
void *ll_resolve(uint32_t symbol, void *caller);

/* A symbol of what is loaded, read from the libraries' own tables: the dynamic linker's functions
 * are not for constructors of libraries that it is just loading. First in the caller's library and what that
 * needs, breadth first, as it does; then anywhere. Never a symbol of ours; NULL where there is none. */
void *ll_module_symbol_for(const char *name, const void *caller);
void *ll_module_symbol_anywhere(const char *name);

/* Likewise in what was loaded after the caller's library, as RTLD_NEXT does. */
void *ll_module_symbol_behind(const char *name, const void *caller);

/* Where the library begins that an address lies in; 0: in none. */
uintptr_t ll_module_begin(const void *address);

/* Whether any library but ours defines such a function; when in doubt, it does. */
bool ll_module_has(const char *name);

/* Whether an address lies in this library. */
bool ll_is_ours(const void *address);

/* What a thread of the recorded program keeps: its ring, how deep in calls it is, whether it is amid a
 * record. */

enum { LL_DEEPEST = 32 };

struct ll_thread {
    uint64_t generation;  /* of the process page that the ring belongs to; another one's: there is no ring */
    struct ll_ring *ring; /* NULL: none yet, or none any more */
    uint64_t *words;      /* of the ring */
    uint64_t size_words, head, tail_seen; /* tail_seen: the reader is at least so far */
    uint32_t depth;                       /* calls in progress */
    uint32_t slot;                        /* of the process page */
    uint64_t tid;                         /* 0: the calling thread's own */
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

/* The two wrappers of oneDNN's primitives, which have no row's form. Types are oneDNN's, in the few words
 * that both its versions share: what is opaque to users of the library is opaque here. */

struct ll_dnnl_argument {
    int argument;
    const void *memory;
};

LL_EXPORT int dnnl_primitive_execute(const void *primitive, void *stream, int count,
                                     const struct ll_dnnl_argument *arguments);
LL_EXPORT int dnnl_primitive_destroy(void *primitive);

/* What the preload library offers to those who bring calls to it by other ways than preloading (the audit
 * interface, relocation slots, patched entries); found by dlsym in the recorded process. Thread-safe. */

/* The wrapper of an exported name, NULL where we have none. */
__attribute__((visibility("default"))) void *ll_interpose_wrapper(const char *name);

/* Where standing first in the search for symbols is not enough: slots that hold addresses are rewritten, and
 * routines get a jump to their wrapper as first instruction. Part of the preload library; asleep unless the
 * environment asks for it. What cannot be patched is counted and left alone. */

/* For the audit library, which finds it by name: a library, told by any address within, was about to get
 * `real` under this name when it was given our wrapper. */
__attribute__((visibility("default"))) void ll_interpose_bound(const char *name, const void *library,
                                                               void *real);

/* The function that the caller's library has called through a slot before it was rewritten; NULL: none known.
 */
void *ll_slot_real(uint32_t symbol, const void *caller);

/* What behaves as the function did before it was patched; the function itself when it was not. */
void *ll_entry_behind(void *function);

/* The function that an answer of ll_entry_behind stands for; any other address as it is. */
const void *ll_entry_origin(const void *behind);

/* Set by a patched entry for the wrapper that it jumps to: the real function, taken by ll_enter. */
extern __thread void *ll_entered __attribute__((tls_model("initial-exec")));

#endif
