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

// Export is what matters of a ServiceExport.
type Export struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Terminating, Keeps and DeletedAt are as of a PodService.
	Terminating bool
	Keeps       string
	DeletedAt   int64
	// Conflict is the message of a Conflict condition that is True.
	Conflict string
	// Invalid is the message of a Valid condition that is False.
	Invalid string
	Ours    bool
	// Fence is the fence under which a migration wrote it last.
	Fence string
}

// Name is what gives one ordinal a name that clients in both clusters use, as it was
// seen on a side: a headless Service named after the pod, and its ServiceExport.
type Name struct {
	Ordinal int32
	Service PodService
	Export  Export
}

// PodService is what matters of the Service of one pod.
type PodService struct {
	Found           bool
	UID             types.UID
	ResourceVersion string
	// Terminating is true when it is being deleted; Keeps are the finalizers that keep it then, and DeletedAt is when its deletion
	// was asked for, in seconds since 1970.
	Terminating bool
	Keeps       string
	DeletedAt   int64
	// Selects is true when it selects the ordinal's pod and no other one.
	Selects bool
	Ours    bool
	// Fence is the fence under which a migration wrote it last.
	Fence string
}

// NameOf returns what was seen of an ordinal's name.
func (s Side) NameOf(ordinal int32) (Name, bool) {
	for _, n := range s.Names {
		if n.Ordinal == ordinal {
			return n, true
		}
	}
	return Name{}, false
}

// PodName is the name of an ordinal's pod, and of its Service.
func (s Side) PodName(ordinal int32) string { return PodName(s.Set.Name, ordinal) }

// ServiceOf is how messages call the Service of one ordinal.
func (s Side) ServiceOf(ordinal int32) string {
	return fmt.Sprintf("Service %s/%s in cluster %s", s.Namespace, s.PodName(ordinal), s.Cluster)
}

// ExportOf is how messages call the ServiceExport of one ordinal.
func (s Side) ExportOf(ordinal int32) string {
	return fmt.Sprintf("ServiceExport %s/%s in cluster %s", s.Namespace, s.PodName(ordinal), s.Cluster)
}
