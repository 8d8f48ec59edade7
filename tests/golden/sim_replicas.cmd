# SPDX-License-Identifier: Apache-2.0
# Replicas that infer have nothing to tell each other.
leadline sim -c hgx_a100 --dp 8 traces/alexnet_infer_b1.llt | head -12
