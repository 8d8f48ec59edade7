# SPDX-License-Identifier: Apache-2.0
. ./try.sh
printf 'nothing that anybody knows' >unknown.txt
printf 'GGUF\003\000\000\000\001\000' >short.gguf
printf 'GGUF\001\000\000\000\001\000\000\000\000\000\000\000' >old.gguf
printf '\377\000\000\000\000\000\000\000{"a": 1}' >short.safetensors
printf 'HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n  ROOT b = f32[4] frobnicate(a)\n}\n' >opcode.hlo
printf 'HloModule m\nENTRY e {\n  ROOT b = f32[4] negate(a)\n}\n' >name.hlo
printf 'HloModule m\nENTRY e {\n  a = f37[4] parameter(0)\n}\n' >type.hlo
printf 'module {\n  func.func @main(%%a: tensor<?xf32>) -> tensor<?xf32> {\n    return %%a : tensor<?xf32>\n  }\n}\n' >open.mlir
printf 'module {\n  func.func @main(%%a: tensor<4xf32>) -> tensor<4xf32> {\n    %%0 = stablehlo.add %%a, %%b : tensor<4xf32>\n    return %%0 : tensor<4xf32>\n  }\n}\n' >name.mlir
printf '{"graph_module": {"graph": {"nodes": [], "tensor_values": {}}}, "schema_version": {"major": 5, "minor": 1}}' >version.json
try import unknown.txt
try import short.gguf
try import old.gguf
try import short.safetensors
try import opcode.hlo
try import name.hlo
try import type.hlo
try import open.mlir
try import name.mlir
try import version.json
try sim -c h100_sxm opcode.hlo
try sim -c h100_sxm --as float77 traces/alexnet_infer_b1.llt
printf '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 1}]}' | gzip -n >profile.json.gz
try sim -c h100_sxm profile.json.gz
try record llm -p config=qwen3-8b --dry-run -p dtype=float77 -o llm.llt
