package duel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Options configure a run.
type Options struct {
	// For is how long new scripts are started.
	For time.Duration
	// Seed is the seed of the first drawn script; each later script increments it.
	Seed int
	// Lanes is the number of concurrent scripts.
	Lanes int
	// Scripts is the number of scripts, all of them drawn. 0 means the staged scripts, and then as many as time
	// allows.
	Scripts int
	// Say receives the progress each minute.
	Say func(string)
}

// replays is how often a script whose sides differed is repeated.
const replays = 2

// Run plays scripts on a cluster on which both controllers run. A script whose sides differ is repeated at the end,
// alone. The effect of a step during a rollout depends on its timing, which differs between the two sides on a loaded
// machine. Run returns the scripts that differ again.
func Run(ctx context.Context, config *rest.Config, o Options) (Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a, err := newArena(ctx, config, o.Lanes)
	if err != nil {
		return Report{}, err
	}
	t := newTally()
	end := time.Now().Add(o.For)
	var group sync.WaitGroup
	for lane := range o.Lanes {
		group.Go(func() {
			for {
				script, goOn := t.next(o, time.Now().After(end))
				if !goOn || ctx.Err() != nil {
					return
				}
				t.begin(lane, script)
				if err := a.play(ctx, lane, script, t); err != nil {
					o.Say(fmt.Sprintf("%s\n%s", script, err))
					t.doubt(script)
				}
				t.end(lane, script)
			}
		})
	}
	telling, told := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() { t.tell(telling, o.Say) })
	group.Wait()
	for _, script := range t.doubtful {
		a.playAgain(ctx, script, o, t)
	}
	told()
	teller.Wait()
	return t.report(), errors.Join(t.failures...)
}

// playAgain repeats a script whose sides differed, with no other script at the same time.
func (a *arena) playAgain(ctx context.Context, script Script, o Options, t *tally) {
	for range replays {
		if err := a.play(ctx, 0, script, newTally()); err != nil {
			err = fmt.Errorf("once more: %s\n%w", script, err)
			o.Say(err.Error())
			t.fail(err)
			return
		}
	}
	t.acquit(script)
}
