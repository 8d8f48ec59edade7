/* SPDX-License-Identifier: Apache-2.0 */
/* How far long work is: one line on standard error that overwrites itself, where that is a terminal. A log
 * gets nothing. */
#ifndef LL_SIM_CLI_TICKER_H
#define LL_SIM_CLI_TICKER_H

#include <stdbool.h>
#include <stdint.h>

struct ll_ticker {
    bool terminal;
    uint64_t told_ns;
};

/* One that tells if `tells` and standard error is a terminal. */
struct ll_ticker ll_ticker_new(bool tells);

/* Whether it is time for another line, five times a second or when the work is at its end: then the line is
 * empty, and whoever asks writes it on standard error. */
bool ll_ticker_due(struct ll_ticker *ticker, bool at_end);

/* Takes the line away. */
void ll_ticker_clear(const struct ll_ticker *ticker);

#endif
