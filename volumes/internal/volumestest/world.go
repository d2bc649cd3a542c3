// Package volumestest has a world in which methods that fill a second volume are tested: one ordinal between two sides,
// what their API servers keep of its claims and volumes, binders that act when they like, people who start a pod where
// they should not, and writes that come late. What carries the data, movers or snapshots, is added by the tests of each
// method.
package volumestest

import (
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// Owner is the UID of the migration.
const Owner = "migration"

// Nowhere is where the ordinal runs that is on its way.
const Nowhere = -1

// Failer is told what must not be.
type Failer interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// Disk is a volume of the world with what is on it: which of the application's writes was the last one. Half of a copy is
// negative, and an empty disk has 0.
type Disk struct {
	volumes.Volume
	Content int
}

// Late is a write that is on its way to a side, and may arrive long after it was decided.
type Late struct {
	volumes.Action
	Side int
}

// Place is what an API server stores of the ordinal.
type Place struct {
	Ref      volumes.Ref
	Claim    volumes.Claim
	Incoming map[string]volumes.Claim
	Outgoing volumes.Claim
	Disks    map[string]*Disk
}

// Method is what is tested.
type Method interface {
	Prepare(pair volumes.Pair) volumes.Verdict
	Confirm(pair volumes.Pair, disk string) *volumes.Problem
	Transfer(pair volumes.Pair) volumes.Verdict
	Drop(pair volumes.Pair) volumes.Verdict
	AtGiver(action volumes.Action) bool
}

// Surroundings are a world with what carries the data. One that embeds a World says what is different there.
type Surroundings interface {
	// Pair is what an observer sees.
	Pair() volumes.Pair
	// Leave is what is due while the ordinal runs at the giver. When it is done, the ordinal is stopped.
	Leave(pair volumes.Pair) volumes.Verdict
	// Decide is the next write; nil: there is none.
	Decide(t Failer) *Late
	// Arrive does with a write what an API server does.
	Arrive(t Failer, write Late)
	// Act lets all but the migration act once as they should.
	Act()
	// Check fails a test in which something is wrong.
	Check(t Failer)
}

// World is one ordinal between two sides.
type World struct {
	Epoch int
	Now   time.Time
	// Giver is the side that the ordinal leaves in the present direction, and Runs is where it is.
	Giver, Runs int
	Record      api.CopyAttempt
	Places      [2]*Place
	OnTheirWay  []Late
	// Written is what the application has written last.
	Written int
	// Around is the world with what carries the data.
	Around Surroundings

	method Method
	serial int
}

// New is a world in which the ordinal runs at the first side. Its Around must be set.
func New(method Method) *World {
	w := &World{Epoch: 1, Written: 1, Now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), method: method}
	for i, namespace := range []string{"east", "west"} {
		w.Places[i] = &Place{Ref: volumes.Ref{Namespace: namespace, Name: "data-web-0"}, Incoming: map[string]volumes.Claim{}, Disks: map[string]*Disk{}}
	}
	east := w.Places[0]
	east.Claim = volumes.Claim{Found: true, UID: "giver", ResourceVersion: "1", Phase: corev1.ClaimBound, Volume: "pv"}
	east.Disks["pv"] = &Disk{Content: 1, Volume: volumes.Volume{
		Found: true, Name: "pv", UID: "pv", ResourceVersion: "1", Handle: "d/pv", Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: "east", Name: "data-web-0", UID: "giver"},
	}}
	return w
}

// Next is a string that was never used before, for names, UIDs and resourceVersions.
func (w *World) Next() string {
	w.serial++
	return strconv.Itoa(w.serial + 100)
}

// Fence is the fence under which the migration acts now.
func (w *World) Fence() string { return Owner + "." + strconv.Itoa(w.Epoch) }

// From is the side that the recorded attempt carries the data from.
func (w *World) From() int {
	from, err := strconv.Atoi(w.Record.Giver)
	if err != nil {
		return w.Giver
	}
	return from
}

// Pair is what an observer sees, but for what carries the data.
func (w *World) Pair() volumes.Pair {
	seen := volumes.Copying{Now: w.Now, Attempt: w.Record}
	pair := volumes.Pair{Separate: true, Fence: w.Fence(), Owner: Owner, Giver: w.Places[w.Giver].Holding(), Taker: w.Places[1-w.Giver].Holding(), Template: "data", Copy: &seen}
	if w.Record.Number == 0 {
		return pair
	}
	giver, taker := w.Places[w.From()], w.Places[1-w.From()]
	seen.Back = w.From() != w.Giver
	in := volumes.IncomingRef(taker.Ref, Owner, w.Record.Number)
	seen.Outgoing = volumes.Holding{Ref: giver.Out(), Claim: giver.Outgoing, Volume: giver.Volume(giver.Claim.Volume)}
	seen.Incoming = volumes.Holding{Ref: in, Claim: taker.Incoming[in.Name]}
	name := w.Record.Seal.Volume
	if seen.Incoming.Claim.Volume != "" {
		name = seen.Incoming.Claim.Volume
	}
	seen.Incoming.Volume = taker.Volume(name)
	return pair
}

// Volume is a copy of a disk's object; the zero one when there is none.
func (p *Place) Volume(name string) volumes.Volume {
	if d := p.Disks[name]; d != nil {
		return d.Volume
	}
	return volumes.Volume{}
}

// Holding is what a place has of the ordinal's own claim.
func (p *Place) Holding() volumes.Holding {
	return volumes.Holding{Ref: p.Ref, Claim: p.Claim, Volume: p.Volume(p.Claim.Volume)}
}

// Out is the outgoing claim.
func (p *Place) Out() volumes.Ref { return volumes.OutgoingRef(p.Ref, Owner) }

// Bound is what is behind a claim that can be mounted; nil: it cannot.
func (p *Place) Bound(claim volumes.Claim, ref volumes.Ref) *Disk {
	d := p.Disks[claim.Volume]
	if d == nil || !claim.Found || claim.UID == "" || d.ClaimRef.UID != claim.UID || !d.ClaimRef.Names(ref) {
		return nil
	}
	return d
}

// Own is the volume that can be mounted under the ordinal's name; nil: none.
func (p *Place) Own() *Disk { return p.Bound(p.Claim, p.Ref) }

// Act lets the binders of both sides act.
func (w *World) Act() {
	for _, p := range w.Places {
		for name, claim := range p.Incoming {
			p.Incoming[name] = w.bind(p, volumes.Ref{Namespace: p.Ref.Namespace, Name: name}, claim)
		}
		p.Claim, p.Outgoing = w.bind(p, p.Ref, p.Claim), w.bind(p, p.Out(), p.Outgoing)
		for name, d := range p.Disks {
			if d.Policy == corev1.PersistentVolumeReclaimDelete && p.orphan(d) {
				delete(p.Disks, name)
				continue
			}
			phase := corev1.VolumeBound
			if d.ClaimRef.UID == "" {
				phase = corev1.VolumeAvailable
			}
			if d.Phase != phase {
				d.Phase, d.ResourceVersion = phase, w.Next()
			}
		}
	}
}

// orphan says whether the claim of a disk is gone to which it was bound.
func (p *Place) orphan(d *Disk) bool {
	claims := append(slices.Collect(maps.Values(p.Incoming)), p.Claim, p.Outgoing)
	return d.ClaimRef.UID != "" && !slices.ContainsFunc(claims, func(c volumes.Claim) bool { return c.Found && c.UID == d.ClaimRef.UID })
}

// bind is what a binder makes of a claim and the volume that it names.
func (w *World) bind(p *Place, ref volumes.Ref, claim volumes.Claim) volumes.Claim {
	d := p.Disks[claim.Volume]
	if !claim.Found || d == nil {
		return claim
	}
	if d.ClaimRef.Names(ref) && d.ClaimRef.UID == "" {
		d.ClaimRef.UID, d.ResourceVersion = claim.UID, w.Next()
	}
	phase := corev1.ClaimLost
	if p.Bound(claim, ref) != nil {
		phase = corev1.ClaimBound
	}
	if claim.Phase != phase {
		claim.Phase, claim.ResourceVersion = phase, w.Next()
	}
	return claim
}

// Provision makes the volume of an incoming claim, of a CSI driver and with something on it.
func (w *World) Provision(p *Place, claimName, driver string, content int) {
	claim, name := p.Incoming[claimName], "pvc-"+w.Next()
	claim.Volume, claim.ResourceVersion = name, w.Next()
	p.Incoming[claimName] = claim
	p.Disks[name] = &Disk{Content: content, Volume: volumes.Volume{
		Found: true, Name: name, UID: types.UID(name), ResourceVersion: w.Next(), Handle: driver + "/" + name, Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound,
		ClaimRef: volumes.Ref{Namespace: p.Ref.Namespace, Name: claimName, UID: claim.UID},
	}}
}
