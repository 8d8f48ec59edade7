/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that comes and goes, so that a buffer that was given out again is not taken for the one before.
 *
 * Only pieces from a certain size on are told, and only once the process has recorded a call. Looking up the
 * real functions may itself ask for memory: what is asked meanwhile comes from a small store here and is
 * never given back. Compiled without built-in knowledge of these functions, which a compiler would turn into
 * each other.
 *
 * What is mapped is new memory, too. That it is unmapped need not be told: nobody reads there until something
 * is mapped or allocated anew. */
#define _GNU_SOURCE
#include "tracer/interpose/preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STORE_BYTES = 1 << 16, STORE_ALIGN = 64 };

struct allocator {
    void *(*malloc)(size_t);
    void *(*calloc)(size_t, size_t);
    void *(*realloc)(void *, size_t);
    void (*free)(void *);
    int (*posix_memalign)(void **, size_t, size_t);
    void *(*aligned_alloc)(size_t, size_t);
    size_t (*malloc_usable_size)(void *);
    void *(*memalign)(size_t, size_t);
    void *(*valloc)(size_t);
    void *(*pvalloc)(size_t);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
};

static struct allocator real;
static _Atomic bool found;
static __thread bool looking __attribute__((tls_model("initial-exec")));
static _Alignas(STORE_ALIGN) char store[STORE_BYTES];
static _Atomic size_t stored;

static bool is_stored(const void *address)
{
    return (const char *)address >= store && (const char *)address < store + STORE_BYTES;
}

/* Zeroed, never given back; each piece begins with its size. */
static void *from_store(size_t size)
{
    if (size > STORE_BYTES / 2)
        return NULL;
    size_t whole = (size + 2 * STORE_ALIGN - 1) / STORE_ALIGN * STORE_ALIGN;
    size_t at = atomic_fetch_add(&stored, whole);
    if (at + whole > STORE_BYTES)
        return NULL;
    memcpy(store + at, &size, sizeof size);
    return store + at + STORE_ALIGN;
}

/* A library with an allocator of its own may leave out what few programs ask for: then the answer is another
 * allocator's, which must not look at pieces that are not its own. */
static bool same_library(const void *one, const void *other)
{
    Dl_info of_one, of_other;
    return one && other && dladdr(one, &of_one) && dladdr(other, &of_other) &&
           of_one.dli_fbase == of_other.dli_fbase;
}

/* Whether the real functions are at hand; false while this thread is looking for them. Several threads may
 * look at once: they find the same. */
static bool ready(void)
{
    if (atomic_load_explicit(&found, memory_order_acquire))
        return true;
    if (looking)
        return false;
    enum { FREE = 3, SIZE_OF = 6 };
    static const char *const names[] = {
        "malloc",   "calloc", "realloc", "free", "posix_memalign", "aligned_alloc", "malloc_usable_size",
        "memalign", "valloc", "pvalloc", "mmap"};
    _Static_assert(sizeof names == sizeof real, "a name for each function");
    void *addresses[sizeof names / sizeof *names];
    int error = errno;
    looking = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        addresses[i] = dlsym(RTLD_NEXT, names[i]);
    if (!same_library(addresses[FREE], addresses[SIZE_OF]))
        addresses[SIZE_OF] = NULL;
    looking = false;
    errno = error;
    memcpy(&real, addresses, sizeof addresses);
    atomic_store_explicit(&found, true, memory_order_release);
    return true;
}

static uint64_t least(void)
{
    return ll_process_generation() ? ll_process_control()->least_allocation : 0;
}

static void *tell_allocated(void *address, size_t size)
{
    uint64_t from = least();
    if (from && size >= from && address)
        ll_push_event(LL_RING_ALLOCATE, (uint64_t)(uintptr_t)address, size, 4);
    return address;
}

/* How large a piece is that is about to go, when that was or would have been told; else 0. An allocator that
 * does not answer is told of new pieces alone, which forget what lay there before. */
static size_t tell_released(void *address)
{
    uint64_t from = least();
    size_t size = from && address && real.malloc_usable_size ? real.malloc_usable_size(address) : 0;
    if (!from || size < from)
        return 0;
    ll_push_event(LL_RING_RELEASE, (uint64_t)(uintptr_t)address, 0, 3);
    return size;
}

LL_EXPORT void *malloc(size_t size)
{
    return ready() ? tell_allocated(real.malloc(size), size) : from_store(size);
}

LL_EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (ready())
        return tell_allocated(real.calloc(count, size), count * size);
    return __builtin_mul_overflow(count, size, &bytes) ? NULL : from_store(bytes);
}

LL_EXPORT void free(void *address)
{
    if (!address || is_stored(address) || !ready())
        return;
    tell_released(address);
    real.free(address);
}

/* A piece of the store moves out of it. */
static void *move_out(const void *address, size_t size)
{
    size_t before;
    memcpy(&before, (const char *)address - STORE_ALIGN, sizeof before);
    void *moved = malloc(size);
    if (moved)
        memcpy(moved, address, before < size ? before : size);
    return moved;
}

LL_EXPORT void *realloc(void *address, size_t size)
{
    if (is_stored(address))
        return move_out(address, size);
    if (!ready())
        return address ? NULL : from_store(size);
    size_t before = tell_released(address);
    void *moved = real.realloc(address, size);
    if (!moved && size && before)
        tell_allocated(address, before);
    return tell_allocated(moved, size);
}

LL_EXPORT int posix_memalign(void **address, size_t alignment, size_t size)
{
    if (!ready())
        return ENOMEM;
    int status = real.posix_memalign(address, alignment, size);
    if (status == 0)
        tell_allocated(*address, size);
    return status;
}

LL_EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return ready() ? tell_allocated(real.aligned_alloc(alignment, size), size) : NULL;
}

LL_EXPORT void *memalign(size_t alignment, size_t size)
{
    return ready() ? tell_allocated(real.memalign(alignment, size), size) : NULL;
}

LL_EXPORT void *valloc(size_t size)
{
    return ready() ? tell_allocated(real.valloc(size), size) : NULL;
}

LL_EXPORT void *pvalloc(size_t size)
{
    return ready() ? tell_allocated(real.pvalloc(size), size) : NULL;
}

/* What this library maps is no memory of the program. */
LL_EXPORT void *mmap(void *near, size_t size, int access, int flags, int file, off_t offset)
{
    if (!ready())
        return (void *)syscall(SYS_mmap, near, size, access, flags, file, offset);
    void *mapped = real.mmap(near, size, access, flags, file, offset);
    if (mapped != MAP_FAILED && !ll_is_ours(__builtin_return_address(0)))
        tell_allocated(mapped, size);
    return mapped;
}

LL_EXPORT void *mmap64(void *near, size_t size, int access, int flags, int file, off64_t offset)
    __attribute__((alias("mmap")));
