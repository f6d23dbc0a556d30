# Where there is nothing to use, the job stops: no half answer, no quiet TCP.
. "$LAB/lib.sh"

refuses() { # WHAT: of what was captured
    is "$1: exit 1" 1 "$status"
    is "$1: nothing but false;" $'false;\n' "$out"
    if [ -n "$err" ]; then ok "$1: says why: ${err%%$'\n'*}"; else not_ok "$1: says why" 'standard error is empty'; fi
}

mkdir "$tmp/empty"
capture rdmactl --root "$tmp/empty" env
refuses 'an empty directory'
for shell in dash bash 'busybox sh'; do
    read -ra argv <<<"$shell"
    for words in 'eval $(rdmactl --root EMPTY env)' 'eval "$(rdmactl --root EMPTY env)"'; do
        capture "${argv[@]}" -e -c "${words/EMPTY/$tmp/empty}; echo reached"
        is "$shell -e: $words stops the script" '1 ' "$status $out"
    done
    capture "${argv[@]}" -c "eval \$(rdmactl --root $tmp/empty env) || exit 3; echo reached"
    is "$shell: eval \$(...) || exit" '3 ' "$status $out"
done

capture rdmactl env
refuses 'a machine without RDMA devices'

node
capture unshare --mount sh -c 'mount -t tmpfs none /dev/infiniband && exec rdmactl env'
refuses 'devices without a node in /dev/infiniband'
capture unshare --net sh -c 'exec rdmactl env'
refuses 'a network namespace with nothing in it'
