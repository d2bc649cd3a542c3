package main

import (
	"context"
	"fmt"
	"time"

	"github.com/sliceshift/sliceshift/e2e/kind"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// scenario is what a run adds to the move.
type scenario struct {
	name    string
	strikes []strike
}

// strike happens once, while a member is down in the first or the second move.
type strike struct {
	move    int
	ordinal int32
	do      func(context.Context, *run) error
}

// scenarios are so many undisturbed runs, and one with each trouble.
func scenarios(undisturbed int) []scenario {
	var all []scenario
	for i := range undisturbed {
		all = append(all, scenario{name: fmt.Sprintf("run %d", i+1)})
	}
	return append(all,
		scenario{name: "manager killed twice", strikes: []strike{{1, 2, killManager}, {2, 1, killManager}}},
		scenario{name: "west's API server frozen", strikes: []strike{{2, 1, freezeWest}}})
}

// strikeDue begins what is to happen now, and does not wait for it.
func (r *run) strikeDue(ctx context.Context, _ *api.Migration) {
	for i, s := range r.scenario.strikes {
		if r.struck[i] || r.move != s.move || !r.Stopped(ctx, s.ordinal) {
			continue
		}
		r.struck[i] = true
		r.troubles.Go(func() error { return s.do(ctx, r) })
	}
}

// survived waits for the end of all troubles, and is an error for one that never came.
func (r *run) survived() error {
	if err := r.troubles.Wait(); err != nil {
		return err
	}
	if missing := len(r.scenario.strikes) - len(r.struck); missing > 0 {
		return fmt.Errorf("%s: %d times it did not come to that", r.scenario.name, missing)
	}
	return nil
}

// killManager kills the processes of the manager as a lack of memory does. The kubelet starts
// them again.
func killManager(ctx context.Context, r *run) error {
	r.Say("the manager is killed")
	return kind.In(ctx, r.pair.East.Worker(), "pkill", "-KILL", "-x", "manager")
}

// freezeWest stops the machine of west's control plane where it stands. The pods of west are
// on another one, its DNS too.
func freezeWest(ctx context.Context, r *run) error {
	const frozen = 30 * time.Second
	west := r.pair.West
	r.Say("west's API server is frozen for %.0f s", frozen.Seconds())
	if err := kind.Freeze(ctx, west.ControlPlane()); err != nil {
		return err
	}
	if err := pass(ctx, frozen); err != nil {
		return err
	}
	r.Say("west's API server goes on")
	return west.Thaw(ctx, west.ControlPlane())
}
