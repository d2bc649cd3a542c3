package decide

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	api "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestY12EmptyRanges: a range without ordinals has no pods, and nothing panics, although the schema refuses such ranges.
func TestY12EmptyRanges(t *testing.T) {
	all := []Range{{0, math.MaxInt32}}
	for name, spec := range map[string]Spec{
		"none":                     {MaxSurge: 1},
		"all of them are reserved": {Replicas: 3, MaxSurge: 3, Reserved: all},
		"beyond the largest":       {Start: math.MaxInt32, Replicas: 3, MaxSurge: 1, Reserved: []Range{{math.MaxInt32, math.MaxInt32}}},
		"fewer than none":          {Replicas: -3, MaxSurge: 1},
	} {
		for _, strategy := range []api.UpdateStrategyType{api.RollingUpdate, api.Recreate, api.OnDelete} {
			for _, isParallel := range []bool{false, true} {
				spec.Strategy, spec.Parallel, spec.MaxUnavailable, spec.Deadline = strategy, isParallel, 1, 1
				in := slice(0, "a b- bt 9: b b?")
				in.Spec = spec
				if got := in.Surges(); len(got) > 0 {
					t.Errorf("%s: surge pods at %v", name, got)
				}
				if got := spec.Ordinals(); len(got) > 0 {
					t.Errorf("%s: it owns %v", name, got)
				}
				for _, a := range Decide(in).Actions {
					if a.Verb == Create {
						t.Errorf("%s: %+v", name, a)
					}
				}
			}
		}
	}
}

// bytesOf returns how many bytes a function allocates.
func bytesOf(run func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	run()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestY11CostOfAPass: a pass costs about the same for a thousand and for a million replicas, if the same pods exist.
func TestY11CostOfAPass(t *testing.T) {
	for name, change := range map[string]func(*Input){
		"OrderedReady":  func(*Input) {},
		"Parallel":      parallel,
		"Recreate":      by(api.Recreate),
		"OnDelete":      by(api.OnDelete),
		"scaleStrategy": func(in *Input) { in.Spec.Parallel, in.Spec.ScaleMaxUnavailable = true, math.MaxInt32 },
		"maxSurge":      func(in *Input) { in.Spec.Parallel, in.Spec.MaxSurge = true, in.Spec.Replicas },
		"partition":     partition(500),
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(replicas int32) uint64 {
				in := slice(replicas, strings.Repeat("a ", 20)+strings.Repeat("b ", 20), since(0, Progress{Updated: 20}), change)
				return bytesOf(func() { Decide(in) })
			}
			cost(1000)
			if few, many := cost(1000), cost(1_000_000); many > 3*few {
				t.Errorf("a pass for a thousand replicas allocates %d bytes, for a million %d", few, many)
			}
		})
	}
}

// TestY11InTheEnd: a range that is larger than a pass creates is complete after several passes.
func TestY11InTheEnd(t *testing.T) {
	for _, change := range []func(*Input){parallel, func(in *Input) { in.Spec.Parallel, in.Spec.Strategy = true, api.Recreate }} {
		w := newWorld(t, slice(1500, "", change).Spec)
		for range 3 {
			if d := w.reconcile(math.MaxInt32); d.Wait <= 0 && len(w.pods) < 1500 {
				t.Error("nobody continues")
			}
		}
		if len(w.pods) != 1500 {
			t.Errorf("%d pods after three passes", len(w.pods))
		}
	}
}

// TestY11Arithmetic: the size of a range, its end and the number of its ordinals below another one agree with Ordinals.
func TestY11Arithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{Start: rapid.Int32Range(0, 8).Draw(t, "start"), Replicas: rapid.Int32Range(-1, 6).Draw(t, "replicas")}
		if rapid.Bool().Draw(t, "high") {
			spec.Start += math.MaxInt32 - 14
		}
		for _, first := range rapid.SliceOfNDistinct(rapid.Int32Range(0, 14), 0, 4, rapid.ID).Draw(t, "reserved") {
			first = max(spec.Start-4, 0) + min(first, math.MaxInt32-max(spec.Start-4, 0))
			spec.Reserved = append(spec.Reserved, Range{first, first})
		}
		slices.SortFunc(spec.Reserved, func(a, b Range) int { return int(a.First - b.First) })
		spec.Reserved = slices.Compact(spec.Reserved)
		owned := spec.Ordinals()
		if int(spec.Size()) != len(owned) {
			t.Fatalf("%d ordinals, and they are %v", spec.Size(), owned)
		}
		end := int64(spec.Start)
		if len(owned) > 0 {
			end = int64(owned[len(owned)-1]) + 1
		}
		if got := spec.End(); got != end {
			t.Fatalf("it ends before %d, and the ordinals are %v", got, owned)
		}
		spec.Strategy, spec.MaxSurge = api.RollingUpdate, 1
		if first, may := spec.Above(); may != (len(owned) > 0) || may && first != end {
			t.Fatalf("surge pods begin at %d, %t, and the ordinals are %v", first, may, owned)
		}
		for at := max(int64(spec.Start)-4, 0); at <= min(int64(spec.Start)+20, math.MaxInt32); at++ {
			below := len(slices.DeleteFunc(slices.Clone(owned), func(o int32) bool { return int64(o) >= at }))
			if int(spec.Below(int32(at))) != below {
				t.Fatalf("%d ordinals are below %d, and they are %v", spec.Below(int32(at)), at, owned)
			}
		}
	})
}

// TestY11HeldMore: the ordinals that a pass does not consider are counted. They wait for the same reason as the last one listed.
func TestY11HeldMore(t *testing.T) {
	for name, tc := range map[string]struct {
		in            Input
		created, held int
		more          int32
		reason        string
		wait          time.Duration
	}{
		"OrderedReady":             {slice(1000, "b-", settledAt("b")), 0, 502, 498, HeldPredecessor, 0},
		"OrderedReady, one is due": {slice(1000, "b", settledAt("b")), 1, 500, 498, HeldPredecessor, 0},
		"Parallel":                 {slice(1000, "", settledAt("b"), parallel), MostCreated, 1, 499, HeldBurst, time.Second},
		"Parallel, few":            {slice(500, "", settledAt("b"), parallel), MostCreated, 0, 0, "", 0},
		"Parallel, one more":       {slice(501, "", settledAt("b"), parallel), MostCreated, 1, 0, HeldBurst, time.Second},
		"surge pods come last":     {slice(501, "a", parallel, surge(3)), MostCreated, 4, 0, HeldBurst, time.Second},
		"none of those yet":        {slice(600, "a", parallel, surge(3)), MostCreated, 2, 98, HeldBurst, time.Second},
		"Recreate":                 {slice(1000, "5: at", by(api.Recreate)), 0, 502, 498, HeldOldPods, 0},
	} {
		d := Decide(tc.in)
		last := ""
		for _, h := range d.Held {
			if h.Reason != HeldBudget && h.Reason != HeldTerminating {
				last = h.Reason
			}
		}
		if created := len(verbs(d, Create)); created != tc.created || len(d.Held) != tc.held || d.HeldMore != tc.more || last != tc.reason || d.Wait != tc.wait {
			t.Errorf("%s: %d pods are created, %d held for %s, and %d more, wait %s", name, created, len(d.Held), last, d.HeldMore, d.Wait)
		}
	}
	spec := Spec{MaxSurge: 1000}
	if none, some, all := spec.MostSurge(0), spec.MostSurge(7), spec.MostSurge(600); none != MostCreated || some != MostCreated+7 || all != 1000 {
		t.Errorf("%d, %d and %d surge pods", none, some, all)
	}
}
