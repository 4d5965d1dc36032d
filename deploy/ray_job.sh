#!/usr/bin/env bash
# Makes a synthetic table on the Ray cluster that this machine is part of.
# Usage: ray_job.sh TABLE SCHEMA OUT [OPTIONS OF tabpe synth]
# TABLE is a path that all machines see under the same name.
set -euo pipefail
table=$1 schema=$2 out=$3
shift 3
exec "${TABPE:-tabpe}" synth "$table" --schema "$schema" -o "$out" --engine ray --address auto "$@"
