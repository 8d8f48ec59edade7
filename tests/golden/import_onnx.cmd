# SPDX-License-Identifier: Apache-2.0
leadline import onnx small.onnx --batch 4
leadline info small.llt
leadline import onnx small.onnx --json -o again.llt
leadline export chakra small.llt -o small.et
leadline import chakra small.et -o back.llt
leadline sim -c v100_sxm_16gb+archive/deepbench small.llt --json >one
leadline sim -c v100_sxm_16gb+archive/deepbench back.llt --json >two
sed s,back.llt,small.llt, two | diff one - && echo the same
