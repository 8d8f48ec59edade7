# SPDX-License-Identifier: Apache-2.0
# A type that the machine stores and computes in a wider one: the peak, the bar and the roof are the wider one's.
leadline sim -c i7_6700k --as f16 --figure roof.svg traces/alexnet_train_b8.llt | sed -n 4,8p
grep -o 'fma f[^<]*' roof.svg
leadline sim -c i7_6700k --as f16 --json traces/alexnet_train_b8.llt | grep utilization
