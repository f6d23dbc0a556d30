# Ratios of times taken in one run; nothing is asserted. The emulation makes absolute times meaningless.
#
# The bare loop is LAB_BENCH when set: a program that opens and reads every file named on its standard input, one a
# line, ignoring errors, and ends. Without it a loop in perl stands in, timed from inside so that its start is free.
. "$LAB/lib.sh"
node

best() { # COMMAND...: microseconds of the fastest of three runs
    local least=0 began took _
    for _ in {1..3}; do
        began=${EPOCHREALTIME/./}
        "$@" >/dev/null 2>&1
        took=$((${EPOCHREALTIME/./} - began))
        ((least && least <= took)) || least=$took
    done
    echo "$least"
}
if [ -n "${LAB_BENCH:-}" ] && [ -x "$LAB_BENCH" ]; then
    install -m 755 "$LAB_BENCH" "$tmp/loop"
    bare() { best sh -c "exec '$tmp/loop' <'$1'"; }
elif command -v perl >/dev/null; then
    bare() {
        perl -MTime::HiRes=time -e '
            chomp(my @files = <STDIN>);
            my $least;
            for (1 .. 3) {
                my $began = time;
                for (@files) { open(my $f, "<:raw", $_) or next; sysread($f, my $text, 4096) }
                my $took = time - $began;
                $least = $took if !defined $least || $took < $least;
            }
            printf "%d\n", $least * 1e6' <"$1"
    }
else
    skip 'the bare loop' 'neither LAB_BENCH nor perl'
    exit 0
fi
ratio() { # WHAT MICROSECONDS
    printf 'env / %s = %d.%03d\n' "$1" $((env / $2)) $((env * 1000 / $2 % 1000))
}

printf '%s\n' /sys/class/infiniband/*/ports/*/gids/* /sys/class/infiniband/*/ports/*/gid_attrs/{types,ndevs}/* >"$tmp/every"
# What -v says was read, where it says so.
rdmactl -v env 2>&1 >/dev/null | grep -o '/\(sys\|proc\)/[^ :,;()"]*' | sort -u >"$tmp/read"

env=$(best rdmactl env)
note "$(wc -l <"$tmp/every") files hold the GID tables, env names $(wc -l <"$tmp/read") as read"
ratio 'a bare loop over every row of every table' "$(bare "$tmp/every")"
if [ -s "$tmp/read" ]; then ratio 'a bare loop over the files env reads' "$(bare "$tmp/read")"; fi
ratio 'ibv_devinfo -v' "$(best ibv_devinfo -v)"
ratio 'ibv_devinfo -l' "$(best ibv_devinfo -l)"
ratio 'rdma link' "$(best rdma link)"
ratio 'a program that does nothing' "$(best env true)"
