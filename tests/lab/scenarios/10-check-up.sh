# Every data port is up: nothing to report. The stand-in GPUs have no driver, so the families that ask for one stay out.
. "$LAB/lib.sh"
need_check 'a healthy node'
node

capture rdmactl check --skip driver,gpu,gdr,lib
is 'a healthy node: exit 0' 0 "$status"
((status == 0)) || note "$out"
