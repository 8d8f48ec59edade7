# SPDX-License-Identifier: Apache-2.0
# A panel for each machine; discs are forms of ops with FLOPs.
leadline sim -c custom_example -c i7_6700k --figure roof.svg --json traces/alexnet_infer_b1.llt >/dev/null
grep -c '<circle' roof.svg
grep -o '>[a-z0-9_. ]* on [a-z0-9_]*<' roof.svg
leadline sim -c custom_example --figure roof.svg --explain 3 traces/alexnet_infer_b1.llt
echo "exit $?"
# Caches that clusters of cores share count as often as there are clusters.
leadline sim -c epyc_7742+ncnn --figure roof.svg traces/alexnet_infer_b1.llt >/dev/null
grep -o '>l[123] [0-9. TGB/s]*<' roof.svg
