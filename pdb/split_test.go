package pdb

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"
)

func value(s string) *intstr.IntOrString {
	v := intstr.Parse(s)
	return &v
}

func TestBudget(t *testing.T) {
	tests := map[string]struct {
		form     Form
		replicas int32
		want     int32
	}{
		"maxUnavailable":               {Form{MaxUnavailable: value("2")}, 5, 2},
		"maxUnavailable above the set": {Form{MaxUnavailable: value("9")}, 5, 5},
		"maxUnavailable rounds up":     {Form{MaxUnavailable: value("30%")}, 5, 2},
		"maxUnavailable 0%":            {Form{MaxUnavailable: value("0%")}, 5, 0},
		"minAvailable":                 {Form{MinAvailable: value("3")}, 5, 2},
		"minAvailable above the set":   {Form{MinAvailable: value("9")}, 5, 0},
		"minAvailable rounds up":       {Form{MinAvailable: value("50%")}, 5, 2},
		"minAvailable 100%":            {Form{MinAvailable: value("100%")}, 5, 0},
		"neither":                      {Form{}, 5, 0},
		"no replicas":                  {Form{MaxUnavailable: value("1")}, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Budget(tc.form, tc.replicas)
			if err != nil || got != tc.want {
				t.Errorf("got %d, %v, want %d", got, err, tc.want)
			}
		})
	}
	if _, err := Budget(Form{MaxUnavailable: value("many")}, 5); err == nil {
		t.Error("a malformed percentage is accepted")
	}
}

func TestSplit(t *testing.T) {
	tests := map[string]struct {
		d, inFlight int32
		size, want  Share
	}{
		"all at the source":      {1, 0, Share{5, 0}, Share{1, 0}},
		"all at the destination": {1, 0, Share{0, 5}, Share{0, 1}},
		"one for the larger":     {1, 0, Share{3, 2}, Share{1, 0}},
		"the source on a tie":    {1, 0, Share{2, 2}, Share{1, 0}},
		"none in a handoff":      {1, 1, Share{3, 1}, Share{}},
		"in proportion":          {3, 0, Share{4, 2}, Share{2, 1}},
		"no more than there are": {9, 0, Share{1, 2}, Share{1, 2}},
		"nobody there":           {2, 0, Share{}, Share{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Split(tc.d, tc.inFlight, tc.size); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// TestSplitProperties: I4 holds for every split, nothing is wasted, and no slice gets
// more than its size or than its share rounded up.
func TestSplitProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d, inFlight := rapid.Int32Range(0, 50).Draw(t, "d"), rapid.Int32Range(0, 1).Draw(t, "in flight")
		size := Share{rapid.Int32Range(0, 40).Draw(t, "source"), rapid.Int32Range(0, 40).Draw(t, "destination")}
		got := Split(d, inFlight, size)
		room := min(max(0, d-inFlight), size.Source+size.Destination)
		if got.Source+got.Destination != room {
			t.Errorf("%+v does not share out %d", got, room)
		}
		if got.Source < 0 || got.Destination < 0 || got.Source > size.Source || got.Destination > size.Destination {
			t.Errorf("%+v exceeds the slices %+v", got, size)
		}
		if total := size.Source + size.Destination; total > 0 && got.Source > (room*size.Source+total-1)/total {
			t.Errorf("%+v is out of proportion for %+v", got, size)
		}
	})
}

// TestNextNeverExceeds walks from any two budgets to any split: at no step may more be
// allowed than at the beginning or than is wanted, and it ends.
func TestNextNeverExceeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		applied := func(name string) Applied {
			return Applied{
				Allows: rapid.Int32Range(0, 5).Draw(t, name), Exact: rapid.Bool().Draw(t, name+" exact"), Confirmed: rapid.Bool().Draw(t, name+" confirmed"),
			}
		}
		source, destination := applied("source"), applied("destination")
		want := Share{rapid.Int32Range(0, 5).Draw(t, "want source"), rapid.Int32Range(0, 5).Draw(t, "want destination")}
		limit := max(source.Allows+destination.Allows, want.Source+want.Destination)
		for range 12 {
			if sum := source.Allows + destination.Allows; sum > limit {
				t.Fatalf("%d are allowed, more than %d", sum, limit)
			}
			move, allows := Next(source, destination, want)
			switch move {
			case SetSource:
				source = Applied{Allows: allows, Exact: true}
			case SetDestination:
				destination = Applied{Allows: allows, Exact: true}
			case AwaitConfirmation:
				source.Confirmed, destination.Confirmed = true, true
			case AwaitRecovery:
				t.Fatal("nothing is down")
			case Reached:
				if source.Allows != want.Source || destination.Allows != want.Destination {
					t.Fatalf("reached %d and %d, want %+v", source.Allows, destination.Allows, want)
				}
				return
			}
		}
		t.Fatal("it does not end")
	})
}

// TestNextWaitsForRecovery: a side does not grow while replicas of the other that its
// budget does not cover are down (I4).
func TestNextWaitsForRecovery(t *testing.T) {
	source := Applied{Allows: 0, Down: 1, Exact: true, Confirmed: true}
	destination := Applied{Allows: 0, Exact: true, Confirmed: true}
	if move, _ := Next(source, destination, Share{Destination: 1}); move != AwaitRecovery {
		t.Errorf("got %s", move)
	}
}
