package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/sliceshift/sliceshift/volumes"
)

// noon is when every rehearsal of the model begins.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// thing is an object of the model.
type thing struct {
	ref volumes.Ref
	// ours is true for objects that a rehearsal has created.
	ours, terminating bool
	created           time.Time
	// of is the claim of a volume, and retains is true if its storage survives it.
	of      volumes.Ref
	retains bool
	handle  string
	// mover is that of a pod that copies.
	mover volumes.Mover
}

// clusters is a model of the source and the destination. Its controllers act between passes.
type clusters struct {
	now  time.Time
	uids int
	ask  Ask
	// things are by kind and name.
	things map[Kind]map[string]*thing
	// enforced is true if NetworkPolicies are enforced, and retains if storage survives the deletion of its object.
	enforced, retains bool
	ready             bool
	generation        int64
	// admits is true if the process has its rights everywhere. Otherwise a RoleBinding gives them.
	admits bool
	// leaked counts storage whose object was deleted while its policy was Retain.
	leaked int
	record Record
	// wrote lists all writes.
	wrote []Write
}

func newClusters(replicas int32) *clusters {
	c := &clusters{now: noon, things: map[Kind]map[string]*thing{}, enforced: true, ready: true, admits: true}
	place := Place{Cluster: "west", Namespace: "shop", StatefulSet: "web", APIVersion: "apps/v1"}
	c.record = Begin("id-1", place, place, noon, nil)
	c.ask = Ask{Set: "web", Start: 1, Replicas: replicas, Copies: []Named{{"Service", "web"}, {"Secret", "web"}}, Forbidden: []string{"10.0.0.1:443"}, Within: time.Minute}
	for ordinal := c.ask.Start; ordinal < c.ask.Start+replicas; ordinal++ {
		name := fmt.Sprintf("data-web-%d", ordinal)
		c.ask.Clones = append(c.ask.Clones, ClonePlan{
			Template: "data", Ordinal: ordinal, From: volumes.Ref{Namespace: "shop", Name: name}, To: volumes.Ref{Namespace: c.record.Namespace, Name: name},
			Driver: "disks", Handle: "disk-" + name, Class: "nightly", Size: 1 << 30,
		})
	}
	return c
}

// copying lets the rehearsal copy volumes instead of taking snapshots.
func (c *clusters) copying() *clusters {
	for i := range c.ask.Clones {
		c.ask.Clones[i].Copied = true
	}
	return c
}

// empty lets the pods start on empty volumes, whose claims the StatefulSet creates.
func (c *clusters) empty() *clusters {
	for i := range c.ask.Clones {
		c.ask.Clones[i].Empty = true
	}
	return c
}

func (c *clusters) add(kind Kind, ref volumes.Ref) *thing {
	c.uids++
	ref.UID = types.UID(fmt.Sprintf("uid-%d", c.uids))
	t := &thing{ref: ref, created: c.now}
	if c.things[kind] == nil {
		c.things[kind] = map[string]*thing{}
	}
	c.things[kind][ref.Name] = t
	return t
}

func (c *clusters) at(kind Kind, name string) *thing { return c.things[kind][name] }

// all returns the things of a kind in the order of their names.
func (c *clusters) all(kind Kind) []*thing {
	var all []*thing
	for _, t := range c.things[kind] {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b *thing) int { return strings.Compare(a.ref.Name, b.ref.Name) })
	return all
}

func (c *clusters) object(kind Kind, ref volumes.Ref) Object {
	t := c.at(kind, ref.Name)
	if t == nil {
		return Object{Ref: ref}
	}
	return Object{Ref: t.ref, Found: true, Ours: t.ours, Terminating: t.terminating, ResourceVersion: "1", Created: t.created}
}

func (c *clusters) objects(kind Kind) []Object {
	var all []Object
	for _, t := range c.all(kind) {
		all = append(all, c.object(kind, t.ref))
	}
	return all
}

func (c *clusters) inside(name string) volumes.Ref {
	return volumes.Ref{Namespace: c.record.Namespace, Name: name}
}

func (c *clusters) probe(kind Kind, name string) Probe {
	p := Probe{Object: c.object(kind, c.inside(name))}
	if !p.Found {
		return p
	}
	p.Finished = true
	if denied := kind == KindProof && c.enforced; denied {
		p.Unreached = c.ask.Forbidden
	} else {
		p.Reached = c.ask.Forbidden
	}
	return p
}

func (c *clusters) snapshot(kind Kind, ref volumes.Ref, content *thing) volumes.Snapshot {
	t := c.at(kind, ref.Name)
	if t == nil {
		return volumes.Snapshot{}
	}
	s := volumes.Snapshot{Found: true, Ours: t.ours, Terminating: t.terminating, UID: t.ref.UID, Ready: true}
	if content != nil {
		s.Content = volumes.SnapshotContent{Found: true, Ours: content.ours, Name: content.ref.Name, Handle: content.handle, Source: content.handle, Retain: content.retains, For: t.ref}
	}
	return s
}

func (c *clusters) volume(claim string) Volume {
	t := c.at(KindVolume, "pv-"+claim)
	if t == nil {
		return Volume{}
	}
	return Volume{Object: c.object(KindVolume, t.ref), Claim: t.of, Driver: "disks", Deletes: !t.retains}
}

// contentOf names the content that the snapshot controller creates for a snapshot at the source.
const contentOf = "content-"

// facts returns the facts of a pass. A process that only deletes does not know the Ask.
func (c *clusters) facts(knows, stop bool) Facts {
	f := Facts{Now: c.now, Stop: stop, Record: c.record, Namespace: c.object(KindNamespace, volumes.Ref{Name: c.record.Namespace})}
	binding := c.object(KindBinding, c.inside("rehearsal"))
	f.Admission = Admission{Allowed: f.Namespace.Found && (c.admits || binding.Found), Binding: binding, User: "jane", Role: "stage"}
	f.Control, f.Proof = c.probe(KindControl, "control"), c.probe(KindProof, "proof")
	f.Policy = Policy{Object: c.object(KindPolicy, c.inside("policy")), Generation: c.generation}
	f.Set = c.object(KindSet, c.inside("web"))
	if knows {
		f.Ask = c.ask
		for _, named := range c.ask.Copies {
			f.Copies = append(f.Copies, c.object(KindCopy, c.inside(named.Kind+named.Name)))
		}
		for _, asked := range c.ask.Clones {
			f.Clones = append(f.Clones, c.clone(asked))
		}
	}
	if f.Set.Found && c.ready && !f.Set.Terminating {
		for ordinal := c.ask.Start; ordinal < c.ask.Start+c.ask.Replicas; ordinal++ {
			f.Pods = append(f.Pods, Pod{Object: Object{Ref: c.inside(fmt.Sprintf("web-%d", ordinal)), Found: true}, Ordinal: ordinal, IsReady: true, Times: Times{Created: noon, Ready: noon.Add(7 * time.Second)}})
		}
	}
	f.Left = c.left()
	return f
}

func (c *clusters) clone(asked ClonePlan) Clone {
	clone := Clone{Pair: c.pair(asked), TakenRef: volumes.Ref{Namespace: "shop", Name: "taken-" + asked.From.Name}, ImportRef: c.inside("import-" + asked.From.Name)}
	clone.Taken = c.snapshot(KindTaken, clone.TakenRef, c.at(KindContent, contentOf+clone.TakenRef.Name))
	if clone.Taken.Content.Found {
		clone.Taken.Content.Driver, clone.Taken.Content.Volume = asked.Driver, "disk-"+asked.From.Name
	}
	content := c.at(KindContent, clone.ImportRef.Name)
	clone.Import = c.snapshot(KindImport, clone.ImportRef, content)
	if content != nil && !clone.Import.Found {
		clone.Import.Content = volumes.SnapshotContent{Found: true, Ours: content.ours, Name: content.ref.Name, Source: content.handle, Handle: content.handle, Retain: true, For: volumes.Ref{Namespace: clone.ImportRef.Namespace, Name: clone.ImportRef.Name}}
	}
	if clone.Claim = c.object(KindClaim, asked.To); clone.Claim.Found {
		clone.Source, clone.Volume = clone.ImportRef.Name, c.volume(asked.To.Name)
		if asked.Copied {
			clone.Source = ""
		}
	}
	return clone
}

func (c *clusters) left() Left {
	var l Left
	ours := func(objects []Object) []Object {
		for i := range objects {
			objects[i].Ours = true // all of a namespace that is ours
		}
		return objects
	}
	l.Sets, l.Claims, l.Imports = ours(c.objects(KindSet)), ours(c.objects(KindClaim)), c.objects(KindImport)
	for _, t := range c.all(KindVolume) {
		if t.of.Namespace == c.record.Namespace {
			v := c.volume(strings.TrimPrefix(t.ref.Name, "pv-"))
			v.Ours = true
			l.Volumes = append(l.Volumes, v)
		}
	}
	for _, o := range c.objects(KindMover) {
		l.Movers = append(l.Movers, MoverLeft{Object: o, AtSource: o.Namespace == "shop"})
	}
	for _, o := range c.objects(KindContent) {
		if o.Ours && !strings.HasPrefix(o.Name, contentOf) {
			l.Contents = append(l.Contents, o)
		}
	}
	for _, o := range c.objects(KindTaken) {
		taken := TakenLeft{Object: o}
		if content := c.at(KindContent, contentOf+o.Name); content != nil {
			taken.Content, taken.Retains = c.object(KindContent, content.ref), content.retains
			taken.Content.Ours = true
		}
		l.Taken = append(l.Taken, taken)
	}
	return l
}

// do carries out a write.
func (c *clusters) do(w Write) {
	c.wrote = append(c.wrote, w)
	kind, name := w.Kind, w.On.Name
	if w.Carry != nil {
		c.carry(w)
		return
	}
	switch w.Verb {
	case Create:
		if kind == KindCopy {
			name = w.Copy.Kind + w.Copy.Name
		}
		ref := w.On.Ref
		ref.Name = name
		t := c.add(kind, ref)
		t.ours, t.handle = true, w.Handle
		t.retains = kind == KindContent
	case Loosen:
		c.at(kind, name).retains = false
	case Update:
	case Delete:
		c.at(kind, name).terminating = true
	}
}

// control lets the controllers of the clusters act: they bind, provision, and complete deletions.
func (c *clusters) control() {
	c.move()
	for _, t := range c.all(KindTaken) {
		if c.at(KindContent, contentOf+t.ref.Name) == nil && !t.terminating {
			content := c.add(KindContent, volumes.Ref{Name: contentOf + t.ref.Name})
			content.handle, content.retains = "snap-"+t.ref.Name, c.retains
		}
	}
	for _, asked := range c.ask.Clones {
		if set := c.at(KindSet, c.ask.Set); asked.Empty && set != nil && !set.terminating && c.at(KindClaim, asked.To.Name) == nil {
			c.add(KindClaim, asked.To)
		}
	}
	for _, t := range c.all(KindClaim) {
		if c.at(KindVolume, "pv-"+t.ref.Name) == nil && !t.terminating {
			v := c.add(KindVolume, volumes.Ref{Name: "pv-" + t.ref.Name})
			v.of, v.retains = t.ref, c.retains
		}
	}
	c.finish()
}

// finish completes deletions, with all that they cause.
func (c *clusters) finish() {
	for kind, things := range c.things {
		for name, t := range things {
			if !t.terminating {
				continue
			}
			delete(things, name)
			switch kind {
			case KindClaim:
				c.drop(KindVolume, "pv-"+name)
			case KindTaken:
				c.drop(KindContent, contentOf+name)
			case KindNamespace:
				for _, inside := range []Kind{KindBinding, KindControl, KindProof, KindPolicy, KindCopy, KindSet} {
					c.things[inside] = nil
				}
			case KindControl, KindProof, KindPolicy, KindCopy, KindContent, KindImport, KindVolume, KindSet, KindBinding, KindMover:
			}
		}
	}
}

// drop deletes what a deleted object leaves. Storage with the policy Retain leaks.
func (c *clusters) drop(kind Kind, name string) {
	if t := c.at(kind, name); t != nil {
		if t.retains {
			c.leaked++
		}
		delete(c.things[kind], name)
	}
}

// pass makes one pass, and reports whether the rehearsal is finished.
func (c *clusters) pass(knows, stop bool) (Step, bool) {
	step := Next(c.facts(knows, stop))
	switch {
	case step.Record != nil:
		c.record = *step.Record
	case step.Write != nil:
		c.do(*step.Write)
	}
	return step, step.Finished
}

// remains lists what exists of the rehearsal.
func (c *clusters) remains() []string {
	var all []string
	for kind, things := range c.things {
		for name, t := range things {
			if t.ours || strings.HasPrefix(name, contentOf) || strings.HasPrefix(name, "pv-") {
				all = append(all, string(kind)+" "+name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// run makes passes until the rehearsal is finished.
func (c *clusters) run(knows, stop bool) error {
	const most = 500
	for range most {
		step, finished := c.pass(knows, stop)
		if finished {
			return nil
		}
		if step.Stuck != nil {
			return fmt.Errorf("stuck: %s", step.Stuck.Message)
		}
		c.now = c.now.Add(time.Second)
		c.control()
	}
	return fmt.Errorf("it does not end: %+v", c.record.End)
}

// expectSafe checks the writes of a whole rehearsal.
func (c *clusters) expectSafe(t interface {
	Helper()
	Errorf(string, ...any)
},
) {
	t.Helper()
	for _, w := range c.wrote {
		if w.AtSource && w.Kind != KindMover && w.Kind != KindTaken && (w.Kind != KindContent || w.Verb != Loosen || !strings.HasPrefix(w.On.Name, contentOf)) {
			t.Errorf("at the source: %s", w)
		}
		if !w.AtSource && w.On.Namespace != "" && w.On.Namespace != c.record.Namespace {
			t.Errorf("outside of the namespace: %s", w)
		}
		if w.Verb != Create && (w.On.UID == "" || w.On.ResourceVersion == "") {
			t.Errorf("without UID or resourceVersion: %s", w)
		}
	}
	if remains := c.remains(); len(remains) > 0 || c.leaked > 0 {
		t.Errorf("left: %q, and %d disks or snapshots", remains, c.leaked)
	}
}

// TestAnyInterruption: wherever a rehearsal is interrupted, by a signal or by a crash, a later process leaves nothing.
// Nothing of the source is written but the rehearsal's snapshots, and no pod starts before the proof.
func TestAnyInterruption(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClusters(rapid.Int32Range(1, 3).Draw(t, "replicas"))
		rapid.SampledFrom([]func() *clusters{func() *clusters { return c }, c.copying, c.empty}).Draw(t, "method")()
		c.admits = rapid.Bool().Draw(t, "admits")
		c.enforced, c.retains, c.ready = rapid.Bool().Draw(t, "enforced"), rapid.Bool().Draw(t, "retains"), rapid.Bool().Draw(t, "ready")
		for range rapid.IntRange(0, 60).Draw(t, "passes") {
			if _, finished := c.pass(true, false); finished {
				break
			}
			if rapid.IntRange(0, 2).Draw(t, "controllers") > 0 {
				c.control()
			}
			c.now = c.now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "seconds")) * time.Second)
			started := c.at(KindSet, "web") != nil || c.at(KindTaken, "taken-data-web-1") != nil || len(c.things[KindMover]) > 0
			if c.at(KindSet, "web") != nil && len(c.things[KindMover]) > 0 {
				t.Errorf("a mover and the pods have one volume")
			}
			if started && c.record.Isolation == nil {
				t.Errorf("it has begun before the proof")
			}
			if started && !c.enforced {
				t.Errorf("it has begun, and no policy is enforced")
			}
		}
		c.control()
		if err := c.run(rapid.Bool().Draw(t, "the same process"), true); err != nil {
			t.Errorf("%v", err)
		}
		c.expectSafe(t)
	})
}
