package model

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
)

// The kinds of steps of movers and of their dependencies. They belong to a side.
const (
	copyBinds    kind = "volume controller acts for movers"
	moverStarts  kind = "mover makes its key"
	moverGoes    kind = "mover is gone"
	moverLetsGo  kind = "volume of a mover is detached"
	bytesArrive  kind = "bytes arrive"
	receiverEnds kind = "receiver ends"
	senderEnds   kind = "sender ends"
	proverEnds   kind = "prover ends"
	snapsAct     kind = "snapshot controller or sidecar acts"
)

// moverKinds are all of them; the last ones belong to a pair of movers.
var moverKinds = []kind{copyBinds, moverStarts, moverGoes, moverLetsGo, snapsAct, proverEnds, bytesArrive, receiverEnds, senderEnds}

// perSide is how many of them belong to a side.
const perSide = 6

// moverSteps returns the steps of a world in which claims are copied.
func moverSteps() []step {
	var steps []step
	for _, name := range plan.SideNames {
		for _, k := range moverKinds[:perSide] {
			steps = append(steps, step{k, name, -1})
		}
	}
	for _, k := range moverKinds[perSide:] {
		steps = append(steps, step{k, plan.SourceSide, -1})
	}
	return steps
}

// actOnCopies runs one such step for one claim, and reports whether it did.
func (m *machine) actOnCopies(s step) bool {
	for i := range m.yards {
		acted := false
		switch s.kind {
		case copyBinds:
			acted = m.bindForMovers(i, s.side)
		case moverStarts:
			acted = m.startMover(i, s.side)
		case moverGoes:
			acted = m.removeMover(i, s.side)
		case moverLetsGo:
			acted = m.detachFromMovers(i, s.side)
		case proverEnds:
			acted = m.prove(i, s.side, true)
		case snapsAct:
			acted = m.actOnSnapshots(i, s.side)
		default:
			acted = m.talk(&m.yards[i], s.kind)
		}
		if acted {
			return true
		}
	}
	return false
}

// bindForMovers runs the next step of the provisioner, the binder or the reclaimer of a side.
func (m *machine) bindForMovers(i int, side plan.SideName) bool {
	y := &m.yards[i]
	for at := range y.spare {
		spare := &y.spare[at]
		if spare.side != side {
			continue
		}
		phase := corev1.VolumeBound
		if spare.ClaimRef.UID == "" {
			phase = corev1.VolumeAvailable
		} else if claim := y.claim(side, spare.ClaimRef.Name); claim == nil || claim.UID != spare.ClaimRef.UID {
			if phase = corev1.VolumeReleased; spare.Policy != corev1.PersistentVolumeReclaimRetain {
				delete(y.content, spare.Handle)
				y.spare = slices.Delete(y.spare, at, at+1)
				return true
			}
		}
		if spare.Phase != phase {
			spare.Phase, spare.ResourceVersion = phase, m.NewVersion()
			return true
		}
	}
	for at := range y.claims {
		if claim := &y.claims[at]; claim.side == side && m.bindMoverClaim(i, claim) {
			return true
		}
	}
	return false
}

func (m *machine) bindMoverClaim(i int, claim *moverClaim) bool {
	y := &m.yards[i]
	ref := volumes.Ref{Namespace: m.State.Volumes[i].Holding(claim.side).Ref.Namespace, Name: claim.name}
	if claim.Volume == "" {
		name := "pvc-" + string(claim.UID)
		handle, content := "disk-"+name, 0
		if m.waitsForPod(i) && !m.place(i, claim, handle) {
			return false
		}
		if bySnapshot(m.State.Volumes[i]) {
			from, there := m.restorable(y, claim)
			if handle = "csi.example/" + name; !there || m.Attaches && !m.place(i, claim, handle) {
				return false
			}
			content = y.shots[from]
		}
		if slices.Contains(y.made, claim.name) && !y.vanished {
			y.twice = claim.name
		}
		y.made = append(y.made, claim.name)
		claim.Volume, claim.ResourceVersion = name, m.NewVersion()
		ref.UID = claim.UID
		y.spare = append(y.spare, spareVolume{volumes.Volume{
			Found: true, Name: name, UID: types.UID(name), ResourceVersion: m.NewVersion(), Handle: handle,
			Policy: corev1.PersistentVolumeReclaimDelete, Phase: corev1.VolumeBound, ClaimRef: ref, Modes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		}, claim.side})
		y.content[handle] = content
		return true
	}
	volume, phase := m.volume(i, claim.side, claim.Volume), corev1.ClaimLost
	if volume.Found && volume.ClaimRef.Names(ref) && volume.ClaimRef.UID == "" {
		volume.ClaimRef.UID = claim.UID
		m.putVolume(i, claim.side, volume)
		return true
	}
	if volume.Found && volume.ClaimRef.Names(ref) && volume.ClaimRef.UID == claim.UID {
		phase = corev1.ClaimBound
	}
	if claim.Phase == phase {
		return false
	}
	claim.Phase, claim.ResourceVersion = phase, m.NewVersion()
	return true
}

// startMover lets a mover mount its claim and create its key.
func (m *machine) startMover(i int, side plan.SideName) bool {
	y := &m.yards[i]
	for at := range y.movers {
		pod := &y.movers[at]
		if pod.side != side || pod.Terminating || pod.Ended || pod.mounted != "" || pod.role == volumes.RolePlaceholder {
			continue
		}
		if h := m.State.Volumes[i].Holding(side); pod.beside(h.Ref.Name) {
			if h.Bound() {
				pod.mounted, pod.Key, pod.ResourceVersion = h.Volume.Handle, "key-"+string(pod.UID), m.NewVersion()
				return true
			}
			continue
		}
		claim := y.claim(side, pod.claim)
		if claim == nil || claim.Phase != corev1.ClaimBound {
			continue
		}
		volume := m.volume(i, side, claim.Volume)
		if volume.ClaimRef.Name != claim.name || volume.ClaimRef.UID != claim.UID {
			continue // it does not belong to the claim any more
		}
		if _, one := m.zoneOf(i, side, append(slices.Clone(pod.near), volume.Name)); !one {
			continue // no node reaches them
		}
		if attached := simulate.AttachedTo(side); m.Attaches && pod.role == volumes.RoleReceiver && !slices.Contains(volume.Attachments, attached) {
			volume.Attachments = append(slices.Clone(volume.Attachments), attached)
			m.putVolume(i, side, volume)
		}
		if pod.role == volumes.RoleReceiver {
			pod.Node = simulate.AttachedTo(side).Node
		}
		pod.mounted, pod.Key, pod.ResourceVersion = volume.Handle, "key-"+string(pod.UID), m.NewVersion()
		return true
	}
	return false
}

// removeMover removes a mover that is being deleted. One that reads next to the ordinal's pod ends when there
// is no such pod.
func (m *machine) removeMover(i int, side plan.SideName) bool {
	y := &m.yards[i]
	_, runs := m.State.Side(side).Pod(m.State.Volumes[i].Ordinal)
	at := slices.IndexFunc(y.movers, func(pod mover) bool {
		return pod.side == side && (pod.Terminating || pod.role == volumes.RoleWarm && !runs)
	})
	if at < 0 {
		return false
	}
	y.movers = slices.Delete(y.movers, at, at+1)
	return true
}

// detachFromMovers detaches a new volume from the node of a mover that has ended.
func (m *machine) detachFromMovers(i int, side plan.SideName) bool {
	y := &m.yards[i]
	for at := range y.spare {
		spare := &y.spare[at]
		used := slices.ContainsFunc(y.movers, func(pod mover) bool {
			return pod.side == side && pod.mounted == spare.Handle && !pod.Ended
		})
		if spare.side == side && len(spare.Attachments) > 0 && !used {
			spare.Attachments = nil
			return true
		}
	}
	return false
}

// peers returns a receiver and a sender that know each other and work, whether or not they are being deleted;
// nil if there are none.
func (y *yard) peers() (sender, receiver *mover) {
	for i := range y.movers {
		for j := range y.movers {
			s, r := &y.movers[i], &y.movers[j]
			if s.role != volumes.RoleReceiver && r.role == volumes.RoleReceiver && s.Key != "" && r.Key != "" && s.Peer == r.Key && r.Peer == s.Key {
				return s, r
			}
		}
	}
	return nil, nil
}

// talk continues the pass of two movers: half of the bytes arrive, then all of them, and then each mover
// reports the data that it has read.
func (m *machine) talk(y *yard, k kind) bool {
	s, r := y.peers()
	if s == nil || s.Ended {
		return false
	}
	from, to := y.content[s.mounted], y.content[r.mounted]
	if s.role == volumes.RoleWarm {
		return m.talkWarm(y, k)
	}
	switch {
	case k == bytesArrive && !r.Ended && from != to:
		if y.content[r.mounted] = -from; to == -from {
			y.content[r.mounted] = from
		}
	case k == receiverEnds && !r.Ended && from == to:
		if y.later = ""; r.verify == api.CopyVerifyLater {
			y.later = rootOf(to)
		}
		m.endMover(r, volumes.MoverResult{Done: true, Locked: true, Root: rootOf(to), Verify: r.verify})
	case k == senderEnds && r.Ended && r.Result.Done && s.verify == api.CopyVerifyLater: // it reads nothing for a proof
		m.endMover(s, volumes.MoverResult{Done: true})
	case k == senderEnds && r.Ended && r.Result.Done:
		m.endMover(s, volumes.MoverResult{Done: true, Root: rootOf(from)})
	default:
		return false
	}
	return true
}

// talkWarm is a pass while the ordinal writes: some data arrives, and nothing is proven by it.
func (m *machine) talkWarm(y *yard, k kind) bool {
	s, r := y.peers()
	switch from, to := y.content[s.mounted], y.content[r.mounted]; {
	case k == bytesArrive && !r.Ended && to >= 0:
		y.content[r.mounted] = -from
	case k == receiverEnds && !r.Ended && to < 0:
		m.endMover(r, volumes.MoverResult{Done: true})
	case k == senderEnds && r.Ended && r.Result.Done:
		m.endMover(s, volumes.MoverResult{Done: true})
	default:
		return false
	}
	return true
}

// beside reports whether a mover reads next to the pod of an ordinal, on the ordinal's claim.
func (pod mover) beside(claim string) bool {
	return pod.role == volumes.RoleWarm || pod.role == volumes.RoleSender && pod.claim == claim
}

// readBeside reports whether a mover reads next to the pod of an ordinal on a side: its volumes remain attached.
func (m *machine) readBeside(name plan.SideName, ordinal int32) bool {
	for i := range m.yards {
		claim := m.State.Volumes[i].Holding(name).Ref.Name
		reads := func(pod mover) bool {
			return pod.side == name && pod.beside(claim) && pod.mounted != "" && !pod.Ended
		}
		if m.State.Volumes[i].Ordinal == ordinal && slices.ContainsFunc(m.yards[i].movers, reads) {
			return true
		}
	}
	return false
}

func rootOf(content int) string { return "root-" + strconv.Itoa(content) }

func (m *machine) endMover(pod *mover, result volumes.MoverResult) {
	pod.Ended, pod.Result, pod.ResourceVersion = true, result, m.NewVersion()
}

// appWrites lets each Ready ordinal write to its disks.
func (m *machine) appWrites() {
	m.noteRan()
	for i := range m.yards {
		v := &m.State.Volumes[i]
		for _, name := range plan.SideNames {
			if pod, found := m.State.Side(name).Pod(v.Ordinal); found && pod.Ready && usable(*v.Holding(name)) {
				m.yards[i].write(v.Holding(name).Volume.Handle)
			}
		}
	}
}

func (y *yard) write(handle string) {
	y.written++
	y.content[handle] = y.written
}

// The faults of a copy.
const (
	receiverDies int8 = iota
	senderDies
	diskFails
	passDiffers
	proverFails
	claimVanishes
	takenVanishes
	importVanishes
	endedVanishes
	copyBreaks
)

var copyTroubles = [copyBreaks]string{"the receiver dies", "the sender dies", "the receiver's disk fails", "a pass finds a difference", "the disk that an ordinal has left cannot be read", "somebody deletes the claim of the copy", "somebody deletes the VolumeSnapshot that was taken", "somebody deletes the imported VolumeSnapshot", "somebody deletes the pod of a mover that has ended"}

// breakCopy applies one of them.
func (m *machine) breakCopy(what int8) bool {
	for i := range m.yards {
		if m.breakCopyOf(i, what) {
			m.note("%s", copyTroubles[what])
			m.interleaved++
			m.remember()
			return true
		}
	}
	return false
}

func (m *machine) breakCopyOf(i int, what int8) bool {
	y := &m.yards[i]
	switch what {
	case claimVanishes:
		return m.loseIncoming(i)
	case proverFails:
		return m.prove(i, plan.SourceSide, false) || m.prove(i, plan.DestinationSide, false)
	case takenVanishes, importVanishes:
		return m.loseSnapshot(i, what == importVanishes)
	case endedVanishes:
		at := slices.IndexFunc(y.movers, func(pod mover) bool { return pod.Ended && !pod.Terminating })
		if at >= 0 {
			y.movers = slices.Delete(y.movers, at, at+1)
		}
		return at >= 0
	}
	receives := what != senderDies
	for at := range y.movers {
		pod := &y.movers[at]
		switch _, r := y.peers(); {
		case pod.role == volumes.RolePlaceholder, pod.role == volumes.RoleProver, (pod.role == volumes.RoleReceiver) != receives || pod.Ended || pod.Terminating:
			continue
		case what == passDiffers && (r != pod || pod.Warm), what == diskFails && pod.mounted == "":
			continue
		case what == diskFails:
			m.endMover(pod, volumes.MoverResult{Torn: true})
		case what == passDiffers:
			m.endMover(pod, volumes.MoverResult{Root: rootOf(-1), Differs: "etc/passwd"})
		default:
			m.endMover(pod, volumes.MoverResult{})
		}
		return true
	}
	return false
}

// loseIncoming deletes a claim of a copy that no mover uses, as another client does.
func (m *machine) loseIncoming(i int) bool {
	y := &m.yards[i]
	for at := range y.claims {
		claim := y.claims[at]
		used := slices.ContainsFunc(y.movers, func(pod mover) bool { return pod.claim == claim.name && pod.mounted != "" })
		if claim.attempt > 0 && !used {
			y.removeClaim(claim.side, claim.name)
			y.vanished = true
			return true
		}
	}
	return false
}

// mountByHand starts a pod of another user on an ordinal's claim on a side while no pod of the ordinal runs.
// The pod writes.
func (m *machine) mountByHand(name plan.SideName) bool {
	for i := range m.yards {
		v := &m.State.Volumes[i]
		if h := v.Holding(name); usable(*h) && !m.runsAnywhere(v.Ordinal) {
			m.yards[i].write(h.Volume.Handle)
			m.note("somebody mounts claim %s on the %s, and writes", h.Ref.Name, name)
			m.interleaved++
			m.remember()
			return true
		}
	}
	return false
}
