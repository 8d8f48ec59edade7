/* SPDX-License-Identifier: Apache-2.0 */
/* This process's file: made at the first event, so that the many small programs that a script starts leave
 * none.
 *
 * A fork must not write into its parent's rings. The pointer to the process's page therefore lives in memory
 * that the kernel empties in a child (MADV_WIPEONFORK), which also sees forks that run no handlers; where the
 * kernel cannot, a handler does it. The file is opened anew by name each time a part of it is needed: a
 * descriptor kept open could be closed and given to another file by the program. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/preload.h"
#include "tracer/interpose/ring_shield.h"

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
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { PATH_BYTES = 512 };

struct ll_process_file {
    _Atomic(struct ll_ring_process *) page;
    _Atomic uint32_t state; /* 0: nothing tried, 1: someone is at it, 2: page is there, 3: given up */
    _Atomic bool broken;    /* the program has cut the file off: the next event begins another one */
    _Atomic uint32_t log_busy;
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
static uint64_t loaded_ns; /* when this library was */

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

uint64_t ll_process_beat(void)
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

struct ll_ring **ll_process_rings(void)
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

void *ll_process_map(uint64_t offset_bytes, uint64_t bytes)
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
    struct ll_ring_process *page = made ? ll_process_map(0, LL_RING_RINGS_AT) : NULL;
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
