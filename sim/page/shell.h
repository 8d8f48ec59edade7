/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the room: the shell that all pages share. */
#ifndef LL_SIM_PAGE_SHELL_H
#define LL_SIM_PAGE_SHELL_H

#include "tracer/base/str.h"

/* Appends a whole page. plain: what a reader without scripts sees; data: a JSON object whose key `view` names
 * the script's view, and whose key `origin` says where it comes from. */
void ll_page_write(const char *title, const char *plain, const struct ll_str *data, struct ll_str *out);

#endif
