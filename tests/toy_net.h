/* SPDX-License-Identifier: Apache-2.0 */
/* The toy machine as several devices, and their network. */
#ifndef LL_TESTS_TOY_NET_H
#define LL_TESTS_TOY_NET_H

#include "check.h"
#include "sim/network/network.h"
#include "toy_machine.h"

struct ll_toy_net {
    struct ll_machine *machine;
    struct ll_net *net;
};

/* Of the lines of its section `network`, which must be right; to be freed. */
static inline struct ll_toy_net ll_toy_net(const char *network)
{
    char text[4096];
    const char *trouble;
    snprintf(text, sizeof text, LL_TOY_MACHINE "network:\n%s", network);
    struct ll_toy_net toy = {.machine = ll_toy_machine(text)};
    assert_non_null(toy.machine);
    toy.net = ll_net_new(toy.machine, &trouble);
    if (!toy.net)
        fail_msg("%s", trouble);
    return toy;
}

static inline void ll_toy_net_free(struct ll_toy_net *toy)
{
    ll_net_free(toy->net);
    ll_machine_free(toy->machine);
}

#endif
