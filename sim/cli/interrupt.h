/* SPDX-License-Identifier: Apache-2.0 */
/* Being stopped by the user, for commands that end what they are at first. */
#ifndef LL_SIM_CLI_INTERRUPT_H
#define LL_SIM_CLI_INTERRUPT_H

#include <signal.h>

/* From now on SIGINT and SIGTERM set what is returned, which is 0 until then; the second time either ends
 * the program as ever. Static storage. */
const volatile sig_atomic_t *ll_catch_interrupts(void);

#endif
