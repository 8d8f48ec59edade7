# SPDX-License-Identifier: Apache-2.0
# Two ranks that do what one does take as long, each with its own memory; a sweep says what sim says.
leadline record llama --dry-run --train --batch 1 -p layers=1 -p hidden=64 -p heads=4 -p kv_heads=4 -p ffn_hidden=64 -p seq=16 \
    -p vocabulary=48 -o one.llt >/dev/null
leadline export chakra one.llt -o rank.0.et
cp rank.0.et rank.1.et
leadline import chakra rank.0.et rank.1.et -o two.llt
for trace in one two; do
    leadline sim -c archive/vidur_a100 $trace.llt | grep -E '[0-9] ms/step|^  memory|ranks:|^  energy'
done
# A file of Chakra is of one rank; both come back as they were.
leadline export chakra two.llt -o both.et
leadline export chakra two.llt -p rank=2 -o third.et
for rank in 0 1; do leadline export chakra two.llt -p rank=$rank -o back.$rank.et; done
leadline import chakra back.0.et back.1.et -o back.llt
leadline sim -c archive/vidur_a100 back.llt | grep -E '[0-9] ms/step|^  memory|ranks:|^  energy'
# A rank that is missing is no end.
cp back.0.et back.3.et
leadline import chakra back -o gap.llt
cat >ranks.yaml <<'END'
base: archive/vidur_a100
traces: [two.llt]
vary: {clock: [1GHz]}
objectives: [min time_s]
END
leadline sweep ranks.yaml >/dev/null
echo
leadline pareto ranks.db --csv | cut -d , -f 3,12,14
leadline sim -c archive/vidur_a100 --set clock=1GHz --json two.llt | grep -m 1 time_s
echo
leadline export timeline -c archive/vidur_a100 two.llt | grep -o 'rank [01]: [^"]*'
echo
# What all ranks do together is no bound of what one takes: nothing is left out, and the front is whole.
cp rank.0.et rank.2.et
cp rank.0.et rank.3.et
leadline import chakra rank.0.et rank.1.et rank.2.et rank.3.et -o four.llt >/dev/null
cat >all.yaml <<'END_OF_SWEEP'
base: custom_example
traces: [four.llt]
vary:
  units.array.rows: {from: 2, to: 128, times: 2}
  units.array.cols: {from: 2, to: 128, times: 2}
  units.simd.lanes: {from: 2, to: 128, times: 2}
  memory.hbm.bandwidth: {from: 20MB/s, to: 80MB/s, points: 4}
  hbm.latency: 0s
  software.op_overhead: 0s
objectives: [min time_s, min area_mm2, min energy_j]
END_OF_SWEEP
(cat all.yaml && echo "search: {prune: true}") >pruned.yaml
leadline sweep all.yaml >/dev/null
leadline sweep pruned.yaml --json | grep left_out
leadline pareto all.db --csv >all.csv
leadline pareto pruned.db --csv | cmp all.csv - && echo "the same front of $(tail -n +2 all.csv | wc -l)"
