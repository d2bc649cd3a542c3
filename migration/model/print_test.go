package model

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/plan/plantest"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// fingerprint distinguishes states that may continue in different ways.
type fingerprint [2]uint64

// printer writes a state as bytes. Names that are only compared (UIDs, resourceVersions, fences, holders) are
// written as the order in which they occur. States that differ in nothing else are then equal.
type printer struct {
	out   []byte
	names []string
	// fences holds the fences that a process may still write; every other fence is an old one. epochs holds the
	// epochs of the leaders, with which an old fence is compared.
	fences [3]string
	epochs [2]int64
	seeds  [2]maphash.Seed
}

func newPrinter() *printer {
	return &printer{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

func (p *printer) of(w *model) fingerprint {
	p.out, p.names = p.out[:0], p.names[:0]
	p.fences, p.epochs = [3]string{}, [2]int64{}
	if fence := w.State.Record.Fence; fence != nil {
		p.fences[0] = planner.Fence(w.State.UID, fence.Epoch)
	}
	for i := range w.leaders {
		if l := &w.leaders[i]; l.active && l.record.Fence != nil {
			p.fences[i+1], p.epochs[i] = planner.Fence(w.State.UID, l.record.Fence.Epoch), l.record.Fence.Epoch
		}
	}
	for _, name := range plan.SideNames {
		p.side(w, name, &w.State)
		p.number(int(w.Controllers[name].Replicas))
		if w.Controllers[name].Replicas > 0 {
			p.number(int(w.Controllers[name].Start))
		}
		p.number(int(w.Controllers[name].Cap.Most))
		p.number(int(w.Controllers[name].CapObserved.Most))
		p.bools(w.Controllers[name].Cap.Set, w.Controllers[name].CapObserved.Set, w.Controllers[name].RollsOut)
		p.number(int(w.allowed[name]))
		p.bools(w.cut[name], w.astray[name])
	}
	p.volumes(w.State.Volumes)
	p.shelves(w)
	p.number(int(w.State.Spec.Prefetch))
	p.bools(w.limited())
	for i := range w.yards {
		p.yard(i, w)
	}
	for i := range w.State.Volumes {
		v := &w.State.Volumes[i]
		p.bools(slices.Contains(w.ran, v.Source.Volume.Handle), slices.Contains(w.ran, v.Destination.Volume.Handle))
	}
	p.text(string(w.shut))
	for _, d := range w.State.Dependencies.List {
		p.bools(d.Copy.Found, d.Copy.Ours, d.Rigid, d.Origin == d.Copy.Hash)
		p.name(string(d.Copy.UID))
		p.name(d.Copy.ResourceVersion)
	}
	p.hooks(w.State)
	p.ordinals(w.held)
	p.ordinals(w.idle)
	p.ordinals(w.evicted)
	p.record(w, w.State.Record)
	p.text(string(w.State.Spec.Mode))
	p.bools(w.State.Deleting, w.tardy, w.strewn)
	p.number(int(w.excused))
	for at, name := range plan.SideNames {
		start, replicas := w.begin.Extent()
		for ordinal := start; ordinal < start+replicas+1; ordinal++ {
			if w.alien[spot{name, ordinal}] {
				p.number(100*(at+1) + int(ordinal))
			}
		}
	}
	p.disturbances(w)
	p.life(w)
	for i := range w.leaders {
		p.leader(w, &w.leaders[i])
	}
	for _, l := range w.late {
		p.effect(l.effect)
	}
	return fingerprint{maphash.Bytes(p.seeds[0], p.out), maphash.Bytes(p.seeds[1], p.out)}
}

// life writes which migration this is, and its initial state.
func (p *printer) life(w *model) {
	p.number(w.lived)
	if w.lived == 0 {
		return
	}
	spec := w.State.Spec
	p.number(int(spec.Count))
	p.bools(spec.DeleteSource, spec.Order == api.LowestFirst)
	p.number(int(w.begin.Source.Set.Start))
	p.number(int(w.begin.Source.Set.Replicas))
	p.number(int(w.begin.Destination.Set.Replicas))
	for _, v := range w.begin.Volumes {
		p.bools(v.Source.Volume.Policy == corev1.PersistentVolumeReclaimRetain)
	}
}

func (p *printer) number(n int) { p.out = append(p.out, byte(n)) }

func (p *printer) text(s string) { p.out = append(append(p.out, s...), 0) }

func (p *printer) bools(bits ...bool) {
	var n byte
	for i, bit := range bits {
		if bit {
			n |= 1 << i
		}
	}
	p.out = append(p.out, n)
}

// name writes the index of a name among those that have occurred.
func (p *printer) name(s string) {
	if s == "" {
		p.number(0)
		return
	}
	at := slices.Index(p.names, s)
	if at < 0 {
		at = len(p.names)
		p.names = append(p.names, s)
	}
	p.number(at + 1)
}

// volumeName writes the name of a volume, or of its disk. That of a new one is only compared with others.
func (p *printer) volumeName(s string) {
	if strings.Contains(s, "pvc-") {
		p.name(s)
		return
	}
	p.text(s)
}

func (p *printer) fence(s string) {
	switch at := slices.Index(p.fences[:], s); {
	case s == "":
		p.number(0)
	case at >= 0:
		p.number(at + 1)
	default:
		p.number(9) // the fence of a former epoch, or of another migration
		p.name(string(api.FenceOwner(s)))
		epoch := planner.FenceEpoch(s)
		p.bools(epoch > p.epochs[0], epoch > p.epochs[1])
	}
}

func (p *printer) ordinals(set map[int32]bool) {
	n := 0
	for ordinal := range set {
		n |= 1 << ordinal
	}
	p.number(n)
}

func (p *printer) side(w *model, name plan.SideName, s *plan.Snapshot) {
	at := s.Side(name)
	p.set(at.Set)
	p.pods(w, at.Pods)
	p.budgets(at.Budgets)
	p.bools(at.NamespaceFound, at.Service.Found, at.Export.Found, at.Export.Ours)
	for _, n := range at.Names {
		p.bools(n.Service.Found, n.Export.Found)
		p.name(string(n.Service.UID))
		p.name(string(n.Export.UID))
	}
}

func (p *printer) pods(w *model, pods []plan.Pod) {
	for _, pod := range pods {
		p.number(int(pod.Ordinal))
		p.bools(pod.Ready, pod.Terminating, pod.Owned, w.evicting[pod.UID], pod.ReadySince.Before(plantest.Epoch), w.outdated[pod.UID])
	}
	p.number(99)
}

func (p *printer) budgets(budgets []plan.Budget) {
	for _, b := range budgets {
		p.name(string(b.UID))
		p.name(b.ResourceVersion)
		p.text(b.Form.String())
		p.fence(b.Fence)
		p.text(b.WrittenBy)
		p.text(b.Wrote)
		if b.Author != nil {
			p.text(b.Author.String())
		}
		p.bools(b.Observed, b.Ours, b.Author != nil, b.Own, b.HandedOver)
		p.number(int(b.Evictions))
		for _, pod := range b.Disrupted {
			p.text(pod)
		}
	}
	p.number(99)
}

func (p *printer) set(set plan.Set) {
	p.name(string(set.UID))
	p.name(set.ResourceVersion)
	p.number(int(set.Replicas))
	if set.Replicas > 0 {
		p.number(int(set.Start))
	}
	p.fence(set.Fence)
	p.bools(set.Presence == plan.Seen, set.Observed, set.Ours, set.Terminating, set.ScalesBy != "", set.RolledOut)
	p.bools(set.Reserves)
	p.bools(set.Rolls.Shared, set.Rolls.Heeded, set.Rolls.Asked)
	p.number(int(set.Rolls.Share))
}

func (p *printer) volumes(list []plan.OrdinalVolume) {
	for i := range list {
		p.holding(&list[i].Source)
		p.holding(&list[i].Destination)
	}
}

func (p *printer) holding(h *volumes.Holding) {
	p.claim(&h.Claim)
	p.volume(&h.Volume)
}

func (p *printer) claim(c *volumes.Claim) {
	p.number(len(c.Users))
	p.bools(c.Found, c.Terminating, c.Ours, c.Phase == corev1.ClaimBound, c.Phase == corev1.ClaimLost)
	if c.Found {
		p.name(string(c.UID))
		p.name(c.ResourceVersion)
		p.volumeName(c.Volume)
		p.fence(c.Fence)
		p.number(c.Calls)
	}
}

func (p *printer) volume(v *volumes.Volume) {
	p.bools(v.Found, v.Terminating, v.Ours, v.Phase == corev1.VolumeAvailable, v.Phase == corev1.VolumeBound)
	p.bools(v.Policy == corev1.PersistentVolumeReclaimRetain, v.Note.Policy == "", v.Note.Policy == corev1.PersistentVolumeReclaimRetain)
	p.name(string(v.Note.By))
	if v.Found {
		p.name(string(v.UID))
		p.name(v.ResourceVersion)
		p.text(v.ClaimRef.Name)
		p.name(string(v.ClaimRef.UID))
		p.volumeName(v.Handle)
		p.volumeName(v.Name)
		p.text(v.There)
		p.fence(v.Fence)
		p.fence(v.Released)
		p.name(v.Seal)
		p.number(len(v.Attachments))
		for _, at := range v.Attachments {
			p.text(at.Node)
		}
	}
}

func (p *printer) record(w *model, r plan.Record) {
	p.bools(r.Baseline != nil, r.Fence != nil, r.Handoff != nil, r.Accepted)
	if r.Baseline != nil {
		p.name(string(r.Baseline.DestinationUID))
		p.words(w, r.Baseline)
	}
	p.text(r.Completed)
	if r.Fence != nil {
		newer := 0
		if now := w.State.Record.Fence; now != nil {
			newer = int(r.Fence.Epoch-now.Epoch) + 1
		}
		p.number(max(newer, 0)) // an older one is older, regardless of the difference
		p.text(string(r.Fence.Direction))
		for i := range w.leaders {
			l := &w.leaders[i]
			p.bools(l.active && l.Engaged && l.Holder == r.Fence.Holder)
		}
	}
	for _, owed := range r.Owed {
		p.name(string(owed.UID))
	}
	p.bools(r.TurnedBack != nil, r.AutomaticRollback != nil, len(r.Owed) > 0)
	p.number(int(r.HookTurns))
	p.name("attempt" + strconv.Itoa(int(r.LastAttempt)))
	for _, run := range r.Hooks {
		p.text(run.Job)
		p.text(string(run.State))
		p.name(string(run.UID))
	}
	for _, handoff := range r.InFlight() {
		p.number(int(handoff.Ordinal))
		p.bools(handoff.Step == api.StepCarryVolumes)
		for i := range handoff.Volumes {
			p.volumeName(handoff.Volumes[i].Name)
			if len(w.yards) > 0 {
				p.attempt(&handoff.Volumes[i].Copy)
			}
		}
	}
	for _, ahead := range slices.Concat(r.Ahead, r.Proofs) {
		p.number(int(ahead.Ordinal))
		for i := range ahead.Volumes {
			p.volumeName(ahead.Volumes[i].Name)
			p.attempt(&ahead.Volumes[i].Copy)
		}
	}
}

// hooks writes the Jobs of hooks, and the user's answer to one.
func (p *printer) hooks(s plan.Snapshot) {
	for _, job := range s.HookJobs.List {
		p.text(job.Name)
		p.text(string(job.State))
		p.name(string(job.UID))
	}
	if answer := s.Spec.HookAnswer; answer != nil {
		p.text(answer.Job)
		p.text(string(answer.Do))
	}
}

func (p *printer) disturbances(w *model) {
	if s := w.stands; s != nil {
		p.text("stands")
		p.number(int(s.of))
		p.text(string(s.side))
		p.kind(w, s.of, s.side, &s.was)
	}
	if w.edit != nil {
		p.text(w.edit.name)
		p.text(w.edit.was)
	}
	for _, at := range []*spot{w.stuck, w.sick, w.pinned} {
		p.bools(at != nil)
		if at != nil {
			p.text(string(at.side))
			p.number(int(at.ordinal))
		}
	}
	p.number(len(w.scars))
	p.bools(w.remade)
	for i := range w.disks {
		p.bools(w.forfeit[i])
	}
}

// kind writes one kind of object of one side.
func (p *printer) kind(w *model, of reading, name plan.SideName, s *plan.Snapshot) {
	switch at := s.Side(name); of {
	case setsRead:
		p.set(at.Set)
	case budgetsRead:
		p.budgets(at.Budgets)
	case podsRead:
		p.pods(w, at.Pods)
	case claimsRead:
		for i := range s.Volumes {
			p.claim(&s.Volumes[i].Holding(name).Claim)
		}
	case volumesRead:
		for i := range s.Volumes {
			p.volume(&s.Volumes[i].Holding(name).Volume)
		}
	}
}

func (p *printer) leader(w *model, l *leader) {
	fresh := l.version == w.version
	p.bools(l.active, l.Engaged, fresh, l.sent != nil, l.early != nil, l.Refusals > 0, l.Refusals > 1, len(l.Awaited) > 0)
	if !l.active {
		return
	}
	if l.arrived != nil && l.arrived.Finding != nil {
		p.number(int(l.arrived.Ordinal) + 1)
		p.text(string(l.arrived.Side))
	}
	if len(w.astray) > 0 || l.ids[plan.SourceSide] == "elsewhere" || l.ids[plan.DestinationSide] == "elsewhere" {
		p.text(string(l.ids[plan.SourceSide]))
		p.text(string(l.ids[plan.DestinationSide]))
	}
	if !fresh {
		p.record(w, l.record)
		p.text(string(l.mode))
		p.bools(l.deleting)
	}
	if l.sent != nil {
		if r := l.sent.Decision.Record; r != nil {
			p.record(w, *r)
		}
		if e := l.sent.Decision.Effect; e != nil {
			p.effect(*e)
		}
	}
	if l.early != nil {
		p.number(int(l.until))
		for of := setsRead; of <= l.until; of++ {
			for _, name := range plan.SideNames {
				p.kind(w, of, name, l.early)
			}
		}
	}
}

func (p *printer) effect(e plan.Effect) {
	p.text(string(e.Verb))
	p.text(string(e.Side))
	p.text(e.Name)
	p.text(e.Template)
	p.name(string(e.UID))
	p.name(e.ResourceVersion)
	p.fence(e.Fence)
	p.number(int(e.Ordinal))
	p.setWrite(e.Before, e.After)
	p.text(e.Form.String())
	v := &e.Volume
	p.text(string(v.Verb))
	if v.Verb == "" {
		return
	}
	p.text(v.Ref.Name)
	p.name(string(v.Ref.UID))
	p.name(string(v.UID))
	p.name(v.ResourceVersion)
	p.fence(v.Fence)
	p.text(strconv.Itoa(v.Calls))
	p.volumeName(v.Volume)
	was, is := v.Before, v.After
	p.bools(was.There != is.There, was.Released != is.Released, was.Seal != is.Seal)
	if was.There != is.There {
		p.text(is.There)
	}
	if was.Released != is.Released {
		p.fence(is.Released)
	}
	if was.Seal != is.Seal {
		p.name(is.Seal)
	}
	if v.Copy == (volumes.CopyAction{}) {
		return
	}
	p.text(v.Copy.Pod)
	p.number(int(v.Copy.Pass))
	p.name(v.Copy.Peer)
}

// setWrite prints what a write changes in a StatefulSet.
func (p *printer) setWrite(was, is plan.SetState) {
	p.bools(was.Start != is.Start || was.Replicas != is.Replicas, was.Fence != is.Fence, was.Share != is.Share || was.Shared != is.Shared, is.Shared)
	if was.Start != is.Start || was.Replicas != is.Replicas {
		p.number(int(is.Start))
		p.number(int(is.Replicas))
	}
	if was.Fence != is.Fence {
		p.fence(is.Fence)
	}
	p.number(int(is.Share - was.Share))
}
