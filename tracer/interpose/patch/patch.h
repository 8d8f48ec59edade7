/* SPDX-License-Identifier: Apache-2.0 */
/* Where standing first in the search for symbols is not enough: slots that hold addresses are rewritten, and
 * routines get a jump to their wrapper as first instruction. Part of the preload library; asleep unless the
 * environment asks for it. What cannot be patched is counted and left alone. */
#ifndef LL_PATCH_PATCH_H
#define LL_PATCH_PATCH_H

#include "tracer/interpose/preload/loaded.h"

#include <stdbool.h>
#include <stdint.h>

/* What is looked for in libraries, and what is to be called instead. */
struct ll_patch_target {
    const char *name;
    void *wrapper;
    uint32_t symbol; /* LL_PATCH_OTHER: no routine of symbols.def */
};
#define LL_PATCH_OTHER UINT32_MAX

/* scan.c: what stands for this name, NULL when nothing does. */
const struct ll_patch_target *ll_patch_target_find(const char *name);

/* slots.c: makes all slots of the library that hold the address of a wanted function hold its wrapper's.
 * Slots that cannot be written stay. */
void ll_slots_patch(const struct ll_loaded *library);

/* The same: makes NULL again what the library asked for weakly and would not have found without us, so that
 * it takes the other way that it has for that. */
void ll_slots_unbind(const struct ll_loaded *library);

/* For the audit library, which finds it by name: a library, told by any address within, was about to get
 * `real` under this name when it was given our wrapper. */
__attribute__((visibility("default"))) void ll_interpose_bound(const char *name, const void *library,
                                                               void *real);

/* The function that the caller's library has called through a slot before it was rewritten; NULL: none known.
 */
void *ll_slot_real(uint32_t symbol, const void *caller);

/* entry.c: from now on calls of the function reach the wrapper, with the function's beginning in ll_entered.
 * False when its first instructions cannot be moved, or when there is no memory near it. Not for two threads
 * at a time. */
bool ll_entry_patch(void *function, uint64_t size_bytes, void *wrapper);

/* What behaves as the function did before it was patched; the function itself when it was not. */
void *ll_entry_behind(void *function);

/* The function that an answer of ll_entry_behind stands for; any other address as it is. */
const void *ll_entry_origin(const void *behind);

/* Set by a patched entry for the wrapper that it jumps to: the real function, taken by ll_enter. */
extern __thread void *ll_entered __attribute__((tls_model("initial-exec")));

#endif
