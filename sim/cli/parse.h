/* SPDX-License-Identifier: Apache-2.0 */
/* A command line, taken apart by the rows of its command. */
#ifndef LL_SIM_CLI_PARSE_H
#define LL_SIM_CLI_PARSE_H

#include "sim/cli/command.h"

/* Runs the command, or says what is wrong with the command line, or prints the command's page. argv[0] is the
 * command's name. An exit status. */
int ll_command_run(const struct ll_command *command, int argc, char **argv);

#endif
