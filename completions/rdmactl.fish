# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_rdmactl_global_optspecs
    string join \n root= q/quiet v/verbose color= h/help V/version
end

function __fish_rdmactl_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_rdmactl_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_rdmactl_using_subcommand
    set -l cmd (__fish_rdmactl_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c rdmactl -n "__fish_rdmactl_needs_command" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_needs_command" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -s V -l version -d 'Print version'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "check" -d 'Find what keeps this node from training at full speed, with evidence and fixes'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "env" -d 'Print the NCCL settings for this node, as text to evaluate'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "exec" -d 'Run a program with the NCCL settings for this node'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "lint" -d 'Check an existing NCCL configuration against this node, and say what NCCL would do with it'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "devices" -d 'List RDMA ports: netdev, role and why, state, rate, PCI, NUMA node, nearest GPU'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "nics" -d 'List RDMA ports: netdev, role and why, state, rate, PCI, NUMA node, nearest GPU'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "gids" -d 'List GID tables: index, GID, IPv4 address, RoCE version, netdev, usable or why not'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "gpus" -d 'List GPUs and their driver, from nvidia-smi or from PCI'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "topo" -d 'Show how far each GPU is from each RDMA port'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "log" -d 'Read an NCCL log: the network that was really used, and what its errors mean'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "capture" -d 'Write this node as one text file that --root replays anywhere'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "explain" -d 'Print a check\'s page: what it reads, why it matters, what to do'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "completions" -d 'Print the completion script of a shell'
complete -c rdmactl -n "__fish_rdmactl_needs_command" -f -a "man" -d 'Print the manual page'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l format -d 'Output format' -r -f -a "text\t'For people: most serious first, each with evidence and the fix'
json\t'JSON: every check, also those that passed'
junit\t'JUnit XML, for CI'
github\t'GitHub Actions annotations'
nagios\t'One line and performance data; exit 0 ok, 1 warning, 2 critical, 3 unknown'
npd\t'One line of at most 80 characters for node-problem-detector; exit 0 ok, 1 problem, 2 unknown'
nhc\t'One line for LBNL Node Health Check'
slurm\t'One line as a drain reason for Slurm; nothing when the node is fine'
prometheus\t'Metrics for node_exporter\'s textfile collector'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -s o -l output -d 'Write to this file instead of standard output, all at once' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l expect -d 'What the node ought to have: gpus=N, hcas=N (data ports), rate=N (Gb/s) (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l require -d 'A version that is needed: ofed, doca, nvidia, nccl or kernel, with >= or = (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l set-threshold -d 'Change a threshold (can be repeated); `rdmactl explain` lists them' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l thresholds -d 'Thresholds from a JSON object of names and numbers' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l interval -d 'Read counters twice, so many seconds apart, and judge what they gained' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l nccl-version -d 'NCCL\'s release, where it is not the one that is found (2.27.7)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l only -d 'Only these checks: ids or families' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l skip -d 'Not these checks: ids or families' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l fail-on -d 'Severity from which on a finding makes the command fail' -r -f -a "error\t'Errors'
warning\t'Warnings and errors'
note\t'Anything'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l compact -d 'JSON in one line'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l strict -d 'Fail (exit 3) also where a check could not look'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -l timing -d 'Say on standard error how long reading, checks and output took'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l format -d 'Output format' -r -f -a "sh\t'`export NAME=VALUE;` lines for `eval "$(rdmactl env)"` in any POSIX shell'
fish\t'`set -gx NAME VALUE;` lines for `rdmactl env --format fish | source`'
dotenv\t'NAME=VALUE lines for `docker --env-file`'
nccl-conf\t'Lines of an nccl.conf file'
k8s\t'A container\'s `env:` list'
json\t'JSON'
slurm\t'`export NAME=VALUE` lines, as a Slurm TaskProlog prints them'
mpirun\t'`-x NAME=VALUE` options of Open MPI\'s mpirun'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l profile -d 'Which variables: what makes RDMA work, or also timeout, queue pairs and log level' -r -f -a "base\t'What makes RDMA work: ports, GID, interface'
full\t'Also timeout, queue pairs and log level'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l gid-policy -d 'How the GID is chosen on RoCE' -r -f -a "auto\t'The first of the following that is right on every port'
pin\t'One index for all ports'
dynamic\t'No index: NCCL looks for a RoCE v2 GID of the right family by itself'
range\t'The same within an address range'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l for -d 'Libraries whose variables are wanted' -r -f -a "nccl\t'NCCL'
rccl\t'RCCL, which reads NCCL\'s names'
ucx\t'UCX'
nvshmem\t'NVSHMEM, also for DeepEP'
gloo\t'PyTorch\'s Gloo'
tp\t'PyTorch\'s TensorPipe'
mscclpp\t'MSCCL++'
mooncake\t'Mooncake\'s transfer engine'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l set -d 'Set one more variable, or another value (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l from-pid -d 'Start from the settings that this process was started with, and take over those of the libraries that are not found out' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l fallback -d 'What to do when RDMA has no answer: plain sockets instead of an error' -r -f -a "tcp\t'NCCL\'s socket transport'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l nccl-version -d 'NCCL\'s release, where it is not the one that is found (2.27.7)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l keep -d 'Leave variables alone that have another value already'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -l explain -d 'Say on standard error why each port is in or out, and how each value was chosen (as -v does)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand env" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l profile -d 'Which variables: what makes RDMA work, or also timeout, queue pairs and log level' -r -f -a "base\t'What makes RDMA work: ports, GID, interface'
full\t'Also timeout, queue pairs and log level'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l gid-policy -d 'How the GID is chosen on RoCE' -r -f -a "auto\t'The first of the following that is right on every port'
pin\t'One index for all ports'
dynamic\t'No index: NCCL looks for a RoCE v2 GID of the right family by itself'
range\t'The same within an address range'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l for -d 'Libraries whose variables are wanted' -r -f -a "nccl\t'NCCL'
rccl\t'RCCL, which reads NCCL\'s names'
ucx\t'UCX'
nvshmem\t'NVSHMEM, also for DeepEP'
gloo\t'PyTorch\'s Gloo'
tp\t'PyTorch\'s TensorPipe'
mscclpp\t'MSCCL++'
mooncake\t'Mooncake\'s transfer engine'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l set -d 'Set one more variable, or another value (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l from-pid -d 'Start from the settings that this process was started with, and take over those of the libraries that are not found out' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l fallback -d 'What to do when RDMA has no answer: plain sockets instead of an error' -r -f -a "tcp\t'NCCL\'s socket transport'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l nccl-version -d 'NCCL\'s release, where it is not the one that is found (2.27.7)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l keep -d 'Leave variables alone that have another value already'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -l explain -d 'Say on standard error why each port is in or out, and how each value was chosen (as -v does)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand exec" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l pid -d 'The environment that this process was started with, instead of this shell\'s' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l env-file -d 'A file of variables: `export NAME=VALUE` lines as a shell reads them, others as docker --env-file does' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l conf -d 'A configuration file in place of `NCCL_CONF_FILE` and ~/.nccl.conf, in NCCL\'s syntax' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l nccl-version -d 'NCCL\'s release, where it is not the one that is found (2.27.7)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l fail-on -d 'Severity from which on a finding makes the command fail' -r -f -a "error\t'Errors'
warning\t'Warnings and errors'
note\t'Anything'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l strict -d 'Fail (exit 3) also where something could not be looked at'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'
ibdev2netdev\t'The lines of `ibdev2netdev`: mlx5_0 port 1 ==> eth0 (Up)'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand devices" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'
ibdev2netdev\t'The lines of `ibdev2netdev`: mlx5_0 port 1 ==> eth0 (Up)'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand nics" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'
show_gids\t'The columns of `show_gids`'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gids" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gpus" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gpus" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gpus" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gpus" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gpus" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand gpus" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand topo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -l fail-on -d 'Severity from which on a finding makes the command fail' -r -f -a "error\t'Errors'
warning\t'Warnings and errors'
note\t'Anything'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -s f -l follow -d 'Go on reading what is appended, and print findings as they first appear; ends with Ctrl-C'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand log" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s o -l output -d 'Write to this file instead of standard output' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -l redact -d 'Replace host names, MAC addresses, GUIDs and public addresses, each consistently'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand capture" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l format -d 'Output format' -r -f -a "text\t'A table for people'
json\t'JSON'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l hca -d 'Use these ports and no others, in the grammar of `NCCL_IB_HCA` (`=mlx5_1,mlx5_2:1`, `^mlx5_0`)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l exclude -d 'Leave these out: exact device names, with `:PORT` for one port (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l main -d 'Interface of the host\'s ordinary traffic, instead of the default route\'s (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l link-layer -d 'Link layer of the data ports, where a node has both' -r -f -a "ib\t'InfiniBand'
roce\t'RoCE'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l gpus -d 'GPUs in use: a number (the first N) or a list of indexes (`0,1,2,3`); the ports nearest to them are used' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l expect -d 'What the node ought to have: gpus=N, hcas=N (data ports), rate=N (Gb/s) (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l require -d 'A version that is needed: ofed, doca, nvidia, nccl or kernel, with >= or = (can be repeated)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l set-threshold -d 'Change a threshold (can be repeated); `rdmactl explain` lists them' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l thresholds -d 'Thresholds from a JSON object of names and numbers' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l interval -d 'Read counters twice, so many seconds apart, and judge what they gained' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l nccl-version -d 'NCCL\'s release, where it is not the one that is found (2.27.7)' -r
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l here -d 'Also run the check on this node and show its evidence'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -l allow-main -d 'Use the port under the default route even if better ports are merely broken'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l root -d 'Read this directory or capture file instead of the live machine' -r -F
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -l color -d 'When to use colour' -r -f -a "auto\t'Colour on a terminal, unless NO_COLOR is set'
always\t'Always'
never\t'Never'"
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s q -l quiet -d 'Say less on standard error: errors only'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s v -l verbose -d 'Say more on standard error: why (-v), and every file that is read (-vv)'
complete -c rdmactl -n "__fish_rdmactl_using_subcommand man" -s h -l help -d 'Print help (see more with \'--help\')'
