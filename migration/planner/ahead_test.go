package planner

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// byCopy moves the volume of ordinal 2 by method Copy; change sets the progress of its copy.
func byCopy(change func(*api.CopyAttempt, *volumes.Copying)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		for i := range s.Volumes {
			v := &s.Volumes[i]
			v.Method, v.Copy = api.MethodCopy, &volumes.Copying{Asked: volumes.CopyAsked{Image: "mover"}}
			if v.Ordinal == 2 && s.Record.Handoff != nil {
				s.Record.Handoff.Volumes = []api.HandoffVolume{{ClaimTemplate: "data", Name: "pv-data-web-2", Disk: volumes.Disk("disk-data-web-2")}}
				change(&s.Record.Handoff.Volumes[0].Copy, v.Copy)
			}
		}
	}
}

func begunCopy(a *api.CopyAttempt, _ *volumes.Copying) {
	*a = api.CopyAttempt{Number: 7, Begun: "migration.1", Giver: string(plan.SourceSide)}
}

func warmCopy(a *api.CopyAttempt, c *volumes.Copying) {
	begunCopy(a, c)
	a.Warm = api.CopyWarm{Passes: 1, Ended: metav1.NewTime(plantest.Epoch)}
}

// reading sets a warm pass that is running.
func reading(a *api.CopyAttempt, c *volumes.Copying) {
	begunCopy(a, c)
	c.Incoming.Claim = volumes.Claim{Found: true, Ours: true}
	c.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
	c.Receiver = volumes.Mover{Found: true, UID: "r", Attempt: 7, Pass: 1, Warm: true, Fence: "migration.1"}
	c.Warm = volumes.Mover{Found: true, UID: "w", Attempt: 7, Pass: 1, Warm: true, Fence: "migration.1"}
}

// poised sets movers of the last pass that stand by.
func poised(a *api.CopyAttempt, c *volumes.Copying) {
	warmCopy(a, c)
	a.Filling = true
	c.Incoming.Claim = volumes.Claim{Found: true, Ours: true, UID: "in", Phase: corev1.ClaimBound, Volume: "copy"}
	c.Incoming.Volume = volumes.Volume{
		Found: true, Name: "copy", ClaimRef: volumes.Ref{UID: "in"}, Policy: corev1.PersistentVolumeReclaimRetain,
		Note: volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "migration"}, Fence: "migration.1",
	}
	c.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
	c.Receiver = volumes.Mover{Found: true, UID: "r", Attempt: 7, Pass: 1, Fence: "migration.1", Key: "r"}
	c.Sender = volumes.Mover{Found: true, UID: "s", Attempt: 7, Pass: 1, Fence: "migration.1", Claim: "data-web-2", Key: "s", Peer: "r"}
}

// TestAhead: while an ordinal runs its volume is copied, before anything is reserved for its stop. The copy is
// kept while the gate is closed, and in a pause, during which nothing reads. It is removed when the migration is
// deleted.
func TestAhead(t *testing.T) {
	from := func(changes ...func(*plan.Snapshot)) []func(*plan.Snapshot) {
		return append([]func(*plan.Snapshot){unbudgeted, sends(2)}, changes...)
	}
	pause, closed := inMode(api.ModePause), closedGate("Numbers")
	nothing := func(*api.CopyAttempt, *volumes.Copying) {}
	unread := func(s *plan.Snapshot) {
		s.Source.Set.Templates = []string{"data", "wal"}
		s.Record.Baseline.Volumes = append(s.Record.Baseline.Volumes, api.VolumeSpec{ClaimTemplate: "wal", Method: api.MethodRebind})
	}
	rebound := func(s *plan.Snapshot) {
		for i := range s.Volumes {
			if v := &s.Volumes[i]; v.Ordinal == 2 {
				v.Method, v.Copy = api.MethodRebind, nil
			}
		}
	}
	cold := func(_ *api.CopyAttempt, c *volumes.Copying) { c.Asked.Warm = api.CopyWarmNone }
	dropped := func(a *api.CopyAttempt, c *volumes.Copying) {
		warmCopy(a, c)
		a.Dropped, c.Incoming.Claim = true, volumes.Claim{Found: true, Ours: true}
	}
	kept := func(a *api.CopyAttempt, c *volumes.Copying) {
		dropped(a, c)
		a.Dropped = false
	}
	there := func(a *api.CopyAttempt, c *volumes.Copying) {
		warmCopy(a, c)
		c.Incoming.Claim = volumes.Claim{Found: true, Ours: true}
	}
	const ends = "recorded: no handoff"
	pod := func(t *testing.T) string {
		t.Helper()
		return midway(from(byCopy(reading), pause)...).way(2, atGiver).Effect.Name
	}(t)
	incoming := midway(from(byCopy(dropped), isDeleted)...).way(2, atGiver).Effect.Name
	door := midway(from(byCopy(there))...).way(2, atGiver).Effect.Name
	sender := midway(from(byCopy(poised), closed)...).way(2, atGiver).Effect.Name
	wantSteps(t, map[string]stepCase{
		"nothing was copied yet":       {from(byCopy(nothing)), "recorded: a handoff", api.StepCopyAhead},
		"the claim is not there":       {from(byCopy(begunCopy)), "CarryVolume destination " + midway(from(byCopy(begunCopy))...).way(2, atGiver).Effect.Name, api.StepCopyAhead},
		"it is copied while it runs":   {from(byCopy(reading)), api.ReasonCopying, api.StepCopyAhead},
		"a pass has ended":             {from(byCopy(there)), "CarryVolume destination " + door, api.StepCopyAhead},
		"the last movers stand by":     {from(byCopy(poised)), "CarryVolume source pv-data-web-2", api.StepSecureVolumes},
		"closed, and they stand by":    {from(byCopy(poised), closed), "CarryVolume source " + sender, api.StepCopyAhead},
		"in a pause they go":           {from(byCopy(poised), pause), "CarryVolume source " + sender, api.StepCopyAhead},
		"there is to be none":          {from(byCopy(cold)), "recorded: a handoff", api.StepCopyAhead},
		"not all claims were read":     {from(byCopy(nothing), unread), api.ReasonVolumeUnbound, api.StepCopyAhead},
		"others alone are copied":      {from(byCopy(nothing), rebound, unread), api.ReasonVolumeUnbound, api.StepSecureVolumes},
		"closed before it was begun":   {from(byCopy(nothing), closed), ends, api.StepGate},
		"closed, and it is copied":     {from(byCopy(reading), closed), api.ReasonCopying, api.StepCopyAhead},
		"its copy is lost":             {from(byCopy(warmCopy)), "recorded: a handoff", api.StepCopyAhead},
		"closed, and a pass has ended": {from(byCopy(there), closed), "Numbers", api.StepCopyAhead},
		"in a pause nobody reads":      {from(byCopy(reading), pause), "CarryVolume source " + pod, api.StepCopyAhead},
		"in a pause it is kept":        {from(byCopy(warmCopy), pause), api.ReasonPaused, ""},
		"deleted, nobody reads":        {from(byCopy(reading), isDeleted), "CarryVolume source " + pod, api.StepCopyAhead},
		"deleted":                      {from(byCopy(warmCopy), isDeleted), ends, api.StepGate},
		"deleted, the copy is dropped": {from(byCopy(kept), isDeleted), "recorded: a handoff", api.StepCopyAhead},
		"deleted, its claim goes":      {from(byCopy(dropped), isDeleted), "CarryVolume destination " + incoming, api.StepCopyAhead},
		"what was dropped is dropped":  {from(byCopy(dropped)), "CarryVolume destination " + incoming, api.StepCopyAhead},
		"in a pause it stays":          {from(byCopy(kept), pause), api.ReasonPaused, ""},
	}, func(p *planners) *plan.Decision { return p.way(2, atGiver) })
}

// TestAheadTakesItsTime: a copy while the ordinal runs never stalls, however long it takes, and leaves the budget
// to others.
func TestAheadTakesItsTime(t *testing.T) {
	long := func(s *plan.Snapshot) {
		s.Record.Handoff.Step, s.Record.Handoff.StepTime = api.StepCopyAhead, metav1.NewMicroTime(plantest.Epoch.Add(-24*time.Hour))
	}
	if got := midway(unbudgeted, sends(2), byCopy(reading), long).way(2, atGiver); got.Hold == nil || got.Hold.Stalled {
		t.Errorf("got %+v", got)
	}
	if got := midway(sends(2), byCopy(reading)).way(2, atGiver); got.Effect != nil && got.Effect.Verb == plan.SetBudget && got.Effect.MaxUnavailable == 0 {
		t.Errorf("the budget is taken while it runs: %+v", got.Effect)
	}
}

// TestAheadTurned: when the direction changes during a copy, the copy stops.
func TestAheadTurned(t *testing.T) {
	if got := midway(unbudgeted, sends(2), byCopy(reading), inMode(api.ModeRollback)).way(2, atTaker); got == nil || got.Effect == nil || got.Effect.Volume.Verb != volumes.DeleteMover || got.Effect.Side != plan.SourceSide {
		t.Errorf("got %+v", got)
	}
	// The same holds for a warm pass that is found after the stop.
	if got := midway(unbudgeted, stopped(2), byCopy(reading)).way(2, atNeither); got.Effect == nil || got.Effect.Volume.Verb != volumes.DeleteMover || got.Effect.Volume.Copy.Role != volumes.RoleWarm {
		t.Errorf("got %+v", got)
	}
}

// TestAheadTurnedIsDropped: the copy for an ordinal that stays at the giver is deleted before its handoff ends, on
// the side to which it was copied.
func TestAheadTurnedIsDropped(t *testing.T) {
	filled := func(a *api.CopyAttempt, c *volumes.Copying) {
		warmCopy(a, c)
		a.Dropped = true
		c.Incoming.Claim = volumes.Claim{Found: true, Ours: true, UID: "in", ResourceVersion: "3", Volume: "copy"}
		c.Incoming.Ref = volumes.Ref{Namespace: "shop", Name: "in"}
		c.Incoming.Volume = volumes.Volume{Found: true, Name: "copy", Handle: "disk-copy", ClaimRef: volumes.Ref{Namespace: "shop", Name: "in", UID: "in"}}
	}
	back := []func(*plan.Snapshot){unbudgeted, sends(2), byCopy(filled), inMode(api.ModeRollback)}
	got := midway(back...).way(2, atTaker)
	if got == nil || got.Effect == nil || got.Effect.Volume.Verb != volumes.DeleteDropped || got.Effect.Side != plan.DestinationSide || got.Effect.Volume.UID != "in" || got.Effect.Volume.ResourceVersion != "3" {
		t.Fatalf("got %+v", got)
	}
	gone := midway(unbudgeted, sends(2), byCopy(warmCopy), inMode(api.ModeRollback)).way(2, atTaker)
	if gone == nil || gone.Record == nil || gone.Record.Handoff != nil && gone.Record.Handoff.Ordinal == 2 {
		t.Errorf("got %+v", gone)
	}
}

// early returns the decision about the early copy of an ordinal: ordinal 2 is in flight, and prefetch ordinals are
// copied early.
func early(k, prefetch int32, changes ...func(*plan.Snapshot)) plan.Decision {
	return Plan(midway(append(isEarly(k, prefetch), changes...)...).Snapshot)
}

func isEarly(k, prefetch int32) []func(*plan.Snapshot) {
	return []func(*plan.Snapshot){unbudgeted, sends(2), byCopy(func(*api.CopyAttempt, *volumes.Copying) {}), func(s *plan.Snapshot) {
		s.Spec.Prefetch, s.Early = prefetch, &k
		for i := range s.Volumes {
			s.Volumes[i].Copy.Asked.Prefetch = prefetch
			if s.Volumes[i].Ordinal == 3 { // it has moved, and does not matter here
				s.Volumes[i].Method, s.Volumes[i].Copy = api.MethodRebind, nil
			}
		}
	}}
}

// TestEarly: the next ordinals are copied while another one is in flight. The copies are kept in a pause and
// between two turns, and deleted if their turn will not come.
func TestEarly(t *testing.T) {
	copied := func(s *plan.Snapshot) {
		s.Record.Ahead = []api.CopyAhead{{Ordinal: 1, Volumes: []api.HandoffVolume{{
			ClaimTemplate: "data", Name: "pv-data-web-1", Disk: volumes.Disk("disk-data-web-1"),
			Copy: api.CopyAttempt{Number: 7, Begun: "migration.1", Giver: string(plan.SourceSide), Warm: api.CopyWarm{Passes: 1, Ended: metav1.NewTime(plantest.Epoch)}},
		}}}}
	}
	there := func(s *plan.Snapshot) {
		for i := range s.Volumes {
			if v := &s.Volumes[i]; v.Ordinal == 1 {
				v.Copy.Incoming.Claim = volumes.Claim{Found: true, Ours: true}
			}
		}
	}
	begun := func(s *plan.Snapshot) {
		copied(s)
		s.Record.Ahead[0].Volumes[0].Copy.Warm = api.CopyWarm{}
	}
	idle := func(s *plan.Snapshot) { s.Record.Handoff = nil }
	takenBack := func(s *plan.Snapshot) {
		s.Record.TurnedBack, s.Record.Fence.Direction = &api.CopyTurnedBack{Ordinal: 2, ClaimTemplate: "data"}, api.Back
	}
	turnedBack := func(s *plan.Snapshot) {
		takenBack(s)
		idle(s)
	}
	unseen := func(s *plan.Snapshot) {
		for i := range s.Volumes {
			s.Volumes[i].Copy = nil
		}
	}
	const nothing = "nothing"
	for name, tc := range map[string]struct {
		k, prefetch int32
		changes     []func(*plan.Snapshot)
		want        string
	}{
		"its volumes are recorded":           {1, 1, nil, "ahead"},
		"its copy is begun":                  {1, 1, []func(*plan.Snapshot){begun}, string(volumes.CreateIncoming)},
		"it is copied":                       {1, 1, []func(*plan.Snapshot){copied, there}, nothing},
		"its copy is lost":                   {1, 1, []func(*plan.Snapshot){copied}, "ahead"},
		"it is too early for the next":       {0, 1, []func(*plan.Snapshot){copied}, "none"},
		"two are copied":                     {0, 2, nil, "ahead"},
		"nobody wants it any more":           {1, 0, []func(*plan.Snapshot){copied}, "none"},
		"in a pause it is kept":              {1, 1, []func(*plan.Snapshot){copied, inMode(api.ModePause)}, nothing},
		"between two turns it is kept":       {1, 1, []func(*plan.Snapshot){begun, idle}, nothing},
		"one is on its way back alone":       {1, 1, []func(*plan.Snapshot){copied, takenBack}, nothing},
		"nobody reads meanwhile":             {1, 1, []func(*plan.Snapshot){begun, takenBack}, nothing},
		"that one has gone back":             {1, 1, []func(*plan.Snapshot){copied, turnedBack, func(s *plan.Snapshot) { s.Record.Fence.Direction = api.Forward }}, nothing},
		"so it has, and there is a pause":    {1, 1, []func(*plan.Snapshot){copied, turnedBack, inMode(api.ModePause)}, nothing},
		"one has gone back, and all are to":  {1, 1, []func(*plan.Snapshot){copied, takenBack, inMode(api.ModeRollback)}, "none"},
		"the destination is lost":            {1, 1, []func(*plan.Snapshot){copied, inMode(api.ModeRecover), func(s *plan.Snapshot) { s.Destination.Lost, s.Record.Fence.Direction = true, api.Back }}, "none"},
		"the migration is deleted":           {1, 1, []func(*plan.Snapshot){copied, isDeleted}, "none"},
		"somebody else drives the migration": {1, 1, []func(*plan.Snapshot){begun, func(s *plan.Snapshot) { s.Engaged = false }}, nothing},
		"its copy was not looked at":         {1, 1, []func(*plan.Snapshot){begun, unseen}, nothing},
		"its claims were not all read":       {1, 1, []func(*plan.Snapshot){begun, func(s *plan.Snapshot) { s.Source.Set.Templates = []string{"data", "wal"} }}, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			got, said := early(tc.k, tc.prefetch, tc.changes...), nothing
			switch {
			case got.Effect != nil:
				said = string(got.Effect.Volume.Verb)
				if got.Effect.Ordinal != tc.k {
					t.Errorf("%s is of another ordinal", got.Effect)
				}
			case got.Record != nil && aheadAt(got.Record.Ahead, tc.k) >= 0:
				said = "ahead"
			case got.Record != nil:
				said = "none"
			}
			if said != tc.want || got.Hold != nil {
				t.Errorf("got %s, want %s: %+v", said, tc.want, got)
			}
			if said == nothing && got.Wait != EarlyLook {
				t.Errorf("it is looked at again after %s, want %s", got.Wait, EarlyLook)
			}
			if got.Record != nil && (tc.changes == nil) && got.Record.Handoff.Ordinal != 2 {
				t.Errorf("who is on the way is recorded as %+v", got.Record.Handoff)
			}
		})
	}
}

// TestEarlyPlaces: of two volumes that are created where a pod runs, only the second is copied before its
// ordinal's turn. The first is only placed before, because the other one waits for that.
func TestEarlyPlaces(t *testing.T) {
	two := func(ofData, ofLogs int32, placed ...string) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Record.Ahead = []api.CopyAhead{{Ordinal: 1}}
			for i := range s.Volumes {
				v := &s.Volumes[i]
				if v.Ordinal == 3 {
					plantest.CarryOver(v, s.UID)
				}
				if v.Ordinal != 1 {
					continue
				}
				v.Copy.Asked.Prefetch = map[string]int32{"data": ofData, "logs": ofLogs}[v.Template]
				v.Copy.WaitsForPod, v.Copy.Pod = true, volumes.CopyPod{Found: true, Ready: true, Node: "node"}
				v.Copy.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
				v.Copy.Incoming.Claim = volumes.Claim{Found: true, Ours: true, UID: "incoming", Phase: "Pending"}
				if slices.Contains(placed, v.Template) {
					v.Copy.Incoming.Claim.Phase, v.Copy.Incoming.Claim.Volume = "Bound", v.Template
					v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: v.Template, ClaimRef: volumes.Ref{Namespace: v.Copy.Incoming.Ref.Namespace, Name: v.Copy.Incoming.Ref.Name, UID: "incoming"}}
				}
				s.Record.Ahead[0].Volumes = append(s.Record.Ahead[0].Volumes, api.HandoffVolume{ClaimTemplate: v.Template, Name: v.Source.Volume.Name, Disk: volumes.Disk(v.Source.Volume.Handle), Copy: api.CopyAttempt{Number: 7, Begun: "migration.1", Giver: string(plan.SourceSide)}})
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   string // the template for which a receiver is created; empty: none
	}{
		"the first is placed":      {two(0, 1), "data"},
		"and then the other one":   {two(0, 1, "data"), "logs"},
		"the first alone is asked": {two(1, 0), "data"},
		"and the other one waits":  {two(1, 0, "data"), "data"},
		"both are asked":           {two(1, 1), "data"},
		"neither is":               {two(0, 0), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Plan(midway(slices.Concat([]func(*plan.Snapshot){logged}, isEarly(1, 1), []func(*plan.Snapshot){tc.change})...).Snapshot)
			made := ""
			if e := got.Effect; e != nil && e.Volume.Verb == volumes.CreateMover && e.Volume.Copy.Role == volumes.RoleReceiver {
				made = e.Template
			}
			if made != tc.want {
				t.Errorf("a receiver is made of %q, want %q: %+v", made, tc.want, got)
			}
		})
	}
}

// TestEarlyIsTold: the problem of a copy is reported before its ordinal's turn, while the copy is retried.
func TestEarlyIsTold(t *testing.T) {
	since := plantest.Epoch.Add(-6 * time.Minute)
	stuck := func(s *plan.Snapshot) {
		s.Record.Ahead = []api.CopyAhead{{Ordinal: 1, Volumes: []api.HandoffVolume{{
			ClaimTemplate: "data", Name: "pv-data-web-1", Disk: volumes.Disk("disk-data-web-1"),
			Copy: api.CopyAttempt{Number: 7, Begun: "migration.1", Giver: string(plan.SourceSide), Warm: api.CopyWarm{Trouble: "ErrImagePull", TroubleSince: metav1.NewTime(since)}},
		}}}}
		c := s.Volumes[slices.IndexFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == 1 })].Copy
		c.Pod = volumes.CopyPod{Found: true, Ready: true, Node: "node"}
		c.Incoming.Claim = volumes.Claim{Found: true, Ours: true}
		c.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
		c.Receiver = volumes.Mover{Found: true, UID: "r", Attempt: 7, Pass: 1, Warm: true, Fence: "migration.1", Made: since, Trouble: "ErrImagePull"}
	}
	got := early(1, 1, stuck)
	if got.Effect != nil || got.Record != nil || got.Hold == nil || got.Hold.Reason != volumes.ReasonCopyStuck || !strings.Contains(got.Hold.Message, "ErrImagePull") {
		t.Errorf("got %+v", got)
	}
	anew := early(1, 1, stuck, func(s *plan.Snapshot) { s.Now = s.Now.Add(5 * time.Minute) })
	if anew.Effect == nil || anew.Effect.Volume.Verb != volumes.DeleteMover {
		t.Errorf("after a while it is not made anew: %+v", anew)
	}
}

// TestEarlyTellsTheFirst: of several volumes whose copies fail, the first is reported, and the others are tried.
func TestEarlyTellsTheFirst(t *testing.T) {
	trouble := func(template, why string) api.HandoffVolume {
		return api.HandoffVolume{ClaimTemplate: template, Name: "pv-data-web-1", Disk: volumes.Disk("disk-data-web-1"), Copy: api.CopyAttempt{
			Number: 7, Begun: "migration.1", Giver: string(plan.SourceSide), Warm: api.CopyWarm{Trouble: why, TroubleSince: metav1.NewTime(plantest.Epoch.Add(-6 * time.Minute))},
		}}
	}
	got := early(1, 1, func(s *plan.Snapshot) {
		s.Source.Set.Templates = []string{"data", "wal"}
		data := s.Volumes[slices.IndexFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == 1 })]
		c := data.Copy
		c.Pod = volumes.CopyPod{Found: true, Ready: true, Node: "node"}
		c.Incoming.Claim = volumes.Claim{Found: true, Ours: true}
		c.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
		c.Receiver = volumes.Mover{Found: true, UID: "r", Attempt: 7, Pass: 1, Warm: true, Fence: "migration.1", Made: plantest.Epoch.Add(-6 * time.Minute)}
		wal, copying := data, *c
		c.Receiver.Trouble, copying.Receiver.Trouble = "no image", "no node"
		wal.Template, wal.Copy = "wal", &copying
		s.Volumes = append(s.Volumes, wal)
		s.Record.Ahead = []api.CopyAhead{{Ordinal: 1, Volumes: []api.HandoffVolume{trouble("data", "no image"), trouble("wal", "no node")}}}
	})
	if got.Effect != nil || got.Hold == nil || !strings.Contains(got.Hold.Message, "no image") {
		t.Errorf("got %+v", got)
	}
}

// TestWithAhead: the copies of one ordinal are changed, added or removed. Those of another ordinal, and the
// original record, do not change.
func TestWithAhead(t *testing.T) {
	of := func(template string) []api.HandoffVolume { return []api.HandoffVolume{{ClaimTemplate: template}} }
	was := []api.CopyAhead{{Ordinal: 1, Volumes: of("was")}, {Ordinal: 0, Volumes: of("other")}}
	now := &api.Handoff{Volumes: of("now")}
	for name, tc := range map[string]struct{ got, want []api.CopyAhead }{
		"changed":             {withAhead(was, 1, now), []api.CopyAhead{{Ordinal: 1, Volumes: of("now")}, was[1]}},
		"added":               {withAhead(was, 5, now), []api.CopyAhead{was[0], was[1], {Ordinal: 5, Volumes: of("now")}}},
		"removed":             {withAhead(was, 1, nil), []api.CopyAhead{was[1]}},
		"the last is removed": {withAhead(was[:1], 1, nil), nil},
		"there was none":      {withAhead(was, 5, nil), was},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
	if was[0].Volumes[0].ClaimTemplate != "was" {
		t.Errorf("the record from before is changed: %+v", was)
	}
}

// TestEarlyOfOneTemplate: a volume whose prefetch was lowered is no longer read, and its copy is kept. The copy of
// another template continues.
func TestEarlyOfOneTemplate(t *testing.T) {
	two := func(s *plan.Snapshot) {
		s.Source.Set.Templates = []string{"data", "wal"}
		for i := range s.Source.Pods {
			s.Source.Pods[i].Node = "node"
		}
		data := &s.Volumes[slices.IndexFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == 1 })]
		var attempt api.CopyAttempt
		reading(&attempt, data.Copy)
		wal, copying := *data, *data.Copy
		copying.Asked.Prefetch, copying.Warm.ResourceVersion = 0, "of wal"
		wal.Template, wal.Copy = "wal", &copying
		s.Volumes = append(s.Volumes, wal)
		recorded := api.HandoffVolume{ClaimTemplate: "data", Name: "pv-data-web-1", Disk: volumes.Disk("disk-data-web-1"), Copy: attempt}
		of := recorded
		of.ClaimTemplate = "wal"
		s.Record.Ahead = []api.CopyAhead{{Ordinal: 1, Volumes: []api.HandoffVolume{recorded, of}}}
	}
	got := early(1, 1, two)
	if e := got.Effect; e == nil || e.Volume.Verb != volumes.DeleteMover || e.Template != "wal" || e.Volume.Copy.Role != volumes.RoleWarm || e.Volume.ResourceVersion != "of wal" {
		t.Errorf("got %+v", got)
	}
	gone := func(s *plan.Snapshot) {
		two(s)
		of := s.Volumes[len(s.Volumes)-1].Copy
		of.Warm, of.Receiver = volumes.Mover{}, volumes.Mover{}
	}
	if got := early(1, 1, gone); got.Effect != nil || got.Record != nil {
		t.Errorf("what was copied does not stay: %+v", got)
	}
}

// TestEarlyOrdinals: the next ordinals are checked, in the order of the move, and those already copied.
func TestEarlyOrdinals(t *testing.T) {
	of := func(prefetch int32, changes ...func(*plan.Snapshot)) []int32 {
		all := append([]func(*plan.Snapshot){unbudgeted, sends(2), func(s *plan.Snapshot) { s.Spec.Prefetch = prefetch }}, changes...)
		return EarlyOrdinals(midway(all...).Snapshot)
	}
	kept := func(s *plan.Snapshot) { s.Record.Ahead = []api.CopyAhead{{Ordinal: 1}} }
	lowest := func(s *plan.Snapshot) {
		s.Spec.Order, s.Record.Handoff.Ordinal = api.LowestFirst, 1
		s.Source.Set.Start, s.Destination.Set.Start = 1, 0
	}
	for name, tc := range map[string]struct{ got, want []int32 }{
		"none":            {of(0), nil},
		"the next":        {of(1), []int32{1}},
		"no more than is": {of(5), []int32{1, 0}},
		"once":            {of(2, kept), []int32{1, 0}},
		"in a pause":      {of(2, kept, inMode(api.ModePause)), []int32{1}},
		"back":            {of(2, kept, inMode(api.ModeRollback)), []int32{1}},
		"the lowest are":  {of(1, lowest), []int32{2}},
		"so are two":      {of(2, lowest), []int32{2, 3}},
	} {
		if diff := cmp.Diff(tc.want, tc.got); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}

// TestTurnTakesItsCopy: at its turn, an ordinal continues with its early copy.
func TestTurnTakesItsCopy(t *testing.T) {
	was := api.CopyAttempt{Number: 7, Begun: "migration.1", Giver: string(plan.SourceSide)}
	p := midway(unbudgeted, byCopy(func(*api.CopyAttempt, *volumes.Copying) {}), func(s *plan.Snapshot) {
		s.Record.Ahead = []api.CopyAhead{{Ordinal: 2, Volumes: []api.HandoffVolume{{ClaimTemplate: "data", Copy: was}}}, {Ordinal: 1}}
	})
	next := p.handoff().Record
	if next == nil || next.Handoff.Volume("data").Copy != was || len(next.Ahead) != 1 || next.Ahead[0].Ordinal != 1 {
		t.Errorf("got %+v", next)
	}
	done := midway(unbudgeted, inMode(api.ModeRollback), func(s *plan.Snapshot) {
		s.Destination.Set.Replicas, s.Source.Set.Replicas = 0, 4
		s.Record.Ahead = []api.CopyAhead{{Ordinal: 2}}
	}).handoff()
	if done == nil || done.Hold == nil || done.Hold.Reason != api.ReasonCopying {
		t.Errorf("it ends before what was copied is removed: %+v", done)
	}
}

// TestAheadIsStuck: if no copy succeeds while the ordinal runs, the migration stalls, and leaves the budget to
// others.
func TestAheadIsStuck(t *testing.T) {
	hosted := func(s *plan.Snapshot) {
		for i := range s.Source.Pods {
			s.Source.Pods[i].Node = "node"
		}
	}
	stuck := byCopy(func(a *api.CopyAttempt, c *volumes.Copying) {
		reading(a, c)
		a.Warm.TroubleSince, a.Warm.Trouble = metav1.NewTime(plantest.Epoch.Add(-time.Hour)), "no node takes it"
	})
	got := midway(unbudgeted, sends(2), stuck, hosted).way(2, atGiver)
	if hold := got.Hold; hold == nil || !hold.Stalled || hold.Reason != volumes.ReasonCopyStuck || !strings.Contains(hold.Message, "ordinal 2: for 1h0m0s") || !strings.Contains(hold.Message, "no node takes it") {
		t.Errorf("got %+v", hold)
	}
	if got := midway(sends(2), stuck, hosted).way(2, atGiver); got.Effect != nil && got.Effect.Verb == plan.SetBudget && got.Effect.MaxUnavailable == 0 {
		t.Errorf("the budget is taken while it runs: %+v", got.Effect)
	}
}
