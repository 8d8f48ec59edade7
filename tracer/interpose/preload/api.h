/* SPDX-License-Identifier: Apache-2.0 */
/* What the preload library offers to those who bring calls to it by other ways than preloading (the audit
 * interface, relocation slots, patched entries); found by dlsym in the recorded process. Thread-safe. */
#ifndef LL_INTERPOSE_API_H
#define LL_INTERPOSE_API_H

#include <stdbool.h>

/* The wrapper of an exported name, NULL where we have none. */
__attribute__((visibility("default"))) void *ll_interpose_wrapper(const char *name);

/* From now on the wrapper of this name calls `real`, whoever its caller is; NULL leaves it to the resolver
 * again. False where we have no such wrapper. */
__attribute__((visibility("default"))) bool ll_interpose_set_real(const char *name, void *real);

#endif
