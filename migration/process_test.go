package migration

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// process drives the migration, as an Engine does: it plans on what its caches show,
// plans again on live reads before it writes, and writes once.
type process struct {
	holder  string
	engaged bool
	// the Migration as it was last read or written, of a certain version
	version  int
	record   Record
	mode     api.Mode
	deleting bool
	// ids are the clusters of both sides, as they were last asked for.
	ids map[SideName]types.UID
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
	cached func() Snapshot
	// between is called between two reads and before the write: others act.
	between func()
	// live returns what the API servers say to a read; nil: what is so now.
	live func(reading) Snapshot
	fate fate
	// underway is true for a write that was sent before.
	underway bool
}

// reading is a kind of live read; a pass does them in this order.
type reading int

// The live reads.
const (
	setsRead reading = iota
	budgetsRead
	podsRead
	volumesRead
)

type read struct {
	of reading
	do func(to *Snapshot, now Snapshot)
}

func (m *machine) newProcess() *process {
	m.names++
	p := &process{holder: fmt.Sprintf("p%d", m.names)}
	m.reread(p)
	m.identify(p)
	return p
}

// identify asks which clusters these are.
func (m *machine) identify(p *process) {
	p.ids = map[SideName]types.UID{SourceSide: m.begin.Source.ClusterID, DestinationSide: m.begin.Destination.ClusterID}
	for name := range m.astray {
		p.ids[name] = "elsewhere"
	}
}

// restart is a process that has crashed and come up again.
func (m *machine) restart(p *process) { *p = *m.newProcess() }

func (m *machine) reread(p *process) {
	p.version, p.record, p.mode, p.deleting = m.version, m.state.Record, m.state.Spec.Mode, m.state.Deleting
}

// through is a snapshot of the world as this process sees the Migration.
func (p *process) through(s Snapshot) Snapshot {
	s.Holder, s.Engaged = p.holder, p.engaged
	s.Record, s.Spec.Mode, s.Deleting = p.record, p.mode, p.deleting
	return s
}

// observe looks at both sides, as an Engine does: at what the caches show and, as far
// as the scope asks for it, at what the API servers say. Others act between reads.
func (m *machine) observe(p *process, shown Snapshot, sc scope, c conditions) Snapshot {
	if sc.identity {
		m.identify(p)
	}
	s, down := shown.clone(), map[SideName]bool{}
	if sc.ordinal != nil {
		s = focused(s, sc)
		for i := range s.Volumes {
			v := &s.Volumes[i]
			if v.Ordinal != *sc.ordinal {
				continue
			}
			// Of one ordinal, nothing is taken from the caches.
			v.Source, v.Destination = volumes.Holding{Ref: v.Source.Ref}, volumes.Holding{Ref: v.Destination.Ref}
		}
	}
	for _, read := range m.reads(sc) {
		c.between()
		for name := range m.cut {
			down[name] = true
		}
		now := m.state
		if c.live != nil {
			now = c.live(read.of)
		}
		read.do(&s, now.clone())
	}
	for name := range down {
		to := side(&s, name)
		*to = Side{Cluster: to.Cluster, Namespace: to.Namespace, NamespaceFound: true, ReachError: "no answer", Set: Set{Name: to.Set.Name}}
	}
	for name := range m.astray {
		empty(&s, name)
	}
	for i := range s.Volumes {
		s.Volumes[i] = asNamed(s.Volumes[i], m.state.Spec.SameCluster, p.record.Handoff)
	}
	s.Source.ClusterID, s.Destination.ClusterID = p.ids[SourceSide], p.ids[DestinationSide]
	s.Now, s.Numbers, s.VolumesRead = m.state.Now, m.state.Numbers, sc.volumes
	return p.through(s)
}

// empty lets a side look as in a cluster where nothing of the application is.
func empty(s *Snapshot, name SideName) {
	at := side(s, name)
	*at = Side{
		Cluster: at.Cluster, Namespace: at.Namespace, Reach: Seen, NamespaceFound: true,
		Set: Set{Presence: Absent, Name: at.Set.Name}, Service: Dependent{Needed: at.Service.Needed, Name: at.Service.Name},
	}
	for i := range s.Volumes {
		h := &s.Volumes[i].Source
		if name == DestinationSide {
			h = &s.Volumes[i].Destination
		}
		*h = volumes.Holding{Ref: h.Ref}
	}
}

// reads are the live reads that a scope asks for, each kind after the one that it
// must not be older than: a pod that was absent before its StatefulSet was read may
// have come and gone since, and so may an attachment from before its pod was read.
// Before a stop, pods are listed ahead of all else.
func (m *machine) reads(sc scope) []read {
	if !sc.live {
		return nil
	}
	var reads []read
	if sc.gate {
		reads = append(reads, read{podsRead, readPods})
	}
	reads = append(reads, read{setsRead, readSets})
	if sc.wide || sc.budgets {
		reads = append(reads, read{budgetsRead, readBudgets})
	}
	used := sc.pods && sc.volumes && len(m.begin.Volumes) > 0
	switch {
	case sc.gate:
	case sc.wide: // what is listed from an API server's cache may be as late as our own
		reads = append(reads, read{podsRead, readPods})
	case sc.pods && sc.ordinal != nil:
		reads = append(reads, read{podsRead, func(to *Snapshot, now Snapshot) { readPod(to, now, *sc.ordinal) }})
	}
	if sc.wide || sc.volumes {
		reads = append(reads, read{volumesRead, func(to *Snapshot, now Snapshot) { readVolumes(to, now, sc, used) }})
	}
	return reads
}

func readSets(to *Snapshot, now Snapshot) {
	for _, name := range sideNames {
		s := side(to, name)
		pods, budgets, names := s.Pods, s.Budgets, s.Names
		*s = *side(&now, name)
		s.Pods, s.Budgets, s.Names = pods, budgets, nil
		for _, n := range names {
			again, _ := side(&now, name).name(n.Ordinal)
			s.Names = append(s.Names, again)
		}
	}
}

func readBudgets(to *Snapshot, now Snapshot) {
	to.Source.Budgets, to.Destination.Budgets = now.Source.Budgets, now.Destination.Budgets
}

func readPods(to *Snapshot, now Snapshot) {
	to.Source.Pods, to.Destination.Pods = now.Source.Pods, now.Destination.Pods
}

func readPod(to *Snapshot, now Snapshot, ordinal int32) {
	for _, name := range sideNames {
		s := side(to, name)
		s.removePod(ordinal)
		if pod, found := side(&now, name).pod(ordinal); found {
			s.setPod(pod)
		}
	}
}

// readVolumes reads the volumes of the ordinals that are looked at, and with them
// what is attached.
func readVolumes(to *Snapshot, now Snapshot, sc scope, used bool) {
	for i := range to.Volumes {
		v := &to.Volumes[i]
		if !sc.wide && sc.ordinal != nil && v.Ordinal != *sc.ordinal {
			continue
		}
		at := slices.IndexFunc(now.Volumes, func(o OrdinalVolume) bool { return o.Ordinal == v.Ordinal && o.Template == v.Template })
		before := *v
		*v = now.Volumes[at]
		if !sc.wide && !used {
			v.Source.Volume.Attachments, v.Destination.Volume.Attachments = before.Source.Volume.Attachments, before.Destination.Volume.Attachments
		}
	}
}

func side(s *Snapshot, name SideName) *Side {
	if name == SourceSide {
		return &s.Source
	}
	return &s.Destination
}

// focused leaves only the volumes and the name that a scope asks for in a snapshot.
func focused(s Snapshot, sc scope) Snapshot {
	var only []OrdinalVolume
	ordinal := *sc.ordinal
	for _, v := range s.Volumes {
		if v.Ordinal == ordinal || sc.next != nil && v.Ordinal == *sc.next {
			only = append(only, v)
		}
	}
	s.Volumes, s.Focused = only, true
	for _, at := range []*Side{&s.Source, &s.Destination} {
		at.Names = slices.DeleteFunc(slices.Clone(at.Names), func(n Name) bool { return n.Ordinal != ordinal })
	}
	return s
}

// pass does one step of a process and returns what it came to.
func (m *machine) pass(p *process, c conditions) Decision {
	stood := m.interleaved
	s, decision, settled := m.look(p, c)
	if !settled {
		return Decision{}
	}
	return m.conclude(p, c, s, decision, stood)
}

// look observes and decides: it looks closer until it has looked at all that its
// decision rests on.
func (m *machine) look(p *process, c conditions) (Snapshot, Decision, bool) {
	if !c.stale {
		m.reread(p)
	}
	shown := c.cached()
	var sc scope
	for range rounds {
		s := m.observe(p, shown, sc, c)
		decision := Plan(s)
		need := scopeOf(s, decision)
		if sc.covers(need) {
			return s, decision, true
		}
		sc = need
	}
	return Snapshot{}, Decision{}, false
}

func (m *machine) conclude(p *process, c conditions, s Snapshot, decision Decision, stood int) Decision {
	m.lawful(s, decision)
	c.between()
	switch {
	case decision.Record != nil:
		m.save(p, c.fate, *decision.Record)
	case decision.Effect != nil && !c.underway && !m.confirms(p, *decision.Effect):
		m.note("%s is refused: %s", p.holder, decision.Effect)
	case decision.Effect != nil:
		if decision.Effect.Verb == ScaleDown && m.interleaved == stood {
			m.gated(*decision.Effect)
		}
		m.send(p, c.fate, *decision.Effect, s)
	case decision.Hold != nil:
		m.note("%s waits: %s", p.holder, decision.Hold.Message)
	}
	return decision
}

// confirms says whether the record that a fence is of is the newest.
func (m *machine) confirms(p *process, e Effect) bool {
	return e.Verb != WriteFence || p.version == m.version
}

// lawful checks a decision against what it was taken on.
func (m *machine) lawful(s Snapshot, decision Decision) {
	if decision.Effect != nil && (s.Source.Reach != Seen || s.Destination.Reach != Seen) {
		m.breaks("I6: %s although a side is unreachable", *decision.Effect)
	}
	m.prudent(s, decision)
	let := FenceOwner(s.Source.Set.Fence) != s.UID && FenceOwner(s.Destination.Set.Fence) != s.UID
	handsOver := decision.Effect != nil && decision.Effect.Verb == SetBudget && s.Record.Completed == api.ReasonMoved && !newPlanner(s).whole()
	if decision.Effect != nil && s.Record.Completed != "" && let && !handsOver {
		m.breaks("I9: %s after the migration has let go", *decision.Effect)
	}
	if r := decision.Record; r != nil && s.Spec.Mode == api.ModePause && s.Record.Claim != nil && r.Claim != nil && r.Claim.Direction != s.Record.Claim.Direction {
		m.breaks("I8: a pause turns the migration round")
	}
}

// gated is I5, judged at the moment of the write when nobody else has acted since
// the pass began.
func (m *machine) gated(e Effect) {
	s := m.state
	var others int32
	for _, at := range []Side{s.Source, s.Destination} {
		for ordinal := at.Set.Start; ordinal < at.Set.End(); ordinal++ {
			if pod, found := at.pod(ordinal); ordinal != e.Ordinal && (!found || !pod.Available(s.Now, at.Set.MinReady)) {
				others++
			}
		}
	}
	if others+1 > s.Record.Baseline.Budget && !goesBackDown(s, e) {
		m.breaks("I5: %s while %d other replicas are unavailable, of %d", e, others, s.Record.Baseline.Budget)
	}
}

// save writes the record, over the version that was read.
func (m *machine) save(p *process, f fate, record Record) {
	arrives := f == lands || f == unanswered || f == crashAfter
	if arrives && p.version == m.version {
		m.version++
		if record.Completed != "" && m.state.Record.Completed == "" {
			m.completed(record.Completed)
		}
		before := m.state.Record.Claim
		given := givenNow(m.state)
		m.state.Record = record
		m.state.Record.Given = given
		m.interleaved++
		m.note("%s records %s", p.holder, recorded(record))
		m.remember()
		if f == lands {
			m.reread(p)
			p.engaged = record.Claim != nil && record.Claim.Holder == p.holder && (p.engaged || record.Claim != before)
		}
	} else {
		m.note("%s could not record %s", p.holder, recorded(record))
	}
	m.outcome(p, f)
}

// completed checks that no ordinal is left down. One that is let go while it comes up
// has been started at least.
func (m *machine) completed(reason string) {
	for ordinal := range m.held {
		started := m.state.Source.Set.Has(ordinal) || m.state.Destination.Set.Has(ordinal)
		if reason != api.ReasonReleased || !started {
			m.breaks("I8: completed (%s) although ordinal %d has not come up yet", reason, ordinal)
		}
	}
}

// outcome is what a process makes of the answer to a write, or of its absence.
func (m *machine) outcome(p *process, f fate) {
	switch {
	case f >= crashAfter:
		m.restart(p)
	case f != lands:
		p.engaged = false
	}
}

func recorded(r Record) string {
	text := ""
	if r.Claim != nil {
		text += fmt.Sprintf("epoch %d %s %s", r.Claim.Epoch, r.Claim.Holder, r.Claim.Direction)
	}
	if r.Handoff != nil {
		text += fmt.Sprintf(", handoff of %d", r.Handoff.Ordinal)
	}
	if r.Completed != "" {
		text += ", completed " + r.Completed
	}
	return text
}

// send writes one effect.
func (m *machine) send(p *process, f fate, e Effect, judged Snapshot) {
	switch f {
	case lands, unanswered, crashAfter:
		err := m.land(e, false)
		m.note("%s: %s: %v", p.holder, e, err)
	case stalls, delayed:
		m.late = append(m.late, lateWrite{e, judged})
		m.note("%s stalls: %s", p.holder, e)
	default:
		m.note("%s fails: %s", p.holder, e)
	}
	m.outcome(p, f)
}

// land lets a write arrive.
func (m *machine) land(e Effect, late bool) error {
	if m.astray[e.Side] && !late {
		m.breaks("I9: %s in another cluster", e)
	}
	if m.cut[e.Side] || m.astray[e.Side] {
		return errNoAnswer
	}
	before := m.snapshot()
	if err := m.apply(e); err != nil {
		return err
	}
	m.landed++
	m.interleaved++
	m.wrote(e, before, late)
	m.remember()
	return nil
}
