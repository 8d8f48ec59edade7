/* SPDX-License-Identifier: Apache-2.0 */
/* One sweep at a time writes to a database; others may read it. */
#ifndef LL_SIM_EXPLORE_LOCK_H
#define LL_SIM_EXPLORE_LOCK_H

#include "tracer/base/diag.h"

struct ll_lock;

/* Takes what only one can have of this path at a time; the system gives it back when the process ends,
 * however that is. NULL after a complaint: another has it, then *status is LL_OK, or its file
 * PATH.lock cannot be made, then it says why. */
struct ll_lock *ll_lock_take(const char *path, enum ll_status *status, struct ll_diags *diags);

/* NULL is fine. */
void ll_lock_release(struct ll_lock *lock);

#endif
