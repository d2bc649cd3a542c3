package copy

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

// base is a snapshot of the ordinal's claim, with its content, and the claim that it is restored to.
type base struct {
	volumes.Base
	side, content int
}

func (w *world) writeBase(write volumestest.Late) {
	a, b := write.Action, w.bases[write.Ref.Name]
	if b == nil {
		b = &base{side: write.Side}
		w.bases[a.Ref.Name] = b
	}
	switch a.Verb {
	case volumes.TakeBase:
		if !b.Snapshot.Found {
			b.Snapshot = volumes.Snapshot{Found: true, Ours: true, UID: types.UID("snapshot" + w.Next()), ResourceVersion: w.Next()}
		}
	case volumes.RestoreBase:
		if !b.Claim.Found {
			b.Claim = volumes.Claim{Found: true, Ours: true, UID: types.UID("claim" + w.Next()), ResourceVersion: w.Next()}
		}
	case volumes.DropBase:
		b.Claim.Terminating = b.Claim.Terminating || b.Claim.UID == a.UID && b.Claim.ResourceVersion == a.ResourceVersion
	default:
		b.Snapshot.Terminating = b.Snapshot.Terminating || b.Snapshot.UID == a.UID && b.Snapshot.ResourceVersion == a.ResourceVersion
	}
}

// driver takes the requested snapshots, and completes the deletion of snapshots and claims.
func (w *world) driver() {
	for name, b := range w.bases {
		own := w.Places[b.side].Own()
		if b.Snapshot.Found && !b.Snapshot.Ready && own != nil {
			b.content, b.Snapshot.Ready, b.Snapshot.ResourceVersion = own.Content, true, w.Next()
		}
		used := false
		for _, m := range w.movers {
			used = used || m.claim == name
		}
		if b.Claim.Terminating && !used {
			b.Claim = volumes.Claim{}
		}
		if b.Snapshot.Terminating {
			b.Snapshot = volumes.Snapshot{}
		}
	}
}

// reads returns the disk that a warm sender mounts: the ordinal's, or one that was restored from a snapshot of
// it.
func (w *world) reads(m *pod) *volumestest.Disk {
	b := w.bases[m.claim]
	switch {
	case b == nil:
		return w.Places[m.side].Own()
	case b.Claim.Found && b.Snapshot.Ready:
		return &volumestest.Disk{Content: b.content}
	}
	return nil
}

// checkWarm checks that no second pod mounts a claim that allows one pod only.
func (w *world) checkWarm(t volumestest.Failer) {
	for name, m := range w.movers {
		if w.alone && m.role != volumes.RoleReceiver && m.claim == w.Places[m.side].Ref.Name {
			t.Fatalf("mover %s is to mount a claim that is for one pod alone", name)
		}
	}
}

// expectNoBase checks that nothing that warm passes have read is left, except for objects under deletion.
func (w *world) expectNoBase(t volumestest.Failer) {
	for range 6 {
		if action := (Copy{}).Ahead(w.Pair(), volumes.Withdrawn).Action; action != nil {
			w.Arrive(t, w.Write(*action))
		}
		w.driver()
	}
	if b := w.Pair().Copy.Base; b.Snapshot.Found && !b.Snapshot.Terminating || b.Claim.Found && !b.Claim.Terminating {
		t.Fatalf("it stays: %+v", b)
	}
}
