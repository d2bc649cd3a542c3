package hostile

import "fmt"

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
