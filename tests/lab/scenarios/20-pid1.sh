# A pod whose platform gives NCCL's settings to PID 1 only: a shell beside it has none, `lint` says so and `exec` repairs it.
. "$LAB/lib.sh"
node

unshare --pid --net --fork --mount-proc env NCCL_IB_HCA==mlx5_1 NCCL_IB_GID_INDEX=1 NCCL_DEBUG=INFO \
    sh -c 'sleep 300' &
sleep 1
first=$(pgrep -nx sleep)
beside() { nsenter --target "$first" --pid --mount -- env -i PATH="$PATH" "$@"; }

is 'PID 1 has the settings' NCCL_IB_HCA==mlx5_1 "$(tr '\0' '\n' </proc/"$first"/environ | grep IB_HCA)"
is 'a shell beside it has none' '' "$(beside env | grep NCCL_)"
capture beside rdmactl lint
case $out in
*env.pid1-only*) ok 'lint says that only PID 1 has settings' ;;
*) give_up 'lint says that only PID 1 has settings' "$out $err" ;;
esac
is 'exec gives a program the right ones' "$(settings "${data[*]}" 1 eth0)" \
    "$(beside rdmactl exec -- env | grep '^NCCL_' | sort | paste -sd ' ')"
is 'env --from-pid 1 starts from those of PID 1' INFO \
    "$(beside dash -c 'eval $(rdmactl env --from-pid 1); echo $NCCL_DEBUG')"
kill "$first"
