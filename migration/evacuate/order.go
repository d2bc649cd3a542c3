package evacuate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Edge is a reason for which a set begins only after another one has ended.
type Edge struct {
	On  Name
	Why string
}

// Dropped is an edge that is not kept, with the reason.
type Dropped struct {
	Set, On Name
	Why     string
}

// Held is a set that cannot begin, because it depends on one that cannot move.
type Held struct {
	Set Name
	Edge
}

// order is the order of the sets of an inventory.
type order struct {
	sets map[Name]*Set
	// after lists, for each set, the sets that it waits for.
	after   map[Name][]Edge
	dropped []Dropped
	// held maps the sets that cannot begin to their reason.
	held map[Name]Edge
}

// orderOf orders sets: a set that uses another one moves after it, so that its server is at the destination already.
// The declared waves have precedence, and a circle of uses is broken where it would close.
func orderOf(sets []Set) order {
	o := order{sets: map[Name]*Set{}, after: map[Name][]Edge{}, held: map[Name]Edge{}}
	for i := range sets {
		o.sets[sets[i].Name] = &sets[i]
	}
	for _, name := range o.names() {
		for _, use := range o.sets[name].Uses {
			o.add(o.sets[name], use)
		}
	}
	o.hold()
	return o
}

// names returns the names of the sets in the order in which their edges are added.
func (o *order) names() []Name {
	names := make([]Name, 0, len(o.sets))
	for name := range o.sets {
		names = append(names, name)
	}
	slices.SortFunc(names, compareNames)
	return names
}

func compareNames(a, b Name) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// add adds the edge of a use, unless the waves or another edge contradict it.
func (o *order) add(set *Set, use Use) {
	on := o.sets[use.Set]
	waits := func(e Edge) bool { return e.On == use.Set }
	if set.Idle || use.Set == set.Name || on != nil && on.Idle || slices.ContainsFunc(o.after[set.Name], waits) {
		return
	}
	why := fmt.Sprintf("%s names its Service %s", use.Where, use.Service)
	if on == nil {
		o.dropped = append(o.dropped, Dropped{set.Name, use.Set, why + ", and it is not selected: it stays where it is"})
		return
	}
	if on.Wave > set.Wave {
		o.dropped = append(o.dropped, Dropped{set.Name, use.Set, fmt.Sprintf("%s, and its wave %d is declared to move after wave %d", why, on.Wave, set.Wave)})
		return
	}
	if circle := o.path(use.Set, set.Name); circle != nil {
		texts := make([]string, len(circle))
		for i, name := range circle {
			texts[i] = name.String()
		}
		o.dropped = append(o.dropped, Dropped{set.Name, use.Set, fmt.Sprintf("%s, and that is a circle: %s", why, strings.Join(append([]string{set.String()}, texts...), " uses "))})
		return
	}
	o.after[set.Name] = append(o.after[set.Name], Edge{use.Set, why})
}

// path returns the sets through which one set waits for another one, both included; nil if it does not.
func (o *order) path(from, to Name) []Name {
	came, next := map[Name]Name{from: from}, []Name{from}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		if name == to {
			var way []Name
			for ; name != from; name = came[name] {
				way = append(way, name)
			}
			way = append(way, from)
			slices.Reverse(way)
			return way
		}
		for _, edge := range o.after[name] {
			if _, seen := came[edge.On]; !seen {
				came[edge.On] = name
				next = append(next, edge.On)
			}
		}
	}
	return nil
}

// hold finds the sets that depend on one that cannot move.
func (o *order) hold() {
	names := o.names()
	for again := true; again; {
		again = false
		for _, name := range names {
			edges := o.after[name]
			if _, known := o.held[name]; known {
				continue
			}
			at := slices.IndexFunc(edges, func(e Edge) bool { return !o.moves(e.On) })
			if at >= 0 {
				o.held[name], again = edges[at], true
			}
		}
	}
}

// moves reports whether a set moves: nothing forbids it, and it depends on no set that cannot move.
func (o *order) moves(name Name) bool {
	_, held := o.held[name]
	return len(o.sets[name].Obstacles) == 0 && !held
}

// lasts returns the expected time of the move of a set that never waits.
func (s *Set) lasts() time.Duration {
	atOnce := max(1, int(s.AtOnce))
	return time.Duration((len(s.Ordinals)+atOnce-1)/atOnce) * s.Expected.Handoff
}

// chains returns, for each set, the time from its begin to the end of the longest chain of sets that wait for it.
func (o *order) chains() map[Name]time.Duration {
	waiting := map[Name][]Name{}
	for name, edges := range o.after {
		for _, edge := range edges {
			waiting[edge.On] = append(waiting[edge.On], name)
		}
	}
	chains := map[Name]time.Duration{}
	var chain func(Name) time.Duration
	chain = func(name Name) time.Duration {
		if known, found := chains[name]; found {
			return known
		}
		var longest time.Duration
		for _, next := range waiting[name] {
			longest = max(longest, chain(next))
		}
		chains[name] = o.sets[name].lasts() + longest
		return chains[name]
	}
	for name := range o.sets {
		chain(name)
	}
	return chains
}

// sequence returns the sets that move in the order in which they are preferred: those under way, lower waves, then the
// longest chain, then the name.
func (o *order) sequence() []*Set {
	chains := o.chains()
	var all []*Set
	for name, set := range o.sets {
		if o.moves(name) && !set.Idle {
			all = append(all, set)
		}
	}
	slices.SortFunc(all, func(a, b *Set) int {
		return cmp.Or(firstBegun(a, b), cmp.Compare(a.Wave, b.Wave), cmp.Compare(chains[b.Name], chains[a.Name]), compareNames(a.Name, b.Name))
	})
	return all
}
