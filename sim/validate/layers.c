/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/validate/layers.h"

#include <stdlib.h>

const struct ll_row_layers *ll_row_layers(const struct ll_row_works *r)
{
    static const struct ll_row_layers networks[] = {
#define LL_NETWORK(name, image, layers) {name, image, layers},
#include "sim/validate/networks.def"
#undef LL_NETWORK
    };
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        if (ll_row_says(r, "model", networks[i].name))
            return &networks[i];
    return NULL;
}

static uint64_t number_at(const char **at)
{
    char *end;
    uint64_t number = strtoull(*at, &end, 10);
    *at = end;
    return number;
}

struct ll_layer ll_next_layer(const char **at)
{
    struct ll_layer l = {
        .what = **at, .kernel = 3, .stride = 1, .groups = 1, .times = 1, .padding = UINT64_MAX};
    ++*at;
    l.number = number_at(at);
    while (**at && **at != ' ') {
        char key = *(*at)++;
        const struct {
            char key;
            uint64_t *value;
        } keys[] = {{'k', &l.kernel},      {'s', &l.stride},  {'p', &l.padding}, {'g', &l.groups},
                    {'x', &l.times},       {'f', &l.before3}, {'v', &l.before5}, {'w', &l.behind5},
                    {'q', &l.behind_pool}, {'e', &l.expanded}};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (keys[i].key == key)
                *keys[i].value = number_at(at);
    }
    while (**at == ' ')
        ++*at;
    if (l.padding == UINT64_MAX)
        l.padding = l.what == 'm' ? 0 : l.kernel / 2;
    return l;
}
