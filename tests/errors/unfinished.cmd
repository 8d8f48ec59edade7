# SPDX-License-Identifier: Apache-2.0
# What a database lacks of its sweep, and why none of its points is valid, is said.
. ./try.sh
cat >s.yaml <<'END'
base: custom_example
traces: [traces/alexnet_infer_b1.llt]
vary: {clock: [1GHz, 2GHz, 3GHz, 4GHz, 5GHz, 6GHz, 7GHz, 8GHz]}
objectives: [min time_s]
END
for i in 1 2 3; do leadline sweep s.yaml -o s.db --shard $i/3 >/dev/null; done
try pareto s.1of3.db --csv | sed '/^\[standard output\]/d'
leadline merge s.1of3.db -o one.db
leadline merge s.1of3.db s.3of3.db -o two.db --json
leadline merge two.db s.2of3.db -o three.db
leadline pareto two.db --json | grep missing
leadline pareto three.db --json | grep missing

# A merge that is interrupted leaves what was there, and nothing else.
printf '' >none.db
try merge s.1of3.db none.db -o four.db
try merge s.1of3.db traces/alexnet_infer_b1.llt -o four.db
ls four.db* ./*.unfinished 2>/dev/null

sed 's/^vary.*/vary: {clock: [1GHz, 2GHz], units.array.cols: "= units.array.rows \/ 0"}/' s.yaml >none.yaml
leadline sweep none.yaml -o none2.db | sed 's/, [^,]* points.s//'
leadline pareto none2.db
cat >plain.yaml <<'END'
name: plain
clock: 1GHz
units:
  - {name: lanes, model: vector, lanes: 8, flops: {f32: 2}}
memory:
  - {name: dram, size: 1GiB, bandwidth: 10GB/s}
END
sed 's/custom_example/plain.yaml/; s/, 3GHz.*8GHz//' s.yaml >cpu.yaml
leadline sweep cpu.yaml -o cpu.db | cut -d, -f1,2
leadline pareto cpu.db --min energy_j

# What no design can have is told before anything is simulated, but what varies may bring it.
cat >vain.yaml <<'END'
base: plain.yaml
traces: [traces/alexnet_infer_b1.llt]
vary: {clock: [1GHz, 2GHz], area.fixed_mm2: [10, 20]}
define: {cost: 2 * price_usd + time_s}
constraints: [power_w <= 10W, area_mm2 < 15]
objectives: [min time_s, min cost, min area_mm2, max throughput_per_w, "min min(time_s, energy_j)"]
END
try sweep vain.yaml
