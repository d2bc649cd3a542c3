package judge

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// TestProvisioned: a volume that is named after the uid of its claim was provisioned for it.
func TestProvisioned(t *testing.T) {
	for name, tc := range map[string]struct {
		volume VolumeState
		want   bool
	}{
		"provisioned":             {VolumeState{Name: "pvc-u", ClaimUID: "u"}, true},
		"of another claim before": {VolumeState{Name: "pvc-v", ClaimUID: "u"}, false},
		"reserved":                {VolumeState{Name: "pvc-", ClaimName: "data-web-1"}, false},
	} {
		if got := Provisioned(tc.volume); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestShared: two pods share a volume only if both had it mounted at one instant.
func TestShared(t *testing.T) {
	pod := func(uid types.UID, born, died uint64, volumes ...string) Writer {
		return Writer{UID: uid, Born: born, Died: died, Volumes: volumes}
	}
	for name, tc := range map[string]struct {
		one, other Writer
		want       []string
	}{
		"at once":             {pod("a", 1, 9, "x", "y"), pod("b", 3, 5, "y"), []string{"y"}},
		"both still run":      {pod("a", 1, 0, "x"), pod("b", 3, 0, "x"), []string{"x"}},
		"one still runs":      {pod("a", 1, 4, "x"), pod("b", 3, 0, "x"), []string{"x"}},
		"one after the other": {pod("a", 1, 3, "x"), pod("b", 3, 5, "x"), nil},
		"before":              {pod("a", 5, 0, "x"), pod("b", 3, 5, "x"), nil},
		"other volumes":       {pod("a", 1, 0, "x"), pod("b", 1, 0, "y"), nil},
		"the same pod":        {pod("a", 1, 0, "x"), pod("a", 1, 0, "x"), nil},
		"not known since":     {pod("a", 0, 0, "x"), pod("b", 1, 0, "x"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, pair := range [][2]Writer{{tc.one, tc.other}, {tc.other, tc.one}} {
				if got := pair[0].Shared(pair[1]); !slices.Equal(got, tc.want) {
					t.Errorf("got %v, want %v", got, tc.want)
				}
			}
		})
	}
}

// TestReplacing: an ordinal is being replaced while one of its claims is deleted.
func TestReplacing(t *testing.T) {
	data, logs := VolumeKey{Ordinal: 1, Template: "data"}, VolumeKey{Ordinal: 1, Template: "logs"}
	r := Replacing{}
	for _, step := range []struct {
		key   VolumeKey
		claim ClaimState
		want  bool
	}{
		{data, ClaimState{UID: "a"}, false},
		{logs, ClaimState{UID: "b"}, false},
		{data, ClaimState{UID: "a", Terminating: true}, true},
		{logs, ClaimState{}, true},
		{data, ClaimState{UID: "c"}, true},
		{logs, ClaimState{UID: "d"}, false},
	} {
		if r.Note(step.key, step.claim); r.Ordinal(1) != step.want || r.Ordinal(0) {
			t.Errorf("after %+v: %t", step, r.Ordinal(1))
		}
	}
}

// TestHeldInPlace: in place, an ordinal is held down while it is not available after the deletion of its claim. The range of
// its set does not count, and neither do ordinals that others have stopped.
func TestHeldInPlace(t *testing.T) {
	side := ReplicaSide{Asked: []int32{0, 1, 2}, Pods: []PodState{{Ordinal: 0, UID: "a", RV: "1", Ready: true}, {Ordinal: 2, UID: "c", RV: "3", Ready: true, Terminating: true}}}
	both := [2]ReplicaSide{side, {}}
	for name, tc := range map[string]struct {
		replaced, blamed map[int32]bool
		want             []int32
	}{
		"none":             {map[int32]bool{}, nil, nil},
		"one that runs":    {map[int32]bool{0: true}, nil, nil},
		"without a pod":    {map[int32]bool{1: true}, nil, []int32{1}},
		"Terminating":      {map[int32]bool{2: true}, nil, []int32{2}},
		"blamed":           {map[int32]bool{1: true, 2: true}, map[int32]bool{1: true}, []int32{2}},
		"two of its claim": {map[int32]bool{0: true, 1: true, 2: true}, nil, []int32{1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			verdict := Budget(BudgetInput{Ordinals: []int32{0, 1, 2}, First: both, Second: both, Replaced: tc.replaced, Blamed: tc.blamed, Budget: 1})
			if !slices.Equal(verdict.Held, tc.want) || verdict.Broken != (len(tc.want) > 1) {
				t.Errorf("got %+v, want %v", verdict, tc.want)
			}
		})
	}
}

// TestStillAlive: a pod that exists at the end lingers if a volume was given to its ordinal since it started.
func TestStillAlive(t *testing.T) {
	g := Gift{Key: VolumeKey{Ordinal: 1}, Revision: 5}
	for name, tc := range map[string]struct {
		pod  Lifetime
		want int
	}{
		"started before": {Lifetime{Pod: PodState{Ordinal: 1}, Born: 3}, 1},
		"ended before":   {Lifetime{Pod: PodState{Ordinal: 1}, Born: 3, Died: 4}, 0},
		"started after":  {Lifetime{Pod: PodState{Ordinal: 1}, Born: 6}, 0},
		"another one":    {Lifetime{Pod: PodState{Ordinal: 2}, Born: 3}, 0},
	} {
		if got := g.Lingering(StillAlive([]Lifetime{tc.pod})); len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
