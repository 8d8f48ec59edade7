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
static _Atomic uint64_t early_ticks; /* of a mark before the first call; 0: none */

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
    if (ll_process_generation())
        ll_push_step(0);
    else if (ll_process_control())
        atomic_store(&early_ticks, ll_process_ticks());
}

void ll_step_at(uint32_t symbol)
{
    uint64_t early = atomic_load_explicit(&early_ticks, memory_order_relaxed);
    if (early && atomic_compare_exchange_strong(&early_ticks, &early, 0))
        ll_push_step(early);
    if (symbol == marked && atomic_fetch_add_explicit(&seen, 1, memory_order_relaxed) % every == 0)
        leadline_step();
}
