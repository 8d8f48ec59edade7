/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded process as its recorder sees it: its clock (first section), forms of calls that repeat, and its
 * file of mappings, libraries and rings. */
#define _POSIX_C_SOURCE 200809L
#include "tracer/interpose/ring_process.h"

#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tracer/base/clock.h"
#include "tracer/interpose/decode.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_shield.h"

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

uint64_t ll_ring_clock_now(const struct ll_ring_clock_line *line)
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
        uint64_t before = ll_now_ns(), now = ll_ring_clock_now(line), after = ll_now_ns();
        if (after - before >= shortest)
            continue;
        shortest = after - before;
        *ticks = now;
        *ns = before + shortest / 2;
    }
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

void ll_ring_clock_choose(struct ll_ring_clock_line *line)
{
    *line = (struct ll_ring_clock_line){.ns_per_tick = 1};
    line->clock = has_constant_counter() ? LL_RING_CLOCK_TSC : LL_RING_CLOCK_NS;
    read_both(line, &line->base_ticks, &line->base_ns);
    if (line->clock == LL_RING_CLOCK_TSC)
        wait_and_measure(line);
}

void ll_ring_clock_begin(struct ll_ring_clock_line *line, const struct ll_ring_control *control)
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

void ll_ring_clock_refine(struct ll_ring_clock_line *line)
{
    uint64_t ticks = 0, ns = 0;
    if (line->clock != LL_RING_CLOCK_TSC || ll_now_ns() - line->base_ns < 2 * line->measured_ns)
        return;
    read_both(line, &ticks, &ns);
    measure(line, ticks, ns);
}

uint64_t ll_ring_clock_duration_ns(const struct ll_ring_clock_line *line, uint64_t ticks)
{
    double ns = (double)ticks * line->ns_per_tick;
    return ns < 0x1p63 ? (uint64_t)ns : INT64_MAX;
}

uint64_t ll_ring_clock_ns(const struct ll_ring_clock_line *line, uint64_t ticks)
{
    if (ticks >= line->base_ticks)
        return line->base_ns + ll_ring_clock_duration_ns(line, ticks - line->base_ticks);
    uint64_t before = ll_ring_clock_duration_ns(line, line->base_ticks - ticks);
    return before < line->base_ns ? line->base_ns - before : 0;
}

/* A program of ever new shapes must not fill the memory: a form takes some kilobytes. */
enum { FORMS_MOST = 8192, PLACE_BITS = 56 };

struct ll_ring_form {
    uint32_t next; /* the form that followed it the last time; 0: none has */
    uint32_t process, count, mapping;
    uint64_t *key, *mask; /* bits of the words that are equal in all such records, which bits */
    uint8_t address_word[LL_MAX_OPERANDS]; /* of the operands; 0: none */
    struct ll_call call;                   /* its addresses are how far behind that word's */
};

/* Where a record's times stand, and its addresses. An address of zero is no address: operands may be missing.
 */
static void mask_of(const uint64_t *words, unsigned count, uint64_t *mask)
{
    uint64_t arguments = ll_ring_kind_of(words[0]) == LL_RING_EXECUTE
                             ? UINT64_C(0x5555555555555554) /* a description's place, then pairs */
                             : ll_address_words(ll_ring_symbol_of(words[0]));
    for (unsigned i = 0; i < count; i++)
        mask[i] = UINT64_MAX;
    mask[LL_RING_START_WORD] = mask[LL_RING_DURATION_WORD] = 0;
    for (unsigned i = LL_RING_CALL_WORDS; i < count && i < LL_RING_CALL_WORDS + 64; i++)
        if (arguments >> (i - LL_RING_CALL_WORDS) & 1 && words[i])
            mask[i] = 0;
}

static bool is_of(const struct ll_ring_form *form, const struct ll_ring_record *record)
{
    uint64_t different = 0;
    if (form->process != record->process || form->count != record->count || form->mapping != record->mapping)
        return false;
    for (unsigned i = 0; i < record->count; i++)
        different |= (record->words[i] ^ form->key[i]) & form->mask[i];
    return !different;
}

static bool decode(const struct ll_ring_forms *forms, const struct ll_ring_record *record,
                   struct ll_call *call)
{
    call->depth = ll_ring_depth_of(record->words[0]);
    call->symbol = ll_ring_symbol_of(record->words[0]);
    call->caller = record->words[LL_RING_CALLER_WORD];
    call->mapping = record->mapping;
    return forms->decode(forms->context, record, call);
}

/* Decodes a record in which each address is its own place, far from the others, which says where operands
 * have theirs from. */
static bool decode_places(const struct ll_ring_forms *forms, struct ll_ring_form *form)
{
    uint64_t words[LL_RING_RECORD_WORDS];
    struct ll_call *call = &form->call;
    for (unsigned i = 0; i < form->count; i++)
        words[i] = form->mask[i] ? form->key[i] : (uint64_t)i << PLACE_BITS;
    if (!decode(forms, &(struct ll_ring_record){form->process, form->count, words, form->mapping}, call))
        return false;
    for (uint32_t i = 0; i < call->operand_count && i < LL_MAX_OPERANDS; i++) {
        form->address_word[i] = (uint8_t)(call->operand[i].address >> PLACE_BITS);
        call->operand[i].address &= (UINT64_C(1) << PLACE_BITS) - 1;
    }
    return true;
}

/* NULL when memory ran out or the record is nonsense; then its key stays, without a form. */
static struct ll_ring_form *new_form(struct ll_ring_forms *forms, const struct ll_ring_record *key,
                                     const uint64_t *mask)
{
    struct ll_ring_form *form = ll_alloc(&forms->arena, 1, sizeof *form);
    uint64_t *words = ll_copy(&forms->arena, key->words, key->count * sizeof *key->words);
    uint64_t *bits = ll_copy(&forms->arena, mask, key->count * sizeof *mask);
    if (!form || !words || !bits)
        return NULL;
    *form = (struct ll_ring_form){
        .process = key->process, .count = key->count, .mapping = key->mapping, .key = words, .mask = bits};
    return decode_places(forms, form) ? form : NULL;
}

/* The number of a record's form, from 1 on; 0 when it has none. */
static uint32_t look_up(struct ll_ring_forms *forms, const struct ll_ring_record *record)
{
    uint64_t mask[LL_RING_RECORD_WORDS], key[LL_RING_RECORD_WORDS + 1];
    unsigned count = record->count;
    bool is_new = false;
    mask_of(record->words, count, mask);
    for (unsigned i = 0; i < count; i++)
        key[i] = mask[i] ? record->words[i] : 1; /* an address that is none is 0 */
    key[count] = (uint64_t)record->mapping << 32 | record->process;
    size_t bytes = (count + 1) * sizeof *key;
    if (!ll_grow(&forms->forms, &forms->capacity, forms->keys.count + 1u, sizeof *forms->forms))
        return 0;
    uint32_t id = forms->keys.count < FORMS_MOST ? ll_map_intern(&forms->keys, key, bytes, &is_new)
                                                 : ll_map_find(&forms->keys, key, bytes);
    if (id == LL_NO_ID)
        return 0;
    if (is_new)
        forms->forms[id] =
            new_form(forms, &(struct ll_ring_record){record->process, count, key, record->mapping}, mask);
    return forms->forms[id] ? id + 1 : 0;
}

/* As the record before it lets expect, or by looking up. */
static uint32_t find(struct ll_ring_forms *forms, uint32_t before, const struct ll_ring_record *record)
{
    uint32_t guess = before ? forms->forms[before - 1]->next : 0;
    if (guess && is_of(forms->forms[guess - 1], record))
        return guess;
    uint32_t number = look_up(forms, record);
    if (before && number)
        forms->forms[before - 1]->next = number;
    return number;
}

/* What is used of a call, and no more. */
static void copy_call(struct ll_call *to, const struct ll_call *from)
{
    memcpy(to, from, offsetof(struct ll_call, operand) + from->operand_count * sizeof *from->operand);
    memcpy(to->number, from->number, from->number_count * sizeof *from->number);
}

bool ll_ring_form_call(struct ll_ring_forms *forms, uint32_t *before, const struct ll_ring_record *record,
                       struct ll_call *call)
{
    uint32_t number = find(forms, *before, record);
    *before = number;
    if (number) {
        const struct ll_ring_form *form = forms->forms[number - 1];
        copy_call(call, &form->call);
        for (uint32_t i = 0; i < call->operand_count; i++)
            call->operand[i].address =
                form->address_word[i] ? call->operand[i].address + record->words[form->address_word[i]] : 0;
    } else if (!decode(forms, record, call)) {
        return false;
    }
    call->form = number;
    return true;
}

void ll_ring_forms_release(struct ll_ring_forms *forms)
{
    ll_arena_release(&forms->arena);
    ll_map_release(&forms->keys);
    free(forms->forms);
    *forms = (struct ll_ring_forms){.decode = forms->decode, .context = forms->context};
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
