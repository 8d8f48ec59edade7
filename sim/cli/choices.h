/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands import and export share: the format that is named, and what is chosen about it. */
#ifndef LL_SIM_CLI_CHOICES_H
#define LL_SIM_CLI_CHOICES_H

#include "sim/cli/command.h"
#include "tracer/convert/convert.h"

/* The format of this name that can be read, or written; NULL after saying that there is none. */
const struct ll_format *ll_find_format(const char *name, bool read);

/* All -p KEY=VALUE, and --batch as the choice `batch`; in the arguments' arena. False after saying which has
 * no key. */
bool ll_read_choices(const struct ll_args *args, struct ll_choice **choices, uint64_t *count);

/* Exports, prints complaints, and tells a trouble of the world about what `path` names; an exit status. */
int ll_run_export(const struct ll_format *format, struct ll_export *export, const char *path);

#endif
