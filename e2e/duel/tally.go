package duel

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// tally counts what is played.
type tally struct {
	mu    sync.Mutex
	begun time.Time
	// staged and drawn count the scripts.
	staged, drawn int
	total         Report
	playing       map[int]string
	// doubtful are the scripts that have differed, failures what has differed when they were played
	// again.
	doubtful []Script
	failures []error
}

func newTally() *tally {
	return &tally{begun: time.Now(), playing: map[int]string{}, total: Report{Kinds: map[string]int{}, Explained: map[string]int{}}}
}

// next is the script to be played next. Those that are staged are played however late it is.
func (t *tally) next(o Options, late bool) (script Script, goOn bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.Scripts == 0 && t.staged < len(staged) {
		t.staged++
		return staged[t.staged-1], true
	}
	t.drawn++
	return Draw(o.Seed + t.drawn - 1), !late && (o.Scripts == 0 || t.drawn <= o.Scripts)
}

func (t *tally) begin(lane int, script Script) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.playing[lane] = script.Name
}

func (t *tally) end(lane int, script Script) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.playing, lane)
	t.total.Scripts++
	if script.Settings.Rushed {
		t.total.Rushed++
	}
}

func (t *tally) stepped(step Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total.Steps++
	t.total.Kinds[step.Kind]++
}

func (t *tally) use(ids map[string]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id := range ids {
		t.total.Explained[id]++
	}
}

// doubt is for a script that has differed once.
func (t *tally) doubt(script Script) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubtful = append(t.doubtful, script)
}

// acquit is for one that has not when it was played again.
func (t *tally) acquit(script Script) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total.Once = append(t.total.Once, script.Name)
}

func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total.Failed++
	t.failures = append(t.failures, err)
}

func (t *tally) report() Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.total
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
			names := slices.Sorted(maps.Values(t.playing))
			t.mu.Unlock()
			say(fmt.Sprintf("%s; in play: %v", t.report(), names))
		}
	}
}
