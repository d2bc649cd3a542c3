package duel

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// moment is what an explanation is told.
type moment struct {
	wish *wish
	// refused says whether writes are refused.
	refused bool
	// settled says whether the sides had come to an end when the step was made.
	settled bool
	// before are the states when the step was made, native and ours those after it.
	before       [2]state
	native, ours state
	// events are what has happened in this step.
	nativeEvents, ourEvents []event
	found                   []difference
}

// explanation is a difference on purpose.
type explanation struct {
	// id is what the table in docs/slices.md, Beside the native controller, calls it.
	id string
	// explains says whether it is what a difference comes from.
	explains func(m *moment, d difference) bool
}

// Explanations that no comparison of an end uses: see remedy.
const (
	explainedBroken  = "broken pods are replaced"
	explainedBackoff = "pods that end again come later"
	explainedLeaving = "pods that leave do not wait for one that is broken"
)

// explanationIDs are those of all explanations.
func explanationIDs() []string {
	ids := []string{explainedBroken, explainedBackoff, explainedLeaving}
	for _, one := range explanations {
		ids = append(ids, one.id)
	}
	return ids
}

// explain finds for all differences where they come from; unexplained are those without one.
// What the status counts, which revisions are needed, and that a pod that was made anew has got a
// claim that had been removed, follows from the pods.
func explain(m *moment) (used map[string]bool, unexplained []difference) {
	used = map[string]bool{}
	var follow []difference
	carried := false
	for _, d := range m.found {
		at := slices.IndexFunc(explanations, func(e explanation) bool { return e.explains(m, d) })
		switch {
		case m.carried(d):
			carried = true
		case at >= 0:
			used[explanations[at].id] = true
		case strings.HasPrefix(d.about, "status.") || d.about == "revisions" || m.madeAnew(d):
			follow = append(follow, d)
		default:
			unexplained = append(unexplained, d)
		}
	}
	if len(used) == 0 && !carried {
		unexplained = append(unexplained, follow...)
	}
	return used, unexplained
}

// carried says whether a difference is what a former step has left, which was explained then: both
// sides have what they had, or the pod has its revision, and all else is the same on both.
func (m *moment) carried(d difference) bool {
	if !m.settled || strings.HasPrefix(d.about, "status.") || d.about == "revisions" || !m.differed(d) {
		return false
	}
	native, ours := orNone(m.before[0].lines[d.about]), orNone(m.before[1].lines[d.about])
	if native == d.native && ours == d.ours {
		return true
	}
	nativeRevision, theirs, _ := strings.Cut(d.native, ", ")
	ourRevision, mine, pod := strings.Cut(d.ours, ", ")
	return pod && theirs == mine && strings.HasPrefix(native, nativeRevision+", ") && strings.HasPrefix(ours, ourRevision+", ")
}

// aboutOrdinal is the ordinal whose pod or claim a difference is about.
func (m *moment) aboutOrdinal(d difference) (ordinal int32, pod, is bool) {
	name, pod := strings.CutPrefix(d.about, "pod ")
	if !pod {
		claim, about := strings.CutPrefix(d.about, "claim ")
		if !about {
			return 0, false, false
		}
		_, name, _ = strings.Cut(claim, "-")
	}
	ordinal, is = ordinalOf(m.wish.name, name)
	return ordinal, pod, is
}

// nativeWaits says whether in OrderedReady the native side does nothing to an ordinal's pod: it,
// or one that comes before it, is not available, or cannot be made because its name is taken. Those
// that the set owns come before all others.
func (m *moment) nativeWaits(ordinal int32) bool {
	first, count := m.wish.Ordinals.Start, *m.wish.Replicas
	down := func(at int32) bool {
		pod, has := m.native.pods[at]
		return m.wish.owns(at) && (!has || metav1.GetControllerOf(pod.pod) == nil) || has && (!pod.ready || pod.terminating)
	}
	for at := range int32(maxOrdinal) {
		owned := at >= first && at < first+count
		before := owned && (at <= ordinal || !m.wish.owns(ordinal)) || !owned && !m.wish.owns(ordinal) && at < ordinal
		if before && down(at) {
			return !m.wish.parallel()
		}
	}
	return false
}

// roundsUp says whether a percentage is another number on both sides.
func (m *moment) roundsUp() bool {
	return m.wish.mostUnavailable(true) != m.wish.mostUnavailable(false)
}

// goesOn says whether ours has gone on with an ordinal's pod, while the native side has left it
// as it was.
func (m *moment) goesOn(d difference) (ordinal int32, does bool) {
	ordinal, pod, is := m.aboutOrdinal(d)
	return ordinal, is && pod && m.ahead(ordinal)
}

// ahead says so of an ordinal.
func (m *moment) ahead(ordinal int32) bool {
	theirs, has := m.native.pods[ordinal]
	mine, exists := m.ours.pods[ordinal]
	return has && (!exists || mine.terminating && !theirs.terminating || mine.updated && !theirs.updated)
}

// madeAnew says whether a claim is there only because ours has made the ordinal's pod anew.
func (m *moment) madeAnew(d difference) bool {
	ordinal, pod, is := m.aboutOrdinal(d)
	return is && !pod && d.native == none && m.ahead(ordinal)
}
