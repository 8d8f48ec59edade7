/* SPDX-License-Identifier: Apache-2.0 */
/* What single components take, by what they are: how figures go from one process node to another, memory
 * cells by their ports, converters between analog and digital. Formulas stand here with their sources;
 * figures of a node stand in machine files (hwconfigs/technology), which these functions scale.
 *
 * All functions are pure and thread-safe. */
#ifndef LL_SIM_MACHINE_COMPONENTS_H
#define LL_SIM_MACHINE_COMPONENTS_H

/* Factors from figures of one node to those of another. Energy of logic by the simulated gates of Stillmaker
 * and Baas (Integration 58, 2017) at 0.8 V, as Accelergy's library has them, straight between their nodes and
 * beyond them with the square root of the node. Memory by CACTI 7 at 45, 32 and 22 nm
 * (geometric mean of eleven memories of 1 KiB to 24 MiB; area of 1 MiB), above it with the node in energy and
 * its square in area, below it as hwcomponents' wrapper of CACTI goes on: energy with the square root of the
 * node, area with the node. */
struct ll_node_scaling {
    double logic, memory;           /* energy */
    double logic_area, memory_area; /* area */
};
struct ll_node_scaling ll_node_scaling(double from_nm, double to_nm);

/* How much larger a memory cell of so many ports is than one of a single port, at least 1: each further port
 * adds a word line and two bit lines, hence two wires of pitch 2.5 F to both sides of a cell of 10 F x 14.6 F
 * (CACTI 7: 146 F^2, aspect ratio 1.46). Wires over an array grow with the square root of its area, and
 * energies of accesses with them. */
double ll_memory_port_growth(double ports);

/* Joules of a bit over a wire on the chip, 1.627 fF/um of which a fifth is switched in a cycle, as
 * Accelergy's Aladdin plug-in has wires, times V^2; of a bit through a router, 20.74 pJ for 256 bits at 32
 * nm in ISAAC (Shafiee et al., ISCA 2016, as Accelergy's library has it), scaled as logic; and of a row
 * that a DAC drives, 0.05 pJ a bit times V^2 (ZigZag-IMC; Houshmand et al., 2023). V is that of CACTI's
 * high-performance devices from 90 to 22 nm, straight between nodes, and 0.7 V at 7 nm (assumed). */
double ll_wire_j(double length_mm, double node_nm);
double ll_router_j(double node_nm);
double ll_dac_drive_j(double bits, double node_nm);

/* Area of a bit of registers: 5.98 um^2 at 45 nm, Aladdin's at 1 ns (Shao et al., ISCA 2014), scaled as
 * logic. */
double ll_register_m2(double node_nm);

/* A conversion of an ADC of so many bits at so many conversions a second, and its area (Andrulis et al.,
 * arXiv 2404.06553, fitted on Murmann's survey of converters; the model is that of a good design, not of
 * the mean):
 *
 *     E = exp(26.0496 + 1.88004 ln nm - 2.82913 ln bits - 1.47020) / (2 * 10^((FOM - SNDR) / 10))   pJ
 *     FOM = min(213.7807 - 2.871903 ln rate, 128.3068 + 3.22053 ceil(bits))      SNDR = 6.02 bits + 1.76
 *     A = exp(1.34619 + 0.99328 ln nm + 0.180715 ln rate + 0.299124 ln E)                            um^2
 *
 * bits below 4 count as 4, where the fit begins. */
double ll_adc_conversion_j(double bits, double rate_hz, double node_nm);
double ll_adc_area_m2(double bits, double rate_hz, double node_nm);

#endif
