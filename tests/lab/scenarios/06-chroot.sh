# One static file: it runs where there is nothing but /sys and /proc, and says the same there.
. "$LAB/lib.sh"
node

if LC_ALL=C ldd "$RDMACTL" 2>&1 | grep -q -e 'not a dynamic' -e 'statically linked'; then
    ok "static, $(stat -c %s "$RDMACTL") bytes"
else
    give_up 'static' "$(ldd "$RDMACTL" 2>&1 | head -n 1)"
fi
mkdir -p "$tmp/root/sys" "$tmp/root/proc"
cp "$RDMACTL" "$tmp/root/rdmactl"
mount --rbind /sys "$tmp/root/sys"
mount -t proc none "$tmp/root/proc"

capture rdmactl env
outside=$out
capture chroot "$tmp/root" /rdmactl env
is 'runs in an empty chroot' 0 "$status"
is 'the same block as outside' "$outside" "$out"
