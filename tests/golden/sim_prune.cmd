# SPDX-License-Identifier: Apache-2.0
leadline sim -c custom_example --set units.array.skips=2:4 --prune 2:4 traces/alexnet_infer_b1.llt
leadline sim -c custom_example --set units.array.skips=2:4 --prune 2:4 --explain 22 traces/alexnet_infer_b1.llt
leadline sim -c archive/vidur_a100 --prune 2:4 --tp 2 traces/alexnet_infer_b1.llt
leadline sim -c custom_example --set units.array.skips_unstructured=16 --prune 90% traces/alexnet_infer_b1.llt
leadline sim -c custom_example --set units.array.skips_unstructured=16 --prune 90% --explain 22 traces/alexnet_infer_b1.llt
