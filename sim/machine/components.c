/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/machine/components.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* Of a node: figures beside those of 45 nm. */
struct node {
    double nm, energy, area;
};

/* Logic: f(0.8 V) of each node over that of 45 nm; Accelergy's multipliers of areas. */
static const struct node logic[] = {
    {130, 3.07, 6.4},  {90, 1.90, 2.8},   {65, 1.24, 1.5},   {45, 1, 1},        {32, 0.659, 0.46},
    {20, 0.221, 0.21}, {16, 0.174, 0.19}, {14, 0.139, 0.17}, {10, 0.118, 0.10}, {7, 0.0943, 0.059}};
static const struct node memory[] = {{45, 1, 1}, {32, 0.557, 0.506}, {22, 0.296, 0.275}};

/* Straight between two nodes of a list that falls; NULL: beyond it. */
static const struct node *between(const struct node *list, size_t count, double nm, double *share)
{
    for (size_t i = 1; i < count; i++)
        if (nm <= list[i - 1].nm && nm >= list[i].nm) {
            *share = (list[i - 1].nm - nm) / (list[i - 1].nm - list[i].nm);
            return &list[i - 1];
        }
    return NULL;
}

static struct node logic_at(double nm)
{
    enum { COUNT = sizeof logic / sizeof *logic };
    const struct node *first = &logic[0], *last = &logic[COUNT - 1];
    double share;
    const struct node *a = between(logic, COUNT, nm, &share);
    if (a)
        return (struct node){nm, a->energy + share * (a[1].energy - a->energy),
                             a->area + share * (a[1].area - a->area)};
    const struct node *end = nm > first->nm ? first : last;
    return (struct node){nm, end->energy * sqrt(nm / end->nm), end->area * nm / end->nm};
}

static struct node memory_at(double nm)
{
    enum { COUNT = sizeof memory / sizeof *memory };
    const struct node *first = &memory[0], *last = &memory[COUNT - 1];
    double share;
    const struct node *a = between(memory, COUNT, nm, &share);
    if (a)
        return (struct node){nm, a->energy + share * (a[1].energy - a->energy),
                             a->area + share * (a[1].area - a->area)};
    double ratio = nm > first->nm ? nm / first->nm : nm / last->nm;
    return nm > first->nm ? (struct node){nm, ratio, ratio * ratio}
                          : (struct node){nm, last->energy * sqrt(ratio), last->area * ratio};
}

struct ll_node_scaling ll_node_scaling(double from_nm, double to_nm)
{
    assert(from_nm > 0 && to_nm > 0);
    struct node from = logic_at(from_nm), to = logic_at(to_nm), held = memory_at(from_nm),
                holds = memory_at(to_nm);
    return (struct ll_node_scaling){to.energy / from.energy, holds.energy / held.energy, to.area / from.area,
                                    holds.area / held.area};
}

double ll_memory_port_growth(double ports)
{
    static const double PITCH_F = 2.5, HEIGHT_F = 10, WIDTH_F = 14.6;
    double wires_F = 2 * PITCH_F * (fmax(1, ports) - 1);
    return (1 + wires_F / HEIGHT_F) * (1 + wires_F / WIDTH_F);
}

/* In pJ. */
static double conversion_pj(double bits, double rate_hz, double node_nm)
{
    assert(bits > 0 && rate_hz > 0 && node_nm > 0);
    bits = fmax(4, bits);
    double merit_db = fmin(213.7807 - 2.871903 * log(rate_hz), 128.3068 + 3.22053 * ceil(bits));
    double signal_db = 6.02 * bits + 1.76;
    return exp(26.0496 + 1.88004 * log(node_nm) - 2.82913 * log(bits) - 1.47020) /
           (2 * pow(10, (merit_db - signal_db) / 10));
}

double ll_adc_conversion_j(double bits, double rate_hz, double node_nm)
{
    return conversion_pj(bits, rate_hz, node_nm) * 1e-12;
}

double ll_adc_area_m2(double bits, double rate_hz, double node_nm)
{
    return exp(1.34619 + 0.99328 * log(node_nm) + 0.180715 * log(rate_hz) +
               0.299124 * log(conversion_pj(bits, rate_hz, node_nm))) *
           1e-12;
}

static double supply_v(double nm)
{
    static const struct {
        double nm, v;
    } at[] = {{90, 1.2}, {65, 1.1}, {45, 1.0}, {32, 0.9}, {22, 0.8}, {7, 0.7}};
    enum { COUNT = sizeof at / sizeof *at };
    for (size_t i = 1; i < COUNT; i++)
        if (nm >= at[i].nm && nm < at[i - 1].nm)
            return at[i].v + (at[i - 1].v - at[i].v) * (nm - at[i].nm) / (at[i - 1].nm - at[i].nm);
    return nm < at[COUNT - 1].nm ? at[COUNT - 1].v : at[0].v;
}

double ll_wire_j(double length_mm, double node_nm)
{
    double v = supply_v(node_nm);
    return 0.2 * 1.627e-12 * length_mm * v * v;
}

double ll_router_j(double node_nm)
{
    return 20.74e-12 / 256 * logic_at(node_nm).energy / logic_at(32).energy;
}

double ll_dac_drive_j(double bits, double node_nm)
{
    double v = supply_v(node_nm);
    return 0.05e-12 * bits * v * v;
}

double ll_register_m2(double node_nm)
{
    return 5.98e-12 * logic_at(node_nm).area;
}
