/* SPDX-License-Identifier: Apache-2.0 */
/* Shared memory whose file somebody may cut off: touching it then is SIGBUS, which ends a process.
 *
 * Behind a shield the process goes on: the first touch replaces the whole piece by memory of its own, all
 * zero, which leads nowhere. Whatever else the signal is sent for happens as it would have without us. For
 * both ends of the rings; plain C, links nothing. */
#ifndef LL_INTERPOSE_RING_SHIELD_H
#define LL_INTERPOSE_RING_SHIELD_H

#include <stdbool.h>
#include <stddef.h>

/* Takes the signal, unless it is taken already. */
void ll_shield_install(void);

/* From now on, and no longer, the piece is shielded. At most some thousands are; others stay as they are. Any
 * thread at any time. */
void ll_shield(void *piece, size_t bytes);
void ll_shield_end(const void *piece);

/* Called from the signal's handler with each piece that was replaced; NULL: nobody is. */
void ll_shield_tell(void (*told)(const void *piece));

/* Whether the piece was replaced. */
bool ll_shield_broken(const void *piece);

#endif
