# The index `env` chose moves real bytes on each of the NICs `env` chose, all at the same time.
. "$LAB/lib.sh"
node

eval "$(rdmactl env 2>"$tmp/err")" || give_up 'env answers' "$(<"$tmp/err")"
index=${NCCL_IB_GID_INDEX:-none}
IFS=, read -ra chosen <<<"${NCCL_IB_HCA#=}"
is 'every data NIC is in the list' "${data[*]}" "${chosen[*]}"

pids=()
for device in "${data[@]}"; do
    n=${device#mlx5_}
    traffic "$device" "$index" "10.$n.0.1" "$((18500 + n))" >"$tmp/result.$device" &
    pids+=($!)
done
for n in "${!data[@]}"; do
    device=${data[n]}
    if wait "${pids[n]}"; then
        ok "$device carries traffic through row $index: $(<"$tmp/result.$device")"
    else
        not_ok "$device carries traffic through row $index" "$(<"$tmp/result.$device")"
    fi
done
