/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/machine/edge.h"

#include "tracer/base/plain.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool parse_device(const char **text, uint64_t *device)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *device = strtoull(*text, &end, 10);
    *text = end;
    return errno == 0;
}

static bool parse_links(const char *text, double *links)
{
    char *end;
    size_t length = strspn(text, "0123456789.");
    *links = ll_strtod(text, &end);
    return length > 0 && end == text + length && *end == '\0' && isfinite(*links) && *links > 0;
}

bool ll_edge_parse(const char *text, struct ll_network_edge *edge)
{
    *edge = (struct ll_network_edge){.links = 1};
    if (!parse_device(&text, &edge->from) || (*text != '-' && *text != '>'))
        return false;
    edge->both_ways = *text++ == '-';
    if (!parse_device(&text, &edge->to) || edge->to == edge->from)
        return false;
    return *text == '\0' || (*text == 'x' && parse_links(text + 1, &edge->links));
}
