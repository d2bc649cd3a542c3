package rehearsal

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// pair returns the state of a copy in the model.
func (c *clusters) pair(asked ClonePlan) volumes.Pair {
	pair := volumes.Pair{
		Separate: true, Fence: c.record.Fence(), Owner: c.record.ID, Template: asked.Template,
		Giver: volumes.Holding{Ref: asked.From}, Taker: volumes.Holding{Ref: volumes.Ref{Namespace: asked.To.Namespace, Name: asked.To.Name + "-rehearsed"}},
		Copy: &volumes.Copying{
			Now: c.now, Attempt: c.record.Copies[asked.To.Name], Early: true, Incoming: volumes.Holding{Ref: asked.To},
			Asked: volumes.CopyAsked{Image: "mover", Transport: api.TransportRelay, Warm: api.CopyWarmMount},
			Pod:   volumes.CopyPod{Name: "web-1", Found: true, Ready: true, Node: "node-1"},
		},
	}
	at := func(role volumes.Role, ref volumes.Ref) volumes.Mover {
		t := c.at(KindMover, copy.PodName(role, ref, c.record.ID, pair.Copy.Attempt.Number))
		if t == nil {
			return volumes.Mover{}
		}
		t.mover.Found, t.mover.Terminating, t.mover.UID, t.mover.ResourceVersion = true, t.terminating, t.ref.UID, "1"
		return t.mover
	}
	pair.Copy.Receiver, pair.Copy.Warm = at(volumes.RoleReceiver, pair.Taker.Ref), at(volumes.RoleWarm, pair.Giver.Ref)
	if t := c.at(KindClaim, asked.To.Name); t != nil {
		pair.Copy.Incoming.Claim = volumes.Claim{Found: true, Ours: true, UID: t.ref.UID, Phase: corev1.ClaimPending, Terminating: t.terminating}
		if v := c.at(KindVolume, "pv-"+asked.To.Name); v != nil {
			pair.Copy.Incoming.Claim.Phase, pair.Copy.Incoming.Claim.Volume = corev1.ClaimBound, v.ref.Name
			pair.Copy.Incoming.Volume = volumes.Volume{Found: true, Name: v.ref.Name, ClaimRef: v.of}
		}
	}
	return pair
}

// carry does one step of a copy.
func (c *clusters) carry(w Write) {
	a := *w.Carry
	switch a.Verb {
	case volumes.CreateIncoming:
		c.add(KindClaim, a.Ref).ours = true
	case volumes.CreateMover:
		t := c.add(KindMover, w.On.Ref)
		t.ours = true
		t.mover = volumes.Mover{Attempt: a.Copy.Attempt, Pass: a.Copy.Pass, Warm: a.Copy.Warm, Relayed: a.Copy.Relayed, Claim: a.Ref.Name, Node: a.Copy.Node, Made: c.now, Fence: a.Fence}
	case volumes.TellMover:
		c.at(KindMover, w.On.Name).mover.Peer = a.Copy.Peer
	case volumes.DeleteMover:
		c.at(KindMover, w.On.Name).terminating = true
	default:
		panic("a copy needs " + string(a.Verb))
	}
}

// move lets movers create their keys, and end once they have met.
func (c *clusters) move() {
	for _, t := range c.all(KindMover) {
		m := &t.mover
		switch {
		case m.Key == "":
			m.Key = "key of " + t.ref.Name
		case m.Peer == "":
		case slices.ContainsFunc(c.all(KindMover), func(o *thing) bool { return o.mover.Key == m.Peer && o.mover.Peer == m.Key }):
			m.Ended, m.EndedAt, m.Result = true, c.now, volumes.MoverResult{Done: true, Bytes: 7}
		}
	}
}

// loseClaim deletes the claim of the first clone, with its volume.
func (c *clusters) loseClaim() {
	c.at(KindClaim, "data-web-1").terminating = true
	c.finish()
}

// TestCopied: each volume is copied once, one after the other, by a pass that the movers end. They are deleted before the
// pods start, and the result states that the volumes were copied.
func TestCopied(t *testing.T) {
	c := newClusters(2).copying()
	if err := c.run(true, false); err != nil {
		t.Fatal(err)
	}
	c.expectSafe(t)
	result := c.record.Result
	if c.record.End.Outcome != Rehearsed || !result.Copied || result.CarrySeconds != 0 || !c.record.Cleaned {
		t.Fatalf("%+v, %+v", c.record.End, result)
	}
	var movers []string
	started := false
	for _, w := range c.wrote {
		started = started || w.Kind == KindSet
		if w.Kind == KindTaken || started && w.Kind == KindMover {
			t.Errorf("it wrote %s", w)
		}
		if w.Kind == KindMover && w.Verb != Update {
			role, _, _ := strings.Cut(strings.TrimPrefix(w.On.Name, "sliceshift-"), "-")
			movers = append(movers, string(w.Verb)+" "+role)
		}
	}
	one := []string{"create receiver", "create warm", "delete warm", "delete receiver"}
	if want := slices.Concat(one, one); !slices.Equal(movers, want) {
		t.Errorf("movers: %q, want %q", movers, want)
	}
}

// TestCopyIsNotRepeated: when a copy is complete, no mover writes to its volume again, however long the rest takes.
func TestCopyIsNotRepeated(t *testing.T) {
	c := newClusters(1).copying()
	c.until(func() bool { return c.record.Cloned != nil })
	const days = 9
	for range days {
		c.now = c.now.Add(24 * time.Hour)
		if step, _ := c.pass(true, false); step.Write != nil && step.Write.Kind == KindMover {
			t.Fatalf("it wrote %s", step.Write)
		}
	}
}

// TestCopyEnds: a copy whose claim or disk is lost ends the rehearsal, and is not begun again.
func TestCopyEnds(t *testing.T) {
	meets := func(c *clusters) bool {
		return slices.ContainsFunc(c.all(KindMover), func(t *thing) bool { return t.mover.Peer != "" })
	}
	receiver := func(c *clusters) *volumes.Mover {
		return &c.all(KindMover)[0].mover
	}
	for name, tc := range map[string]struct {
		until  func(*clusters) bool
		change func(*clusters)
		reason string
	}{
		"the claim is deleted": {meets, (*clusters).loseClaim, ReasonCopyLost},
		"the disk fails": {meets, func(c *clusters) {
			receiver(c).Ended, receiver(c).Result = true, volumes.MoverResult{Torn: true, Message: "write error"}
		}, ReasonCopyLost},
		"the claim is replaced":    {func(c *clusters) bool { return c.record.Cloned != nil }, (*clusters).loseClaim, "ClaimDeleted"},
		"the StatefulSet is ended": {func(c *clusters) bool { return c.record.SetUID != "" }, func(c *clusters) { c.things[KindSet] = nil }, "SetDeleted"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusters(1).copying()
			c.ready = false
			c.until(func() bool { return tc.until(c) })
			tc.change(c)
			if err := c.run(true, false); err != nil {
				t.Fatal(err)
			}
			if end := c.record.End; end.Outcome != Failed || end.Reason != tc.reason {
				t.Errorf("%+v", end)
			}
			c.expectSafe(t)
		})
	}
}

// TestCopyRefused: a volume that its node lets no second pod mount ends the rehearsal, with the ways that are left.
func TestCopyRefused(t *testing.T) {
	c := newClusters(1).copying()
	c.until(func() bool { return len(c.things[KindMover]) == 2 })
	f := c.facts(true, false)
	f.Now = f.Now.Add(time.Hour)
	pair := f.Clones[0].Pair.Copy
	pair.Now, pair.Warm.Key, pair.Warm.Node, pair.Warm.Refuses = f.Now, "", "node-1", "Multi-Attach error"
	step := Next(f)
	if step.Record == nil || step.Record.End == nil {
		t.Fatalf("%+v", step)
	}
	if end := step.Record.End; !strings.Contains(end.Message, "Multi-Attach error") || !strings.Contains(end.Remedy, "data=empty") || strings.Contains(end.Remedy, "copy.warm") {
		t.Errorf("%+v", end)
	}
}

// TestKeptWithoutMovers: a rehearsal that fails while it copies keeps its objects on request, but no mover, which would
// read the source.
func TestKeptWithoutMovers(t *testing.T) {
	c := newClusters(1).copying()
	c.record.Keep = true
	c.until(func() bool { return len(c.things[KindMover]) == 2 })
	c.at(KindCopy, "Secretweb").terminating = true
	if err := c.run(true, false); err != nil {
		t.Fatal(err)
	}
	if len(c.things[KindMover]) > 0 || c.at(KindClaim, "data-web-1") == nil || !c.record.Open() {
		t.Errorf("%q", c.remains())
	}
}

// TestAdmitted: a process without rights in other namespaces binds its role in the new one, and waits for it. If that
// has no effect, the rehearsal ends.
func TestAdmitted(t *testing.T) {
	c := newClusters(1)
	c.admits = false
	if err := c.run(true, false); err != nil {
		t.Fatal(err)
	}
	c.expectSafe(t)
	if at := slices.IndexFunc(c.wrote, func(w Write) bool { return w.Kind == KindBinding }); at != 1 || c.record.End.Outcome != Rehearsed {
		t.Errorf("the RoleBinding is write %d, and it ended %+v", at, c.record.End)
	}
	f := newClusters(1).facts(true, false)
	f.Namespace.Found, f.Namespace.Ours, f.Namespace.UID, f.Record.NamespaceUID = true, true, "uid", "uid"
	f.Admission = Admission{Binding: Object{Found: true, Created: noon}, Role: "stage", User: "jane"}
	if step := Next(f); !strings.Contains(step.Wait, "takes effect for user jane") {
		t.Errorf("%+v", step)
	}
	f.Now = noon.Add(ProbeWithin + 1)
	if step := Next(f); step.Record == nil || step.Record.End.Reason != ReasonNotAdmitted {
		t.Errorf("%+v", step)
	}
}
