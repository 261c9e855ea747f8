#!/bin/sh
# compat_test.sh BIN OSHBIN PE - what shmemcc, oshcc, shmemrun and their kin make of their arguments.
# That the programs they compile work is the business of tests/consumer.

bin=$1 oshbin=$2 pe=$3
failures=0

# check NAME EXPECTED-PATTERN ACTUAL
check()
{
    # shellcheck disable=SC2254
    case $3 in
    $2) ;;
    *)
        echo "$1: expected <$2>, got <$3>" >&2
        failures=$((failures + 1))
        ;;
    esac
}

for cc in "$bin/shmemcc" "$oshbin/oshcc"; do
    check "$cc links" 'mycc -I/*/include a.c -o a -L/*/lib* -Wl,-rpath,/*/lib* -lnvs' \
        "$(CC=mycc "$cc" a.c -o a --showme)"
    check "$cc -c" 'my cc -I/*/include -c a.c' "$(CC='my cc' "$cc" -show -c a.c)"
    check "$cc runs" '-I/*/include x y -L/* -lnvs' "$(CC=echo "$cc" x y)"
    check "$cc as its own compiler" 'cc -I/*/include -c a.c' "$(CC="x $cc" "$cc" -show -c a.c)"
    check "$cc parts" '-I/*/include -L/*/lib* -Wl,-rpath,/*/lib* -lnvs nvs my cc' \
        "$("$cc" -showme:compile) $("$cc" --showme:link) $("$cc" --showme:libs) $(CC='my cc' "$cc" --showme:command)"
    check "$cc folders" '/*/include /*/lib*' "$("$cc" --showme:incdirs) $("$cc" --showme:libdirs)"
    check "$cc --help of the compiler" '-I/*/include --help -v' "$(CC=echo "$cc" --help -v)"
    check "$cc without input" '-I/*/include --version' "$(CC='echo' "$cc" --version)"
done
for cxx in "$bin/shmemc++" "$oshbin/oshc++" "$oshbin/oshcxx"; do
    check "$cxx" 'mycxx -I/* a.cc -L/* -lnvs' "$(CXX=mycxx "$cxx" a.cc --showme)"
done

for run in "$bin/shmemrun" "$oshbin/oshrun"; do
    check "$run -np" 'yes
yes' "$("$run" -np 2 --map-by core --oversubscribe --allow-run-as-root --mca a b "$pe" print=yes)"
    check "$run default" one "$("$run" "$pe" print=one)"
    check "$run -x" 'a b' "$("$run" -x NVS_COMPAT_TEST='a b' sh -c 'echo "$NVS_COMPAT_TEST"')"
    check "$run tags" '[[]PE 0] x' "$("$run" -n 1 --tag-output "$pe" print=x)"
    check "$run -H localhost" x "$("$run" -H localhost:4 "$pe" print=x)"
    check "$run -H elsewhere" '*this host only*' "$("$run" -H elsewhere "$pe" print=x 2>&1)"
    check "$run passes on" '*allowed: 1..4096*' "$("$run" -np zero "$pe" 2>&1)"
    check "$run --help of the program" --help "$("$run" sh -c 'echo "$1"' sh --help)"
    "$run" -n 2 "$pe" init finalize exit=3
    check "$run status" 3 $?
done

[ $failures = 0 ] && echo "all is well"
exit $((failures > 0))
