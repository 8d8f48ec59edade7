/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a recorded program left in its file: the log, and a ring with its positions. A program
 * may have written over both. The bytes: head, words of the log, lost (8 each), bytes of the log (2), the
 * log, the ring. */
#define _GNU_SOURCE
#include "tracer/interpose/ring.h"
#include "tracer/interpose/ring_reader.h"
#include "tracer/interpose/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <fcntl.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEAD, LOG_WORDS, LOST, NUMBERS };
enum { FILE_BYTES = LL_RING_RINGS_AT + LL_RING_PAGE + LL_RING_LEAST_BYTES };

static char folder[64];

static void remove_folder(void)
{
    char path[128];
    snprintf(path, sizeof path, "%s/1.0", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/control", folder);
    unlink(path);
    rmdir(folder);
}

/* A folder with a control file, made once: a reader waits for the clock's first ten milliseconds only then.
 */
static void make_folder(void)
{
    if (folder[0])
        return;
    strcpy(folder, access("/dev/shm", W_OK) == 0 ? "/dev/shm/leadline-fuzz-XXXXXX" : "leadline-fuzz-XXXXXX");
    const struct ll_ring_settings settings = {0};
    if (!mkdtemp(folder) || ll_ring_create(folder, &settings) != LL_OK || atexit(remove_folder) != 0)
        abort();
}

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void fill(char *file, const uint8_t *bytes, size_t size)
{
    uint64_t numbers[NUMBERS] = {0};
    uint16_t log_bytes = 0;
    struct ll_ring_process *page = (struct ll_ring_process *)file;
    struct ll_ring *ring = (struct ll_ring *)(file + LL_RING_RINGS_AT);
    if (size >= sizeof numbers + sizeof log_bytes) {
        memcpy(numbers, bytes, sizeof numbers);
        memcpy(&log_bytes, bytes + sizeof numbers, sizeof log_bytes);
        bytes += sizeof numbers + sizeof log_bytes;
        size -= sizeof numbers + sizeof log_bytes;
    }
    size_t log = lesser(log_bytes, size);
    page->magic = LL_RING_MAGIC;
    page->pid = 1;
    page->log_words = numbers[LOG_WORDS];
    page->slot[0].state = LL_RING_SLOT_USED;
    page->slot[0].offset_bytes = LL_RING_RINGS_AT;
    page->slot[0].bytes = LL_RING_LEAST_BYTES;
    ring->head = numbers[HEAD];
    ring->lost = numbers[LOST];
    memcpy(file + LL_RING_LOG_AT, bytes, log);
    memcpy((char *)ring + LL_RING_PAGE, bytes + log, lesser(size - log, LL_RING_LEAST_BYTES));
}

static void check_event(const struct ll_event *event)
{
    if (event->kind != LL_EVENT_CALL)
        return;
    const struct ll_call *call = &event->call;
    if (call->routine >= LL_ROUTINE_COUNT || call->symbol >= LL_SYMBOL_COUNT ||
        call->number_count > LL_MAX_CALL_NUMBERS || call->operand_count > LL_MAX_OPERANDS ||
        call->dtype >= LL_DTYPE_COUNT)
        abort();
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (call->operand[i].role >= LL_ARGUMENT_COUNT || call->operand[i].shape.rank > LL_MAX_RANK ||
            call->operand[i].shape.dtype >= LL_DTYPE_COUNT)
            abort();
}

static void read_all(void)
{
    struct ll_ring_reader *reader = ll_ring_open(folder, NULL);
    struct ll_event event;
    if (!reader)
        abort();
    ll_ring_finish(reader);
    while (ll_ring_next(reader, &event))
        check_event(&event);
    for (size_t i = 0; i < ll_ring_process_count(reader); i++) {
        struct ll_ring_process_info info = ll_ring_process_info(reader, i);
        for (size_t fact = 0; fact < info.fact_count; fact++)
            if (strlen(info.facts[fact].key) + strlen(info.facts[fact].value) > LL_RING_LOG_BYTES)
                abort();
    }
    ll_ring_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char path[128];
    make_folder();
    snprintf(path, sizeof path, "%s/1.0", folder);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, FILE_BYTES) != 0)
        abort();
    void *memory = mmap(NULL, FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED)
        abort();
    fill(memory, bytes, size);
    munmap(memory, FILE_BYTES);
    read_all();
    return 0;
}
