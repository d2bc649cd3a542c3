package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudgeApart(t *testing.T) {
	none := PodState{Ordinal: 1}
	terminating := PodState{Ordinal: 1, UID: "b", Terminating: true}
	cases := map[string]struct {
		before, other, after PodState
		want                 ApartVerdict
	}{
		"the other side has none":               {readyPod(1, "a"), none, readyPod(1, "a"), OnlyOne},
		"alone and already gone":                {none, none, none, OnlyOne},
		"I1 staged: both exist":                 {readyPod(1, "a"), readyPod(1, "b"), readyPod(1, "a"), Together},
		"I1 staged: the other is Terminating":   {readyPod(1, "a"), terminating, readyPod(1, "a"), Together},
		"gone before the other was read":        {none, readyPod(1, "b"), none, Vanished},
		"gone while the other was read":         {readyPod(1, "a"), readyPod(1, "b"), none, Unclear},
		"made again while the other was read":   {readyPod(1, "a"), readyPod(1, "b"), readyPod(1, "a2"), Unclear},
		"came back while the other was read":    {none, readyPod(1, "b"), readyPod(1, "a"), Unclear},
		"the other went between its two reads.": {readyPod(1, "a"), none, none, OnlyOne},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Apart(tc.before, tc.other, tc.after); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestCoexisting(t *testing.T) {
	cases := map[string]struct {
		first, second [2]ReplicaSide
		want          [][2]PodState
	}{
		"disjoint": {
			first:  [2]ReplicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(2, 1).ready(2).obj()},
			second: [2]ReplicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(2, 1).ready(2).obj()},
		},
		"I1 staged: ordinal 1 on both sides in both phases": {
			first:  [2]ReplicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			second: [2]ReplicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			want:   [][2]PodState{{readyPod(1, "pod-1"), readyPod(1, "b")}},
		},
		"a race: each was read when the other was gone": {
			first:  [2]ReplicaSide{makeSide(0, 2).ready(1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			second: [2]ReplicaSide{makeSide(0, 2).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
		},
		"a race: made again between the phases": {
			first:  [2]ReplicaSide{makeSide(0, 2).ready(1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			second: [2]ReplicaSide{makeSide(0, 2).ready(1).obj(), makeSide(1, 1).pods(readyPod(1, "b2")).obj()},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Coexisting(tc.first, tc.second)); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverlapping(t *testing.T) {
	at := func(side SideIndex, ordinal int32, born, died uint64) Lifetime {
		return Lifetime{Pod: readyPod(ordinal, "p"), Side: side, Born: born, Died: died}
	}
	cases := map[string]struct {
		dead  Lifetime
		other Lifetime
		want  bool
	}{
		"the other began after the end":                {at(Source, 1, 10, 20), at(Destination, 1, 21, 0), false},
		"I1 staged: the other began before the end":    {at(Source, 1, 10, 20), at(Destination, 1, 19, 0), true},
		"I1 staged: the other lived within":            {at(Source, 1, 10, 20), at(Destination, 1, 12, 15), true},
		"the other ended before the beginning":         {at(Source, 1, 10, 20), at(Destination, 1, 2, 9), false},
		"another ordinal":                              {at(Source, 1, 10, 20), at(Destination, 2, 12, 0), false},
		"the same side":                                {at(Source, 1, 10, 20), at(Source, 1, 12, 0), false},
		"a revision that is not a number says nothing": {at(Source, 1, 10, 20), at(Destination, 1, 0, 0), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := len(Overlapping(tc.dead, []Lifetime{tc.dead, tc.other})) > 0; got != tc.want {
				t.Errorf("overlap is %t, want %t", got, tc.want)
			}
		})
	}
}
