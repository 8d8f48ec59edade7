/* SPDX-License-Identifier: Apache-2.0 */
/* Pointers that dlsym and dlvsym give: a program that asks for a routine gets a piece of code that jumps to
 * the wrapper, and tells it, as a patched entry does, which function it stands for (ll_entered). Two
 * libraries that export the same name have two such pieces.
 *
 *     piece i:   i -> register       common:   ll_entered = pieces[i].real
 *                jmp common                    jmp pieces[i].wrapper
 *
 * What dlsym answers depends on who asks (RTLD_NEXT, RTLD_DEFAULT). Our dlsym is therefore written so that
 * the real one, where it is to answer, finds the caller's return address where it expects it. Registers r10
 * and r11 belong to nobody between functions (System V ABI, x86-64, 3.2.1), nor do x9 to x17 (AAPCS64,
 * 6.1.1). */
#define _GNU_SOURCE
#include "tracer/interpose/patch/patch.h"

#include "tracer/interpose/preload/preload.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define PIECES 4096
#define PIECE_BYTES 16
#define MOST_TRIES 100000000
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define HIDDEN __attribute__((visibility("hidden")))

struct piece {
    _Atomic(void *) real; /* written last; NULL: free */
    void *wrapper;
};

HIDDEN struct piece ll_pieces[PIECES];
extern const char ll_piece_code[] HIDDEN;

static void *no_answer(void *handle, const char *name, const char *version)
{
    (void)handle, (void)name, (void)version;
    return NULL;
}

/* As dlsym and dlvsym. */
typedef void *answer(void *handle, const char *name, const char *version);
HIDDEN answer *ll_real_dlsym = no_answer, *ll_real_dlvsym = no_answer;
HIDDEN void *ll_pointer_for(void *handle, const char *name, const char *version, void *caller);

/* Both ask ll_pointer_for(handle, name, version, caller), and where it has no answer jump on. */
#if defined(__x86_64__)
#define ASKING(name, version, real)                                                                          \
    ".globl " name "\n.type " name ", @function\n" name                                                      \
    ":\n endbr64\n push %rdi\n push %rsi\n push %rdx\n " version                                             \
    "mov 24(%rsp), %rcx\n call ll_pointer_for\n pop %rdx\n pop %rsi\n pop %rdi\n"                            \
    " test %rax, %rax\n jz 1f\n ret\n1: jmp *" real "(%rip)\n.size " name ", . - " name "\n"
__asm__(".text\n" ASKING("dlsym", "xor %edx, %edx\n ", "ll_real_dlsym") ASKING(
    "dlvsym", "",
    "ll_real_dlvsym") ".balign 16\n.hidden ll_piece_code\n.globl ll_piece_code\nll_piece_code:\n"
                      ".set piece, 0\n"
                      ".rept " TEXT(
                          PIECES) "\n"
                                  ".balign " TEXT(
                                      PIECE_BYTES) "\n"
                                                   " endbr64\n mov $piece, %r11d\n jmp common_piece\n"
                                                   ".set piece, piece + 1\n"
                                                   ".endr\n"
                                                   "common_piece:\n"
                                                   " lea ll_pieces(%rip), %r10\n shl $4, %r11\n add %r11, "
                                                   "%r10\n mov (%r10), %r11\n"
                                                   " push %rax\n mov ll_entered@gottpoff(%rip), %rax\n mov "
                                                   "%r11, %fs:(%rax)\n pop %rax\n"
                                                   " jmp *8(%r10)\n");
#elif defined(__aarch64__)
#define ASKING(name, version, real)                                                                          \
    ".globl " name "\n.type " name ", %function\n" name ":\n stp x0, x1, [sp, #-32]!\n"                      \
    " stp x2, x30, [sp, #16]\n " version "mov x3, x30\n bl ll_pointer_for\n mov x9, x0\n"                    \
    " ldp x2, x30, [sp, #16]\n ldp x0, x1, [sp], #32\n cbz x9, 1f\n mov x0, x9\n ret\n"                      \
    "1: adrp x16, " real "\n ldr x16, [x16, :lo12:" real "]\n br x16\n.size " name ", . - " name "\n"
__asm__(".text\n" ASKING("dlsym", "mov x2, #0\n ", "ll_real_dlsym") ASKING(
    "dlvsym", "",
    "ll_real_dlvsym") ".balign 16\n.hidden ll_piece_code\n.globl ll_piece_code\nll_piece_code:\n"
                      ".set piece, 0\n"
                      ".rept " TEXT(
                          PIECES) "\n"
                                  ".balign " TEXT(
                                      PIECE_BYTES) "\n"
                                                   " mov w16, #piece\n b common_piece\n"
                                                   ".set piece, piece + 1\n"
                                                   ".endr\n"
                                                   "common_piece:\n"
                                                   " adrp x17, ll_pieces\n add x17, x17, :lo12:ll_pieces\n "
                                                   "add x17, x17, x16, lsl #4\n ldr x9, [x17]\n"
                                                   " mrs x10, tpidr_el0\n adrp x11, :gottprel:ll_entered\n "
                                                   "ldr x11, [x11, :gottprel_lo12:ll_entered]\n"
                                                   " str x9, [x10, x11]\n ldr x16, [x17, #8]\n br x16\n");
#endif

/* One at a time, as dlsym itself takes the loader's lock. A child of a fork amid this gets no new pieces. */
static void *piece_for(void *real, void *wrapper)
{
    static _Atomic uint32_t count;
    static _Atomic bool busy;
    uint32_t made = atomic_load_explicit(&count, memory_order_acquire), at = 0;
    while (at < made && (atomic_load(&ll_pieces[at].real) != real || ll_pieces[at].wrapper != wrapper))
        at++;
    if (at < made)
        return (void *)(uintptr_t)(ll_piece_code + (size_t)at * PIECE_BYTES);
    for (int tries = 0; atomic_exchange(&busy, true); tries++)
        if (tries == MOST_TRIES)
            return NULL;
    at = atomic_load(&count);
    if (at < PIECES) {
        ll_pieces[at].wrapper = wrapper;
        atomic_store(&ll_pieces[at].real, real);
        atomic_store_explicit(&count, at + 1, memory_order_release);
    }
    atomic_store(&busy, false);
    return at < PIECES ? (void *)(uintptr_t)(ll_piece_code + (size_t)at * PIECE_BYTES) : NULL;
}

static void find_real(void)
{
    static _Atomic bool found;
    if (atomic_load_explicit(&found, memory_order_acquire))
        return;
    void *plain = ll_module_symbol_anywhere("dlsym"), *versioned = ll_module_symbol_anywhere("dlvsym");
    if (plain)
        memcpy(&ll_real_dlsym, &plain, sizeof plain);
    if (versioned)
        memcpy(&ll_real_dlvsym, &versioned, sizeof versioned);
    atomic_store_explicit(&found, true, memory_order_release);
}

/* RTLD_DEFAULT finds the wrapper itself. What an entry was patched of is seen as it is. */
void *ll_pointer_for(void *handle, const char *name, const char *version, void *caller)
{
    int error = errno;
    find_real();
    const struct ll_patch_target *wanted =
        name && handle != RTLD_DEFAULT && ll_process_control() && !ll_is_ours(caller)
            ? ll_patch_target_find(name)
            : NULL;
    void *real = NULL;
    if (wanted && wanted->symbol != LL_PATCH_OTHER) {
        if (handle == RTLD_NEXT)
            real = ll_module_symbol_behind(name, caller);
        else
            real = version ? ll_real_dlvsym(handle, name, version) : ll_real_dlsym(handle, name, NULL);
    }
    if (real && (ll_is_ours(real) || ll_entry_behind(real) != real))
        real = NULL;
    void *pointer = real ? piece_for(real, wanted->wrapper) : NULL;
    errno = error;
    return pointer;
}
