package inplace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/drift"
)

// onlineGrowth is the time that a kubelet gets to grow a mounted file system, which usually takes seconds. After that the
// pod is restarted, because some drivers grow a file system only when it is mounted.
const onlineGrowth = time.Minute

// changed lets the driver change the volumes of an ordinal that it keeps, and waits until it has. The next ordinal follows
// only then. The ordinal runs, so no budget is needed, and a full volume grows even if its pod fails.
func (p *planner) changed(o Ordinal) *Decision {
	for _, slot := range o.Slots {
		if p.asks(slot) {
			return p.ask(slot)
		}
	}
	for _, slot := range o.Slots {
		if held := p.arriving(o, slot); held != nil {
			return held
		}
	}
	return nil
}

// asks reports whether the driver can give a volume what its claim lacks.
func (p *planner) asks(slot Slot) bool {
	need := p.needs(slot)
	return (need == drift.Expand || need == drift.Modify) && p.request(slot) != slot.Asks
}

// request returns what the claim of a slot is to ask for. A volume that has grown keeps its size on the way back, and none
// loses its attributes.
func (p *planner) request(slot Slot) Request {
	asks, to := slot.Asks, p.goal(slot)
	if !p.back() || to.Size > asks.Size {
		asks.Size = to.Size
	}
	asks.Attributes = cmp.Or(to.Attributes, asks.Attributes)
	return asks
}

// goal returns what the template of a slot asks for.
func (p *planner) goal(slot Slot) Request {
	at := slices.IndexFunc(p.target().Templates, func(t Template) bool { return t.Name == slot.Template })
	if at < 0 {
		return slot.Asks
	}
	to := p.target().Templates[at]
	return Request{Size: to.Size, Attributes: to.Attributes}
}

// ask writes the request of a claim.
func (p *planner) ask(slot Slot) *Decision {
	if !slot.Claim.Bound || slot.Claim.Terminating {
		return p.replaceable(slot)
	}
	if held := p.permitted(); held != nil {
		return held
	}
	decision := onClaim(ChangeClaim, slot)
	decision.Action.Request = p.request(slot)
	return decision
}

// awaits reports whether the driver has left to do what the target asks for. The copy into a new volume awaits nothing.
func (p *planner) awaits(slot Slot) bool {
	to := p.goal(slot)
	return p.needs(slot) != drift.Copy && (slot.Change.Modifies && slot.Asks.Attributes == to.Attributes || slot.Change.Grows && slot.Asks.Size == to.Size)
}

// arriving waits until the driver has changed a volume. A node that cannot grow a mounted file system reports an error, and
// grows it as the pod is restarted. The copy of another volume of the ordinal restarts the pod, too.
func (p *planner) arriving(o Ordinal, slot Slot) *Decision {
	change, onNode := slot.Change, !slot.Change.FileSystem.IsZero() && !slot.Change.Modifies
	switch {
	case !p.awaits(slot), onNode && p.copies(o):
		return nil
	case onNode && o.Pod.mountedBefore(change.FileSystem):
		return p.grows(o, slot)
	case change.Trouble != "":
		return stalls(volumes.ReasonVolumeChanging, fmt.Sprintf("the driver cannot change the volume of claim %s: %q", slot.Ref.Name, change.Trouble), "correct the cause, and the driver tries again: "+p.describe(slot))
	case onNode:
		return p.patiently(later(change.FileSystem, o.Pod.Created), slot, "waiting until the node grows the file system of claim "+slot.Ref.Name+" as its pod starts")
	}
	return p.patiently(change.Since, slot, fmt.Sprintf("waiting until the driver gives the volume of claim %s %s", slot.Ref.Name, slot.Asks))
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// grows waits until the node has grown a mounted file system, and restarts the pod if that takes too long.
func (p *planner) grows(o Ordinal, slot Slot) *Decision {
	if p.demands(o, slot) {
		return p.restart(o)
	}
	hold := volumes.Reason{Reason: volumes.ReasonVolumeChanging, Message: "waiting until the node grows the file system of claim " + slot.Ref.Name}
	return &Decision{Hold: &hold, Wait: onlineGrowth - p.Now.Sub(slot.Change.FileSystem)}
}

// demands reports whether a file system waits for a restart of the pod: the kubelet had time to grow it while it is mounted.
func (p *planner) demands(o Ordinal, slot Slot) bool {
	since := slot.Change.FileSystem
	return p.awaits(slot) && o.Pod.mountedBefore(since) && p.Now.Sub(since) >= onlineGrowth
}

// mountedBefore reports whether the pod was created before a time, and may have mounted its volumes then.
func (pod Pod) mountedBefore(at time.Time) bool {
	return pod.Found && pod.Node != "" && !pod.Terminating && pod.Created.Before(at)
}

// patiently waits, and stalls at the deadline.
func (p *planner) patiently(since time.Time, slot Slot, message string) *Decision {
	hold := &Decision{Hold: &volumes.Reason{Reason: volumes.ReasonVolumeChanging, Message: message}}
	if since.IsZero() || p.Deadline == 0 {
		return hold
	}
	if left := p.Deadline - p.Now.Sub(since); left > 0 {
		hold.Wait = left
		return hold
	}
	return stalls(volumes.ReasonVolumeChanging, message+", for longer than "+p.Deadline.String(), "see whether the driver runs with the sidecar csi-resizer, and the events of the claim: "+p.describe(slot))
}

func (p *planner) describe(slot Slot) string {
	return p.Kubectl.Do("describe", "pvc", "-n", slot.Ref.Namespace, slot.Ref.Name)
}

// Quantity returns the size as claims have it.
func (r Request) Quantity() string { return resource.NewQuantity(r.Size, resource.BinarySI).String() }

// String names the request.
func (r Request) String() string {
	if r.Attributes == "" {
		return "a size of " + r.Quantity()
	}
	return "a size of " + r.Quantity() + " and the attributes of class " + r.Attributes
}

// Unfit returns the message about a claim that needs a new volume, and whose method keeps the present one.
func (s Slot) Unfit() string {
	text := fmt.Sprintf("claim %s needs a new volume, and method Rebind keeps the present one: %s", s.Ref.Name, s.Why)
	if s.Change.Trouble != "" {
		text += fmt.Sprintf(": %q", s.Change.Trouble)
	}
	return text
}

// restart begins to restart the pod of an ordinal.
func (p *planner) restart(o Ordinal) *Decision {
	h := Handoff{Ordinal: o.Ordinal, Return: p.back()}
	if held := cmp.Or(p.gate(o.Ordinal), flight{p, h, o}.evictions()); held != nil {
		return held
	}
	return p.recorded(func(r *Record) { r.Handoff = &h })
}

// onlyRestarts reports whether the ordinal in flight keeps its volumes, and its pod is restarted.
func (f flight) onlyRestarts() bool { return len(f.Slots) == 0 }

// due reports whether the restart is still to be done.
func (f flight) due() bool {
	return slices.ContainsFunc(f.ordinal.Slots, func(slot Slot) bool { return f.demands(f.ordinal, slot) })
}

// whereRestarting returns where an ordinal is whose pod is restarted.
func (f flight) whereRestarting() Place {
	switch pod := f.ordinal.Pod; {
	case f.due():
		return Before
	case !pod.Found || pod.Terminating:
		return Between
	}
	return After
}

// restarting evicts the pod, waits until the next one is Ready, and until the file systems have grown.
func (f flight) restarting() *Decision {
	if f.due() {
		return first(f.paused, f.present, f.evict)
	}
	switch pod := f.ordinal.Pod; {
	case pod.Terminating:
		return waits(api.ReasonPodTerminating, fmt.Sprintf("waiting until the pod of ordinal %d has ended", f.Ordinal))
	case !pod.Found:
		return waits(api.ReasonPodMissing, fmt.Sprintf("waiting for the pod of ordinal %d", f.Ordinal))
	case !pod.Available:
		return waits(api.ReasonPodNotReady, fmt.Sprintf("waiting until the pod of ordinal %d is Ready", f.Ordinal))
	}
	for _, slot := range f.ordinal.Slots {
		if held := f.arriving(f.ordinal, slot); held != nil {
			return held
		}
	}
	return f.forget()
}
