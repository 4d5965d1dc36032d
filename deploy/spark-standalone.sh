#!/usr/bin/env bash
# A standalone cluster of Spark on this machine alone, from the jars of the Python package pyspark.
#
#   deploy/spark-standalone.sh [WORKERS] [PORT] [FOLDER]
#
# It stays in the foreground and ends with Ctrl-C, and all its processes with it. Each worker has one
# core. Then, elsewhere:
#
#   tabpe synth visits/ --schema schema.yaml --engine spark --address spark://127.0.0.1:7077 --jobs 2 -o out.parquet
#
# PYTHON names the interpreter that tabpe and pyspark are installed for, MEMORY what a worker may take.
set -euo pipefail

workers=${1:-2} port=${2:-7077} folder=${3:-$(mktemp -d)}
python=${PYTHON:-python3}
home=$("$python" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')
export SPARK_HOME=$home PYSPARK_PYTHON=${PYSPARK_PYTHON:-$(command -v "$python")}
# Nobody but this machine can reach it: it asks nobody who they are.
export SPARK_LOCAL_IP=127.0.0.1 SPARK_LOCAL_DIRS=$folder/local
# Rows may lie on the disks of workers while they are computed with.
umask 077
mkdir -p "$folder"

trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
trap 'exit 0' INT TERM
"$home/bin/spark-class" org.apache.spark.deploy.master.Master \
    --host 127.0.0.1 --port "$port" --webui-port 0 >"$folder/master.log" 2>&1 &
for number in $(seq "$workers"); do
    "$home/bin/spark-class" org.apache.spark.deploy.worker.Worker \
        --host 127.0.0.1 --cores 1 --memory "${MEMORY:-2g}" --webui-port 0 \
        --work-dir "$folder/work-$number" "spark://127.0.0.1:$port" >"$folder/worker-$number.log" 2>&1 &
done
echo "spark://127.0.0.1:$port with $workers workers, logs in $folder"
wait
