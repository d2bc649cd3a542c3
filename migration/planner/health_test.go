package planner

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// asks returns a gate with the given points; without points, it has all of them.
func asks(name string, at ...api.GatePoint) api.HealthGate {
	if len(at) == 0 {
		at = []api.GatePoint{api.GateBeforeStop, api.GateAfterStart, api.GateAtEnd}
	}
	return api.HealthGate{Name: name, At: at, CEL: &api.CELGate{}}
}

// heard answers all open questions of the gates with one reason, that number of times; empty: a good answer.
func heard(s *plan.Snapshot, reason string, times int) {
	for _, reply := range Replies(*s) {
		answers := reply.Answers
		answers.Opened = s.Now
		for range times {
			answers = answers.Heard(reason, "because", s.Now)
		}
		for i := range s.Gates {
			if s.Gates[i].Gate.Name == reply.Gate.Name {
				s.Gates[i].Answers = append(s.Gates[i].Answers, answers)
			}
		}
	}
}

// gated sets gates with the given answers.
func gated(reason string, times int, gates ...api.HealthGate) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		s.Spec.Deadline = time.Minute
		for _, gate := range gates {
			s.Gates = append(s.Gates, plan.Health{Gate: gate})
		}
		heard(s, reason, times)
	}
}

// TestState: a gate passes after its number of consecutive good answers, for as long as the next answer may take.
// It fails after its number of consecutive bad ones.
func TestState(t *testing.T) {
	const good, bad, works, silent, empty, wrong, costly = "", api.ReasonGateFailed, api.ReasonGatePending, api.ReasonGateUnanswered, api.ReasonGateResultEmpty, api.ReasonGateInvalid, api.ReasonGateTooCostly
	for name, tc := range map[string]struct {
		answers []string
		age     time.Duration
		want    api.GateState
	}{
		"never asked":                     {nil, 0, api.GatePending},
		"one is not enough":               {[]string{good}, 0, api.GatePending},
		"two are":                         {[]string{good, good}, 0, api.GatePassed},
		"they count a while":              {[]string{good, good}, 15 * time.Second, api.GatePassed},
		"and no longer":                   {[]string{good, good}, 15*time.Second + 1, api.GatePending},
		"one bad one":                     {[]string{good, good, bad}, 0, api.GatePending},
		"good ones are counted anew":      {[]string{good, bad, good}, 0, api.GatePending},
		"two bad ones":                    {[]string{bad, bad}, 0, api.GatePending},
		"three bad ones":                  {[]string{bad, bad, bad}, time.Hour, api.GateFailed},
		"bad ones are counted anew":       {[]string{bad, bad, good, bad}, 0, api.GatePending},
		"no answer":                       {[]string{silent, silent, silent}, 0, api.GateUnanswered},
		"the last one says":               {[]string{bad, bad, silent}, 0, api.GateUnanswered},
		"no result":                       {[]string{empty, empty, empty}, 0, api.GateInvalid},
		"no result for once":              {[]string{empty}, 0, api.GatePending},
		"what cannot be asked is at once": {[]string{wrong}, 0, api.GateInvalid},
		"what is too costly as well":      {[]string{costly}, 0, api.GateInvalid},
		"and is good once it is mended":   {[]string{wrong, good, good}, 0, api.GatePassed},
		"what is worked on takes long":    {[]string{works, works, works, works, works}, time.Hour, api.GatePending},
		"and counts neither way":          {[]string{bad, bad, works, bad}, 0, api.GatePending},
		"nor as a good one":               {[]string{good, works, good}, 0, api.GatePending},
	} {
		gate, two := asks("db"), int32(2)
		gate.SuccessLimit = &two
		a := plan.Answers{}
		for _, reason := range tc.answers {
			a = a.Heard(reason, reason, began)
		}
		if got := a.State(gate, began.Add(tc.age)); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// TestHeard: the message is that of the first answer in a row, so that a changing figure in it does not change the
// status with each answer.
func TestHeard(t *testing.T) {
	var got []string
	a := plan.Answers{}
	for i, reason := range []string{"", "", api.ReasonGateFailed, api.ReasonGateFailed, api.ReasonGateUnanswered, ""} {
		a = a.Heard(reason, string(rune('a'+i)), began)
		got = append(got, a.Message)
	}
	if diff := cmp.Diff([]string{"a", "a", "c", "c", "e", "f"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReplies: the position of a migration determines the open questions. There is none while the ordinal in
// flight is down (I8).
func TestReplies(t *testing.T) {
	before, after := "BeforeStop 1 source pod-1", "AfterStart 2 destination pod-2"
	inFlight := func(k int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: k} }
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string
	}{
		"halfway":                   {nil, before + ", " + after},
		"before the stop":           {inFlight(1), before + ", " + after},
		"after the start":           {inFlight(2), before + ", " + after},
		"what came is not up":       {func(s *plan.Snapshot) { goDown(s, 2) }, before},
		"it has not been up enough": {func(s *plan.Snapshot) { s.Spec.MinReady = 2 * time.Hour; s.Destination.Pods[0].ReadySince = began }, before},
		"nothing has come":          {func(s *plan.Snapshot) { s.Record.Baseline.DestinationReplicas = 2 }, before},
		"all have come":             {func(s *plan.Snapshot) { nothingLeft(s) }, "AtEnd -1 destination , " + after},
		"the last one is coming":    {func(s *plan.Snapshot) { nothingLeft(s); inFlight(2)(s) }, after},
		"back":                      {rollback, "BeforeStop 2 destination pod-2, AfterStart 1 source pod-1"},
		"an ordinal is down":        {func(s *plan.Snapshot) { inFlight(1)(s); s.Source.Set.Replicas = 1 }, ""},
		"paused":                    {func(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }, ""},
		"deleted":                   {func(s *plan.Snapshot) { s.Deleting = true }, ""},
		"not begun":                 {func(s *plan.Snapshot) { s.Record.Baseline = nil }, ""},
		"at its end":                {func(s *plan.Snapshot) { s.Record.Completed = api.ReasonMoved }, ""},
		"somebody scales":           {func(s *plan.Snapshot) { s.Source.Set.Replicas = 5 }, ""},
		"unreachable":               {func(s *plan.Snapshot) { s.Destination.Reach = plan.Unreachable }, ""},
		"lost":                      {func(s *plan.Snapshot) { s.Destination.Lost = true }, ""},
	} {
		p := halfway(func(s *plan.Snapshot) {
			s.Gates = []plan.Health{{Gate: asks("db")}}
			if tc.change != nil {
				tc.change(s)
			}
		})
		var got []string
		for _, r := range Replies(p.Snapshot) {
			got = append(got, strings.Join([]string{string(r.Point), strconv.Itoa(int(r.Ordinal)), string(r.Side), string(r.Pod)}, " "))
		}
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s: %q, want %q", name, text, tc.want)
		}
	}
	if got := Replies(halfway(nil).Snapshot); got != nil {
		t.Errorf("no gates: %+v", got)
	}
}

// TestHealthHold: a gate holds until it passes, and reports the condition and whether a user must act (I6).
func TestHealthHold(t *testing.T) {
	dry := asks("db")
	dry.DryRun = true
	firm := asks("db")
	firm.OnRollback = api.GateRollbackHold
	for name, tc := range map[string]struct {
		changes but
		want    string
		stalled bool
	}{
		"it passes":               {but{gated("", 1, asks("db"))}, "", false},
		"another pod passed":      {but{gated("", 1, asks("db")), func(s *plan.Snapshot) { s.Source.Pods[1].UID = "new" }}, api.ReasonGatePending + " east", false},
		"it passed long ago":      {but{gated("", 1, asks("db")), func(s *plan.Snapshot) { s.Now = s.Now.Add(16 * time.Second) }}, api.ReasonGatePending + " west", false},
		"it has not been asked":   {but{gated("", 0, asks("db"))}, api.ReasonGatePending + " west", false},
		"nor for long":            {but{gated("", 0, asks("db")), func(s *plan.Snapshot) { s.Now = s.Now.Add(time.Minute + 1) }}, api.ReasonGatePending + " west", true},
		"it fails":                {but{gated(api.ReasonGateFailed, 3, asks("db"))}, api.ReasonGateFailed + " west", true},
		"it does not answer":      {but{gated(api.ReasonGateUnanswered, 3, asks("db"))}, api.ReasonGateUnanswered + " west", true},
		"it is wrong":             {but{gated(api.ReasonGateInvalid, 1, asks("db"))}, api.ReasonGateInvalid + " west", true},
		"it costs too much":       {but{gated(api.ReasonGateTooCostly, 1, asks("db"))}, api.ReasonGateTooCostly + " west", true},
		"it finds nothing":        {but{gated(api.ReasonGateResultEmpty, 3, asks("db"))}, api.ReasonGateResultEmpty + " west", true},
		"it warns":                {but{gated(api.ReasonGateFailed, 3, dry)}, "", false},
		"after the start":         {but{gated(api.ReasonGateFailed, 3, asks("db", api.GateAfterStart))}, api.ReasonGateFailed + " west", true},
		"at the end, not yet":     {but{gated(api.ReasonGateFailed, 3, asks("db", api.GateAtEnd))}, "", false},
		"back it warns":           {but{rollback, gated(api.ReasonGateFailed, 3, asks("db"))}, "", false},
		"unless it is to hold":    {but{rollback, gated(api.ReasonGateFailed, 3, firm)}, api.ReasonGateFailed + " east", true},
		"back, it is down":        {but{rollback, func(s *plan.Snapshot) { goDown(s, 2) }, gated(api.ReasonGateFailed, 3, firm)}, "", false},
		"it is recovered":         {but{gated(api.ReasonGateFailed, 3, firm), func(s *plan.Snapshot) { s.Spec.Mode = api.ModeRecover }}, "", false},
		"one of two has no reply": {but{gated("", 1, asks("db")), func(s *plan.Snapshot) { s.Gates = append(s.Gates, plan.Health{Gate: asks("slow")}) }}, api.ReasonGatePending + " west", false},
	} {
		p := halfway(func(s *plan.Snapshot) {
			for _, change := range tc.changes {
				change(s)
			}
		})
		k, _ := p.next()
		hold := p.gate(k)
		if got := heldBy(hold); got != tc.want || hold != nil && (hold.Stalled != tc.stalled || tc.stalled != (hold.Remedy != "")) {
			t.Errorf("%s: %+v, want %q", name, hold, tc.want)
		}
	}
}

// TestTurnBack: only a gate that fails in direction Forward causes a rollback, whatever else holds.
func TestTurnBack(t *testing.T) {
	back := func(at ...api.GatePoint) api.HealthGate {
		gate := asks("db", at...)
		gate.OnFailure, gate.OnRollback = api.GateFailureRollback, api.GateRollbackHold
		return gate
	}
	for name, tc := range map[string]struct {
		changes but
		want    bool
	}{
		"it fails":           {but{gated(api.ReasonGateFailed, 3, back())}, true},
		"after the start":    {but{gated(api.ReasonGateFailed, 3, back(api.GateAfterStart), asks("other", api.GateBeforeStop))}, true},
		"beside another one": {but{gated(api.ReasonGateFailed, 3, asks("other"), back())}, true},
		"it passes":          {but{gated("", 1, back())}, false},
		"it is to stall":     {but{gated(api.ReasonGateFailed, 3, asks("db"))}, false},
		"not often enough":   {but{gated(api.ReasonGateFailed, 2, back())}, false},
		"it does not answer": {but{gated(api.ReasonGateUnanswered, 3, back())}, false},
		"it cannot be asked": {but{gated(api.ReasonGateInvalid, 3, back())}, false},
		"it goes back":       {but{rollback, gated(api.ReasonGateFailed, 3, back())}, false},
		"it is paused":       {but{gated(api.ReasonGateFailed, 3, back()), func(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }}, false},
	} {
		p := halfway(func(s *plan.Snapshot) {
			for _, change := range tc.changes {
				change(s)
			}
		})
		k, _ := p.next()
		if hold := p.gate(k); (hold != nil && hold.TurnBack) != tc.want {
			t.Errorf("%s: %+v", name, hold)
		}
	}
}

// TestEndHold: the migration does not complete while a gate holds, for the last ordinal or for the whole
// application.
func TestEndHold(t *testing.T) {
	for name, tc := range map[string]struct {
		changes but
		want    string
	}{
		"it passes":       {but{nothingLeft, gated("", 1, asks("db"))}, ""},
		"at the end":      {but{nothingLeft, gated(api.ReasonGateFailed, 3, asks("db", api.GateAtEnd))}, api.ReasonGateFailed + " west"},
		"after the start": {but{nothingLeft, gated(api.ReasonGateFailed, 3, asks("db", api.GateAfterStart))}, api.ReasonGateFailed + " west"},
		"it is let go":    {but{nothingLeft, gated(api.ReasonGateFailed, 3, asks("db")), func(s *plan.Snapshot) { s.Deleting = true }}, ""},
		"it is lost":      {but{nothingLeft, gated(api.ReasonGateFailed, 3, asks("db")), func(s *plan.Snapshot) { s.Destination.Lost = true }}, ""},
	} {
		p := halfway(func(s *plan.Snapshot) {
			for _, change := range tc.changes {
				change(s)
			}
		})
		var hold *plan.Hold
		if decision := (healthPlanner{p.View}).end(); decision != nil {
			hold = decision.Hold
		}
		if got := heldBy(hold); got != tc.want {
			t.Errorf("%s: %+v, want %q", name, hold, tc.want)
		}
	}
}

// TestWhoMustLookIsFirst: of two gates that hold, the one that needs a user is reported.
func TestWhoMustLookIsFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		reasons := []string{"", api.ReasonGateFailed, api.ReasonGateUnanswered, api.ReasonGateInvalid}
		p := halfway(func(s *plan.Snapshot) {
			s.Spec.Deadline = time.Hour
			for _, name := range []string{"a", "b", "c"} {
				health := plan.Health{Gate: asks(name, api.GateBeforeStop)}
				a := plan.Answers{Question: healthPlanner{viewOf(*s)}.beforeStop(1), Opened: s.Now}
				a.Gate = name
				for range rapid.IntRange(0, 4).Draw(t, "answers") {
					a = a.Heard(rapid.SampledFrom(reasons).Draw(t, "reason"), "", s.Now)
				}
				health.Answers = []plan.Answers{a}
				s.Gates = append(s.Gates, health)
			}
		})
		hold := p.gate(1)
		states := map[api.GateState]int{}
		for _, reply := range (healthPlanner{p.View}).replies((healthPlanner{p.View}).beforeStop(1)) {
			states[reply.State]++
		}
		passed, pending := states[api.GatePassed], states[api.GatePending]
		if (hold == nil) != (passed == 3) || hold != nil && hold.Stalled != (passed+pending < 3) {
			t.Fatalf("%v: %+v", states, hold)
		}
	})
}
