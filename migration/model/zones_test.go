package model

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// waitsForPod reports whether the new volumes of copies of a claim are created where a pod mounts them. Each is
// then in its own zone, unless that pod must be able to reach others.
func (m *machine) waitsForPod(i int) bool {
	c := m.State.Volumes[i].Copy
	return c != nil && c.WaitsForPod
}

// makes reports whether a pod causes the volume of its claim to be created.
func makes(role volumes.Role) bool {
	return role == volumes.RoleReceiver || role == volumes.RolePlaceholder
}

// nearOf returns the volumes that must be reachable for a pod that causes another one to be created.
func nearOf(e plan.Effect) []string {
	if c := e.Carriage.Pair.Copy; c != nil && makes(e.Volume.Copy.Role) {
		return slices.Clone(c.Beside.Taken)
	}
	return nil
}

// place chooses the zone of the new volume of a claim, and reports whether there is a pod for which it is
// created.
func (m *machine) place(i int, claim *moverClaim, handle string) bool {
	at := slices.IndexFunc(m.yards[i].movers, func(pod mover) bool {
		return makes(pod.role) && pod.side == claim.side && pod.claim == claim.name && !pod.Terminating && !pod.Ended
	})
	if at < 0 {
		return false
	}
	near := m.yards[i].movers[at].near
	zone, one := m.zoneOf(i, claim.side, near)
	if !one {
		return false
	}
	if len(near) == 0 {
		m.zones++
		zone = m.zones
	}
	m.yards[i].zones[handle] = zone
	return true
}

// zoneOf returns the zone of volumes of an ordinal on a side, and whether it is a single one; deleted volumes
// have none.
func (m *machine) zoneOf(i int, side plan.SideName, names []string) (zone int, one bool) {
	var found []int
	for j := range m.yards {
		if m.State.Volumes[j].Ordinal != m.State.Volumes[i].Ordinal {
			continue
		}
		for _, name := range names {
			if volume := m.volume(j, side, name); volume.Found {
				found = append(found, m.yards[j].zones[volume.Handle])
			}
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); len(found) == 0 {
		return 0, true
	}
	return found[0], len(found) == 1
}

// withinReach returns the fault if no node can reach all volumes of an ordinal on a side: its pod never starts.
func (m *machine) withinReach() string {
	for i := range m.yards {
		for _, side := range plan.SideNames {
			var names []string
			for _, v := range m.State.Volumes {
				if h := v.Holding(side); v.Ordinal == m.State.Volumes[i].Ordinal && usable(*h) {
					names = append(names, h.Volume.Name)
				}
			}
			if _, one := m.zoneOf(i, side, names); !one {
				return fmt.Sprintf("no node of the %s reaches the volumes %v of ordinal %d", side, names, m.State.Volumes[i].Ordinal)
			}
		}
	}
	return ""
}
