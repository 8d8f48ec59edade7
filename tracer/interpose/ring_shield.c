/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "tracer/interpose/ring.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PIECES = 4096 };

struct piece {
    _Atomic uintptr_t begin; /* written last; 0: free */
    _Atomic size_t bytes;
    _Atomic pid_t process; /* its children have other memory there */
    _Atomic bool broken;
};

static struct piece pieces[PIECES];
static _Atomic uint32_t piece_count; /* places beyond were never taken */
static struct sigaction before;
static void (*_Atomic tell)(const void *piece);

/* A handler may map memory: mmap touches nothing of the C library but errno. */
static bool replace(uintptr_t address)
{
    uint32_t count = atomic_load(&piece_count);
    for (uint32_t i = 0; i < count && i < PIECES; i++) {
        uintptr_t begin = atomic_load(&pieces[i].begin);
        size_t bytes = atomic_load(&pieces[i].bytes);
        if (!begin || address < begin || address - begin >= bytes ||
            atomic_load(&pieces[i].process) != getpid())
            continue;
        if (mmap((void *)begin, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                 0) == MAP_FAILED)
            return false;
        void (*told)(const void *) = atomic_load(&tell);
        atomic_store(&pieces[i].broken, true);
        if (told)
            told((const void *)begin);
        return true;
    }
    return false;
}

/* What is not ours goes to whoever was there before. By default a fault happens again when we return, and
 * ends the process then. */
static void take(int number, siginfo_t *info, void *context)
{
    int error = errno;
    bool is_fault = info->si_code > 0, is_ours = is_fault && replace((uintptr_t)info->si_addr);
    if (!is_ours && before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else if (!is_ours && before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
        before.sa_handler(number);
    else if (!is_ours && (is_fault || before.sa_handler == SIG_DFL)) {
        const struct sigaction usual = {.sa_handler = SIG_DFL};
        sigaction(number, &usual, NULL);
        if (!is_fault)
            raise(number);
    }
    errno = error;
}

void ll_shield_install(void)
{
    struct sigaction present;
    if (sigaction(SIGBUS, NULL, &present) != 0 ||
        (present.sa_flags & SA_SIGINFO && present.sa_sigaction == take))
        return;
    struct sigaction action = before = present;
    action.sa_sigaction = take;
    action.sa_flags |= SA_SIGINFO;
    sigaction(SIGBUS, &action, NULL);
}

void ll_shield(void *piece, size_t bytes)
{
    uintptr_t none = 0;
    uint32_t at = 0;
    while (at < PIECES && !atomic_compare_exchange_strong(&pieces[at].begin, &none, UINTPTR_MAX))
        at++, none = 0;
    if (at == PIECES)
        return;
    atomic_store(&pieces[at].broken, false);
    atomic_store(&pieces[at].bytes, bytes);
    atomic_store(&pieces[at].process, getpid());
    atomic_store(&pieces[at].begin, (uintptr_t)piece);
    for (uint32_t count = atomic_load(&piece_count); count <= at;)
        atomic_compare_exchange_strong(&piece_count, &count, at + 1);
}

void ll_shield_tell(void (*told)(const void *piece))
{
    atomic_store(&tell, told);
}

static struct piece *piece_at(const void *begin)
{
    uint32_t count = atomic_load(&piece_count);
    for (uint32_t i = 0; i < count && i < PIECES; i++)
        if (atomic_load(&pieces[i].begin) == (uintptr_t)begin)
            return &pieces[i];
    return NULL;
}

void ll_shield_end(const void *piece)
{
    struct piece *found = piece_at(piece);
    if (found)
        atomic_store(&found->begin, 0);
}

bool ll_shield_broken(const void *piece)
{
    const struct piece *found = piece_at(piece);
    return found && atomic_load(&found->broken);
}
