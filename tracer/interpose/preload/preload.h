/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of the preload library: it lives in a process that is not ours.
 *
 * Nothing here prints, ends the process, takes memory from the process's allocator while a call passes
 * through, or leaves errno changed. A thread makes system calls at its first event alone: from then on the
 * program may have forbidden them (seccomp). What goes wrong is counted in the shared page. All functions
 * may be called by any thread at any time, from signal handlers too: a thread that is in the middle of a
 * record lets further events of its own pass uncounted but for `ringless`. */
#ifndef LL_INTERPOSE_PRELOAD_H
#define LL_INTERPOSE_PRELOAD_H

#include "tracer/interpose/ring.h"
#include "tracer/interpose/routines.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* Likewise a mark; ticks 0: of now. */
void ll_push_step(uint64_t ticks);

/* step.c: before an outermost call. The mark that came before the first one; then whether this symbol's calls
 * mark steps, and the mark. */
void ll_step_at(uint32_t symbol);

/* process.c: the page of this process, NULL when nothing is recorded. ll_process_open makes it at the first
 * event; it fails once and for all when the folder is gone or full. */
struct ll_ring_process *ll_process(void);
struct ll_ring_process *ll_process_open(void);
const struct ll_ring_control *ll_process_control(void);
uint64_t ll_process_generation(void); /* 0: no page; a child's differs from its parent's */
uint64_t ll_process_ticks(void);

/* Its rings by slot, as far as they are mapped; there is a page. */
struct ll_ring **ll_process_rings(void);

/* Marks the end of the process, and says which libraries it has by then; at the end of this one it is done
 * anyway. ll_process_ends only marks it, and ll_process_goes_on takes that mark back: it was a child's that
 * lives in this memory (vfork). */
void ll_process_finish(void);
void ll_process_ends(void);
void ll_process_goes_on(void);

/* What the reader last showed of itself; see struct ll_ring_control. */
uint64_t ll_process_beat(void);

/* Tells the recorder, if it still listens, that of some process nothing will come. */
void ll_process_refused(void);

/* For one process that writes for others: a file that is to be that of this process, NULL when nothing is
 * recorded or memory ran out, and from now on all of the above is about this one, or NULL: about none. To be
 * freed. */
struct ll_process_file;
struct ll_process_file *ll_process_file(uint64_t pid, uint64_t parent_pid);
void ll_process_use(struct ll_process_file *file);

/* A part of the process's file, there for good; NULL when the disk has no room for it. */
void *ll_process_map(uint64_t offset_bytes, uint64_t bytes);

/* Adds an entry to the log; its place in words, LL_RING_UNSAID where there is no room. words[0] is of no
 * account. */
#define LL_RING_UNSAID UINT64_MAX
uint64_t ll_log(enum ll_ring_log_kind kind, const uint64_t *words, unsigned count);

/* The same without a copy, for stacks that are small: room for so many words, which are zero, to be filled
 * from the second one on and then added; NULL where there is none. Nobody else adds meanwhile. */
uint64_t *ll_log_begin(unsigned count);
uint64_t ll_log_end(enum ll_ring_log_kind kind, uint64_t *words, unsigned count);

/* facts.c: what decides speed here. Each thing is said once a process. */
void ll_log_host(void);
void ll_log_libraries(void);
void ll_log_blas(void *real);

/* wrappers.c: the wrapper of a row of symbols.def. */
void *ll_wrapper_of(uint32_t symbol);

/* resolve.c: the function that a caller would have got without us. */
void *ll_resolve(uint32_t symbol, void *caller);

/* modules.c: a symbol of what is loaded, read from the libraries' own tables: the dynamic linker's functions
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

#endif
