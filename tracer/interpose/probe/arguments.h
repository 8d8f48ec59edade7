/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a call, read where the caller left them for a function that is just beginning (System V
 * ABI, x86-64, 3.2.3), as the words of a record: the same words that a wrapper writes. */
#ifndef LL_PROBE_ARGUMENTS_H
#define LL_PROBE_ARGUMENTS_H

#include "tracer/interpose/probe/tracee.h"
#include "tracer/interpose/routines.h"

#include <sys/user.h>

/* Whether the arguments of this symbol can be read so: those that lead to further data cannot. */
bool ll_probe_knows(uint32_t symbol);

/* Writes the words of this symbol's record behind `words`; how many. *is_query: the call asks for the size of
 * a workspace and computes nothing. What cannot be read is 0. */
unsigned ll_probe_arguments(const struct ll_tracee *tracee, uint32_t symbol,
                            const struct user_regs_struct *registers,
                            const struct user_fpregs_struct *vectors, uint64_t *words, bool *is_query);

#endif
