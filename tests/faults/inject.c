/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into the program: refuses it memory, or what it asks of files, at one call or from one call on.
 *
 * A call is known by its number, counted from the first in `main`; its site by the return addresses below it.
 * Without LL_FAULT_AT all is granted. Where LL_FAULT_SITES names a file, it gets a line for each site:
 *
 *     number of its first call, hash of the site, library that called, addresses
 *
 * and with LL_FAULT_AT the one line of the call that failed first. LL_FAULT_KIND is `memory` or `files`;
 * LL_FAULT_ON set fails all calls from there on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* What tells a site apart: so many frames outside of libc, the innermost first. */
enum { FRAMES = 40, DEPTH = 5, SITES = 1 << 15 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t align, size_t size);

static struct {
    bool watches, files, on;
    long at, count;
    int report;
    uint64_t seen[SITES];
    pthread_mutex_t lock;
} fault = {.report = -1, .lock = PTHREAD_MUTEX_INITIALIZER};
static _Thread_local bool inside; /* what reports, allocates */

/* The name of the library without its folder, and how far into it the address lies. */
static const char *library_of(void *address, uintptr_t *offset)
{
    struct dl_find_object found;
    *offset = (uintptr_t)address;
    if (_dl_find_object(address, &found) != 0)
        return "?";
    *offset -= (uintptr_t)found.dlfo_link_map->l_addr;
    const char *path = found.dlfo_link_map->l_name, *slash = strrchr(path, '/');
    return slash ? slash + 1 : *path ? path : "leadline";
}

static bool is_new(uint64_t hash)
{
    for (uint64_t i = hash % SITES, tried = 0; tried < SITES; i = (i + 1) % SITES, tried++) {
        if (fault.seen[i] == hash)
            return false;
        if (!fault.seen[i]) {
            fault.seen[i] = hash;
            return true;
        }
    }
    return false;
}

static void report(long number)
{
    void *frames[FRAMES];
    char line[1500], library[64] = "libc.so.6";
    size_t used = 0;
    uint64_t hash = 0xCBF29CE484222325u;
    int count = backtrace(frames, FRAMES), told = 0;
    for (int i = 2; i < count && told < DEPTH; i++) { /* 0 and 1 are of this file */
        uintptr_t offset;
        const char *name = library_of(frames[i], &offset);
        if (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "ld-linux", 8) == 0 ||
            strstr(name, "faults_inject"))
            continue;
        if (told++ == 0)
            snprintf(library, sizeof library, "%s", name);
        hash = (hash ^ offset) * 0x100000001B3u;
        used += (size_t)snprintf(line + used, sizeof line - used, " %s+0x%lx", name, (unsigned long)offset);
        if (used >= sizeof line - 200)
            break;
    }
    if (!fault.at && !is_new(hash ? hash : 1))
        return;
    dprintf(fault.report, "%ld %016lx %s%s\n", number, (unsigned long)hash, library, used ? line : "");
}

/* Whether this call is to fail. */
static bool fails(void)
{
    if (!fault.watches || inside)
        return false;
    inside = true;
    long number = __atomic_add_fetch(&fault.count, 1, __ATOMIC_SEQ_CST);
    bool now = fault.at && (fault.on ? number >= fault.at : number == fault.at);
    if (fault.report >= 0 && (!fault.at || number == fault.at)) {
        pthread_mutex_lock(&fault.lock);
        report(number);
        pthread_mutex_unlock(&fault.lock);
    }
    inside = false;
    return now;
}

static bool lacks_memory(void)
{
    if (fault.files || !fails())
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return lacks_memory() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return lacks_memory() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return size && lacks_memory() ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, bytes);
}

void *memalign(size_t align, size_t size)
{
    return lacks_memory() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return lacks_memory() ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **memory, size_t align, size_t size)
{
    if (lacks_memory())
        return ENOMEM;
    void *given = __libc_memalign(align, size);
    if (given)
        *memory = given;
    return given ? 0 : ENOMEM;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* Anonymous memory is memory; what else is mapped is a file. */
void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    static __typeof__(&mmap) next;
    if (!next) {
        bool was = inside;
        inside = true;
        next = NEXT(mmap);
        inside = was;
    }
    if (fault.watches && fault.files == !(flags & MAP_ANONYMOUS) && fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return next(at, size, protection, flags, file, offset);
}

/* An ordinary file, or none that is open; what pipes and terminals do is another test. */
static bool file_fails(int file)
{
    struct stat there;
    if (!fault.files || (file >= 0 && (fstat(file, &there) != 0 || !S_ISREG(there.st_mode))) || !fails())
        return false;
    errno = fault.on ? ENOSPC : EIO;
    return true;
}

#define FILE_CALL(type, name, file, refused, parameters, arguments)                                          \
    type name parameters                                                                                     \
    {                                                                                                        \
        return file_fails(file) ? (refused) : NEXT(name) arguments;                                          \
    }
FILE_CALL(ssize_t, write, file, -1, (int file, const void *bytes, size_t size), (file, bytes, size))
FILE_CALL(ssize_t, pwrite, file, -1, (int file, const void *bytes, size_t size, off_t at),
          (file, bytes, size, at))
FILE_CALL(ssize_t, pwrite64, file, -1, (int file, const void *bytes, size_t size, off64_t at),
          (file, bytes, size, at))
FILE_CALL(ssize_t, read, file, -1, (int file, void *bytes, size_t size), (file, bytes, size))
FILE_CALL(ssize_t, pread, file, -1, (int file, void *bytes, size_t size, off_t at), (file, bytes, size, at))
FILE_CALL(ssize_t, pread64, file, -1, (int file, void *bytes, size_t size, off64_t at),
          (file, bytes, size, at))
FILE_CALL(int, fsync, file, -1, (int file), (file))
FILE_CALL(int, fdatasync, file, -1, (int file), (file))
FILE_CALL(int, ftruncate, file, -1, (int file, off_t size), (file, size))
FILE_CALL(int, ftruncate64, file, -1, (int file, off64_t size), (file, size))
FILE_CALL(int, rename, -1, -1, (const char *from, const char *to), (from, to))

/* Of files that are written, what the system kept for later may be lost here. The file is closed all the
 * same. */
int close(int file)
{
    bool written = (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY && file_fails(file);
    int error = errno, closed = NEXT(close)(file);
    if (written)
        errno = error;
    return written ? -1 : closed;
}

/* What the C library reads and writes for a stream it does not ask by name, so the stream's own calls
 * fail. */
enum { ERROR_SEEN = 0x20 }; /* of glibc: ferror() */
static bool stream_fails(FILE *stream)
{
    if (!file_fails(fileno(stream)))
        return false;
    stream->_flags |= ERROR_SEEN;
    return true;
}

size_t fwrite(const void *bytes, size_t size, size_t count, FILE *stream)
{
    return stream_fails(stream) ? 0 : NEXT(fwrite)(bytes, size, count, stream);
}

size_t fread(void *bytes, size_t size, size_t count, FILE *stream)
{
    return stream_fails(stream) ? 0 : NEXT(fread)(bytes, size, count, stream);
}

int fflush(FILE *stream)
{
    return stream && stream_fails(stream) ? EOF : NEXT(fflush)(stream);
}

int fclose(FILE *stream)
{
    bool written = (fcntl(fileno(stream), F_GETFL) & O_ACCMODE) != O_RDONLY && stream_fails(stream);
    int error = errno, closed = NEXT(fclose)(stream);
    if (written)
        errno = error;
    return written ? EOF : closed;
}

/* Where it crashed, in the lines of the report. */
static void tell_crash(int number)
{
    inside = true;
    if (fault.report >= 0)
        report(-number);
    signal(number, SIG_DFL);
    raise(number);
}

/* Only the program itself is watched, not what it starts. */
__attribute__((constructor)) static void begin(void)
{
    char program[4096] = "";
    void *frames[4];
    const char *kind = getenv("LL_FAULT_KIND"), *at = getenv("LL_FAULT_AT"),
               *sites = getenv("LL_FAULT_SITES");
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0 || !kind ||
        strcmp(strrchr(program, '/') + 1, "leadline") != 0)
        return;
    backtrace(frames, 4); /* loads what it needs */
    fault.files = strcmp(kind, "files") == 0;
    fault.at = at ? strtol(at, NULL, 10) : 0;
    fault.on = getenv("LL_FAULT_ON") != NULL;
    if (sites)
        fault.report = fcntl(open(sites, O_WRONLY | O_CREAT | O_TRUNC, 0600), F_DUPFD_CLOEXEC, 900);
    static char stack[1 << 16];
    sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &(struct sigaction){.sa_handler = tell_crash, .sa_flags = SA_ONSTACK}, NULL);
    fault.watches = true;
}

/* How many calls there were, on the last line. */
__attribute__((destructor)) static void end(void)
{
    fault.watches = false;
    if (fault.report >= 0 && !fault.at)
        dprintf(fault.report, "%ld all\n", fault.count);
}
