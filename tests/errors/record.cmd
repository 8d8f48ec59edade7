# SPDX-License-Identifier: Apache-2.0
. ./try.sh
try record
try record alexnett
try record alexnet --steps 0
try record alexnet --steps many
try record alexnet --batch -1
try record alexnet --batch 99999999999999999999
try record alexnet --train --infer
try record alexnet --dry-run --threads 2
try record alexnet -p imagee=224
try record alexnet -p image
try record alexnet -p image=12
try record alexnet -p image=wide
try record alexnet --dry-run -o no/such/folder/a.llt
try record alexnet --dry-run -o .
try record alexnet --jsn
try train alexnet --data here
try train deepq --data here
echo older >afile
try train autoenc -o afile
try train autoenc -p nonsense=1 -o samples
ls -d afile samples 2>/dev/null
try record gemm -p ta=X
try record gemm -p m=3 --batch 3
try record gemm -p dtype=f16
# Three operands of 4 TiB: no machine that this runs on has so much.
try record elementwise -p b=1073741824
try record --mech magic -- true
try record alexnet --mech preload
try record --batch 9 --data /nope -p x=y -- true
try record --dry-run --coverage -- true
try record --coverage -o true.llt -- true
try record --coverage -- no-such-program
leadline record gemm --dry-run -p m=2 -o kept.llt >/dev/null
try record gemm --dry-run -p m=1073741824 -p n=1073741824 -p k=1073741824 -o kept.llt
try record conv2d --dry-run --batch 1073741824 -p c=1048576 -o kept.llt
try record pool --dry-run -p d=3 -p t=5 -o kept.llt
leadline info kept.llt | grep 'FLOP' | head -1
try record allreduce
try record allreduce --dry-run --batch 3
try record allreduce --dry-run --train
try record allreduce --dry-run -p devices=1 -p nodes=5
try train gemm
try train memnet -o samples
mkdir empty
try train alexnet --data empty
try record alexnet --data empty
try record gpt --dry-run --train -p context=4096 -o prompt.llt
