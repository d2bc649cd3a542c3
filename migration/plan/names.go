package plan

import (
	"fmt"

	"k8s.io/apimachinery/pkg/types"
)

// Dependent is an object that the slice needs on its side.
type Dependent struct {
	Needed bool
	Found  bool
	Name   string
	Ours   bool
}

// Export holds the fields of a ServiceExport that a plan needs.
type Export struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Terminating, Keeps and DeletedAt are like those of PodService.
	Terminating bool
	Keeps       string
	DeletedAt   int64
	// Conflict is the message of a Conflict condition that is True.
	Conflict string
	// Invalid is the message of a Valid condition that is False.
	Invalid string
	Ours    bool
	// Fence is the fence under which a migration last wrote it.
	Fence string
}

// Name is an ordinal's name for clients in both clusters, as observed on a side: a headless Service with the pod's
// name, and its ServiceExport.
type Name struct {
	Ordinal int32
	Service PodService
	Export  Export
}

// PodService holds the fields of one pod's Service that a plan needs.
type PodService struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Terminating is true when it is being deleted. Keeps lists the finalizers that block the deletion, and
	// DeletedAt is its deletionTimestamp, in seconds since 1970.
	Terminating bool
	Keeps       string
	DeletedAt   int64
	// Selects is true when it selects only the ordinal's pod.
	Selects bool
	Ours    bool
	// Fence is the fence under which a migration last wrote it.
	Fence string
}

// NameOf returns the observed name of an ordinal.
func (s Side) NameOf(ordinal int32) (Name, bool) {
	for _, n := range s.Names {
		if n.Ordinal == ordinal {
			return n, true
		}
	}
	return Name{}, false
}

// PodName returns the name of an ordinal's pod, and of its Service.
func (s Side) PodName(ordinal int32) string { return PodName(s.Set.Name, ordinal) }

// ServiceOf returns how messages name the Service of one ordinal.
func (s Side) ServiceOf(ordinal int32) string {
	return fmt.Sprintf("Service %s/%s in cluster %s", s.Namespace, s.PodName(ordinal), s.Cluster)
}

// ExportOf returns how messages name the ServiceExport of one ordinal.
func (s Side) ExportOf(ordinal int32) string {
	return fmt.Sprintf("ServiceExport %s/%s in cluster %s", s.Namespace, s.PodName(ordinal), s.Cluster)
}
