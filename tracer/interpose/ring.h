/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes between a recorded program and its recorder.
 *
 *   folder/control    made by the recorder before the program starts: settings, the clock, a word to sleep on
 *   folder/PID.N      one per process, and a further one each time that it becomes another program:
 *                       page 0   struct ll_ring_process
 *                       log      what is said once: facts, loaded libraries, descriptions of primitives
 *                       rings    one per thread that called something: a page struct ll_ring, then its words
 *
 * A ring has one writer (a thread of the program) and one reader (the recorder). Records are runs of 64-bit
 * words, the first of which says how many; they lie at `head` modulo the size of the ring and never wrap:
 * what is left at the end is filled by a record of its own. A record is there once `head` moved past it, so
 * that whatever kills the program leaves whole records behind. Where there is no room the writer waits,
 * without a system call and as long as the reader shows that it lives (`beat`); else it drops the record
 * and counts it.
 *
 * Plain data and inline functions: the preload library includes it and links nothing of ours. */
#ifndef LL_TRACER_INTERPOSE_RING_H
#define LL_TRACER_INTERPOSE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LL_RING_FOLDER_VARIABLE "LEADLINE_RINGS"
#define LL_RING_MAGIC UINT64_C(0x32676e69724c4c2e) /* .LLring2 */

/* "audit", "patch" or "entry" (tracer/interpose/patch); unset: preloading alone. */
#define LL_MECHANISM_VARIABLE "LEADLINE_MECHANISM"

/* A file of the folder: functions that only .symtab knows and whose entries are to be patched. Its lines are
 * symbol, hexadecimal address in the file, bytes of code, path of the file. */
#define LL_ENTRIES_FILE "entries"

enum {
    LL_RING_PAGE = 4096,
    LL_RING_SLOTS = 1024, /* threads of a process with a ring at any one time */
    LL_RING_LOG_BYTES = 1 << 20,
    LL_RING_LEAST_BYTES = 1 << 16,
    LL_RING_RECORD_WORDS = 112, /* at most, its header included */
    LL_RING_LOG_WORDS = 1 << 10 /* an entry of the log, at most */
};

enum ll_ring_clock { LL_RING_CLOCK_NS, LL_RING_CLOCK_TSC };

struct ll_ring_control {
    uint64_t magic;
    uint64_t symbols;          /* rows of symbols.def: a library of another build records nothing */
    uint64_t clock;            /* enum ll_ring_clock */
    uint64_t base_ticks;       /* of that clock, at */
    uint64_t base_ns;          /* this reading of ll_now_ns */
    uint64_t ring_bytes;       /* of a thread's ring, at most: a power of two */
    uint64_t least_allocation; /* memory smaller than so many bytes is not followed; 0: none is */
    uint64_t patience_ticks;  /* who waits for a reader that gives no sign of life for so long gives up; 0: at
                                  once */
    _Atomic uint32_t refused; /* processes that found no room for their files */
    _Atomic uint64_t beat;    /* the reader's: another one while it lives */
};

enum ll_ring_slot_state { LL_RING_SLOT_NEVER, LL_RING_SLOT_USED, LL_RING_SLOT_LEFT };

struct ll_ring_slot {
    _Atomic uint32_t state; /* enum ll_ring_slot_state; LEFT by a thread that ended, another may take it */
    uint32_t unused;
    _Atomic uint64_t offset_bytes; /* of struct ll_ring in the file; 0 until it is there */
    uint64_t bytes;                /* of its words: a power of two */
};

struct ll_ring_process {
    uint64_t magic;
    uint64_t pid, parent_pid;
    uint64_t started_ns; /* by ll_now_ns: when it began, or became the program that this file is of */
    _Atomic uint64_t ended_ticks; /* 0 while it runs, and when nobody told us of its end */
    _Atomic uint64_t log_words;   /* of the log that are whole */
    _Atomic uint64_t file_bytes;  /* where the next ring goes */
    _Atomic uint64_t unresolved;  /* calls whose real function was not found */
    _Atomic uint64_t abandoned;   /* calls that never returned: something jumped out of them */
    _Atomic uint64_t queries;     /* of workspace: calls that compute nothing */
    _Atomic uint64_t ringless;    /* events of threads that could not get a ring, or of signal handlers */
    _Atomic uint64_t unsaid;      /* entries for which the log had no room */
    _Atomic uint64_t nested; /* calls within others that found the ring half full, and were counted alone */
    _Atomic uint64_t unfollowed; /* memory that came or went, and found no room */
    struct ll_ring_slot slot[LL_RING_SLOTS];
};

/* The process page and the slots behind it, in whole pages; the log follows. */
enum {
    LL_RING_LOG_AT = (sizeof(struct ll_ring_process) + LL_RING_PAGE - 1) / LL_RING_PAGE * LL_RING_PAGE,
    LL_RING_RINGS_AT = LL_RING_LOG_AT + LL_RING_LOG_BYTES
};

/* Who writes what stands on a cache line of its own. Positions count words and never wrap. */
struct ll_ring {
    _Alignas(64) _Atomic uint64_t head; /* the writer's */
    _Atomic uint64_t open_ticks;        /* when its outermost call in progress began; 0: none */
    _Atomic uint64_t open_symbol;       /* of that call */
    _Atomic uint64_t lost;              /* records that found no room */
    _Alignas(64) _Atomic uint64_t tail; /* the reader's */
};

/* A record's first word: words, kind, depth, symbol. */
enum ll_ring_kind {
    LL_RING_FILL,    /* nothing */
    LL_RING_THREAD,  /* a number: from here on another thread writes */
    LL_RING_CALL,    /* start, duration (both ticks), caller, then the arguments */
    LL_RING_EXECUTE, /* the same, then the description's place in the log and pairs of argument and address */
    LL_RING_ALLOCATE, /* ticks, address, size_bytes */
    LL_RING_RELEASE,  /* ticks, address */
    LL_RING_STEP,     /* ticks */
    LL_RING_WAIT,     /* start, duration: the thread waited for room in its ring */
    LL_RING_KINDS
};

/* Of a call, behind its header; its arguments follow. */
enum { LL_RING_START_WORD = 1, LL_RING_DURATION_WORD, LL_RING_CALLER_WORD, LL_RING_CALL_WORDS };

/* Of a library in the log, behind its header; its path follows. */
enum {
    LL_RING_BIAS_WORD = 1,
    LL_RING_BEGIN_WORD,
    LL_RING_END_WORD,
    LL_RING_SEEN_WORD,
    LL_RING_LIBRARY_WORDS
};

/* A record's first word from its parts, and the parts from it; words fit in 16 bits, as depth and symbol do.
 */
static inline uint64_t ll_ring_header(enum ll_ring_kind kind, unsigned words, unsigned depth, unsigned symbol)
{
    return (uint64_t)words | (uint64_t)kind << 16 | (uint64_t)(depth & 0xffff) << 32 |
           (uint64_t)(symbol & 0xffff) << 48;
}
static inline unsigned ll_ring_words_of(uint64_t header)
{
    return (unsigned)(header & 0xffff);
}
static inline unsigned ll_ring_kind_of(uint64_t header)
{
    return (unsigned)(header >> 16 & 0xffff);
}
static inline unsigned ll_ring_depth_of(uint64_t header)
{
    return (unsigned)(header >> 32 & 0xffff);
}
static inline unsigned ll_ring_symbol_of(uint64_t header)
{
    return (unsigned)(header >> 48);
}

/* What a call's words tell of a number by which it multiplies. */
enum ll_ring_scalar { LL_RING_ZERO, LL_RING_SOME, LL_RING_ONE };
static inline uint64_t ll_ring_scalar(double real, double imaginary)
{
    if (imaginary == 0 && (real == 0 || real == 1))
        return real == 0 ? LL_RING_ZERO : LL_RING_ONE;
    return LL_RING_SOME;
}

/* An entry of the log begins with ll_ring_header(kind, words, 0, 0) likewise. */
enum ll_ring_log_kind {
    LL_RING_LOG_FACT, /* key NUL value NUL, padded with NULs */
    /* What the addresses in the file are shifted by, where it begins and ends, ticks when it was seen there,
     * path NUL. */
    LL_RING_LOG_LIBRARY,
    LL_RING_LOG_PRIMITIVE, /* see primitive.h */
    LL_RING_LOG_KINDS
};

/* How the log describes a primitive of oneDNN, in its library's own numbers; the reader knows their meaning.
 *
 *   header | major version | kind | propagation | algorithm | parameter | post-operations |
 *   whether one of them adds to dst | n | strides[n] | dilations[n] | paddings before[n] | behind[n] |
 *   kernel[n], of n spatial dimensions |
 *   m | m times: argument | data type | bytes | offset | rank | dims[rank]
 *
 * A part of a larger memory begins so many bytes behind the address that executions tell, and its bytes reach
 * over what lies between its rows.
 *
 * A record LL_RING_EXECUTE then holds the place of the description in the log, in words, and pairs of
 * argument and address. */

enum {
    LL_PRIMITIVE_VERSION = 1,
    LL_PRIMITIVE_KIND,
    LL_PRIMITIVE_PROPAGATION,
    LL_PRIMITIVE_ALGORITHM,
    LL_PRIMITIVE_PARAMETER,
    LL_PRIMITIVE_POST_OPS,
    LL_PRIMITIVE_ADDS,
    LL_PRIMITIVE_SPATIAL,
    LL_PRIMITIVE_WORDS
};

/* Of each argument. */
enum {
    LL_PRIMITIVE_ARGUMENT,
    LL_PRIMITIVE_TYPE,
    LL_PRIMITIVE_BYTES,
    LL_PRIMITIVE_OFFSET,
    LL_PRIMITIVE_RANK,
    LL_PRIMITIVE_DIMS
};

enum { LL_PRIMITIVE_LISTS = 5, LL_PRIMITIVE_MOST_SPATIAL = 3, LL_PRIMITIVE_MOST_ARGUMENTS = 40 };

/* Shared memory whose file somebody may cut off: touching it then is SIGBUS, which ends a process.
 *
 * Behind a shield the process goes on: the first touch replaces the whole piece by memory of its own, all
 * zero, which leads nowhere. Whatever else the signal is sent for happens as it would have without us. For
 * both ends of the rings; plain C, links nothing. */

/* Takes the signal, unless it is taken already. */
void ll_shield_install(void);

/* From now on, and no longer, the piece is shielded. At most some thousands are; others stay as they are. Any
 * thread at any time. */
void ll_shield(void *piece, size_t bytes);
void ll_shield_end(const void *piece);

/* Called from the signal's handler with each piece that was replaced; NULL: nobody is. */
void ll_shield_tell(void (*told)(const void *piece));

/* Whether the piece was replaced. */
bool ll_shield_broken(const void *piece);

#endif
