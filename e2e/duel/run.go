package duel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Options say how long is played, and what.
type Options struct {
	// For is how long new scripts are begun.
	For time.Duration
	// Seed is that of the first script that is drawn; each next one has the next.
	Seed int
	// Lanes is how many scripts are played at once.
	Lanes int
	// Scripts bounds how many are played, all of them drawn; 0: those that are staged, and then as
	// many as there is time for.
	Scripts int
	// Say is told how far it is, each minute.
	Say func(string)
}

// replays is how often a script that has differed is played again.
const replays = 2

// Run plays scripts on a cluster on which both controllers run. Those that differ are played again
// in the end, one at a time: what a step meets in a roll-out is a matter of moments, and on a loaded
// machine the two sides live through different ones. It returns what differs each time, or once more.
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

// playAgain plays a script that has differed, and nothing beside it.
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
