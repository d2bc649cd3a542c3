package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/pdb/pdbtest"
	"github.com/sliceshift/sliceshift/volumes"
)

// copiedWal is a move whose ordinal 1 has been stopped, and whose claim wal moves by a copy.
func copiedWal() plan.Snapshot { return fillingWal(api.MethodCopy) }

// fillingWal is a move whose ordinal 1 has been stopped, and whose claim wal moves by a method that fills a second
// volume. Its first attempt has begun, and nothing was created for it yet.
func fillingWal(method api.VolumeMethod) plan.Snapshot {
	s := plantest.Scenario{Replicas: 2, Templates: []string{"data", "wal"}, Method: method}.Build()
	s.Source.RemovePod(1)
	s.Record.Handoff = &api.Handoff{Ordinal: 1, Volumes: []api.HandoffVolume{
		{ClaimTemplate: "data"}, {ClaimTemplate: "wal", Copy: api.CopyAttempt{Number: 1, Giver: string(plan.SourceSide)}},
	}}
	w := &World{State: s}
	w.copies()
	return w.State
}

// ofCopy changes the state of the copy of claim wal.
func ofCopy(change func(*volumes.Copying)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { change(s.Volumes[lastClaim].Copy) }
}

// TestWorldApplyCopying: the objects that a copy needs are created once, and written in the judged version or not
// at all.
func TestWorldApplyCopying(t *testing.T) {
	const from, to = plan.SourceSide, plan.DestinationSide
	target := volumes.Ref{Namespace: "shop", Name: "to"}
	made := func(volume string) volumes.Claim {
		return volumes.Claim{Found: true, UID: "u1", ResourceVersion: "v2", Phase: corev1.ClaimPending, Volume: volume, Ours: true, Fence: "m.2"}
	}
	is := func(verb volumes.Verb, change func(*volumes.Action)) volumes.Action {
		a := volumes.Action{Verb: verb, UID: "r", ResourceVersion: "1", Copy: volumes.CopyAction{Role: volumes.RoleReceiver, Attempt: 1, Pass: 2, Peer: "key"}}
		if change != nil {
			change(&a)
		}
		return a
	}
	on := func(volume string) func(*volumes.Action) { return func(a *volumes.Action) { a.Volume = volume } }
	copied := volumes.Volume{Found: true, Name: "copy", UID: "c", ResourceVersion: "1"}
	arrived := func(s *plan.Snapshot) { s.Volumes[lastClaim].Copy.Incoming.Volume = copied }
	taken := func(s *plan.Snapshot) {
		arrived(s)
		d := &s.Volumes[lastClaim].Destination
		d.Claim, d.Volume = volumes.Claim{Found: true, Volume: "copy"}, copied
		d.Volume.ResourceVersion = "2"
	}
	runs := ofCopy(func(c *volumes.Copying) {
		c.Receiver = volumes.Mover{Found: true, UID: "r", ResourceVersion: "1", Key: "own"}
	})
	taking := ofCopy(func(c *volumes.Copying) {
		c.Base.Snapshot = volumes.Snapshot{Found: true, UID: "r", ResourceVersion: "1"}
	})
	based := func(s *plan.Snapshot) {
		taking(s)
		s.Volumes[lastClaim].Copy.Base.Claim = volumes.Claim{Found: true, UID: "r", ResourceVersion: "1"}
	}
	giver := func(change func(*volumes.Volume)) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			v := &s.Volumes[lastClaim]
			v.Source.Volume.ResourceVersion, v.Source.Volume.Fence, v.Source.Volume.ClaimRef = "v1", "m.2", target
			change(&v.Source.Volume)
			v.Copy.Outgoing.Volume = v.Source.Volume
		}
	}
	ofGiver := func(released string) func(*volumes.Action) {
		return func(a *volumes.Action) {
			a.Volume, a.UID, a.ResourceVersion = "pv-wal-web-1", "pv-wal-web-1", "1"
			a.After = copiedWal().Volumes[lastClaim].Source.Volume.State()
			a.After.ClaimRef, a.After.Released, a.After.Fence = target, released, "m.2"
		}
	}
	begun := func(number int32, side plan.SideName) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			*s.Volumes[lastClaim].Copy = volumes.Copying{Asked: s.Volumes[lastClaim].Copy.Asked, Attempt: api.CopyAttempt{Number: number, Giver: string(side)}}
			runs(s)
		}
	}
	anew := func(s *plan.Snapshot) {
		*s.Volumes[lastClaim].Copy = *copiedWal().Volumes[lastClaim].Copy
		s.Volumes[lastClaim].Copy.Incoming.Claim = made("")
	}
	ofIncoming := func(a *volumes.Action) {
		a.Ref, a.UID, a.ResourceVersion = copiedWal().Volumes[lastClaim].Copy.Incoming.Ref, "in", "1"
	}
	filled := func(policy corev1.PersistentVolumeReclaimPolicy) func(*plan.Snapshot) {
		return ofCopy(func(c *volumes.Copying) {
			c.Incoming.Claim = volumes.Claim{Found: true, UID: "in", ResourceVersion: "1", Volume: "copy"}
			c.Incoming.Volume, c.Entrance.Found = copied, true
			c.Incoming.Volume.ClaimRef = volumes.Ref{Namespace: c.Incoming.Ref.Namespace, Name: c.Incoming.Ref.Name, UID: "in"}
			c.Incoming.Volume.Policy = policy
		})
	}
	for name, tc := range map[string]worldWrite{
		"a claim for the copy":             {effect: carry(to, is(volumes.CreateIncoming, nil)), change: ofCopy(func(c *volumes.Copying) { c.Incoming.Claim = made("") })},
		"a claim for the copy is there":    {effect: carry(to, is(volumes.CreateIncoming, nil)), before: ofCopy(func(c *volumes.Copying) { c.Incoming.Claim.Found = true })},
		"a claim to read from":             {effect: carry(from, is(volumes.CreateOutgoing, on("pv"))), change: ofCopy(func(c *volumes.Copying) { c.Outgoing.Claim = made("pv") })},
		"a claim to read from is there":    {effect: carry(from, is(volumes.CreateOutgoing, on("pv"))), before: ofCopy(func(c *volumes.Copying) { c.Outgoing.Claim.Found = true })},
		"an older attempt is over":         {effect: carry(to, is(volumes.CreateIncoming, nil)), before: begun(7, from), change: anew},
		"so is one from the other side":    {effect: carry(to, is(volumes.CreateIncoming, nil)), before: begun(1, to), change: anew},
		"the ordinal's claim, on its copy": {effect: carry(to, is(volumes.CreateClaim, on("copy"))), before: arrived, change: atLast(to, func(h *volumes.Holding) { h.Claim, h.Volume = made("copy"), copied })},
		"the ordinal's claim is there":     {effect: carry(to, is(volumes.CreateClaim, on("copy"))), before: func(s *plan.Snapshot) { arrived(s); s.Volumes[lastClaim].Destination.Claim.Found = true }},
		"a mover": {effect: carry(to, is(volumes.CreateMover, nil)), change: ofCopy(func(c *volumes.Copying) {
			c.Receiver = volumes.Mover{Found: true, UID: "u1", ResourceVersion: "v2", Attempt: 1, Pass: 2, Made: plantest.Epoch, Fence: "m.2"}
		})},
		"the mover is there": {effect: carry(to, is(volumes.CreateMover, nil)), before: runs},
		"a mover is told its peer": {effect: carry(to, is(volumes.TellMover, nil)), before: runs, change: ofCopy(func(c *volumes.Copying) {
			c.Receiver.Peer, c.Receiver.Fence, c.Receiver.ResourceVersion = "key", "m.2", "v1"
		})},
		"a mover is marked": {effect: carry(to, is(volumes.MarkMover, func(a *volumes.Action) { a.Copy.Peer = "" })), before: runs, change: ofCopy(func(c *volumes.Copying) { c.Receiver.Fence, c.Receiver.ResourceVersion = "m.2", "v1" })},
		"a mover goes":      {effect: carry(to, is(volumes.DeleteMover, nil)), before: runs, change: ofCopy(func(c *volumes.Copying) { c.Receiver = volumes.Mover{} })},
		"what was copied for nothing is let go": {effect: carry(to, is(volumes.Loosen, func(a *volumes.Action) {
			a.Volume, a.UID, a.ResourceVersion, a.After = "copy", "c", "1", volumes.State{ClaimRef: target, Policy: corev1.PersistentVolumeReclaimDelete}
		})), before: arrived, change: ofCopy(func(c *volumes.Copying) {
			c.Incoming.Volume.ClaimRef, c.Incoming.Volume.Policy, c.Incoming.Volume.ResourceVersion = target, corev1.PersistentVolumeReclaimDelete, "v1"
		})},
		"its claim goes, and its volume": {effect: carry(to, is(volumes.DeleteDropped, ofIncoming)), before: filled(corev1.PersistentVolumeReclaimDelete), change: ofCopy(func(c *volumes.Copying) {
			c.Incoming.Claim, c.Incoming.Volume, c.Entrance = volumes.Claim{}, volumes.Volume{}, volumes.Entrance{}
		})},
		"a volume stays whose class has it so": {effect: carry(to, is(volumes.DeleteDropped, ofIncoming)), before: filled(corev1.PersistentVolumeReclaimRetain), change: ofCopy(func(c *volumes.Copying) {
			c.Incoming.Claim, c.Entrance = volumes.Claim{}, volumes.Entrance{}
		})},
		"its claim has changed": {effect: carry(to, is(volumes.DeleteDropped, func(a *volumes.Action) { ofIncoming(a); a.ResourceVersion = "0" })), before: filled(corev1.PersistentVolumeReclaimDelete)},
		"another mover":         {effect: carry(to, is(volumes.TellMover, func(a *volumes.Action) { a.UID = "s" })), before: runs},
		"a snapshot to read from": {effect: carry(from, is(volumes.TakeBase, func(a *volumes.Action) { a.Copy.Snapshot.Claim = "wal" })), change: ofCopy(func(c *volumes.Copying) {
			c.Base.Snapshot = volumes.Snapshot{Found: true, Ours: true, Ready: true, UID: "u1", ResourceVersion: "v2", Claim: "wal"}
		})},
		"a snapshot to read from is there":      {effect: carry(from, is(volumes.TakeBase, nil)), before: based},
		"it is restored":                        {effect: carry(from, is(volumes.RestoreBase, nil)), before: taking, change: ofCopy(func(c *volumes.Copying) { c.Base.Claim = made("") })},
		"it was restored":                       {effect: carry(from, is(volumes.RestoreBase, nil)), before: based},
		"its claim goes":                        {effect: carry(from, is(volumes.DropBase, nil)), before: based, change: ofCopy(func(c *volumes.Copying) { c.Base.Claim = volumes.Claim{} })},
		"its claim is another one":              {effect: carry(from, is(volumes.DropBase, func(a *volumes.Action) { a.UID = "s" })), before: based},
		"the snapshot goes":                     {effect: carry(from, is(volumes.DropBaseSnapshot, nil)), before: based, change: ofCopy(func(c *volumes.Copying) { c.Base.Snapshot = volumes.Snapshot{} })},
		"the snapshot has changed":              {effect: carry(from, is(volumes.DropBaseSnapshot, func(a *volumes.Action) { a.ResourceVersion = "0" })), before: based},
		"a mover that has changed":              {effect: carry(to, is(volumes.DeleteMover, func(a *volumes.Action) { a.ResourceVersion = "0" })), before: runs},
		"the giver's volume is pointed back":    {effect: carry(from, is(volumes.PointBack, ofGiver(""))), before: atLast(from, func(h *volumes.Holding) { h.Volume.Released = "m.1" }), change: giver(func(v *volumes.Volume) { v.Released = "" })},
		"it is released, and its claim is gone": {effect: carry(from, is(volumes.Release, ofGiver("m.2"))), before: atLast(from, func(h *volumes.Holding) { h.Claim = volumes.Claim{} }), change: giver(func(v *volumes.Volume) { v.Released = "m.2" })},
		"a volume that is not there":            {effect: carry(to, is(volumes.Park, func(a *volumes.Action) { a.UID, a.ResourceVersion = "", "" }))},
		"the ordinal's volume is the one copied": {effect: carry(to, is(volumes.TakeOver, func(a *volumes.Action) {
			a.Volume, a.UID, a.ResourceVersion, a.After = "copy", "c", "2", volumes.State{ClaimRef: target, Seal: "root", Fence: "m.2"}
		})), before: taken, change: func(s *plan.Snapshot) {
			v := &s.Volumes[lastClaim]
			v.Destination.Volume.ClaimRef, v.Destination.Volume.Seal, v.Destination.Volume.Fence, v.Destination.Volume.ResourceVersion = target, "root", "m.2", "v1"
			v.Copy.Incoming.Volume = v.Destination.Volume
		}},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, copiedWal()) })
	}
}

// provisioned gives a copy's claim its new volume.
func provisioned(c *volumes.Copying) {
	name := "pvc-of-" + c.Incoming.Ref.Name + "-from-source"
	c.Incoming.Claim.Volume, c.Incoming.Claim.ResourceVersion = name, "v1"
	c.Incoming.Volume = volumes.Volume{
		Found: true, Name: name, UID: types.UID(name), ResourceVersion: "v2", Handle: "disk-" + name, Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: c.Incoming.Ref.Namespace, Name: c.Incoming.Ref.Name, UID: "in"},
	}
}

// worldSettles is the expected action of other controllers in a world.
type worldSettles struct {
	// before changes the test's world beforehand.
	before func(*plan.Snapshot)
	// change is the expected change; nil: they do nothing.
	change func(*plan.Snapshot)
}

// check lets them act once, and compares the whole world and the reported result.
func (s worldSettles) check(t *testing.T, state plan.Snapshot, settle func(*World) bool) {
	t.Helper()
	s.before(&state)
	w, want := &World{State: state.Clone()}, state.Clone()
	if s.change != nil {
		s.change(&want)
	}
	if acts := settle(w); acts != (s.change != nil) {
		t.Errorf("it says that it acts: %t", acts)
	}
	if diff := cmp.Diff(want, w.State); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestBudgetWhileCopied: like a run, a dry run releases the whole budget while an ordinal is copied that still
// runs, and reserves it again for the stop.
func TestBudgetWhileCopied(t *testing.T) {
	s := plantest.Scenario{Replicas: 5, Templates: []string{"data"}, Method: api.MethodCopy, Budget: pdbtest.MaxUnavailable(1)}.Build()
	result, passes := Run(s), 0
	allows := func(step Step) (all int32) {
		for _, side := range []Forecast{step.Source, step.Destination} {
			if side.MaxUnavailable != nil {
				all += *side.MaxUnavailable
			}
		}
		return all
	}
	for _, step := range result.Steps {
		switch e := step.Effect; {
		case e.Volume.Verb == volumes.DeleteMover && e.Volume.Copy.Role == volumes.RoleWarm:
			if passes++; allows(step) != 1 {
				t.Errorf("while ordinal %d is copied, evictions of %d are allowed: %s", e.Ordinal, allows(step), step.Description)
			}
		case e.Verb == plan.ScaleDown && allows(step) != 0:
			t.Errorf("at the stop of ordinal %d evictions of %d are allowed", e.Ordinal, allows(step))
		}
	}
	if result.Outcome != api.ReasonMoved || passes != 5 {
		t.Errorf("%d passes, and it ends with %q, held by %+v", passes, result.Outcome, result.Held)
	}
}

// TestWorldSettleCopies: a claim gets a new volume, a volume pointed at a claim is bound to it, and movers wait
// until their volumes are bound. The result reports whether anything of that has happened.
func TestWorldSettleCopies(t *testing.T) {
	asked := func(c *volumes.Copying) {
		c.Incoming.Claim = volumes.Claim{Found: true, UID: "in", ResourceVersion: "1"}
	}
	released := func(to types.UID, phase corev1.PersistentVolumeClaimPhase) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) {
			v := &s.Volumes[lastClaim]
			v.Copy.Outgoing.Claim = volumes.Claim{Found: true, UID: "out", ResourceVersion: "1", Phase: phase, Volume: v.Source.Volume.Name}
			v.Source.Volume.ClaimRef = v.Copy.Outgoing.Ref
			v.Source.Volume.ClaimRef.UID = to
			v.Copy.Outgoing.Volume = v.Source.Volume
		}
	}
	for name, tc := range map[string]worldSettles{
		"nothing is asked for": {func(*plan.Snapshot) {}, nil},
		"no attempt has begun": {func(s *plan.Snapshot) {
			s.Record.Handoff.Volumes[1].Copy = api.CopyAttempt{}
			ofCopy(func(c *volumes.Copying) { c.Attempt = api.CopyAttempt{}; asked(c) })(s)
		}, nil},
		"a claim gets its volume": {ofCopy(asked), ofCopy(provisioned)},
		"of two claims the first": {func(s *plan.Snapshot) {
			s.Record.Handoff.Volumes[0].Copy = s.Record.Handoff.Volumes[1].Copy
			w := &World{State: *s}
			w.copies()
			asked(s.Volumes[lastClaim-1].Copy)
		}, func(s *plan.Snapshot) { provisioned(s.Volumes[lastClaim-1].Copy) }},
		"its volume is free again": {
			ofCopy(func(c *volumes.Copying) { asked(c); provisioned(c); c.Incoming.Volume.ClaimRef.UID = "" }),
			ofCopy(func(c *volumes.Copying) {
				c.Incoming.Volume.Phase, c.Incoming.Volume.ResourceVersion = corev1.VolumeAvailable, "v1"
			}),
		},
		"the giver's volume is reserved": {released("", corev1.ClaimPending), func(s *plan.Snapshot) {
			v := &s.Volumes[lastClaim]
			v.Source.Volume.ClaimRef.UID, v.Source.Volume.ResourceVersion = "out", "v1"
			v.Copy.Outgoing.Volume = v.Source.Volume
		}},
		"it is a former claim's": {
			released("former", corev1.ClaimBound),
			ofCopy(func(c *volumes.Copying) {
				c.Outgoing.Claim.Phase, c.Outgoing.Claim.ResourceVersion = corev1.ClaimLost, "v1"
			}),
		},
		"movers without what they mount": {ofCopy(func(c *volumes.Copying) { c.Receiver.Found, c.Sender.Found = true, true }), nil},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, copiedWal(), (*World).SettleCopies) })
	}
}
