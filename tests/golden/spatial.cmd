# SPDX-License-Identifier: Apache-2.0
# A unit with loops side by side: how a convolution and a product are mapped, and what another choice would do.
leadline record conv2d --dry-run --infer -p b=4 -p c=96 -p h=27 -p w=27 -p k=256 -p r=5 -p s=5 -p pad_h=2 \
    -p pad_w=2 -p groups=2 -o conv.llt >/dev/null
leadline sim -c eyeriss_like --as i16 --explain 0 conv.llt
leadline sim -c eyeriss_like --as i16 --set 'array.unroll=[FY3 OY13 K4]' --set array.dataflow=is --explain 0 conv.llt
leadline sim -c spatial_1024 --as int8 --explain 22 traces/alexnet_infer_b1.llt
leadline sim -c spatial_1024 --set "pes.unroll=[C8 K8 OX4 OY4, C64 K32]" conv.llt 2>&1
