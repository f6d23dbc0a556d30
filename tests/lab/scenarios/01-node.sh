# The design's node: eight data NICs beside the GPUs, one under the default route. Every shell gets the same block.
. "$LAB/lib.sh"
node

right=$(settings "${data[*]}" 1 eth0)
is 'the address is row 1 of a table without RoCE v1' 1 "$(gid_row mlx5_1 10.1.0.1)"

for shell in dash bash 'busybox sh' zsh; do
    if ! command -v "${shell%% *}" >/dev/null; then skip "eval in $shell" 'not installed'; continue; fi
    read -ra argv <<<"$shell"
    is "$shell: eval \$(rdmactl env)" "$right" "$(block 'eval $(rdmactl env)' "${argv[@]}")"
    is "$shell: eval \"\$(rdmactl env)\"" "$right" "$(block 'eval "$(rdmactl env)"' "${argv[@]}")"
done
if command -v fish >/dev/null; then
    is 'fish: rdmactl env --format fish | source' "$right" "$(block 'rdmactl env --format fish | source' fish)"
else
    skip 'fish' 'not installed'
fi

is 'what was set before is replaced' "$right" \
    "$(block 'export NCCL_IB_GID_INDEX=7 NCCL_IB_DISABLE=1 NCCL_IB_HCA=mlx5; eval $(rdmactl env)' dash)"
is '--gpus 4: the NICs nearest to GPUs 0 to 3' "$(settings 'mlx5_1 mlx5_2 mlx5_3 mlx5_4' 1 eth0)" \
    "$(block 'eval $(rdmactl env --gpus 4)' dash)"
is '--gpus 6,7: their own two' "$(settings 'mlx5_7 mlx5_8' 1 eth0)" "$(block 'eval $(rdmactl env --gpus 6,7)' dash)"

capture setpriv --reuid=65534 --regid=65534 --clear-groups rdmactl env
is 'needs no privilege' 0 "$status"
is 'a child started by exec has the same' "$right" "$(block 'rdmactl exec -- env' dash)"
