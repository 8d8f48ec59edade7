#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# debian.sh SUITE COMMAND [ARCHITECTURE]: makes a bare Debian below build/platforms and runs COMMAND in a copy of this
# tree there. Its mounts are seen by itself alone, so that nothing of them is left behind.
set -eu
[ "${LL_PLATFORMS-}" ] || { echo "takes half an hour; ./do platforms runs it" && exit 77; }
[ "$(id -u)" = 0 ] || { echo "only root may make another system's root" && exit 77; }
command -v debootstrap >/dev/null || { echo "there is no debootstrap" && exit 77; }
tree=$(cd "$(dirname "$0")/../.." && pwd)
root=$tree/build/platforms/$1
[ -e "$root/whole" ] || {
    rm -rf "$root"
    mkdir -p "$root"
    debootstrap --variant=minbase "$1" "$root" >"$root.log" 2>&1 || { tail "$root.log" && exit 77; }
    touch "$root/whole"
}
cp /etc/resolv.conf "$root/etc/resolv.conf"
rm -rf "$root/leadline"
mkdir "$root/leadline"
(cd "$tree" && find . -mindepth 1 -maxdepth 1 ! -name 'build*' ! -name .git -print0 | xargs -0 cp -R -t "$root/leadline")
exec unshare --mount --propagation private -- sh -euc '
    for folder in dev proc sys; do mount --rbind "/$folder" "$1/$folder"; done
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 CI="${CI-}" \
        ${OPENBLAS_CORETYPE:+OPENBLAS_CORETYPE="$OPENBLAS_CORETYPE"} sh -euc "cd /leadline && $2"' sh "$root" "$2"
