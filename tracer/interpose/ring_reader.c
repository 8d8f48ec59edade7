/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks of the recorded program as nanoseconds of ll_now_ns. Inner to this room.
 *
 * Where the processor counts cycles of a constant rate from one start on all its cores, programs read that
 * counter; else they read the same clock as we do. The rate is measured against ll_now_ns, over an ever
 * longer time. */
#define _POSIX_C_SOURCE 200809L
#define _GNU_SOURCE
#include "tracer/interpose/ring_reader.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/arena.h"
#include "tracer/base/clock.h"
#include "tracer/base/map.h"
#include "tracer/interpose/call.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_stream.h"

struct ll_ring_clock_line {
    enum ll_ring_clock clock;
    uint64_t base_ticks, base_ns; /* two readings of the same moment */
    double ns_per_tick;
    uint64_t measured_ns; /* over so long a time */
};

/* One process's file, seen from the reader: its page, its log, where its rings are. Inner to this room. */

struct ll_followed_process {
    char *path;                         /* in the arena of the reader */
    int file;                           /* kept open, as somebody may take its name away; -1: it is not */
    const struct ll_ring_process *page; /* mapped; LL_RING_RINGS_AT bytes */
    uint64_t pid, parent_pid, started_ns;
    uint64_t log_read; /* words of the log that were looked at */
    bool log_damaged, page_damaged;
    uint64_t damaged, late;
    bool is_followed[LL_RING_SLOTS];
    struct ll_ring_fact *facts; /* these lists on the heap, their texts in the arena */
    uint64_t fact_count, fact_capacity;
    struct ll_ring_library *libraries;
    uint64_t library_count, library_capacity;
    uint64_t *seen_ticks; /* of each */
    uint64_t seen_capacity, replacements;
    struct ll_map places; /* of primitives in the log; ids index described */
    struct ll_described **described;
    uint64_t described_capacity;
};

/* Ticks of the recorded program as nanoseconds of ll_now_ns. */

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

enum { LEAST_NS = 10000000, READINGS = 16 };

/* Advanced power management, bit 8: the counter's rate does not change (AMD's and Intel's manuals on CPUID).
 */
static bool has_constant_counter(void)
{
#if defined(__x86_64__)
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1u << 8);
#else
    return false;
#endif
}

/* Ticks of that clock, now. */
static uint64_t ring_clock_now(const struct ll_ring_clock_line *line)
{
#if defined(__x86_64__)
    if (line->clock == LL_RING_CLOCK_TSC)
        return __rdtsc();
#endif
    (void)line;
    return ll_now_ns();
}

/* Both clocks at the same moment: of several readings the one that took least. */
static void read_both(const struct ll_ring_clock_line *line, uint64_t *ticks, uint64_t *ns)
{
    uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < READINGS; i++) {
        uint64_t before = ll_now_ns(), now = ring_clock_now(line), after = ll_now_ns();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        *ticks = now;
        *ns = before + shortest / 2;
    }
    assert(shortest < UINT64_MAX);
}

static void measure(struct ll_ring_clock_line *line, uint64_t ticks, uint64_t ns)
{
    if (ticks <= line->base_ticks || ns <= line->base_ns)
        return;
    line->measured_ns = ns - line->base_ns;
    line->ns_per_tick = (double)line->measured_ns / (double)(ticks - line->base_ticks);
}

static void wait_and_measure(struct ll_ring_clock_line *line)
{
    uint64_t ticks = 0, ns = 0, passed = ll_now_ns() - line->base_ns;
    if (passed < LEAST_NS) {
        struct timespec rest = {.tv_nsec = (long)(LEAST_NS - passed)};
        nanosleep(&rest, NULL);
    }
    read_both(line, &ticks, &ns);
    measure(line, ticks, ns);
}

/* The clock that programs of this machine should read, its two readings now, and its rate over some ten
 * milliseconds, which this takes. */
static void ring_clock_choose(struct ll_ring_clock_line *line)
{
    *line = (struct ll_ring_clock_line){.ns_per_tick = 1};
    line->clock = has_constant_counter() ? LL_RING_CLOCK_TSC : LL_RING_CLOCK_NS;
    read_both(line, &line->base_ticks, &line->base_ns);
    if (line->clock == LL_RING_CLOCK_TSC)
        wait_and_measure(line);
}

/* From a control file: takes at least ten milliseconds from the time that the file was made. */
static void ring_clock_begin(struct ll_ring_clock_line *line, const struct ll_ring_control *control)
{
    *line = (struct ll_ring_clock_line){
        .clock = control->clock == LL_RING_CLOCK_TSC ? LL_RING_CLOCK_TSC : LL_RING_CLOCK_NS,
        .base_ticks = control->base_ticks,
        .base_ns = control->base_ns,
        .ns_per_tick = 1,
    };
    if (line->clock == LL_RING_CLOCK_TSC)
        wait_and_measure(line);
}

/* Measures the rate again when twice as much time has passed as at the last measurement. */
static void ring_clock_refine(struct ll_ring_clock_line *line)
{
    uint64_t ticks = 0, ns = 0;
    if (line->clock != LL_RING_CLOCK_TSC || ll_now_ns() - line->base_ns < 2 * line->measured_ns)
        return;
    read_both(line, &ticks, &ns);
    measure(line, ticks, ns);
}

static uint64_t ring_clock_duration_ns(const struct ll_ring_clock_line *line, uint64_t ticks)
{
    assert(line->ns_per_tick > 0);
    double ns = (double)ticks * line->ns_per_tick;
    return ns < 0x1p63 ? (uint64_t)ns : INT64_MAX;
}

/* Pure; ticks before the base are moments before base_ns, never below 0. */
static uint64_t ring_clock_ns(const struct ll_ring_clock_line *line, uint64_t ticks)
{
    if (ticks >= line->base_ticks)
        return line->base_ns + ring_clock_duration_ns(line, ticks - line->base_ticks);
    uint64_t before = ring_clock_duration_ns(line, line->base_ticks - ticks);
    return before < line->base_ns ? line->base_ns - before : 0;
}

/* What a process says of itself. Offsets and lengths come from memory that a program may have written over:
 * each is compared with the length of the file, texts with the words of their entry. */

enum { ROOM = LL_RING_LOG_BYTES / sizeof(uint64_t) }; /* of the log, in words */

/* Of the descriptor, or where that is -1 of the file that is at the path now. */
static void *map_part(const char *path, int kept, uint64_t offset, uint64_t bytes)
{
    struct stat status;
    int file = kept >= 0 ? kept : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    bool there = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0 &&
                 offset <= (uint64_t)status.st_size && bytes <= (uint64_t)status.st_size - offset;
    void *memory =
        there ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset) : MAP_FAILED;
    if (kept < 0)
        close(file);
    if (memory == MAP_FAILED)
        return NULL;
    ll_shield(memory, bytes);
    return memory;
}

/* Unmaps such a ring, or another part of the file. */
static void followed_unmap(void *part, uint64_t bytes)
{
    ll_shield_end(part);
    munmap(part, bytes);
}

/* Maps the file at path, and keeps it open if asked to; false when it is none of ours (yet), or is not long
 * enough. */
static bool followed_open(struct ll_followed_process *followed, struct ll_arena *arena, const char *path,
                          bool keeps)
{
    int file = keeps ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct ll_ring_process *page = map_part(path, file, 0, LL_RING_RINGS_AT);
    char *kept = page ? ll_copy_text(arena, path, strlen(path)) : NULL;
    if (!kept || page->magic != LL_RING_MAGIC) {
        if (page)
            followed_unmap(page, LL_RING_RINGS_AT);
        if (file >= 0)
            close(file);
        return false;
    }
    *followed = (struct ll_followed_process){.path = kept, .file = file, .page = page};
    followed->pid = page->pid;
    followed->parent_pid = page->parent_pid;
    followed->started_ns = page->started_ns;
    return true;
}

static void followed_release(struct ll_followed_process *followed)
{
    free(followed->facts);
    free(followed->libraries);
    free(followed->seen_ticks);
    free(followed->described);
    ll_map_release(&followed->places);
    if (followed->file >= 0)
        close(followed->file);
    followed_unmap((void *)(uintptr_t)followed->page, LL_RING_RINGS_AT);
}

/* Maps the ring of a slot when it has one that was not followed before; its bytes of words go to *bytes. NULL
 * when there is none. */
static struct ll_ring *followed_ring(struct ll_followed_process *followed, unsigned slot, uint64_t *bytes)
{
    assert(slot < LL_RING_SLOTS);
    const struct ll_ring_slot *said = &followed->page->slot[slot];
    uint64_t offset = atomic_load_explicit(&said->offset_bytes, memory_order_acquire), size = said->bytes;
    if (followed->is_followed[slot] || !offset)
        return NULL;
    followed->is_followed[slot] = true;
    bool sound = offset % LL_RING_PAGE == 0 && size >= LL_RING_LEAST_BYTES && size <= UINT64_C(1) << 40 &&
                 (size & (size - 1)) == 0;
    struct ll_ring *ring =
        sound ? map_part(followed->path, followed->file, offset, LL_RING_PAGE + size) : NULL;
    followed->damaged += !ring;
    *bytes = size;
    return ring;
}

static void add_fact(struct ll_followed_process *followed, struct ll_arena *arena, const char *text,
                     size_t bytes)
{
    size_t key_bytes = strnlen(text, bytes);
    if (key_bytes == bytes)
        return;
    size_t value_bytes = strnlen(text + key_bytes + 1, bytes - key_bytes - 1);
    struct ll_ring_fact fact = {ll_copy_text(arena, text, key_bytes),
                                ll_copy_text(arena, text + key_bytes + 1, value_bytes)};
    if (fact.key && fact.value &&
        ll_grow(&followed->facts, &followed->fact_capacity, followed->fact_count + 1, sizeof fact))
        followed->facts[followed->fact_count++] = fact;
}

static bool overlap(const struct ll_ring_library *a, const struct ll_ring_library *b)
{
    return a->begin < b->end && b->begin < a->end;
}

static bool are_same(const struct ll_ring_library *a, const struct ll_ring_library *b)
{
    return a->base == b->base && a->begin == b->begin && a->end == b->end && strcmp(a->path, b->path) == 0;
}

/* What the log says of a library; a process may say it twice. */
static void add_library(struct ll_followed_process *followed, struct ll_arena *arena, const uint64_t *entry,
                        unsigned count)
{
    if (count <= LL_RING_LIBRARY_WORDS)
        return;
    const char *path = (const char *)(entry + LL_RING_LIBRARY_WORDS);
    struct ll_ring_library library = {
        .base = entry[LL_RING_BIAS_WORD], .begin = entry[LL_RING_BEGIN_WORD], .end = entry[LL_RING_END_WORD]};
    library.path = ll_copy_text(arena, path, strnlen(path, (count - LL_RING_LIBRARY_WORDS) * sizeof *entry));
    uint64_t at = followed->library_count, before = at;
    while (before > 0 && !overlap(&followed->libraries[before - 1], &library))
        before--;
    if (!library.path || (before > 0 && are_same(&followed->libraries[before - 1], &library)) ||
        !ll_grow(&followed->libraries, &followed->library_capacity, at + 1, sizeof library) ||
        !ll_grow(&followed->seen_ticks, &followed->seen_capacity, at + 1, sizeof *followed->seen_ticks))
        return;
    library.replaces = before > 0;
    followed->libraries[at] = library;
    followed->seen_ticks[at] = entry[LL_RING_SEEN_WORD];
    followed->library_count++;
    followed->replacements += library.replaces;
}

/* Which of the libraries that lay at an address one after the other was there: how many lay there before. */
static uint32_t followed_mapping(const struct ll_followed_process *followed, uint64_t address, uint64_t ticks)
{
    uint32_t mapping = 0;
    for (uint64_t i = 0; followed->replacements > 0 && i < followed->library_count; i++)
        mapping +=
            ll_ring_library_replaces(&followed->libraries[i], address) && followed->seen_ticks[i] <= ticks;
    return mapping;
}

static const uint64_t *log_of(const struct ll_followed_process *followed)
{
    return (const uint64_t *)((const char *)followed->page + LL_RING_LOG_AT);
}

static struct ll_described *described_at(const struct ll_followed_process *followed, struct ll_arena *arena,
                                         uint64_t place)
{
    uint64_t entry[LL_RING_LOG_WORDS],
        end = atomic_load_explicit(&followed->page->log_words, memory_order_acquire);
    struct ll_described *described = ll_alloc(arena, 1, sizeof *described);
    if (!described || end > ROOM || place >= end)
        return NULL;
    entry[0] = log_of(followed)[place];
    unsigned count = ll_ring_words_of(entry[0]);
    if (count < 1 || count > LL_RING_LOG_WORDS || count > end - place ||
        ll_ring_kind_of(entry[0]) != LL_RING_LOG_PRIMITIVE)
        return NULL;
    memcpy(entry + 1, log_of(followed) + place + 1, (count - 1) * sizeof *entry);
    return ll_describe(entry, count, described) ? described : NULL;
}

/* The primitive described at this place of the log, kept from the first time on; NULL when there is none. */
static const struct ll_described *followed_primitive(struct ll_followed_process *followed,
                                                     struct ll_arena *arena, uint64_t place)
{
    bool is_new = false;
    if (!ll_grow(&followed->described, &followed->described_capacity, followed->places.count + 1u,
                 sizeof *followed->described))
        return NULL;
    uint32_t id = ll_map_intern(&followed->places, &place, sizeof place, &is_new);
    if (id == LL_NO_ID)
        return NULL;
    if (is_new)
        followed->described[id] = described_at(followed, arena, place);
    return followed->described[id];
}

/* Reads what the log gained. */
static void followed_read_log(struct ll_followed_process *followed, struct ll_arena *arena)
{
    const uint64_t *log = log_of(followed);
    uint64_t end = atomic_load_explicit(&followed->page->log_words, memory_order_acquire);
    while (!followed->log_damaged && end <= ROOM && followed->log_read < end) {
        uint64_t entry[LL_RING_LOG_WORDS] = {log[followed->log_read]};
        unsigned count = ll_ring_words_of(entry[0]), kind = ll_ring_kind_of(entry[0]);
        if (count < 1 || count > LL_RING_LOG_WORDS || count > end - followed->log_read) {
            followed->log_damaged = true;
            return;
        }
        memcpy(entry + 1, log + followed->log_read + 1, (count - 1) * sizeof *entry);
        if (kind == LL_RING_LOG_FACT)
            add_fact(followed, arena, (const char *)(entry + 1), (count - 1) * sizeof *entry);
        else if (kind == LL_RING_LOG_LIBRARY)
            add_library(followed, arena, entry, count);
        followed->log_read += count;
    }
}

/* Merging: of all rings' first events the one that began first, as long as it began before the moment up to
 * which all is known, which is when the oldest outermost call in progress began. A ring that fills up does
 * not wait for others' calls to end. */

enum {
    USUAL_RING_BYTES = 8 << 20,
    MOST_WORDS = 1 << 25,      /* that wait in all streams together, .. */
    MOST_WORDS_EACH = 1 << 22, /* .. and at most and at least in one */
    LEAST_WORDS_EACH = 1 << 15,
    BEAT_EVENTS = 1024,
    MOST_FILES = 200,   /* of processes that are kept open */
    SLACK_NS = 2000000, /* a thread may be held up between reading the clock and saying that it did */
    LOOK_NS = 5000000,  /* the folder is looked through so often */
    LEAST_REST_NS = 100000
};

#define PATIENCE_NS UINT64_C(2000000000) /* more than a busy machine lets a process wait for its turn */

struct ll_ring_reader {
    struct ll_arena arena;
    struct ll_map names; /* of files, by process: ids follow each other */
    const char *folder;
    struct ll_ring_control *control;
    struct ll_ring_clock_line clock;
    struct ll_followed_process *processes;
    uint64_t process_count, process_capacity;
    struct ll_ring_stream *streams;
    uint64_t stream_count, stream_capacity;
    struct ll_ring_forms forms;
    uint32_t *threads; /* their processes */
    uint64_t thread_count, thread_capacity;
    uint64_t known_ticks;   /* everything that began before was seen */
    uint64_t looked_ns;     /* when the folder was looked through last */
    uint64_t given_ticks;   /* where the event given last began */
    size_t current;         /* of streams: it gives next, until .. */
    uint64_t current_ends;  /* .. its events begin at this tick */
    uint64_t given, rested; /* events so far, and when the reader rested last */
    uint64_t rest_ns;
    uint64_t unreadable; /* files of processes, when the folder was looked through last */
    bool finished;
};

/* Makes the control file of the folder: settings, the clock to read and its base. Fails where there is one
 * already, as a folder serves one recording. */
enum ll_status ll_ring_create(const char *folder, const struct ll_ring_settings *settings)
{
    struct ll_arena arena = {0};
    struct ll_ring_clock_line clock;
    ring_clock_choose(&clock);
    struct ll_ring_control control = {
        .magic = LL_RING_MAGIC,
        .symbols = LL_SYMBOL_COUNT,
        .clock = clock.clock,
        .base_ticks = clock.base_ticks,
        .base_ns = clock.base_ns,
        .ring_bytes = settings->ring_bytes ? settings->ring_bytes : USUAL_RING_BYTES,
        .least_allocation = settings->least_allocation,
        .patience_ticks = settings->lossy ? 0 : (uint64_t)((double)PATIENCE_NS / clock.ns_per_tick),
    };
    char page[LL_RING_PAGE] = {0};
    memcpy(page, &control, sizeof control);
    const char *path = ll_format(&arena, "%s/control", folder);
    int file = path ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) : -1;
    enum ll_status status = LL_OK;
    ssize_t written;
    if (file < 0)
        status = path ? ll_status_of(errno, LL_CANNOT_WRITE) : LL_NO_MEMORY;
    else if ((written = write(file, page, sizeof page)) != (ssize_t)sizeof page)
        status = written < 0 ? ll_status_of(errno, LL_CANNOT_WRITE) : LL_DISK_FULL;
    if (file >= 0 && close(file) != 0 && status == LL_OK)
        status = LL_CANNOT_WRITE;
    ll_arena_release(&arena);
    return status;
}

static struct ll_ring_control *map_control(const char *path, enum ll_status *status)
{
    int file = open(path, O_RDWR | O_CLOEXEC);
    *status = file < 0 ? ll_status_of(errno, LL_CANNOT_OPEN) : LL_NOT_OURS;
    if (file < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (lseek(file, 0, SEEK_END) >= LL_RING_PAGE)
        memory = mmap(NULL, LL_RING_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    struct ll_ring_control *control = memory == MAP_FAILED ? NULL : memory;
    if (control && control->magic == LL_RING_MAGIC && control->symbols == LL_SYMBOL_COUNT) {
        ll_shield(control, LL_RING_PAGE);
        return control;
    }
    if (control)
        munmap(control, LL_RING_PAGE);
    return NULL;
}

/* Routine, dtype, numbers and operands of a call's words; false when they are nonsense. */
static bool decode(void *context, const struct ll_ring_record *record, struct ll_call *call)
{
    struct ll_ring_reader *reader = context;
    const uint64_t *words = record->words + LL_RING_CALL_WORDS;
    unsigned count = record->count - LL_RING_CALL_WORDS;
    if (!ll_symbol_row(call->symbol))
        return false;
    if (ll_ring_kind_of(record->words[0]) != LL_RING_EXECUTE)
        return ll_decode_call(call->symbol, words, count, call);
    const struct ll_described *described =
        followed_primitive(&reader->processes[record->process], &reader->arena, words[0]);
    if (described)
        ll_decode_execution(described, words + 1, (count - 1) / 2, call);
    return described;
}

struct ll_ring_reader *ll_ring_open(const char *folder, enum ll_status *status)
{
    enum ll_status ignored;
    status = status ? status : &ignored;
    *status = LL_NO_MEMORY;
    struct ll_ring_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    ll_shield_install();
    reader->forms = (struct ll_ring_forms){.decode = decode, .context = reader};
    reader->folder = ll_copy_text(&reader->arena, folder, strlen(folder));
    const char *path = reader->folder ? ll_format(&reader->arena, "%s/control", folder) : NULL;
    reader->control = path ? map_control(path, status) : NULL;
    if (!reader->control) {
        ll_ring_close(reader);
        return NULL;
    }
    ring_clock_begin(&reader->clock, reader->control);
    *status = LL_OK;
    return reader;
}

void ll_ring_close(struct ll_ring_reader *reader)
{
    if (!reader)
        return;
    for (uint64_t i = 0; i < reader->stream_count; i++) {
        struct ll_ring_stream *stream = &reader->streams[i];
        followed_unmap(stream->ring, LL_RING_PAGE + stream->size_words * sizeof(uint64_t));
        ll_ring_stream_release(stream);
    }
    for (uint64_t i = 0; i < reader->process_count; i++)
        followed_release(&reader->processes[i]);
    if (reader->control)
        followed_unmap(reader->control, LL_RING_PAGE);
    ll_ring_forms_release(&reader->forms);
    free(reader->streams);
    free(reader->processes);
    free(reader->threads);
    ll_map_release(&reader->names);
    ll_arena_release(&reader->arena);
    free(reader);
}

static uint32_t new_thread(void *context, uint32_t process, uint64_t tid)
{
    (void)tid;
    struct ll_ring_reader *reader = context;
    if (!ll_grow(&reader->threads, &reader->thread_capacity, reader->thread_count + 1,
                 sizeof *reader->threads))
        return reader->thread_count ? (uint32_t)(reader->thread_count - 1) : 0;
    reader->threads[reader->thread_count] = process;
    return (uint32_t)reader->thread_count++;
}

/* A file named PID.N is a process's; it may not be whole yet, then it is looked at again the next time. */
static void follow_file(struct ll_ring_reader *reader, const char *name)
{
    assert(reader->process_count <= reader->process_capacity);
    if (name[strspn(name, "0123456789.")] || ll_map_find(&reader->names, name, strlen(name)) != LL_NO_ID ||
        !ll_grow(&reader->processes, &reader->process_capacity, reader->process_count + 1,
                 sizeof *reader->processes))
        return;
    const char *path = ll_format(&reader->arena, "%s/%s", reader->folder, name);
    struct ll_followed_process *followed = &reader->processes[reader->process_count];
    if (!path || !followed_open(followed, &reader->arena, path, reader->process_count < MOST_FILES)) {
        reader->unreadable++;
        return;
    }
    ll_map_intern(&reader->names, name, strlen(name), NULL);
    reader->process_count++;
}

static void look_for_processes(struct ll_ring_reader *reader)
{
    uint64_t now = ll_now_ns();
    if (!reader->finished && now - reader->looked_ns < LOOK_NS)
        return;
    reader->looked_ns = now;
    reader->unreadable = 0;
    DIR *folder = opendir(reader->folder);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            follow_file(reader, entry->d_name);
    if (folder)
        closedir(folder);
}

static void look_for_rings(struct ll_ring_reader *reader, uint32_t process)
{
    assert(process < reader->process_count);
    struct ll_followed_process *followed = &reader->processes[process];
    for (unsigned slot = 0; slot < LL_RING_SLOTS; slot++) {
        if (atomic_load_explicit(&followed->page->slot[slot].state, memory_order_acquire) ==
            LL_RING_SLOT_NEVER)
            return;
        uint64_t bytes;
        struct ll_ring *ring = followed_ring(followed, slot, &bytes);
        if (!ring)
            continue;
        if (!ll_grow(&reader->streams, &reader->stream_capacity, reader->stream_count + 1,
                     sizeof *reader->streams)) {
            followed_unmap(ring, LL_RING_PAGE + bytes);
            return;
        }
        ll_ring_stream_begin(&reader->streams[reader->stream_count++], ring, bytes, process);
    }
}

/* Whether a process is gone: what it had in progress will never end. */
static bool is_gone(const struct ll_followed_process *followed)
{
    return atomic_load(&followed->page->ended_ticks) ||
           (kill((pid_t)followed->pid, 0) != 0 && errno == ESRCH);
}

static uint64_t most_words(const struct ll_ring_reader *reader)
{
    uint64_t most = MOST_WORDS / (reader->stream_count ? reader->stream_count : 1);
    return most > MOST_WORDS_EACH ? MOST_WORDS_EACH : most < LEAST_WORDS_EACH ? LEAST_WORDS_EACH : most;
}

/* Who waits for room in a ring shall know that we live. */
static void beat(struct ll_ring_reader *reader)
{
    atomic_fetch_add_explicit(&reader->control->beat, 1, memory_order_relaxed);
}

/* A file that the program has cut off or written over. */
static void look_for_damage(struct ll_followed_process *followed)
{
    bool damaged = ll_shield_broken(followed->page) || followed->page->magic != LL_RING_MAGIC;
    followed->damaged += damaged && !followed->page_damaged;
    followed->page_damaged |= damaged;
}

/* Looks at everything; moves the moment up to which all is known. */
static void look(struct ll_ring_reader *reader)
{
    beat(reader);
    ring_clock_refine(&reader->clock);
    look_for_processes(reader);
    for (uint32_t i = 0; i < reader->process_count; i++)
        look_for_rings(reader, i);
    uint64_t slack = (uint64_t)(SLACK_NS / reader->clock.ns_per_tick);
    uint64_t now = ring_clock_now(&reader->clock), known = reader->finished ? UINT64_MAX : now - slack;
    for (uint64_t i = 0; i < reader->stream_count; i++) {
        struct ll_ring_stream *stream = &reader->streams[i];
        bool was_damaged = stream->damaged;
        uint64_t open = ll_ring_stream_scan(stream, now, most_words(reader), new_thread, reader);
        stream->damaged |= ll_shield_broken(stream->ring);
        reader->processes[stream->process].damaged += stream->damaged && !was_damaged;
        if (open < known && !reader->finished && !is_gone(&reader->processes[stream->process]))
            known = open;
    }
    for (uint64_t i = 0; i < reader->process_count; i++) {
        followed_read_log(&reader->processes[i], &reader->arena);
        look_for_damage(&reader->processes[i]);
    }
    reader->known_ticks = known;
}

/* Chooses the stream that gives next and until when it may. Where one has no room left, what is known must
 * do. */
static bool choose(struct ll_ring_reader *reader)
{
    uint64_t least = UINT64_MAX, second = UINT64_MAX;
    bool found = false, full = false;
    for (size_t i = 0; i < reader->stream_count; i++) {
        const struct ll_ring_stream *stream = &reader->streams[i];
        if (!ll_ring_stream_has_items(stream))
            continue;
        uint64_t start = stream->items[stream->first].start_ticks;
        if (!found || start < least) {
            second = found ? least : UINT64_MAX;
            least = start;
            reader->current = i;
        } else if (start < second) {
            second = start;
        }
        found = true;
        full |= ll_ring_stream_is_full(stream, most_words(reader));
    }
    bool known = reader->finished || least < reader->known_ticks;
    reader->current_ends = known && second < reader->known_ticks ? second : known ? reader->known_ticks : 0;
    return found && (known || full);
}

/* The stream chosen last goes on while nothing else comes before its next event. */
static bool choose_same(const struct ll_ring_reader *reader)
{
    if (reader->current >= reader->stream_count)
        return false;
    const struct ll_ring_stream *stream = &reader->streams[reader->current];
    return ll_ring_stream_has_items(stream) &&
           stream->items[stream->first].start_ticks < reader->current_ends;
}

static bool call_event(struct ll_ring_reader *reader, struct ll_ring_stream *stream, const uint64_t *words,
                       unsigned count, struct ll_event *event)
{
    event->kind = LL_EVENT_CALL;
    const struct ll_followed_process *process = &reader->processes[stream->process];
    const struct ll_ring_record record = {
        stream->process, count, words,
        followed_mapping(process, words[LL_RING_CALLER_WORD], words[LL_RING_START_WORD])};
    if (!ll_ring_form_call(&reader->forms, &stream->form, &record, &event->call))
        return false;
    event->call.duration_ns = ring_clock_duration_ns(&reader->clock, words[LL_RING_DURATION_WORD]);
    return true;
}

/* Turns a record of the ring, or a count of lost ones, into an event in nanoseconds. False for records that
 * are no events. */
static bool event_of(struct ll_ring_reader *reader, struct ll_ring_stream *stream,
                     const struct ll_ring_stream_item *item, const uint64_t *words, unsigned count,
                     struct ll_event *event)
{
    assert(stream->process < reader->process_count);
    event->thread = item->thread;
    event->start_ns = ring_clock_ns(&reader->clock, item->start_ticks);
    if (item->lost) {
        event->kind = LL_EVENT_LOST;
        event->lost = item->lost;
        return true;
    }
    unsigned kind = count ? ll_ring_kind_of(words[0]) : LL_RING_FILL;
    if ((kind == LL_RING_CALL || kind == LL_RING_EXECUTE) && count > LL_RING_CALL_WORDS)
        return call_event(reader, stream, words, count, event);
    event->memory.address = count > 2 ? words[2] : 0;
    event->memory.size_bytes = count > 3 ? words[3] : 0;
    if (kind == LL_RING_WAIT) {
        event->kind = LL_EVENT_WAIT;
        event->waited_ns = ring_clock_duration_ns(&reader->clock, count > 2 ? words[2] : 0);
        return true;
    }
    if (kind == LL_RING_ALLOCATE)
        event->kind = LL_EVENT_ALLOCATE;
    else if (kind == LL_RING_RELEASE)
        event->kind = LL_EVENT_RELEASE;
    else if (kind == LL_RING_STEP)
        event->kind = LL_EVENT_STEP;
    else
        return false;
    return true;
}

/* The oldest event of all rings. The stream that gave the last one goes on while its next record began
 * before that of any other, which spares a search among all streams for each event. */
bool ll_ring_next(struct ll_ring_reader *reader, struct ll_event *event)
{
    bool looked = false;
    for (;;) {
        if (!choose_same(reader) && !choose(reader)) {
            if (looked)
                return false;
            look(reader);
            looked = true;
            continue;
        }
        struct ll_ring_stream *stream = &reader->streams[reader->current];
        struct ll_followed_process *process = &reader->processes[stream->process];
        struct ll_ring_stream_item item;
        uint64_t words[LL_RING_RECORD_WORDS];
        unsigned count = ll_ring_stream_take(stream, &item, words);
        if (++reader->given % BEAT_EVENTS == 0)
            beat(reader);
        process->late += item.start_ticks < reader->given_ticks;
        reader->given_ticks = item.start_ticks > reader->given_ticks ? item.start_ticks : reader->given_ticks;
        if (event_of(reader, stream, &item, words, count, event))
            return true;
        process->damaged++;
    }
}

void ll_ring_finish(struct ll_ring_reader *reader)
{
    reader->finished = true;
    look(reader);
}

bool ll_ring_next_unreturned(const struct ll_ring_reader *reader, uint64_t *at,
                             struct ll_unreturned_call *call)
{
    while (*at < reader->stream_count) {
        const struct ll_ring_stream *stream = &reader->streams[(*at)++];
        uint64_t start = atomic_load_explicit(&stream->ring->open_ticks, memory_order_acquire);
        uint64_t symbol = atomic_load(&stream->ring->open_symbol);
        if (!start || stream->damaged || symbol >= LL_SYMBOL_COUNT)
            continue;
        *call = (struct ll_unreturned_call){.process = stream->process,
                                            .thread = stream->thread,
                                            .symbol = (uint32_t)symbol,
                                            .start_ns = ring_clock_ns(&reader->clock, start)};
        return true;
    }
    return false;
}

void ll_ring_wait(struct ll_ring_reader *reader, uint64_t timeout_ns)
{
    reader->rest_ns = reader->given == reader->rested ? 2 * reader->rest_ns : 0;
    if (reader->rest_ns < LEAST_REST_NS)
        reader->rest_ns = LEAST_REST_NS;
    if (reader->rest_ns > timeout_ns)
        reader->rest_ns = timeout_ns;
    reader->rested = reader->given;
    const struct timespec rest = {(time_t)(reader->rest_ns / 1000000000),
                                  (long)(reader->rest_ns % 1000000000)};
    nanosleep(&rest, NULL);
}

uint64_t ll_ring_refused(const struct ll_ring_reader *reader)
{
    return atomic_load(&reader->control->refused);
}

uint64_t ll_ring_unreadable(const struct ll_ring_reader *reader)
{
    return reader->unreadable;
}

size_t ll_ring_process_count(const struct ll_ring_reader *reader)
{
    return reader->process_count;
}

/* What a process said of itself, as far as it was read; counters are read from the shared page at this
 * moment. */
struct ll_ring_process_info ll_ring_process_info(const struct ll_ring_reader *reader, size_t process)
{
    assert(process < reader->process_count);
    const struct ll_followed_process *followed = &reader->processes[process];
    static const struct ll_ring_process nothing; /* is believed of one that was written over */
    const struct ll_ring_process *page = followed->page_damaged ? &nothing : followed->page;
    uint64_t ended = atomic_load(&page->ended_ticks);
    struct ll_ring_process_info info = {
        .pid = followed->pid,
        .parent_pid = followed->parent_pid,
        .started_ns = followed->started_ns,
        .ended_ns = ended ? ring_clock_ns(&reader->clock, ended) : 0,
        .unresolved = atomic_load(&page->unresolved),
        .abandoned = atomic_load(&page->abandoned),
        .queries = atomic_load(&page->queries),
        .ringless = atomic_load(&page->ringless),
        .unsaid = atomic_load(&page->unsaid),
        .nested = atomic_load(&page->nested),
        .unfollowed = atomic_load(&page->unfollowed),
        .damaged = followed->damaged + followed->log_damaged,
        .late = followed->late,
        .facts = followed->facts,
        .fact_count = followed->fact_count,
        .libraries = followed->libraries,
        .library_count = followed->library_count,
    };
    for (uint64_t i = 0; i < reader->stream_count; i++) {
        if (reader->streams[i].process != process)
            continue;
        info.lost += reader->streams[i].lost;
        info.nested += reader->streams[i].nested;
    }
    return info;
}

const struct ll_ring_library *ll_ring_library_at(const struct ll_ring_process_info *process, uint64_t address,
                                                 uint32_t mapping)
{
    const struct ll_ring_library *found = NULL;
    uint32_t replaced = 0;
    for (size_t i = 0; i < process->library_count && replaced <= mapping; i++) {
        const struct ll_ring_library *library = &process->libraries[i];
        replaced += ll_ring_library_replaces(library, address);
        if (replaced <= mapping && address >= library->begin && address < library->end)
            found = library;
    }
    return found;
}

size_t ll_ring_thread_process(const struct ll_ring_reader *reader, uint32_t thread)
{
    assert(thread < reader->thread_count);
    return thread < reader->thread_count ? reader->threads[thread] : 0;
}
