/* SPDX-License-Identifier: Apache-2.0 */
/* What a process says of itself. Offsets and lengths come from memory that a program may have written over:
 * each is compared with the length of the file, texts with the words of their entry. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/interpose/ring_process.h"

#include "tracer/interpose/ring_shield.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

void ll_followed_unmap(void *part, uint64_t bytes)
{
    ll_shield_end(part);
    munmap(part, bytes);
}

bool ll_followed_open(struct ll_followed_process *followed, struct ll_arena *arena, const char *path,
                      bool keeps)
{
    int file = keeps ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct ll_ring_process *page = map_part(path, file, 0, LL_RING_RINGS_AT);
    char *kept = page ? ll_copy_text(arena, path, strlen(path)) : NULL;
    if (!kept || page->magic != LL_RING_MAGIC) {
        if (page)
            ll_followed_unmap(page, LL_RING_RINGS_AT);
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

void ll_followed_release(struct ll_followed_process *followed)
{
    free(followed->facts);
    free(followed->libraries);
    free(followed->seen_ticks);
    free(followed->described);
    ll_map_release(&followed->places);
    if (followed->file >= 0)
        close(followed->file);
    ll_followed_unmap((void *)(uintptr_t)followed->page, LL_RING_RINGS_AT);
}

struct ll_ring *ll_followed_ring(struct ll_followed_process *followed, unsigned slot, uint64_t *bytes)
{
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

uint32_t ll_followed_mapping(const struct ll_followed_process *followed, uint64_t address, uint64_t ticks)
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

const struct ll_described *ll_followed_primitive(struct ll_followed_process *followed, struct ll_arena *arena,
                                                 uint64_t place)
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

void ll_followed_read_log(struct ll_followed_process *followed, struct ll_arena *arena)
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
