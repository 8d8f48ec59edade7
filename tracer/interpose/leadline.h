/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that want to say where their steps begin. Each ends at the next mark; nobody knows where the
 * last one ends, so it counts for a step only where a mark follows it. Nothing to link: recorded by `leadline
 * record`, the mark is kept; otherwise it costs a comparison. From Python: ctypes.CDLL(None).leadline_step(),
 * which is there only while recording. */
#ifndef LL_LEADLINE_H
#define LL_LEADLINE_H

#ifdef __cplusplus
extern "C" {
#endif

/* In the preload library; a program that is not recorded has none. */
extern __attribute__((weak, visibility("default"))) void leadline_step(void);

/* A step of this process begins here, on whichever thread. Nothing when it is not recorded. */
static inline void leadline_mark_step(void)
{
    if (leadline_step)
        leadline_step();
}

#ifdef __cplusplus
}
#endif

#endif
