# bash completion of nvsrun: its options, then the name of a command, then what that command takes.
# Needs bash alone; where bash-completion is loaded, it completes the arguments of the command.

_nvsrun()
{
    local options='-n -np --np --bind --tag-output --timeout --on-loss -v --verbose -h --help
        --version'
    local cur=${COMP_WORDS[COMP_CWORD]} i=1 option=''
    COMPREPLY=()
    # The command is the first word that is neither an option nor its value.
    while [ "$i" -lt "$COMP_CWORD" ]; do
        option=''
        case ${COMP_WORDS[i]} in
        -n | -np | --np | --bind | --timeout | --on-loss)
            option=${COMP_WORDS[i]}
            [ "${COMP_WORDS[i + 1]}" = = ] && i=$((i + 1)) # bash breaks words at =
            i=$((i + 2))
            ;;
        -*) i=$((i + 1)) ;;
        *) break ;;
        esac
    done
    if [ "$i" -gt "$COMP_CWORD" ]; then
        [ "$cur" = = ] && cur=
        case $option in
        --bind) mapfile -t COMPREPLY < <(compgen -W 'core none' -- "$cur") ;;
        --on-loss) mapfile -t COMPREPLY < <(compgen -W 'end continue' -- "$cur") ;;
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

complete -F _nvsrun nvsrun
