/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/interpose/probe/arguments.h"

#include "tracer/interpose/ring.h"
#include "tracer/interpose/signatures.h"

#include <string.h>

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
} symbols[] = {
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

bool ll_probe_knows(uint32_t symbol)
{
    return symbols[symbol].abi != OWN;
}

unsigned ll_probe_arguments(const struct ll_tracee *tracee, uint32_t symbol,
                            const struct user_regs_struct *registers,
                            const struct user_fpregs_struct *vectors, uint64_t *words, bool *is_query)
{
    char letter = *symbols[symbol].letter;
    enum abi abi = symbols[symbol].abi;
    struct cursor cursor = {.tracee = tracee,
                            .registers = registers,
                            .vectors = vectors,
                            .is_double = letter == 'd' || letter == 'z',
                            .is_complex = letter == 'c' || letter == 'z',
                            .is_wide = abi == FORTRAN64 || abi == CBLAS64 || abi == DNNL};
    unsigned count = 0;
    *is_query = false;
    for (unsigned i = 0; i < symbols[symbol].count; i++) {
        enum kind kind = symbols[symbol].kinds[i];
        uint64_t *word = &words[count];
        bool has_word = abi == FORTRAN || abi == FORTRAN64 ? read_fortran(&cursor, kind, word, is_query)
                        : abi == DNNL                      ? read_dnnl(&cursor, kind, word)
                                                           : read_cblas(&cursor, kind, word);
        count += has_word;
    }
    return count;
}
