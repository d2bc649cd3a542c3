package volumes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshotting describes the snapshot by which a claim moves. It extends Copying.
type Snapshotting struct {
	// Giver and Taker describe the snapshot support of the two clusters. They are those of the pair, also if
	// the move has been reversed.
	Giver, Taker SnapshotSide
	// Taken is the VolumeSnapshot that was taken at the side that the attempt's ordinal has left. Import is the
	// VolumeSnapshot by which the other side knows it.
	Taken, Import Snapshot
	// Source is the VolumeSnapshot that the incoming claim names as its data source; empty if none.
	Source string
}

// SnapshotSide describes the support of a cluster for snapshots of the volumes of a claim template.
type SnapshotSide struct {
	// Cluster is its name, for messages.
	Cluster string
	// Asked is true if the cluster has answered; Trouble is why it has not.
	Asked   bool
	Trouble string
	// Served is true if it has the API snapshot.storage.k8s.io/v1.
	Served bool
	// Class is the VolumeSnapshotClass by which a snapshot is taken there. If it is empty, none can be taken,
	// and Lacks is the reason.
	Class string
	Lacks string
	// Keeps is why a snapshot there, or a volume restored from it, would remain after its object is deleted;
	// empty if both are deleted.
	Keeps string
}

// SnapshotClass holds the fields of a VolumeSnapshotClass that decisions need.
type SnapshotClass struct {
	Name, Driver string
	// Default is true for the class that is used if none is named.
	Default bool
	// Retains is true if snapshots survive their objects.
	Retains bool
}

// ChooseClass returns the class by which a driver's volumes are snapshotted: the requested one, or else the
// driver's default, or its only one.
func ChooseClass(classes []SnapshotClass, driver, asked string) (class, lacks string) {
	var names, defaults []string
	for _, c := range classes {
		if asked != "" && c.Name == asked && c.Driver != driver {
			return "", fmt.Sprintf("VolumeSnapshotClass %s is of CSI driver %s, and the volumes are of %s", asked, c.Driver, driver)
		}
		if c.Driver != driver {
			continue
		}
		names = append(names, c.Name)
		if c.Default {
			defaults = append(defaults, c.Name)
		}
	}
	slices.Sort(names)
	switch {
	case asked != "" && slices.Contains(names, asked):
		return asked, ""
	case asked != "":
		return "", "there is no VolumeSnapshotClass " + asked
	case len(defaults) == 1:
		return defaults[0], ""
	case len(names) == 1:
		return names[0], ""
	case len(names) == 0:
		return "", "no VolumeSnapshotClass is of CSI driver " + driver
	}
	return "", fmt.Sprintf("several VolumeSnapshotClasses are of CSI driver %s, and none of them alone is the default: %s", driver, strings.Join(names, ", "))
}

// DriverOf returns the CSI driver of a handle, and the driver's name for the volume. Both are empty if it is of
// no CSI driver.
func DriverOf(handle string) (driver, volume string) {
	driver, volume, is := strings.Cut(handle, "/")
	if !is || strings.ContainsAny(driver, " {") {
		return "", ""
	}
	if at := strings.LastIndex(volume, " {"); at >= 0 && strings.HasSuffix(volume, "}") {
		volume = volume[:at] // the volume attributes
	}
	return driver, volume
}

// Snapshot holds the fields of a VolumeSnapshot that decisions need, with its content.
type Snapshot struct {
	Found, Terminating bool
	// Keeps are the finalizers that keep it while it is Terminating.
	Keeps           []string
	UID             types.UID
	ResourceVersion string
	// Ours is true if this migration created it.
	Ours bool
	// Claim is the claim that it was requested for. Released is the release mark of that claim's volume at that
	// time.
	Claim, Released string
	// Ready is status.readyToUse. It proves nothing alone: a driver that cannot list snapshots reports it for
	// any handle (external-snapshotter pkg/snapshotter, GetSnapshotStatus).
	Ready bool
	// Trouble is the error in its status.
	Trouble string
	Content SnapshotContent
}

// SnapshotContent holds the fields of a VolumeSnapshotContent that decisions need.
type SnapshotContent struct {
	Found, Terminating bool
	Name               string
	UID                types.UID
	ResourceVersion    string
	// Ours is true if this migration created it.
	Ours bool
	// Driver and Volume identify the volume that it was taken of. Source is the snapshot handle in its spec if
	// it was created for an existing snapshot.
	Driver, Volume, Source string
	// Handle is its snapshot's handle, and Size the least capacity of a volume for it, in bytes. Size is nil if
	// it is not reported, and 0 if the driver does not know it.
	Handle string
	Size   *int64
	// Retain is true if the snapshot survives it. Note is the policy to restore.
	Retain bool
	Note   Note
	// For is the VolumeSnapshot that it is bound to, with the UID once it was bound. It can never be bound to
	// another one after that.
	For Ref
	// Trouble is the error in its status.
	Trouble string
}

// RolePlaceholder is a pod for whose claim a volume is provisioned, and which mounts nothing of it.
const RolePlaceholder Role = "placeholder"

// State returns the fields of the content that migrations write.
func (c SnapshotContent) State() State {
	policy := corev1.PersistentVolumeReclaimDelete
	if c.Retain {
		policy = corev1.PersistentVolumeReclaimRetain
	}
	return State{Policy: policy, Note: c.Note}
}

// In returns the content in another state.
func (c SnapshotContent) In(s State) SnapshotContent {
	c.Retain, c.Note = s.Policy == corev1.PersistentVolumeReclaimRetain, s.Note
	return c
}

// SnapshotAction holds the fields of an action of method Snapshot.
type SnapshotAction struct {
	// Class, Released and Claim are for CreateSnapshot; Claim is the claim whose volume is snapshotted.
	Class, Released, Claim string
	// Driver and Handle are for CreateContent, and Content is for CreateImport.
	Driver, Handle, Content string
	// Source is the VolumeSnapshot that CreateIncoming fills a claim from.
	Source string
}
