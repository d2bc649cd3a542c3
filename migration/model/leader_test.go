package model

import (
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/migration/planner"
)

// tryLeader lets a process run a pass, or a part of one.
func (w *model) tryLeader(m move) bool {
	l := &w.leaders[m.a]
	switch m.deed {
	case hears:
		w.reread(&l.process)
		w.note("%s reads the Migration", l.Holder)
		return true
	case slow:
		step := w.look(&l.process, w.conditions(l, lands))
		if step = w.confirm(&l.process, step); step.Do != planner.Write && step.Do != planner.SaveRecord {
			return false
		}
		w.lawful(step.Snapshot, step.Decision)
		l.sent = &step
		w.note("%s sends, slowly: %s", l.Holder, told(step.Decision))
		return true
	case slowRead:
		early := w.Snapshot()
		l.early, l.until = &early, reading(m.b)
		w.note("%s begins to read, slowly, up to the %s", l.Holder, readings[m.b])
		return true
	case faulty:
		return w.doPass(l, fate(m.b))
	default:
		if l.sent != nil {
			return w.answered(l)
		}
		return w.doPass(l, lands)
	}
}

// conditions returns the conditions of a pass of a process now.
func (w *model) conditions(l *leader, f fate) conditions {
	c := conditions{stale: true, cached: w.cached, between: func() {}, fate: f}
	if l.early != nil {
		early, until := l.early, l.until
		c.live = func(of reading) plan.Snapshot {
			if of <= until {
				return *early
			}
			return w.State
		}
	}
	return c
}

// doPass runs one pass, and reports whether it had any effect.
func (w *model) doPass(l *leader, f fate) bool {
	step := w.look(&l.process, w.conditions(l, f))
	decision := step.Decision
	read := l.early != nil || len(w.astray) > 0 || w.lost(l)
	l.early = nil
	if decision.Effect == nil && decision.Record == nil {
		if decision.Hold != nil && decision.Hold.Reason == api.ReasonSuperseded {
			l.active = false
			w.note("%s stops: %s", l.Holder, decision.Hold.Message)
			return true
		}
		return w.doEarly(l, f, step) || read
	}
	if f == delayed && decision.Record != nil {
		return false // if late, it is refused or has arrived
	}
	stood := w.interleaved
	if read || w.stands != nil {
		stood = -1 // the inputs of the gate may have changed since they were read
	}
	landed, fresh := w.landed, l.version == w.version
	w.conclude(&l.process, w.conditions(l, f), step, stood)
	if w.landed > landed && !fresh {
		w.afterTheEnd(*decision.Effect)
	}
	return true
}

// doEarly continues the copy of an ordinal ahead of its turn, and reports whether that had any effect.
func (w *model) doEarly(l *leader, f fate, step planner.Step) bool {
	if step.Decision.Hold == nil || step.Do != planner.Report {
		return false
	}
	landed, fresh := w.landed, l.version == w.version
	decision := w.early(&l.process, w.conditions(l, f), step.Snapshot)
	if w.landed > landed && !fresh {
		w.afterTheEnd(*decision.Effect)
	}
	return decision.Effect != nil || decision.Record != nil
}

// lost reports whether a process takes a side for another cluster.
func (w *model) lost(l *leader) bool {
	return l.ids[plan.SourceSide] != w.begin.Source.ClusterID || l.ids[plan.DestinationSide] != w.begin.Destination.ClusterID
}

// answered delivers the write that is in flight, and its answer.
func (w *model) answered(l *leader) bool {
	now := *l.sent
	l.sent = nil
	if e := now.Decision.Effect; e != nil && (w.cut[e.Side] || w.astray[e.Side]) {
		w.answer(&l.process, unanswered, now, planner.NoAnswer)
		w.note("%s has no answer: %s", l.Holder, e)
		return true
	}
	landed, fresh := w.landed, l.version == w.version
	w.conclude(&l.process, conditions{between: func() {}, fate: lands}, now, -1)
	if w.landed > landed && !fresh {
		w.afterTheEnd(*now.Decision.Effect)
	}
	return true
}

// takeOver makes a second process believe that it leads. The first one does not know that.
func (w *model) takeOver() bool {
	for i := range w.leaders {
		if l := &w.leaders[i]; !l.active {
			*l = leader{process: *w.newProcess(), active: true}
			w.note("%s takes over", l.Holder)
			return true
		}
	}
	return false
}

func told(decision plan.Decision) string {
	if decision.Record != nil {
		return recorded(*decision.Record)
	}
	return decision.Effect.String()
}
