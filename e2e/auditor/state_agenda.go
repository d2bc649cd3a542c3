package auditor

import (
	"maps"
	"slices"
)

// agenda is what a replica sample reads live. Reading one object by its name takes
// a millisecond; a list takes up to a tenth of a second, because the API server
// waits until its cache has caught up, and a handoff takes no longer than that.
type agenda struct {
	// ordinals whose pods are read: all that may be down, or on both sides.
	ordinals []int32
	budgets  [2][]string
	// pods are the watches' view of all pods.
	pods [2][]podState
}

// agenda says what the next sample has to look at, going by the watches.
func (s *state) agenda(ordinals []int32) agenda {
	s.mu.Lock()
	defer s.mu.Unlock()
	var a agenda
	for _, ordinal := range ordinals {
		on := s.served.on[ordinal]
		if on == nowhere || !s.seen[on].pods[ordinal].available() {
			a.ordinals = append(a.ordinals, ordinal)
		}
	}
	for ordinal := range s.seen[source].pods {
		if s.seen[destination].pods[ordinal].exists() {
			a.ordinals = append(a.ordinals, ordinal)
		}
	}
	slices.Sort(a.ordinals)
	a.ordinals = slices.Compact(a.ordinals)
	for _, side := range bothSides() {
		a.budgets[side] = slices.Sorted(maps.Keys(s.seen[side].budgets))
		for _, ordinal := range slices.Sorted(maps.Keys(s.seen[side].pods)) {
			a.pods[side] = append(a.pods[side], s.seen[side].pods[ordinal])
		}
	}
	return a
}

// setPod keeps what the watch saw of a pod.
func (s *state) setPod(side sideIndex, pod podState, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists {
		s.seen[side].pods[pod.Ordinal] = pod
	} else {
		delete(s.seen[side].pods, pod.Ordinal)
	}
}

// setBudget keeps the names of the budgets.
func (s *state) setBudget(side sideIndex, name string, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists {
		s.seen[side].budgets[name] = true
	} else {
		delete(s.seen[side].budgets, name)
	}
}

// setVolume keeps the handle of a volume.
func (s *state) setVolume(store sideIndex, name, handle string, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists {
		s.seen[store].volumes[name] = handle
	} else {
		delete(s.seen[store].volumes, name)
	}
}

// setAttachment keeps the volume of an attachment.
func (s *state) setAttachment(store sideIndex, name, volume string, exists bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if exists {
		s.seen[store].attachments[name] = volume
	} else {
		delete(s.seen[store].attachments, name)
	}
}

// attachmentsOf names the attachments of all volumes with that handle.
func (s *state) attachmentsOf(store sideIndex, handle string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.seen[store].attachments)) {
		if handle != "" && s.seen[store].volumes[s.seen[store].attachments[name]] == handle {
			names = append(names, name)
		}
	}
	return names
}
