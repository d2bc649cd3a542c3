package snapshot

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/volumes"
)

// takenRef is the VolumeSnapshot at the giver's side: that of the attempt that has taken it.
func (v view) takenRef() volumes.Ref {
	number := v.Attempt.Number
	if v.Attempt.Snapshot.Number > 0 {
		number = v.Attempt.Snapshot.Number
	}
	return TakenRef(v.Giver.Ref, v.Owner, number)
}

func (v view) importRef() volumes.Ref { return ImportRef(v.Taker.Ref, v.Owner, v.Attempt.Number) }

func (v view) placeholder() string { return PlaceholderName(v.Taker.Ref, v.Owner, v.Attempt.Number) }

// on is an action on a claim, a VolumeSnapshot or a content.
func (v view) on(verb volumes.Verb, ref volumes.Ref, atGiver bool) volumes.Verdict {
	verdict := v.Act(verb, atGiver)
	verdict.Action.Ref = ref
	return verdict
}

// onContent is a write to a content as it was judged.
func (v view) onContent(verb volumes.Verb, c volumes.SnapshotContent, atGiver bool) volumes.Verdict {
	verdict := v.on(verb, volumes.Ref{Name: c.Name}, atGiver)
	a := verdict.Action
	a.UID, a.ResourceVersion, a.Note = c.UID, c.ResourceVersion, c.Note
	if verb == volumes.RetainContent && a.Note.By != v.Owner {
		a.Note = volumes.Note{Policy: policy(c.Retain), By: v.Owner}
	}
	return verdict
}

// clearTaker removes what has brought the snapshot to the taker: the placeholder, a claim that has no volume yet,
// and both objects for the snapshot, which retain it. It waits for none of them to be gone.
func (v view) clearTaker() volumes.Verdict {
	s, in := v.Snapshot.Import, v.Incoming
	switch {
	case v.Placeholder.Found && !v.Placeholder.Foreign && !v.Placeholder.Terminating:
		return v.deletePlaceholder()
	case in.Claim.Found && in.Claim.Ours && !in.Claim.Terminating && in.Claim.Volume == "":
		// While it waits for its volume nothing lets go of the snapshot.
		verdict := v.on(volumes.DeleteUnfilled, in.Ref, false)
		verdict.Action.UID, verdict.Action.ResourceVersion = in.Claim.UID, in.Claim.ResourceVersion
		return verdict
	}
	return volumes.First(
		func() volumes.Verdict { return v.deleteSnapshot(s, v.importRef(), false) },
		func() volumes.Verdict { return v.deleteContent(s.Content, false) },
	)
}

// clearGiver removes the snapshot where it was taken, and from the storage if that is what its class is for.
func (v view) clearGiver() volumes.Verdict {
	s := v.Snapshot.Taken
	c := s.Content
	switch {
	case s.Found && !s.Ours || !s.Found && !c.Found:
		return volumes.Verdict{}
	case c.Found && !c.Terminating && c.Note.By == v.Owner && c.Retain && c.Note.Policy != policy(true):
		return v.onContent(volumes.LoosenContent, c, true)
	case s.Found:
		return v.deleteSnapshot(s, v.takenRef(), true)
	}
	if c.Note.By != v.Owner || !c.For.Names(v.takenRef()) {
		return volumes.Verdict{}
	}
	c.Ours = true // somebody has deleted the VolumeSnapshot that it was made for
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

// removePlaceholder deletes the placeholder; done: it is gone.
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

func blockedBy(problem *volumes.Problem) volumes.Verdict { return volumes.Verdict{Blocked: problem} }

func foreign(kind string, at volumes.Holding, ref volumes.Ref) *volumes.Problem {
	look := at.Command("describe volumesnapshotcontent %s", ref.Name)
	remove := retainContent(at, ref.Name) + " && " + at.Command("delete volumesnapshotcontent %s", ref.Name)
	if ref.Namespace != "" {
		look = at.Command("describe volumesnapshot -n %s %s", ref.Namespace, ref.Name)
		remove = retainContent(at, "CONTENT") + " && " + at.Command("delete volumesnapshot -n %s %s", ref.Namespace, ref.Name)
	}
	return &volumes.Problem{
		Reason:  volumes.ReasonForeignSnapshot,
		Message: fmt.Sprintf("%s %s exists, and this migration has not made it: it may hold somebody else's data", kind, named(ref)),
		Remedy:  fmt.Sprintf("look at it, and at its content (%s); to free the name and keep the snapshot: %s", look, remove),
	}
}

// retainContent is the command that has a snapshot survive its VolumeSnapshotContent.
func retainContent(at volumes.Holding, name string) string {
	return at.Command(`patch volumesnapshotcontent %s --type=merge -p '{"spec":{"deletionPolicy":"Retain"}}'`, name)
}

func named(ref volumes.Ref) string {
	if ref.Namespace == "" {
		return ref.Name
	}
	return ref.Namespace + "/" + ref.Name
}

// says is what objects say of their trouble; empty: nothing.
func says(troubles ...string) string {
	for _, trouble := range troubles {
		if trouble != "" {
			return ": " + trouble
		}
	}
	return ""
}

// policy is a reclaim policy by the name that the deletionPolicy of a content has as well.
func policy(retain bool) corev1.PersistentVolumeReclaimPolicy {
	if retain {
		return corev1.PersistentVolumeReclaimRetain
	}
	return corev1.PersistentVolumeReclaimDelete
}
