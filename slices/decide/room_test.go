package decide

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// checkRoom checks D7: an available pod that the slice does not own is deleted before the owned ordinals have pods only
// where new pods are refused, and only if enough pods are available afterwards.
func checkRoom(t failer, in Input, d Decision) {
	t.Helper()
	if in.Spec.Strategy == api.Recreate || in.Spec.Deleting {
		return
	}
	missing, unavailable := 0, 0
	for _, ordinal := range in.Spec.Ordinals() {
		missing += int(one(podAt(in, ordinal) == nil))
		unavailable += int(one(!isServing(in, podAt(in, ordinal))))
	}
	owned := counted(in)
	var condemned, deleted []*Pod
	left := 0
	for i := range in.Pods {
		pod := &in.Pods[i]
		goes := slices.ContainsFunc(d.Actions, func(a Action) bool { return a.Verb == Delete && a.Ordinal == pod.Ordinal })
		if stays := slices.Contains(owned, pod.Ordinal); !stays && !pod.Terminating {
			if condemned = append(condemned, pod); goes {
				deleted = append(deleted, pod)
			}
		}
		left += int(one(isServing(in, pod) && !goes))
	}
	early := !in.Spec.Parallel && unavailable > 0 && len(deleted) > 0
	if in.Spec.Parallel {
		early = len(deleted) > max(0, len(condemned)-missing)
	}
	if !early || !slices.ContainsFunc(deleted, func(p *Pod) bool { return isServing(in, p) }) {
		return
	}
	refused := slices.ContainsFunc(in.Refused, func(r Refusal) bool { return r.Verb == Create && in.Spec.Owns(r.Ordinal) })
	if least := len(in.Spec.Ordinals()) - int(in.Spec.MostUnavailable()); !refused || left < least && everyServes(in, deleted) {
		t.Fatalf("D7: %d are available afterwards, of at least %d; refused %t: %s", left, least, refused, short(d))
	}
}

// everyServes reports whether all of these pods serve. Pods that do not serve may make room at any time.
func everyServes(in Input, pods []*Pod) bool {
	return !slices.ContainsFunc(pods, func(p *Pod) bool { return !isServing(in, p) })
}

// isServing is like serves, but includes a pod that serves while it is resized.
func isServing(in Input, pod *Pod) bool {
	if pod != nil && pod.InPlace != nil && pod.InPlace.Serves {
		still := *pod
		still.InPlace = nil
		pod = &still
	}
	return serves(in, pod)
}

// TestY5Room: D7 holds for any input.
func TestY5Room(t *testing.T) {
	property(t, func(t *rapid.T, in Input, d Decision) { checkRoom(t, in, d) })
}

// TestY5MakesRoom: which pods make room where new pods are refused.
func TestY5MakesRoom(t *testing.T) {
	refused := func(ordinal int32) func(*Input) {
		return func(in *Input) { in.Refused = []Refusal{{Verb: Create, Ordinal: ordinal, Message: "exceeded quota"}} }
	}
	other := func(in *Input) { in.Refused = []Refusal{{Verb: Delete, Ordinal: 0, Message: "no"}} }
	share := func(in *Input) { in.Spec.Migrating, in.Spec.Share = true, new(int32(0)) }
	settled := settledAt("b")
	check(t, []row{
		{name: "kubernetes#140858: all that stay are lost", in: slice(2, ". . b b", settled, parallel, refused(0)), want: "Create 0b, Create 1b, Delete 3", held: map[int32]string{2: HeldScaleDown}},
		{name: "in order", in: slice(2, ". . b b", settled, refused(0)), want: "Create 0b, Delete 3", held: map[int32]string{2: HeldScaleDown}},
		{name: "nothing is refused", in: slice(2, ". . b b", settled, parallel), want: "Create 0b, Create 1b", held: map[int32]string{2: HeldScaleDown, 3: HeldScaleDown}},
		{name: "nothing is refused, in order", in: slice(2, ". . b b", settled), want: "Create 0b", held: map[int32]string{2: HeldScaleDown, 3: HeldScaleDown}},
		{name: "another write is refused", in: slice(2, ". . b b", settled, parallel, other), want: "Create 0b, Create 1b"},
		{name: "a pod that stands in is refused", in: slice(2, "a a 9: a", unavailable(0), surge(1), refused(2), parallel), want: "Create 2b, Delete 9"},
		{name: "another one is missing, and that is not refused", in: slice(2, "a . 9: a", surge(1), refused(2), parallel), want: "Create 1b, Create 2b", held: map[int32]string{9: HeldScaleDown}},
		{name: "one that exists by now was refused", in: slice(2, "b . b b", settled, parallel, refused(0)), want: "Create 1b, Delete 3", held: map[int32]string{2: HeldScaleDown}},
		{name: "the budget", in: slice(2, ". . b b", settled, parallel, refused(0), unavailable(2)), want: "Create 0b, Create 1b, Delete 3, Delete 2"},
		{name: "no budget", in: slice(2, ". . b b", settled, parallel, refused(0), share), want: "Create 0b, Create 1b", held: map[int32]string{2: HeldScaleDown, 3: HeldScaleDown}},
		{name: "those that stay count", in: slice(3, "b . . b b", settled, parallel, refused(1)), want: "Create 1b, Create 2b, Delete 4", held: map[int32]string{3: HeldScaleDown}},
		{name: "those that leave anyway count", in: slice(3, "b b- . b b", settled, parallel, refused(2)), want: "Create 2b, Delete 4", held: map[int32]string{3: HeldScaleDown}},
		{name: "one is Terminating already", in: slice(2, ". . b bt", settled, parallel, refused(0)), want: "Create 0b, Create 1b", held: map[int32]string{2: HeldScaleDown}},
		{name: "those that do not serve", in: slice(3, ". . . b- b- b-", settled, parallel, refused(0)), want: "Create 0b, Create 1b, Create 2b, Delete 5, Delete 4, Delete 3"},
		{name: "those that do not serve, beside one that does", in: slice(3, ". . . b b- b", settled, parallel, refused(0), unavailable(1)), want: "Create 0b, Create 1b, Create 2b, Delete 4", held: map[int32]string{3: HeldScaleDown, 5: HeldScaleDown}},
		{name: "in order, one below is not Ready", in: slice(3, "b- . b b b", settled, refused(1)), want: "", held: map[int32]string{3: HeldScaleDown, 4: HeldScaleDown}},
		{name: "in order, one that does not serve", in: slice(2, ". . b- b-", settled, refused(0)), want: "Create 0b, Delete 3"},
		{name: "in order, one below that does not serve", in: slice(3, ". . . b b- b", settled, refused(0)), want: "Create 0b, Delete 4", held: map[int32]string{3: HeldScaleDown, 5: HeldScaleDown}},
		{name: "in order, one is Terminating", in: slice(2, ". . bt b", settled, refused(0)), want: "Create 0b", held: map[int32]string{3: HeldScaleDown}},
	})
	in := slice(2, ". . b b", settled, parallel, refused(0), share)
	if message := Decide(in).Held[0].Message; !strings.Contains(message, "maxUnavailable (0)") || !strings.Contains(message, "exceeded quota") {
		t.Errorf("held: %s", message)
	}
}

// TestY5WorldUnderQuota: with a quota that has room for all replicas, any change of the range completes.
func TestY5WorldUnderQuota(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := slice(rapid.Int32Range(1, 6).Draw(t, "replicas"), "").Spec
		spec.Parallel, spec.MaxUnavailable = rapid.Bool().Draw(t, "parallel"), rapid.Int32Range(1, 3).Draw(t, "maxUnavailable")
		w := newWorld(t, spec)
		w.run()
		for range rapid.IntRange(1, 4).Draw(t, "moves") {
			w.in.Spec.Start, w.in.Spec.Replicas = rapid.Int32Range(0, 9).Draw(t, "start"), rapid.Int32Range(1, 6).Draw(t, "replicas")
			w.quota = int(w.in.Spec.Replicas + rapid.Int32Range(0, 1).Draw(t, "more"))
			for range rapid.IntRange(0, 4).Draw(t, "losses") {
				w.random(t)
			}
			for _, pod := range w.pods {
				pod.HeldForDelete, pod.HeldForUpdate = false, false
			}
			w.run()
			w.atRest()
		}
	})
}
