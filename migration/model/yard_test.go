package model

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/simulate"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/volumes/copy"
)

// yard holds the objects of the copies of one claim, or of its snapshots, in both clusters and of all attempts.
// It excludes the ordinal's own claims and their volumes.
type yard struct {
	album
	claims []moverClaim
	movers []mover
	// spare are the volumes that no claim of the ordinal names.
	spare []spareVolume
	// doors are the claims whose receivers have a Service.
	doors []string
	// content maps the handle of a disk to the application's last write on it. Half of a copy is negative, and
	// an empty disk is 0.
	content map[string]int
	written int
	// zones maps the handle of a disk to its zone; 0 is the initial zone of the ordinal.
	zones map[string]int
	// made are the claims for which a volume was created, and twice is one for which that was done again.
	made  []string
	twice string
	// vanished is true after another client has deleted a claim of a copy: it may be recreated.
	vanished bool
	// proved are the disks that were read whole after their ordinal had started on a copy, with what was on them then.
	proved map[string]int
	// later is the root of the last copy that is to be proven after the start; empty if it was proven before.
	later string
}

// moverClaim is a claim that movers mount; attempt is 0 for the one that is read.
type moverClaim struct {
	volumes.Claim
	side    plan.SideName
	name    string
	attempt int32
	// source is the VolumeSnapshot from which it is filled.
	source string
}

// mover is a running mover; its mounted disk remains mounted until it ends.
type mover struct {
	volumes.Mover
	side       plan.SideName
	role       volumes.Role
	pod, claim string
	mounted    string
	// near are the volumes that its node must be able to reach.
	near []string
	// verify selects how much it reads at the end of its pass.
	verify api.CopyVerify
}

type spareVolume struct {
	volumes.Volume
	side plan.SideName
}

// yardsOf returns the yards of a world, one for each of its claims; nil if none is copied.
func yardsOf(s plan.Snapshot) []yard {
	if !slices.ContainsFunc(s.Volumes, fillsSecond) {
		return nil
	}
	yards := make([]yard, len(s.Volumes))
	for i, v := range s.Volumes {
		yards[i] = yard{content: map[string]int{v.Source.Volume.Handle: 1}, written: 1, zones: map[string]int{}, proved: map[string]int{}, album: album{shots: map[string]int{}}}
	}
	return yards
}

func fillsSecond(v plan.OrdinalVolume) bool { return v.Method.FillsSecond() }

func (y yard) clone() yard {
	y.claims, y.movers, y.spare = slices.Clone(y.claims), slices.Clone(y.movers), slices.Clone(y.spare)
	y.doors, y.made, y.content, y.zones = slices.Clone(y.doors), slices.Clone(y.made), maps.Clone(y.content), maps.Clone(y.zones)
	y.proved = maps.Clone(y.proved)
	y.album = y.album.clone()
	return y
}

func cloned(yards []yard) []yard {
	if len(yards) == 0 {
		return nil
	}
	next := make([]yard, len(yards))
	for i := range yards {
		next[i] = yards[i].clone()
	}
	return next
}

// claim returns the claim of a name on a side; nil if there is none.
func (y *yard) claim(name plan.SideName, claim string) *moverClaim {
	for i := range y.claims {
		if y.claims[i].side == name && y.claims[i].name == claim {
			return &y.claims[i]
		}
	}
	return nil
}

func (y *yard) pod(name string) *mover {
	for i := range y.movers {
		if y.movers[i].pod == name {
			return &y.movers[i]
		}
	}
	return nil
}

// at returns the index of an ordinal's claim among those of the world.
func (m *machine) at(ordinal int32, template string) int {
	return slices.IndexFunc(m.State.Volumes, func(v plan.OrdinalVolume) bool { return v.Ordinal == ordinal && v.Template == template })
}

// volume returns the volume of a name on a side; it is not Found if there is none.
func (m *machine) volume(i int, side plan.SideName, name string) volumes.Volume {
	if h := m.State.Volumes[i].Holding(side); h.Volume.Found && h.Volume.Name == name {
		return h.Volume
	}
	for _, spare := range m.yards[i].spare {
		if spare.side == side && spare.Name == name {
			return spare.Volume
		}
	}
	return volumes.Volume{}
}

// putVolume stores an existing volume.
func (m *machine) putVolume(i int, side plan.SideName, volume volumes.Volume) {
	v := &m.State.Volumes[i]
	if h := v.Holding(side); h.Volume.Found && h.Volume.Name == volume.Name {
		m.PutVolume(v, side, volume)
		return
	}
	volume.ResourceVersion = m.NewVersion()
	for at := range m.yards[i].spare {
		if spare := &m.yards[i].spare[at]; spare.side == side && spare.Name == volume.Name {
			spare.Volume = volume
		}
	}
}

// lookAtCopies sets each copy in a snapshot to an observer's view of the recorded attempt. The observer always
// asks the API servers for it.
func (m *machine) lookAtCopies(s *plan.Snapshot, handoff *api.Handoff) {
	for at := range s.Volumes {
		v := &s.Volumes[at]
		if !fillsSecond(*v) {
			continue
		}
		for _, side := range plan.SideNames {
			m.lookForLeft(v.Holding(side), m.at(v.Ordinal, v.Template), side, plan.RecordedVolume(handoff, v.Ordinal, v.Template).Name)
		}
		seen := volumes.Copying{Asked: v.Copy.Asked}
		seen.Snapshot.Giver, seen.Snapshot.Taker = v.Copy.Snapshot.Giver, v.Copy.Snapshot.Taker
		if recorded := plan.RecordedVolume(handoff, v.Ordinal, v.Template).Copy; recorded.Number > 0 {
			m.lookAtCopy(&seen, *v, recorded)
		}
		v.Copy = &seen
	}
}

// lookForLeft finds the recorded volume on a side, as an observer does, when the claim that named it was deleted.
func (m *machine) lookForLeft(h *volumes.Holding, i int, side plan.SideName, recorded string) {
	left := m.volume(i, side, recorded)
	if ref := left.ClaimRef; left.Found && (ref.Names(h.Ref) || ref.Names(volumes.Parked(h.Ref)) || ref.Names(volumes.OutgoingRef(h.Ref, m.State.UID))) {
		h.Volume = left
	}
}

func (m *machine) lookAtCopy(seen *volumes.Copying, v plan.OrdinalVolume, recorded api.CopyAttempt) {
	i, from := m.at(v.Ordinal, v.Template), plan.SideName(recorded.Giver)
	y, to, uid := &m.yards[i], from.Other(), m.State.UID
	giver, taker := v.Holding(from), v.Holding(to)
	seen.Outgoing = volumes.Holding{Ref: volumes.OutgoingRef(giver.Ref, uid), Volume: giver.Volume}
	seen.Incoming.Ref = volumes.IncomingRef(taker.Ref, uid, recorded.Number)
	name := recorded.Seal.Volume
	if claim := y.claim(from, seen.Outgoing.Ref.Name); claim != nil {
		seen.Outgoing.Claim = claim.Claim
	}
	if claim := y.claim(to, seen.Incoming.Ref.Name); claim != nil {
		seen.Incoming.Claim = claim.Claim
		if claim.Volume != "" {
			name = claim.Volume
		}
	}
	seen.Incoming.Volume = m.volume(i, to, name)
	if bySnapshot(v) {
		m.lookAtSnapshots(seen, v, recorded)
		return
	}
	seen.WaitsForPod = m.State.Volumes[i].Copy.WaitsForPod
	if slices.Contains(y.doors, seen.Incoming.Ref.Name) {
		seen.Entrance = volumes.Entrance{Found: true, Address: "receiver:8722"}
	}
	if pod := y.pod(copy.PodName(volumes.RoleReceiver, taker.Ref, uid, recorded.Number)); pod != nil {
		seen.Receiver, seen.Unused = pod.Mover, pod.Ended
	}
	if pod := y.pod(copy.PodName(volumes.RoleSender, giver.Ref, uid, recorded.Number)); pod != nil {
		seen.Sender = pod.Mover
	}
	if pod := y.pod(copy.PodName(volumes.RoleWarm, giver.Ref, uid, recorded.Number)); pod != nil {
		seen.Warm = pod.Mover
	}
	if pod := y.pod(copy.PodName(volumes.RoleProver, giver.Ref, uid, recorded.Number)); pod != nil {
		seen.Prover = pod.Mover
	}
}

// carry executes an effect as the API servers would. The methods of World ignore objects of former attempts.
func (m *machine) carry(e plan.Effect) error {
	i := -1
	if e.Verb == plan.CarryVolume {
		i = m.at(e.Ordinal, e.Template)
	}
	if i < 0 || !fillsSecond(m.State.Volumes[i]) || e.Volume.Verb == volumes.MarkClaim {
		if !m.clear(i, e) {
			return simulate.ErrConflict
		}
		return m.Apply(e)
	}
	y, a, h := &m.yards[i], e.Volume, m.State.Volumes[i].Holding(e.Side)
	made := volumes.Claim{Found: true, UID: m.NewUID(), ResourceVersion: m.NewVersion(), Phase: corev1.ClaimPending, Volume: a.Volume, Ours: true, Fence: a.Fence}
	switch a.Verb {
	case volumes.CreateIncoming, volumes.CreateOutgoing:
		if a.Ref.Name == h.Ref.Name && !h.Claim.Found {
			h.Claim = made // which must not be a claim of a mover
			return nil
		}
		if y.claim(e.Side, a.Ref.Name) != nil {
			return simulate.ErrConflict
		}
		y.claims = append(y.claims, moverClaim{made, e.Side, a.Ref.Name, attemptOf(a.Ref.Name), a.Copy.Snapshot.Source})
	case volumes.CreateClaim:
		if h.Claim.Found {
			return simulate.ErrConflict
		}
		h.Claim, h.Volume = made, m.volume(i, e.Side, a.Volume)
		y.spare = slices.DeleteFunc(y.spare, func(s spareVolume) bool { return s.side == e.Side && s.Name == a.Volume })
	case volumes.DeleteLost, volumes.DeleteUnfilled, volumes.DeleteDropped:
		return m.deleteLost(i, e)
	case volumes.CreateEntrance:
		if !slices.Contains(y.doors, a.Ref.Name) {
			y.doors = append(y.doors, a.Ref.Name)
		}
	case volumes.CreateMover, volumes.MarkMover, volumes.TellMover, volumes.DeleteMover:
		return m.writeMover(y, e)
	case volumes.CreateSnapshot, volumes.CreateContent, volumes.CreateImport, volumes.RetainContent, volumes.LoosenContent, volumes.DeleteSnapshot, volumes.DeleteContent:
		return m.writeSnapshot(y, e)
	default:
		return m.writeCopied(i, e)
	}
	return nil
}

// deleteLost deletes a claim if it is unchanged since it was judged.
func (m *machine) deleteLost(i int, e plan.Effect) error {
	y, a, h := &m.yards[i], e.Volume, m.State.Volumes[i].Holding(e.Side)
	judged := func(c volumes.Claim) bool { return c.Found && c.UID == a.UID && c.ResourceVersion == a.ResourceVersion }
	if h.Ref.Name == a.Ref.Name && judged(h.Claim) {
		if usable(*h) {
			m.breaks("I3: %s, which is in place", e)
		}
		if h.Volume.Found {
			y.spare = append(y.spare, spareVolume{h.Volume, e.Side})
		}
		h.Claim, h.Volume = volumes.Claim{}, volumes.Volume{}
		return nil
	}
	claim := y.claim(e.Side, a.Ref.Name)
	if claim == nil || !judged(claim.Claim) {
		return simulate.ErrConflict
	}
	if volume := m.volume(i, e.Side, claim.Volume); a.Verb == volumes.DeleteLost && claim.attempt > 0 && volume.Found && (!usable(*h) || h.Volume.Name != volume.Name) {
		m.breaks("I3: %s before the ordinal's claim is bound: nothing names volume %s", e, volume.Name)
	}
	y.removeClaim(e.Side, a.Ref.Name)
	y.doors = slices.DeleteFunc(y.doors, func(name string) bool { return name == a.Ref.Name }) // the claim owns it
	return nil
}

// removeClaim removes a claim together with the placeholder, which it owns.
func (y *yard) removeClaim(side plan.SideName, name string) {
	y.claims = slices.DeleteFunc(y.claims, func(c moverClaim) bool { return c.side == side && c.name == name })
	y.movers = slices.DeleteFunc(y.movers, func(pod mover) bool {
		return pod.role == volumes.RolePlaceholder && pod.side == side && pod.claim == name
	})
}

func (m *machine) writeMover(y *yard, e plan.Effect) error {
	a := e.Volume
	pod := y.pod(a.Copy.Pod)
	if a.Verb == volumes.CreateMover {
		if claim := y.claim(e.Side, a.Ref.Name); pod != nil || a.Copy.Role == volumes.RolePlaceholder && (claim == nil || claim.UID != a.UID) {
			return simulate.ErrConflict
		}
		y.movers = append(y.movers, mover{side: e.Side, role: a.Copy.Role, pod: a.Copy.Pod, claim: a.Ref.Name, Mover: volumes.Mover{
			Found: true, UID: m.NewUID(), ResourceVersion: m.NewVersion(), Attempt: a.Copy.Attempt, Pass: a.Copy.Pass, Fence: a.Fence,
			Warm: a.Copy.Warm, Claim: a.Ref.Name, Node: a.Copy.Node, Made: m.State.Now,
		}, near: nearOf(e), verify: a.Copy.Verify})
		return nil
	}
	if pod == nil || pod.UID != a.UID || pod.ResourceVersion != a.ResourceVersion {
		return simulate.ErrConflict
	}
	pod.Fence, pod.ResourceVersion = a.Fence, m.NewVersion()
	switch a.Verb {
	case volumes.TellMover:
		pod.Peer = a.Copy.Peer
	case volumes.DeleteMover:
		pod.Terminating = true
	default:
	}
	return nil
}

// writeCopied writes to a volume if it is unchanged since it was judged. It checks that no volume in use is
// taken away (I2), and that none is redirected while it may be deleted (I3).
func (m *machine) writeCopied(i int, e plan.Effect) error {
	a := e.Volume
	volume := m.volume(i, e.Side, a.Volume)
	if !volume.Found || volume.UID != a.UID || volume.ResourceVersion != a.ResourceVersion {
		return simulate.ErrConflict
	}
	switch h := m.State.Volumes[i].Holding(e.Side); {
	case a.After.Policy != a.Before.Policy && a.After.Policy != corev1.PersistentVolumeReclaimRetain && h.Volume.Found && h.Volume.Name == a.Volume:
		m.breaks("I3: %s, which is the ordinal's", e)
	case a.After.Policy == a.Before.Policy && volume.ClaimRef != a.After.ClaimRef:
		switch {
		case m.mayBeWritten(i, e.Side, volume) || m.runsAnywhere(e.Ordinal) && !lent(volume, a.After.ClaimRef, h.Ref):
			m.breaks("I2: %s while it is in use", e)
		case !volume.ClaimRef.Names(a.After.ClaimRef) && volume.Policy != corev1.PersistentVolumeReclaimRetain:
			m.breaks("I3: %s, whose policy is not Retain", e)
		case a.Verb == volumes.TakeOver:
			m.takenTogether(i, e)
		}
	}
	m.putVolume(i, e.Side, volume.In(a.After))
	if h := m.State.Volumes[i].Holding(e.Side); a.Verb == volumes.PointBack && bySnapshot(m.State.Volumes[i]) && usable(*h) {
		m.yards[i].write(h.Volume.Handle) // a waiting pod writes at once, so no older snapshot counts any more
	}
	return nil
}

// mayBeWritten reports whether a process may write to a volume: a mover that runs, or one that an attachment leaves
// possible. Only a receiver that has ended, and whose pod still exists, explains an attachment.
func (m *machine) mayBeWritten(i int, side plan.SideName, volume volumes.Volume) bool {
	if len(volume.Attachments) == 0 || volume.Released != "" {
		return false
	}
	ended := false
	for _, pod := range m.yards[i].movers {
		if pod.side == side && pod.mounted == volume.Handle {
			if !pod.Ended {
				return true
			}
			ended = ended || pod.role == volumes.RoleReceiver && pod.Result.Locked
		}
	}
	return !ended
}

// lent reports whether a volume that its ordinal has left is pointed at the claim of a mover that proves its copy, or is
// parked again. Neither claim is that of the ordinal.
func lent(volume volumes.Volume, to, own volumes.Ref) bool {
	return volume.Released != "" && !volume.ClaimRef.Names(own) && !to.Names(own)
}

// takenTogether checks that no volume of an ordinal is taken over before each of its claims has a volume on
// that side with the ordinal's last write. A volume that another client has deleted is excepted. Until then a
// rollback costs nothing.
func (m *machine) takenTogether(i int, e plan.Effect) {
	for j, other := range m.State.Volumes {
		y := &m.yards[j]
		if j != i && other.Ordinal == e.Ordinal && fillsSecond(other) && !y.vanished && !y.filledOn(e.Side, *other.Holding(e.Side)) {
			m.breaks("%s before %s is filled", e, other.Template)
		}
	}
}

// filledOn reports whether a side has a volume with the ordinal's last write.
func (y *yard) filledOn(side plan.SideName, h volumes.Holding) bool {
	return h.Volume.Found && y.content[h.Volume.Handle] == y.written ||
		slices.ContainsFunc(y.spare, func(s spareVolume) bool { return s.side == side && y.content[s.Handle] == y.written })
}

// runsAnywhere reports whether an ordinal has a pod on any side.
func (m *machine) runsAnywhere(ordinal int32) bool {
	for _, name := range plan.SideNames {
		if _, found := m.State.Side(name).Pod(ordinal); found {
			return true
		}
	}
	return false
}
