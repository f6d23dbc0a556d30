# One data link down: the check names it.
. "$LAB/lib.sh"
need_check 'a link that is down'
node

capture rdmactl check --only port.down
is 'all links up: exit 0' 0 "$status"
ip link set eth3 down
for _ in {1..50}; do
    read -r state </sys/class/infiniband/mlx5_3/ports/1/state
    [ "$state" = '4: ACTIVE' ] || break
    sleep 0.1
done
is 'the kernel says so' '1: DOWN' "$state"
capture rdmactl check --only port.down
is 'one link down: exit 1' 1 "$status"
has 'the finding' port.down "$out"
has 'its subject' mlx5_3 "$out"
