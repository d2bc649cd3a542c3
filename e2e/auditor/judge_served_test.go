package auditor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestServed(t *testing.T) {
	slice := func(start, replicas int32) sliceState {
		return sliceState{UID: "set", Start: start, Replicas: replicas}
	}
	begin := [2]sliceState{slice(0, 2), slice(2, 0)}
	cases := map[string]struct {
		steps     func(*served)
		want      map[int32]sideIndex
		wantMoved map[int32]bool
	}{
		"what was down before the move is not held": {
			steps: func(*served) {},
			want:  map[int32]sideIndex{0: source, 1: source},
		},
		"out of the range": {
			steps: func(s *served) { s.setRange(source, slice(0, 1)) },
			want:  map[int32]sideIndex{0: source, 1: nowhere},
		},
		"in the new range, not Ready yet": {
			steps: func(s *served) {
				s.setRange(source, slice(0, 1))
				s.setRange(destination, slice(1, 1))
				s.setAvailable(destination, 1, false)
			},
			want:      map[int32]sideIndex{0: source, 1: nowhere},
			wantMoved: map[int32]bool{1: true},
		},
		"Ready, and not Ready again": {
			steps: func(s *served) {
				s.setRange(source, slice(0, 1))
				s.setRange(destination, slice(1, 1))
				s.setAvailable(destination, 1, true)
				s.setAvailable(destination, 1, false)
			},
			want:      map[int32]sideIndex{0: source, 1: destination},
			wantMoved: map[int32]bool{1: true},
		},
		"the pod's event overtakes the range's": {
			steps: func(s *served) {
				s.setAvailable(destination, 1, true)
				s.setRange(source, slice(0, 1))
				s.setRange(destination, slice(1, 1))
			},
			want:      map[int32]sideIndex{0: source, 1: destination},
			wantMoved: map[int32]bool{1: true},
		},
		"a late event of the old pod proves nothing": {
			steps: func(s *served) {
				s.setRange(source, slice(0, 1))
				s.setAvailable(source, 1, true)
			},
			want: map[int32]sideIndex{0: source, 1: nowhere},
		},
		"taken back": {
			steps: func(s *served) {
				s.setRange(source, slice(0, 1))
				s.setRange(destination, slice(1, 1))
				s.setAvailable(destination, 1, true)
				s.setRange(destination, slice(2, 0))
				s.setRange(source, slice(0, 2))
			},
			want:      map[int32]sideIndex{0: source, 1: nowhere},
			wantMoved: map[int32]bool{1: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newServed(begin, []int32{0, 1})
			tc.steps(s)
			if diff := cmp.Diff(tc.want, s.on); diff != "" {
				t.Errorf("served on (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantMoved, s.moved, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
		})
	}
}
