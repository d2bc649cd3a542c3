package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// The destination may have another disk under the name of an ordinal's volume. The ordinal's volume then gets
// another name there, and the volume of the other disk is not changed.

// strangers begins the handles and resourceVersions of other disks.
const strangers = "strangers"

// shelvesOf returns the other disks with which a world begins.
func shelvesOf(s plan.Snapshot) [][]volumes.Volume {
	var shelves [][]volumes.Volume
	for _, v := range s.Volumes {
		if v.Destination.Name == "" {
			return nil
		}
		shelves = append(shelves, []volumes.Volume{theirsNamed(v.Source.Name)})
	}
	return shelves
}

func theirsNamed(name string) volumes.Volume {
	return volumes.Volume{Found: true, Name: name, UID: strangers, ResourceVersion: strangers, Handle: strangers + name, ClaimRef: volumes.Ref{Namespace: strangers, Name: strangers}}
}

func reshelved(from [][]volumes.Volume) [][]volumes.Volume {
	shelves := slices.Clone(from)
	for i := range shelves {
		shelves[i] = slices.Clone(shelves[i])
	}
	return shelves
}

// Snapshot returns a snapshot in which both sides show the volumes by their current names.
func (m *machine) Snapshot() plan.Snapshot {
	m.call()
	return m.World.Snapshot()
}

// call makes the destination show the volumes that an observer would find by their names.
func (m *machine) call() {
	for i := range m.shelves {
		v := &m.State.Volumes[i]
		here, all := []volumes.Volume{v.Source.Volume}, slices.Concat([]volumes.Volume{v.Destination.Volume}, m.shelves[i])
		recorded := m.State.Record.Volume(v.Ordinal, v.Template)
		onSource, onDestination := volumes.Called(
			volumes.Place{Claimed: v.Source.Claim.Volume, Find: find(here)}, volumes.Place{Claimed: v.Destination.Claim.Volume, Find: find(all)}, recorded.Name, recorded.Disk)
		v.Source.Name, v.Destination.Name = "", ""
		if onSource != onDestination {
			v.Source.Name, v.Destination.Name = onSource, onDestination
		}
		v.Destination.Volume = find(all)(onDestination)
		v.Source.Volume = find(here)(onSource)
		m.shelves[i] = slices.DeleteFunc(all, func(there volumes.Volume) bool { return !there.Found || there.Name == onDestination })
		slices.SortFunc(m.shelves[i], func(a, b volumes.Volume) int { return cmp.Compare(a.Name, b.Name) })
	}
}

func find(list []volumes.Volume) func(string) volumes.Volume {
	return func(name string) volumes.Volume {
		if at := slices.IndexFunc(list, func(v volumes.Volume) bool { return v.Found && v.Name == name }); at >= 0 {
			return list[at]
		}
		return volumes.Volume{}
	}
}

// clear reports whether a volume can be created at the destination because its name is free. A volume that is
// shown under another name is kept.
func (m *machine) clear(i int, e plan.Effect) bool {
	if len(m.shelves) == 0 || i < 0 || e.Side != plan.DestinationSide || e.Volume.Verb != volumes.CreateVolume {
		return true
	}
	shown := &m.State.Volumes[i].Destination.Volume
	if find(append(m.shelves[i], *shown))(e.Volume.Volume).Found {
		return false
	}
	if shown.Found {
		m.shelves[i] = append(m.shelves[i], *shown)
		*shown = volumes.Volume{}
	}
	return true
}

// shelved reports whether there is a volume of a disk in addition to the shown ones.
func (m *machine) shelved(i int, disk string) bool {
	return len(m.shelves) > 0 && slices.ContainsFunc(m.shelves[i], func(v volumes.Volume) bool { return v.Handle == disk })
}

// othersKept checks that other disks are not written, and that only one volume of the ordinal's own disk is
// usable (I2, I9).
func (m *machine) othersKept() string {
	for i := range m.shelves {
		v := &m.State.Volumes[i]
		for _, there := range append(slices.Clone(m.shelves[i]), v.Destination.Volume) {
			if strings.HasPrefix(there.Handle, strangers) && (there.ResourceVersion != strangers || there.ClaimRef.Name != strangers) {
				return fmt.Sprintf("I9: volume %s of another disk was written", there.Name)
			}
		}
		for _, there := range m.shelves[i] {
			if !strings.HasPrefix(there.Handle, strangers) && !there.ClaimRef.Names(volumes.Parked(v.Destination.Ref)) {
				return fmt.Sprintf("I2: volume %s is of use beside %s", there.Name, v.Destination.Volume.Name)
			}
		}
	}
	return ""
}

// otherDeleted deletes the volume of another disk, and recreates it if its name is still free.
func otherDeleted(w *model) func(*model) {
	for i := range w.shelves {
		at := slices.IndexFunc(w.shelves[i], func(v volumes.Volume) bool { return strings.HasPrefix(v.Handle, strangers) })
		if at < 0 {
			continue
		}
		name := w.shelves[i][at].Name
		w.shelves[i] = slices.Delete(w.shelves[i], at, at+1)
		return func(w *model) {
			if all := append(slices.Clone(w.shelves[i]), w.State.Volumes[i].Destination.Volume); !find(all)(name).Found {
				w.shelves[i] = append(w.shelves[i], theirsNamed(name))
			}
		}
	}
	return nil
}

func (p *printer) shelves(w *model) {
	for i := range w.shelves {
		p.text(w.State.Volumes[i].Destination.Name)
		p.number(len(w.shelves[i]))
		for at := range w.shelves[i] {
			p.volume(&w.shelves[i][at])
		}
	}
}

// taken is an application whose volumes have the names of other disks at the destination.
var taken = plantest.Scenario{Replicas: 2, Templates: oneClaim, Taken: true}

// TestP17ThereAndBack: with a new process after each write, each ordinal's volume gets another name at the
// destination, and moves back.
func TestP17ThereAndBack(t *testing.T) {
	afterEach(t, taken, func(_ int, y *play) {
		y.p = y.newProcess()
		y.end()
		for i, v := range y.State.Volumes {
			if v.Destination.Volume.Name != volumes.OtherName(v.Source.Volume.Name, volumes.Disk(y.disks[i])) || !v.Destination.Bound() || !v.Source.Parked() {
				y.t.Fatalf("it is not there: %+v\n%s", v, y.story())
			}
		}
	})
	afterEach(t, taken, func(_ int, y *play) {
		if y.State.Record.Completed != "" {
			return // it has ended
		}
		y.State.Spec.Mode = api.ModeRollback
		y.version++
		y.p = y.newProcess()
		y.end()
		for i, v := range y.State.Volumes {
			if !v.Source.Bound() || v.Destination.Volume.Found || len(y.shelves[i]) != 1 || v.Source.Volume.Handle != y.disks[i] {
				y.t.Fatalf("it is not back: %+v, and %+v\n%s", v, y.shelves[i], y.story())
			}
		}
	})
}
