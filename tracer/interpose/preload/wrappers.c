/* SPDX-License-Identifier: Apache-2.0 */
/* A wrapper for each row of symbols.def: parameters as its signature has them, the real function with the
 * same arguments, and a record of what the arguments were.
 *
 * A Fortran letter brings its length as a hidden argument behind all others; compilers rely on its place
 * being there, so it is taken and passed on whether the caller gave it or not. A whole number by value is
 * taken as a full register, of which a library with 64-bit integers needs all.
 *
 * Compilers of Fortran do not agree on how functions return (gcc's -ff2c): a real number may come as a
 * double, a complex one in memory to which one more argument points, ahead of the others. A float is
 * therefore kept as the register that it came in, and a complex function is given one argument more; what its
 * record then holds is off by one. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tracer/interpose/preload/preload.h"
#include "tracer/interpose/signatures.h"

/* What a type and a result are in C. */
typedef float part_s, part_c, self_s;
typedef double part_d, part_z, self_d;
typedef float _Complex self_c;
typedef double _Complex self_z;
#define RESULT_VOID(letter) void
#define RESULT_REAL(letter) double
#define RESULT_WIDE(letter) double
#define RESULT_SELF(letter) self_##letter
#define RESULT_INDEX(letter) long

/* The argument more, as parameter and as argument. */
#define MORE_P_VOID
#define MORE_P_REAL
#define MORE_P_WIDE
#define MORE_P_SELF , void *more
#define MORE_P_INDEX
#define MORE_A_VOID
#define MORE_A_REAL
#define MORE_A_WIDE
#define MORE_A_SELF , more
#define MORE_A_INDEX

/* A CBLAS scalar: by value where it is real. */
typedef float scalar_s;
typedef double scalar_d;
typedef const void *scalar_c, *scalar_z;

/* Parameters, each with the comma before it. */
#define P_FORTRAN_ORDER(letter, name)
#define P_FORTRAN_LAYOUT(letter, name) , const char *name
#define P_FORTRAN_TRANS(letter, name) , const char *name
#define P_FORTRAN_UPLO(letter, name) , const char *name
#define P_FORTRAN_SIDE(letter, name) , const char *name
#define P_FORTRAN_DIAG(letter, name) , const char *name
#define P_FORTRAN_JOB(letter, name) , const char *name
#define P_FORTRAN_COUNT(letter, name) , const void *name
#define P_FORTRAN_WORK(letter, name) , const void *name
#define P_FORTRAN_SCALAR(letter, name) , const part_##letter *name
#define P_FORTRAN_PART(letter, name) , const part_##letter *name
#define P_FORTRAN_PLAIN(letter, name) , const part_##letter *name
#define P_FORTRAN_ARRAY(letter, name) , void *name
#define P_FORTRAN_OTHER(letter, name) , void *name
#define P_FORTRAN_IF_COMPLEX(letter, name) P_IF_COMPLEX_##letter(name)
#define P_FORTRAN_IF_REAL(letter, name) P_IF_REAL_##letter(name)
#define P_IF_COMPLEX_s(name)
#define P_IF_COMPLEX_d(name)
#define P_IF_COMPLEX_c(name) , void *name
#define P_IF_COMPLEX_z(name) , void *name
#define P_IF_REAL_s(name) , void *name
#define P_IF_REAL_d(name) , void *name
#define P_IF_REAL_c(name)
#define P_IF_REAL_z(name)
#define P_CBLAS_ORDER(letter, name) , long name
#define P_CBLAS_LAYOUT(letter, name) , long name
#define P_CBLAS_TRANS(letter, name) , long name
#define P_CBLAS_UPLO(letter, name) , long name
#define P_CBLAS_SIDE(letter, name) , long name
#define P_CBLAS_DIAG(letter, name) , long name
#define P_CBLAS_COUNT(letter, name) , long name
#define P_CBLAS_SCALAR(letter, name) , scalar_##letter name
#define P_CBLAS_PART(letter, name) , part_##letter name
#define P_CBLAS_PLAIN(letter, name) , part_##letter name
#define P_CBLAS_ARRAY(letter, name) , void *name
#define P_CBLAS_OTHER(letter, name) , void *name
#define P_DNNL_ORDER(letter, name)
#define P_DNNL_TRANS(letter, name) , char name
#define P_DNNL_COUNT(letter, name) , int64_t name
#define P_DNNL_SCALAR(letter, name) , scalar_##letter name
#define P_DNNL_ARRAY(letter, name) , void *name
#define P_DNNL(letter, kind, name) P_DNNL_##kind(letter, name)
#define P_FORTRAN(letter, kind, name) P_FORTRAN_##kind(letter, name)
#define P_CBLAS(letter, kind, name) P_CBLAS_##kind(letter, name)

/* Hidden lengths, as parameters and as arguments. */
#define H_ORDER(word)
#define H_LAYOUT(word) , word
#define H_TRANS(word) , word
#define H_UPLO(word) , word
#define H_SIDE(word) , word
#define H_DIAG(word) , word
#define H_JOB(word) , word
#define H_COUNT(word)
#define H_WORK(word)
#define H_SCALAR(word)
#define H_PART(word)
#define H_PLAIN(word)
#define H_ARRAY(word)
#define H_OTHER(word)
#define H_IF_COMPLEX(word)
#define H_IF_REAL(word)
#define HP_FORTRAN(letter, kind, name) H_##kind(size_t name##_length)
#define HA_FORTRAN(letter, kind, name) H_##kind(name##_length)
#define HP_CBLAS(letter, kind, name)
#define HA_CBLAS(letter, kind, name)
#define HP_DNNL(letter, kind, name)
#define HA_DNNL(letter, kind, name)

/* Arguments. */
#define A_FORTRAN_ORDER(letter, name)
#define A_CBLAS_ORDER(letter, name) , name
#define A_DNNL_ORDER(letter, name)
#define A_IF_COMPLEX_s(name)
#define A_IF_COMPLEX_d(name)
#define A_IF_COMPLEX_c(name) , name
#define A_IF_COMPLEX_z(name) , name
#define A_IF_REAL_s(name) , name
#define A_IF_REAL_d(name) , name
#define A_IF_REAL_c(name)
#define A_IF_REAL_z(name)
#define A_LAYOUT(abi, letter, name) , name
#define A_ORDER(abi, letter, name) A_##abi##_ORDER(letter, name)
#define A_TRANS(abi, letter, name) , name
#define A_UPLO(abi, letter, name) , name
#define A_SIDE(abi, letter, name) , name
#define A_DIAG(abi, letter, name) , name
#define A_JOB(abi, letter, name) , name
#define A_COUNT(abi, letter, name) , name
#define A_WORK(abi, letter, name) , name
#define A_SCALAR(abi, letter, name) , name
#define A_PART(abi, letter, name) , name
#define A_PLAIN(abi, letter, name) , name
#define A_ARRAY(abi, letter, name) , name
#define A_OTHER(abi, letter, name) , name
#define A_IF_COMPLEX(abi, letter, name) A_IF_COMPLEX_##letter(name)
#define A_IF_REAL(abi, letter, name) A_IF_REAL_##letter(name)
#define A_FORTRAN(letter, kind, name) A_##kind(FORTRAN, letter, name)
#define A_DNNL(letter, kind, name) A_##kind(DNNL, letter, name)
#define A_CBLAS(letter, kind, name) A_##kind(CBLAS, letter, name)

/* Words of the record. A routine that returns at once may be given NULL for what it does not read. */
static inline uint64_t letter_word(const char *letter)
{
    return letter ? (unsigned char)*letter : 0;
}
static inline uint64_t count_word(const void *count, bool wide)
{
    if (!count)
        return 0;
    return wide ? *(const uint64_t *)count : (uint64_t)(int64_t) * (const int *)count;
}
/* -2 asks for the least that will do (dgetsls, LAPACK 3.7), which all others refuse. */
static inline bool asks_for_size(uint64_t count)
{
    return count == (uint64_t)-1 || count == (uint64_t)-2;
}
static inline uint64_t scalar_word_s(const float *value)
{
    return value ? ll_ring_scalar((double)*value, 0) : LL_RING_ZERO;
}
static inline uint64_t scalar_word_d(const double *value)
{
    return value ? ll_ring_scalar(*value, 0) : LL_RING_ZERO;
}
static inline uint64_t scalar_word_c(const void *value)
{
    const float *part = value;
    return part ? ll_ring_scalar((double)part[0], (double)part[1]) : LL_RING_ZERO;
}
static inline uint64_t scalar_word_z(const void *value)
{
    const double *part = value;
    return part ? ll_ring_scalar(part[0], part[1]) : LL_RING_ZERO;
}
#define part_word_s scalar_word_s
#define part_word_d scalar_word_d
#define part_word_c scalar_word_s
#define part_word_z scalar_word_d
#define BY_VALUE_s(name) &name
#define BY_VALUE_d(name) &name
#define BY_VALUE_c(name) name
#define BY_VALUE_z(name) name

enum { ROWS_FIRST = 101, COLUMNS_FIRST = 102 };
#define W_FORTRAN_ORDER(letter, name) *word++ = COLUMNS_FIRST;
#define W_FORTRAN_LAYOUT(letter, name) *word++ = letter_word(name);
#define W_FORTRAN_TRANS(letter, name) *word++ = letter_word(name);
#define W_FORTRAN_UPLO(letter, name) *word++ = letter_word(name);
#define W_FORTRAN_SIDE(letter, name) *word++ = letter_word(name);
#define W_FORTRAN_DIAG(letter, name) *word++ = letter_word(name);
#define W_FORTRAN_JOB(letter, name) *word++ = letter_word(name);
#define W_FORTRAN_COUNT(letter, name) *word++ = count_word(name, wide);
#define W_FORTRAN_WORK(letter, name) frame.passage.is_query |= asks_for_size(count_word(name, wide));
#define W_FORTRAN_SCALAR(letter, name) *word++ = scalar_word_##letter(name);
#define W_FORTRAN_PART(letter, name) *word++ = part_word_##letter(name);
#define W_FORTRAN_PLAIN(letter, name)
#define W_FORTRAN_ARRAY(letter, name) *word++ = (uint64_t)(uintptr_t)name;
#define W_FORTRAN_OTHER(letter, name)
#define W_FORTRAN_IF_COMPLEX(letter, name)
#define W_FORTRAN_IF_REAL(letter, name)
#define W_CBLAS_ORDER(letter, name) *word++ = (uint64_t)(int)name;
#define W_CBLAS_LAYOUT(letter, name) *word++ = (uint64_t)(int)name;
#define W_CBLAS_TRANS(letter, name) *word++ = (uint64_t)(int)name;
#define W_CBLAS_UPLO(letter, name) *word++ = (uint64_t)(int)name;
#define W_CBLAS_SIDE(letter, name) *word++ = (uint64_t)(int)name;
#define W_CBLAS_DIAG(letter, name) *word++ = (uint64_t)(int)name;
#define W_CBLAS_COUNT(letter, name) *word++ = wide ? (uint64_t)name : (uint64_t)(int64_t)(int)name;
#define W_CBLAS_SCALAR(letter, name) *word++ = scalar_word_##letter(BY_VALUE_##letter(name));
#define W_CBLAS_PART(letter, name) *word++ = part_word_##letter(&name);
#define W_CBLAS_PLAIN(letter, name)
#define W_CBLAS_ARRAY(letter, name) *word++ = (uint64_t)(uintptr_t)name;
#define W_CBLAS_OTHER(letter, name)
#define W_DNNL_ORDER(letter, name) *word++ = ROWS_FIRST;
#define W_DNNL_TRANS(letter, name) *word++ = (unsigned char)name;
#define W_DNNL_COUNT(letter, name) *word++ = (uint64_t)name;
#define W_DNNL_SCALAR(letter, name) *word++ = scalar_word_##letter(BY_VALUE_##letter(name));
#define W_DNNL_ARRAY(letter, name) *word++ = (uint64_t)(uintptr_t)name;
#define W_DNNL(letter, kind, name) W_DNNL_##kind(letter, name)
#define W_FORTRAN(letter, kind, name) W_FORTRAN_##kind(letter, name)
#define W_CBLAS(letter, kind, name) W_CBLAS_##kind(letter, name)

/* Lists begin with a comma; what stands before it is empty. */
#define WITHOUT_FIRST(nothing, ...) __VA_ARGS__
#define LIST(...) WITHOUT_FIRST(__VA_ARGS__)

/* Keeping a result across the end of the record; nothing is kept of VOID. */
#define KEEP_VOID(letter, call) call;
#define KEEP_REAL(letter, call) double result = call;
#define KEEP_WIDE(letter, call) double result = call;
#define KEEP_SELF(letter, call) self_##letter result = call;
#define KEEP_INDEX(letter, call) long result = call;
#define GIVE_VOID
#define GIVE_REAL result
#define GIVE_WIDE result
#define GIVE_SELF result
#define GIVE_INDEX result
#define NONE_VOID
#define NONE_REAL 0
#define NONE_WIDE 0
#define NONE_SELF 0
#define NONE_INDEX 0

#define WRAP_FORTRAN(...) WRAP(__VA_ARGS__)
#define WRAP_CBLAS(...) WRAP(__VA_ARGS__)
#define WRAP_DNNL(...) WRAP(__VA_ARGS__)
#define WRAP_FORTRAN64(...) WRAP(__VA_ARGS__)
#define WRAP_CBLAS64(...) WRAP(__VA_ARGS__)
#define WRAP_OWN(...)

/* With integers of 64 bits everything else is as it is with those of 32. */
enum { WIDE_FORTRAN = 0, WIDE_CBLAS = 0, WIDE_DNNL = 1, WIDE_FORTRAN64 = 1, WIDE_CBLAS64 = 1 };
#define P_FORTRAN64 P_FORTRAN
#define HP_FORTRAN64 HP_FORTRAN
#define HA_FORTRAN64 HA_FORTRAN
#define A_FORTRAN64 A_FORTRAN
#define W_FORTRAN64 W_FORTRAN
#define P_CBLAS64 P_CBLAS
#define HP_CBLAS64 HP_CBLAS
#define HA_CBLAS64 HA_CBLAS
#define A_CBLAS64 A_CBLAS
#define W_CBLAS64 W_CBLAS
#define LL_SYMBOL(name, routine, signature, letter, abi, returns)                                            \
    WRAP_##abi(name, signature, letter, abi, returns)
#define WRAP(name, signature, letter, abi, returns)                                                          \
    LL_EXPORT RESULT_##returns(letter) name(LIST(LL_SIGNATURE_##signature(                                   \
        P_##abi, letter) LL_SIGNATURE_##signature(HP_##abi, letter) MORE_P_##returns));                      \
    RESULT_##returns(letter) name(LIST(LL_SIGNATURE_##signature(P_##abi, letter)                             \
                                           LL_SIGNATURE_##signature(HP_##abi, letter) MORE_P_##returns))     \
    {                                                                                                        \
        enum { wide = WIDE_##abi };                                                                          \
        struct ll_wrapper_frame frame;                                                                       \
        uint64_t *word = frame.words + LL_RING_CALL_WORDS;                                                   \
        frame.passage =                                                                                      \
            (struct ll_passage){.symbol = LL_SYMBOL_##name, .caller = __builtin_return_address(0)};          \
        LL_SIGNATURE_##signature(W_##abi, letter) union {                                                    \
            void *address;                                                                                   \
            __typeof__(&name) call;                                                                          \
        } real = {.address = ll_enter(&frame, __builtin_frame_address(0))};                                  \
        if (!real.address)                                                                                   \
            return NONE_##returns;                                                                           \
        KEEP_##returns(letter,                                                                               \
                       real.call(LIST(LL_SIGNATURE_##signature(A_##abi, letter)                              \
                                          LL_SIGNATURE_##signature(HA_##abi, letter) MORE_A_##returns)))     \
            ll_leave(&frame, LL_RING_CALL, (unsigned)(word - frame.words));                                  \
        return GIVE_##returns;                                                                               \
    }
#include "tracer/interpose/symbols.def"

static const struct {
    const char *name;
    void *wrapper;
} wrappers[] = {
#define LL_SYMBOL(name, routine, signature, letter, abi, returns) {#name, (void *)name},
#include "tracer/interpose/symbols.def"
};

void *ll_wrapper_of(uint32_t symbol)
{
    return wrappers[symbol].wrapper;
}

void *ll_interpose_wrapper(const char *name)
{
    for (uint32_t symbol = 0; symbol < LL_SYMBOL_COUNT; symbol++)
        if (strcmp(wrappers[symbol].name, name) == 0)
            return wrappers[symbol].wrapper;
    return NULL;
}

/* Ends that no handler sees. Both do what the C library's do, and may be called by signal handlers. They
 * may also be a child's that lives in its parent's memory (vfork); the parent takes the mark back when it
 * goes on. Whose end it is, a system call would tell, which the program may have forbidden. */

static _Noreturn void leave(int status)
{
    ll_process_ends();
    for (;;)
        syscall(SYS_exit_group, status);
}

LL_EXPORT _Noreturn void _exit(int status)
{
    leave(status);
}

LL_EXPORT _Noreturn void _Exit(int status)
{
    leave(status);
}
