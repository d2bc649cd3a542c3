// Package snapshot decides how the data of one claim get from the giver to the taker by a snapshot of the
// storage: method Snapshot.
//
// The taker's volume is restored from the snapshot under another name, and is then rebound, like a copy:
//
//	stop      the ordinal is scaled down, its pod and attachments are deleted; its volume is pointed at the
//	          outgoing claim
//	snapshot  a VolumeSnapshot of the outgoing claim; it is ready and has a handle; its content is set to Retain
//	import    a VolumeSnapshotContent for that handle in the taker's cluster, and a VolumeSnapshot on it
//	restore   the incoming claim is filled from that one; if its class waits for a pod, a placeholder that
//	          mounts nothing is scheduled like the ordinal
//	take over the incoming volume is parked, then pointed at the ordinal's claim
//
// Until the take-over the ordinal can go back: the giver's volume is intact, and is pointed back.
//
// These rules keep the data safe:
//
//   - A snapshot is requested only if the giver's volume has been released and is attached nowhere. It counts
//     for that one release only: a driver may take it long after the request. If the volume was given back in
//     between, a pod may have written to it. A snapshot that existed while the volume was attached does not
//     count.
//   - The snapshot must be of the giver's very disk and must have a handle. Its content must have been read
//     back as Retain before the taker knows of it. Deleting the VolumeSnapshot then does not delete the data
//     that the taker restores.
//   - A content that was bound once is never bound again. A lost VolumeSnapshot therefore needs an attempt
//     under new names, which restores the same snapshot.
//   - Each object is created under the fence under which its attempt began, or not at all. A late one has a
//     name that is no longer used.
//   - A volume counts as restored if it is of the snapshot's driver and its claim still names the snapshot. A
//     provisioner that does not support data sources fills a claim with an empty volume.
//   - Of two contents for one snapshot, one is deleted with it at the end: the content on the side where it
//     was taken, once its own policy is restored. The other content always retains it.
//
// This package is pure: the same pair gives the same verdict.
package snapshot

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// Snapshot is the method that moves data by a snapshot, without its writes.
type Snapshot struct{ volumes.Second }

// Check returns why a claim cannot move by a snapshot, or nil.
func (s Snapshot) Check(pair volumes.Pair, at volumes.Moment) (*volumes.Reason, []volumes.Reason) {
	refused, _ := s.Second.Check(pair, at)
	if at == volumes.BeforeMove {
		refused = cmp.Or(refused, unable(pair))
	}
	return refused, nil
}

// Ahead restores a volume from a snapshot once the ordinal is stopped.
func (Snapshot) Ahead(pair volumes.Pair, goal volumes.Goal) volumes.Verdict {
	v := view{volumes.HandingOf(pair)}
	switch goal {
	case volumes.Filled:
		return v.fill()
	case volumes.Dropped:
		return volumes.First(v.clearTaker, v.clearGiver, v.Tidy)
	default:
		return volumes.Verdict{}
	}
}

// Prepare makes the giver's volume survive the loss of its claim.
func (Snapshot) Prepare(pair volumes.Pair) volumes.Verdict {
	if problem := cmp.Or(volumes.Usable(pair.Giver), unable(pair)); problem != nil {
		return volumes.Held(problem)
	}
	h := volumes.Handing{Pair: pair} // a restore in the other direction is over
	return h.Secure(pair.Giver)
}

// unable returns why no snapshot of the giver's volume can be taken, or restored at the taker; nil if no reason
// is known.
func unable(pair volumes.Pair) *volumes.Reason {
	driver, _ := volumes.DriverOf(pair.Giver.Volume.Handle)
	if driver == "" {
		return volumes.Stalled(
			volumes.ReasonSnapshotUnsupported,
			fmt.Sprintf("volume %s of claim %s/%s has no CSI driver: only CSI drivers take snapshots that another cluster can import", pair.Giver.Volume.Name, pair.Giver.Ref.Namespace, pair.Giver.Ref.Name),
			fmt.Sprintf("name another method for claim template %s in spec.volumes: Copy needs no driver", pair.Template),
		)
	}
	if pair.Copy == nil {
		return unknown(pair, "they have not been checked")
	}
	seen := pair.Copy.Snapshot
	if barred := pair.Giver.Volume.Barred; barred != (volumes.Reason{}) {
		return &barred
	}
	return cmp.Or(cannot(pair, seen.Giver), cannot(pair, seen.Taker), classless(pair, seen.Giver, driver), tooSmall(pair))
}

func unknown(pair volumes.Pair, why string) *volumes.Reason {
	return volumes.Stalled(
		volumes.ReasonSnapshotsNotServed,
		"it is unknown whether both clusters can take and import snapshots: "+why,
		fmt.Sprintf("check it: kubectl migrate plan, with --volume %s=snapshot", pair.Template),
	)
}

// cannot returns the problem of a cluster without snapshot support.
func cannot(pair volumes.Pair, side volumes.SnapshotSide) *volumes.Reason {
	switch {
	case side.Trouble != "":
		return unknown(pair, fmt.Sprintf("cluster %s: %s", side.Cluster, side.Trouble))
	case !side.Asked:
		return unknown(pair, "they have not been checked")
	case side.Served:
		return nil
	}
	return volumes.Stalled(
		volumes.ReasonSnapshotsNotServed,
		fmt.Sprintf("cluster %s has no API snapshot.storage.k8s.io/v1: nothing takes or restores snapshots there", side.Cluster),
		fmt.Sprintf("install the CustomResourceDefinitions and the snapshot-controller of kubernetes-csi/external-snapshotter there, and the driver's csi-snapshotter; or name another method for claim template %s in spec.volumes", pair.Template),
	)
}

// classless returns the problem of a cluster without a snapshot class for the driver.
func classless(pair volumes.Pair, side volumes.SnapshotSide, driver string) *volumes.Reason {
	if side.Class != "" {
		return nil
	}
	return volumes.Stalled(
		volumes.ReasonSnapshotClassMissing,
		fmt.Sprintf("no snapshot of claim %s/%s can be taken in cluster %s: %s", pair.Giver.Ref.Namespace, pair.Giver.Ref.Name, side.Cluster, side.Lacks),
		fmt.Sprintf("create a VolumeSnapshotClass of driver %[1]s there, or name an existing one: --volume %[2]s=snapshot,class=CLASS, or snapshot.className for claim template %[2]s in spec.volumes", driver, pair.Template),
	)
}

func tooSmall(pair volumes.Pair) *volumes.Reason {
	asked := pair.Copy.Asked
	if asked.Size == 0 || asked.Size >= asked.Needed {
		return nil
	}
	return volumes.Stalled(
		volumes.ReasonCopySizeTooSmall,
		fmt.Sprintf("snapshot.size of claim template %s is %d bytes, and claim %s/%s has %d: no driver restores into less", pair.Template, asked.Size, pair.Giver.Ref.Namespace, pair.Giver.Ref.Name, asked.Needed),
		"ask for at least as much, or leave snapshot.size out",
	)
}

// TakenRef names the VolumeSnapshot of an attempt, beside the ordinal's claim at the side that it leaves.
func TakenRef(claim volumes.Ref, owner types.UID, attempt int32) volumes.Ref {
	return volumes.Ref{Namespace: claim.Namespace, Name: volumes.AttemptName("snapshot", claim, owner, attempt)}
}

// ImportRef names the VolumeSnapshot by which the other side knows it; its content has the same name.
func ImportRef(claim volumes.Ref, owner types.UID, attempt int32) volumes.Ref {
	return volumes.Ref{Namespace: claim.Namespace, Name: volumes.AttemptName("import", claim, owner, attempt)}
}

// PlaceholderName returns the name of the pod for which an attempt's incoming claim gets its volume.
func PlaceholderName(claim volumes.Ref, owner types.UID, attempt int32) string {
	return volumes.AttemptName(string(volumes.RolePlaceholder), claim, owner, attempt)
}
