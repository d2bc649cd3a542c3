package model

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
	"github.com/sliceshift/sliceshift/volumes"
)

// process drives the migration as an Engine does: it reads and writes as planner.State requires.
type process struct {
	planner.State
	// the Migration as last read or written, with its version
	version  int
	record   plan.Record
	mode     api.Mode
	deleting bool
	// arrived is the last answer about the start of an ordinal on the other side; nil if none is valid.
	arrived *plan.Arrival
	// skew is how far its clock is ahead.
	skew time.Duration
	// ids are the clusters of both sides as last identified.
	ids map[plan.SideName]types.UID
}

// fate is the result of a write.
type fate int

// The fates.
const (
	// lands means that the write arrives and is answered.
	lands fate = iota
	// unanswered means that it arrives without an answer, and the process continues.
	unanswered
	// refused means that it does not arrive, and the process continues.
	refused
	// delayed means that the process continues while the write is still in flight.
	delayed
	// crashAfter and crashBefore end the process after or before the write.
	crashAfter
	crashBefore
	// stalls means that the process ends while its write is still in flight.
	stalls
)

// conditions are the circumstances of a pass.
type conditions struct {
	// stale prevents the process from reading the Migration again.
	stale bool
	// cached returns the state that the caches show.
	cached func() plan.Snapshot
	// between is called between two reads and before the write: others act.
	between func()
	// live returns the answer of the API servers to a read; nil means the current state.
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
	p := &process{State: planner.State{Holder: fmt.Sprintf("p%d", m.names)}}
	m.reread(p)
	m.identify(p, planner.BothSides)
	return p
}

// identify reads which clusters these are.
func (m *machine) identify(p *process, sides planner.Sides) {
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

// restart replaces a process that has crashed by a new one.
func (m *machine) restart(p *process) { *p = *m.newProcess() }

func (m *machine) reread(p *process) {
	p.version, p.record, p.mode, p.deleting = m.version, m.State.Record, m.State.Spec.Mode, m.State.Deleting
}

// through returns a snapshot of the world with the Migration as this process sees it.
func (p *process) through(s plan.Snapshot) plan.Snapshot {
	s.Record, s.Spec.Mode, s.Deleting = p.record, p.mode, p.deleting
	return p.Sign(s)
}

// observe reads both sides as an Engine does: the caches and, as far as the scope requires it, the API servers.
// Others act between reads.
func (m *machine) observe(p *process, shown plan.Snapshot, sc planner.Reads, c conditions) plan.Snapshot {
	if sc.Identity != planner.NoSide {
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

// forget removes from a snapshot the parts that are read live for one ordinal: none of them comes from the
// caches.
func forget(s *plan.Snapshot, sc planner.Reads) {
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

// empty makes a side look like a cluster without the application.
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

// reads returns the live reads that a scope requires, each kind after the one that it must not be older than. A
// pod that was absent before its StatefulSet was read may have started and ended since. The same holds for an
// attachment from before its pod was read. Before a stop, pods are listed first.
func (m *machine) reads(sc planner.Reads) []read {
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
	case sc.Wide: // a list from an API server's cache may be as late as our own
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

func readSets(to *plan.Snapshot, now plan.Snapshot, sc planner.Reads) {
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

func readBudgets(to *plan.Snapshot, now plan.Snapshot, sc planner.Reads) {
	for _, name := range plan.SideNames {
		if !sc.Spared.Budgets.Has(name) {
			to.Side(name).Budgets = now.Side(name).Budgets
		}
	}
}

func readAllPods(to *plan.Snapshot, now plan.Snapshot, sc planner.Reads) {
	for _, name := range plan.SideNames {
		if !sc.Spared.Pods.Has(name) {
			to.Side(name).Pods = now.Side(name).Pods
		}
	}
}

func readPods(to *plan.Snapshot, now plan.Snapshot) {
	to.Source.Pods, to.Destination.Pods = now.Source.Pods, now.Destination.Pods
}

func readPod(to *plan.Snapshot, now plan.Snapshot, sc planner.Reads) {
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

// readHoldings reads a part of the volumes of the ordinals in scope.
func readHoldings(to *plan.Snapshot, now plan.Snapshot, sc planner.Reads, part func(to, now *volumes.Holding, name plan.SideName, sc planner.Reads)) {
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

func readClaim(to, now *volumes.Holding, name plan.SideName, sc planner.Reads) {
	if !sc.Spared.Claims.Has(name) {
		to.Claim = now.Claim
	} else if sc.Gate || sc.Left == name {
		to.Claim.Users = now.Claim.Users // they are in the lists of pods
	}
}

// readVolume reads the volume of a side, and its attachments if the side's pods are read.
func readVolume(to, now *volumes.Holding, name plan.SideName, sc planner.Reads) {
	attachments := to.Volume.Attachments
	if !sc.Spared.Volumes.Has(name) {
		to.Volume, to.Name = now.Volume, now.Name
	}
	if to.Volume.Attachments = attachments; (sc.Pods || sc.Wide) && (!sc.Spared.Pods.Has(name) || sc.Left == name) {
		to.Volume.Attachments = now.Volume.Attachments
	}
}

// focused returns a snapshot with only the volumes and the name that a scope requires.
func focused(s plan.Snapshot, sc planner.Reads) plan.Snapshot {
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

// pass runs one pass of a process and returns its decision.
func (m *machine) pass(p *process, c conditions) plan.Decision {
	stood := m.interleaved
	step := m.look(p, c)
	if step.Do == planner.Rest {
		return plan.Decision{}
	}
	decision := m.conclude(p, c, step, stood)
	if decision.Hold != nil && step.Do == planner.Report {
		m.early(p, c, step.Snapshot)
	}
	return decision
}

// early runs the next action for an ordinal ahead of its turn while the migration itself waits. It returns that
// decision, or an empty one.
func (m *machine) early(p *process, c conditions, s plan.Snapshot) plan.Decision {
	for _, ordinal := range planner.EarlyOrdinals(s) {
		stood, step := m.interleaved, p.BeginEarly(ordinal)
		for step.Do == planner.Read {
			record := p.record
			p.record = planner.AsHandoff(record, ordinal)
			snapshot := m.observe(p, c.cached(), step.Reads, c)
			p.record = record
			snapshot.Record, snapshot.Early = record, &ordinal
			step = p.Next(step, snapshot)
		}
		if step.Do == planner.Write || step.Do == planner.SaveRecord {
			return m.conclude(p, c, step, stood)
		}
	}
	return plan.Decision{}
}

// longer exceeds the time for which a write is awaited in the caches: lagging caches may lag forever.
const longer = time.Hour

// look observes until the process has read everything on which its decision depends. A periodic live read is
// never due, because it could hide a fault that is based on caches alone.
func (m *machine) look(p *process, c conditions) planner.Step {
	if !c.stale {
		m.reread(p)
	}
	shown, now := c.cached(), m.State.Now.Add(longer)
	p.LastLiveRead = now
	step := p.Begin(now, p.record, func(object string) string { return shownVersion(shown, object) })
	for step.Do == planner.Read {
		record := p.record
		p.record = step.Focus.Of(record)
		snapshot := m.observe(p, shown, step.Reads, c)
		p.record = record
		step = p.Next(step, snapshot)
	}
	return step
}

func (m *machine) conclude(p *process, c conditions, step planner.Step, stood int) plan.Decision {
	decision := step.Decision
	m.lawful(step.Snapshot, decision)
	c.between()
	switch step = m.confirm(p, step); step.Do {
	case planner.SaveRecord:
		m.save(p, c.fate, step)
	case planner.Write:
		if decision.Effect.Verb == plan.ScaleDown && m.interleaved == stood {
			m.gated(*decision.Effect)
			m.letIn(*decision.Effect)
			m.unkept(*decision.Effect)
		}
		if hold := m.send(p, c.fate, step); hold != nil {
			decision.Effect, decision.Hold = nil, hold
		}
	case planner.Rest:
		m.note("%s is refused: %s", p.Holder, decision.Effect)
	default:
		if decision.Hold != nil {
			m.note("%s waits: %s", p.Holder, decision.Hold.Message)
		}
	}
	return decision
}

// confirm writes the Migration again without a change if the step requires it.
func (m *machine) confirm(p *process, step planner.Step) planner.Step {
	if step.Do != planner.Confirm {
		return step
	}
	answer := planner.Changed
	if p.version == m.version {
		answer = planner.Landed
	}
	return p.Answered(step, planner.Answer{Kind: answer}, m.State.Now)
}

// lawful checks a decision against the state on which it is based.
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

// gated is I5. It is judged at the time of the write if no other party has acted since the pass began.
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
	for _, h := range s.Record.InFlight() {
		if h.Ordinal != e.Ordinal && !s.Source.Set.Has(h.Ordinal) && !s.Destination.Set.Has(h.Ordinal) {
			others++
		}
	}
	if others+1 > s.Record.Baseline.Budget && !goesBackDown(s, e) && !m.runsTwice(e) {
		m.breaks("I5: %s while %d other replicas are unavailable, of %d", e, others, s.Record.Baseline.Budget)
	}
}

// save writes the record over the version that was read.
func (m *machine) save(p *process, f fate, step planner.Step) {
	record, answer := *step.Decision.Record, planner.Changed
	m.patient(record)
	arrives := f == lands || f == unanswered || f == crashAfter
	if arrives && p.version == m.version {
		m.version++
		if record.Completed != "" && m.State.Record.Completed == "" {
			m.completed(record.Completed)
		}
		given := planner.DestinationCount(m.State)
		m.endHandoffs(record)
		if m.State.Record.Baseline == nil && record.Baseline != nil {
			m.beginsAgain(*record.Baseline)
		}
		m.State.Record = record.Stored(m.State.Spec.Order)
		m.State.Record.Given = given
		m.interleaved++
		m.note("%s records %s", p.Holder, recorded(record))
		m.remember()
		if f == lands {
			m.reread(p)
		}
		answer = planner.Landed
	} else {
		m.note("%s could not record %s", p.Holder, recorded(record))
	}
	m.answer(p, f, step, answer)
}

// beginsAgain records the initial state of a migration that was rolled back and runs again: another client may
// have scaled the source since.
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

// longerThanAttempts is the minimum duration of a handoff: longer than consecutive attempts to copy can take.
const longerThanAttempts = 100 * time.Second

// endHandoffs records that a record ends a handoff.
func (m *machine) endHandoffs(next plan.Record) {
	for _, was := range m.State.Record.InFlight() {
		if !next.Moves(was.Ordinal) {
			m.handoffs++
			m.State.Now = m.State.Now.Add(longerThanAttempts)
		}
	}
}

// completed checks that no ordinal remains down. One that is released while it is starting has at least been
// started.
func (m *machine) completed(reason string) {
	for ordinal := range m.held {
		started := m.State.Source.Set.Has(ordinal) || m.State.Destination.Set.Has(ordinal)
		if reason != api.ReasonReleased || !started {
			m.breaks("I8: completed (%s) although ordinal %d has not come up yet", reason, ordinal)
		}
	}
	if claim := m.unproven(); reason == api.ReasonMoved && claim != "" {
		m.breaks("I3: completed, and nobody has read the volume that claim %s has left", claim)
	}
}

// answer delivers the answer of a write to a process, unless it is lost, and returns the next step.
func (m *machine) answer(p *process, f fate, step planner.Step, answer planner.Kind) planner.Step {
	switch {
	case f >= crashAfter:
		m.restart(p)
		return planner.Step{}
	case f != lands:
		return p.Answered(step, planner.Answer{}, m.State.Now)
	default:
		object := written(step.Decision.Effect)
		return p.Answered(step, planner.Answer{Kind: answer, Object: object, Version: shownVersion(m.State, object)}, m.State.Now)
	}
}

func recorded(r plan.Record) string {
	text := ""
	if r.Fence != nil {
		text += fmt.Sprintf("epoch %d %s %s", r.Fence.Epoch, r.Fence.Holder, r.Fence.Direction)
	}
	var handoffs []string
	for _, handoff := range r.InFlight() {
		handoffs = append(handoffs, fmt.Sprintf(", handoff of %d", handoff.Ordinal))
	}
	text += strings.Join(handoffs, "")
	if r.Completed != "" {
		text += ", completed " + r.Completed
	}
	return text
}

// send writes one effect. It returns the stall that follows a write that the API server refuses.
func (m *machine) send(p *process, f fate, step planner.Step) *plan.Hold {
	e, answer, barred := *step.Decision.Effect, planner.NoAnswer, false
	switch f {
	case lands, unanswered, crashAfter:
		err := m.land(e, false)
		barred = errors.Is(err, errBarred)
		switch {
		case err == nil:
			answer = planner.Landed
		case barred:
			answer = m.barred.answer
		case !errors.Is(err, errNoAnswer):
			answer = planner.Changed
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

// land delivers a write.
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
