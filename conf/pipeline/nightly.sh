#!/usr/bin/env bash
# One night: ingest the documents of the day that has ended, update the model, evaluate it, write the report.
#
#   conf/pipeline/nightly.sh RUN_DATE STORE INPUT [ingest flags …]
#
# RUN_DATE is the finished day. Layout of STORE:   run_date=YYYY-MM-DD/{corpus,model,evaluation.json,report.html}
# The first night fits a model; every later one updates that of the night before it, in that model's vocabulary. Each
# step's output appears complete or not at all, and a step whose output is there is skipped: run the same line again
# after a failure and it goes on where it stopped. Until then later nights are refused, so that no day is lost. The
# line for cron is in the README.
set -euo pipefail

if [ $# -lt 3 ]; then
    sed -n '2,10p' "$0" | cut -c3- >&2
    exit 2
fi
run_date=$1 store=${2%/} input=$3
shift 3
refuse() { echo "nightly: $1" >&2; exit 2; }
[[ $run_date =~ ^[0-9]{4}-[0-9]{2}-[0-9]{2}$ ]] || refuse "RUN_DATE '$run_date' is not YYYY-MM-DD"
run=${SPECTRAL_SPARK:-spectral-spark}          # on a cluster: a script that calls spark-submit jobs/VERB.py
night=$store/run_date=$run_date

earlier=
for other in "$store"/run_date=????-??-??; do
    if [[ ! -d $other || $other == "$night" ]]; then
        continue
    elif [[ $other < $night ]]; then
        [ -d "$other/model" ] || refuse "$other is unfinished: run that night again first, or remove it to leave it out"
        earlier=$other/model
    elif [ ! -d "$night/model" ]; then
        refuse "$other is there and was made without $run_date: remove the later nights to run them after this one"
    fi
done
mkdir -p "$night"

step() {    # step OUTPUT VERB FLAGS…: run a verb unless its output is there, up to three times
    local output=$1 attempt
    shift
    [ -e "$output" ] && { echo "nightly: $output is there, skipped"; return; }
    for attempt in 1 2 3; do
        if $run "$@"; then return; fi
        echo "nightly: attempt $attempt of '$1' failed" >&2
        sleep "${RETRY_SECONDS:-60}"
    done
    echo "nightly: giving up on '$1'; run the same line again to go on from here" >&2
    exit 1
}

step "$night/corpus" ingest --input "$input" --output "$night/corpus" ${earlier:+--vocabulary "$earlier"} \
    ${INGEST_FLAGS:-} "$@"
if [ -n "$earlier" ]; then
    step "$night/model" update --corpus "$night/corpus" --model "$earlier" --output "$night/model" ${UPDATE_FLAGS:-}
else
    step "$night/model" fit --corpus "$night/corpus" --model "$night/model" ${FIT_FLAGS:-}
fi
step "$night/evaluation.json" evaluate --corpus "$night/corpus" --model "$night/model" --output "$night/evaluation.json"
step "$night/report.html" report --model "$night/model" --evaluation "$night/evaluation.json" --output "$night/report.html"
echo "nightly: $run_date done, report in $night/report.html"
