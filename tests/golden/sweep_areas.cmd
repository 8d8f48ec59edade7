# SPDX-License-Identifier: Apache-2.0
# Areas of the machine file are in mm2 as literals and results are, whether they vary, follow or stand there; energies
# are in J.
cat >areas.yaml <<'YAML'
name: areas
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary:
  area.fixed_mm2: [10, 30, 50]
  energy.mac_pj.f32: = energy.mac_pj.int8 * 20
define: {rest: area_mm2 - area.fixed_mm2, pe: area.pe_um2.bf16 / 1um2, sram: area.sram_mm2_per_MiB * 4MiB}
constraints: [area.fixed_mm2 <= 40mm2, area.sram_mm2_per_MiB < 0.5mm2/MiB, energy.mac_pj.f32 < 3pJ]
objectives: [min time_s, min rest, min pe, min sram]
YAML
leadline sweep areas.yaml >/dev/null
leadline pareto areas.db --csv | cut -d , -f 1,2
leadline pareto areas.db --where "area.fixed_mm2 <= 20mm2" --min rest,pe,sram,energy_j | head -4
