package volumes

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// Place is what one side has of an ordinal's volume: what its claim names, and its cluster's volumes by name.
type Place struct {
	// Claimed is the volume that the claim names; empty: none.
	Claimed string
	Find    func(name string) Volume
}

// Called are the names of the volume of an ordinal's claim in two clusters: on the source the one that was recorded when the ordinal's
// handoff began, with a digest of its disk, or else the one that its claim names; where there is none, the destination's claim says.
func Called(source, destination Place, recorded, disk string) (onSource, onDestination string) {
	name := cmp.Or(recorded, source.Claimed)
	if name == "" && destination.Claimed != "" {
		name = destination.Claimed
		return NameThere(destination.naming(name, ""), source), name
	}
	if name != recorded {
		disk = ""
	}
	return name, NameThere(source.naming(name, disk), destination)
}

// naming is what is known of a volume of this side that needs a name on the other one: of one that is not there, its name, and its disk
// where that was recorded.
func (p Place) naming(name, disk string) Naming {
	if volume := p.Find(name); volume.Found {
		return NamingOf(volume)
	}
	return Naming{Name: name, Disk: disk}
}

// Naming is what is known of a disk whose volume needs a name in the other side's cluster.
type Naming struct {
	// Name is what its volume is called on the side that has it, and Noted what that volume says of the other side's; empty: nothing.
	Name, Noted string
	// Disk is a digest of its handle; empty: it is not known.
	Disk string
}

// NamingOf is the naming of a volume that was found.
func NamingOf(volume Volume) Naming {
	return Naming{Name: volume.Name, Noted: volume.There, Disk: Disk(volume.Handle)}
}

// NameThere is what the volume of a disk is, or will be, called in the other side's cluster: as on this side, but where that is
// the name of another disk there. Then it has its own disk in its name, so that the same one is found whatever is deleted since.
// A name that the claim there has already stays, and after it that of a volume that is there.
func NameThere(n Naming, there Place) string {
	if n.Name == "" {
		return ""
	}
	names := n.names()
	if there.Claimed != "" && (slices.Contains(names, there.Claimed) || there.Find(there.Claimed).There == n.Name) {
		return there.Claimed
	}
	for _, is := range []func(Volume) bool{n.itself, absent} {
		if at := slices.IndexFunc(names, func(name string) bool { return is(there.Find(name)) }); at >= 0 {
			return names[at]
		}
	}
	return n.Name
}

// names are those that the volume may have there, the first one first. Of one whose storage is not known its name is all that says
// which disk it is: it has no other one.
func (n Naming) names() []string {
	names := []string{cmp.Or(n.Noted, n.Name), n.Name}
	if n.Disk != "" && n.Disk != Disk(disk.Unknown(n.Name)) {
		names = append(names, OtherName(n.Name, n.Disk))
	}
	return names
}

// itself says whether a volume there is of the disk, or was made for it by this migration.
func (n Naming) itself(there Volume) bool {
	return there.Found && (there.Ours || n.Disk == "" || Disk(there.Handle) == n.Disk)
}

func absent(there Volume) bool { return !there.Found }

// longestName is the longest name that a volume may have.
const longestName = 253

// OtherName is the name of the volume of a disk where the name that it has on the other side is taken.
func OtherName(name, digest string) string {
	suffix := "-" + digest[:min(len(digest), 8)]
	return strings.TrimRight(name[:min(len(name), longestName-len(suffix))], "-.") + suffix
}

// CalledThere is a volume as it is called in the other side's cluster, for comparing it with those that are there.
func CalledThere(volume *corev1.PersistentVolume, name string) *corev1.PersistentVolume {
	if volume.Name == name {
		return volume
	}
	called := *volume
	called.Name = name
	return &called
}

// there is what the taker's volume is, or will be, called.
func (p Pair) there() string { return cmp.Or(p.Taker.Name, p.Giver.Volume.Name) }

// noted says whether the giver's volume tells what the taker's is called, or both are called alike.
func (p Pair) noted() bool {
	giver := p.Giver.Volume
	return cmp.Or(giver.There, giver.Name) == p.there()
}

// park takes the giver's volume from its claim. In the same write it is noted what the taker's will be called, where that is
// another name: whoever takes up after a crash finds what was made under it.
func (p Pair) park() Verdict {
	verdict := p.act(Park, p.Giver.Volume, Parked(p.Giver.Ref))
	if !p.noted() {
		verdict.Action.There = p.there()
	}
	return verdict
}

// create makes the taker's volume. It is made parked: a create has no resourceVersion that could refuse it when it comes too late,
// so what it makes must be of no use by itself.
func (p Pair) create() Verdict {
	if !p.noted() {
		return p.park()
	}
	verdict := p.act(CreateVolume, p.Giver.Volume, Parked(p.Taker.Ref))
	verdict.Action.Volume = p.there()
	return verdict
}
