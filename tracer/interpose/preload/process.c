/* SPDX-License-Identifier: Apache-2.0 */
/* This process's file: made at the first event, so that the many small programs that a script starts leave
 * none.
 *
 * A fork must not write into its parent's rings. The pointer to the process's page therefore lives in memory
 * that the kernel empties in a child (MADV_WIPEONFORK), which also sees forks that run no handlers; where the
 * kernel cannot, a handler does it. The file is opened anew by name each time a part of it is needed: a
 * descriptor kept open could be closed and given to another file by the program. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tracer/interpose/preload/preload.h"
#include "tracer/interpose/ring.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { PATH_BYTES = 512 };

struct ll_process_file {
    _Atomic(struct ll_ring_process *) page;
    _Atomic uint32_t state; /* 0: nothing tried, 1: someone is at it, 2: page is there, 3: given up */
    _Atomic bool broken;    /* the program has cut the file off: the next event begins another one */
    _Atomic uint32_t log_busy;
    _Atomic bool looking;                  /* a thread, through the libraries */
    _Atomic uint64_t generation;           /* differs between a process and its children; 0: no page */
    uint64_t pid, parent_pid;              /* 0: of the process that this is */
    uint64_t number;                       /* of the file: programs that the process was before */
    char path[PATH_BYTES];                 /* written by whoever has state 1 */
    struct ll_ring *mapped[LL_RING_SLOTS]; /* by slot of the page */
};

static struct ll_process_file *own; /* emptied by a fork; NULL: nothing is ever recorded */
static struct ll_process_file own_by_handler;
static struct ll_ring_control settings; /* as they were when this library was loaded */
static struct ll_ring_control *control; /* the reader's page; NULL: nothing is ever recorded */
static _Atomic uint64_t generations;    /* a child goes on from its parent's */
static bool finished;                   /* the handlers of exit have run */
static char folder[PATH_BYTES];
static uint64_t loaded_ns;                                             /* when this library was */
static __thread bool looks __attribute__((tls_model("initial-exec"))); /* holds own->looking */

static void forget(void)
{
    memset(&own_by_handler, 0, sizeof own_by_handler);
}

/* Where the pointer to this process's page lives. */
static void make_own(void)
{
    void *memory = mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED && madvise(memory, sizeof *own, MADV_WIPEONFORK) == 0)
        own = memory;
    else if (pthread_atfork(NULL, NULL, forget) == 0)
        own = &own_by_handler;
}

/* text and a number behind it; false when they do not fit. */
static bool append(char *to, size_t *length, const char *text)
{
    size_t more = strlen(text);
    if (*length + more >= PATH_BYTES)
        return false;
    memcpy(to + *length, text, more + 1);
    *length += more;
    return true;
}

static const char *decimal(uint64_t value, char text[static 24])
{
    char *at = text + 23;
    *at = '\0';
    do
        *--at = (char)('0' + value % 10);
    while (value /= 10);
    return at;
}

/* While a file is made or grows no handler comes amid: what it calls would wait for this very thread, and
 * fallocate begins anew after each, for ever where a timer is quick. */
static void hold_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

/* Makes sure of a part of the file before it is touched, as a full disk would be a signal later; three times
 * as much stays for the program, which may need the same disk. */
static bool reserve(int file, uint64_t offset_bytes, uint64_t bytes)
{
    struct statvfs disk;
    return fstatvfs(file, &disk) == 0 && disk.f_bavail * disk.f_frsize / 4 >= bytes &&
           fallocate(file, 0, (off_t)offset_bytes, (off_t)bytes) == 0;
}

/* A part of a file that is there, or that is first made sure of. */
static void *map_file(const char *name, uint64_t offset_bytes, uint64_t bytes, bool grows)
{
    int file = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return NULL;
    bool there = !grows || reserve(file, offset_bytes, bytes);
    void *memory =
        there ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset_bytes) : MAP_FAILED;
    close(file);
    return memory == MAP_FAILED ? NULL : memory;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* When the kernel made the process, rounded down to *tick_ns: field 22 of its stat, behind the name in
 * parentheses. By ll_now_ns; 0 where it cannot be known. */
static uint64_t made_ns(uint64_t pid, uint64_t *tick_ns)
{
    char path[64] = "/proc/", digits[24], text[1024];
    size_t length = 6;
    append(path, &length, decimal(pid, digits));
    append(path, &length, "/stat");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strrchr(text, ')');
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    long rate = sysconf(_SC_CLK_TCK);
    uint64_t ticks = at && rate > 0 ? strtoull(at, NULL, 10) : 0;
    uint64_t since_boot = now_ns(CLOCK_BOOTTIME), now = now_ns(CLOCK_MONOTONIC);
    if (ticks == 0)
        return 0;
    *tick_ns = 1000000000u / (uint64_t)rate;
    uint64_t age = ticks * *tick_ns < since_boot ? since_boot - ticks * *tick_ns : 0;
    return age < now ? now - age : 0;
}

/* Whoever becomes another program begins anew when that is loaded. A copy of its parent was loaded before it
 * was made. */
static uint64_t started_ns(const struct ll_process_file *file)
{
    uint64_t tick_ns = 0, made = made_ns(file->pid ? file->pid : (uint64_t)getpid(), &tick_ns);
    uint64_t loaded = file->pid ? now_ns(CLOCK_MONOTONIC) : loaded_ns, latest = loaded > made ? loaded : made;
    bool is_first = file->number == 0 && made > 0;
    return is_first && latest > made + tick_ns ? made + tick_ns : latest;
}

/* A program that limits the size of its files would get a signal from us. */
static bool file_may_grow_to(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
           (limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur);
}

__attribute__((constructor)) static void start(void)
{
    int error = errno;
    const char *from = getenv(LL_RING_FOLDER_VARIABLE);
    size_t length = 0;
    char name[PATH_BYTES];
    if (from && append(folder, &length, from) && length + 32 < PATH_BYTES) {
        memcpy(name, folder, length + 1);
        append(name, &length, "/control");
        struct ll_ring_control *found = map_file(name, 0, LL_RING_PAGE, false);
        if (found && found->magic == LL_RING_MAGIC && found->symbols == LL_SYMBOL_COUNT) {
            memcpy(&settings, found, sizeof settings);
            control = found;
            loaded_ns = now_ns(CLOCK_MONOTONIC);
            make_own();
        }
    }
    errno = error;
}

void ll_process_ends(void)
{
    struct ll_ring_process *page = ll_process();
    if (page)
        atomic_store(&page->ended_ticks, ll_process_ticks());
}

__attribute__((destructor)) void ll_process_finish(void)
{
    int error = errno;
    if (ll_process())
        ll_log_libraries();
    ll_process_ends();
    finished = true;
    errno = error;
}

void ll_process_goes_on(void)
{
    struct ll_ring_process *page = ll_process();
    if (page && atomic_load_explicit(&page->ended_ticks, memory_order_relaxed) && !finished)
        atomic_store(&page->ended_ticks, 0);
}

/* What the reader last showed of itself; see struct ll_ring_control. */
static uint64_t process_beat(void)
{
    return atomic_load_explicit(&control->beat, memory_order_relaxed);
}

uint64_t ll_process_ticks(void)
{
#if defined(__x86_64__)
    if (settings.clock == LL_RING_CLOCK_TSC)
        return __rdtsc();
#endif
    return now_ns(CLOCK_MONOTONIC);
}

const struct ll_ring_control *ll_process_control(void)
{
    return control ? &settings : NULL;
}

struct ll_ring_process *ll_process(void)
{
    return own ? atomic_load_explicit(&own->page, memory_order_acquire) : NULL;
}

/* Its rings by slot, as far as they are mapped; there is a page. */
static struct ll_ring **process_rings(void)
{
    return own->mapped;
}

struct ll_process_file *ll_process_file(uint64_t pid, uint64_t parent_pid)
{
    struct ll_process_file *file = control ? calloc(1, sizeof *file) : NULL;
    if (file)
        file->pid = pid, file->parent_pid = parent_pid;
    return file;
}

void ll_process_use(struct ll_process_file *file)
{
    own = file;
}

uint64_t ll_process_generation(void)
{
    return own ? atomic_load_explicit(&own->generation, memory_order_acquire) : 0;
}

/* Where a child forgets, it needs no view of its parent's rings either. */
static void keep_from_children(void *memory, uint64_t bytes)
{
    if (own != &own_by_handler)
        madvise(memory, bytes, MADV_DONTFORK);
}

/* A part of the process's file, there for good; NULL when the disk has no room for it. */
static void *process_map(uint64_t offset_bytes, uint64_t bytes)
{
    if (!file_may_grow_to(offset_bytes + bytes))
        return NULL;
    sigset_t before;
    hold_signals(&before);
    void *memory = map_file(own->path, offset_bytes, bytes, true);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (memory) {
        keep_from_children(memory, bytes);
        ll_shield(memory, bytes);
    }
    return memory;
}

/* PID.N with the first N that nobody has yet: one process can become several programs in turn. */
static bool create_file(void)
{
    for (uint64_t n = 0; n < 1000; n++) {
        char digits[24], *path = own->path;
        size_t length = 0;
        path[0] = '\0';
        append(path, &length, folder);
        append(path, &length, "/");
        append(path, &length, decimal(own->pid ? own->pid : (uint64_t)getpid(), digits));
        append(path, &length, ".");
        append(path, &length, decimal(n, digits));
        int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file >= 0)
            close(file);
        own->number = n;
        if (file >= 0 || errno != EEXIST)
            return file >= 0;
    }
    return false;
}

void ll_process_refused(void)
{
    if (control)
        atomic_fetch_add(&control->refused, 1);
}

static struct ll_ring_process *make_page(void)
{
    bool made = create_file();
    struct ll_ring_process *page = made ? process_map(0, LL_RING_RINGS_AT) : NULL;
    if (made && !page)
        unlink(own->path);
    if (!page) {
        ll_process_refused();
        return NULL;
    }
    page->pid = own->pid ? own->pid : (uint64_t)getpid();
    page->parent_pid = own->pid ? own->parent_pid : (uint64_t)getppid();
    page->started_ns = started_ns(own);
    atomic_store_explicit(&page->file_bytes, LL_RING_RINGS_AT, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    page->magic = LL_RING_MAGIC;
    return page;
}

/* All threads look for new rings then; what they are amid ends in memory that leads nowhere. */
static void break_off(const void *piece)
{
    if (!own || piece == control)
        return;
    atomic_store(&own->broken, true);
    atomic_store(&own->generation, atomic_fetch_add(&generations, 1) + 1);
}

/* Another thread makes the page, which takes a millisecond or so once; it may not come to it. */
static struct ll_ring_process *wait_for_page(void)
{
    int error = errno;
    for (int i = 0; i < 100000 && atomic_load(&own->state) == 1; i++)
        sched_yield();
    errno = error;
    return ll_process();
}

/* Never again: the program's own handler may go on to ours. */
static void shield_once(void)
{
    static _Atomic bool done;
    if (!atomic_exchange(&done, true))
        ll_shield_install();
}

struct ll_ring_process *ll_process_open(void)
{
    if (!own)
        return NULL;
    struct ll_ring_process *page = ll_process();
    bool broken = page && atomic_load(&own->broken);
    uint32_t before_us = broken ? 2 : 0;
    if ((page && !broken) || !atomic_compare_exchange_strong(&own->state, &before_us, 1))
        return page && !broken ? page : wait_for_page();
    int error = errno;
    sigset_t before;
    hold_signals(&before);
    atomic_store(&own->broken, false);
    memset(own->mapped, 0, sizeof own->mapped);
    page = make_page();
    if (page) {
        ll_shield(control, LL_RING_PAGE);
        ll_shield_tell(break_off);
        shield_once();
        atomic_store_explicit(&own->generation, atomic_fetch_add(&generations, 1) + 1, memory_order_release);
    }
    if (page || !broken)
        atomic_store_explicit(&own->page, page, memory_order_release);
    atomic_store(&own->state, page ? 2 : 3);
    if (page) {
        ll_log_host();
        ll_log_libraries();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return page;
}

static void rest(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Whoever holds it may wait for us, within dlopen, or be gone: after a moment we go on without it. */
bool ll_look_begin(void)
{
    enum { RESTS = 10000000 };
    for (int i = 0; own && !looks && i < RESTS; i++) {
        if (!atomic_exchange_explicit(&own->looking, true, memory_order_acquire))
            return looks = true;
        rest();
    }
    return false;
}

void ll_look_end(bool held)
{
    if (!held)
        return;
    looks = false;
    atomic_store_explicit(&own->looking, false, memory_order_release);
}

uint64_t *ll_log_begin(unsigned count)
{
    struct ll_ring_process *page = ll_process();
    if (!page)
        return NULL;
    /* A handful of entries a second at most: whoever comes at the wrong moment tries a few times, then goes
     * on. */
    for (int attempt = 0; atomic_exchange_explicit(&own->log_busy, 1, memory_order_acquire); attempt++)
        if (attempt == 10000) {
            atomic_fetch_add(&page->unsaid, 1);
            return NULL;
        }
    uint64_t *log = (uint64_t *)((char *)page + LL_RING_LOG_AT);
    uint64_t at = atomic_load_explicit(&page->log_words, memory_order_relaxed);
    if (count <= LL_RING_LOG_WORDS && at + count <= LL_RING_LOG_BYTES / sizeof *log)
        return log + at;
    atomic_fetch_add(&page->unsaid, 1);
    atomic_store_explicit(&own->log_busy, 0, memory_order_release);
    return NULL;
}

uint64_t ll_log_end(enum ll_ring_log_kind kind, uint64_t *words, unsigned count)
{
    struct ll_ring_process *page = ll_process();
    uint64_t at = atomic_load_explicit(&page->log_words, memory_order_relaxed);
    words[0] = ll_ring_header((enum ll_ring_kind)kind, count, 0, 0);
    atomic_store_explicit(&page->log_words, at + count, memory_order_release);
    atomic_store_explicit(&own->log_busy, 0, memory_order_release);
    return at;
}

uint64_t ll_log(enum ll_ring_log_kind kind, const uint64_t *words, unsigned count)
{
    uint64_t *entry = ll_log_begin(count);
    if (!entry)
        return LL_RING_UNSAID;
    memcpy(entry, words, count * sizeof *words);
    return ll_log_end(kind, entry, count);
}

/* Rings: a thread gets one at its first event, leaves it when it ends, and another takes it over.
 *
 * From its first event on a thread makes no system call here: the program may have forbidden all but a few.
 * So whoever waits for room spins, the reader looks by itself, and the first thread leaves some rings for
 * those that begin later. */

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
    struct ll_ring **mapped = process_rings();
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
        struct ll_ring *ring = process_map(offset, LL_RING_PAGE + bytes);
        if (!ring)
            continue;
        process_rings()[*index] = ring;
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

/* Waits for the reader. It may have died, or be held up: once somebody has waited in vain for a sign of life,
 * nobody waits until there is one. A reader that lives and still does not come to this ring is not waited for
 * without end either. A child of a fork, made by a handler meanwhile, does not have the ring. */
static bool wait_for_room(struct ll_thread *thread, uint64_t after)
{
    enum { PATIENCES = 16 };
    static _Atomic uint64_t silent_beat = UINT64_MAX;
    uint64_t patience = ll_process_control()->patience_ticks, beat = process_beat();
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
        next = process_beat();
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
