package pdb

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNext(t *testing.T) {
	steady := func(allows int32) Applied { return Applied{Allows: allows, Exact: true, Confirmed: true} }
	unconfirmed := func(allows int32) Applied { return Applied{Allows: allows, Exact: true} }
	foreign := func(allows int32) Applied { return Applied{Allows: allows, Confirmed: true} }
	down := func(allows, down int32) Applied {
		return Applied{Allows: allows, Down: down, Exact: true, Confirmed: true}
	}
	for name, tc := range map[string]struct {
		source, destination Applied
		want                Share
		move                Move
		allows              int32
	}{
		"reached":                            {steady(1), steady(0), Share{1, 0}, Reached, 0},
		"shrink the source":                  {steady(2), steady(0), Share{1, 1}, SetSource, 1},
		"shrink the destination":             {steady(0), steady(2), Share{1, 1}, SetDestination, 1},
		"shrink one before the other grows":  {steady(0), steady(1), Share{1, 0}, SetDestination, 0},
		"await the shrink":                   {steady(0), unconfirmed(0), Share{1, 0}, AwaitConfirmation, 0},
		"then grow":                          {steady(0), steady(0), Share{1, 0}, SetSource, 1},
		"grow the destination":               {steady(0), steady(0), Share{0, 1}, SetDestination, 1},
		"await the growth":                   {unconfirmed(1), steady(0), Share{1, 0}, AwaitConfirmation, 0},
		"take hold of the source first":      {foreign(0), steady(0), Share{1, 0}, SetSource, 0},
		"take hold without growing":          {steady(1), foreign(0), Share{1, 1}, SetDestination, 0},
		"take hold and shrink at once":       {foreign(3), steady(0), Share{1, 0}, SetSource, 1},
		"no growth over evicted replicas":    {steady(0), down(0, 1), Share{1, 0}, AwaitRecovery, 0},
		"what is down may be in the share":   {steady(0), down(1, 1), Share{1, 1}, SetSource, 1},
		"more is down than the share covers": {down(1, 2), steady(0), Share{1, 1}, AwaitRecovery, 0},
		"the other side may grow":            {down(0, 2), steady(0), Share{1, 1}, SetSource, 1},
		"its own share covers what is down":  {down(0, 1), steady(0), Share{1, 0}, SetSource, 1},
		"down does not undo what is reached": {down(1, 0), down(0, 1), Share{1, 0}, Reached, 0},
	} {
		t.Run(name, func(t *testing.T) {
			move, allows := Next(tc.source, tc.destination, tc.want)
			if move != tc.move || allows != tc.allows {
				t.Errorf("got %s %d, want %s %d", move, allows, tc.move, tc.allows)
			}
		})
	}
}

func applied(t *rapid.T, label string) Applied {
	return Applied{
		Allows:    rapid.Int32Range(0, 4).Draw(t, label+" allows"),
		Down:      rapid.Int32Range(0, 2).Draw(t, label+" down"),
		Exact:     rapid.Bool().Draw(t, label+" exact"),
		Confirmed: rapid.Bool().Draw(t, label+" confirmed"),
	}
}

// TestNextReaches follows Next from any state. The sum of the budgets never grows beyond the desired sum. No budget
// grows before every shrunk budget is confirmed, or while unavailable replicas use up the room. Once they recover, the
// split is reached.
func TestNextReaches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source, destination := applied(t, "source"), applied(t, "destination")
		want := Share{rapid.Int32Range(0, 4).Draw(t, "want source"), rapid.Int32Range(0, 4).Draw(t, "want destination")}
		room := want.Source + want.Destination
		for range 12 {
			move, allows := Next(source, destination, want)
			before := [2]Applied{source, destination}
			switch move {
			case Reached:
				if source.Allows != want.Source || destination.Allows != want.Destination {
					t.Fatalf("reached %d and %d instead of %v", source.Allows, destination.Allows, want)
				}
				return
			case AwaitConfirmation:
				if source.Confirmed && destination.Confirmed {
					t.Fatal("waits for a confirmation that is there")
				}
				source.Confirmed, destination.Confirmed = true, true
			case AwaitRecovery:
				if source.Down+destination.Down == 0 {
					t.Fatal("waits for replicas that are there")
				}
				source.Down, destination.Down = 0, 0
			case SetSource:
				source = Applied{Allows: allows, Down: source.Down, Exact: true}
			case SetDestination:
				destination = Applied{Allows: allows, Down: destination.Down, Exact: true}
			}
			mayGrow(t, before, [2]Applied{source, destination}, want, room)
		}
		t.Fatal("not reached")
	})
}

func mayGrow(t *rapid.T, before, after [2]Applied, want Share, room int32) {
	grown := after[0].Allows > before[0].Allows || after[1].Allows > before[1].Allows
	if !grown {
		return
	}
	for i, most := range []int32{want.Source, want.Destination} {
		if before[i].Allows > most || !before[i].Exact || !before[i].Confirmed {
			t.Fatalf("one side grows before the other has shrunk: %+v", before)
		}
	}
	if loss := Loss(after[0], after[1]); loss > room {
		t.Fatalf("%d may be lost after a growth, of %d: %+v", loss, room, after)
	}
}
