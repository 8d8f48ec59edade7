/* SPDX-License-Identifier: Apache-2.0 */
/* Who wants to know how far long work has come, and may end it. */
#ifndef LL_BASE_LISTENER_H
#define LL_BASE_LISTENER_H

#include <stdbool.h>

struct ll_listener {
    /* What is being done and which share of it is; false: the work is to end early. NULL: nobody asks. */
    bool (*show)(void *context, const char *what, double done);
    void *context;
};

/* Whether to go on. */
static inline bool ll_tell(const struct ll_listener *listener, const char *what, double done)
{
    return !listener->show || listener->show(listener->context, what, done);
}

#endif
