#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC1091,SC2154 # common.sh is read when this runs, and says what program, mpi, space and here are
# Two network namespaces stand for two hosts that see each other through a bridge: hosts.sh LEADLINE. Needs
# privileges, 77 without.
set -eu
. "$(dirname "$0")/common.sh"
net=ll$$
clean() {
    for i in 1 2; do ip netns delete $net$i 2>/dev/null || true; done
    ip link delete ${net}b 2>/dev/null || true
    rm -rf "$here"
}
trap clean EXIT
command -v ip >/dev/null || { echo "there is no ip" && exit 77; }
{ ip link add ${net}b type bridge && ip addr add 10.77.7.254/24 dev ${net}b && ip link set ${net}b up; } 2>/dev/null ||
    { echo "no network may be made here" && exit 77; }
for i in 1 2; do
    { ip netns add $net$i &&
        ip link add ${net}v$i type veth peer name eth0 netns $net$i &&
        ip link set ${net}v$i master ${net}b up; } 2>/dev/null || { echo "no namespace may be made here" && exit 77; }
    ip -n $net$i addr add 10.77.7.$i/24 dev eth0
    ip -n $net$i link set eth0 up
    ip -n $net$i link set lo up
done
# What mpirun uses instead of ssh: the last number of the address names the namespace.
cat >"$here/agent" <<END
#!/bin/sh
host=\$1
shift
exec ip netns exec $net\${host##*.} unshare --uts sh -c "hostname ll\${host##*.}; \$*"
END
chmod +x "$here/agent"
"$program" sweep "$space" -o "$here/alone.db" >/dev/null
timeout 200 mpirun -np 2 --host 10.77.7.1,10.77.7.2 --mca plm_rsh_agent "$here/agent" --mca btl tcp,self --mca pml ob1 \
    --mca osc pt2pt --mca oob_tcp_if_include 10.77.7.0/24 --mca btl_tcp_if_include 10.77.7.0/24 \
    "$mpi" sweep "$space" -o "$here/hosts.db" -j 1 >/dev/null
same "$here/alone.db" "$here/hosts.db" "two hosts"
