/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's records lie in its ring in the order in which they ended; inner calls before the one that made
 * them. A new item goes in from the end of the list, past those that began after it. */
#define _GNU_SOURCE
#include "tracer/interpose/ring_reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/arena.h"
#include "tracer/base/clock.h"
#include "tracer/base/map.h"
#include "tracer/interpose/decode.h"
#include "tracer/interpose/ring_process.h"
#include "tracer/interpose/ring_shield.h"
#include "tracer/interpose/ring_stream.h"

void ll_ring_stream_begin(struct ll_ring_stream *stream, struct ll_ring *ring, uint64_t bytes,
                          uint32_t process)
{
    *stream =
        (struct ll_ring_stream){.ring = ring, .size_words = bytes / sizeof(uint64_t), .process = process};
    stream->words = (const uint64_t *)((const char *)ring + LL_RING_PAGE);
    stream->scanned = atomic_load(&ring->tail);
}

void ll_ring_stream_release(struct ll_ring_stream *stream)
{
    free(stream->items);
    free(stream->kept);
    stream->items = NULL;
    stream->kept = NULL;
}

/* Moves waiting items to the front where that makes room, else takes more memory. */
static bool make_room(struct ll_ring_stream *stream)
{
    if (stream->end < stream->capacity)
        return true;
    if (stream->first > stream->capacity / 2) {
        memmove(stream->items, stream->items + stream->first,
                (stream->end - stream->first) * sizeof *stream->items);
        stream->end -= stream->first;
        stream->first = 0;
        return true;
    }
    return ll_grow(&stream->items, &stream->capacity, stream->end + 1, sizeof *stream->items);
}

static bool add(struct ll_ring_stream *stream, struct ll_ring_stream_item item)
{
    if (!make_room(stream))
        return false;
    uint64_t at = stream->end++;
    for (; at > stream->first && stream->items[at - 1].start_ticks > item.start_ticks; at--)
        stream->items[at] = stream->items[at - 1];
    stream->items[at] = item;
    return true;
}

/* Whether a record of `count` words may lie here. */
static bool is_sound(const struct ll_ring_stream *stream, unsigned kind, unsigned count, uint64_t head)
{
    uint64_t offset = stream->scanned & (stream->size_words - 1);
    return kind < LL_RING_KINDS && count >= 1 && count <= head - stream->scanned &&
           count <= stream->size_words - offset &&
           (kind == LL_RING_FILL || (count >= 2 && count <= LL_RING_RECORD_WORDS));
}

/* Room for so many more words: more memory, or the same without the words that were taken. */
static bool make_room_for_words(struct ll_ring_stream *stream, unsigned count)
{
    if (stream->kept_count + count <= stream->kept_capacity)
        return true;
    if (stream->waiting_words > stream->kept_capacity / 2)
        return ll_grow(&stream->kept, &stream->kept_capacity, stream->kept_count + count,
                       sizeof *stream->kept);
    uint64_t *kept = NULL, capacity = 0, end = 0;
    if (!ll_grow(&kept, &capacity, stream->waiting_words + count, sizeof *kept))
        return false;
    for (uint64_t i = stream->first; i < stream->end; i++) {
        struct ll_ring_stream_item *item = &stream->items[i];
        unsigned words = item->lost ? 0 : ll_ring_words_of(stream->kept[item->position]);
        memcpy(kept + end, stream->kept + item->position, words * sizeof *kept);
        item->position = end;
        end += words;
    }
    free(stream->kept);
    stream->kept = kept;
    stream->kept_capacity = capacity;
    stream->kept_count = end;
    return true;
}

/* False when memory ran out. */
static bool keep(struct ll_ring_stream *stream, const uint64_t *record, unsigned count)
{
    if (!make_room_for_words(stream, count))
        return false;
    uint64_t *kept = stream->kept + stream->kept_count;
    memcpy(kept, record, count * sizeof *record);
    kept[0] = (kept[0] & ~UINT64_C(0xffff)) | count; /* whatever the program has made of it by now */
    if (!add(stream, (struct ll_ring_stream_item){
                         .start_ticks = kept[1], .position = stream->kept_count, .thread = stream->thread}))
        return false;
    stream->kept_count += count;
    stream->waiting_words += count;
    return true;
}

/* False when the record is nonsense or memory ran out. */
static bool scan_record(struct ll_ring_stream *stream, uint64_t head, uint64_t most_words,
                        ll_ring_stream_thread *thread, void *context)
{
    const uint64_t *record = stream->words + (stream->scanned & (stream->size_words - 1));
    uint64_t header = record[0];
    unsigned kind = ll_ring_kind_of(header), count = ll_ring_words_of(header);
    if (!is_sound(stream, kind, count, head))
        return false;
    /* What a driver of LAPACK calls is only counted, and its own record comes behind all of that. */
    bool is_counted = kind == LL_RING_CALL && ll_ring_depth_of(header) > 0 &&
                      ll_ring_stream_is_full(stream, most_words / 2);
    stream->nested += is_counted;
    if (kind == LL_RING_THREAD)
        stream->thread = thread(context, stream->process, record[1]);
    else if (kind != LL_RING_FILL && !is_counted && !keep(stream, record, count))
        return false;
    stream->scanned += count;
    return true;
}

static void add_lost(struct ll_ring_stream *stream, uint64_t now_ticks)
{
    uint64_t lost = atomic_load(&stream->ring->lost);
    if (lost <= stream->lost)
        return;
    struct ll_ring_stream_item item = {now_ticks, stream->scanned, lost - stream->lost, stream->thread};
    if (add(stream, item))
        stream->lost = lost;
}

uint64_t ll_ring_stream_scan(struct ll_ring_stream *stream, uint64_t now_ticks, uint64_t most_words,
                             ll_ring_stream_thread *thread, void *context)
{
    uint64_t open = atomic_load_explicit(&stream->ring->open_ticks, memory_order_acquire);
    uint64_t head = atomic_load_explicit(&stream->ring->head, memory_order_acquire);
    if (head < stream->scanned || head - stream->scanned > stream->size_words)
        stream->damaged = true;
    while (!stream->damaged && stream->scanned < head && stream->waiting_words < most_words)
        stream->damaged = !scan_record(stream, head, most_words, thread, context);
    if (stream->damaged) { /* nobody shall wait for us */
        atomic_store_explicit(&stream->ring->tail, head, memory_order_release);
        return now_ticks;
    }
    atomic_store_explicit(&stream->ring->tail, stream->scanned, memory_order_release);
    add_lost(stream, now_ticks);
    if (stream->scanned == head)
        stream->bound_ticks = open && open < now_ticks ? open : now_ticks;
    return stream->bound_ticks;
}

unsigned ll_ring_stream_take(struct ll_ring_stream *stream, struct ll_ring_stream_item *item, uint64_t *words)
{
    *item = stream->items[stream->first++];
    unsigned count = 0;
    if (!item->lost) {
        const uint64_t *record = stream->kept + item->position;
        count = ll_ring_words_of(record[0]);
        memcpy(words, record, count * sizeof *words);
        stream->waiting_words -= count;
    }
    if (stream->first == stream->end)
        stream->first = stream->end = stream->kept_count = 0;
    return count;
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

enum ll_status ll_ring_create(const char *folder, const struct ll_ring_settings *settings)
{
    struct ll_arena arena = {0};
    struct ll_ring_clock_line clock;
    ll_ring_clock_choose(&clock);
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
        ll_followed_primitive(&reader->processes[record->process], &reader->arena, words[0]);
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
    ll_ring_clock_begin(&reader->clock, reader->control);
    *status = LL_OK;
    return reader;
}

void ll_ring_close(struct ll_ring_reader *reader)
{
    if (!reader)
        return;
    for (uint64_t i = 0; i < reader->stream_count; i++) {
        struct ll_ring_stream *stream = &reader->streams[i];
        ll_followed_unmap(stream->ring, LL_RING_PAGE + stream->size_words * sizeof(uint64_t));
        ll_ring_stream_release(stream);
    }
    for (uint64_t i = 0; i < reader->process_count; i++)
        ll_followed_release(&reader->processes[i]);
    if (reader->control)
        ll_followed_unmap(reader->control, LL_RING_PAGE);
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
    if (name[strspn(name, "0123456789.")] || ll_map_find(&reader->names, name, strlen(name)) != LL_NO_ID ||
        !ll_grow(&reader->processes, &reader->process_capacity, reader->process_count + 1,
                 sizeof *reader->processes))
        return;
    const char *path = ll_format(&reader->arena, "%s/%s", reader->folder, name);
    struct ll_followed_process *followed = &reader->processes[reader->process_count];
    if (!path || !ll_followed_open(followed, &reader->arena, path, reader->process_count < MOST_FILES)) {
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
    struct ll_followed_process *followed = &reader->processes[process];
    for (unsigned slot = 0; slot < LL_RING_SLOTS; slot++) {
        if (atomic_load_explicit(&followed->page->slot[slot].state, memory_order_acquire) ==
            LL_RING_SLOT_NEVER)
            return;
        uint64_t bytes;
        struct ll_ring *ring = ll_followed_ring(followed, slot, &bytes);
        if (!ring)
            continue;
        if (!ll_grow(&reader->streams, &reader->stream_capacity, reader->stream_count + 1,
                     sizeof *reader->streams)) {
            ll_followed_unmap(ring, LL_RING_PAGE + bytes);
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
    ll_ring_clock_refine(&reader->clock);
    look_for_processes(reader);
    for (uint32_t i = 0; i < reader->process_count; i++)
        look_for_rings(reader, i);
    uint64_t slack = (uint64_t)(SLACK_NS / reader->clock.ns_per_tick);
    uint64_t now = ll_ring_clock_now(&reader->clock), known = reader->finished ? UINT64_MAX : now - slack;
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
        ll_followed_read_log(&reader->processes[i], &reader->arena);
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
        ll_followed_mapping(process, words[LL_RING_CALLER_WORD], words[LL_RING_START_WORD])};
    if (!ll_ring_form_call(&reader->forms, &stream->form, &record, &event->call))
        return false;
    event->call.duration_ns = ll_ring_clock_duration_ns(&reader->clock, words[LL_RING_DURATION_WORD]);
    return true;
}

static bool event_of(struct ll_ring_reader *reader, struct ll_ring_stream *stream,
                     const struct ll_ring_stream_item *item, const uint64_t *words, unsigned count,
                     struct ll_event *event)
{
    event->thread = item->thread;
    event->start_ns = ll_ring_clock_ns(&reader->clock, item->start_ticks);
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
        event->waited_ns = ll_ring_clock_duration_ns(&reader->clock, count > 2 ? words[2] : 0);
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
                                            .start_ns = ll_ring_clock_ns(&reader->clock, start)};
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

struct ll_ring_process_info ll_ring_process_info(const struct ll_ring_reader *reader, size_t process)
{
    const struct ll_followed_process *followed = &reader->processes[process];
    static const struct ll_ring_process nothing; /* is believed of one that was written over */
    const struct ll_ring_process *page = followed->page_damaged ? &nothing : followed->page;
    uint64_t ended = atomic_load(&page->ended_ticks);
    struct ll_ring_process_info info = {
        .pid = followed->pid,
        .parent_pid = followed->parent_pid,
        .started_ns = followed->started_ns,
        .ended_ns = ended ? ll_ring_clock_ns(&reader->clock, ended) : 0,
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
    return thread < reader->thread_count ? reader->threads[thread] : 0;
}
