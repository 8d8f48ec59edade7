# SPDX-License-Identifier: Apache-2.0
"""How fast is ResNet-50 on larger arrays, with a slow and a fast memory?   python3 examples/sweep_and_plot.py OUT.png"""
import sys

import leadline
import matplotlib.pyplot as plt

trace = leadline.Trace.record("resnet50", infer=True, batch=8)
found = leadline.sweep(trace, "custom_example", {"memory.hbm.bandwidth": ["100GB/s", "900GB/s"],
                                                 "units.array.rows": [32, 64, 128, 256, 512]})
for bandwidth, rows in found.to_pandas().groupby("memory.hbm.bandwidth"):
    plt.plot(rows["units.array.rows"], 1e3 * rows["time_s"], marker="o", label=bandwidth)
plt.xlabel("rows of the array")
plt.ylabel("ms/step")
plt.legend(title="memory")
plt.savefig(sys.argv[1])
