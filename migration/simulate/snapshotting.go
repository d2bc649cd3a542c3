package simulate

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// anew returns the state of an attempt that has just begun. A snapshot of an earlier attempt still exists.
func anew(before volumes.Copying, attempt volumes.Copying) volumes.Copying {
	attempt.Asked, attempt.Snapshot.Giver, attempt.Snapshot.Taker = before.Asked, before.Snapshot.Giver, before.Snapshot.Taker
	if attempt.Attempt.Snapshot.Number > 0 && attempt.Attempt.Giver == before.Attempt.Giver {
		attempt.Snapshot.Taken = before.Snapshot.Taken
	}
	return attempt
}

// applySnapshot performs a write that only method Snapshot needs, like an API server.
func (a apiServer) applySnapshot(v *plan.OrdinalVolume, action volumes.Action) error {
	taken, imported := &v.Copy.Snapshot.Taken, &v.Copy.Snapshot.Import
	asked := action.Copy.Snapshot
	switch action.Verb {
	case volumes.CreateSnapshot:
		return a.putSnapshot(taken, volumes.Snapshot{
			Claim: asked.Claim, Released: asked.Released, Content: volumes.SnapshotContent{For: action.Ref},
		})
	case volumes.CreateImport:
		return a.putSnapshot(imported, volumes.Snapshot{Content: imported.Content})
	case volumes.CreateContent:
		if imported.Content.Found {
			return ErrConflict
		}
		imported.Content = volumes.SnapshotContent{
			Found: true, Ours: true, Retain: true, Name: action.Ref.Name, UID: a.NewUID(), ResourceVersion: a.NewVersion(),
			Driver: asked.Driver, Source: asked.Handle, For: action.Ref,
		}
		return nil
	case volumes.DeleteSnapshot:
		return deleteSnapshot(action, taken, imported)
	default:
		return a.writeContent(action, &taken.Content, &imported.Content)
	}
}

func (a apiServer) putSnapshot(s *volumes.Snapshot, made volumes.Snapshot) error {
	if s.Found {
		return ErrConflict
	}
	made.Found, made.Ours, made.UID, made.ResourceVersion = true, true, a.NewUID(), a.NewVersion()
	*s = made
	return nil
}

// deleteSnapshot deletes the judged snapshot, with its content unless the content's policy is Retain.
func deleteSnapshot(action volumes.Action, of ...*volumes.Snapshot) error {
	for _, s := range of {
		if s.Found && s.UID == action.UID && s.ResourceVersion == action.ResourceVersion {
			kept := volumes.Snapshot{}
			if s.Content.Retain {
				kept.Content = s.Content
			}
			*s = kept
			return nil
		}
	}
	return ErrConflict
}

func (a apiServer) writeContent(action volumes.Action, of ...*volumes.SnapshotContent) error {
	for _, c := range of {
		if !c.Found || c.UID != action.UID || c.ResourceVersion != action.ResourceVersion {
			continue
		}
		if action.Verb == volumes.DeleteContent {
			*c = volumes.SnapshotContent{}
			return nil
		}
		*c = action.WrittenContent(*c)
		c.ResourceVersion = a.NewVersion()
		return nil
	}
	return ErrConflict
}

// settleSnapshots acts like the snapshot-controller and the driver on both VolumeSnapshots.
func (w *World) settleSnapshots(v *plan.OrdinalVolume) bool {
	taken, imported := &v.Copy.Snapshot.Taken, &v.Copy.Snapshot.Import
	switch {
	case taken.Found && !taken.Ready:
		driver, of := volumes.DriverOf(v.Copy.Outgoing.Volume.Handle)
		name, ref := "snapcontent-"+string(taken.UID), taken.Content.For
		ref.UID = taken.UID
		taken.Ready, taken.ResourceVersion = true, w.NewVersion()
		taken.Content = volumes.SnapshotContent{
			Found: true, Name: name, UID: types.UID(name), ResourceVersion: w.NewVersion(), Driver: driver, Volume: of, Handle: "snapshot-" + string(taken.UID), Size: new(int64),
			For: ref,
		}
		return true
	case imported.Found && imported.Content.For.UID == "":
		c := &imported.Content
		c.For.UID, c.Handle, c.ResourceVersion = imported.UID, c.Source, w.NewVersion()
		imported.Ready, imported.ResourceVersion = true, w.NewVersion()
		return true
	}
	return false
}
