# SPDX-License-Identifier: Apache-2.0
# A device under unlike software, and two generations under like software.
leadline sim -c a100_sxm4_80gb -c a100_sxm4_80gb_eager traces/alexnet_infer_b1.llt
leadline sim -c a100_sxm4_80gb -c h100_sxm5_80gb_kernels traces/alexnet_infer_b1.llt
