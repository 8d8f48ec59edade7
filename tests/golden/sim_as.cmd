# SPDX-License-Identifier: Apache-2.0
# A recorded network of f32, quantised, on an accelerator that computes in integers alone.
leadline sim -c gemmini_like --as int8 traces/alexnet_infer_b1.llt
