#!/usr/bin/env bash
# Moves the only pod of a StatefulSet from one cluster to another by hand: what a careful
# engineer does with kubectl and rsync.
#
#   move.sh rebind|copy|snapshot stopped|running FROM_CONTEXT TO_CONTEXT NAMESPACE STATEFULSET CLAIM_TEMPLATE
#
# Before it runs, the destination has the namespace, the Service and a copy of the
# StatefulSet with no replicas. With "running", a copy is done once while the pod runs; the
# script then prints "copied once" and reads a line. With "stopped", nothing is copied
# before.
#
# It takes the fastest of what kubectl offers for each step: get rather than wait, whose
# first list the API server holds back for up to 100 ms, and no validation of what an API
# server has just handed out.
#
# What it does not do: keep evictions within a disruption budget; prove the copy; make the
# source's volume unusable; go on where it was interrupted; go back.
set -euo pipefail

method=$1 before=$2 from=$3 to=$4 namespace=$5 name=$6 template=$7
pod=$name-0 claim=$template-$name-0

src() { kubectl --context "$from" -n "$namespace" "$@"; }
dst() { kubectl --context "$to" -n "$namespace" "$@"; }

claim_spec=$(src get pvc "$claim" -o 'jsonpath={.spec}')
volume=$(sed -E 's/.*"volumeName":"([^"]*)".*/\1/' <<<"$claim_spec")
# The specification of a claim that gets a volume of its own.
free_spec=$(sed -E 's/,"volumeName":"[^"]*"//' <<<"$claim_spec")

stop() {
  src scale statefulset "$name" --replicas 0 >/dev/null
  src wait --for=delete "pod/$pod" --timeout=10m >/dev/null
}

# Both fields at once, or a pod of another ordinal would start.
start() {
  dst patch statefulset "$name" -p '{"spec":{"replicas":1,"ordinals":{"start":0}}}' >/dev/null
  dst rollout status "statefulset/$name" --timeout=10m >/dev/null
}

# detached waits until no node of the source has the volume.
detached() {
  while src get volumeattachment -o 'jsonpath={.items[*].spec.source.persistentVolumeName}' | grep -qw "$volume"; do :; done
}

bound() {
  until [[ $(dst get pvc "$claim" -o 'jsonpath={.status.phase}') == Bound ]]; do :; done
}

create_claim() {
  dst create --validate=false -f - >/dev/null <<<"{\"apiVersion\": \"v1\", \"kind\": \"PersistentVolumeClaim\", \"metadata\": {\"name\": \"$claim\"}, \"spec\": $1}"
}

# pod_manifest prints a pod that runs a program on the claim.
pod_manifest() {
  local pod_name=$1 program=$2 address=${3-}
  cat <<MANIFEST
apiVersion: v1
kind: Pod
metadata:
  name: $pod_name
  labels: {e2e.sliceshift.io/program: $program}
  annotations: {e2e.sliceshift.io/program: $program}
spec:
  restartPolicy: Never
  automountServiceAccountToken: false
  terminationGracePeriodSeconds: 1
  containers:
  - name: rsync
    image: rsync
    args: ["/data"${address:+, "$address"}]
    env:
    - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    volumeMounts:
    - {name: data, mountPath: /data}
  volumes:
  - name: data
    persistentVolumeClaim: {claimName: $claim}
MANIFEST
}

# phase waits until a pod has a phase, and fails if it has failed.
phase() {
  local side=$1 pod_name=$2 want=$3 have
  until have=$("$side" get pod "$pod_name" -o 'jsonpath={.status.phase}') && [[ $have == "$want" ]]; do
    if [[ $have == Failed ]]; then
      echo "pod $pod_name has failed" >&2
      return 1
    fi
  done
}

# receive starts the pod that writes to the new claim.
receive() {
  create_claim "$free_spec"
  pod_manifest rsync-serve rsync-serve | dst create --validate=false -f - >/dev/null
  phase dst rsync-serve Running
  # A pod of this test bed listens at the address of the machine that belongs to its own.
  address=127.$(dst get pod rsync-serve -o 'jsonpath={.status.podIP}' | cut -d. -f2-)
}

# send copies the claim once.
send() {
  pod_manifest rsync-send rsync-send "$address" | src create --validate=false -f - >/dev/null
  phase src rsync-send Succeeded
  src delete pod rsync-send --wait=true >/dev/null
}

case $method in
rebind)
  # The volume must outlive its claim. Its claimRef must not carry the uid of the old
  # claim, or the volume would be released.
  volume_spec=$(src patch pv "$volume" -p '{"spec":{"persistentVolumeReclaimPolicy":"Retain"}}' -o 'jsonpath={.spec}')
  volume_spec=$(sed -E 's/,"(resourceVersion|uid)":"[^"]*"//g' <<<"$volume_spec")
  stop
  detached
  dst create --validate=false -f - >/dev/null <<<"{\"apiVersion\": \"v1\", \"kind\": \"PersistentVolume\", \"metadata\": {\"name\": \"$volume\"}, \"spec\": $volume_spec}"
  create_claim "$claim_spec"
  bound
  start
  ;;
copy)
  if [[ $before == running ]]; then
    receive
    send
    echo "copied once"
    read -r
  fi
  stop
  if [[ $before != running ]]; then
    receive
  fi
  send
  dst delete pod rsync-serve --wait=true >/dev/null
  start
  ;;
snapshot)
  class=$(src get volumesnapshotclass -o 'jsonpath={.items[0].metadata.name}')
  driver=$(src get volumesnapshotclass "$class" -o 'jsonpath={.driver}')
  stop
  src create --validate=false -f - >/dev/null <<<"{\"apiVersion\": \"snapshot.storage.k8s.io/v1\", \"kind\": \"VolumeSnapshot\", \"metadata\": {\"name\": \"move\"}, \"spec\": {\"volumeSnapshotClassName\": \"$class\", \"source\": {\"persistentVolumeClaimName\": \"$claim\"}}}"
  until [[ $(src get volumesnapshot move -o 'jsonpath={.status.readyToUse}') == true ]]; do :; done
  content=$(src get volumesnapshot move -o 'jsonpath={.status.boundVolumeSnapshotContentName}')
  handle=$(src get volumesnapshotcontent "$content" -o 'jsonpath={.status.snapshotHandle}')
  dst create --validate=false -f - >/dev/null <<MANIFEST
{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshotContent", "metadata": {"name": "$namespace"}, "spec": {
    "driver": "$driver", "deletionPolicy": "Retain", "source": {"snapshotHandle": "$handle"},
    "volumeSnapshotRef": {"namespace": "$namespace", "name": "move"}}},
  {"apiVersion": "snapshot.storage.k8s.io/v1", "kind": "VolumeSnapshot", "metadata": {"name": "move"}, "spec": {"source": {"volumeSnapshotContentName": "$namespace"}}}
]}
MANIFEST
  create_claim "${free_spec%\}},\"dataSource\":{\"apiGroup\":\"snapshot.storage.k8s.io\",\"kind\":\"VolumeSnapshot\",\"name\":\"move\"}}"
  bound
  start
  ;;
esac
