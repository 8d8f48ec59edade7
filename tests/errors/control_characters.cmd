# SPDX-License-Identifier: Apache-2.0
# What a terminal would obey in names of files and in files is shown as question marks, in JSON escaped.
name=$(printf 'a\033[31mb\302\233c')
printf 'Layer name, IFMAP Height, IFMAP Width, Filter Height, Filter Width, Channels, Num Filter, Strides,\n' >"$name.csv"
printf 'Co\033[31mnv\302\2331m,8,8,3,3,3,16,1,\n' >>"$name.csv"
leadline import scalesim "$name.csv" -o net.llt
leadline info net.llt | head -1
leadline sim -c custom_example net.llt | head -1
leadline sim -c custom_example --explain 0 net.llt | head -1
leadline sim -c custom_example --per-op net.llt | grep conv2d
leadline dump net.llt | cut -d, -f4
printf 'source,hardware,op,dtype,dims,time_s,notes\ns,A\033[31m,relu,fp32,n=100,1e-5,\n' >data.csv
leadline validate data.csv
leadline sim -c "$name" net.llt 2>&1
