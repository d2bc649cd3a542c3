package volumes

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/internal/disk"
)

// Place holds one side's view of an ordinal's volume: the name in its claim, and its cluster's volumes by name.
type Place struct {
	// Claimed is the volume that the claim names; empty if none.
	Claimed string
	Find    func(name string) Volume
}

// Called returns the names of an ordinal's volume in two clusters. On the source it is the name that was
// recorded when the handoff began, together with a digest of the disk. If none was recorded, it is the name in
// the source's claim, and after that the name in the destination's claim.
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

// naming returns the Naming of a volume on this side. If the volume does not exist, it holds its name, and its
// disk if that was recorded.
func (p Place) naming(name, disk string) Naming {
	if volume := p.Find(name); volume.Found {
		return NamingOf(volume)
	}
	return Naming{Name: name, Disk: disk}
}

// Naming describes a disk whose volume needs a name in the other side's cluster.
type Naming struct {
	// Name is the volume's name on the side that has it. Noted is the name of the other side's volume as noted
	// on it; empty if not noted.
	Name, Noted string
	// Disk is a digest of its handle; empty if it is not known.
	Disk string
}

// NamingOf returns the naming of a volume that was found.
func NamingOf(volume Volume) Naming {
	return Naming{Name: volume.Name, Noted: volume.There, Disk: Disk(volume.Handle)}
}

// NameThere returns the present or future name of a disk's volume in the other side's cluster. It is the same
// name as on this side, unless another disk has that name there. Then the name contains a digest of the disk,
// so that the same name is found whatever has been deleted since. A name in the claim there takes precedence,
// and after it the name of a volume that exists there.
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

// names returns the names that the volume may have there, in order of preference. If the storage is unknown,
// the name alone identifies the disk, so there is no other name.
func (n Naming) names() []string {
	names := []string{cmp.Or(n.Noted, n.Name), n.Name}
	if n.Disk != "" && n.Disk != Disk(disk.Unknown(n.Name)) {
		names = append(names, OtherName(n.Name, n.Disk))
	}
	return names
}

// itself reports whether a volume there is the same disk, or was created for it by this migration.
func (n Naming) itself(there Volume) bool {
	return there.Found && (there.Ours || n.Disk == "" || Disk(there.Handle) == n.Disk)
}

func absent(there Volume) bool { return !there.Found }

// longestName is the maximum length of a volume's name.
const longestName = 253

// OtherName returns the name of a disk's volume for a cluster in which its first name is taken.
func OtherName(name, digest string) string {
	suffix := "-" + digest[:min(len(digest), 8)]
	return strings.TrimRight(name[:min(len(name), longestName-len(suffix))], "-.") + suffix
}

// CalledThere returns a volume under its name in the other side's cluster, for comparison with the volumes
// there.
func CalledThere(volume *corev1.PersistentVolume, name string) *corev1.PersistentVolume {
	if volume.Name == name {
		return volume
	}
	called := *volume
	called.Name = name
	return &called
}

// there returns the present or future name of the taker's volume.
func (p Pair) there() string { return cmp.Or(p.Taker.Name, p.Giver.Volume.Name) }

// noted reports whether the name of the taker's volume can be found from the giver's: it is noted there, or is
// the same.
func (p Pair) noted() bool {
	giver := p.Giver.Volume
	return cmp.Or(giver.There, giver.Name) == p.there()
}

// leave takes the giver's volume from its claim. If the taker's volume has another name, the same write notes
// that name. After a crash, the next process then finds the volume that was created under it.
func (p Pair) leave() Verdict {
	verdict := p.park(p.Giver)
	if !p.noted() {
		verdict.Action.After.There = p.there()
	}
	return verdict
}

// provide creates the taker's volume. The volume is created parked: a create has no resourceVersion by which a
// late one would be refused, so its result must not be usable without a further write.
func (p Pair) provide() Verdict {
	if !p.noted() {
		return p.leave()
	}
	from := p.Giver.Volume
	verdict := p.create(CreateVolume, p.there(), Parked(p.Taker.Ref))
	verdict.Action.UID, verdict.Action.ResourceVersion = from.UID, from.ResourceVersion
	return verdict
}

// create returns an action that creates a volume, or a claim that names one.
func (p Pair) create(verb Verb, volume string, ref Ref) Verdict {
	return Verdict{Action: &Action{Verb: verb, Volume: volume, Ref: ref, Fence: p.Fence}}
}
