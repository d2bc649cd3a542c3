package copy

import (
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

const owner = "migration"

// disk is a volume of the world with what is on it; half a copy is negative.
type disk struct {
	volumes.Volume
	content int
}

// pod is a mover as it runs: what it has mounted stays mounted until it is gone.
type pod struct {
	volumes.Mover
	role    volumes.Role
	side    int
	claim   string
	mounted *disk
}

// late is a write that is on its way to a side, and may arrive long after it was decided.
type late struct {
	volumes.Action
	side int
}

// place is what an API server stores of the ordinal.
type place struct {
	ref      volumes.Ref
	claim    volumes.Claim
	incoming map[string]volumes.Claim
	outgoing volumes.Claim
	disks    map[string]*disk
}

// nowhere is where the ordinal runs that is on its way.
const nowhere = -1

// world is one ordinal between two sides: what their API servers store, movers and binders that act when
// they like, people who start a pod where they should not, and writes that come late.
type world struct {
	serial, epoch int
	now           time.Time
	// giver is the side that the ordinal leaves in the present direction, and runs is where it is.
	giver, runs int
	record      api.CopyAttempt
	places      [2]*place
	movers      map[string]*pod
	entrances   map[string]bool
	onTheirWay  []late
	// written is what the application has written last.
	written int
	// twice is a claim name for which a volume was made a second time.
	twice string
	made  map[string]bool
}

func newWorld() *world {
	w := &world{epoch: 1, written: 1, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), movers: map[string]*pod{}, entrances: map[string]bool{}, made: map[string]bool{}}
	for i, namespace := range []string{"east", "west"} {
		w.places[i] = &place{ref: volumes.Ref{Namespace: namespace, Name: "data-web-0"}, incoming: map[string]volumes.Claim{}, disks: map[string]*disk{}}
	}
	east := w.places[0]
	east.claim = volumes.Claim{Found: true, UID: "giver", ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv"}
	east.disks["pv"] = &disk{content: 1, Volume: volumes.Volume{
		Found: true, Name: "pv", UID: "pv", ResourceVersion: "1", Handle: "d/pv", Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: "east", Name: "data-web-0", UID: "giver"},
	}}
	return w
}

func (w *world) next() string {
	w.serial++
	return strconv.Itoa(w.serial + 100)
}

func (w *world) fence() string { return owner + "." + strconv.Itoa(w.epoch) }

// volume is a copy of a disk's object; the zero one when there is none.
func (p *place) volume(name string) volumes.Volume {
	if d := p.disks[name]; d != nil {
		return d.Volume
	}
	return volumes.Volume{}
}

func (p *place) holding() volumes.Holding {
	return volumes.Holding{Ref: p.ref, Claim: p.claim, Volume: p.volume(p.claim.Volume)}
}

// pair is what an observer sees.
func (w *world) pair() volumes.Pair {
	seen := volumes.Copying{Now: w.now, Asked: volumes.CopyAsked{Image: "mover"}, Attempt: w.record}
	pair := volumes.Pair{Separate: true, Fence: w.fence(), Owner: owner, Giver: w.places[w.giver].holding(), Taker: w.places[1-w.giver].holding(), Template: "data", Copy: &seen}
	if w.record.Number == 0 {
		return pair
	}
	from, _ := strconv.Atoi(w.record.Giver)
	giver, taker := w.places[from], w.places[1-from]
	seen.Back = from != w.giver
	out, in := OutgoingRef(giver.ref, owner), IncomingRef(taker.ref, owner, w.record.Number)
	seen.Outgoing = volumes.Holding{Ref: out, Claim: giver.outgoing, Volume: giver.volume(giver.claim.Volume)}
	seen.Incoming = volumes.Holding{Ref: in, Claim: taker.incoming[in.Name]}
	name := w.record.Seal.Volume
	if seen.Incoming.Claim.Volume != "" {
		name = seen.Incoming.Claim.Volume
	}
	seen.Incoming.Volume = taker.volume(name)
	seen.Entrance = volumes.Entrance{Found: w.entrances[in.Name], Address: "address"}
	if m := w.movers[PodName(volumes.RoleReceiver, taker.ref, owner, w.record.Number)]; m != nil {
		seen.Receiver = m.Mover
	}
	if m := w.movers[PodName(volumes.RoleSender, giver.ref, owner, w.record.Number)]; m != nil {
		seen.Sender = m.Mover
	}
	return pair
}

// bound says whether a claim can be mounted, and what is behind it.
func (p *place) bound(claim volumes.Claim, ref volumes.Ref) *disk {
	d := p.disks[claim.Volume]
	if d == nil || !claim.Found || claim.UID == "" || d.ClaimRef.UID != claim.UID || !d.ClaimRef.Names(ref) {
		return nil
	}
	return d
}

// own is the volume that can be mounted under the ordinal's name; nil: none.
func (p *place) own() *disk { return p.bound(p.claim, p.ref) }

// binder lets the binders and provisioners of both sides act.
func (w *world) binder() {
	for _, p := range w.places {
		for name, claim := range p.incoming {
			if claim.Volume == "" {
				w.provision(p, name)
			}
		}
		for name, claim := range p.incoming {
			p.incoming[name] = w.phase(p, volumes.Ref{Namespace: p.ref.Namespace, Name: name}, claim)
		}
		p.claim, p.outgoing = w.phase(p, p.ref, p.claim), w.phase(p, OutgoingRef(p.ref, owner), p.outgoing)
		for _, d := range p.disks {
			phase := corev1.VolumeBound
			if d.ClaimRef.UID == "" {
				phase = corev1.VolumeAvailable
			}
			if d.Phase != phase {
				d.Phase, d.ResourceVersion = phase, w.next()
			}
		}
	}
}

func (w *world) provision(p *place, claimName string) {
	claim, name := p.incoming[claimName], "pvc-"+w.next()
	if w.made[p.ref.Namespace+claimName] {
		w.twice = claimName
	}
	w.made[p.ref.Namespace+claimName] = true
	claim.Volume, claim.ResourceVersion = name, w.next()
	p.incoming[claimName] = claim
	p.disks[name] = &disk{Volume: volumes.Volume{
		Found: true, Name: name, UID: types.UID(name), ResourceVersion: w.next(), Handle: "d/" + name, Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: p.ref.Namespace, Name: claimName, UID: claim.UID},
	}}
}

// phase is what a binder makes of a claim and the volume that it names.
func (w *world) phase(p *place, ref volumes.Ref, claim volumes.Claim) volumes.Claim {
	d := p.disks[claim.Volume]
	if !claim.Found || d == nil {
		return claim
	}
	if d.ClaimRef.Names(ref) && d.ClaimRef.UID == "" {
		d.ClaimRef.UID, d.ResourceVersion = claim.UID, w.next()
	}
	phase := corev1.ClaimLost
	if p.bound(claim, ref) != nil {
		phase = corev1.ClaimBound
	}
	if claim.Phase != phase {
		claim.Phase, claim.ResourceVersion = phase, w.next()
	}
	return claim
}

// arrive does what an API server would: what was changed since it was judged is not written.
func (w *world) arrive(t *rapid.T, write late) {
	p := w.places[write.side]
	switch write.Verb {
	case volumes.CreateIncoming, volumes.CreateOutgoing, volumes.CreateClaim, volumes.MarkClaim, volumes.DeleteLost:
		w.writeClaim(t, p, write.Action)
	case volumes.CreateEntrance:
		w.entrances[write.Ref.Name] = true
	case volumes.CreateMover, volumes.MarkMover, volumes.TellMover, volumes.DeleteMover:
		w.writeMover(write)
	default:
		w.writeVolume(t, p, write.Action)
	}
}

func (w *world) writeClaim(t *rapid.T, p *place, a volumes.Action) {
	made := volumes.Claim{Found: true, Ours: true, Phase: corev1.ClaimPending, UID: types.UID("claim" + w.next()), ResourceVersion: w.next(), Fence: a.Fence, Volume: a.Volume}
	judged := func(c volumes.Claim) bool { return c.Found && c.UID == a.UID && c.ResourceVersion == a.ResourceVersion }
	switch a.Verb {
	case volumes.CreateIncoming:
		if !p.incoming[a.Ref.Name].Found {
			p.incoming[a.Ref.Name] = made
		}
	case volumes.CreateOutgoing:
		if !p.outgoing.Found {
			p.outgoing = made
		}
	case volumes.CreateClaim:
		if !p.claim.Found {
			p.claim = made
		}
	case volumes.MarkClaim:
		if judged(p.claim) {
			p.claim.Fence, p.claim.Calls, p.claim.ResourceVersion = a.Fence, a.Calls, w.next()
		}
	default:
		w.deleteClaim(t, p, a, judged)
	}
}

func (w *world) deleteClaim(t *rapid.T, p *place, a volumes.Action, judged func(volumes.Claim) bool) {
	switch incoming := p.incoming[a.Ref.Name]; {
	case a.Ref.Name == p.ref.Name && judged(p.claim):
		if p.own() != nil {
			t.Fatalf("the ordinal's claim is deleted, and bound to volume %s", p.claim.Volume)
		}
		p.claim = volumes.Claim{}
	case judged(incoming):
		if d := p.own(); d == nil || d.Name != incoming.Volume {
			t.Fatalf("the incoming claim goes before the ordinal's claim is bound: nothing names volume %s", incoming.Volume)
		}
		delete(p.incoming, a.Ref.Name)
	case a.Ref.Name == OutgoingRef(p.ref, owner).Name && judged(p.outgoing):
		p.outgoing = volumes.Claim{}
	}
}

func (w *world) writeMover(write late) {
	a := write.Action
	m := w.movers[a.Copy.Pod]
	if a.Verb == volumes.CreateMover {
		if m == nil {
			w.movers[a.Copy.Pod] = &pod{role: a.Copy.Role, side: write.side, claim: a.Ref.Name, Mover: volumes.Mover{
				Found: true, UID: types.UID("pod" + w.next()), ResourceVersion: w.next(), Attempt: a.Copy.Attempt, Pass: a.Copy.Pass, Fence: a.Fence,
			}}
		}
		return
	}
	if m == nil || m.UID != a.UID || m.ResourceVersion != a.ResourceVersion {
		return
	}
	m.Fence, m.ResourceVersion = a.Fence, w.next()
	switch a.Verb {
	case volumes.TellMover:
		m.Peer = a.Copy.Peer
	case volumes.DeleteMover:
		m.Terminating = true
	default:
	}
}

func (w *world) writeVolume(t *rapid.T, p *place, a volumes.Action) {
	d := p.disks[a.Volume]
	if d == nil || d.UID != a.UID || d.ResourceVersion != a.ResourceVersion {
		return
	}
	if a.Verb != volumes.Secure && !d.ClaimRef.Names(a.Ref) && d.Policy != corev1.PersistentVolumeReclaimRetain {
		t.Fatalf("I3: volume %s is pointed elsewhere without Retain", d.Name)
	}
	switch a.Verb {
	case volumes.Secure:
		d.Policy, d.Note = corev1.PersistentVolumeReclaimRetain, a.Note
	case volumes.Release:
		d.ClaimRef, d.Released = a.Ref, a.Copy.Released
	case volumes.TakeOver:
		d.ClaimRef, d.Seal = a.Ref, a.Copy.Seal
	case volumes.Park, volumes.Point, volumes.PointBack:
		d.ClaimRef = a.Ref
	default:
		t.Fatal(fmt.Sprintf("unknown verb %s", a.Verb))
	}
	if a.Copy.Returned {
		d.Released = ""
	}
	d.Fence, d.ResourceVersion = a.Fence, w.next()
}
