package evacuate

import (
	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/evacuate"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/view"
)

// document is the plan of an evacuation for programs. Times are in seconds since its begin.
type document struct {
	Source      string  `json:"source"`
	Destination string  `json:"destination"`
	Summary     summary `json:"summary"`
	// StatefulSets are those that move, in the order in which they begin.
	StatefulSets []row `json:"statefulSets"`
	// Causes are the reasons for which others cannot move, and Held those that depend on them.
	Causes []cause `json:"causes"`
	Held   []held  `json:"held"`
	// Idle are those without replicas.
	Idle []name `json:"idle"`
	// Ignored are dependencies that do not order the StatefulSets.
	Ignored []held `json:"ignoredDependencies,omitempty"`
	// Rooms are the resources that the destination needs, and Unplaced the ordinals for which no node has room.
	Rooms    []room     `json:"rooms"`
	Unplaced []unplaced `json:"unplaced"`
	// Notes state what the plan does not know.
	Notes []string `json:"notes,omitempty"`

	plan evacuate.Plan
}

type summary struct {
	StatefulSets int `json:"statefulSets"`
	Moving       int `json:"moving"`
	Refused      int `json:"refused"`
	Held         int `json:"held"`
	// Idle counts those without replicas: they have moved already, or were scaled down.
	Idle     int `json:"idle"`
	Ordinals int `json:"ordinals"`
	// Bytes is the capacity of the volumes that move, and FilledBytes that of those that are new at the destination.
	Bytes       int64   `json:"bytes"`
	FilledBytes int64   `json:"filledBytes"`
	Seconds     float64 `json:"seconds"`
	// Whole is true if all StatefulSets move, and the destination has room for them.
	Whole bool `json:"whole"`
}

// name is a StatefulSet.
type name struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

func nameOf(n evacuate.Name) name { return name{n.Namespace, n.Name} }

// row is a StatefulSet that moves.
type row struct {
	name
	APIVersion string     `json:"apiVersion"`
	Owner      string     `json:"owner,omitempty"`
	Replicas   int32      `json:"replicas"`
	Budget     int32      `json:"budget"`
	Wave       int32      `json:"wave"`
	Templates  []template `json:"claimTemplates"`
	After      []edge     `json:"after"`
	Begin      float64    `json:"beginSeconds"`
	End        float64    `json:"endSeconds"`
	// Down is how long each ordinal is expected to be down, as the median of Measured handoffs; 0: an assumption.
	Down     float64   `json:"downSeconds"`
	Measured int       `json:"measured"`
	Handoffs []handoff `json:"handoffs"`
}

type template struct {
	Name   string           `json:"name"`
	Method api.VolumeMethod `json:"method"`
	Class  string           `json:"storageClass,omitempty"`
	Claims int              `json:"claims"`
	Bytes  int64            `json:"bytes"`
}

// edge is a StatefulSet that another one waits for.
type edge struct {
	name
	Why string `json:"why"`
}

// handoff is the move of an ordinal, which is down from Down to Up.
type handoff struct {
	Ordinal int32   `json:"ordinal"`
	Begin   float64 `json:"beginSeconds"`
	Down    float64 `json:"downSeconds"`
	Up      float64 `json:"upSeconds"`
	End     float64 `json:"endSeconds"`
}

type cause struct {
	Reason       string    `json:"reason"`
	StatefulSets []refusal `json:"statefulSets"`
}

type refusal struct {
	name
	Finding plan.Finding `json:"finding"`
}

// held is a StatefulSet that depends on another one.
type held struct {
	name
	On  name   `json:"on"`
	Why string `json:"why"`
}

type room struct {
	What  string            `json:"what"`
	Needs resource.Quantity `json:"needs"`
	// Free is absent if it is not known, or has no limit.
	Free *resource.Quantity `json:"free,omitempty"`
	Fits bool               `json:"fits"`
}

type unplaced struct {
	name
	Ordinal int32   `json:"ordinal"`
	At      float64 `json:"atSeconds"`
	Why     string  `json:"why"`
}

// newDocument returns a plan as a document.
func newDocument(p evacuate.Plan, source, destination string, notes []string) document {
	d := document{
		Source: source, Destination: destination, Notes: notes, plan: p,
		StatefulSets: []row{}, Causes: []cause{}, Held: []held{}, Idle: []name{}, Rooms: []room{}, Unplaced: []unplaced{},
	}
	for _, each := range p.Rows {
		d.StatefulSets = append(d.StatefulSets, rowOf(each))
		d.Summary.Ordinals += len(each.Handoffs)
		for _, t := range each.Set.Templates {
			d.Summary.Bytes += t.Bytes
			if t.Fills() {
				d.Summary.FilledBytes += t.Bytes
			}
		}
	}
	for _, each := range p.Causes {
		next := cause{Reason: each.Reason}
		for _, set := range each.Sets {
			next.StatefulSets = append(next.StatefulSets, refusal{nameOf(set.Set), set.Finding})
		}
		d.Causes = append(d.Causes, next)
	}
	for _, each := range p.Held {
		d.Held = append(d.Held, held{nameOf(each.Set), nameOf(each.On), each.Why})
	}
	for _, each := range p.Idle {
		d.Idle = append(d.Idle, nameOf(each))
	}
	for _, each := range p.Dropped {
		d.Ignored = append(d.Ignored, held{nameOf(each.Set), nameOf(each.On), each.Why})
	}
	for _, each := range p.Rooms {
		next := room{What: each.What, Needs: each.Needs, Fits: each.Fits()}
		if each.Known {
			next.Free = &each.Free
		}
		d.Rooms = append(d.Rooms, next)
	}
	for _, each := range p.Unplaced {
		d.Unplaced = append(d.Unplaced, unplaced{nameOf(each.Set), each.Ordinal, view.Exact(each.At), each.Why})
	}
	s := &d.Summary
	s.Moving, s.Refused, s.Held, s.Seconds, s.Whole = len(p.Rows), p.Refused(), len(p.Held), view.Exact(p.Lasts), p.Whole()
	s.Idle = len(p.Idle)
	s.StatefulSets = s.Moving + s.Refused + s.Held + s.Idle
	return d
}

// rowOf returns a set that moves.
func rowOf(of evacuate.Row) row {
	set := of.Set
	next := row{
		name: nameOf(set.Name), APIVersion: set.APIVersion, Owner: set.Owner, Replicas: set.Replicas, Budget: set.Budget, Wave: set.Wave,
		Templates: []template{}, After: []edge{}, Begin: view.Exact(of.Begin), End: view.Exact(of.End), Down: view.Exact(set.Expected.Down),
		Measured: set.Expected.Measured, Handoffs: []handoff{},
	}
	for _, t := range set.Templates {
		next.Templates = append(next.Templates, template{t.Name, t.Method, t.Class, t.Claims, t.Bytes})
	}
	for _, e := range of.After {
		next.After = append(next.After, edge{nameOf(e.On), e.Why})
	}
	for _, h := range of.Handoffs {
		next.Handoffs = append(next.Handoffs, handoff{h.Ordinal, view.Exact(h.Begin), view.Exact(h.Down), view.Exact(h.Up), view.Exact(h.End)})
	}
	return next
}
