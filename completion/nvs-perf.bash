# bash completion of nvs-perf: operations, options, and the values of those that have words.

_nvs_perf()
{
    local options='-b --minbytes -e --maxbytes -f --stepfactor -i --stepbytes -d --datatype -o --op
        -r --root --pattern --memory --mode --blocks --threads --contexts -n --iters -w --warmup_iters -c --check
        --blocking --rotate --percentiles --json --plot -h --help --version'
    local operations='put put_nbi get get_nbi put_signal signal ping_pong p g fetch_add add fetch_inc inc
        swap cswap fetch set fetch_and and fetch_or or fetch_xor xor barrier sync broadcast all_reduce
        reduce_scatter all_gather all_to_all rate atomics all'
    local words=$operations cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    COMPREPLY=()
    if [ "$cur" = = ]; then # bash breaks words at =
        cur=''
    elif [ "$prev" = = ]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    case $prev in
    -d | --datatype) words='int8 uint8 int32 uint32 int64 uint64 half float double bfloat16 all' ;;
    -o | --op) words='sum prod min max avg all' ;;
    -r | --root) words='0 all' ;;
    -n | --iters) words='auto' ;;
    --pattern) words='one pairs ring' ;;
    --memory) words='host device' ;;
    --mode) words='host stream graph thread warp block' ;;
    --blocks) words='1 auto' ;;
    --rotate) words='0 1' ;;
    --json | --plot)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
        return
        ;;
    -b | --minbytes | -e | --maxbytes | -f | --stepfactor | -i | --stepbytes | -w | \
        --warmup_iters | -c | --check | --threads | --contexts)
        return
        ;;
    *) [[ $cur == -* ]] && words=$options ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _nvs_perf nvs-perf
