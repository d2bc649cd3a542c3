package volumes

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshotting is what is known of the snapshot by which a claim moves, besides Copying.
type Snapshotting struct {
	// Giver and Taker are what both sides' clusters can do. They are those of the pair, also where the move has
	// turned round.
	Giver, Taker SnapshotSide
	// Taken is the VolumeSnapshot that was taken at the side that the attempt's ordinal has left, and Import the
	// one by which the other side knows it.
	Taken, Import Snapshot
	// Source is the VolumeSnapshot that the incoming claim is filled from, as that claim says; empty: from none.
	Source string
}

// SnapshotSide is what a cluster can do with snapshots of the volumes of a claim template.
type SnapshotSide struct {
	// Cluster is its name, for messages.
	Cluster string
	// Asked is true when it has answered, and Trouble is why it has not.
	Asked   bool
	Trouble string
	// Served is true when it has the API snapshot.storage.k8s.io/v1.
	Served bool
	// Class is the VolumeSnapshotClass by which a snapshot is taken there; empty: none can be, and Lacks says why.
	Class string
	Lacks string
	// Keeps is why what is made there of a snapshot, or the snapshot itself, would stay when its object is deleted;
	// empty: it goes.
	Keeps string
}

// SnapshotClass is what matters of a VolumeSnapshotClass.
type SnapshotClass struct {
	Name, Driver string
	// Default is true for the one that is used where none is named.
	Default bool
	// Retains is true where snapshots survive their objects.
	Retains bool
}

// ChooseClass chooses the class by which a driver's volumes are snapshotted: the one that is asked for, or else
// the driver's default one, or its only one.
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
	return "", fmt.Sprintf("several VolumeSnapshotClasses are of CSI driver %s, and not one of them alone is the default: %s", driver, strings.Join(names, ", "))
}

// DriverOf is the CSI driver of a handle, and what that driver calls the volume; empty: it is of none.
func DriverOf(handle string) (driver, volume string) {
	driver, volume, is := strings.Cut(handle, "/")
	if !is || strings.ContainsAny(driver, " {") {
		return "", ""
	}
	if at := strings.LastIndex(volume, " {"); at >= 0 && strings.HasSuffix(volume, "}") {
		volume = volume[:at] // what its attributes tell
	}
	return driver, volume
}

// Snapshot is what matters of a VolumeSnapshot, with its content.
type Snapshot struct {
	Found, Terminating bool
	// Keeps are the finalizers that keep it while it is Terminating.
	Keeps           []string
	UID             types.UID
	ResourceVersion string
	// Ours is true when this migration created it.
	Ours bool
	// Claim is the claim that it was asked for of, and Released the fence under which the volume of that had been
	// released then.
	Claim, Released string
	// Ready is status.readyToUse. It proves nothing by itself: a driver that cannot list snapshots says so of any
	// handle (external-snapshotter pkg/snapshotter, GetSnapshotStatus).
	Ready bool
	// Trouble is what stands in its way, as it says.
	Trouble string
	Content SnapshotContent
}

// SnapshotContent is what matters of a VolumeSnapshotContent.
type SnapshotContent struct {
	Found, Terminating bool
	Name               string
	UID                types.UID
	ResourceVersion    string
	// Ours is true when this migration created it.
	Ours bool
	// Driver and Volume are what it was taken of, and Source is the snapshot that it was made for by hand.
	Driver, Volume, Source string
	// Handle is the snapshot that it is, and Size how many bytes a volume must have to hold it; nil: nobody has
	// said, 0: the driver does not know.
	Handle string
	Size   *int64
	// Retain is true when the snapshot survives it, and Note the policy to go back to.
	Retain bool
	Note   Note
	// For is the VolumeSnapshot that it is for, with the UID of the one that it was bound to. It is never another
	// one's after that.
	For Ref
	// Trouble is what stands in its way, as it says.
	Trouble string
}

// SnapshotAsked is what a person wants of the restored volumes.
type SnapshotAsked struct {
	// Size is theirs in bytes, and Needed that of the giver's; 0: nobody has said.
	Size, Needed int64
}

// RolePlaceholder is a pod that has a claim get its volume, and mounts nothing of it.
const RolePlaceholder Role = "placeholder"

// The verbs of method Snapshot, besides those of Copy that are not about movers.
const (
	// CreateSnapshot takes a snapshot of the volume of the outgoing claim.
	CreateSnapshot Verb = "CreateSnapshot"
	// RetainContent has the snapshot survive its content, and LoosenContent gives that its policy back.
	RetainContent Verb = "RetainContent"
	LoosenContent Verb = "LoosenContent"
	// CreateContent and CreateImport make the snapshot known at the taker.
	CreateContent Verb = "CreateContent"
	CreateImport  Verb = "CreateImport"
	// DeleteSnapshot and DeleteContent delete what was made for an attempt. The storage loses the snapshot with a
	// VolumeSnapshot whose content does not retain it.
	DeleteSnapshot Verb = "DeleteSnapshot"
	DeleteContent  Verb = "DeleteContent"
	// DeleteUnfilled deletes an incoming claim that has no volume yet.
	DeleteUnfilled Verb = "DeleteUnfilled"
)

// WrittenContent is what RetainContent and LoosenContent make of a content, but for its resourceVersion.
func (a Action) WrittenContent(c SnapshotContent) SnapshotContent {
	c.Retain, c.Note = a.Verb == RetainContent || a.Note.Policy == corev1.PersistentVolumeReclaimRetain, a.Note
	return c
}

// SnapshotAction is what an action of method Snapshot needs besides.
type SnapshotAction struct {
	// Class and Released are for CreateSnapshot, and Claim is what that is taken of.
	Class, Released, Claim string
	// Driver and Handle are for CreateContent, and Content is for CreateImport.
	Driver, Handle, Content string
	// Source is the VolumeSnapshot that CreateIncoming fills a claim from.
	Source string
}
