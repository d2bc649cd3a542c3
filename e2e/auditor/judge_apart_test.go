package auditor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudgeApart(t *testing.T) {
	none := podState{Ordinal: 1}
	terminating := podState{Ordinal: 1, UID: "b", Terminating: true}
	cases := map[string]struct {
		before, other, after podState
		want                 apartVerdict
	}{
		"the other side has none":               {readyPod(1, "a"), none, readyPod(1, "a"), apart},
		"alone and already gone":                {none, none, none, apart},
		"I1 staged: both exist":                 {readyPod(1, "a"), readyPod(1, "b"), readyPod(1, "a"), together},
		"I1 staged: the other is Terminating":   {readyPod(1, "a"), terminating, readyPod(1, "a"), together},
		"gone before the other was read":        {none, readyPod(1, "b"), none, vanished},
		"gone while the other was read":         {readyPod(1, "a"), readyPod(1, "b"), none, unclear},
		"made again while the other was read":   {readyPod(1, "a"), readyPod(1, "b"), readyPod(1, "a2"), unclear},
		"came back while the other was read":    {none, readyPod(1, "b"), readyPod(1, "a"), unclear},
		"the other went between its two reads.": {readyPod(1, "a"), none, none, apart},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := judgeApart(tc.before, tc.other, tc.after); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestCoexisting(t *testing.T) {
	cases := map[string]struct {
		first, second [2]replicaSide
		want          [][2]podState
	}{
		"disjoint": {
			first:  [2]replicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(2, 1).ready(2).obj()},
			second: [2]replicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(2, 1).ready(2).obj()},
		},
		"I1 staged: ordinal 1 on both sides in both phases": {
			first:  [2]replicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			second: [2]replicaSide{makeSide(0, 2).ready(0, 1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			want:   [][2]podState{{readyPod(1, "pod-1"), readyPod(1, "b")}},
		},
		"a race: each was read when the other was gone": {
			first:  [2]replicaSide{makeSide(0, 2).ready(1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			second: [2]replicaSide{makeSide(0, 2).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
		},
		"a race: made again between the phases": {
			first:  [2]replicaSide{makeSide(0, 2).ready(1).obj(), makeSide(1, 1).pods(readyPod(1, "b")).obj()},
			second: [2]replicaSide{makeSide(0, 2).ready(1).obj(), makeSide(1, 1).pods(readyPod(1, "b2")).obj()},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, coexisting(tc.first, tc.second)); diff != "" {
				t.Errorf("pairs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverlapping(t *testing.T) {
	at := func(side sideIndex, ordinal int32, born, died uint64) lifetime {
		return lifetime{Pod: readyPod(ordinal, "p"), Side: side, Born: born, Died: died}
	}
	cases := map[string]struct {
		dead  lifetime
		other lifetime
		want  bool
	}{
		"the other began after the end":                {at(source, 1, 10, 20), at(destination, 1, 21, 0), false},
		"I1 staged: the other began before the end":    {at(source, 1, 10, 20), at(destination, 1, 19, 0), true},
		"I1 staged: the other lived within":            {at(source, 1, 10, 20), at(destination, 1, 12, 15), true},
		"the other ended before the beginning":         {at(source, 1, 10, 20), at(destination, 1, 2, 9), false},
		"another ordinal":                              {at(source, 1, 10, 20), at(destination, 2, 12, 0), false},
		"the same side":                                {at(source, 1, 10, 20), at(source, 1, 12, 0), false},
		"a revision that is not a number says nothing": {at(source, 1, 10, 20), at(destination, 1, 0, 0), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := len(overlapping(tc.dead, []lifetime{tc.dead, tc.other})) > 0; got != tc.want {
				t.Errorf("overlap is %t, want %t", got, tc.want)
			}
		})
	}
}
