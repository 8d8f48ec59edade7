# SPDX-License-Identifier: Apache-2.0
# Replicas that infer have nothing to tell each other.
leadline sim -c a100_hgx --dp 8 traces/alexnet_infer_b1.llt | head -12
