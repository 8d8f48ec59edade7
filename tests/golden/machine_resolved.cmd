# SPDX-License-Identifier: Apache-2.0
# What a machine file says after inheritance and changes from the command line.
leadline machines custom_example --set units.array.rows=128 --set memory.hbm.bandwidth=1.2TB/s
