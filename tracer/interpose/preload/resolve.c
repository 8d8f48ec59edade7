/* SPDX-License-Identifier: Apache-2.0 */
/* Which function a caller would have got without us.
 *
 * 0. What its slot held before that was patched.
 * 1. What follows us in the scope that the program started with (RTLD_NEXT): so binds whoever was linked.
 * 2. A library that was opened locally sees its own needs: the caller's library, then those.
 * 3. A tail call leaves its caller's caller as return address, whose library may know nothing of the
 * function: then any library that has it. */
#define _GNU_SOURCE
#include "tracer/interpose/patch/patch.h"
#include "tracer/interpose/preload/preload.h"

#include <dlfcn.h>
#include <stddef.h>

static const char *const names[] = {
#define LL_SYMBOL(name, routine, signature, letter, abi, result) #name,
#include "tracer/interpose/symbols.def"
};

void *ll_resolve(uint32_t symbol, void *caller)
{
    void *real = ll_slot_real(symbol, caller);
    if (real)
        return real;
    real = dlsym(RTLD_NEXT, names[symbol]);
    if (!real)
        dlerror(); /* the failure was ours */
    if (!real || ll_is_ours(real))
        real = ll_module_symbol_for(names[symbol], caller);
    if (!real)
        real = ll_module_symbol_anywhere(names[symbol]);
    return real;
}
