# bash completion of shmemrun: its options, then the name of a command, then what that command takes.
# Needs bash alone; where bash-completion is loaded, it completes the arguments of the command.

_shmemrun()
{
    local options='-n -np --np --n -c -x -wd -wdir --wdir --bind-to -tag-output --tag-output -l
        -H -host --host -hosts --bind --timeout --on-loss -v --verbose -h --help --version
        --map-by --rank-by -mca --mca -oversubscribe --oversubscribe -allow-run-as-root
        --allow-run-as-root -bind-to-core --bind-to-core -q -quiet --quiet --report-bindings
        -hostfile --hostfile -machinefile --machinefile'
    local cur=${COMP_WORDS[COMP_CWORD]} i=1 option=''
    COMPREPLY=()
    # The command is the first word that is neither an option nor its value.
    while [ "$i" -lt "$COMP_CWORD" ]; do
        option=${COMP_WORDS[i]}
        case $option in
        -n | -np | --np | --n | -c | -x | -wd | -wdir | --wdir | --bind-to | -H | -host | --host | \
            -hosts | --bind | --timeout | --on-loss | --map-by | --rank-by)
            i=$((i + 2))
            [ "$option" = -x ] && [ "${COMP_WORDS[i]}" = = ] && i=$((i + 2)) # -x NAME=VALUE
            ;;
        -mca | --mca) i=$((i + 3)) ;;
        -*) i=$((i + 1)) ;;
        *) break ;;
        esac
    done
    if [ "$i" -gt "$COMP_CWORD" ]; then
        case $option in
        --bind) mapfile -t COMPREPLY < <(compgen -W 'core none' -- "$cur") ;;
        --bind-to) mapfile -t COMPREPLY < <(compgen -W 'core hwthread none' -- "$cur") ;;
        --on-loss) mapfile -t COMPREPLY < <(compgen -W 'end continue' -- "$cur") ;;
        -x) mapfile -t COMPREPLY < <(compgen -e -- "$cur") ;;
        -H | -host | --host | -hosts) mapfile -t COMPREPLY < <(compgen -W localhost -- "$cur") ;;
        -wd | -wdir | --wdir)
            mapfile -t COMPREPLY < <(compgen -d -- "$cur")
            compopt -o filenames 2>/dev/null
            ;;
        esac
    elif [ "$i" -lt "$COMP_CWORD" ]; then
        if declare -F _command_offset >/dev/null; then
            _command_offset "$i"
        else
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            compopt -o filenames 2>/dev/null
        fi
    elif [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -c -d -- "$cur" | sort -u)
        compopt -o filenames 2>/dev/null
    fi
}

complete -F _shmemrun shmemrun
