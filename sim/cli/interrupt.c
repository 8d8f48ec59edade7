/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "sim/cli/interrupt.h"

#include <stddef.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

const volatile sig_atomic_t *ll_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESETHAND};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    return &interrupted;
}
