// Package berths describes the shared resources that handoffs use, namely nodes, links and storage classes, and
// decides whether one more handoff fits.
package berths

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Limits are the numbers of handoffs, over all migrations, that may use one resource at once; 0 means no limit.
type Limits struct {
	// Node limits the handoffs that leave one node, and Link those between two clusters in either direction.
	// StorageClass limits those with volumes of one class in the cluster that they leave.
	Node, Link, StorageClass int
}

// Berth is the shared resources of one handoff, as far as known before it begins. The scheduler
// chooses the taker's node later.
type Berth struct {
	Migration types.NamespacedName
	api.HandoffLoad
	// Clusters are both clusters, ordered by ID.
	Clusters [2]types.UID
}

// Load is the use by the current handoffs of other migrations, and the limits.
type Load struct {
	Limits
	Others []Berth
}

// Fits reports whether one more handoff can begin.
func (l *Load) Fits(b Berth) bool { return l.Full(b) == nil }

// Shortage is a resource that is used by too many handoffs.
type Shortage struct {
	// What names the resource. Setting is the limit, whose value is Most.
	What, Setting string
	Most          int
	// By lists their migrations.
	By []string
}

// Full returns the first resource without room for one more handoff; nil if there is none.
func (l *Load) Full(b Berth) *Shortage {
	if l == nil {
		return nil
	}
	uses := func(most int, setting, what string, same func(Berth) bool) *Shortage {
		var by []string
		for _, other := range l.Others {
			if same(other) {
				by = append(by, other.Migration.String())
			}
		}
		if most == 0 || len(by) < most {
			return nil
		}
		slices.Sort(by)
		return &Shortage{what, setting, most, by}
	}
	if b.Node != "" {
		same := func(o Berth) bool { return o.Node == b.Node && o.Cluster == b.Cluster }
		if found := uses(l.Node, "handoffsPerNode", "node "+b.Node, same); found != nil {
			return found
		}
	}
	if found := uses(l.Link, "handoffsPerLink", "the link between the clusters", func(o Berth) bool { return o.Clusters == b.Clusters }); found != nil {
		return found
	}
	for _, class := range b.StorageClasses {
		same := func(o Berth) bool { return o.Cluster == b.Cluster && slices.Contains(o.StorageClasses, class) }
		if found := uses(l.StorageClass, "handoffsPerStorageClass", "storage class "+class, same); found != nil {
			return found
		}
	}
	return nil
}

// Of returns the berth of a recorded handoff. It returns false if none is recorded, or if the migration has not
// begun.
func Of(migration types.NamespacedName, base *api.Baseline, handoff *api.Handoff) (Berth, bool) {
	if base == nil || handoff == nil {
		return Berth{}, false
	}
	b := Berth{Migration: migration, Clusters: [2]types.UID{base.SourceCluster, base.DestinationCluster}}
	slices.Sort(b.Clusters[:])
	if handoff.Load != nil {
		b.HandoffLoad = *handoff.Load
	}
	return b, true
}
