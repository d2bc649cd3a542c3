package planner

import (
	"strings"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// runsJob returns a gate that runs a Job before a stop, and at the end.
func runsJob(name string) api.HealthGate {
	gate := asks(name, api.GateBeforeStop, api.GateAtEnd)
	gate.CEL, gate.Job = nil, &api.JobGate{}
	return gate
}

// TestJobsThatRun: a Job prepares the next step. So it runs only when nothing else holds that step, and not if the
// step would not wait for it.
func TestJobsThatRun(t *testing.T) {
	const before, after, end = "BeforeStop", "AfterStart", "AtEnd"
	holds := func(g *api.HealthGate) { g.OnRollback = api.GateRollbackHold }
	for name, tc := range map[string]struct {
		gate   func(*api.HealthGate)
		other  string
		change func(*plan.Snapshot)
		want   string
	}{
		"nothing is in the way":               {want: before},
		"U-28: the other gate has not passed": {other: api.ReasonGateFailed},
		"U-28: another replica is down":       {change: func(s *plan.Snapshot) { goDown(s, 0, 3) }},
		"what came last has its own":          {gate: func(g *api.HealthGate) { g.At = append(g.At, api.GateAfterStart) }, want: after},
		"all have come":                       {change: nothingLeft, want: end},
		"all have come, and it is ill":        {other: api.ReasonGateFailed, change: nothingLeft},
		"back, where it only warns":           {change: rollback},
		"back, where it holds":                {gate: holds, change: rollback, want: before},
		"back, and what goes is down":         {gate: holds, change: func(s *plan.Snapshot) { rollback(s); goDown(s, 2) }},
		"for a try":                           {gate: func(g *api.HealthGate) { g.DryRun = true }, want: before},
		"U-28: an ordinal is down on its way": {change: func(s *plan.Snapshot) { s.Record.Handoff = &api.Handoff{Ordinal: 1}; s.Source.Set.Replicas-- }},
		"nobody drives it yet": {change: func(s *plan.Snapshot) {
			s.Record.Fence, s.Volumes = nil, []plan.OrdinalVolume{{Ordinal: 1, Template: "data"}}
		}},
		"somebody else drives it":      {change: func(s *plan.Snapshot) { s.Source.Set.Fence = "m.3" }},
		"no answer has come yet":       {change: func(s *plan.Snapshot) { s.Engaged = false }},
		"the destination is not there": {change: func(s *plan.Snapshot) { s.Destination.Set.Fence = "" }},
		"in a pause":                   {change: func(s *plan.Snapshot) { s.Spec.Mode = api.ModePause }},
	} {
		t.Run(name, func(t *testing.T) {
			job, other := runsJob("drain"), asks("db")
			other.OnRollback = api.GateRollbackHold
			if tc.gate != nil {
				tc.gate(&job)
			}
			s := halfway(tc.change).Snapshot
			s.Gates = []plan.Health{{Gate: other}}
			heard(&s, tc.other, 1)
			s.Gates = append(s.Gates, plan.Health{Gate: job})
			var got []string
			for _, reply := range Replies(s) {
				if reply.Gate.Job != nil {
					got = append(got, string(reply.Point))
				}
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("%q, want %q", text, tc.want)
			}
		})
	}
}

// TestJobThatRunsGoesOn: a Job that has begun is still evaluated, whatever else holds now.
func TestJobThatRunsGoesOn(t *testing.T) {
	s := halfway(nil).Snapshot
	s.Gates = []plan.Health{{Gate: runsJob("drain")}}
	heard(&s, api.ReasonGatePending, 1)
	goDown(&s, 0, 3)
	if got := Replies(s); len(got) != 1 || got[0].Point != api.GateBeforeStop {
		t.Errorf("open are %+v", got)
	}
}

// TestJobHolds: the next stop waits for a Job as long as the Job may take, and reports its progress.
func TestJobHolds(t *testing.T) {
	gate := runsJob("drain")
	gate.Job.Spec.ActiveDeadlineSeconds = new(int64(3600))
	for name, tc := range map[string]struct {
		asked   time.Duration
		stalled bool
	}{"in its time": {time.Hour, false}, "for too long": {2 * time.Hour, true}} {
		s := halfway(gated(api.ReasonGatePending, 5, gate)).Snapshot
		for i := range s.Gates[0].Answers {
			s.Gates[0].Answers[i].Opened = s.Now.Add(-tc.asked)
		}
		hold := healthPlanner{viewOf(s)}.beforeStopHold(1)
		if hold == nil || hold.Reason != api.ReasonGatePending || hold.Stalled != tc.stalled || !strings.Contains(hold.Message, "because") {
			t.Errorf("%s: %+v", name, hold)
		}
	}
}

// TestJobsInPlace: the gates about another side do not keep a Job from running in place, as they do not hold the stop. On
// the way back, the parked volume is the taker's: a rollback waited for ever for the first answer of a Job that did not run.
func TestJobsInPlace(t *testing.T) {
	for name, change := range map[string]func(*plan.Snapshot){
		"forward": func(*plan.Snapshot) {},
		"back":    func(s *plan.Snapshot) { rollback(s); s.Record.Fence.Direction = api.Back },
	} {
		t.Run(name, func(t *testing.T) {
			s := inPlaceSnapshot(2)
			change(&s)
			for i := range s.Volumes {
				attached := []volumes.Attachment{{Name: "csi", Node: "n"}}
				s.Volumes[i].Source.Volume.Attachments, s.Volumes[i].Destination.Volume.Attachments = attached, attached
			}
			gate := runsJob("drain")
			gate.OnRollback = api.GateRollbackHold
			s.Gates = []plan.Health{{Gate: gate}}
			s = AsSlices(s)
			view := viewOf(s)
			k, _ := view.next()
			hold := gatePlanner{view}.gate(k)
			if hold == nil || hold.Reason != api.ReasonGatePending {
				t.Fatalf("it waits for %+v", hold)
			}
			if got := Replies(s); len(got) != 1 || got[0].Ordinal != k {
				t.Errorf("open are %+v, and ordinal %d waits for the first answer", got, k)
			}
		})
	}
}
