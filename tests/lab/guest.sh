#!/bin/bash
# The guest's first process once this machine's root is in place: guest.sh JOB
# Talks to tests/lab/run over the second serial port: @ready, then @begin NAME ... @end STATUS for each scenario.

# shellcheck source=/dev/null
. "$1" # LAB, MODULES, BINARY, LAB_BENCH, SCENARIOS

exec </dev/null >/dev/ttyS1 2>&1
stty -F /dev/ttyS1 -opost

export PATH=/run/lab/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LC_ALL=C
export LAB LAB_BENCH RDMACTL=/run/lab/bin/rdmactl

mount -t tmpfs none /run
mkdir -p /dev/shm /run/lab/bin /run/netns /lib/modules
mount -t tmpfs -o size=16g none /dev/shm
mount --bind "$MODULES" /lib/modules
# A copy: readable by every user, and not read through the emulated file system when it is timed.
install -m 755 "$BINARY" "$RDMACTL"

for module in virtio_net veth macvlan ib_uverbs rdma_ucm rdma_rxe; do
    modprobe "$module" || echo "no module $module"
done
for _ in {1..50}; do [ -e /sys/class/net/eth8 ] && break; sleep 0.1; done
ip link set lo up
hostname lab
# What this machine happens to be is not what the guest is (all in the memory overlay).
rm -f /.dockerenv /etc/nccl.conf

# Back to a machine that has nine idle NICs and nothing else. A scenario's mounts go with its mount namespace.
reset() {
    local name
    for name in /run/netns/*; do [ -e "$name" ] && ip netns delete "${name##*/}" 2>/dev/null; rm -f "$name"; done
    for name in /sys/class/infiniband/*; do [ -e "$name" ] && rdma link delete "${name##*/}"; done
    for name in /sys/class/net/*; do
        name=${name##*/}
        case $name in
            lo) ;;
            eth[0-8]) echo "link set $name down"; echo "addr flush dev $name" ;;
            *) echo "link delete $name" ;;
        esac
    done | ip -force -batch -
    rm -rf /run/lab/node
    mkdir -p /run/lab/node
}

echo @ready
for scenario in "${SCENARIOS[@]}"; do
    echo "@begin $scenario"
    reset
    timeout -k 5 100 unshare --mount --propagation private bash "$scenario"
    status=$?
    case $status in
        0) ;;
        124 | 137) echo "not ok - $(basename "$scenario"): ended by the time limit" ;;
        *) echo "not ok - $(basename "$scenario"): exit status $status" ;;
    esac
    echo "@end $status"
done
exec >/dev/null 2>&1
echo o >/proc/sysrq-trigger
while :; do sleep 10; done
