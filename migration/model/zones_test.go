package model

import (
	"fmt"
	"slices"

	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// waitsForPod says whether the new volumes of copies of a claim are made where a pod mounts them: each in a zone of its own,
// unless that pod must be within the reach of others.
func (m *machine) waitsForPod(i int) bool {
	c := m.State.Volumes[i].Copy
	return c != nil && c.WaitsForPod
}

// makes says whether a pod has the volume of its claim made.
func makes(role volumes.Role) bool {
	return role == volumes.RoleReceiver || role == volumes.RolePlaceholder
}

// nearOf are the volumes within whose reach a pod must run that has another one made.
func nearOf(e plan.Effect) []string {
	if c := e.Carriage.Pair.Copy; c != nil && makes(e.Volume.Copy.Role) {
		return slices.Clone(c.Beside.Taken)
	}
	return nil
}

// place chooses where the new volume of a claim is made, and says whether there is a pod that it is made for.
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

// zoneOf is the zone of volumes of an ordinal on a side, and whether it is one; those that are gone are nowhere.
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

// withinReach says what is wrong where the volumes that an ordinal has on a side are within the reach of no node: its pod
// never starts.
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
