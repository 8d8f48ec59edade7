# SPDX-License-Identifier: Apache-2.0
# A product on an array, a convolution on tensor cores, an element-wise op, a convolution whose tiles nest, a
# product in tiles of one's own: why each takes so long.
leadline sim -c custom_example --explain 22 traces/alexnet_infer_b1.llt
leadline sim -c v100_sxm_16gb+archive/deepbench --explain 6 traces/alexnet_infer_b1.llt
leadline sim -c i7_6700k --explain 3 traces/alexnet_infer_b1.llt
leadline sim -c i7_6700k --set software.mapping=search --explain 6 traces/alexnet_infer_b1.llt
leadline sim -c custom_example --set software.mapping=search --set memory.sram.tile=64x512x256 \
    --set memory.sram.loops=nmk --explain 22 traces/alexnet_infer_b1.llt
