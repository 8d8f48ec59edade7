/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of tests/peers/scalesim_reference.csv, their fields by name. */
#ifndef LL_TESTS_SCALESIM_ROWS_H
#define LL_TESTS_SCALESIM_ROWS_H

#include "sim/scalesim/scalesim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scalesim_row {
    char line[1024], header[1024];
    const char *names[64], *fields[64];
    int count;
};

static inline int split_fields(char *line, const char **fields)
{
    int count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (char *at = line; at && count < 64; at = strchr(at, ',')) {
        if (count)
            *at++ = '\0';
        fields[count++] = at;
    }
    return count;
}

/* The next row of the file; false at its end. The header is the first line that is no comment. */
static inline int next_row(FILE *file, struct scalesim_row *row)
{
    while (fgets(row->line, sizeof row->line, file)) {
        if (row->line[0] == '#')
            continue;
        row->count = split_fields(row->line, row->fields);
        if (row->names[0])
            return 1;
        memcpy(row->header, row->line, sizeof row->header);
        for (int i = 0; i < row->count; i++)
            row->names[i] = row->header + (row->fields[i] - row->line);
    }
    return 0;
}

/* The text of a field that every row has. */
static inline const char *row_text(const struct scalesim_row *row, const char *name)
{
    for (int i = 0; i < row->count; i++)
        if (strcmp(row->names[i], name) == 0)
            return row->fields[i];
    fprintf(stderr, "there is no column %s\n", name);
    abort();
}

static inline uint64_t row_count(const struct scalesim_row *row, const char *name)
{
    return strtoull(row_text(row, name), NULL, 10);
}

static inline struct ll_scalesim_config row_config(const struct scalesim_row *row)
{
    static const char *const dataflows[] = {"os", "ws", "is"};
    struct ll_scalesim_config config = {
        .rows = row_count(row, "R"),
        .columns = row_count(row, "C"),
        .buffer_kB = {row_count(row, "ifmap_kB"), row_count(row, "filter_kB"), row_count(row, "ofmap_kB")},
        .user_bandwidth = strcmp(row_text(row, "bw_mode"), "USER") == 0,
        .words_per_cycle = row_count(row, "bw"),
    };
    while (strcmp(dataflows[config.dataflow], row_text(row, "dataflow")) != 0)
        config.dataflow++;
    return config;
}

static inline struct ll_scalesim_layer row_layer(const struct scalesim_row *row)
{
    struct ll_scalesim_layer layer = {"", 1, 1, 1, 1, 1, 1, 1, 1, 1, .line = 0};
    layer.filters = row_count(row, "N");
    if (strcmp(row_text(row, "kind"), "gemm") == 0) {
        layer.in_h = row_count(row, "M");
        layer.in_w = layer.filter_w = row_count(row, "K");
        return layer;
    }
    layer.in_h = row_count(row, "H");
    layer.in_w = row_count(row, "W");
    layer.filter_h = row_count(row, "FH");
    layer.filter_w = row_count(row, "FW");
    layer.channels = row_count(row, "Cin");
    layer.stride_h = layer.stride_w = row_count(row, "stride");
    return layer;
}

#endif
