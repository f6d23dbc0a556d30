#!/bin/bash
# dress.sh [PROGRAM ARG...]: makes /sys look like a GPU node's, then runs PROGRAM.
#
# Soft-RoCE devices hang under devices/virtual without a parent. Each gets a `device` link to the PCI function of
# its netdev (and loses the `parent` file only Soft-RoCE has), and that function gets Mellanox ids. QEMU's "edu"
# functions get the ids and class of NVIDIA GPUs. All of it is mounts over /sys: nothing else changes, values stay
# live, and a new mount of /sys, as `ip netns exec` makes one, has to be dressed again.
set -eu

out=$(mktemp -d /run/lab/dress.XXXXXX)
bind() { # VALUE FILE: the file reads as VALUE from now on
    [ -e "$out/$1" ] || echo "$1" >"$out/$1"
    echo "$out/$1 $2 none bind 0 0" >>"$out/fstab"
}

# The netdev's name is of no use in another network namespace, so the first dressing notes the PCI functions.
known=/run/lab/node/functions
if [ ! -e "$known" ]; then
    for device in /sys/class/infiniband/*; do
        read -r netdev <"$device/parent"
        function=$(readlink -f "/sys/class/net/$netdev/device/..")
        echo "${device##*/} ${function#/sys/devices/}"
    done >"$known"
fi

while read -r device function; do
    mkdir -p "$out/infiniband/$device"
    ln -s "../../../$function" "$out/infiniband/$device/device"
    mknod "$out/infiniband/$device/parent" c 0 0 # an overlay's sign for "not there"
    bind 0x15b3 "/sys/devices/$function/vendor"
    bind 0x101b "/sys/devices/$function/device"
done <"$known"

for function in /sys/bus/pci/devices/*; do
    read -r vendor <"$function/vendor"
    [ "$vendor" = 0x1234 ] || continue
    function=$(readlink -f "$function")
    bind 0x10de "$function/vendor"
    bind 0x20b2 "$function/device"
    bind 0x030200 "$function/class"
done

mount --all --fstab "$out/fstab"
mount -t overlay -o "lowerdir=$out/infiniband:/sys/devices/virtual/infiniband" none /sys/devices/virtual/infiniband
exec "$@"
