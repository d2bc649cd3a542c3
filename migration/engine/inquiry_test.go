package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/health"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// askerFunc is a function as the client of a gate.
type askerFunc func(context.Context, health.Subject) health.Answer

func (f askerFunc) Ask(ctx context.Context, s health.Subject) health.Answer { return f(ctx, s) }

// office is inquiries with gates that the test answers, in a synctest bubble.
type office struct {
	*inquiries
	told  atomic.Int32
	mu    sync.Mutex
	asked []health.Subject
	say   health.Answer
}

func newOffice() *office {
	o := &office{say: health.Answer{Verdict: health.Passed}}
	askers := func(api.HealthGate) (health.Asker, error) {
		return askerFunc(func(_ context.Context, s health.Subject) health.Answer {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.asked = append(o.asked, s)
			return o.say
		}), nil
	}
	o.inquiries = newInquiries(clock.RealClock{}, askers, func() { o.told.Add(1) })
	return o
}

func (o *office) answers(verdict health.Verdict, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.say = health.Answer{Verdict: verdict, Reason: reason, Message: "because"}
}

func (o *office) times() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.asked)
}

// unmoved returns a migration of three ordinals, none of which has moved, with gates.
func unmoved(gates ...api.HealthGate) plan.Snapshot {
	s := plantest.Scenario{Replicas: 3, Prepared: true}.Build()
	s.Record.Baseline = &api.Baseline{Replicas: 3, Budget: 1}
	for _, gate := range gates {
		s.Gates = append(s.Gates, plan.Health{Gate: gate})
	}
	return s
}

// moved returns the same after the last ordinal has moved.
func moved(s plan.Snapshot) plan.Snapshot {
	s = s.Clone()
	s.Source.Set.Replicas, s.Destination.Set.Start, s.Destination.Set.Replicas = 2, 2, 1
	pod, _ := s.Source.Pod(2)
	pod.ReadySince = time.Time{}
	s.Source.RemovePod(2)
	s.Destination.SetPod(pod)
	return s
}

func db(at ...api.GatePoint) api.HealthGate { return api.HealthGate{Name: "db", At: at} }

// states returns the states of all open questions.
func (o *office) states(s plan.Snapshot) []api.GateState {
	var gates []api.HealthGate
	for _, each := range s.Gates {
		gates = append(gates, each.Gate)
	}
	s.Now, s.Gates = time.Now(), o.known(gates)
	var all []api.GateState
	for _, reply := range planner.Replies(s) {
		all = append(all, reply.State)
	}
	return all
}

func expectStates(t *testing.T, got []api.GateState, want ...api.GateState) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestInquiries: an open question is asked at its interval while it is open, and notify is called when the
// gate's state changes.
func TestInquiries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(), unmoved(db(api.GateBeforeStop, api.GateAfterStart))
		defer o.close()
		expectStates(t, o.states(s), api.GatePending)
		for range 3 {
			o.want(s)
		}
		synctest.Wait()
		expectStates(t, o.states(s), api.GatePassed)
		ordinal := int32(2)
		want := []health.Subject{{
			Migration: s.Migration, MigrationUID: "migration", Side: api.GateSource, Cluster: "east", Namespace: "shop", StatefulSet: "web", Pod: "web-2", PodUID: "pod-2",
			Ordinal: &ordinal, Direction: string(api.Forward), Point: api.GateBeforeStop,
		}}
		o.mu.Lock()
		if diff := cmp.Diff(want, o.asked); diff != "" {
			t.Error(diff)
		}
		o.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		if o.times() != 7 || o.told.Load() != 1 {
			t.Errorf("asked %d times, told %d times", o.times(), o.told.Load())
		}
		o.answers(health.Failed, "")
		time.Sleep(30 * time.Second)
		synctest.Wait()
		expectStates(t, o.states(s), api.GateFailed)
		if o.told.Load() != 3 {
			t.Errorf("told %d times: when it turns bad, and when it has failed", o.told.Load())
		}
		o.want(moved(s))
		synctest.Wait()
		expectStates(t, o.states(s), api.GatePending)
		expectStates(t, o.states(moved(s)), api.GatePending, api.GatePending)
		o.want(unmoved())
		asked := o.times()
		time.Sleep(time.Hour)
		synctest.Wait()
		if o.times() != asked || len(o.gates) > 0 {
			t.Error("it is asked though nobody wants to know")
		}
	})
}

// TestInquiryBeginsAnew: answers from before a gate was changed do not count, nor those about another pod.
func TestInquiryBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(), unmoved(db(api.GateBeforeStop))
		defer o.close()
		o.want(s)
		synctest.Wait()
		expectStates(t, o.states(s), api.GatePassed)
		other := s.Clone()
		other.Source.Pods[2].UID = "new"
		expectStates(t, o.states(other), api.GatePending)
		changed := db(api.GateBeforeStop)
		changed.CEL = &api.CELGate{Expression: "false"}
		expectStates(t, o.states(unmoved(changed)), api.GatePending)
		o.answers(health.Failed, "")
		o.want(unmoved(changed))
		synctest.Wait()
		if o.times() != 2 {
			t.Errorf("asked %d times", o.times())
		}
		o.close()
		expectStates(t, o.states(unmoved(changed)), api.GatePending)
	})
}

// TestInitialDelay: the initial delay applies to an ordinal that has arrived, not to one that is about to be
// stopped.
func TestInitialDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := db(api.GateBeforeStop, api.GateAfterStart)
		gate.InitialDelaySeconds = new(int32(60))
		o, s := newOffice(), moved(unmoved(gate))
		defer o.close()
		o.want(s)
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		expectStates(t, o.states(s), api.GatePassed, api.GatePending)
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		expectStates(t, o.states(s), api.GatePassed, api.GatePassed)
	})
}

// TestAskOnce: any answer that has not passed gets a reason, and a late answer is cut off at the timeout.
func TestAskOnce(t *testing.T) {
	for verdict, want := range map[health.Verdict]string{
		health.Passed: "", health.Failed: api.ReasonGateFailed, health.Unanswered: api.ReasonGateUnanswered, health.Invalid: api.ReasonGateInvalid,
		"": api.ReasonGateUnanswered, "?": api.ReasonGateUnanswered,
	} {
		says := askerFunc(func(context.Context, health.Subject) health.Answer { return health.Answer{Verdict: verdict} })
		if got := askOnce(t.Context(), says, db(), health.Subject{}); got.Reason != want {
			t.Errorf("%q: %+v", verdict, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		silent := askerFunc(func(ctx context.Context, _ health.Subject) health.Answer {
			<-ctx.Done()
			return health.Answer{Verdict: health.Unanswered, Message: ctx.Err().Error()}
		})
		began := time.Now()
		got := askOnce(t.Context(), silent, db(), health.Subject{})
		if time.Since(began) != 5*time.Second || got.Message != "no answer within 5s: context deadline exceeded" {
			t.Errorf("after %s: %+v", time.Since(began), got)
		}
	})
}

// TestWrongGate: a gate that cannot be queried reports that, and no request is sent.
func TestWrongGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, s := newOffice(), unmoved(db(api.GateBeforeStop))
		defer o.close()
		o.askers = func(api.HealthGate) (health.Asker, error) { return nil, errors.New("it does not compile") }
		o.want(s)
		synctest.Wait()
		expectStates(t, o.states(s), api.GateInvalid)
	})
}

// TestNobodyAsks: without askers or notify, no gate passes.
func TestNobodyAsks(t *testing.T) {
	s := unmoved(db(api.GateBeforeStop))
	for _, q := range []*inquiries{newInquiries(clock.RealClock{}, nil, func() {}), newInquiries(clock.RealClock{}, newOffice().askers, nil)} {
		q.want(s)
		if got := q.known([]api.HealthGate{db(api.GateBeforeStop)}); len(q.gates) > 0 || len(got) != 1 || got[0].Answers != nil {
			t.Errorf("%+v", got)
		}
	}
}

// TestInquiriesAtOnce: gates that do not answer use no more than their places, and can be closed.
func TestInquiriesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at, most atomic.Int32
		o := newOffice()
		o.askers = func(api.HealthGate) (health.Asker, error) {
			return askerFunc(func(ctx context.Context, _ health.Subject) health.Answer {
				most.Store(max(most.Load(), at.Add(1)))
				defer at.Add(-1)
				<-ctx.Done()
				return health.Answer{}
			}), nil
		}
		var gates []api.HealthGate
		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			gates = append(gates, api.HealthGate{Name: name, At: []api.GatePoint{api.GateBeforeStop, api.GateAfterStart}})
		}
		o.want(moved(unmoved(gates...)))
		synctest.Wait()
		if most.Load() != inquiriesAtOnce {
			t.Errorf("%d at once", most.Load())
		}
		o.close()
		synctest.Wait()
		if at.Load() != 0 {
			t.Errorf("%d are still asked", at.Load())
		}
	})
}
