# SPDX-License-Identifier: Apache-2.0
# Memories and patterns that are none.
. ./try.sh
try dram ddr5
try dram --pattern stream
try dram hbm2 --channels 0
try dram hbm2 --pattern rows --pattern rows:0
try dram hbm2 --pattern sweep:64:32
try dram hbm2 --pattern stream:2
try dram hbm2 --pattern rows:64:0.5x
