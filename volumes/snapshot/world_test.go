package snapshot

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/internal/volumestest"
)

const owner = volumestest.Owner

// snap is a VolumeSnapshot, with the content that it is bound to, or will be.
type snap struct {
	volumes.Snapshot
	content  string
	imported bool
}

// content is a VolumeSnapshotContent; letGo is true once its VolumeSnapshot was deleted.
type content struct {
	volumes.SnapshotContent
	letGo bool
}

// shot is the storage's record of a snapshot.
type shot struct {
	content, deleted int
}

// side holds the objects that an API server stores for the ordinal, with its snapshots. sources are the
// VolumeSnapshots that incoming claims name.
type side struct {
	*volumestest.Place
	sources  map[string]string
	snaps    map[string]*snap
	contents map[string]*content
	holders  map[string]volumes.Mover
}

// world adds one storage for both sides, controllers that act at any time, and users who delete objects that
// they should not.
type world struct {
	*volumestest.World
	sides [2]*side
	shots map[string]*shot
	// waits is true if the class waits for a pod. ignorant is true if the provisioner does not support
	// snapshots.
	waits, ignorant bool
}

func newWorld() *world {
	w := &world{World: volumestest.New(Snapshot{}), shots: map[string]*shot{}}
	w.Around = w
	for i, p := range w.Places {
		w.sides[i] = &side{Place: p, sources: map[string]string{}, snaps: map[string]*snap{}, contents: map[string]*content{}, holders: map[string]volumes.Mover{}}
	}
	return w
}

// Pair returns the pair that an observer sees.
func (w *world) Pair() volumes.Pair {
	pair := w.World.Pair()
	seen, able := pair.Copy, volumes.SnapshotSide{Asked: true, Served: true, Class: "class"}
	seen.Snapshot = volumes.Snapshotting{Giver: able, Taker: able}
	if w.Record.Number == 0 {
		return pair
	}
	giver, taker := w.sides[w.From()], w.sides[1-w.From()]
	seen.Placeholder = taker.holders[PlaceholderName(taker.Ref, owner, w.Record.Number)]
	seen.Snapshot.Source, seen.WaitsForPod = taker.sources[seen.Incoming.Ref.Name], w.waits
	v := view{volumes.HandingOf(pair)}
	seen.Snapshot.Taken = giver.snapshot(v.takenRef().Name, w.Record.Snapshot.Content)
	seen.Snapshot.Import = taker.snapshot(v.importRef().Name, v.importRef().Name)
	return pair
}

// snapshot returns a VolumeSnapshot with its content: the one that it is bound to, or else the one of the given
// name.
func (p *side) snapshot(name, contentName string) volumes.Snapshot {
	var seen volumes.Snapshot
	if s := p.snaps[name]; s != nil {
		seen = s.Snapshot
		if !s.imported {
			contentName = s.content
		}
	}
	if c := p.contents[contentName]; c != nil {
		seen.Content = c.SnapshotContent
	}
	return seen
}

// Decide returns the next write. The taker learns of a snapshot only once the snapshot survives the deletion of
// its objects at the giver.
func (w *world) Decide(t volumestest.Failer) *volumestest.Late {
	write := w.World.Decide(t)
	if write == nil || write.Verb != volumes.CreateContent {
		return write
	}
	for _, c := range w.sides[1-write.Side].contents {
		if c.Handle == write.Copy.Snapshot.Handle && !c.Retain {
			t.Fatalf("content %s does not retain snapshot %s, and the other side is told of it", c.Name, c.Handle)
		}
	}
	return write
}

// Arrive processes a write as an API server does: it is refused if the object was changed since it was judged.
func (w *world) Arrive(t volumestest.Failer, write volumestest.Late) {
	p := w.sides[write.Side]
	switch write.Verb {
	case volumes.CreateMover, volumes.DeleteMover:
		w.writeHolder(p, write.Action)
	case volumes.CreateSnapshot, volumes.CreateImport, volumes.DeleteSnapshot:
		w.writeSnapshot(p, write.Action)
	case volumes.CreateContent, volumes.RetainContent, volumes.LoosenContent, volumes.DeleteContent:
		w.writeContent(p, write.Action)
	default:
		w.writeClaim(t, p, write)
	}
}

// writeClaim writes to a claim or a volume. An incoming claim has a source, and owns the pod that waits for its
// volume.
func (w *world) writeClaim(t volumestest.Failer, p *side, write volumestest.Late) {
	before := len(p.Incoming)
	w.World.Arrive(t, write)
	switch after := len(p.Incoming); {
	case after > before:
		p.sources[write.Ref.Name] = write.Copy.Snapshot.Source
	case after < before:
		clear(p.holders)
	}
}

func (w *world) writeHolder(p *side, a volumes.Action) {
	m, found := p.holders[a.Copy.Pod]
	switch {
	case a.Verb == volumes.DeleteMover && found && m.UID == a.UID && m.ResourceVersion == a.ResourceVersion:
		delete(p.holders, a.Copy.Pod)
	case a.Verb == volumes.CreateMover && !found && p.Incoming[a.Ref.Name].UID == a.UID:
		p.holders[a.Copy.Pod] = volumes.Mover{Found: true, UID: types.UID("pod" + w.Next()), ResourceVersion: w.Next()}
	}
}

func (w *world) writeSnapshot(p *side, a volumes.Action) {
	s := p.snaps[a.Ref.Name]
	switch {
	case a.Verb == volumes.DeleteSnapshot && s != nil && s.UID == a.UID && s.ResourceVersion == a.ResourceVersion:
		s.Terminating, s.ResourceVersion = true, w.Next()
	case a.Verb != volumes.DeleteSnapshot && s == nil:
		asked := a.Copy.Snapshot
		p.snaps[a.Ref.Name] = &snap{content: asked.Content, imported: a.Verb == volumes.CreateImport, Snapshot: volumes.Snapshot{
			Found: true, Ours: true, UID: types.UID("snapshot" + w.Next()), ResourceVersion: w.Next(), Claim: asked.Claim, Released: asked.Released,
		}}
	}
}

func (w *world) writeContent(p *side, a volumes.Action) {
	c := p.contents[a.Ref.Name]
	if a.Verb == volumes.CreateContent {
		if c == nil {
			p.contents[a.Ref.Name] = &content{SnapshotContent: volumes.SnapshotContent{
				Found: true, Ours: true, Name: a.Ref.Name, UID: types.UID("content" + w.Next()), ResourceVersion: w.Next(), Retain: true,
				Driver: a.Copy.Snapshot.Driver, Source: a.Copy.Snapshot.Handle, For: a.Ref,
			}}
		}
		return
	}
	if c == nil || c.UID != a.UID || c.ResourceVersion != a.ResourceVersion {
		return
	}
	if a.Verb == volumes.DeleteContent {
		c.Terminating = true
	} else {
		c.SnapshotContent = c.In(a.After)
	}
	c.ResourceVersion = w.Next()
}
