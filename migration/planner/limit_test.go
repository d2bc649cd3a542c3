package planner

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// late stops ordinal 2, with a copy that takes longer than its limit.
func late(s *plan.Snapshot) {
	stopped(2)(s)
	byCopy(begunCopy)(s)
	for i := range s.Volumes {
		v := &s.Volumes[i]
		if v.Copy.Asked.Limit = time.Minute; v.Ordinal == 3 { // it has moved, and does not matter here
			v.Method, v.Copy = api.MethodRebind, nil
		}
	}
	s.Record.Handoff.Step, s.Record.Handoff.StepTime = api.StepCarryVolumes, metav1.NewMicroTime(plantest.Epoch.Add(-2*time.Minute))
}

// volumeOf2 returns the volume of ordinal 2.
func volumeOf2(s *plan.Snapshot) *plan.OrdinalVolume {
	for i := range s.Volumes {
		if s.Volumes[i].Ordinal == 2 {
			return &s.Volumes[i]
		}
	}
	return nil
}

// takenOver binds the copy of ordinal 2 to its claim at the destination.
func takenOver(s *plan.Snapshot) {
	v := volumeOf2(s)
	v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "copy", ClaimRef: v.Destination.Ref}
}

// TestLimitTurnsBack: an ordinal whose copy takes too long while it is down is rolled back. It is not if one of
// its volumes was taken over, because it could then return only by another copy. A side that does not answer may
// have taken it over.
func TestLimitTurnsBack(t *testing.T) {
	in := func(taken time.Duration) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { s.Record.Handoff.StepTime = metav1.NewMicroTime(plantest.Epoch.Add(-taken)) }
	}
	another := func(change func(*plan.OrdinalVolume)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			s.Source.Set.Templates = []string{"data", "wal"}
			v := *volumeOf2(s)
			copying := *v.Copy
			v.Template, v.Copy = "wal", &copying
			change(&v)
			s.Volumes = append(s.Volumes, v)
			recorded := s.Record.Handoff.Volumes[0]
			recorded.ClaimTemplate = "wal"
			s.Record.Handoff.Volumes = append(s.Record.Handoff.Volumes, recorded)
		}
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"past the limit":           {func(*plan.Snapshot) {}, true},
		"in a pause":               {inMode(api.ModePause), true},
		"right at it":              {in(time.Minute), false},
		"the clock goes back":      {in(-time.Hour), false},
		"there is no limit":        {func(s *plan.Snapshot) { volumeOf2(s).Copy.Asked.Limit = 0 }, false},
		"I3: it was taken over":    {takenOver, false},
		"it is rolled back":        {inMode(api.ModeRollback), false},
		"it waits for its release": {func(s *plan.Snapshot) { s.Record.Handoff.Step = api.StepAwaitRelease }, true},
		"it is being started":      {func(s *plan.Snapshot) { s.Record.Handoff.Step = api.StepScaleUp }, false},
		"another one is not":       {another(func(v *plan.OrdinalVolume) { v.Copy.Asked.Limit = 0 }), true},
		"I3: another one was taken over": {another(func(v *plan.OrdinalVolume) {
			v.Copy.Asked.Limit = 0
			v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "copy", ClaimRef: v.Destination.Ref}
		}), false},
		"I6: the destination does not answer": {func(s *plan.Snapshot) { s.Destination.Reach = plan.Unreachable }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := midway(unbudgeted, late, tc.change).Snapshot
			decision := Plan(s)
			if got := decision.Record != nil && decision.Record.TurnedBack != nil; got != tc.want {
				t.Fatalf("got %v: %+v, %+v", got, decision, decision.Hold)
			}
			if r := decision.Record; tc.want && (r.TurnedBack.Ordinal != 2 || r.TurnedBack.ClaimTemplate != "data" || r.TurnedBack.Limit.Duration != time.Minute || r.Handoff == nil || r.Fence.Direction != api.Forward) {
				t.Errorf("got %+v", r)
			}
		})
	}
}

// turnedBack records an automatic rollback of ordinal 2.
func turnedBack(s *plan.Snapshot) {
	s.Record.TurnedBack = &api.CopyTurnedBack{Ordinal: 2, ClaimTemplate: "data", Limit: metav1.Duration{Duration: time.Minute}}
}

// TestLimitComesTooLate: an automatically reversed ordinal resumes if a late write has taken over its copy in the
// meantime. In every other mode, the mode determines the direction.
func TestLimitComesTooLate(t *testing.T) {
	back := func(s *plan.Snapshot) {
		late(s)
		turnedBack(s)
		s.Record.Fence.Direction = api.Back
	}
	of2 := func(change func(*plan.OrdinalVolume, *api.CopyAttempt)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { change(volumeOf2(s), &s.Record.Handoff.Volumes[0].Copy) }
	}
	for name, tc := range map[string]struct {
		change func(*plan.Snapshot)
		want   bool
	}{
		"it was taken over":        {takenOver, true},
		"it was not":               {func(*plan.Snapshot) {}, false},
		"it is rolled back by now": {func(s *plan.Snapshot) { takenOver(s); s.Spec.Mode = api.ModeRollback }, false},
		"it is paused":             {func(s *plan.Snapshot) { takenOver(s); s.Spec.Mode = api.ModePause }, false},
		"it is deleted":            {func(s *plan.Snapshot) { takenOver(s); s.Deleting = true }, false},
		"the one of its way back was taken over": {of2(func(v *plan.OrdinalVolume, a *api.CopyAttempt) {
			a.Giver = string(plan.DestinationSide)
			v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "copy", ClaimRef: v.Source.Ref}
		}), false},
	} {
		got := midway(unbudgeted, back, tc.change).way(2, atNeither)
		goesOn := got != nil && got.Record != nil && got.Record.TurnedBack == nil && got.Record.Handoff != nil
		if goesOn != tc.want {
			t.Errorf("%s: got %v: %+v", name, goesOn, got)
		}
	}
}

// TestLimitTakesOneAlone: an automatically reversed ordinal moves back alone. No other is stopped then until a
// user has given copies more time, and the next stop clears the record.
func TestLimitTakesOneAlone(t *testing.T) {
	back := func(s *plan.Snapshot) {
		sends(2)(s)
		turnedBack(s)
		byCopy(begunCopy)(s)
		s.Record.Fence.Direction = api.Back
	}
	if got := midway(unbudgeted, back).way(2, atTaker); got == nil || got.Record == nil || got.Record.Handoff != nil {
		t.Errorf("when it is back: %+v", got)
	}
	if got := Plan(midway(unbudgeted, late, turnedBack).Snapshot); got.Record == nil || got.Record.Fence.Direction != api.Back || got.Record.Fence.Epoch != 2 {
		t.Errorf("nobody is kept from writing what was decided before it turned: %+v", got)
	}
	limit := func(limit time.Duration) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			byCopy(begunCopy)(s)
			turnedBack(s)
			for i := range s.Volumes {
				s.Volumes[i].Copy.Asked.Limit = limit
			}
		}
	}
	for given, stalls := range map[time.Duration]bool{time.Minute: true, time.Second: true, time.Minute + time.Second: false, 0: false} {
		got := midway(unbudgeted, limit(given)).handoff()
		if stalled := got.Hold != nil && got.Hold.Stalled && got.Hold.Reason == api.ReasonCopyTurnedBack; stalled != stalls {
			t.Errorf("with a limit of %s: %+v", given, got)
		}
		if !stalls && (got.Record == nil || got.Record.TurnedBack != nil || got.Record.Handoff == nil || got.Record.Handoff.Ordinal != 2) {
			t.Errorf("it goes on with %+v", got)
		}
	}
}
