package auditor

import (
	"maps"
	"slices"

	"github.com/sliceshift/sliceshift/e2e/auditor/judge"
)

// seen is the last state that the watches of one side delivered. A state in it was true at some time before now. A
// live read that finds it unchanged proves that it is still true, so it serves as the first phase of a sample. Two
// sides of one cluster share the source's volumes and attachments.
type seen struct {
	pods        map[int32]judge.PodState
	budgets     map[string]judge.DisruptionBudget
	claims      map[string]judge.ClaimState
	volumes     map[string]judge.VolumeState
	attachments map[string]judge.Attachment
}

func newSeen() seen {
	return seen{
		pods:        map[int32]judge.PodState{},
		budgets:     map[string]judge.DisruptionBudget{},
		claims:      map[string]judge.ClaimState{},
		volumes:     map[string]judge.VolumeState{},
		attachments: map[string]judge.Attachment{},
	}
}

// keep stores the latest state of an object, or removes a deleted object.
func keep[K comparable, V any](in map[K]V, key K, state V, exists bool) {
	if exists {
		in[key] = state
	} else {
		delete(in, key)
	}
}

// agenda lists the objects that a replica sample reads live. Reading one object by name takes a millisecond. A list
// takes up to a tenth of a second, because the API server waits until its cache has caught up; a handoff is not
// longer.
type agenda struct {
	// ordinals whose pods are read: all that may be down, or on both sides.
	ordinals []int32
	budgets  [2][]string
}

// snapshot returns the objects that the next replica sample must read, and their state as the watches saw it.
func (s *state) snapshot(ordinals []int32) (agenda, [2]judge.ReplicaSide) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := agenda{ordinals: s.suspects(ordinals)}
	var first [2]judge.ReplicaSide
	for _, i := range judge.BothSides() {
		what.budgets[i] = slices.Sorted(maps.Keys(s.seen[i].budgets))
		side := judge.ReplicaSide{Set: s.served.Ranges[i], Asked: what.ordinals}
		for _, ordinal := range what.ordinals {
			if p, ok := s.seen[i].pods[ordinal]; ok {
				side.Pods = append(side.Pods, p)
			}
		}
		for _, name := range what.budgets[i] {
			side.Budgets = append(side.Budgets, s.seen[i].budgets[name])
		}
		for _, ordinal := range slices.Sorted(maps.Keys(s.seen[i].pods)) {
			side.Seen = append(side.Seen, s.seen[i].pods[ordinal])
		}
		first[i] = side
	}
	return what, first
}

// suspects returns the ordinals that may be down or on both sides.
func (s *state) suspects(ordinals []int32) []int32 {
	var found []int32
	for _, ordinal := range ordinals {
		on := s.served.On[ordinal]
		if on == judge.Nowhere || !s.seen[on].pods[ordinal].Available() {
			found = append(found, ordinal)
		}
	}
	for ordinal := range s.seen[judge.Source].pods {
		if s.seen[judge.Destination].pods[ordinal].Exists() {
			found = append(found, ordinal)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// storageOf returns what the watches saw of some volumes of the set.
func (s *state) storageOf(sides [2]*side, keys []judge.VolumeKey) [2]judge.VolumeSide {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first [2]judge.VolumeSide
	for _, i := range judge.BothSides() {
		first[i].Namespace = sides[i].Namespace
		for _, key := range keys {
			claim, ok := s.seen[i].claims[key.ClaimName(sides[i].Set)]
			if !ok {
				continue
			}
			first[i].Claims = append(first[i].Claims, claim)
			if pv, ok := s.seen[sides[i].store].volumes[claim.VolumeName]; ok {
				first[i].Volumes = append(first[i].Volumes, pv)
			}
		}
	}
	return first
}

// attachmentsOf returns the names of the attachments of all volumes with that handle.
func (s *state) attachmentsOf(store judge.SideIndex, handle string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.seen[store].attachments)) {
		volume := s.seen[store].attachments[name].Volume
		if handle != "" && s.seen[store].volumes[volume].Handle == handle {
			names = append(names, name)
		}
	}
	return names
}
