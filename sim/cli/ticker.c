/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/cli/ticker.h"

#include "tracer/base/clock.h"

#include <stdio.h>
#include <unistd.h>

enum { EVERY_NS = 200000000 };

struct ll_ticker ll_ticker_new(bool tells)
{
    return (struct ll_ticker){.terminal = tells && isatty(STDERR_FILENO) == 1};
}

void ll_ticker_clear(const struct ll_ticker *ticker)
{
    if (ticker->terminal)
        fputs("\r\033[K", stderr);
}

bool ll_ticker_due(struct ll_ticker *ticker, bool at_end)
{
    uint64_t now_ns = ticker->terminal ? ll_now_ns() : 0;
    if (!ticker->terminal || (!at_end && now_ns - ticker->told_ns < EVERY_NS))
        return false;
    ticker->told_ns = now_ns;
    ll_ticker_clear(ticker);
    return true;
}
