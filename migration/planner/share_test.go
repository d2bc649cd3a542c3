package planner

import (
	"testing"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// bothOwn makes both slices of our own kind, with a share of zero.
func bothOwn(s *plan.Snapshot) {
	s.Source.Set.Rolls = plan.Rolls{Own: true, Shared: true, Heeded: true}
	s.Destination.Set.Rolls = s.Source.Set.Rolls
}

// ownHalves is halfway, with two slices of our own kind.
func ownHalves(changes ...func(*plan.Snapshot)) *planners {
	return halfway(func(s *plan.Snapshot) {
		bothOwn(s)
		for _, change := range changes {
			change(s)
		}
	})
}

// rollsOutAt starts a rollout of a slice.
func rollsOutAt(name plan.SideName) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { s.Side(name).Set.RolledOut = false }
}

// changesRolls changes the rollouts of a slice.
func changesRolls(name plan.SideName, change func(*plan.Rolls)) func(*plan.Snapshot) {
	return func(s *plan.Snapshot) { change(&s.Side(name).Set.Rolls) }
}

func unshared(r *plan.Rolls) { r.Shared = false }

func ofOne(r *plan.Rolls) { r.Share = 1 }

func ofTwo(r *plan.Rolls) { r.Share = 2 }

func ofThree(r *plan.Rolls) { r.Share = 3 }

func unheeding(r *plan.Rolls) { r.Heeded = false }

func notOurs(r *plan.Rolls) { *r = plan.Rolls{} }

func allAtOnce(r *plan.Rolls) { r.AllAtOnce = true }

func askedToLeave(r *plan.Rolls) { r.Asked = true }

// TestShares: while an ordinal is in flight no slice has a share, and unconfirmed shares are awaited. Between two
// handoffs the slice that rolls out has the part that the other does not use (I4). When nothing is left to move,
// rollouts are no longer limited.
func TestShares(t *testing.T) {
	const west, east = plan.DestinationSide, plan.SourceSide
	const stopEast, stopWest = "SetShare source web s1: 0", "SetShare destination web d1: 0"
	deleting := func(s *plan.Snapshot) { s.Deleting = true }
	for name, tc := range map[string]struct {
		inFlight int32
		changes  but
		want     string
	}{
		"at rest":                                    {0, nil, ""},
		"in flight":                                  {1, nil, ""},
		"both are native":                            {0, but{changesRolls(east, notOurs), changesRolls(west, notOurs)}, ""},
		"both are native, in flight":                 {1, but{changesRolls(east, notOurs), changesRolls(west, notOurs)}, ""},
		"native, and rolls out":                      {0, but{changesRolls(east, notOurs), rollsOutAt(east)}, ""},
		"none was given yet":                         {0, but{changesRolls(east, unshared)}, stopEast},
		"none was given yet, there":                  {0, but{changesRolls(west, unshared)}, stopWest},
		"nothing is left to move":                    {0, but{changesRolls(east, unshared), nothingLeft}, ""},
		"the last one is in flight":                  {1, but{changesRolls(east, unshared), nothingLeft}, stopEast},
		"the migration goes":                         {0, but{changesRolls(east, unshared), deleting}, ""},
		"the migration goes, in flight":              {1, but{changesRolls(east, unshared), deleting}, stopEast},
		"a share stays while nobody needs it":        {0, but{changesRolls(east, ofOne)}, ""},
		"it is taken back in flight":                 {1, but{changesRolls(east, ofOne)}, stopEast},
		"it is taken back for the other's roll-out":  {0, but{changesRolls(west, ofOne), rollsOutAt(east)}, stopWest},
		"in flight a roll-out has none":              {1, but{changesRolls(east, ofTwo), rollsOutAt(east)}, stopEast},
		"the roll-out gets all":                      {0, but{rollsOutAt(east)}, "SetShare source web s1: 2"},
		"the roll-out gets all, there":               {0, but{rollsOutAt(west)}, "SetShare destination web d1: 2"},
		"its first share is all":                     {0, but{changesRolls(east, unshared), rollsOutAt(east)}, "SetShare source web s1: 2"},
		"it has all":                                 {0, but{changesRolls(east, ofTwo), rollsOutAt(east)}, ""},
		"it has all, and that is not confirmed":      {0, but{changesRolls(east, ofTwo), changesRolls(east, unheeding), rollsOutAt(east)}, ""},
		"the other one has not confirmed":            {0, but{changesRolls(west, unheeding), rollsOutAt(east)}, api.ReasonBudgetUnconfirmed + " west"},
		"in flight, one has not confirmed":           {1, but{changesRolls(east, unheeding)}, api.ReasonBudgetUnconfirmed + " east"},
		"in flight, the other one has not confirmed": {1, but{changesRolls(west, unheeding)}, api.ReasonBudgetUnconfirmed + " west"},
		"at rest a confirmation is not waited for":   {0, but{changesRolls(east, unheeding)}, ""},
		"it waits for the former one's word":         {1, but{changesRolls(east, ofOne), changesRolls(east, unheeding)}, api.ReasonBudgetUnconfirmed + " east"},
	} {
		if got := amounts(ownHalves(tc.changes...).capRollouts(tc.inFlight)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestGrowShare: the slice that rolls out gets the part of d = 2 that the other does not use. A later unavailable
// pod of the other does not reduce it, and it never exceeds d (I4).
func TestGrowShare(t *testing.T) {
	down := func(ordinals ...int32) func(*plan.Snapshot) {
		return func(s *plan.Snapshot) { goDown(s, ordinals...) }
	}
	with := func(change func(*plan.Rolls)) func(*plan.Snapshot) { return changesRolls(plan.SourceSide, change) }
	for name, tc := range map[string]struct {
		slice   plan.SideName
		changes but
		want    string
	}{
		"none rolls out":           {"", nil, ""},
		"it is native":             {plan.SourceSide, but{with(notOurs)}, ""},
		"all of it":                {plan.SourceSide, nil, "SetShare source web s1: 2"},
		"there":                    {plan.DestinationSide, nil, "SetShare destination web d1: 2"},
		"its own are down":         {plan.SourceSide, but{down(0, 1)}, "SetShare source web s1: 2"},
		"one is down at the other": {plan.SourceSide, but{down(3)}, "SetShare source web s1: 1"},
		"one is down at the other, which is east": {plan.DestinationSide, but{down(0)}, "SetShare destination web d1: 1"},
		"two are down at the other":               {plan.SourceSide, but{down(2, 3), with(unshared)}, "SetShare source web s1: 0"},
		"nothing is left, and it has had more":    {plan.SourceSide, but{down(2, 3), with(ofTwo)}, ""},
		"nothing is left, and it has too much":    {plan.SourceSide, but{down(2, 3), with(ofThree)}, "SetShare source web s1: 0"},
		"more than all are down":                  {plan.SourceSide, but{down(2, 3), with(unshared), func(s *plan.Snapshot) { s.Record.Baseline.Budget = 1 }}, "SetShare source web s1: 0"},
		"it has what is left":                     {plan.SourceSide, but{down(3), with(ofOne)}, ""},
		"it has had more before one went down":    {plan.SourceSide, but{down(3), with(ofTwo)}, ""},
		"it has less":                             {plan.SourceSide, but{with(ofOne)}, "SetShare source web s1: 2"},
		"it has all":                              {plan.SourceSide, but{with(ofTwo)}, ""},
		"it has more than there is":               {plan.SourceSide, but{with(ofThree)}, "SetShare source web s1: 2"},
		"a number that is no share":               {plan.SourceSide, but{with(ofTwo), with(unshared)}, "SetShare source web s1: 2"},
		"the former one has not been confirmed":   {plan.SourceSide, but{with(unheeding)}, api.ReasonBudgetUnconfirmed + " east"},
		"what it has is enough and not confirmed": {plan.SourceSide, but{with(ofTwo), with(unheeding)}, ""},
	} {
		if got := amounts(ownHalves(tc.changes...).growCap(tc.slice)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestBounded: only an existing slice of our own kind can be limited.
func TestBounded(t *testing.T) {
	for _, presence := range []plan.Presence{plan.Seen, plan.Absent, plan.Unreachable} {
		for _, own := range []bool{false, true} {
			set := plan.Set{Presence: presence, Rolls: plan.Rolls{Own: own}}
			if got := capped(set); got != (presence == plan.Seen && own) {
				t.Errorf("%q, own %t: bounded %t", presence, own, got)
			}
		}
	}
}

// TestWhichRollsOut: a rollout continues between two handoffs, the source's first. One of all pods at once waits
// for the end, unless the deletion of a pod was requested.
func TestWhichRollsOut(t *testing.T) {
	east, west := rollsOutAt(plan.SourceSide), rollsOutAt(plan.DestinationSide)
	with := func(change func(*plan.Rolls)) func(*plan.Snapshot) { return changesRolls(plan.SourceSide, change) }
	for name, tc := range map[string]struct {
		inFlight int32
		changes  but
		want     plan.SideName
	}{
		"none":                            {0, nil, ""},
		"the source":                      {0, but{east}, plan.SourceSide},
		"the destination":                 {0, but{west}, plan.DestinationSide},
		"both":                            {0, but{east, west}, plan.SourceSide},
		"in flight":                       {1, but{east, west}, ""},
		"a pod is asked to go":            {0, but{with(askedToLeave)}, plan.SourceSide},
		"all at once":                     {0, but{east, with(allAtOnce)}, ""},
		"all at once, the other does not": {0, but{east, with(allAtOnce), west}, plan.DestinationSide},
		"all at once, and asked":          {0, but{with(allAtOnce), with(askedToLeave)}, plan.SourceSide},
	} {
		if got := ownHalves(tc.changes...).rolling(tc.inFlight); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// TestLiftShares: when nothing is left to move, the shares are removed, one after the other. A migration that is
// being deleted removes its mark anyway.
func TestLiftShares(t *testing.T) {
	east := func(change func(*plan.Rolls)) func(*plan.Snapshot) { return changesRolls(plan.SourceSide, change) }
	for name, tc := range map[string]struct {
		changes but
		want    string
	}{
		"some are left":        {nil, ""},
		"nothing is left":      {but{nothingLeft}, "LiftShare source web s1"},
		"the source has none":  {but{nothingLeft, east(unshared)}, "LiftShare destination web d1"},
		"the source is native": {but{nothingLeft, func(s *plan.Snapshot) { s.Source.Set.Rolls.Own = false }}, "LiftShare destination web d1"},
		"neither has one":      {but{nothingLeft, east(unshared), changesRolls(plan.DestinationSide, unshared)}, ""},
		"the migration goes":   {but{nothingLeft, func(s *plan.Snapshot) { s.Deleting = true }}, ""},
		"it goes in mid-move":  {but{func(s *plan.Snapshot) { s.Deleting = true }}, ""},
	} {
		if got := does(ownHalves(tc.changes...).liftCaps()); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
