#!/usr/bin/env bash
# Moves a StatefulSet from one cluster to another by hand, one ordinal at a time, the
# highest first: what a careful engineer does with kubectl alone.
#
#   move.sh FROM_CONTEXT TO_CONTEXT NAMESPACE STATEFULSET CLAIM_TEMPLATE
#
# Before it runs, the destination has the namespace, the Service and a copy of the
# StatefulSet with no replicas.
#
# It takes the fastest of what kubectl offers for each step: get and rollout status
# rather than wait, whose first list the API server holds back for up to 100 ms, and
# no validation of what an API server has just handed out.
#
# What it does not do: keep evictions within a disruption budget while a replica is
# down; wait until the other replicas are available; make the source's volume
# unusable, so that nobody starts the ordinal there again on the same disk; go on
# where it was interrupted; go back.
set -euo pipefail

from=$1 to=$2 namespace=$3 name=$4 template=$5

src() { kubectl --context "$from" -n "$namespace" "$@"; }
dst() { kubectl --context "$to" -n "$namespace" "$@"; }

replicas=$(src get statefulset "$name" -o 'jsonpath={.spec.replicas}')
dst get statefulset "$name" -o name >/dev/null

echo "moving $replicas ordinals"
for ((k = replicas - 1; k >= 0; k--)); do
  claim=$template-$name-$k

  # The volume must outlive its claim. Its specification comes back with the patch.
  claim_spec=$(src get pvc "$claim" -o 'jsonpath={.spec}')
  volume=$(sed -E 's/.*"volumeName":"([^"]*)".*/\1/' <<<"$claim_spec")
  volume_spec=$(src patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' -o 'jsonpath={.spec}')

  # Stop the ordinal.
  src patch statefulset "$name" -p "{\"spec\":{\"replicas\":$k}}" >/dev/null
  src wait --for=delete "pod/$name-$k" --timeout=10m >/dev/null

  # The same volume, reserved for the claim of the same name: its claimRef must not
  # carry the uid of the old claim, or the volume would be released.
  volume_spec=$(sed -E 's/,"(resourceVersion|uid)":"[^"]*"//g' <<<"$volume_spec")
  dst create --validate=false -f - >/dev/null <<MANIFEST
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "$volume"}, "spec": $volume_spec},
  {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "$claim"}, "spec": $claim_spec}
]}
MANIFEST
  until [[ $(dst get pvc "$claim" -o 'jsonpath={.status.phase}') == Bound ]]; do :; done

  # Start the ordinal: both fields at once, or a pod of another ordinal would start.
  dst patch statefulset "$name" -p "{\"spec\":{\"replicas\":$((replicas - k)),\"ordinals\":{\"start\":$k}}}" >/dev/null
  dst rollout status "statefulset/$name" --timeout=10m >/dev/null
  echo "ordinal $k is Ready at the destination"
done
