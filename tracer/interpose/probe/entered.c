/* SPDX-License-Identifier: Apache-2.0 */
#include "tracer/interpose/probe/entered.h"

#include "tracer/interpose/probe/arguments.h"

#include <sys/ptrace.h>

/* Calls that something jumped out of: what begins or returns now lies higher on the stack than they did. */
static void drop_abandoned(struct ll_probed_thread *thread, uint64_t stack)
{
    while (thread->depth && thread->call[thread->depth - 1].stack < stack)
        thread->depth--;
}

void ll_probe_enter(struct ll_probed_thread *thread, struct user_regs_struct *registers,
                    const struct ll_breakpoint *at)
{
    const struct ll_tracee *tracee = &thread->process->tracee;
    const uint64_t *trap = &thread->process->breakpoints.trap;
    struct user_fpregs_struct vectors;
    uint64_t caller;
    registers->rip = at->behind;
    if (!ll_tracee_read(tracee, registers->rsp, &caller, sizeof caller))
        return;
    /* Where a call in progress returns to, only one that it ends with (a tail call) leaves that untouched. */
    drop_abandoned(thread, registers->rsp + (caller != *trap));
    if (thread->depth == LL_DEEPEST || !*trap || ptrace(PTRACE_GETFPREGS, thread->tid, NULL, &vectors) != 0)
        return;
    struct ll_probed_call *call = &thread->call[thread->depth];
    call->stack = registers->rsp;
    call->caller = caller;
    call->symbol = at->symbol;
    call->is_query = false;
    call->count = ll_probe_arguments(tracee, at->symbol, registers, &vectors,
                                     call->words + LL_RING_CALL_WORDS, &call->is_query);
    if (!ll_tracee_write(tracee, registers->rsp, trap, sizeof *trap))
        return;
    thread->depth++;
    call->start_ticks = ll_process_control() ? ll_process_ticks() : 0;
}

static void record(struct ll_probed_thread *thread, struct ll_probed_call *call, uint64_t ticks)
{
    struct ll_ring_process *page = ll_process_open();
    if (!page)
        return;
    if (call->is_query) {
        atomic_fetch_add(&page->queries, 1);
        return;
    }
    if (!ll_thread_ready(&thread->ring, NULL))
        return;
    unsigned count = LL_RING_CALL_WORDS + call->count;
    call->words[0] = ll_ring_header(LL_RING_CALL, count, thread->depth, call->symbol);
    call->words[1] = call->start_ticks;
    call->words[2] = ticks - call->start_ticks;
    call->words[3] = call->caller;
    ll_thread_push(&thread->ring, call->words, count);
}

/* The stack lies just above where the return address was. */
void ll_probe_leave(struct ll_probed_thread *thread, struct user_regs_struct *registers)
{
    uint64_t ticks = ll_process_control() ? ll_process_ticks() : 0;
    drop_abandoned(thread, registers->rsp - sizeof(uint64_t));
    if (thread->depth == 0)
        return;
    struct ll_probed_call *call = &thread->call[--thread->depth];
    registers->rip = call->caller;
    if (ll_process_control())
        record(thread, call, ticks);
}
