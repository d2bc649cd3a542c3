package planner

import (
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// TestRefills: a writer that this migration has paused stays paused while the destination has ordinals that it
// would start at the source, until a user confirms otherwise. A pause by another migration or a user is not
// touched (I1).
func TestRefills(t *testing.T) {
	writer := func(change func(*plan.Writer)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			w := plan.Writer{WriterReference: api.WriterReference{Kind: "ScaledObject", Namespace: "shop", Name: "a"}, Found: true, Writes: true, Value: "true", Pause: "true", Mark: "m.1 paused"}
			change(&w)
			s.Writers = plan.Writers{Read: true, List: []plan.Writer{w}}
		}
	}
	paused := writer(func(*plan.Writer) {})
	for name, tc := range map[string]struct {
		change func(*plan.Writer)
		but    but
		want   bool
	}{
		"it is paused":                     {want: true},
		"in this epoch":                    {change: func(w *plan.Writer) { w.Mark = "m.2 paused" }, want: true},
		"let go, and not yet given back":   {change: func(w *plan.Writer) { w.Mark = "m.2 let-go" }, want: true},
		"by another migration":             {change: func(w *plan.Writer) { w.Mark = "other.2 paused" }},
		"by somebody":                      {change: func(w *plan.Writer) { w.Mark = "" }},
		"it was given its setting back":    {change: func(w *plan.Writer) { w.Value = "" }},
		"it is gone":                       {change: func(w *plan.Writer) { w.Found = false }},
		"it writes something else by now":  {change: func(w *plan.Writer) { w.Writes = false }},
		"a person says that it writes not": {but: but{func(s *plan.Snapshot) { s.Spec.PauseWriters = false }}},
		"back, from halfway":               {but: but{rollback}, want: true},
		"back, and all is back":            {but: but{rollback, func(s *plan.Snapshot) { s.Destination.Set.Replicas = 0 }}},
		"the source is gone":               {but: but{func(s *plan.Snapshot) { s.Source.Set.Presence = plan.Absent }}},
		"the destination has nothing":      {but: but{func(s *plan.Snapshot) { s.Destination.Set.Replicas = 0 }}},
	} {
		set := paused
		if tc.change != nil {
			set = writer(tc.change)
		}
		p := halfway(append(but{set, func(s *plan.Snapshot) { s.Spec.PauseWriters = true }}, tc.but...).all)
		spared := p.Writers.List[0]
		spared.Found = false
		p.Writers.List = append([]plan.Writer{spared}, p.Writers.List...)
		decision := writerPlanner{p.View}.refills()
		if (decision != nil) != tc.want {
			t.Errorf("%s: %+v", name, decision)
		}
		if decision != nil && (decision.Hold.Reason != api.ReasonWriterWouldRefill || !decision.Hold.Stalled || !strings.Contains(decision.Hold.Message, "ScaledObject shop/a in cluster east")) {
			t.Errorf("%s: %+v", name, decision.Hold)
		}
	}
}

// TestK8UnconfirmedWriter: a writer that does not name the source is not paused, unless it is paused already, or
// this migration has recorded it.
func TestK8UnconfirmedWriter(t *testing.T) {
	reference := api.WriterReference{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "web"}
	for name, tc := range map[string]struct {
		change   func(*plan.Writer)
		recorded bool
		stalls   bool
	}{
		"it does not name it":      {func(*plan.Writer) {}, false, true},
		"it does":                  {func(w *plan.Writer) { w.Unconfirmed = "" }, false, false},
		"it is paused by somebody": {func(w *plan.Writer) { w.Value = w.Pause }, false, false},
		"it is recorded":           {func(*plan.Writer) {}, true, false},
	} {
		w := plan.Writer{WriterReference: reference, Found: true, Writes: true, Pause: `"true"`, Unconfirmed: "status.resources does not name it"}
		tc.change(&w)
		p := halfway(func(s *plan.Snapshot) {
			s.Spec.PauseWriters, s.Writers = true, plan.Writers{Read: true, List: []plan.Writer{w}}
			if tc.recorded {
				s.Record.Writers = []api.PausedWriter{{WriterReference: reference}}
			}
		})
		decision := writerPlanner{p.View}.pauseOne(w)
		stalls := decision != nil && decision.Hold != nil && decision.Hold.Reason == api.ReasonWriterNotConfirmed && decision.Hold.Stalled
		if stalls != tc.stalls || len(writerFindings(p.Snapshot)) > 0 != tc.stalls {
			t.Errorf("%s: %+v, %+v", name, decision, writerFindings(p.Snapshot))
		}
		if stalls && (!strings.Contains(decision.Hold.Message, "Application argocd/web") || !strings.Contains(decision.Hold.Remedy, "get application.argoproj.io -n argocd web")) {
			t.Errorf("%s: %+v", name, decision.Hold)
		}
	}
}

// TestH8WriterNotFound: a writer that a mark names but that was not found is not ignored: nothing is stopped until
// a user confirms that it is paused.
func TestH8WriterNotFound(t *testing.T) {
	w := plan.Writer{WriterReference: api.WriterReference{Group: "argoproj.io", Kind: "Application", Namespace: "argocd", Name: "store"}, Writes: true}
	for name, tc := range map[string]struct {
		change but
		want   string
	}{
		"it is not found":         {nil, api.ReasonWriterNotFound},
		"it is said to be paused": {but{func(s *plan.Snapshot) { s.Spec.WritersPaused = []string{"Application/argocd/store"} }}, ""},
		"another one is":          {but{func(s *plan.Snapshot) { s.Spec.WritersPaused = []string{"Application/argocd/web"} }}, api.ReasonWriterNotFound},
		"nobody asked":            {but{func(s *plan.Snapshot) { s.Spec.PauseWriters = false }}, ""},
		"it goes back":            {but{rollback}, ""},
	} {
		p := halfway(append(but{func(s *plan.Snapshot) {
			s.Spec.PauseWriters, s.Writers = true, plan.Writers{Read: true, List: []plan.Writer{w}}
		}}, tc.change...).all)
		got, found := "", writerFindings(p.Snapshot)
		if decision := (writerPlanner{p.View}).pause(); decision != nil && decision.Hold != nil && decision.Hold.Stalled {
			got = decision.Hold.Reason
			if !strings.Contains(decision.Hold.Remedy, "--paused-by-hand Application/argocd/store") {
				t.Errorf("%s: %s", name, decision.Hold.Remedy)
			}
		}
		if got != tc.want || name != "it goes back" && (len(found) > 0) != (tc.want != "") {
			t.Errorf("%s: %q, %+v", name, got, found)
		}
	}
}
