package model

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/volumes"
)

// limited says whether copies may take only so long while their ordinals are down.
func (m *machine) limited() bool {
	return slices.ContainsFunc(m.State.Volumes, func(v plan.OrdinalVolume) bool { return v.Copy != nil && v.Copy.Asked.Limit > 0 })
}

// tryCopyAsked lets a copy take longer than it may, or a person want something else of copies.
func (m *machine) tryCopyAsked(d deed) bool {
	switch d {
	case overruns:
		return m.overrun()
	case eases:
		return m.ease()
	default:
		return m.spare()
	}
}

// overrun lets the copy of the ordinal that is down take longer than it may: it is in the status since when it is made.
func (m *machine) overrun() bool {
	was := m.State.Record.Handoff
	if !m.limited() || was == nil || was.Step == api.StepCarryVolumes || m.State.Source.Set.Has(was.Ordinal) || m.State.Destination.Set.Has(was.Ordinal) {
		return false
	}
	now, limit := *was, m.State.Volumes[0].Copy.Asked.Limit
	now.Step, now.StepTime = api.StepCarryVolumes, metav1.NewMicroTime(m.State.Now.Add(-2*limit))
	m.State.Record.Handoff = &now
	m.version++
	m.note("the copy of ordinal %d takes longer than it may", now.Ordinal)
	return true
}

// ease is a person who gives copies all the time that they take.
func (m *machine) ease() bool {
	if !m.limited() {
		return false
	}
	m.ask(func(asked *volumes.CopyAsked) { asked.Limit = 0 })
	m.note("copies may take as long as they do")
	return true
}

// spare is a person who has nothing copied any more before it is its turn.
func (m *machine) spare() bool {
	if m.State.Spec.Prefetch == 0 {
		return false
	}
	m.State.Spec.Prefetch = 0
	m.ask(func(asked *volumes.CopyAsked) { asked.Prefetch = 0 })
	m.note("nothing is to be copied ahead any more")
	return true
}

// ask changes what a person wants of all copies.
func (m *machine) ask(change func(*volumes.CopyAsked)) {
	for i := range m.State.Volumes {
		if v := &m.State.Volumes[i]; v.Copy != nil {
			now := *v.Copy
			change(&now.Asked)
			v.Copy = &now
		}
	}
}
