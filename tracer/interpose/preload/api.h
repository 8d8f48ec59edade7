/* SPDX-License-Identifier: Apache-2.0 */
/* What the preload library offers to those who bring calls to it by other ways than preloading (the audit
 * interface, relocation slots, patched entries); found by dlsym in the recorded process. Thread-safe. */
#ifndef LL_INTERPOSE_API_H
#define LL_INTERPOSE_API_H

/* The wrapper of an exported name, NULL where we have none. */
__attribute__((visibility("default"))) void *ll_interpose_wrapper(const char *name);

#endif
