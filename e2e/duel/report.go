package duel

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/version"
)

// Report holds the results of a run.
type Report struct {
	// Kubernetes is the version of the native controller, for example 1.37.2.
	Kubernetes             string
	Scripts, Rushed, Steps int
	Took                   time.Duration
	// Kinds counts the steps by kind, Explained the differences by explanation.
	Kinds, Explained map[string]int
	Failed           int
	// Once are the names of scripts whose sides differed in the first run, but not when they were repeated.
	Once []string
}

// explanations returns the ids of the explanations for the version of the native controller.
func (r Report) explanations() []string {
	return explanationIDs(version.MustParseGeneric(r.Kubernetes).Minor())
}

// Unused returns the explanations that no script has met.
func (r Report) Unused() []string {
	var unused []string
	for _, id := range r.explanations() {
		if r.Explained[id] == 0 {
			unused = append(unused, id)
		}
	}
	return unused
}

// Page returns the text about a run for the documentation.
func (r Report) Page(seed int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Beside Kubernetes %s: %d scripts in %s, from seed %d on: %d steps of %d kinds. %d of the scripts were rushed. Steps after which the sides differed, and why:\n\n| difference | steps |\n|---|---|\n",
		r.Kubernetes, r.Scripts, r.Took.Round(time.Minute), seed, r.Steps, len(r.Kinds), r.Rushed)
	for _, id := range r.explanations() {
		fmt.Fprintf(&b, "| %s | %d |\n", id, r.Explained[id])
	}
	fmt.Fprintf(&b, "\nNo other difference came twice. Scripts that differed once, and then not in %d plays with nothing beside them: %s.\n", replays, cmp.Or(strings.Join(r.Once, ", "), "none"))
	return b.String()
}

// Table returns the summary of a run by kind.
func (r Report) Table() string {
	lines := []string{r.String(), "steps:"}
	for _, kind := range slices.Sorted(maps.Keys(r.Kinds)) {
		lines = append(lines, fmt.Sprintf("%7d  %s", r.Kinds[kind], kind))
	}
	lines = append(lines, "differences that are explained:")
	for _, id := range r.explanations() {
		lines = append(lines, fmt.Sprintf("%7d  %s", r.Explained[id], id))
	}
	if unused := r.Unused(); len(unused) > 0 {
		lines = append(lines, "explained and never seen: "+strings.Join(unused, ", "))
	}
	return strings.Join(lines, "\n")
}

// String returns one line.
func (r Report) String() string {
	return fmt.Sprintf("%s: %d scripts, %d of them rushed, %d steps, %d failed, differed once: %v; explained: %s", r.Took.Round(time.Second), r.Scripts, r.Rushed, r.Steps, r.Failed, r.Once, counts(r.Explained))
}

func counts(of map[string]int) string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		words = append(words, fmt.Sprintf("%s %d", key, of[key]))
	}
	return strings.Join(words, ", ")
}

// tally counts the played scripts.
type tally struct {
	mu    sync.Mutex
	begun time.Time
	// staged and drawn count the scripts.
	staged, drawn int
	total         Report
	playing       map[int]string
	// doubtful are the scripts whose sides differed. failures are the differences when they were repeated.
	doubtful []Script
	failures []error
}

func newTally() *tally {
	return &tally{begun: time.Now(), playing: map[int]string{}, total: Report{Kinds: map[string]int{}, Explained: map[string]int{}}}
}

// next returns the next script. Staged scripts are played however late it is.
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

// doubt records a script whose sides differed once.
func (t *tally) doubt(script Script) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doubtful = append(t.doubtful, script)
}

// acquit records a script whose sides did not differ when it was repeated.
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

// tell reports the progress each minute.
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
