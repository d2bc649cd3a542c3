package duel

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sliceshift/sliceshift/e2e/versions"
)

// difference is one aspect in which the sides differ.
type difference struct {
	// about is the aspect: a line of the state, "events of <ordinal>" or "order of events".
	about, native, ours string
}

func (d difference) String() string {
	return fmt.Sprintf("%s\n    native %s\n    ours   %s", d.about, d.native, d.ours)
}

const (
	eventsOf = "events of "
	orderOf  = "order of events"
)

// compareStates returns the differences of two states.
func compareStates(native, ours state) []difference {
	var found []difference
	keys := slices.Collect(maps.Keys(native.lines))
	for key := range ours.lines {
		if _, both := native.lines[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		if native.lines[key] != ours.lines[key] {
			found = append(found, difference{key, orNone(native.lines[key]), orNone(ours.lines[key])})
		}
	}
	return found
}

// compareEvents returns the differences of the events. The order counts only where the set prescribes one.
func compareEvents(w *wish, native, ours []event) []difference {
	var found []difference
	native, ours = w.counted(native), w.counted(ours)
	a, b := chains(native), chains(ours)
	for ordinal := range int32(maxOrdinal) {
		if a[ordinal] != b[ordinal] {
			found = append(found, difference{fmt.Sprint(eventsOf, ordinal), orNone(a[ordinal]), orNone(b[ordinal])})
		}
	}
	if len(found) > 0 || w.parallel() {
		return found
	}
	deletions := w.mostUnavailable(true) == 1
	if x, y := ordered(native, deletions), ordered(ours, deletions); x != y {
		found = append(found, difference{orderOf, x, y})
	}
	return found
}

// counted omits the Ready events of pods outside of the range: such a pod may be deleted before it is Ready.
func (w *wish) counted(all []event) []event {
	return slices.DeleteFunc(slices.Clone(all), func(e event) bool { return e.what == ready && !w.owns(e.ordinal) })
}

// maxOrdinal is above all ordinals of scripts.
const maxOrdinal = 20

// none stands for a missing object.
const none = "none"

func orNone(text string) string {
	if text == "" {
		return none
	}
	return text
}

func inLines(found []difference) string {
	lines := make([]string, 0, len(found))
	for _, one := range found {
		lines = append(lines, "  "+one.String())
	}
	return strings.Join(lines, "\n")
}

// moment is the input of an explanation.
type moment struct {
	wish *wish
	// minor is the minor version of Kubernetes 1 whose controller is on the native side.
	minor uint
	// refused is true while writes are refused.
	refused bool
	// settled is true if the sides had settled when the step was made.
	settled bool
	// before are the states before the step, native and ours those after it.
	before       [2]state
	native, ours state
	// nativeEvents and ourEvents are the events of this step.
	nativeEvents, ourEvents []event
	found                   []difference
}

// explanation is an intended difference.
type explanation struct {
	// id is its name in the table of docs/slices.md, section "Beside the native controller".
	id string
	// in has the versions of Kubernetes whose controller differs.
	in versions.Span
	// explains reports whether the explanation is the cause of a difference.
	explains func(m *moment, d difference) bool
}

// Explanations that are not used in the comparison of ends: see remedy.
const (
	explainedBroken  = "broken pods are replaced"
	explainedBackoff = "pods that end again come later"
	explainedLeaving = "pods that leave do not wait for one that is broken"
)

// explanationIDs returns the ids of the explanations for a version of Kubernetes.
func explanationIDs(minor uint) []string {
	ids := []string{explainedBroken, explainedBackoff, explainedLeaving}
	for _, one := range explanations {
		if one.in.Has(minor) {
			ids = append(ids, one.id)
		}
	}
	return ids
}

// explain finds the explanations of all differences; unexplained are those without one. Three kinds of difference
// follow from the pods: status counts, needed revisions, and the claim of a recreated pod that had been deleted.
func explain(m *moment) (used map[string]bool, unexplained []difference) {
	used = map[string]bool{}
	var follow []difference
	carried := false
	for _, d := range m.found {
		at := slices.IndexFunc(explanations, func(e explanation) bool { return e.in.Has(m.minor) && e.explains(m, d) })
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

// carried reports whether a difference remains from an earlier step, which was explained then. Either both sides are
// unchanged, or the pods have their previous revisions and are otherwise equal on both sides.
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

// aboutOrdinal returns the ordinal whose pod or claim a difference is about.
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

// nativeWaits reports whether in OrderedReady the native side does nothing to an ordinal's pod. The reason is that
// this pod or an earlier pod is not available, or cannot be created because its name is taken. Owned pods come before
// all others.
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

// roundsUp reports whether a percentage results in different numbers on the two sides.
func (m *moment) roundsUp() bool {
	return m.wish.mostUnavailable(true) != m.wish.mostUnavailable(false)
}

// goesOn reports whether ours has continued with an ordinal's pod, while the native side has left it unchanged.
func (m *moment) goesOn(d difference) (ordinal int32, does bool) {
	ordinal, pod, is := m.aboutOrdinal(d)
	return ordinal, is && pod && m.ahead(ordinal)
}

// ahead reports that for an ordinal.
func (m *moment) ahead(ordinal int32) bool {
	theirs, has := m.native.pods[ordinal]
	mine, exists := m.ours.pods[ordinal]
	return has && (!exists || mine.terminating && !theirs.terminating || mine.updated && !theirs.updated)
}

// madeAnew reports whether a claim exists only because ours has recreated the ordinal's pod.
func (m *moment) madeAnew(d difference) bool {
	ordinal, pod, is := m.aboutOrdinal(d)
	return is && !pod && d.native == none && m.ahead(ordinal)
}
