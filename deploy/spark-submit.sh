#!/usr/bin/env bash
# Hands a run of tabpe to a cluster that is spoken to by spark-submit: YARN, Kubernetes, standalone.
#
#   MASTER=yarn deploy/spark-submit.sh synth /data/visits --schema schema.yaml -o out.parquet
#
# The driver runs here (client mode), where the schema, the ledger and the output are. All machines need
# the same Python with tabpe[spark]: name it in PYSPARK_PYTHON, or ship one (conda-pack, venv-pack) by
# --archives in SUBMIT. Files must have the same path on all machines.
set -euo pipefail

python=${PYTHON:-python3}
program=$("$python" -c 'import pathlib, tabpe; print(pathlib.Path(tabpe.__file__).parent / "__main__.py")')
home=$("$python" -c 'import pathlib, pyspark; print(pathlib.Path(pyspark.__file__).parent)')
export PYSPARK_DRIVER_PYTHON=$python PYSPARK_PYTHON=${PYSPARK_PYTHON:-$python}

# What lies on the disks of workers is encrypted. Encrypt what crosses the network as well, in the way of
# your cluster: SUBMIT='--conf spark.authenticate=true --conf spark.network.crypto.enabled=true'.
# An event log counts rows: leave it off, or keep it as you keep the table.
# shellcheck disable=SC2086
exec "${SPARK_HOME:-$home}/bin/spark-submit" \
    --master "${MASTER:?the master, such as yarn, k8s://https://HOST:PORT or spark://HOST:PORT}" \
    --deploy-mode client \
    --conf spark.io.encryption.enabled=true \
    --conf spark.eventLog.enabled=false \
    --conf spark.ui.enabled=false \
    --conf spark.log.level=ERROR \
    ${SUBMIT:-} \
    "$program" "$@" --engine spark
