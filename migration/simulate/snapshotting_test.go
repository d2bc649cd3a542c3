package simulate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// snapshottedWal is a move whose ordinal 1 has been stopped, and whose claim wal moves by a snapshot.
func snapshottedWal() plan.Snapshot { return fillingWal(api.MethodSnapshot) }

// ofSnapshot changes the state of the snapshot of claim wal.
func ofSnapshot(change func(*volumes.Snapshotting)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { change(&s.Volumes[lastClaim].Copy.Snapshot) }
}

// TestWorldApplySnapshots: the objects that a snapshot needs are created once, and written in the judged version
// or not at all. A VolumeSnapshot is deleted with its content, unless that is retained.
func TestWorldApplySnapshots(t *testing.T) {
	const from, to = plan.SourceSide, plan.DestinationSide
	is := func(verb volumes.Verb, change func(*volumes.Action)) volumes.Action {
		a := volumes.Action{Verb: verb, UID: "u", ResourceVersion: "1", Ref: volumes.Ref{Namespace: "shop", Name: "snap"}, After: volumes.State{Policy: corev1.PersistentVolumeReclaimDelete, Note: volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}}}
		if verb == volumes.RetainContent {
			a.After.Policy = corev1.PersistentVolumeReclaimRetain
		}
		a.Copy.Snapshot = volumes.SnapshotAction{Claim: "out", Released: "m.1", Driver: "d", Handle: "h"}
		if change != nil {
			change(&a)
		}
		return a
	}
	other := func(a *volumes.Action) { a.UID = "another" }
	older := func(a *volumes.Action) { a.ResourceVersion = "0" }
	snap := volumes.Snapshot{Found: true, Ours: true, UID: "u", ResourceVersion: "1"}
	content := volumes.SnapshotContent{Found: true, Name: "snap", UID: "u", ResourceVersion: "1"}
	taken := ofSnapshot(func(s *volumes.Snapshotting) { s.Taken = snap })
	imported := ofSnapshot(func(s *volumes.Snapshotting) { s.Import = snap })
	of := func(retain bool) func(*plan.Snapshot) {
		return ofSnapshot(func(s *volumes.Snapshotting) { s.Taken.Content = content; s.Taken.Content.Retain = retain })
	}
	written := func(retain bool) func(*plan.Snapshot) {
		return ofSnapshot(func(s *volumes.Snapshotting) {
			s.Taken.Content = content
			s.Taken.Content.ResourceVersion, s.Taken.Content.Retain, s.Taken.Content.Note = "v1", retain, volumes.Note{Policy: corev1.PersistentVolumeReclaimDelete, By: "m"}
		})
	}
	for name, tc := range map[string]worldWrite{
		"a VolumeSnapshot": {effect: carry(from, is(volumes.CreateSnapshot, nil)), change: ofSnapshot(func(s *volumes.Snapshotting) {
			s.Taken = volumes.Snapshot{Found: true, Ours: true, UID: "u1", ResourceVersion: "v2", Claim: "out", Released: "m.1"}
			s.Taken.Content.For = volumes.Ref{Namespace: "shop", Name: "snap"}
		})},
		"one is there": {effect: carry(from, is(volumes.CreateSnapshot, nil)), before: taken},
		"one to import, on its content": {
			effect: carry(to, is(volumes.CreateImport, nil)), before: ofSnapshot(func(s *volumes.Snapshotting) { s.Import.Content = content }),
			change: ofSnapshot(func(s *volumes.Snapshotting) {
				s.Import = volumes.Snapshot{Found: true, Ours: true, UID: "u1", ResourceVersion: "v2", Content: content}
			}),
		},
		"one to import is there": {effect: carry(to, is(volumes.CreateImport, nil)), before: imported},
		"a content": {effect: carry(to, is(volumes.CreateContent, nil)), change: ofSnapshot(func(s *volumes.Snapshotting) {
			s.Import.Content = volumes.SnapshotContent{
				Found: true, Ours: true, Retain: true, Name: "snap", UID: "u1", ResourceVersion: "v2", Driver: "d", Source: "h", For: volumes.Ref{Namespace: "shop", Name: "snap"},
			}
		})},
		"a content is there":         {effect: carry(to, is(volumes.CreateContent, nil)), before: ofSnapshot(func(s *volumes.Snapshotting) { s.Import.Content.Found = true })},
		"a VolumeSnapshot goes":      {effect: carry(from, is(volumes.DeleteSnapshot, nil)), before: inTurn(taken, of(false)), change: ofSnapshot(func(s *volumes.Snapshotting) { s.Taken = volumes.Snapshot{} })},
		"its content stays":          {effect: carry(from, is(volumes.DeleteSnapshot, nil)), before: inTurn(taken, of(true)), change: ofSnapshot(func(s *volumes.Snapshotting) { s.Taken = volumes.Snapshot{Content: s.Taken.Content} })},
		"the imported one goes":      {effect: carry(to, is(volumes.DeleteSnapshot, nil)), before: imported, change: ofSnapshot(func(s *volumes.Snapshotting) { s.Import = volumes.Snapshot{} })},
		"another one is to go":       {effect: carry(from, is(volumes.DeleteSnapshot, other)), before: taken},
		"it has changed":             {effect: carry(from, is(volumes.DeleteSnapshot, older)), before: taken},
		"it is gone":                 {effect: carry(from, is(volumes.DeleteSnapshot, func(a *volumes.Action) { a.UID, a.ResourceVersion = "", "" }))},
		"a content is to retain":     {effect: carry(from, is(volumes.RetainContent, nil)), before: of(false), change: written(true)},
		"a content has its own back": {effect: carry(from, is(volumes.LoosenContent, nil)), before: of(true), change: written(false)},
		"its own is to retain": {
			effect: carry(from, is(volumes.LoosenContent, func(a *volumes.Action) {
				a.After.Policy, a.After.Note.Policy = corev1.PersistentVolumeReclaimRetain, corev1.PersistentVolumeReclaimRetain
			})), before: of(true),
			change: inTurn(written(true), ofSnapshot(func(s *volumes.Snapshotting) { s.Taken.Content.Note.Policy = corev1.PersistentVolumeReclaimRetain })),
		},
		"a content goes":            {effect: carry(from, is(volumes.DeleteContent, nil)), before: of(true), change: ofSnapshot(func(s *volumes.Snapshotting) { s.Taken.Content = volumes.SnapshotContent{} })},
		"another content is to go":  {effect: carry(from, is(volumes.DeleteContent, other)), before: of(true)},
		"the content has changed":   {effect: carry(from, is(volumes.RetainContent, older)), before: of(true)},
		"the content is gone":       {effect: carry(from, is(volumes.DeleteContent, func(a *volumes.Action) { a.UID, a.ResourceVersion = "", "" }))},
		"a claim names what it has": {effect: carry(to, is(volumes.CreateIncoming, func(a *volumes.Action) { a.Copy.Snapshot.Source = "snap" })), change: filledFrom("snap")},
		"an unfilled claim goes": {
			effect: carry(to, is(volumes.DeleteUnfilled, func(a *volumes.Action) { a.Ref.Name = snapshottedWal().Volumes[lastClaim].Copy.Incoming.Ref.Name })),
			before: ofCopy(func(c *volumes.Copying) {
				c.Incoming.Claim = volumes.Claim{Found: true, UID: "u", ResourceVersion: "1"}
			}),
			change: ofCopy(func(c *volumes.Copying) { c.Incoming.Claim = volumes.Claim{} }),
		},
	} {
		t.Run(name, func(t *testing.T) { tc.check(t, snapshottedWal()) })
	}
}

// filledFrom creates a claim with a VolumeSnapshot as its source.
func filledFrom(source string) func(*plan.Snapshot) {
	return ofCopy(func(c *volumes.Copying) {
		c.Snapshot.Source = source
		c.Incoming.Claim = volumes.Claim{Found: true, UID: "u1", ResourceVersion: "v2", Phase: corev1.ClaimPending, Ours: true, Fence: "m.2"}
	})
}

// inTurn applies several changes.
func inTurn(changes ...func(*plan.Snapshot)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) {
		for _, change := range changes {
			change(s)
		}
	}
}

// TestWorldSettleSnapshots: a requested snapshot is taken of the outgoing claim's disk, an imported one is ready,
// and each is reported once.
func TestWorldSettleSnapshots(t *testing.T) {
	asked := ofSnapshot(func(s *volumes.Snapshotting) {
		s.Taken = volumes.Snapshot{Found: true, UID: "u", ResourceVersion: "1"}
		s.Taken.Content.For = volumes.Ref{Namespace: "shop", Name: "snap"}
	})
	known := ofSnapshot(func(s *volumes.Snapshotting) {
		s.Import = volumes.Snapshot{Found: true, UID: "i", ResourceVersion: "1", Content: volumes.SnapshotContent{Found: true, Source: "h", ResourceVersion: "1"}}
	})
	ready := ofSnapshot(func(s *volumes.Snapshotting) { s.Taken = volumes.Snapshot{Found: true, Ready: true} })
	for name, tc := range map[string]worldSettles{
		"nothing is asked for": {func(*plan.Snapshot) {}, nil},
		"it is taken": {asked, ofSnapshot(func(s *volumes.Snapshotting) {
			s.Taken.Ready, s.Taken.ResourceVersion = true, "v1"
			s.Taken.Content = volumes.SnapshotContent{
				Found: true, Name: "snapcontent-u", UID: "snapcontent-u", ResourceVersion: "v2", Driver: "csi.example", Volume: "wal-web-1", Handle: "snapshot-u", Size: new(int64),
				For: volumes.Ref{Namespace: "shop", Name: "snap", UID: "u"},
			}
		})},
		"it was taken": {ready, nil},
		"it is imported": {known, ofSnapshot(func(s *volumes.Snapshotting) {
			s.Import.Ready, s.Import.ResourceVersion = true, "v2"
			s.Import.Content.For.UID, s.Import.Content.Handle, s.Import.Content.ResourceVersion = "i", "h", "v1"
		})},
		"it was imported": {inTurn(known, ofSnapshot(func(s *volumes.Snapshotting) { s.Import.Content.For.UID = "i" })), nil},
	} {
		t.Run(name, func(t *testing.T) {
			tc.check(t, snapshottedWal(), func(w *World) bool { return w.settleSnapshots(&w.State.Volumes[lastClaim]) })
		})
	}
}

// TestSnapshotOfAnEarlierAttempt: another attempt that restores the same snapshot finds it. An attempt that takes
// its own snapshot, or one in the other direction, does not.
func TestSnapshotOfAnEarlierAttempt(t *testing.T) {
	able := volumes.SnapshotSide{Served: true}
	before := volumes.Copying{Attempt: api.CopyAttempt{Giver: "source"}, Asked: volumes.CopyAsked{Size: 7}}
	before.Snapshot = volumes.Snapshotting{Giver: able, Taker: able, Taken: volumes.Snapshot{Found: true}, Import: volumes.Snapshot{Found: true}, Source: "snap"}
	for name, tc := range map[string]struct {
		attempt api.CopyAttempt
		found   bool
	}{
		"the same snapshot":     {api.CopyAttempt{Number: 2, Giver: "source", Snapshot: api.SnapshotTaken{Number: 1}}, true},
		"one of its own":        {api.CopyAttempt{Number: 2, Giver: "source"}, false},
		"of the other way":      {api.CopyAttempt{Number: 2, Giver: "destination", Snapshot: api.SnapshotTaken{Number: 1}}, false},
		"it has not begun":      {api.CopyAttempt{}, false},
		"a later, the same one": {api.CopyAttempt{Number: 9, Giver: "source", Snapshot: api.SnapshotTaken{Number: 3}}, true},
	} {
		want := volumes.Copying{Attempt: tc.attempt, Asked: before.Asked, Snapshot: volumes.Snapshotting{Giver: able, Taker: able, Taken: volumes.Snapshot{Found: tc.found}}}
		if diff := cmp.Diff(want, anew(before, volumes.Copying{Attempt: tc.attempt})); diff != "" {
			t.Errorf("%s: -want +got\n%s", name, diff)
		}
	}
}
