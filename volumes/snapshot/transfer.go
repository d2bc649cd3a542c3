package snapshot

import (
	"fmt"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// view is a pair in the direction of its attempt.
type view struct{ volumes.Handing }

// Transfer carries the data to the taker. If the move has been reversed since the attempt began, it returns the
// volume to its former side, as long as the restored one has not been taken over. When it is done, the ordinal
// may be started at the pair's taker.
func (Snapshot) Transfer(pair volumes.Pair) volumes.Verdict {
	v := view{volumes.HandingOf(pair)}
	if verdict := v.fill(); !verdict.Done() {
		return verdict
	}
	switch {
	case v.Back, v.Kept:
		return volumes.First(v.removePlaceholder, v.GoBack, v.clearTaker, v.clearGiver)
	case v.Taken():
		return v.TakeOver()
	}
	return v.HandOver()
}

// fill restores a volume from a snapshot, and seals it.
func (v view) fill() volumes.Verdict {
	switch {
	case v.Back && v.Taken():
		return volumes.First(v.arrive, v.begin) // the ordinal goes back by a new snapshot
	case v.Back, v.Kept, v.Taken():
		return volumes.Verdict{}
	case v.Attempt.Number == 0:
		return v.begin()
	case v.Attempt.Dropped && v.counts():
		return v.again()
	case v.Attempt.Dropped:
		return v.begin()
	}
	return volumes.First(v.Release, v.take, v.restore)
}

// arrive completes the take-over of a restored volume that was pointed at the ordinal's claim, and removes what it
// was restored from.
func (v view) arrive() volumes.Verdict {
	return volumes.First(v.TakeOver, v.clearTaker, v.clearGiver, v.LetGo)
}

// begin begins another attempt, with another snapshot, once the one before was dropped.
func (v view) begin() volumes.Verdict {
	return volumes.First(v.clearTaker, v.clearGiver, v.Drop, func() volumes.Verdict { return volumes.Verdict{Attempt: v.Begun()} })
}

// again begins another attempt that restores the same snapshot, under other names.
func (v view) again() volumes.Verdict {
	return volumes.First(v.clearTaker, v.Drop, func() volumes.Verdict {
		next := v.Begun()
		next.Giver, next.Snapshot = v.Attempt.Giver, v.Attempt.Snapshot
		return volumes.Verdict{Attempt: next}
	})
}

// counts reports whether the recorded snapshot is of the giver's volume, and no pod could write to that volume
// since.
func (v view) counts() bool {
	taken, volume := v.Attempt.Snapshot, v.Giver.Volume
	return taken.Handle != "" && volume.Released != "" && taken.Released == volume.Released && taken.From == volumes.Disk(volume.Handle)
}

// take requests and records a snapshot of the giver's volume. The volume is released, so nothing mounts it
// under its ordinal's name.
func (v view) take() volumes.Verdict {
	if v.counts() {
		return volumes.Verdict{}
	}
	s, attachments := v.Snapshot.Taken, v.Giver.Volume.Attachments
	switch {
	case v.Attempt.Snapshot.Handle != "":
		return v.begin()
	case s.Found && !s.Ours:
		return volumes.Held(foreign("VolumeSnapshot", v.Giver, v.takenRef()))
	case s.Found && (s.Terminating || s.Released != v.Giver.Volume.Released || s.Claim != v.Outgoing.Ref.Name || len(attachments) > 0):
		return v.begin() // it may have been taken while a pod could write
	case len(attachments) > 0:
		return volumes.Awaits("volume %s is not attached to node %s any more", v.Giver.Volume.Name, attachments[0].Node)
	case !s.Found && v.Attempt.Begun != v.Fence:
		return v.begin() // the earlier request may still succeed
	case !s.Found:
		return v.ask()
	case !s.Ready || !s.Content.Found || s.Content.Handle == "" || s.Content.Size == nil:
		return volumes.Awaits("VolumeSnapshot %s is ready, with a handle and a size%s", named(v.takenRef()), says(s.Trouble, s.Content.Trouble))
	}
	return v.record()
}

// ask requests a snapshot.
func (v view) ask() volumes.Verdict {
	if problem := unable(v.Pair); problem != nil {
		return volumes.Held(problem)
	}
	verdict := v.on(volumes.CreateSnapshot, v.takenRef(), true)
	verdict.Action.Copy.Snapshot = volumes.SnapshotAction{Class: v.Snapshot.Giver.Class, Claim: v.Outgoing.Ref.Name, Released: v.Giver.Volume.Released}
	return verdict
}

// isOf reports whether a content was taken of a volume.
func isOf(c volumes.SnapshotContent, volume volumes.Volume) bool {
	driver, name := volumes.DriverOf(volume.Handle)
	return driver != "" && c.Driver == driver && c.Volume == name
}

// record makes the snapshot survive its content, and then records it.
func (v view) record() volumes.Verdict {
	s := v.Snapshot.Taken
	c, ref := s.Content, v.takenRef()
	switch {
	case !c.For.Names(ref) || c.For.UID != s.UID || !isOf(c, v.Giver.Volume):
		return volumes.Held(volumes.Stalled(
			volumes.ReasonForeignSnapshot,
			fmt.Sprintf("VolumeSnapshotContent %s, to which VolumeSnapshot %s is bound, is not for it or not of volume %s, but of %s/%s: it may hold other data", c.Name, named(ref), v.Giver.Volume.Name, c.Driver, c.Volume),
			fmt.Sprintf("find what created it (%s); then delete the VolumeSnapshot and keep its content: %s && %s; the migration then takes another one",
				v.Giver.Command("describe volumesnapshotcontent %s", c.Name), retainContent(v.Giver, c.Name), v.Giver.Command("delete volumesnapshot -n %s %s", ref.Namespace, ref.Name)),
		))
	case c.Terminating:
		return v.begin()
	case !c.Retain || c.Note.By != v.Owner:
		return v.keep(c)
	}
	next := v.Attempt
	next.Snapshot.Number, next.Snapshot.Driver, next.Snapshot.Handle, next.Snapshot.Content, next.Snapshot.Size = v.Attempt.Number, c.Driver, c.Handle, c.Name, *c.Size
	next.Snapshot.Released, next.Snapshot.From = v.Giver.Volume.Released, volumes.Disk(v.Giver.Volume.Handle)
	return volumes.Verdict{Attempt: &next}
}

// restore creates the incoming volume from the snapshot.
func (v view) restore() volumes.Verdict {
	if v.Sealed() {
		return v.removePlaceholder()
	}
	if v.Incoming.Parked() {
		return v.again() // it was about to be taken over, and its seal does not count any more
	}
	return volumes.First(v.known, v.filled, v.seal)
}

// known makes the snapshot known to the taker's cluster.
func (v view) known() volumes.Verdict {
	taken, c, ref, late := v.Attempt.Snapshot, v.Snapshot.Import.Content, v.importRef(), v.Attempt.Begun != v.Fence
	switch {
	case !c.Found && late:
		return v.again()
	case !c.Found:
		verdict := v.on(volumes.CreateContent, ref, false)
		verdict.Action.Copy.Snapshot = volumes.SnapshotAction{Driver: taken.Driver, Handle: taken.Handle}
		return verdict
	case !c.Ours:
		return volumes.Held(foreign("VolumeSnapshotContent", v.Taker, volumes.Ref{Name: ref.Name}))
	case c.Terminating || !c.Retain || c.Source != taken.Handle || c.Driver != taken.Driver || !c.For.Names(ref):
		return v.again()
	}
	return v.imported(late)
}

// imported creates a VolumeSnapshot for the content in the taker's cluster, and waits until it is ready.
func (v view) imported(late bool) volumes.Verdict {
	c, s, ref := v.Snapshot.Import.Content, v.Snapshot.Import, v.importRef()
	switch {
	case !s.Found && (late || c.For.UID != ""):
		return v.again() // a content that was bound once is never bound again
	case !s.Found:
		verdict := v.on(volumes.CreateImport, ref, false)
		verdict.Action.Copy.Snapshot = volumes.SnapshotAction{Content: c.Name}
		return verdict
	case !s.Ours:
		return volumes.Held(foreign("VolumeSnapshot", v.Taker, ref))
	case s.Terminating || c.For.UID != "" && c.For.UID != s.UID:
		return v.again()
	case !s.Ready || c.Handle != v.Attempt.Snapshot.Handle || c.For.UID != s.UID:
		return volumes.Awaits("the imported VolumeSnapshot %s is ready%s", named(ref), says(s.Trouble, c.Trouble))
	}
	return volumes.Verdict{}
}

// filled provides the incoming claim with a volume that is restored from the snapshot.
func (v view) filled() volumes.Verdict {
	in, at := v.Incoming, v.importRef().Name
	switch {
	case !in.Claim.Found && v.Attempt.Begun != v.Fence:
		return v.again()
	case !in.Claim.Found:
		verdict := v.on(volumes.CreateIncoming, in.Ref, false)
		a := &verdict.Action.Copy
		a.Class, a.Size, a.Snapshot.Source = v.Taker.Volume.Class, max(v.Asked.Size, v.Asked.Needed, v.Attempt.Snapshot.Size), at
		return verdict
	case !in.Claim.Ours || in.Claim.Terminating:
		return volumes.Held(volumes.Stalled(
			volumes.ReasonForeignClaim,
			fmt.Sprintf("claim %s, for a volume restored from a snapshot, was not created by this migration, or is being deleted", named(in.Ref)),
			"look at its data; to free the name and keep the disk: "+in.Delete(),
		))
	case v.Snapshot.Source != at:
		return volumes.Held(v.unrestored("claim %s does not name VolumeSnapshot %s as its data source: something has removed it", named(in.Ref), at))
	case !in.Bound() && v.WaitsForPod && !v.Placeholder.Found && v.Beside.Unplaced != "":
		return v.Beside.Wait(in.Ref)
	case !in.Bound() && v.WaitsForPod && !v.Placeholder.Found:
		verdict := v.on(volumes.CreateMover, in.Ref, false)
		verdict.Action.UID = in.Claim.UID
		verdict.Action.Copy.Role, verdict.Action.Copy.Attempt, verdict.Action.Copy.Pod = volumes.RolePlaceholder, v.Attempt.Number, v.placeholder()
		return verdict
	case !in.Bound():
		return volumes.Awaits("claim %s is bound to a volume restored from VolumeSnapshot %s%s (its events show what delays the driver: %s)",
			named(in.Ref), at, says(v.Placeholder.Trouble), in.Describe())
	}
	return volumes.Verdict{}
}

// seal records which volume was restored from the snapshot.
func (v view) seal() volumes.Verdict {
	in, taken := v.Incoming.Volume, v.Attempt.Snapshot
	if in.Chosen {
		return volumes.Held(v.unrestored("volume %s of claim %s existed before: the binder has chosen it, and it is not restored from the snapshot", in.Name, named(v.Incoming.Ref)))
	}
	driver, _ := volumes.DriverOf(in.Handle)
	if driver != taken.Driver || in.Handle == v.Giver.Volume.Handle {
		return volumes.Held(v.unrestored("volume %s of claim %s is of %q, and the snapshot is of CSI driver %s: its provisioner does not know the snapshot, and has created an empty volume", in.Name, named(v.Incoming.Ref), driver, taken.Driver))
	}
	next := v.Attempt
	next.Seal.Root, next.Seal.Released, next.Seal.Volume = api.SnapshotRoot+volumes.Disk(taken.Driver+"/"+taken.Handle), taken.Released, in.Name
	next.Seal.From, next.Seal.To = taken.From, volumes.Disk(in.Handle)
	return volumes.Verdict{Attempt: &next}
}

func (v view) unrestored(format string, a ...any) *volumes.Reason {
	return volumes.Stalled(
		volumes.ReasonNotRestored,
		fmt.Sprintf(format, a...),
		fmt.Sprintf("go back with spec.mode: Rollback, name a StorageClass of CSI driver %s for claim template %s, and look for webhooks that change claims", v.Attempt.Snapshot.Driver, v.Template),
	)
}
