package hostile

import (
	"fmt"
)

// driver is the CSI driver of all volumes.
const driver = "hostile.example.com"

// Prepare creates the objects that a destination needs before an application can move to it.
func (s *Server) Prepare(namespace string) {
	s.Put("namespaces", Object{"metadata": Object{"name": namespace}})
	s.Put("csidrivers", Object{"metadata": Object{"name": driver}, "spec": Object{"attachRequired": true}})
	s.Put("nodes", Object{"metadata": Object{"name": "node"}, "status": Object{"conditions": []any{Object{"type": "Ready", "status": "True"}}}})
	s.Put("csinodes", Object{"metadata": Object{"name": "node"}, "spec": Object{"drivers": []any{Object{"name": driver, "nodeID": "node"}}}})
}

// Deploy creates an application that a migration can move: a StatefulSet with a Service, and a claim with a
// volume for each replica.
func (s *Server) Deploy(namespace, name string, replicas int) {
	s.Prepare(namespace)
	for ordinal := range min(replicas, mostPods) {
		s.volume(namespace, fmt.Sprintf("data-%s-%d", name, ordinal))
	}
	labels := Object{"app": name}
	s.Put("services", Object{
		"metadata": Object{"namespace": namespace, "name": name},
		"spec":     Object{"clusterIP": "None", "selector": labels, "ports": []any{Object{"port": 80}}},
	})
	s.Put("statefulsets", Object{
		"metadata": Object{"namespace": namespace, "name": name, "generation": 1},
		"spec": Object{
			"replicas": replicas, "serviceName": name, "podManagementPolicy": "OrderedReady", "selector": Object{"matchLabels": labels},
			"updateStrategy": Object{"type": "RollingUpdate"},
			"template": Object{
				"metadata": Object{"labels": labels},
				"spec":     Object{"containers": []any{Object{"name": "app", "image": "app:1", "volumeMounts": []any{Object{"name": "data", "mountPath": "/data"}}}}},
			},
			"volumeClaimTemplates": []any{Object{"metadata": Object{"name": "data"}, "spec": claimSpec("")}},
		},
	})
}

func claimSpec(volume string) Object {
	spec := Object{"accessModes": []any{"ReadWriteOnce"}, "resources": Object{"requests": Object{"storage": "1Gi"}}, "storageClassName": "", "volumeMode": "Filesystem"}
	if volume != "" {
		spec["volumeName"] = volume
	}
	return spec
}

// VolumeName returns the name of the volume of a claim.
func VolumeName(namespace, claim string) string { return "pv-" + namespace + "-" + claim }

// VolumeOf returns a volume that is bound to a claim.
func VolumeOf(namespace, claim string) Object {
	name := VolumeName(namespace, claim)
	return Object{
		"metadata": Object{"name": name},
		"spec": Object{
			"accessModes": []any{"ReadWriteOnce"}, "capacity": Object{"storage": "1Gi"}, "persistentVolumeReclaimPolicy": "Delete", "volumeMode": "Filesystem",
			"csi":      Object{"driver": driver, "volumeHandle": name},
			"claimRef": Object{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace, "name": claim},
		},
	}
}

// volume creates a claim and its bound volume.
func (s *Server) volume(namespace, claim string) {
	s.Put("persistentvolumes", VolumeOf(namespace, claim))
	s.Put("persistentvolumeclaims", Object{"metadata": Object{"namespace": namespace, "name": claim}, "spec": claimSpec(VolumeName(namespace, claim))})
}

// settle does the work of the controllers: it creates and deletes the pods of StatefulSets and binds claims.
// The caller holds the lock.
func (s *Server) settle() {
	for _, set := range s.objects["statefulsets"] {
		s.carryOut(set)
	}
	for _, volume := range s.objects["persistentvolumes"] {
		if status := in(volume, "status"); text(status["phase"]) == "" {
			status["phase"] = "Available"
			s.put("persistentvolumes", volume)
		}
	}
	for _, claim := range s.objects["persistentvolumeclaims"] {
		s.bind(claim)
	}
}

// mostPods is the maximum number of pods of a StatefulSet, regardless of its replicas.
const mostPods = 10

// carryOut creates and deletes the pods of a StatefulSet.
func (s *Server) carryOut(set Object) {
	metadata, spec := metadataOf(set), in(set, "spec")
	namespace, name := text(metadata["namespace"]), text(metadata["name"])
	start, replicas := number(in(spec, "ordinals")["start"]), number(spec["replicas"])
	wanted := map[string]bool{}
	for ordinal := start; ordinal < start+min(replicas, mostPods); ordinal++ {
		wanted[fmt.Sprintf("%s-%d", name, ordinal)] = true
	}
	for id, pod := range s.objects["pods"] {
		its := metadataOf(pod)
		if its["namespace"] == namespace && in(its, "labels")["set"] == name && !wanted[text(its["name"])] {
			s.remove("pods", id)
		}
	}
	for pod := range wanted {
		if s.objects["pods"][key(namespace, pod)] == nil {
			s.put("pods", podOf(set, pod))
		}
	}
	status := in(set, "status")
	before := fmt.Sprint(status)
	for _, field := range []string{"replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas"} {
		status[field] = replicas
	}
	status["observedGeneration"], status["currentRevision"], status["updateRevision"] = metadata["generation"], "1", "1"
	if fmt.Sprint(status) != before {
		s.put("statefulsets", set)
	}
}

// podOf returns a ready pod.
func podOf(set Object, name string) Object {
	template := clone(in(in(set, "spec"), "template"))
	metadata, spec := metadataOf(template), in(template, "spec")
	labels := copyOf(in(metadata, "labels"))
	labels["set"], labels["controller-revision-hash"] = metadataOf(set)["name"], "1"
	ordinal := name[len(text(metadataOf(set)["name"])):]
	var volumes []any
	templates, _ := in(set, "spec")["volumeClaimTemplates"].([]any)
	for _, each := range templates {
		claim, _ := each.(Object)
		of := text(metadataOf(claim)["name"])
		volumes = append(volumes, Object{"name": of, "persistentVolumeClaim": Object{"claimName": of + "-" + text(metadataOf(set)["name"]) + ordinal}})
	}
	spec["volumes"], spec["nodeName"] = volumes, "node"
	owner := Object{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": metadataOf(set)["name"], "uid": metadataOf(set)["uid"], "controller": true}
	return Object{
		"metadata": Object{"namespace": metadataOf(set)["namespace"], "name": name, "labels": labels, "ownerReferences": []any{owner}},
		"spec":     spec,
		"status": Object{"phase": "Running", "conditions": []any{
			Object{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		}},
	}
}

// bind binds a claim to the volume that it names, if the volume names the claim as well.
func (s *Server) bind(claim Object) {
	metadata, spec := metadataOf(claim), in(claim, "spec")
	volume := s.objects["persistentvolumes"][key("", text(spec["volumeName"]))]
	if volume == nil || in(claim, "status")["phase"] == "Bound" {
		return
	}
	ref := in(in(volume, "spec"), "claimRef")
	if ref["namespace"] != metadata["namespace"] || ref["name"] != metadata["name"] {
		return
	}
	ref["uid"] = metadata["uid"]
	in(volume, "status")["phase"], in(claim, "status")["phase"] = "Bound", "Bound"
	in(claim, "status")["capacity"], in(claim, "status")["accessModes"] = in(volume, "spec")["capacity"], spec["accessModes"]
	s.put("persistentvolumes", volume)
	s.put("persistentvolumeclaims", claim)
}
