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

// applySnapshot creates or deletes a VolumeSnapshot, like an API server. The base is ready at once.
func (a apiServer) applySnapshot(v *plan.OrdinalVolume, action volumes.Action) error {
	taken, imported, base := &v.Copy.Snapshot.Taken, &v.Copy.Snapshot.Import, &v.Copy.Base.Snapshot
	asked := action.Copy.Snapshot
	switch part := action.Part(); {
	case action.Change() == volumes.Deletes:
		return deleteSnapshot(action, taken, imported, base)
	case part == volumes.PartBase:
		return a.putSnapshot(base, volumes.Snapshot{Claim: asked.Claim, Ready: true})
	case part == volumes.PartIncoming:
		return a.putSnapshot(imported, volumes.Snapshot{Content: imported.Content})
	default:
		return a.putSnapshot(taken, volumes.Snapshot{Claim: asked.Claim, Released: asked.Released, Content: volumes.SnapshotContent{For: action.Ref}})
	}
}

// applyContent creates, writes or deletes a VolumeSnapshotContent.
func (a apiServer) applyContent(v *plan.OrdinalVolume, action volumes.Action) error {
	imported := &v.Copy.Snapshot.Import.Content
	if action.Change() != volumes.Creates {
		return a.writeContent(action, &v.Copy.Snapshot.Taken.Content, imported)
	}
	if imported.Found {
		return ErrConflict
	}
	*imported = volumes.SnapshotContent{
		Found: true, Ours: true, Retain: true, Name: action.Ref.Name, UID: a.NewUID(), ResourceVersion: a.NewVersion(),
		Driver: action.Copy.Snapshot.Driver, Source: action.Copy.Snapshot.Handle, For: action.Ref,
	}
	return nil
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
		if action.Change() == volumes.Deletes {
			*c = volumes.SnapshotContent{}
			return nil
		}
		*c = c.In(action.After)
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
