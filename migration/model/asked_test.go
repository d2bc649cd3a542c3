package model

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// limited reports whether copies have a time limit while their ordinals are down.
func (m *machine) limited() bool {
	return slices.ContainsFunc(m.State.Volumes, func(v plan.OrdinalVolume) bool { return v.Copy != nil && v.Copy.Asked.Limit > 0 })
}

// tryCopyAsked makes a copy exceed its limit, or changes what the user requests of copies.
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

// overrun makes the copy of the ordinal that is down exceed its limit. The status records since when the copy
// runs.
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

// ease removes the time limit of copies, as a user does.
func (m *machine) ease() bool {
	if !m.limited() {
		return false
	}
	m.ask(func(asked *volumes.CopyAsked) { asked.Limit = 0 })
	m.note("copies may take as long as they do")
	return true
}

// spare stops copies ahead of their turns, as a user does.
func (m *machine) spare() bool {
	if m.State.Spec.Prefetch == 0 {
		return false
	}
	m.State.Spec.Prefetch = 0
	m.ask(func(asked *volumes.CopyAsked) { asked.Prefetch = 0 })
	m.note("nothing is to be copied ahead any more")
	return true
}

// ask changes the user's request for all copies.
func (m *machine) ask(change func(*volumes.CopyAsked)) {
	for i := range m.State.Volumes {
		if v := &m.State.Volumes[i]; v.Copy != nil {
			now := *v.Copy
			change(&now.Asked)
			v.Copy = &now
		}
	}
}
