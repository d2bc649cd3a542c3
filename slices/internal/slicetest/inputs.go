// Package slicetest holds helpers that the tests of several packages below slices share: inputs of decisions, API objects,
// and an event recorder.
package slicetest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	"github.com/sliceshift/sliceshift/slices/decide"
)

// Noon is the current time in these tests.
var Noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Slice returns the input of a slice of n ordinals with the defaults of the API, during a roll-out from revision a to
// revision b.
func Slice(n int32, pods string, changes ...func(*decide.Input)) decide.Input {
	in := decide.Input{
		Now: Noon,
		Spec: decide.Spec{
			Replicas: n, Strategy: api.RollingUpdate, MaxUnavailable: 1, Policy: api.ReCreate, OnFailure: api.Halt,
		},
		Revisions: decide.Revisions{Current: "a", Update: "b"},
	}
	for _, change := range changes {
		change(&in)
	}
	in.Pods = PodsOf(in.Spec.Start, pods)
	return in
}

// PodsOf parses pods, one word for each ordinal from the first on; "7:" continues at
// ordinal 7. A word is a revision and signs:
//
//	.  no pod           -  not Ready         t  Terminating
//	!  Failed           $  Succeeded         ?  Pending
//	*  asked to go      i  patched in place  1..9  Ready for that many seconds only
func PodsOf(ordinal int32, text string) []decide.Pod {
	var pods []decide.Pod
	for word := range strings.FieldsSeq(text) {
		if to, jump := strings.CutSuffix(word, ":"); jump {
			n, err := strconv.ParseInt(to, 10, 32)
			if err != nil {
				panic(err)
			}
			ordinal = int32(n)
			continue
		}
		if word != "." {
			pods = append(pods, podOf(ordinal, word))
		}
		ordinal++
	}
	return pods
}

func podOf(ordinal int32, word string) decide.Pod {
	pod := decide.Pod{
		Ordinal: ordinal, UID: types.UID(fmt.Sprintf("uid-%d", ordinal)), Revision: word[:1], Phase: decide.Running,
		Ready: true, ReadySince: Noon.Add(-time.Hour), IdentityOK: true, ClaimsOK: true,
	}
	pod.Change.Same = pod.Revision == "b"
	for _, sign := range word[1:] {
		switch sign {
		case '-':
			pod.Ready = false
		case 't':
			pod.Terminating = true
		case '!':
			pod.Phase, pod.Ready = decide.Failed, false
		case '$':
			pod.Phase, pod.Ready = decide.Succeeded, false
		case '?':
			pod.Phase, pod.Ready = decide.Pending, false
		case '*':
			pod.AskedToGo = true
		case 'i':
			pod.Ready, pod.InPlace = false, &decide.InPlace{Revision: pod.Revision, Since: Noon, Patched: true}
		default:
			pod.ReadySince = Noon.Add(-time.Duration(sign-'0') * time.Second)
		}
	}
	return pod
}

// Paused stops the update.
func Paused(in *decide.Input) { in.Spec.Paused = true }

// SettledAt sets both revisions to the same one, so that there is no update.
func SettledAt(revision string) func(*decide.Input) {
	return func(in *decide.Input) { in.Revisions = decide.Revisions{Current: revision, Update: revision} }
}

// Partition keeps the ordinals below it at the current revision.
func Partition(p int32) func(*decide.Input) { return func(in *decide.Input) { in.Spec.Partition = p } }

// Surge sets maxSurge.
func Surge(n int32) func(*decide.Input) { return func(in *decide.Input) { in.Spec.MaxSurge = n } }

// MinReady sets minReadySeconds.
func MinReady(s int) func(*decide.Input) {
	return func(in *decide.Input) { in.Spec.MinReady = time.Duration(s) * time.Second }
}

// By sets the update strategy.
func By(s api.UpdateStrategyType) func(*decide.Input) {
	return func(in *decide.Input) { in.Spec.Strategy = s }
}

// Short returns a short text of the actions, without announcements that are followed by a deletion.
func Short(d decide.Decision) string {
	deleted := map[int32]bool{}
	for _, a := range d.Actions {
		deleted[a.Ordinal] = deleted[a.Ordinal] || a.Verb == decide.Delete || a.Verb == decide.Evict
	}
	var words []string
	for _, a := range d.Actions {
		switch {
		case a.Verb == decide.Announce && deleted[a.Ordinal]:
		case a.Verb == decide.Announce:
			words = append(words, fmt.Sprintf("Announce %d %s", a.Ordinal, a.Reason))
		case a.Verb == decide.Create:
			words = append(words, fmt.Sprintf("Create %d%s", a.Ordinal, a.Revision))
		default:
			words = append(words, fmt.Sprintf("%s %d", a.Verb, a.Ordinal))
		}
	}
	return strings.Join(words, ", ")
}

// HeldAs returns the reason for which an ordinal is held, or an empty string.
func HeldAs(d decide.Decision, ordinal int32) string {
	var reasons []string
	for _, hold := range d.Held {
		if hold.Ordinal == ordinal {
			reasons = append(reasons, hold.Reason)
		}
	}
	return strings.Join(reasons, ",")
}
