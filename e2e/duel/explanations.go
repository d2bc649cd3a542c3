package duel

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/sliceshift/sliceshift/e2e/versions"
)

// explanations are all intended differences that a script may meet, and the versions of Kubernetes whose controller has
// them. Each is as narrow as possible: a difference that none explains fails the script.
var explanations = []explanation{
	{
		id: "percentages round up",
		explains: func(m *moment, d difference) bool {
			ordinal, does := m.goesOn(d)
			return m.roundsUp() && (d.about == orderOf || does && m.wish.inScope(ordinal))
		},
	},
	{
		id: "a batch takes what the budget has",
		explains: func(m *moment, d difference) bool {
			ordinal, does := m.goesOn(d)
			return does && m.wish.inScope(ordinal) && !m.wish.parallel() && m.wish.mostUnavailable(true) > 1 && (m.terminates() || m.unready() || m.refused && m.lacks())
		},
	},
	{
		id: "ended pods wait for no other",
		explains: func(m *moment, d difference) bool {
			ordinal, pod, is := m.aboutOrdinal(d)
			return is && pod && m.native.pods[ordinal].ended && !m.ours.pods[ordinal].ended && m.nativeWaits(ordinal)
		},
	},
	{
		id: "repairs wait for no other pod",
		explains: func(m *moment, d difference) bool {
			ordinal, pod, is := m.aboutOrdinal(d)
			return is && (!pod || d.named()) && d.native != none && d.ours != none && (m.nativeWaits(ordinal) || m.native.pods[ordinal].ended)
		},
	},
	{
		id: "a refused write holds up no other pod",
		explains: func(m *moment, d difference) bool {
			ordinal, pod, is := m.aboutOrdinal(d)
			_, does := m.goesOn(d)
			makes := is && pod && (d.native == none || strings.Contains(d.native, string(corev1.PodSucceeded)) || strings.Contains(d.native, string(corev1.PodFailed)))
			claim := is && !pod && (d.native == none || d.ours == none && !m.wish.owns(ordinal))
			left := claim && m.differed(d) // claims are never removed again
			owned := is && !pod && withoutOwners(d.native) == withoutOwners(d.ours)
			if owned && m.wentBefore(ordinal) {
				return true // without a pod there is no reason to reconcile the claim
			}
			return left || (does || makes || claim || owned || is && d.named()) && m.wish.parallel() && (m.refused || m.nameTaken() || m.claimLeaves())
		},
	},
	{
		id: "pods that leave make room under a full quota",
		explains: func(m *moment, d difference) bool {
			ordinal, pod, is := m.aboutOrdinal(d)
			left := is && m.ahead(ordinal) && (pod || d.ours == none && m.wish.deletesClaims())
			return left && m.refused && !m.wish.owns(ordinal) && m.lacks()
		},
	},
	{
		id: "objects that are being deleted are not repaired",
		explains: func(_ *moment, d difference) bool {
			const owners = "terminating true owners "
			native, rest, theirs := strings.Cut(d.native, owners)
			ours, left, mine := strings.Cut(d.ours, owners)
			_, pod := strings.CutPrefix(d.about, "pod ")
			named := difference{native: left, ours: rest}.named()
			return theirs && mine && native == ours && (!pod || named)
		},
	},
	{
		id: "revisions stay while a pod names them",
		explains: func(_ *moment, d difference) bool {
			_, theirs, gone := strings.Cut(d.native, "of no revision runs ")
			_, mine, _ := strings.Cut(d.ours, " runs ")
			return strings.HasPrefix(d.about, "pod ") && gone && theirs == mine && strings.Contains(mine, "owners []")
		},
	},
	{
		id: "pods that lose Ready count in the budget",
		in: versions.ParallelReplacesUnready,
		explains: func(m *moment, d difference) bool {
			ordinal, pod, is := m.aboutOrdinal(d)
			return is && pod && m.wish.parallel() && m.wish.inScope(ordinal) && m.native.pods[ordinal].updated && !m.ours.pods[ordinal].updated && m.ours.overBudget(m.wish)
		},
	},
	{
		id: "OnDelete gets complete",
		in: versions.OnDeleteKeepsRevision,
		explains: func(m *moment, d difference) bool {
			const current = "status.currentRevision"
			st, want := m.ours.status, *m.wish.Replicas
			complete := st.Replicas == want && st.ReadyReplicas == want && st.UpdatedReplicas == want
			since := m.before[0].lines[current] != m.before[1].lines[current]
			return (d.about == current || d.about == "status.currentReplicas") && (m.wish.onDelete() && complete || since)
		},
	},
}

// named reports whether ours has restored the name label of a pod, and the native side has not.
func (d difference) named() bool {
	const lacks = `name "" index`
	return strings.Contains(d.native, lacks) && !strings.Contains(d.ours, lacks)
}

// withoutOwners returns the line of a claim without its owners.
func withoutOwners(line string) string {
	before, owners, _ := strings.Cut(line, " owners [")
	_, after, _ := strings.Cut(owners, "]")
	return before + after
}

// differed reports whether a line of the states differed already before the step.
func (m *moment) differed(d difference) bool {
	return m.before[0].lines[d.about] != m.before[1].lines[d.about]
}

// leavingStuck reports whether in OrderedReady the pods outside of the range block the native side. The highest of
// them, which is ordinal, has an old revision and is not Ready, and a lower one is not Ready either.
func (m *moment) leavingStuck() (ordinal int32, stuck bool) {
	var down []podState
	for at := range int32(maxOrdinal) {
		if pod, has := m.native.pods[at]; has && !m.wish.owns(at) {
			down, ordinal = append(down, pod), at
		}
	}
	if m.wish.parallel() || len(down) < 2 {
		return 0, false
	}
	first := down[len(down)-1]
	return ordinal, !first.ready && !first.updated && !first.terminating && slices.ContainsFunc(down[:len(down)-1], func(pod podState) bool { return !pod.ready })
}

// overBudget reports whether more of the owned pods are not Ready than the budget allows.
func (s state) overBudget(w *wish) bool {
	down := int(*w.Replicas)
	for ordinal, pod := range s.pods {
		if w.owns(ordinal) && pod.ready && !pod.terminating {
			down--
		}
	}
	return down > w.mostUnavailable(true)
}

// terminates reports whether an owned pod is terminating on the native side.
func (m *moment) terminates() bool {
	for ordinal, pod := range m.native.pods {
		if pod.terminating && m.wish.owns(ordinal) {
			return true
		}
	}
	return false
}

// unready reports whether an owned pod is not Ready on the native side.
func (m *moment) unready() bool {
	for ordinal, pod := range m.native.pods {
		if !pod.ready && m.wish.owns(ordinal) {
			return true
		}
	}
	return false
}

// claimLeaves reports whether on the native side the claim of a Pending pod is being deleted: the controller would
// recreate the claim, and cannot.
func (m *moment) claimLeaves() bool {
	for ordinal, pod := range m.native.pods {
		if pod.pod.Status.Phase != corev1.PodPending || !m.wish.owns(ordinal) {
			continue
		}
		for _, key := range sortedKeys(m.native.lines) {
			if claim, is := strings.CutPrefix(key, "claim "); is && strings.HasSuffix(claim, "-"+pod.pod.Name) && strings.Contains(m.native.lines[key], "terminating true") {
				return true
			}
		}
	}
	return false
}

// wentBefore reports whether, before this step, an ordinal outside of the range had a pod on the native side, and none
// on ours.
func (m *moment) wentBefore(ordinal int32) bool {
	_, theirs := m.before[0].pods[ordinal]
	_, mine := m.before[1].pods[ordinal]
	return theirs && !mine && !m.wish.owns(ordinal)
}

// lacks reports whether an owned pod is missing on the native side.
func (m *moment) lacks() bool {
	first := m.wish.Ordinals.Start
	for ordinal := first; ordinal < first+*m.wish.Replicas; ordinal++ {
		if _, has := m.native.pods[ordinal]; !has {
			return true
		}
	}
	return false
}

// nameTaken reports whether a pod that the set does not own has an ordinal's name.
func (m *moment) nameTaken() bool {
	return slices.ContainsFunc(sortedKeys(m.native.lines), func(key string) bool {
		return strings.HasPrefix(key, "pod ") && strings.Contains(m.native.lines[key], "owners []")
	})
}
