package model

import (
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// prove ends a mover that has read its volume whole, alone, or could not.
func (m *machine) prove(i int, side plan.SideName, well bool) bool {
	y := &m.yards[i]
	for at := range y.movers {
		pod := &y.movers[at]
		switch {
		case pod.role != volumes.RoleProver || pod.side != side || pod.mounted == "" || pod.Ended:
			continue
		case !well:
			m.endMover(pod, volumes.MoverResult{Message: "input/output error"})
		default:
			y.proved[pod.mounted] = y.content[pod.mounted]
			m.endMover(pod, volumes.MoverResult{Done: true, Alone: true, Root: rootOf(y.content[pod.mounted])})
		}
		return true
	}
	return false
}

// unproven returns a claim whose ordinal runs at the destination on a copy that is to be proven after the start, and
// whose former disk nobody has read since; empty if there is none.
func (m *machine) unproven() string {
	for i, v := range m.State.Volumes {
		if m.yards == nil || m.yards[i].later == "" || v.Destination.Volume.Seal != m.yards[i].later || !v.Source.Volume.Found {
			continue
		}
		if content, read := m.yards[i].proved[v.Source.Volume.Handle]; !read || rootOf(content) != v.Destination.Volume.Seal {
			return v.Source.Ref.Name
		}
	}
	return ""
}
