package snapshot

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
)

// Act lets binders, provisioners, controllers and sidecars act once.
func (w *world) Act() {
	w.World.Act()
	w.provisioner()
	w.controller()
	w.sidecar()
}

// provisioner creates the volumes of incoming claims from the snapshot that they name. If it does not support
// snapshots, the volumes are empty.
func (w *world) provisioner() {
	for _, p := range w.sides {
		for _, name := range slices.Sorted(maps.Keys(p.Incoming)) {
			claim := p.Incoming[name]
			if claim.Volume != "" || w.waits && len(p.holders) == 0 {
				continue
			}
			from := p.restorable(p.sources[name])
			switch {
			case w.ignorant:
				w.Provision(p.Place, name, "other", 0)
			case from != "" && w.shots[from] != nil && w.shots[from].deleted == 0:
				w.Provision(p.Place, name, "d", w.shots[from].content)
			}
		}
	}
}

// restorable returns the handle of a VolumeSnapshot from which a volume can be restored; empty if none can.
func (p *side) restorable(name string) string {
	s := p.snaps[name]
	if s == nil || !s.Ready || s.Terminating {
		return ""
	}
	c := p.contents[s.content]
	if c == nil || c.For.UID != s.UID {
		return ""
	}
	return c.Handle
}

// controller is the snapshot-controller of both sides: it binds a VolumeSnapshot and its content, and completes
// deletions.
func (w *world) controller() {
	for _, p := range w.sides {
		for _, name := range slices.Sorted(maps.Keys(p.snaps)) {
			if s := p.snaps[name]; s.Terminating {
				w.letGo(p, name)
			} else {
				w.bindSnapshot(p, name, s)
			}
		}
	}
}

// letGo removes a VolumeSnapshot that no claim waits for. It deletes the content too, unless that retains its
// snapshot.
func (w *world) letGo(p *side, name string) {
	for claim, source := range p.sources {
		if c := p.Incoming[claim]; source == name && c.Found && c.Volume == "" {
			return
		}
	}
	if c := p.contents[p.snaps[name].content]; c != nil && c.For.UID == p.snaps[name].UID {
		c.letGo, c.Terminating, c.ResourceVersion = true, c.Terminating || !c.Retain, w.Next()
	}
	delete(p.snaps, name)
}

func (w *world) bindSnapshot(p *side, name string, s *snap) {
	ref := volumes.Ref{Namespace: p.Ref.Namespace, Name: name, UID: s.UID}
	c := p.contents[s.content]
	switch {
	case s.content == "":
		d := p.Bound(p.Outgoing, p.Out())
		if d == nil || s.Claim != p.Out().Name {
			return
		}
		_, of := volumes.DriverOf(d.Handle)
		s.content = "content-" + string(s.UID)
		p.contents[s.content] = &content{SnapshotContent: volumes.SnapshotContent{
			Found: true, Name: s.content, UID: types.UID(s.content), ResourceVersion: w.Next(), Driver: "d", Volume: of, For: ref,
		}}
		s.ResourceVersion = w.Next()
	case c != nil && s.imported && c.For.UID == "" && c.For.Names(ref):
		c.For.UID, c.ResourceVersion = s.UID, w.Next()
	case c != nil && c.For.UID == s.UID && c.Handle != "" && !s.Ready:
		s.Ready, s.ResourceVersion = true, w.Next()
	}
}

// sidecar is the csi-snapshotter of both sides: it takes snapshots, and deletes those whose content is deleted.
func (w *world) sidecar() {
	for _, p := range w.sides {
		for _, name := range slices.Sorted(maps.Keys(p.contents)) {
			switch c := p.contents[name]; {
			case c.Terminating && (c.letGo || c.Source != "" && c.For.UID == ""):
				if !c.Retain && w.shots[c.Handle] != nil {
					w.shots[c.Handle].deleted++
				}
				delete(p.contents, name)
			case c.Handle != "":
			case c.Source != "":
				c.Handle, c.ResourceVersion = c.Source, w.Next() // it accepts any handle
			default:
				w.shoot(p, c)
			}
		}
	}
}

// shoot takes a snapshot of the present content of the disk, however long ago it was requested.
func (w *world) shoot(p *side, c *content) {
	for _, d := range p.Disks {
		if d.Handle == c.Driver+"/"+c.Volume {
			c.Handle, c.ResourceVersion, c.Size = "snap-"+w.Next(), w.Next(), new(int64)
			w.shots[c.Handle] = &shot{content: d.Content}
		}
	}
}
