package planner

import (
	"slices"
	"testing"
	"time"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// twice stops ordinal 2, with two volumes that are copied, each with its own copy.
func twice(changes ...func(*plan.Snapshot)) []func(*plan.Snapshot) {
	released := func(s *plan.Snapshot) {
		s.Record.Handoff.Volumes = nil
		for i := range s.Volumes {
			if v := &s.Volumes[i]; v.Ordinal == 2 {
				release(s, v)
			}
		}
	}
	return append([]func(*plan.Snapshot){unbudgeted, logged, stopped(2), released}, changes...)
}

// release releases the volume of an ordinal, and begins an empty copy.
func release(s *plan.Snapshot, v *plan.OrdinalVolume) {
	v.Method = api.MethodCopy
	source, out := &v.Source, volumes.OutgoingRef(v.Source.Ref, s.UID)
	source.Volume.Note, source.Volume.Policy = volumes.Note{By: s.UID, Policy: source.Volume.Policy}, "Retain"
	source.Volume.Released, source.Volume.ClaimRef = "migration.1", out
	source.Volume.ClaimRef.UID = "out"
	v.Copy = &volumes.Copying{
		Asked:    volumes.CopyAsked{Image: "mover"},
		Entrance: volumes.Entrance{Found: true, Address: "receiver:8722"},
		Outgoing: volumes.Holding{Ref: out, Claim: volumes.Claim{Found: true, Ours: true, UID: "out", Volume: source.Volume.Name, Phase: "Bound"}, Volume: source.Volume},
	}
	ref := volumes.IncomingRef(v.Destination.Ref, s.UID, 7)
	v.Copy.Incoming = volumes.Holding{Ref: ref, Claim: volumes.Claim{Found: true, Ours: true, UID: "in", Volume: "copy-" + v.Template, Phase: "Bound"}}
	ref.UID = "in"
	v.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: "copy-" + v.Template, Handle: "disk-copy-" + v.Template, ClaimRef: ref, Policy: "Delete"}
	s.Record.Handoff.Volumes = append(s.Record.Handoff.Volumes, api.HandoffVolume{
		ClaimTemplate: v.Template, Name: source.Volume.Name, Disk: volumes.Disk(source.Volume.Handle),
		Copy: api.CopyAttempt{Number: 7, Begun: "migration.1", Giver: string(plan.SourceSide), Filling: true},
	})
}

// to changes the copy of one claim of ordinal 2.
func to(template string, change func(*plan.OrdinalVolume, *api.CopyAttempt)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		v := slices.IndexFunc(s.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == 2 && v.Template == template })
		recorded := slices.IndexFunc(s.Record.Handoff.Volumes, func(v api.HandoffVolume) bool { return v.ClaimTemplate == template })
		change(&s.Volumes[v], &s.Record.Handoff.Volumes[recorded].Copy)
	}
}

// TestFilledTogether: the volumes of an ordinal are filled all at once, and none is taken over before each is
// filled. The ordinal is down as long as the longest fill takes, and can return to its former volumes until then.
func TestFilledTogether(t *testing.T) {
	sealed := func(template string) func(*plan.Snapshot) {
		return to(template, func(v *plan.OrdinalVolume, a *api.CopyAttempt) {
			in := v.Copy.Incoming.Volume
			a.Seal = api.CopySeal{Root: "root", Released: "migration.1", Volume: in.Name, From: volumes.Disk(v.Source.Volume.Handle), To: volumes.Disk(in.Handle)}
		})
	}
	running := func(template string) func(*plan.Snapshot) {
		return to(template, func(v *plan.OrdinalVolume, _ *api.CopyAttempt) {
			mover := volumes.Mover{Found: true, UID: "m", Attempt: 7, Pass: 1, Fence: "migration.1", Key: "key", Peer: "key"}
			v.Copy.Receiver, v.Copy.Sender = mover, mover
		})
	}
	differs := func(template string) func(*plan.Snapshot) {
		return to(template, func(_ *plan.OrdinalVolume, a *api.CopyAttempt) { a.Passes, a.Differs = 3, "a" })
	}
	rebound := func(s *plan.Snapshot) {
		to("data", func(v *plan.OrdinalVolume, _ *api.CopyAttempt) {
			v.Method, v.Copy = api.MethodRebind, nil
			v.Source.Volume.ClaimRef, v.Source.Volume.Released = v.Source.Ref, ""
			v.Source.Volume.ClaimRef.UID = v.Source.Claim.UID
		})(s)
	}
	receiver := func(template string) string {
		p := midway(twice()...)
		v := p.Volumes[slices.IndexFunc(p.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == 2 && v.Template == template })]
		return "CarryVolume destination " + copy.PodName(volumes.RoleReceiver, v.Destination.Ref, p.UID, 7)
	}
	wantSteps(t, map[string]stepCase{
		"none is being copied":                        {twice(), receiver("data"), api.StepCarryVolumes},
		"the first is being copied":                   {twice(running("data")), receiver("logs"), api.StepCarryVolumes},
		"both are being copied":                       {twice(running("data"), running("logs")), api.ReasonCopying, api.StepCarryVolumes},
		"the first is sealed":                         {twice(sealed("data"), running("logs")), api.ReasonCopying, api.StepCarryVolumes},
		"the second is sealed":                        {twice(running("data"), sealed("logs")), api.ReasonCopying, api.StepCarryVolumes},
		"both are sealed":                             {twice(sealed("data"), sealed("logs")), "CarryVolume destination copy-data", api.StepCarryVolumes},
		"the second cannot be copied":                 {twice(running("data"), differs("logs")), volumes.ReasonCopyDiffers, api.StepCarryVolumes},
		"a disk comes along, the other is not sealed": {twice(rebound, running("logs")), api.ReasonCopying, api.StepCarryVolumes},
		"a disk comes along, the other is sealed":     {twice(rebound, sealed("logs")), "CarryVolume source pv-data-web-2", api.StepCarryVolumes},
	}, func(p *planners) *plan.Decision { return p.way(2, atNeither) })
}

// TestWaiting: two waits requeue at the earlier time, and report the stalled one first.
func TestWaiting(t *testing.T) {
	waits := func(wait time.Duration, stalled bool) *plan.Decision {
		return &plan.Decision{Wait: wait, Hold: &plan.Hold{Message: wait.String(), Stalled: stalled}}
	}
	for name, tc := range map[string]struct {
		one, other *plan.Decision
		wait       time.Duration
		says       string
	}{
		"the first is sooner":     {waits(1, false), waits(2, false), 1, "1ns"},
		"the second is sooner":    {waits(2, false), waits(1, false), 1, "2ns"},
		"a watch tells of one":    {waits(0, false), waits(2, false), 2, "0s"},
		"a watch tells of both":   {waits(0, false), waits(0, false), 0, "0s"},
		"the second cannot go on": {waits(2, false), waits(0, true), 2, "0s"},
		"neither can go on":       {waits(2, true), waits(1, true), 1, "2ns"},
	} {
		if got := waiting(tc.one, tc.other); got.Wait != tc.wait || got.Hold.Message != tc.says {
			t.Errorf("%s: %s, %q", name, got.Wait, got.Hold.Message)
		}
	}
}
