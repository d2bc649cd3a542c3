package plan

import (
	"fmt"
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
func (l *Load) Fits(b Berth) bool { return l.full(b) == nil }

// shortage is what too many handoffs use.
type shortage struct {
	what, setting string
	most          int
	by            []string
}

// full is the first thing that too many others use for one more handoff; nil: there is none.
func (l *Load) full(b Berth) *shortage {
	if l == nil {
		return nil
	}
	uses := func(most int, setting, what string, same func(Berth) bool) *shortage {
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
		return &shortage{what, setting, most, by}
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

// BerthOf is what a handoff uses that is recorded; false: none is, or of a migration that has not begun.
func BerthOf(migration types.NamespacedName, record Record) (Berth, bool) {
	base, handoff := record.Baseline, record.Handoff
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

// loadPlanner holds a handoff while others use up what it needs. What goes back waits for nobody.
type loadPlanner struct{ *View }

// loadOf is what the handoff of an ordinal would use.
func (p loadPlanner) loadOf(k int32) *api.HandoffLoad {
	load := &api.HandoffLoad{Cluster: p.giver.ClusterID}
	if pod, found := p.giver.Pod(k); found {
		load.Node = pod.Node
	}
	for _, v := range p.Volumes {
		if class := p.pair(v).Giver.Volume.Class; v.Ordinal == k && class != "" {
			load.StorageClasses = append(load.StorageClasses, class)
		}
	}
	slices.Sort(load.StorageClasses)
	load.StorageClasses = slices.Compact(load.StorageClasses)
	return load
}

func (p loadPlanner) hold(k int32) *Hold {
	if p.Load == nil || p.direction() == api.Back {
		return nil
	}
	record := p.Record
	record.Handoff = &api.Handoff{Ordinal: k, Load: p.loadOf(k)}
	berth, begun := BerthOf(p.Migration, record)
	if !begun {
		return nil
	}
	full := p.Load.full(berth)
	if full == nil {
		return nil
	}
	return &Hold{
		Reason:  api.ReasonTooManyHandoffs,
		Message: fmt.Sprintf("ordinal %d waits for %s of cluster %s: handoffs of other migrations are under way, at most %d at once (%s): %s", k, full.what, p.giver.Cluster, full.most, full.setting, Listed(full.by)),
	}
}
