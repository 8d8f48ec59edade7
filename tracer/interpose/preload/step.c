/* SPDX-License-Identifier: Apache-2.0 */
/* Steps: a program says leadline_step(), or LEADLINE_STEP=SYMBOL[:N] in its environment says that each N-th
 * outermost call of a symbol begins one. */
#define _GNU_SOURCE
#include "tracer/interpose/leadline.h"
#include "tracer/interpose/preload/preload.h"

#include <stdlib.h>
#include <string.h>

static uint32_t marked = LL_SYMBOL_COUNT;
static uint64_t every = 1;
static _Atomic uint64_t seen;

static const char *const names[] = {
#define LL_SYMBOL(name, routine, signature, letter, abi, result) #name,
#include "tracer/interpose/symbols.def"
};

__attribute__((constructor)) static void read_mark(void)
{
    const char *mark = getenv("LEADLINE_STEP");
    size_t length = mark ? strcspn(mark, ":") : 0;
    for (uint32_t i = 0; length && i < LL_SYMBOL_COUNT; i++)
        if (strncmp(names[i], mark, length) == 0 && !names[i][length])
            marked = i;
    uint64_t n = 0;
    for (const char *at = length ? mark + length : ""; *at; at++)
        if (*at >= '0' && *at <= '9' && n < 1000000000)
            n = n * 10 + (uint64_t)(*at - '0');
    if (n)
        every = n;
}

void leadline_step(void)
{
    ll_push_event(LL_RING_STEP, 0, 0, 2);
}

void ll_step_at(uint32_t symbol)
{
    if (symbol == marked && atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed) % every == 0)
        leadline_step();
}
