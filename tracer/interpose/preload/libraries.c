/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the loaded libraries has a symbol. One thread at a time lists them, in memory that is there from
 * the start; who cannot wait, such as a signal handler amid it, has pages of its own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tracer/base/hash.h"
#include "tracer/interpose/preload/loaded.h"
#include "tracer/interpose/preload/preload.h"

enum { MODULES = 2048 };

struct module {
    struct ll_loaded loaded;
    bool looked_at;
};

struct modules {
    bool held; /* what ll_look_begin said */
    uint32_t count;
    uint32_t queue[MODULES];
    struct module module[MODULES];
};

static int add_module(struct dl_phdr_info *info, size_t size, void *list)
{
    struct modules *modules = list;
    if (modules->count == MODULES ||
        size < offsetof(struct dl_phdr_info, dlpi_phnum) + sizeof info->dlpi_phnum)
        return 1;
    struct module *module = &modules->module[modules->count++];
    module->looked_at = false;
    ll_loaded_read(&module->loaded, info);
    return 0;
}

static struct modules listed;
static _Atomic bool is_listed; /* in a child of a fork perhaps for good */

static struct modules *list_modules(void)
{
    struct modules *modules = &listed;
    bool held = ll_look_begin();
    if (atomic_exchange(&is_listed, true))
        modules = mmap(NULL, sizeof *modules, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (modules == MAP_FAILED) {
        ll_look_end(held);
        return NULL;
    }
    modules->held = held;
    modules->count = 0;
    dl_iterate_phdr(add_module, modules);
    return modules;
}

static void drop_modules(struct modules *modules)
{
    bool held = modules->held;
    if (modules == &listed)
        atomic_store(&is_listed, false);
    else
        munmap(modules, sizeof *modules);
    ll_look_end(held);
}

static void *symbol_of(const struct module *module, const char *name)
{
    if (ll_is_ours(module->loaded.dynamic))
        return NULL;
    const ElfW(Sym) *symbol = ll_loaded_find(&module->loaded, name);
    return symbol ? (void *)(module->loaded.base + symbol->st_value) : NULL;
}

static bool has_name(const struct module *module, const char *needed)
{
    const char *path = module->loaded.path, *slash = path ? strrchr(path, '/') : NULL;
    const char *file = slash ? slash + 1 : path ? path : "";
    const char *soname = module->loaded.soname;
    return strcmp(soname ? soname : file, needed) == 0 || strcmp(file, needed) == 0;
}

/* Puts behind the queue's end what a module needs and nobody asked yet. */
static uint32_t queue_needs(struct modules *modules, const struct module *of, uint32_t end)
{
    for (const ElfW(Dyn) *at = of->loaded.dynamic; at && of->loaded.strings && at->d_tag != DT_NULL; at++) {
        for (uint32_t i = 0; at->d_tag == DT_NEEDED && i < modules->count; i++) {
            struct module *module = &modules->module[i];
            if (module->looked_at || !has_name(module, of->loaded.strings + at->d_un.d_val))
                continue;
            module->looked_at = true;
            modules->queue[end++] = i;
        }
    }
    return end;
}

void *ll_module_symbol_for(const char *name, const void *caller)
{
    struct modules *modules = list_modules();
    uintptr_t address = (uintptr_t)ll_entry_origin(caller);
    uint32_t end = 0;
    void *found = NULL;
    for (uint32_t i = 0; modules && end == 0 && i < modules->count; i++) {
        struct module *module = &modules->module[i];
        if (address < module->loaded.begin || address >= module->loaded.end)
            continue;
        module->looked_at = true;
        modules->queue[end++] = i;
    }
    for (uint32_t at = 0; at < end && !found; at++) {
        const struct module *module = &modules->module[modules->queue[at]];
        found = symbol_of(module, name);
        end = queue_needs(modules, module, end);
    }
    if (modules)
        drop_modules(modules);
    return found;
}

void *ll_module_symbol_anywhere(const char *name)
{
    struct modules *modules = list_modules();
    void *found = NULL;
    for (uint32_t i = 0; modules && !found && i < modules->count; i++)
        found = symbol_of(&modules->module[i], name);
    if (modules)
        drop_modules(modules);
    return found;
}

void *ll_module_symbol_behind(const char *name, const void *caller)
{
    struct modules *modules = list_modules();
    uintptr_t address = (uintptr_t)ll_entry_origin(caller);
    void *found = NULL;
    bool is_behind = false;
    for (uint32_t i = 0; modules && !found && i < modules->count; i++) {
        const struct module *module = &modules->module[i];
        found = is_behind ? symbol_of(module, name) : NULL;
        is_behind |= address >= module->loaded.begin && address < module->loaded.end;
    }
    if (modules)
        drop_modules(modules);
    return found;
}

bool ll_module_has(const char *name)
{
    struct modules *modules = list_modules();
    bool found = !modules;
    for (uint32_t i = 0; !found && i < modules->count; i++)
        found = !ll_is_ours(modules->module[i].loaded.dynamic) &&
                ll_loaded_defines(&modules->module[i].loaded, name);
    if (modules)
        drop_modules(modules);
    return found;
}

struct where {
    uintptr_t address, begin;
};

static int look_in(struct dl_phdr_info *info, size_t size, void *context)
{
    struct where *where = context;
    struct ll_loaded loaded;
    if (size < offsetof(struct dl_phdr_info, dlpi_phnum) + sizeof info->dlpi_phnum)
        return 1;
    ll_loaded_read(&loaded, info);
    if (where->address < loaded.begin || where->address >= loaded.end)
        return 0;
    where->begin = loaded.begin;
    return 1;
}

uintptr_t ll_module_begin(const void *address)
{
    struct where where = {.address = (uintptr_t)ll_entry_origin(address)};
    bool held = ll_look_begin();
    dl_iterate_phdr(look_in, &where);
    ll_look_end(held);
    return where.begin;
}

bool ll_is_ours(const void *address)
{
    extern const char _end[] __attribute__((visibility("hidden")));
    extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
    return (const char *)address >= (const char *)&__ehdr_start && (const char *)address < _end;
}

/* Which function a caller would have got without us.
 *
 * 0. What its slot held before that was patched.
 * 1. What follows us in the scope that the program started with (RTLD_NEXT): so binds whoever was linked.
 * 2. A library that was opened locally sees its own needs: the caller's library, then those.
 * 3. A tail call leaves its caller's caller as return address, whose library may know nothing of the
 * function: then any library that has it. */

static const char *const names[] = {
#define LL_SYMBOL(name, routine, signature, letter, abi, result) #name,
#include "tracer/interpose/symbols.def"
};

void *ll_resolve(uint32_t symbol, void *caller)
{
    void *real = ll_slot_real(symbol, caller);
    if (real)
        return real;
    bool held = ll_look_begin();
    real = dlsym(RTLD_NEXT, names[symbol]);
    if (!real)
        dlerror(); /* the failure was ours */
    if (!real || ll_is_ours(real))
        real = ll_module_symbol_for(names[symbol], caller);
    if (!real)
        real = ll_module_symbol_anywhere(names[symbol]);
    ll_look_end(held);
    return real;
}

/* What decides speed in this process and cannot be asked once it is gone: which libraries lie where, which
 * kernels OpenBLAS chose, how threads wait. Each is said once; a library again when it came to lie elsewhere.
 */

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
    bool held = ll_look_begin();
    dl_iterate_phdr(log_library, NULL);
    ll_look_end(held);
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
