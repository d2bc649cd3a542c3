package copy

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// onceOnly is why no second pod mounts a claim of that access mode.
const onceOnly = "its access mode is ReadWriteOncePod"

// restored is how long a driver may take to provide the claim that a first warm pass reads, unless the user
// requested snapshots.
const restored = 15 * time.Minute

// BaseRef names the claim that the warm passes of an attempt read instead of the ordinal's own, and the
// VolumeSnapshot that it is restored from. Both are beside the ordinal's claim, at the side that is copied
// from.
func BaseRef(claim volumes.Ref, owner types.UID, attempt int32) volumes.Ref {
	return volumes.Ref{Namespace: claim.Namespace, Name: volumes.AttemptName("base", claim, owner, attempt)}
}

func (v view) baseRef() volumes.Ref { return BaseRef(v.Giver.Ref, v.Owner, v.Attempt.Number) }

// auto reports whether the choice of how warm passes read is left to the method.
func (v view) auto() bool { return v.Asked.Warm == "" || v.Asked.Warm == api.CopyWarmAuto }

// based reports whether warm passes read a claim that was restored from a snapshot of the ordinal's.
func (v view) based() bool {
	return v.Attempt.Warm.By == api.CopyWarmSnapshot && (v.auto() || v.Asked.Warm == api.CopyWarmSnapshot)
}

// chooses reports whether warm passes must read a snapshot from now on, and one can be taken. Either the user
// requested it, or no second pod may mount the ordinal's claim, or a second pod was refused.
func (v view) chooses() bool {
	if v.Attempt.Number == 0 || v.Attempt.Warm.By == api.CopyWarmSnapshot || v.unbased() != "" {
		return false
	}
	return v.Asked.Warm == api.CopyWarmSnapshot || v.oncePod() || v.auto() && v.Attempt.Warm.Refused != ""
}

// choose records that choice and its reason, once no pod is left that was to mount the ordinal's claim.
func (v view) choose() volumes.Verdict {
	why := "copy.warm is Snapshot"
	if v.auto() {
		why = cmp.Or(v.Attempt.Warm.Refused, onceOnly)
	}
	return volumes.First(v.removeAll, func() volumes.Verdict {
		next := v.Attempt
		next.Warm = api.CopyWarm{By: api.CopyWarmSnapshot, Why: cut(why), Ended: metav1.NewTime(v.Now)}
		return volumes.Verdict{Attempt: &next}
	})
}

// unbased returns why no snapshot can be read instead of the ordinal's claim; empty if no reason is known. A
// snapshot or volume that would never be deleted is not created: this migration deletes nothing that the user
// has set to Retain.
func (v view) unbased() string {
	side := v.Snapshot.Giver
	driver, _ := volumes.DriverOf(v.Giver.Volume.Handle)
	switch {
	case driver == "":
		return fmt.Sprintf("volume %s has no CSI driver", v.Giver.Volume.Name)
	case side.Trouble != "":
		return fmt.Sprintf("cluster %s: %s", side.Cluster, side.Trouble)
	case !side.Asked:
		return "support for snapshots has not been checked"
	case !side.Served:
		return fmt.Sprintf("cluster %s has no API snapshot.storage.k8s.io/v1", side.Cluster)
	case side.Class == "":
		return side.Lacks
	}
	return side.Keeps
}

// base provides the claim that a warm pass reads. A snapshot of the ordinal's claim is taken while the ordinal
// runs, and is restored. Its content is crash-consistent; a warm pass proves nothing anyway. It is done when
// the claim can be mounted.
func (v view) base() volumes.Verdict {
	b, ref := v.Base, v.baseRef()
	s := b.Snapshot
	switch {
	case !v.warming || !v.based():
		return volumes.Verdict{}
	case s.Found && !s.Ours:
		return v.foreignBase("VolumeSnapshot", "volumesnapshot", ref)
	case b.Claim.Found && !b.Claim.Ours:
		return v.foreignBase("claim", "pvc", ref)
	case s.Terminating, b.Claim.Terminating, b.Claim.Found && !s.Found:
		return v.dropBase()
	case !s.Found && v.unbased() != "":
		return v.baseless(v.unbased())
	case v.late():
		return v.baseless(fmt.Sprintf("VolumeSnapshot %s/%s was not taken and restored within %s%s", ref.Namespace, ref.Name, restored, says(s.Trouble)))
	case !s.Found:
		verdict := v.onBase(volumes.TakeBase)
		verdict.Action.Copy.Snapshot = volumes.SnapshotAction{Class: v.Snapshot.Giver.Class, Claim: v.Giver.Ref.Name}
		return verdict
	case !s.Ready:
		return v.slowly(volumes.Awaits("VolumeSnapshot %s/%s, which the warm pass reads, is ready%s; the ordinal runs", ref.Namespace, ref.Name, says(s.Trouble)))
	case !b.Claim.Found:
		verdict := v.onBase(volumes.RestoreBase)
		verdict.Action.Copy.Snapshot.Source = ref.Name
		return verdict
	}
	return volumes.Verdict{}
}

// late reports whether the first such claim is not there long after the receiver was created for it, and the
// user did not request snapshots.
func (v view) late() bool {
	return v.auto() && v.Attempt.Warm.Passes == 0 && v.Warm.Key == "" && v.Now.Sub(v.Receiver.Made) > restored
}

// baseless handles a snapshot that cannot be read. The ordinal is then stopped for the whole copy. If the user
// requested snapshots, it is not stopped at all.
func (v view) baseless(why string) volumes.Verdict {
	if v.auto() {
		return v.cold(why)
	}
	return blocked(volumes.ReasonCopyNotWarm,
		fmt.Sprintf("no warm pass can read a snapshot of claim %s/%s: %s. copy.warm of claim template %s is Snapshot, so its ordinal is not stopped before a warm pass", v.Giver.Ref.Namespace, v.Giver.Ref.Name, why, v.Template),
		fmt.Sprintf("create a VolumeSnapshotClass of its driver there with deletionPolicy: Delete, and a StorageClass with reclaimPolicy: Delete; to copy without warm passes: copy.warm: None in spec.volumes, or --volume %s=copy,warm=none", v.Template))
}

// dropBase deletes that claim, and then the snapshot. It is done when neither exists.
func (v view) dropBase() volumes.Verdict {
	b, ref := v.Base, v.baseRef()
	switch verdict := v.dismissBase(); {
	case !verdict.Done():
		return verdict
	case b.Claim.Found && b.Claim.Ours:
		return v.slowly(volumes.Awaits("claim %s/%s, which a warm pass has read, is deleted%s", ref.Namespace, ref.Name, volumes.KeptBy(b.Claim.Keeps)))
	case b.Snapshot.Found && b.Snapshot.Ours:
		return v.slowly(volumes.Awaits("VolumeSnapshot %s/%s, which a warm pass has read, is deleted%s%s", ref.Namespace, ref.Name, volumes.KeptBy(b.Snapshot.Keeps), says(b.Snapshot.Trouble)))
	}
	return volumes.Verdict{}
}

// dismissBase deletes both, and waits for nothing.
func (v view) dismissBase() volumes.Verdict {
	b := v.Base
	if b.Claim.Found && b.Claim.Ours && !b.Claim.Terminating {
		verdict := v.onBase(volumes.DropBase)
		verdict.Action.UID, verdict.Action.ResourceVersion = b.Claim.UID, b.Claim.ResourceVersion
		return verdict
	}
	if b.Snapshot.Found && b.Snapshot.Ours && !b.Snapshot.Terminating {
		verdict := v.onBase(volumes.DropBaseSnapshot)
		verdict.Action.UID, verdict.Action.ResourceVersion = b.Snapshot.UID, b.Snapshot.ResourceVersion
		return verdict
	}
	return volumes.Verdict{}
}

func (v view) onBase(verb volumes.Verb) volumes.Verdict {
	verdict := v.Act(verb, true)
	verdict.Action.Ref, verdict.Action.Copy.Attempt = v.baseRef(), v.Attempt.Number
	return verdict
}

// foreignBase returns the problem of an object under one of this migration's names that it has not created.
func (v view) foreignBase(kind, resource string, ref volumes.Ref) volumes.Verdict {
	return blocked(volumes.ReasonForeignSnapshot,
		fmt.Sprintf("%s %s/%s has a name that a warm pass needs, and this migration did not create it: its content is unknown", kind, ref.Namespace, ref.Name),
		"the migration does not delete it: recreate that object under another name: "+v.Giver.Command("describe %s -n %s %s", resource, ref.Namespace, ref.Name))
}

// says formats the trouble that an object reports; empty if none.
func says(trouble string) string {
	if trouble == "" {
		return ""
	}
	return ": " + trouble
}
