package evacuate

import (
	"cmp"
	"slices"
	"time"

	"github.com/sliceshift/sliceshift/migration/plan"
)

// Plan is the expected course of an evacuation.
type Plan struct {
	// Rows are the sets that move, in the order in which they begin.
	Rows []Row
	// Causes are the reasons for which sets cannot move. Held are the sets that depend on them.
	Causes []Cause
	Held   []Held
	// Idle are the sets without replicas.
	Idle []Name
	// Dropped are the dependencies that do not order the sets.
	Dropped []Dropped
	// Lasts is the time until the last set has ended.
	Lasts time.Duration
	// Rooms are the resources of the destination that are needed, and Unplaced the ordinals for which no node has room.
	Rooms    []Room
	Unplaced []Unplaced
}

// Cause is a reason for which sets cannot move.
type Cause struct {
	Reason string
	// Sets lists the findings, in the order of the sets.
	Sets []Refusal
}

// Refusal is a finding that forbids the move of a set.
type Refusal struct {
	Set Name
	plan.Finding
}

// Of plans an evacuation. The same inventory has the same plan.
func Of(i Inventory) Plan {
	o := orderOf(i.Sets)
	p := Plan{Rows: schedule(o, i.Limits), Causes: causesOf(i.Sets), Dropped: o.dropped}
	for _, name := range o.names() {
		if o.sets[name].Idle {
			p.Idle = append(p.Idle, name)
		}
		if edge, held := o.held[name]; held && len(o.sets[name].Obstacles) == 0 {
			p.Held = append(p.Held, Held{name, edge})
		}
	}
	for _, row := range p.Rows {
		p.Lasts = max(p.Lasts, row.End)
	}
	p.Rooms, p.Unplaced = roomsOf(p.Rows, i.Destination), place(p.Rows, i.Destination.Nodes)
	return p
}

// causesOf groups the obstacles by their reason: those of most sets first.
func causesOf(sets []Set) []Cause {
	at := map[string]int{}
	var causes []Cause
	for i := range sets {
		if sets[i].Idle {
			continue
		}
		for _, finding := range sets[i].Obstacles {
			nth, known := at[finding.Reason]
			if !known {
				nth, at[finding.Reason] = len(causes), len(causes)
				causes = append(causes, Cause{Reason: finding.Reason})
			}
			causes[nth].Sets = append(causes[nth].Sets, Refusal{sets[i].Name, finding})
		}
	}
	for _, cause := range causes {
		slices.SortStableFunc(cause.Sets, func(a, b Refusal) int { return compareNames(a.Set, b.Set) })
	}
	slices.SortStableFunc(causes, func(a, b Cause) int {
		return cmp.Or(cmp.Compare(len(b.Sets), len(a.Sets)), cmp.Compare(a.Reason, b.Reason))
	})
	return causes
}

// Refused returns the number of sets that cannot move themselves.
func (p Plan) Refused() int {
	names := map[Name]bool{}
	for _, cause := range p.Causes {
		for _, refusal := range cause.Sets {
			names[refusal.Set] = true
		}
	}
	return len(names)
}

// Short returns the resources that the destination has too little of.
func (p Plan) Short() []Room {
	return slices.DeleteFunc(slices.Clone(p.Rooms), Room.Fits)
}

// Whole reports whether all sets move, and the destination has room for them.
func (p Plan) Whole() bool {
	return len(p.Causes)+len(p.Held)+len(p.Unplaced)+len(p.Short()) == 0
}
