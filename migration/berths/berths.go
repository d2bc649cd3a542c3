// Package berths says what the handoffs of all migrations use that others use, too: nodes, links and storage
// classes, and whether one more can be under way.
package berths

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// Limits are how many handoffs of all migrations may use one thing at once; 0: as many as there are.
type Limits struct {
	// Node is of those that leave one node, Link of those between two clusters, whichever way, and
	// StorageClass of those whose volumes are of one class of the cluster that they leave.
	Node, Link, StorageClass int
}

// Berth is what one handoff uses that others use, too. It is what is known of it before it begins; a node of
// the taker is chosen by a scheduler, later.
type Berth struct {
	Migration types.NamespacedName
	api.HandoffLoad
	// Clusters are both sides, in the order of their IDs.
	Clusters [2]types.UID
}

// Load is what the handoffs of other migrations use that are under way, and how much may be used.
type Load struct {
	Limits
	Others []Berth
}

// Fits says whether one more handoff can be under way.
func (l *Load) Fits(b Berth) bool { return l.Full(b) == nil }

// Shortage is what too many handoffs use.
type Shortage struct {
	// What they use, and Setting is what bounds it to Most at once.
	What, Setting string
	Most          int
	// By names their migrations.
	By []string
}

// Full is the first thing that too many others use for one more handoff; nil: there is none.
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

// Of is what a handoff uses that is recorded; false: none is, or of a migration that has not begun.
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
