package plan

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// TestRefills: a writer that this migration has paused stays so while the destination has ordinals that it would start
// at the source, until a person says otherwise; what another migration, or somebody, has paused is theirs (I1).
func TestRefills(t *testing.T) {
	writer := func(change func(*Writer)) func(*Snapshot) {
		return func(s *Snapshot) {
			w := Writer{WriterReference: api.WriterReference{Kind: "ScaledObject", Namespace: "shop", Name: "a"}, Found: true, Writes: true, Value: "true", Pause: "true", Mark: "m.1 paused"}
			change(&w)
			s.Writers = Writers{Read: true, List: []Writer{w}}
		}
	}
	paused := writer(func(*Writer) {})
	for name, tc := range map[string]struct {
		change func(*Writer)
		but    but
		want   bool
	}{
		"it is paused":                     {want: true},
		"in this epoch":                    {change: func(w *Writer) { w.Mark = "m.2 paused" }, want: true},
		"let go, and not yet given back":   {change: func(w *Writer) { w.Mark = "m.2 let-go" }, want: true},
		"by another migration":             {change: func(w *Writer) { w.Mark = "other.2 paused" }},
		"by somebody":                      {change: func(w *Writer) { w.Mark = "" }},
		"it was given its setting back":    {change: func(w *Writer) { w.Value = "" }},
		"it is gone":                       {change: func(w *Writer) { w.Found = false }},
		"it writes something else by now":  {change: func(w *Writer) { w.Writes = false }},
		"a person says that it writes not": {but: but{func(s *Snapshot) { s.Spec.PauseWriters = false }}},
		"back, from halfway":               {but: but{rollback}, want: true},
		"back, and all is back":            {but: but{rollback, func(s *Snapshot) { s.Destination.Set.Replicas = 0 }}},
		"the source is gone":               {but: but{func(s *Snapshot) { s.Source.Set.Presence = Absent }}},
		"the destination has nothing":      {but: but{func(s *Snapshot) { s.Destination.Set.Replicas = 0 }}},
	} {
		set := paused
		if tc.change != nil {
			set = writer(tc.change)
		}
		p := halfway(append(but{set, func(s *Snapshot) { s.Spec.PauseWriters = true }}, tc.but...).all)
		spared := p.Writers.List[0]
		spared.Found = false
		p.Writers.List = append([]Writer{spared}, p.Writers.List...)
		decision := writerPlanner{p.View}.refills()
		if (decision != nil) != tc.want {
			t.Errorf("%s: %+v", name, decision)
		}
		if decision != nil && (decision.Hold.Reason != api.ReasonWriterWouldRefill || !decision.Hold.Stalled || !strings.Contains(decision.Hold.Message, "ScaledObject shop/a in cluster east")) {
			t.Errorf("%s: %+v", name, decision.Hold)
		}
	}
}
