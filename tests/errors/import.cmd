# SPDX-License-Identifier: Apache-2.0
. ./try.sh
try import onyx net.onnx
try import onnx no_such_file.onnx
try import onnx import.cmd
try import chakra import.cmd
try import onnx record.cmd import.cmd
try export onnx traces/alexnet.llt
try import onnx foreign.onnx
try import onnx foreign.onnx -p size
try import onnx foreign.onnx --allow-opaque -p nothing=1
echo '{}' | gzip >packed.json.gz
try import pytorch-profile packed.json.gz
gzip -c foreign.onnx | try import onnx /dev/stdin
gzip -c foreign.onnx | head -c 40 >cut.onnx.gz
try import onnx cut.onnx.gz
head -c 400000000 /dev/zero | gzip >bomb.json.gz
try import pytorch-profile bomb.json.gz
