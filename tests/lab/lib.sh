# Sourced by every scenario: assertions, the node, and what a job or the kernel would say about it.
# shellcheck disable=SC2034

set -u
tmp=$(mktemp -d /run/lab/scenario.XXXXXX)
data=(mlx5_1 mlx5_2 mlx5_3 mlx5_4 mlx5_5 mlx5_6 mlx5_7 mlx5_8)

# ---- assertions: one line each ------------------------------------------------------------------

ok() { printf 'ok - %s\n' "$1"; }
not_ok() { printf 'not ok - %s (%s)\n' "$1" "${2//$'\n'/ | }"; }
skip() { printf 'skip - %s (%s)\n' "$1" "$2"; }
note() { printf '%s\n' "$*"; }
# is WHAT EXPECTED ACTUAL
is() { if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "expected '$2', got '$3'"; fi; }
# has WHAT TEXT ACTUAL
has() { case $3 in *"$2"*) ok "$1" ;; *) not_ok "$1" "no '$2' in '$3'" ;; esac }
# succeeds WHAT COMMAND...
succeeds() {
    local what=$1 said
    shift
    if said=$("$@" 2>&1); then ok "$what"; else not_ok "$what" "status $?: $said"; fi
}
give_up() { not_ok "$1" "$2"; exit 0; }

# capture COMMAND...: runs it; $out and $err are what it printed, to the byte, $status how it ended
capture() {
    out=$("$@" 2>"$tmp/err"; status=$?; printf 'x%d' "$status")
    status=${out##*x} out=${out%x*} err=$(<"$tmp/err")
}

# ---- the node -----------------------------------------------------------------------------------

# bare_node: nine Soft-RoCE devices, mlx5_0 on eth0 under the default route and mlx5_1..8 on eth1..8,
# each with the address 10.N.0.1/24
bare_node() {
    local n
    for n in {0..8}; do echo "link set eth$n mtu 9000 up"; echo "addr add 10.$n.0.1/24 dev eth$n"; done | ip -batch -
    ip route add default via 10.0.0.254
    for n in {0..8}; do echo "link add rxe$n type rxe netdev eth$n"; done >"$tmp/batch"
    rdma -b "$tmp/batch" || return 1
    for n in {0..8}; do echo "dev set rxe$n name mlx5_$n"; done >"$tmp/batch"
    rdma -b "$tmp/batch" || return 1
    for n in {0..8}; do wait_for_row "mlx5_$n" "10.$n.0.1" || return 1; done
}

# node: the same, in a machine that looks like a GPU node
node() { bare_node && "$LAB/dress.sh" true || give_up "the node is there" "it could not be set up"; }

# gid_row DEVICE IPV4 [NETDEV]: the index of the RoCE v2 row that holds the address, as the kernel shows it
gid_row() {
    local port=/sys/class/infiniband/$1/ports/1 octets wanted gid type netdev i
    IFS=. read -ra octets <<<"$2"
    printf -v wanted '0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x' "${octets[@]}"
    for i in {0..31}; do # of 1024: the lab never fills more
        { read -r gid <"$port/gids/$i"; } 2>/dev/null || return 1
        [ "$gid" = "$wanted" ] || continue
        { read -r type <"$port/gid_attrs/types/$i" && read -r netdev <"$port/gid_attrs/ndevs/$i"; } 2>/dev/null || continue
        [ "$type" = 'RoCE v2' ] && [ "${3:-$netdev}" = "$netdev" ] || continue
        echo "$i"
        return 0
    done
    return 1
}

# wait_for_row DEVICE IPV4: the kernel fills its tables from a work queue
wait_for_row() {
    local _
    for _ in {1..100}; do gid_row "$1" "$2" >/dev/null && return 0; sleep 0.05; done
    note "no row for $2 on $1"
    return 1
}

# wait_for_no_row DEVICE IPV4
wait_for_no_row() {
    local _
    for _ in {1..100}; do gid_row "$1" "$2" >/dev/null || return 0; sleep 0.05; done
    note "$2 stays in the table of $1"
    return 1
}

# rows DEVICE: the rows in use, for people
rows() {
    local port=/sys/class/infiniband/$1/ports/1 i gid netdev
    for i in {0..31}; do
        read -r gid <"$port/gids/$i"
        [ "$gid" != 0000:0000:0000:0000:0000:0000:0000:0000 ] || continue
        read -r netdev <"$port/gid_attrs/ndevs/$i" || netdev='?'
        note "$1 row $i: $gid $netdev"
    done
}

# ---- what a job would get -----------------------------------------------------------------------

# block WORDS SHELL...: the NCCL_* variables in the environment after the shell has run the words, on one line
block() {
    local words=$1
    shift
    env -i PATH="$PATH" HOME=/tmp TERM=dumb "$@" -c "$words; env" 2>"$tmp/block.err" | grep '^NCCL_' | sort | paste -sd ' '
}

# settings HCAS INDEX INTERFACE: the block that is right for them, in the form of block
settings() { echo "NCCL_IB_DISABLE=0 NCCL_IB_GID_INDEX=$2 NCCL_IB_HCA==${1// /,} NCCL_SOCKET_IFNAME=$3"; }

# ---- real traffic -------------------------------------------------------------------------------

# traffic DEVICE INDEX ADDRESS TCP_PORT: moves bytes from the device to itself through this row;
# fails when they do not arrive or the device did not send them
traffic() {
    local log=$tmp/traffic.$1 counter=/sys/class/infiniband/$1/ports/1/hw_counters/sent_pkts before after server
    local common=(-F -d "$1" -x "$2" -n 100 -p "$4")
    read -r before <"$counter"
    timeout 40 ib_write_bw "${common[@]}" >"$log.server" 2>&1 &
    server=$!
    wait_for_listener "$4" "$server"
    timeout 30 ib_write_bw "${common[@]}" "$3" >"$log" 2>&1 && wait "$server" || {
        local status=$?
        kill "$server" 2>/dev/null
        echo "status $status: $(grep -v '^[- ]*$' "$log" | tail -n 2)"
        return 1
    }
    read -r after <"$counter"
    echo "$((after - before)) packets"
    ((after - before >= 100))
}

wait_for_listener() { # TCP_PORT PID
    local pattern _
    printf -v pattern ':%04X [0-9A-F]*:0000 0A' "$1"
    for _ in {1..100}; do
        grep -q "$pattern" /proc/net/tcp /proc/net/tcp6 && return 0
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# ---- commands that may not be there yet ---------------------------------------------------------

# need_check WHAT: ends the scenario, as skipped, unless the binary has `check`
need_check() {
    rdmactl check --help >/dev/null 2>&1 && return 0
    skip "$1" "this rdmactl has no check"
    exit 0
}
