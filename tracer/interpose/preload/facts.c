/* SPDX-License-Identifier: Apache-2.0 */
/* What decides speed in this process and cannot be asked once it is gone: which libraries lie where, which
 * kernels OpenBLAS chose, how threads wait. Each is said once; a library again when it came to lie elsewhere.
 */
#define _GNU_SOURCE
#include "tracer/interpose/preload/preload.h"

#include "tracer/base/hash.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KNOWN = 4096 };

static void log_fact(const char *key, const char *value)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    size_t room = (LL_RING_LOG_WORDS - 1) * sizeof(uint64_t) - key_bytes;
    value_bytes = value_bytes < room ? value_bytes : room;
    unsigned count = (unsigned)(1 + (key_bytes + value_bytes + 7) / 8);
    uint64_t *words = ll_log_begin(count);
    if (!words)
        return;
    char *text = (char *)(words + 1);
    memcpy(text, key, key_bytes);
    memcpy(text + key_bytes, value, value_bytes - 1);
    ll_log_end(LL_RING_LOG_FACT, words, count);
}

static void log_variable(const char *name)
{
    const char *value = getenv(name);
    if (value)
        log_fact(name, value);
}

/* A link of /proc/self as a fact. */
static void log_link(const char *key, const char *link)
{
    char target[1024];
    ssize_t length = readlink(link, target, sizeof target - 1);
    if (length <= 0)
        return;
    target[length] = '\0';
    log_fact(key, target);
}

void ll_log_host(void)
{
    static const char *const variables[] = {
        "OMP_WAIT_POLICY",    "GOMP_SPINCOUNT",         "OMP_NUM_THREADS",   "OMP_PROC_BIND",
        "KMP_BLOCKTIME",      "OPENBLAS_NUM_THREADS",   "OPENBLAS_CORETYPE", "MKL_NUM_THREADS",
        "ONEDNN_MAX_CPU_ISA", "OPENBLAS_THREAD_TIMEOUT"};
    log_link("program", "/proc/self/exe");
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        log_variable(variables[i]);
}

/* Which library lies where, as far as it was said; slots are never given back, too many are said again. */
struct known {
    _Atomic uint64_t generation;
    _Atomic uint64_t look; /* of where it lies and its path */
};

static bool is_new(uintptr_t begin, const char *path, uint64_t generation)
{
    static struct known known[KNOWN];
    struct known *slot = &known[(begin >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> 52];
    uint64_t look = ll_hash_text(begin, path);
    bool said = atomic_load(&slot->generation) == generation && atomic_load(&slot->look) == look;
    atomic_store(&slot->look, look);
    atomic_store(&slot->generation, generation);
    return !said;
}

static int log_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    uint64_t end = 0, begin = UINT64_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD)
            continue;
        uint64_t first = info->dlpi_addr + segment->p_vaddr, past = first + segment->p_memsz;
        begin = first < begin ? first : begin;
        end = past > end ? past : end;
    }
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    size_t bytes = strlen(path) + 1;
    if (begin >= end || !is_new(begin, path, ll_process_generation()) ||
        bytes > (LL_RING_LOG_WORDS - LL_RING_LIBRARY_WORDS) * sizeof(uint64_t))
        return 0;
    unsigned count = (unsigned)(LL_RING_LIBRARY_WORDS + (bytes + 7) / 8);
    uint64_t *words = ll_log_begin(count);
    if (!words)
        return 0;
    words[LL_RING_BIAS_WORD] = info->dlpi_addr;
    words[LL_RING_BEGIN_WORD] = begin;
    words[LL_RING_END_WORD] = end;
    words[LL_RING_SEEN_WORD] = ll_process_ticks();
    memcpy(words + LL_RING_LIBRARY_WORDS, path, bytes);
    ll_log_end(LL_RING_LOG_LIBRARY, words, count);
    return 0;
}

void ll_log_libraries(void)
{
    dl_iterate_phdr(log_library, NULL);
}

/* What OpenBLAS says of itself: one of its names for texts, one for a number. */
static void log_answer(const char *name, void *near, bool is_text)
{
    union {
        void *address;
        const char *(*text)(void);
        int (*number)(void);
    } ask = {.address = ll_module_symbol_for(name, near)};
    if (!ask.address)
        return;
    if (is_text) {
        const char *text = ask.text();
        if (text)
            log_fact(name, text);
        return;
    }
    int number = ask.number();
    char text[] = "0000";
    for (int i = 3; i >= 0; i--, number /= 10)
        text[i] = (char)('0' + number % 10);
    log_fact(name, text + strspn(text, "0") - (strspn(text, "0") == 4));
}

void ll_log_blas(void *real)
{
    static _Atomic uint64_t said;
    uint64_t generation = ll_process_generation();
    if (atomic_load(&said) == generation || !ll_module_symbol_for("openblas_get_config", real))
        return;
    atomic_store(&said, generation);
    log_answer("openblas_get_config", real, true);
    log_answer("openblas_get_corename", real, true);
    log_answer("openblas_get_num_threads", real, false);
    log_answer("openblas_get_parallel", real, false);
}
