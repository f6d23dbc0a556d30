# A container that was given no device nodes: sysfs still shows every HCA.
. "$LAB/lib.sh"
need_check 'hca.uverbs-missing'
node

capture rdmactl check --only hca.uverbs-missing
is 'all nodes there: exit 0' 0 "$status"
capture unshare --mount sh -c 'mount -t tmpfs none /dev/infiniband && exec rdmactl check --only hca.uverbs-missing'
is 'a tmpfs over /dev/infiniband: exit 1' 1 "$status"
has 'the finding' hca.uverbs-missing "$out"
has 'its subject' mlx5_1 "$out"
