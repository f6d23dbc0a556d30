# A small limit on locked memory matters to a user without CAP_IPC_LOCK, and only to such a one.
. "$LAB/lib.sh"
need_check 'limits.memlock'
node

user=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all)
capture "${user[@]}" prlimit --memlock=65536:65536 rdmactl check --only limits.memlock
is '64 KiB for a user: exit 1' 1 "$status"
has 'the finding' limits.memlock "$out"
capture prlimit --memlock=65536:65536 rdmactl check --only limits.memlock
is '64 KiB with CAP_IPC_LOCK: exit 0' 0 "$status"
capture prlimit --memlock=unlimited:unlimited "${user[@]}" rdmactl check --only limits.memlock
is 'no limit for a user: exit 0' 0 "$status"
