package plan

import "github.com/sliceshift/sliceshift/volumes"

// RemedyRights is the remedy for a missing permission.
const RemedyRights = "bind the ClusterRoles sliceshift-mover and sliceshift-mover-cluster to the identity that is used there"

// RemedyLending is the remedy for a permission that the manager lacks to act as the ServiceAccount of a Migration.
const RemedyLending = "install the roles of the manager as this cluster knows them: kubectl migrate install; with --impersonation=legacy where an API server is older than Kubernetes 1.36, or has the feature gate ConstrainedImpersonation off"

// RemedyDependencyRights is the remedy for a missing permission to copy dependencies.
const RemedyDependencyRights = "bind the ClusterRole sliceshift-mover-dependencies to the identity that is used there, in the namespace of that side; or set spec.dependencies.mode to Check and make the copies yourself"

// RemedyMoverRights is the remedy for a missing permission on the pods of method Copy.
const RemedyMoverRights = "bind the ClusterRole sliceshift-mover-pods to the identity that is used there, in the namespace of that side; or name another method in spec.volumes"

// RemedySnapshotRights is the remedy for a missing permission that method Snapshot needs.
const RemedySnapshotRights = "bind the ClusterRole sliceshift-mover-snapshots in the namespace of that side, and sliceshift-mover-snapshots-cluster for its cluster, to the identity that is used there; or name another method in spec.volumes"

// RemedyWriterRights is the remedy for a missing permission on a writer.
const RemedyWriterRights = "bind the ClusterRole sliceshift-mover-writers to the identity that is used there, in the namespace of the writer; or pause it yourself and set spec.writers.pause to false"

// RemedyJobRights is the remedy for a missing permission on the Job of a hook.
const RemedyJobRights = "bind the ClusterRole sliceshift-mover-jobs to the identity that is used there"

// RemedyRights returns the remedy for a permission that an effect lacks.
func (e Effect) RemedyRights() string {
	placeholder := e.Carries() && e.Volume.Copy.Role == volumes.RolePlaceholder
	switch kind := e.On(); {
	case kind == KindCopy:
		return RemedyDependencyRights
	case kind == KindJob:
		return RemedyJobRights
	case kind == KindWriter:
		return RemedyWriterRights
	case placeholder, kind == volumes.KindSnapshot, kind == volumes.KindContent:
		return RemedySnapshotRights
	case kind == volumes.KindPod:
		return RemedyMoverRights
	default:
		return RemedyRights
	}
}
