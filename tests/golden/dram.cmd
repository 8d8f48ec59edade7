# SPDX-License-Identifier: Apache-2.0
# Kinds of dynamic memory, and patterns on one of them; a narrow screen; for programs.
leadline dram
echo
leadline dram ddr4-2400 --channels 2
echo
COLUMNS=60 leadline dram gddr6 --pattern rows:48 --pattern sweep:4:64:0.5
echo
leadline dram hbm2 --channels 3 --pattern stream --pattern rows:256:0.25 --json
