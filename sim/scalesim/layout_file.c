/* SPDX-License-Identifier: Apache-2.0 */
/* The layout file of version 3: a row for each layer, of which SCALE-Sim reads the first. 21 fields: a name;
 * factors of ifmap height and width, filter height and width, channels, filters; orders of the ifmap within a
 * line (H 0, W 1, C 2) and of its lines (the same + 3), of the filter within a line (K 0, C 1, R 2, S 3) and
 * of its lines (the same + 4). */
#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/scalesim/scalesim.h"
#include "tracer/base/file.h"
#include "tracer/base/num.h"

enum { FIELDS = 21, FACTORS = 1, ORDERS = 7, MOST_FACTOR = 65536 };

static bool complain(struct ll_csv *csv, const struct ll_csv_field *field, const char *what)
{
    struct ll_place place = ll_csv_place(csv, field);
    place.width = field ? strlen(field->text) : 0;
    csv->failed = true;
    return ll_complain(csv->diags, place, "%s", what);
}

static bool read_number(struct ll_csv *csv, const struct ll_csv_field *field, uint64_t least, uint64_t most,
                        uint64_t *number)
{
    const char *at = field->text + strspn(field->text, " \t");
    char *end;
    *number = isdigit((unsigned char)*at) ? strtoull(at, &end, 10) : UINT64_MAX;
    if (*number >= least && *number <= most && !end[strspn(end, " \t\r")])
        return true;
    const char *what = ll_format(csv->arena, "`%.40s`: expected a whole number from %" PRIu64 " to %" PRIu64,
                                 at, least, most);
    return complain(csv, field, what ? what : "no whole number");
}

/* `count` numbers from `base` on, each once. */
static bool read_order(struct ll_csv *csv, const struct ll_csv_field *fields, unsigned count, unsigned base,
                       unsigned *order)
{
    unsigned seen = 0;
    for (unsigned i = 0; i < count; i++) {
        uint64_t number;
        if (!read_number(csv, &fields[i], base, base + count - 1, &number))
            return false;
        order[i] = (unsigned)number - base;
        if (seen >> order[i] & 1)
            return complain(csv, &fields[i], "this dimension stands in the order already");
        seen |= 1u << order[i];
    }
    return true;
}

static bool read_row(struct ll_csv *csv, const struct ll_csv_field *fields, struct ll_scalesim_layout *layout)
{
    uint64_t factor[6];
    const struct ll_csv_field *orders = fields + ORDERS;
    for (int i = 0; i < 6; i++)
        if (!read_number(csv, &fields[FACTORS + i], 1, MOST_FACTOR, &factor[i]))
            return false;
    *layout = (struct ll_scalesim_layout){.ifmap_factor = {factor[0], factor[1], factor[4]},
                                          .filter_factor = {factor[5], factor[4], factor[2], factor[3]}};
    return read_order(csv, orders, 3, 0, layout->ifmap_in_line) &&
           read_order(csv, orders + 3, 3, 3, layout->ifmap_lines) &&
           read_order(csv, orders + 6, 4, 0, layout->filter_in_line) &&
           read_order(csv, orders + 10, 4, 4, layout->filter_lines);
}

const struct ll_scalesim_layout *ll_scalesim_read_layout(const char *text, size_t length, const char *name,
                                                         struct ll_arena *arena, struct ll_diags *diags)
{
    struct ll_scalesim_layout *layout = ll_alloc(arena, 1, sizeof *layout);
    struct ll_csv csv = {.file = name, .at = text, .end = text + length, .arena = arena, .diags = diags};
    const struct ll_csv_field *fields;
    size_t count;
    if (!layout)
        return NULL;
    assert(text || length == 0);
    for (bool header = true; (fields = ll_csv_next(&csv, &count)); header = false) {
        if (header || (count == 1 && !fields[0].text[strspn(fields[0].text, " \t")]))
            continue;
        if (count < FIELDS) {
            complain(&csv, &fields[count - 1],
                     "expected 21 fields of a layout: name, 6 factors, orders of 3, 3, 4, 4 dimensions");
            return NULL;
        }
        return read_row(&csv, fields, layout) ? layout : NULL;
    }
    if (!csv.failed)
        ll_complain(diags, (struct ll_place){.file = name}, "no layout stands in this file");
    return NULL;
}

const char *ll_scalesim_layout_obstacle(const struct ll_scalesim_config *config)
{
    const struct ll_scalesim_layout *layout = config->layout;
    const uint64_t *ifmap = layout->ifmap_factor, *filter = layout->filter_factor;
    if (config->own_layout[LL_SCALESIM_IFMAP] &&
        ll_mul(ll_mul(ifmap[0], ifmap[1]), ifmap[2]) > config->read_words[LL_SCALESIM_IFMAP])
        return "the ifmap's factors multiply to more than IfmapSRAMBankBandwidth";
    if (config->own_layout[LL_SCALESIM_FILTER] &&
        ll_mul(ll_mul(filter[0], filter[1]), ll_mul(filter[2], filter[3])) !=
            config->read_words[LL_SCALESIM_FILTER])
        return "the filter's factors do not multiply to FilterSRAMBankBandwidth";
    return NULL;
}
