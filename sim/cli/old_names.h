/* SPDX-License-Identifier: Apache-2.0 */
/* Names of version 0.1 that have successors: commands, options, JSON keys (old_names.def). */
#ifndef LL_SIM_CLI_OLD_NAMES_H
#define LL_SIM_CLI_OLD_NAMES_H

#include "tracer/base/str.h"

/* The name that a command of version 0.1 has now; NULL where this is no old name. */
const char *ll_new_command(const char *old);

/* What version 0.1 called this option of a command; NULL where it had no other name. */
const char *ll_old_option(const char *command, const char *option);

/* Puts before each member of a JSON document whose key was renamed the same value under its old key. The
 * document is one that this command printed. The text is replaced; one that failed stays as it is. */
void ll_add_old_keys(const char *command, struct ll_str *text);

#endif
