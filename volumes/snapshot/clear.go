package snapshot

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/volumes"
)

// takenRef names the VolumeSnapshot at the giver's side, with the number of the attempt that has taken it.
func (v view) takenRef() volumes.Ref {
	number := v.Attempt.Number
	if v.Attempt.Snapshot.Number > 0 {
		number = v.Attempt.Snapshot.Number
	}
	return TakenRef(v.Giver.Ref, v.Owner, number)
}

func (v view) importRef() volumes.Ref { return ImportRef(v.Taker.Ref, v.Owner, v.Attempt.Number) }

func (v view) placeholder() string { return PlaceholderName(v.Taker.Ref, v.Owner, v.Attempt.Number) }

// on returns an action on a claim, a VolumeSnapshot or a content.
func (v view) on(verb volumes.Verb, ref volumes.Ref, atGiver bool) volumes.Verdict {
	verdict := v.Act(verb, atGiver)
	verdict.Action.Ref = ref
	return verdict
}

// onContent returns a write to a content, in the version that was judged.
func (v view) onContent(verb volumes.Verb, c volumes.SnapshotContent, atGiver bool) volumes.Verdict {
	verdict := v.on(verb, volumes.Ref{Name: c.Name}, atGiver)
	a := verdict.Action
	a.UID, a.ResourceVersion, a.Before, a.After = c.UID, c.ResourceVersion, c.State(), c.State()
	return verdict
}

// keep makes the snapshot survive its content, and notes the policy to restore.
func (v view) keep(c volumes.SnapshotContent) volumes.Verdict {
	verdict := v.onContent(volumes.RetainContent, c, true)
	after := &verdict.Action.After
	if after.Note.By != v.Owner {
		after.Note = volumes.Note{Policy: after.Policy, By: v.Owner}
	}
	after.Policy, after.Fence = corev1.PersistentVolumeReclaimRetain, v.Fence
	return verdict
}

// loosen restores the policy of a content.
func (v view) loosen(c volumes.SnapshotContent) volumes.Verdict {
	verdict := v.onContent(volumes.LoosenContent, c, true)
	verdict.Action.After.Policy, verdict.Action.After.Fence = c.Note.Policy, v.Fence
	return verdict
}

// clearTaker removes the objects that made the snapshot known at the taker: the placeholder, a claim that has
// no volume yet, and both objects for the snapshot, which retain it. It does not wait for their deletion.
func (v view) clearTaker() volumes.Verdict {
	s, in := v.Snapshot.Import, v.Incoming
	switch {
	case v.Placeholder.Found && !v.Placeholder.Foreign && !v.Placeholder.Terminating:
		return v.deletePlaceholder()
	case in.Claim.Found && in.Claim.Ours && !in.Claim.Terminating && in.Claim.Volume == "":
		// While the claim waits for its volume, the snapshot is kept by its finalizers.
		verdict := v.on(volumes.DeleteUnfilled, in.Ref, false)
		verdict.Action.UID, verdict.Action.ResourceVersion = in.Claim.UID, in.Claim.ResourceVersion
		return verdict
	}
	return volumes.First(
		func() volumes.Verdict { return v.deleteSnapshot(s, v.importRef(), false) },
		func() volumes.Verdict { return v.deleteContent(s.Content, false) },
	)
}

// clearGiver removes the snapshot objects where it was taken. The storage deletes the snapshot if its class
// says so.
func (v view) clearGiver() volumes.Verdict {
	s := v.Snapshot.Taken
	c := s.Content
	switch {
	case s.Found && !s.Ours || !s.Found && !c.Found:
		return volumes.Verdict{}
	case c.Found && !c.Terminating && c.Note.By == v.Owner && c.Retain && c.Note.Policy != corev1.PersistentVolumeReclaimRetain:
		return v.loosen(c)
	case s.Found:
		return v.deleteSnapshot(s, v.takenRef(), true)
	}
	if c.Note.By != v.Owner || !c.For.Names(v.takenRef()) {
		return volumes.Verdict{}
	}
	c.Ours = true // the VolumeSnapshot that it was created for was deleted by another client
	return v.deleteContent(c, true)
}

func (v view) deleteSnapshot(s volumes.Snapshot, ref volumes.Ref, atGiver bool) volumes.Verdict {
	if !s.Found || !s.Ours || s.Terminating {
		return volumes.Verdict{}
	}
	verdict := v.on(volumes.DeleteSnapshot, ref, atGiver)
	verdict.Action.UID, verdict.Action.ResourceVersion = s.UID, s.ResourceVersion
	return verdict
}

func (v view) deleteContent(c volumes.SnapshotContent, atGiver bool) volumes.Verdict {
	if !c.Found || !c.Ours || c.Terminating {
		return volumes.Verdict{}
	}
	return v.onContent(volumes.DeleteContent, c, atGiver)
}

// removePlaceholder deletes the placeholder. It is done when the placeholder does not exist.
func (v view) removePlaceholder() volumes.Verdict {
	switch {
	case !v.Placeholder.Found || v.Placeholder.Foreign:
		return volumes.Verdict{}
	case v.Placeholder.Terminating:
		return volumes.Awaits("the placeholder pod %s is deleted%s", v.placeholder(), volumes.KeptBy(v.Placeholder.Keeps))
	}
	return v.deletePlaceholder()
}

func (v view) deletePlaceholder() volumes.Verdict {
	verdict := v.on(volumes.DeleteMover, v.Incoming.Ref, false)
	a := verdict.Action
	a.UID, a.ResourceVersion = v.Placeholder.UID, v.Placeholder.ResourceVersion
	a.Copy.Role, a.Copy.Attempt, a.Copy.Pod = volumes.RolePlaceholder, v.Attempt.Number, v.placeholder()
	return verdict
}

func foreign(kind string, at volumes.Holding, ref volumes.Ref) *volumes.Reason {
	look := at.Command("describe volumesnapshotcontent %s", ref.Name)
	remove := retainContent(at, ref.Name) + " && " + at.Command("delete volumesnapshotcontent %s", ref.Name)
	if ref.Namespace != "" {
		look = at.Command("describe volumesnapshot -n %s %s", ref.Namespace, ref.Name)
		remove = retainContent(at, "CONTENT") + " && " + at.Command("delete volumesnapshot -n %s %s", ref.Namespace, ref.Name)
	}
	return volumes.Stalled(
		volumes.ReasonForeignSnapshot,
		fmt.Sprintf("%s %s exists, and this migration did not create it: it may hold other data", kind, named(ref)),
		fmt.Sprintf("inspect it and its content (%s); to free the name and keep the snapshot: %s", look, remove),
	)
}

// retainContent returns the command that makes a snapshot survive its VolumeSnapshotContent.
func retainContent(at volumes.Holding, name string) string {
	return at.Command(`patch volumesnapshotcontent %s --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`, name)
}

func named(ref volumes.Ref) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

// says formats the first trouble that objects report; empty if none does.
func says(troubles ...string) string {
	for _, trouble := range troubles {
		if trouble != "" {
			return ": " + trouble
		}
	}
	return ""
}
