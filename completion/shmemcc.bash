# bash completion of shmemcc and shmemc++: their own options, otherwise files for the compiler.

_shmemcc()
{
    local options='--showme --showme:command --showme:compile --showme:link --showme:incdirs
        --showme:libdirs --showme:libs --showme:version -show --help'
    local line=${COMP_LINE:0:COMP_POINT}
    local cur=${line##* }
    COMPREPLY=()
    if [[ $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
        compopt -o filenames 2>/dev/null
        return
    fi
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$cur")
    # bash breaks words at a colon, and replaces only what comes after it.
    if [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${cur%"${cur##*:}"}"}")
    fi
}

complete -F _shmemcc shmemcc shmemc++
