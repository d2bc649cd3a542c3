package duel

// moment is what an explanation is told.
type moment struct {
	wish         *wish
	step         Step
	native, ours state
	// events are what has happened in this step.
	nativeEvents, ourEvents []event
	found                   []difference
}

// explanation is a difference on purpose.
type explanation struct {
	id string
	// documented is where it is told of.
	documented string
	// explains says whether it is what a difference comes from.
	explains func(m *moment, d difference) bool
}

var explanations = []explanation{}

// explain finds for all differences where they come from; unexplained are those without one.
func explain(m *moment) (used map[string]bool, unexplained []difference) {
	used = map[string]bool{}
	for _, d := range m.found {
		known := false
		for _, one := range explanations {
			if one.explains(m, d) {
				used[one.id], known = true, true
				break
			}
		}
		if !known {
			unexplained = append(unexplained, d)
		}
	}
	return used, unexplained
}
