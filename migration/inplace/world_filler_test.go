package inplace

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/volumes"
)

// fill is an attempt of the filler.
type fill struct {
	volume         string
	warm, released bool
	seal           string
	// movers are its pods, by role.
	movers map[volumes.Role]*worldMover
}

// worldMover is a pod of the filler.
type worldMover struct {
	// beside is true if it names the claim of the ordinal.
	beside, ended bool
}

// names reports whether a pod of the filler names the claim of the ordinal.
func (f *fill) names() bool {
	if f == nil {
		return false
	}
	sender := f.movers[volumes.RoleSender]
	return sender != nil && sender.beside
}

// runs reports whether a pod runs.
func (f *fill) runs(role volumes.Role) bool {
	m := f.movers[role]
	return m != nil && !m.ended
}

// The verbs of the filler.
const (
	fillStart       volumes.Verb = "FillStart"
	fillWarm        volumes.Verb = "FillWarm"
	fillKeep        volumes.Verb = "FillKeep"
	fillRelease     volumes.Verb = "FillRelease"
	fillBind        volumes.Verb = "FillBind"
	fillReceiver    volumes.Verb = "FillReceiver"
	fillSender      volumes.Verb = "FillSender"
	fillEndReceiver volumes.Verb = "FillEndReceiver"
	fillEndSender   volumes.Verb = "FillEndSender"
	fillPass        volumes.Verb = "FillPass"
	fillDrop        volumes.Verb = "FillDrop"
)

// Ahead implements Filler.
func (w *world) Ahead(_ int32, slot Slot, goal volumes.Goal) volumes.Verdict {
	f, verb := w.fills[slot.Ref.Name], volumes.Verb("")
	switch goal {
	case volumes.Warm:
		verb = w.warms(f)
	case volumes.Standby:
		verb = w.poises(f)
	case volumes.Filled:
		verb = w.fillsUp(f, slot)
	case volumes.Withdrawn:
		if f != nil && !slot.Claim.Terminating {
			verb = f.ends(func(*worldMover) bool { return true })
		}
	case volumes.Halted:
		verb = f.halts(slot)
	case volumes.Dropped:
		if f != nil {
			verb = fillDrop
		}
	default:
	}
	switch {
	case verb == "":
		return volumes.Verdict{}
	case verb == fillRelease && slot.Old.Departing != nil:
		return volumes.Held(slot.Old.Departing)
	}
	return volumes.Verdict{Action: &volumes.Action{Verb: verb, Ref: slot.Ref}}
}

func (w *world) warms(f *fill) volumes.Verb {
	switch {
	case w.cold:
		return ""
	case f == nil:
		return fillStart
	case !f.warm:
		return fillWarm
	}
	return ""
}

// poises returns the next step until the pods of the last pass stand by.
func (w *world) poises(f *fill) volumes.Verb {
	if f == nil {
		return fillStart
	}
	if verb := f.ends(func(m *worldMover) bool { return m.ended }); verb != "" {
		return verb
	}
	switch {
	case f.movers[volumes.RoleReceiver] == nil:
		return fillReceiver
	case f.movers[volumes.RoleSender] == nil && !w.attached:
		return fillSender
	case f.warm && !w.volumes[f.volume].retain:
		return fillKeep
	}
	return ""
}

// fillsUp returns the next step until the volume is sealed, and no pod runs that has one of the volumes mounted.
func (w *world) fillsUp(f *fill, slot Slot) volumes.Verb {
	switch {
	case f == nil:
		return fillStart
	case !f.released:
		return fillRelease
	case f.seal != "":
		return f.halts(slot)
	}
	if verb := f.ends(func(m *worldMover) bool { return m.ended }); verb != "" {
		return verb
	}
	switch {
	case f.movers[volumes.RoleSender] == nil && w.volumes[slot.Old.Name].ref.UID == "":
		return fillBind
	case f.movers[volumes.RoleReceiver] == nil:
		return fillReceiver
	case f.movers[volumes.RoleSender] == nil:
		return fillSender
	}
	return fillPass
}

// halts returns the next step until no pod runs, and none names a claim that is being deleted.
func (f *fill) halts(slot Slot) volumes.Verb {
	if f == nil {
		return ""
	}
	return f.ends(func(m *worldMover) bool { return !m.ended || m.beside && slot.Claim.Terminating })
}

// ends returns the deletion of the first pod for which a condition holds.
func (f *fill) ends(which func(*worldMover) bool) volumes.Verb {
	for _, role := range []volumes.Role{volumes.RoleSender, volumes.RoleReceiver} {
		if m := f.movers[role]; m != nil && which(m) {
			return map[volumes.Role]volumes.Verb{volumes.RoleSender: fillEndSender, volumes.RoleReceiver: fillEndReceiver}[role]
		}
	}
	return ""
}

// writeFill makes a write of the filler.
func (w *world) writeFill(a Action) bool {
	name := a.Fill.Ref.Name
	f := w.fills[name]
	if (f == nil) != (a.Fill.Verb == fillStart) {
		return false
	}
	w.note("%s %s", a.Fill.Verb, name)
	if f == nil {
		v := &worldVolume{object: w.fresh("volume"), ref: volumes.Ref{Name: "incoming", UID: "incoming"}, template: w.formOf(name)}
		v.name = "new-" + string(v.uid)
		w.volumes[v.name], w.fills[name] = v, &fill{volume: v.name, movers: map[volumes.Role]*worldMover{}}
		return true
	}
	incoming, old := w.volumes[f.volume], w.volumes[w.oldOf(name)]
	switch a.Fill.Verb {
	case fillWarm:
		incoming.data, f.warm = old.data, true
	case fillKeep:
		incoming.retain, incoming.secured = true, true
	case fillRelease:
		if c := w.claims[name]; c != nil && !c.terminating || w.usedBy(old.name) {
			w.fail("volume %s is released while it can be used", old.name)
		}
		w.lasts(old)
		old.ref, f.released = volumes.Ref{Name: "outgoing"}, true
		w.touch(&old.object)
	case fillBind:
		old.ref.UID, old.available = "outgoing", false
		w.touch(&old.object)
	case fillReceiver, fillSender, fillEndReceiver, fillEndSender:
		w.writeMover(a.Fill.Verb, name, f)
	case fillPass:
		w.lastPass(f, incoming, old)
	case fillDrop:
		if incoming.ref.Name == "incoming" || incoming.ref.Name == volumes.Parked(volumes.Ref{Name: name}).Name {
			delete(w.volumes, f.volume)
		}
		delete(w.fills, name)
	default:
		w.fail("the filler does not write %s", a.Fill.Verb)
	}
	return true
}

// writeMover creates or deletes a pod of the filler. A sender reads the claim of the ordinal as long as that runs.
func (w *world) writeMover(verb volumes.Verb, name string, f *fill) {
	switch verb {
	case fillReceiver:
		f.movers[volumes.RoleReceiver] = &worldMover{}
	case fillSender:
		c := w.claims[name]
		if !f.released && (c == nil || c.terminating) {
			w.fail("a sender is created beside an ordinal that is being stopped: no kubelet starts it")
		}
		f.movers[volumes.RoleSender] = &worldMover{beside: !f.released}
	case fillEndReceiver:
		delete(f.movers, volumes.RoleReceiver)
	default:
		delete(f.movers, volumes.RoleSender)
	}
}

// lastPass copies what the ordinal has written until it was stopped. Its pods end with it.
func (w *world) lastPass(f *fill, incoming, old *worldVolume) {
	sender := f.movers[volumes.RoleSender]
	if !f.runs(volumes.RoleSender) || !f.runs(volumes.RoleReceiver) || !sender.beside && old.ref.UID != "outgoing" {
		w.fail("the last pass has no pods, or its sender has no volume: %+v", f)
	}
	if old.ref.Name != "outgoing" {
		w.fail("the last pass reads volume %s, which can be mounted under the name of the ordinal (I3)", old.name)
	}
	for _, m := range f.movers {
		m.ended = true
	}
	incoming.data, f.seal = old.data, fmt.Sprintf("seal-%d", old.data)
}

// dies ends a pod of the filler without a result, as the loss of its node does.
func (w *world) dies(ordinal int32, role volumes.Role) {
	for _, template := range w.former.Templates {
		if f := w.fills[claimName(template.Name, ordinal)]; f != nil && f.runs(role) {
			f.movers[role].ended = true
			w.note("the %s of claim %s-%d dies", role, template.Name, ordinal)
		}
	}
}

// written reports whether a pod of the filler can write to a volume.
func (w *world) written(volume string) bool {
	for _, name := range slices.Sorted(maps.Keys(w.fills)) {
		if f := w.fills[name]; f.volume == volume && f.runs(volumes.RoleReceiver) {
			return true
		}
	}
	return false
}

func (w *world) usedBy(volume string) bool {
	for _, pod := range w.pods {
		for _, name := range pod.on {
			if name == volume {
				return true
			}
		}
	}
	return false
}

// formOf returns the template of the volume that the filler creates for a claim.
func (w *world) formOf(claim string) Template {
	to := w.wanted
	if w.record.Handoff.Return {
		to = w.former
	}
	at := slices.IndexFunc(to.Templates, func(t Template) bool { return strings.HasPrefix(claim, t.Name+"-") })
	return to.Templates[at]
}

func (w *world) oldOf(claim string) string {
	for _, handed := range w.record.Handoff.Slots {
		if claimName(handed.Template, w.record.Handoff.Ordinal) == claim {
			return handed.Old
		}
	}
	return ""
}
