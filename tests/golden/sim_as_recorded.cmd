# SPDX-License-Identifier: Apache-2.0
cat >measured.csv <<'END'
source,hardware,op,dtype,dims,time_s,notes
mine,this,gemm,fp32,m=512;n=512;k=512,0.001,
mine,this,gemm,fp32,m=1024;n=512;k=512,0.0025,
END
leadline import csv measured.csv -o measured.llt
leadline sim -c t4+pytorch --as-recorded measured.llt
leadline sim -c t4+pytorch --as-recorded --json measured.llt | grep -E 'as_recorded|"time_s"' | head -2
leadline sim -c t4+pytorch --as-recorded --explain 1 measured.llt | tail -1
