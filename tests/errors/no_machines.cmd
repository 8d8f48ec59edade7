# SPDX-License-Identifier: Apache-2.0
# A program that was copied away from its machines says where it looked, and what names them.
. ./try.sh
mkdir bin api
cp "$(command -v leadline)" bin
cp "$(dirname "$(command -v leadline)")/../api/libleadline.so.0" api
PATH=$PWD/bin:$PATH
echo source,hardware,op,dtype,dims,time_s,notes >data.csv
echo 's,t4,relu,fp32,n=100,1e-5,' >>data.csv
{
    try machines
    try machines --json
    try machines t4+pytorch
    try sim -c v100_sxm_16gb+archive/deepbench traces/alexnet_infer_b1.llt
    try validate data.csv
    LEADLINE_PATH=$PWD/nowhere try machines
    LEADLINE_PATH=$PWD/nowhere try validate data.csv
} | sed "s|$PWD|.|g"
