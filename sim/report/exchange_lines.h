/* SPDX-License-Identifier: Apache-2.0 */
/* Why the messages of an exchange take their time, for a pocket calculator. */
#ifndef LL_SIM_REPORT_EXCHANGE_LINES_H
#define LL_SIM_REPORT_EXCHANGE_LINES_H

#include "sim/cost/explain.h"
#include "sim/replay/exchanges.h"

/* Says how often a latency, and how many bytes on which link or port, make up what `price` says of what was
 * asked on the machine, of which the first `devices` take part (0: all). Nothing where that cannot be told
 * apart. */
void ll_explain_exchange(const struct ll_machine *machine, uint64_t devices, const struct ll_asked *asked,
                         const struct ll_price *price, struct ll_explain *why);

#endif
