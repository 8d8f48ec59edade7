# SPDX-License-Identifier: Apache-2.0
# A sweep into a database that is there: it goes on with what was evaluated of the same things, and with nothing
# else. Each change is refused alone, and the database stays as it was.
. ./try.sh
echo 'inherits: custom_example' >mine.yaml
cp traces/alexnet_infer_b1.llt net.llt
cat >sweep.yaml <<'END'
name: sweep
base: mine
traces: [net.llt]
vary:
  clock: [1GHz, 1.5GHz, 2GHz]
  units.array.cols: = units.array.rows
  memory.hbm: {HBM2: {bandwidth: 900GB/s}, DDR4: {bandwidth: 50GB/s}}
define: {cost: area_mm2 * 2}
constraints: [time_s <= 5ms]
objectives: [min cost]
search: {kind: random, points: 3}
END
cp sweep.yaml kept.yaml
leadline sweep sweep.yaml -o R.db | cut -d, -f1
cp R.db before.db
echo '# and a remark' >>sweep.yaml
leadline sweep sweep.yaml -o R.db
sed -i 's/points: 3/points: 5/' sweep.yaml
leadline sweep sweep.yaml -o R.db | cut -d, -f1-3

# changed SCRIPT: the sweep file with something else in it.
changed() {
    sed "$1" kept.yaml >sweep.yaml
    cp before.db R.db
    try sweep sweep.yaml -o R.db
    cmp before.db R.db
}
changed 's/area_mm2 \* 2/area_mm2 * 3/'
changed 's/5ms/6ms/'
changed 's/= units.array.rows/= units.array.rows * 2/'
changed 's/50GB/60GB/'
echo 'host: {latency: 11us}' >>mine.yaml
changed ''
cp traces/alexnet_train_b8.llt net.llt
changed 's/area_mm2 \* 2/area_mm2 * 3/'
sed 's/points: 3/points: 6/' kept.yaml >sweep.yaml
leadline sweep sweep.yaml -o R.db --fresh --shard 1/2 | cut -d, -f1 | sed '/CPU time/d'
cp traces/alexnet_infer_b1.llt net.llt
leadline sweep sweep.yaml -o R.db --fresh --shard 2/2 | cut -d, -f1 | sed '/CPU time/d'
try merge R.1of2.db R.2of2.db -o whole.db
