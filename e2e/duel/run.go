package duel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Options say how long is played, and what.
type Options struct {
	// For is how long new scripts are begun.
	For time.Duration
	// Seed is that of the first script; each next one has the next.
	Seed int
	// Lanes is how many scripts are played at once.
	Lanes int
	// Scripts bounds how many are played; 0: as many as there is time for.
	Scripts int
	// Say is told how far it is, each minute.
	Say func(string)
}

// Run plays scripts on a cluster on which both controllers run. It goes on after one that
// fails, and returns all failures.
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
				seed, go_on := t.next(o)
				if !go_on || time.Now().After(end) || ctx.Err() != nil {
					return
				}
				script := Draw(seed)
				t.begin(lane, script)
				if err := a.play(ctx, lane, script, t); err != nil {
					err = fmt.Errorf("%s\n%w", script, err)
					o.Say(err.Error())
					t.fail(err)
				}
				t.end(lane, script)
			}
		})
	}
	telling, told := context.WithCancel(ctx)
	var teller sync.WaitGroup
	teller.Go(func() { t.tell(telling, o.Say) })
	group.Wait()
	told()
	teller.Wait()
	return t.report(), errors.Join(t.failures...)
}

// tally counts what is played.
type tally struct {
	mu       sync.Mutex
	begun    time.Time
	drawn    int
	report_  Report
	playing  map[int]int
	failures []error
}

// Report is what a run has come to.
type Report struct {
	Scripts, Rushed, Steps int
	Took                   time.Duration
	// Kinds counts the steps, Explained the differences by the explanation.
	Kinds, Explained map[string]int
	Failed           int
}

func newTally() *tally {
	return &tally{begun: time.Now(), playing: map[int]int{}, report_: Report{Kinds: map[string]int{}, Explained: map[string]int{}}}
}

func (t *tally) next(o Options) (seed int, goOn bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drawn++
	return o.Seed + t.drawn - 1, o.Scripts == 0 || t.drawn <= o.Scripts
}

func (t *tally) begin(lane int, script Script) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.playing[lane] = script.Seed
}

func (t *tally) end(lane int, script Script) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.playing, lane)
	t.report_.Scripts++
	if script.Settings.Rushed {
		t.report_.Rushed++
	}
}

func (t *tally) stepped(step Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report_.Steps++
	t.report_.Kinds[step.Kind]++
}

func (t *tally) use(ids map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range ids {
		t.report_.Explained[id]++
	}
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.report_.Failed++
	t.failures = append(t.failures, err)
}

func (t *tally) report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.report_
	r.Kinds, r.Explained, r.Took = maps.Clone(r.Kinds), maps.Clone(r.Explained), time.Since(t.begun)
	return r
}

// tell says each minute how far it is.
func (t *tally) tell(ctx context.Context, say func(string)) {
	ticker := time.NewTicker(time.Minute)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			t.mu.Lock()
			seeds := slices.Sorted(maps.Values(t.playing))
			t.mu.Unlock()
			say(fmt.Sprintf("%s; in play: %v", t.report(), seeds))
		}
	}
}

// String is one line.
func (r Report) String() string {
	return fmt.Sprintf("%s: %d scripts, %d of them rushed, %d steps, %d failed; explained: %s", r.Took.Round(time.Second), r.Scripts, r.Rushed, r.Steps, r.Failed, counts(r.Explained))
}

func counts(of map[string]int) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%s %d", key, of[key]))
	}
	return strings.Join(words, ", ")
}
