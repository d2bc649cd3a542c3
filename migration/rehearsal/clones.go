package rehearsal

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/volumes"
)

// ClonePlan is a claim that gets a clone, or an empty volume.
type ClonePlan struct {
	Template string
	Ordinal  int32
	// From is the claim of the source, and To the claim of the rehearsal. Its namespace is that of the rehearsal.
	From, To volumes.Ref
	// Driver and Handle are those of the source's volume, and Class is the VolumeSnapshotClass.
	Driver, Handle, Class string
	// StorageClass is that of the clone.
	StorageClass string
	// Size is the size of the source's claim, in bytes.
	Size int64
	// WaitsForPod is true if the claim is bound only when a pod is scheduled.
	WaitsForPod bool
	// Empty is true if the pod starts on an empty volume. The StatefulSet then creates the claim.
	Empty bool
	// Copied is true if movers copy the running volume. Otherwise a snapshot of it is restored.
	Copied bool
	// BySnapshot is true if the move restores a snapshot, too.
	BySnapshot bool
}

// Clone is the state of a clone.
type Clone struct {
	// Taken is the snapshot of the source's claim, and Import its import at the destination.
	Taken, Import volumes.Snapshot
	// TakenRef and ImportRef name them.
	TakenRef, ImportRef volumes.Ref
	Claim               Object
	// Source is the VolumeSnapshot that the claim names as its data source.
	Source string
	// Volume is the claim's volume once it is bound.
	Volume Volume
	// Occupied is the name of an available volume that the binder could choose for the claim; empty if there is none.
	Occupied string
	// Pair is the state of a copy. Its incoming claim is the claim of the rehearsal.
	Pair volumes.Pair
}

// Volume is a volume that is bound to a claim of the rehearsal's namespace.
type Volume struct {
	Object
	// Claim is the claim that it is bound to, with the UID.
	Claim volumes.Ref
	// Chosen is true if it existed before its claim. Driver is its CSI driver.
	Chosen bool
	Driver string
	// Deletes is true if the storage is deleted with it.
	Deletes bool
}

// clones takes a snapshot of each volume, imports it, and creates a claim from it. One clone does not wait for another.
// Volumes that are copied instead are copied first.
func (f Facts) clones() Step {
	return first(
		f.copied,
		func() Step { return f.each(f.taken) },
		f.marked,
		func() Step {
			return f.each(func(i int) Step {
				return first(func() Step { return f.imported(i) }, func() Step { return f.filled(i) })
			})
		},
	)
}

// each returns the first write or record of all clones, or else the first reason to wait.
func (f Facts) each(of func(int) Step) Step {
	var waits Step
	for i := range f.Clones {
		step := of(i)
		if step.Write != nil || step.Record != nil {
			return step
		}
		if waits.none() {
			waits = step
		}
	}
	return waits
}

// marked records when all snapshots were ready and all copies made.
func (f Facts) marked() Step {
	filled := slices.ContainsFunc(f.Ask.Clones, func(c ClonePlan) bool { return !c.Empty })
	if !filled || f.Record.Cloned != nil {
		return Step{}
	}
	next := f.Record
	next.Cloned = new(microTime(f.Now))
	return Step{Record: &next}
}

func (f Facts) createClone(kind Kind, on Object, i int) Step {
	step := f.write(Create, kind, on)
	step.Write.Clone, step.Write.AtSource = i, kind == KindTaken
	return step
}

// taken takes a snapshot of the running volume. It has the content of a disk whose machine has lost power.
func (f Facts) taken(i int) Step {
	c, asked := f.Clones[i], f.Ask.Clones[i]
	s := c.Taken
	switch {
	case asked.Copied, asked.Empty:
		return Step{}
	case !s.Found:
		return f.createClone(KindTaken, Object{Ref: c.TakenRef}, i)
	case !s.Ours:
		return f.ends(failed("ForeignSnapshot", "VolumeSnapshot "+named(c.TakenRef)+" exists, and this rehearsal did not create it: it may be of another volume", "look at it, and rehearse again"))
	case s.Terminating:
		return f.ends(failed("SnapshotDeleted", "VolumeSnapshot "+named(c.TakenRef)+" is being deleted during the rehearsal", "find what deletes it, and rehearse again"))
	case !s.Ready || !s.Content.Found || s.Content.Handle == "":
		return Step{Wait: "VolumeSnapshot " + named(c.TakenRef) + " is ready" + says(s.Trouble) + says(s.Content.Trouble)}
	case !s.Content.For.Names(c.TakenRef) || s.Content.For.UID != s.UID || s.Content.Driver != asked.Driver || s.Content.Volume != asked.Handle:
		return f.ends(failed("ForeignSnapshot", fmt.Sprintf("VolumeSnapshotContent %s, to which VolumeSnapshot %s is bound, is not of volume %s of driver %s: it may hold other data", s.Content.Name, named(c.TakenRef), asked.Handle, asked.Driver), "find what created it, and rehearse again"))
	}
	return Step{}
}

// imported makes the snapshot known at the destination. A VolumeSnapshot is bound within its namespace, so this is
// needed in the same cluster, too.
func (f Facts) imported(i int) Step {
	c := f.Clones[i]
	s, content := c.Import, c.Import.Content
	switch {
	case f.Ask.Clones[i].Copied, f.Ask.Clones[i].Empty:
		return Step{}
	case !content.Found && !s.Found:
		step := f.createClone(KindContent, Object{Ref: volumes.Ref{Name: c.ImportRef.Name}}, i)
		step.Write.Handle = c.Taken.Content.Handle
		return step
	case !content.Found || !content.Ours || content.Terminating || !content.Retain || content.Source != c.Taken.Content.Handle || !content.For.Names(c.ImportRef):
		return f.ends(failed("ForeignSnapshot", "VolumeSnapshotContent "+c.ImportRef.Name+" is not the import of snapshot "+c.Taken.Content.Handle+": it was changed or deleted during the rehearsal", "find what changes it, and rehearse again"))
	case !s.Found:
		return f.createClone(KindImport, Object{Ref: c.ImportRef}, i)
	case !s.Ours || s.Terminating || content.For.UID != "" && content.For.UID != s.UID:
		return f.ends(failed("ForeignSnapshot", "VolumeSnapshot "+named(c.ImportRef)+" is not the import of this rehearsal, or is being deleted", "find what changes it, and rehearse again"))
	case !s.Ready || content.For.UID != s.UID:
		return Step{Wait: "the imported VolumeSnapshot " + named(c.ImportRef) + " is ready" + says(s.Trouble) + says(content.Trouble)}
	}
	return Step{}
}

// chosen ends the rehearsal if the binder has chosen an existing volume for a claim, or may do so.
func (f Facts) chosen(i int) Step {
	c, asked := f.Clones[i], f.Ask.Clones[i]
	switch {
	case !c.Claim.Found && c.Occupied != "":
		return f.ends(refused("VolumeAvailable", fmt.Sprintf("volume %s of the destination's cluster is available, and the binder may choose it for claim %s: a pod of the rehearsal would write to it", c.Occupied, named(asked.To)),
			"reserve or delete that volume, or name another class: --storage-class "+asked.Template+"=CLASS"))
	case c.Volume.Found && c.Volume.Chosen:
		return f.ends(failed("NotRestored", fmt.Sprintf("volume %s of claim %s existed before: the binder has chosen it, and it is no clone", c.Volume.Name, named(asked.To)), "see the end of the rehearsal for the way to keep that volume"))
	}
	return Step{}
}

// filled creates the claim from the imported snapshot. A class that waits for a pod fills it when the pod is
// scheduled.
func (f Facts) filled(i int) Step {
	c, asked := f.Clones[i], f.Ask.Clones[i]
	if step := f.chosen(i); !step.none() {
		return step
	}
	switch {
	case asked.Empty:
		return Step{}
	case asked.Copied && (!c.Claim.Found || !c.Pair.Copy.Incoming.Claim.Ours):
		return f.ends(failed("ClaimDeleted", "claim "+named(asked.To)+", with the copy of a volume, was deleted or replaced during the rehearsal", "find what deletes it, and rehearse again"))
	case !c.Claim.Found:
		step := f.createClone(KindClaim, c.Claim, i)
		step.Write.Size = asked.Size
		if size := c.Import.Content.Size; size != nil {
			step.Write.Size = max(asked.Size, *size)
		}
		return step
	case c.Claim.Terminating:
		return f.ends(failed("ClaimDeleted", "claim "+named(asked.To)+" is being deleted during the rehearsal", "find what deletes it, and rehearse again"))
	case asked.Copied:
		return Step{}
	case c.Source != c.ImportRef.Name:
		return f.ends(failed("NotRestored", "claim "+named(asked.To)+" does not name VolumeSnapshot "+c.ImportRef.Name+" as its data source: a webhook has removed it, and the pod would start empty", "look for webhooks that change claims"))
	case c.Volume.Found && c.Volume.Driver != asked.Driver:
		return f.ends(failed("NotRestored", fmt.Sprintf("volume %s of claim %s is not of driver %s: its provisioner does not know the snapshot", c.Volume.Name, named(asked.To), asked.Driver), "name a StorageClass of that driver: --storage-class "+asked.Template+"=CLASS"))
	case !c.Volume.Found && !asked.WaitsForPod:
		return Step{Wait: "claim " + named(asked.To) + " is bound to a clone"}
	}
	return Step{}
}
