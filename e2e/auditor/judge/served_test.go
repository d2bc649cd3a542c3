package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestServed(t *testing.T) {
	slice := func(start, replicas int32) SliceState {
		return SliceState{UID: "set", Start: start, Replicas: replicas}
	}
	handOff := func(s *Served) {
		s.SetRange(Source, slice(0, 1))
		s.SetRange(Destination, slice(1, 1))
	}
	begin := [2]SliceState{slice(0, 2), slice(2, 0)}
	cases := map[string]struct {
		steps     func(*Served)
		want      map[int32]SideIndex
		wantMoved map[int32]bool
	}{
		"what was down before the move is not held": {
			steps: func(*Served) {},
			want:  map[int32]SideIndex{0: Source, 1: Source},
		},
		"out of the range": {
			steps: func(s *Served) { s.SetRange(Source, slice(0, 1)) },
			want:  map[int32]SideIndex{0: Source, 1: Nowhere},
		},
		"in the new range, not Ready yet": {
			steps: func(s *Served) {
				handOff(s)
				s.SetAvailable(Destination, 1, false)
			},
			want:      map[int32]SideIndex{0: Source, 1: Nowhere},
			wantMoved: map[int32]bool{1: true},
		},
		"Ready, and not Ready again": {
			steps: func(s *Served) {
				handOff(s)
				s.SetAvailable(Destination, 1, true)
				s.SetAvailable(Destination, 1, false)
			},
			want:      map[int32]SideIndex{0: Source, 1: Destination},
			wantMoved: map[int32]bool{1: true},
		},
		"the pod's event overtakes the range's": {
			steps: func(s *Served) {
				s.SetAvailable(Destination, 1, true)
				handOff(s)
			},
			want:      map[int32]SideIndex{0: Source, 1: Destination},
			wantMoved: map[int32]bool{1: true},
		},
		"a late event of the old pod proves nothing": {
			steps: func(s *Served) {
				s.SetRange(Source, slice(0, 1))
				s.SetAvailable(Source, 1, true)
			},
			want: map[int32]SideIndex{0: Source, 1: Nowhere},
		},
		"taken back": {
			steps: func(s *Served) {
				handOff(s)
				s.SetAvailable(Destination, 1, true)
				s.SetRange(Destination, slice(2, 0))
				s.SetRange(Source, slice(0, 2))
			},
			want:      map[int32]SideIndex{0: Source, 1: Nowhere},
			wantMoved: map[int32]bool{1: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := NewServed(begin, []int32{0, 1})
			tc.steps(s)
			if diff := cmp.Diff(tc.want, s.On); diff != "" {
				t.Errorf("served on (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantMoved, s.Moved, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
		})
	}
}
