#!/usr/bin/env bash
# One night: ingest the documents of a day, update the model with them, evaluate it, write the report.
#
#   conf/pipeline/nightly.sh RUN_DATE STORE INPUT [ingest flags …]
#
# RUN_DATE is the finished day and INPUT holds its documents. Layout of STORE:
#   run_date=YYYY-MM-DD/{corpus,model,evaluation.json,report.html}     one directory per night
#   nights                                                             the nights in the order their models were made
# The first night fits a model; every other one updates the newest model, in its vocabulary, and skips documents that the
# model knows. So nights may come late, twice or in any order, and none waits for another. A step whose output is there is
# skipped: after a failure, run the same line again. A day without documents makes no model and is no error.
#
# Environment: SPECTRAL_SPARK (the command), INGEST_FLAGS, FIT_FLAGS, UPDATE_FLAGS, ATTEMPTS (3), RETRY_SECONDS (60), and
# STEPS, which of "ingest model evaluate report" to run. Exit code 2: wrong usage or input, not retried; 1: a failure.
set -euo pipefail

if [ $# -lt 3 ]; then
    sed -n '2,16p' "$0" | cut -c3- >&2
    exit 2
fi
run_date=$1 store=${2%/} input=$3
shift 3
refuse() { echo "nightly: $1" >&2; exit 2; }
[[ $run_date =~ ^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$ ]] || refuse "RUN_DATE '$run_date' is not YYYY-MM-DD"
read -ra run <<< "${SPECTRAL_SPARK:-spectral-spark}"       # on a cluster: a script that calls spark-submit jobs/VERB.py
command -v "${run[0]}" > /dev/null || refuse "there is no command '${run[0]}'; set PATH or SPECTRAL_SPARK"
name=run_date=$run_date night=$store/run_date=$run_date nights=$store/nights

step() {    # step OUTPUT VERB FLAGS…: run a verb unless its output is there; failures are tried again, mistakes are not
    local output=$1 attempt code
    shift
    [ -e "$output" ] && { echo "nightly: $output is there, skipped"; return; }
    for ((attempt = 1; attempt <= ${ATTEMPTS:-3}; attempt++)); do
        code=0
        "${run[@]}" "$@" || code=$?
        case $code in
            0) return ;;
            130) exit 130 ;;
            2 | 126 | 127) echo "nightly: '$1' cannot succeed as it stands (exit code $code)" >&2; exit 2 ;;
        esac
        echo "nightly: attempt $attempt of '$1' failed (exit code $code)" >&2
        ((attempt == ${ATTEMPTS:-3})) || sleep "${RETRY_SECONDS:-60}"
    done
    echo "nightly: giving up on '$1'; run the same line again to go on from here" >&2
    exit 1
}

newest() {  # the newest model. A night that ended between its model and its line in the list is entered now.
    local other
    for other in "$store"/run_date=????-??-??; do
        [ ! -d "$other/model" ] || grep -qsxF "${other##*/}" "$nights" || echo "${other##*/}" >> "$nights"
    done
    [ ! -s "$nights" ] || echo "$store/$(tail -n 1 "$nights")/model"
}

has_documents() {       # only a local folder can be looked at from here; a missing one is an empty day if its parent is there
    case $input in *://*) return 0 ;; esac
    if [ ! -e "$input" ]; then
        [ -d "$(dirname "$input")" ] || refuse "neither '$input' nor the folder it should be in is there"
        return 1
    fi
    [ -n "$(find -L "$input" -type f -print -quit)" ]
}

ingest() {
    local words
    words=$(newest)
    step "$night/corpus" ingest --input "$input" --output "$night/corpus" ${words:+--vocabulary "$words"} \
        ${INGEST_FLAGS:-} "$@"
}

model() {
    local before
    if [ -d "$night/model" ]; then
        newest > /dev/null
        echo "nightly: $night/model is there, skipped"
        return
    fi
    before=$(newest)
    if [ -n "$before" ]; then
        step "$night/model" update --corpus "$night/corpus" --model "$before" --output "$night/model" --skip-known \
            ${UPDATE_FLAGS:-}
    else
        step "$night/model" fit --corpus "$night/corpus" --model "$night/model" ${FIT_FLAGS:-}
    fi
    echo "$name" >> "$nights"
}

evaluate() {
    if grep -qE '"test": *0' "$night/corpus/corpus.json" 2> /dev/null; then
        echo "nightly: no documents of $run_date were held out, nothing to evaluate"
        return
    fi
    step "$night/evaluation.json" evaluate --corpus "$night/corpus" --model "$night/model" \
        --output "$night/evaluation.json"
}

report() {
    local evaluation=
    [ ! -e "$night/evaluation.json" ] || evaluation=$night/evaluation.json
    step "$night/report.html" report --model "$night/model" ${evaluation:+--evaluation "$evaluation"} \
        --title "Topics of $run_date" --output "$night/report.html"
}

if [ ! -e "$night/corpus" ] && ! has_documents; then
    echo "nightly: there are no documents of $run_date, nothing to do"
    exit 0
fi
mkdir -p "$night"
exec 9> "$store/.lock"
flock --timeout "${LOCK_SECONDS:-86400}" 9 || { echo "nightly: another night is still at work in '$store'" >&2; exit 1; }
for name_of_step in ${STEPS:-ingest model evaluate report}; do
    case $name_of_step in
        ingest) ingest "$@" ;;
        model | evaluate | report) "$name_of_step" ;;
        *) refuse "there is no step '$name_of_step'; the steps are ingest, model, evaluate and report" ;;
    esac
done
echo "nightly: $run_date done (${STEPS:-all steps}), see $night"
