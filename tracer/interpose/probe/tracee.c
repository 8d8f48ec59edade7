/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is made by letting the stopped thread do the system call itself: its registers and the two bytes
 * that it would run next are put back afterwards. */
#define _GNU_SOURCE
#include "tracer/interpose/probe/tracee.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tracer/interpose/patch/instruction.h"
#include "tracer/interpose/ring.h"
#include "tracer/interpose/signatures.h"
#include "tracer/record/elf.h"

enum { ATTEMPTS = 9 };

bool ll_tracee_open(struct ll_tracee *tracee, pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    *tracee = (struct ll_tracee){pid, open(path, O_RDWR | O_CLOEXEC)};
    return tracee->memory >= 0;
}

void ll_tracee_release(struct ll_tracee *tracee)
{
    if (tracee->memory >= 0)
        close(tracee->memory);
    tracee->memory = -1;
}

bool ll_tracee_read(const struct ll_tracee *tracee, uint64_t address, void *to, size_t bytes)
{
    return pread(tracee->memory, to, bytes, (off_t)address) == (ssize_t)bytes;
}

bool ll_tracee_write(const struct ll_tracee *tracee, uint64_t address, const void *from, size_t bytes)
{
    return pwrite(tracee->memory, from, bytes, (off_t)address) == (ssize_t)bytes;
}

/* Lets the thread run one instruction. Signals that come before it are sent anew once it is done: not every
 * stop can be left with one. */
static bool step(const struct ll_tracee *tracee, pid_t thread)
{
    int status = 0;
    uint64_t held = 0; /* bit i: signal i + 1 */
    while (ptrace(PTRACE_SINGLESTEP, thread, NULL, NULL) == 0 && waitpid(thread, &status, __WALL) == thread &&
           WIFSTOPPED(status) && WSTOPSIG(status) != SIGTRAP)
        held |= UINT64_C(1) << (WSTOPSIG(status) - 1);
    for (int i = 0; i < 64; i++)
        if (held >> i & 1)
            syscall(SYS_tgkill, tracee->pid, thread, i + 1);
    return WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
}

/* mmap at this place or nowhere. */
static uint64_t map_at(const struct ll_tracee *tracee, pid_t thread, uint64_t address, size_t bytes)
{
    static const uint8_t syscall_code[] = {0x0f, 0x05};
    struct user_regs_struct before, now;
    uint8_t code[sizeof syscall_code];
    if (ptrace(PTRACE_GETREGS, thread, NULL, &before) != 0 ||
        !ll_tracee_read(tracee, before.rip, code, sizeof code))
        return 0;
    now = before;
    now.rax = SYS_mmap;
    now.orig_rax = UINT64_MAX; /* no call of its own is to be started anew */
    now.rdi = address;
    now.rsi = bytes;
    now.rdx = PROT_READ | PROT_WRITE | PROT_EXEC;
    now.r10 = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    now.r8 = UINT64_MAX;
    now.r9 = 0;
    bool done = ll_tracee_write(tracee, before.rip, syscall_code, sizeof code) &&
                ptrace(PTRACE_SETREGS, thread, NULL, &now) == 0 && step(tracee, thread) &&
                ptrace(PTRACE_GETREGS, thread, NULL, &now) == 0;
    ll_tracee_write(tracee, before.rip, code, sizeof code);
    ptrace(PTRACE_SETREGS, thread, NULL, &before);
    return done && now.rax == address ? address : 0;
}

uint64_t ll_tracee_map(const struct ll_tracee *tracee, pid_t thread, uint64_t below, size_t bytes)
{
    uint64_t begin = below & ~(uint64_t)0xffff, distance = 1 << 20;
    for (int i = 0; i < ATTEMPTS && distance < begin; i++, distance *= 2) {
        uint64_t made = map_at(tracee, thread, begin - distance, bytes);
        if (made)
            return made;
    }
    return 0;
}

enum kind {
    ORDER,
    LAYOUT,
    TRANS,
    UPLO,
    SIDE,
    DIAG,
    JOB,
    COUNT,
    WORK,
    SCALAR,
    PART,
    PLAIN,
    ARRAY,
    OTHER,
    IF_COMPLEX,
    IF_REAL
};

/* Those with 64 have whole numbers of 64 bits, as DNNL has. */
enum abi { FORTRAN, FORTRAN64, CBLAS, CBLAS64, DNNL, OWN };

enum { ROWS_FIRST = 101, COLUMNS_FIRST = 102, IN_REGISTERS = 6 };

/* The kinds of each symbol's arguments, in their order; those of OWN are not known here. */
#define KIND(letter, kind, name) kind,
#define KINDS(name, signature, letter)                                                                       \
    static const uint8_t kinds_of_##name[] = {LL_SIGNATURE_##signature(KIND, letter)};
#define KINDS_FORTRAN KINDS
#define KINDS_FORTRAN64 KINDS
#define KINDS_CBLAS KINDS
#define KINDS_CBLAS64 KINDS
#define KINDS_DNNL KINDS
#define KINDS_OWN(name, signature, letter) static const uint8_t kinds_of_##name[] = {OTHER};
#define LL_SYMBOL(name, routine, signature, letter, abi, returns) KINDS_##abi(name, signature, letter)
#include "tracer/interpose/symbols.def"

static const struct {
    const uint8_t *kinds;
    uint8_t count;
    const char *letter; /* s, d, c or z */
    uint8_t abi;
} signatures[] = {
#define LL_SYMBOL(name, routine, signature, letter, abi, returns)                                            \
    {kinds_of_##name, sizeof kinds_of_##name, #letter, abi},
#include "tracer/interpose/symbols.def"
};

/* A call whose arguments are taken one by one, from the first on. */
struct cursor {
    const struct ll_tracee *tracee;
    const struct user_regs_struct *registers;
    const struct user_fpregs_struct *vectors;
    unsigned whole_count, vector_count;
    bool is_double, is_complex, is_wide;
};

static uint64_t next_whole(struct cursor *cursor)
{
    const struct user_regs_struct *r = cursor->registers;
    const uint64_t in_registers[IN_REGISTERS] = {r->rdi, r->rsi, r->rdx, r->rcx, r->r8, r->r9};
    unsigned index = cursor->whole_count++;
    uint64_t value = 0;
    if (index < IN_REGISTERS)
        return in_registers[index];
    ll_tracee_read(cursor->tracee, r->rsp + 8 * (1 + index - IN_REGISTERS), &value, sizeof value);
    return value;
}

/* The word of a number of so many parts, packed from `bytes` on. */
static uint64_t scalar_word(const void *bytes, unsigned count, bool is_double)
{
    double wide[2] = {0};
    float narrow[2] = {0};
    memcpy(is_double ? (void *)wide : narrow, bytes, count * (is_double ? sizeof *wide : sizeof *narrow));
    return is_double ? ll_ring_scalar(wide[0], wide[1])
                     : ll_ring_scalar((double)narrow[0], (double)narrow[1]);
}

static uint64_t next_vector_scalar(struct cursor *cursor)
{
    unsigned index = cursor->vector_count++;
    if (index >= 8)
        return LL_RING_ZERO;
    return scalar_word(&cursor->vectors->xmm_space[4 * index], 1, cursor->is_double);
}

static uint64_t next_pointed_scalar(struct cursor *cursor, unsigned count)
{
    uint64_t bytes[2] = {0}, address = next_whole(cursor);
    ll_tracee_read(cursor->tracee, address, bytes, count * (cursor->is_double ? 8 : 4));
    return scalar_word(bytes, count, cursor->is_double);
}

static int64_t next_pointed_count(struct cursor *cursor)
{
    int64_t wide = 0;
    int32_t narrow = 0;
    uint64_t address = next_whole(cursor);
    if (cursor->is_wide)
        ll_tracee_read(cursor->tracee, address, &wide, sizeof wide);
    else
        ll_tracee_read(cursor->tracee, address, &narrow, sizeof narrow);
    return cursor->is_wide ? wide : narrow;
}

static bool asks_for_size(int64_t count)
{
    return count == -1 || count == -2;
}

static uint64_t next_pointed_letter(struct cursor *cursor)
{
    unsigned char letter = 0;
    ll_tracee_read(cursor->tracee, next_whole(cursor), &letter, 1);
    return letter;
}

/* The word of one argument; false: it has none. */
static bool read_fortran(struct cursor *cursor, enum kind kind, uint64_t *word, bool *is_query)
{
    switch (kind) {
    case ORDER:
        *word = COLUMNS_FIRST;
        return true;
    case COUNT:
        *word = (uint64_t)next_pointed_count(cursor);
        return true;
    case WORK:
        *is_query |= asks_for_size(next_pointed_count(cursor));
        return false;
    case SCALAR:
        *word = next_pointed_scalar(cursor, cursor->is_complex ? 2 : 1);
        return true;
    case PART:
        *word = next_pointed_scalar(cursor, 1);
        return true;
    case ARRAY:
        *word = next_whole(cursor);
        return true;
    case PLAIN:
    case OTHER:
    case IF_COMPLEX:
    case IF_REAL:
        if ((kind != IF_COMPLEX || cursor->is_complex) && (kind != IF_REAL || !cursor->is_complex))
            next_whole(cursor);
        return false;
    default:
        *word = next_pointed_letter(cursor);
        return true;
    }
}

/* Takes the next argument of a CBLAS call, from a register or the stack, by its kind. False for kinds that
 * are passed over because the record does not hold them. */
static bool read_cblas(struct cursor *cursor, enum kind kind, uint64_t *word)
{
    uint64_t whole;
    switch (kind) {
    case COUNT:
        whole = next_whole(cursor);
        *word = cursor->is_wide ? whole : (uint64_t)(int64_t)(int32_t)whole;
        return true;
    case SCALAR:
        *word = cursor->is_complex ? next_pointed_scalar(cursor, 2) : next_vector_scalar(cursor);
        return true;
    case PART:
    case PLAIN:
        *word = next_vector_scalar(cursor);
        return kind == PART;
    case ARRAY:
    case OTHER:
        *word = next_whole(cursor);
        return kind == ARRAY;
    default:
        *word = (uint64_t)(int64_t)(int32_t)next_whole(cursor);
        return true;
    }
}

/* As CBLAS, but letters are letters, and there is one order. */
static bool read_dnnl(struct cursor *cursor, enum kind kind, uint64_t *word)
{
    if (kind == ORDER)
        *word = ROWS_FIRST;
    else if (kind == TRANS)
        *word = (unsigned char)next_whole(cursor);
    else
        return read_cblas(cursor, kind, word);
    return true;
}

bool ll_probe_knows(uint32_t symbol)
{
    return signatures[symbol].abi != OWN;
}

unsigned ll_probe_arguments(const struct ll_tracee *tracee, uint32_t symbol,
                            const struct user_regs_struct *registers,
                            const struct user_fpregs_struct *vectors, uint64_t *words, bool *is_query)
{
    char letter = *signatures[symbol].letter;
    enum abi abi = signatures[symbol].abi;
    struct cursor cursor = {.tracee = tracee,
                            .registers = registers,
                            .vectors = vectors,
                            .is_double = letter == 'd' || letter == 'z',
                            .is_complex = letter == 'c' || letter == 'z',
                            .is_wide = abi == FORTRAN64 || abi == CBLAS64 || abi == DNNL};
    unsigned count = 0;
    *is_query = false;
    for (unsigned i = 0; i < signatures[symbol].count; i++) {
        enum kind kind = signatures[symbol].kinds[i];
        uint64_t *word = &words[count];
        bool has_word = abi == FORTRAN || abi == FORTRAN64 ? read_fortran(&cursor, kind, word, is_query)
                        : abi == DNNL                      ? read_dnnl(&cursor, kind, word)
                                                           : read_cblas(&cursor, kind, word);
        count += has_word;
    }
    return count;
}
