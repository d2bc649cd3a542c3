package model

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sliceshift/sliceshift/migration/pass"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/migration/scope"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// process drives the migration, as an Engine does: it reads and writes as package pass says.
type process struct {
	pass.State
	// the Migration as it was last read or written, of a certain version
	version  int
	record   plan.Record
	mode     api.Mode
	deleting bool
	// arrived is what was answered last of the start of an ordinal on the other side; nil: nothing that counts.
	arrived *plan.Arrival
	// skew is how far its clock is ahead.
	skew time.Duration
	// ids are the clusters of both sides, as they were last asked for.
	ids map[plan.SideName]types.UID
}

// fate is what becomes of a write.
type fate int

// The fates.
const (
	// lands: the write arrives and its answer comes back.
	lands fate = iota
	// unanswered: it arrives, its answer does not, and the process goes on.
	unanswered
	// refused: it does not arrive, and the process goes on.
	refused
	// delayed: the process goes on while the write is still on the way.
	delayed
	// crashAfter and crashBefore end the process after or before the write.
	crashAfter
	crashBefore
	// stalls ends the process while its write is still on the way.
	stalls
)

// conditions are what a pass meets with.
type conditions struct {
	// stale makes the process not read the Migration again.
	stale bool
	// cached returns what the caches show.
	cached func() plan.Snapshot
	// between is called between two reads and before the write: others act.
	between func()
	// live returns what the API servers say to a read; nil: what is so now.
	live func(reading) plan.Snapshot
	fate fate
}

// reading is a kind of live read; a pass does them in this order.
type reading int

// The live reads.
const (
	setsRead reading = iota
	budgetsRead
	podsRead
	claimsRead
	volumesRead
)

type read struct {
	of reading
	do func(to *plan.Snapshot, now plan.Snapshot)
}

func (m *machine) newProcess() *process {
	m.names++
	p := &process{State: pass.State{Holder: fmt.Sprintf("p%d", m.names)}}
	m.reread(p)
	m.identify(p, scope.BothSides)
	return p
}

// identify asks which clusters these are.
func (m *machine) identify(p *process, sides scope.Sides) {
	ids := map[plan.SideName]types.UID{plan.SourceSide: m.begin.Source.ClusterID, plan.DestinationSide: m.begin.Destination.ClusterID}
	for name := range m.astray {
		ids[name] = "elsewhere"
	}
	for _, name := range plan.SideNames {
		if p.ids != nil && !sides.Has(name) {
			ids[name] = p.ids[name]
		}
	}
	p.ids = ids
}

// restart is a process that has crashed and come up again.
func (m *machine) restart(p *process) { *p = *m.newProcess() }

func (m *machine) reread(p *process) {
	p.version, p.record, p.mode, p.deleting = m.version, m.State.Record, m.State.Spec.Mode, m.State.Deleting
}

// through is a snapshot of the world as this process sees the Migration.
func (p *process) through(s plan.Snapshot) plan.Snapshot {
	s.Record, s.Spec.Mode, s.Deleting = p.record, p.mode, p.deleting
	return p.Sign(s)
}

// observe looks at both sides, as an Engine does: at what the caches show and, as far
// as the scope asks for it, at what the API servers say. Others act between reads.
func (m *machine) observe(p *process, shown plan.Snapshot, sc scope.Reads, c conditions) plan.Snapshot {
	if sc.Identity != scope.NoSide {
		m.identify(p, sc.Identity)
	}
	s, down := shown.Clone(), map[plan.SideName]bool{}
	if sc.Ordinal != nil {
		s = focused(s, sc)
		forget(&s, sc)
	}
	for _, read := range m.reads(sc) {
		c.between()
		for name := range m.cut {
			down[name] = true
		}
		now := m.State
		if c.live != nil {
			now = c.live(read.of)
		}
		read.do(&s, now.Clone())
	}
	for name := range down {
		to := s.Side(name)
		*to = plan.Side{Cluster: to.Cluster, Namespace: to.Namespace, NamespaceFound: true, ReachError: "no answer", Set: plan.Set{Name: to.Set.Name}}
	}
	for name := range m.astray {
		empty(&s, name)
	}
	for i := range s.Volumes {
		if s.Volumes[i].Separate() {
			s.Volumes[i] = asOwn(s.Volumes[i], p.record.Handoff)
		} else {
			s.Volumes[i] = asNamed(s.Volumes[i], m.State.Spec.SameCluster, p.record.Handoff)
		}
	}
	c.between()
	m.lookAtCopies(&s, p.record.Handoff)
	s.Source.ClusterID, s.Destination.ClusterID = p.ids[plan.SourceSide], p.ids[plan.DestinationSide]
	s.Now, s.Numbers, s.VolumesRead = m.State.Now.Add(p.skew), m.State.Numbers, sc.Volumes
	s = p.through(s)
	m.askArrival(p, &s, sc.Arrival)
	return s
}

// forget takes out of a snapshot what is read live of one ordinal: nothing of that comes from the
// caches.
func forget(s *plan.Snapshot, sc scope.Reads) {
	for i := range s.Volumes {
		v := &s.Volumes[i]
		if v.Ordinal != *sc.Ordinal {
			continue
		}
		for _, name := range plan.SideNames {
			h := v.Holding(name)
			if !sc.Volumes || !sc.Spared.Claims.Has(name) {
				h.Claim = volumes.Claim{}
			}
			if !sc.Volumes || !sc.Spared.Volumes.Has(name) {
				h.Volume = volumes.Volume{}
			}
		}
	}
}

// empty lets a side look as in a cluster where nothing of the application is.
func empty(s *plan.Snapshot, name plan.SideName) {
	at := s.Side(name)
	*at = plan.Side{
		Cluster: at.Cluster, Namespace: at.Namespace, Reach: plan.Seen, NamespaceFound: true,
		Set: plan.Set{Presence: plan.Absent, Name: at.Set.Name}, Service: plan.Dependent{Needed: at.Service.Needed, Name: at.Service.Name},
	}
	for i := range s.Volumes {
		h := &s.Volumes[i].Source
		if name == plan.DestinationSide {
			h = &s.Volumes[i].Destination
		}
		*h = volumes.Holding{Ref: h.Ref}
	}
}

// reads are the live reads that a scope asks for, each kind after the one that it
// must not be older than: a pod that was absent before its StatefulSet was read may
// have come and gone since, and so may an attachment from before its pod was read.
// Before a stop, pods are listed ahead of all else.
func (m *machine) reads(sc scope.Reads) []read {
	if !sc.Live {
		return nil
	}
	var reads []read
	if sc.Gate {
		reads = append(reads, read{podsRead, readPods})
	}
	reads = append(reads, read{setsRead, func(to *plan.Snapshot, now plan.Snapshot) { readSets(to, now, sc) }})
	if sc.Wide || sc.Budgets {
		reads = append(reads, read{budgetsRead, func(to *plan.Snapshot, now plan.Snapshot) { readBudgets(to, now, sc) }})
	}
	switch {
	case sc.Gate:
	case sc.Wide: // what is listed from an API server's cache may be as late as our own
		reads = append(reads, read{podsRead, func(to *plan.Snapshot, now plan.Snapshot) { readAllPods(to, now, sc) }})
	case sc.Pods && sc.Ordinal != nil:
		reads = append(reads, read{podsRead, func(to *plan.Snapshot, now plan.Snapshot) { readPod(to, now, sc) }})
	}
	if sc.Wide || sc.Volumes {
		reads = append(reads,
			read{claimsRead, func(to *plan.Snapshot, now plan.Snapshot) { readHoldings(to, now, sc, readClaim) }},
			read{volumesRead, func(to *plan.Snapshot, now plan.Snapshot) { readHoldings(to, now, sc, readVolume) }})
	}
	return reads
}

func readSets(to *plan.Snapshot, now plan.Snapshot, sc scope.Reads) {
	for _, name := range plan.SideNames {
		if sc.Spared.Sets.Has(name) {
			continue
		}
		s := to.Side(name)
		pods, budgets, names := s.Pods, s.Budgets, s.Names
		*s = *now.Side(name)
		s.Pods, s.Budgets, s.Names = pods, budgets, nil
		for _, n := range names {
			again, _ := now.Side(name).NameOf(n.Ordinal)
			s.Names = append(s.Names, again)
		}
	}
}

func readBudgets(to *plan.Snapshot, now plan.Snapshot, sc scope.Reads) {
	for _, name := range plan.SideNames {
		if !sc.Spared.Budgets.Has(name) {
			to.Side(name).Budgets = now.Side(name).Budgets
		}
	}
}

func readAllPods(to *plan.Snapshot, now plan.Snapshot, sc scope.Reads) {
	for _, name := range plan.SideNames {
		if !sc.Spared.Pods.Has(name) {
			to.Side(name).Pods = now.Side(name).Pods
		}
	}
}

func readPods(to *plan.Snapshot, now plan.Snapshot) {
	to.Source.Pods, to.Destination.Pods = now.Source.Pods, now.Destination.Pods
}

func readPod(to *plan.Snapshot, now plan.Snapshot, sc scope.Reads) {
	for _, name := range plan.SideNames {
		if sc.Spared.Pods.Has(name) {
			continue
		}
		s := to.Side(name)
		s.RemovePod(*sc.Ordinal)
		if pod, found := now.Side(name).Pod(*sc.Ordinal); found {
			s.SetPod(pod)
		}
	}
}

// readHoldings reads a part of the volumes of the ordinals that are looked at.
func readHoldings(to *plan.Snapshot, now plan.Snapshot, sc scope.Reads, part func(to, now *volumes.Holding, name plan.SideName, sc scope.Reads)) {
	for i := range to.Volumes {
		v := &to.Volumes[i]
		if !sc.Wide && sc.Ordinal != nil && v.Ordinal != *sc.Ordinal {
			continue
		}
		at := slices.IndexFunc(now.Volumes, func(o plan.OrdinalVolume) bool { return o.Ordinal == v.Ordinal && o.Template == v.Template })
		for _, name := range plan.SideNames {
			part(v.Holding(name), now.Volumes[at].Holding(name), name, sc)
		}
	}
}

func readClaim(to, now *volumes.Holding, name plan.SideName, sc scope.Reads) {
	if !sc.Spared.Claims.Has(name) {
		to.Claim = now.Claim
	} else if sc.Gate || sc.Left == name {
		to.Claim.Users = now.Claim.Users // it is in the lists of pods
	}
}

// readVolume reads the volume of a side, and with it what is attached where its pods are read.
func readVolume(to, now *volumes.Holding, name plan.SideName, sc scope.Reads) {
	attachments := to.Volume.Attachments
	if !sc.Spared.Volumes.Has(name) {
		to.Volume, to.Name = now.Volume, now.Name
	}
	if to.Volume.Attachments = attachments; (sc.Pods || sc.Wide) && (!sc.Spared.Pods.Has(name) || sc.Left == name) {
		to.Volume.Attachments = now.Volume.Attachments
	}
}

// focused leaves only the volumes and the name that a scope asks for in a snapshot.
func focused(s plan.Snapshot, sc scope.Reads) plan.Snapshot {
	var only []plan.OrdinalVolume
	ordinal := *sc.Ordinal
	for _, v := range s.Volumes {
		if v.Ordinal == ordinal || sc.Next != nil && v.Ordinal == *sc.Next {
			only = append(only, v)
		}
	}
	s.Volumes, s.Focused = only, true
	for _, at := range []*plan.Side{&s.Source, &s.Destination} {
		at.Names = slices.DeleteFunc(slices.Clone(at.Names), func(n plan.Name) bool { return n.Ordinal != ordinal })
	}
	return s
}

// pass does one step of a process and returns what it came to.
func (m *machine) pass(p *process, c conditions) plan.Decision {
	stood := m.interleaved
	step := m.look(p, c)
	if step.Do == pass.Rest {
		return plan.Decision{}
	}
	decision := m.conclude(p, c, step, stood)
	if decision.Hold != nil && step.Do == pass.Report {
		m.early(p, c, step.Snapshot)
	}
	return decision
}

// early does the next thing for an ordinal whose turn is to come, where the migration itself waits; it returns what
// that was, or a decision of nothing.
func (m *machine) early(p *process, c conditions, s plan.Snapshot) plan.Decision {
	for _, ordinal := range planner.EarlyOrdinals(s) {
		stood, step := m.interleaved, p.BeginEarly(ordinal)
		for step.Do == pass.Read {
			record := p.record
			p.record = planner.AsHandoff(record, ordinal)
			snapshot := m.observe(p, c.cached(), step.Reads, c)
			p.record = record
			snapshot.Record, snapshot.Early = record, &ordinal
			step = p.Next(step, snapshot)
		}
		if step.Do == pass.Write || step.Do == pass.SaveRecord {
			return m.conclude(p, c, step, stood)
		}
	}
	return plan.Decision{}
}

// longer is longer than any write is awaited in the caches: those that lag may lag for ever.
const longer = time.Hour

// look observes until the process has read all that its decision rests on. A periodic live read is
// never due: what goes wrong on caches alone must not hide behind it.
func (m *machine) look(p *process, c conditions) pass.Step {
	if !c.stale {
		m.reread(p)
	}
	shown, now := c.cached(), m.State.Now.Add(longer)
	p.LastLiveRead = now
	step := p.Begin(now, p.record, func(object string) string { return shownVersion(shown, object) })
	for step.Do == pass.Read {
		step = p.Next(step, m.observe(p, shown, step.Reads, c))
	}
	return step
}

func (m *machine) conclude(p *process, c conditions, step pass.Step, stood int) plan.Decision {
	decision := step.Decision
	m.lawful(step.Snapshot, decision)
	c.between()
	switch step = m.confirm(p, step); step.Do {
	case pass.SaveRecord:
		m.save(p, c.fate, step)
	case pass.Write:
		if decision.Effect.Verb == plan.ScaleDown && m.interleaved == stood {
			m.gated(*decision.Effect)
			m.letIn(*decision.Effect)
			m.unkept(*decision.Effect)
		}
		if hold := m.send(p, c.fate, step); hold != nil {
			decision.Effect, decision.Hold = nil, hold
		}
	case pass.Rest:
		m.note("%s is refused: %s", p.Holder, decision.Effect)
	default:
		if decision.Hold != nil {
			m.note("%s waits: %s", p.Holder, decision.Hold.Message)
		}
	}
	return decision
}

// confirm writes the Migration again as it is, when that is to be done: it stays as it was.
func (m *machine) confirm(p *process, step pass.Step) pass.Step {
	if step.Do != pass.Confirm {
		return step
	}
	answer := pass.Changed
	if p.version == m.version {
		answer = pass.Landed
	}
	return p.Answered(step, pass.Answer{Kind: answer}, m.State.Now)
}

// lawful checks a decision against what it was taken on.
func (m *machine) lawful(s plan.Snapshot, decision plan.Decision) {
	if decision.Effect != nil && (s.Source.Reach != plan.Seen || s.Destination.Reach != plan.Seen) {
		m.breaks("I6: %s although a side is unreachable", *decision.Effect)
	}
	m.prudent(s, decision)
	let := api.FenceOwner(s.Source.Set.Fence) != s.UID && api.FenceOwner(s.Destination.Set.Fence) != s.UID
	base := s.Record.Baseline
	whole := base == nil || planner.DestinationSlice(s).Replicas == base.Replicas
	handsOver := decision.Effect != nil && decision.Effect.Verb == plan.SetBudget && s.Record.Completed == api.ReasonMoved && !whole
	if decision.Effect != nil && s.Record.Completed != "" && let && !handsOver {
		m.breaks("I9: %s after the migration has let go", *decision.Effect)
	}
	if r := decision.Record; r != nil && r.TurnedBack == nil && s.Spec.Mode == api.ModePause && s.Record.Fence != nil && r.Fence != nil && r.Fence.Direction != s.Record.Fence.Direction {
		m.breaks("I8: a pause turns the migration round")
	}
}

// gated is I5, judged at the moment of the write when nobody else has acted since
// the pass began.
func (m *machine) gated(e plan.Effect) {
	s := m.State
	var others int32
	for _, at := range []plan.Side{s.Source, s.Destination} {
		for ordinal := at.Set.Start; ordinal < at.Set.End(); ordinal++ {
			if pod, found := at.Pod(ordinal); ordinal != e.Ordinal && (!found || !pod.Available(s.Now, at.Set.MinReady)) {
				others++
			}
		}
	}
	if others+1 > s.Record.Baseline.Budget && !goesBackDown(s, e) && !m.runsTwice(e) {
		m.breaks("I5: %s while %d other replicas are unavailable, of %d", e, others, s.Record.Baseline.Budget)
	}
}

// save writes the record, over the version that was read.
func (m *machine) save(p *process, f fate, step pass.Step) {
	record, answer := *step.Decision.Record, pass.Changed
	m.patient(record)
	arrives := f == lands || f == unanswered || f == crashAfter
	if arrives && p.version == m.version {
		m.version++
		if record.Completed != "" && m.State.Record.Completed == "" {
			m.completed(record.Completed)
		}
		given := planner.DestinationCount(m.State)
		m.endHandoff(record)
		if m.State.Record.Baseline == nil && record.Baseline != nil {
			m.beginsAgain(*record.Baseline)
		}
		m.State.Record = record
		m.State.Record.Given = given
		m.interleaved++
		m.note("%s records %s", p.Holder, recorded(record))
		m.remember()
		if f == lands {
			m.reread(p)
		}
		answer = pass.Landed
	} else {
		m.note("%s could not record %s", p.Holder, recorded(record))
	}
	m.answer(p, f, step, answer)
}

// beginsAgain notes what a migration begins with that was rolled back and is to run again: somebody may have scaled the source since.
func (m *machine) beginsAgain(base api.Baseline) {
	source := plan.Set{Start: base.Start, Replicas: base.Replicas}
	if base.DestinationReplicas > 0 || source.Start == m.begin.Source.Set.Start && source.Replicas == m.begin.Source.Set.Replicas {
		return
	}
	begin := m.begin.Clone()
	begin.Source.Set.Start, begin.Source.Set.Replicas, begin.Source.Pods = source.Start, source.Replicas, nil
	for ordinal := source.Start; ordinal < source.End(); ordinal++ {
		begin.Source.Pods = append(begin.Source.Pods, plan.Pod{Ordinal: ordinal})
	}
	m.begin = &begin
}

// longerThanAttempts is how long a handoff takes at least: longer than attempts to copy can follow on one another.
const longerThanAttempts = 100 * time.Second

// endHandoff notes that a record ends a handoff.
func (m *machine) endHandoff(next plan.Record) {
	if was := m.State.Record.Handoff; was != nil && (next.Handoff == nil || next.Handoff.Ordinal != was.Ordinal) {
		m.handoffs++
		m.State.Now = m.State.Now.Add(longerThanAttempts)
	}
}

// completed checks that no ordinal is left down. One that is let go while it comes up
// has been started at least.
func (m *machine) completed(reason string) {
	for ordinal := range m.held {
		started := m.State.Source.Set.Has(ordinal) || m.State.Destination.Set.Has(ordinal)
		if reason != api.ReasonReleased || !started {
			m.breaks("I8: completed (%s) although ordinal %d has not come up yet", reason, ordinal)
		}
	}
}

// answer brings a process the answer to what it wrote, if it is to have one, and returns what follows.
func (m *machine) answer(p *process, f fate, step pass.Step, answer pass.Kind) pass.Step {
	switch {
	case f >= crashAfter:
		m.restart(p)
		return pass.Step{}
	case f != lands:
		return p.Answered(step, pass.Answer{}, m.State.Now)
	default:
		object := written(step.Decision.Effect)
		return p.Answered(step, pass.Answer{Kind: answer, Object: object, Version: shownVersion(m.State, object)}, m.State.Now)
	}
}

func recorded(r plan.Record) string {
	text := ""
	if r.Fence != nil {
		text += fmt.Sprintf("epoch %d %s %s", r.Fence.Epoch, r.Fence.Holder, r.Fence.Direction)
	}
	if r.Handoff != nil {
		text += fmt.Sprintf(", handoff of %d", r.Handoff.Ordinal)
	}
	if r.Completed != "" {
		text += ", completed " + r.Completed
	}
	return text
}

// send writes one effect. It returns the stall that follows on a write that the API server refuses.
func (m *machine) send(p *process, f fate, step pass.Step) *plan.Hold {
	e, answer, barred := *step.Decision.Effect, pass.NoAnswer, false
	switch f {
	case lands, unanswered, crashAfter:
		err := m.land(e, false)
		barred = errors.Is(err, errBarred)
		switch {
		case err == nil:
			answer = pass.Landed
		case barred:
			answer = m.barred.answer
		case !errors.Is(err, errNoAnswer):
			answer = pass.Changed
		}
		m.note("%s: %s: %v", p.Holder, e, err)
	case stalls, delayed:
		m.late = append(m.late, lateWrite{e, step.Snapshot})
		m.note("%s stalls: %s", p.Holder, e)
	default:
		m.note("%s fails: %s", p.Holder, e)
	}
	follows := m.answer(p, f, step, answer)
	if !barred || f != lands {
		return nil
	}
	m.explained(e, follows)
	return follows.Decision.Hold
}

// land lets a write arrive.
func (m *machine) land(e plan.Effect, late bool) error {
	if m.astray[e.Side] && !late {
		m.breaks("I9: %s in another cluster", e)
	}
	if m.cut[e.Side] || m.astray[e.Side] {
		return errNoAnswer
	}
	if m.barred.refuses(e) {
		m.refusals++
		return errBarred
	}
	before := m.Snapshot()
	if err := m.carry(e); err != nil {
		return err
	}
	m.landed++
	m.interleaved++
	m.wrote(e, before, late)
	m.remember()
	return nil
}
