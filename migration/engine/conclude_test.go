package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
	"github.com/sliceshift/sliceshift/migration/endpoint/endpointtest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/world"
	"github.com/sliceshift/sliceshift/volumes"
)

// TestRefusedAgainAndAgain: a write that conflicts is retried at once and not reported. A write that is refused
// repeatedly is reported with a reason, and retried (G9).
func TestRefusedAgainAndAgain(t *testing.T) {
	namespaces := corev1.Resource("namespaces")
	sets := appsv1.Resource("statefulsets")
	for name, tc := range map[string]struct {
		answer error
		reason string
		says   string
	}{
		"its namespace is gone":   {apierrors.NewNotFound(namespaces, "shop"), api.ReasonNamespaceMissing, `namespaces "shop" not found`},
		"the object is gone":      {apierrors.NewNotFound(sets, "web"), api.ReasonWriteRefused, `"web" not found`},
		"somebody writes all day": {apierrors.NewConflict(sets, "web", errors.New("modified")), api.ReasonWriteRefused, "modified"},
		"it exists and is unseen": {apierrors.NewAlreadyExists(sets, "web"), api.ReasonWriteRefused, "already exists"},
	} {
		t.Run(name, func(t *testing.T) {
			refuses := true
			sides := endpointtest.Pair(clustertest.Hooked(clustertest.Hooks{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					if refuses {
						return tc.answer
					}
					return nil
				},
			}), nil)
			both := &inClusters{links: links{pair: sides}, watches: watches{pair: sides}, Observer: &world.Observer{Pair: sides}}
			e := &Engine{clock: clock.RealClock{}, world: both, clusters: both}
			e.state.Engaged = true
			try := func() (planner.Step, bool) {
				decision := plan.Decision{Effect: &plan.Effect{Verb: plan.ScaleDown, Side: plan.SourceSide, Name: "web", Before: plan.SetState{Replicas: 1}}}
				return e.write(t.Context(), &api.Migration{}, planner.Step{Do: planner.Write, Decision: decision})
			}
			for {
				step, landed := try()
				hold := step.Decision.Hold
				if hold == nil && step.Do == planner.Rest && !landed && step.RequeueAfter > 0 {
					continue // an ordinary conflict
				}
				if hold == nil || !hold.Stalled || hold.Reason != tc.reason || !strings.Contains(hold.Message, tc.says) || !strings.Contains(hold.Message, "cluster east") || hold.Remedy == "" {
					t.Fatalf("got %+v, want %s that says %q", hold, tc.reason, tc.says)
				}
				break
			}
			refuses = false
			if step, landed := try(); step.Decision.Hold != nil || !landed {
				t.Errorf("it does not go on: %+v", step.Decision)
			}
			if !e.state.Engaged {
				t.Error("an answer costs the fence")
			}
		})
	}
}

// TestKindOf: after an answer that the addressed API server did not give, it is unknown whether a write has
// landed (I7).
func TestKindOf(t *testing.T) {
	namespaces, sets := corev1.Resource("namespaces"), appsv1.Resource("statefulsets")
	for name, tc := range map[string]struct {
		err  error
		want planner.Kind
	}{
		"none":               {nil, planner.Landed},
		"a conflict":         {apierrors.NewConflict(sets, "web", errors.New("modified")), planner.Changed},
		"it exists":          {apierrors.NewAlreadyExists(sets, "web"), planner.Changed},
		"it is gone":         {apierrors.NewNotFound(sets, "web"), planner.Changed},
		"its namespace is":   {apierrors.NewNotFound(namespaces, "shop"), planner.NamespaceGone},
		"without details":    {&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonNotFound}}, planner.Changed},
		"a right":            {apierrors.NewForbidden(sets, "web", errors.New(`User "mover" cannot patch resource "statefulsets"`)), planner.MissingRight},
		"admission":          {apierrors.NewForbidden(sets, "web", errors.New("no changes on Fridays")), planner.Refused},
		"validation":         {apierrors.NewInvalid(schema.GroupKind{Kind: "StatefulSet"}, "web", nil), planner.Refused},
		"a bad request":      {apierrors.NewBadRequest("what?"), planner.Refused},
		"a webhook fails":    {apierrors.NewInternalError(errors.New(`failed calling webhook "policy.corp": no endpoints`)), planner.Refused},
		"it changes nothing": {fmt.Errorf("writing: %w", &volumes.UnsentError{Reason: "effect changes nothing"}), planner.Unsent},
		"a lost connection":  {io.ErrUnexpectedEOF, planner.NoAnswer},
		"a deadline":         {context.DeadlineExceeded, planner.NoAnswer},
		"a server's timeout": {apierrors.NewTimeoutError("it took long", 1), planner.NoAnswer},
		"an internal error":  {apierrors.NewInternalError(errors.New("etcd")), planner.NoAnswer},
		"too many requests":  {apierrors.NewTooManyRequests("later", 1), planner.NoAnswer},
	} {
		if got := kindOf(tc.err); got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

// TestRecordWithoutAnswer: a record write with an unknown result invalidates the fence, whether the connection
// failed or the API server's storage did not answer (I7).
func TestRecordWithoutAnswer(t *testing.T) {
	migrations := schema.GroupResource{Group: api.GroupVersion.Group, Resource: "migrations"}
	for name, tc := range map[string]struct {
		err     error
		engaged bool
	}{
		"it landed":          {nil, true},
		"a conflict":         {apierrors.NewConflict(migrations, "web", errors.New("modified")), true},
		"admission":          {apierrors.NewForbidden(migrations, "web", errors.New("no changes on Fridays")), true},
		"a lost connection":  {io.ErrUnexpectedEOF, false},
		"a server's timeout": {apierrors.NewTimeoutError("it took long", 1), false},
		"an internal error":  {apierrors.NewInternalError(errors.New("etcdserver: request timed out")), false},
	} {
		for what, do := range map[string]planner.Do{"a record": planner.SaveRecord, "a report": planner.Report} {
			t.Run(name+", "+what, func(t *testing.T) {
				e := &Engine{clock: clock.RealClock{}, state: planner.State{Engaged: true, Holder: "h"}}
				step := planner.Step{Do: do, Decision: plan.Decision{Record: &plan.Record{Fence: &api.Fence{Epoch: 1, Holder: "h"}}}}
				if e.save(step, &api.Migration{}, tc.err); e.state.Engaged != tc.engaged {
					t.Errorf("engaged: %t", e.state.Engaged)
				}
			})
		}
	}
}

// kept is a Records that always saves.
type kept struct{ saved *api.Migration }

func (k *kept) Save(_ context.Context, m *api.Migration) error {
	k.saved = m.DeepCopy()
	return nil
}

func (k *kept) Stores(context.Context, *api.Migration) error { return nil }

func (k *kept) TurnBack(context.Context, *api.Migration) error { return nil }

// TestWarningsStay: the warnings at acceptance remain until the migration ends. Before acceptance the latest
// ones are shown.
func TestWarningsStay(t *testing.T) {
	records := &kept{}
	e := &Engine{clock: clock.RealClock{}, status: statusStore{records: records}, state: planner.State{Holder: "h"}}
	m := &api.Migration{}
	found := func(check string) []plan.Finding {
		return []plan.Finding{{Check: check, Reason: api.ReasonTrackedByGitOps, Message: "m", Warning: true}}
	}
	for i, tc := range []struct {
		decision plan.Decision
		want     []string
	}{
		{plan.Decision{Findings: found("GitOps"), Hold: &plan.Hold{Reason: api.ReasonPaused}}, []string{"GitOps"}},
		{plan.Decision{Hold: &plan.Hold{Reason: api.ReasonClusterUnreachable, Stalled: true}}, []string{"GitOps"}},
		{plan.Decision{Findings: found("release"), Record: &plan.Record{Baseline: &api.Baseline{Replicas: 1}, Accepted: true}}, []string{"release"}},
		{plan.Decision{Record: &plan.Record{Baseline: &api.Baseline{Replicas: 1}, Fence: &api.Fence{Epoch: 1}}}, []string{"release"}},
	} {
		do := planner.Report
		if tc.decision.Record != nil {
			do = planner.SaveRecord
		}
		if _, err := e.report(t.Context(), m, planner.Step{Do: do, Decision: tc.decision}, &Outcome{}); err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, w := range m.Status.Warnings {
			told = append(told, w.Check)
		}
		if !slices.Equal(told, tc.want) || records.saved == nil {
			t.Errorf("%d: told of %v, want %v", i, told, tc.want)
		}
	}
}

// turned is a Records of a migration that may be turned back.
type turned struct {
	err   error
	saves int
	turns int
}

func (r *turned) Save(_ context.Context, m *api.Migration) error {
	r.saves++
	m.ResourceVersion = "1"
	return nil
}

func (r *turned) Stores(context.Context, *api.Migration) error { return nil }

func (r *turned) TurnBack(_ context.Context, m *api.Migration) error {
	r.turns++
	m.Spec.Mode, m.ResourceVersion = api.ModeRollback, "2"
	return r.err
}

// TestTurnBack: a migration is turned back after the status shows the reason, and only once. A conflict changes
// nothing.
func TestTurnBack(t *testing.T) {
	hold := plan.Hold{Reason: api.ReasonGateFailed, Message: "it has failed", Stalled: true, TurnBack: true}
	for name, tc := range map[string]struct {
		hold  plan.Hold
		mode  api.Mode
		err   error
		turns int
		want  api.Mode
	}{
		"it is turned back": {hold, api.ModeRun, nil, 1, api.ModeRollback},
		"it is so already":  {hold, api.ModeRollback, nil, 0, api.ModeRollback},
		"it is to stall":    {plan.Hold{Reason: api.ReasonGateFailed, Stalled: true}, api.ModeRun, nil, 0, api.ModeRun},
		"it has changed":    {hold, api.ModeRun, apierrors.NewConflict(corev1.Resource("migrations"), "web", errors.New("modified")), 1, api.ModeRun},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &turned{err: tc.err}
			e := &Engine{clock: clock.RealClock{}, status: statusStore{records: kept}}
			m := &api.Migration{Spec: api.MigrationSpec{Mode: tc.mode}}
			step := planner.Stall(tc.hold)
			for range 2 {
				outcome := &Outcome{}
				turns := kept.turns
				_, err := e.report(t.Context(), m, step, outcome)
				if outcome.Saved && kept.turns != turns {
					t.Error("it is turned back before the status says why")
				}
				if (err != nil) != (tc.err != nil && kept.turns > turns) {
					t.Error(err)
				}
			}
			if kept.saves != 1 || kept.turns != tc.turns || m.Spec.Mode != tc.want {
				t.Errorf("%d saves, %d turns, mode %s", kept.saves, kept.turns, m.Spec.Mode)
			}
		})
	}
}

// TestNews: a written status is news if it stalls, waits for another reason than before, or does not stall any
// more.
func TestNews(t *testing.T) {
	with := func(progressing, stalled string) *api.Migration {
		m := &api.Migration{}
		if progressing != "" {
			condition(m, api.ConditionProgressing, metav1.ConditionTrue, progressing, "")
		}
		if stalled != "" {
			condition(m, api.ConditionStalled, metav1.ConditionTrue, stalled, "")
		}
		return m
	}
	waits, stalls := &plan.Hold{Reason: api.ReasonPodNotReady}, &plan.Hold{Reason: api.ReasonForeignScale, Stalled: true}
	type news struct{ stalls, waits, goesOn bool }
	for name, tc := range map[string]struct {
		before, after *api.Migration
		hold          *plan.Hold
		want          news
	}{
		"the first wait":       {with("", ""), with("PodNotReady", ""), waits, news{waits: true}},
		"the same wait":        {with("PodNotReady", ""), with("PodNotReady", ""), waits, news{}},
		"another wait":         {with("PodTerminating", ""), with("PodNotReady", ""), waits, news{waits: true}},
		"a stall":              {with("PodNotReady", ""), with("ForeignScale", "ForeignScale"), stalls, news{stalls: true}},
		"the same stall":       {with("ForeignScale", "ForeignScale"), with("ForeignScale", "ForeignScale"), stalls, news{}},
		"no stall any more":    {with("ForeignScale", "ForeignScale"), with("Moving", ""), nil, news{goesOn: true}},
		"a wait after a stall": {with("ForeignScale", "ForeignScale"), with("PodNotReady", ""), waits, news{waits: true, goesOn: true}},
	} {
		t.Run(name, func(t *testing.T) {
			outcome := Outcome{Decision: plan.Decision{Hold: tc.hold}}
			outcome.saved(tc.before, tc.after)
			if got := (news{outcome.Stalls, outcome.Waits, outcome.GoesOn}); got != tc.want || !outcome.Saved {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestAheadHeld: the reason that holds copies ahead of their turns is a condition with a remedy, and is news
// once. It is removed when the copies continue, and at the end. A process that has tried no copy yet leaves it
// unchanged.
func TestAheadHeld(t *testing.T) {
	hold := plan.Stalled(api.ReasonWriteRefused, "cluster west refused to create claim a: exceeded quota: few", "kubectl describe quota -n shop").Hold
	begins := func() *Engine {
		return &Engine{clock: clock.RealClock{}, status: statusStore{records: &kept{}}, state: planner.State{Holder: "h"}}
	}
	e, m := begins(), &api.Migration{}
	m.Status.Baseline = &api.Baseline{Replicas: 3}
	report := func(e *Engine, decision plan.Decision) Outcome {
		t.Helper()
		outcome := Outcome{Decision: decision}
		if _, err := e.report(t.Context(), m, planner.Step{Do: planner.Report, Decision: decision}, &outcome); err != nil {
			t.Fatal(err)
		}
		return outcome
	}
	stalls := plan.Decision{Hold: &plan.Hold{Reason: api.ReasonPaused}}
	e.early.hold(1, hold, inAnswer, false, e.clock.Now())
	e.early.hold(0, hold, inAnswer, false, e.clock.Now())
	e.early.hold(2, nil, inAnswer, true, e.clock.Now())
	const want = "True|WriteRefused|ordinal 0, and 1 more, to be copied before its turn: cluster west refused to create claim a: exceeded quota: few. " +
		"It is tried again every 5s, and nothing that is under way waits for it; at its turn the move stalls with that. What to do: kubectl describe quota -n shop"
	if outcome := report(e, stalls); said(m, api.ConditionAheadHeld) != want || outcome.AheadHeld != api.ReasonWriteRefused {
		t.Errorf("got %q, news: %q", said(m, api.ConditionAheadHeld), outcome.AheadHeld)
	}
	if again := e.early.held[1].again; !again.After(e.clock.Now()) {
		t.Error("it is tried again at once")
	}
	if outcome := report(e, plan.Decision{Hold: &plan.Hold{Reason: api.ReasonOutsideWindow}}); outcome.AheadHeld != "" {
		t.Error("it is news twice")
	}
	e.early.hold(0, nil, inAnswer, false, e.clock.Now()) // a conflict is no reason to hold
	e.early.hold(1, nil, inAnswer, true, e.clock.Now())
	if report(e, stalls); !strings.Contains(said(m, api.ConditionAheadHeld), "ordinal 0, to be copied") {
		t.Errorf("one is let pass: %q", said(m, api.ConditionAheadHeld))
	}
	if report(begins(), stalls); said(m, api.ConditionAheadHeld) == "" {
		t.Error("a new process takes it back, and has not tried")
	}
	e.early.hold(0, nil, inAnswer, true, e.clock.Now())
	if report(e, stalls); said(m, api.ConditionAheadHeld) != "" {
		t.Errorf("all are let pass: %q", said(m, api.ConditionAheadHeld))
	}
	e.early.hold(0, hold, inSnapshot, true, e.clock.Now())
	if report(e, stalls); said(m, api.ConditionAheadHeld) == "" {
		t.Errorf("what was seen is not told: %+v", e.early.held)
	}
	e.early.hold(0, hold, inAnswer, false, e.clock.Now())
	report(e, stalls)
	if report(e, plan.Decision{Done: api.ReasonMoved}); said(m, api.ConditionAheadHeld) != "" {
		t.Errorf("at the end: %q", said(m, api.ConditionAheadHeld))
	}
}

// TestWhatHoldsCopies: a reason that was observed ends when it is not observed any more, and not with a write
// that lands. A refused write ends with either.
func TestWhatHoldsCopies(t *testing.T) {
	refused, seen := &plan.Hold{Reason: api.ReasonWriteRefused}, &plan.Hold{Reason: api.ReasonCopying}
	landed, noAnswer, notSeen := look{nil, inAnswer, true}, look{nil, inAnswer, false}, look{nil, inSnapshot, true}
	for name, tc := range map[string]struct {
		looks []look
		want  *plan.Hold
	}{
		"refused":                    {[]look{{refused, inAnswer, false}}, refused},
		"refused, no answer":         {[]look{{refused, inAnswer, false}, noAnswer}, refused},
		"refused, landed":            {[]look{{refused, inAnswer, false}, landed}, nil},
		"refused, nothing is due":    {[]look{{refused, inAnswer, false}, notSeen}, nil},
		"seen":                       {[]look{{seen, inSnapshot, true}}, seen},
		"seen, another write landed": {[]look{{seen, inSnapshot, true}, landed}, seen},
		"seen, no answer":            {[]look{{seen, inSnapshot, true}, noAnswer}, seen},
		"seen, not any more":         {[]look{{seen, inSnapshot, true}, landed, notSeen}, nil},
		"seen, refused":              {[]look{{seen, inSnapshot, true}, {refused, inAnswer, false}}, refused},
		"seen, refused, landed":      {[]look{{seen, inSnapshot, true}, {refused, inAnswer, false}, landed}, nil},
		"refused, seen, landed":      {[]look{{refused, inAnswer, false}, {seen, inSnapshot, true}, landed}, seen},
		"nothing":                    {[]look{landed}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{clock: clock.RealClock{}}
			for _, l := range tc.looks {
				e.early.hold(0, l.hold, l.found, l.ends, e.clock.Now())
			}
			held, found := e.early.held[0]
			if found != (tc.want != nil) || found && held.hold != *tc.want {
				t.Errorf("held: %t, %+v", found, held)
			}
		})
	}
}

// look is the result of a pass over the copy of an ordinal.
type look struct {
	hold  *plan.Hold
	found foundIn
	ends  bool
}

// TestStayedIsAnEvent: an ordinal that was not stopped before its migration was turned back is reported as
// stayed. Earlier arrivals are reported first.
func TestStayedIsAnEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		past api.PastHandoff
		want string
	}{
		"it was not stopped": {api.PastHandoff{Ordinal: 1, Direction: api.Back, Stayed: true}, "Normal OrdinalStayed ordinal 1 is available where it was: it had not been stopped"},
		"it was":             {api.PastHandoff{Ordinal: 1, Direction: api.Back}, "Normal OrdinalMoved ordinal 1 is available at the source, after 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			d, m := newDesk(t), west("a", 1, hasBegun)
			m.Status.History = &api.History{Handoffs: []api.PastHandoff{tc.past}}
			arrived := &arrivals{direction: api.Forward, ordinals: []int32{2}, slowest: time.Second}
			outcome := Outcome{Done: true, Finished: &api.Handoff{Ordinal: 1, StartTime: metav1.NewMicroTime(began)}}
			outcome.Snapshot.Now, outcome.Snapshot.Record.Fence = began.Add(3*time.Second), &api.Fence{Direction: api.Back}
			recorder := events.NewFakeRecorder(2)
			d.Events = recorder
			d.announceArrivals(m, outcome, arrived)
			close(recorder.Events)
			var got []string
			for note := range recorder.Events {
				got = append(got, note)
			}
			if diff := cmp.Diff([]string{"Normal OrdinalMoved ordinal 2 is available at the destination, after 1s", tc.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAheadHeldIsAnEvent: held copies are also reported as an event.
func TestAheadHeldIsAnEvent(t *testing.T) {
	d, m := newDesk(t), west("a", 1, hasBegun)
	condition(m, api.ConditionAheadHeld, metav1.ConditionTrue, api.ReasonWriteRefused, "exceeded quota")
	d.announce(m, Outcome{Saved: true, AheadHeld: api.ReasonWriteRefused}, &arrivals{})
	if got := <-d.Events.(*events.FakeRecorder).Events; got != "Warning WriteRefused exceeded quota" {
		t.Errorf("got %q", got)
	}
}
