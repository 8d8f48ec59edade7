# SPDX-License-Identifier: Apache-2.0
# Four cores in a ring, which share a memory behind a bus: fused, layer by layer, and what is refused.
leadline sim -c quad_core_example traces/alexnet_infer_b1.llt
leadline sim -c quad_core_example traces/alexnet_infer_b1.llt --fuse none --json | sed -n '/"fusion": {/,/"stacks"/p'
leadline sim -c quad_core_example traces/alexnet_infer_b1.llt --fuse some
leadline sim -c v100_sxm_16gb traces/alexnet_infer_b1.llt --fuse none
leadline sim -c quad_core_example traces/alexnet_infer_b1.llt --dp 2
cat >ring.yaml <<'END'
base: quad_core_example
traces: [traces/alexnet_infer_b1.llt]
vary: {cores.core.count: [2, 4]}
objectives: [min time_s]
END
leadline sweep ring.yaml -o ring.db --json 2>/dev/null | grep '"valid"'
rm -f ring.yaml ring.db
leadline export timeline traces/alexnet_infer_b1.llt -c quad_core_example -o cores.json && head -c 600 cores.json
rm -f cores.json
