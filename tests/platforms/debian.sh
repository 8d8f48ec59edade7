#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# debian.sh SUITE COMMAND [FOLDER]: COMMAND in a copy of this tree on a fresh, bare Debian, build/platforms/SUITE.fresh; the
# files of FOLDER are in the copy's `given`. Its mounts are seen by itself alone, so that nothing of them is left behind.
set -eu
[ "${LL_PLATFORMS-}" ] || { echo "takes half an hour; ./do platforms runs it" && exit 77; }
[ "$(id -u)" = 0 ] || { echo "only root may make another system's root" && exit 77; }
command -v debootstrap >/dev/null || { echo "there is no debootstrap" && exit 77; }
tree=$(cd "$(dirname "$0")/../.." && pwd)
bare=$tree/build/platforms/$1
root=$bare.fresh
[ -e "$bare/whole" ] || {
    rm -rf "$bare"
    mkdir -p "$bare"
    debootstrap --variant=minbase "$1" "$bare" >"$bare.log" 2>&1 || { tail "$bare.log" && exit 77; }
    touch "$bare/whole"
}
rm -rf "$root"
cp -a "$bare" "$root"
cp /etc/resolv.conf "$root/etc/resolv.conf"
[ ! -r "${NODE_EXTRA_CA_CERTS-}" ] || cp "$NODE_EXTRA_CA_CERTS" "$root/etc/certificates_of_npm"
mkdir "$root/leadline"
(cd "$tree" && find . -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git -print0 | xargs -0 cp -R -t "$root/leadline")
[ $# -lt 3 ] || cp -R "$3" "$root/leadline/given"
exec unshare --mount --propagation private -- sh -euc '
    for folder in dev proc sys; do mount --rbind "/$folder" "$1/$folder"; done
    exec chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CI="${CI-}" \
        ${OPENBLAS_CORETYPE:+OPENBLAS_CORETYPE="$OPENBLAS_CORETYPE"} \
        ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/certificates_of_npm} sh -euc "cd /leadline && $2"' sh "$root" "$2"
