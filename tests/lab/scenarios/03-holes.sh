# Addresses come and go, rows move and leave holes: `env` follows the table as it is now.
. "$LAB/lib.sh"
node

# Another address on every data NIC, then the first one away: row 1 becomes a hole, row 2 is in use.
for n in {1..8}; do echo "addr add 10.$n.1.2/24 dev eth$n"; done | ip -batch -
for n in {1..8}; do wait_for_row "mlx5_$n" "10.$n.1.2"; done
for n in {1..8}; do echo "addr del 10.$n.0.1/24 dev eth$n"; done | ip -batch -
for n in {1..8}; do wait_for_no_row "mlx5_$n" "10.$n.0.1"; done

is 'row 1 is a hole' 0000:0000:0000:0000:0000:0000:0000:0000 "$(cat /sys/class/infiniband/mlx5_1/ports/1/gids/1)"
found=$(for n in {1..8}; do gid_row "mlx5_$n" "10.$n.1.2"; done | paste -sd ' ')
is 'the addresses are in row 2' '2 2 2 2 2 2 2 2' "$found"
is 'all rows moved: their new index' "$(settings "${data[*]}" 2 eth0)" "$(block 'eval $(rdmactl env)' dash)"
succeeds 'row 2 carries traffic' traffic mlx5_1 2 10.1.1.2 18511
if traffic mlx5_1 1 10.1.1.2 18512 >"$tmp/hole"; then
    not_ok 'the hole does not' "$(<"$tmp/hole")"
else
    ok 'the hole does not'
fi

# One NIC's address leaves and a new one takes the lowest free row: the indexes differ now.
ip addr del 10.3.1.2/24 dev eth3 && wait_for_no_row mlx5_3 10.3.1.2
ip addr add 10.3.1.3/24 dev eth3 && wait_for_row mlx5_3 10.3.1.3
is 'a new address takes the hole' 1 "$(gid_row mlx5_3 10.3.1.3)"
dynamic="NCCL_IB_ADDR_FAMILY=AF_INET NCCL_IB_DISABLE=0 NCCL_IB_HCA==$(IFS=,; echo "${data[*]}")"
dynamic+=' NCCL_IB_ROCE_VERSION_NUM=2 NCCL_SOCKET_IFNAME=eth0'
is 'indexes differ: no index, NCCL looks for itself' "$dynamic" "$(block 'eval $(rdmactl env)' dash)"
is 'a stale index does not survive that' "$dynamic" "$(block 'export NCCL_IB_GID_INDEX=2; eval $(rdmactl env)' dash)"

capture rdmactl env --nccl-version 2.20.5
is 'indexes differ and NCCL is too old to look: exit 1' 1 "$status"
is '... and nothing but false;' $'false;\n' "$out"
has '... and the port is named' mlx5_3 "$err"
is '... of one index with the others, that release can still use it' "$(settings 'mlx5_1 mlx5_2' 2 eth0)" \
    "$(block 'eval $(rdmactl env --nccl-version 2.20.5 --hca =mlx5_1,mlx5_2)' dash)"

# A link-local address in front of the real one, where NCCL would stop: only a range leads past it.
ip addr del 10.3.1.3/24 dev eth3 && wait_for_no_row mlx5_3 10.3.1.3
ip addr add 169.254.3.1/16 dev eth3 && wait_for_row mlx5_3 169.254.3.1
ip addr add 10.3.1.3/24 dev eth3 && wait_for_row mlx5_3 10.3.1.3
ip addr del 10.5.1.2/24 dev eth5 && wait_for_no_row mlx5_5 10.5.1.2
ip addr add 10.5.1.2/24 dev eth5 && wait_for_row mlx5_5 10.5.1.2
is 'rows now' '1 2 1' "$(gid_row mlx5_3 169.254.3.1) $(gid_row mlx5_3 10.3.1.3) $(gid_row mlx5_5 10.5.1.2)"
is 'an earlier row that is not meant: a range that leaves it out' \
    "${dynamic/ NCCL_IB_DISABLE/ NCCL_IB_ADDR_RANGE=10.0.0.0/12 NCCL_IB_DISABLE}" "$(block 'eval $(rdmactl env)' dash)"

# No address at all: not a NIC to send a job to.
ip addr flush dev eth3
wait_for_no_row mlx5_3 10.3.1.3
has 'a NIC without an address is left out' '==mlx5_1,mlx5_2,mlx5_4,mlx5_5,mlx5_6,mlx5_7,mlx5_8 ' \
    "$(block 'eval $(rdmactl env)' dash)"
