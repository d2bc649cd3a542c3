package model

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/snapshot"
)

// album holds the snapshot objects of one claim in both clusters, of all attempts, and the snapshots in their
// storage.
type album struct {
	snaps    []snap
	contents []snapContent
	// shots maps the handle of a snapshot to its contents: the application's last write in it.
	shots map[string]int
	// lost is a snapshot that was deleted a second time.
	lost string
}

// snap is a VolumeSnapshot, with the content to which it is or will be bound.
type snap struct {
	volumes.Snapshot
	side          plan.SideName
	name, content string
	imported      bool
}

// snapContent is a VolumeSnapshotContent; letGo is true after its VolumeSnapshot was deleted.
type snapContent struct {
	volumes.SnapshotContent
	side  plan.SideName
	letGo bool
}

func bySnapshot(v plan.OrdinalVolume) bool { return v.Method == api.MethodSnapshot }

func (a album) clone() album {
	return album{slices.Clone(a.snaps), slices.Clone(a.contents), maps.Clone(a.shots), a.lost}
}

func (a *album) snap(side plan.SideName, name string) *snap {
	for i := range a.snaps {
		if a.snaps[i].side == side && a.snaps[i].name == name {
			return &a.snaps[i]
		}
	}
	return nil
}

func (a *album) contentOf(side plan.SideName, name string) *snapContent {
	for i := range a.contents {
		if a.contents[i].side == side && a.contents[i].Name == name {
			return &a.contents[i]
		}
	}
	return nil
}

// seen returns a VolumeSnapshot with its content: the bound one, or else the one with a name.
func (a *album) seen(side plan.SideName, name, contentName string) volumes.Snapshot {
	var seen volumes.Snapshot
	if s := a.snap(side, name); s != nil {
		seen = s.Snapshot
		if !s.imported {
			contentName = s.content
		}
	}
	if c := a.contentOf(side, contentName); c != nil {
		seen.Content = c.SnapshotContent
	}
	return seen
}

// lookAtSnapshots adds an observer's view of the snapshot of an attempt. Classes wait for pods if volumes are
// attached.
func (m *machine) lookAtSnapshots(seen *volumes.Copying, v plan.OrdinalVolume, recorded api.CopyAttempt) {
	y, from, uid := &m.yards[m.at(v.Ordinal, v.Template)], plan.SideName(recorded.Giver), m.State.UID
	giver, taker := v.Holding(from), v.Holding(from.Other())
	number := recorded.Number
	if recorded.Snapshot.Number > 0 {
		number = recorded.Snapshot.Number
	}
	imported := snapshot.ImportRef(taker.Ref, uid, recorded.Number).Name
	seen.Snapshot.Taken = y.seen(from, snapshot.TakenRef(giver.Ref, uid, number).Name, recorded.Snapshot.Content)
	seen.Snapshot.Import = y.seen(from.Other(), imported, imported)
	seen.WaitsForPod = m.Attaches
	if claim := y.claim(from.Other(), seen.Incoming.Ref.Name); claim != nil {
		seen.Snapshot.Source = claim.source
	}
	if pod := y.pod(snapshot.PlaceholderName(taker.Ref, uid, recorded.Number)); pod != nil {
		seen.Placeholder = pod.Mover
	}
}

// writeSnapshot writes to a VolumeSnapshot or a content if it is unchanged since it was judged.
func (m *machine) writeSnapshot(y *yard, e plan.Effect) error {
	a, asked := e.Volume, e.Volume.Copy.Snapshot
	s, c := y.snap(e.Side, a.Ref.Name), y.contentOf(e.Side, a.Ref.Name)
	switch a.Verb {
	case volumes.CreateSnapshot, volumes.CreateImport:
		if s != nil {
			return simulate.ErrConflict
		}
		y.snaps = append(y.snaps, snap{side: e.Side, name: a.Ref.Name, content: asked.Content, imported: a.Verb == volumes.CreateImport, Snapshot: volumes.Snapshot{
			Found: true, Ours: true, UID: m.NewUID(), ResourceVersion: m.NewVersion(), Claim: asked.Claim, Released: asked.Released,
		}})
	case volumes.CreateContent:
		if c != nil {
			return simulate.ErrConflict
		}
		y.contents = append(y.contents, snapContent{side: e.Side, SnapshotContent: volumes.SnapshotContent{
			Found: true, Ours: true, Retain: true, Name: a.Ref.Name, UID: m.NewUID(), ResourceVersion: m.NewVersion(),
			Driver: asked.Driver, Source: asked.Handle, For: a.Ref,
		}})
	case volumes.DeleteSnapshot:
		if s == nil || s.UID != a.UID || s.ResourceVersion != a.ResourceVersion {
			return simulate.ErrConflict
		}
		s.Terminating, s.ResourceVersion = true, m.NewVersion()
	default:
		return m.writeContent(c, a)
	}
	return nil
}

func (m *machine) writeContent(c *snapContent, a volumes.Action) error {
	if c == nil || c.UID != a.UID || c.ResourceVersion != a.ResourceVersion {
		return simulate.ErrConflict
	}
	if a.Verb == volumes.DeleteContent {
		c.Terminating = true
	} else {
		c.SnapshotContent = c.In(a.After)
	}
	c.ResourceVersion = m.NewVersion()
	return nil
}

// actOnSnapshots runs the next step of the snapshot-controller of a side or of its driver's sidecar.
func (m *machine) actOnSnapshots(i int, side plan.SideName) bool {
	y := &m.yards[i]
	for at := range y.contents {
		if y.contents[at].side == side && m.serveContent(i, at) {
			return true
		}
	}
	for at := range y.snaps {
		if y.snaps[at].side == side && m.controlSnapshot(i, at) {
			return true
		}
	}
	return false
}

// serveContent acts as the sidecar. It takes a snapshot of the current contents of the disk, however old the
// request is. It accepts an existing handle without a check, and deletes the snapshot of a deleted content.
func (m *machine) serveContent(i, at int) bool {
	y := &m.yards[i]
	c := &y.contents[at]
	switch {
	case c.Terminating && (c.letGo || c.Source != "" && c.For.UID == ""):
		if _, there := y.shots[c.Handle]; !c.Retain && c.Handle != "" && !there {
			y.lost = c.Handle
		}
		if !c.Retain {
			delete(y.shots, c.Handle)
		}
		y.contents = slices.Delete(y.contents, at, at+1)
		return true
	case c.Handle != "":
		return false
	case c.Source != "":
		c.Handle = c.Source
	default:
		c.Handle, c.Size = "shot-"+string(c.UID), new(int64)
		y.shots[c.Handle] = y.content[c.Driver+"/"+c.Volume]
	}
	c.ResourceVersion = m.NewVersion()
	return true
}

// controlSnapshot acts as the snapshot-controller. It binds a VolumeSnapshot and a content, never one that was
// bound before, and releases a deleted one once no claim waits for it.
func (m *machine) controlSnapshot(i, at int) bool {
	y := &m.yards[i]
	s := &y.snaps[at]
	ref := volumes.Ref{Namespace: m.State.Volumes[i].Holding(s.side).Ref.Namespace, Name: s.name, UID: s.UID}
	c := y.bound(s)
	switch {
	case s.Terminating:
		return m.letGo(y, at)
	case s.content == "":
		return m.takeSnapshot(i, s, ref)
	case c != nil && s.imported && c.For.UID == "" && c.For.Names(ref):
		c.For.UID, c.ResourceVersion = s.UID, m.NewVersion()
	case c != nil && c.For.UID == s.UID && c.Handle != "" && !s.Ready:
		s.Ready, s.ResourceVersion = true, m.NewVersion()
	default:
		return false
	}
	return true
}

// takeSnapshot creates the content of a snapshot of the outgoing claim, if that is bound.
func (m *machine) takeSnapshot(i int, s *snap, ref volumes.Ref) bool {
	y := &m.yards[i]
	claim := y.claim(s.side, s.Claim)
	if claim == nil || claim.Phase != corev1.ClaimBound {
		return false
	}
	volume := m.volume(i, s.side, claim.Volume)
	if !volume.Found || volume.ClaimRef.Name != claim.name || volume.ClaimRef.UID != claim.UID {
		return false
	}
	s.content, s.ResourceVersion = "content-"+string(s.UID), m.NewVersion()
	driver, of := volumes.DriverOf(volume.Handle)
	y.contents = append(y.contents, snapContent{side: s.side, SnapshotContent: volumes.SnapshotContent{
		Found: true, Name: s.content, UID: types.UID(s.content), ResourceVersion: m.NewVersion(), Driver: driver, Volume: of, For: ref,
	}})
	return true
}

// letGo removes a VolumeSnapshot for which no claim waits, together with its content unless that has policy
// Retain.
func (m *machine) letGo(y *yard, at int) bool {
	s := &y.snaps[at]
	if slices.ContainsFunc(y.claims, func(c moverClaim) bool { return c.side == s.side && c.source == s.name && c.Volume == "" }) {
		return false
	}
	if c := y.bound(s); c != nil && c.For.UID == s.UID {
		c.letGo, c.Terminating, c.ResourceVersion = true, c.Terminating || !c.Retain, m.NewVersion()
	}
	y.snaps = slices.Delete(y.snaps, at, at+1)
	return true
}

// bound returns the content that a VolumeSnapshot names.
func (a *album) bound(s *snap) *snapContent { return a.contentOf(s.side, s.content) }

// restorable returns the handle of the snapshot from which the volume of a claim can be created, and whether
// there is one.
func (m *machine) restorable(y *yard, claim *moverClaim) (string, bool) {
	s := y.snap(claim.side, claim.source)
	if s == nil || !s.Ready || s.Terminating {
		return "", false
	}
	c := y.bound(s)
	if c == nil || c.For.UID != s.UID {
		return "", false
	}
	_, there := y.shots[c.Handle]
	return c.Handle, there
}

// loseSnapshot deletes a VolumeSnapshot, the taken or the imported one, as another client does.
func (m *machine) loseSnapshot(i int, imported bool) bool {
	y := &m.yards[i]
	for at := range y.snaps {
		if s := &y.snaps[at]; !s.Terminating && s.imported == imported {
			s.Terminating, s.ResourceVersion = true, m.NewVersion()
			return true
		}
	}
	return false
}

// snapshotCounts is I3 for Snapshot: a snapshot that counts has the ordinal's last write, from the release of
// its volume until it is mounted again. No snapshot is deleted twice.
func (m *machine) snapshotCounts(i int) string {
	y, v := &m.yards[i], m.State.Volumes[i]
	if y.lost != "" {
		return "I3: snapshot " + y.lost + " is deleted a second time"
	}
	recorded := m.State.Record.Volume(v.Ordinal, v.Template).Copy
	taken := recorded.Snapshot
	if recorded.Number == 0 || taken.Handle == "" || usable(v.Source) || usable(v.Destination) {
		return ""
	}
	giver := v.Holding(plan.SideName(recorded.Giver)).Volume
	if giver.Released == "" || giver.Released != taken.Released || taken.From != volumes.Disk(giver.Handle) {
		return ""
	}
	if got, there := y.shots[taken.Handle]; !there || got != y.written {
		return "I3: a snapshot counts that has write " + strconv.Itoa(got) + " of " + strconv.Itoa(y.written)
	}
	return ""
}

// attemptOf returns the attempt for which an object was created, by its name; 0 if none.
func attemptOf(name string) int32 {
	at := strings.LastIndex(name, "-a")
	if at < 0 {
		return 0
	}
	n, err := strconv.ParseInt(name[at+2:], 36, 32)
	if err != nil {
		return 0
	}
	return int32(n)
}

// forget removes objects of former attempts that nothing refers to any more.
func (a *album) forget(named []int32) {
	over := func(name string) bool { return attemptOf(name) > 0 && !slices.Contains(named, attemptOf(name)) }
	a.snaps = slices.DeleteFunc(a.snaps, func(s snap) bool { return over(s.name) })
	a.contents = slices.DeleteFunc(a.contents, func(c snapContent) bool { return over(c.For.Name) })
}

// album writes the snapshot objects of a claim.
func (p *printer) album(a *album) {
	for i := range a.snaps {
		s := &a.snaps[i]
		p.text(string(s.side))
		p.bools(s.Terminating, s.Ready, s.imported, s.content != "")
		p.fence(s.Released)
		for _, name := range []string{s.name, string(s.UID), s.ResourceVersion, s.content} {
			p.name(name)
		}
	}
	for i := range a.contents {
		c := &a.contents[i]
		p.text(string(c.side))
		shot, there := a.shots[c.Handle]
		p.bools(c.Terminating, c.letGo, c.Retain, there, c.Note.By != "")
		for _, name := range []string{c.Name, string(c.UID), c.ResourceVersion, c.For.Name, string(c.For.UID), c.Handle, c.Source, "content" + strconv.Itoa(shot)} {
			p.name(name)
		}
	}
	p.bools(a.lost != "")
}
