package model

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/volumes"
)

// currentVolumes is I2 and I3 for Copy and Snapshot. The volume that can be mounted under an ordinal's name has
// the ordinal's last write, and no mover can write to it.
func (m *machine) currentVolumes() string {
	for i := range m.yards {
		y, v := &m.yards[i], m.State.Volumes[i]
		if wrong := m.snapshotCounts(i); wrong != "" {
			return wrong
		}
		if y.twice != "" {
			return fmt.Sprintf("I3: a volume is made for claim %s a second time, which may get the same directory", y.twice)
		}
		for _, name := range plan.SideNames {
			h := *v.Holding(name)
			if !usable(h) {
				continue
			}
			if s, r := y.peers(); s != nil && s.role == volumes.RoleSender && s.mounted == h.Volume.Handle && !s.Ended && !r.Ended {
				return fmt.Sprintf("I3: the last pass reads volume %s, which can be mounted as %s on the %s", h.Volume.Name, h.Ref.Name, name)
			}
			if got := y.content[h.Volume.Handle]; got != y.written {
				return fmt.Sprintf("I3: volume %s can be mounted as %s on the %s, and has write %d of %d", h.Volume.Name, h.Ref.Name, name, got, y.written)
			}
			if slices.ContainsFunc(y.movers, func(pod mover) bool {
				return pod.role == volumes.RoleReceiver && pod.mounted == h.Volume.Handle && !pod.Ended
			}) {
				return fmt.Sprintf("I3: a mover can still write into volume %s of %s on the %s", h.Volume.Name, h.Ref.Name, name)
			}
		}
	}
	return ""
}

// noteRan records the disks on which an ordinal of method Empty runs.
func (m *machine) noteRan() {
	for i := range m.State.Volumes {
		v := &m.State.Volumes[i]
		for _, name := range plan.SideNames {
			h := v.Holding(name)
			pod, found := m.State.Side(name).Pod(v.Ordinal)
			if v.Method == api.MethodEmpty && found && pod.Ready && usable(*h) && !slices.Contains(m.ran, h.Volume.Handle) {
				m.ran = append(m.ran, h.Volume.Handle)
			}
		}
	}
}

// serves reports whether a pod could mount the volume and would find data of its ordinal there. A volume that
// was created for method Empty has none until a pod has run on it.
func (m *machine) serves(v plan.OrdinalVolume, h volumes.Holding) bool {
	return usable(h) && (v.Method != api.MethodEmpty || slices.Contains(m.ran, h.Volume.Handle))
}

// copyKept is I3 for Copy: some volume has the ordinal's last write.
func (m *machine) copyKept(i int) string {
	y, v := &m.yards[i], m.State.Volumes[i]
	for _, name := range plan.SideNames {
		if h := v.Holding(name); h.Volume.Found && y.content[h.Volume.Handle] == y.written {
			return ""
		}
	}
	for _, spare := range y.spare {
		if y.content[spare.Handle] == y.written {
			return ""
		}
	}
	return fmt.Sprintf("I3: no volume is left of what %s-%d has written", v.Template, v.Ordinal)
}

// startedOn reports whether an ordinal may start on its volume of a side (I3).
func (m *machine) startedOn(i int, e plan.Effect) bool {
	v := m.State.Volumes[i]
	h, other := *v.Holding(e.Side), *v.Holding(e.Side.Other())
	switch {
	case v.Method == api.MethodEmpty && h.Claim.Ours: // it is filled by its peers
		return h.Claim.Found && !usable(other)
	case fillsSecond(v):
		return h.Bound() && m.yards[i].content[h.Volume.Handle] == m.yards[i].written && !m.moverSurvives(i, e)
	}
	return h.Bound() && h.Volume.Handle == m.disks[i]
}

// moverSurvives reports whether an ordinal starts on its copy while a mover of that copy still runs.
func (m *machine) moverSurvives(i int, e plan.Effect) bool {
	v := m.State.Volumes[i]
	attempt := m.State.Record.Volume(v.Ordinal, v.Template).Copy
	return attempt.Number > 0 && attempt.Giver != string(e.Side) && slices.ContainsFunc(m.yards[i].movers, func(pod mover) bool {
		return pod.Attempt == attempt.Number && pod.role != volumes.RolePlaceholder && pod.mounted != "" && !pod.Ended
	})
}

// settledVolume returns the final fault of a claim whose sides have separate volumes, and that must be on one
// of them.
func (m *machine) settledVolume(i int, name plan.SideName) string {
	v := m.State.Volumes[i]
	here, there := *v.Holding(name), *v.Holding(name.Other())
	what, policy := fmt.Sprintf("%s-%d", v.Template, v.Ordinal), corev1.PersistentVolumeReclaimDelete // of the class
	if here.Volume.Handle == m.disks[i] {
		policy = m.begin.Volumes[i].Source.Volume.Policy
	}
	switch {
	case !here.Bound():
		return what + " is not bound"
	case here.Volume.Policy != policy || here.Volume.Note.By == m.State.UID:
		return fmt.Sprintf("the volume of %s has policy %s (noted %s)", what, here.Volume.Policy, here.Volume.Note)
	case v.Method == api.MethodEmpty && usable(there) && !m.serves(v, there):
		return "" // it came after the ordinal had moved back, and has no data
	case usable(there):
		return what + " is usable on both sides"
	case fillsSecond(v) && m.yards[i].content[here.Volume.Handle] != m.yards[i].written:
		return what + " is not what the ordinal has written"
	case v.Method == api.MethodEmpty && name == plan.SourceSide && here.Volume.Handle != m.disks[i]:
		return what + " has not come back to its disk"
	case there.Volume.Found && !there.Parked():
		return fmt.Sprintf("the volume of %s on the %s is not parked", what, name.Other())
	case there.Volume.Found && there.Volume.Policy != corev1.PersistentVolumeReclaimRetain:
		return fmt.Sprintf("the volume of %s on the %s is not kept", what, name.Other())
	}
	return ""
}

// forgetCopies removes objects of former attempts that nothing refers to any more: no mover there knows a peer,
// and no process reads them again.
func (w *model) forgetCopies() {
	if len(w.yards) == 0 {
		return
	}
	var named []int32
	note := func(r *plan.Record) {
		if r == nil {
			return
		}
		all := r.InFlight()
		for _, ahead := range r.Ahead {
			all = append(all, api.Handoff{Volumes: ahead.Volumes})
		}
		for _, each := range all {
			for _, v := range each.Volumes {
				named = append(named, v.Copy.Number, v.Copy.Snapshot.Number)
			}
		}
	}
	note(&w.State.Record)
	for i := range w.leaders {
		l := &w.leaders[i]
		if !l.active {
			continue
		}
		if note(&l.record); l.sent != nil {
			note(l.sent.Decision.Record)
			if e := l.sent.Decision.Effect; e != nil {
				named = append(named, e.Volume.Copy.Attempt, attemptOf(e.Volume.Ref.Name))
			}
		}
	}
	for _, l := range w.late {
		named = append(named, l.effect.Volume.Copy.Attempt, attemptOf(l.effect.Volume.Ref.Name))
	}
	for i := range w.yards {
		w.forgetCopiesOf(i, named)
	}
}

func (w *model) forgetCopiesOf(i int, named []int32) {
	y, v := &w.yards[i], w.State.Volumes[i]
	y.forget(named)
	over := func(attempt int32, handle string) bool {
		return attempt > 0 && !slices.Contains(named, attempt) && (handle == "" || handle != v.Source.Volume.Handle && handle != v.Destination.Volume.Handle)
	}
	var names []string
	for _, claim := range y.claims {
		if over(claim.attempt, w.volume(i, claim.side, claim.Volume).Handle) {
			names = append(names, claim.name)
		}
	}
	gone := func(name string) bool { return slices.Contains(names, name) }
	y.movers = slices.DeleteFunc(y.movers, func(pod mover) bool { return pod.role != volumes.RoleWarm && over(pod.Attempt, pod.mounted) })
	y.spare = slices.DeleteFunc(y.spare, func(s spareVolume) bool {
		if y.content[s.Handle] == y.written || !gone(s.ClaimRef.Name) && s.ClaimRef.Name != volumes.Parked(v.Holding(s.side).Ref).Name {
			return false
		}
		delete(y.content, s.Handle)
		return true
	})
	y.claims = slices.DeleteFunc(y.claims, func(c moverClaim) bool { return gone(c.name) })
	y.doors, y.made = slices.DeleteFunc(y.doors, gone), slices.DeleteFunc(y.made, gone)
}

// yard writes the objects of the copies of a claim.
func (p *printer) yard(i int, w *model) {
	y, v := &w.yards[i], &w.State.Volumes[i]
	content := func(handle string) {
		p.bools(y.content[handle] < 0)
		p.name(fmt.Sprint("content", max(y.content[handle], -y.content[handle])))
	}
	p.name(fmt.Sprint("content", y.written))
	content(v.Source.Volume.Handle)
	content(v.Destination.Volume.Handle)
	for j := range y.claims {
		p.text(string(y.claims[j].side))
		p.text(y.claims[j].name)
		p.claim(&y.claims[j].Claim)
		p.name(y.claims[j].source)
	}
	for j := range y.spare {
		p.text(string(y.spare[j].side))
		p.volumeName(y.spare[j].Name)
		p.volume(&y.spare[j].Volume)
		content(y.spare[j].Handle)
	}
	for j := range y.movers {
		p.mover(&y.movers[j])
	}
	p.album(&y.album)
	p.number(len(y.doors))
	p.bools(y.vanished, y.twice != "")
	p.name(y.later)
	for _, handle := range slices.Sorted(maps.Keys(y.proved)) {
		p.volumeName(handle)
		p.name(fmt.Sprint("content", y.proved[handle]))
	}
}

func (p *printer) mover(pod *mover) {
	p.text(string(pod.role))
	p.volumeName(pod.mounted)
	p.number(int(pod.Pass))
	p.bools(pod.Warm, pod.Terminating, pod.Ended, pod.Result.Done, pod.Result.Torn, pod.Result.Differs != "", pod.Result.Alone, pod.verify == api.CopyVerifyLater)
	p.fence(pod.Fence)
	for _, name := range []string{pod.pod, pod.claim, string(pod.UID), pod.ResourceVersion, pod.Key, pod.Peer, pod.Result.Root} {
		p.name(name)
	}
}

// attempt writes the recorded progress of a copy.
func (p *printer) attempt(a *api.CopyAttempt) {
	p.name(fmt.Sprint("attempt", a.Number))
	if a.Number == 0 && a.Seal.Root == "" {
		return
	}
	p.text(a.Giver)
	p.bools(a.Dropped, a.Filling, a.Holds != "")
	p.number(int(a.Passes))
	p.number(int(a.Warm.Passes))
	p.name(a.Warm.Trouble)
	p.fence(a.Begun)
	p.fence(a.Seal.Released)
	p.fence(a.Snapshot.Released)
	p.name(fmt.Sprint("attempt", a.Snapshot.Number))
	for _, name := range []string{a.Seal.Root, a.Seal.From, a.Seal.To, a.Snapshot.Handle, a.Snapshot.Content, a.Snapshot.From} {
		p.name(name)
	}
	p.volumeName(a.Seal.Volume)
	p.name(a.Seal.Proof.Root)
	p.number(int(a.Seal.Proof.Tries))
	p.bools(a.Seal.Verify == api.CopyVerifyLater, a.Seal.Proof.Trouble != "", a.Seal.Proof.Withdrawn, a.Seal.Proof.AcceptedTime.IsZero(), a.Seal.Proof.AcceptedBefore)
}

// ofMovers are the kinds of faults that affect copies.
var ofMovers = kindsOfFault{breaksCopy, mounts, faulty, slow, takeover, turns, deletion}

// moved returns a set with one claim for each replica, whose volumes move by method.
func moved(method api.VolumeMethod, replicas int32) plantest.Scenario {
	return plantest.Scenario{Replicas: replicas, Templates: oneClaim, Method: method}
}

func unattached(method api.VolumeMethod) plantest.Scenario {
	c := moved(method, 1)
	c.Unattached = true
	return c
}

// ahead returns a scenario in which a number of ordinals are copied ahead of their turns.
func ahead(prefetch int32) plantest.Scenario {
	c := moved(api.MethodCopy, prefetch+1)
	c.Prefetch = prefetch
	return c
}

func limited(c plantest.Scenario) plantest.Scenario {
	c.Limit = time.Minute
	return c
}

// provenLater returns a scenario whose copies are proven after their ordinals have started.
func provenLater(c plantest.Scenario) plantest.Scenario {
	c.ProvesLater = true
	return c
}

// both returns a scenario with two claims for each replica.
func both(c plantest.Scenario) plantest.Scenario {
	c.Templates = []string{"data", "logs"}
	return c
}

// calmMethodBounds are worlds without faults whose claims move by another method than Rebind, for runs under
// the race detector and make test. smallMethodBounds are for `make model-methods`, fullMethodBounds for `make verify-methods`.
func calmMethodBounds() []bound {
	return []bound{
		{"copy, calm", moved(api.MethodCopy, 1), 0, nil, nil},
		{"copy, unattached, calm", unattached(api.MethodCopy), 0, nil, nil},
		{"copy, proven later, calm", provenLater(moved(api.MethodCopy, 1)), 0, nil, nil},
		{"empty, calm", moved(api.MethodEmpty, 1), 0, nil, nil},
		{"snapshot, calm", moved(api.MethodSnapshot, 1), 0, nil, nil},
		{"snapshot, unattached, calm", unattached(api.MethodSnapshot), 0, nil, nil},
	}
}

func smallMethodBounds() []bound {
	return append(calmMethodBounds(),
		bound{"copy, troubles", moved(api.MethodCopy, 1), 1, kindsOfFault{breaksCopy, mounts}, nil},
		bound{"copy, unattached, troubles", unattached(api.MethodCopy), 1, kindsOfFault{breaksCopy}, nil},
		bound{"copy, ahead", ahead(1), 0, nil, nil},
		bound{"copy, proven later, troubles", provenLater(moved(api.MethodCopy, 1)), 1, kindsOfFault{breaksCopy}, nil},
		bound{"copy, proven later, 2", provenLater(moved(api.MethodCopy, 2)), 0, nil, nil},
		bound{"copy, 2 claims, calm", both(moved(api.MethodCopy, 1)), 0, nil, nil},
		bound{"copy, writes", moved(api.MethodCopy, 1), 1, kindsOfFault{faulty}, nil},
		bound{"copy, overruns", limited(moved(api.MethodCopy, 1)), 1, kindsOfFault{overruns}, nil},
		bound{"snapshot, troubles", moved(api.MethodSnapshot, 1), 1, kindsOfFault{breaksCopy, mounts}, nil},
		bound{"snapshot, writes", moved(api.MethodSnapshot, 1), 1, kindsOfFault{faulty}, nil},
	)
}

func fullMethodBounds() []bound {
	return append(smallMethodBounds(),
		bound{"empty, turns", moved(api.MethodEmpty, 1), 1, kindsOfFault{turns}, nil},
		bound{"copy, any", moved(api.MethodCopy, 1), 1, ofMovers, nil},
		bound{"copy, unattached, any", unattached(api.MethodCopy), 1, ofMovers, nil},
		bound{"copy, proven later, any", provenLater(moved(api.MethodCopy, 1)), 1, ofMovers, nil},
		bound{"copy, 2 claims, turns", both(moved(api.MethodCopy, 1)), 1, kindsOfFault{turns}, nil},
		bound{"copy, 2 claims, troubles", both(moved(api.MethodCopy, 1)), 1, kindsOfFault{breaksCopy}, nil},
		bound{"copy, overruns, turns, 2", limited(moved(api.MethodCopy, 1)), 2, kindsOfFault{overruns, turns}, nil},
		bound{"copy, ahead, asked", limited(ahead(1)), 1, kindsOfFault{overruns, spares}, nil},
		bound{"copy, ahead, writes", ahead(1), 1, kindsOfFault{faulty}, nil},
		bound{"copy, ahead, turns", ahead(1), 1, kindsOfFault{turns}, nil},
		bound{"copy, ahead, deleted", ahead(1), 1, kindsOfFault{deletion}, nil},
		bound{"copy, ahead, troubles", ahead(1), 1, kindsOfFault{breaksCopy}, nil},
		bound{"snapshot, 2 claims, calm", both(moved(api.MethodSnapshot, 1)), 0, nil, nil},
		bound{"copy, 2 at once", inBlock(moved(api.MethodCopy, 2)), 0, nil, nil},
		bound{"snapshot, 2 at once", inBlock(moved(api.MethodSnapshot, 2)), 0, nil, nil},
		bound{"copy, 2 at once, turns", inBlock(moved(api.MethodCopy, 2)), 1, kindsOfFault{turns}, nil},
		bound{"snapshot, 2 at once, turns", inBlock(moved(api.MethodSnapshot, 2)), 1, kindsOfFault{turns}, nil},
		bound{"snapshot, given back", moved(api.MethodSnapshot, 1), 1, kindsOfFault{turns}, nil},
		bound{"snapshot, any", moved(api.MethodSnapshot, 1), 1, ofMovers, nil},
		bound{"empty, any", moved(api.MethodEmpty, 1), 1, ofWrites, nil},
	)
}

// TestModelOfMethods explores every state of a migration whose claims are copied, restored from snapshots, or
// left behind. Movers run, fail, repeat their work and are late. Snapshots are taken long after the request,
// claims of copies and VolumeSnapshots are deleted, and other users mount volumes that the ordinal has left. At
// each moment, only the ordinal's last write can be mounted under its name, by one side (I2, I3 for Copy and
// Snapshot).
func TestModelOfMethods(t *testing.T) {
	small := smallMethodBounds
	if *modelBound == "" {
		small = calmMethodBounds // make model-methods explores the small ones
	}
	exploreAll(t, within(calmMethodBounds, small, fullMethodBounds), ofMethods)
}
