# bash completion of nvs-info.

_nvs_info()
{
    local options='--library --system --start --variables -j --json --sysroot -h --help --version'
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [ "$cur" = = ]; then # bash breaks words at =
        cur=''
    elif [ "$prev" = = ]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if [ "$prev" = --sysroot ]; then
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        compopt -o filenames 2>/dev/null
    else
        mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    fi
}

complete -F _nvs_info nvs-info
