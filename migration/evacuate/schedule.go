package evacuate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/berths"
)

// Row is the expected move of one set. Times are since the begin of the evacuation.
type Row struct {
	Set *Set
	// After lists the sets that it waits for.
	After      []Edge
	Begin, End time.Duration
	Handoffs   []Handoff
}

// Handoff is the expected handoff of one ordinal, which is down from Down to Up.
type Handoff struct {
	Ordinal              int32
	Begin, Down, Up, End time.Duration
}

// mover is a set in the simulation.
type mover struct {
	row  Row
	left []Ordinal
	// busy counts its handoffs that are under way.
	busy         int32
	begun, ended bool
}

// underWay is a handoff that has begun and not ended.
type underWay struct {
	of    *mover
	berth berths.Berth
	end   time.Duration
}

// simulation runs the handoffs of all sets that move, as the limits allow.
type simulation struct {
	limits Limits
	// movers are ordered by preference, and named maps their names.
	movers   []*mover
	named    map[Name]*mover
	underWay []underWay
	now      time.Duration
}

// The clusters of an evacuation, as berths name them.
const (
	sourceCluster      types.UID = "source"
	destinationCluster types.UID = "destination"
)

// schedule simulates the moves. Whenever a handoff has ended, it begins all that fit, in the order of preference.
func schedule(o order, limits Limits) []Row {
	s := &simulation{limits: limits, named: map[Name]*mover{}}
	for _, set := range o.sequence() {
		m := &mover{row: Row{Set: set, After: o.after[set.Name]}, left: set.Ordinals}
		s.movers = append(s.movers, m)
		s.named[set.Name] = m
	}
	for {
		for s.begin() { // a set without ordinals ends at once, which may let others begin
		}
		if !s.next() {
			break
		}
	}
	rows := make([]Row, len(s.movers))
	for i, m := range s.movers {
		rows[i] = m.row
	}
	slices.SortStableFunc(rows, func(a, b Row) int { return cmp.Compare(a.Begin, b.Begin) })
	return rows
}

// begin begins all handoffs that fit now, and reports whether a set without ordinals has ended.
func (s *simulation) begin() (ended bool) {
	load, active, wave := s.load()
	for _, m := range s.movers {
		if m.ended || m.busy > 0 && len(m.left) == 0 || !m.begun && !m.row.Set.Begun && (s.limits.Sets > 0 && active >= s.limits.Sets || m.row.Set.Wave > wave || s.waits(m)) {
			continue
		}
		if len(m.left) == 0 {
			m.row.Begin, m.row.End, m.begun, m.ended, ended = s.now, s.now, true, true, true
			continue
		}
		for len(m.left) > 0 && m.busy < max(1, m.row.Set.AtOnce) {
			berth := berthOf(m.row.Set, m.left[0])
			if !load.Fits(berth) {
				break
			}
			if !m.begun {
				m.begun, m.row.Begin = true, s.now
				active++
			}
			load.Others = append(load.Others, berth)
			s.start(m, berth)
		}
	}
	return ended
}

// load returns what the handoffs that are under way use, the number of sets that are, and the lowest wave that has not
// ended.
func (s *simulation) load() (load berths.Load, active int, wave int32) {
	load.Limits = s.limits.Limits
	for _, other := range s.underWay {
		load.Others = append(load.Others, other.berth)
	}
	wave = math.MaxInt32
	for _, m := range s.movers {
		if m.begun && !m.ended {
			active++
		}
		if !m.ended {
			wave = min(wave, m.row.Set.Wave)
		}
	}
	return load, active, wave
}

// start begins the next handoff of a set.
func (s *simulation) start(m *mover, berth berths.Berth) {
	expected := m.row.Set.Expected
	h := Handoff{Ordinal: m.left[0].Ordinal, Begin: s.now, End: s.now + expected.Handoff}
	h.Up = max(h.Begin, h.End-expected.Soak)
	h.Down = max(h.Begin, h.Up-expected.Down)
	m.row.Handoffs, m.left, m.busy = append(m.row.Handoffs, h), m.left[1:], m.busy+1
	s.underWay = append(s.underWay, underWay{m, berth, h.End})
}

// next proceeds to the end of the next handoffs, and reports whether there were any.
func (s *simulation) next() bool {
	if len(s.underWay) == 0 {
		return false
	}
	s.now = slices.MinFunc(s.underWay, func(a, b underWay) int { return cmp.Compare(a.end, b.end) }).end
	s.underWay = slices.DeleteFunc(s.underWay, func(u underWay) bool {
		if u.end > s.now {
			return false
		}
		if u.of.busy--; len(u.of.left) == 0 && u.of.busy == 0 {
			u.of.ended, u.of.row.End = true, s.now
		}
		return true
	})
	return true
}

// waits reports whether a set that it waits for has not ended.
func (s *simulation) waits(m *mover) bool {
	return slices.ContainsFunc(m.row.After, func(e Edge) bool { return !s.named[e.On].ended })
}

// berthOf returns what the handoff of an ordinal uses.
func berthOf(set *Set, ordinal Ordinal) berths.Berth {
	return berths.Berth{
		Migration:   set.Name,
		HandoffLoad: api.HandoffLoad{Cluster: sourceCluster, Node: ordinal.Node, StorageClasses: set.Classes},
		Clusters:    [2]types.UID{destinationCluster, sourceCluster},
	}
}
