# SPDX-License-Identifier: Apache-2.0
# A device under unlike software, and two generations under like software.
leadline sim -c a100_sxm_80gb -c a100_sxm_80gb+archive/llmcompass traces/alexnet_infer_b1.llt
leadline sim -c a100_sxm_80gb -c h100_sxm+archive/server_kernels traces/alexnet_infer_b1.llt
