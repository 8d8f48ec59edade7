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

/* Whether the arguments of this symbol can be read so: those that lead to further data cannot. */
static bool probe_knows(uint32_t symbol)
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

/* A page near each file takes the instructions that stood where breakpoints now stand. Its first byte is a
 * trap. */

#define LOADER_TELLS "_dl_debug_state"

enum { TRAP = 0xcc, FAR_JUMP_BYTES = 14, SLOT_BYTES = 32, LINE_BYTES = 4352 };

/* A file in memory that is being given breakpoints. */
struct site {
    struct ll_breakpoints *breakpoints;
    const struct ll_tracee *tracee;
    uint64_t bias;
    uint64_t free; /* place for the next moved instruction */
};

const struct ll_breakpoint *ll_breakpoints_find(const struct ll_breakpoints *breakpoints, uint64_t address)
{
    for (uint64_t i = 0; i < breakpoints->count; i++)
        if (breakpoints->items[i].address == address)
            return &breakpoints->items[i];
    return NULL;
}

/* The instruction at an address, moved to a place of its own, and a jump to the one after it. */
static bool move_first(struct site *site, uint64_t address, uint8_t *first)
{
    static const uint8_t far_jump[] = {0xff, 0x25, 0, 0, 0, 0};
    uint8_t code[LL_MOVED_BYTES] = {0}, moved[SLOT_BYTES] = {0};
    struct ll_instruction instruction;
    if (!ll_tracee_read(site->tracee, address, code, sizeof code) ||
        !ll_read_instruction(code, sizeof code, &instruction))
        return false;
    size_t bytes = ll_move_instruction(moved, site->free, code, address, &instruction);
    if (bytes == 0)
        return false;
    uint64_t next = address + instruction.bytes;
    memcpy(moved + bytes, far_jump, sizeof far_jump);
    memcpy(moved + bytes + sizeof far_jump, &next, sizeof next);
    *first = code[0];
    return ll_tracee_write(site->tracee, site->free, moved, sizeof moved);
}

static void set(struct site *site, uint64_t address, uint32_t symbol)
{
    struct ll_breakpoints *breakpoints = site->breakpoints;
    const uint8_t trap = TRAP;
    uint8_t first;
    if (ll_breakpoints_find(breakpoints, address))
        return;
    if (!move_first(site, address, &first) ||
        !ll_grow(&breakpoints->items, &breakpoints->capacity, breakpoints->count + 1,
                 sizeof *breakpoints->items) ||
        !ll_tracee_write(site->tracee, address, &trap, 1)) {
        breakpoints->unset++;
        return;
    }
    breakpoints->items[breakpoints->count++] = (struct ll_breakpoint){address, site->free, symbol, first};
    site->free += SLOT_BYTES;
}

static void fill_names(struct ll_map *names)
{
    for (uint32_t i = names->count; i < LL_SYMBOL_COUNT; i++)
        if (ll_map_intern(names, ll_symbol_row(i)->name, strlen(ll_symbol_row(i)->name), NULL) != i)
            return;
}

/* Which routine of ours it is, or LL_BREAKPOINT_LOADED; false: no stop there. */
static bool is_wanted(const struct ll_breakpoints *breakpoints, const struct ll_elf_symbol *symbol,
                      uint32_t *which)
{
    if (!symbol->defined || !symbol->function || symbol->indirect || !symbol->address)
        return false;
    *which = ll_map_find(&breakpoints->names, symbol->name, strlen(symbol->name));
    if (*which != LL_NO_ID)
        return probe_knows(*which);
    *which = LL_BREAKPOINT_LOADED;
    return strcmp(symbol->name, LOADER_TELLS) == 0;
}

static void set_all(struct site *site, const struct ll_elf_symbol *symbols, size_t count)
{
    uint32_t which;
    for (size_t i = 0; i < count; i++)
        if (is_wanted(site->breakpoints, &symbols[i], &which))
            set(site, symbols[i].address + site->bias, which);
}

static size_t count_wanted(const struct ll_breakpoints *breakpoints, const struct ll_elf_symbol *symbols,
                           size_t count)
{
    size_t wanted = 0;
    uint32_t which;
    for (size_t i = 0; i < count; i++)
        wanted += is_wanted(breakpoints, &symbols[i], &which);
    return wanted;
}

static void set_in_file(struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee, pid_t thread,
                        struct ll_probed *file)
{
    const uint8_t trap = TRAP;
    struct ll_arena arena = {0};
    const struct ll_elf *elf = ll_elf_read(&arena, file->path);
    file->bias = elf && elf->movable ? file->begin : 0;
    size_t wanted = elf ? count_wanted(breakpoints, elf->symbols, elf->symbol_count) +
                              count_wanted(breakpoints, elf->functions, elf->function_count)
                        : 0;
    uint64_t place = wanted ? ll_tracee_map(tracee, thread, file->begin, (wanted + 1) * SLOT_BYTES) : 0;
    if (place && ll_tracee_write(tracee, place, &trap, 1)) {
        struct site site = {breakpoints, tracee, file->bias, place + SLOT_BYTES};
        breakpoints->trap = breakpoints->trap ? breakpoints->trap : place;
        set_all(&site, elf->symbols, elf->symbol_count);
        set_all(&site, elf->functions, elf->function_count);
    }
    ll_arena_release(&arena);
}

/* One line of /proc/PID/maps: what is mapped from a file's beginning on is the file, the rest follows it. */
static void note_mapping(struct ll_breakpoints *breakpoints, uint64_t begin, uint64_t end, uint64_t offset,
                         const char *path)
{
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        struct ll_probed *file = &breakpoints->files[i];
        if (begin < file->begin || strcmp(file->path, path) != 0 || (offset == 0 && begin != file->begin))
            continue;
        file->end = end > file->end ? end : file->end;
        file->mapped = true;
        return;
    }
    const char *copy = offset == 0 ? ll_copy_text(&breakpoints->arena, path, strlen(path)) : NULL;
    if (copy && ll_grow(&breakpoints->files, &breakpoints->file_capacity, breakpoints->file_count + 1,
                        sizeof *breakpoints->files))
        breakpoints->files[breakpoints->file_count++] =
            (struct ll_probed){.begin = begin, .end = end, .path = copy, .mapped = true};
}

/* Forgets what was unmapped: another file may lie there next. */
static void forget_unmapped(struct ll_breakpoints *breakpoints)
{
    uint64_t files = 0;
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        const struct ll_probed *file = &breakpoints->files[i];
        uint64_t kept = 0;
        for (uint64_t at = 0; !file->mapped && at < breakpoints->count; at++)
            if (breakpoints->items[at].address < file->begin || breakpoints->items[at].address >= file->end)
                breakpoints->items[kept++] = breakpoints->items[at];
        if (file->mapped)
            breakpoints->files[files++] = *file;
        else
            breakpoints->count = kept;
    }
    breakpoints->file_count = files;
}

void ll_breakpoints_set(struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee, pid_t thread)
{
    char line[LINE_BYTES];
    uint64_t begin, end, offset;
    for (uint64_t i = 0; i < breakpoints->file_count; i++)
        breakpoints->files[i].mapped = false;
    snprintf(line, sizeof line, "/proc/%d/maps", (int)tracee->pid);
    FILE *maps = fopen(line, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        int path_at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &begin, &end, &offset,
                   &path_at) == 3 &&
            path_at && line[path_at] == '/')
            note_mapping(breakpoints, begin, end, offset, line + path_at);
    }
    if (maps)
        fclose(maps);
    forget_unmapped(breakpoints);
    fill_names(&breakpoints->names);
    for (uint64_t i = 0; i < breakpoints->file_count; i++) {
        if (!breakpoints->files[i].looked_at)
            set_in_file(breakpoints, tracee, thread, &breakpoints->files[i]);
        breakpoints->files[i].looked_at = true;
    }
}

void ll_breakpoints_clear(const struct ll_breakpoints *breakpoints, const struct ll_tracee *tracee)
{
    for (uint64_t i = 0; i < breakpoints->count; i++)
        ll_tracee_write(tracee, breakpoints->items[i].address, &breakpoints->items[i].byte, 1);
}

bool ll_breakpoints_copy(struct ll_breakpoints *breakpoints, const struct ll_breakpoints *from)
{
    *breakpoints = (struct ll_breakpoints){.trap = from->trap, .unset = from->unset};
    if (!ll_grow(&breakpoints->items, &breakpoints->capacity, from->count, sizeof *from->items) ||
        !ll_grow(&breakpoints->files, &breakpoints->file_capacity, from->file_count, sizeof *from->files))
        return false;
    if (from->count)
        memcpy(breakpoints->items, from->items, from->count * sizeof *from->items);
    breakpoints->count = from->count;
    for (uint64_t i = 0; i < from->file_count; i++) {
        struct ll_probed *file = &breakpoints->files[breakpoints->file_count++];
        *file = from->files[i];
        file->said = false;
        file->path = ll_copy_text(&breakpoints->arena, from->files[i].path, strlen(from->files[i].path));
        if (!file->path)
            return false;
    }
    return true;
}

void ll_breakpoints_release(struct ll_breakpoints *breakpoints)
{
    ll_arena_release(&breakpoints->arena);
    ll_map_release(&breakpoints->names);
    free(breakpoints->items);
    free(breakpoints->files);
    *breakpoints = (struct ll_breakpoints){0};
}
