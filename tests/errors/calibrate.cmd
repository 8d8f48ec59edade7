# SPDX-License-Identifier: Apache-2.0
. ./try.sh
try calibrate traces/alexnet_infer_b1.llt
try calibrate --threads 0
try calibrate --seconds 1 traces/alexnet_infer_b1.llt
try calibrate -o /nowhere/host.yaml no_such.llt
