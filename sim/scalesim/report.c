/* SPDX-License-Identifier: Apache-2.0 */
/* SCALE-Sim's three files, byte by byte: blanks behind commas, a comma at the end of each line. */
#include "sim/scalesim/scalesim.h"
#include "tracer/base/plain.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The fewest digits that read back: "d.ddde+xx", at most 23 characters. */
static void shortest_text(double value, char text[static 32])
{
    for (int precision = 0; precision <= 16; precision++) {
        ll_snprintf(text, 32, "%.*e", precision, value);
        if (ll_strtod(text, NULL) == value)
            return;
    }
}

/* Python's repr writes an exponent below 10^-4 and from 10^16 on. */
void ll_scalesim_float_text(double value, char text[static 32])
{
    if (!isfinite(value)) {
        snprintf(text, 32, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    shortest_text(value, text);
    const char *e = strchr(text, 'e');
    int exponent = (int)strtol(e + 1, NULL, 10);
    int digits = (int)(e - text) - (value < 0) - (e - text > 2 + (value < 0));
    if (exponent < -4 || exponent >= 16)
        return;
    ll_snprintf(text, 32, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 1, value);
}

static void add_float(struct ll_str *out, double value)
{
    char text[32];
    ll_scalesim_float_text(value, text);
    ll_str_addf(out, ", %s", text);
}

static void add_compute(const struct ll_scalesim_result *result, uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64 ", %" PRId64 ", %" PRId64, layer_id, result->total_cycles,
                result->stall_cycles);
    add_float(out, result->overall_util_pct);
    add_float(out, result->mapping_pct);
    add_float(out, result->compute_util_pct);
    ll_str_add(out, ",\n");
}

static void add_bandwidth(const struct ll_scalesim_result *result, uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64, layer_id);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_float(out, result->sram[i].bandwidth);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_float(out, result->dram[i].bandwidth);
    ll_str_add(out, ",\n");
}

static void add_port(struct ll_str *out, const struct ll_scalesim_port *port)
{
    add_float(out, (double)port->start_cycle);
    add_float(out, (double)port->stop_cycle);
    ll_str_addf(out, ", %" PRIu64, port->words);
}

static void add_detail(const struct ll_scalesim_result *result, uint64_t layer_id, struct ll_str *out)
{
    ll_str_addf(out, "%" PRIu64, layer_id);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_port(out, &result->sram[i]);
    for (int i = 0; i < LL_SCALESIM_OPERANDS; i++)
        add_port(out, &result->dram[i]);
    ll_str_add(out, ",\n");
}

const struct ll_scalesim_report ll_scalesim_reports[LL_SCALESIM_REPORTS] = {
    {"COMPUTE_REPORT.csv",
     "LayerID, Total Cycles, Stall Cycles, Overall Util %, Mapping Efficiency %, Compute Util %,\n",
     add_compute},
    {"BANDWIDTH_REPORT.csv",
     "LayerID, Avg IFMAP SRAM BW, Avg FILTER SRAM BW, Avg OFMAP SRAM BW, "
     "Avg IFMAP DRAM BW, Avg FILTER DRAM BW, Avg OFMAP DRAM BW,\n",
     add_bandwidth},
    {"DETAILED_ACCESS_REPORT.csv",
     "LayerID, SRAM IFMAP Start Cycle, SRAM IFMAP Stop Cycle, SRAM IFMAP Reads, "
     "SRAM Filter Start Cycle, SRAM Filter Stop Cycle, SRAM Filter Reads, "
     "SRAM OFMAP Start Cycle, SRAM OFMAP Stop Cycle, SRAM OFMAP Writes, "
     "DRAM IFMAP Start Cycle, DRAM IFMAP Stop Cycle, DRAM IFMAP Reads, "
     "DRAM Filter Start Cycle, DRAM Filter Stop Cycle, DRAM Filter Reads, "
     "DRAM OFMAP Start Cycle, DRAM OFMAP Stop Cycle, DRAM OFMAP Writes,\n",
     add_detail},
};
