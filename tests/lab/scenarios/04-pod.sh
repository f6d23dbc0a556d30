# A pod: another network namespace with a macvlan child of eth1 for RDMA and a veth called eth0 for the rest.
# Its sysfs shows every HCA and every row, also those of the host; only one row belongs to it. (No traffic here: Soft-RoCE
# of this kernel sends from the initial namespace whatever the row says.)
. "$LAB/lib.sh"
node

ip netns add pod
ip -batch - <<'COMMANDS'
link add link eth1 name net1 type macvlan mode bridge
link set net1 netns pod
link add host0 type veth peer name eth0 netns pod
link set host0 up
COMMANDS
ip -netns pod -batch - <<'COMMANDS'
link set lo up
link set net1 mtu 9000 up
link set eth0 up
addr add 10.1.0.101/24 dev net1
addr add 172.16.0.2/24 dev eth0
route add default via 172.16.0.1
COMMANDS
wait_for_row mlx5_1 10.1.0.101

in_pod() { ip netns exec pod "$@"; }
index=$(gid_row mlx5_1 10.1.0.101 net1)
rows mlx5_1
is 'the host has its own row first' 1 "$(gid_row mlx5_1 10.1.0.1 eth1)"
is 'the pod sees all nine HCAs' 9 "$(in_pod ls /sys/class/infiniband | wc -l)"
is 'the pod sees the row of the main NIC, with the name its own eth0 has' eth0 \
    "$(in_pod cat /sys/class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1)"

right=$(settings mlx5_1 "$index" eth0)
is "in the pod: the one HCA and its row $index" "$right" "$(in_pod "$LAB/dress.sh" dash -c 'eval $(rdmactl env); env' |
    grep '^NCCL_' | sort | paste -sd ' ')"
is 'the same where no PCI parent tells the NICs apart' "$right" "$(in_pod dash -c 'eval $(rdmactl env); env' |
    grep '^NCCL_' | sort | paste -sd ' ')"
is 'on the host: as before' "$(settings "${data[*]}" 1 eth0)" "$(block 'eval $(rdmactl env)' dash)"

ip -netns pod addr del 10.1.0.101/24 dev net1
wait_for_no_row mlx5_1 10.1.0.101
capture in_pod "$LAB/dress.sh" rdmactl env
is 'a pod without an RDMA address: exit 1' 1 "$status"
is '... and nothing but false;' $'false;\n' "$out"
